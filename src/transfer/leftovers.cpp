#include "transfer/leftovers.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

namespace strack::transfer {

void Leftovers::look(const udp::Endpoint& endpoint, Clock::time_point now) {
  if (now - looked_ < kEvery) return;
  looked_ = now;
  if (is_due(static_cast<std::size_t>(endpoint.statistics().connections), now)) ::malloc_trim(0);
}

bool Leftovers::is_due(std::size_t connections, Clock::time_point now) {
  most_ = std::max(most_, connections);
  const bool fewer = most_ > 0 && connections <= most_ / 8;
  if (!std::exchange(fewer_, fewer)) fewer_since_ = now;
  if (!fewer || now - fewer_since_ < kAfter) return false;
  most_ = connections;
  fewer_ = false;
  return true;
}

}  // namespace strack::transfer
