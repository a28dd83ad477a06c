// STrack in the swarm.
#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "core/events.h"
#include "swarm/driver.h"
#include "swarm/plan.h"
#include "swarm/swarm.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"

namespace strack::swarm {
namespace {

using core::Psn;

static_assert(core::kMaxPaths <= kMostPaths);

struct StrackPlan : Plan {
  core::StrackParams params;
};

core::StrackParams draw_params(const Rng& root, const Link& link) {
  Rng tune = root.stream("params");
  core::StrackParams p =
      core::StrackParams::for_link(link.rate, link.net_base_rtt, link.mtu).value();
  if (tune.chance(percent(70)))
    p.max_cwnd = tune.between(1, tune.chance(percent(30)) ? 3 : 120) * link.mtu;
  p.max_cwnd = std::max(p.max_cwnd, p.min_cwnd);
  if (tune.chance(percent(30))) p.tracking_window = static_cast<std::uint32_t>(tune.between(1, 64));
  p.max_paths = static_cast<std::uint32_t>(tune.chance(percent(20)) ? 1 : tune.between(2, 256));
  p.path_policy = static_cast<core::PathPolicy>(tune.chance(percent(60)) ? 0 : tune.below(4));
  if (tune.chance(percent(20))) p.ecn_bitmap_reset = 2 * link.net_base_rtt;
  if (tune.chance(percent(20))) p.increase_rule = core::IncreaseRule::per_ack;
  if (tune.chance(percent(20))) p.window_rule = core::WindowRule::overshoot;
  if (tune.chance(percent(20))) p.echo_rule = core::EchoRule::any_mark;
  if (tune.chance(percent(20))) p.sack_on_epsn = false;
  if (tune.chance(percent(20))) p.probe_recovers = core::ProbeRecovers::highest_received;
  if (tune.chance(percent(30))) p.sack_bytes = bytes(tune.between(1, 65'536));
  if (tune.chance(percent(20))) p.ooo_min = static_cast<std::uint32_t>(tune.between(0, 20));
  return p.validated().value();
}

StrackPlan draw(std::uint64_t seed) {
  const Rng root(seed);
  StrackPlan plan;
  plan.link = draw_link(root);
  plan.params = draw_params(root, plan.link);
  plan.faults = draw_faults(root, plan.link, plan.params.rto, plan.params.max_paths);
  // The longest are long enough for the tracking bitmaps to come round.
  plan.loads = draw_loads(root, plan.link, {.many = 3, .usual = 60, .longest = 600});
  return plan;
}

/// What the events of one connection add up to, and the checks that belong to single events.
struct Log {
  Tally tally{std::vector<std::uint64_t>(core::kRareNames.size()), std::vector<std::uint64_t>(1)};
  const core::StrackParams* params = nullptr;
  Bytes unique_sent{0};
  std::uint64_t new_packets = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t probes = 0;
  bool trace = false;
  std::size_t flow = 0;
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

/// One connection, and what must hold between its sender and its receiver.
class Connection {
 public:
  using Plan = StrackPlan;
  using Sender = core::Sender<Events>;
  using Receiver = core::Receiver<Events>;
  using Flow = Pair<Sender, Receiver>::Flow;

  Connection(const Plan& plan, std::size_t flow, const Instant& /*clock*/, bool trace)
      : params_(plan.params),
        initial_psn_(plan.loads[flow].initial_psn),
        sender_epsn_(initial_psn_),
        receiver_epsn_(initial_psn_) {
    log_.params = &params_;
    log_.trace = trace;
    log_.flow = flow;
  }

  Sender make_sender(std::span<core::MessageSlot> slots) {
    return Sender(params_, slots, initial_psn_, Events{&log_});
  }
  Receiver make_receiver() { return Receiver(params_, initial_psn_, Events{&log_}); }

  void check(Flow& flow) {
    Sender& sender = flow.sender;
    const Receiver& receiver = flow.receiver;

    // [R.sack.field.epsn] EPSN never goes back, and the sender never knows more than the receiver.
    STRACK_CHECK(sender.epsn() >= sender_epsn_);
    STRACK_CHECK(receiver.epsn() >= receiver_epsn_);
    STRACK_CHECK(sender.epsn() <= receiver.epsn());
    sender_epsn_ = sender.epsn();
    receiver_epsn_ = receiver.epsn();

    // [D26] The tracking window bounds what is sent and unacknowledged.
    STRACK_CHECK_OP(sender.psn_next() - sender.epsn(), <=,
                    static_cast<std::int32_t>(params_.tracking_window));

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
        ==, log_.unique_sent.value);

    // [D8] The window keeps its bounds.
    STRACK_CHECK_OP(sender.window().cwnd().value, >=, params_.min_cwnd.value);
    STRACK_CHECK_OP(sender.window().cwnd().value, <=, params_.max_cwnd.value);

    // [D25] An honest receiver is never refused, an honest sender never misunderstood.
    STRACK_CHECK_OP(sender.counters().sacks_rejected, ==, 0u);
    STRACK_CHECK_OP(receiver.malformed_packets(), ==, 0u);
    STRACK_CHECK_OP(receiver.beyond_window(), ==, 0u);

    STRACK_CHECK_OP(flow.packets_sent, ==, log_.new_packets + log_.retransmissions + log_.probes);
  }

  /// [P.ooo_delivery] At the end nothing is left over.
  void check_finished(Flow& flow) const {
    STRACK_CHECK(flow.sender.idle());
    STRACK_CHECK(!flow.sender.in_recovery());
    STRACK_CHECK_OP(flow.sender.inflight_bytes().value, ==, 0);
    STRACK_CHECK_OP(flow.receiver.ooo_count(), ==, 0);
  }

  void add_to(Tally& tally, const Flow& /*flow*/) const {
    tally.add(log_.tally);
    tally.retransmissions += log_.retransmissions;
    tally.others[0] += log_.probes;
  }

  /// [R.timeout.loss] [R.probe.loss] [D15] The longest timeout there can be, then for every packet a
  /// probe's patience and two round trips, were each alone in its window.
  static Picoseconds patience(const Plan& plan) {
    const core::StrackParams& p = plan.params;
    std::int64_t packets = 0;
    for (const Load& load : plan.loads) {
      for (const core::Message& m : load.messages) {
        packets +=
            core::MessageQueue::packet_count(m.length, static_cast<std::uint32_t>(p.mtu.value));
      }
    }
    const Picoseconds round_trip = 2 * plan.one_way() + plan.packet_time();
    const Picoseconds longest_timeout = (std::int64_t{1} << p.rto_backoff_max) * p.rto;
    return 2 * longest_timeout + plan.still_under_way() +
           (packets + 10) * (p.probe_interval + 2 * round_trip);
  }

 private:
  const core::StrackParams& params_;
  Psn initial_psn_;
  Log log_;
  Psn sender_epsn_;
  Psn receiver_epsn_;
};

Tally run_seed(std::uint64_t seed, bool trace) { return run<Connection>(draw(seed), seed, trace); }

std::string describe_seed(std::uint64_t seed) {
  const StrackPlan plan = draw(seed);
  return describe(plan, fmt::format("max_cwnd {} bytes, tracking window {}, {} paths",
                                    plan.params.max_cwnd.value, plan.params.tracking_window,
                                    plan.params.max_paths));
}

constexpr std::array<std::string_view, 1> kOthers{"probes"};

}  // namespace

extern const Protocol swarm_of_strack;
const Protocol swarm_of_strack{"strack", core::kRareNames, kOthers, run_seed, describe_seed};

}  // namespace strack::swarm
