#include "run/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <new>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "metrics/summary.h"
#include "run/build_info.h"
#include "run/checkpoint.h"
#include "run/communications.h"
#include "run/ideal_fct.h"
#include "sim/cluster.h"
#include "sim/cluster/rank_exchange.h"
#include "sim/net/network_graph.h"
#include "sim/reachability.h"
#include "sim/scenario/expected_time.h"
#include "workload/chain.h"

namespace strack::run {
namespace {

using metrics::RunStatus;

/// Puts what happens into the file, and passes the rest on.
class Recorder final : public sim::Observer {
 public:
  /// Counts what it records in `mark`, from where that is.
  Recorder(metrics::ResultWriter& writer, Watcher& watcher, std::atomic<bool>& stop,
           const Plan& plan, Communications before, metrics::ResultMark& mark, Instant& reached)
      : communications(std::move(before)),
        writer_(writer),
        watcher_(watcher),
        stop_(stop),
        plan_(plan),
        ideal_jobs_(plan.ideal_jobs),
        mark_(mark),
        reached_(reached) {}

  Communications communications;

  void on_flow(const metrics::FlowRecord& flow) override {
    ++mark_.flows;
    const bool is_message = flow.flow >= plan_.work.flows.size();
    if (!is_message && flow.end != Instant::never() && is_inside(flow.src, flow.dst))
      mark_.inside_bytes += flow.size.count();
    writer_.add(flow);
  }
  void on_job(const metrics::JobRecord& job) override {
    if (job.end != Instant::never()) inside_ += inside_of(plan_.work.jobs[job.job]);
    metrics::JobRecord whole = job;
    whole.ideal = ideal_jobs_[job.job];
    writer_.add(whole);
  }
  void on_mark(const metrics::JobMark& mark) override {
    const auto done = communications.take(mark);
    if (!done) return;
    ++mark_.communications;
    writer_.add(*done);
  }
  void on_link_sample(const metrics::LinkSample& sample) override {
    ++mark_.link_samples;
    writer_.add(sample);
  }
  void on_flow_sample(const metrics::FlowSample& sample) override {
    ++mark_.flow_samples;
    writer_.add(sample);
  }
  void on_flow_event(const metrics::FlowEvent& event) override {
    ++mark_.flow_events;
    writer_.add(event);
  }
  void on_progress(const sim::Progress& progress) override {
    reached_ = progress.now;
    writer_.tick(progress.now);
    if (writer_.error()) stop_.store(true, std::memory_order_relaxed);
    watcher_.on_progress(progress);
  }
  void on_warning(const std::string& text) override {
    if (said_.insert(text).second) watcher_.on_warning(text);
  }

  /// Adds what has stayed inside servers, where there are any.
  void complete(metrics::Counters& counters) const {
    if (plan_.config.topology.has_servers())
      counters.own.push_back({std::string(metrics::kInsideServers),
                              static_cast<std::uint64_t>(inside_.count() + mark_.inside_bytes)});
  }

 private:
  [[nodiscard]] bool is_inside(std::uint32_t src, std::uint32_t dst) const {
    const sim::TopologyParams& t = plan_.config.topology;
    return t.has_servers() && t.server_of(src) == t.server_of(dst);
  }
  [[nodiscard]] Bytes inside_of(const workload::Job& job) const {
    Bytes sum{0};
    if (!plan_.config.topology.has_servers()) return sum;
    const workload::Graph& graph = *job.graph;
    for (workload::NodeId id = 0; id < graph.size(); ++id) {
      const workload::Graph::Node& node = graph.node(id);
      if (!node.computes && is_inside(job.hosts[node.rank], job.hosts[graph.receiver(id)]))
        sum += bytes(node.amount);
    }
    return sum;
  }

  metrics::ResultWriter& writer_;
  Watcher& watcher_;
  std::set<std::string> said_;  ///< once is enough
  std::atomic<bool>& stop_;
  const Plan& plan_;
  const std::vector<Picoseconds>& ideal_jobs_;
  Bytes inside_{0};  ///< of jobs that have finished, by links inside servers
  metrics::ResultMark& mark_;
  Instant& reached_;
};

double cpu_seconds(const Request& request) {
  rusage usage{};
  getrusage(request.has_company ? RUSAGE_THREAD : RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// What all ranks took, at rank 0.
double of_all(sim::Ranks* ranks, double seconds) {
  if (ranks == nullptr) return seconds;
  std::vector<sim::Parcel> out(ranks->count());
  for (sim::Parcel& parcel : out) parcel.head[0] = static_cast<std::uint64_t>(seconds * 1e6);
  std::vector<sim::Parcel> in;
  ranks->exchange(out, in);
  double sum = 0;
  for (const sim::Parcel& parcel : in) sum += static_cast<double>(parcel.head[0]) / 1e6;
  return sum;
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

/// One of the run's workloads as the file has it.
metrics::WorkloadInfo workload_of(const Plan& plan, const workload::Part& part,
                                  std::size_t number) {
  metrics::WorkloadInfo info{.workload = static_cast<std::uint32_t>(number),
                             .name = part.name,
                             .kind = part.kind,
                             .first_flow = part.first_flow,
                             .flows = part.flows,
                             .first_job = part.first_job,
                             .jobs = part.jobs,
                             .iterations = part.iterations,
                             .compute = part.compute};
  const workload::Workload& all = plan.work;
  const workload::Flows flows(all.flows.begin() + part.first_flow,
                              all.flows.begin() + part.first_flow + part.flows);
  for (const workload::Flow& flow : flows) info.bytes += flow.size;
  info.ideal = ideal_fct(plan.config, flows);
  for (std::uint32_t job = part.first_job; job < part.first_job + part.jobs; ++job) {
    info.bytes += all.jobs[job].graph->bytes();
    info.ideal = std::max(info.ideal, plan.ideal_jobs[job]);
  }
  return info;
}

metrics::RunInfo header_of(const Plan& plan) {
  const sim::SimConfig& config = plan.config;
  const sim::Derived derived = sim::derive(config.topology, config.hosts, config.mtu());
  metrics::RunInfo run;
  run.name = plan.scenario.name;
  run.scheme = plan.scenario.scheme;
  run.scenario = sim::to_toml(plan.scenario);
  run.settings = plan.scenario.settings;
  run.seed = config.seed;
  run.threads = config.threads;
  run.version = kBuildInfo.version;
  run.commit = kBuildInfo.commit;
  run.source = kBuildInfo.source;
  run.hosts = config.topology.hosts();
  run.links = derived.links;
  run.switches = derived.switches;
  // [D112] A NIC forwards like a switch, and nobody buys it as one.
  if (const auto& graph = config.topology.graph; graph != nullptr)
    run.switches -=
        static_cast<std::uint64_t>(std::count(graph->nics.begin(), graph->nics.end(), true));
  run.flows = plan.work.flows.size();
  run.jobs = plan.work.jobs.size();
  for (const workload::Flow& flow : plan.work.flows) run.bytes += flow.size;
  for (const workload::Job& job : plan.work.jobs) run.bytes += job.graph->bytes();
  run.mtu = config.mtu();
  run.pfc = config.pfc.enabled;
  run.host_rate = config.topology.host_rate;
  run.base_rtt = derived.base_rtt;
  run.bdp = derived.bdp;
  run.ideal_fct = ideal_fct(config, plan.work.flows);
  for (const Picoseconds ideal : plan.ideal_jobs) run.ideal_fct = std::max(run.ideal_fct, ideal);
  for (const workload::Part& part : plan.work.parts)
    run.workloads.push_back(workload_of(plan, part, run.workloads.size()));
  return run;
}

/// What jobs would take without a network, where they compute. Many share a graph.
void add_computations(metrics::ResultWriter& writer, const std::vector<workload::Job>& jobs) {
  const workload::Graph* graph = nullptr;
  Picoseconds time{0};
  for (std::uint32_t job = 0; job < jobs.size(); ++job) {
    if (jobs[job].graph.get() != graph) {
      graph = jobs[job].graph.get();
      time = workload::computation_time(*graph);
    }
    if (time > ps(0)) writer.add(metrics::ComputationInfo{job, time});
  }
}

/// What is known of a run before it begins, beside the header.
void describe(metrics::ResultWriter& writer, const Plan& plan, const sim::Cluster& cluster) {
  // A network from a file is known to readers of the result by its links only.
  if (plan.config.record.interval > ps(0) || plan.config.topology.graph != nullptr) {
    for (const metrics::LinkInfo& link : cluster.links()) writer.add(link);
  }
  for (const metrics::ChannelInfo& channel : cluster.channels()) writer.add(channel);
  add_computations(writer, plan.work.jobs);
}

/// Below a certain size, threads are done before a GPU has started.
sim::Engine engine_of(const Plan& plan) {
  if (plan.request.engine == sim::Engine::automatic &&
      !sim::expected_time(plan.scenario).gpu_beats(plan.config.threads))
    return sim::Engine::cpu;
  return plan.request.engine;
}

/// Said where memory ran out, while the workload or the network was being made.
Problem too_large(const Plan& plan) {
  return {fmt::format(
      "{}: there is not enough memory for this run, which takes about {}. use fewer hosts, flows "
      "or messages, or record less",
      plan.request.file.string(), strack::size_text(sim::memory_estimate(plan.scenario)))};
}

/// Said of a pair that could only try for ever.
std::string unreachable(const Plan& plan, const sim::UnreachablePair& apart) {
  const sim::NetworkGraph* graph = plan.config.topology.graph.get();
  const auto name = [&](std::uint32_t host) {
    return graph != nullptr ? graph->name(host) : fmt::format("{}", host);
  };
  const bool broken = !plan.config.failures.failures.empty();
  return fmt::format(
      "{}: the host {} sends to {}, and the network has no way from one to the other{}. {}, or let "
      "them not talk",
      plan.request.file.string(), name(apart.src), name(apart.dst),
      broken ? ", with what is down from the start" : "",
      graph != nullptr ? "link their switches" : "let the failure end (until_us)");
}

/// Before anything is built: all ranks are there, with the same run.
std::optional<Problem> muster(const Plan& plan, bool ready) {
  sim::Ranks* ranks = plan.config.ranks;
  if (ranks == nullptr) return std::nullopt;
  const std::string run = fmt::format("{} {} {} {} {}", plan.info.scenario, plan.info.seed,
                                      plan.info.version, plan.info.commit, plan.info.source);
  const sim::Vote vote = sim::vote(*ranks, ready, std::hash<std::string>{}(run));
  if (vote.all && vote.same) return std::nullopt;
  if (!vote.all || ranks->rank() != 0) return Problem{};
  return Problem{
      plan.request.file.string() +
      ": other ranks read another scenario, or are of another build. put the same files on "
      "all machines"};
}

/// What all but the first of several ranks do: they take part.
Result<Outcome, Problem> assist(const Plan& plan, const std::atomic<bool>& stop) {
  Outcome outcome;
  const double cpu_before = cpu_seconds(plan.request);
  try {
    if (const auto missing = muster(plan, true)) return *missing;
    auto cluster = sim::make_cluster(plan.request.engine, plan.config, plan.work);
    if (!cluster) return Problem{};
    sim::Simulation simulation(std::move(cluster.value()));
    sim::Observer nobody;
    outcome.status = status_of(simulation.run(nobody, &stop));
    outcome.cpu_seconds = of_all(plan.config.ranks, cpu_seconds(plan.request) - cpu_before);
  } catch (const std::bad_alloc&) {
    Problem problem = too_large(plan);
    problem.fatal = true;
    return problem;
  } catch (const sim::RankLost&) {
    return Problem{"", true};
  }
  return outcome;
}

[[nodiscard]] bool wants_checkpoints(const Plan& plan) {
  return plan.request.checkpoint.every_seconds > 0 && !is_foreign(checkpoint_path(plan.out));
}
/// Whether there is one beside the result file.
bool has_checkpoint(const Plan& plan) {
  std::error_code ignored;
  return wants_checkpoints(plan) && std::filesystem::exists(checkpoint_path(plan.out), ignored);
}
void remove_checkpoint(const Plan& plan) {
  std::error_code ignored;
  if (wants_checkpoints(plan)) std::filesystem::remove(checkpoint_path(plan.out), ignored);
}

/// What this very run has left, stopped earlier, needs no word to be replaced where it cannot go on.
bool may_replace(const Plan& plan) {
  if (plan.request.force) return true;
  if (!has_checkpoint(plan)) return false;
  const auto old = metrics::ResultReader::open(plan.out);
  return old && !old.value()->state().live && !old.value()->state().complete() &&
         (plan.request.checkpoint.fresh || is_of_the_same_run(old.value()->run(), plan.info));
}

/// Somebody else's run is at work on the result file.
bool is_busy(const Plan& plan) {
  const auto old = metrics::ResultReader::open(plan.out);
  return old && old.value()->state().live;
}

/// [D117] What was kept of the run, and is to be gone on with; `why` not, if so. A problem where it is to be kept, but
/// cannot be gone on with now.
Result<std::optional<Resumed>, Problem> find_checkpoint(const Plan& plan, Watcher& watcher,
                                                        std::string& why) {
  const std::string file = checkpoint_path(plan.out).string();
  if (plan.request.checkpoint.every_seconds > 0 && is_foreign(file))
    watcher.on_note(fmt::format("{}: is no checkpoint, and stays; this run keeps none", file));
  if (!has_checkpoint(plan) || plan.request.checkpoint.fresh || is_busy(plan))
    return std::optional<Resumed>{};
  const auto anew = [&](const std::string& reason) {
    why = fmt::format("{}: {}", file, reason);
    return std::optional<Resumed>{};
  };
  if (engine_of(plan) != sim::Engine::cpu)
    return anew("only the CPU engine goes on with a checkpoint");
  auto resumed = [&]() -> Result<Resumed, NotResumed> {
    try {
      return resume(plan);
    } catch (const std::bad_alloc&) {
      return NotResumed{"there is not enough memory to read it", true};
    }
  }();
  if (!resumed && resumed.error().passing) {
    return Problem{
        fmt::format("{}: the run cannot go on with it now: {}. it stays; --fresh begins anew", file,
                    resumed.error().why)};
  }
  if (!resumed) return anew(resumed.error().why);
  const CheckpointHead& head = resumed.value().head;
  watcher.on_note(fmt::format("goes on at {} of simulated time ({:.0f} %), with {}",
                              time_text(head.now - Instant{}), 100 * head.share, file));
  return std::optional<Resumed>(std::move(resumed.value()));
}

/// There is no run, which other ranks are to know.
Problem refuse(const Plan& plan, std::string why) {
  Problem problem{std::move(why)};
  try {
    static_cast<void>(muster(plan, false));
  } catch (const sim::RankLost&) {
    problem.fatal = true;
  }
  return problem;
}

/// A run at its beginning, or where it goes on.
Result<Resumed, Problem> begin(const Plan& plan, std::optional<Resumed> resumed,
                               metrics::ResultWriter& writer) {
  if (resumed) return *std::move(resumed);
  auto made = sim::make_cluster(engine_of(plan), plan.config, plan.work);
  if (!made) return Problem{plan.request.file.string() + ": " + made.error()};
  Resumed fresh{{}, Communications(plan.work.jobs), std::move(made.value()), {}};
  describe(writer, plan, *fresh.cluster);
  if (wants_checkpoints(plan)) {
    fresh.head = head_of(plan);
    fresh.head.mark.started_at = metrics::started_at(plan.out);
  }
  return fresh;
}

/// What the same request does after a run that was interrupted.
std::string goes_on(const CheckpointKeeper& keeper, bool keeps) {
  if (!keeps) return "this engine keeps no checkpoints: the same command with --force begins again";
  std::string text;
  if (!keeper.problem().empty())
    text = fmt::format("the checkpoint could not be written: {}. ", keeper.problem());
  if (keeper.newest()) {
    text += fmt::format("the same command goes on at {} ({:.0f} %)",
                        time_text(keeper.newest()->now - Instant{}), 100 * keeper.newest()->share);
  } else if (!text.empty()) {
    text += "the same command with --force begins again";
  }
  return text;
}

/// What a run takes, from here on.
class Took {
 public:
  explicit Took(const Request& request) : request_(request), cpu_before_(cpu_seconds(request)) {}
  [[nodiscard]] double wall() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }
  [[nodiscard]] double cpu() const { return cpu_seconds(request_) - cpu_before_; }

 private:
  const Request& request_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const double cpu_before_;
};

Outcome simulate(const Plan& plan, Resumed begun, const Took& took, metrics::ResultWriter& writer,
                 Watcher& watcher, std::atomic<bool>& stop, Instant& reached) {
  metrics::ResultMark mark = begun.head.mark;
  Recorder recorder(writer, watcher, stop, plan, std::move(begun.communications), mark, reached);
  for (const metrics::JobRecord& job : begun.jobs) recorder.on_job(job);
  CheckpointKeeper keeper(plan, begun.head, mark, writer, recorder.communications,
                          [&] { return took.cpu(); });
  const bool keeps = wants_checkpoints(plan) && keeper.watch(*begun.cluster);
  sim::Simulation simulation(std::move(begun.cluster));
  Outcome outcome;
  outcome.status = status_of(simulation.run(recorder, &stop));
  outcome.wall_seconds = begun.head.wall_seconds + took.wall();
  outcome.cpu_seconds = begun.head.cpu_seconds + of_all(plan.config.ranks, took.cpu());
  outcome.counters = simulation.counters();
  recorder.complete(outcome.counters);
  outcome.end = simulation.now();
  if (wants_checkpoints(plan) && outcome.status == RunStatus::interrupted)
    outcome.goes_on = goes_on(keeper, keeps);
  outcome.kept = outcome.status == RunStatus::interrupted && has_checkpoint(plan);
  return outcome;
}

Result<sim::Scenario, sim::ScenarioError> load(const Request& request,
                                               const std::vector<std::string>& overrides) {
  if (!request.text) return sim::load(request.file, overrides);
  return sim::load_text(*request.text, request.file.string(), request.file.parent_path(),
                        overrides);
}

}  // namespace

Result<Plan, Problem> plan(const Request& request) {
  auto loaded = load(request, request.set);
  if (!loaded) return Problem{loaded.error().text()};
  Plan plan;
  plan.request = request;
  plan.seeds = request.seed ? 1 : loaded.value().seeds.size();
  const std::uint64_t seed = request.seed.value_or(loaded.value().seeds.front());
  const bool other_threads = request.threads && *request.threads != loaded.value().config.threads;
  if (request.seed || loaded.value().seeds.size() > 1 || other_threads) {
    // Once more with this one seed, so that the scenario in the file is that of this very run.
    std::vector<std::string> overrides = request.set;
    if (request.seed || loaded.value().seeds.size() > 1)
      overrides.push_back(fmt::format("run.seed={}", seed));
    if (other_threads) overrides.push_back(fmt::format("run.threads={}", *request.threads));
    loaded = load(request, overrides);
    if (!loaded) return Problem{loaded.error().text()};
  }
  plan.scenario = std::move(loaded).value();
  plan.config = sim::make_config(plan.scenario, seed);
  if (request.threads) plan.config.threads = *request.threads;
  plan.config.ranks = request.ranks;
  try {
    plan.work = sim::make_workload(plan.scenario, seed);
  } catch (const std::bad_alloc&) {
    return too_large(plan);
  }
  if (const auto full = sim::find_overfull_host(plan.work, plan.config.topology.hosts())) {
    return Problem{fmt::format(
        "{}: {} connections start or end at host {}. a host has at most {}: use fewer flows",
        request.file.string(), full->connections, full->host, sim::kMaxConnections)};
  }
  if (const auto apart = sim::find_unreachable_pair(plan.config, plan.work)) {
    return Problem{unreachable(plan, *apart)};
  }
  plan.ideal_jobs = ideal_jobs(plan.config, plan.work.jobs);
  plan.info = header_of(plan);
  plan.out = request.out;
  if (plan.out.empty()) {
    plan.out = std::filesystem::path("results") /
               fmt::format("{}-{}-s{}.db", safe_name(plan.info.name), plan.info.scheme, seed);
  }
  return plan;
}

Result<Outcome, Problem> execute(const Plan& plan, Watcher& watcher, std::atomic<bool>& stop) {
  sim::Ranks* ranks = plan.config.ranks;
  if (ranks != nullptr) ranks->watch(&stop);
  if (ranks != nullptr && ranks->rank() != 0) return assist(plan, stop);
  std::string why_not;
  auto found = find_checkpoint(plan, watcher, why_not);
  if (!found) return refuse(plan, found.error().message);
  std::optional<Resumed> resumed = std::move(found.value());
  const auto created =
      metrics::ResultWriter::create(plan.out, plan.info,
                                    {.force = !resumed && may_replace(plan),
                                     .memory = wants_checkpoints(plan) ? 0 : plan.request.memory});
  // Only now is it known whether it can.
  if (!why_not.empty()) watcher.on_note(why_not + (created ? ". the run starts anew" : ""));
  if (!created) return refuse(plan, created.error().message);
  metrics::ResultWriter& writer = *created.value();
  if (!resumed) remove_checkpoint(plan);
  const auto failed = [&](Problem problem, Instant now = {}) {
    static_cast<void>(writer.finish(RunStatus::failed, now, {}, 0, 0));
    return problem;
  };
  Outcome outcome;
  const Took took(plan.request);
  Instant reached{};
  try {
    if (auto problem = muster(plan, true)) return failed(*std::move(problem));
    auto begun = begin(plan, std::move(resumed), writer);
    if (!begun) return failed(begun.error());
    outcome = simulate(plan, std::move(begun.value()), took, writer, watcher, stop, reached);
    const auto unwritten = writer.finish(outcome.status, outcome.end, outcome.counters,
                                         outcome.wall_seconds, outcome.cpu_seconds);
    if (unwritten) return Problem{unwritten->message};
    outcome.in_memory = writer.in_memory();
    if (outcome.status != RunStatus::interrupted) remove_checkpoint(plan);
  } catch (const std::bad_alloc&) {
    Problem problem = too_large(plan);
    problem.fatal = ranks != nullptr;
    return failed(std::move(problem));
  } catch (const sim::EngineLost& lost) {
    return failed({fmt::format("{}: {}", plan.request.file.string(), lost.what())}, reached);
  } catch (const sim::RankLost& lost) {
    return failed(
        {fmt::format("{}: {}. {} has what was recorded before that, and is marked as failed",
                     plan.request.file.string(), lost.what(), plan.out.string()),
         true},
        reached);
  }
  return outcome;
}

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

}  // namespace strack::run
