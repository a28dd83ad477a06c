// The few calls of NVIDIA's driver that are used, found at run time: neither the build nor the program needs
// CUDA's libraries or headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace strack::sim::gpu {

using CuDevice = int;
using CuPointer = unsigned long long;
using CuHandle = unsigned long long;  ///< of memory
struct CuContextTag;
struct CuModuleTag;
struct CuFunctionTag;
struct CuStreamTag;
struct CuEventTag;
struct CuGraphTag;
struct CuGraphExecTag;
using CuContext = CuContextTag*;
using CuModule = CuModuleTag*;
using CuFunction = CuFunctionTag*;
using CuStream = CuStreamTag*;
using CuEvent = CuEventTag*;
using CuGraph = CuGraphTag*;
using CuGraphExec = CuGraphExecTag*;

inline constexpr int kCuSuccess = 0;
inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuEventDefault = 0;
inline constexpr unsigned kCuHostMapped = 2;
inline constexpr int kCuCaptureRelaxed = 2;
inline constexpr int kCuNearbyBytes = 8;  ///< of a function: shared memory of a block, at most
inline constexpr int kCuProcessors = 16;  ///< attribute: multiprocessors

struct CuLocation {
  int type = 1;  ///< a device
  int id = 0;
};
struct CuAllocation {
  int type = 1;  ///< stays where it is
  int handles = 0;
  CuLocation location;
  void* metadata = nullptr;
  unsigned char flags[8] = {};
};
struct CuAccess {
  CuLocation location;
  int flags = 3;  ///< read and write
};

/// Name, and the arguments of the call.
// clang-format off
#define STRACK_CUDA_CALLS(call) \
  call(cuInit, (unsigned)) \
  call(cuGetErrorString, (int, const char**)) \
  call(cuDeviceGet, (CuDevice*, int)) \
  call(cuDeviceGetAttribute, (int*, int, CuDevice)) \
  call(cuDevicePrimaryCtxRetain, (CuContext*, CuDevice)) \
  call(cuCtxSetCurrent, (CuContext)) \
  call(cuMemGetInfo_v2, (std::size_t*, std::size_t*)) \
  call(cuModuleLoadData, (CuModule*, const void*)) \
  call(cuModuleGetFunction, (CuFunction*, CuModule, const char*)) \
  call(cuFuncSetAttribute, (CuFunction, int, int)) \
  call(cuMemAlloc_v2, (CuPointer*, std::size_t)) \
  call(cuMemFree_v2, (CuPointer)) \
  call(cuMemHostAlloc, (void**, std::size_t, unsigned)) \
  call(cuMemFreeHost, (void*)) \
  call(cuMemAddressReserve, (CuPointer*, std::size_t, std::size_t, CuPointer, unsigned long long)) \
  call(cuMemCreate, (CuHandle*, std::size_t, const CuAllocation*, unsigned long long)) \
  call(cuMemMap, (CuPointer, std::size_t, std::size_t, CuHandle, unsigned long long)) \
  call(cuMemSetAccess, (CuPointer, std::size_t, const CuAccess*, std::size_t)) \
  call(cuMemUnmap, (CuPointer, std::size_t)) \
  call(cuMemRelease, (CuHandle)) \
  call(cuMemcpyDtoH_v2, (void*, CuPointer, std::size_t)) \
  call(cuMemcpyHtoD_v2, (CuPointer, const void*, std::size_t)) \
  call(cuMemsetD8_v2, (CuPointer, unsigned char, std::size_t)) \
  call(cuStreamCreate, (CuStream*, unsigned)) \
  call(cuStreamDestroy_v2, (CuStream)) \
  call(cuStreamSynchronize, (CuStream)) \
  call(cuStreamQuery, (CuStream)) \
  call(cuStreamWaitEvent, (CuStream, CuEvent, unsigned)) \
  call(cuEventCreate, (CuEvent*, unsigned)) \
  call(cuEventDestroy_v2, (CuEvent)) \
  call(cuEventRecord, (CuEvent, CuStream)) \
  call(cuEventElapsedTime, (float*, CuEvent, CuEvent)) \
  call(cuStreamBeginCapture_v2, (CuStream, int)) \
  call(cuStreamEndCapture, (CuStream, CuGraph*)) \
  call(cuGraphInstantiateWithFlags, (CuGraphExec*, CuGraph, unsigned long long)) \
  call(cuGraphLaunch, (CuGraphExec, CuStream)) \
  call(cuGraphDestroy, (CuGraph)) \
  call(cuGraphExecDestroy, (CuGraphExec)) \
  call(cuLaunchKernel, (CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuStream, void**, void**))
// clang-format on

struct Driver {
#define STRACK_CUDA_POINTER(name, arguments) int(*name) arguments = nullptr;
  STRACK_CUDA_CALLS(STRACK_CUDA_POINTER)
#undef STRACK_CUDA_POINTER
};

/// Loaded once; or what is missing.
[[nodiscard]] Result<const Driver*, std::string> load_driver();

}  // namespace strack::sim::gpu
