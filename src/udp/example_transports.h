// The program's transports and the worked example's (examples/transports/toy): for the swarm and tests.
#pragma once

#include <vector>

#include "udp/transport.h"

namespace strack::udp {

extern const Transport toy_over_udp;

[[nodiscard]] inline std::vector<const Transport*> with_examples() {
  const Transports own = transports();
  std::vector<const Transport*> all(own.begin(), own.end());
  if (find(own, toy_over_udp.id) == nullptr) all.push_back(&toy_over_udp);
  return all;
}

}  // namespace strack::udp
