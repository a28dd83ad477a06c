// Memory that the host and a GPU, or what stands in for one, have at one address. While a thread has one open, everything that the module
// allocates lies there (arena.cpp replaces operator new, in the module alone), so that whole objects, with
// whatever they own, are the GPU's too. Nothing of it is given back before all of it is.
#pragma once

#include <cstddef>

namespace strack::sim::gpu {

/// One machine's.
struct Arena {
  char* base = nullptr;
  std::size_t capacity = 0;
  std::size_t used = 0;
};

/// So many machines may be there at a time.
inline constexpr std::size_t kMaxArenas = 256;
/// From now on what lies there is known not to be the heap's; false where there are too many.
[[nodiscard]] bool enlist_arena(const Arena& arena);
void forget_arena(const Arena& arena);

/// Opens one for this thread, or none; which was open.
Arena* open_arena(Arena* arena);

/// While one of these is there, none is open: for what outlives it.
class OutsideArena {
 public:
  OutsideArena() : was_open_(open_arena(nullptr)) {}
  ~OutsideArena() { open_arena(was_open_); }
  OutsideArena(const OutsideArena&) = delete;
  OutsideArena& operator=(const OutsideArena&) = delete;

 private:
  Arena* was_open_;
};

}  // namespace strack::sim::gpu
