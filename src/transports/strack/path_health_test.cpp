#include "transports/strack/path_health.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace strack::core {
namespace {

constexpr std::uint32_t kPaths = 16;

struct PathHealthTest : testing::Test {
  Psn send(PathId path, bool again = false) {
    const Psn psn = next;
    ++next;
    health.sent(psn, path, 100, again);
    return psn;
  }
  void lose(PathId path) { health.lost(send(path), now); }
  void deliver(PathId path) { health.arrived(send(path)); }
  PathId usable(PathId path, Purpose purpose = Purpose::news) {
    return health.usable(path, purpose, next, now);
  }

  std::array<PathRecord, kPaths> paths{};
  std::array<SentRecord, 1024> packets{};
  PathHealth health{paths, packets};
  Psn next{0xffff'fff0};  // so that numbers wrap
  Instant now = at(seconds(1));
};

TEST_F(PathHealthTest, HealthyPathsAreTakenAsTheyCome) {
  for (PathId path = 0; path < kPaths; ++path) EXPECT_EQ(usable(path), path);
}

// [D39]
TEST_F(PathHealthTest, ALossBarsItsPathForAWhile) {
  lose(3);
  EXPECT_EQ(health.barred(), 1u);
  EXPECT_EQ(usable(3), 4);
  EXPECT_EQ(usable(2), 2);
  now = now + PathHealth::kFirstBar;
  EXPECT_EQ(usable(3), 3);
  EXPECT_EQ(health.barred(), 0u);
}

TEST_F(PathHealthTest, TheSecondTimeTwiceAsLongUntilSomethingArrives) {
  lose(3);
  now = now + PathHealth::kFirstBar;
  ASSERT_EQ(usable(3), 3);
  lose(3);
  now = now + PathHealth::kFirstBar;
  EXPECT_EQ(usable(3), 4);
  now = now + PathHealth::kFirstBar;
  EXPECT_EQ(usable(3), 3);
  deliver(3);
  lose(3);
  now = now + PathHealth::kFirstBar;
  EXPECT_EQ(usable(3), 3);
}

// Fails that often that the bar is as long as it gets.
TEST_F(PathHealthTest, ADeadPathIsTriedEveryFewSeconds) {
  for (int i = 0; i < 20; ++i) {
    lose(3);
    now = now + seconds(6);
    ASSERT_EQ(usable(3), 3) << i;
  }
  lose(3);
  now = now + seconds(5);
  EXPECT_EQ(usable(3), 4);
}

// Declared lost, and merely late.
TEST_F(PathHealthTest, WhatArrivesAfterAllClearsItsPath) {
  const Psn late = send(3);
  health.lost(late, now);
  EXPECT_EQ(usable(3), 4);
  health.arrived(late);
  EXPECT_EQ(usable(3), 3);
}

// Which of the two transmissions arrived is not known: neither path is cleared by it.
TEST_F(PathHealthTest, APacketSentTwiceProvesNothing) {
  lose(3);
  health.arrived(send(3, /*again=*/true));
  EXPECT_EQ(usable(3), 4);
}

TEST_F(PathHealthTest, PacketsUnderWayTogetherFailOnce) {
  const Psn first = send(3);
  const Psn second = send(3);
  health.lost(first, now);
  health.lost(second, now);
  now = now + PathHealth::kFirstBar;
  EXPECT_EQ(usable(3), 3);
}

TEST_F(PathHealthTest, WithAllBarredNoneIsBetter) {
  for (PathId path = 0; path < kPaths; ++path) lose(path);
  EXPECT_EQ(health.barred(), kPaths);
  EXPECT_EQ(usable(7), 7);
}

// [D39] A quarter of the paths is dead: after the first few losses, packets keep to those that are known to
// work, and one in eight looks for more.
TEST_F(PathHealthTest, AnAlarmKeepsToWhatIsProven) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(path);
  deliver(8);
  deliver(9);
  std::set<PathId> proven_used;
  std::uint32_t trials = 0;
  for (std::uint32_t i = 0; i < 8 * PathHealth::kTryEvery; ++i) {
    const PathId path = usable(static_cast<PathId>(12));
    if (path == 8 || path == 9) {
      proven_used.insert(path);
    } else {
      EXPECT_EQ(path, 12);  // the suspect itself; never one of the barred
      ++trials;
    }
  }
  EXPECT_EQ(trials, 8u);
  EXPECT_EQ(proven_used.size(), 2u);
  // Those sent again take no chances.
  for (std::uint32_t i = 0; i < 4 * PathHealth::kTryEvery; ++i) {
    EXPECT_NE(usable(12, Purpose::again), 12);
  }
  deliver(12);
  EXPECT_EQ(usable(12, Purpose::again), 12);
}

TEST_F(PathHealthTest, TheAlarmEndsWhenEveryPathIsKnown) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(path);
  for (PathId path = PathHealth::kAlarm; path < kPaths; ++path) deliver(path);
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_GE(usable(static_cast<PathId>(i % kPaths)), PathHealth::kAlarm);
  now = now + PathHealth::kFirstBar;
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) deliver(path);
  for (PathId path = 0; path < kPaths; ++path) EXPECT_EQ(usable(path), path);
}

// [D41] What a SACK echoes is the very packet's: a retransmission's path is proven by it.
TEST_F(PathHealthTest, AnEchoProvesItsPath) {
  lose(3);
  health.works(3);
  EXPECT_EQ(usable(3), 3);
  EXPECT_EQ(health.barred(), 0u);
  health.works(kPaths);  // nobody's
}

// [D41] Two paths were thought to work, and both are dead. Each fails once, and is no longer proven.
TEST_F(PathHealthTest, AProvenPathThatLosesIsProvenNoLonger) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(path);
  deliver(8);
  deliver(9);
  std::set<PathId> taken;
  for (int i = 0; i < 2; ++i) {
    const PathId path = usable(12, Purpose::again);
    EXPECT_TRUE(path == 8 || path == 9);
    EXPECT_TRUE(taken.insert(path).second);
    lose(path);
  }
  // None is left: the next after the one that lost it.
  const Psn lost_by_5 = send(5);
  health.lost(lost_by_5, now);
  EXPECT_EQ(health.usable(12, Purpose::again, lost_by_5, now), 6);
}

// [D41] Each packet's transmissions take every path once before any twice, however many are sent
// together and whatever is thought of the paths, until something arrives.
TEST_F(PathHealthTest, EveryPathIsTriedOnceBeforeAnyTwice) {
  for (const bool silence : {false, true}) {
    for (const std::uint32_t together : {1u, 4u, 7u, kPaths}) {
      std::array<PathRecord, kPaths> records{};
      std::array<SentRecord, 1024> sent{};
      PathHealth fresh(records, sent);
      std::vector<std::set<PathId>> taken(together);
      for (std::uint32_t round = 0; round < kPaths; ++round) {
        for (std::uint32_t i = 0; i < together; ++i) {
          const PathId path =
              round == 0 ? static_cast<PathId>(i) : fresh.usable(9, Purpose::again, Psn{i}, now);
          fresh.sent(Psn{i}, path, 100, round > 0);
          taken[i].insert(path);
        }
        if (silence) fresh.fall_silent();
        for (std::uint32_t i = 0; i < together && !silence; ++i) fresh.lost(Psn{i}, now);
        // The rotation alone would give each the same path for ever; bars must not help it.
        for (PathId path = 0; path < kPaths && round == 0 && !silence; ++path) {
          fresh.sent(Psn{100u + path}, path, 100, false);
          fresh.lost(Psn{100u + path}, now);
        }
      }
      for (const auto& each : taken) EXPECT_EQ(each.size(), kPaths) << together << silence;
    }
  }
}

// The peer was away: no path is to blame for it.
TEST_F(PathHealthTest, SilenceBarsNothing) {
  for (PathId path = 0; path < kPaths; ++path) lose(path);
  health.fall_silent();
  EXPECT_EQ(health.barred(), 0u);
  for (PathId path = 0; path < kPaths; ++path) EXPECT_EQ(usable(path), path);
  // Back again: what is lost now takes no chances, and the others are tried soon.
  deliver(2);
  EXPECT_EQ(usable(7, Purpose::again), 2);
  std::uint32_t trials = 0;
  for (std::uint32_t i = 0; i < 2 * PathHealth::kTryEvery; ++i) trials += usable(7) == 7;
  EXPECT_EQ(trials, 2u);
}

// [D41] A probe after one that was not answered goes by another path, whatever is thought of them.
TEST_F(PathHealthTest, ProbesWithoutAnswerGoRound) {
  deliver(8);
  EXPECT_EQ(usable(8, Purpose::probe), 8);
  std::set<PathId> taken;
  for (std::uint32_t i = 0; i < kPaths; ++i) taken.insert(usable(8, Purpose::probe_again));
  EXPECT_EQ(taken.size(), kPaths);
}

TEST_F(PathHealthTest, RemembersHowMuchAPacketCarried) {
  const Psn psn = send(1);
  EXPECT_EQ(health.payload(psn), 100);
}

/// Two that take the same paths.
struct SharedPathsTest : PathHealthTest {
  std::array<SentRecord, 1024> others_packets{};
  PathKnowledge knowledge;
  PathHealth mine{paths, packets, knowledge};
  PathHealth other{paths, others_packets, knowledge};

  void lose(PathHealth& one, PathId path) {
    one.sent(next, path, 100, false);
    one.lost(next, now);
    ++next;
  }
  void deliver(PathHealth& one, PathId path) {
    one.sent(next, path, 100, false);
    one.arrived(next);
    one.works(path);
    ++next;
  }
  /// How many of 512 packets that were to take this suspect do.
  std::uint32_t tries(PathHealth& one, PathId suspect) {
    std::uint32_t tried = 0;
    for (std::uint32_t i = 0; i < 64 * PathHealth::kTryEvery; ++i)
      tried += one.usable(suspect, Purpose::news, next, now) == suspect;
    return tried;
  }
};

// [D74]
TEST_F(SharedPathsTest, WhatOneLosesNoneTries) {
  lose(mine, 3);
  EXPECT_EQ(other.barred(), 1u);
  EXPECT_EQ(other.usable(3, Purpose::news, next, now), 4);
  // A third one, made afterwards.
  PathHealth late(paths, others_packets, knowledge);
  EXPECT_EQ(late.usable(3, Purpose::news, next, now), 4);
  now = now + PathHealth::kFirstBar;
  EXPECT_EQ(late.usable(3, Purpose::news, next, now), 3) << "it is tried again after a while";
}

// [D74] A repaired path is known by all as soon as one knows.
TEST_F(SharedPathsTest, WhatArrivesForOneClearsForAll) {
  lose(mine, 3);
  deliver(other, 3);
  EXPECT_EQ(mine.barred(), 0u);
  EXPECT_EQ(mine.usable(3, Purpose::news, next, now), 3);
}

// [D74] One alarm is everybody's, and what proves to work for one is taken by the other.
TEST_F(SharedPathsTest, AnAlarmIsForAll) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(path % 2 == 0 ? mine : other, path);
  deliver(mine, 9);
  EXPECT_EQ(tries(other, 12), 3u) << "one, and two for the answer by 9";
  EXPECT_EQ(other.usable(12, Purpose::again, next, now), 9);
}

// [D158] Those that try suspects in vain wait longer each time, together.
TEST_F(SharedPathsTest, TriesInVainAreFollowedByPauses) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(mine, path);
  deliver(mine, 9);
  ASSERT_EQ(tries(mine, 12), 3u);
  Picoseconds pause = PathHealth::kFirstPause;
  for (int i = 0; i < 6; ++i) {
    now = now + pause - ps(1);
    EXPECT_EQ(tries(mine, 12) + tries(other, 12), 0u) << i;
    now = now + ps(1);
    EXPECT_EQ(tries(other, 12) + tries(mine, 12), 1u) << i;
    if (i < PathHealth::kMostPauses) pause = 2 * pause;
  }
  EXPECT_EQ(pause, ms(160));
}

// [D158] Where a suspect answers others will: two more tries at once, up to eight, and pauses begin short again.
TEST_F(SharedPathsTest, ATryThatSucceedsIsFollowedByTwo) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(mine, path);
  deliver(mine, 9);
  ASSERT_EQ(tries(mine, 12), 3u);
  now = now + PathHealth::kFirstPause;
  ASSERT_EQ(tries(mine, 12), 1u);
  mine.works(12);
  EXPECT_EQ(tries(mine, 13), 2u);
  now = now + PathHealth::kFirstPause - ps(1);
  EXPECT_EQ(tries(mine, 13), 0u);
  now = now + ps(1);
  EXPECT_EQ(tries(mine, 13), 1u);
  for (PathId path = 4; path < 9; ++path) mine.works(path);
  EXPECT_EQ(tries(mine, 13), 8u);
}

// [D158] [D160] A SACK tells of eight packets and echoes one. What has arrived is a success, if it is certain which transmission it was.
TEST_F(SharedPathsTest, ATryThatArrivesSucceeds) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(mine, path);
  deliver(mine, 9);
  ASSERT_EQ(tries(mine, 12), 3u);
  for (const bool again : {true, false}) {
    now = now + PathHealth::kFirstPause * 4;
    ASSERT_EQ(tries(mine, 12), 1u);
    const Psn psn = next;
    ++next;
    mine.sent(psn, 12, 100, false);
    if (again) mine.sent(psn, 12, 100, true);
    mine.arrived(psn);
    EXPECT_EQ(tries(mine, 13), again ? 0u : 2u);
  }
  EXPECT_NE(mine.usable(12, Purpose::again, next, now), 12) << "[D130] only an answer proves it";
}

// [D160] What a try costs is the packet, not what is known of the others; nor does one that is lost by chance while others are barred.
TEST_F(SharedPathsTest, SuspectsThatFailRaiseNoAlarm) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(mine, path);
  for (PathId path = 8; path < kPaths; ++path) deliver(mine, path);
  now = now + PathHealth::kNextAlarm;
  for (PathId path = 0; path < 8; ++path) lose(mine, path);
  lose(mine, 15);
  EXPECT_EQ(mine.usable(8, Purpose::again, next, now), 8);
  for (PathId path = 12; path < 15; ++path) lose(mine, path);
  EXPECT_NE(mine.usable(8, Purpose::again, next, now), 8) << "four that were thought to work";
}

// [D160] A second spine dies while pauses are at their longest: what is left is tried at once.
TEST_F(SharedPathsTest, ASecondAlarmBeginsAnew) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(mine, path);
  for (PathId path = 8; path < 14; ++path) deliver(mine, path);
  ASSERT_EQ(tries(mine, 14), 8u);
  for (int i = 0; i < 6; ++i) {
    now = now + ms(160);
    ASSERT_EQ(tries(mine, 14), 1u);
  }
  const Psn first = next;
  for (PathId path = 9; path < 14; ++path, ++next) mine.sent(next, path, 100, false);
  mine.arrived(first + 4u);
  for (std::uint32_t i = 0; i < 4; ++i) mine.lost(first + i, now);
  ASSERT_EQ(mine.usable(9, Purpose::again, first, now), 13)
      << "the one that came after the lost ones";
  EXPECT_EQ(tries(mine, 14), 1u);
  now = now + PathHealth::kFirstPause;
  EXPECT_EQ(tries(mine, 14), 1u);
}

// [D158] [D39] However long a spine was dead, somebody tries it each 5.3 s: when the longest bar and the longest pause are over.
TEST_F(SharedPathsTest, ARepairedSpineIsNoticed) {
  const Picoseconds longest_bar = PathHealth::kFirstBar * (1 << PathHealth::kMostDoublings);
  const Picoseconds longest_pause = PathHealth::kFirstPause * (1 << PathHealth::kMostPauses);
  constexpr PathId kDead = 4;
  for (PathId path = 0; path < kDead; ++path) lose(mine, path);
  for (PathId path = kDead; path < kPaths; ++path) deliver(mine, path);
  Instant last = now;
  Picoseconds longest{0};
  PathId rotation = 0;
  for (const Instant end = now + seconds(100); now < end; now = now + ms(1)) {
    for (int i = 0; i < 40; ++i) {
      rotation = static_cast<PathId>((rotation + 1) % kPaths);
      const PathId path = mine.usable(rotation, Purpose::news, next, now);
      if (path >= kDead) continue;
      longest = std::max(longest, now - last);
      last = now;
      lose(mine, path);
    }
  }
  EXPECT_LE(longest, longest_bar + longest_pause + ms(50)) << "and until its turn comes";
  EXPECT_GT(longest, longest_pause);
}

// [D158] [D39] What is barred by chance, without an alarm, comes back when its time is over and waits for no try.
TEST_F(SharedPathsTest, RandomLossWaitsForNoTry) {
  lose(mine, 3);
  ASSERT_EQ(mine.usable(3, Purpose::news, next, now), 4);
  now = now + PathHealth::kFirstBar;
  EXPECT_EQ(mine.usable(3, Purpose::news, next, now), 3);
}

// [D115] A spine dies, and every other packet is lost. When that is noticed, later packets have come by living paths: what is
// lost goes by these, and by none that has lost something.
TEST_F(SharedPathsTest, WhatCameAfterTheLostOnesIsNoSuspect) {
  const Psn first = next;
  for (PathId path = 0; path < 16; ++path, ++next) mine.sent(next, path, 100, false);
  for (PathId path = 1; path < 16; path += 2) mine.arrived(first + path);
  mine.never_left(first + 14u);
  for (PathId path = 0; path < 14; path += 2) mine.lost(first + path, now);
  // The alarm came with the fourth, of path 6: those after it are proven.
  std::set<PathId> taken;
  for (int i = 0; i < 40; ++i) taken.insert(mine.usable(2, Purpose::again, first + 2u, now));
  EXPECT_EQ(taken, (std::set<PathId>{7, 9, 11, 13, 15}));
  EXPECT_EQ(mine.usable(5, Purpose::again, first + 2u, now) % 2, 1) << "5 is a suspect";
}

// [D115] [D41] What came before its path failed makes it good no second time: all that is believed proves wrong but once.
TEST_F(SharedPathsTest, WhatIsOldProvesNothingTwice) {
  const Psn first = next;
  for (PathId path = 0; path < 8; ++path, ++next) mine.sent(next, path, 100, false);
  for (PathId path = 4; path < 8; ++path) mine.arrived(first + path);
  for (PathId path = 0; path < 4; ++path) mine.lost(first + path, now);
  EXPECT_EQ(mine.usable(0, Purpose::again, first, now), 5);
  // They are dead, too: what is sent again by them is lost, and the next alarm does not bring them back.
  for (PathId path = 4; path < 8; ++path) {
    mine.sent(first + (path - 4u), path, 100, true);
    mine.lost(first + (path - 4u), now);
  }
  now = now + PathHealth::kNextAlarm;
  lose(mine, 8);
  EXPECT_EQ(mine.usable(4, Purpose::again, first, now), 1) << "none is proven: it seeks";
}

// [D121] [D41] Where nothing is proven, packets that were lost by one path start to seek at different ones, and from there each goes round all.
TEST_F(SharedPathsTest, WhatIsLostTogetherSeeksApart) {
  constexpr std::uint32_t kLost = 6;
  const Psn first = next;
  for (std::uint32_t i = 0; i < kLost; ++i, ++next) mine.sent(next, 3, 100, false);
  mine.fall_silent();
  std::array<std::set<PathId>, kLost> taken;
  std::set<PathId> starts;
  for (std::uint32_t tries = 0; tries < kPaths; ++tries) {
    for (std::uint32_t i = 0; i < kLost; ++i) {
      const PathId path = mine.usable(3, Purpose::again, first + i, now);
      mine.sent(first + i, path, 100, true);
      taken[i].insert(path);
      if (tries == 0) starts.insert(path);
    }
  }
  EXPECT_EQ(starts.size(), kLost);
  for (const auto& each : taken) EXPECT_EQ(each.size(), kPaths);
}

// [D122] What arrives often by few paths does not drive the others from the list of those that are proven.
TEST_F(SharedPathsTest, WhatIsTakenOftenLeavesTheOthersProven) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(mine, path);
  for (PathId path = 4; path < 12; ++path) deliver(mine, path);
  for (int i = 0; i < 50; ++i) {
    deliver(mine, 4);
    deliver(mine, 5);
  }
  std::set<PathId> taken;
  for (int i = 0; i < 40; ++i) taken.insert(mine.usable(0, Purpose::again, next, now));
  EXPECT_EQ(taken, (std::set<PathId>{4, 5, 6, 7, 8, 9, 10, 11}));
}

// [D122] And the oldest makes room where there are more than the list holds; it may come back.
TEST_F(SharedPathsTest, TheListOfProvenPathsHasAnEnd) {
  constexpr PathId kMany = 40;
  std::array<PathRecord, kMany> many{};
  PathKnowledge all;
  PathHealth one(many, packets, all);
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(one, path);
  for (PathId path = 4; path < kMany; ++path) deliver(one, path);
  const auto taken = [&] {
    std::set<PathId> paths_taken;
    for (int i = 0; i < 100; ++i) paths_taken.insert(one.usable(0, Purpose::again, next, now));
    return paths_taken;
  };
  EXPECT_EQ(taken().size(), 32u);
  EXPECT_FALSE(taken().contains(4));
  deliver(one, 4);
  EXPECT_EQ(taken().size(), 32u);
  EXPECT_TRUE(taken().contains(4));
}

// [D130] What is acknowledged among others got there, and its way back may be dead: its path is not barred any more, but only an answer by it proves it.
TEST_F(SharedPathsTest, OnlyAnAnswerProves) {
  const Psn first = next;
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(mine, path);
  ASSERT_EQ(mine.barred(), PathHealth::kAlarm);
  for (std::uint32_t i = 0; i < PathHealth::kAlarm; ++i) mine.arrived(first + i);
  EXPECT_EQ(mine.barred(), 0u);
  mine.works(9);
  std::set<PathId> taken;
  for (int i = 0; i < 40; ++i) taken.insert(mine.usable(2, Purpose::again, next, now));
  EXPECT_EQ(taken, (std::set<PathId>{9}));
  mine.works(2);
  EXPECT_EQ(mine.usable(2, Purpose::again, next, now), 2);
}

// [D74] [D41] The silence of one says nothing of paths by which others hear, but it is not passed over for ever.
TEST_F(SharedPathsTest, OneThatFallsSilentLeavesTheOthersWhatTheyKnow) {
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(mine, path);
  deliver(other, 9);
  for (std::uint32_t i = 0; i < PathHealth::kMostSpared; ++i) {
    deliver(other, 9);
    mine.fall_silent();
    EXPECT_EQ(other.barred(), PathHealth::kAlarm);
  }
  deliver(other, 9);
  mine.fall_silent();
  EXPECT_EQ(other.barred(), 0u);
  // Alone it is as if there were no others.
  deliver(mine, 9);
  for (PathId path = 0; path < PathHealth::kAlarm; ++path) lose(mine, path);
  mine.fall_silent();
  EXPECT_EQ(mine.barred(), 0u);
}

}  // namespace
}  // namespace strack::core
