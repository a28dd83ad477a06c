// Asking for memory before it is wanted. A window comes by every node once, so what a node has lies in no near cache by
// then; whoever goes through many nodes asks for the next ones while it works on this one. Nothing depends on it.
#pragma once

#include <cstddef>

namespace strack::sim {

/// To be read soon. GCC takes a function that only asks for memory for one without effect, and leaves out calls that it
/// has not inlined; hence the empty statement, which it may not leave out.
[[gnu::always_inline]] inline void fetch_line_ahead(const void* memory) {
  __builtin_prefetch(memory);
  asm volatile("");
}
/// Or written.
[[gnu::always_inline]] inline void fetch_line_to_write(const void* memory) {
  __builtin_prefetch(memory, 1);
  asm volatile("");
}

inline void fetch_ahead(const void* memory, std::size_t size) {
  constexpr std::size_t kLine = 64;
  const auto* line = static_cast<const char*>(memory);
  for (std::size_t at = 0; at < size; at += kLine) fetch_line_ahead(line + at);
}

}  // namespace strack::sim
