// What a seed decides before the first packet, whichever protocol runs: link, faults and load.
//
// Each part draws from a stream of its own, so a protocol adds its parameters without moving what
// others draw. Faults end at a drawn time; from then on the network is perfect.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/units.h"
#include "core/packet.h"
#include "core/transport.h"

namespace strack::swarm {

/// The connections of a seed.
inline constexpr std::size_t kFlows = 2;

/// No protocol here has more paths.
inline constexpr std::uint32_t kMostPaths = 256;

struct Link {
  BitsPerSecond rate;
  Bytes mtu;
  Picoseconds base_rtt;  ///< propagation alone
  /// What a transport is told: the network's RTT without queues, serialisation included.
  Picoseconds net_base_rtt;
};

struct Faults {
  Picoseconds jitter;
  Ratio loss, ack_loss, duplication, spike, marking;
  Picoseconds spike_size;
  bool marks_by_path = false;  ///< the same paths all the time, rather than any packet
  std::vector<core::PathId> blackholes;
  Instant dead_from, dead_until;
  Instant end;
};

/// What one connection has to send.
struct Load {
  core::Psn initial_psn;
  std::vector<core::Message> messages;
  std::vector<Instant> post_at;
};

struct Plan {
  Link link;
  Faults faults;
  std::array<Load, kFlows> loads;

  [[nodiscard]] Picoseconds one_way() const { return link.base_rtt / 2; }
  [[nodiscard]] Picoseconds byte_time() const { return bytes(1) / link.rate; }
  /// A full packet on the wire.
  [[nodiscard]] Picoseconds packet_time() const { return (link.mtu + bytes(64)) / link.rate; }
  /// How long after the end of faults what was sent before may still arrive.
  [[nodiscard]] Picoseconds still_under_way() const {
    return 2 * faults.jitter + 2 * faults.spike_size;
  }
  [[nodiscard]] Instant last_post() const;
};

/// A message's length in packets, at most: when there are many, usually, and now and then.
struct LoadSizes {
  std::int64_t many;
  std::int64_t usual;
  std::int64_t longest;
};

[[nodiscard]] inline Ratio percent(std::int64_t n) { return {n, 100}; }

[[nodiscard]] Link draw_link(const Rng& root);
/// Faults last for some tens of `unit`, and blackholes are among the first `paths`.
[[nodiscard]] Faults draw_faults(const Rng& root, const Link& link, Picoseconds unit,
                                 std::uint32_t paths);
[[nodiscard]] std::array<Load, kFlows> draw_loads(const Rng& root, const Link& link,
                                                  LoadSizes sizes);

/// The plan in one line, with a protocol's own parameters in the middle.
[[nodiscard]] std::string describe(const Plan& plan, const std::string& params);

}  // namespace strack::swarm
