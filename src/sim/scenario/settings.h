// The keys of one scenario with their values: as given, by default, or following from others.
// Reading a value checks its type and range; what spans keys is the resolvers'
// (sections/, transports/<name>/descriptor.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/enum_words.h"
#include "base/units.h"
#include "sim/scenario/keys.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/toml_text.h"
#include "workload/amount.h"
#include "workload/sizes.h"

namespace strack::sim {

/// Thrown inside this folder only; load_text catches it.
struct Failed {
  ScenarioError error;
};

/// What "1 BDP", "1 RTT" and "1 MTU" mean, once known.
struct Yardsticks {
  Bytes bdp{0};
  Picoseconds rtt{0};
  Bytes mtu{0};
};

/// A size, time or rate that may be relative to the network.
struct Measure {
  enum class Base : std::uint8_t { absolute, bdp, rtt, mtu };
  workload::Decimal number;
  Base base = Base::absolute;
  std::int64_t factor = 1;  ///< absolute: of the unit
};

struct Setting {
  using Value = std::variant<std::monostate, std::int64_t, Ratio, double, bool, std::string,
                             Measure, std::vector<std::int64_t>, std::vector<workload::CdfPoint>>;
  const Key* key = nullptr;
  Literal literal;
  Value value;
  bool given = false;     ///< by file or override
  bool was_read = false;  ///< by something that runs
  bool hidden = false;    ///< means nothing in this scenario, so to_toml leaves it out
  std::string file;
  int line = 0;
  std::string derived;  ///< where it follows from other keys: its value as TOML

  [[noreturn]] void fail(std::string message) const;
  /// "key is value. remedy"
  [[noreturn]] void fail_value(std::string_view remedy) const;
  /// Takes a value, or fails with what would work.
  void assign(Literal given_literal, std::string given_file, int given_line);
  /// Takes what applies when nothing is given and nothing else decides it.
  void settle(Literal usual);
  /// Takes back what was given; for a key without a default.
  void forget();
};

/// The settings of all plain sections, or of one [[section]].
class Group {
 public:
  explicit Group(const Section* array);

  Setting& operator[](std::string_view id);  ///< "topology.hosts"
  [[nodiscard]] Setting* find(std::string_view section, std::string_view name);
  [[nodiscard]] bool given(std::string_view id) { return (*this)[id].given; }
  [[nodiscard]] const Section* array() const { return array_; }

  [[nodiscard]] std::int64_t integer(std::string_view id);
  [[nodiscard]] std::uint32_t count(std::string_view id);
  [[nodiscard]] Ratio fraction(std::string_view id);
  [[nodiscard]] double real(std::string_view id);
  [[nodiscard]] bool flag(std::string_view id);
  [[nodiscard]] const std::string& text(std::string_view id);
  /// Which of the key's words it is; they are those of this enum.
  template <class Enum>
  [[nodiscard]] Enum choice(std::string_view id) {
    return static_cast<Enum>(choice_index(id, enumerators<Enum>()));
  }
  [[nodiscard]] Bytes size(std::string_view id);
  [[nodiscard]] Picoseconds time(std::string_view id);
  [[nodiscard]] BitsPerSecond rate(std::string_view id);

  void set_yardsticks(const Yardsticks& yardsticks) { yardsticks_ = yardsticks; }
  /// Whether what is looked at from here on counts as read by what runs.
  void count_reads(bool on) { counts_reads_ = on; }
  /// Given as other than it is anyway, and read by nothing that runs.
  [[nodiscard]] std::vector<const Setting*> unread() const;
  /// Every setting that was given although another one rules it out.
  void check_applies();

  /// Exchanges the values of a [[section]]'s keys for those of the plain section of this name: while they
  /// stand there, what is said about [section] is about this one.
  void exchange(Group& entry);
  /// As if this group had no such section.
  void leave_out(std::string_view section);

  /// As TOML, section by section.
  [[nodiscard]] std::string to_toml();
  /// Row by row; `place` is "failure.0" of a [[section]], and otherwise nothing.
  void list(const std::string& place, std::vector<metrics::Setting>& out);

  std::string file;  ///< of a [[section]]
  int line = 0;

 private:
  [[nodiscard]] std::size_t choice_index(std::string_view id, std::size_t enumerators);
  [[nodiscard]] std::int64_t measure(Setting& setting);
  [[nodiscard]] bool applies(const Setting& setting);

  const Section* array_;
  std::vector<Setting> settings_;
  Yardsticks yardsticks_;
  bool counts_reads_ = true;
};

/// A whole scenario before it is resolved.
struct Settings {
  Group plain{nullptr};
  std::vector<Group> workloads;  ///< [[workload]]; none: [workload], among the plain ones
  std::vector<Group> failures;
  std::vector<Group> impairments;

  /// One key of a file or override.
  void assign(const Entry& entry, const std::string& file);
  /// "section.key=value"
  void assign_override(std::string_view text);

  [[nodiscard]] std::string to_toml();
  /// Every key that applies, as a result file keeps it.
  [[nodiscard]] std::vector<metrics::Setting> list();

 private:
  [[nodiscard]] Group& group(const Entry& entry, const std::string& file);
};

}  // namespace strack::sim
