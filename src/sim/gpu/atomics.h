// What threads of a GPU do to one word at a time, and how they wait for each other. On the host the same
// steps run one after the other, and so these are plain operations.
#pragma once

#include <cstdint>

namespace strack::sim::gpu {

/// Adds, and returns what was there.
template <class T>
inline T fetch_add(T& word, T amount) {
#ifdef __CUDA_ARCH__
  return __atomic_fetch_add(&word, amount, __ATOMIC_RELAXED);
#else
  const T before = word;
  word += amount;
  return before;
#endif
}

inline void lower_to(std::int64_t& word, std::int64_t value) {
#ifdef __CUDA_ARCH__
  // Most of the time another was earlier, and a look at it costs less.
  if (value < *static_cast<volatile std::int64_t*>(&word))
    __atomic_fetch_min(&word, value, __ATOMIC_RELAXED);
#else
  if (value < word) word = value;
#endif
}

inline void raise_to(std::int64_t& word, std::int64_t value) {
#ifdef __CUDA_ARCH__
  __atomic_fetch_max(&word, value, __ATOMIC_RELAXED);
#else
  if (value > word) word = value;
#endif
}

/// Whether it is so for any thread that works in step with this one. All have to ask: they go on together.
inline bool any(bool mine) {
#ifdef __CUDA_ARCH__
  return __nvvm_vote_any_sync(~0u, mine);
#else
  return mine;
#endif
}

// ---- Threads that work in step: a warp's. On the host there is one. ----

#ifdef __CUDA_ARCH__
inline constexpr std::uint32_t kLanes = 32;
inline std::uint32_t lane() { return __nvvm_read_ptx_sreg_tid_x() % kLanes; }
#else
inline constexpr std::uint32_t kLanes = 1;
inline std::uint32_t lane() { return 0; }
#endif

/// A bit for each for whom it is so.
inline std::uint32_t ballot(bool mine) {
#ifdef __CUDA_ARCH__
  return __nvvm_vote_ballot_sync(~0u, mine);
#else
  return mine ? 1 : 0;
#endif
}

/// What one of them has.
inline std::uint32_t of_lane(std::uint32_t mine, [[maybe_unused]] std::uint32_t whose) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(
      __nvvm_shfl_sync_idx_i32(~0u, static_cast<int>(mine), static_cast<int>(whose), 31));
#else
  return mine;
#endif
}
inline std::uint64_t of_lane(std::uint64_t mine, std::uint32_t whose) {
  const std::uint64_t low = of_lane(static_cast<std::uint32_t>(mine), whose);
  return low | static_cast<std::uint64_t>(of_lane(static_cast<std::uint32_t>(mine >> 32), whose))
                   << 32;
}

/// The sum, and the least, of all; for all.
inline std::uint32_t sum_of_all(std::uint32_t mine) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__nvvm_redux_sync_add(static_cast<int>(mine), -1));
#else
  return mine;
#endif
}
/// The sum of those of this one and all before it.
inline std::uint32_t sum_up_to_here(std::uint32_t mine) {
  for (std::uint32_t step = 1; step < kLanes; step *= 2) {
    const std::uint32_t other = of_lane(mine, (lane() - step) % kLanes);
    if (lane() >= step) mine += other;
  }
  return mine;
}
inline std::int64_t least_of_all(std::int64_t mine) {
  for (std::uint32_t step = kLanes / 2; step > 0; step /= 2) {
    const auto other =
        static_cast<std::int64_t>(of_lane(static_cast<std::uint64_t>(mine), lane() ^ step));
    if (other < mine) mine = other;
  }
  return mine;
}

// ---- Memory that a multiprocessor has for itself ----

/// For loops over what is to be in registers, and for those whose turns do not wait for each other.
#ifdef __CUDA_ARCH__
#define STRACK_GPU_UNROLL _Pragma("unroll")
#define STRACK_GPU_UNROLL_FOUR _Pragma("unroll 4")
#else
#define STRACK_GPU_UNROLL
#define STRACK_GPU_UNROLL_FOUR
#endif

/// Of whatever lies there.
using Word [[gnu::may_alias]] = std::uint64_t;

/// Asks for a word to be copied there; it is there after wait_for_copies(). On the host that is anywhere.
inline void copy_near(Word* to, const Word* from) {
#ifdef __CUDA_ARCH__
  asm volatile(
      "{\n\t.reg .u64 near_by, far_off;\n\tcvta.to.shared.u64 near_by, %0;\n\t"
      "cvta.to.global.u64 far_off, %1;\n\tcp.async.ca.shared.global [near_by], [far_off], 8;\n\t}"
      :
      : "l"(to), "l"(from)
      : "memory");
#else
  *to = *from;
#endif
}
/// For all that this thread has asked for.
inline void wait_for_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

/// Several threads that share an item wait here for each other.
inline void wait_for_others() {
#ifdef __CUDA_ARCH__
  __nvvm_bar_warp_sync(~0u);
#endif
}

}  // namespace strack::sim::gpu
