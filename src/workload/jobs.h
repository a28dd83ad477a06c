// Jobs on a cluster: which host is which rank of which job, and when each rank begins.
//
// All jobs made here are of one kind and share its graph. Every host has at most one rank of them, so
// they meet in the network only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/collectives.h"
#include "workload/generators.h"
#include "workload/workload.h"

namespace strack::workload {

enum class Placement : std::uint8_t {
  random,   ///< hosts in an order drawn by the seed
  packed,   ///< consecutive ranks on consecutive hosts, so in as few racks as possible
  striped,  ///< consecutive ranks in consecutive racks, so in as many as possible
  blocks,   ///< blocks of consecutive hosts in one rack, in an order drawn by the seed [D63]
  listed,   ///< as the user lists them
};
/// "random", "packed", "striped"; the others take a number or a list, as `written`.
[[nodiscard]] std::string_view name_of(Placement placement);

/// A placement with what it needs.
struct Placing {
  Placement kind = Placement::random;
  std::uint32_t block = 1;    ///< blocks: so many hosts each; it divides a rack
  std::vector<HostId> hosts;  ///< listed: no host twice

  Placing() = default;
  Placing(Placement plain) : kind(plain) {}  // NOLINT: a word alone is a placing too
};
/// "random", "packed", "striped", "blocks:8", "hosts:0-7,16"; or what is wrong with it.
[[nodiscard]] Result<Placing, std::string> parse_placing(std::string_view text);

/// The first `count` hosts in the order in which ranks take them.
[[nodiscard]] std::vector<HostId> place(const Racks& racks, const Placing& placing,
                                        std::uint32_t count, std::uint64_t seed);

/// The same among the hosts that are left: none of `taken`, and of blocks only those wholly free.
/// Fewer than `count` where there are no more.
[[nodiscard]] std::vector<HostId> place_beside(const Racks& racks, const Placing& placing,
                                               std::uint32_t count, std::uint64_t seed,
                                               const std::vector<bool>& taken);

struct JobsParams {
  Racks racks;
  std::uint32_t jobs = 1;
  std::shared_ptr<const Graph> graph;  ///< of every job
  std::string name;                    ///< the same
  Placing placement;
  std::vector<HostId> hosts = {};  ///< of all ranks, where others have been placed already
  Instant start{};                 ///< of every rank,
  Picoseconds start_jitter{0};     ///< and each up to this much later, uniformly
};
/// The jobs, one after the other in the order of place(); or why there are too few hosts.
[[nodiscard]] Result<std::vector<Job>, std::string> make_jobs(const JobsParams& params,
                                                              std::uint64_t seed);

/// How large make_collective's graph will be, without making it.
struct CollectiveSize {
  std::uint64_t messages = 0;  ///< exact where the buffer divides evenly, else near
  std::uint64_t channels = 0;  ///< at most
};
[[nodiscard]] CollectiveSize size_of(const CollectiveParams& params);

}  // namespace strack::workload
