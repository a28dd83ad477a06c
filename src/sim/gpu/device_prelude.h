// What a transport's translation unit needs before anything else when Clang compiles it for a GPU, and
// nothing but this: every function of the program and of the standard library counts as the device's too,
// so that kernels run the very code that the CPU runs (Clang's force_cuda_host_device).
//
// Without NVIDIA's headers: the few things that are used of them are here. Memory comes from the arena that
// the host has set up, and is never given back: what grows doubles, and a connection is made once.
#pragma once

#define STRACK_HOST __attribute__((host))
#define STRACK_DEVICE __attribute__((device))
#define STRACK_KERNEL __attribute__((global))
/// Threads of a block, and blocks that are to have room on a multiprocessor.
#define STRACK_LAUNCH_BOUNDS(threads, blocks) __attribute__((launch_bounds(threads, blocks)))

#pragma clang force_cuda_host_device begin
#include <bits/c++config.h>
#include <bits/exception.h>
#pragma clang force_cuda_host_device end
#include <new>

#include "sim/gpu/device_memory.h"

/// Of the run that this block works for: every kernel begins with setting it.
STRACK_DEVICE __attribute__((shared)) strack::sim::gpu::DeviceMemory* strack_gpu_memory;
/// As much as the kernel was launched with (sim/gpu/nearby.h, light_port.h).
extern STRACK_DEVICE __attribute__((shared)) unsigned long strack_gpu_nearby[];
STRACK_DEVICE inline void strack_gpu_set_memory(unsigned long memory) {
  if (__nvvm_read_ptx_sreg_tid_x() == 0)
    strack_gpu_memory = reinterpret_cast<strack::sim::gpu::DeviceMemory*>(memory);
  __syncthreads();
}

/// Tells the host why, and ends all kernels.
STRACK_DEVICE inline void strack_gpu_fail(const char* condition, const char* file, int line,
                                          bool has_values, long left, long right) {
  strack::sim::gpu::DeviceFailure& failure = *strack_gpu_memory->failure;
  if (__atomic_exchange_n(&failure.claimed, 1u, __ATOMIC_RELAXED) == 0) {
    const auto copy = [](char* to, const char* from) {
      int i = 0;
      for (; from[i] != 0 && i < strack::sim::gpu::DeviceFailure::kText - 1; ++i) to[i] = from[i];
      to[i] = 0;
    };
    copy(failure.condition, condition);
    copy(failure.file, file);
    failure.line = line;
    failure.has_values = has_values;
    failure.left = left;
    failure.right = right;
    __nvvm_membar_sys();
    failure.told = 1;
    __nvvm_membar_sys();
  }
  asm volatile("trap;");
}

STRACK_DEVICE inline void* strack_gpu_allocate(std::size_t bytes) {
  strack::sim::gpu::DeviceMemory& memory = *strack_gpu_memory;
  const std::size_t grain = bytes < 64 ? 16 : 64;
  const std::size_t room = (bytes + grain - 1) / grain * grain + (grain == 64 ? 48 : 0);
  const std::size_t place = __atomic_fetch_add(&memory.used, room, __ATOMIC_RELAXED);
  if (place + room > memory.capacity)
    strack_gpu_fail(strack::sim::gpu::kOutOfMemory, "", 0, false, 0, 0);
  const std::size_t address = reinterpret_cast<std::size_t>(memory.base) + place;
  return reinterpret_cast<void*>((address + grain - 1) / grain * grain);
}

STRACK_DEVICE void* operator new(std::size_t bytes) { return strack_gpu_allocate(bytes); }
STRACK_DEVICE void* operator new[](std::size_t bytes) { return strack_gpu_allocate(bytes); }
STRACK_DEVICE void* operator new(std::size_t bytes, std::align_val_t) {
  return strack_gpu_allocate(bytes);
}
STRACK_DEVICE void* operator new[](std::size_t bytes, std::align_val_t) {
  return strack_gpu_allocate(bytes);
}
STRACK_DEVICE void operator delete(void*) noexcept {}
STRACK_DEVICE void operator delete[](void*) noexcept {}
STRACK_DEVICE void operator delete(void*, std::size_t) noexcept {}
STRACK_DEVICE void operator delete[](void*, std::size_t) noexcept {}
STRACK_DEVICE void operator delete(void*, std::align_val_t) noexcept {}
STRACK_DEVICE void operator delete[](void*, std::align_val_t) noexcept {}
STRACK_DEVICE void operator delete(void*, std::size_t, std::align_val_t) noexcept {}
STRACK_DEVICE void operator delete[](void*, std::size_t, std::align_val_t) noexcept {}
STRACK_DEVICE inline void* operator new(std::size_t, void* place) noexcept { return place; }
STRACK_DEVICE inline void* operator new[](std::size_t, void* place) noexcept { return place; }
STRACK_DEVICE inline void operator delete(void*, void*) noexcept {}
STRACK_DEVICE inline void operator delete[](void*, void*) noexcept {}

/// Division of 128 bits, for which the target has neither instructions nor a library. Bit by bit: it is
/// rare that a product does not fit 64 bits (base/units.h).
__extension__ using Wide = unsigned __int128;
STRACK_DEVICE inline Wide strack_gpu_divide(Wide a, Wide b) {
  Wide quotient = 0;
  Wide rest = 0;
  for (int i = 127; i >= 0; --i) {
    rest = (rest << 1) | ((a >> i) & 1);
    if (rest >= b) {
      rest -= b;
      quotient |= Wide{1} << i;
    }
  }
  return quotient;
}
extern "C" STRACK_DEVICE __attribute__((used)) Wide __udivti3(Wide a, Wide b) {
  return strack_gpu_divide(a, b);
}
extern "C" STRACK_DEVICE __attribute__((used)) __int128 __divti3(__int128 a, __int128 b) {
  const Wide left = a < 0 ? -static_cast<Wide>(a) : static_cast<Wide>(a);
  const Wide right = b < 0 ? -static_cast<Wide>(b) : static_cast<Wide>(b);
  const Wide quotient = strack_gpu_divide(left, right);
  return static_cast<__int128>((a < 0) != (b < 0) ? -quotient : quotient);
}

#pragma clang force_cuda_host_device begin
#include "base/check.h"

extern "C" void strack_check_failed(const strack::CheckFailure& failure) {
  strack_gpu_fail(failure.condition, failure.file, failure.line, failure.has_values, failure.left,
                  failure.right);
  __builtin_unreachable();
}
namespace std {
void __throw_length_error(const char* what) {
  strack_gpu_fail(what, "", 0, false, 0, 0);
  __builtin_unreachable();
}
void __throw_bad_alloc() {
  strack_gpu_fail("memory", "", 0, false, 0, 0);
  __builtin_unreachable();
}
void __throw_bad_array_new_length() {
  strack_gpu_fail("length of an array", "", 0, false, 0, 0);
  __builtin_unreachable();
}
}  // namespace std
