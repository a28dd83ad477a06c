#include "metrics/summary.h"

#include <algorithm>
#include <optional>

#include "metrics/memory_result.h"

namespace strack::metrics {
namespace {

/// The value that `percent` of all are not above, by nearest rank.
Picoseconds percentile(const std::vector<Picoseconds>& sorted, std::size_t percent) {
  if (sorted.empty()) return ps(0);
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[rank == 0 ? 0 : rank - 1];
}

std::int64_t count_distinct(std::vector<std::uint32_t> hosts) {
  std::sort(hosts.begin(), hosts.end());
  return std::unique(hosts.begin(), hosts.end()) - hosts.begin();
}

Picoseconds mean(const std::vector<Picoseconds>& times) {
  Int128 sum = 0;
  for (const Picoseconds time : times) sum += time.count();
  return ps(static_cast<std::int64_t>(sum / static_cast<Int128>(times.size())));
}

JobSummary summarise_jobs(const RunInfo& run, const std::vector<JobRecord>& jobs) {
  JobSummary summary;
  std::vector<Picoseconds> times;
  Instant first = Instant::never();
  Instant last{};
  for (const JobRecord& job : jobs) {
    first = std::min(first, job.start);
    if (job.end == Instant::never()) continue;
    last = std::max(last, job.end);
    summary.delivered += job.bytes;
    times.push_back(job.end - job.start);
    if (times.back() > summary.max_time) {
      summary.max_time = times.back();
      summary.slowest = job.job;
      summary.slowest_ideal = job.ideal;
    }
  }
  summary.finished = times.size();
  summary.unfinished = std::max<std::uint64_t>(run.jobs, jobs.size()) - times.size();
  if (times.empty()) return summary;
  summary.span = last - first;
  std::sort(times.begin(), times.end());
  summary.min_time = times.front();
  summary.mean_time = mean(times);
  summary.p50_time = percentile(times, 50);
  summary.p99_time = percentile(times, 99);
  if (summary.min_time > ps(0)) {
    summary.spread_ppm =
        mul_div((summary.max_time - summary.min_time).count(), 1'000'000, summary.min_time.count());
  }
  return summary;
}

/// Flows, or jobs, that one workload has, from their rows by number.
template <class Record, class Number>
void take_times(WorkloadSummary& summary, const std::vector<Record>& rows, Number&& number,
                std::uint32_t first, std::uint32_t count) {
  std::vector<Picoseconds> times;
  for (const Record& row : rows) {
    if (number(row) < first || number(row) - first >= count) continue;
    summary.start = std::min(summary.start, row.start);
    if (row.end == Instant::never()) continue;
    summary.end = std::max(summary.end, row.end);
    times.push_back(row.end - row.start);
  }
  summary.finished = times.size();
  summary.unfinished = count - times.size();
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  summary.max_time = times.back();
  summary.mean_time = mean(times);
  summary.p50_time = percentile(times, 50);
  summary.p99_time = percentile(times, 99);
}

WorkloadSummary summarise_workload(const WorkloadInfo& info, const std::vector<FlowRecord>& flows,
                                   const std::vector<JobRecord>& jobs) {
  WorkloadSummary summary;
  summary.info = info;
  if (info.jobs > 0) {
    take_times(
        summary, jobs, [](const JobRecord& job) { return job.job; }, info.first_job, info.jobs);
  } else {
    take_times(
        summary, flows, [](const FlowRecord& flow) { return flow.flow; }, info.first_flow,
        info.flows);
  }
  return summary;
}

}  // namespace

namespace {
/// Of all flows, the senders' or the receivers', whichever are fewer; of jobs those of all ranks, which
/// their messages use, too.
std::int64_t ports_of(const RunInfo& run, const std::vector<FlowRecord>& flows,
                      const std::vector<JobRecord>& jobs) {
  std::int64_t ranks = 0;
  for (const JobRecord& job : jobs) ranks += job.ranks;
  std::vector<std::uint32_t> senders;
  std::vector<std::uint32_t> receivers;
  for (const FlowRecord& flow : flows) {
    if (run.jobs > 0 && flow.flow >= run.flows) continue;
    senders.push_back(flow.src);
    receivers.push_back(flow.dst);
  }
  return ranks + std::min(count_distinct(std::move(senders)), count_distinct(std::move(receivers)));
}

void take_fcts(Summary& summary, std::vector<Picoseconds>& fcts) {
  std::sort(fcts.begin(), fcts.end());
  summary.max_fct = fcts.back();
  summary.mean_fct = mean(fcts);
  summary.p50_fct = percentile(fcts, 50);
  summary.p99_fct = percentile(fcts, 99);
}

/// Connections of jobs have no rows; the totals know.
void take_totals(Summary& summary) {
  const Counters& counters = summary.counters;
  summary.retransmissions = counters.retransmissions;
  summary.cnps = counters.cnps;
  summary.naks = counters.naks;
  summary.victim_packets = counters.victim_packets;
  summary.victim_flows = counters.victim_flows;
}

/// Flows of one size have one ideal, which is that of the slowest.
bool have_same_ideals(const RunInfo& run, const std::vector<FlowRecord>& flows,
                      const std::vector<JobRecord>& jobs) {
  const bool of_jobs = std::all_of(jobs.begin(), jobs.end(), [&](const JobRecord& job) {
    return job.ideal == jobs.front().ideal;
  });
  const bool of_flows = std::all_of(flows.begin(), flows.end(), [&](const FlowRecord& flow) {
    return flow.size == flows.front().size;
  });
  return run.jobs > 0 ? of_jobs : of_flows;
}

std::int64_t share_ppm(Bytes carried, Bytes possible) {
  return possible > bytes(0) ? mul_div(carried.count(), 1'000'000, possible.count()) : 0;
}
}  // namespace

std::uint64_t Summary::counted(std::string_view name) const {
  if (name == "cnps") return cnps;
  if (name == "naks") return naks;
  for (const OwnTotal& own : counters.own) {
    if (own.name == name) return own.value;
  }
  return 0;
}

Summary summarise(const RunInfo& run, const RunState& state, const std::vector<FlowRecord>& flows,
                  const Counters& counters, const std::vector<JobRecord>& jobs) {
  Summary summary;
  summary.run = run;
  summary.state = state;
  summary.counters = counters;
  std::vector<Picoseconds> fcts;
  std::vector<std::uint32_t> senders;
  std::vector<std::uint32_t> receivers;
  Instant first = Instant::never();
  Instant last{};
  std::uint64_t rows = 0;  // of flows
  for (const FlowRecord& flow : flows) {
    summary.retransmissions += flow.retransmissions;
    summary.path_changes += flow.path_changes;
    summary.cnps += flow.cnps;
    summary.naks += flow.naks;
    summary.victim_packets += flow.victim_packets;
    if (flow.victim_packets > 0) ++summary.victim_flows;
    const bool is_message = run.jobs > 0 && flow.flow >= run.flows;
    if (is_message) ++summary.messages;
    if (is_message && run.flows > 0) continue;
    ++rows;
    first = std::min(first, flow.start);
    if (flow.end == Instant::never()) continue;
    const Picoseconds fct = flow.end - flow.start;
    if (fcts.empty() || fct > summary.slowest_flow.end - summary.slowest_flow.start)
      summary.slowest_flow = flow;
    fcts.push_back(fct);
    last = std::max(last, flow.end);
    summary.flow_delivered += flow.size;
    if (is_message) continue;
    senders.push_back(flow.src);
    receivers.push_back(flow.dst);
    summary.delivered += flow.size;
  }
  summary.finished = fcts.size();
  // A run that died has no rows for the flows it was still busy with.
  summary.unfinished = std::max<std::uint64_t>(run.flows, rows) - fcts.size();
  if (!fcts.empty()) {
    summary.flow_span = last - first;
    take_fcts(summary, fcts);
  }
  std::int64_t ports =
      std::min(count_distinct(std::move(senders)), count_distinct(std::move(receivers)));

  summary.jobs = summarise_jobs(run, jobs);
  summary.same_ideals = have_same_ideals(run, flows, jobs);
  for (const WorkloadInfo& info : run.workloads)
    summary.workloads.push_back(summarise_workload(info, flows, jobs));
  for (const JobRecord& job : jobs) {
    first = std::min(first, job.start);
    if (job.end == Instant::never()) continue;
    last = std::max(last, job.end);
    ports += job.ranks;
  }
  summary.delivered += summary.jobs.delivered;
  if (summary.has_jobs()) take_totals(summary);
  const bool any_done = summary.finished + summary.jobs.finished > 0;
  if (any_done) {
    summary.span = last - first;
  } else {
    // Nothing is done: what all ports have carried until the run stopped, where it says so.
    last = std::max(first, state.now);
    ports = ports_of(run, flows, jobs);
  }
  const Bytes inside = bytes(static_cast<std::int64_t>(summary.counted(kInsideServers)));
  summary.utilisation_ppm = share_ppm((any_done ? summary.delivered : counters.acked) - inside,
                                      run.host_rate * (last - first) * ports);
  return summary;
}

namespace {
/// Which of the run's workloads a job is of; nothing where a file knows none.
std::optional<std::uint32_t> workload_of(const RunInfo& run, std::uint32_t job) {
  for (std::uint32_t i = 0; i < run.workloads.size(); ++i) {
    const WorkloadInfo& info = run.workloads[i];
    if (job >= info.first_job && job - info.first_job < info.jobs) return i;
  }
  return std::nullopt;
}

void take_communications(Summary& summary, const std::vector<CommunicationRecord>& all) {
  for (const CommunicationRecord& one : all) {
    const std::optional<std::uint32_t> workload = workload_of(summary.run, one.job);
    if (!workload) continue;
    auto known = std::find_if(summary.communications.begin(), summary.communications.end(),
                              [&](const CommunicationSummary& kind) {
                                return kind.workload == *workload && kind.name == one.name;
                              });
    if (known == summary.communications.end()) {
      known = summary.communications.emplace(known);
      known->workload = *workload;
      known->name = one.name;
    }
    ++known->count;
    known->ranks = std::max(known->ranks, one.ranks);
    known->bytes += one.bytes;
    known->mean_time += one.end - one.begin;
    known->max_time = std::max(known->max_time, one.end - one.begin);
    known->mean_wait += one.begin - one.first_begin;
  }
  for (CommunicationSummary& kind : summary.communications) {
    kind.mean_time = ps(kind.mean_time.count() / static_cast<std::int64_t>(kind.count));
    kind.mean_wait = ps(kind.mean_wait.count() / static_cast<std::int64_t>(kind.count));
  }
}

void take_computations(Summary& summary, const std::vector<JobRecord>& jobs,
                       const std::vector<ComputationInfo>& all) {
  for (const ComputationInfo& one : all) {
    const auto job = std::find_if(jobs.begin(), jobs.end(),
                                  [&](const JobRecord& j) { return j.job == one.job; });
    const auto workload = workload_of(summary.run, one.job);
    if (job == jobs.end() || job->end == Instant::never() || !workload) continue;
    const ExposedSummary now{*workload, job->end - job->start, one.time};
    if (now.exposed() < ps(0)) continue;  // times of a trace, before which nothing begins
    auto known = std::find_if(summary.exposed.begin(), summary.exposed.end(),
                              [&](const ExposedSummary& e) { return e.workload == *workload; });
    if (known == summary.exposed.end()) known = summary.exposed.insert(known, now);
    if (now.exposed() > known->exposed()) *known = now;
  }
}
}  // namespace

Summary summarise(const MemoryResult& result) {
  const std::vector<JobRecord> jobs = result.jobs();
  Summary summary =
      summarise(result.run(), result.state(), result.flows(), result.counters(), jobs);
  take_communications(summary, result.communications());
  take_computations(summary, jobs, result.computations());
  return summary;
}

Result<Summary, FileError> summarise(const std::filesystem::path& path) {
  const auto opened = ResultReader::open(path);
  if (!opened) return opened.error();
  ResultReader& reader = *opened.value();
  const auto flows = reader.flows();
  if (!flows) return flows.error();
  const auto counters = reader.counters();
  if (!counters) return counters.error();
  const auto jobs = reader.jobs();
  if (!jobs) return jobs.error();
  const auto communications = reader.communications();
  if (!communications) return communications.error();
  const auto computations = reader.computations();
  if (!computations) return computations.error();
  Summary summary =
      summarise(reader.run(), reader.state(), flows.value(), counters.value(), jobs.value());
  take_communications(summary, communications.value());
  take_computations(summary, jobs.value(), computations.value());
  return summary;
}

}  // namespace strack::metrics
