// Every change of the network is another set of routes, and all are there from the start of a run.
#pragma once

#include <cstdint>
#include <set>

#include "sim/scenario/scenario.h"

namespace strack::sim {

/// How many sets there are at most.
[[nodiscard]] inline std::int64_t route_versions(const Scenario& scenario) {
  std::set<Instant> changes{Instant{}};
  const auto add = [&](const Failure& failure) {
    changes.insert(failure.from);
    if (failure.until != Instant::never()) changes.insert(failure.until);
  };
  for (const Failure& failure : scenario.config.failures.failures) add(failure);
  for (const RandomLinks& drawn : scenario.random_links) {
    for (const Failure& failure : drawn.failures) add(failure);
  }
  return static_cast<std::int64_t>(changes.size());
}

}  // namespace strack::sim
