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

/// Several threads that share an item wait here for each other.
inline void wait_for_others() {
#ifdef __CUDA_ARCH__
  __nvvm_bar_warp_sync(~0u);
#endif
}

}  // namespace strack::sim::gpu
