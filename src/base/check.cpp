#include "base/check.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace strack {
namespace {
thread_local const char* replay_hint = nullptr;
}

void set_replay_hint(const char* command) { replay_hint = command; }
}  // namespace strack

extern "C" void strack_check_failed(const strack::CheckFailure& failure) {
  std::fprintf(stderr, "check failed: %s", failure.condition);
  if (failure.has_values) {
    std::fprintf(stderr, " (%" PRId64 " against %" PRId64 ")", failure.left, failure.right);
  }
  std::fprintf(stderr, ", %s:%d\n", failure.file, failure.line);
  if (strack::replay_hint != nullptr) std::fprintf(stderr, "replay: %s\n", strack::replay_hint);
  std::fflush(stderr);
  std::abort();
}
