#include "base/check.h"

#include <csignal>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace strack {
namespace {

TEST(Check, LetsTheTruthPass) {
  STRACK_CHECK(1 + 1 == 2);
  STRACK_CHECK_OP(4'096, <=, 4'096);
  STRACK_DCHECK(true);
}

TEST(Check, EvaluatesEachOperandOnce) {
  int evaluations = 0;
  STRACK_CHECK(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
  STRACK_CHECK_OP(++evaluations, <, 3);
  EXPECT_EQ(evaluations, 2);
}

TEST(Check, IsOneStatement) {
  // An else must belong to the if that is written, not to one inside the macro.
  bool other = false;
  if (other)
    STRACK_CHECK(true);
  else
    other = true;
  EXPECT_TRUE(other);
}

TEST(CheckDeathTest, PrintsConditionAndPlace) {
  const int inflight = 5;
  EXPECT_DEATH(STRACK_CHECK(inflight < 5),
               "^check failed: inflight < 5, [^ ]*check_test\\.cpp:[0-9]+\n$");
}

TEST(CheckDeathTest, PrintsBothValues) {
  const int inflight_bytes = 412'000;
  const int cwnd = 409'600;
  EXPECT_DEATH(STRACK_CHECK_OP(inflight_bytes, <=, cwnd),
               "^check failed: inflight_bytes <= cwnd \\(412000 against 409600\\), "
               "[^ ]*check_test\\.cpp:[0-9]+\n$");
}

TEST(CheckDeathTest, PrintsValuesOf64Bits) {
  const std::int64_t lowest = INT64_MIN;
  EXPECT_DEATH(STRACK_CHECK_OP(lowest, ==, INT64_MAX),
               "\\(-9223372036854775808 against 9223372036854775807\\)");
}

TEST(CheckDeathTest, PrintsTheReplayHintLast) {
  set_replay_hint("strack sim run incast32.toml --seed 0x5eed42");
  EXPECT_DEATH(STRACK_CHECK(false),
               "^check failed: false, [^\n]*\nreplay: strack sim run incast32\\.toml --seed "
               "0x5eed42\n$");
  set_replay_hint(nullptr);
}

TEST(CheckDeathTest, PrintsNoReplayHintOnceItIsTakenBack) {
  set_replay_hint("strack sim run gone.toml");
  set_replay_hint(nullptr);
  EXPECT_DEATH(STRACK_CHECK(false), "^check failed: false, [^\n]*\n$");
}

// A check may fail in any of a run's threads; the run is the same.
TEST(CheckDeathTest, ReplayHintIsForAllThreads) {
  std::thread([] { set_replay_hint("strack sim run other.toml"); }).join();
  EXPECT_DEATH(STRACK_CHECK(false), "replay: strack sim run other.toml\n$");
  set_replay_hint(nullptr);
}

TEST(CheckDeathTest, EndsByAbort) {
  EXPECT_EXIT(STRACK_CHECK(false), testing::KilledBySignal(SIGABRT), "check failed");
}

#if defined(STRACK_DCHECK_ENABLED) && STRACK_DCHECK_ENABLED
TEST(CheckDeathTest, DcheckIsACheckWhereEnabled) {
  EXPECT_DEATH(STRACK_DCHECK(1 > 2), "check failed: 1 > 2");
}
#else
TEST(Check, DcheckCostsNothingWhereDisabled) {
  int evaluations = 0;
  STRACK_DCHECK(++evaluations < 0);
  EXPECT_EQ(evaluations, 0);
}
#endif

}  // namespace
}  // namespace strack
