// The network of a cluster, built: lanes, hosts, switches, what is wrong with its links, and routes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "sim/cluster/partition.h"
#include "sim/config.h"
#include "sim/engine/ranks.h"
#include "sim/host/host_state.h"
#include "sim/host/server_links.h"
#include "sim/net/lane.h"
#include "sim/net/port.h"
#include "sim/net/shared_buffer.h"
#include "sim/net/switch_base.h"
#include "sim/net/topology.h"
#include "sim/net/wire.h"

namespace strack::sim {

template <class HostType, class SwitchType>
class Network {
 public:
  using Host = HostType;
  static constexpr bool kLossless = SwitchType::kLossless;

  explicit Network(const SimConfig& config)
      : topology(config.topology),
        part(part_of(config, topology)),
        lanes(std::make_unique<Lane[]>(topology.links())),
        hosts(std::make_unique<HostType[]>(topology.hosts())),
        config_(config) {
    // A rack is found by a multiplication, exact below this bound.
    STRACK_CHECK(std::uint64_t{topology.hosts()} * config.topology.hosts_per_rack < std::uint64_t{1}
                                                                                        << 32);
    const Rng root(config.seed);
    build_switches(root);
    build_hosts(root);
    build_servers();
    impair_links(root);
    fail_links();
  }

  const Topology topology;
  const Partition part;  ///< what of it runs here; the rest is there, and stays as it is
  std::unique_ptr<Lane[]> lanes;
  std::unique_ptr<HostType[]> hosts;
  std::vector<std::unique_ptr<SwitchType>> switches;

  [[nodiscard]] std::span<HostType> all_hosts() { return {hosts.get(), topology.hosts()}; }
  [[nodiscard]] std::span<const HostType> all_hosts() const {
    return {hosts.get(), topology.hosts()};
  }

  /// Calls visit(port's info, port) for each port of each switch.
  template <class Visit>
  void for_each_port(Visit&& visit) {
    for (std::size_t s = 0; s < switches.size(); ++s) {
      const SwitchInfo& info = topology.switches()[s];
      for (std::uint32_t p = 0; p < info.ports.size(); ++p)
        visit(info.ports[p], switches[s]->port(p));
    }
  }

  /// [D117] What its nodes hold, and what is under way between them; `next` is the next window.
  template <class Archive, class Rules>
  void state(Archive& a, const Rules& rules, std::uint64_t next) {
    a.section("lanes");
    for (std::uint32_t l = 0; l < topology.links(); ++l) lanes[l].state(a, next);
    a.section("switches");
    for (auto& sw : switches) a(*sw);
    a.section("hosts");
    for (HostType& host : all_hosts()) HostState(host, rules).state(a, next);
  }

  /// [D75] Gives slow links the queues that they are to have. A lossless switch's ports share theirs.
  void scale_queues([[maybe_unused]] const PortRules& rules) {
    if constexpr (!kLossless) {
      for (const Impairment& bad : config_.failures.impairments) {
        if (!bad.scale_queue) continue;
        for_each_end(bad.link, bad.way, [&](auto& port) {
          if constexpr (std::is_base_of_v<PortBase, std::remove_reference_t<decltype(port)>>)
            port.scale_queue(rules, bad.rate);
        });
      }
    }
  }

 private:
  static Partition part_of(const SimConfig& config, const Topology& topology) {
    const bool apart = !kLossless && config.switches.routing == Routing::ecmp;
    if (config.ranks == nullptr) return Partition(topology, 0, 1, apart);
    return Partition(topology, config.ranks->rank(), config.ranks->count(), apart);
  }

  void build_switches(const Rng& root) {
    Rng salts = root.stream("ecmp");
    Rng marks = root.stream("marking");
    Rng sprays = root.stream("spraying");
    for (const SwitchInfo& info : topology.switches()) {
      auto& sw = switches.emplace_back(make_switch(info, salts.next()));
      sw->set_routing(config_.switches.routing, sprays.next());
      for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
        const PortInfo& port = info.ports[p];
        Wire& wire = sw->port(p).wire;
        wire = make_wire(port.link, port.peer, port.rate, port.latency);
        wire.last_hop = topology.is_last_hop(port);
        sw->port(p).seed(marks.next());
        sw->connect(p, &lanes[port.reverse]);
        if (port.ref.tier == LinkRef::Tier::host) hosts[port.peer].in = &lanes[port.link];
      }
    }
  }

  [[nodiscard]] std::unique_ptr<SwitchType> make_switch(const SwitchInfo& info,
                                                        std::uint64_t salt) const {
    if constexpr (kLossless) {
      return std::make_unique<SwitchType>(
          info, config_.topology, salt,
          SharedBufferParams::of(info, config_.pfc, config_.hosts, config_.mtu()));
    } else {
      return std::make_unique<SwitchType>(info, config_.topology, salt);
    }
  }

  void build_hosts(const Rng& root) {
    Rng stragglers = root.stream("stragglers");
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      Wire& wire = hosts[h].port.wire;
      const HostLink link = topology.host_link(h);
      wire = make_wire(h, link.peer, link.rate, link.latency);
      if (stragglers.chance(config_.hosts.straggler_share))
        wire.byte_time = ByteTime(slowed(config_.hosts.straggler_rate, link.rate));
    }
  }

  void build_servers() {
    const TopologyParams& t = topology.params();
    if (!t.has_servers()) return;
    for (std::uint32_t s = 0; s < topology.hosts() / t.nics_per_server; ++s) {
      std::vector<std::uint32_t> fellows;
      for (std::uint32_t i = 0; i < t.nics_per_server; ++i) fellows.push_back(t.host_of(s, i));
      for (const std::uint32_t host : fellows)
        hosts[host].server = std::make_unique<ServerPort>(fellows, t.server_rate, t.server_latency);
      for (std::uint32_t to = 0; to < fellows.size(); ++to) {
        for (std::uint32_t from = 0; from < fellows.size(); ++from) {
          if (from != to)
            hosts[fellows[to]].server->connect(from, &hosts[fellows[from]].server->to(to));
        }
      }
    }
  }

  Wire make_wire(LinkId link, NodeId peer, BitsPerSecond rate, Picoseconds latency) {
    Wire wire;
    wire.lane = &lanes[link];
    wire.peer = peer;
    wire.byte_time = ByteTime(rate);
    wire.latency = latency;
    return wire;
  }

  /// Calls visit(port) for those ends of a link that send the given way.
  template <class Visit>
  void for_each_end(const LinkRef& ref, LinkWay way, Visit&& visit) {
    if (ref.tier == LinkRef::Tier::host && way != LinkWay::down) visit(hosts[ref.lower].port);
    for (std::size_t s = 0; s < switches.size(); ++s) {
      const SwitchInfo& info = topology.switches()[s];
      for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
        const PortInfo& port = info.ports[p];
        if (port.ref == ref && (way == LinkWay::both || way == port.sends))
          visit(switches[s]->port(p));
      }
    }
  }

  /// Adds to a wire's list of something, which it has only where there is any.
  template <class Item>
  static void add_to(const std::vector<Item>*& of_wire,
                     std::vector<std::unique_ptr<std::vector<Item>>>& lists, const Item& item) {
    auto& list = of_wire == nullptr ? *lists.emplace_back(std::make_unique<std::vector<Item>>())
                                    : const_cast<std::vector<Item>&>(*of_wire);
    list.push_back(item);
    of_wire = &list;
  }

  void impair_links(const Rng& root) {
    Rng errors = root.stream("errors");
    for (const Impairment& bad : config_.failures.impairments) {
      for_each_end(bad.link, bad.way, [&](auto& port) {
        Wire& wire = port.wire;
        const std::uint64_t loss = fraction_of_2_64(bad.loss);
        // First order in the error rate: exact enough where a packet has far less than one expected
        // error.
        const double per_byte = bad.bit_error_rate * 8.0;
        const std::uint64_t bit_loss =
            per_byte >= 1.0 ? ~std::uint64_t{0}
                            : static_cast<std::uint64_t>(per_byte * 18446744073709551616.0);
        wire.rng = errors.next();
        if (bad.passes()) {
          add_to(wire.spells, spells_, {bad.from, bad.until, bad.rate, loss, bit_loss});
          return;
        }
        wire.byte_time = ByteTime(slowed(bad.rate, wire.byte_time.rate()));
        wire.loss_threshold = either(wire.loss_threshold, loss);
        wire.bit_loss_threshold = either(wire.bit_loss_threshold, bit_loss);
      });
    }
  }

  /// A link that is down for a while, as the network and then as its routes see it.
  struct Down {
    LinkRef link;
    Outage outage;
  };

  void fail_links() {
    std::vector<Down> downs;
    std::vector<Instant> changes{Instant{}};
    const Picoseconds lag = config_.failures.convergence;
    for (const Failure& failure : config_.failures.failures) {
      for (const LinkRef& ref : topology.links_of(failure))
        downs.push_back({ref, {failure.from, failure.until}});
      if (failure.from > Instant{}) changes.push_back(failure.from + lag);
      if (failure.until != Instant::never()) changes.push_back(failure.until + lag);
    }
    for (const Down& down : downs) {
      for_each_end(down.link, LinkWay::both, [&](auto& port) {
        Wire& wire = port.wire;
        add_to(wire.outages, outages_, down.outage);
      });
    }
    std::sort(changes.begin(), changes.end());
    changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
    set_routes(downs, changes);
  }

  void set_routes(const std::vector<Down>& downs, const std::vector<Instant>& changes) {
    const Picoseconds lag = config_.failures.convergence;
    std::vector<std::vector<RouteVersion>> versions(switches.size());
    for (const Instant change : changes) {
      // Few links are down in any scenario, so the ones known to be are simply looked through.
      std::vector<LinkRef> known;
      for (const Down& down : downs) {
        const bool from_start = down.outage.from == Instant{};
        const bool seen = from_start || down.outage.from + lag <= change;
        const bool over =
            down.outage.until != Instant::never() && down.outage.until + lag <= change;
        if (seen && !over) known.push_back(down.link);
      }
      auto tables = make_routes(topology, [&](const LinkRef& ref) {
        return std::find(known.begin(), known.end(), ref) != known.end();
      });
      for (std::size_t s = 0; s < switches.size(); ++s)
        versions[s].push_back({change, std::move(tables[s])});
    }
    for (std::size_t s = 0; s < switches.size(); ++s)
      switches[s]->set_routes(std::move(versions[s]));
  }

  static std::uint64_t fraction_of_2_64(Ratio r) {
    if (r.num <= 0) return 0;
    if (r.num >= r.den) return ~std::uint64_t{0};
    __extension__ using Uint128 = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Uint128>(r.num) << 64) /
                                      static_cast<Uint128>(r.den));
  }

  /// The probability that one of two independent things happens, all in 2^-64.
  static std::uint64_t either(std::uint64_t a, std::uint64_t b) {
    __extension__ using Uint128 = unsigned __int128;
    const Uint128 sum = static_cast<Uint128>(a) + b - ((static_cast<Uint128>(a) * b) >> 64);
    return sum >> 64 != 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(sum);
  }

  const SimConfig& config_;
  std::vector<std::unique_ptr<std::vector<Outage>>> outages_;
  std::vector<std::unique_ptr<std::vector<Spell>>> spells_;
};

}  // namespace strack::sim
