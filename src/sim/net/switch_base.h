// What every switch does alike: it takes a window's arrivals from its lanes, keeps those that are
// for a later window, and knows the way to each destination.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "base/units.h"
#include "sim/net/arrival_order.h"
#include "sim/net/topology.h"
#include "sim/net/wire.h"

namespace strack::sim {

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
  [[nodiscard]] std::uint32_t port_count() const { return port_count_; }
  void connect(std::uint32_t port, const Lane* in) { in_[port] = in; }
  void set_routes(std::vector<RouteVersion> versions) { versions_ = std::move(versions); }

  DropCounts drops;
  Fingerprint fingerprint;

 protected:
  SwitchBase(const SwitchInfo& info, const TopologyParams& topology, std::uint64_t salt)
      : port_count_(static_cast<std::uint32_t>(info.ports.size())),
        rack_reciprocal_((std::uint64_t{1} << 32) / topology.hosts_per_rack + 1),
        local_hosts_(info.ref.tier == SwitchRef::Tier::tor ? topology.hosts_per_rack : 0),
        first_host_(info.ref.tier == SwitchRef::Tier::tor ? info.ref.index * topology.hosts_per_rack
                                                          : 0),
        salt_(salt) {
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
      std::span<const Transit> arrivals = in_[i]->arrivals(context.window);
      if (!held_[i].empty()) [[unlikely]] {
        held_[i].insert(held_[i].end(), arrivals.begin(), arrivals.end());
        arrivals = held_[i];
      }
      std::size_t taken = 0;
      for (; taken < arrivals.size() && arrivals[taken].time < context.end; ++taken) {
        visit(i, arrivals[taken]);
      }
      if (taken < arrivals.size()) {
        // A slower link than the fastest: these are for a later window.
        if (arrivals[taken].time < next) next = arrivals[taken].time;
        to_hold_.push_back({i, taken});
      } else if (!held_[i].empty()) {
        to_hold_.push_back({i, taken});
      }
    }
    return next;
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

  /// Keeps what arrives after this window; pointers into the lanes are no longer needed.
  void hold(std::uint64_t window) {
    if (to_hold_.empty()) return;
    for (const auto& [i, taken] : to_hold_) {
      if (held_[i].empty()) {
        const auto arrivals = in_[i]->arrivals(window);
        held_[i].assign(arrivals.begin() + static_cast<std::ptrdiff_t>(taken), arrivals.end());
      } else {
        held_[i].erase(held_[i].begin(), held_[i].begin() + static_cast<std::ptrdiff_t>(taken));
      }
    }
    to_hold_.clear();
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
  [[nodiscard]] std::int32_t route(const SimPacket& packet, Instant now) const {
    const std::uint32_t dst = packet.dst();
    const std::uint32_t local = dst - first_host_;
    if (local < local_hosts_) return static_cast<std::int32_t>(local);
    const RouteTable& table = routes_at(now);
    const auto rack = static_cast<std::uint32_t>((dst * rack_reciprocal_) >> 32);
    const RouteTable::Group group = table.groups[table.group_of_rack[rack]];
    if (group.count == 1) return table.ports[group.first];
    if (group.count == 0) [[unlikely]]
      return -1;
    // ECMP: a hash of the header, salted by switch, scaled to the live ports.
    const std::uint64_t hash = mix64(packet.header() ^ salt_) >> 32;
    return table.ports[group.first + static_cast<std::uint32_t>((hash * group.count) >> 32)];
  }

  [[nodiscard]] const RouteTable& routes_at(Instant now) const {
    std::size_t v = 0;
    while (v + 1 < versions_.size() && now >= versions_[v + 1].from) ++v;
    return versions_[v].table;
  }

  std::uint32_t port_count_;
  std::uint64_t rack_reciprocal_;
  std::uint32_t local_hosts_;
  std::uint32_t first_host_;
  std::uint64_t salt_;
  std::vector<const Lane*> in_;
  std::vector<std::vector<Transit>> held_;
  std::vector<std::pair<std::uint32_t, std::size_t>> to_hold_;
  std::vector<RouteVersion> versions_;
};

}  // namespace strack::sim
