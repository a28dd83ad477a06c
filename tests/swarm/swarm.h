// The swarm: from one seed a whole bad day for a pair of hosts, and what must hold all the same.
//
// A seed draws parameters, messages and faults (loss up to 30 %, reordering, duplication, delay
// spikes, blackholed paths, dead periods), runs two connections against each other's direction, and
// checks the invariants after every step. Faults end at a drawn time; from then on everything must
// complete within a stated bound. A failed check prints the command that replays the seed.
//
// Link, faults and load are drawn in plan.h, the network is network.h's and the loop driver.h's, for
// any protocol. What a protocol adds is one file: its parameters, its invariants and its bound. What must
// hold for all of them whatever they are, tests/conformance runs on the same bad days.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strack::swarm {

/// What one seed, or many added up, went through.
struct Tally {
  std::vector<std::uint64_t> reached;  ///< rare branches, in the order of Protocol::rare
  std::vector<std::uint64_t> others;   ///< in the order of Protocol::others
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t packets = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t messages = 0;

  void add(const Tally& other);
};

/// A protocol that the swarm runs over.
struct Protocol {
  std::string_view name;
  std::span<const std::string_view> rare;    ///< the branches a campaign must have reached
  std::span<const std::string_view> others;  ///< what it counts that no other protocol has

  /// Runs one seed; does not return if an invariant breaks. `trace` prints what happens, step by
  /// step.
  Tally (*run_seed)(std::uint64_t seed, bool trace);
  /// The plan a seed stands for, in one line.
  std::string (*describe)(std::uint64_t seed);
};

/// All there are: the build makes the list of <name>_swarm.cpp, each with its swarm_of_<name>.
[[nodiscard]] std::vector<const Protocol*> protocols();

}  // namespace strack::swarm
