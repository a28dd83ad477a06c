// What the simulator's tests share: small clusters with round numbers, an observer that remembers,
// and one call that runs a cluster to its end.
//
// Unless a test says otherwise every link runs at 400 Gb/s (20 ps per byte) and takes 1 us, and a
// packet carries 4096 bytes in 4160 on the wire: 83'200 ps of serialisation, 1'280 ps for a SACK.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "base/testing.h"
#include "base/units.h"
#include "metrics/records.h"
#include "sim/config.h"
#include "sim/simulation.h"
#include "sim/transport.h"
#include "transports/rocev2/sim.h"
#include "transports/strack/sim.h"
#include "workload/workload.h"

namespace strack::sim::testing {

inline constexpr Bytes kMtu = bytes(4096);
inline constexpr Picoseconds kData = ps(83'200);  ///< 4160 bytes at 400 Gb/s
inline constexpr Picoseconds kSack = ps(1'280);   ///< 64 bytes
inline constexpr Picoseconds kLatency = us(1);    ///< of every link
/// There and back inside a rack, two links each way: a data packet out, its SACK back.
inline constexpr Picoseconds kRackRtt = 2 * (kData + kLatency) + 2 * (kSack + kLatency);
/// And between racks, four links each way.
inline constexpr Picoseconds kBaseRtt = 4 * (kData + kLatency) + 4 * (kSack + kLatency);

/// The transport that fits a topology: its window is the BDP of the longest path.
inline std::shared_ptr<const Transport> transport_for(const SimConfig& config) {
  const Derived derived = derive(config.topology, config.hosts, kMtu);
  const auto params =
      core::StrackParams::for_link(config.topology.host_rate, derived.base_rtt, kMtu);
  STRACK_CHECK(params.ok());
  return make_transport<StrackProtocol>(params.value());
}

/// The parameters of a configuration's transport; changed, they are those of a copy of its own.
template <class Protocol>
typename Protocol::Params& edit(SimConfig& config) {
  auto own = std::make_shared<TransportOf<Protocol>>(params_of<Protocol>(config));
  typename Protocol::Params& params = own->params;
  config.transport = std::move(own);
  return params;
}
inline core::StrackParams& strack_params(SimConfig& config) { return edit<StrackProtocol>(config); }
inline const core::StrackParams& strack_params(const SimConfig& config) {
  return params_of<StrackProtocol>(config);
}
inline core::RoceParams& roce_params(SimConfig& config) { return edit<RoceProtocol>(config); }
inline const core::RoceParams& roce_params(const SimConfig& config) {
  return params_of<RoceProtocol>(config);
}

/// Two tiers. Queues are deep and never mark, so that nothing but the links decides.
inline SimConfig cluster(std::uint32_t racks, std::uint32_t hosts_per_rack, std::uint32_t spines) {
  SimConfig config;
  config.topology.racks = racks;
  config.topology.hosts_per_rack = hosts_per_rack;
  config.topology.spines = spines;
  config.topology.host_latency = kLatency;
  config.topology.fabric_latency = kLatency;
  config.topology.core_latency = kLatency;
  config.switches.kmin = mb(100);
  config.switches.kmax = mb(200);
  config.switches.queue_limit = mb(400);
  config.transport = transport_for(config);
  return config;
}

/// Three tiers: pods of two racks and two aggregation switches, two cores for each of these.
inline SimConfig pods(std::uint32_t pod_count, std::uint32_t hosts_per_rack) {
  SimConfig config = cluster(2 * pod_count, hosts_per_rack, 1);
  config.topology.tiers = 3;
  config.topology.racks_per_pod = 2;
  config.topology.aggs_per_pod = 2;
  config.topology.cores_per_agg = 2;
  config.transport = transport_for(config);
  return config;
}

/// The same network for RoCEv2: lossless, its ECN threshold one BDP.
inline SimConfig roce_cluster(std::uint32_t racks, std::uint32_t hosts_per_rack,
                              std::uint32_t spines, core::DcqcnSet set = core::kDefaultDcqcn) {
  SimConfig config = cluster(racks, hosts_per_rack, spines);
  const Derived derived = derive(config.topology, config.hosts, kMtu);
  config.transport = make_transport<RoceProtocol>(
      core::RoceParams::for_link(config.topology.host_rate, derived.base_rtt, kMtu, set).value());
  config.pfc.enabled = true;
  config.switches.kmin = derived.bdp;
  config.switches.kmax = derived.bdp;
  return config;
}

inline workload::Flow flow(std::uint32_t src, std::uint32_t dst, Bytes size, Instant start = {}) {
  return {src, dst, size, start};
}
inline constexpr Bytes packets(std::int64_t n) { return n * kMtu; }

/// Remembers everything, in the order it was told.
struct Recorder : Observer {
  std::vector<metrics::FlowRecord> flows;
  std::vector<metrics::JobRecord> jobs;
  std::vector<std::string> warnings;
  std::vector<metrics::LinkSample> link_samples;
  std::vector<metrics::FlowSample> flow_samples;
  std::vector<metrics::FlowEvent> events;
  Progress last_progress;

  void on_flow(const metrics::FlowRecord& record) override { flows.push_back(record); }
  void on_job(const metrics::JobRecord& record) override { jobs.push_back(record); }
  void on_warning(const std::string& text) override { warnings.push_back(text); }
  void on_link_sample(const metrics::LinkSample& sample) override {
    link_samples.push_back(sample);
  }
  void on_flow_sample(const metrics::FlowSample& sample) override {
    flow_samples.push_back(sample);
  }
  void on_flow_event(const metrics::FlowEvent& event) override { events.push_back(event); }
  void on_progress(const Progress& progress) override { last_progress = progress; }
};

struct Outcome {
  Ending ending = Ending::stalled;
  metrics::Counters counters;
  Recorder told;
  std::vector<metrics::LinkInfo> links;

  [[nodiscard]] const metrics::FlowRecord& flow(std::uint32_t id) const {
    for (const metrics::FlowRecord& record : told.flows) {
      if (record.flow == id) return record;
    }
    STRACK_CHECK(false);
  }
  /// Flow completion time: from the start to the last acknowledgement.
  [[nodiscard]] Picoseconds fct(std::uint32_t id = 0) const {
    return flow(id).end - flow(id).start;
  }
  [[nodiscard]] std::size_t finished() const {
    std::size_t count = 0;
    for (const metrics::FlowRecord& record : told.flows) count += record.end != Instant::never();
    return count;
  }
  [[nodiscard]] std::uint32_t link(const std::string& from, const std::string& to) const {
    for (const metrics::LinkInfo& info : links) {
      if (info.from == from && info.to == to) return info.link;
    }
    STRACK_CHECK(false);
  }
  /// Data that came to a link's queue.
  [[nodiscard]] Bytes arrived(std::uint32_t link_id) const {
    Bytes total{0};
    for (const metrics::LinkSample& sample : told.link_samples) {
      if (sample.link == link_id) total += sample.arrived;
    }
    return total;
  }
  /// Bytes put on a link by the samples that end after `from` and not after `until`.
  [[nodiscard]] Bytes carried(std::uint32_t link_id, Instant from = {},
                              Instant until = Instant::never()) const {
    Bytes total{0};
    for (const metrics::LinkSample& sample : told.link_samples) {
      if (sample.link == link_id && sample.time > from && sample.time <= until) {
        total += sample.carried;
      }
    }
    return total;
  }
};

inline Outcome run_workload(const SimConfig& config, workload::Workload workload,
                            const std::atomic<bool>* stop = nullptr) {
  Simulation simulation(config, std::move(workload));
  Outcome outcome;
  outcome.ending = simulation.run(outcome.told, stop);
  outcome.counters = simulation.counters();
  outcome.links = simulation.links();
  return outcome;
}

inline Outcome run(const SimConfig& config, workload::Flows flows,
                   const std::atomic<bool>* stop = nullptr) {
  return run_workload(config, workload::Workload{std::move(flows), {}}, stop);
}

/// A digest of numbers, one after the other. Fields are added by name: padding never takes part.
class Digest {
 public:
  Digest& operator<<(std::uint64_t number) {
    value_ = mix64(value_ ^ number);
    return *this;
  }
  Digest& operator<<(std::int64_t number) { return *this << static_cast<std::uint64_t>(number); }
  Digest& operator<<(std::uint32_t number) { return *this << std::uint64_t{number}; }
  Digest& operator<<(Instant time) { return *this << time.ps; }
  template <class Tag>
  Digest& operator<<(strack::detail::Quantity<Tag> quantity) {
    return *this << quantity.value;
  }
  Digest& operator<<(const metrics::FlowRecord& r) {
    return *this << r.flow << r.src << r.dst << r.size << r.start << r.delivered << r.end
                 << r.packets << r.retransmissions << r.probes << r.timeouts << r.path_changes
                 << r.cnps << r.naks << r.victim_packets;
  }
  Digest& operator<<(const metrics::LinkSample& s) {
    return *this << s.time << s.link << s.carried << s.arrived << s.queue_max << s.qdelay_max
                 << s.marks << s.drops << s.paused << s.pause_frames;
  }
  Digest& operator<<(const metrics::FlowSample& s) {
    return *this << s.time << s.flow << s.cwnd << s.rtt << s.avg_qdelay << s.acked << s.ecn_marks
                 << s.rate << s.cnps;
  }
  template <class T>
  Digest& operator<<(const std::optional<T>& value) {
    return value ? *this << std::uint32_t{1} << *value : *this << std::uint32_t{0};
  }
  Digest& operator<<(const metrics::FlowEvent& e) {
    *this << e.time << e.flow << static_cast<std::uint32_t>(e.kind) << e.psn << e.path;
    *this << std::uint32_t{e.ecn.has_value()} << std::uint32_t{e.ecn.value_or(false)};
    *this << e.rtt << e.acked << e.cwnd << e.inflight << e.rate;
    return *this << std::uint32_t{e.cause.has_value()}
                 << static_cast<std::uint32_t>(e.cause.value_or(metrics::LossCause::out_of_order));
  }
  Digest& operator<<(const metrics::Counters& c) {
    return *this << c.data_packets_sent << c.data_packets_delivered << c.control_packets_sent
                 << c.retransmissions << c.probes << c.timeouts << c.marks << c.queue_drops
                 << c.failure_drops << c.error_drops << c.no_route_drops << c.packet_hops
                 << c.deepest_queue << c.cnps << c.naks << c.pause_frames << c.paused
                 << c.ports_paused << c.lossless_violations << c.victim_packets << c.victim_flows
                 << c.pause_loops << c.buffer_max << c.hash;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// Pearson's statistic of counts that should all be equal.
inline double chi_square(const std::vector<std::uint64_t>& counts) {
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  return sum;
}

}  // namespace strack::sim::testing
