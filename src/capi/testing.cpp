// Replaces operator new of a whole test program. Apart from the tests, so that no compiler sees half of a
// pair of new and delete.
#include "capi/testing.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
thread_local int allocations_left = -1;
}

void strack::fail_allocation_after(int allocations) { allocations_left = allocations; }

void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(std::max<std::size_t>(size, 1))) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
