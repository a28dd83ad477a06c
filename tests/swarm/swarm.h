// The swarm: from one seed a whole bad day for a pair of hosts, and what must hold all the same.
//
// A seed draws parameters, messages and faults (loss up to 30 %, reordering, duplication, delay
// spikes, blackholed paths, dead periods), runs two connections against each other's direction, and
// checks the invariants after every step. Faults end at a drawn time; from then on everything must
// complete within a stated bound. A failed check prints the command that replays the seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/events.h"

namespace strack::swarm {

/// What one seed, or many added up, went through.
struct Tally {
  std::array<std::uint64_t, static_cast<std::size_t>(core::Rare::kCount)> reached{};
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t packets = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t probes = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t messages = 0;

  void add(const Tally& other);
};

/// Runs one seed; does not return if an invariant breaks. `trace` prints what happens, step by
/// step.
Tally run_seed(std::uint64_t seed, bool trace);

/// The plan a seed stands for, in one line.
std::string describe(std::uint64_t seed);

}  // namespace strack::swarm
