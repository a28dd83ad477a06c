#include "transports/strack/demo.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "duet/duet.h"
#include "duet/fabric.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"

namespace strack::transports {
namespace {

using core::PathPolicy;
using core::StrackParams;

constexpr BitsPerSecond kRate = gbps(400);
constexpr Bytes kMtu = bytes(4096);
constexpr Picoseconds kOneWay = us(4);
constexpr int kRoutes = 16;
constexpr Bytes kWirePacket = kMtu + bytes(64);

/// One row: who sends how much over what.
struct Scenario {
  std::string_view name;
  std::string_view what;
  std::size_t flows = 1;
  Bytes size = mb(16);
  duet::FabricParams fabric;
};

struct Outcome {
  Picoseconds max_fct{0};
  std::size_t unfinished = 0;
  std::uint64_t marked = 0;
  std::uint64_t lost = 0;
  std::uint64_t dropped = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t probes = 0;
  std::uint64_t timeouts = 0;
  Bytes deepest{0};
  std::vector<std::pair<Instant, Bytes>> cwnd;  ///< of flow 0
};

/// RTT without queues: both ways, and serialisation at the NIC and at the route.
Picoseconds base_rtt() { return 2 * kOneWay + 2 * (kWirePacket / kRate); }

duet::FabricParams healthy(int routes, BitsPerSecond rate) {
  const Bytes bdp = kRate * base_rtt();
  duet::FabricParams fabric;
  fabric.routes.assign(static_cast<std::size_t>(routes), duet::Route{rate});
  fabric.one_way = kOneWay;
  fabric.kmin = bdp / 4;
  fabric.kmax = 3 * bdp / 4;
  fabric.queue_limit = 5 * bdp;
  return fabric;
}

std::vector<Scenario> scenarios() {
  // As many routes as senders, all at one speed: between two racks of a network with full
  // bisection.
  const duet::FabricParams spread = healthy(kRoutes, kRate);
  std::vector<Scenario> all;
  all.push_back({"clean", "16 flows, 16 routes, full load", kRoutes, mb(4), spread});
  all.push_back({"slow route", "one route at half its rate", kRoutes, mb(4), spread});
  all.back().fabric.routes[3].rate = kRate / 2;
  all.push_back({"dead route", "one route swallows everything", kRoutes, mb(4), spread});
  all.back().fabric.routes[3].blackhole = true;
  all.push_back({"1 % loss", "random loss on every route", kRoutes, mb(4), spread});
  all.back().fabric.loss = {1, 100};
  all.push_back({"8->1 incast", "8 flows into one port", 8, mb(4), healthy(1, kRate)});
  return all;
}

struct Scheme {
  std::string_view name;
  PathPolicy policy;
  std::uint32_t max_paths;
};
constexpr std::array kSchemes{Scheme{"adaptive", PathPolicy::adaptive, core::kMaxPaths},
                              Scheme{"oblivious", PathPolicy::oblivious, core::kMaxPaths},
                              Scheme{"one path", PathPolicy::adaptive, 1}};

Outcome run(const Scenario& scenario, const Scheme& scheme, std::uint64_t seed) {
  StrackParams params = StrackParams::for_link(kRate, base_rtt(), kMtu).value();
  params.path_policy = scheme.policy;
  params.max_paths = scheme.max_paths;

  duet::Fabric fabric(scenario.fabric, seed);
  duet::Duet<core::Sender<>, core::Receiver<>, core::MessageSlot, duet::Fabric> duet(fabric);
  for (std::size_t i = 0; i < scenario.flows; ++i) {
    duet.add_flow([&](auto slots) { return core::Sender<>(params, slots, core::Psn{0}); },
                  [&] { return core::Receiver<>(params, core::Psn{0}); }, bytes(1) / kRate);
  }
  for (std::size_t i = 0; i < scenario.flows; ++i) {
    duet.post(i, {0, static_cast<std::uint32_t>(scenario.size.value)});
  }
  Outcome outcome;
  Bytes last_cwnd{0};
  while (duet.step(at(ms(20)))) {
    const Bytes cwnd = duet.flow(0).sender.window().cwnd();
    if (cwnd != last_cwnd) outcome.cwnd.emplace_back(duet.now(), cwnd);
    last_cwnd = cwnd;
  }
  for (std::size_t i = 0; i < scenario.flows; ++i) {
    const auto& flow = duet.flow(i);
    if (flow.completed.empty()) {
      ++outcome.unfinished;
    } else {
      outcome.max_fct = std::max(outcome.max_fct, flow.completed.front().second - Instant{});
    }
    outcome.retransmissions += flow.sender.counters().retransmissions;
    outcome.probes += flow.sender.counters().probes_sent;
    outcome.timeouts += flow.sender.counters().timeouts;
  }
  outcome.marked = fabric.marked();
  outcome.lost = fabric.lost();
  outcome.dropped = fabric.dropped();
  outcome.deepest = fabric.deepest();
  return outcome;
}

/// What physics allows: the busiest port's serialisation and one base RTT.
Picoseconds ideal_fct(const Scenario& scenario) {
  const std::int64_t packets = (scenario.size.value + kMtu.value - 1) / kMtu.value;
  const bool incast = scenario.fabric.routes.size() == 1;
  const std::int64_t through_port =
      packets * (incast ? static_cast<std::int64_t>(scenario.flows) : 1);
  return (scenario.size + packets * bytes(64)) / kRate * (through_port / packets) + 2 * kOneWay;
}

std::string us_text(Picoseconds t) {
  return fmt::format("{}.{}", t.value / 1'000'000, t.value / 100'000 % 10);
}

std::string ratio(Picoseconds a, Picoseconds b) {
  const std::int64_t hundredths = mul_div(a.value, 100, b.value);
  return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

/// A curve of one-character columns, from 0 to `top`.
std::string sparkline(const std::vector<std::pair<Instant, Bytes>>& changes, Instant end, Bytes top,
                      int width) {
  static constexpr std::array<std::string_view, 9> kLevels{" ", "▁", "▂", "▃", "▄",
                                                           "▅", "▆", "▇", "█"};
  std::string line;
  std::size_t next = 0;
  Bytes value = top;
  for (int column = 0; column < width; ++column) {
    const Instant until{mul_div(end.ps, column + 1, width)};
    Bytes lowest = value;
    while (next < changes.size() && changes[next].first <= until) {
      value = changes[next++].second;
      lowest = std::min(lowest, value);
    }
    const std::int64_t level = std::clamp<std::int64_t>(mul_div(lowest.value, 8, top.value), 1, 8);
    line += kLevels[static_cast<std::size_t>(level)];
  }
  return line;
}

}  // namespace

int strack_demo(const DemoOptions& options) {
  const auto bold = [&](std::string_view text) {
    return options.plain ? std::string(text) : fmt::format("\033[1m{}\033[0m", text);
  };
  fmt::print("{}\n", bold("STrack's core on small networks"));
  fmt::print(
      "400 Gb/s NICs, {} us base RTT, MTU {}; max FCT over all flows, in virtual time; seed {}\n\n",
      us_text(2 * kOneWay), kMtu.value, options.seed);
  fmt::print("{:<12} {:<31} {:<9} {:>9} {:>8} {:>7} {:>6} {:>7} {:>7} {:>7}\n", "network", "",
             "paths", "max FCT", "x ideal", "marked", "lost", "resent", "probes", "t-outs");
  std::vector<std::pair<Instant, Bytes>> incast_cwnd;
  Picoseconds incast_end{0};
  Bytes deepest{0};
  for (const Scenario& scenario : scenarios()) {
    const Picoseconds ideal = ideal_fct(scenario);
    bool first = true;
    for (const Scheme& scheme : kSchemes) {
      if (scenario.fabric.routes.size() == 1 && !first) break;  // one route: no choice
      const Outcome o = run(scenario, scheme, options.seed);
      const bool done = o.unfinished == 0;
      fmt::print("{:<12} {:<31} {:<9} {:>9} {:>8} {:>7} {:>6} {:>7} {:>7} {:>7}\n",
                 first ? scenario.name : "", first ? scenario.what : "", scheme.name,
                 done ? us_text(o.max_fct) + " us" : fmt::format("{} stuck", o.unfinished),
                 done ? ratio(o.max_fct, ideal) : "-", o.marked, o.lost + o.dropped,
                 o.retransmissions, o.probes, o.timeouts);
      first = false;
      if (scenario.flows == 8) {
        incast_cwnd = o.cwnd;
        incast_end = o.max_fct;
        deepest = o.deepest;
      }
    }
  }
  const Bytes top = kRate * base_rtt();
  fmt::print("\n{} of one sender in the incast, 0 to {} us; full height {} KB, fair share {} KB\n",
             bold("Congestion window"), incast_end.value / 1'000'000, top.value / 1'000,
             top.value / 8'000);
  fmt::print("  {}\n", sparkline(incast_cwnd, at(incast_end), top, 72));
  fmt::print("  deepest queue {} KB, of {} KB allowed\n", deepest.value / 1'000,
             5 * top.value / 1'000);
  fmt::print(
      "\n{} sender {} bytes, receiver {} bytes per connection, for 1024 packets in flight over 256 "
      "paths\n",
      bold("State:"), sizeof(core::Sender<>), sizeof(core::Receiver<>));
  fmt::print(
      "Next: `strack trace` shows each decision; `make bench` the cost per packet; spec/ the rules "
      "behind them.\n");
  return 0;
}

namespace {

/// Prints what the cores report, one line an event, with the time a network keeps.
struct TraceEvents {
  const Instant* now;

  template <class... Args>
  void say(std::string_view who, fmt::format_string<Args...> text, Args&&... args) const {
    fmt::print("{:>10} us  {:<9} {}\n",
               fmt::format("{}.{:03}", now->ps / 1'000'000, now->ps / 1'000 % 1'000), who,
               fmt::format(text, std::forward<Args>(args)...));
  }

  void on(const core::PathChosen& /*event*/) const {}
  void on(const core::Reached& event) const {
    say("", "· rare: {}", core::kRareNames[static_cast<std::size_t>(event.branch)]);
  }
  void on(const core::PacketSent& e) const {
    say("sender", "{} psn {} (message {} from {}, {} bytes) on path {}; inflight {} of cwnd {}",
        e.packet.retransmission ? "RESENDS" : "sends", e.packet.psn.value, e.packet.message_id,
        e.packet.offset, e.packet.payload, e.packet.path_id, e.inflight.value, e.cwnd.value);
  }
  void on(const core::ProbeSent& e) const { say("sender", "PROBES ({})", e.probe_id); }
  void on(const core::SackReceived& e) const {
    say("sender", "hears SACK epsn {} {}: {} bytes more, rtt {} ns, queueing {} ns",
        e.sack.epsn.value, e.sack.ecn ? "marked" : "clean", e.acked.value, e.rtt.value / 1'000,
        e.qdelay.value / 1'000);
  }
  void on(const core::SackRejected& /*event*/) const { say("sender", "REFUSES a SACK"); }
  void on(const core::WindowChanged& e) const {
    static constexpr std::array<std::string_view, 5> kReasons{
        "queue drained", "below target", "achieved BDP", "multiplicative", "fairness"};
    say("sender", "cwnd {} -> {} ({})", e.before.value, e.after.value,
        kReasons[static_cast<std::size_t>(e.reason)]);
  }
  void on(const core::LossDeclared& e) const {
    static constexpr std::array<std::string_view, 3> kCauses{"out-of-order count", "probe",
                                                             "timeout"};
    say("sender", "DECLARES LOSS in [{}, {}) by {}: {} bytes", e.from.value, e.high.value,
        kCauses[static_cast<std::size_t>(e.cause)], e.claimed.value);
  }
  void on(const core::RecoveryEnded& e) const { say("sender", "recovered, epsn {}", e.epsn.value); }
  void on(const core::MessageCompleted& e) const {
    say("sender", "message {} COMPLETE", e.message_id);
  }
  void on(const core::PacketArrived& e) const {
    if (e.packet.type == core::PacketType::probe) {
      say("receiver", "gets probe {}", e.packet.probe_id);
    } else {
      say("receiver", "gets psn {}{}", e.packet.psn.value, e.ecn ? ", marked" : "");
    }
  }
  void on(const core::SackSent& e) const {
    say("receiver", "SACK: epsn {}, base {}, bitmap {:016x}, ooo {}, bytes_recvd {}{}",
        e.sack.epsn.value, e.sack.sack_base.value, e.sack.bitmap, e.sack.ooo_count,
        e.sack.bytes_recvd, e.sack.for_probe ? ", for a probe" : "");
  }
  void on(const core::MessageDelivered& e) const {
    say("receiver", "message {} DELIVERED", e.message_id);
  }
};

/// A plain wire that loses one chosen packet.
struct TraceNet {
  std::uint32_t lose;
  std::uint32_t data = 0;

  duet::Fate fate_of(std::size_t /*flow*/, const core::Packet& packet, Instant /*now*/) {
    if (packet.type == core::PacketType::data && ++data == lose) return duet::Fate::lost();
    return duet::Fate::after(kOneWay);
  }
  duet::Fate fate_of(std::size_t /*flow*/, const core::Sack& /*sack*/, Instant /*now*/) {
    return duet::Fate::after(kOneWay);
  }
  bool mark_on_arrival(std::size_t /*flow*/, const core::Packet& /*packet*/, bool ecn,
                       Instant /*now*/) {
    return ecn;
  }
};

}  // namespace

int strack_trace(const TraceOptions& options) {
  using Sender = core::Sender<TraceEvents>;
  using Receiver = core::Receiver<TraceEvents>;
  const StrackParams params =
      StrackParams::for_link(kRate, 2 * kOneWay + kWirePacket / kRate, kMtu).value();
  TraceNet net{options.lose};
  duet::Duet<Sender, Receiver, core::MessageSlot, TraceNet> duet(net);
  const TraceEvents events{&duet.clock()};
  duet.add_flow([&](auto slots) { return Sender(params, slots, core::Psn{0}, events); },
                [&] { return Receiver(params, core::Psn{0}, events); }, bytes(1) / kRate);
  fmt::print(
      "400 Gb/s, base RTT {} ns, MTU {}, cwnd {} bytes; a message of {} packets{}\n\n",
      params.net_base_rtt.value / 1'000, kMtu.value, params.max_cwnd.value, options.packets,
      options.lose == 0 ? std::string() : fmt::format(", data packet {} is lost", options.lose));
  duet.post(0, {0, options.packets * static_cast<std::uint32_t>(kMtu.value)});
  return duet.run(at(seconds(1))) ? 0 : 1;
}

}  // namespace strack::transports
