// Every key of a scenario file, in one table: what it accepts, its default, what it means. The
// reader, the checks, the help text, docs/scenarios.md and to_toml follow it, so they cannot
// disagree. For the files of this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.h"

namespace strack::sim {

enum class Kind : std::uint8_t {
  integer,
  fraction,  ///< 0.25, or "1/4", "4:1", "25 %"
  real,      ///< a floating-point number
  flag,      ///< true or false
  text,
  choice,    ///< one of the words in `unit`, separated by |
  size,      ///< bytes, or "16 MB", "0.25 BDP", "2 MTU"
  time,      ///< in `unit`, or "8 us", "3 RTT"
  rate,      ///< in Gb/s, or "400 Gb/s"
  integers,  ///< a list
  points,    ///< a list of [size, cumulative probability]
};

struct Key {
  std::string_view section;  ///< "" for the keys at the top
  std::string_view name;
  Kind kind;
  std::string_view unit = {};  ///< time: of a plain number; choice: the words
  std::string_view fallback =
      {};  ///< the default as a TOML value; empty where it follows from other keys
  std::string_view otherwise = {};  ///< where it does: what then applies, for people
  Ratio low = {};                   ///< inclusive, in bytes, ps, bit/s or the number itself
  Ratio high = {};
  std::string_view needs = {};  ///< what would work: the second half of every error about the value
  std::string_view applies = {};  ///< "tiers=3": only then may it be set; words separated by |
  std::string_view help = {};
};

struct Section {
  std::string_view name;
  bool array;  ///< [[name]], any number of times
  std::string_view help;
};

/// In the order of the documentation.
[[nodiscard]] std::span<const Section> sections();
[[nodiscard]] std::span<const Key> keys();

[[nodiscard]] const Section* find_section(std::string_view name);
[[nodiscard]] const Key* find_key(std::string_view section, std::string_view name);

/// The candidate nearest to a misspelt word, or nothing when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace strack::sim
