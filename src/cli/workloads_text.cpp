#include "cli/workloads_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json_text.h"
#include "cli/text.h"

namespace strack::cli {
namespace {

using metrics::Summary;
using metrics::WorkloadSummary;

std::string done_text(const WorkloadSummary& w) {
  const std::string_view what = w.info.jobs > 0 ? "job" : "flow";
  const std::uint64_t all = w.finished + w.unfinished;
  return fmt::format("{}{} {}{}", w.unfinished > 0 ? fmt::format("{} of ", w.finished) : "", all,
                     what, all == 1 ? "" : "s");
}

/// "collective, 8 MB", and its priority where it has one.
std::string sent_text(const Summary& run, std::size_t which) {
  const metrics::WorkloadInfo& info = run.workloads[which].info;
  std::string text = fmt::format("{}, {}", info.kind, size_text(info.bytes));
  const std::string key = fmt::format("workload.{}.priority", which);
  for (const metrics::Setting& setting : run.run.settings) {
    if (setting.key == key && setting.value != "0")
      text += fmt::format(", priority {}", setting.value);
  }
  return text;
}

/// Or a dash where none has finished.
bool all_done(const WorkloadSummary& w) { return w.finished > 0 && w.unfinished == 0; }

std::string time_or_dash(const WorkloadSummary& w, Picoseconds time) {
  return w.finished > 0 ? us_text(time) : "-";
}

std::string times_json(const WorkloadSummary& w) {
  const auto time = [&](Picoseconds value) {
    return w.finished > 0 ? fmt::format("{}", value.count()) : std::string("null");
  };
  return fmt::format(
      "\"finished\": {}, \"unfinished\": {}, \"start_ps\": {}, \"end_ps\": {}, \"max_ps\": {}, "
      "\"mean_ps\": {}, \"p50_ps\": {}, \"p99_ps\": {}, \"mean_iteration_ps\": {}",
      w.finished, w.unfinished, time(w.start - Instant{}), time(w.end - Instant{}),
      time(w.max_time), time(w.mean_time), time(w.p50_time), time(w.p99_time),
      time(w.mean_iteration()));
}

/// What a rank sends while it lasts, on average.
double gbps_of(const metrics::CommunicationSummary& c) {
  const double each = static_cast<double>(c.bytes.count()) / static_cast<double>(c.count) / c.ranks;
  return c.mean_time > ps(0) ? 8e3 * each / static_cast<double>(c.mean_time.count()) : 0;
}

/// How many times as long, where both have finished all.
std::string price_text(const WorkloadSummary& alone, const WorkloadSummary& together,
                       Picoseconds WorkloadSummary::*time) {
  if (!all_done(alone) || !all_done(together)) return "-";
  return ratio_text(together.*time, alone.*time);
}

}  // namespace

std::string workloads_text(const Summary& summary) {
  Table table({"workload", "sent", "done", "max us", "mean us", "p99 us", "iteration us",
               "ideal us", "x ideal", "from us", "to us"},
              2);
  for (std::size_t i = 0; i < summary.workloads.size(); ++i) {
    const WorkloadSummary& w = summary.workloads[i];
    // One that runs alone (run.only) may be any of the scenario's.
    table.add({w.info.name,
               summary.workloads.size() > 1
                   ? sent_text(summary, i)
                   : fmt::format("{}, {}", w.info.kind, size_text(w.info.bytes)),
               done_text(w), time_or_dash(w, w.max_time), time_or_dash(w, w.mean_time),
               time_or_dash(w, w.p99_time),
               w.info.iterations > 1 ? time_or_dash(w, w.mean_iteration()) : "-",
               us_text(w.info.ideal), all_done(w) ? ratio_text(w.max_time, w.info.ideal) : "-",
               time_or_dash(w, w.start - Instant{}), time_or_dash(w, w.end - Instant{})});
  }
  return table.text();
}

std::string workloads_json(const Summary& summary) {
  std::string text;
  for (const WorkloadSummary& w : summary.workloads) {
    text += fmt::format(
        "{}{{\"name\": {}, \"kind\": {}, \"flows\": {}, \"jobs\": {}, \"iterations\": {}, "
        "\"compute_ps\": {}, \"bytes\": {}, \"ideal_ps\": {}, {}}}",
        text.empty() ? "" : ", ", json_string(w.info.name), json_string(w.info.kind), w.info.flows,
        w.info.jobs, w.info.iterations, w.info.compute.count(), w.info.bytes.count(),
        w.info.ideal.count(), times_json(w));
  }
  return "[" + text + "]";
}

std::string communications_text(const Summary& summary) {
  std::string text;
  for (const metrics::ExposedSummary& e : summary.exposed) {
    const std::uint32_t times =
        std::max(1u, summary.workloads[e.workload].info.iterations);  // one may do several
    text += fmt::format(
        "{}: {} us a step, {} us of it computation and {} us exposed communication "
        "({:.1f} %)\n",
        summary.workloads[e.workload].info.name, us_text(e.time / times),
        us_text(e.computation / times), us_text(e.exposed() / times),
        100.0 * static_cast<double>(e.exposed().count()) /
            static_cast<double>(std::max<std::int64_t>(1, e.time.count())));
  }
  if (summary.communications.empty()) return text;
  Table table({"communication", "workload", "count", "ranks", "each", "mean us", "max us",
               "waits us", "Gb/s a rank"},
              2);
  for (const metrics::CommunicationSummary& c : summary.communications) {
    const auto count = static_cast<std::int64_t>(c.count);
    table.add({c.name, summary.workloads[c.workload].info.name, fmt::format("{}", c.count),
               fmt::format("{}", c.ranks), size_text(bytes(c.bytes.count() / count)),
               us_text(c.mean_time), us_text(c.max_time), us_text(c.mean_wait),
               fmt::format("{:.1f}", gbps_of(c))});
  }
  return text + "\n" + table.text();
}

std::string communications_json(const Summary& summary) {
  std::string text;
  for (const metrics::CommunicationSummary& c : summary.communications) {
    text += fmt::format(
        "{}{{\"name\": {}, \"workload\": {}, \"count\": {}, \"ranks\": {}, \"bytes\": {}, "
        "\"mean_ps\": {}, \"max_ps\": {}, \"mean_wait_ps\": {}}}",
        text.empty() ? "" : ", ", json_string(c.name),
        json_string(summary.workloads[c.workload].info.name), c.count, c.ranks, c.bytes.count(),
        c.mean_time.count(), c.max_time.count(), c.mean_wait.count());
  }
  return "[" + text + "]";
}

std::string exposed_json(const Summary& summary) {
  std::string text;
  for (const metrics::ExposedSummary& e : summary.exposed) {
    text += fmt::format(
        "{}{{\"workload\": {}, \"time_ps\": {}, \"computation_ps\": {}, "
        "\"exposed_ps\": {}}}",
        text.empty() ? "" : ", ", json_string(summary.workloads[e.workload].info.name),
        e.time.count(), e.computation.count(), e.exposed().count());
  }
  return "[" + text + "]";
}

std::string cost_text(const std::vector<CostRuns>& runs) {
  const bool labelled = runs.size() > 1;
  std::vector<std::string> header{"workload", "sent"};
  if (labelled) header.insert(header.begin(), "run");
  const std::size_t left = header.size();
  for (const char* name : {"alone: max us", "mean us", "p99 us", "together: max us", "mean us",
                           "p99 us", "price: x max", "x mean", "x p99"})
    header.emplace_back(name);
  Table table(std::move(header), left);
  for (const CostRuns& run : runs) {
    for (std::size_t i = 0; i < run.alone.size(); ++i) {
      const WorkloadSummary& alone = run.alone[i].workloads.front();
      const WorkloadSummary& together = run.together.workloads[i];
      std::vector<std::string> cells{alone.info.name, sent_text(run.together, i)};
      if (labelled) cells.insert(cells.begin(), run.label);
      for (const WorkloadSummary* w : {&alone, &together}) {
        for (const Picoseconds time : {w->max_time, w->mean_time, w->p99_time})
          cells.push_back(time_or_dash(*w, time));
      }
      for (const auto time :
           {&WorkloadSummary::max_time, &WorkloadSummary::mean_time, &WorkloadSummary::p99_time})
        cells.push_back(price_text(alone, together, time));
      table.add(std::move(cells));
    }
  }
  return table.text() + "price: how many times as long beside the others as alone\n";
}

std::string cost_csv(const std::vector<CostRuns>& runs) {
  Table table({"scheme", "seed", "run", "workload", "kind", "bytes", "alone_max_us",
               "alone_mean_us", "alone_p99_us", "together_max_us", "together_mean_us",
               "together_p99_us", "price_max", "price_mean", "price_p99"},
              5);
  const auto cell = [](const std::string& text) { return text == "-" ? std::string() : text; };
  for (const CostRuns& run : runs) {
    for (std::size_t i = 0; i < run.alone.size(); ++i) {
      const WorkloadSummary& alone = run.alone[i].workloads.front();
      const WorkloadSummary& together = run.together.workloads[i];
      std::vector<std::string> cells{run.together.run.scheme,
                                     fmt::format("{}", run.together.run.seed),
                                     run.label,
                                     alone.info.name,
                                     alone.info.kind,
                                     fmt::format("{}", alone.info.bytes.count())};
      for (const WorkloadSummary* w : {&alone, &together}) {
        for (const Picoseconds time : {w->max_time, w->mean_time, w->p99_time})
          cells.push_back(cell(time_or_dash(*w, time)));
      }
      for (const auto time :
           {&WorkloadSummary::max_time, &WorkloadSummary::mean_time, &WorkloadSummary::p99_time})
        cells.push_back(cell(price_text(alone, together, time)));
      table.add(std::move(cells));
    }
  }
  return table.csv();
}

std::string cost_json(const std::vector<CostRuns>& runs) {
  std::string text;
  for (const CostRuns& run : runs) {
    for (std::size_t i = 0; i < run.alone.size(); ++i) {
      const WorkloadSummary& alone = run.alone[i].workloads.front();
      const WorkloadSummary& together = run.together.workloads[i];
      const auto price = [&](Picoseconds WorkloadSummary::*time) {
        const std::string words = price_text(alone, together, time);
        return words == "-" ? std::string("null") : words;
      };
      text += fmt::format(
          "{}{{\"scheme\": {}, \"seed\": {}, \"workload\": {}, \"alone\": {{{}}}, \"together\": "
          "{{{}}}, \"price_max\": {}, \"price_mean\": {}, \"price_p99\": {}}}",
          text.empty() ? "[\n  " : ",\n  ", json_string(run.together.run.scheme),
          run.together.run.seed, json_string(alone.info.name), times_json(alone),
          times_json(together), price(&WorkloadSummary::max_time),
          price(&WorkloadSummary::mean_time), price(&WorkloadSummary::p99_time));
    }
  }
  return text.empty() ? "[]" : text + "\n]";
}

}  // namespace strack::cli
