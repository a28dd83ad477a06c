#include "sim/gpu/driver.h"

#include <dlfcn.h>

namespace strack::sim::gpu {

namespace {

Result<const Driver*, std::string> find_driver() {
  static Driver driver;
  void* found = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (found == nullptr)
    return std::string(
        "there is no NVIDIA driver here (libcuda.so.1). run it with --engine cpu, or on a machine "
        "with a GPU");
#define STRACK_CUDA_FIND(name, arguments)                                \
  driver.name = reinterpret_cast<int(*) arguments>(dlsym(found, #name)); \
  if (driver.name == nullptr)                                            \
    return std::string("the NVIDIA driver is too old for the GPU engine: it has no " #name);
  STRACK_CUDA_CALLS(STRACK_CUDA_FIND)
#undef STRACK_CUDA_FIND
  return &driver;
}

}  // namespace

Result<const Driver*, std::string> load_driver() {
  static const Result<const Driver*, std::string> found = find_driver();
  return found;
}

}  // namespace strack::sim::gpu
