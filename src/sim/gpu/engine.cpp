#include "sim/gpu/engine.h"

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "sim/cluster.h"
#include "sim/engine/module_file.h"
#include "sim/gpu/module.h"
#include "sim/mpi/engine.h"
#include "sim/transport.h"

namespace strack::sim {
namespace {

constexpr ModuleFile kModule{"GPU", "libstrack-gpu.so", "STRACK_GPU_MODULE", "../sim/gpu",
                             "strack_gpu_module"};

std::atomic<unsigned> company{1};

[[noreturn]] void lose(const char* why) { throw EngineLost(why); }

Result<const gpu::Module*, std::string> load_module() {
  static std::mutex one_at_a_time;
  static const gpu::Module* loaded = nullptr;
  const std::lock_guard lock(one_at_a_time);
  if (loaded != nullptr) return loaded;
  const auto found = find_in_module(kModule, "run it with --engine cpu");
  if (!found) return found.error();
  using Entry = const gpu::Module* (*)();
  const auto entry = reinterpret_cast<Entry>(found.value());
  if (entry()->layout != gpu::kModuleLayout) return foreign_module(kModule);
  loaded = entry();
  return loaded;
}

Result<std::unique_ptr<Cluster>, std::string> order(const gpu::Order& wanted) {
  const auto module = load_module();
  if (!module) return module.error();
  gpu::Delivered delivered;
  module.value()->make(wanted, delivered);
  if (!delivered.cluster) return delivered.problem;
  return std::move(delivered.cluster);
}

}  // namespace

Engine engine_named(std::string_view word) {
  if (word == "gpu") return Engine::gpu;
  if (word == "auto") return Engine::automatic;
  if (word == "mpi") return Engine::mpi;
  return word == "emulated" ? Engine::emulated : Engine::cpu;
}

std::optional<std::string> gpu_is_missing() {
  const auto module = load_module();
  if (!module) return module.error();
  std::string problem = module.value()->look();
  return problem.empty() ? std::nullopt : std::optional(std::move(problem));
}

void share_gpu(unsigned runs) { company.store(runs, std::memory_order_relaxed); }

Result<std::unique_ptr<Cluster>, std::string> make_cluster(Engine engine, const SimConfig& config,
                                                           const workload::Workload& workload) {
  if (engine == Engine::gpu || engine == Engine::emulated)
    return order({&config, &workload, engine == Engine::emulated, company.load(), &lose});
  if (engine == Engine::automatic) {
    auto made = order({&config, &workload, false, company.load(), &lose});
    if (made) return std::move(made.value());
  }
  if (config.ranks != nullptr) {
    if (auto refused = mpi_refuses(config, config.ranks->count())) return *std::move(refused);
  }
  return config.transport->make_cluster(config, workload);
}

}  // namespace strack::sim
