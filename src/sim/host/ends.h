// Both ends of one connection behind virtual calls, acknowledgements as the network carries them: for
// hosts to which any transport matters more than speed, such as tests that run them all.
#pragma once

#include <optional>

#include "base/units.h"
#include "core/packet.h"
#include "core/transport.h"
#include "metrics/records.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

/// The sender's calls and the receiver's, as core/transport.h has them.
class Ends {
 public:
  virtual ~Ends() = default;

  virtual core::PostResult on_message(const core::Message& message, Instant now) = 0;
  virtual void on_receiving_ack(const SimPacket& ack, Instant now) = 0;
  virtual void on_sender_timeout(Instant now) = 0;
  virtual std::optional<core::Packet> poll_transmit(Instant now) = 0;
  virtual std::optional<core::MessageId> poll_completion() = 0;
  [[nodiscard]] virtual Instant sender_deadline() const = 0;
  [[nodiscard]] virtual bool sender_idle() const = 0;
  /// What the sender has counted.
  [[nodiscard]] virtual metrics::FlowRecord counters() const = 0;

  virtual core::Arrival on_packet(const core::Packet& packet, const core::Signals& signals,
                                  Instant now) = 0;
  virtual std::optional<SimPacket> poll_ack(Instant now) = 0;
  virtual void on_receiver_timeout(Instant now) = 0;
  [[nodiscard]] virtual Instant receiver_deadline() const = 0;
};

}  // namespace strack::sim
