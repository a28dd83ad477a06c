// What an endpoint and its engine see of the world: datagrams, a clock, randomness, sleep. A datapath is a
// folder below network/: the kernel's sockets are one, a seeded network in memory another, so that the
// very code that runs on sockets can be tested by seed in virtual time.
//
// Calls are per batch, so that being virtual costs nothing next to a system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/units.h"
#include "udp/address.h"
#include "udp/endpoint.h"

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
  too_large,    ///< the own device does not take a datagram, or a burst, of this size
  lost,         ///< not sent, for another reason; counted by the network
  unreachable,  ///< lost, since the host knows no way there
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

  /// Opens the primary port at this address; says what is against it.
  [[nodiscard]] virtual std::optional<Error> open(const Address& local) = 0;
  [[nodiscard]] virtual bool is_open() const = 0;
  /// Until something arrives or the time is over. Returns at once when it is not open.
  virtual void sleep(Picoseconds time) = 0;
  /// For a moment, while it is looked again and again.
  virtual void yield() = 0;
  /// Readable when something has arrived; -1: it has none.
  [[nodiscard]] virtual int file_descriptor() const = 0;

  /// Never runs backwards.
  [[nodiscard]] virtual Instant now() = 0;
  /// In this order. What cannot be sent is lost, like anything else on a network. However much is
  /// sent patiently, between two calls of receive() no more than a millisecond is waited.
  virtual SendResult send(std::span<const Outgoing> batch) = 0;
  /// What has come to the primary port, up to kReceiveBatch; nothing when nothing waits. Resets and
  /// rejects that have come to the other ports are among it, sooner or later [D46].
  [[nodiscard]] virtual std::span<Incoming> receive() = 0;
  /// Where the primary port is: its own, and the host's if it is bound to one.
  [[nodiscard]] virtual const Address& address() const = 0;
  /// The largest UDP payload that the device takes by which an address is reached. What routers beyond
  /// it are said to take does not count.
  [[nodiscard]] virtual std::uint32_t largest_datagram(const Address& to) = 0;
  /// For keys and whatever must not be predictable.
  virtual void random(std::span<std::uint8_t> out) = 0;
  [[nodiscard]] virtual const NetworkCounters& counters() const = 0;
  /// Where there are sockets.
  [[nodiscard]] virtual SocketLimits socket_limits() const { return {}; }
};

/// One way to send and receive, as EndpointOptions::datapath names it.
struct Datapath {
  std::string_view name;  ///< its folder's
  std::unique_ptr<Network> (*make)(const EndpointOptions& options);
};
/// All that there are, the usual one first.
[[nodiscard]] std::span<const Datapath> datapaths();
/// Null: there is none of that name. An empty one is the first's.
[[nodiscard]] const Datapath* find_datapath(std::string_view name);

}  // namespace strack::udp
