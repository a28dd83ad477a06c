// A cluster, from set-up to the last acknowledgement. Used by the command line and by tests.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/config.h"
#include "workload/workload.h"

namespace strack::sim {

struct Progress {
  Instant now{};
  std::uint64_t flows_done = 0;
  std::uint64_t flows = 0;
  std::uint64_t jobs_done = 0;
  std::uint64_t jobs = 0;
  std::uint64_t bytes_acked = 0;  ///< of all flows, for an estimate of the time left
  std::uint64_t bytes = 0;
  std::uint64_t packet_hops = 0;
};

/// Is told what happens, on the thread that called run(), in an order that does not depend on the
/// number of threads.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_flow(const metrics::FlowRecord& /*flow*/) {}
  virtual void on_job(const metrics::JobRecord& /*job*/) {}
  virtual void on_mark(const metrics::JobMark& /*mark*/) {}  ///< in order of time
  virtual void on_link_sample(const metrics::LinkSample& /*sample*/) {}
  virtual void on_flow_sample(const metrics::FlowSample& /*sample*/) {}
  /// In order of time, then of flows; up to some windows after it happened.
  virtual void on_flow_event(const metrics::FlowEvent& /*event*/) {}
  virtual void on_progress(const Progress& /*progress*/) {}  ///< every few million packet-hops
  virtual void on_warning(const std::string& /*text*/) {}    ///< something a user should know of
};

enum class Ending : std::uint8_t {
  finished,     ///< every flow and job is done
  time_limit,   ///< config.end came first
  interrupted,  ///< `stop` was set
  stalled,      ///< flows are left, but nothing will ever happen again
};

/// The network's base RTT between hosts in different racks (or pods) and what follows from it.
struct Derived {
  Picoseconds base_rtt{0};  ///< data packet of one MTU out, SACK back, no queues, longest path
  Bytes bdp{0};             ///< host_rate x base_rtt
  std::uint32_t hops = 0;   ///< links on that path, one way
  std::uint64_t links = 0;  ///< directed
  std::uint64_t switches = 0;
};
[[nodiscard]] Derived derive(const TopologyParams& topology, const HostParams& hosts, Bytes mtu);

/// The most connections that may start, and that may end, at one host: a packet names no more.
inline constexpr std::uint64_t kMaxConnections = 1u << 20;

/// A host at which more than `limit` connections start or end; a workload with one must not be run.
struct OverfullHost {
  std::uint32_t host = 0;
  std::uint64_t connections = 0;
};
[[nodiscard]] std::optional<OverfullHost> find_overfull_host(const workload::Workload& workload,
                                                             std::uint32_t hosts,
                                                             std::uint64_t limit = kMaxConnections);

class Cluster;

class Simulation {
 public:
  Simulation(const SimConfig& config, workload::Workload workload);
  Simulation(const SimConfig& config, workload::Flows flows)
      : Simulation(config, workload::Workload{std::move(flows), {}}) {}
  /// One that was made elsewhere (sim/gpu/engine.h).
  explicit Simulation(std::unique_ptr<Cluster> cluster);
  ~Simulation();

  /// Runs to the end. `stop` may be set at any time, from a signal handler too.
  Ending run(Observer& observer, const std::atomic<bool>* stop = nullptr);

  [[nodiscard]] metrics::Counters counters() const;
  [[nodiscard]] std::vector<metrics::LinkInfo> links() const;
  /// The connections of jobs that are sampled or inspected.
  [[nodiscard]] std::vector<metrics::ChannelInfo> channels() const;
  [[nodiscard]] Instant now() const;

 private:
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace strack::sim
