#include "sim/gpu/arena.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace strack::sim::gpu {
namespace {

Arena the_arena;
thread_local bool arena_is_open = false;

void* take(std::size_t bytes) {
  constexpr std::size_t kGrain = 64;
  if (!arena_is_open) {
    void* memory = std::aligned_alloc(kGrain, (bytes + kGrain - 1) / kGrain * kGrain + kGrain);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  // Small things lie close together; large ones do not share cache lines with them.
  const std::size_t grain = bytes < kGrain ? 16 : kGrain;
  const std::size_t place = (the_arena.used + grain - 1) / grain * grain;
  if (place + bytes > the_arena.capacity) throw std::bad_alloc();
  the_arena.used = place + bytes;
  return the_arena.base + place;
}

void give(void* memory) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto base = reinterpret_cast<std::uintptr_t>(the_arena.base);
  if (address >= base && address < base + the_arena.capacity) return;
  std::free(memory);
}

}  // namespace

Arena& arena() { return the_arena; }
bool open_arena(bool open) { return std::exchange(arena_is_open, open); }

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
