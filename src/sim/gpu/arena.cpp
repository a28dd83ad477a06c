#include "sim/gpu/arena.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace strack::sim::gpu {
namespace {

thread_local Arena* the_open_one = nullptr;

/// Addresses that are an arena's; a range of length 0 is nobody's. Read without a lock: memory is given back by who
/// has used it, after the arena was enlisted.
struct Range {
  std::atomic<std::uintptr_t> base{0};
  std::atomic<std::uintptr_t> length{0};
};
std::array<Range, kMaxArenas> ranges;
std::atomic<std::size_t> ranges_in_use{0};  ///< up to here
std::mutex ranges_change;

std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

void* take(std::size_t bytes) {
  constexpr std::size_t kGrain = 64;
  if (the_open_one == nullptr) {
    void* memory = std::aligned_alloc(kGrain, (bytes + kGrain - 1) / kGrain * kGrain + kGrain);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  Arena& arena = *the_open_one;
  // Small things lie close together; large ones do not share cache lines with them.
  const std::size_t grain = bytes < kGrain ? 16 : kGrain;
  const std::size_t place = (arena.used + grain - 1) / grain * grain;
  if (place + bytes > arena.capacity) throw std::bad_alloc();
  arena.used = place + bytes;
  return arena.base + place;
}

void give(void* memory) noexcept {
  const std::size_t count = ranges_in_use.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t offset =
        address_of(memory) - ranges[i].base.load(std::memory_order_relaxed);
    if (offset < ranges[i].length.load(std::memory_order_relaxed)) return;
  }
  std::free(memory);
}

}  // namespace

bool enlist_arena(const Arena& arena) {
  const std::lock_guard lock(ranges_change);
  const auto free = std::find_if(ranges.begin(), ranges.end(),
                                 [](const Range& range) { return range.length.load() == 0; });
  if (free == ranges.end()) return false;
  free->base.store(address_of(arena.base));
  free->length.store(arena.capacity);
  const auto count = static_cast<std::size_t>(free - ranges.begin()) + 1;
  if (count > ranges_in_use.load()) ranges_in_use.store(count, std::memory_order_release);
  return true;
}

void forget_arena(const Arena& arena) {
  const std::lock_guard lock(ranges_change);
  for (Range& range : ranges) {
    if (range.length.load() != 0 && range.base.load() == address_of(arena.base))
      range.length.store(0);
  }
}

Arena* open_arena(Arena* arena) { return std::exchange(the_open_one, arena); }

}  // namespace strack::sim::gpu

void* operator new(std::size_t bytes) { return strack::sim::gpu::take(bytes); }
void* operator new[](std::size_t bytes) { return strack::sim::gpu::take(bytes); }
void* operator new(std::size_t bytes, std::align_val_t) { return strack::sim::gpu::take(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t) { return strack::sim::gpu::take(bytes); }
void operator delete(void* memory) noexcept { strack::sim::gpu::give(memory); }
void operator delete[](void* memory) noexcept { strack::sim::gpu::give(memory); }
void operator delete(void* memory, std::size_t) noexcept { strack::sim::gpu::give(memory); }
void operator delete[](void* memory, std::size_t) noexcept { strack::sim::gpu::give(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { strack::sim::gpu::give(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { strack::sim::gpu::give(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  strack::sim::gpu::give(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  strack::sim::gpu::give(memory);
}
