#include "metrics/summary.h"

#include <algorithm>

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

}  // namespace

Summary summarise(const RunInfo& run, const RunState& state, const std::vector<FlowRecord>& flows,
                  const Counters& counters) {
  Summary summary;
  summary.run = run;
  summary.state = state;
  summary.counters = counters;

  std::vector<Picoseconds> fcts;
  std::vector<std::uint32_t> senders;
  std::vector<std::uint32_t> receivers;
  Int128 total_fct = 0;
  Instant first = Instant::never();
  Instant last{};
  for (const FlowRecord& flow : flows) {
    summary.retransmissions += flow.retransmissions;
    summary.path_changes += flow.path_changes;
    first = std::min(first, flow.start);
    if (flow.end == Instant::never()) continue;
    const Picoseconds fct = flow.end - flow.start;
    fcts.push_back(fct);
    total_fct += fct.count();
    senders.push_back(flow.src);
    receivers.push_back(flow.dst);
    last = std::max(last, flow.end);
    summary.delivered += flow.size;
  }
  summary.finished = fcts.size();
  // A run that died has no rows for the flows it was still busy with.
  summary.unfinished = std::max<std::uint64_t>(run.flows, flows.size()) - fcts.size();
  if (fcts.empty()) return summary;

  std::sort(fcts.begin(), fcts.end());
  summary.max_fct = fcts.back();
  summary.mean_fct = ps(static_cast<std::int64_t>(total_fct / static_cast<Int128>(fcts.size())));
  summary.p50_fct = percentile(fcts, 50);
  summary.p99_fct = percentile(fcts, 99);
  summary.span = last - first;
  const std::int64_t ports =
      std::min(count_distinct(std::move(senders)), count_distinct(std::move(receivers)));
  const Bytes possible = run.host_rate * summary.span * ports;
  if (possible > bytes(0)) {
    summary.utilisation_ppm = mul_div(summary.delivered.count(), 1'000'000, possible.count());
  }
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
  return summarise(reader.run(), reader.state(), flows.value(), counters.value());
}

}  // namespace strack::metrics
