// RoCEv2 in the swarm.
//
// Besides its invariants a connection carries a model of both ends, written from the requirements
// and not from the core: what each QP sends next, takes next and owes. After every step core and
// model must agree.
#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "swarm/driver.h"
#include "swarm/plan.h"
#include "swarm/swarm.h"
#include "transports/rocev2/events.h"
#include "transports/rocev2/receiver.h"
#include "transports/rocev2/sender.h"

namespace strack::swarm {
namespace {

using core::Psn;
using core::RoceAckKind;

static_assert(core::kMaxQps <= kMostPaths);

struct RocePlan : Plan {
  core::RoceParams params;
};

core::DcqcnParams draw_dcqcn(Rng& tune, const Link& link) {
  const std::int64_t rtt = link.net_base_rtt.value;
  const auto share = [&](std::int64_t most) { return link.rate / tune.between(1, most); };
  core::DcqcnParams d;
  d.variant = static_cast<core::DcqcnVariant>(tune.below(3));
  d.g = {tune.between(0, 64), 64};
  d.alpha_timer = ps(tune.between(rtt / 10, 4 * rtt));
  d.decrease_interval = tune.chance(percent(20)) ? ps(0) : ps(tune.between(0, 4 * rtt));
  d.increase_timer = ps(tune.between(rtt / 4, 20 * rtt));
  d.byte_counter =
      tune.chance(percent(40)) ? bytes(0) : bytes(tune.between(1, 64 * link.mtu.value));
  d.fast_recovery = static_cast<std::uint32_t>(tune.between(0, 5));
  d.rate_ai = tune.chance(percent(10)) ? BitsPerSecond{0} : share(1'000);
  d.rate_hai = tune.chance(percent(10)) ? BitsPerSecond{0} : share(100);
  d.min_rate = share(1'000);
  d.cnp_interval = tune.chance(percent(40)) ? ps(0) : ps(tune.between(0, 10 * rtt));
  return d;
}

core::RoceParams draw_params(const Rng& root, const Link& link) {
  Rng tune = root.stream("roce");
  const std::int64_t rtt = link.net_base_rtt.value;
  const auto set = static_cast<core::DcqcnSet>(tune.below(4));
  core::RoceParams p =
      core::RoceParams::for_link(link.rate, link.net_base_rtt, link.mtu, set).value();
  if (tune.chance(percent(60))) p.dcqcn = draw_dcqcn(tune, link);
  p.qps_per_conn = 1u << tune.below(5);
  p.stripe_packets = 1u << tune.below(7);
  if (tune.chance(percent(50))) p.ack_bytes = bytes(tune.between(1, 65'536));
  if (tune.chance(percent(50))) p.ack_interval = ps(tune.between(0, 8 * rtt));
  if (tune.chance(percent(60))) p.nak_interval = ps(tune.between(1'000, 50 * rtt));
  if (tune.chance(percent(70))) p.rto = ps(tune.between(2 * rtt, 200 * rtt));
  if (tune.chance(percent(30))) {
    p.max_outstanding =
        static_cast<std::uint32_t>(tune.between(1, tune.chance(percent(50)) ? 4 : 64));
  }
  p.ack_bytes = std::min(p.ack_bytes, std::int64_t{p.max_outstanding} * link.mtu);
  // A packet at the least rate takes ten timeouts at most: each timeout is a step.
  const Bytes wire = link.mtu + p.header;
  const BitsPerSecond least{mul_div(wire.value, seconds(8).value, 10 * p.rto.value)};
  p.dcqcn.min_rate = std::min(std::max(p.dcqcn.min_rate, least), link.rate);
  return p.validated().value();
}

RocePlan draw(std::uint64_t seed) {
  const Rng root(seed);
  RocePlan plan;
  plan.link = draw_link(root);
  plan.params = draw_params(root, plan.link);
  // Go-back-N sends all again for each loss: fewer packets than STrack's, and faults that last for
  // some timeouts only where these are short.
  const Picoseconds unit = std::min(plan.params.rto, 20 * plan.link.net_base_rtt);
  plan.faults = draw_faults(root, plan.link, unit, plan.params.qps_per_conn);
  plan.loads = draw_loads(root, plan.link, {.many = 3, .usual = 20, .longest = 150});
  return plan;
}

/// What one connection's packets are, by number. [D20] [R.roce.stripe]
class Script {
 public:
  struct Fragment {
    std::size_t message;
    std::uint32_t offset;
    std::uint16_t payload;
  };

  Script(const core::RoceParams& params, const Load& load) : params_(params), load_(load) {
    const auto mtu = static_cast<std::uint32_t>(params.mtu.value);
    for (std::size_t i = 0; i < load.messages.size(); ++i) {
      std::uint32_t offset = 0;
      do {
        const std::uint32_t payload = std::min(mtu, load.messages[i].length - offset);
        fragments_.push_back({i, offset, static_cast<std::uint16_t>(payload)});
        offset += payload;
      } while (offset < load.messages[i].length);
    }
  }

  [[nodiscard]] std::size_t packets() const { return fragments_.size(); }
  [[nodiscard]] const Fragment& at(Psn psn) const {
    return fragments_.at(static_cast<std::size_t>(psn - load_.initial_psn));
  }
  [[nodiscard]] std::uint32_t qp_of(Psn psn) const {
    return psn.value / params_.stripe_packets % params_.qps_per_conn;
  }
  /// The first of a QP's at or after this one, posted or not.
  [[nodiscard]] Psn first_of(std::uint32_t qp, Psn psn) const {
    while (qp_of(psn) != qp) psn = psn + 1u;
    return psn;
  }
  [[nodiscard]] Psn next(Psn psn) const { return first_of(qp_of(psn), psn + 1u); }
  /// None of its message follows on its QP.
  [[nodiscard]] bool last_on_qp(Psn psn) const {
    const Psn following = next(psn);
    const auto index = static_cast<std::size_t>(following - load_.initial_psn);
    return index >= fragments_.size() || fragments_[index].message != at(psn).message;
  }
  /// Is this packet what its number says?
  void check(const core::Packet& packet) const {
    const Fragment& fragment = at(packet.psn);
    STRACK_CHECK_OP(packet.path_id, ==, qp_of(packet.psn));
    STRACK_CHECK_OP(packet.message_id, ==, load_.messages[fragment.message].id);
    STRACK_CHECK_OP(packet.message_length, ==, load_.messages[fragment.message].length);
    STRACK_CHECK_OP(packet.offset, ==, fragment.offset);
    STRACK_CHECK_OP(packet.payload, ==, fragment.payload);
  }

 private:
  const core::RoceParams& params_;
  const Load& load_;
  std::vector<Fragment> fragments_;
};

/// How many packets of each message are still missing, and how many messages are whole.
struct Progress {
  std::vector<std::uint32_t> missing;
  std::size_t whole = 0;
  std::int64_t payload = 0;

  void take(const Script::Fragment& fragment) {
    payload += fragment.payload;
    if (--missing[fragment.message] == 0) ++whole;
  }
};

/// One QP as the requirements describe it.
struct QpModel {
  // The sender's.
  Psn una, next, high;
  std::uint32_t outstanding = 0;  ///< packets in [una, high)
  Picoseconds wait{0};            ///< from the last packet to the next; negative: was late
  Instant sent_ts{};              ///< the last packet
  BitsPerSecond sent_rate{0};     ///< when it left
  BitsPerSecond highest_rate{0};  ///< since then
  std::int64_t rate_changes = 0;  ///< since then
  Instant progress{};
  bool limited = false;  ///< a CNP has come
  // The receiver's.
  Psn expected;
  std::int64_t unacked = 0;  ///< bytes that came since the last ACK or NAK
  bool nak_sent = false;     ///< for `expected`
  Instant ack_ts = Instant::distant_past();
  Instant nak_ts = Instant::distant_past();
  Instant cnp_ts = Instant::distant_past();
  bool owes_ack = false;
  bool owes_nak = false;
  bool owes_cnp = false;
};

/// What the events of one connection add up to, and the checks that belong to single events.
struct Log {
  Log(const RocePlan& plan, std::size_t index, const Instant& now, bool print)
      : params(plan.params),
        script(plan.params, plan.loads[index]),
        clock(now),
        trace(print),
        flow(index) {
    const Load& load = plan.loads[index];
    for (std::uint32_t i = 0; i < params.qps_per_conn; ++i) {
      const Psn first = script.first_of(i, load.initial_psn);
      qps.push_back({.una = first, .next = first, .high = first, .expected = first});
    }
    placed.missing.resize(load.messages.size());
    for (std::size_t i = 0; i < script.packets(); ++i) {
      ++placed.missing[script.at(load.initial_psn + static_cast<std::uint32_t>(i)).message];
    }
    acked.missing = placed.missing;
  }

  void sent(const core::RocePacketSent& event) {
    const core::Packet& packet = event.packet;
    QpModel& qp = qps[packet.path_id];
    script.check(packet);
    STRACK_CHECK(packet.psn == qp.next);  // [R.roce.go_back] all of them again, in order
    STRACK_CHECK_OP(packet.retransmission, ==, packet.psn < qp.high);
    if (qp.outstanding == 0) qp.progress = clock;
    qp.next = script.next(packet.psn);
    if (packet.retransmission) {
      ++retransmissions;
    } else {
      ++new_packets;
      ++qp.outstanding;
      qp.high = qp.next;
    }
    // [R.roce.outstanding] [D34]
    STRACK_CHECK_OP(qp.outstanding, <=, params.max_outstanding);

    // [R.dcqcn.start] [R.dcqcn.bounds] Line rate without a CNP, within bounds after one.
    STRACK_CHECK_OP(event.rate.value, <=, params.line_rate.value);
    STRACK_CHECK_OP(event.rate.value, >=,
                    (qp.limited ? params.dcqcn.min_rate : params.line_rate).value);

    pace(qp, bytes(packet.payload) + params.header, event.rate);
  }

  /// Which QP's is not told: any of them may have gone this fast.
  void rate_changed(const core::RateChanged& event) {
    // [R.dcqcn.bounds]
    STRACK_CHECK_OP(event.rate.value, >=, params.dcqcn.min_rate.value);
    STRACK_CHECK_OP(event.rate.value, <=, event.target.value);
    STRACK_CHECK_OP(event.target.value, <=, params.line_rate.value);
    for (QpModel& qp : qps) {
      qp.highest_rate = std::max(qp.highest_rate, event.rate);
      ++qp.rate_changes;
    }
    latest_rate = std::max(latest_rate, event.rate);
    ++latest_changes;
  }

  /// Comes after the core has acted on it.
  void heard(const core::RoceAckReceived& event) {
    QpModel& qp = qps[event.ack.qp];
    if (event.ack.kind == RoceAckKind::cnp) {
      ++cnps;
      qp.limited = true;
      return;
    }
    if (event.ack.kind == RoceAckKind::nak) ++naks;
    acknowledge(qp, event.ack.epsn);
    STRACK_CHECK(event.ack.epsn == qp.una);  // [R.roce.go_back] a stale one changes nothing
    acked_bytes += event.acked;
    STRACK_CHECK_OP(acked_bytes.value, ==, acked.payload);
  }

  void went_back(const core::WentBack& event) {
    QpModel& qp = qps[event.qp];
    if (event.timeout) {
      // [R.roce.timeout] Not before its time.
      STRACK_CHECK(qp.outstanding > 0);
      STRACK_CHECK_OP((clock - qp.progress).value, >=, params.rto.value);
    } else {
      acknowledge(qp, event.from);  // [R.roce.go_back] a NAK acknowledges all before it
    }
    STRACK_CHECK(event.from == qp.una);
    qp.next = qp.una;
    qp.progress = clock;
  }

  void arrived(const core::PacketArrived& event) {
    const core::Packet& packet = event.packet;
    QpModel& qp = qps[packet.path_id];
    // [R.dcqcn.cnp] To a sender that cares.
    if (event.ecn && params.dcqcn.variant != core::DcqcnVariant::off &&
        clock - qp.cnp_ts >= params.dcqcn.cnp_interval) {
      qp.owes_cnp = true;
      qp.cnp_ts = clock;
    }
    if (packet.psn > qp.expected) {  // [R.roce.order]
      ++out_of_order;
      // [R.roce.nak] [R.roce.nak_repeat]
      if (!qp.nak_sent || clock - qp.nak_ts >= params.nak_interval) {
        qp.owes_nak = true;
        qp.nak_sent = true;
        qp.nak_ts = clock;
      }
      return;
    }
    if (packet.psn == qp.expected) {
      placed.take(script.at(packet.psn));
      qp.expected = script.next(packet.psn);
      qp.nak_sent = false;
    } else {
      ++duplicates;
    }
    // [R.roce.ack] [D33]
    qp.unacked += packet.payload;
    if (script.last_on_qp(packet.psn) || qp.unacked >= params.ack_bytes.value ||
        clock - qp.ack_ts >= params.ack_interval) {
      qp.owes_ack = true;
    }
  }

  /// What is said is owed, and true.
  void answered(const core::RoceAck& ack) {
    QpModel& qp = qps[ack.qp];
    if (ack.kind == RoceAckKind::cnp) {
      STRACK_CHECK(qp.owes_cnp);  // [R.dcqcn.cnp]
      qp.owes_cnp = false;
      return;
    }
    STRACK_CHECK(ack.kind == RoceAckKind::nak ? qp.owes_nak : qp.owes_ack);  // [R.roce.ack]
    STRACK_CHECK(ack.epsn == qp.expected);                                   // [R.roce.nak]
    qp.owes_ack = false;
    qp.owes_nak = false;
    qp.unacked = 0;
    qp.ack_ts = clock;
  }

  const core::RoceParams& params;
  const Script script;
  const Instant& clock;
  const bool trace;
  const std::size_t flow;
  std::vector<QpModel> qps;
  Progress placed, acked;
  Tally tally{std::vector<std::uint64_t>(core::kRoceRareNames.size()),
              std::vector<std::uint64_t>(2)};
  BitsPerSecond latest_rate{0};  ///< the highest told since a packet left, on any QP
  std::int64_t latest_changes = 0;
  Bytes acked_bytes{0};  ///< as events tell
  std::uint64_t new_packets = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t naks = 0;
  std::uint64_t cnps = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t out_of_order = 0;

 private:
  /// [R.roce.pacing] [D33] A packet waits until those before it have had their time at the QP's rate,
  /// less what they were late by, at most one packet's time. The rate may have changed since the
  /// last one: the highest there was bounds the wait from below, and each change rounds it by less
  /// than a picosecond.
  void pace(QpModel& qp, Bytes size, BitsPerSecond rate) {
    const BitsPerSecond highest = std::max(qp.highest_rate, rate);
    if (qp.wait > ps(0)) qp.wait = {mul_div(qp.wait.value, qp.sent_rate.value, highest.value)};
    qp.wait -= clock - qp.sent_ts + ps(qp.rate_changes);
    STRACK_CHECK_OP(qp.wait.value, <=, 0);
    const Picoseconds time = size / rate;
    qp.wait = std::max(qp.wait, -time) + time;
    qp.sent_ts = clock;
    qp.sent_rate = rate;
    // Its bytes may have raised the rate already.
    qp.highest_rate = std::max(rate, std::exchange(latest_rate, {}));
    qp.rate_changes = std::exchange(latest_changes, 0);
  }

  void acknowledge(QpModel& qp, Psn epsn) {
    if (epsn > qp.una) qp.progress = clock;
    for (; qp.una < epsn; qp.una = script.next(qp.una)) {
      acked.take(script.at(qp.una));
      --qp.outstanding;
    }
    qp.next = max(qp.next, qp.una);
  }
};

/// The sink both cores of a connection report to.
struct Events {
  Log* log;

  template <class Event>
  void on(const Event& /*event*/) const {}

  void on(const core::RoceReached& event) const {
    ++log->tally.reached[static_cast<std::size_t>(event.branch)];
  }
  void on(const core::RocePacketSent& event) const {
    if (log->trace) {
      fmt::print("  flow {} sends psn {} of message {} on qp {}{}, at {} Mb/s\n", log->flow,
                 event.packet.psn.value, event.packet.message_id, event.packet.path_id,
                 event.packet.retransmission ? " again" : "", event.rate.value / 1'000'000);
    }
    log->sent(event);
  }
  void on(const core::RoceAckReceived& event) const {
    if (log->trace) {
      fmt::print("  flow {} hears {}\n", log->flow, in_words(event.ack));
    }
    log->heard(event);
  }
  void on(const core::WentBack& event) const {
    if (log->trace) {
      fmt::print("  flow {} goes back to psn {} of qp {} for a {}\n", log->flow, event.from.value,
                 event.qp, event.timeout ? "timeout" : "NAK");
    }
    log->went_back(event);
  }
  void on(const core::PacketArrived& event) const {
    if (log->trace) {
      fmt::print("  flow {} gets psn {} on qp {}{}\n", log->flow, event.packet.psn.value,
                 event.packet.path_id, event.ecn ? ", marked" : "");
    }
    log->arrived(event);
  }
  void on(const core::RoceAckSent& event) const {
    if (log->trace) fmt::print("  flow {} says {}\n", log->flow, in_words(event.ack));
    log->answered(event.ack);
  }
  void on(const core::RateChanged& event) const { log->rate_changed(event); }

 private:
  static std::string in_words(const core::RoceAck& ack) {
    constexpr std::array kKinds{"ACK", "NAK", "CNP"};
    return fmt::format("{} of qp {}, epsn {}", kKinds[static_cast<std::size_t>(ack.kind)], ack.qp,
                       ack.epsn.value);
  }
};

/// One connection, and what must hold between its sender and its receiver.
class Connection {
 public:
  using Plan = RocePlan;
  using Sender = core::RoceSender<Events>;
  using Receiver = core::RoceReceiver<Events>;
  using Flow = Pair<Sender, Receiver>::Flow;

  Connection(const Plan& plan, std::size_t flow, const Instant& clock, bool trace)
      : params_(plan.params),
        initial_psn_(plan.loads[flow].initial_psn),
        sender_qps_(params_.qps_per_conn),
        receiver_qps_(params_.qps_per_conn),
        log_(plan, flow, clock, trace) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Sender make_sender(std::span<core::MessageSlot> slots) {
    return Sender(params_, slots, sender_qps_, initial_psn_, Events{&log_});
  }
  Receiver make_receiver() { return Receiver(params_, receiver_qps_, initial_psn_, Events{&log_}); }

  void check(Flow& flow) {
    const Sender& sender = flow.sender;
    const Receiver& receiver = flow.receiver;
    const Instant deadline = sender.next_deadline();
    for (std::uint32_t i = 0; i < params_.qps_per_conn; ++i) {
      const QpModel& model = log_.qps[i];
      const core::RoceSenderQp& qp = sender.qp(i);
      const Psn expected = receiver.qp(i).expected;

      // [R.roce.go_back] [R.roce.order] The sender never knows more than the receiver, and the
      // receiver has nothing that was not sent. In the model none of these ever goes back but next.
      STRACK_CHECK(qp.una <= qp.next);
      STRACK_CHECK(qp.next <= qp.high);
      STRACK_CHECK(qp.una <= expected);
      STRACK_CHECK(expected <= qp.high);
      STRACK_CHECK(qp.una == model.una);
      STRACK_CHECK(qp.next == model.next);
      STRACK_CHECK(qp.high == model.high);
      STRACK_CHECK(expected == model.expected);

      // [R.roce.ack] [R.roce.nak] [R.dcqcn.cnp] What is owed is said at once.
      STRACK_CHECK(!model.owes_ack);
      STRACK_CHECK(!model.owes_nak);
      STRACK_CHECK(!model.owes_cnp);

      // [R.roce.timeout] And not too late.
      if (model.outstanding > 0) STRACK_CHECK(deadline <= model.progress + params_.rto);
    }

    // [R.roce.order] Each packet is placed once, in its QP's order, and known to be.
    STRACK_CHECK_OP(flow.payload_placed, ==, static_cast<std::uint64_t>(log_.placed.payload));
    STRACK_CHECK_OP(sender.acked_bytes().value, ==, log_.acked.payload);
    STRACK_CHECK_OP(sender.acked_bytes().value, <=, log_.placed.payload);
    STRACK_CHECK_OP(receiver.duplicates(), ==, log_.duplicates);
    STRACK_CHECK_OP(receiver.out_of_order(), ==, log_.out_of_order);

    // [D21] A message is delivered with the last of its packets, complete when all are known to
    // have come, whatever became of earlier ones.
    STRACK_CHECK_OP(flow.delivered.size(), ==, log_.placed.whole);
    STRACK_CHECK_OP(flow.completed.size(), ==, log_.acked.whole);

    // [R.roce.refuse] An honest receiver is never refused, an honest sender never misunderstood.
    STRACK_CHECK_OP(sender.counters().acks_rejected, ==, 0u);
    STRACK_CHECK_OP(receiver.malformed_packets(), ==, 0u);

    STRACK_CHECK_OP(flow.packets_sent, ==, log_.new_packets + log_.retransmissions);
    STRACK_CHECK_OP(sender.counters().retransmissions, ==, log_.retransmissions);
    STRACK_CHECK_OP(sender.counters().naks, ==, log_.naks);
    STRACK_CHECK_OP(sender.counters().cnps, ==, log_.cnps);
  }

  /// At the end nothing is left over.
  void check_finished(Flow& flow) const {
    STRACK_CHECK(flow.sender.idle());
    STRACK_CHECK(flow.sender.next_deadline() == Instant::never());
    STRACK_CHECK(!flow.sender.poll_completion());
    STRACK_CHECK_OP(log_.new_packets, ==, log_.script.packets());
    for (const QpModel& qp : log_.qps) {
      STRACK_CHECK_OP(qp.outstanding, ==, 0u);
      STRACK_CHECK(qp.una == qp.expected);
    }
  }

  void add_to(Tally& tally, const Flow& /*flow*/) const {
    tally.add(log_.tally);
    tally.retransmissions += log_.retransmissions;
    tally.others[0] += log_.naks;
    tally.others[1] += log_.cnps;
  }

  static Picoseconds patience(const Plan& plan);

 private:
  const core::RoceParams& params_;
  Psn initial_psn_;
  std::vector<core::RoceSenderQp> sender_qps_;
  std::vector<core::RoceReceiverQp> receiver_qps_;
  Log log_;
};

/// [R.roce.timeout] [R.roce.nak_repeat] [D34] Once the last of what was sent under faults has
/// arrived, nothing is lost or overtaken any more. What is then missing shows by a NAK repeated or
/// by a timeout, and all of a QP is sent again, in order, at no less than its least rate: three
/// times over, for a late NAK or a lost ACK may ask for it again.
///
/// There are more timeouts than that where max_outstanding packets do not make the receiver
/// acknowledge: one for each time it is reached. And a timeout shorter than acknowledgements take
/// goes off in between: then each packet may have to wait for its own.
Picoseconds Connection::patience(const Plan& plan) {
  const core::RoceParams& p = plan.params;
  std::int64_t packets = 0;   // of the busiest QP
  std::int64_t messages = 0;  // of the busiest flow: each may have to wait for a slot
  for (const Load& load : plan.loads) {
    const Script script(p, load);
    std::vector<std::int64_t> on_qp(p.qps_per_conn);
    for (std::size_t i = 0; i < script.packets(); ++i) {
      ++on_qp[script.qp_of(load.initial_psn + static_cast<std::uint32_t>(i))];
    }
    // Those that wait for a slot wait for other QPs.
    const bool all_at_once = load.messages.size() <= duet::kQueueSlots;
    packets = std::max(packets, all_at_once ? *std::max_element(on_qp.begin(), on_qp.end())
                                            : static_cast<std::int64_t>(script.packets()));
    messages = std::max(messages, static_cast<std::int64_t>(load.messages.size()));
  }
  const bool limited = p.dcqcn.variant != core::DcqcnVariant::off && plan.faults.marking.num > 0;
  const BitsPerSecond least = limited ? p.dcqcn.min_rate : p.line_rate;
  const Picoseconds pace = (p.mtu + p.header) / least + p.qps_per_conn * plan.packet_time();
  const Picoseconds round_trip = 2 * plan.one_way() + plan.packet_time();
  const Picoseconds recovery = p.rto + p.nak_interval + round_trip + pace;
  const bool patient = p.rto > p.ack_interval + 2 * round_trip + 2 * pace;
  const std::int64_t recoveries = patient ? 3 + packets / p.max_outstanding : 3 + packets;
  return plan.still_under_way() + recoveries * (recovery + p.ack_interval) + 3 * packets * pace +
         messages * (round_trip + pace);
}

Tally run_seed(std::uint64_t seed, bool trace) { return run<Connection>(draw(seed), seed, trace); }

std::string describe_seed(std::uint64_t seed) {
  const RocePlan plan = draw(seed);
  constexpr std::array kVariants{"no DCQCN", "the paper's DCQCN", "the NICs' DCQCN"};
  const core::RoceParams& p = plan.params;
  return describe(
      plan, fmt::format("{} qps, stripes of {}, {}, least rate {} Mb/s, ack every {} bytes or {} "
                        "ns, nak every {} ns, rto {} ns, {} outstanding",
                        p.qps_per_conn, p.stripe_packets,
                        kVariants[static_cast<std::size_t>(p.dcqcn.variant)],
                        p.dcqcn.min_rate.value / 1'000'000, p.ack_bytes.value,
                        p.ack_interval.value / 1'000, p.nak_interval.value / 1'000,
                        p.rto.value / 1'000, p.max_outstanding));
}

constexpr std::array<std::string_view, 2> kOthers{"NAKs", "CNPs"};

}  // namespace

extern const Protocol swarm_of_rocev2;
const Protocol swarm_of_rocev2{"rocev2", core::kRoceRareNames, kOthers, run_seed, describe_seed};

}  // namespace strack::swarm
