#include "base/check.h"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace strack {
namespace {
std::atomic<const char*> replay_hint{nullptr};
}

void set_replay_hint(const char* command) { replay_hint = command; }
}  // namespace strack

extern "C" void strack_check_failed(const strack::CheckFailure& failure) {
  std::fprintf(stderr, "check failed: %s", failure.condition);
  if (failure.has_values) {
    std::fprintf(stderr, " (%" PRId64 " against %" PRId64 ")", failure.left, failure.right);
  }
  std::fprintf(stderr, ", %s:%d\n", failure.file, failure.line);
  if (const char* hint = strack::replay_hint.load()) std::fprintf(stderr, "replay: %s\n", hint);
  std::fflush(stderr);
  std::abort();
}
