// The module where nothing was compiled for GPUs.
#include "sim/gpu/machine.h"

namespace strack::sim::gpu {

std::string look_for_gpu() {
  return "this build has no kernels for GPUs. configure it with -DSTRACK_GPU=ON, where clang++ and "
         "ptxas (of CUDA) are installed, or run it with --engine cpu";
}

Result<std::unique_ptr<Machine>, std::string> open_gpu(unsigned /*company*/) {
  return look_for_gpu();
}

}  // namespace strack::sim::gpu
