// What a sender counts, for reports.
#pragma once

#include <cstdint>

namespace strack::core {

/// How often things happened to one connection. Cheap enough to be always there.
struct SenderCounters {
  std::uint32_t retransmissions = 0;
  std::uint32_t loss_episodes = 0;
  std::uint32_t probes_sent = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t sacks_rejected = 0;
};

}  // namespace strack::core
