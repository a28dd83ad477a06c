// Several processes, on one machine or many, that run a cluster together by MPI. The module libstrack-mpi.so
// has what needs MPI, so that the program does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "sim/config.h"
#include "sim/engine/ranks.h"

namespace strack::sim {

/// The processes that mpirun has started, this one among them; or why there are none. They are the same at each
/// call, and MPI ends with the program.
[[nodiscard]] Result<Ranks*, std::string> open_mpi();

/// Whether mpirun has started this program more than once.
[[nodiscard]] bool started_by_mpi();

/// Why so many ranks cannot run it, if so.
[[nodiscard]] std::optional<std::string> mpi_refuses(const SimConfig& config, std::uint32_t ranks);

namespace mpi {

/// The module's one symbol, strack_mpi_module, gives this.
struct Module {
  std::uint64_t layout = 0;  ///< of what goes back and forth; another one is another program's
  Ranks* (*open)(std::string& problem) = nullptr;  ///< or none, and why
};
inline constexpr std::uint64_t kModuleLayout = (std::uint64_t{2} << 48) | sizeof(Parcel);

}  // namespace mpi
}  // namespace strack::sim
