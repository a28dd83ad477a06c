// Every key of a scenario file, in one table: what it accepts, its default, what it means. The
// reader, the checks, the help text, docs/scenarios.md and to_toml follow it, so they cannot
// disagree.
//
// A section's keys stand with its resolver, in sections/; a transport's keys with the transport
// (transports/<name>/descriptor.cpp). keys.cpp puts them together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"

namespace strack::sim {

class Group;

enum class Kind : std::uint8_t {
  integer,
  fraction,  ///< 0.25, or "1/4", "4:1", "25 %"
  real,      ///< a floating-point number
  flag,      ///< true or false
  text,
  choice,    ///< one of `words`
  size,      ///< bytes, or "16 MB", "0.25 BDP", "2 MTU"
  time,      ///< in `unit`, or "8 us", "3 RTT"
  rate,      ///< in Gb/s, or "400 Gb/s"
  integers,  ///< a list
  points,    ///< a list of [size, cumulative probability]
};

struct Key;

/// Where a transport's parameter lives; fields.h makes one of a pointer to member.
struct Field {
  void (*take)(Group& group, std::string_view id, void* params) = nullptr;
  std::string (*show)(const Key& key, const void* params) = nullptr;  ///< as TOML
};

struct Key {
  std::string_view section = {};  ///< "" for the keys at the top; keys.cpp fills it in
  std::string_view name;
  Kind kind;
  std::string_view unit = {};                    ///< time: of a plain number
  std::span<const std::string_view> words = {};  ///< choice: in the order of its enum
  std::string_view fallback =
      {};  ///< the default as a TOML value; empty where it follows from other keys
  std::string_view otherwise = {};  ///< where it does: what then applies, for people
  Ratio low = {};                   ///< inclusive, in bytes, ps, bit/s or the number itself
  Ratio high = {};
  /// What would work: the second half of every error about the value. Of a choice, the beginning of
  /// it: the words follow.
  std::string_view needs = {};
  std::string_view applies = {};  ///< "tiers=3": only then may it be set; words separated by |
  Field field = {};               ///< of a transport's parameters
  std::string_view help = {};

  /// `needs`, with the words of a choice.
  [[nodiscard]] std::string remedy() const;
};

struct Section {
  std::string_view name;
  bool array;  ///< [[name]], any number of times
  std::string_view help;
  bool several = false;  ///< [name] once, or [[name]] any number of times
};

/// A section with its keys, as its file has them.
struct SectionKeys {
  Section section;
  std::span<const Key> keys;
};

/// In the order of the documentation.
[[nodiscard]] std::span<const Section> sections();
[[nodiscard]] std::span<const Key> keys();

[[nodiscard]] const Section* find_section(std::string_view name);
[[nodiscard]] const Key* find_key(std::string_view section, std::string_view name);

/// The candidate nearest to a misspelt word, or nothing when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

/// "a", "b" or "c"
[[nodiscard]] std::string quoted_words(std::span<const std::string_view> words);

// Bounds that several keys have.
inline constexpr std::int64_t kNanosecond = 1'000;
inline constexpr std::int64_t kSecond = 1'000'000'000'000;
inline constexpr std::int64_t kTebibyte = std::int64_t{1} << 40;
/// More than the fastest links hold over the longest base RTT, so that "1 BDP" is always possible.
inline constexpr std::int64_t kLargestBdp = 16 * kTebibyte;
inline constexpr std::int64_t kFlowLimit = kTebibyte;
inline constexpr std::int64_t kMessageLimit = (std::int64_t{1} << 32) - 1;

}  // namespace strack::sim
