// How long packets take through an empty network: base RTTs and ideal completion times are made from
// it.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "sim/config.h"
#include "sim/net/network_graph.h"

namespace strack::sim {

/// How far up packets go between two hosts.
enum class Reach : std::uint8_t { rack, fabric, core };

/// The longest way there is in this network.
[[nodiscard]] constexpr Reach longest_reach(const TopologyParams& t) {
  return t.tiers == 3 ? Reach::core : Reach::fabric;
}

/// A packet's time on the wires of one way, up and down: every link sends it whole.
[[nodiscard]] constexpr Picoseconds serialisation(const TopologyParams& t, Bytes size,
                                                  Reach reach) {
  Picoseconds time = 2 * (size / t.host_rate);
  if (reach >= Reach::fabric) time += 2 * (size / t.fabric_rate);
  if (reach >= Reach::core) time += 2 * (size / t.core_rate);
  return time;
}

/// What the links' latencies add to that.
[[nodiscard]] constexpr Picoseconds propagation(const TopologyParams& t, Reach reach) {
  Picoseconds time = 2 * t.host_latency;
  if (reach >= Reach::fabric) time += 2 * t.fabric_latency;
  if (reach >= Reach::core) time += 2 * t.core_latency;
  return time;
}

/// A data packet of this payload out and a control packet back, without queues.
[[nodiscard]] constexpr Picoseconds base_rtt(const TopologyParams& t, const HostParams& hosts,
                                             Bytes payload, Reach reach) {
  return serialisation(t, payload + hosts.data_header, reach) +
         serialisation(t, hosts.control_size, reach) + 2 * propagation(t, reach);
}

/// The same over the longest way there is, in any network.
[[nodiscard]] inline Picoseconds longest_base_rtt(const TopologyParams& t, const HostParams& hosts,
                                                  Bytes payload) {
  if (t.graph != nullptr)
    return graph_base_rtt(*t.graph, payload + hosts.data_header, hosts.control_size);
  return base_rtt(t, hosts, payload, longest_reach(t));
}

}  // namespace strack::sim
