#include "udp/path_record.h"

#include <memory>

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

// What goes again counts as lost where it went before, not where it goes now.
TEST(PathRecord, PathByPath) {
  const auto record = std::make_unique<PathRecord>();
  record->on_sent({0}, 3, false);
  record->on_sent({1}, 3, false);
  record->on_sent({2}, 7, false);
  record->on_sent({1}, 7, true);
  record->on_sack(3, false, us(10));
  record->on_sack(7, true, us(30));
  record->on_sack(7, false, us(10));
  record->on_sack(7, false, ps(0));
  const std::vector<PathStatistics> paths = record->paths();
  ASSERT_EQ(paths.size(), 2u);
  EXPECT_EQ(paths[0].path, 3u);
  EXPECT_EQ(paths[0].packets, 2u);
  EXPECT_EQ(paths[0].lost, 1u);
  EXPECT_EQ(paths[0].sacks, 1u);
  EXPECT_EQ(paths[0].marks, 0u);
  EXPECT_EQ(paths[0].rtt_ns, 10'000u);
  EXPECT_EQ(paths[1].path, 7u);
  EXPECT_EQ(paths[1].packets, 2u);
  EXPECT_EQ(paths[1].lost, 0u);
  EXPECT_EQ(paths[1].sacks, 3u);
  EXPECT_EQ(paths[1].marks, 1u);
  EXPECT_EQ(paths[1].rtt_ns, 20'000u);
  EXPECT_EQ(paths[1].lowest_rtt_ns, 10'000u);
}

TEST(PathRecord, Arrivals) {
  const auto record = std::make_unique<PathRecord>();
  for (const int path : {5, 200, 5}) record->on_arrived(static_cast<core::PathId>(path));
  EXPECT_EQ(record->arrivals()[5], 2u);
  EXPECT_EQ(record->arrivals()[200], 1u);
  EXPECT_TRUE(record->paths().empty());
}

}  // namespace
}  // namespace strack::udp
