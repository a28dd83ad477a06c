// Memory that the host and a GPU, or what stands in for one, have at one address. While a thread has it open, everything that the module
// allocates lies there (arena.cpp replaces operator new, in the module alone), so that whole objects, with
// whatever they own, are the GPU's too. Nothing of it is given back before all of it is.
#pragma once

#include <cstddef>

namespace strack::sim::gpu {

struct Arena {
  char* base = nullptr;
  std::size_t capacity = 0;
  std::size_t used = 0;
};

/// The one that there is; set while there is a GPU's run.
[[nodiscard]] Arena& arena();
/// Opens or closes it for this thread; whether it was open.
bool open_arena(bool open);

/// While one of these is there, it is closed: for what outlives it.
class OutsideArena {
 public:
  OutsideArena() : was_open_(open_arena(false)) {}
  ~OutsideArena() { open_arena(was_open_); }
  OutsideArena(const OutsideArena&) = delete;
  OutsideArena& operator=(const OutsideArena&) = delete;

 private:
  bool was_open_;
};

}  // namespace strack::sim::gpu
