// A receiver against a std::set of the PSNs that have arrived: any packets in any order, sound or
// not, its SACKs polled or not, under any parameters. Every answer and every field of every SACK
// must be the model's.
#include "transports/strack/receiver.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/fuzz_input.h"

namespace strack::core {
namespace {

/// The rules of the specification over PSNs that do not wrap: 0 is the connection's first.
class Model {
 public:
  Model(const StrackParams& params, Psn first) : params_(params), first_(first) {}

  // [R.bitmap.receiver] [R.sack.bytes] [R.sack.epsn] [R.sack.probe] [D11] [D26]
  Arrival on_packet(const Packet& packet, bool ecn) {
    if (packet.path_id >= params_.max_paths) return malformed();
    if (packet.type == PacketType::probe) {
      trigger(packet, ecn);
      return {ArrivalKind::probe, false};
    }
    if (!agrees(packet)) return malformed();
    const std::int64_t psn = unwrap(packet.psn);
    if (psn >= epsn_ + params_.tracking_window) {
      ++beyond_window;
      return {ArrivalKind::beyond_window, false};
    }
    lpsn_ = std::min(psn, lpsn_.value_or(psn));
    marked_ = marked_ || ecn;
    if (has_arrived(psn)) {
      ++duplicates;
      trigger(packet, ecn);
      return {ArrivalKind::duplicate, false};
    }
    const bool expected = psn == epsn_;
    arrived_.insert(psn);
    while (arrived_.contains(epsn_)) ++epsn_;
    bytes_recvd_ += packet.payload;
    bytes_since_sack_ += packet.payload;
    if (bytes_since_sack_ >= params_.sack_bytes.count() || (expected && params_.sack_on_epsn)) {
      trigger(packet, ecn);
    }
    return {ArrivalKind::accepted, is_whole(packet, psn)};
  }

  // [R.sack.echo] [R.sack.lpsn] [R.sack.segments] [R.probe.base] [D12] [D13] [D14]
  std::optional<Sack> poll_ack() {
    if (!trigger_) return std::nullopt;
    std::int64_t base = epsn_;
    if (trigger_->type == PacketType::probe) {
      const std::int64_t wanted = unwrap(trigger_->psn);
      if (wanted > epsn_ && wanted < epsn_ + params_.tracking_window) base = wanted;
    } else if (*lpsn_ > epsn_) {
      base = *lpsn_ - (*lpsn_ - epsn_) % 64;
    }
    Sack sack;
    sack.epsn = epsn();
    sack.sack_base = wrap(base);
    for (std::uint32_t i = 0; i < 64; ++i) {
      sack.bitmap |= std::uint64_t{has_arrived(base + i)} << i;
    }
    sack.bytes_recvd = static_cast<std::uint32_t>(bytes_recvd_);
    sack.ooo_count = static_cast<std::uint16_t>(ooo_count());
    sack.path_id = trigger_->path_id;
    sack.timestamp = trigger_->timestamp;
    sack.psn = trigger_->psn;
    sack.probe_id = trigger_->probe_id;
    sack.for_probe = trigger_->type == PacketType::probe;
    sack.ecn = trigger_mark_ || (params_.echo_rule == EchoRule::any_mark && marked_);
    trigger_.reset();
    lpsn_.reset();
    marked_ = false;
    bytes_since_sack_ = 0;
    return sack;
  }

  [[nodiscard]] Psn epsn() const { return wrap(epsn_); }
  [[nodiscard]] std::uint64_t bytes_recvd() const { return bytes_recvd_; }
  [[nodiscard]] std::int64_t ooo_count() const {
    return std::distance(arrived_.upper_bound(epsn_), arrived_.end());
  }
  [[nodiscard]] bool has_arrived(std::int64_t psn) const {
    return psn < epsn_ || arrived_.contains(psn);
  }
  [[nodiscard]] std::int64_t unwrap(Psn psn) const { return epsn_ + (psn - epsn()); }

  std::uint32_t duplicates = 0;
  std::uint32_t beyond_window = 0;
  std::uint32_t malformed_packets = 0;

 private:
  Arrival malformed() {
    ++malformed_packets;
    return {ArrivalKind::malformed, false};
  }
  [[nodiscard]] Psn wrap(std::int64_t psn) const {
    return first_ + static_cast<std::uint32_t>(psn);
  }

  /// [D20] [D21] The payload is what the message has left at this offset, up to one MTU.
  [[nodiscard]] bool agrees(const Packet& packet) const {
    const std::int64_t mtu = params_.mtu.count();
    const std::int64_t left = std::int64_t{packet.message_length} - packet.offset;
    if (packet.offset % mtu != 0 || packet.payload != std::min(left, mtu)) return false;
    return left > 0 || (packet.message_length == 0 && packet.offset == 0);
  }

  /// [D21] [P.ooo_delivery] All packets of the message of the one that has just arrived are there.
  [[nodiscard]] bool is_whole(const Packet& packet, std::int64_t psn) const {
    const std::int64_t mtu = params_.mtu.count();
    const std::int64_t first = psn - packet.offset / mtu;
    const std::int64_t packets =
        packet.message_length == 0 ? 1 : (packet.message_length + mtu - 1) / mtu;
    std::int64_t next = std::max(first, epsn_);
    while (next < first + packets && arrived_.contains(next)) ++next;
    return next >= first + packets;
  }

  void trigger(const Packet& packet, bool ecn) {
    trigger_ = packet;
    trigger_mark_ = ecn;
  }

  const StrackParams& params_;
  Psn first_;
  std::set<std::int64_t> arrived_;
  std::int64_t epsn_ = 0;
  std::uint64_t bytes_recvd_ = 0;
  std::int64_t bytes_since_sack_ = 0;
  std::optional<std::int64_t> lpsn_;
  bool marked_ = false;
  std::optional<Packet> trigger_;
  bool trigger_mark_ = false;
};

StrackParams any_params(FuzzInput& input) {
  const Bytes mtu = bytes(input.one_of(64, 1'000, 4'096, 65'535));
  StrackParams params = StrackParams::for_link(gbps(400), us(8), mtu).value();
  params.tracking_window = input.one_of(1'024u, 1u, 2u, 63u, 64u, 65u, 1'000u);
  params.sack_bytes = input.one_of(kib(16), bytes(1), mtu, 4 * mtu, bytes(1 << 30));
  params.sack_on_epsn = input.flag();
  params.echo_rule = input.one_of(EchoRule::trigger, EchoRule::any_mark);
  params.max_paths = input.one_of(256u, 1u, 4u);
  STRACK_CHECK(params.validated().ok());
  return params;
}

/// Mostly near EPSN; sometimes around a limit, half the circle away, or anywhere.
Psn any_psn(FuzzInput& input, Psn epsn, const StrackParams& params) {
  switch (input.byte() % 8) {
    case 0:
      return epsn;
    case 1:
    case 2:
      return epsn + input.in_range(0u, 12u);
    case 3:
      return epsn + input.in_range(0u, 1'100u);
    case 4:
      return epsn - input.in_range(0u, 1'100u);
    case 5:
      return epsn + params.tracking_window + input.in_range(0u, 2u) - 1u;
    case 6:
      return epsn + 0x8000'0000 + input.in_range(0u, 4u) - 2u;
    default:
      return Psn{input.in_range(0u, ~0u)};
  }
}

Packet any_packet(FuzzInput& input, Psn epsn, const StrackParams& params) {
  const auto mtu = static_cast<std::uint32_t>(params.mtu.count());
  Packet packet;
  packet.psn = any_psn(input, epsn, params);
  packet.path_id = static_cast<PathId>(input.in_range(0u, params.max_paths));  // the last is none
  packet.timestamp = {input.in_range(0u, ~0u)};
  packet.message_id = input.byte();
  switch (input.byte() % 8) {
    case 0:
      packet.type = PacketType::probe;
      packet.probe_id = input.byte();
      break;
    case 1:  // a message of several packets that begins at EPSN or a little off
    case 2:
    case 3: {
      const std::uint32_t packets = input.in_range(1u, 20u);
      packet.message_length = packets * mtu - input.in_range(0u, mtu - 1);
      const std::uint32_t index = input.in_range(0u, packets - 1);
      packet.offset = index * mtu;
      packet.psn = epsn + index + input.in_range(0u, 2u) - 1u;
      packet.payload =
          static_cast<std::uint16_t>(std::min(mtu, packet.message_length - packet.offset));
      break;
    }
    case 4:  // anything
      packet.message_length = input.spread(0u, ~0u);
      packet.offset = input.spread(0u, ~0u);
      packet.payload = input.in_range(std::uint16_t{0}, std::uint16_t{0xffff});
      packet.path_id = input.in_range(PathId{0}, PathId{0xffff});
      break;
    case 5:  // sound, of a message of any length
      packet.message_length = input.spread(1u, ~0u);
      packet.offset = input.in_range(0u, (packet.message_length - 1) / mtu) * mtu;
      packet.payload =
          static_cast<std::uint16_t>(std::min(mtu, packet.message_length - packet.offset));
      break;
    default:
      packet.payload = static_cast<std::uint16_t>(input.one_of(mtu, 0u, 1u, mtu - 1));
      packet.message_length = packet.payload;
      break;
  }
  return packet;
}

// [R.sack.field.epsn] [R.sack.field.base] [R.sack.field.bitmap] [R.sack.field.bytes_recvd]
// [R.sack.field.ooo] [R.probe.bit]
void check_same(const std::optional<Sack>& ours, const std::optional<Sack>& model) {
  STRACK_CHECK_OP(ours.has_value(), ==, model.has_value());
  if (!ours) return;
  STRACK_CHECK_OP(ours->epsn.value, ==, model->epsn.value);
  STRACK_CHECK_OP(ours->sack_base.value, ==, model->sack_base.value);
  STRACK_CHECK_OP(ours->bitmap, ==, model->bitmap);
  STRACK_CHECK_OP(ours->bytes_recvd, ==, model->bytes_recvd);
  STRACK_CHECK_OP(ours->ooo_count, ==, model->ooo_count);
  STRACK_CHECK_OP(ours->psn.value, ==, model->psn.value);
  STRACK_CHECK_OP(ours->timestamp.ns, ==, model->timestamp.ns);
  STRACK_CHECK_OP(ours->hold_time_ns, ==, 0u);
  STRACK_CHECK_OP(ours->path_id, ==, model->path_id);
  STRACK_CHECK_OP(ours->probe_id, ==, model->probe_id);
  STRACK_CHECK_OP(ours->for_probe, ==, model->for_probe);
  STRACK_CHECK_OP(ours->ecn, ==, model->ecn);
}

void check_same(const Receiver<>& receiver, const Model& model) {
  STRACK_CHECK_OP(receiver.epsn().value, ==, model.epsn().value);
  STRACK_CHECK_OP(receiver.bytes_recvd(), ==, static_cast<std::uint32_t>(model.bytes_recvd()));
  STRACK_CHECK_OP(receiver.ooo_count(), ==, model.ooo_count());
  STRACK_CHECK_OP(receiver.arrived().count(), ==, model.ooo_count());
  STRACK_CHECK_OP(receiver.duplicates(), ==, model.duplicates);
  STRACK_CHECK_OP(receiver.beyond_window(), ==, model.beyond_window);
  STRACK_CHECK_OP(receiver.malformed_packets(), ==, model.malformed_packets);
  STRACK_CHECK(receiver.next_deadline() == Instant::never());
}

}  // namespace
}  // namespace strack::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strack;
  using namespace strack::core;
  FuzzInput input(data, size);
  const StrackParams params = any_params(input);
  const Psn first{
      input.one_of(0u, 1u, 0xffff'ffffu, 0xffff'fff0u, 0xffff'fc10u, 0x7fff'ffffu, 0x8000'0000u)};
  Receiver<> receiver(params, first);
  Model model(params, first);
  Instant now{};

  while (!input.empty()) {
    const std::uint8_t manner = input.byte();
    const bool ecn = (manner & 1) != 0;
    const Packet packet = any_packet(input, receiver.epsn(), params);
    now = now + us(1);

    const Arrival ours = receiver.on_packet(packet, {.ecn = ecn}, now);
    const Arrival expected = model.on_packet(packet, ecn);
    STRACK_CHECK_OP(static_cast<int>(ours.kind), ==, static_cast<int>(expected.kind));
    STRACK_CHECK_OP(ours.delivered, ==, expected.delivered);
    check_same(receiver, model);
    STRACK_CHECK_OP(receiver.has_arrived(packet.psn), ==,
                    model.has_arrived(model.unwrap(packet.psn)));
    if ((manner & 0b110) == 0) continue;  // a SACK not polled is replaced by the next
    check_same(receiver.poll_ack(now), model.poll_ack());
    check_same(receiver, model);
  }
  return 0;
}
