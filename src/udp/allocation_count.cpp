#include "udp/allocation_count.h"

#include <cstdlib>
#include <new>

namespace strack::udp {
std::atomic<std::uint64_t> allocations{0};
}  // namespace strack::udp

void* operator new(std::size_t size) {
  ++strack::udp::allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
