// How often a test program has asked the heap for memory: to prove that something does not. Link
// allocation_count.cpp, which replaces every operator new, to have it counted. What calls malloc
// itself is not seen; nothing in the core, the codec or the engine does.
#pragma once

#include <atomic>
#include <cstdint>

namespace strack::udp {
extern std::atomic<std::uint64_t> allocations;
extern std::atomic<std::uint64_t> releases;  ///< blocks given back
}  // namespace strack::udp
