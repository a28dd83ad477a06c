// htsim's topologies (.topo): fat trees of two or three tiers of switches.
//
//   Nodes 32
//   Tiers 2
//   Podsize 32                   hosts in a pod; all of them in two tiers
//   Tier 0                       ToR switches
//   Downlink_speed_Gbps 400
//   Radix_Down 8                 ports down, hosts here
//   Radix_Up 2                   ports up; not on top
//   Downlink_Latency_ns 1000
//   Tier 1                       aggregation switches, or spines
//   ...
//
// A tier can also have Oversubscribed, Bundle (parallel links to a switch below), Switch_Latency_ns,
// Queue_Up and Queue_Down (bytes). Names are read in any case, `#` begins a comment.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/amount.h"

namespace strack::workload {

/// The file as it is written.
struct HtsimTier {
  int line = 0;  ///< of `Tier i`
  BitsPerSecond downlink_speed{0};
  std::uint32_t radix_down = 0;
  std::uint32_t radix_up = 0;  ///< 0 on top
  std::optional<std::uint32_t> oversubscribed;
  std::uint32_t bundle = 1;
  Picoseconds downlink_latency{0};
  Picoseconds switch_latency{0};
  std::optional<Bytes> queue_up;
  std::optional<Bytes> queue_down;
};
struct HtsimTopology {
  std::uint32_t nodes = 0;
  std::uint32_t podsize = 0;
  std::vector<HtsimTier> tiers;  ///< two or three, ToRs first
};
[[nodiscard]] Result<HtsimTopology, TextError> import_topo(std::string_view text);

/// What a Clos network of ours is made from: sim::TopologyParams by the same names.
struct ClosFigures {
  int tiers = 2;
  std::uint32_t racks = 0;
  std::uint32_t hosts_per_rack = 0;
  std::uint32_t spines = 0;           ///< tiers = 2
  std::uint32_t links_per_spine = 0;  ///< tiers = 2
  std::uint32_t racks_per_pod = 0;    ///< tiers = 3
  std::uint32_t aggs_per_pod = 0;     ///< tiers = 3
  std::uint32_t cores_per_agg = 0;    ///< tiers = 3
  BitsPerSecond host_rate{0};
  BitsPerSecond fabric_rate{0};
  BitsPerSecond core_rate{0};  ///< tiers = 3
  /// A switch's latency is shared out among the links at it, half to each that a packet takes, so
  /// every path has the latency that htsim gives it.
  Picoseconds host_latency{0};
  Picoseconds fabric_latency{0};
  Picoseconds core_latency{0};       ///< tiers = 3
  std::optional<Bytes> queue_limit;  ///< of every port; the largest of the file's
  std::vector<std::string> notes;    ///< what is not as htsim would have it, for people
};
/// The figures, or why they do not make a network of ours. Errors name a tier's line.
[[nodiscard]] Result<ClosFigures, TextError> clos_of(const HtsimTopology& topology);

}  // namespace strack::workload
