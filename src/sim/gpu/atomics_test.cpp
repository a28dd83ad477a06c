// What threads of a GPU do together is done by one thread on the host: by itself it is all of them.
#include "sim/gpu/atomics.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace strack::sim::gpu {
namespace {

TEST(OneThread, AddsAndKeepsTheLeastAndTheGreatest) {
  std::uint64_t word = 5;
  EXPECT_EQ(fetch_add<std::uint64_t>(word, 3), 5u);
  EXPECT_EQ(word, 8u);
  std::int64_t time = 10;
  lower_to(time, 11);
  EXPECT_EQ(time, 10);
  lower_to(time, -2);
  EXPECT_EQ(time, -2);
  raise_to(time, -3);
  EXPECT_EQ(time, -2);
  raise_to(time, 4);
  EXPECT_EQ(time, 4);
}

TEST(OneThread, IsAllOfThem) {
  EXPECT_EQ(kLanes, 1u);
  EXPECT_EQ(lane(), 0u);
  for (const bool mine : {false, true}) {
    EXPECT_EQ(any(mine), mine);
    EXPECT_EQ(ballot(mine), mine ? 1u : 0u);
  }
  EXPECT_EQ(of_lane(std::uint64_t{1} << 40 | 7, 0), std::uint64_t{1} << 40 | 7);
  EXPECT_EQ(sum_of_all(6), 6u);
  EXPECT_EQ(least_of_all(-6), -6);
}

TEST(OneThread, HasWhatItAskedFor) {
  const std::array<std::uint64_t, 2> there{1, 2};
  std::array<std::uint64_t, 2> here{};
  for (std::size_t i = 0; i < there.size(); ++i) copy_near(&here[i], &there[i]);
  wait_for_copies();
  wait_for_others();
  EXPECT_EQ(here, there);
}

}  // namespace
}  // namespace strack::sim::gpu
