#include "run/pool.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/process.h"
#include "run/build_info.h"

namespace strack::run {
namespace {

/// In a process group of its own, so that Ctrl-C reaches it once: from us.
pid_t start(const PoolOptions& options, PoolRun& run) {
  std::vector<std::string> words{"strack",  // the program's name
                                 "sim", "run", run.file.string()};
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
    return metrics::FileError{fmt::format(
        "{}: another run is writing it. wait for it or choose another --out", run.out.string())};
  }
  if (!state.complete()) return OldResult::none;
  if (old.version != kBuildInfo.version || old.source != kBuildInfo.source) {
    return OldResult::version;
  }
  return old.scenario == run.scenario && old.seed == run.seed ? OldResult::same
                                                              : OldResult::scenario;
}

bool run_all(const PoolOptions& options, const std::vector<PoolRun*>& runs,
             const std::atomic<bool>& stop) {
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  const unsigned jobs = options.jobs > 0
                            ? options.jobs
                            : std::max(1u, processors / std::max(1u, options.threads.value_or(1)));
  std::size_t missing = 0;
  double weight = 0;
  for (const PoolRun* run : runs) {
    if (run->there) continue;
    ++missing;
    weight += run->weight;
  }
  std::map<pid_t, PoolRun*> running;
  std::size_t done = 0;
  double weight_done = 0;
  std::size_t failed = 0;
  auto next = runs.begin();
  bool told = false;
  while (true) {
    const bool stopping = stop.load(std::memory_order_relaxed);
    while (!stopping && running.size() < jobs) {
      next = std::find_if(next, runs.end(), [](const PoolRun* run) { return !run->there; });
      if (next == runs.end()) break;
      const pid_t child = start(options, **next);
      if (child > 0) {
        running[child] = *next;
      } else {
        (*next)->failure = fmt::format("{}: no process could be started", (*next)->out.string());
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
      PoolRun& run = *it->second;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      run.done = code == 0 || code == 1;  // a stalled run is a result too, and says so in the table
      if (code != 0 && code != 1 && !(told && code == kInterruptedStatus)) {
        run.failure = last_words(run, status);
        ++failed;
      }
      run.said.reset();
      ++done;
      weight_done += run.weight;
      it = running.erase(it);
    }
    if (options.on_progress) {
      options.on_progress({done, missing, running.size(), failed, weight_done / weight});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !told && next == runs.end();
}

}  // namespace strack::run
