// Checks for our own mistakes: a condition that cannot fail unless the program is wrong.
//
// They stay on in release builds. A failed check stops the program after printing the condition,
// the values, the place and, when the host has given one, the command that replays the run.
// Mistakes of the network are counted, mistakes of the user are returned (base/result.h); neither
// belongs here.
#pragma once

#include <cstdint>

namespace strack {
/// What a failed check knows. `left` and `right` are shown when the check compares two values.
struct CheckFailure {
  const char* condition;
  const char* file;
  int line;
  bool has_values;
  std::int64_t left;
  std::int64_t right;
};

/// A host with a way to repeat the run says so here; the text is printed by a failing check.
/// The pointer must stay valid; nullptr takes it back. For all threads.
void set_replay_hint(const char* command);
}  // namespace strack

/// The only function of ours the pure core calls outside itself.
extern "C" [[noreturn]] void strack_check_failed(const strack::CheckFailure& failure);

#define STRACK_CHECK(condition)                                           \
  do {                                                                    \
    if (!(condition)) [[unlikely]]                                        \
      strack_check_failed({#condition, __FILE__, __LINE__, false, 0, 0}); \
  } while (false)

/// Checks `left op right` and shows both values. Use it for integers.
#define STRACK_CHECK_OP(left_value, op, right_value)                                       \
  do {                                                                                     \
    const auto strack_left = (left_value);                                                 \
    const auto strack_right = (right_value);                                               \
    if (!(strack_left op strack_right)) [[unlikely]]                                       \
      strack_check_failed({#left_value " " #op " " #right_value, __FILE__, __LINE__, true, \
                           static_cast<std::int64_t>(strack_left),                         \
                           static_cast<std::int64_t>(strack_right)});                      \
  } while (false)

/// For checks that cost more than a percent of the packet path: debug and sanitizer builds only.
#if defined(STRACK_DCHECK_ENABLED) && STRACK_DCHECK_ENABLED
#define STRACK_DCHECK(condition) STRACK_CHECK(condition)
#else
#define STRACK_DCHECK(condition) \
  do {                           \
  } while (false)
#endif
