// Everything a simulated cluster is made from, as plain values. Scenario files are read into this
// (sim/scenario), tests fill it by hand, sim/simulation.h runs it. Defaults are the paper's
// evaluation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/units.h"

namespace strack::sim {

struct NetworkGraph;  // sim/net/network_graph.h

/// A Clos network of two or three switch tiers.
///
/// Two tiers: racks x (hosts_per_rack hosts, one ToR), every ToR linked to every spine
/// `links_per_spine` times. Three tiers: pods of racks_per_pod racks and aggs_per_pod
/// aggregation switches, each ToR linked to each of its pod's aggs; agg a of every pod is linked to
/// the same cores_per_agg core switches.
///
/// Or any other network, where there is a `graph`: then racks say which hosts are neighbours, for whoever
/// places work, rates are the fastest and latencies the smallest of their kind, and the rest means nothing.
struct TopologyParams {
  int tiers = 2;
  std::uint32_t racks = 128;
  std::uint32_t hosts_per_rack = 64;
  std::uint32_t spines = 64;          ///< tiers = 2
  std::uint32_t links_per_spine = 1;  ///< tiers = 2: parallel links between a ToR and a spine
  std::uint32_t racks_per_pod = 16;   ///< tiers = 3; divides racks
  std::uint32_t aggs_per_pod = 16;    ///< tiers = 3
  std::uint32_t cores_per_agg = 16;   ///< tiers = 3

  BitsPerSecond host_rate = gbps(400);    ///< host <-> ToR
  BitsPerSecond fabric_rate = gbps(400);  ///< ToR <-> spine, or ToR <-> agg
  BitsPerSecond core_rate = gbps(400);    ///< agg <-> core

  Picoseconds host_latency{0};  ///< of each such link, one way; all positive
  Picoseconds fabric_latency{0};
  Picoseconds core_latency{0};

  /// [D89] Servers with several NICs, each a host: NIC i of a server is at its group's i-th ToR, its rail;
  /// in a graph, hosts follow each other. What they send each other goes by links inside the server.
  std::uint32_t nics_per_server = 1;
  BitsPerSecond server_rate{0};  ///< of a NIC's GPU to the others of its server, one way
  Picoseconds server_latency{0};

  std::shared_ptr<const NetworkGraph> graph;  ///< null: a Clos network

  [[nodiscard]] std::uint32_t hosts() const { return racks * hosts_per_rack; }
  [[nodiscard]] bool has_servers() const { return nics_per_server > 1; }
  [[nodiscard]] std::uint32_t server_of(std::uint32_t host) const {
    if (graph != nullptr) return host / nics_per_server;
    return host / hosts_per_rack / nics_per_server * hosts_per_rack + host % hosts_per_rack;
  }
  [[nodiscard]] std::uint32_t nic_of(std::uint32_t host) const {
    return (graph != nullptr ? host : host / hosts_per_rack) % nics_per_server;
  }
  /// The i-th NIC of a server.
  [[nodiscard]] std::uint32_t host_of(std::uint32_t server, std::uint32_t nic) const {
    if (graph != nullptr) return server * nics_per_server + nic;
    return (server / hosts_per_rack * nics_per_server + nic) * hosts_per_rack +
           server % hosts_per_rack;
  }
};

/// [D49] A full queue cuts packets down to a header instead of dropping them.
struct TrimParams {
  bool enabled = false;
  Bytes size = bytes(64);  ///< what is left of a packet, on the wire
  Bytes queue_limit{0};    ///< of the headers' own queue; beyond, they are dropped
};

/// [D56] Which of the ports that lead to a destination a switch sends a packet to.
enum class Routing : std::uint8_t {
  ecmp,                  ///< by a hash of its header
  round_robin,           ///< one after the other
  power_of_two,          ///< the shorter queue of two drawn
  drill,                 ///< the shortest of two drawn and of that chosen the last time
  least_queue,           ///< the shortest of all
  destination_rotation,  ///< one after the other, for each destination on its own
};

/// Switches' egress queues, and the choice between them.
struct SwitchParams {
  Bytes kmin{0};                 ///< marks begin: the queue left behind at departure
  Bytes kmax{0};                 ///< marks have reached pmax; beyond, every packet is marked
  Ratio pmax{1, 1};              ///< probability of a mark at kmax
  Bytes queue_limit{0};          ///< a data packet that would exceed it is dropped
  bool control_priority = true;  ///< SACKs overtake queued data
  bool ecn_last_hop = true;      ///< [D50] ports to hosts mark too
  TrimParams trimming;
  Routing routing = Routing::ecmp;
};

/// [R.pfc.account] Lossless operation: priority flow control with a buffer shared by all ports of a
/// switch. Off, every queue stands alone and drops at queue_limit.
struct PfcParams {
  bool enabled = false;
  Bytes buffer_per_tbps = mb(5);  ///< of a switch, per Tb/s of its ports' rates: 256 MB per 51.2
  Ratio alpha{1, 8};       ///< [R.pfc.threshold] share of what is free that one port may fill
  Bytes xoff{0};           ///< [D65] or this much of it, whatever is free; 0: as alpha says
  Bytes reserve = kib(4);  ///< [R.pfc.reserve] of each port, its own
  Bytes headroom{
      0};  ///< [R.pfc.headroom] of each port; 0: what its link can still bring after XOFF
  Bytes xon_offset = kib(8);      ///< [R.pfc.xon] resume so far below the threshold
  Bytes frame = bytes(64);        ///< [R.pfc.frame] a pause frame on the wire
  std::uint32_t quanta = 65'535;  ///< [R.pfc.expiry] of 512 bit times, what an XOFF is good for
};

struct HostParams {
  Bytes data_header = bytes(64);   ///< what the wire carries beyond the payload
  Bytes control_size = bytes(64);  ///< a SACK or probe on the wire, whole
  Picoseconds start_jitter{0};     ///< each flow starts up to this much later
  Ratio straggler_share{0, 1};     ///< this share of hosts ...
  Ratio straggler_rate{1, 1};      ///< ... sends at this fraction of the port's rate
};

/// Names one inter-switch link by its lower and upper end. Both directions fail together.
struct LinkRef {
  enum class Tier : std::uint8_t { host, fabric, core };
  Tier tier = Tier::fabric;
  std::uint32_t lower = 0;  ///< host: the host; fabric: the rack; core: the aggregation switch (pod
                            ///< x aggs_per_pod + a). In a graph, fabric: the link
  std::uint32_t upper = 0;  ///< which of the lower end's uplinks; 0 for a host, and in a graph

  friend bool operator==(const LinkRef&, const LinkRef&) = default;
};

struct SwitchRef {
  /// A two-tier network's spines are `agg`, and a graph's switches all `tor`.
  enum class Tier : std::uint8_t { tor, agg, core };
  Tier tier = Tier::agg;
  std::uint32_t index = 0;
};

/// Something that breaks, and perhaps mends. Routes follow `convergence` later, except for what is
/// down from the start.
struct Failure {
  std::optional<LinkRef> link;
  std::optional<SwitchRef> node;  ///< a switch dying takes all its links along
  Instant from{};                 ///< 0: down from the start, routed around from the start
  Instant until = Instant::never();
};

/// Which way along a link; up is away from the hosts.
enum class LinkWay : std::uint8_t { both, up, down };

/// A link that works badly.
struct Impairment {
  LinkRef link;
  Ratio rate{1, 1};           ///< of its nominal rate
  Ratio loss{0, 1};           ///< of packets, at random
  double bit_error_rate = 0;  ///< of bits, at random
  LinkWay way = LinkWay::both;
  bool scale_queue = false;  ///< [D75] its queue and the thresholds of marks shrink like its rate
  Instant from{};            ///< [D87] it is bad for packets that begin to leave from then on,
  Instant until = Instant::never();  ///< and before then

  [[nodiscard]] bool passes() const { return from > Instant{} || until != Instant::never(); }
};

struct FailureParams {
  std::vector<Failure> failures;
  std::vector<Impairment> impairments;
  Picoseconds convergence = us(100);
};

/// Which links are sampled.
enum class RecordTier : std::uint8_t {
  all,
  fabric,    ///< between switches
  host,      ///< between hosts and ToRs, both ways
  last_hop,  ///< from ToRs to hosts
};

/// What is sampled, and how often. Totals and flows are always recorded.
struct RecordParams {
  Picoseconds interval{0};  ///< 0: no time series
  bool queues = false;  ///< per link: deepest queue in the interval, where above queue_threshold
  Bytes queue_threshold{0};
  bool links = false;       ///< per link: bytes carried in the interval
  std::uint32_t flows = 0;  ///< cwnd, RTT and bytes acknowledged of the first so many flows
  RecordTier tier = RecordTier::all;
  bool messages = false;      ///< a flow record for every message of jobs that has bytes
  std::uint32_t inspect = 0;  ///< every event of the first so many flows; needs no interval
};

class Transport;  // sim/transport.h
class Ranks;      // sim/engine/ranks.h

struct SimConfig {
  TopologyParams topology;
  SwitchParams switches;
  PfcParams pfc;
  HostParams hosts;
  FailureParams failures;
  std::shared_ptr<const Transport> transport;  ///< what hosts speak; there is no default
  RecordParams record;
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;
  std::uint32_t sweep_after = 65'536;  ///< finished flows, whose memory is given back then (CPU)
  Instant end = Instant::never();      ///< stop here though flows be unfinished
  Ranks* ranks = nullptr;              ///< processes that run it together; null: this one alone

  [[nodiscard]] Bytes mtu() const;  ///< the transport's
};

}  // namespace strack::sim
