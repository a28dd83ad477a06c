// [R.pfc.loop] The search for ports that wait for each other in a ring: a deadlock that priority
// flow control makes possible and nothing in the network dissolves.
//
// A paused port waits for those ports of the next switch in which the packets lie that made it pause
// the link. Called between windows, on one thread, now and then: it looks through whole queues.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/net/pfc_switch.h"
#include "sim/net/topology.h"

namespace strack::sim {

/// A ring in a graph, or nothing: `waits_for[n]` are the nodes that n waits for. Each node of the
/// result waits for the next, the last for the first. The same graph always gives the same ring.
[[nodiscard]] inline std::vector<std::uint32_t> find_ring(
    const std::vector<std::vector<std::uint32_t>>& waits_for) {
  enum class Seen : std::uint8_t { no, on_trail, done };
  struct Step {
    std::uint32_t node;
    std::size_t tried;
  };
  std::vector<Seen> seen(waits_for.size(), Seen::no);
  std::vector<Step> trail;
  for (std::uint32_t start = 0; start < waits_for.size(); ++start) {
    if (seen[start] != Seen::no) continue;
    trail.push_back({start, 0});
    seen[start] = Seen::on_trail;
    while (!trail.empty()) {
      Step& step = trail.back();
      if (step.tried == waits_for[step.node].size()) {
        seen[step.node] = Seen::done;
        trail.pop_back();
        continue;
      }
      const std::uint32_t next = waits_for[step.node][step.tried++];
      if (seen[next] == Seen::no) {
        seen[next] = Seen::on_trail;
        trail.push_back({next, 0});
      } else if (seen[next] == Seen::on_trail) {
        std::vector<std::uint32_t> ring;
        std::size_t i = trail.size();
        do ring.insert(ring.begin(), trail[--i].node);
        while (trail[i].node != next);
        return ring;
      }
    }
  }
  return {};
}

/// A port of a switch, by its place in Topology::switches().
struct SwitchPort {
  std::uint32_t sw = 0;
  std::uint32_t port = 0;

  friend bool operator==(const SwitchPort&, const SwitchPort&) = default;
};

class PauseLoopWatch {
 public:
  explicit PauseLoopWatch(std::span<const SwitchInfo> infos) : infos_(infos.begin(), infos.end()) {
    for (const SwitchInfo& info : infos_) {
      for (const PortInfo& port : info.ports)
        links_ = std::max({links_, port.link + std::size_t{1}, port.reverse + std::size_t{1}});
    }
  }

  /// Paused ports each of which waits for the next, the last for the first; or none.
  template <class SwitchType>
  [[nodiscard]] std::vector<SwitchPort> find(
      const std::vector<std::unique_ptr<SwitchType>>& switches, Instant now) const {
    std::vector<SwitchPort> paused;
    std::vector<std::uint32_t> node_of_link(links_, kNone);
    for (std::uint32_t s = 0; s < switches.size(); ++s) {
      for (std::uint32_t p = 0; p < switches[s]->port_count(); ++p) {
        if (!switches[s]->port(p).pause().holds(now)) continue;
        node_of_link[infos_[s].ports[p].link] = static_cast<std::uint32_t>(paused.size());
        paused.push_back({s, p});
      }
    }
    std::vector<std::vector<std::uint32_t>> waits_for(paused.size());
    std::vector<bool> seen;
    for (std::uint32_t n = 0; n < paused.size(); ++n) {
      const SwitchType& sw = *switches[paused[n].sw];
      const auto& port = sw.port(paused[n].port);
      seen.assign(sw.port_count(), false);
      for (std::uint32_t i = 0; i < port.waiting(); ++i) {
        const std::uint32_t ingress = port.waiting_from(i);
        if (seen[ingress] || !sw.buffer().paused(ingress)) continue;
        seen[ingress] = true;
        const std::uint32_t upstream = node_of_link[infos_[paused[n].sw].ports[ingress].reverse];
        if (upstream != kNone) waits_for[upstream].push_back(n);
      }
    }
    std::vector<SwitchPort> ring;
    for (const std::uint32_t n : find_ring(waits_for)) ring.push_back(paused[n]);
    // The same ring always starts at the same port, wherever the search came upon it.
    std::rotate(ring.begin(),
                std::min_element(ring.begin(), ring.end(),
                                 [](const SwitchPort& a, const SwitchPort& b) {
                                   return a.sw != b.sw ? a.sw < b.sw : a.port < b.port;
                                 }),
                ring.end());
    return ring;
  }

  /// A ring that was there at the last check too and through which no data packet has passed since;
  /// or none.
  template <class SwitchType>
  [[nodiscard]] std::vector<SwitchPort> check(
      const std::vector<std::unique_ptr<SwitchType>>& switches, Instant now) {
    std::vector<SwitchPort> ring = find(switches, now);
    std::vector<std::uint64_t> moved;
    moved.reserve(ring.size());
    for (const SwitchPort& at : ring)
      moved.push_back(switches[at.sw]->port(at.port).data_departures());
    const bool stuck = !ring.empty() && ring == last_ring_ && moved == last_moved_;
    last_ring_ = ring;
    last_moved_ = std::move(moved);
    if (!stuck) ring.clear();
    return ring;
  }

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(last_ring_, last_moved_);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::vector<SwitchInfo> infos_;
  std::size_t links_ = 0;
  std::vector<SwitchPort> last_ring_;
  std::vector<std::uint64_t> last_moved_;
};

}  // namespace strack::sim
