// What the rest of the program knows of a transport: one descriptor for each, in the transport's
// folder. The build collects them (registry.h); nothing else names a transport.
//
// A folder transports/<name> has
//
//   params.h, sender.h, receiver.h, core.cpp   the pure core (core/transport.h)
//   sim.h, sim.cpp                             its part of a simulated host (sim/host/protocol.h)
//   udp.cpp                                    its part over UDP (udp/transport.h), if it has one
//   descriptor.cpp                             const Descriptor descriptor_of_<name>
//   *_test.cpp, *_fuzz.cpp                     their tests
//
// docs/add-a-transport.md walks through a whole one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "metrics/records.h"
#include "sim/config.h"
#include "sim/scenario/keys.h"
#include "transports/show.h"

namespace strack::sim {
class Transport;
struct Resolution;
}  // namespace strack::sim

namespace strack::transports {

/// The colours of reports (report/web/src/palette.json), told apart by anybody: each comes with a dash,
/// a symbol and a pattern of its own. Who asks for none gets the first that is free.
enum class Colour : std::uint8_t {
  any,
  blue,
  orange,
  green,
  amber,
  pink,
  indigo,
  lime,
  crimson,
  teal,
  brown,
  magenta,
  petrol,
  olive,
  plum,
};

/// Who a line or bar in a report belongs to: it looks the same in every figure.
struct Role {
  std::string_view name;
  Colour colour = Colour::any;
};

/// One way to run a transport, as `scheme` in a scenario names it.
struct Scheme {
  std::string_view name;
  std::string_view label;                     ///< in reports
  std::string_view role;                      ///< there, too; only its own
  std::string_view help;                      ///< what it is, as a part of a sentence
  sim::Routing routing = sim::Routing::ecmp;  ///< of switches, unless the scenario says otherwise
  Colour colour = Colour::any;                ///< of the role
  bool in_order = false;                      ///< takes packets out of order for losses
  bool trims = false;                         ///< wants trimming, though its transport does not
  std::string_view queue_limit = {};          ///< TOML: of switches that trim, as for routing
  bool ecn_last_hop = true;                   ///< ports to hosts mark, too; as above
  bool reroutes = true;                       ///< routes follow what breaks; as above
};

/// What it wants of switches, unless the scenario says otherwise.
struct SwitchWishes {
  std::string_view ecn = "switch";  ///< the section whose kmin, kmax and pmax they follow
  bool lossless = false;            ///< PFC
  bool trimming = false;            ///< a full queue cuts packets down to their headers
};

/// A run as reports show it.
struct Label {
  std::string name;
  std::string role;
};
/// A setting of a run, "section.key" -> its value or nothing.
using SettingOf = std::function<std::string(std::string_view)>;

struct Descriptor {
  std::string_view name;  ///< its folder's
  int rank = 100;         ///< its place in lists and tables: the lowest first, then by name
  std::span<const Scheme> schemes;
  SwitchWishes switches = {};

  std::string_view section;  ///< its keys' section; "transport" is there already
  std::string_view help;     ///< of the section; added to what is there
  std::span<const sim::Key> keys;

  /// Makes its parameters from the settings. `scheme` is one of its own; or null where another
  /// transport runs: then nobody reads them, but they are shown, and what is wrong may be said.
  std::shared_ptr<const sim::Transport> (*resolve)(sim::Resolution& resolution,
                                                   const Scheme* scheme);

  /// Its receivers answer with SACKs alone (core/packet.h), which the wire format has: captures show its flows.
  bool sacks = false;
  std::uint8_t udp = 0;  ///< its id on the wire, as in its udp.cpp; 0: it is simulated only
  Show show = {};        ///< `strack demo` and `strack trace`

  /// Settings, "section.key=value", that make another machine of it: the conformance suite runs its
  /// first scheme with each of them, too.
  std::span<const std::string_view> variants = {};

  /// Rows of the result file's table `counters` that mean something to it and not to all others:
  /// its traits type's kCounters (sim/host/protocol.h), cnps, naks.
  std::span<const metrics::CounterName> counters = {};
  std::string_view counted = "transport";  ///< what the line with them is called in summaries

  /// The key of the queueing delay it aims at, which figures show; none where it has no such aim.
  std::string_view target_qdelay = {};

  /// Name and role of a run where settings have a say in it; null: the scheme's.
  Label (*label)(const Scheme& scheme, const SettingOf& setting) = nullptr;
  /// Roles that `label` gives, beside those of the schemes.
  std::span<const Role> roles = {};
  /// Of its settings, those that `label` has told already.
  std::span<const std::string_view> labelled = {};
};

}  // namespace strack::transports
