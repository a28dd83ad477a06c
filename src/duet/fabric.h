// A small network with queues: several routes, each a FIFO at its own rate, egress-marked and
// tail-dropped.
//
// A path_id takes the route a hash of (flow, path_id) picks, as ECMP would, so different paths may
// share a route. For demonstrations and tests of the loop between transport and queues; whole
// clusters are the simulator's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/prng.h"
#include "base/units.h"
#include "core/packet.h"
#include "duet/duet.h"

namespace strack::duet {

struct Route {
  BitsPerSecond rate;
  bool blackhole = false;
};

struct FabricParams {
  std::vector<Route> routes;
  Picoseconds one_way;  ///< propagation, in front of the queue
  Bytes kmin, kmax;     ///< marks begin, marks are certain: the queue left behind at departure
  Bytes queue_limit;    ///< tail drop beyond
  Ratio loss{0, 1};     ///< of data packets, at random
};

class Fabric {
 public:
  Fabric(FabricParams params, std::uint64_t seed)
      : params_(std::move(params)),
        queues_(params_.routes.size()),
        salt_(Rng(seed).stream("ecmp").next()),
        loss_(Rng(seed).stream("loss")),
        marking_(Rng(seed).stream("marking")) {}

  Fate fate_of(std::size_t flow, const core::Packet& packet, Instant now) {
    const std::size_t index = route_of(flow, packet.path_id);
    const Route& route = params_.routes[index];
    if (route.blackhole || loss_.chance(params_.loss)) return ++lost_, Fate::lost();
    Queue& queue = queues_[index];
    const Bytes size = wire_size(packet);
    const Instant reach = now + params_.one_way;
    if (queue.backlog(reach) + size > params_.queue_limit) return ++dropped_, Fate::lost();
    const Instant exit = std::max(reach, queue.last_exit()) + size / route.rate;
    queue.waiting.push_back({reach, exit, size});
    return Fate::after(exit - now);
  }
  /// Acknowledgements travel in a class of their own, past the queues. [D18]
  template <class Ack>
  Fate fate_of(std::size_t /*flow*/, const Ack& /*ack*/, Instant /*now*/) {
    return Fate::after(params_.one_way);
  }
  /// The packet is leaving its queue: what it leaves behind decides.
  bool mark_on_arrival(std::size_t flow, const core::Packet& packet, bool /*ecn*/, Instant now) {
    Queue& queue = queues_[route_of(flow, packet.path_id)];
    while (!queue.waiting.empty() && queue.waiting.front().exit <= now) queue.waiting.pop_front();
    const Bytes left_behind = queue.backlog(now);
    if (left_behind > deepest_) deepest_ = left_behind;
    const bool mark =
        left_behind >= params_.kmax ||
        (left_behind > params_.kmin && marking_.chance({(left_behind - params_.kmin).value,
                                                        (params_.kmax - params_.kmin).value}));
    if (mark) ++marked_;
    return mark;
  }

  [[nodiscard]] std::size_t route_of(std::size_t flow, core::PathId path_id) const {
    return mix64(salt_ ^ (flow << 16) ^ path_id) % params_.routes.size();
  }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] std::uint64_t marked() const { return marked_; }
  [[nodiscard]] Bytes deepest() const { return deepest_; }

 private:
  struct Waiting {
    Instant reach;
    Instant exit;
    Bytes size;
  };
  struct Queue {
    std::deque<Waiting> waiting;  ///< in order; those not there yet are included

    [[nodiscard]] Instant last_exit() const {
      return waiting.empty() ? Instant{} : waiting.back().exit;
    }
    /// Bytes that have come and not left at an instant.
    [[nodiscard]] Bytes backlog(Instant when) const {
      Bytes total{0};
      for (const Waiting& w : waiting) {
        if (w.reach > when) break;
        if (w.exit > when) total += w.size;
      }
      return total;
    }
  };

  static Bytes wire_size(const core::Packet& packet) { return bytes(packet.payload + 64); }

  FabricParams params_;
  std::vector<Queue> queues_;
  std::uint64_t salt_;
  Rng loss_;
  Rng marking_;
  std::uint64_t lost_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t marked_ = 0;
  Bytes deepest_{0};
};

}  // namespace strack::duet
