// What an engine sees of the world: datagrams, a clock, randomness. The kernel's sockets are one
// such network (kernel_network.h), a seeded one in memory another (simulated_network.h), so that
// the very code that runs on sockets can be tested by seed in virtual time.
//
// Calls are per batch, so that being virtual costs nothing next to a system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "udp/address.h"

namespace strack::udp {

struct Piece {
  const void* data;
  std::size_t size;
};

/// Datagrams that go the same way in one system call: one, or a burst of equal ones.
struct Outgoing {
  const Address* to;
  /// Which of this host's addresses it comes from; nullptr, or any: as the kernel likes.
  const Address* from = nullptr;
  std::span<const Piece> pieces;
  std::uint32_t bytes;    ///< all pieces together
  std::uint16_t entropy;  ///< which source port; kPrimary is the one that receives
  std::uint16_t segment;  ///< each datagram's bytes, the last's at most; 0: it is a single one
  bool ect;               ///< ECN-capable: may be marked on the way
  /// If there is no room, wait a moment for it. Never on behalf of strangers.
  bool patient = false;
};

enum class SendResult : std::uint8_t {
  ok,
  too_large,  ///< the own device does not take a datagram, or a burst, of this size
  lost,       ///< not sent, for another reason; counted by the network
};

/// One datagram, or several of `segment` bytes each (the last may be shorter) that came together.
struct Incoming {
  std::span<std::uint8_t> bytes;  ///< valid until the next receive(); may be written to
  Address from;
  Address to;                 ///< which of this host's addresses it came to; any: the only one
  Instant arrival;            ///< as precise as the network knows, never later than now()
  std::uint16_t segment = 0;  ///< 0: a single one
  bool marked = false;        ///< ECN: congestion experienced
};

/// The most datagrams that one receive() gives. Fewer: nothing more was there.
inline constexpr std::size_t kReceiveBatch = 32;

struct NetworkCounters {
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t send_errors = 0;
  std::uint64_t send_full = 0;
};

class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// Never runs backwards.
  [[nodiscard]] virtual Instant now() = 0;
  /// In this order. What cannot be sent is lost, like anything else on a network. However much is
  /// sent patiently, between two calls of receive() no more than a millisecond is waited.
  virtual SendResult send(std::span<const Outgoing> batch) = 0;
  /// What has come to the primary port, up to kReceiveBatch; nothing when nothing waits. Resets that
  /// have come to the other ports are among it, sooner or later [D46].
  [[nodiscard]] virtual std::span<Incoming> receive() = 0;
  /// Where the primary port is: its own, and the host's if it is bound to one.
  [[nodiscard]] virtual const Address& address() const = 0;
  /// The largest UDP payload that the device takes by which an address is reached. What routers beyond
  /// it are said to take does not count.
  [[nodiscard]] virtual std::uint32_t largest_datagram(const Address& to) = 0;
  /// For keys and whatever must not be predictable.
  virtual void random(std::span<std::uint8_t> out) = 0;
  [[nodiscard]] virtual const NetworkCounters& counters() const = 0;
};

}  // namespace strack::udp
