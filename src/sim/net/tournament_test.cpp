#include "sim/net/tournament.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace strack::sim {
namespace {

// The earliest wins, of equals the lowest number, for any number of contestants.
TEST(Tournament, AgainstASearch) {
  Rng rng(3);
  Tournament tournament;
  for (const std::size_t count : {1u, 2u, 3u, 5u, 64u, 100u}) {
    tournament.reset(count);
    std::vector<Instant> times(count);
    for (std::size_t i = 0; i < count; ++i) {
      times[i] = at(ps(rng.between(0, 20)));
      tournament.place(i, times[i]);
    }
    tournament.build();
    for (int step = 0; step < 2'000; ++step) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < count; ++i) {
        if (times[i] < times[best]) best = i;
      }
      ASSERT_EQ(tournament.who(), best);
      ASSERT_EQ(tournament.time(), times[best]);
      const std::size_t who = rng.below(2) == 0 ? best : rng.below(count);
      times[who] = at(ps(step / 50 + rng.between(0, 20)));
      tournament.update(who, times[who]);
    }
  }
}

// With nobody in it, nothing ever happens.
TEST(Tournament, Empty) {
  Tournament tournament;
  EXPECT_EQ(tournament.time(), Instant::never());
  tournament.reset(7);
  EXPECT_EQ(tournament.time(), Instant::never());
}

}  // namespace
}  // namespace strack::sim
