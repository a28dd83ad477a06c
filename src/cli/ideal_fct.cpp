#include "cli/ideal_fct.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "sim/net/topology.h"

namespace strack::cli {
namespace {

/// How far up packets go between two hosts.
enum class Level : std::uint8_t { rack, fabric, core };

/// A port, or links that share their load perfectly: first come, first served.
struct Server {
  BitsPerSecond rate{0};
  Instant free{};                    ///< when all before is served
  Picoseconds sojourn{0};            ///< longest so far
  Picoseconds rest = ps(INT64_MAX);  ///< of a base RTT, after and before: the shortest of its flows

  void serve(Instant start, Bytes wire, Picoseconds rest_of_rtt) {
    if (rate <= BitsPerSecond{0}) return;  // nothing gets through, so nothing is to be compared
    free = std::max(free, start) + wire / rate;
    sojourn = std::max(sojourn, free - start);
    rest = std::min(rest, rest_of_rtt);
  }
  [[nodiscard]] Picoseconds bound() const { return sojourn == ps(0) ? ps(0) : sojourn + rest; }
};

class Network {
 public:
  Network(const sim::SimConfig& config, Bytes packet)
      : config_(config), t_(config.topology), topology_(config.topology) {
    const auto pods = topology_.pods();
    const std::int64_t uplinks = t_.tiers == 3 ? std::int64_t{t_.aggs_per_pod}
                                               : std::int64_t{t_.spines} * t_.links_per_spine;
    const std::int64_t pod_uplinks = std::int64_t{t_.aggs_per_pod} * t_.cores_per_agg;
    for (auto* way : {&out_, &in_}) {
      way->hosts.assign(t_.hosts(), Server{t_.host_rate});
      way->racks.assign(t_.racks, Server{t_.fabric_rate * uplinks});
      way->pods.assign(pods, Server{t_.core_rate * pod_uplinks});
    }
    // What is left of each link that is not whole, however many entries name it.
    std::map<Key, BitsPerSecond> left;
    const auto rate_of = [&](const sim::LinkRef& link) -> BitsPerSecond& {
      return left.try_emplace({link.tier, link.lower, link.upper}, topology_.rate(link.tier))
          .first->second;
    };
    for (const sim::Impairment& bad : config.failures.impairments) {
      BitsPerSecond& rate = rate_of(bad.link);
      rate = bad.rate * rate;
    }
    for (const sim::Failure& failure : config.failures.failures) {
      if (failure.from > Instant{} || failure.until != Instant::never()) continue;
      for (const sim::LinkRef& link : topology_.links_of(failure)) rate_of(link) = BitsPerSecond{0};
    }
    for (const auto& [key, rate] : left) {
      const auto& [tier, lower, upper] = key;
      lose({tier, lower, upper}, topology_.rate(tier) - rate);
    }
    wire_ = packet + config.hosts.data_header;
  }

  void serve(const workload::Flow& flow) {
    const std::int64_t mtu = config_.transport.mtu.count();
    const std::int64_t packets = (flow.size.count() + mtu - 1) / mtu;
    const Bytes wire = flow.size + packets * config_.hosts.data_header;
    const Level level = level_of(flow);
    const Picoseconds rtt = base_rtt(level);
    const Picoseconds at_host = rtt - wire_ / t_.host_rate;
    const Picoseconds at_rack = rtt - wire_ / t_.fabric_rate;

    alone_ = std::max(alone_, wire / t_.host_rate + at_host);
    out_.hosts[flow.src].serve(flow.start, wire, at_host);
    in_.hosts[flow.dst].serve(flow.start, wire, at_host);
    if (level == Level::rack) return;
    const std::uint32_t from = topology_.rack_of(flow.src);
    const std::uint32_t to = topology_.rack_of(flow.dst);
    out_.racks[from].serve(flow.start, wire, at_rack);
    in_.racks[to].serve(flow.start, wire, at_rack);
    if (level == Level::fabric) return;
    const Picoseconds at_pod = rtt - wire_ / t_.core_rate;
    out_.pods[from / t_.racks_per_pod].serve(flow.start, wire, at_pod);
    in_.pods[to / t_.racks_per_pod].serve(flow.start, wire, at_pod);
  }

  [[nodiscard]] Picoseconds bound() const {
    Picoseconds bound = alone_;
    for (const auto* way : {&out_, &in_}) {
      for (const auto* servers : {&way->hosts, &way->racks, &way->pods}) {
        for (const Server& server : *servers) bound = std::max(bound, server.bound());
      }
    }
    return bound;
  }

 private:
  struct Way {
    std::vector<Server> hosts;
    std::vector<Server> racks;
    std::vector<Server> pods;
  };

  using Key = std::tuple<sim::LinkRef::Tier, std::uint32_t, std::uint32_t>;

  void lose(const sim::LinkRef& link, BitsPerSecond lost) {
    for (auto* way : {&out_, &in_}) {
      switch (link.tier) {
        case sim::LinkRef::Tier::host:
          way->hosts[link.lower].rate -= lost;
          break;
        case sim::LinkRef::Tier::fabric:
          way->racks[link.lower].rate -= lost;
          break;
        case sim::LinkRef::Tier::core:
          way->pods[link.lower / t_.aggs_per_pod].rate -= lost;
          break;
      }
    }
  }

  [[nodiscard]] Level level_of(const workload::Flow& flow) const {
    const std::uint32_t from = topology_.rack_of(flow.src);
    const std::uint32_t to = topology_.rack_of(flow.dst);
    if (from == to) return Level::rack;
    if (t_.tiers == 3 && from / t_.racks_per_pod != to / t_.racks_per_pod) return Level::core;
    return Level::fabric;
  }

  /// The smallest last packet out and a SACK back, without queues.
  [[nodiscard]] Picoseconds base_rtt(Level level) const {
    const auto one_way = [&](Bytes size) {
      Picoseconds time = 2 * (size / t_.host_rate + t_.host_latency);
      if (level >= Level::fabric) time += 2 * (size / t_.fabric_rate + t_.fabric_latency);
      if (level >= Level::core) time += 2 * (size / t_.core_rate + t_.core_latency);
      return time;
    };
    return one_way(wire_) + one_way(config_.hosts.control_size);
  }

  const sim::SimConfig& config_;
  const sim::TopologyParams& t_;
  sim::Topology topology_;
  Bytes wire_{0};
  Way out_;
  Way in_;
  Picoseconds alone_{0};
};

}  // namespace

Picoseconds ideal_fct(const sim::SimConfig& config, const workload::Flows& flows) {
  if (flows.empty()) return ps(0);
  Bytes packet = config.transport.mtu;
  for (const workload::Flow& flow : flows) packet = std::min(packet, flow.size);

  std::vector<std::size_t> by_start(flows.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](std::size_t a, std::size_t b) { return flows[a].start < flows[b].start; });
  Network network(config, packet);
  for (const std::size_t i : by_start) network.serve(flows[i]);
  return network.bound();
}

}  // namespace strack::cli
