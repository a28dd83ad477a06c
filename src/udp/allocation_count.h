// How often a test program has asked the heap for memory: to prove that something does not. Link
// allocation_count.cpp, which replaces operator new, to have it counted.
#pragma once

#include <atomic>
#include <cstdint>

namespace strack::udp {
extern std::atomic<std::uint64_t> allocations;
}  // namespace strack::udp
