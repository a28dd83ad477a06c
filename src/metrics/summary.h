// What a run's rows add up to: the figures of `strack sim summary`, of sweeps and of reports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "metrics/records.h"
#include "metrics/result_file.h"

namespace strack::metrics {

/// The counter of bytes that went by links inside servers, of finished flows and jobs. Only runs with such
/// servers have it.
inline constexpr std::string_view kInsideServers = "server_bytes";

/// What jobs took, from the first message posted to the last one acknowledged.
struct JobSummary {
  std::uint64_t finished = 0;
  std::uint64_t unfinished = 0;  ///< the figures below are of the others
  Picoseconds max_time{0};
  Picoseconds mean_time{0};
  Picoseconds min_time{0};
  Picoseconds p50_time{0};
  Picoseconds p99_time{0};
  /// How much longer than the fastest the slowest took, in millionths of the fastest's time.
  std::int64_t spread_ppm = 0;
  std::uint32_t slowest = 0;     ///< which job
  Picoseconds slowest_ideal{0};  ///< what physics would have allowed it
  Picoseconds span{0};           ///< from the first start to the last end
  Bytes delivered{0};

  [[nodiscard]] std::uint64_t count() const { return finished + unfinished; }
};

/// What one of a run's workloads took: the times of its flows, or of its jobs.
struct WorkloadSummary {
  WorkloadInfo info;
  std::uint64_t finished = 0;
  std::uint64_t unfinished = 0;      ///< the times below are of the others
  Instant start = Instant::never();  ///< of the first
  Instant end{};                     ///< of the last that finished
  Picoseconds max_time{0};
  Picoseconds mean_time{0};
  Picoseconds p50_time{0};
  Picoseconds p99_time{0};

  /// What one iteration of a job took on average, without the computation between two.
  [[nodiscard]] Picoseconds mean_iteration() const {
    const std::int64_t times = std::max<std::int64_t>(1, info.iterations);
    return ps((mean_time.count() - (times - 1) * info.compute.count()) / times);
  }
};

/// All communications of one kind in one workload: a training step's AllReduces, say.
struct CommunicationSummary {
  std::uint32_t workload = 0;  ///< by its place in the summary
  std::string name;
  std::uint64_t count = 0;
  std::uint32_t ranks = 0;   ///< of the largest
  Bytes bytes{0};            ///< of all
  Picoseconds mean_time{0};  ///< from the last of its ranks being ready to the last being done
  Picoseconds max_time{0};
  Picoseconds mean_wait{0};  ///< from the first of its ranks being ready to the last
};

/// What a workload's slowest job would have taken if messages took no time.
struct ExposedSummary {
  std::uint32_t workload = 0;  ///< by its place in the summary
  Picoseconds time{0};         ///< of the job that communicated longest on top of its computation
  Picoseconds computation{0};  ///< of the same

  [[nodiscard]] Picoseconds exposed() const { return time - computation; }
};

struct Summary {
  RunInfo run;
  RunState state;
  Counters counters;

  std::uint64_t finished = 0;
  std::uint64_t unfinished = 0;  ///< the figures below are of the others
  JobSummary jobs;
  std::vector<WorkloadSummary> workloads;                 ///< in the order of the scenario
  std::vector<CommunicationSummary> communications = {};  ///< in the order of their first ends
  std::vector<ExposedSummary> exposed =
      {};  ///< of workloads whose jobs compute, once they are done

  /// Rows of `flows` that are messages of jobs: those numbered behind the flows of the run. Where it has no
  /// flows they are in the figures of flows, else in none; jobs have their bytes and connections' totals.
  std::uint64_t messages = 0;
  FlowRecord slowest_flow;  ///< where any has finished

  // Flow completion times, from the message being ready to its last acknowledgement.
  Picoseconds max_fct{0};
  Picoseconds mean_fct{0};
  Picoseconds p50_fct{0};
  Picoseconds p99_fct{0};

  Picoseconds span{0};       ///< from the first start to the last end
  Bytes delivered{0};        ///< of finished flows and jobs
  Picoseconds flow_span{0};  ///< the same of flows alone
  Bytes flow_delivered{0};
  /// Of all flows, from the rows: there also where the run died before it could write its totals.
  /// With jobs, whose connections have no rows, the totals; path changes are then of flows alone.
  std::uint64_t retransmissions = 0;
  std::uint64_t path_changes = 0;
  std::uint64_t cnps = 0;
  std::uint64_t naks = 0;
  std::uint64_t victim_packets = 0;
  std::uint64_t victim_flows = 0;  ///< flows with any of those

  /// Bytes of finished flows per time, in millionths of what the ports they used could carry: those
  /// of the senders or of the receivers, whichever are fewer. So 32->1 is measured at the receiver.
  /// Of jobs, every rank's port counts. What stays inside a server uses no port and is left out. Where
  /// nothing has finished it is what was acknowledged until the run stopped, of flows and jobs that had
  /// begun.
  std::int64_t utilisation_ppm = 0;
  /// A run that died before anything was done has left nothing to tell it from.
  [[nodiscard]] bool utilisation_known() const {
    return finished + jobs.finished > 0 || counters.acked > bytes(0);
  }

  /// One ideal holds for all: flows are of one size, jobs of one ideal.
  bool same_ideals = true;

  /// A counter that not all transports have, by its name in the file.
  [[nodiscard]] std::uint64_t counted(std::string_view name) const;
  [[nodiscard]] bool has_jobs() const { return jobs.count() > 0; }
  /// Nothing was left over: the slowest of those that are done is the slowest of all.
  [[nodiscard]] bool all_done() const {
    return finished + jobs.finished > 0 && unfinished + jobs.unfinished == 0;
  }
  [[nodiscard]] std::uint64_t drops() const {
    return counters.queue_drops + counters.failure_drops + counters.error_drops +
           counters.no_route_drops + counters.lossless_violations;
  }
};

/// Percentiles are by nearest rank: the p99 of 100 flows is the 99th fastest.
[[nodiscard]] Summary summarise(const RunInfo& run, const RunState& state,
                                const std::vector<FlowRecord>& flows, const Counters& counters,
                                const std::vector<JobRecord>& jobs = {});

/// The same from memory, and from a file; with what jobs communicate and compute.
[[nodiscard]] Summary summarise(const MemoryResult& result);
[[nodiscard]] Result<Summary, FileError> summarise(const std::filesystem::path& path);

}  // namespace strack::metrics
