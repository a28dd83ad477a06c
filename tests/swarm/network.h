// The network of a plan: as bad as drawn until faults end, perfect afterwards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "base/units.h"
#include "core/packet.h"
#include "duet/duet.h"
#include "swarm/plan.h"

namespace strack::swarm {

class SwarmNet {
 public:
  SwarmNet(const Plan& plan, std::uint64_t seed)
      : faults_(plan.faults), one_way_(plan.one_way()), rng_(Rng(seed).stream("network")) {
    path_marked_.resize(kMostPaths);
    for (std::size_t i = 0; i < path_marked_.size(); ++i)
      path_marked_[i] = rng_.chance(faults_.marking);
  }

  duet::Fate fate_of(std::size_t /*flow*/, const core::Packet& packet, Instant now) {
    if (now >= faults_.end) return duet::Fate::after(one_way_);
    const bool swallowed = std::find(faults_.blackholes.begin(), faults_.blackholes.end(),
                                     packet.path_id) != faults_.blackholes.end();
    duet::Fate fate = bad_luck(faults_.loss, now);
    if (swallowed) fate.copies = 0;
    fate.ecn = faults_.marks_by_path ? path_marked_[packet.path_id] : rng_.chance(faults_.marking);
    return fate;
  }
  template <class Ack>
  duet::Fate fate_of(std::size_t /*flow*/, const Ack& /*ack*/, Instant now) {
    if (now >= faults_.end) return duet::Fate::after(one_way_);
    return bad_luck(faults_.ack_loss, now);
  }
  bool mark_on_arrival(std::size_t /*flow*/, const core::Packet& /*packet*/, bool ecn,
                       Instant /*now*/) {
    return ecn;
  }

 private:
  duet::Fate bad_luck(Ratio loss, Instant now) {
    duet::Fate fate = duet::Fate::after(delay());
    fate.copy_delay = delay();
    if (rng_.chance(faults_.duplication)) fate.copies = 2;
    const bool dead = now >= faults_.dead_from && now < faults_.dead_until;
    if (rng_.chance(loss) || dead) fate.copies = 0;
    return fate;
  }
  Picoseconds delay() {
    const Picoseconds jitter = ps(rng_.between(0, faults_.jitter.value));
    return one_way_ + jitter + (rng_.chance(faults_.spike) ? faults_.spike_size : ps(0));
  }

  const Faults& faults_;
  Picoseconds one_way_;
  Rng rng_;
  std::vector<bool> path_marked_;
};

}  // namespace strack::swarm
