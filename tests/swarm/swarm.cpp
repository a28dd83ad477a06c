#include "swarm/swarm.h"

namespace strack::swarm {
namespace {

void add_each(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

void Tally::add(const Tally& other) {
  add_each(reached, other.reached);
  add_each(others, other.others);
  seeds += other.seeds;
  steps += other.steps;
  packets += other.packets;
  retransmissions += other.retransmissions;
  timeouts += other.timeouts;
  messages += other.messages;
}

}  // namespace strack::swarm
