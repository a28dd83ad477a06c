// What the tests of ports share: one port by itself.
#pragma once

#include <cstdint>
#include <deque>
#include <ostream>
#include <vector>

#include "base/testing.h"
#include "base/units.h"
#include "sim/net/packing.h"
#include "sim/net/port.h"

namespace strack::sim::testing {

inline constexpr std::int64_t kS =
    83'200;  ///< serialisation of a full data packet, 4160 bytes at 400 Gb/s
inline constexpr std::int64_t kC = 1'280;      ///< and of a SACK, 64 bytes
inline constexpr std::int64_t kL = 1'000'000;  ///< the link's latency

inline Instant t(std::int64_t picoseconds) { return at(ps(picoseconds)); }

inline SwitchParams deep_queue() {
  SwitchParams params;
  params.kmin = mb(1);
  params.kmax = mb(2);
  params.queue_limit = mb(4);
  return params;
}

/// A packet by its number, and when it came out.
struct SeenPacket {
  std::uint32_t number;
  std::int64_t arrival;
  bool operator==(const SeenPacket&) const = default;
  friend void PrintTo(const SeenPacket& seen, std::ostream* stream) {
    *stream << "packet " << seen.number << " at " << seen.arrival;
  }
};
using Seen = std::vector<SeenPacket>;
using Numbers = std::vector<std::uint32_t>;

/// One port at 400 Gb/s with 1 us of cable behind it, and what came out at the far end.
template <class PortType>
class PortBench {
 public:
  explicit PortBench(const SwitchParams& params = deep_queue(), BitsPerSecond rate = gbps(400))
      : rules(params, HostParams{}) {
    port.wire.lane = &lane_;
    port.wire.byte_time = ByteTime(rate);
    port.wire.latency = us(1);
    context_.mail = &mail_;
    context_.window = 1;
  }

  /// A data packet with this number and payload reaches the port.
  void data(std::int64_t time, std::uint32_t number, std::uint16_t payload = 4'096,
            std::uint32_t priority = 0) {
    core::Packet packet;
    packet.psn = core::Psn{number};
    packet.payload = payload;
    SimPacket packed = pack(packet, {1, 1});
    packed.set_priority(priority);
    add(time, packed);
  }
  /// A full one that goes before the usual.
  void urgent(std::int64_t time, std::uint32_t number, std::uint32_t priority = 1) {
    data(time, number, 4'096, priority);
  }
  void probe(std::int64_t time, std::uint32_t number) {
    core::Packet packet;
    packet.type = core::PacketType::probe;
    packet.psn = core::Psn{number};
    add(time, pack(packet, {1, 1}));
  }
  void sack(std::int64_t time, std::uint32_t number) {
    SimPacket packet = SimPacket::ack({1, 1}, 0);
    packet.w1 = number;
    add(time, packet);
  }

  void add(std::int64_t time, const SimPacket& packet) {
    packets_.push_back(packet);
    waiting_.push_back({t(time), &packets_.back()});
  }

  /// Lets the port work up to `end`; what it sent is added to `out`.
  void run(std::int64_t end = 1'000'000'000'000) {
    context_.end = t(end);
    port.run(waiting_, rules, context_, fingerprint, drops);
    waiting_.clear();
    for (const Transit& transit : lane_.arrivals(context_.window + 1)) out.push_back(transit);
    ++context_.window;
  }

  [[nodiscard]] std::vector<SeenPacket> seen() const {
    std::vector<SeenPacket> all;
    for (const Transit& transit : out) {
      all.push_back({static_cast<std::uint32_t>(transit.packet.w1), transit.time.ps});
    }
    return all;
  }
  [[nodiscard]] std::vector<std::uint32_t> marked() const {
    std::vector<std::uint32_t> all;
    for (const Transit& transit : out) {
      if (transit.packet.marked()) all.push_back(static_cast<std::uint32_t>(transit.packet.w1));
    }
    return all;
  }
  [[nodiscard]] std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> all;
    for (const SeenPacket& s : seen()) all.push_back(s.number);
    return all;
  }
  [[nodiscard]] std::uint64_t hops() const { return context_.packet_hops; }

  PortRules rules;
  PortType port;
  std::vector<Transit> out;
  DropCounts drops;
  Fingerprint fingerprint;

 private:
  Lane lane_;
  MailFlags mail_{1};
  WindowContext context_;
  std::deque<SimPacket> packets_;
  std::vector<PortArrival> waiting_;
};

}  // namespace strack::sim::testing
