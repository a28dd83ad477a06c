// A network's books: totals over all its nodes, its links by name, and the proof that no packet is lost
// without being counted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "metrics/records.h"
#include "sim/net/topology.h"
#include "sim/net/wire.h"

namespace strack::sim {

/// What the nodes have counted up to an instant, all before which has been run.
template <class NetworkType>
[[nodiscard]] metrics::Counters counters_of(const NetworkType& network, Instant now) {
  metrics::Counters c;
  Fingerprint hash;
  const auto note_pause = [&](Picoseconds paused) {
    c.paused += paused;
    if (paused > ps(0)) ++c.ports_paused;
  };
  for (const metrics::CounterName& own : NetworkType::Host::kCounters)
    c.own.push_back({std::string(own.name), 0});
  for (const auto& host : network.all_hosts()) {
    c.data_packets_sent += host.data_sent;
    c.data_packets_delivered += host.data_received;
    c.control_packets_sent += host.control_sent;
    const auto totals = host.totals();
    c.retransmissions += totals.retransmissions;
    c.probes += totals.probes;
    c.timeouts += totals.timeouts;
    c.cnps += totals.cnps;
    c.naks += totals.naks;
    for (std::size_t i = 0; i < c.own.size(); ++i) c.own[i].value += totals.own[i];
    c.failure_drops += host.port.drops.failure;
    c.error_drops += host.port.drops.error;
    c.victim_packets += host.victim_packets;
    c.victim_flows += host.victim_channels;
    note_pause(host.port.paused(now));
    hash.add(host.fingerprint);
  }
  for (const auto& sw : network.switches) {
    c.queue_drops += sw->drops.queue;
    c.failure_drops += sw->drops.failure;
    c.error_drops += sw->drops.error;
    c.no_route_drops += sw->drops.no_route;
    hash.add(sw->fingerprint);
    if constexpr (NetworkType::kLossless) {
      c.lossless_violations += sw->drops.violation;
      c.pause_frames += sw->pauses_sent();
      c.buffer_max = std::max(c.buffer_max, bytes(sw->buffer().peak()));
    }
    for (std::uint32_t p = 0; p < sw->port_count(); ++p) {
      const auto& port = sw->port(p);
      c.marks += port.marks();
      c.deepest_queue = std::max(c.deepest_queue, bytes(port.deepest_queue()));
      if constexpr (NetworkType::kLossless) note_pause(port.pause().total(now));
      if constexpr (requires { port.trims(); }) c.trims += port.trims();
    }
  }
  c.hash = hash.value();
  return c;
}

template <class NetworkType>
[[nodiscard]] std::vector<metrics::LinkInfo> links_of(const NetworkType& network) {
  const Topology& topology = network.topology;
  std::vector<metrics::LinkInfo> all;
  const auto add = [&](LinkId link, NodeId from, const Wire& wire) {
    const bool down = wire.outages != nullptr &&
                      std::any_of(wire.outages->begin(), wire.outages->end(),
                                  [](const Outage& outage) { return outage.from == Instant{}; });
    all.push_back({link, topology.name(from), topology.name(wire.peer), wire.byte_time.rate(),
                   wire.latency, down});
  };
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) add(h, h, network.hosts[h].port.wire);
  for (std::size_t s = 0; s < network.switches.size(); ++s) {
    const SwitchInfo& info = topology.switches()[s];
    for (std::uint32_t p = 0; p < info.ports.size(); ++p)
      add(info.ports[p].link, info.node, network.switches[s]->port(p).wire);
  }
  return all;
}

/// Sent = delivered + dropped + under way, counted packet by packet. `window` is the next one.
template <class NetworkType>
void check_conservation(const NetworkType& network, std::uint64_t window) {
  std::uint64_t sent = 0;
  std::uint64_t gone = 0;
  std::uint64_t held = 0;
  for (const auto& host : network.all_hosts()) {
    sent += host.data_sent + host.control_sent;
    gone += host.data_received + host.control_received + host.port.pauses_received() +
            host.port.drops.total();
    held += host.transits_held();
  }
  for (const auto& sw : network.switches) {
    gone += sw->drops.total();
    held += sw->packets_held();
    if constexpr (NetworkType::kLossless) {
      sent += sw->pauses_sent();
      gone += sw->pauses_received();
    }
  }
  std::uint64_t under_way = 0;
  for (std::uint32_t l = 0; l < network.topology.links(); ++l)
    under_way += network.lanes[l].arrivals(window).size();
  STRACK_CHECK_OP(sent, ==, gone + held + under_way);
}

}  // namespace strack::sim
