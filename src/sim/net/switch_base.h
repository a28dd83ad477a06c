// What every switch does alike: it takes a window's arrivals from its lanes, keeps those that are
// for a later window, and knows the way to each destination.
//
// Where several ports lead there, ECMP picks one by a hash, whoever came first. Switches that spray
// (spraying.h) need order: what is bound for such ports is put in order of time before it is routed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "base/units.h"
#include "sim/net/arrival_order.h"
#include "sim/net/fetch_ahead.h"
#include "sim/net/spraying.h"
#include "sim/net/topology.h"
#include "sim/net/wire.h"

namespace strack::sim {

/// A packet on its way to ports among which a switch chooses.
struct SprayArrival {
  Instant time;
  const SimPacket* packet;
  std::uint32_t ingress;
  std::int32_t egress;
};

/// What choosing by queues looks at, port beside port: whoever takes the shortest of many looks at all of them for each packet.
struct QueueSheet {
  std::vector<Instant> next;       ///< by port: its next event
  std::vector<std::int64_t> load;  ///< by port: what waits

  void prepare(std::size_t ports) {
    if (next.size() >= ports) return;
    next.resize(ports);
    load.resize(ports);
  }
  template <class Port>
  void note(std::uint32_t p, const Port& port) {
    next[p] = port.next_event();
    load[p] = port.load();
  }
};

/// A thread's working memory for switches: the window's arrivals, by port. Shared by all switches a
/// thread runs.
template <class Arrival>
class ArrivalLists {
 public:
  void prepare(std::size_t ports) {
    if (lists_.size() < ports) lists_.resize(ports);
  }
  std::vector<Arrival>& list(std::size_t port) { return lists_[port]; }
  std::vector<Arrival>& merged() { return merged_; }

  std::vector<SprayArrival> sprayed;
  std::vector<SprayArrival> sprayed_merged;
  QueueSheet queues;
  const class SwitchBase* following = nullptr;  ///< which the thread runs next, as far as is known

 private:
  std::vector<std::vector<Arrival>> lists_;
  std::vector<Arrival> merged_;
};

/// Routes as a switch knows them from some time on.
struct RouteVersion {
  Instant from{};
  RouteTable table;
};

class SwitchBase {
 public:
  static constexpr std::int32_t kNone = -1;  ///< no port leads there

  [[nodiscard]] std::uint32_t port_count() const { return port_count_; }
  void connect(std::uint32_t port, Lane* in) { in_[port] = in; }
  void set_routes(std::vector<RouteVersion> versions) {
    versions_ = std::move(versions);
    prepare_spraying();
  }
  /// How it chooses among ports of equal worth; ECMP, unless it is told.
  void set_routing(Routing routing, std::uint64_t seed) {
    sprayer_ = Sprayer(routing, seed);
    prepare_spraying();
  }

  DropCounts drops;
  Fingerprint fingerprint;

  /// Asks for what has come by one of its ports, before its turn (fetch_ahead.h).
  void fetch_ahead(std::uint32_t port, std::uint64_t window) const {
    if (port + kLanesAhead < port_count_) in_[port + kLanesAhead]->fetch_ahead(window);
    if (port < port_count_) in_[port]->fetch_arrivals_ahead(window);
  }

  // ---- A switch in parts, for engines that run its ports beside each other ----

  /// What has come by a port and not been taken yet, in order of time, where it lies; also what is for a later
  /// window.
  struct Gathered {
    std::span<const Transit> held;  ///< of earlier windows
    std::span<const Transit> fresh;

    [[nodiscard]] std::size_t size() const { return held.size() + fresh.size(); }
    [[nodiscard]] const Transit& operator[](std::size_t i) const {
      return i < held.size() ? held[i] : fresh[i - held.size()];
    }
  };
  [[nodiscard]] Gathered gathered(std::uint32_t port, std::uint64_t window) const {
    return {held_[port], in_[port]->arrivals(window)};
  }
  [[nodiscard]] const Lane* in(std::uint32_t port) const { return in_[port]; }
  [[nodiscard]] bool holds(std::uint32_t port) const { return !held_[port].empty(); }
  /// Whether there is ever anything to choose, so that its packets have to come in order of time.
  [[nodiscard]] bool sprays() const { return !sprayed_.empty(); }
  /// [D57] And whether what it chooses hangs on what waits at its ports.
  [[nodiscard]] bool chooses_by_queues() const { return sprays() && sprayer_.reads_queues(); }
  /// So many have been taken; keeps the others. Pointers to them are no longer good.
  void keep(std::uint32_t port, std::size_t taken, std::uint64_t window) {
    std::vector<Transit>& held = held_[port];
    const std::size_t of_held = std::min(taken, held.size());
    const std::span<const Transit> rest = in_[port]->arrivals(window).subspan(taken - of_held);
    held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(of_held));
    held.insert(held.end(), rest.begin(), rest.end());
  }
  /// Where a packet goes from here: a port, or kNone where none leads there.
  [[nodiscard]] std::int32_t route(const SimPacket& packet, Instant now) const {
    const std::uint32_t dst = packet.dst();
    const std::uint32_t local = dst - first_host_;
    if (local < local_hosts_) return static_cast<std::int32_t>(local);
    const RouteTable& table = routes_at(now);
    const RouteTable::Group group = table.groups[table.group_of_rack[rack_of(dst)]];
    if (group.count == 1) return table.ports[group.first];
    if (group.count == 0) [[unlikely]]
      return kNone;
    if (nic_of_ != kNoHost) [[unlikely]]
      return table.ports[group.first + plane_of(packet, group.count)];
    // ECMP: a hash of the header, salted by switch, scaled to the live ports.
    const std::uint64_t hash = mix64(packet.header() ^ salt_) >> 32;
    return table.ports[group.first + static_cast<std::uint32_t>((hash * group.count) >> 32)];
  }

  /// [D56] Whether choose() has to say where it goes; route() does not count then. Control is hashed as ever, unless it
  /// has turns of its own.
  [[nodiscard]] bool is_open(const SimPacket& packet, Instant now) const {
    if (!sprays() || (packet.is_control() && !sprayer_.turns_by_destination())) return false;
    const std::uint32_t dst = packet.dst();
    if (dst - first_host_ < local_hosts_) return false;
    const RouteTable& table = routes_at(now);
    return table.groups[table.group_of_rack[rack_of(dst)]].count > 1;
  }
  /// Where a packet goes of which that is so: among which ports, and whose turn it takes.
  struct Choice {
    std::uint32_t version = 0;  ///< of routes
    std::uint32_t turn = 0;
    RouteTable::Group ports;
  };
  [[nodiscard]] Choice choice_of(const SimPacket& packet, Instant now) const {
    const std::size_t version = version_at(now);
    const RouteTable& table = versions_[version].table;
    const std::uint32_t rack = rack_of(packet.dst());
    const std::uint32_t number = table.group_of_rack[rack];
    const std::uint32_t turn = sprayer_.turns_by_destination()
                                   ? rack / racks_per_turn_ * 2 + (packet.is_control() ? 1 : 0)
                                   : number;
    return {static_cast<std::uint32_t>(version), turn, table.groups[number]};
  }
  /// [D56] The egress port; packets come in order of time. load(port) is what waits there at that time.
  template <class Load>
  [[nodiscard]] std::uint32_t choose(const Choice& choice, Load&& load) {
    if (choice.version != sprayed_version_) [[unlikely]] {
      sprayed_version_ = choice.version;
      std::fill(turns_.begin(), turns_.end(), SprayTurn{});
    }
    const RouteTable& table = versions_[choice.version].table;
    return sprayer_.choose({table.ports.data() + choice.ports.first, choice.ports.count},
                           turns_[choice.turn], std::forward<Load>(load));
  }

  /// [D117] What it holds back, and whose turn is next; its routes stay.
  template <class Archive>
  void state(Archive& a) {
    a(drops, fingerprint);
    a.fixed(held_);
    a(sprayer_);
    a.fixed(turns_);
    a(sprayed_version_);
    static_assert(sizeof(SwitchBase) == 256, "list what is new");
  }

 protected:
  SwitchBase(const SwitchInfo& info, const TopologyParams& topology, std::uint64_t salt)
      : port_count_(static_cast<std::uint32_t>(info.ports.size())),
        rack_reciprocal_((std::uint64_t{1} << 32) / hosts_per_route(topology) + 1),
        local_hosts_(is_tor(info, topology) ? topology.hosts_per_rack : 0),
        first_host_(is_tor(info, topology) ? info.ref.index * topology.hosts_per_rack : 0),
        salt_(salt),
        racks_per_turn_(topology.tiers == 3 && info.ref.tier == SwitchRef::Tier::agg
                            ? topology.racks_per_pod
                            : 1),
        nic_of_(info.nic ? host_of(info) : kNoHost) {
    in_.resize(port_count_);
    held_.resize(port_count_);
  }

  /// Calls visit(port, transit) for all that arrives in this window, port by port, each in order of
  /// time; returns when the first arrives that is for a later window. hold() must follow, once the
  /// packets themselves are no longer needed.
  template <class Visit>
  Instant collect(const WindowContext& context, Visit&& visit) {
    Instant next = Instant::never();
    for (std::uint32_t i = 0; i < port_count_; ++i) {
      if (i + kLanesAhead < port_count_) in_[i + kLanesAhead]->fetch_ahead(context.window);
      if (i + kArrivalsAhead < port_count_)
        in_[i + kArrivalsAhead]->fetch_arrivals_ahead(context.window);
      // What was held is as early as anything that has come since, and stays where it is until hold().
      const std::span<const Transit> held = held_[i];
      const std::span<const Transit> arrivals = in_[i]->arrivals(context.window);
      std::size_t taken = 0;
      for (; taken < held.size() && held[taken].time < context.end; ++taken) visit(i, held[taken]);
      if (taken == held.size()) {
        for (const Transit& transit : arrivals) {
          if (transit.time >= context.end) break;
          visit(i, transit);
          ++taken;
        }
      }
      if (taken < held.size() + arrivals.size()) {
        // A slower link than the fastest, or a NIC that began to send at the window's end: for a later window.
        next = std::min(next,
                        (taken < held.size() ? held[taken] : arrivals[taken - held.size()]).time);
        to_hold_.push_back({i, taken});
      } else if (!held.empty()) {
        to_hold_.push_back({i, taken});
      }
    }
    return next;
  }

  /// In a loop over ports: what those behind this one will look at, and the switch that follows.
  template <class Ports, class Scratch>
  void fetch_behind(std::uint32_t p, const Ports& ports, const Scratch& scratch,
                    std::uint64_t window) const {
    if (p + kPortsAhead < port_count_)
      sim::fetch_ahead(&ports[p + kPortsAhead], sizeof(ports[p + kPortsAhead]));
    if (p + kQueuesAhead < port_count_) ports[p + kQueuesAhead].fetch_ahead(window);
    if (scratch.following != nullptr) scratch.following->fetch_ahead(p, window);
  }

  /// The egress port, or -1 where none leads there: then it has been counted as dropped.
  [[nodiscard]] std::int32_t route(const Transit& transit) {
    const std::int32_t port = route(transit.packet, transit.time);
    if (port < 0) [[unlikely]] {
      ++drops.no_route;
      fingerprint.add(transit.packet, transit.time);
    }
    return port;
  }

  // ---- Of switches that spray ----

  static constexpr std::int32_t kOpen = -2;

  /// Notes the ports of a switch that chooses by their queues; others have no use for it.
  template <class Ports>
  void note_queues(const Ports& ports, QueueSheet& sheet) const {
    if (!sprayer_.reads_queues()) return;
    sheet.prepare(port_count_);
    for (std::uint32_t p = 0; p < port_count_; ++p) sheet.note(p, ports[p]);
  }

  /// As route(); kOpen where choose() has to say, once it is this packet's turn.
  [[nodiscard]] std::int32_t route_or_open(const Transit& transit) {
    return is_open(transit.packet, transit.time) ? kOpen : route(transit);
  }

  /// collect() for a switch that sprays. What is bound for a port that it never chooses goes to
  /// apart(arrival) at once. The rest is put in order of time, given its port, and goes to
  /// take(arrival) where queues are read, so that they are what they are at that time; otherwise it may
  /// wait too. egress_of(ingress, transit) is route_or_open(), load(port, now) as for choose().
  template <class Scratch, class EgressOf, class Apart, class Load, class Take>
  Instant collect_sprayed(const WindowContext& context, Scratch& scratch, EgressOf&& egress_of,
                          Apart&& apart, Load&& load, Take&& take) {
    std::vector<SprayArrival>& list = scratch.sprayed;
    const Instant next = collect(context, [&](std::uint32_t ingress, const Transit& transit) {
      const std::int32_t egress = egress_of(ingress, transit);
      if (egress == kNone) [[unlikely]]
        return;
      const SprayArrival arrival{transit.time, &transit.packet, ingress, egress};
      if (egress >= 0 && sprayed_[static_cast<std::size_t>(egress)] == 0) {
        apart(arrival);
      } else {
        list.push_back(arrival);
      }
    });
    const std::span<SprayArrival> sorted = sort_arrivals(list, scratch.sprayed_merged, context.end);
    const bool reads_queues = sprayer_.reads_queues();
    for (SprayArrival& arrival : sorted) {
      if (arrival.egress == kOpen) {
        arrival.egress = static_cast<std::int32_t>(
            choose(choice_of(*arrival.packet, arrival.time),
                   [&](std::uint32_t port) { return load(port, arrival.time); }));
      }
      if (reads_queues) {
        take(arrival);
      } else {
        apart(arrival);
      }
    }
    list.clear();
    return next;
  }

  /// Keeps what arrives after this window; pointers into the lanes are no longer needed, nor what they hold.
  void hold(const WindowContext& context) {
    for (const auto& [i, taken] : to_hold_) keep(i, taken, context.window);
    to_hold_.clear();
    if (context.store == nullptr) return;
    for (Lane* lane : in_) lane->put_by(context.window, *context.store);
  }

  /// How many packets may arrive at a port in this window: no fewer than do.
  [[nodiscard]] std::size_t arrivals_at_most(std::uint32_t port, std::uint64_t window) const {
    return in_[port]->arrivals(window).size() + held_[port].size();
  }
  [[nodiscard]] std::uint64_t transits_held() const {
    std::uint64_t total = 0;
    for (const auto& held : held_) total += held.size();
    return total;
  }

 private:
  /// A graph has no racks: routes are by host, also to a switch's own.
  static std::uint32_t hosts_per_route(const TopologyParams& topology) {
    return topology.graph != nullptr ? 1 : topology.hosts_per_rack;
  }
  static bool is_tor(const SwitchInfo& info, const TopologyParams& topology) {
    return info.ref.tier == SwitchRef::Tier::tor && topology.graph == nullptr;
  }
  static std::uint32_t host_of(const SwitchInfo& nic) {
    const auto is_host = [](const PortInfo& p) { return p.ref.tier == LinkRef::Tier::host; };
    return std::find_if(nic.ports.begin(), nic.ports.end(), is_host)->peer;
  }
  [[nodiscard]] std::uint32_t rack_of(std::uint32_t host) const {
    return static_cast<std::uint32_t>((host * rack_reciprocal_) >> 32);
  }
  /// [D112] A NIC's ports take entropies in turn, from one that its host and the other one have drawn together: what is sent
  /// and what answers it are in one plane.
  [[nodiscard]] std::uint32_t plane_of(const SimPacket& packet, std::uint32_t ports) const {
    const std::uint64_t first = mix64(mix64(nic_of_) + mix64(packet.dst())) >> 32;
    return static_cast<std::uint32_t>((first + packet.entropy()) % ports);
  }
  [[nodiscard]] std::size_t version_at(Instant now) const {
    std::size_t v = 0;
    while (v + 1 < versions_.size() && now >= versions_[v + 1].from) ++v;
    return v;
  }
  [[nodiscard]] const RouteTable& routes_at(Instant now) const {
    return versions_[version_at(now)].table;
  }

  /// Which ports it will choose among, in any version of its routes; and nothing remembered.
  void prepare_spraying() {
    sprayed_.clear();
    turns_.clear();
    if (!sprayer_.active()) return;
    std::size_t turns = 0;
    for (const RouteVersion& version : versions_) {
      const RouteTable& table = version.table;
      turns = std::max(turns, sprayer_.turns_by_destination() ? 2 * table.group_of_rack.size()
                                                              : table.groups.size());
      for (const RouteTable::Group& group : table.groups) {
        if (group.count < 2) continue;
        sprayed_.resize(port_count_);
        for (std::uint32_t i = 0; i < group.count; ++i) sprayed_[table.ports[group.first + i]] = 1;
      }
    }
    turns_.resize(turns);
    sprayed_version_ = 0;
  }

  static constexpr std::uint32_t kNoHost = ~std::uint32_t{0};
  static constexpr std::uint32_t kLanesAhead = 8;
  static constexpr std::uint32_t kArrivalsAhead = 3;
  static constexpr std::uint32_t kPortsAhead = 4;
  static constexpr std::uint32_t kQueuesAhead = 2;

  std::uint32_t port_count_;
  std::uint64_t rack_reciprocal_;
  std::uint32_t local_hosts_;
  std::uint32_t first_host_;
  std::uint64_t salt_;
  std::uint32_t racks_per_turn_;  ///< [D58] a turn is a rack's, or above ToRs a pod's
  std::uint32_t nic_of_;          ///< [D112] a host, or kNoHost
  std::vector<Lane*> in_;
  std::vector<std::vector<Transit>> held_;
  std::vector<std::pair<std::uint32_t, std::size_t>> to_hold_;
  std::vector<RouteVersion> versions_;
  Sprayer sprayer_;
  std::vector<std::uint8_t> sprayed_;  ///< by port: whether it is ever one of several; none: empty
  std::vector<SprayTurn> turns_;
  std::size_t sprayed_version_ = 0;  ///< of routes, that turns_ are of
};

}  // namespace strack::sim
