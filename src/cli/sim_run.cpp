#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <new>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/build_info.h"
#include "cli/ideal_fct.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/sim.h"
#include "cli/summary_text.h"
#include "cli/text.h"
#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "sim/scenario/lossless.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"

namespace strack::cli {
namespace {

using metrics::RunStatus;

/// Puts what happens into the file and on the terminal.
class Recorder final : public sim::Observer {
 public:
  Recorder(metrics::ResultWriter& writer, ProgressLine& line, bool quiet, std::atomic<bool>& stop,
           const std::vector<Picoseconds>& ideal_jobs)
      : writer_(writer), line_(line), quiet_(quiet), stop_(stop), ideal_jobs_(ideal_jobs) {}

  void on_flow(const metrics::FlowRecord& flow) override { writer_.add(flow); }
  void on_job(const metrics::JobRecord& job) override {
    metrics::JobRecord whole = job;
    whole.ideal = ideal_jobs_[job.job];
    writer_.add(whole);
  }
  void on_link_sample(const metrics::LinkSample& sample) override { writer_.add(sample); }
  void on_flow_sample(const metrics::FlowSample& sample) override { writer_.add(sample); }
  void on_flow_event(const metrics::FlowEvent& event) override { writer_.add(event); }
  void on_progress(const sim::Progress& progress) override {
    writer_.tick(progress.now);
    if (writer_.error()) stop_.store(true, std::memory_order_relaxed);
    if (line_.due()) line_.show(describe(progress, line_.seconds()));
  }
  void on_warning(const std::string& text) override {
    if (quiet_ || !said_.insert(text).second) return;
    line_.clear();
    fmt::print(stderr, "warning: {}\n", text);
  }

 private:
  metrics::ResultWriter& writer_;
  ProgressLine& line_;
  bool quiet_;
  std::set<std::string> said_;  ///< once is enough
  std::atomic<bool>& stop_;
  const std::vector<Picoseconds>& ideal_jobs_;
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Bytes peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return bytes(usage.ru_maxrss * 1024);
}

RunStatus status_of(sim::Ending ending) {
  switch (ending) {
    case sim::Ending::finished:
      return RunStatus::finished;
    case sim::Ending::time_limit:
      return RunStatus::time_limit;
    case sim::Ending::interrupted:
      return RunStatus::interrupted;
    case sim::Ending::stalled:
      return RunStatus::stalled;
  }
  return RunStatus::failed;
}

metrics::RunInfo header_of(const sim::Scenario& scenario, const sim::SimConfig& config,
                           const workload::Workload& work,
                           const std::vector<Picoseconds>& ideal_jobs) {
  const sim::Derived derived = sim::derive(config.topology, config.hosts, config.mtu());
  metrics::RunInfo run;
  run.name = scenario.name;
  run.scheme = sim::name_of(scenario.scheme);
  run.scenario = sim::to_toml(scenario);
  run.seed = config.seed;
  run.threads = config.threads;
  run.version = kBuildInfo.version;
  run.commit = kBuildInfo.commit;
  run.source = kBuildInfo.source;
  run.hosts = config.topology.hosts();
  run.links = derived.links;
  run.switches = derived.switches;
  run.flows = work.flows.size();
  run.jobs = work.jobs.size();
  for (const workload::Flow& flow : work.flows) run.bytes += flow.size;
  for (const workload::Job& job : work.jobs) run.bytes += job.graph->bytes();
  run.mtu = config.mtu();
  run.pfc = config.pfc.enabled;
  run.host_rate = config.topology.host_rate;
  run.base_rtt = derived.base_rtt;
  run.bdp = derived.bdp;
  run.ideal_fct = ideal_fct(config, work.flows);
  for (const Picoseconds ideal : ideal_jobs) run.ideal_fct = std::max(run.ideal_fct, ideal);
  return run;
}

/// "16 flows", "8 jobs of 32 ranks, 15872 messages"
std::string what_is_sent(const workload::Workload& work) {
  if (work.jobs.empty()) return fmt::format("{} flows", work.flows.size());
  std::uint64_t messages = 0;
  std::uint32_t fewest = work.jobs.front().graph->ranks();
  std::uint32_t most = fewest;
  for (const workload::Job& job : work.jobs) {
    messages += job.graph->messages();
    fewest = std::min(fewest, job.graph->ranks());
    most = std::max(most, job.graph->ranks());
  }
  return fmt::format(
      "{} job{} of {} ranks, {} messages", work.jobs.size(), work.jobs.size() == 1 ? "" : "s",
      fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most), messages);
}

int fail(const std::string& message) {
  fmt::print(stderr, "error: {}\n", message);
  return 2;
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

/// One run with everything decided: what it is called, what it sends, where its rows go.
struct Plan {
  const RunOptions& options;
  const sim::Scenario& scenario;
  sim::SimConfig config;
  workload::Workload work;
  std::vector<Picoseconds> ideal_jobs;
  metrics::RunInfo run;
  std::filesystem::path out;
};

/// Said where memory ran out, while the workload or the network was being made.
std::string too_large(const std::filesystem::path& file, const sim::Scenario& scenario) {
  return fmt::format(
      "{}: there is not enough memory for this run, which takes about {}. use fewer hosts, flows "
      "or "
      "messages, or record less",
      file.string(), size_text(sim::memory_estimate(scenario)));
}

struct Outcome {
  RunStatus status = RunStatus::failed;
  metrics::Counters counters;
  double wall = 0;
  double cpu = 0;
};

/// Runs it and writes its file, whole or as far as it came.
Result<Outcome, metrics::FileError> execute(const Plan& plan) {
  std::atomic<bool>& stop = stop_on_signals();
  const auto created =
      metrics::ResultWriter::create(plan.out, plan.run, {.force = plan.options.force});
  if (!created) return created.error();
  metrics::ResultWriter& writer = *created.value();
  Outcome outcome;
  const auto began = std::chrono::steady_clock::now();
  const double cpu_before = cpu_seconds();
  try {
    sim::Simulation simulation(plan.config, plan.work);
    if (plan.config.record.interval > ps(0)) {
      for (const metrics::LinkInfo& link : simulation.links()) writer.add(link);
    }
    for (const metrics::ChannelInfo& channel : simulation.channels()) writer.add(channel);
    {
      ProgressLine line(!plan.options.quiet);
      Recorder recorder(writer, line, plan.options.quiet, stop, plan.ideal_jobs);
      outcome.status = status_of(simulation.run(recorder, &stop));
    }
    outcome.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    outcome.cpu = cpu_seconds() - cpu_before;
    outcome.counters = simulation.counters();
    const auto unwritten = writer.finish(outcome.status, simulation.now(), outcome.counters,
                                         outcome.wall, outcome.cpu);
    if (unwritten) return *unwritten;
  } catch (const std::bad_alloc&) {
    static_cast<void>(writer.finish(RunStatus::failed, Instant{}, {}, 0, 0));
    return metrics::FileError{too_large(plan.options.file, plan.scenario)};
  }
  return outcome;
}

}  // namespace

std::string safe_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '+' || c == '=' || c == '_';
    if (plain) {
      name += c;
    } else if (c != ' ' && c != '"' && c != '\'') {
      name += '_';
    }
  }
  // A leading dot would hide the file, a leading dash would make it an option.
  if (name.empty() || name.front() == '.' || name.front() == '-') name.insert(0, "_");
  return name;
}

int sim_run(const RunOptions& options) {
  auto loaded = sim::load(options.file, options.set);
  if (!loaded) return fail(loaded.error().text());
  const std::uint64_t seed = options.seed.value_or(loaded.value().seeds.front());
  const std::size_t seeds = options.seed ? 1 : loaded.value().seeds.size();
  // Once more with this one seed, so that the scenario in the file is that of this very run.
  std::vector<std::string> overrides = options.set;
  overrides.push_back(fmt::format("run.seed={}", seed));
  loaded = sim::load(options.file, overrides);
  if (!loaded) return fail(loaded.error().text());
  const sim::Scenario& scenario = loaded.value();

  Plan plan{options, scenario, sim::make_config(scenario, seed), {}, {}, {}, options.out};
  if (options.threads) plan.config.threads = *options.threads;
  try {
    plan.work = sim::make_workload(scenario, seed);
  } catch (const std::bad_alloc&) {
    return fail(too_large(options.file, scenario));
  }
  plan.ideal_jobs = ideal_jobs(plan.config, plan.work.jobs);
  plan.run = header_of(scenario, plan.config, plan.work, plan.ideal_jobs);
  const metrics::RunInfo& run = plan.run;
  if (plan.out.empty()) {
    plan.out = std::filesystem::path("results") /
               fmt::format("{}-{}-s{}.db", safe_name(run.name), run.scheme, seed);
  }
  if (!options.quiet) {
    fmt::print("{}: {}, seed {}, {} hosts, {}, {} in all\n", run.name, run.scheme, seed, run.hosts,
               what_is_sent(plan.work), size_text(run.bytes));
    std::fflush(stdout);
    for (const std::string& note : scenario.notes) fmt::print(stderr, "warning: {}\n", note);
    if (seeds > 1) {
      fmt::print("the scenario has {} seeds; `strack sim sweep` runs them all\n", seeds);
    }
    std::fflush(stdout);
  }
  std::string replay = fmt::format("strack sim run {}", options.file.string());
  for (const std::string& set : options.set) replay += fmt::format(" --set '{}'", set);
  replay += fmt::format(" --seed {} --out replay.db", seed);
  set_replay_hint(replay.c_str());
  const auto executed = execute(plan);
  set_replay_hint(nullptr);
  if (!executed) return fail(executed.error().message);
  const Outcome& outcome = executed.value();

  if (!options.quiet) {
    const auto summary = metrics::summarise(plan.out);
    if (!summary) return fail(summary.error().message);
    const std::string warnings = warnings_text(plan.out.string(), summary.value());
    fmt::print("\n{}\n{}", run_text(summary.value()), warnings);
    const double hops = static_cast<double>(outcome.counters.packet_hops) / 1e6;
    fmt::print(
        "took {:.1f} s: {:.1f} million packet-hops per second, {:.1f} per CPU-second; {} of "
        "memory\n",
        outcome.wall, outcome.wall > 0 ? hops / outcome.wall : 0,
        outcome.cpu > 0 ? hops / outcome.cpu : 0, size_text(peak_memory()));
    fmt::print("results: {}\n", plan.out.string());
  }
  if (outcome.status == RunStatus::interrupted) return kInterruptedStatus;
  return outcome.status == RunStatus::stalled ? 1 : 0;
}

int sim_show(const ShowOptions& options) {
  const auto loaded = sim::load(options.file, options.set);
  if (!loaded) return fail(loaded.error().text());
  const sim::Scenario& scenario = loaded.value();
  const std::uint64_t seed = options.seed.value_or(scenario.seeds.front());
  const sim::SimConfig config = sim::make_config(scenario, seed);
  workload::Workload work;
  try {
    work = sim::make_workload(scenario, seed);
  } catch (const std::bad_alloc&) {
    return fail(too_large(options.file, scenario));
  }
  const metrics::RunInfo run = header_of(scenario, config, work, ideal_jobs(config, work.jobs));
  const sim::TopologyParams& t = config.topology;

  // As comments, so that what is printed is a scenario file again.
  const auto line = [](std::string_view name, const std::string& value) {
    fmt::print("# {:<14} {}\n", name, value);
  };
  line("scenario", fmt::format("{}, {}, seed {}", run.name, run.scheme, seed));
  line("network", fmt::format("{} hosts in {} racks, {} switches, {} directed links", run.hosts,
                              t.racks, run.switches, run.links));
  line("host links", fmt::format("{}, {}", rate_text(t.host_rate), time_text(t.host_latency)));
  line("fabric links",
       fmt::format("{}, {}", rate_text(t.fabric_rate), time_text(t.fabric_latency)));
  if (t.tiers == 3) {
    line("core links", fmt::format("{}, {}", rate_text(t.core_rate), time_text(t.core_latency)));
  }
  line("base RTT", time_text(run.base_rtt));
  line("BDP", size_text(run.bdp));
  if (config.pfc.enabled) line("PFC", pfc_text(config));
  if (work.jobs.empty()) {
    line("flows", fmt::format("{}, {} in all", run.flows, size_text(run.bytes)));
    line("ideal FCT", fmt::format("{}, of the slowest flow", time_text(run.ideal_fct)));
  } else {
    line("workload", fmt::format("{}, {} in all", what_is_sent(work), size_text(run.bytes)));
    line("ideal time", fmt::format("{}, of the slowest job", time_text(run.ideal_fct)));
  }
  for (const std::string& note : scenario.notes) line("note", note);
  line("memory", fmt::format("about {}", size_text(sim::memory_estimate(scenario))));
  fmt::print("\n{}", run.scenario);
  if (!run.scenario.ends_with('\n')) fmt::print("\n");
  return 0;
}

int sim_summary(const SummaryOptions& options) {
  std::vector<SummaryRow> rows;
  std::string warnings;
  std::string json;
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
    json += (json.empty() ? "[\n  " : ",\n  ") + json_text(file.string(), s);
    rows.push_back({{s.run.name, s.run.scheme, fmt::format("{}", s.run.seed)}, s});
  }
  if (options.json) {
    fmt::print("{}\n", json.empty() ? "[]" : json + "\n]");
  } else if (options.files.size() == 1 && rows.size() == 1) {
    fmt::print("{}{}{}", run_text(rows.front().summary), warnings.empty() ? "" : "\n", warnings);
  } else if (!rows.empty()) {
    fmt::print("{}{}{}", table_text({"scenario", "scheme", "seed"}, rows),
               warnings.empty() ? "" : "\n", warnings);
  }
  return unreadable ? 2 : 0;
}

}  // namespace strack::cli
