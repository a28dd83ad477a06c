// What the resolvers of a scenario's sections share: the settings, the scenario they make of them,
// and the ways to say what is wrong. For sections/ and for transports' descriptors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/scenario/literals.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/settings.h"

namespace strack::sim {

/// A scenario while it is resolved. Sections fill it in the order of scenario.cpp.
struct Resolution {
  Settings& all;
  std::string file;
  std::filesystem::path folder;
  Scenario out = {};
  Bytes mtu{0};
  std::uint32_t rack_uplinks = 0;
  std::optional<Bytes> topology_queue_limit = {};  ///< as the topology's file has it
  std::vector<LinkRef> trace_failures = {};        ///< links that the trace says are down
};

/// A section's resolver derives from it, for these names and helpers.
class Resolving {
 protected:
  explicit Resolving(Resolution& resolution)
      : r_(resolution), set_(resolution.all.plain), out_(resolution.out) {}

  [[nodiscard]] TopologyParams& topology() { return out_.config.topology; }

  /// Whether the first was said after the second; overrides come after the file.
  [[nodiscard]] bool said_after(const Setting& first, const Setting& second) const;
  /// Whichever of two settings was said last takes the blame for a contradiction between them.
  [[nodiscard]] Setting& later(std::string_view a, std::string_view b);
  /// The first of several settings that was said; one of them was.
  [[nodiscard]] Setting& said(std::initializer_list<const char*> ids);
  /// Whichever of several settings was said last.
  [[nodiscard]] Setting& last_said(std::initializer_list<const char*> ids);

  /// A value that the topology's file decides, and that the scenario may repeat.
  template <class Agrees>
  void take(const char* id, Literal literal, const Agrees& agrees) {
    Setting& setting = set_[id];
    const Setting& file = set_["topology.file"];
    if (!setting.given) {
      setting.assign(std::move(literal), file.file, file.line);
    } else if (!agrees()) {
      fail_taken(id, literal);
    }
  }

  /// The text of a file that a setting names.
  [[nodiscard]] std::string beside(const Setting& setting, const std::string& name);

  /// A start must lie before the end of the run.
  void check_before_end(Instant start, const Setting& setting, std::string_view what);

  Resolution& r_;
  Group& set_;  ///< of all plain sections
  Scenario& out_;

 private:
  [[noreturn]] void fail_taken(const char* id, const Literal& literal);
};

}  // namespace strack::sim
