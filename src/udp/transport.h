// What the engine knows of a transport: how a connection's two ends are made from what set-up has agreed
// on and measured, and what they are told and asked. A transport has its part in its own folder (udp.cpp);
// the build makes the list of those.
//
// Packets travel in the wire format's data, SACK and probe packets. Its transport says what their fields
// mean to it: it makes its acknowledgements of SACKs, and SACKs of its acknowledgements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/units.h"
#include "core/control_paths.h"
#include "core/packet.h"
#include "core/transport.h"
#include "udp/endpoint.h"

namespace strack::udp {

/// What a wake-up and a batch of system calls may cost without anything being wrong.
inline constexpr Picoseconds kSchedulingNoise = us(200);

/// What set-up has learned of the way and the peer.
struct Measured {
  BitsPerSecond rate;       ///< of the host's link, as told; the path may be slower
  Picoseconds rtt;          ///< of small packets, the lowest of a few
  Picoseconds full_rtt;     ///< of full packets, the lowest of a few; 0: not measured
  std::uint32_t payload;    ///< of a full packet, as agreed
  std::uint32_t paths;      ///< entropies of the sending side
  std::uint32_t window;     ///< packets the receiving side can track
  std::uint32_t burst = 1;  ///< packets that travel as one
  bool oblivious = false;   ///< spread evenly, whatever is known of paths
};

/// What connections that take the same ways know of them together [D74]: a transport's own.
struct KnownPaths {
  KnownPaths() = default;
  KnownPaths(const KnownPaths&) = delete;
  KnownPaths& operator=(const KnownPaths&) = delete;
  virtual ~KnownPaths() = default;
};

/// Both ends of a connection on one host. Fixed memory from start_sending on.
class Session {
 public:
  Session(std::uint32_t paths, std::uint32_t salt) : ways(paths, salt) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  // Receiving: as core::TransportReceiver.
  /// Whether on_packet would accept it: the host must have a place for it first.
  [[nodiscard]] virtual bool would_accept(const core::Packet& packet) const = 0;
  virtual core::Arrival on_packet(const core::Packet& packet, const core::Signals& signals,
                                  Instant now) = 0;
  [[nodiscard]] virtual std::optional<core::Sack> poll_ack(Instant now) = 0;
  /// All packets before it have arrived.
  [[nodiscard]] virtual core::Psn expected() const = 0;

  // Sending: as core::TransportSender; not before start_sending.
  /// `known`: to the same transport of the same peer, by the same entropies. Who finds none there, and
  /// has such a thing, leaves its own.
  virtual void start_sending(const Measured& measured, std::weak_ptr<KnownPaths>& known) = 0;
  [[nodiscard]] virtual core::PostResult on_message(const core::Message& message, Instant now) = 0;
  /// `together`: on the path of the burst that it goes with.
  [[nodiscard]] virtual std::optional<core::Packet> poll_transmit(
      Instant now, std::optional<core::PathId> together = std::nullopt) = 0;
  /// False: it cannot be true, and nothing of it counts.
  [[nodiscard]] virtual bool on_ack(const core::Sack& sack, Instant now) = 0;
  [[nodiscard]] virtual std::optional<core::MessageId> poll_completion() = 0;
  /// One past the last that was ever sent.
  [[nodiscard]] virtual core::Psn end() const = 0;
  /// Since something new was last acknowledged.
  [[nodiscard]] virtual std::uint32_t timeouts_in_a_row() const = 0;
  /// Nothing was acknowledged in the whole time before the last timeout, nor since.
  [[nodiscard]] virtual bool in_silence() const = 0;
  /// [D128] Bytes that were sent and are neither acknowledged nor taken for lost, and the most of them at a time; 0: it does
  /// not tell.
  [[nodiscard]] virtual Bytes under_way() const { return bytes(0); }
  [[nodiscard]] virtual Bytes most_under_way() const { return bytes(0); }
  /// Something else of the peer's has come.
  virtual void on_peer_heard(Instant /*now*/) {}
  /// This host itself did not get it out.
  virtual void never_left(core::Psn /*psn*/) {}
  /// A ping has arrived by this path.
  virtual void path_works(core::PathId /*path*/) {}

  // Both.
  [[nodiscard]] virtual Instant next_deadline() const = 0;
  struct Expired {
    bool timeout = false;   ///< of the sender's
    bool owes_ack = false;  ///< the receiver does: poll_ack
  };
  virtual Expired on_timeout(Instant now) = 0;
  /// Fills in what it knows better than the engine.
  virtual void describe(ConnectionStatistics& statistics) const = 0;

  core::ControlPaths ways;  ///< for all that is no data
};

/// What both sides' terms say.
struct SessionPlan {
  Measured receiving;       ///< the peer's packets; its RTT is not known yet
  core::Psn sends_from;     ///< the first PSN of this side's data
  core::Psn receives_from;  ///< and of the peer's
  std::uint32_t paths;      ///< entropies of this side
  std::uint32_t salt;       ///< other ones at the two ends
  std::uint32_t message_slots;
};

struct Transport {
  std::string_view name;  ///< its folder's
  std::uint8_t id;        ///< in set-up's terms; docs/protocol.md has the list
  std::uint16_t
      tracking_window;  ///< packets beyond the first missing one that its receiver can note
  std::unique_ptr<Session> (*make_session)(const SessionPlan& plan);
};

using Transports = std::span<const Transport* const>;

/// All that this program has; made by the build from src/transports/*/udp.cpp.
[[nodiscard]] Transports transports();

/// By its id; null: there is none.
[[nodiscard]] inline const Transport* find(Transports among, std::uint8_t id) {
  for (const Transport* transport : among) {
    if (transport->id == id) return transport;
  }
  return nullptr;
}
/// By its name; an empty one is the first's.
[[nodiscard]] inline const Transport* find(Transports among, std::string_view name) {
  for (const Transport* transport : among) {
    if (name.empty() || transport->name == name) return transport;
  }
  return nullptr;
}

}  // namespace strack::udp
