#include "udp/allocation_count.h"

#include <cstdlib>
#include <new>

namespace strack::udp {
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> releases{0};
}  // namespace strack::udp

namespace {

void* take(std::size_t size) {
  ++strack::udp::allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* take(std::size_t size, std::align_val_t alignment) {
  ++strack::udp::allocations;
  const auto step = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(step, size == 0 ? step : (size + step - 1) / step * step);
}
void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void give_back(void* memory) {
  if (memory == nullptr) return;
  ++strack::udp::releases;
  std::free(memory);
}

}  // namespace

using Align = std::align_val_t;
using Nothrow = std::nothrow_t;

void* operator new(std::size_t size) { return or_throw(take(size)); }
void* operator new[](std::size_t size) { return or_throw(take(size)); }
void* operator new(std::size_t size, const Nothrow& /*tag*/) noexcept { return take(size); }
void* operator new[](std::size_t size, const Nothrow& /*tag*/) noexcept { return take(size); }
void* operator new(std::size_t size, Align alignment) { return or_throw(take(size, alignment)); }
void* operator new[](std::size_t size, Align alignment) { return or_throw(take(size, alignment)); }
void* operator new(std::size_t size, Align alignment, const Nothrow& /*tag*/) noexcept {
  return take(size, alignment);
}
void* operator new[](std::size_t size, Align alignment, const Nothrow& /*tag*/) noexcept {
  return take(size, alignment);
}

void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { give_back(memory); }
void operator delete(void* memory, const Nothrow& /*tag*/) noexcept { give_back(memory); }
void operator delete[](void* memory, const Nothrow& /*tag*/) noexcept { give_back(memory); }
void operator delete(void* memory, Align /*alignment*/) noexcept { give_back(memory); }
void operator delete[](void* memory, Align /*alignment*/) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t /*size*/, Align /*alignment*/) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::size_t /*size*/, Align /*alignment*/) noexcept {
  give_back(memory);
}
void operator delete(void* memory, Align /*alignment*/, const Nothrow& /*tag*/) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, Align /*alignment*/, const Nothrow& /*tag*/) noexcept {
  give_back(memory);
}
