// How long a packet takes between two hosts of an empty network, whatever network it is.
#pragma once

#include <array>
#include <cstdint>
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
  /// Of a graph, from one switch: the cheapest way to each that has hosts, for a packet of either size.
  using Costs = std::vector<Picoseconds>;
  struct Row {
    std::array<Costs, 2> costs;
  };
  struct Next {
    std::uint32_t to;
    std::uint32_t link;
  };
  [[nodiscard]] Picoseconds of_graph(std::uint32_t from, std::uint32_t to, Bytes packet) const;
  [[nodiscard]] Costs shortest(std::uint32_t from, Bytes packet) const;
  [[nodiscard]] Costs cheapest(std::uint32_t from, Bytes packet) const;

  const sim::TopologyParams& t_;
  sim::HostLink alike_;                  ///< of all hosts of a Clos network
  std::vector<sim::HostLink> hosts_;     ///< of a graph's
  std::vector<std::vector<Next>> next_;  ///< by switch: switches beside it
  std::vector<std::uint32_t> edges_;     ///< switches that have hosts
  std::vector<std::uint32_t> edge_of_switch_;
  /// [D101] Something breaks, so that packets may take any way, not only one of the fewest links.
  bool any_way_ = false;
  std::array<Bytes, 2> sizes_;     ///< the smallest packet and the largest
  mutable std::vector<Row> rows_;  ///< by edge, made when first asked for
};

}  // namespace strack::run
