#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json_text.h"
#include "cli/data_text.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/sim.h"
#include "cli/summary_text.h"
#include "cli/text.h"
#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "run/checkpoint.h"
#include "run/run.h"
#include "sim/cluster/rank_exchange.h"
#include "sim/mpi/engine.h"
#include "sim/scenario/expected_time.h"
#include "sim/scenario/lossless.h"

namespace strack::cli {
namespace {

using metrics::RunStatus;

/// Shows on the terminal how a run goes on.
class Terminal final : public run::Watcher {
 public:
  explicit Terminal(bool quiet) : quiet_(quiet), line_(!quiet) {}

  void on_progress(const sim::Progress& progress) override {
    if (line_.due()) line_.show(describe(progress, line_.seconds()));
  }
  void on_warning(const std::string& text) override {
    if (quiet_) return;
    line_.clear();
    fmt::print(stderr, "warning: {}\n", text);
  }
  void on_note(const std::string& text) override {
    if (quiet_) return;
    line_.clear();
    fmt::print(stderr, "note: {}\n", text);
  }

 private:
  bool quiet_;
  ProgressLine line_;
};

Bytes peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return bytes(usage.ru_maxrss * 1024);
}

/// "16 flows", "8 jobs of 32 ranks, 15872 messages"
std::string what_is_sent(const workload::Workload& work) {
  if (work.jobs.empty()) return count_of(work.flows.size(), "flow");
  std::uint64_t messages = 0;
  std::uint32_t fewest = work.jobs.front().graph->ranks();
  std::uint32_t most = fewest;
  for (const workload::Job& job : work.jobs) {
    messages += job.graph->messages();
    fewest = std::min(fewest, job.graph->ranks());
    most = std::max(most, job.graph->ranks());
  }
  std::string text = fmt::format(
      "{} of {}, {}", count_of(work.jobs.size(), "job"),
      fewest == most ? count_of(most, "rank") : fmt::format("{} to {} ranks", fewest, most),
      count_of(messages, "message"));
  if (!work.flows.empty()) text += ", " + count_of(work.flows.size(), "flow");
  return text;
}

/// "ToR 256 MB, spine 256 MB; headroom at host links 108.3 KB, at fabric links 108.3 KB"
std::string pfc_text(const sim::SimConfig& config) {
  std::string buffers;
  std::string headrooms;
  // A tier's lower ports are the upper ends of the tier of links below it.
  const std::vector<sim::BufferPlan> plans = sim::buffer_plans(config);
  constexpr std::array kLinks{"host", "fabric", "core"};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const char* comma = i == 0 ? "" : ", ";
    buffers += fmt::format("{}{} {}", comma, plans[i].tier, size_text(plans[i].buffer));
    headrooms += fmt::format("{}at {} links {}", comma, kLinks[i],
                             size_text(plans[i].groups.front().headroom));
  }
  return fmt::format("{}; headroom {}", buffers, headrooms);
}

/// Within a factor of two, so with one digit: "about 3 s", "about 20 min".
std::string run_time_text(double seconds) {
  if (seconds < 1) return "less than a second";
  const auto rough = [](double value) {
    const double scale = std::pow(10.0, std::floor(std::log10(value)));
    return std::round(value / scale) * scale;
  };
  if (seconds < 120) return fmt::format("about {:.0f} s", rough(seconds));
  if (seconds < 7'200) return fmt::format("about {:.0f} min", rough(seconds / 60));
  return fmt::format("about {:.0f} h", rough(seconds / 3'600));
}

/// What has to be recorded beside what the scenario says, so that there is something to export.
std::vector<std::string> recordings(const RunOptions& options,
                                    const std::vector<std::string>& set) {
  std::vector<std::string> more;
  if (!options.exports.any()) return more;
  const auto loaded = sim::load(options.file, set);
  if (!loaded) return more;  // which whoever plans the run will say
  const sim::Scenario& scenario = loaded.value();
  const bool jobs = std::any_of(scenario.workloads.begin(), scenario.workloads.end(),
                                [](const sim::WorkloadSpec& w) { return w.has_jobs(); });
  if (!options.exports.perfetto.empty() && jobs && !scenario.config.record.messages)
    more.emplace_back("record.messages=on");
  const std::uint32_t inspected = options.exports.flow.value_or(0) + 1;
  if (!options.exports.pcap.empty() && scenario.config.record.inspect < inspected)
    more.push_back(fmt::format("record.inspect={}", inspected));
  return more;
}

/// What a run reads and writes besides.
std::vector<std::filesystem::path> files_of(const run::Plan& plan) {
  std::vector<std::filesystem::path> files{plan.out, run::checkpoint_path(plan.out)};
  for (const metrics::Setting& setting : plan.info.settings) {
    if (setting.key.ends_with(".file") && !setting.value.empty())
      files.push_back(plan.request.file.parent_path() / setting.value);
  }
  return files;
}

/// What is asked for beside the result file.
int write_exports(const RunOptions& options, const std::filesystem::path& result, bool goes_on,
                  bool quiet) {
  if (!options.exports.any()) return 0;
  if (goes_on) {  // [D124]
    if (!quiet)
      fmt::print("what --perfetto and --pcap name is written when the run has come to its end\n");
    return 0;
  }
  ExportOptions exports = options.exports;
  exports.file = result;
  exports.force = true;  // it was looked at before the run
  exports.quiet = quiet;
  return sim_export(exports);
}

/// Before it begins: what is run.
void announce(const std::filesystem::path& file, const run::Plan& plan) {
  const metrics::RunInfo& info = plan.info;
  fmt::print("{}: {}, seed {}, {} hosts, {}, {} in all\n", info.name, info.scheme, info.seed,
             info.hosts, what_is_sent(plan.work), size_text(info.bytes));
  if (sim::is_trace_name(file)) {
    const sim::TopologyParams& t = plan.config.topology;
    if (t.graph == nullptr)
      fmt::print(
          "no scenario: {} racks of {} hosts at {}, {} tiers, oversubscription {}:{}, base RTT "
          "{}; --topo, --scheme and --set change that\n",
          t.racks, t.hosts_per_rack, rate_text(t.host_rate), t.tiers,
          plan.scenario.oversubscription.num, plan.scenario.oversubscription.den,
          time_text(info.base_rtt));
  }
  std::fflush(stdout);
  for (const std::string& note : plan.scenario.about) fmt::print(stderr, "note: {}\n", note);
  for (const std::string& note : plan.scenario.notes) fmt::print(stderr, "warning: {}\n", note);
  if (plan.seeds > 1) {
    fmt::print("the scenario has {} seeds; `strack sim sweep` runs them all\n", plan.seeds);
  }
  std::fflush(stdout);
}

/// Trouble that was to come after everything was over.
void note_unmet(const run::Plan& plan, Instant end) {
  std::size_t late = 0;
  Instant first = Instant::never();
  const auto look = [&](Instant from) {
    if (from < end) return;
    ++late;
    first = std::min(first, from);
  };
  for (const sim::Failure& failure : plan.config.failures.failures) look(failure.from);
  for (const sim::Impairment& bad : plan.config.failures.impairments) look(bad.from);
  if (late == 0) return;
  fmt::print("note: {} began after the end at {}, the first at {}: no packet met {}\n",
             late == 1 ? std::string("1 failure or impairment")
                       : fmt::format("{} failures or impairments", late),
             time_text(end - Instant{}), time_text(first - Instant{}), late == 1 ? "it" : "them");
}

/// Says why there is no run, where this rank is the one to say it.
int fail_with(const run::Problem& problem, sim::Ranks* ranks) {
  int status = 2;
  if (!problem.message.empty()) {
    status = fail(ranks != nullptr && ranks->rank() != 0
                      ? fmt::format("rank {}: {}", ranks->rank(), problem.message)
                      : problem.message);
  }
  std::fflush(nullptr);
  if (problem.fatal && ranks != nullptr) ranks->abort();
  return status;
}

/// Whether what is asked for beside the result can be had: before hours of simulation, not after.
int check_exports(const RunOptions& options, const run::Plan& plan, sim::Ranks* ranks) {
  if (const int status = check_export(options.exports, files_of(plan))) return status;
  if (options.exports.pcap.empty()) return 0;
  const std::string why = refuses_capture(plan.info, options.exports.flow);
  return why.empty() ? 0 : fail_with({fmt::format("--pcap: {}", why)}, ranks);
}

run::Request request_of(const RunOptions& options, const std::vector<std::string>& set,
                        sim::Engine engine, sim::Ranks* ranks) {
  run::Request request{options.file, set,           options.seed, options.threads,
                       options.out,  options.force, engine,       ranks};
  request.checkpoint.every_seconds = options.checkpoint_minutes * 60;
  request.checkpoint.fresh = options.fresh;
  return request;
}

/// Plans a run; of several ranks that cannot, one says so.
Result<run::Plan, run::Problem> plan_together(const run::Request& request) {
  auto planned = run::plan(request);
  if (request.ranks == nullptr) return planned;
  sim::Vote vote;
  try {
    vote = sim::vote(*request.ranks, planned.ok());
  } catch (const sim::RankLost& lost) {
    return run::Problem{planned ? lost.what() : planned.error().message, true};
  }
  if (vote.all) return planned;
  if (planned || (!vote.first && request.ranks->rank() != 0)) return run::Problem{};
  return planned;
}

/// For programs, or for spreadsheets.
int print_figures(const std::filesystem::path& file, bool json) {
  const auto summary = metrics::summarise(file);
  if (!summary) return fail(summary.error().message);
  const std::vector<NamedSummary> data{{file.string(), summary.value()}};
  fmt::print("{}", json ? json_list(data) : csv_list(data));
  return 0;
}

}  // namespace

int sim_run(const RunOptions& options) {
  std::vector<std::string> set = options.set;
  if (!options.topo.empty()) {
    // Named from here, not from beside the scenario.
    set.push_back(
        fmt::format("topology.file=\"{}\"", std::filesystem::absolute(options.topo).string()));
  }
  if (!options.scheme.empty()) set.push_back("transport.scheme=" + options.scheme);
  if (options.dry_run) return sim_show({options.file, set, options.seed, options.json});
  if (const int status = check_export(options.exports, {options.file, options.topo, options.out}))
    return status;
  for (std::string& one : recordings(options, set)) set.push_back(std::move(one));
  sim::Engine engine = sim::engine_named(options.engine);
  if (options.engine.empty() && sim::started_by_mpi()) engine = sim::Engine::mpi;
  sim::Ranks* ranks = nullptr;
  if (engine == sim::Engine::mpi) {
    const auto opened = sim::open_mpi();
    if (!opened) return fail(opened.error());
    ranks = opened.value();
  }
  const bool first = ranks == nullptr || ranks->rank() == 0;  // who speaks
  const bool quiet = options.quiet || options.json || options.csv || !first;
  const auto planned = plan_together(request_of(options, set, engine, ranks));
  if (!planned) return fail_with(planned.error(), ranks);
  const run::Plan& plan = planned.value();
  const metrics::RunInfo& info = plan.info;
  if (const int status = check_exports(options, plan, ranks)) return status;
  if (!quiet) announce(options.file, plan);
  std::string replay = fmt::format("strack sim run {}", options.file.string());
  for (const std::string& one : set) replay += fmt::format(" --set '{}'", one);
  replay += fmt::format(" --seed {} --out replay.db", info.seed);
  set_replay_hint(replay.c_str());
  const auto executed = [&] {
    Terminal terminal(quiet);
    return run::execute(plan, terminal, stop_on_signals());
  }();
  set_replay_hint(nullptr);
  if (!executed) return fail_with(executed.error(), ranks);
  const run::Outcome& outcome = executed.value();

  if (!quiet) {
    const auto summary = metrics::summarise(plan.out);
    if (!summary) return fail(summary.error().message);
    const std::string warnings = warnings_text(plan.out.string(), summary.value());
    fmt::print("\n{}\n{}", run_text(summary.value()), warnings);
    if (outcome.status == RunStatus::finished) note_unmet(plan, outcome.end);
    const double hops = static_cast<double>(outcome.counters.packet_hops) / 1e6;
    const auto per = [hops](double seconds) { return seconds > 0 ? hops / seconds : 0; };
    const auto rough = [](double value) {  // 14.2, 0.045
      return value >= 1 ? fmt::format("{:.1f}", value) : fmt::format("{:.2g}", value);
    };
    fmt::print("took {} s: {} million packet-hops per second, {} per CPU-second; {} of memory\n",
               rough(outcome.wall_seconds), rough(per(outcome.wall_seconds)),
               rough(per(outcome.cpu_seconds)), size_text(peak_memory()));
    fmt::print("results: {}\n", plan.out.string());
    if (!outcome.goes_on.empty()) fmt::print("{}\n", outcome.goes_on);
  }
  if ((options.json || options.csv) && first) {
    if (const int status = print_figures(plan.out, options.json)) return status;
  }
  if (first) {
    if (const int status = write_exports(options, plan.out, outcome.kept, quiet)) return status;
  }
  if (outcome.status == RunStatus::interrupted) return kInterruptedStatus;
  return outcome.status == RunStatus::stalled ? 1 : 0;
}

namespace {

// As comments, so that what is printed is a scenario file again.
void line(std::string_view name, const std::string& value) {
  fmt::print("# {:<14} {}\n", name, value);
}

void show_network(const sim::TopologyParams& t, const metrics::RunInfo& info) {
  const std::string sizes =
      fmt::format("{} switches, {} directed links", info.switches, info.links);
  const auto links = [](BitsPerSecond rate, Picoseconds latency) {
    return fmt::format("{}, {}", rate_text(rate), time_text(latency));
  };
  if (t.graph != nullptr) {
    line("network", fmt::format("{} hosts, {}, as its file has them", info.hosts, sizes));
    line("host links", fmt::format("up to {} each, {} or more", rate_text(t.host_rate),
                                   time_text(t.host_latency)));
    line("other links", fmt::format("up to {} each, {} or more", rate_text(t.fabric_rate),
                                    time_text(t.fabric_latency)));
  } else {
    line("network", fmt::format("{} hosts in {} racks, {}", info.hosts, t.racks, sizes));
    line("host links", links(t.host_rate, t.host_latency));
    line("fabric links", links(t.fabric_rate, t.fabric_latency));
    if (t.tiers == 3) line("core links", links(t.core_rate, t.core_latency));
  }
  if (t.has_servers()) {
    line("servers", fmt::format("{} of {} NICs; inside {}", info.hosts / t.nics_per_server,
                                t.nics_per_server, links(t.server_rate, t.server_latency)));
  }
}

/// What `sim show` says, for programs: times in ps, sizes in bytes.
std::string show_json(const run::Plan& plan) {
  const metrics::RunInfo& info = plan.info;
  std::string notes;
  for (const auto* some : {&plan.scenario.about, &plan.scenario.notes}) {
    for (const std::string& note : *some) notes += (notes.empty() ? "" : ", ") + json_string(note);
  }
  return fmt::format(
      "{{\"name\": {}, \"scheme\": {}, \"seed\": {}, \"seeds\": {}, \"hosts\": {}, \"switches\": "
      "{}, "
      "\"links\": {}, \"base_rtt_ps\": {}, \"bdp_bytes\": {}, \"flows\": {}, \"jobs\": {}, "
      "\"bytes\": "
      "{}, \"ideal_fct_ps\": {}, \"cpu_seconds\": {:.3g}, \"memory_bytes\": {}, \"notes\": [{}], "
      "\"scenario\": {}}}\n",
      json_string(info.name), json_string(info.scheme), info.seed, plan.seeds, info.hosts,
      info.switches, info.links, info.base_rtt.count(), info.bdp.count(), info.flows,
      plan.work.jobs.size(), info.bytes.count(), info.ideal_fct.count(),
      sim::expected_time(plan.scenario).cpu, sim::memory_estimate(plan.scenario).count(), notes,
      json_string(info.scenario));
}

}  // namespace

int sim_show(const ShowOptions& options) {
  const auto planned = run::plan({options.file, options.set, options.seed, {}, {}, false});
  if (!planned) return fail(planned.error().message);
  const run::Plan& plan = planned.value();
  const sim::SimConfig& config = plan.config;
  const metrics::RunInfo& info = plan.info;
  if (options.json) {
    fmt::print("{}", show_json(plan));
    return 0;
  }

  line("scenario", fmt::format("{}, {}, seed {}", info.name, info.scheme, info.seed));
  show_network(config.topology, info);
  line("base RTT", time_text(info.base_rtt));
  line("BDP", size_text(info.bdp));
  if (config.pfc.enabled) line("PFC", pfc_text(config));
  if (plan.work.jobs.empty()) {
    line("flows", fmt::format("{}, {} in all", info.flows, size_text(info.bytes)));
    line("ideal FCT", fmt::format("{}, of the slowest flow", time_text(info.ideal_fct)));
  } else {
    line("workload", fmt::format("{}, {} in all", what_is_sent(plan.work), size_text(info.bytes)));
    line("ideal time", fmt::format("{}, of the slowest job", time_text(info.ideal_fct)));
  }
  for (const std::string& note : plan.scenario.about) line("note", note);
  for (const std::string& note : plan.scenario.notes) line("note", note);
  const double seconds = sim::expected_time(plan.scenario).cpu;
  line("run time", fmt::format("{} with one thread", run_time_text(seconds)));
  line("memory", fmt::format("about {}", size_text(sim::memory_estimate(plan.scenario))));
  fmt::print("\n{}", info.scenario);
  if (!info.scenario.ends_with('\n')) fmt::print("\n");
  return 0;
}

int sim_summary(const SummaryOptions& options) {
  std::vector<SummaryRow> rows;
  std::string warnings;
  std::vector<NamedSummary> data;
  bool unreadable = false;
  for (const auto& file : options.files) {
    const auto summary = metrics::summarise(file);
    if (!summary) {
      // The others are still worth seeing.
      unreadable = true;
      std::fflush(stdout);
      fail(summary.error().message);
      continue;
    }
    const metrics::Summary& s = summary.value();
    warnings += warnings_text(file.string(), s);
    data.push_back({file.string(), s});
    rows.push_back({{s.run.name, s.run.scheme, fmt::format("{}", s.run.seed)}, s});
  }
  if (options.json || options.csv) {
    fmt::print("{}", options.json ? json_list(data) : csv_list(data));
  } else if (options.files.size() == 1 && rows.size() == 1) {
    fmt::print("{}{}{}", run_text(rows.front().summary), warnings.empty() ? "" : "\n", warnings);
  } else if (!rows.empty()) {
    const Differences swept = differences(rows);
    std::vector<std::string> names{"scenario", "scheme", "seed"};
    names.insert(names.end(), swept.keys.begin(), swept.keys.end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].labels.insert(rows[i].labels.end(), swept.values[i].begin(), swept.values[i].end());
    }
    fmt::print("{}{}{}", table_text(names, rows), warnings.empty() ? "" : "\n", warnings);
  }
  return unreadable ? 2 : 0;
}

}  // namespace strack::cli
