#include "run/ideal_graph.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "run/trips.h"

namespace strack::run {
namespace {

using workload::Graph;
using workload::Moment;
using workload::NodeId;

/// A message at a NIC: when it may begin, how long it takes, what comes after it.
struct Task {
  Picoseconds head{0};
  Picoseconds work{0};
  Picoseconds tail{0};
};

/// When all tasks and their tails are over, at the earliest, on a machine that does one thing at a time
/// and may change its mind: whatever is there with the longest tail goes first.
[[nodiscard]] Picoseconds one_machine(std::vector<Task>& tasks) {
  std::sort(tasks.begin(), tasks.end(),
            [](const Task& a, const Task& b) { return a.head < b.head; });
  std::priority_queue<std::pair<Picoseconds, Picoseconds>> waiting;  // tail, work that is left
  Picoseconds now{0};
  Picoseconds end{0};
  const auto work_until = [&](Picoseconds until) {
    while (!waiting.empty() && now < until) {
      auto [tail, left] = waiting.top();
      waiting.pop();
      const Picoseconds done = std::min(left, until - now);
      now += done;
      if (done < left) {
        waiting.emplace(tail, left - done);
      } else {
        end = std::max(end, now + tail);
      }
    }
  };
  for (const Task& task : tasks) {
    work_until(task.head);
    now = std::max(now, task.head);
    waiting.emplace(task.tail, task.work);
  }
  work_until(ps(INT64_MAX));
  return end;
}

class Chains {
 public:
  Chains(const sim::SimConfig& config, const Trips& trips, const workload::Job& job)
      : config_(config), t_(config.topology), job_(job), graph_(*job.graph), trips_(trips) {
    for (workload::Rank r = 0; r < graph_.ranks(); ++r) {
      for (auto* rates : {&out_rates_, &in_rates_})
        rates->push_back(trips_.host(job.hosts[r]).rate);
    }
    for (const sim::Impairment& bad : config.failures.impairments) {
      // One that passes is no bound for all of a NIC's work.
      if (bad.link.tier != sim::LinkRef::Tier::host || bad.passes()) continue;
      for (workload::Rank r = 0; r < graph_.ranks(); ++r) {
        if (job.hosts[r] != bad.link.lower) continue;
        if (bad.way != sim::LinkWay::down) out_rates_[r] = bad.rate * out_rates_[r];
        if (bad.way != sim::LinkWay::up) in_rates_[r] = bad.rate * in_rates_[r];
      }
    }
  }

  [[nodiscard]] Picoseconds bound() {
    if (graph_.size() == 0) return ps(0);
    find_order();
    find_joins();
    find_heads();
    // All that follows an event of a node, from the last node to the first.
    behind_.assign(graph_.size(), ps(0));
    leaves_.assign(graph_.size(), {});
    looked_.assign(graph_.size(), 0);
    std::vector<std::vector<Task>> out(graph_.ranks());
    std::vector<std::vector<Task>> in(graph_.ranks());
    std::vector<std::vector<Task>> servers(graph_.ranks());  // each rank's port to its fellows
    Picoseconds end{0};
    Picoseconds first = heads_[order_.front()];
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      const NodeId id = *at;
      const Graph::Node& node = graph_.node(id);
      first = std::min(first, heads_[id]);
      const Picoseconds sent = longest_after(Moment::sent, id);
      Picoseconds all = longest_after(Moment::started, id);
      if (node.computes) {
        all = std::max(all, ps(node.amount) + sent);
      } else {
        const Way way = way_of(node);
        // At the receiver, until the job is over: the acknowledgement, and what waits for either.
        const Picoseconds rest = std::max(way.back + sent, longest_after(Moment::received, id));
        const Task leaves{heads_[id], way.leaving, way.behind + rest};
        leaves_[id] = {ps(0), way.inside ? ps(0) : way.leaving, leaves.tail};
        if (way.inside) {
          servers[node.rank].push_back(leaves);
        } else {
          out[node.rank].push_back(leaves);
          in[graph_.receiver(id)].push_back(
              {heads_[id] + way.before, way.arriving, way.last + rest});
        }
        all = std::max(all, way.there() + rest);
      }
      behind_[id] = all;
      end = std::max(end, heads_[id] + all);
    }
    for (auto* ports : {&out, &in, &servers}) {
      for (std::vector<Task>& tasks : *ports) end = std::max(end, one_machine(tasks));
    }
    return end - first;
  }

 private:
  /// A message's way through an empty network.
  struct Way {
    Picoseconds leaving{0};   ///< through the sender's port, all of it
    Picoseconds behind{0};    ///< its last packet's way from there
    Picoseconds before{0};    ///< until the first of its packets is at the receiver's port
    Picoseconds arriving{0};  ///< through that port, all of it
    Picoseconds last{0};      ///< along the wire behind it
    Picoseconds back{0};      ///< the acknowledgement
    bool inside = false;      ///< by the sender's port inside its server

    [[nodiscard]] Picoseconds there() const {
      return std::max(leaving + behind, before + arriving + last);
    }
  };

  [[nodiscard]] Way way_of(const Graph::Node& node) const {
    const workload::Rank to = graph_.channels()[node.channel].to;
    const workload::HostId src = job_.hosts[node.rank];
    const workload::HostId dst = job_.hosts[to];
    if (t_.has_servers() && t_.server_of(src) == t_.server_of(dst)) {
      Way way;
      way.inside = true;
      way.leaving = bytes(node.amount) / t_.server_rate;
      way.behind = t_.server_latency;
      return way;
    }
    const std::int64_t mtu = config_.mtu().count();
    const std::int64_t packets = std::max<std::int64_t>(1, (node.amount + mtu - 1) / mtu);
    const Bytes header = config_.hosts.data_header;
    const Bytes wire = bytes(node.amount) + packets * header;
    const Bytes first = bytes(std::min(node.amount, mtu)) + header;
    const Bytes last = bytes(node.amount - (packets - 1) * mtu) + header;
    const auto trip = [&](Bytes packet) { return trips_.between(src, dst, packet); };
    const sim::HostLink out = trips_.host(src);
    const sim::HostLink in = trips_.host(dst);
    Way way;
    way.leaving = through(out_rates_[node.rank], wire);
    way.behind = trip(last) - last / out.rate;
    // On several paths a short last packet may overtake those in front of it.
    way.before = std::min(trip(first) - first / in.rate,
                          (wire - last) / out.rate + trip(last) - last / in.rate) -
                 in.latency;
    way.arriving = through(in_rates_[to], wire);
    way.last = in.latency;
    way.back = trip(config_.hosts.control_size);
    return way;
  }
  /// A link that carries nothing says nothing about how long things take.
  [[nodiscard]] static Picoseconds through(BitsPerSecond rate, Bytes wire) {
    return rate > BitsPerSecond{0} ? wire / rate : ps(0);
  }
  /// Every node behind all that it waits for.
  void find_order() {
    std::vector<std::uint32_t> waits(graph_.size());
    for (NodeId id = 0; id < graph_.size(); ++id)
      for_each_after(id, [&](Moment, NodeId next) { ++waits[next]; });
    order_.reserve(graph_.size());
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (waits[id] == 0) order_.push_back(id);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for_each_after(order_[i], [&](Moment, NodeId next) {
        if (--waits[next] == 0) order_.push_back(next);
      });
    }
    STRACK_CHECK_OP(order_.size(), ==, graph_.size());
  }

  /// [D125] By node that waits for several events: whose they are.
  void find_joins() {
    std::vector<std::uint32_t> count(graph_.size());
    for (NodeId id = 0; id < graph_.size(); ++id)
      for_each_after(id, [&](Moment, NodeId next) { ++count[next]; });
    first_join_.assign(graph_.size() + 1, 0);
    for (NodeId id = 0; id < graph_.size(); ++id)
      first_join_[id + 1] = first_join_[id] + (count[id] > 1 ? count[id] : 0);
    joins_.resize(first_join_.back());
    std::vector<std::size_t> filled(first_join_.begin(), first_join_.end() - 1);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      for_each_after(id, [&](Moment moment, NodeId next) {
        if (count[next] > 1) joins_[filled[next]++] = {id, moment};
      });
    }
  }

  /// [D125] When all that a node waits for has come through the ports of its rank, one thing at a time: what it has
  /// received, and what it has sent and was acknowledged.
  [[nodiscard]] Picoseconds joined(NodeId id) {
    Picoseconds time{0};
    received_.clear();
    sent_.clear();
    for (std::size_t i = first_join_[id]; i < first_join_[id + 1]; ++i) {
      if (i > first_join_[id] && joins_[i] == joins_[i - 1]) continue;  // said twice
      const auto [before, moment] = joins_[i];
      if (graph_.node(before).computes || moment == Moment::started) continue;
      const Way way = way_of(graph_.node(before));
      if (way.inside) continue;
      if (moment == Moment::received) {
        received_.push_back({heads_[before] + way.before, way.arriving, way.last});
      } else {
        sent_.push_back({heads_[before], way.leaving, way.behind + way.back});
      }
    }
    for (std::vector<Task>* tasks : {&received_, &sent_}) {
      if (tasks->size() > 1) time = std::max(time, one_machine(*tasks));
    }
    return time;
  }

  void find_heads() {
    heads_.assign(graph_.size(), ps(0));
    const Instant origin = *std::min_element(job_.starts.begin(), job_.starts.end());
    for (workload::Rank rank = 0; rank < graph_.ranks(); ++rank) {
      for (const NodeId id : graph_.roots(rank)) heads_[id] = job_.starts[rank] - origin;
    }
    for (const Graph::Timed& timed : graph_.timed()) {
      Picoseconds& head = heads_[timed.node];
      head = std::max(head, job_.starts[graph_.node(timed.node).rank] - origin + timed.time);
    }
    for (const NodeId id : order_) {
      const Graph::Node& node = graph_.node(id);
      heads_[id] = std::max(heads_[id], joined(id));
      const Way way = node.computes ? Way{} : way_of(node);
      const Picoseconds received = heads_[id] + way.there();
      const Picoseconds sent = node.computes ? heads_[id] + ps(node.amount) : received + way.back;
      for_each_after(id, [&](Moment moment, NodeId next) {
        const Picoseconds event = moment == Moment::started ? heads_[id]
                                  : moment == Moment::sent  ? sent
                                                            : received;
        heads_[next] = std::max(heads_[next], event);
      });
    }
  }

  template <class Visit>
  void for_each_after(NodeId id, Visit&& visit) const {
    for (const Moment moment : {Moment::started, Moment::sent, Moment::received}) {
      for (const NodeId next : graph_.after(moment, id)) visit(moment, next);
    }
  }
  /// [D125] Messages that wait for one event leave by one port, one after the other.
  [[nodiscard]] Picoseconds longest_after(Moment moment, NodeId id) {
    Picoseconds longest{0};
    sent_.clear();
    const std::span<const NodeId> after = graph_.after(moment, id);
    if (after.empty()) return longest;
    ++look_;
    for (const NodeId next : after) {
      longest = std::max(longest, behind_[next]);
      if (std::exchange(looked_[next], look_) == look_) continue;  // said twice
      if (leaves_[next].work > ps(0)) sent_.push_back(leaves_[next]);
    }
    return sent_.size() > 1 ? std::max(longest, one_machine(sent_)) : longest;
  }

  const sim::SimConfig& config_;
  const sim::TopologyParams& t_;
  const workload::Job& job_;
  const Graph& graph_;
  const Trips& trips_;
  std::vector<BitsPerSecond> out_rates_, in_rates_;  ///< of each rank's port
  std::vector<NodeId> order_;
  std::vector<Picoseconds> heads_;   ///< by node: when it can start
  std::vector<Picoseconds> behind_;  ///< by node: from its start to the end of the job
  std::vector<Task> leaves_;         ///< by node: at its sender's port, from its start on
  std::vector<std::size_t> first_join_;
  std::vector<std::pair<NodeId, Moment>> joins_;  ///< by node, from first_join_ on
  std::vector<Task> received_, sent_;             ///< for a moment
  std::vector<std::uint64_t> looked_;             ///< by node: at which look it was seen
  std::uint64_t look_ = 0;
};

}  // namespace

Picoseconds ideal_graph(const sim::SimConfig& config, const Trips& trips,
                        const workload::Job& job) {
  return Chains(config, trips, job).bound();
}

}  // namespace strack::run
