// A session of any sender and receiver of the contract (core/transport.h) that leave the choice of paths to
// their host: they keep to one path, and take the next one after a timeout. What only the transport can
// know comes from its traits:
//
//   using Params, Sender, Receiver;                           Sender(params, slots, psn), Receiver(params, psn)
//   Params params(const Measured&)
//   bool would_accept(const Receiver&, const core::Packet&, std::uint32_t mtu)
//   core::Psn expected(const Receiver&)
//   void to_wire(const Ack&, core::Sack&); Ack from_wire(const core::Sack&)
//
// A SACK echoes the last packet that has come; to_wire adds what the acknowledgement says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/message_queue.h"
#include "udp/transport.h"

namespace strack::udp {

template <class T>
class SessionOf final : public Session {
 public:
  using Sender = typename T::Sender;
  using Receiver = typename T::Receiver;
  static_assert(core::Transport<Sender, Receiver>);

  explicit SessionOf(const SessionPlan& plan)
      : Session(plan.paths, plan.salt),
        receive_params_(T::params(plan.receiving)),
        receiver_(receive_params_, plan.receives_from),
        mtu_(plan.receiving.payload),
        slots_(plan.message_slots),
        acknowledged_(plan.sends_from),
        end_(plan.sends_from) {}

  bool would_accept(const core::Packet& packet) const override {
    return T::would_accept(receiver_, packet, mtu_);
  }
  core::Arrival on_packet(const core::Packet& packet, const core::Signals& signals,
                          Instant now) override {
    echo_.psn = packet.psn;
    echo_.timestamp = packet.timestamp;
    echo_.path_id = packet.path_id;
    echo_.ecn = signals.ecn;
    return receiver_.on_packet(packet, signals, now);
  }
  std::optional<core::Sack> poll_ack(Instant now) override {
    const auto ack = receiver_.poll_ack(now);
    if (!ack) return std::nullopt;
    core::Sack sack = echo_;
    T::to_wire(*ack, sack);
    return sack;
  }
  core::Psn expected() const override { return T::expected(receiver_); }

  void start_sending(const Measured& measured, std::weak_ptr<KnownPaths>& /*known*/) override {
    send_params_ = T::params(measured);
    sender_.emplace(send_params_, slots_, end_);
  }
  core::PostResult on_message(const core::Message& message, Instant now) override {
    return sender_->on_message(message, now);
  }
  std::optional<core::Packet> poll_transmit(Instant now,
                                            std::optional<core::PathId> together) override {
    std::optional<core::Packet> packet = sender_->poll_transmit(now);
    if (!packet) return packet;
    packet->path_id = together.value_or(path_);
    end_ = max(end_, packet->psn + 1);
    return packet;
  }
  bool on_ack(const core::Sack& sack, Instant now) override {
    if (sack.epsn > end_) return false;
    sender_->on_receiving_ack(T::from_wire(sack), now);
    heard_ = true;
    silent_ = false;
    if (sack.epsn > acknowledged_) {
      acknowledged_ = sack.epsn;
      in_a_row_ = 0;
    }
    return true;
  }
  std::optional<core::MessageId> poll_completion() override { return sender_->poll_completion(); }
  core::Psn end() const override { return end_; }
  std::uint32_t timeouts_in_a_row() const override { return in_a_row_; }
  bool in_silence() const override { return silent_; }

  Instant next_deadline() const override {
    const Instant receivers = receiver_.next_deadline();
    return sender_ ? std::min(receivers, sender_->next_deadline()) : receivers;
  }
  Expired on_timeout(Instant now) override {
    Expired expired;
    if (now >= receiver_.next_deadline()) {
      receiver_.on_timeout(now);
      expired.owes_ack = true;
    }
    if (sender_ && now >= sender_->next_deadline()) {
      sender_->on_timeout(now);
      expired.timeout = true;
      ++in_a_row_;
      ++timeouts_;
      silent_ = !heard_;
      heard_ = false;
      path_ = static_cast<core::PathId>((path_ + 1u) % ways.count());
    }
    return expired;
  }
  void describe(ConnectionStatistics& statistics) const override {
    statistics.timeouts = timeouts_;
    statistics.paths = 1;
  }

 private:
  typename T::Params receive_params_;
  Receiver receiver_;
  std::uint32_t mtu_;
  core::Sack echo_{};  ///< of what came last
  typename T::Params send_params_{};
  std::vector<core::MessageSlot> slots_;
  std::optional<Sender> sender_;  ///< once the RTT is known
  core::Psn acknowledged_;
  core::Psn end_;
  std::uint32_t timeouts_ = 0;
  std::uint32_t in_a_row_ = 0;
  core::PathId path_ = 0;
  bool heard_ = false;   ///< since the last timeout
  bool silent_ = false;  ///< nothing was, in the whole time before it
};

}  // namespace strack::udp
