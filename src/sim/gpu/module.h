// The module libstrack-gpu.so, between the program that loads it (sim/gpu/engine.h) and the transports that
// are compiled into it. It is made of the same sources as the program, at the same time; what it is given
// and what it gives are C++ objects, so it has to be.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/config.h"
#include "workload/workload.h"

namespace strack::sim {

class Cluster;

namespace gpu {

class Machine;

/// What the module is asked for.
struct Order {
  const SimConfig* config = nullptr;
  const workload::Workload* workload = nullptr;
  bool emulated = false;                    ///< steps are taken by this processor
  unsigned company = 1;                     ///< runs that share the machine, this one included
  void (*lost)(const char* why) = nullptr;  ///< called where the machine is lost; does not return
};
/// And what comes of it: a cluster, or why not.
struct Delivered {
  std::unique_ptr<Cluster> cluster;
  std::string problem;
  std::string machine;  ///< what it runs on, in words
};

/// The module's one symbol, strack_gpu_module, gives this.
struct Module {
  std::uint64_t layout = 0;  ///< of what goes back and forth; another one is another program's
  void (*make)(const Order& order, Delivered& delivered) = nullptr;
  std::string (*look)() = nullptr;  ///< whether there is a GPU: nothing, or why not
};
inline constexpr std::uint64_t kModuleLayout =
    (std::uint64_t{5} << 48) | (sizeof(SimConfig) << 16) | sizeof(workload::Workload);

using MakeCluster = std::unique_ptr<Cluster> (*)(const SimConfig&, workload::Workload, Machine&);
/// A transport that is compiled into the module makes itself known.
bool enlist(const char* transport, MakeCluster make);

}  // namespace gpu
}  // namespace strack::sim
