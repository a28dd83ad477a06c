// What the loop of bench/core_loop.h wants of Google's benchmark library, for processors that it is not there for. Nothing is measured:
// cross.py counts instructions.
#pragma once

#include <cstdint>

namespace benchmark {

template <class Value>
inline void DoNotOptimize(const Value& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

struct State {
  struct [[maybe_unused]] Nothing {};
  [[nodiscard]] static std::int64_t range(int) { return 0; }
  [[nodiscard]] static std::int64_t iterations() { return 0; }
  static void SetItemsProcessed(std::int64_t) {}
  static void SkipWithError(const char*) {}
  static Nothing* begin() { return nullptr; }
  static Nothing* end() { return nullptr; }
};

struct Arguments {
  const Arguments* operator->() const { return this; }
  [[nodiscard]] Arguments Arg(int) const { return {}; }
};

}  // namespace benchmark

#define BENCHMARK_CAPTURE(function, name, ...) \
  [[maybe_unused]] const auto kept_##name = benchmark::Arguments()
