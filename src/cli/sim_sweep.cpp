// Sweeps and comparisons: many runs, each a process of this same program.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "cli/build_info.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/sim.h"
#include "cli/summary_text.h"
#include "cli/sweep_plan.h"
#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "sim/scenario/scenario.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct Run {
  std::vector<std::string> labels;
  std::vector<std::string> set;
  std::uint64_t seed = 0;
  fs::path out;
  std::string scenario;  ///< resolved

  bool there = false;  ///< finished by an earlier sweep
  bool done = false;
  std::string failure;
  std::unique_ptr<std::FILE, CloseFile> said;  ///< the process's standard error
};

int fail(const std::string& message) {
  fmt::print(stderr, "error: {}\n", message);
  return 2;
}

/// All runs, in the order of the table; whatever is wrong with any of them is found here, before
/// the first one starts.
std::optional<SweepError> plan(const SweepOptions& options, const fs::path& folder,
                               const std::vector<Axis>& axes, std::vector<Run>& runs) {
  std::vector<std::uint64_t> seeds;
  if (!options.seeds.empty()) {
    const auto parsed = parse_seeds(options.seeds);
    if (!parsed) return parsed.error();
    seeds = parsed.value();
  }
  std::map<fs::path, int> taken;
  for (const Combination& combination : product(axes)) {
    std::vector<std::string> set;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      set.push_back(axes[i].key + "=" + combination[i]);
    }
    const auto base = sim::load(options.file, set);
    if (!base) return SweepError{base.error().text()};
    for (const std::uint64_t seed : seeds.empty() ? base.value().seeds : seeds) {
      std::vector<std::string> with_seed = set;
      with_seed.push_back(fmt::format("run.seed={}", seed));
      const auto loaded = sim::load(options.file, with_seed);
      if (!loaded) return SweepError{loaded.error().text()};
      const sim::Scenario& scenario = loaded.value();
      Run& run = runs.emplace_back();
      run.labels = combination;
      run.labels.push_back(fmt::format("{}", seed));
      run.set = set;
      run.seed = seed;
      run.scenario = sim::to_toml(scenario);
      std::string name = safe_name(scenario.name);
      const bool scheme_varies = std::any_of(axes.begin(), axes.end(), [](const Axis& axis) {
        return axis.key == "transport.scheme";
      });
      if (!scheme_varies) name += fmt::format("-{}", sim::name_of(scenario.scheme));
      if (const std::string part = file_part(axes, combination); !part.empty()) name += "-" + part;
      name += fmt::format("-s{}", seed);
      // Values that differ only in what a file name cannot hold.
      const int times = ++taken[folder / name];
      run.out = folder / (times == 1 ? name + ".db" : fmt::format("{}-{}.db", name, times));
    }
  }
  return std::nullopt;
}

/// Looks at what an earlier sweep left: sets `there`, or says why the file is in the way.
std::optional<metrics::FileError> look_at_old(Run& run, bool force) {
  std::error_code ignored;
  if (force || !fs::exists(run.out, ignored) || fs::file_size(run.out, ignored) == 0) {
    return std::nullopt;
  }
  const auto opened = metrics::ResultReader::open(run.out);
  if (!opened) return opened.error();
  const metrics::RunInfo& old = opened.value()->run();
  const metrics::RunState& state = opened.value()->state();
  if (state.live) {
    return metrics::FileError{fmt::format(
        "{}: another run is writing it. wait for it or choose another --out", run.out.string())};
  }
  if (!state.complete()) return std::nullopt;
  const bool same_program = old.version == kBuildInfo.version && old.source == kBuildInfo.source;
  if (same_program && old.scenario == run.scenario && old.seed == run.seed) {
    run.there = true;
    return std::nullopt;
  }
  return metrics::FileError{
      fmt::format("{}: holds a finished run of another {}. choose another --out, or --force to run "
                  "everything again",
                  run.out.string(), same_program ? "scenario" : "version of this program")};
}

/// Starts the run in a process group of its own, so that Ctrl-C reaches it once: from us.
pid_t start(const SweepOptions& options, Run& run) {
  std::vector<std::string> words{"strack", "sim", "run", options.file.string()};
  for (const std::string& set : run.set) {
    words.emplace_back("--set");
    words.push_back(set);
  }
  for (const std::string& word :
       {std::string("--seed"), fmt::format("{}", run.seed), std::string("--out"), run.out.string(),
        std::string("--force"), std::string("--quiet")}) {
    words.push_back(word);
  }
  if (options.threads) {
    words.emplace_back("--threads");
    words.push_back(fmt::format("{}", *options.threads));
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  run.said.reset(std::tmpfile());

  const pid_t parent = getpid();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  if (run.said) dup2(fileno(run.said.get()), STDERR_FILENO);
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

/// What a process said last, without "error: ".
std::string last_words(Run& run, int status) {
  std::string words;
  if (run.said) {
    std::rewind(run.said.get());
    for (int c = std::fgetc(run.said.get()); c != EOF; c = std::fgetc(run.said.get())) {
      words += static_cast<char>(c);
    }
  }
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (words.starts_with("error: ")) words.erase(0, 7);
  if (!words.empty()) return words;
  if (WIFSIGNALED(status)) {
    return fmt::format("{}: its process was killed by signal {}", run.out.string(),
                       WTERMSIG(status));
  }
  return fmt::format("{}: its process ended with status {}", run.out.string(), WEXITSTATUS(status));
}

/// Runs all that is not there yet. False: Ctrl-C came first.
bool run_all(const SweepOptions& options, std::vector<Run>& runs, unsigned jobs,
             const std::atomic<bool>& stop) {
  const auto missing = static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [](const Run& run) { return !run.there; }));
  ProgressLine line(!options.quiet);
  std::map<pid_t, Run*> running;
  std::size_t done = 0;
  std::size_t failed = 0;
  auto next = runs.begin();
  bool told = false;
  while (true) {
    const bool stopping = stop.load(std::memory_order_relaxed);
    while (!stopping && running.size() < jobs) {
      next = std::find_if(next, runs.end(), [](const Run& run) { return !run.there; });
      if (next == runs.end()) break;
      const pid_t child = start(options, *next);
      if (child > 0) {
        running[child] = &*next;
      } else {
        next->failure = fmt::format("{}: no process could be started", next->out.string());
        ++failed;
      }
      ++next;
    }
    if (running.empty()) break;
    if (stopping && !told) {
      for (const auto& [child, run] : running) kill(child, SIGINT);
      told = true;
    }
    int status = 0;
    for (auto it = running.begin(); it != running.end();) {
      if (waitpid(it->first, &status, WNOHANG) != it->first) {
        ++it;
        continue;
      }
      Run& run = *it->second;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      run.done = code == 0 || code == 1;  // a stalled run is a result too, and says so in the table
      if (code != 0 && code != 1 && !(told && code == kInterruptedStatus)) {
        run.failure = last_words(run, status);
        ++failed;
      }
      run.said.reset();
      ++done;
      it = running.erase(it);
    }
    if (line.due()) {
      line.show(fmt::format(
          "{} of {} runs done, {} running{}  {}", done, missing, running.size(),
          failed > 0 ? fmt::format(", {} FAILED", failed) : std::string(),
          time_left(line.seconds(), static_cast<double>(done) / static_cast<double>(missing))));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !told && next == runs.end();
}

}  // namespace

int sim_sweep(const SweepOptions& options) {
  std::vector<Axis> axes;
  for (const std::string& set : options.set) {
    const auto axis = parse_axis(set);
    if (!axis) return fail(axis.error().message);
    axes.push_back(axis.value());
  }
  fs::path folder = options.out;
  if (folder.empty()) {
    const auto loaded = sim::load(options.file);
    if (!loaded) return fail(loaded.error().text());
    folder = fs::path("results") / fmt::format("{}-{}", safe_name(loaded.value().name),
                                               options.compare ? "compare" : "sweep");
  }
  std::vector<Run> runs;
  if (const auto mistake = plan(options, folder, axes, runs)) return fail(mistake->message);

  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!fs::is_directory(folder)) {
    return fail(fmt::format("{}: the folder cannot be made: {}. choose another --out",
                            folder.string(), failure.message()));
  }
  std::size_t there = 0;
  for (Run& run : runs) {
    if (const auto in_the_way = look_at_old(run, options.force)) return fail(in_the_way->message);
    if (run.there) ++there;
  }
  if (!options.quiet) {
    fmt::print("{} runs{}, results in {}\n", runs.size(),
               there > 0 ? fmt::format(", {} of them there already", there) : std::string(),
               folder.string());
    std::fflush(stdout);
  }
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  const unsigned jobs = options.jobs > 0
                            ? options.jobs
                            : std::max(1u, processors / std::max(1u, options.threads.value_or(1)));
  const bool whole = run_all(options, runs, jobs, stop_on_signals());

  // The seed is worth a column where it tells runs apart.
  const bool show_seed = axes.empty() || std::any_of(runs.begin(), runs.end(), [&](const Run& run) {
                           return run.seed != runs.front().seed;
                         });
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.emplace_back(axis.short_name());
  if (show_seed) names.emplace_back("seed");
  std::vector<SummaryRow> rows;
  std::string warnings;
  std::size_t failed = 0;
  for (const Run& run : runs) {
    if (!run.failure.empty()) {
      warnings += fmt::format("!! {}\n", run.failure);
      ++failed;
    }
    if (!run.there && !run.done) continue;
    const auto summary = metrics::summarise(run.out);
    if (!summary) {
      warnings += fmt::format("!! {}\n", summary.error().message);
      ++failed;
      continue;
    }
    SummaryRow& row = rows.emplace_back();
    row.labels = run.labels;
    if (!show_seed) row.labels.pop_back();
    row.summary = summary.value();
    warnings += warnings_text(run.out.string(), summary.value());
  }
  fmt::print("\n{}", table_text(names, rows, options.compare));
  if (!warnings.empty()) fmt::print("\n{}", warnings);
  if (!whole && signal_came()) {
    fmt::print("\n{} of {} runs are done; the same command goes on from here\n", rows.size(),
               runs.size());
  }
  fmt::print("results: {}\n", folder.string());
  if (!whole && signal_came()) return kInterruptedStatus;
  if (failed > 0) fail(fmt::format("{} of {} runs failed", failed, runs.size()));
  return failed > 0 ? 1 : 0;
}

}  // namespace strack::cli
