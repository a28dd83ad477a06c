// Which nodes of a cluster run here, where several ranks share it, and what leads from these to others.
//
// Racks go to ranks whole and in order, a ToR with its hosts; with three tiers pods do, where there are as
// many. A switch of the top tier only sends down. Where its ports work apart (lossy, no spraying), each is on
// the rank of the switch that it leads to: then a packet crosses once, to the rank of its destination. Else
// such a switch is on one rank, whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/net/topology.h"

namespace strack::sim {

class Partition {
 public:
  /// A link from a node here to one that is, in whole or in part, on other ranks.
  struct Cut {
    LinkId link = 0;
    std::uint32_t table = kWhole;  ///< by destination, or kWhole: all of it goes to `rank`
    std::uint32_t rank = 0;
  };
  static constexpr std::uint32_t kWhole = ~std::uint32_t{0};

  /// The top tier's ports work apart, or not.
  Partition(const Topology& topology, std::uint32_t rank, std::uint32_t ranks, bool apart);

  [[nodiscard]] bool alone() const { return ranks_ == 1; }
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  [[nodiscard]] std::uint32_t first_host() const { return first_host_; }
  [[nodiscard]] std::uint32_t end_host() const { return end_host_; }
  [[nodiscard]] bool has_host(std::uint32_t host) const {
    return host >= first_host_ && host < end_host_;
  }
  /// Those that run here, also in part, by their place in Topology::switches().
  [[nodiscard]] std::span<const std::uint32_t> switches() const { return switches_; }
  /// Of a switch, by the same place.
  [[nodiscard]] std::span<const Cut> cuts(std::uint32_t sw) const {
    if (alone()) return {};
    return {cuts_.data() + first_cut_[sw], cuts_.data() + first_cut_[sw + 1]};
  }
  /// Where a packet for that host goes on, by a link with such a table.
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t table, std::uint32_t host) const {
    return tables_[table][static_cast<std::uint32_t>((host * rack_reciprocal_) >> 32)];
  }
  /// Who receives what comes by a link.
  [[nodiscard]] NodeId receiver(LinkId link) const { return receivers_[link]; }

 private:
  void place_switches(const Topology& topology, bool apart);
  void cut(const Topology& topology);

  std::uint32_t rank_;
  std::uint32_t ranks_;
  std::uint64_t
      rack_reciprocal_;  ///< a rack is found by a multiplication (Network checks that it is exact)
  std::uint32_t first_host_ = 0;
  std::uint32_t end_host_ = 0;
  std::vector<std::uint32_t> rank_of_switch_;  ///< the one it is on, whole; kWhole: on several
  std::vector<std::uint32_t> table_of_switch_;
  std::vector<std::uint32_t> switches_;
  std::vector<Cut> cuts_;                           ///< of all switches, one after the other
  std::vector<std::uint32_t> first_cut_;            ///< by switch
  std::vector<std::vector<std::uint32_t>> tables_;  ///< by rack: the rank
  std::vector<NodeId> receivers_;                   ///< by link
};

}  // namespace strack::sim
