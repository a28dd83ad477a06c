#include "core/control_paths.h"

#include <set>

#include <gtest/gtest.h>

namespace strack::core {
namespace {

constexpr Instant kNow = at(seconds(1));
constexpr std::uint32_t kPaths = 16;

int count_of(ControlPaths& ways, PathId path, Instant now) {
  int n = 0;
  for (int i = 0; i < 100; ++i) n += ways.next(now) == path ? 1 : 0;
  return n;
}

// [D41] What asks and answers: any path, and by turns the one that proved last to work.
TEST(ControlPaths, GoEverywhereAndByTurnsWhereItWorks) {
  ControlPaths ways(kPaths, 1);
  std::set<PathId> taken;
  for (int i = 0; i < 400; ++i) taken.insert(ways.next(kNow));
  EXPECT_EQ(taken.size(), kPaths);
  for (PathId path = 0; path < kPaths; ++path) ways.works(path, kNow);
  ways.works(3, kNow);
  EXPECT_GE(count_of(ways, 3, kNow + ms(999)), 50);
  // What was proved long ago may be dead by now.
  EXPECT_LE(count_of(ways, 3, kNow + seconds(1)), 20);
}

// [D168] Who goes on asking has not heard: the answers go several ways, until something shows that one of them leads back.
TEST(ControlPaths, PingsInVainAreAnsweredBySeveral) {
  ControlPaths ways(kPaths, 1);
  Instant now = kNow;
  for (int i = 0; i < 4; ++i, now = now + ms(64)) {
    EXPECT_EQ(ways.of_pong(now), 1u) << i;
    EXPECT_EQ(ways.of_pong(now + us(10)), 1u) << "one of a pair";
  }
  for (int i = 0; i < 4; ++i, now = now + ms(64)) {
    EXPECT_EQ(ways.of_pong(now), ControlPaths::kWaysBack) << i;
    EXPECT_EQ(ways.of_pong(now + us(10)), 1u);
  }
  ways.works(3, now);
  for (int i = 0; i < 10; ++i, now = now + ms(64)) EXPECT_EQ(ways.of_pong(now), 1u) << i;
  // A keepalive now and then is none of these.
  ControlPaths idle(kPaths, 1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(idle.of_pong(kNow + i * ms(2'500)), 1u);
}

// [D41] Were both ends in step, a question and its answer could miss the living paths for ever.
TEST(ControlPaths, TheTwoEndsDrawApart) {
  ControlPaths one(5, 1);
  ControlPaths other(5, 2);
  int both = 0;  // ... take the only path that lives
  for (int i = 0; i < 500; ++i) both += one.next(kNow) == 0 && other.next(kNow) == 2 ? 1 : 0;
  EXPECT_GE(both, 5);
  EXPECT_LE(both, 40);
}

TEST(ControlPaths, APeerThatNamesAPathThatIsNotThereChangesNothing) {
  ControlPaths ways(2, 1);
  ways.works(7, kNow);
  for (int i = 0; i < 20; ++i) EXPECT_LT(ways.next(kNow), 2);
}

// [D41] An acknowledgement takes its packet's path. Asked again, it goes eight ways with pings that seek one,
// those every 5 ms; where a way back is known, one way is enough: by turns [D130] its packet's and another. A second later all is as before.
TEST(ControlPaths, AcknowledgementsGoAstrayWhenAskedAgain) {
  const auto expect = [](ControlPaths::Route route, bool as_packet, std::uint32_t copies,
                         std::uint32_t pings) {
    EXPECT_EQ(route.as_packet, as_packet);
    EXPECT_EQ(route.copies, copies);
    EXPECT_EQ(route.pings, pings);
  };
  ControlPaths ways(kPaths, 1);
  expect(ways.of_ack(kNow), true, 1, 0);
  ways.asked_again(kNow);
  expect(ways.of_ack(kNow), false, 8, 8);
  expect(ways.of_ack(kNow), true, 1, 0);  // for what came by itself
  ways.asked_again(kNow + ms(4));
  expect(ways.of_ack(kNow + ms(4)), false, 8, 0);
  ways.asked_again(kNow + ms(5));
  expect(ways.of_ack(kNow + ms(5)), false, 8, 8);
  ways.works(2, kNow + ms(6));
  ways.asked_again(kNow + ms(20));
  expect(ways.of_ack(kNow + ms(20)), false, 1, 0);
  expect(ways.of_ack(kNow + ms(20)), true, 1, 0);
  expect(ways.of_ack(kNow + ms(1'019)), false, 1, 0);
  expect(ways.of_ack(kNow + ms(1'020)), true, 1, 0);
  ControlPaths few(3, 1);
  few.asked_again(kNow);
  expect(few.of_ack(kNow), false, 3, 3);
}

// [D120] The answer to a probe goes several ways even where one is known, which may have died; what follows it does not.
TEST(ControlPaths, TheAnswerToASecondProbeGoesSeveralWays) {
  ControlPaths ways(kPaths, 1);
  ways.works(3, kNow);
  ways.probed(kNow);
  EXPECT_EQ(ways.of_ack(kNow).copies, 1u) << "the first may just be early";
  ways.probed(kNow);
  const ControlPaths::Route answer = ways.of_ack(kNow);
  EXPECT_FALSE(answer.as_packet);
  EXPECT_EQ(answer.copies, ControlPaths::kWaysOfAnswer);
  EXPECT_EQ(answer.pings, 0u);
  EXPECT_EQ(ways.of_ack(kNow).copies, 1u);
  ways.asked_again(kNow);
  EXPECT_EQ(ways.of_ack(kNow).copies, 1u) << "a packet that came twice asks nothing";
  ways.probed(kNow);
  EXPECT_EQ(ways.of_ack(kNow).copies, 1u) << "a copy of it";
  ways.probed(kNow + ControlPaths::kSeekEvery);
  EXPECT_EQ(ways.of_ack(kNow).copies, ControlPaths::kWaysOfAnswer);
  ways.came();
  ways.probed(kNow + 2 * ControlPaths::kSeekEvery);
  EXPECT_EQ(ways.of_ack(kNow).copies, 1u) << "something new came between them";
  ControlPaths few(2, 1);
  few.works(1, kNow);
  few.probed(kNow);
  few.probed(kNow);
  EXPECT_EQ(few.of_ack(kNow).copies, 2u);
}

}  // namespace
}  // namespace strack::core
