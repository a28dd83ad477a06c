// A RoCEv2 sender between a host that does anything in any order and a network that loses, delays,
// repeats and reorders what it likes, against a model that lists every packet of every QP. ACKs
// come from a real receiver; unless a mode bit says "honest only", invented ones come too.
//
// Always, whatever it is told: which packet leaves and when, all deadlines, bytes, completions and
// refusals are the model's, and the invariants of sender.h hold. Until a lie has been believed,
// everything completes once the network behaves, and is delivered once.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/check.h"
#include "base/fuzz_input.h"
#include "transports/rocev2/receiver.h"
#include "transports/rocev2/sender.h"

namespace strack::core {
namespace {

/// The rules of the specification. Packets are numbered from 0 without wrapping; each QP has a list
/// of its own, and its state is three places in that list.
class Model {
 public:
  struct Qp {
    explicit Qp(BitsPerSecond line_rate) : dcqcn(line_rate) {}

    std::vector<std::int64_t> packets;  ///< this QP's, those of the future included
    std::size_t una = 0;
    std::size_t next = 0;
    std::size_t high = 0;
    std::int64_t progress = 0;
    Dcqcn dcqcn;  ///< rate and pacing; dcqcn_fuzz.cpp is about it
  };

  Model(const RoceParams& params, Psn first)
      : params_(params), first_(first), qps_(params.qps_per_conn, Qp(params.line_rate)) {
    deal();
  }

  void on_message(const Message& message) {
    const std::int64_t mtu = params_.mtu.count();
    const std::int64_t packets = std::max<std::int64_t>(1, (message.length + mtu - 1) / mtu);
    for (std::int64_t i = 0; i < packets; ++i) {
      const std::int64_t payload = std::min(mtu, message.length - i * mtu);
      posted_.push_back({messages_.size(), i * mtu, payload});
    }
    messages_.push_back({message, false});
    pace_deadline_.reset();
    deal();
  }

  // [R.roce.stripe] [R.roce.pacing] [R.roce.outstanding] [R.roce.timeout] The packet that leaves
  // now.
  std::optional<std::int64_t> poll_transmit(std::int64_t now) {
    pace_deadline_.reset();
    std::optional<std::int64_t> earliest;
    for (std::size_t i = 0; i < qps_.size(); ++i) {
      const std::size_t index = (turn_ + i) % qps_.size();
      Qp& qp = qps_[index];
      const std::int64_t number = qp.packets[qp.next];
      if (number >= std::ssize(posted_)) continue;
      if (qp.next - qp.una >= params_.max_outstanding) continue;
      if (qp.dcqcn.ready(params_, {now}) > Instant{now}) {
        const std::int64_t again = qp.dcqcn.ask_again(params_).ps;
        earliest = std::min(earliest.value_or(again), again);
        continue;
      }
      turn_ = index + 1;
      if (qp.una == qp.high) qp.progress = now;
      if (qp.next < qp.high) ++retransmissions;
      ++qp.next;
      qp.high = std::max(qp.high, qp.next);
      const Bytes size = bytes(posted_[static_cast<std::size_t>(number)].payload) + params_.header;
      qp.dcqcn.on_sent(params_, size, {now});
      return number;
    }
    pace_deadline_ = earliest;
    return std::nullopt;
  }

  void check_packet(const Packet& packet, std::int64_t number, bool again, std::int64_t now) const {
    const Posted& part = posted_[static_cast<std::size_t>(number)];
    const Message& message = messages_[part.message].message;
    STRACK_CHECK(packet.type == PacketType::data);
    STRACK_CHECK_OP(packet.psn.value, ==, wrap(number).value);
    STRACK_CHECK_OP(packet.path_id, ==, owner(number));
    STRACK_CHECK_OP(packet.retransmission, ==, again);
    STRACK_CHECK_OP(packet.message_id, ==, message.id);
    STRACK_CHECK_OP(packet.message_length, ==, message.length);
    STRACK_CHECK_OP(packet.offset, ==, part.offset);
    STRACK_CHECK_OP(packet.payload, ==, part.payload);
    STRACK_CHECK_OP(packet.timestamp.ns, ==, Timestamp::of({now}).ns);
  }

  // [R.roce.ack] [R.roce.go_back] [R.roce.refuse] [R.dcqcn.cut]
  void on_receiving_ack(const RoceAck& ack, std::int64_t now) {
    pace_deadline_.reset();
    if (ack.qp >= qps_.size()) {
      ++acks_rejected;
      return;
    }
    Qp& qp = qps_[ack.qp];
    if (ack.kind == RoceAckKind::cnp) {
      qp.dcqcn.on_cnp(params_, {now});
      ++cnps;
      return;
    }
    // Half the circle is the past, half the future.
    const std::int64_t high = qp.packets[qp.high];
    const std::int64_t number = high + (ack.epsn - wrap(high));
    if (number > high || owner_of(ack.epsn) != ack.qp) {
      ++acks_rejected;
      return;
    }
    if (number < qp.packets[qp.una]) return;
    if (qp.packets[qp.una] < number) qp.progress = now;
    for (; qp.packets[qp.una] < number; ++qp.una) {
      acked_bytes += posted_[static_cast<std::size_t>(qp.packets[qp.una])].payload;
    }
    STRACK_CHECK_OP(qp.packets[qp.una], ==, number);
    qp.next = std::max(qp.next, qp.una);
    if (ack.kind == RoceAckKind::nak) {
      ++naks;
      go_back(qp, now);
    }
  }

  // [R.roce.timeout]
  void on_timeout(std::int64_t now) {
    if (pace_deadline_ && *pace_deadline_ <= now) pace_deadline_.reset();
    for (Qp& qp : qps_) {
      if (qp.una == qp.high || now - qp.progress < params_.rto.count()) continue;
      ++timeouts;
      go_back(qp, now);
    }
  }

  [[nodiscard]] Instant next_deadline() const {
    std::int64_t deadline = pace_deadline_.value_or(Instant::never().ps);
    for (const Qp& qp : qps_) {
      if (qp.una < qp.high) deadline = std::min(deadline, qp.progress + params_.rto.count());
    }
    return {deadline};
  }

  /// [D21] Takes what the sender reports; it must be whole and not reported before.
  void complete(MessageId id) {
    const auto posted = std::find_if(messages_.begin(), messages_.end(),
                                     [id](const Told& told) { return told.message.id == id; });
    STRACK_CHECK(posted != messages_.end());
    STRACK_CHECK(!posted->reported);
    STRACK_CHECK(!unfinished().contains(static_cast<std::size_t>(posted - messages_.begin())));
    posted->reported = true;
  }
  void check_all_whole_are_reported() const {
    const std::set<std::size_t> open = unfinished();
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      STRACK_CHECK_OP(messages_[i].reported, !=, open.contains(i));
    }
  }

  [[nodiscard]] bool idle() const { return unfinished().empty(); }
  [[nodiscard]] std::int64_t posted() const { return std::ssize(posted_); }
  [[nodiscard]] std::size_t messages() const { return messages_.size(); }
  [[nodiscard]] const Qp& qp(std::size_t i) const { return qps_[i]; }
  [[nodiscard]] Psn wrap(std::int64_t number) const {
    return first_ + static_cast<std::uint32_t>(number);
  }
  [[nodiscard]] std::uint32_t owner(std::int64_t number) const {
    return static_cast<std::uint32_t>((first_.value + number) / params_.stripe_packets %
                                      params_.qps_per_conn);
  }

  std::int64_t acked_bytes = 0;
  std::uint32_t retransmissions = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t cnps = 0;
  std::uint32_t naks = 0;
  std::uint32_t acks_rejected = 0;

 private:
  struct Posted {
    std::size_t message;
    std::int64_t offset;
    std::int64_t payload;
  };
  struct Told {
    Message message;
    bool reported;
  };

  /// [R.roce.stripe] [D32] To the QPs, packet by packet, and one round ahead of what is posted.
  void deal() {
    const std::int64_t round = std::int64_t{params_.qps_per_conn} * params_.stripe_packets;
    for (; dealt_ <= posted() + round; ++dealt_) qps_[owner(dealt_)].packets.push_back(dealt_);
  }
  [[nodiscard]] std::uint32_t owner_of(Psn psn) const {
    return psn.value / params_.stripe_packets % params_.qps_per_conn;
  }

  static void go_back(Qp& qp, std::int64_t now) {
    qp.next = qp.una;
    qp.progress = now;
  }

  /// Messages with a packet that is not acknowledged.
  [[nodiscard]] std::set<std::size_t> unfinished() const {
    std::set<std::size_t> open;
    for (const Qp& qp : qps_) {
      for (std::size_t i = qp.una; i < qp.packets.size() && qp.packets[i] < posted(); ++i) {
        open.insert(posted_[static_cast<std::size_t>(qp.packets[i])].message);
      }
    }
    return open;
  }

  const RoceParams& params_;
  Psn first_;
  std::vector<Qp> qps_;
  std::vector<Posted> posted_;
  std::vector<Told> messages_;
  std::int64_t dealt_ = 0;
  std::size_t turn_ = 0;
  std::optional<std::int64_t> pace_deadline_;
};

RoceParams any_params(FuzzInput& input) {
  const Bytes mtu = bytes(input.one_of(1'000, 64, 4'096, 65'535));
  const DcqcnSet set = input.one_of(DcqcnSet::hpcc_ns3, DcqcnSet::paper2015, DcqcnSet::nic_default,
                                    DcqcnSet::off, DcqcnSet::uet_htsim);
  RoceParams params = RoceParams::for_link(gbps(100), us(8), mtu, set).value();
  params.header = bytes(input.one_of(64, 0, 4'096));
  params.qps_per_conn = input.one_of(1u, 2u, 4u, 16u);
  params.stripe_packets = input.one_of(32u, 1u, 2u, 8u);
  params.max_outstanding = input.one_of(1u << 23, 1u, 2u, 20u);
  params.rto = input.one_of(params.rto, us(10), us(200));
  params.nak_interval = input.one_of(params.nak_interval, ns(1), us(2));
  params.ack_bytes = input.one_of(16 * mtu, bytes(1), bytes(1 << 30));
  params.ack_bytes = std::min(params.ack_bytes, std::int64_t{params.max_outstanding} * mtu);
  STRACK_CHECK(params.validated().ok());
  return params;
}

class Harness {
 public:
  Harness(FuzzInput& input, const RoceParams& params, Psn first, std::int64_t start,
          bool honest_only)
      : input_(input),
        params_(params),
        honest_only_(honest_only),
        now_(start),
        slots_(std::size_t{1} << input.in_range(0, 4)),
        qps_(params.qps_per_conn),
        receiver_qps_(params.qps_per_conn),
        sender_(params, slots_, qps_, first),
        receiver_(params, receiver_qps_, first),
        model_(params, first) {}

  void step() {
    switch (input_.byte() % 16) {
      case 0:
      case 1:
        post();
        break;
      case 2:
      case 3:
      case 4:
        for (int left = input_.in_range(1, 32); left > 0 && send(); --left) {
        }
        break;
      case 5:
      case 6:
      case 7:
      case 8:
        for (int left = input_.in_range(1, 8); left > 0; --left) deliver_packet(input_.byte());
        break;
      case 9:
      case 10:
        deliver_ack(input_.byte());
        break;
      case 11:
        now_ += input_.spread<std::int64_t>(0, 1'000'000'000);
        break;
      case 12:
      case 13:
        if (sender_.next_deadline() != Instant::never()) {
          now_ = std::max(now_, sender_.next_deadline().ps - input_.one_of(0, 1));
        }
        time_out();
        break;
      case 14:
        poll_completions();
        break;
      default:
        if (!honest_only_) deliver_invented_ack();
        break;
    }
    check_same();
  }

  // [R.roce.timeout] [R.roce.nak] [D21] From now on nothing is lost: everything posted completes
  // and has been delivered exactly once.
  void finish() {
    if (!trusted_) return;
    for (int left = 50'000; left > 0 && !sender_.idle(); --left) {
      while (send()) {
      }
      while (!packets_.empty()) deliver_packet(0b0100'0000);
      while (!acks_.empty()) deliver_ack(0);
      poll_completions();
      check_same();
      if (sender_.next_deadline() == Instant::never()) continue;
      now_ = std::max(now_, sender_.next_deadline().ps);
      time_out();
    }
    STRACK_CHECK(sender_.idle());
    STRACK_CHECK_OP(delivered_.size(), ==, model_.messages());
    STRACK_CHECK_OP(sender_.counters().acks_rejected, ==, lies_refused_);
  }

 private:
  void post() {
    const auto mtu = static_cast<std::uint32_t>(params_.mtu.count());
    const Message message{
        static_cast<MessageId>(model_.messages()),
        input_.one_of(mtu, 0u, 1u, mtu - 1, mtu + 1, 3 * mtu, 20 * mtu + 7, 100 * mtu)};
    if (model_.posted() > 1'500) return;
    nothing_until_ = Instant::distant_past();
    if (sender_.on_message(message, {now_}) == PostResult::queue_full) {
      STRACK_CHECK(!model_.idle() || unpolled_);
      return;
    }
    model_.on_message(message);
  }

  bool send() {
    const std::uint32_t again = model_.retransmissions;
    const std::optional<std::int64_t> expected = model_.poll_transmit(now_);
    const std::optional<Packet> packet = sender_.poll_transmit({now_});
    STRACK_CHECK_OP(packet.has_value(), ==, expected.has_value());
    if (!packet) {
      nothing_until_ = sender_.next_deadline();
      return false;
    }
    STRACK_CHECK_OP(now_, >=, nothing_until_.ps);  // as transport.h promises
    model_.check_packet(*packet, *expected, model_.retransmissions != again, now_);
    packets_.push_back(*packet);
    return true;
  }

  /// `how` picks the packet and what becomes of it: lost, delivered, or delivered with a copy left
  /// behind.
  void deliver_packet(std::uint8_t how) {
    if (packets_.empty()) return;
    const std::size_t index = (how & 0b0110'0000) != 0 ? 0 : how % packets_.size();
    const Packet chosen = packets_[index];
    if ((how & 0b1100'0000) != 0b1100'0000) {
      packets_.erase(packets_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    if ((how & 0b1100'0000) == 0b1000'0000) return;
    const Arrival arrival = receiver_.on_packet(chosen, {.ecn = (how & 0b1'0000) != 0}, {now_});
    if (trusted_) {
      STRACK_CHECK(arrival.kind != ArrivalKind::malformed);
      if (arrival.delivered) STRACK_CHECK(delivered_.insert(chosen.message_id).second);
    }
    while (const auto ack = receiver_.poll_ack({now_})) acks_.push_back(*ack);
  }

  void deliver_ack(std::uint8_t how) {
    if (acks_.empty()) return;
    const std::size_t index = (how & 0b0010'0000) != 0 ? how % acks_.size() : 0;
    const RoceAck chosen = acks_[index];
    if ((how & 0b1100'0000) != 0b1100'0000) {
      acks_.erase(acks_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    if ((how & 0b1100'0000) == 0b1000'0000) return;
    receive(chosen, true);
  }

  /// Any kind for any QP, mostly near what that QP has sent.
  void deliver_invented_ack() {
    RoceAck ack;
    ack.kind = input_.one_of(RoceAckKind::ack, RoceAckKind::nak, RoceAckKind::cnp);
    ack.qp = static_cast<PathId>(input_.in_range(0u, params_.qps_per_conn));  // the last is none
    const RoceSenderQp& qp = sender_.qp(ack.qp % params_.qps_per_conn);
    ack.epsn = input_.one_of(qp.una, qp.next, qp.high, sender_.epsn()) +
               input_.one_of(0u, 1u, ~0u, 32u, 0u - 32u, 0x7fff'ffffu, 0x8000'0000u,
                             input_.in_range(0u, ~0u));
    ack.timestamp = {input_.in_range(0u, ~0u)};
    if (input_.byte() == 77) ack.qp = input_.in_range(PathId{0}, PathId{0xffff});
    receive(ack, false);
  }

  void receive(const RoceAck& ack, bool honest) {
    const std::uint32_t rejected = model_.acks_rejected;
    nothing_until_ = Instant::distant_past();
    sender_.on_receiving_ack(ack, {now_});
    model_.on_receiving_ack(ack, now_);
    unpolled_ = true;
    if (honest && trusted_) {
      STRACK_CHECK_OP(model_.acks_rejected, ==, rejected);
    } else if (model_.acks_rejected != rejected) {
      ++lies_refused_;
    } else if (ack.kind != RoceAckKind::cnp) {
      trusted_ = false;
    }
  }

  void time_out() {
    nothing_until_ = Instant::distant_past();
    sender_.on_timeout({now_});
    model_.on_timeout(now_);
  }

  void poll_completions() {
    while (const auto id = sender_.poll_completion()) model_.complete(*id);
    unpolled_ = false;
    model_.check_all_whole_are_reported();
  }

  void check_same() {
    Psn least = sender_.qp(0).una;
    BitsPerSecond sum{0};
    for (std::uint32_t i = 0; i < params_.qps_per_conn; ++i) {
      const RoceSenderQp& ours = sender_.qp(i);
      const Model::Qp& theirs = model_.qp(i);
      STRACK_CHECK(ours.una <= ours.next);
      STRACK_CHECK(ours.next <= ours.high);
      STRACK_CHECK_OP(ours.una.value, ==, model_.wrap(theirs.packets[theirs.una]).value);
      STRACK_CHECK_OP(ours.next.value, ==, model_.wrap(theirs.packets[theirs.next]).value);
      STRACK_CHECK_OP(ours.high.value, ==, model_.wrap(theirs.packets[theirs.high]).value);
      least = min(least, ours.una);
      Dcqcn limiter = theirs.dcqcn;
      sum += limiter.rate(params_, {now_});
    }
    STRACK_CHECK_OP(sender_.epsn().value, ==, least.value);
    STRACK_CHECK_OP(sender_.rate({now_}).count(), ==, std::min(sum, params_.line_rate).count());
    STRACK_CHECK_OP(sender_.idle(), ==, model_.idle());
    STRACK_CHECK_OP(sender_.acked_bytes().count(), ==, model_.acked_bytes);
    STRACK_CHECK_OP(sender_.next_deadline().ps, ==, model_.next_deadline().ps);
    STRACK_CHECK_OP(sender_.counters().retransmissions, ==, model_.retransmissions);
    STRACK_CHECK_OP(sender_.counters().timeouts, ==, model_.timeouts);
    STRACK_CHECK_OP(sender_.counters().cnps, ==, model_.cnps);
    STRACK_CHECK_OP(sender_.counters().naks, ==, model_.naks);
    STRACK_CHECK_OP(sender_.counters().acks_rejected, ==, model_.acks_rejected);
  }

  FuzzInput& input_;
  const RoceParams& params_;
  bool honest_only_;
  std::int64_t now_;
  std::vector<MessageSlot> slots_;
  std::vector<RoceSenderQp> qps_;
  std::vector<RoceReceiverQp> receiver_qps_;
  RoceSender<> sender_;
  RoceReceiver<> receiver_;
  Model model_;
  std::vector<Packet> packets_;  ///< in the network
  std::vector<RoceAck> acks_;    ///< on their way back
  std::set<MessageId> delivered_;
  std::uint32_t lies_refused_ = 0;
  Instant nothing_until_ = Instant::distant_past();  ///< a poll was empty, and no on_* came since
  bool trusted_ = true;                              ///< no lie has been believed
  bool unpolled_ = false;  ///< an ACK came after the last poll for completions
};

}  // namespace
}  // namespace strack::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strack;
  using namespace strack::core;
  FuzzInput input(data, size);
  const bool honest_only = input.flag();
  const RoceParams params = any_params(input);
  const Psn first{
      input.one_of(0u, 1u, 0xffff'ffffu, 0xffff'fff0u, 0xffff'fe03u, 0x7fff'ffffu, 0x8000'0000u)};
  Harness harness(input, params, first, input.one_of<std::int64_t>(0, 1, 123'456'789), honest_only);
  for (int left = 1'000; left > 0 && !input.empty(); --left) harness.step();
  harness.finish();
  return 0;
}
