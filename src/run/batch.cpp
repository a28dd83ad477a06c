#include "run/batch.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/process.h"

namespace strack::run {
namespace fs = std::filesystem;
namespace {

std::string content_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::string all = text.str();
  while (!all.empty() && all.back() == '\n') all.pop_back();
  return all;
}

/// What a program said, and its status; 127 where there is none of that name.
struct Said {
  int status = 127;
  std::string output;
  std::string errors;
};

Said ask(std::vector<std::string> words) {
  const auto file = [] { return std::unique_ptr<std::FILE, PoolRun::CloseFile>(std::tmpfile()); };
  const auto output = file();
  const auto errors = file();
  const auto all_of = [](std::FILE* from) {
    std::string text;
    std::rewind(from);
    for (int c = std::fgetc(from); c != EOF; c = std::fgetc(from)) text += static_cast<char>(c);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  };
  Said said;
  if (!output || !errors) return said;
  words.insert(words.begin(), "env");
  const pid_t child =
      start_process("/usr/bin/env", std::move(words),
                    {.output = fileno(output.get()), .errors = fileno(errors.get())});
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return said;
  said.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  said.output = all_of(output.get());
  said.errors = all_of(errors.get());
  return said;
}

/// The folder `.batch` beside the results, and who does what in it.
class Desk {
 public:
  explicit Desk(const fs::path& results) : folder_(fs::absolute(results) / ".batch") {}

  [[nodiscard]] fs::path job() const { return folder_ / "job"; }
  [[nodiscard]] fs::path log() const { return folder_ / "log"; }
  /// What an array job runs whose first task is that one.
  [[nodiscard]] fs::path script(std::size_t first) const {
    return folder_ / fmt::format("array-{}.sh", first);
  }
  [[nodiscard]] fs::path task(std::size_t number) const {
    return folder_ / fmt::format("task-{}.sh", number);
  }
  [[nodiscard]] fs::path list() const { return folder_ / "commands"; }

  std::optional<Problem> clear() const {
    std::error_code failure;
    fs::remove_all(folder_, failure);
    fs::create_directories(folder_, failure);
    if (fs::is_directory(folder_)) return std::nullopt;
    return Problem{fmt::format("{}: the folder cannot be made: {}. choose another --out",
                               folder_.string(), failure.message())};
  }

  /// All tasks, each a script of its own; and what starts the one that Slurm names, so many to an array, or all.
  std::optional<Problem> write(const BatchOptions& options,
                               const std::vector<std::vector<PoolRun*>>& tasks,
                               std::size_t array_size) const {
    const std::string program = options.program.empty()
                                    ? fs::read_symlink("/proc/self/exe").string()
                                    : options.program.string();
    bool good = true;
    std::ofstream commands(list());
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      std::ofstream out(task(t));
      out << "#!/bin/sh\n# What it says, and how it ended, is for the program that waits for it.\n"
          << "cd " << quoted(fs::current_path().string()) << " || exit 1\n";
      for (const PoolRun* run : tasks[t]) {
        for (const std::string& word : words_of(program, *run, options.threads))
          out << quoted(word) << ' ';
        out << ">/dev/null 2>" << quoted(beside(*run, ".said").string()) << "; echo $? >"
            << quoted(beside(*run, ".ended").string()) << '\n';
      }
      good = good && out.flush();
      commands << "sh " << quoted(task(t).string()) << '\n';
    }
    for (std::size_t first = 0; first < tasks.size(); first += array_size) {
      std::ofstream array(script(first));
      array << "#!/bin/sh\nexec sh " << quoted(folder_.string() + "/task-") << "$((" << first
            << " + SLURM_ARRAY_TASK_ID)).sh\n";
      good = good && array.flush();
    }
    if (good && commands.flush()) return std::nullopt;
    return Problem{folder_.string() + ": the tasks cannot be written there"};
  }

  /// Whether that run has ended; then its outcome is noted.
  bool collect(PoolRun& run) const {
    const std::string status = content_of(beside(run, ".ended"));
    if (status.empty()) return false;
    run.done = status == "0" || status == "1";
    if (run.done || status == std::to_string(kInterruptedStatus)) return true;
    run.failure = content_of(beside(run, ".said"));
    if (run.failure.starts_with("error: ")) run.failure.erase(0, 7);
    if (run.failure.empty())
      run.failure = fmt::format("{}: its process ended with status {}", run.out.string(), status);
    return true;
  }

 private:
  [[nodiscard]] fs::path beside(const PoolRun& run, const char* ending) const {
    std::string name = fs::absolute(run.out).lexically_relative(folder_.parent_path()).string();
    std::replace(name.begin(), name.end(), '/', '_');
    return folder_ / (name + ending);
  }

  fs::path folder_;
};

/// Somebody else's machines at work on the tasks.
class Work {
 public:
  virtual ~Work() = default;
  [[nodiscard]] virtual bool over() = 0;
  virtual void cancel() = 0;
};

/// One job, or several: "17,18".
class SlurmJob final : public Work {
 public:
  explicit SlurmJob(std::string ids) : ids_(std::move(ids)) {}
  bool over() override {
    return look().value_or(true);  // where nobody can ask, what it has made is looked at
  }
  void cancel() override {
    std::vector<std::string> words{"scancel"};
    std::istringstream ids(ids_);
    for (std::string id; std::getline(ids, id, ',');) words.push_back(id);
    static_cast<void>(ask(std::move(words)));
  }
  /// Whether it is over; nothing, where nobody here can ask.
  [[nodiscard]] std::optional<bool> look() const {
    const Said said = ask({"squeue", "--noheader", "--jobs", ids_, "--format", "%i"});
    if (said.status == 0) return said.output.empty();
    if (said.status == 127) return std::nullopt;
    // Gone from its memory; anything else may be a busy controller, which is asked again.
    return said.errors.find("Invalid job id") != std::string::npos;
  }

 private:
  std::string ids_;
};

/// How many tasks an array may have here: MaxArraySize of Slurm's configuration.
std::size_t largest_array() {
  constexpr std::size_t kSlurms = 1'001;  ///< where nothing else is set
  std::istringstream lines(ask({"scontrol", "show", "config"}).output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("MaxArraySize")) continue;
    const std::size_t number = line.find_first_of("0123456789");
    if (number == std::string::npos) break;
    return std::max<std::size_t>(1, std::strtoul(line.c_str() + number, nullptr, 10));
  }
  return kSlurms;
}

class Parallel final : public Work {
 public:
  explicit Parallel(pid_t child) : child_(child) {}
  ~Parallel() override {
    if (!ended_) waitpid(child_, nullptr, 0);
  }
  Parallel(const Parallel&) = delete;
  Parallel& operator=(const Parallel&) = delete;
  bool over() override {
    ended_ = ended_ || waitpid(child_, nullptr, WNOHANG) == child_;
    return ended_;
  }
  /// The second makes it stop what runs, too.
  void cancel() override {
    kill(child_, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(child_, SIGTERM);
  }

 private:
  pid_t child_;
  bool ended_ = false;
};

Result<std::unique_ptr<Work>, Problem> submit(const BatchOptions& options, const Desk& desk,
                                              const std::vector<std::vector<PoolRun*>>& tasks,
                                              std::size_t array_size) {
  double longest = 0;
  for (const auto& task : tasks) {
    double sum = 0;
    for (const PoolRun* run : task) sum += run->weight;
    longest = std::max(longest, sum);
  }
  // Estimates are within a factor of two, on a machine that may be half as fast.
  const auto minutes = static_cast<long>(std::ceil(longest * 4 / 60)) + 10;
  std::string ids;
  for (std::size_t first = 0; first < tasks.size(); first += array_size) {
    const std::size_t last = std::min(array_size, tasks.size() - first) - 1;
    const Said said = ask({"sbatch", "--parsable", "--job-name=strack",  // the program's name
                           fmt::format("--array=0-{}", last),
                           fmt::format("--cpus-per-task={}", options.threads.value_or(1)),
                           fmt::format("--time={}", minutes),
                           fmt::format("--output={}-{}-%a", desk.log().string(), first),
                           "--open-mode=append", desk.script(first).string()});
    if (said.status != 0) {
      if (!ids.empty()) SlurmJob(ids).cancel();  // all of it or nothing
      return Problem{
          fmt::format("sbatch says: {}", said.errors.empty() ? said.output : said.errors)};
    }
    if (!ids.empty()) ids += ',';
    ids += said.output.substr(0, said.output.find(';'));
    std::ofstream(desk.job()) << ids << '\n';
  }
  return std::unique_ptr<Work>(std::make_unique<SlurmJob>(ids));
}

Result<std::unique_ptr<Work>, Problem> start_parallel(const BatchOptions& options,
                                                      const Desk& desk) {
  std::vector<std::string> words{"env",         "parallel",   "--will-cite",       "--sshlogin",
                                 options.hosts, "--arg-file", desk.list().string()};
  if (options.threads) {
    words.emplace_back("--jobs");
    words.push_back(fmt::format("{}%", std::max(1u, 100 / *options.threads)));
  }
  const std::unique_ptr<std::FILE, PoolRun::CloseFile> log(std::fopen(desk.log().c_str(), "w"));
  const int into = log ? fileno(log.get()) : -1;
  const pid_t child =
      start_process("/usr/bin/env", std::move(words), {.output = into, .errors = into});
  if (child < 0) return Problem{"parallel: no process could be started"};
  return std::unique_ptr<Work>(std::make_unique<Parallel>(child));
}

/// Until it is over. False: it was told to stop.
bool wait_for(Work& work, const Desk& desk, const BatchOptions& options,
              const std::vector<PoolRun*>& runs, const std::atomic<bool>& stop) {
  bool told = false;
  double weight = 0;
  for (const PoolRun* run : runs) weight += run->weight;
  for (bool over = false; !over;) {
    if (!told && stop.load(std::memory_order_relaxed)) {
      work.cancel();
      told = true;
    }
    over = work.over();
    PoolProgress progress;
    progress.missing = runs.size();
    progress.waiting = true;
    double done = 0;
    for (PoolRun* run : runs) {
      if (!run->started) run->started = desk.collect(*run);
      if (!run->started) continue;
      ++progress.done;
      progress.failed += !run->failure.empty();
      done += run->weight;
    }
    progress.running = over ? 0 : runs.size() - progress.done;
    progress.share = weight > 0 ? done / weight : 0;
    if (options.on_progress) options.on_progress(progress);
    if (!over) std::this_thread::sleep_for(options.poll);
  }
  return !told;
}

}  // namespace

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::vector<std::vector<PoolRun*>> pack(const std::vector<PoolRun*>& runs, double task_seconds) {
  std::vector<PoolRun*> sorted = runs;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PoolRun* a, const PoolRun* b) { return a->weight > b->weight; });
  std::vector<std::vector<PoolRun*>> tasks;
  double last = 0;  ///< how long the last one takes
  for (PoolRun* run : sorted) {
    if (tasks.empty() || last + run->weight > task_seconds) {
      tasks.emplace_back();
      last = 0;
    }
    tasks.back().push_back(run);
    last += run->weight;
  }
  return tasks;
}

std::optional<Problem> batch_is_missing(BatchKind kind) {
  const auto missing = [](std::string_view program, std::string_view package) {
    return Problem{
        fmt::format("there is no {} here, so nothing was begun. it is in Debian's package {}",
                    program, package)};
  };
  if (kind == BatchKind::slurm) {
    for (const char* program : {"sbatch", "squeue", "scancel"}) {
      if (find_program(program).empty()) return missing(program, "slurm-client");
    }
  }
  if (kind == BatchKind::ssh) {  // there is another program of that name
    const Said said = ask({"parallel", "--version"});
    if (said.status != 0 || said.output.find("GNU") == std::string::npos)
      return missing("GNU parallel", "parallel");
  }
  return std::nullopt;
}

Result<bool, Problem> run_batch(const BatchOptions& options, const std::vector<PoolRun*>& runs,
                                const std::atomic<bool>& stop) {
  std::vector<PoolRun*> left;
  for (PoolRun* run : runs) {
    if (!run->there) left.push_back(run);
  }
  if (left.empty()) return true;
  if (auto problem = batch_is_missing(options.kind)) return *std::move(problem);
  const Desk desk(options.folder);
  if (options.kind == BatchKind::ssh && fs::exists(desk.job())) {
    const std::string ids = content_of(desk.job());
    if (!SlurmJob(ids).look().value_or(false))
      return Problem{fmt::format(
          "{}: Slurm's job {} is still to write there, as far as is known here. wait for it with "
          "--slurm, cancel it with scancel {}, or choose another --out. if it is over, remove that "
          "file",
          desk.job().string(), ids, ids)};
  }
  if (options.kind == BatchKind::slurm && fs::exists(desk.job())) {
    SlurmJob before(content_of(desk.job()));
    if (!before.over() && !wait_for(before, desk, options, left, stop)) return false;
    std::erase_if(left, [](const PoolRun* run) { return run->done; });
    for (PoolRun* run : left) run->started = false;
    for (PoolRun* run : left) run->failure.clear();
    if (left.empty()) return true;
  }
  if (auto problem = desk.clear()) return *std::move(problem);
  const bool by_slurm = options.kind == BatchKind::slurm;
  const auto tasks = pack(left, by_slurm ? options.task_seconds : 0);
  const std::size_t array_size = by_slurm ? largest_array() : tasks.size();
  if (auto problem = desk.write(options, tasks, array_size)) return *std::move(problem);
  auto work = by_slurm ? submit(options, desk, tasks, array_size) : start_parallel(options, desk);
  if (!work) return work.error();
  const bool whole = wait_for(*work.value(), desk, options, left, stop);
  for (PoolRun* run : left) {
    if (whole && !run->started)
      run->failure = fmt::format("{}: its task ended without it. {} and what is beside it say more",
                                 run->out.string(), desk.log().string());
  }
  return whole;
}

}  // namespace strack::run
