// A RoCEv2 receiver against a model that counts packets without wrapping and looks at every packet
// of a message: any packets in any order, sound and malformed, at any pace, polled or not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/fuzz_input.h"
#include "transports/rocev2/receiver.h"

namespace strack::core {
namespace {

/// The rules of the specification. PSNs do not wrap: the first is `first`, somewhere below 2^33.
class Model {
 public:
  Model(const RoceParams& params, Psn first) : params_(params), qps_(params.qps_per_conn) {
    const std::int64_t start = (std::int64_t{1} << 32) + first.value;
    for (std::uint32_t i = 0; i < qps_.size(); ++i) {
      qps_[i].expected = start;
      while (owner(qps_[i].expected) != i) ++qps_[i].expected;
    }
  }

  Arrival on_packet(const Packet& packet, bool ecn, std::int64_t now) {
    if (packet.type != PacketType::data || packet.path_id >= qps_.size() ||
        owner(packet.psn.value) != packet.path_id || !agrees(packet)) {
      ++malformed_packets;  // [R.roce.refuse]
      return {ArrivalKind::malformed, false};
    }
    Qp& qp = qps_[packet.path_id];
    qp.echo = packet.timestamp;
    // [R.dcqcn.cnp]
    if (ecn && params_.dcqcn.variant != DcqcnVariant::off &&
        (!qp.last_cnp || now - *qp.last_cnp >= params_.dcqcn.cnp_interval.count())) {
      qp.last_cnp = now;
      qp.owes_cnp = true;
    }
    const std::int64_t psn =
        qp.expected + static_cast<std::int32_t>(packet.psn.value - wrap(qp.expected));
    if (psn > qp.expected) {
      ++out_of_order;  // [R.roce.order]
      // [R.roce.nak] [R.roce.nak_repeat]
      if (qp.nak_for != qp.expected || now - qp.last_nak >= params_.nak_interval.count()) {
        qp.nak_for = qp.expected;
        qp.last_nak = now;
        qp.owes_nak = true;
      }
      return {ArrivalKind::out_of_order, false};
    }
    const std::int64_t mtu = params_.mtu.count();
    const std::int64_t first = psn - packet.offset / mtu;
    const std::int64_t end =
        first + std::max<std::int64_t>(1, (packet.message_length + mtu - 1) / mtu);
    const bool last = following(psn) >= end;
    const bool accepted = psn == qp.expected;
    if (accepted) {
      qp.expected = following(psn);
    } else {
      ++duplicates;
    }
    // [R.roce.ack]
    qp.unacknowledged += packet.payload;
    if (last || qp.unacknowledged >= params_.ack_bytes.count() || !qp.last_ack ||
        now - *qp.last_ack >= params_.ack_interval.count()) {
      qp.owes_ack = true;
    }
    if (!accepted) return {ArrivalKind::duplicate, false};
    return {ArrivalKind::accepted, last && is_whole(first, end)};
  }

  std::optional<RoceAck> poll_ack(std::int64_t now) {
    for (std::uint32_t i = 0; i < qps_.size(); ++i) {
      Qp& qp = qps_[i];
      RoceAck ack{RoceAckKind::ack, static_cast<PathId>(i), Psn{wrap(qp.expected)}, qp.echo};
      if (qp.owes_cnp) {
        ack.kind = RoceAckKind::cnp;
        qp.owes_cnp = false;
        return ack;
      }
      if (!qp.owes_ack && !qp.owes_nak) continue;
      if (qp.owes_nak) ack.kind = RoceAckKind::nak;
      qp.owes_ack = qp.owes_nak = false;
      qp.unacknowledged = 0;
      qp.last_ack = now;
      return ack;
    }
    return std::nullopt;
  }

  [[nodiscard]] Psn expected(std::uint32_t i) const { return Psn{wrap(qps_[i].expected)}; }

  std::uint32_t duplicates = 0;
  std::uint32_t out_of_order = 0;
  std::uint32_t malformed_packets = 0;

 private:
  struct Qp {
    std::int64_t expected = 0;
    std::int64_t unacknowledged = 0;
    std::optional<std::int64_t> last_ack;
    std::optional<std::int64_t> last_cnp;
    std::int64_t last_nak = 0;
    std::int64_t nak_for = -1;
    Timestamp echo;
    bool owes_ack = false;
    bool owes_nak = false;
    bool owes_cnp = false;
  };

  static std::uint32_t wrap(std::int64_t psn) { return static_cast<std::uint32_t>(psn); }

  /// [R.roce.stripe] [D32]
  [[nodiscard]] std::uint32_t owner(std::int64_t psn) const {
    return static_cast<std::uint32_t>(psn / params_.stripe_packets % params_.qps_per_conn);
  }
  [[nodiscard]] std::int64_t following(std::int64_t psn) const {
    const std::uint32_t qp = owner(psn++);
    while (owner(psn) != qp) ++psn;
    return psn;
  }

  /// [D20] [D21] The payload is what the message has left at this offset, up to one MTU.
  [[nodiscard]] bool agrees(const Packet& packet) const {
    const std::int64_t mtu = params_.mtu.count();
    const std::int64_t left = std::int64_t{packet.message_length} - packet.offset;
    if (packet.offset % mtu != 0 || packet.payload != std::min(left, mtu)) return false;
    return left > 0 || (packet.message_length == 0 && packet.offset == 0);
  }

  /// [D21] Every packet of the message has arrived.
  [[nodiscard]] bool is_whole(std::int64_t first, std::int64_t end) const {
    std::int64_t psn = qps_[0].expected;
    for (const Qp& qp : qps_) psn = std::min(psn, qp.expected);
    for (psn = std::max(psn, first); psn < end; ++psn) {
      if (psn >= qps_[owner(psn)].expected) return false;
    }
    return true;
  }

  const RoceParams& params_;
  std::vector<Qp> qps_;
};

RoceParams any_params(FuzzInput& input) {
  const Bytes mtu = bytes(input.one_of(1'000, 64, 4'096, 65'535));
  RoceParams params = RoceParams::for_link(gbps(400), us(8), mtu).value();
  params.qps_per_conn = input.one_of(1u, 2u, 4u, 16u);
  params.stripe_packets = input.one_of(32u, 1u, 2u, 8u);
  params.ack_bytes = input.one_of(4 * mtu, bytes(1), mtu, bytes(1 << 30));
  params.ack_interval = input.one_of(us(32), ps(0), us(3'000));
  params.nak_interval = input.one_of(us(200), ns(1), us(2));
  params.dcqcn.variant = input.one_of(DcqcnVariant::nic, DcqcnVariant::paper, DcqcnVariant::off);
  params.dcqcn.cnp_interval = input.one_of(ps(0), us(4), us(50));
  params.ack_bytes = std::min(params.ack_bytes, std::int64_t{params.max_outstanding} * mtu);
  STRACK_CHECK(params.validated().ok());
  return params;
}

/// Mostly what some QP expects or a neighbour; sometimes half the circle away, or anywhere.
Psn any_psn(FuzzInput& input, const Model& model, const RoceParams& params) {
  const Psn expected = model.expected(input.in_range(0u, params.qps_per_conn - 1));
  switch (input.byte() % 8) {
    case 0:
    case 1:
    case 2:
    case 3:
      return expected;
    case 4:
      return expected + input.in_range(0u, 40u);
    case 5:
      return expected - input.in_range(0u, 40u);
    case 6:
      return expected + 0x8000'0000 + input.in_range(0u, 4u) - 2u;
    default:
      return Psn{input.in_range(0u, ~0u)};
  }
}

Packet any_packet(FuzzInput& input, const Model& model, const RoceParams& params) {
  const auto mtu = static_cast<std::uint32_t>(params.mtu.count());
  Packet packet;
  packet.psn = any_psn(input, model, params);
  packet.path_id =
      static_cast<PathId>(packet.psn.value / params.stripe_packets % params.qps_per_conn);
  packet.timestamp = {input.in_range(0u, ~0u)};
  packet.message_id = input.byte();
  switch (input.byte() % 8) {
    case 0:
    case 1:
    case 2: {  // of a message of several packets
      const std::uint32_t packets = input.in_range(1u, 100u);
      packet.message_length = packets * mtu - input.in_range(0u, mtu - 1);
      packet.offset = input.in_range(0u, packets - 1) * mtu;
      packet.payload =
          static_cast<std::uint16_t>(std::min(mtu, packet.message_length - packet.offset));
      break;
    }
    case 3: {  // of one message of 64 packets from a fixed place on, so that it becomes whole
      const std::uint32_t index = packet.psn.value % 64;
      packet.message_length = 64 * mtu;
      packet.offset = index * mtu;
      packet.payload = static_cast<std::uint16_t>(mtu);
      break;
    }
    case 4:  // anything
      packet.message_length = input.spread(0u, ~0u);
      packet.offset = input.spread(0u, ~0u);
      packet.payload = input.in_range(std::uint16_t{0}, std::uint16_t{0xffff});
      packet.path_id = input.in_range(PathId{0}, PathId{0xffff});
      if (input.flag()) packet.type = PacketType::probe;
      break;
    case 5:  // sound, of a message of any length
      packet.message_length = input.spread(1u, ~0u);
      packet.offset = input.in_range(0u, (packet.message_length - 1) / mtu) * mtu;
      packet.payload =
          static_cast<std::uint16_t>(std::min(mtu, packet.message_length - packet.offset));
      break;
    case 6:  // on the wrong QP, perhaps
      packet.path_id = static_cast<PathId>(input.in_range(0u, params.qps_per_conn));
      break;
    default:
      packet.payload = static_cast<std::uint16_t>(input.one_of(mtu, 0u, 1u, mtu - 1));
      packet.message_length = packet.payload;
      break;
  }
  return packet;
}

void check_same(const std::optional<RoceAck>& ours, const std::optional<RoceAck>& model) {
  STRACK_CHECK_OP(ours.has_value(), ==, model.has_value());
  if (!ours) return;
  STRACK_CHECK_OP(static_cast<int>(ours->kind), ==, static_cast<int>(model->kind));
  STRACK_CHECK_OP(ours->qp, ==, model->qp);
  STRACK_CHECK_OP(ours->epsn.value, ==, model->epsn.value);
  STRACK_CHECK_OP(ours->timestamp.ns, ==, model->timestamp.ns);
}

void check_same(const RoceReceiver<>& receiver, const Model& model, std::uint32_t qps) {
  for (std::uint32_t i = 0; i < qps; ++i) {
    STRACK_CHECK_OP(receiver.qp(i).expected.value, ==, model.expected(i).value);
  }
  STRACK_CHECK_OP(receiver.duplicates(), ==, model.duplicates);
  STRACK_CHECK_OP(receiver.out_of_order(), ==, model.out_of_order);
  STRACK_CHECK_OP(receiver.malformed_packets(), ==, model.malformed_packets);
  STRACK_CHECK(receiver.next_deadline() == Instant::never());
}

}  // namespace
}  // namespace strack::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strack;
  using namespace strack::core;
  FuzzInput input(data, size);
  const RoceParams params = any_params(input);
  const Psn first{
      input.one_of(0u, 1u, 0xffff'ffffu, 0xffff'fff0u, 0xffff'fc10u, 0x7fff'ffffu, 0x8000'0000u)};
  std::vector<RoceReceiverQp> qps(params.qps_per_conn);
  RoceReceiver<> receiver(params, qps, first);
  Model model(params, first);
  std::int64_t now = input.one_of<std::int64_t>(0, 7, 1'000'000'007);

  while (!input.empty()) {
    const std::uint8_t manner = input.byte();
    const bool ecn = (manner & 1) != 0;
    if ((manner & 2) != 0)
      now += input.one_of(1, 999, 2'000'000, 4'000'000, 199'999'999, 32'000'000);
    if ((manner & 4) != 0) now += input.spread<std::int64_t>(0, 4'000'000'000);
    const Packet packet = any_packet(input, model, params);

    const Arrival ours = receiver.on_packet(packet, {.ecn = ecn}, {now});
    const Arrival expected = model.on_packet(packet, ecn, now);
    STRACK_CHECK_OP(static_cast<int>(ours.kind), ==, static_cast<int>(expected.kind));
    STRACK_CHECK_OP(ours.delivered, ==, expected.delivered);
    check_same(receiver, model, params.qps_per_conn);
    if ((manner & 0b111'000) == 0) continue;  // a host that does not poll
    while (true) {
      const std::optional<RoceAck> ack = receiver.poll_ack({now});
      check_same(ack, model.poll_ack(now));
      if (!ack || (manner & 0b111'000) == 0b001'000) break;  // or not to the end
    }
  }
  return 0;
}
