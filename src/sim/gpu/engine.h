// Which engine runs a simulation: threads of this program, a GPU by way of the module libstrack-gpu.so, which
// is loaded when it is first asked for, or ranks of MPI (sim/mpi/engine.h). All give the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/config.h"
#include "workload/workload.h"

namespace strack::sim {

class Cluster;

enum class Engine : std::uint8_t {
  cpu,
  gpu,        ///< or an error: never another one in its place
  automatic,  ///< the GPU where there is one that can run it, else threads
  emulated,   ///< the GPU's steps, one after the other on this processor: for tests
  mpi,        ///< threads of several processes; SimConfig::ranks has them
};

/// What runs it is gone, or has no memory left. Comes out of Cluster::run.
class EngineLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// By the word of the command line: cpu, gpu, auto, emulated, mpi.
[[nodiscard]] Engine engine_named(std::string_view word);

/// [D157] A GPU runs everything, but this more slowly than 16 cores, as far as is known: only if it is asked to.
[[nodiscard]] inline bool is_for_threads(const SimConfig& config) {
  return config.pfc.enabled || config.switches.routing != Routing::ecmp;
}

/// Whether this machine has a GPU that this program can use; or why not.
[[nodiscard]] std::optional<std::string> gpu_is_missing();

/// So many runs of this program share the GPU from now on: each then fills its part of it alone.
void share_gpu(unsigned runs);

/// A cluster on that engine, or why it cannot run there.
[[nodiscard]] Result<std::unique_ptr<Cluster>, std::string> make_cluster(
    Engine engine, const SimConfig& config, const workload::Workload& workload);

}  // namespace strack::sim
