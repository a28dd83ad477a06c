// What a host's connections have done, all together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "metrics/records.h"

namespace strack::sim {

template <class Protocol>
struct FlowTotalsOf {
  std::uint64_t retransmissions = 0;
  std::uint64_t probes = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t cnps = 0;
  std::uint64_t naks = 0;
  [[no_unique_address]] std::array<std::uint64_t, Protocol::kCounters.size()> own{};

  void add(const metrics::FlowRecord& r) {
    retransmissions += r.retransmissions;
    probes += r.probes;
    timeouts += r.timeouts;
    cnps += r.cnps;
    naks += r.naks;
    for (std::size_t i = 0; i < own.size(); ++i) own[i] += r.own[i];
  }
};

}  // namespace strack::sim
