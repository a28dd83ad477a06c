#include "run/ensemble.h"

#include <exception>
#include <utility>

#include "run/run.h"

namespace strack::run {

EndOfRun run_here(const PoolRun& run, const std::string& engine, std::atomic<bool>& stop) {
  Request request;
  request.file = run.file;
  request.set = run.set;
  if (!run.seed_is_the_scenarios) request.seed = run.seed;
  request.threads = 1;
  request.out = run.out;
  request.force = true;
  request.engine = sim::engine_named(engine);
  request.has_company = true;
  try {
    const auto planned = plan(request);
    if (!planned) return {2, planned.error().message};
    Watcher nobody;
    const auto outcome = execute(planned.value(), nobody, stop);
    if (!outcome) return {2, outcome.error().message};
    switch (outcome.value().status) {
      case metrics::RunStatus::interrupted:
        return {kInterruptedStatus, {}};
      case metrics::RunStatus::stalled:
        return {1, {}};
      default:
        return {};
    }
  } catch (const std::exception& problem) {
    return {2, run.out.string() + ": " + problem.what()};
  }
}

RunHere::RunHere(const PoolRun& run, const std::string& engine)
    : thread_([this, &run, engine] {
        end_ = run_here(run, engine, stop_);
        done_.store(true, std::memory_order_release);
      }) {}

RunHere::~RunHere() {
  interrupt();
  if (thread_.joinable()) thread_.join();
}

std::optional<EndOfRun> RunHere::end() {
  if (!done_.load(std::memory_order_acquire)) return std::nullopt;
  thread_.join();
  return std::move(end_);
}

std::optional<double> gpu_weight(const std::string& engine, const sim::ExpectedTime& time) {
  if (engine == "cpu") return std::nullopt;
  if (engine == "emulated") return time.gpu;
  if (engine == "gpu") return time.gpu.value_or(time.cpu);  // better or not
  // It is one, and has to be worth some processors.
  constexpr double kWorth = 4;
  return time.gpu && *time.gpu * kWorth < time.cpu ? time.gpu : std::nullopt;
}

}  // namespace strack::run
