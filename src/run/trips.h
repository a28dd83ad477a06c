// How long a packet takes between two hosts of an empty network, whatever network it is.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/units.h"
#include "sim/config.h"
#include "sim/net/network_graph.h"
#include "sim/net/topology.h"

namespace strack::run {

class Trips {
 public:
  explicit Trips(const sim::SimConfig& config);

  /// At best, its last bit there; every link sends it whole.
  [[nodiscard]] Picoseconds between(std::uint32_t from, std::uint32_t to, Bytes packet) const;
  [[nodiscard]] const sim::HostLink& host(std::uint32_t host) const;

 private:
  const sim::TopologyParams& t_;
  sim::HostLink alike_;               ///< of all hosts of a Clos network
  std::vector<sim::HostLink> hosts_;  ///< of a graph's
  /// By size, rounded down, so that there are few: no packet is faster than a smaller one.
  mutable std::map<Bytes, sim::GraphTrips> of_graph_;
};

}  // namespace strack::run
