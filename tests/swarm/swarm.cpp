#include "swarm/swarm.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "core/strack/receiver.h"
#include "core/strack/sender.h"
#include "duet/duet.h"

namespace strack::swarm {
namespace {

using core::Packet;
using core::Psn;
using core::Sack;

/// Everything a seed decides before the first packet.
struct Plan {
  core::StrackParams params;
  BitsPerSecond rate;
  Picoseconds one_way;  ///< without faults
  Picoseconds jitter;
  Ratio loss, sack_loss, duplication, spike, marking;
  Picoseconds spike_size;
  bool marks_by_path = false;  ///< the same paths all the time, rather than any packet
  std::vector<core::PathId> blackholes;
  Instant dead_from, dead_until;
  Instant faults_end;
  std::array<Psn, 2> initial_psn;
  std::array<std::vector<core::Message>, 2> messages;
  std::array<std::vector<Instant>, 2> post_at;
};

Ratio percent(std::int64_t n) { return {n, 100}; }

Plan draw(std::uint64_t seed) {
  const Rng root(seed);
  Plan plan;

  Rng link = root.stream("link");
  constexpr std::array kRates{10, 100, 400, 800};
  plan.rate = gbps(kRates[link.below(kRates.size())]);
  constexpr std::array<std::int64_t, 5> kMtus{64, 256, 1000, 4096, 9000};
  const Bytes mtu = bytes(kMtus[link.below(kMtus.size())]);
  const Picoseconds base_rtt = ns(link.between(1'000, 20'000));
  plan.one_way = base_rtt / 2;
  // The base RTT the transport is told is the network's without queues, serialisation included.
  const Picoseconds net_base_rtt = base_rtt + (mtu + bytes(64)) / plan.rate;
  plan.params = core::StrackParams::for_link(plan.rate, net_base_rtt, mtu).value();

  Rng tune = root.stream("params");
  core::StrackParams& p = plan.params;
  if (tune.chance(percent(70)))
    p.max_cwnd = tune.between(1, tune.chance(percent(30)) ? 3 : 120) * mtu;
  p.max_cwnd = std::max(p.max_cwnd, p.min_cwnd);
  if (tune.chance(percent(30))) p.tracking_window = static_cast<std::uint32_t>(tune.between(1, 64));
  p.max_paths = static_cast<std::uint32_t>(tune.chance(percent(20)) ? 1 : tune.between(2, 256));
  p.path_policy = static_cast<core::PathPolicy>(tune.chance(percent(60)) ? 0 : tune.below(4));
  if (tune.chance(percent(20))) p.ecn_bitmap_reset = 2 * net_base_rtt;
  if (tune.chance(percent(20))) p.increase_rule = core::IncreaseRule::per_ack;
  if (tune.chance(percent(20))) p.window_rule = core::WindowRule::overshoot;
  if (tune.chance(percent(20))) p.echo_rule = core::EchoRule::any_mark;
  if (tune.chance(percent(20))) p.sack_on_epsn = false;
  if (tune.chance(percent(20))) p.probe_recovers = core::ProbeRecovers::highest_received;
  if (tune.chance(percent(30))) p.sack_bytes = bytes(tune.between(1, 65'536));
  if (tune.chance(percent(20))) p.ooo_min = static_cast<std::uint32_t>(tune.between(0, 20));
  p = p.validated().value();

  Rng fault = root.stream("faults");
  const auto up_to = [&](std::int64_t most) {
    return fault.chance(percent(50)) ? percent(0) : percent(fault.between(0, most));
  };
  plan.jitter = fault.chance(percent(40)) ? ps(0) : ps(fault.between(0, 2 * base_rtt.value));
  plan.loss = up_to(30);
  plan.sack_loss = up_to(30);
  plan.duplication = up_to(20);
  plan.spike = up_to(5);
  plan.spike_size = fault.between(1, 40) * base_rtt;
  plan.marking = up_to(100);
  plan.marks_by_path = fault.chance(percent(50));
  if (fault.chance(percent(30))) {
    const std::int64_t count = fault.between(1, 1 + p.max_paths / 2);
    for (std::int64_t i = 0; i < count; ++i) {
      plan.blackholes.push_back(static_cast<core::PathId>(fault.below(p.max_paths)));
    }
  }
  plan.faults_end = at(fault.between(5, 60) * p.rto);
  if (fault.chance(percent(30))) {
    plan.dead_from = at(ps(fault.between(0, plan.faults_end.ps / 2)));
    plan.dead_until =
        std::min(plan.faults_end, plan.dead_from + ps(fault.between(1, 30 * p.rto.value)));
  }

  Rng load = root.stream("load");
  for (std::size_t flow = 0; flow < 2; ++flow) {
    plan.initial_psn[flow] =
        Psn{load.chance(percent(50)) ? static_cast<std::uint32_t>(0u - load.below(400))
                                     : static_cast<std::uint32_t>(load.next())};
    const std::int64_t count =
        load.chance(percent(10)) ? load.between(65, 140) : load.between(1, 12);
    // Now and then long enough for the tracking bitmaps to come round.
    const std::int64_t most_packets = count > 64 ? 3 : load.chance(percent(8)) ? 600 : 60;
    const std::int64_t largest = most_packets * mtu.value;
    Instant when{};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t length =
          load.chance(percent(20)) ? load.between(0, 100) : load.between(0, largest);
      plan.messages[flow].push_back(
          {static_cast<core::MessageId>(i), static_cast<std::uint32_t>(length)});
      if (load.chance(percent(30))) when = when + ps(load.between(0, 30 * base_rtt.value));
      plan.post_at[flow].push_back(when);
    }
  }
  return plan;
}

/// The network of a plan: as bad as drawn until faults_end, perfect afterwards.
class SwarmNet {
 public:
  SwarmNet(const Plan& plan, std::uint64_t seed) : plan_(plan), rng_(Rng(seed).stream("network")) {
    path_marked_.resize(core::kMaxPaths);
    for (std::size_t i = 0; i < path_marked_.size(); ++i)
      path_marked_[i] = rng_.chance(plan.marking);
  }

  duet::Fate fate_of(std::size_t /*flow*/, const Packet& packet, Instant now) {
    if (now >= plan_.faults_end) return duet::Fate::after(plan_.one_way);
    const bool swallowed = std::find(plan_.blackholes.begin(), plan_.blackholes.end(),
                                     packet.path_id) != plan_.blackholes.end();
    duet::Fate fate = bad_luck(plan_.loss, now);
    if (swallowed) fate.copies = 0;
    fate.ecn = plan_.marks_by_path ? path_marked_[packet.path_id] : rng_.chance(plan_.marking);
    return fate;
  }
  duet::Fate fate_of(std::size_t /*flow*/, const Sack& /*sack*/, Instant now) {
    if (now >= plan_.faults_end) return duet::Fate::after(plan_.one_way);
    return bad_luck(plan_.sack_loss, now);
  }
  bool mark_on_arrival(std::size_t /*flow*/, const Packet& /*packet*/, bool ecn, Instant /*now*/) {
    return ecn;
  }

 private:
  duet::Fate bad_luck(Ratio loss, Instant now) {
    duet::Fate fate = duet::Fate::after(delay());
    fate.copy_delay = delay();
    if (rng_.chance(plan_.duplication)) fate.copies = 2;
    const bool dead = now >= plan_.dead_from && now < plan_.dead_until;
    if (rng_.chance(loss) || dead) fate.copies = 0;
    return fate;
  }
  Picoseconds delay() {
    const Picoseconds jitter = ps(rng_.between(0, plan_.jitter.value));
    return plan_.one_way + jitter + (rng_.chance(plan_.spike) ? plan_.spike_size : ps(0));
  }

  const Plan& plan_;
  Rng rng_;
  std::vector<bool> path_marked_;
};

/// What the events of one connection add up to, and the checks that belong to single events.
struct Log {
  Tally tally;
  const core::StrackParams* params = nullptr;
  Bytes unique_sent{0};
  std::uint64_t new_packets = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t probes = 0;
  bool trace = false;
  int flow = 0;
};

/// The sink both cores of a connection report to.
struct Events {
  Log* log;

  template <class Event>
  void on(const Event& /*event*/) const {}

  void on(const core::Reached& event) const {
    ++log->tally.reached[static_cast<std::size_t>(event.branch)];
  }

  void on(const core::PacketSent& event) const {
    // [R.inflight.window] [D19] What is in flight never exceeds the window, or by less than a
    // packet if so asked.
    const Bytes slack = log->params->window_rule == core::WindowRule::overshoot
                            ? log->params->mtu - bytes(1)
                            : bytes(0);
    STRACK_CHECK_OP(event.inflight.value, <=, (event.cwnd + slack).value);
    if (event.packet.retransmission) {
      ++log->retransmissions;
    } else {
      ++log->new_packets;
      log->unique_sent += bytes(event.packet.payload);
    }
    if (log->trace) {
      fmt::print("  flow {} sends psn {} of message {} on path {}{}, inflight {} of {}\n",
                 log->flow, event.packet.psn.value, event.packet.message_id, event.packet.path_id,
                 event.packet.retransmission ? " again" : "", event.inflight.value,
                 event.cwnd.value);
    }
  }
  void on(const core::ProbeSent& event) const {
    ++log->probes;
    if (log->trace) fmt::print("  flow {} probes ({})\n", log->flow, event.probe_id);
  }
  void on(const core::LossDeclared& event) const {
    if (!log->trace) return;
    constexpr std::array kCauses{"too much out of order", "a probe's answer", "a timeout"};
    fmt::print("  flow {} declares [{}, {}) lost by {}, {} bytes\n", log->flow, event.from.value,
               event.high.value, kCauses[static_cast<std::size_t>(event.cause)],
               event.claimed.value);
  }
  void on(const core::SackReceived& event) const {
    if (!log->trace) return;
    fmt::print("  flow {} hears epsn {}, base {}, bits {:x}, ooo {}, rtt {} ns, {} bytes more\n",
               log->flow, event.sack.epsn.value, event.sack.sack_base.value, event.sack.bitmap,
               event.sack.ooo_count, event.rtt.value / 1'000, event.acked.value);
  }
};

using Sender = core::Sender<Events>;
using Receiver = core::Receiver<Events>;
using Pair = duet::Duet<Sender, Receiver, core::MessageSlot, SwarmNet>;

/// What must hold between a sender and its receiver after every step.
class Invariants {
 public:
  explicit Invariants(const Plan& plan, std::size_t flow)
      : plan_(plan),
        flow_(flow),
        sender_epsn_(plan.initial_psn[flow]),
        receiver_epsn_(plan.initial_psn[flow]) {}

  void check(Pair::Flow& flow, const Log& log) {
    Sender& sender = flow.sender;
    const Receiver& receiver = flow.receiver;
    const core::StrackParams& params = plan_.params;

    // [R.sack.field.epsn] EPSN never goes back, and the sender never knows more than the receiver.
    STRACK_CHECK(sender.epsn() >= sender_epsn_);
    STRACK_CHECK(receiver.epsn() >= receiver_epsn_);
    STRACK_CHECK(sender.epsn() <= receiver.epsn());
    sender_epsn_ = sender.epsn();
    receiver_epsn_ = receiver.epsn();

    // [D26] The tracking window bounds what is sent and unacknowledged.
    STRACK_CHECK_OP(sender.psn_next() - sender.epsn(), <=,
                    static_cast<std::int32_t>(params.tracking_window));

    // [R.bitmap.sender] [R.bitmap.receiver] What the sender takes for received has been received.
    for (Psn psn = max(sender.epsn(), receiver.epsn()); psn < sender.psn_next(); psn = psn + 64) {
      const auto left = static_cast<std::uint32_t>(sender.psn_next() - psn);
      const std::uint64_t valid = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      const std::uint64_t claimed = sender.acked().extract64(psn.value) & valid;
      STRACK_CHECK((claimed & ~receiver.arrived().extract64(psn.value)) == 0);
    }

    // [R.bitmap.sender] And nothing is left of what EPSN has passed.
    const std::uint32_t outside =
        core::kMaxTrackingWindow - static_cast<std::uint32_t>(sender.psn_next() - sender.epsn());
    STRACK_CHECK_OP(sender.acked().next_set(sender.psn_next().value, outside), ==, outside);

    // [R.sack.field.ooo] [R.sack.field.bytes_recvd] The receiver's counters count what they say.
    STRACK_CHECK_OP(receiver.ooo_count(), ==, receiver.arrived().count());
    STRACK_CHECK_OP(receiver.bytes_recvd(), ==, static_cast<std::uint32_t>(flow.payload_placed));
    STRACK_CHECK_OP(sender.bytes_recvd().value, <=, static_cast<std::int64_t>(flow.payload_placed));

    // [R.inflight.equation] [D16] Every packet is counted once, except those claimed and not yet
    // sent again.
    STRACK_CHECK_OP(
        (sender.bytes_sent() - sender.bytes_claimed_retransmit() + sender.claimed_unsent()).value,
        ==, log.unique_sent.value);

    // [D8] The window keeps its bounds.
    STRACK_CHECK_OP(sender.window().cwnd().value, >=, params.min_cwnd.value);
    STRACK_CHECK_OP(sender.window().cwnd().value, <=, params.max_cwnd.value);

    // [D25] An honest receiver is never refused, an honest sender never misunderstood.
    STRACK_CHECK_OP(sender.counters().sacks_rejected, ==, 0u);
    STRACK_CHECK_OP(receiver.malformed_packets(), ==, 0u);
    STRACK_CHECK_OP(receiver.beyond_window(), ==, 0u);

    STRACK_CHECK_OP(flow.packets_sent, ==, log.new_packets + log.retransmissions + log.probes);

    // [D21] Nothing is delivered or completed twice, and nothing complete that was not delivered.
    while (seen_delivered_ < flow.delivered.size()) {
      STRACK_CHECK(delivered_.insert(flow.delivered[seen_delivered_++].first).second);
    }
    while (seen_completed_ < flow.completed.size()) {
      const core::MessageId id = flow.completed[seen_completed_++].first;
      STRACK_CHECK(completed_.insert(id).second);
      STRACK_CHECK(delivered_.contains(id));
    }
  }

  /// [P.ooo_delivery] At the end nothing is missing and nothing is left over.
  void check_finished(Pair::Flow& flow) const {
    const auto& messages = plan_.messages[flow_];
    STRACK_CHECK_OP(delivered_.size(), ==, messages.size());
    STRACK_CHECK_OP(completed_.size(), ==, messages.size());
    std::uint64_t total = 0;
    for (const core::Message& message : messages) total += message.length;
    STRACK_CHECK_OP(flow.payload_placed, ==, total);
    STRACK_CHECK(flow.sender.idle());
    STRACK_CHECK(!flow.sender.in_recovery());
    STRACK_CHECK_OP(flow.sender.inflight_bytes().value, ==, 0);
    STRACK_CHECK_OP(flow.receiver.ooo_count(), ==, 0);
  }

 private:
  const Plan& plan_;
  std::size_t flow_;
  Psn sender_epsn_;
  Psn receiver_epsn_;
  std::set<core::MessageId> delivered_;
  std::set<core::MessageId> completed_;
  std::size_t seen_delivered_ = 0;
  std::size_t seen_completed_ = 0;
};

/// [R.timeout.loss] [D15] When all must be done, counted from the end of faults and of posting: the
/// longest timeout there can be, then for every packet a probe's patience and two round trips, were
/// each alone in its window.
Picoseconds patience(const Plan& plan) {
  const core::StrackParams& p = plan.params;
  const Bytes mtu = p.mtu;
  std::int64_t packets = 0;
  for (const auto& messages : plan.messages) {
    for (const core::Message& m : messages) {
      packets += core::MessageQueue::packet_count(m.length, static_cast<std::uint32_t>(mtu.value));
    }
  }
  const Picoseconds round_trip = 2 * plan.one_way + (mtu + bytes(64)) / plan.rate;
  const Picoseconds longest_timeout = (std::int64_t{1} << p.rto_backoff_max) * p.rto;
  const Picoseconds still_under_way = 2 * plan.jitter + 2 * plan.spike_size;
  return 2 * longest_timeout + still_under_way +
         (packets + 10) * (p.probe_interval + 2 * round_trip);
}

}  // namespace

void Tally::add(const Tally& other) {
  for (std::size_t i = 0; i < reached.size(); ++i) reached[i] += other.reached[i];
  seeds += other.seeds;
  steps += other.steps;
  packets += other.packets;
  retransmissions += other.retransmissions;
  probes += other.probes;
  timeouts += other.timeouts;
  messages += other.messages;
}

Tally run_seed(std::uint64_t seed, bool trace) {
  const Plan plan = draw(seed);
  SwarmNet net(plan, seed);
  Pair pair(net);
  std::array<Log, 2> logs;
  std::vector<Invariants> invariants;
  const Picoseconds byte_time = bytes(1) / plan.rate;
  for (std::size_t i = 0; i < 2; ++i) {
    logs[i].params = &plan.params;
    logs[i].trace = trace;
    logs[i].flow = static_cast<int>(i);
    const Events events{&logs[i]};
    pair.add_flow(
        [&](auto slots) { return Sender(plan.params, slots, plan.initial_psn[i], events); },
        [&] { return Receiver(plan.params, plan.initial_psn[i], events); }, byte_time);
    invariants.emplace_back(plan, i);
  }

  std::array<std::size_t, 2> posted{};
  Instant last_post{};
  for (const auto& times : plan.post_at) last_post = std::max(last_post, times.back());
  const Instant deadline = std::max(plan.faults_end, last_post) + patience(plan);

  Tally tally;
  tally.seeds = 1;
  const auto check = [&] {
    for (std::size_t i = 0; i < 2; ++i) invariants[i].check(pair.flow(i), logs[i]);
    ++tally.steps;
  };
  while (true) {
    // Post what is due before the next event.
    Instant next_post = Instant::never();
    std::size_t poster = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      if (posted[i] < plan.messages[i].size() && plan.post_at[i][posted[i]] < next_post) {
        next_post = plan.post_at[i][posted[i]];
        poster = i;
      }
    }
    if (pair.step(next_post)) {
      if (trace) fmt::print("{} ns\n", pair.now().ps / 1'000);
      check();
      STRACK_CHECK_OP(pair.now().ps, <=, deadline.ps);  // [D15] [R.probe.loss] liveness
      continue;
    }
    if (next_post == Instant::never()) break;
    pair.advance_to(next_post);
    pair.post(poster, plan.messages[poster][posted[poster]++]);
    check();
  }
  for (std::size_t i = 0; i < 2; ++i) {
    invariants[i].check_finished(pair.flow(i));
    tally.add(logs[i].tally);
    tally.packets += pair.flow(i).packets_sent;
    tally.retransmissions += logs[i].retransmissions;
    tally.probes += logs[i].probes;
    tally.timeouts += pair.flow(i).sender.counters().timeouts;
    tally.messages += pair.flow(i).delivered.size();
  }
  return tally;
}

std::string describe(std::uint64_t seed) {
  const Plan plan = draw(seed);
  return fmt::format(
      "{} Gb/s, mtu {}, base rtt {} ns, max_cwnd {} bytes, tracking window {}, {} paths, loss {} % "
      "and {} % of SACKs, "
      "duplication {} %, spikes {} % of {} ns, marks {} %, {} blackholed paths, dead for {} ns, {} "
      "+ {} messages",
      plan.rate.value / 1'000'000'000, plan.params.mtu.value,
      plan.params.net_base_rtt.value / 1'000, plan.params.max_cwnd.value,
      plan.params.tracking_window, plan.params.max_paths, plan.loss.num, plan.sack_loss.num,
      plan.duplication.num, plan.spike.num, plan.spike_size.value / 1'000, plan.marking.num,
      plan.blackholes.size(), (plan.dead_until - plan.dead_from).value / 1'000,
      plan.messages[0].size(), plan.messages[1].size());
}

}  // namespace strack::swarm
