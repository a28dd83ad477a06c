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

/// Why no GPU can run it, if so.
[[nodiscard]] inline std::optional<std::string> gpu_refuses(const SimConfig& config,
                                                            bool has_priorities = false) {
  if (has_priorities)
    return "the GPU engine has no priorities. run it with --engine cpu, or leave workload.priority "
           "out";
  if (config.pfc.enabled)
    return "the GPU engine has no lossless switches. run it with --engine cpu, or set "
           "pfc.enabled=false";
  // What it chooses hangs on what came before, at all of its ports: there is nothing to do side by side.
  if (config.switches.routing != Routing::ecmp)
    return "the GPU engine has no switches that spray. run it with --engine cpu, or set "
           "switch.routing=\"ecmp\"";
  if (config.topology.has_servers())
    return "the GPU engine has no links inside servers. run it with --engine cpu, or set "
           "topology.nics_per_server=1";
  return std::nullopt;
}

/// Whether this machine has a GPU that this program can use; or why not.
[[nodiscard]] std::optional<std::string> gpu_is_missing();

/// So many runs of this program share the GPU from now on: each then fills its part of it alone.
void share_gpu(unsigned runs);

/// A cluster on that engine, or why it cannot run there.
[[nodiscard]] Result<std::unique_ptr<Cluster>, std::string> make_cluster(
    Engine engine, const SimConfig& config, const workload::Workload& workload);

}  // namespace strack::sim
