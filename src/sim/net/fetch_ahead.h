// Asking for memory before it is wanted. A window comes by every node once, so what a node has lies in no near cache by
// then; whoever goes through many nodes asks for the next ones while it works on this one. Nothing depends on it.
#pragma once

#include <cstddef>

namespace strack::sim {

inline void fetch_ahead(const void* memory, std::size_t size) {
  constexpr std::size_t kLine = 64;
  const auto* line = static_cast<const char*>(memory);
  for (std::size_t at = 0; at < size; at += kLine) __builtin_prefetch(line + at);
}

}  // namespace strack::sim
