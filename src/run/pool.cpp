#include "run/pool.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/process.h"
#include "run/build_info.h"
#include "run/ensemble.h"
#include "sim/gpu/engine.h"
#include "sim/scenario/same_results.h"

namespace strack::run {
namespace {

enum class Place : std::uint8_t { cpu, gpu };

/// In a process group of its own, so that Ctrl-C reaches it once: from us.
pid_t start(const PoolOptions& options, PoolRun& run, Place place) {
  std::vector<std::string> words = words_of("strack", run, options.threads,  // the program's name
                                            place == Place::gpu ? options.gpu_engine : "cpu");
  run.said.reset(std::tmpfile());
  return start_process(options.program.string(), std::move(words),
                       {.errors = run.said ? fileno(run.said.get()) : -1});
}

/// What a process said last, without "error: ".
std::string last_words(PoolRun& run, int status) {
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

}  // namespace

std::vector<std::string> words_of(const std::string& program, const PoolRun& run,
                                  std::optional<std::uint32_t> threads, const std::string& engine) {
  std::vector<std::string> words{program, "sim", "run", run.file.string()};
  for (const std::string& set : run.set) {
    words.emplace_back("--set");
    words.push_back(set);
  }
  if (!run.seed_is_the_scenarios) {
    words.emplace_back("--seed");
    words.push_back(fmt::format("{}", run.seed));
  }
  for (const std::string& word : {std::string("--out"), run.out.string(), std::string("--force"),
                                  std::string("--quiet"), std::string("--engine"), engine}) {
    words.push_back(word);
  }
  if (threads) {
    words.emplace_back("--threads");
    words.push_back(fmt::format("{}", *threads));
  }
  return words;
}

Result<OldResult, metrics::FileError> look_at_old(const PoolRun& run) {
  std::error_code ignored;
  if (!std::filesystem::exists(run.out, ignored) ||
      std::filesystem::file_size(run.out, ignored) == 0) {
    return OldResult::none;
  }
  const auto opened = metrics::ResultReader::open(run.out);
  if (!opened) return opened.error();
  const metrics::RunInfo& old = opened.value()->run();
  const metrics::RunState& state = opened.value()->state();
  if (state.live) {
    return metrics::FileError{
        fmt::format("{}: another run is writing it. wait for it or choose another --out",
                    run.out.string()),
        true};
  }
  if (!state.complete()) return OldResult::none;
  if (old.version != kBuildInfo.version || old.source != kBuildInfo.source) {
    return OldResult::version;
  }
  const bool same = sim::same_results(old.scenario, run.scenario) && old.seed == run.seed;
  return same ? OldResult::same : OldResult::scenario;
}

OldInSet look_in_set(const PoolRun& run, bool only_finished) {
  OldInSet found;
  const auto old = look_at_old(run);
  if (old) {
    found.there = old.value() == OldResult::same;
    if (!found.there || !only_finished) return found;
    const auto opened = metrics::ResultReader::open(run.out);
    if (!opened || opened.value()->state().status == metrics::RunStatus::finished) return found;
    found.there = false;
    found.unfinished = true;
    found.wrong = fmt::format(
        "{}: the run has not finished ({}), so it does not count, and would end so "
        "again. delete the file to have it made again all the same",
        run.out.string(), metrics::to_text(opened.value()->state().status));
    return found;
  }
  found.wrong = told_of_results(old.error().message);
  if (old.error().passing) return found;
  found.anew = metrics::is_result_file(run.out);
  if (!found.anew) {
    found.wrong += ". delete it, or choose another --results";
    return found;
  }
  constexpr std::string_view kAdvice = ". run the scenario again";
  if (found.wrong.ends_with(kAdvice)) found.wrong.resize(found.wrong.size() - kAdvice.size());
  found.wrong += ", so the run is made anew";
  return found;
}

std::string told_of_results(std::string message) {
  constexpr std::string_view kOne = "choose another --out";
  if (const std::size_t at = message.find(kOne); at != std::string::npos)
    message.replace(at, kOne.size(), "choose another --results");
  return message;
}

namespace {

/// How long runs really take, and whether one more fits into what is left.
class Pace {
 public:
  explicit Pace(const PoolOptions& options) : stop_after_(options.stop_after) {}

  [[nodiscard]] bool over() const { return stop_after_ && since_begin() >= seconds(*stop_after_); }
  [[nodiscard]] bool fits(const PoolRun& run, Place place) const {
    return !stop_after_ ||
           since_begin() + of(place).per_weight() * weight(run, place) <= seconds(*stop_after_);
  }
  void start(const PoolRun& run) { begun_[&run] = since_begin(); }
  void end(const PoolRun& run, Place place) {
    of(place).took += since_begin() - begun_[&run];
    of(place).expected += weight(run, place);
  }

 private:
  struct Taken {
    double took = 0;
    double expected = 0;

    /// With room for a run that takes longer than the others of its weight.
    [[nodiscard]] double per_weight() const {
      constexpr double kRoom = 1.4;
      constexpr double kEnough = 20;  // what is over in no time says little about the others
      return expected < kEnough ? kRoom : std::max(kRoom, kRoom * took / expected);
    }
  };

  static double seconds(std::chrono::duration<double> time) { return time.count(); }
  static double weight(const PoolRun& run, Place place) {
    return place == Place::gpu ? run.gpu_weight.value_or(run.weight) : run.weight;
  }
  [[nodiscard]] double since_begin() const {
    return seconds(std::chrono::steady_clock::now() - begin_);
  }
  [[nodiscard]] const Taken& of(Place place) const { return place == Place::gpu ? gpu_ : cpu_; }
  [[nodiscard]] Taken& of(Place place) { return place == Place::gpu ? gpu_ : cpu_; }

  std::optional<std::chrono::milliseconds> stop_after_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::map<const PoolRun*, double> begun_;
  Taken cpu_;
  Taken gpu_;
};

/// Those that run now, and how those before them ended.
class Running {
 public:
  Running(const PoolOptions& options, Pace& pace) : options_(options), pace_(pace) {}

  void begin(PoolRun& run, Place place) {
    run.started = true;
    if (place == Place::gpu && options_.gpu_shared) {
      here_[&run] = std::make_unique<RunHere>(run, options_.gpu_engine);
      pace_.start(run);
      return;
    }
    const pid_t child = start(options_, run, place);
    if (child > 0) {
      processes_[child] = {&run, place};
      pace_.start(run);
    } else {
      run.failure = fmt::format("{}: no process could be started", run.out.string());
      ++failed_;
    }
  }
  void interrupt() {
    if (told_) return;
    for (const auto& [child, process] : processes_) kill(child, SIGINT);
    for (const auto& [run, here] : here_) here->interrupt();
    told_ = true;
  }
  void collect() {
    int status = 0;
    for (auto it = processes_.begin(); it != processes_.end();) {
      if (waitpid(it->first, &status, WNOHANG) != it->first) {
        ++it;
        continue;
      }
      PoolRun& run = *it->second.run;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      end(run, it->second.place, code, [&] { return last_words(run, status); });
      it = processes_.erase(it);
    }
    for (auto it = here_.begin(); it != here_.end();) {
      if (const auto ended = it->second->end()) {
        end(*it->first, Place::gpu, ended->status, [&] { return ended->words; });
        it = here_.erase(it);
      } else {
        ++it;
      }
    }
  }

  [[nodiscard]] std::size_t count(Place place) const {
    const auto processes =
        std::count_if(processes_.begin(), processes_.end(),
                      [place](const auto& process) { return process.second.place == place; });
    return static_cast<std::size_t>(processes) + (place == Place::gpu ? here_.size() : 0);
  }
  [[nodiscard]] bool idle() const { return processes_.empty() && here_.empty(); }
  [[nodiscard]] bool told() const { return told_; }
  [[nodiscard]] PoolProgress progress(std::size_t missing, double weight) const {
    return {done_, missing, processes_.size() + here_.size(), failed_, weight_done_ / weight};
  }

 private:
  struct Process {
    PoolRun* run = nullptr;
    Place place = Place::cpu;
  };

  /// words() says why, where it has failed.
  template <class Words>
  void end(PoolRun& run, Place place, int code, Words&& words) {
    const bool failed = code != 0 && code != 1 && !(told_ && code == kInterruptedStatus);
    if (failed && place == Place::gpu && !options_.gpu_only) {
      // It may have had too little memory, say: the processor does it.
      run.gpu_failure = words();
      run.gpu_weight.reset();
      run.started = false;
      return;
    }
    run.done = code == 0 || code == 1;  // a stalled run is a result too, and says so in the table
    if (failed) {
      run.failure = words();
      run.refused = code == kRefusedStatus;
      ++failed_;
    }
    run.said.reset();
    ++done_;
    weight_done_ += run.weight;
    pace_.end(run, place);
  }

  const PoolOptions& options_;
  Pace& pace_;
  std::map<pid_t, Process> processes_;
  std::map<PoolRun*, std::unique_ptr<RunHere>> here_;
  std::size_t done_ = 0;
  std::size_t failed_ = 0;
  double weight_done_ = 0;
  bool told_ = false;
};

bool waits(const PoolRun* run) { return !run->there && !run->started; }

/// The first that waits, fits into the time and belongs there; a shorter one may where the next in turn
/// does not. Or none.
PoolRun* next_run(const std::vector<PoolRun*>& runs, Place place, bool has_gpu, const Pace& pace) {
  const auto first = [&](auto&& suits) -> PoolRun* {
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const PoolRun* run) {
      return waits(run) && pace.fits(*run, place) && suits(*run);
    });
    return found == runs.end() ? nullptr : *found;
  };
  if (place == Place::gpu)
    return first([](const PoolRun& run) { return run.gpu_weight.has_value(); });
  if (!has_gpu) return first([](const PoolRun&) { return true; });
  if (PoolRun* own = first([](const PoolRun& run) { return !run.gpu_weight; })) return own;
  // Then what a processor has done before the GPU has worked off all that waits for it.
  double line = 0;
  for (const PoolRun* run : runs) line += waits(run) ? run->gpu_weight.value_or(0) : 0;
  return first([line](const PoolRun& run) { return run.weight < line; });
}

}  // namespace

bool run_all(const PoolOptions& options, const std::vector<PoolRun*>& runs,
             const std::atomic<bool>& stop) {
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  // Who has the GPU waits for it, most of the time.
  const unsigned waiting = options.gpu_shared ? (options.gpu_jobs + 3) / 4 : options.gpu_jobs;
  const unsigned free = processors > waiting ? processors - waiting : 1;
  const unsigned jobs = options.jobs > 0
                            ? options.jobs
                            : std::max(1u, free / std::max(1u, options.threads.value_or(1)));
  std::size_t missing = 0;
  unsigned on_gpu = 0;
  double weight = 0;
  for (const PoolRun* run : runs) {
    if (run->there) continue;
    ++missing;
    on_gpu += run->gpu_weight ? 1u : 0u;
    weight += run->weight;
  }
  if (options.gpu_shared) sim::share_gpu(std::clamp(on_gpu, 1u, std::max(1u, options.gpu_jobs)));
  Pace pace(options);
  Running running(options, pace);
  const auto begin = [&](Place place, unsigned most) {
    while (running.count(place) < most) {
      PoolRun* next = next_run(runs, place, options.gpu_jobs > 0, pace);
      if (next == nullptr) break;
      running.begin(*next, place);
    }
  };
  while (true) {
    const bool stopping = stop.load(std::memory_order_relaxed) || pace.over();
    if (!stopping) {
      begin(Place::gpu, options.gpu_jobs);
      if (!options.gpu_only) begin(Place::cpu, jobs);
    }
    if (running.idle()) break;
    if (stopping) running.interrupt();
    running.collect();
    if (options.on_progress) options.on_progress(running.progress(missing, weight));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !running.told() && std::none_of(runs.begin(), runs.end(), waits);
}

}  // namespace strack::run
