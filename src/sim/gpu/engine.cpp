#include "sim/gpu/engine.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster.h"
#include "sim/gpu/module.h"
#include "sim/transport.h"

namespace strack::sim {
namespace {

constexpr const char* kModuleFile = "libstrack-gpu.so";

/// Where it may be: as the environment says, beside the program, or where it was installed.
std::vector<std::filesystem::path> places() {
  if (const char* set = std::getenv("STRACK_GPU_MODULE")) return {set};
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path folder = program.parent_path();
  return {folder / kModuleFile, folder / "../sim/gpu" / kModuleFile,
          folder / "../lib/strack" / kModuleFile};
}

Result<const gpu::Module*, std::string> load_module() {
  static const gpu::Module* loaded = nullptr;
  if (loaded != nullptr) return loaded;
  std::string looked;
  for (const std::filesystem::path& place : places()) {
    looked += (looked.empty() ? "" : ", ") + place.lexically_normal().string();
    std::error_code none;
    if (!std::filesystem::exists(place, none)) continue;
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::string("the GPU engine cannot be loaded: ") + dlerror();
    using Entry = const gpu::Module* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(library, "strack_gpu_module"));
    if (entry == nullptr || entry()->layout != gpu::kModuleLayout)
      return place.string() + " is not of this program. build both together";
    loaded = entry();
    return loaded;
  }
  return "there is no GPU engine: " + looked +
         " is not there. run it with --engine cpu, or set STRACK_GPU_MODULE";
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
  return word == "emulated" ? Engine::emulated : Engine::cpu;
}

std::optional<std::string> gpu_is_missing() {
  const auto module = load_module();
  if (!module) return module.error();
  std::string problem = module.value()->look();
  return problem.empty() ? std::nullopt : std::optional(std::move(problem));
}

Result<std::unique_ptr<Cluster>, std::string> make_cluster(Engine engine, const SimConfig& config,
                                                           const workload::Workload& workload) {
  if (engine == Engine::gpu || engine == Engine::emulated)
    return order({&config, &workload, engine == Engine::emulated});
  if (engine == Engine::automatic) {
    auto made = order({&config, &workload, false});
    if (made) return std::move(made.value());
  }
  return config.transport->make_cluster(config, workload);
}

}  // namespace strack::sim
