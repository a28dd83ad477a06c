// [switch]: the egress queues of switches, and the choice between them.
#include <string>

#include <fmt/format.h>

#include "base/enum_words.h"
#include "sim/scenario/literals.h"
#include "sim/scenario/mark_keys.h"
#include "sim/scenario/sections/sections.h"
#include "transports/registry.h"
#include "workload/amount.h"

namespace strack::sim {
namespace {

constexpr auto kRoutingWords =
    words_of<Routing>({{Routing::ecmp, "ecmp"},
                       {Routing::round_robin, "round-robin"},
                       {Routing::power_of_two, "power-of-two"},
                       {Routing::drill, "drill"},
                       {Routing::least_queue, "least-queue"},
                       {Routing::destination_rotation, "destination-rotation"}});

constexpr Key kKeys[] = {
    {.name = "routing",
     .kind = Kind::choice,
     .words = kRoutingWords,
     .otherwise = "as the scheme wants it",
     .needs = "a routing is",
     .help =
         "Which of the ports that lead to a destination a packet takes: by a hash of its header; "
         "or, packet by packet, one after the other; the shorter queue of two drawn; the "
         "shortest of two drawn and the one chosen the last time; the shortest of all; one after "
         "the other for each destination ToR (above ToRs: pod) on its own. A transport that takes "
         "gaps in the order for losses suffers from all but ecmp. Control packets are hashed, but "
         "with destination-rotation have turns of their own."},
    mark_threshold(
        "kmin", "\"0.25 BDP\"", "a threshold is a size, such as kmin = \"0.25 BDP\"",
        "ECN marks begin where a departing packet leaves more than this behind. A transport may "
        "have kmin, kmax and pmax in its own section; then these are not read."),
    mark_threshold("kmax", "\"0.75 BDP\"", "a threshold is a size, such as kmax = \"0.75 BDP\"",
                   kMarkKmaxHelp),
    kMarkPmax,
    {.name = "queue_limit",
     .kind = Kind::size,
     .fallback = "\"5 BDP\"",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a queue holds a positive size, such as queue_limit = \"5 BDP\"",
     .help =
         "A data packet that would exceed it is dropped. A scheme that is made for trimming with "
         "short queues gets those. With PFC there is no such limit: the ports "
         "share the switch's buffer."},
    {.name = "control_priority",
     .kind = Kind::flag,
     .fallback = "true",
     .needs = "it is true or false",
     .help =
         "Acknowledgements and congestion notifications overtake queued data and probes. With PFC "
         "they always do."},
    {.name = "ecn_last_hop",
     .kind = Kind::flag,
     .otherwise = "true, unless the scheme wants it otherwise",
     .needs = "it is true or false",
     .help = "Whether ports to hosts mark too. A mark there tells of an incast, not of the path."},
    {.name = "trimming",
     .kind = Kind::flag,
     .otherwise = "as the scheme wants it",
     .needs = "it is true or false",
     .help = "A data packet that would exceed queue_limit is cut down to its header instead of "
             "dropped; headers have a queue of their own, after control and before data. Of use to "
             "transports that ask for it: others take a header for a loss. With PFC nothing is cut "
             "off."},
    {.name = "trim_size",
     .kind = Kind::size,
     .fallback = "64",
     .low = {1},
     .high = {65'535},
     .needs = "a header is from 1 to 65535 bytes, such as trim_size = 64",
     .applies = "trimming=true",
     .help = "What is left of a trimmed packet, on the wire."},
    {.name = "trim_queue_limit",
     .kind = Kind::size,
     .fallback = "\"1 BDP\"",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a queue holds a positive size, such as trim_queue_limit = \"1 BDP\"",
     .applies = "trimming=true",
     .help = "A header that would exceed it is dropped."},
    {.name = "convergence_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "100, or a second where the scheme wants static routes",
     .high = {kSecond},
     .needs = "a delay is from 0 to 1 s, such as convergence_us = 100",
     .help = "How long after a failure or repair routes follow it. What is down from the start is "
             "routed around from the start."},
};

class SwitchResolver : Resolving {
 public:
  explicit SwitchResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    SwitchParams& s = out_.config.switches;
    const transports::Scheme& scheme = *transports::find(out_.scheme).scheme;
    Setting& routing = set_["switch.routing"];
    s.routing = routing.given ? set_.choice<Routing>("switch.routing") : scheme.routing;
    if (!routing.given)
      routing.derived = fmt::format("\"{}\"", kRoutingWords[static_cast<std::size_t>(s.routing)]);
    // A transport may bring thresholds of its own.
    const std::string from = std::string(out_.transport->switches.ecn) + ".";
    s.kmin = set_.size(from + "kmin");
    s.kmax = set_.size(from + "kmax");
    s.pmax = set_.fraction(from + "pmax");
    if (r_.topology_queue_limit) {
      // Only now are BDP and the like known, in which it may have been given.
      const Bytes limit = *r_.topology_queue_limit;
      take("switch.queue_limit", {limit.count()},
           [&] { return set_.size("switch.queue_limit") == limit; });
    }
    s.queue_limit = set_.size("switch.queue_limit");
    s.control_priority = set_.flag("switch.control_priority");
    Setting& last_hop = set_["switch.ecn_last_hop"];
    s.ecn_last_hop = last_hop.given ? set_.flag("switch.ecn_last_hop") : scheme.ecn_last_hop;
    if (!last_hop.given) last_hop.derived = s.ecn_last_hop ? "true" : "false";
    const Setting& trimming = set_["switch.trimming"];
    const bool trims =
        trimming.given ? set_.flag("switch.trimming") : trimming.derived == "true";  // wished for
    s.trimming = {trims, set_.size("switch.trim_size"), set_.size("switch.trim_queue_limit")};
    Setting& convergence = set_["switch.convergence_us"];
    Picoseconds& lag = out_.config.failures.convergence;
    lag = convergence.given ? set_.time("switch.convergence_us")
          : scheme.reroutes ? us(100)
                            : seconds(1);
    if (!convergence.given) convergence.derived = fmt::format("{}", lag / us(1));
    if (s.kmin > s.kmax) {
      later(from + "kmin", from + "kmax")
          .fail(
              fmt::format("kmin is {} and kmax {}. marks begin at kmin, so kmax must not be below "
                          "it",
                          workload::format_size(s.kmin), workload::format_size(s.kmax)));
    }
    const Bytes packet = r_.mtu + out_.config.hosts.data_header;
    if (s.queue_limit < packet) {
      later("switch.queue_limit", "transport.mtu")
          .fail(fmt::format("queue_limit is {}. a queue must hold a packet of {} bytes, or all are "
                            "dropped",
                            workload::format_size(s.queue_limit), packet.count()));
    }
    if (s.trimming.enabled && s.trimming.size >= packet) {
      later("switch.trim_size", "transport.mtu")
          .fail(fmt::format("trim_size is {}. a packet has {} bytes, so nothing would be cut off: "
                            "trim_size = 64 would do",
                            s.trimming.size.count(), packet.count()));
    }
  }
};

}  // namespace

const SectionKeys kSwitchSection{
    {"switch", false, "The switches' egress queues, and which a packet goes to."}, kKeys};
void resolve_switches(Resolution& resolution) { SwitchResolver(resolution).resolve(); }

void note_switches(Resolution& resolution) {
  Scenario& out = resolution.out;
  const SwitchParams& s = out.config.switches;
  Group& set = resolution.all.plain;
  const transports::Scheme& scheme = *transports::find(out.scheme).scheme;
  const std::string ecn = std::string(out.transport->switches.ecn) + ".kmin";
  const bool lossless = out.config.pfc.enabled;
  if (lossless && s.trimming.enabled)
    out.notes.emplace_back(
        "trimming is true, but with PFC nothing is dropped, so nothing is trimmed");
  const bool said = set.given("switch.queue_limit") || set.given(ecn);
  const Bytes packet = resolution.mtu + out.config.hosts.data_header;
  if (!lossless && said && s.queue_limit - packet <= s.kmin) {
    out.notes.push_back(
        fmt::format("queue_limit is {}, and marks begin beyond kmin, {}: no packet will be marked",
                    workload::format_size(s.queue_limit), workload::format_size(s.kmin)));
  }
  if (!lossless && !s.trimming.enabled && (scheme.trims || out.transport->switches.trimming)) {
    out.notes.push_back(
        fmt::format("trimming is false, but scheme {} is made for switches that trim", out.scheme));
  }
  if (scheme.in_order && s.routing != Routing::ecmp) {
    out.notes.push_back(
        fmt::format("routing is {}, but scheme {} takes packets that overtake others for losses",
                    kRoutingWords[static_cast<std::size_t>(s.routing)], out.scheme));
  }
}

}  // namespace strack::sim
