// A whole transport: a fixed window, cumulative acknowledgements, and back to the first packet that
// is not acknowledged when nothing has been heard for a while. docs/add-a-transport.md explains it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/message_queue.h"
#include "core/param_range.h"
#include "core/transport.h"

namespace strack::core {

struct ToyParams {
  Bytes mtu{0};
  std::uint32_t window = 64;  ///< packets that are sent and not acknowledged, at most
  Picoseconds rto{0};         ///< without news for so long, all of them are sent again

  static constexpr auto declared() {
    return std::tuple{Derived{&ToyParams::mtu},
                      ParamRange{&ToyParams::window, "window", 1, 1u << 20, "1 to 1048576 packets"},
                      ParamRange{&ToyParams::rto, "rto", ns(1), seconds(1), "from 1 ns to 1 s"}};
  }
};

struct ToyAck {
  Psn expected;  ///< all packets before it have arrived
};

class ToySender {
 public:
  using Ack = ToyAck;

  constexpr ToySender(const ToyParams& params, std::span<MessageSlot> slots, Psn first)
      : params_(params), queue_(slots, first), una_(first), next_(first), high_(first) {}

  constexpr PostResult on_message(const Message& message, Instant /*now*/) {
    if (queue_.full()) return PostResult::queue_full;
    queue_.push(message, mtu());
    return PostResult::accepted;
  }
  constexpr void on_receiving_ack(const ToyAck& ack, Instant now) {
    // Old, or of what was never sent.
    if (ack.expected <= una_ || ack.expected > high_) return void(++useless_acks);
    for (; una_ < ack.expected; una_ = una_ + 1)
      acked_ += bytes(queue_.fragment(una_, mtu()).payload);
    next_ = max(next_, una_);
    deadline_ = una_ == high_ ? Instant::never() : now + params_.rto;
  }
  constexpr void on_timeout(Instant now) {
    if (now < deadline_) return;
    next_ = una_;
    deadline_ = now + params_.rto;
    ++timeouts;
  }
  constexpr std::optional<Packet> poll_transmit(Instant now) {
    if (next_ == queue_.end() || next_ - una_ >= static_cast<std::int32_t>(params_.window))
      return std::nullopt;
    const Fragment part = queue_.fragment(next_, mtu());
    Packet packet;
    packet.retransmission = next_ < high_;
    packet.payload = part.payload;
    packet.psn = next_;
    packet.message_id = part.message_id;
    packet.offset = part.offset;
    packet.message_length = part.message_length;
    packet.timestamp = Timestamp::of(now);
    if (packet.retransmission) ++retransmissions;
    if (deadline_ == Instant::never()) deadline_ = now + params_.rto;
    next_ = next_ + 1;
    high_ = max(high_, next_);
    return packet;
  }
  constexpr std::optional<MessageId> poll_completion() { return queue_.pop_completed(una_); }
  [[nodiscard]] constexpr Instant next_deadline() const { return deadline_; }
  [[nodiscard]] constexpr bool idle() const { return una_ == queue_.end(); }
  [[nodiscard]] constexpr Bytes acked() const { return acked_; }
  std::uint32_t retransmissions = 0, timeouts = 0, useless_acks = 0;

 private:
  [[nodiscard]] constexpr std::uint32_t mtu() const {
    return static_cast<std::uint32_t>(params_.mtu.count());
  }

  const ToyParams& params_;
  MessageQueue queue_;
  Psn una_;   ///< the first that is not acknowledged
  Psn next_;  ///< the next to send
  Psn high_;  ///< one past the highest ever sent
  Instant deadline_ = Instant::never();
  Bytes acked_{0};
};

class ToyReceiver {
 public:
  using Ack = ToyAck;

  constexpr ToyReceiver(const ToyParams& params, Psn first) : params_(params), expected_(first) {}

  constexpr Arrival on_packet(const Packet& packet, const Signals& signals, Instant /*now*/) {
    if (signals.trimmed) return {ArrivalKind::trimmed};
    if (packet.type != PacketType::data ||
        !fits_its_message(packet, static_cast<std::uint32_t>(params_.mtu.count())))
      return {ArrivalKind::malformed};
    owes_ack_ = true;
    if (packet.psn < expected_) return {ArrivalKind::duplicate};
    if (packet.psn > expected_) return {ArrivalKind::out_of_order};
    expected_ = expected_ + 1;
    return {ArrivalKind::accepted, packet.offset + packet.payload == packet.message_length};
  }
  constexpr std::optional<ToyAck> poll_ack(Instant /*now*/) {
    if (!owes_ack_) return std::nullopt;
    owes_ack_ = false;
    return ToyAck{expected_};
  }
  [[nodiscard]] constexpr Psn expected() const { return expected_; }
  constexpr void on_timeout(Instant /*now*/) {}
  [[nodiscard]] constexpr Instant next_deadline() const { return Instant::never(); }

 private:
  const ToyParams& params_;
  Psn expected_;
  bool owes_ack_ = false;
};

}  // namespace strack::core
