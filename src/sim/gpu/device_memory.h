// What the host and its kernels agree on about memory and failures; plain, for both compilers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strack::sim::gpu {

/// A failed check of a kernel, in memory that the host can read when the kernels are gone.
struct DeviceFailure {
  static constexpr int kText = 160;
  std::uint32_t claimed;
  std::uint32_t told;
  char condition[kText];
  char file[kText];
  std::int32_t line;
  bool has_values;
  std::int64_t left;
  std::int64_t right;
};
inline constexpr const char* kOutOfMemory = "out of memory";

/// Memory with one address on both sides. The host takes from its start until kernels run.
struct DeviceMemory {
  void* base;
  std::size_t capacity;
  std::size_t used;
  DeviceFailure* failure;
};

}  // namespace strack::sim::gpu
