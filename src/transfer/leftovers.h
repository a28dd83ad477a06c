// Memory of connections that have ended, given back to the system. The allocator keeps it for the next ones, which may never
// come: a listener that once had a thousand connections would be as large as then for the rest of its life.
#pragma once

#include <chrono>
#include <cstddef>

#include "udp/endpoint.h"

namespace strack::transfer {

class Leftovers {
 public:
  using Clock = std::chrono::steady_clock;
  /// Connections that have ended stay for a second themselves, to answer repetitions.
  static constexpr auto kAfter = std::chrono::seconds(2);
  static constexpr auto kEvery = std::chrono::milliseconds(250);

  /// To be called often; what it asks the endpoint it asks seldom.
  void look(const udp::Endpoint& endpoint, Clock::time_point now);
  /// Whether all but an eighth of what there was has been gone for kAfter: it takes tens of milliseconds, which those who
  /// are left would feel. From then on there was as much as there is.
  [[nodiscard]] bool is_due(std::size_t connections, Clock::time_point now);

 private:
  std::size_t most_ = 0;
  bool fewer_ = false;
  Clock::time_point fewer_since_{};
  Clock::time_point looked_{};
};

}  // namespace strack::transfer
