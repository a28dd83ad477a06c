// Words, tables, and figures of completion times. The others: link_figures.cpp, flow_figures.cpp.
#include "report/figures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "transports/registry.h"

namespace strack::report {

using metrics::FileError;
using metrics::RunInfo;
using metrics::RunState;
using metrics::RunStatus;
using metrics::Summary;

// --- Words and numbers ---------------------------------------------------------------------------

double in_us(Picoseconds time) { return static_cast<double>(time.count()) / 1e6; }
double in_gbps(BitsPerSecond rate) { return static_cast<double>(rate.count()) / 1e9; }

namespace {
const metrics::Setting* find_setting(const RunInfo& run, std::string_view key) {
  const auto found = std::find_if(run.settings.begin(), run.settings.end(),
                                  [key](const metrics::Setting& s) { return s.key == key; });
  return found == run.settings.end() ? nullptr : &*found;
}
}  // namespace

std::string scenario_value(const RunInfo& run, std::string_view key) {
  const metrics::Setting* setting = find_setting(run, key);
  return setting == nullptr ? "" : setting->value;
}

std::optional<Bytes> scenario_size(const RunInfo& run, std::string_view key) {
  const metrics::Setting* setting = find_setting(run, key);
  if (setting == nullptr || !setting->amount) return std::nullopt;
  return bytes(*setting->amount);
}

std::optional<Picoseconds> scenario_time(const RunInfo& run, std::string_view key) {
  const metrics::Setting* setting = find_setting(run, key);
  if (setting == nullptr || !setting->amount) return std::nullopt;
  return ps(*setting->amount);
}

Label label_of(const RunInfo& run) {
  const transports::Found found = transports::find(run.scheme);
  if (found.transport == nullptr) return {run.scheme.empty() ? "run" : run.scheme, "other"};
  if (found.transport->label == nullptr)
    return {std::string(found.scheme->label), std::string(found.scheme->role)};
  const transports::Label label = found.transport->label(
      *found.scheme, [&](std::string_view key) { return scenario_value(run, std::string(key)); });
  return {label.name, label.role};
}

std::optional<Picoseconds> target_qdelay(const RunInfo& run) {
  const transports::Descriptor* transport = transports::find(run.scheme).transport;
  if (transport == nullptr || transport->target_qdelay.empty()) return std::nullopt;
  return scenario_time(run, transport->target_qdelay);
}

std::string what_is_sent(const RunInfo& run) {
  if (run.workloads.size() > 1) {
    std::string names;
    for (const metrics::WorkloadInfo& w : run.workloads)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", w.name);
    return fmt::format("{}, {} in all", names, size_text(run.bytes));
  }
  const std::string size = scenario_value(run, "workload.size");
  if (run.jobs > 0) {
    const std::string collective = scenario_value(run, "workload.collective");
    const std::string kind = collective.empty() ? "" : " of " + collective;
    const std::string each = size.empty()
                                 ? fmt::format(", {} in all", size_text(run.bytes))
                                 : fmt::format(", {}{}", size, run.jobs > 1 ? " each" : "");
    return fmt::format("{} job{}{}{}", run.jobs, run.jobs == 1 ? "" : "s", kind, each);
  }
  const std::string count = fmt::format("{} flow{}", run.flows, run.flows == 1 ? "" : "s");
  // The scenario's one size, where it is that of all flows.
  const auto bytes_each = scenario_size(run, "workload.size");
  if (run.flows > 0 && bytes_each &&
      static_cast<Int128>(bytes_each->count()) * static_cast<Int128>(run.flows) ==
          run.bytes.count()) {
    return fmt::format("{}, {}{}", count, size_text(*bytes_each), run.flows > 1 ? " each" : "");
  }
  return fmt::format("{}, {} in all", count, size_text(run.bytes));
}

std::string status_text(const RunState& state) {
  if (state.status != RunStatus::running) return std::string(metrics::to_text(state.status));
  return state.live ? "running" : "partial: the program died";
}

double max_us(const Summary& s) {
  if (s.has_jobs()) return s.jobs.finished > 0 ? in_us(s.jobs.max_time) : kUnknown;
  return s.finished > 0 ? in_us(s.max_fct) : kUnknown;
}
double mean_us(const Summary& s) {
  if (s.has_jobs()) return s.jobs.finished > 0 ? in_us(s.jobs.mean_time) : kUnknown;
  return s.finished > 0 ? in_us(s.mean_fct) : kUnknown;
}
double p99_us(const Summary& s) {
  if (s.has_jobs()) return s.jobs.finished > 0 ? in_us(s.jobs.p99_time) : kUnknown;
  return s.finished > 0 ? in_us(s.p99_fct) : kUnknown;
}
double slowdown(const Summary& s) {
  const Picoseconds ideal = s.has_jobs() ? s.jobs.slowest_ideal : s.run.ideal_fct;
  if (ideal <= ps(0) || !s.all_done()) return kUnknown;
  return max_us(s) / in_us(ideal);
}

double utilisation(const Summary& s) {
  return s.utilisation_known() ? static_cast<double>(s.utilisation_ppm) / 1e6 : kUnknown;
}

Spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const double median =
      n % 2 == 1 ? values[n / 2] : values[n / 2 - 1] + (values[n / 2] - values[n / 2 - 1]) / 2;
  return {median, values.front(), values.back(), n};
}

// --- Tables and rows -----------------------------------------------------------------------------

Run run_row(const std::string& file, const Summary& s) {
  Run run;
  run.file = file;
  run.name = s.run.name;
  run.scheme = s.run.scheme;
  run.seed = s.run.seed;
  run.status = status_text(s.state);
  run.partial = !s.state.complete();
  run.hosts = s.run.hosts;
  run.what = what_is_sent(s.run);
  run.version = s.run.version;
  run.max_us = max_us(s);
  run.mean_us = mean_us(s);
  run.p99_us = p99_us(s);
  run.ideal_us = s.run.ideal_fct > ps(0) ? in_us(s.run.ideal_fct) : kUnknown;
  run.slowdown = slowdown(s);
  // A run that died has not written its totals.
  const bool totals = s.state.status != RunStatus::running;
  const auto total = [&](std::uint64_t value) {
    return totals ? static_cast<double>(value) : kUnknown;
  };
  run.drops = total(s.drops());
  run.marks = total(s.counters.marks);
  run.retransmissions = totals || !s.has_jobs() ? static_cast<double>(s.retransmissions) : kUnknown;
  run.pause_frames = total(s.counters.pause_frames);
  run.cpu_s = totals ? s.state.cpu_seconds : kUnknown;
  run.hash = s.state.hash;
  run.flows_finished = s.finished;
  run.flows_unfinished = s.unfinished;
  run.jobs_finished = s.jobs.finished;
  run.jobs_unfinished = s.jobs.unfinished;
  return run;
}

namespace {
std::string unfinished_text(std::uint64_t some, std::uint64_t all, std::string_view what) {
  return fmt::format("{} of {} {}{} {} unfinished", some, all, what, all == 1 ? "" : "s",
                     some == 1 ? "is" : "are");
}
}  // namespace

std::vector<Notice> notices_of(const std::string& file, const Summary& s) {
  std::vector<Notice> notices;
  const auto warn = [&](const std::string& text) {
    notices.push_back({"warning", fmt::format("{}: {}", file, text)});
  };
  const std::string until = time_text(s.state.now - Instant{});
  std::string left;
  if (s.unfinished > 0) {
    left += unfinished_text(s.unfinished, s.finished + s.unfinished, "flow");
  }
  if (s.jobs.unfinished > 0) {
    left +=
        (left.empty() ? "" : " and ") + unfinished_text(s.jobs.unfinished, s.jobs.count(), "job");
  }
  const std::string rest =
      left.empty() ? "" : fmt::format("; {}, and the figures are of the others", left);
  switch (s.state.status) {
    case RunStatus::finished:
      if (!left.empty()) warn(fmt::format("{}; the figures are of the others", left));
      break;
    case RunStatus::time_limit:
      warn(fmt::format("the run stopped at its time limit, {}{}", until, rest));
      break;
    case RunStatus::stalled:
      warn(fmt::format("the run stalled at {}: nothing more would have happened{}", until, rest));
      break;
    case RunStatus::running:
      warn(s.state.live
               ? fmt::format("the run is still going on, at {}; its totals (drops, marks) are not "
                             "there yet{}",
                             until, rest)
               : fmt::format("partial: the program that wrote it died at or after {}; its totals "
                             "(drops, marks) are missing{}",
                             until, rest));
      break;
    case RunStatus::interrupted:
      warn(fmt::format("partial: the run was interrupted at {}{}", until, rest));
      break;
    case RunStatus::disk_full:
      warn(fmt::format("partial: the disk was full at {}; what came later is missing{}", until,
                       rest));
      break;
    case RunStatus::failed:
      warn(fmt::format("partial: writing it failed at {}; what came later is missing{}", until,
                       rest));
      break;
  }
  if (s.counters.lossless_violations > 0) {
    warn(
        fmt::format("{} packets were dropped though the network is lossless: a port's headroom "
                    "was full",
                    s.counters.lossless_violations));
  }
  if (s.counters.pause_loops > 0) {
    warn(fmt::format("ports waited for each other in {} ring{}: a deadlock while it lasts",
                     s.counters.pause_loops, s.counters.pause_loops == 1 ? "" : "s"));
  }
  return notices;
}

Table run_table(std::string id, const Summary& s) {
  Table table{std::move(id), "The run in figures", {{"what", "left"}, {"value", "right"}}, {}};
  const auto row = [&](const std::string& what, Cell value) {
    table.rows.push_back({Cell(what), std::move(value)});
  };
  const Run run = run_row("", s);
  row("scheme", label_of(s.run).name);
  row("seed", fmt::format("{}", s.run.seed));
  row("status", run.status);
  row("hosts", Cell(std::uint64_t{s.run.hosts}));
  row("host rate (Gb/s)", in_gbps(s.run.host_rate));
  row("base RTT (us)", in_us(s.run.base_rtt));
  row("sent", run.what);
  if (s.finished + s.unfinished > 0) {
    row("flows finished", Cell(s.finished));
    row("flows unfinished", Cell(s.unfinished));
    const auto time = [&](const char* what, Picoseconds value) {
      row(what, s.finished > 0 ? in_us(value) : kUnknown);
    };
    time("max FCT (us)", s.max_fct);
    time("p99 FCT (us)", s.p99_fct);
    time("p50 FCT (us)", s.p50_fct);
    time("mean FCT (us)", s.mean_fct);
  }
  if (s.has_jobs()) {
    row("jobs finished", Cell(s.jobs.finished));
    row("jobs unfinished", Cell(s.jobs.unfinished));
    const auto time = [&](const char* what, Picoseconds value) {
      row(what, s.jobs.finished > 0 ? in_us(value) : kUnknown);
    };
    time("max job (us)", s.jobs.max_time);
    time("p99 job (us)", s.jobs.p99_time);
    time("p50 job (us)", s.jobs.p50_time);
    time("mean job (us)", s.jobs.mean_time);
    time("min job (us)", s.jobs.min_time);
  }
  row("ideal (us)", run.ideal_us);
  row("slowdown (x)", run.slowdown);
  row("utilisation (share)", utilisation(s));
  row("drops", run.drops);
  row("marks", run.marks);
  row("retransmissions", run.retransmissions);
  const bool totals = !std::isnan(run.marks);
  if (totals) {
    row("timeouts", Cell(s.counters.timeouts));
    row("probes", Cell(s.counters.probes));
    row("deepest queue", size_text(s.counters.deepest_queue));
  }
  if (const transports::Descriptor* transport = transports::find(s.run.scheme).transport) {
    for (const metrics::CounterName& own : transport->counters)
      row(fmt::format("{}s", own.one), Cell(s.counted(own.name)));
  }
  if (s.run.pfc || s.counters.pause_frames > 0) {
    row("pause frames", run.pause_frames);
    if (totals) row("ports paused", Cell(s.counters.ports_paused));
    row("victim flows", Cell(s.victim_flows));
  }
  row("CPU seconds", run.cpu_s);
  row("version",
      s.run.commit.empty() ? s.run.version : fmt::format("{} ({})", s.run.version, s.run.commit));
  row("hash", run.hash);
  return table;
}

Table summary_table(std::string id, std::string title, std::span<const LabelledSummary> runs) {
  Table table{std::move(id), std::move(title), {}, {}};
  for (const char* name : {"run", "seed", "size"}) table.columns.push_back({name, "left"});
  for (const char* name : {"max (us)", "mean (us)", "p99 (us)", "ideal (us)", "x ideal", "drops",
                           "marks", "resent", "utilisation"}) {
    table.columns.push_back({name, "right"});
  }
  const bool paused = std::any_of(runs.begin(), runs.end(), [](const LabelledSummary& run) {
    return run.summary.run.pfc || run.summary.counters.pause_frames > 0;
  });
  if (paused) table.columns.push_back({"pause frames", "right"});
  for (const LabelledSummary& labelled : runs) {
    const Summary& s = labelled.summary;
    const Run run = run_row("", s);
    const auto size = scenario_size(s.run, "workload.size");
    std::vector<Cell> cells{labelled.label.name,
                            fmt::format("{}", s.run.seed),
                            size ? size_text(*size) : std::string(),
                            run.max_us,
                            run.mean_us,
                            run.p99_us,
                            run.ideal_us,
                            run.slowdown,
                            run.drops,
                            run.marks,
                            run.retransmissions,
                            utilisation(s)};
    if (paused) cells.emplace_back(run.pause_frames);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table workload_table(std::string id, std::string title, std::span<const LabelledSummary> runs) {
  Table table{std::move(id), std::move(title), {}, {}};
  // What is the same in all lines, or nothing, would only push the others off the page.
  const auto any = [&](auto&& wanted) {
    return std::any_of(runs.begin(), runs.end(), [&](const LabelledSummary& labelled) {
      const auto& all = labelled.summary.workloads;
      return std::any_of(all.begin(), all.end(), wanted);
    });
  };
  const bool several = runs.size() > 1;
  const bool behind = any([](const metrics::WorkloadSummary& w) { return w.unfinished > 0; });
  const bool iterated =
      any([](const metrics::WorkloadSummary& w) { return w.info.iterations > 1; });
  const auto column = [&](bool shown, const char* name, const char* align) {
    if (shown) table.columns.push_back({name, align});
  };
  column(several, "run", "left");
  column(several, "seed", "left");
  column(true, "workload", "left");
  column(true, "sent", "left");
  column(true, "finished", "right");
  column(behind, "unfinished", "right");
  for (const char* name : {"max (us)", "ideal (us)", "x ideal", "mean (us)", "p99 (us)"})
    column(true, name, "right");
  column(iterated, "an iteration (us)", "right");
  for (const char* name : {"from (us)", "to (us)"}) column(true, name, "right");
  for (const LabelledSummary& labelled : runs) {
    for (const metrics::WorkloadSummary& w : labelled.summary.workloads) {
      const auto time = [&](Picoseconds value) { return w.finished > 0 ? in_us(value) : kUnknown; };
      const double most = time(w.max_time);
      const double ideal = w.info.ideal > ps(0) ? in_us(w.info.ideal) : kUnknown;
      const double over = w.unfinished == 0 ? most / ideal : kUnknown;
      std::vector<Cell>& row = table.rows.emplace_back();
      if (several) {
        row.emplace_back(labelled.label.name);
        row.emplace_back(fmt::format("{}", labelled.summary.run.seed));
      }
      row.emplace_back(w.info.name);
      row.emplace_back(fmt::format("{}, {}", w.info.kind, size_text(w.info.bytes)));
      row.emplace_back(w.finished);
      if (behind) row.emplace_back(w.unfinished);
      for (const double value : {most, ideal, over, time(w.mean_time), time(w.p99_time)})
        row.emplace_back(value);
      if (iterated) row.emplace_back(w.info.iterations > 1 ? time(w.mean_iteration()) : kUnknown);
      row.emplace_back(time(w.start - Instant{}));
      row.emplace_back(time(w.end - Instant{}));
    }
  }
  return table;
}

// --- Completion times ----------------------------------------------------------------------------

namespace {
constexpr const char* kIdeal = "ideal";

/// The place of a label among those seen so far; at its end where it is new.
template <class Labels, class Find>
std::size_t place_of(Labels& seen, const Find& wanted) {
  const auto found = std::find(seen.begin(), seen.end(), wanted);
  if (found != seen.end()) return static_cast<std::size_t>(found - seen.begin());
  seen.push_back(wanted);
  return seen.size() - 1;
}

Point with_spread(double x, const Spread& spread) {
  if (spread.count < 2) return {x, spread.median};
  return {x, spread.median, spread.low, spread.high};
}
}  // namespace

XyFigure fct_by_size(FigureHead head, std::span<const SizedRun> runs, std::string y_label) {
  XyFigure figure{std::move(head), {}, {}, {}, {}};
  figure.x = {"message size", "B", "log", {}};
  figure.y = {std::move(y_label), "us", "log", {}};
  std::vector<Label> labels;
  std::vector<std::map<Bytes, std::vector<double>>> values;
  std::map<Bytes, std::vector<double>> ideals;
  std::size_t most = 0;
  for (const SizedRun& run : runs) {
    const std::size_t i = place_of(labels, run.label);
    values.resize(labels.size());
    auto& here = values[i][run.size];
    here.push_back(run.value_us);
    most = std::max(most, here.size());
    ideals[run.size].push_back(run.ideal_us);
  }
  const auto line = [](const std::map<Bytes, std::vector<double>>& by_size, bool spread) {
    std::vector<Point> points;
    for (const auto& [size, of_size] : by_size) {
      Spread s = spread_of(of_size);
      if (s.count == 0) continue;
      if (!spread) s.count = 1;
      points.push_back(with_spread(static_cast<double>(size.count()), s));
    }
    return points;
  };
  for (std::size_t i = 0; i < labels.size(); ++i) {
    figure.series.push_back({labels[i], "line", false, line(values[i], true)});
  }
  auto ideal = line(ideals, false);
  if (!ideal.empty()) {
    figure.series.push_back({{kIdeal, "ideal"}, "line", true, std::move(ideal)});
  }
  if (figure.caption.empty()) {
    figure.caption = fmt::format(
        "The {} by message size. The dashed line is what physics allows{}.", figure.y.label,
        most > 1 ? "; bars show the least and the largest of up to " + std::to_string(most) +
                       " seeds around their median"
                 : "");
  }
  return figure;
}

namespace {
/// Of the rows of `flows` that `counts` is true of.
template <class Counts>
Result<Times, FileError> times_of_rows(metrics::ResultReader& reader, Counts&& counts) {
  const auto flows = reader.flows();
  if (!flows) return flows.error();
  Times times{label_of(reader.run()), {}, 0};
  for (const metrics::FlowRecord& flow : flows.value()) {
    if (counts(flow) && flow.end != Instant::never())
      times.us.push_back(in_us(flow.end - flow.start));
  }
  return times;
}
}  // namespace

Result<Times, FileError> flow_times(metrics::ResultReader& reader) {
  const metrics::RunInfo& run = reader.run();
  auto times = times_of_rows(reader, [&](const metrics::FlowRecord& flow) {
    return run.jobs == 0 || run.flows == 0 || flow.flow < run.flows;
  });
  if (!times) return times;
  const std::size_t done = times.value().us.size();
  times.value().unfinished = std::max<std::uint64_t>(run.flows, done) - done;
  return times;
}

Result<Times, FileError> message_times(metrics::ResultReader& reader) {
  const metrics::RunInfo& run = reader.run();
  return times_of_rows(reader,
                       [&](const metrics::FlowRecord& flow) { return flow.flow >= run.flows; });
}

Result<Times, FileError> job_times(metrics::ResultReader& reader) {
  const auto jobs = reader.jobs();
  if (!jobs) return jobs.error();
  Times times{label_of(reader.run()), {}, 0};
  for (const metrics::JobRecord& job : jobs.value()) {
    if (job.end != Instant::never()) times.us.push_back(in_us(job.end - job.start));
  }
  times.unfinished = std::max<std::uint64_t>(reader.run().jobs, times.us.size()) - times.us.size();
  return times;
}

namespace {
/// Which of `count` values in order are drawn: all, or an even choice and the slowest.
std::vector<std::size_t> chosen_ranks(std::size_t count) {
  std::vector<std::size_t> ranks;
  if (count <= kCdfPoints) {
    for (std::size_t i = 0; i < count; ++i) ranks.push_back(i);
    return ranks;
  }
  constexpr std::size_t kSlowest = 50;
  constexpr std::size_t kEven = kCdfPoints - kSlowest;
  for (std::size_t i = 0; i < kEven; ++i) ranks.push_back(i * (count - 1) / (kEven - 1));
  for (std::size_t i = count - kSlowest; i < count; ++i) ranks.push_back(i);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}
}  // namespace

XyFigure cdf(FigureHead head, std::span<const Times> times, std::string x_label) {
  XyFigure figure{std::move(head), {}, {}, {}, {}};
  figure.x = {x_label, "us", "linear", {}};
  figure.y = {"share that took no longer", "share", "linear", {}};
  std::vector<Label> labels;
  std::vector<std::vector<double>> values;
  std::vector<std::uint64_t> unfinished;
  for (const Times& one : times) {
    const std::size_t i = place_of(labels, one.label);
    values.resize(labels.size());
    unfinished.resize(labels.size());
    values[i].insert(values[i].end(), one.us.begin(), one.us.end());
    unfinished[i] += one.unfinished;
  }
  bool thinned = false;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::vector<double>& v = values[i];
    if (unfinished[i] > 0) {
      figure.notices.push_back(fmt::format("{}: {} unfinished, and not among those shown",
                                           labels[i].name, unfinished[i]));
    }
    if (v.empty()) continue;
    std::sort(v.begin(), v.end());
    thinned = thinned || v.size() > kCdfPoints;
    // From the axis up, so that a single value is a line that can be seen.
    Series series{labels[i], "step", false, {{v.front(), 0}}};
    for (const std::size_t rank : chosen_ranks(v.size())) {
      const double share = static_cast<double>(rank + 1) / static_cast<double>(v.size());
      // Of equal times the last one's share is what counts.
      if (series.points.size() > 1 && series.points.back().x == v[rank]) {
        series.points.back().y = share;
      } else {
        series.points.push_back({v[rank], share});
      }
    }
    figure.series.push_back(std::move(series));
  }
  if (figure.caption.empty()) {
    figure.caption = fmt::format("How {}{} are distributed: the share that took no longer{}.",
                                 x_label, x_label.ends_with('s') ? "" : "s",
                                 thinned ? "; an even choice of points is drawn, with the "
                                           "50 slowest among it"
                                         : "");
  }
  return figure;
}

BarsFigure bars(FigureHead head, Axis y, std::span<const BarValue> values) {
  BarsFigure figure{std::move(head), {}, false, std::move(y), {}, {}};
  std::vector<Label> labels;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> cells;
  for (const BarValue& value : values) {
    const std::size_t category = place_of(figure.categories, value.category);
    cells[{place_of(labels, value.label), category}].push_back(value.value);
  }
  std::size_t most = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    BarSeries series{labels[i], {}, {}, {}};
    bool any = false;
    for (std::size_t c = 0; c < figure.categories.size(); ++c) {
      const auto found = cells.find({i, c});
      const Spread s = found == cells.end() ? Spread{} : spread_of(found->second);
      series.values.push_back(s.median);
      series.low.push_back(s.count > 1 ? s.low : kUnknown);
      series.high.push_back(s.count > 1 ? s.high : kUnknown);
      any = any || s.count > 1;
      most = std::max(most, s.count);
    }
    if (!any) {
      series.low.clear();
      series.high.clear();
    }
    figure.series.push_back(std::move(series));
  }
  if (figure.caption.empty()) {
    figure.caption = fmt::format(
        "{} side by side{}.", figure.y.label.empty() ? "Values" : figure.y.label,
        most > 1 ? "; of several seeds the median, with the least and the largest" : "");
  }
  return figure;
}

}  // namespace strack::report
