#include "sim/mpi/engine.h"

#include <cstdlib>

#include "sim/engine/module_file.h"

namespace strack::sim {
namespace {

constexpr ModuleFile kModule{"MPI", "libstrack-mpi.so", "STRACK_MPI_MODULE", "../sim/mpi",
                             "strack_mpi_module"};

}  // namespace

Result<Ranks*, std::string> open_mpi() {
  const auto found = find_in_module(
      kModule,
      "build it where Open MPI is installed (Debian: libopenmpi-dev), run it with --engine cpu");
  if (!found) return found.error();
  using Entry = const mpi::Module* (*)();
  const mpi::Module* module = reinterpret_cast<Entry>(found.value())();
  if (module->layout != mpi::kModuleLayout) return foreign_module(kModule);
  std::string problem;
  Ranks* ranks = module->open(problem);
  if (ranks == nullptr) return problem;
  return ranks;
}

bool started_by_mpi() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size != nullptr && std::atoi(size) > 1;
}

std::optional<std::string> mpi_refuses(const SimConfig& config, std::uint32_t ranks) {
  if (ranks == 1) return std::nullopt;
  if (config.pfc.enabled)
    return "the MPI engine has no lossless switches. run it with --engine cpu, or set "
           "pfc.enabled=false";
  if (config.topology.graph != nullptr)
    return "the MPI engine divides racks of a Clos network, and this network is a graph from a "
           "file. run it with --engine cpu";
  if (config.topology.has_servers())
    return "the MPI engine has no links inside servers. run it with --engine cpu, or set "
           "topology.nics_per_server=1";
  if (ranks > config.topology.racks)
    return "there are " + std::to_string(ranks) + " ranks for " +
           std::to_string(config.topology.racks) +
           " racks, and a rack is on one of them. say mpirun -n " +
           std::to_string(config.topology.racks) + ", or fewer";
  return std::nullopt;
}

}  // namespace strack::sim
