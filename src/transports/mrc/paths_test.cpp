// MRC's entropies, rule by rule.
#include "transports/mrc/paths.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"
#include "core/paths/news.h"

namespace strack::core {
namespace {

using State = EntropyState;
constexpr Instant kNow = Instant{} + ms(1);

MrcPathParams small() {
  return {.active = 8, .backups = 2, .min_active = 3, .probe_every = us(10), .paths = 10};
}
std::vector<PathId> round(MrcPaths& paths, const MrcPathParams& params, std::size_t packets = 8) {
  std::vector<PathId> all;
  for (std::size_t i = 0; i < packets; ++i) all.push_back(paths.next(params, kNow));
  std::sort(all.begin(), all.end());
  return all;
}
void lose(MrcPaths& paths, const MrcPathParams& params, std::vector<PathId> which) {
  for (const PathId path : which) paths.feedback(params, path, PathNews::timed_out, kNow);
}

// [MRC.rotation] All active entropies once in each round, in an order drawn anew; backups wait.
TEST(MrcPaths, Rotation) {
  const MrcPathParams params = small();
  MrcPaths paths(params);
  std::set<std::vector<PathId>> orders;
  for (int i = 0; i < 20; ++i) {
    std::vector<PathId> order;
    for (int k = 0; k < 8; ++k) order.push_back(paths.next(params, kNow));
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<PathId>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  EXPECT_GT(orders.size(), 4u);
}

// [MRC.mark] [MRC.trimmed] [MRC.skip] A mark or a trim leaves an entropy out of one round, however many there were.
TEST(MrcPaths, SkippedOnce) {
  for (const PathNews news : {PathNews::marked, PathNews::trimmed}) {
    const MrcPathParams params = small();
    MrcPaths paths(params);
    paths.feedback(params, 3, news, kNow);
    paths.feedback(params, 3, news, kNow);
    EXPECT_EQ(paths.state(3), State::skip);
    EXPECT_EQ(round(paths, params, 7), (std::vector<PathId>{0, 1, 2, 4, 5, 6, 7}));
    EXPECT_EQ(round(paths, params).size(), 8u);
    EXPECT_EQ(paths.state(3), State::good);
  }
}

// When all are to be skipped, the second round has them.
TEST(MrcPaths, AllSkipped) {
  const MrcPathParams params = small();
  MrcPaths paths(params);
  for (PathId p = 0; p < 8; ++p) paths.feedback(params, p, PathNews::marked, kNow);
  EXPECT_EQ(round(paths, params), (std::vector<PathId>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(MrcPaths, GoodNewsChangesNothing) {
  const MrcPathParams params = small();
  MrcPaths paths(params);
  paths.feedback(params, 3, PathNews::marked, kNow);
  paths.feedback(params, 3, PathNews::clean, kNow);
  EXPECT_EQ(paths.state(3), State::skip);
}

// [MRC.bad] [MRC.backup] After a silent loss an entropy is assumed bad, and a backup has its place.
TEST(MrcPaths, BackupsTakeOver) {
  const MrcPathParams params = small();
  MrcPaths paths(params);
  lose(paths, params, {2});
  EXPECT_EQ(paths.state(2), State::assumed_bad);
  EXPECT_EQ(round(paths, params), (std::vector<PathId>{0, 1, 3, 4, 5, 6, 7, 8}));
  lose(paths, params, {2, 8});  // a second loss of what is out says nothing
  EXPECT_EQ(paths.assumed_bad(), 2u);
  EXPECT_EQ(round(paths, params), (std::vector<PathId>{0, 1, 3, 4, 5, 6, 7, 9}));
  // None is left: the others have the round to themselves.
  lose(paths, params, {9});
  EXPECT_EQ(round(paths, params, 7), (std::vector<PathId>{0, 1, 3, 4, 5, 6, 7}));
}

// [MRC.floor] At least three stay in use.
TEST(MrcPaths, SomeStayInUse) {
  const MrcPathParams params = small();
  MrcPaths paths(params);
  lose(paths, params, {0, 1, 8, 9, 2, 3, 4});
  EXPECT_EQ(paths.assumed_bad(), 7u);
  EXPECT_EQ(round(paths, params, 3), (std::vector<PathId>{5, 6, 7}));
  lose(paths, params, {5});
  EXPECT_EQ(paths.state(5), State::skip);
  EXPECT_EQ(paths.assumed_bad(), 7u);
}

// [MRC.probe] One that is assumed bad is probed each 10 us, one after the other.
TEST(MrcPaths, Probes) {
  const MrcPathParams params = small();
  MrcPaths paths(params);
  EXPECT_EQ(paths.next_probe(), Instant::never());
  EXPECT_FALSE(paths.poll_probe(params, kNow));
  lose(paths, params, {2, 5});
  EXPECT_EQ(paths.next_probe(), kNow + us(10));
  EXPECT_FALSE(paths.poll_probe(params, kNow + us(9)));
  EXPECT_EQ(paths.poll_probe(params, kNow + us(10)), PathId{2});
  EXPECT_FALSE(paths.poll_probe(params, kNow + us(19)));
  EXPECT_EQ(paths.poll_probe(params, kNow + us(20)), PathId{5});
  EXPECT_EQ(paths.poll_probe(params, kNow + us(31)), PathId{2});
  EXPECT_EQ(paths.next_probe(), kNow + us(41));
}

// [MRC.probe.clean] [MRC.probe.marked] What comes back makes it good again, or to be skipped once; as a backup.
TEST(MrcPaths, ProbesComeBack) {
  const MrcPathParams params = small();
  MrcPaths paths(params);
  lose(paths, params, {2, 5});
  paths.on_probe(params, 2, false, kNow);
  paths.on_probe(params, 5, true, kNow);
  paths.on_probe(params, 6, true, kNow);  // of one that is in use: says nothing
  EXPECT_EQ(paths.state(2), State::good);
  EXPECT_EQ(paths.state(5), State::skip);
  EXPECT_EQ(paths.state(6), State::good);
  EXPECT_EQ(paths.assumed_bad(), 0u);
  EXPECT_EQ(paths.next_probe(), Instant::never());
  EXPECT_EQ(round(paths, params), (std::vector<PathId>{0, 1, 3, 4, 6, 7, 8, 9}));
  lose(paths, params, {0});  // 2 is the first backup now
  EXPECT_EQ(round(paths, params), (std::vector<PathId>{1, 2, 3, 4, 6, 7, 8, 9}));
}

// [MRC.denied] Neither news nor probes bring back what was denied.
TEST(MrcPaths, Denied) {
  const MrcPathParams params = small();
  MrcPaths paths(params);
  lose(paths, params, {1});
  paths.deny(params, 1);
  paths.deny(params, 4);
  paths.deny(params, 4);
  EXPECT_EQ(paths.assumed_bad(), 0u);
  lose(paths, params, {4});
  paths.on_probe(params, 4, false, kNow);
  paths.feedback(params, 4, PathNews::marked, kNow);
  EXPECT_EQ(paths.state(4), State::denied);
  EXPECT_FALSE(paths.poll_probe(params, kNow + ms(1)));
  EXPECT_EQ(round(paths, params), (std::vector<PathId>{0, 2, 3, 5, 6, 7, 8, 9}));
  paths.allow(4);
  paths.allow(5);
  EXPECT_EQ(paths.state(4), State::good);
  EXPECT_EQ(paths.state(5), State::good);
}

/// Two planes: even entropies, with 8 as their backup, and odd ones, with 9.
MrcPathParams two_planes() {
  MrcPathParams params = small();
  params.planes = 2;
  params.plane_silence = us(10);
  return params;
}

// [MRC.backup] [MRC.planes] A backup is of the same plane; without one the others have the round to themselves.
TEST(MrcPaths, BackupsAreOfThePlane) {
  const MrcPathParams params = two_planes();
  MrcPaths paths(params);
  for (const PathId path : {PathId{0}, PathId{1}})
    paths.feedback(params, path, PathNews::clean, kNow);
  lose(paths, params, {3});
  EXPECT_EQ(round(paths, params), (std::vector<PathId>{0, 1, 2, 4, 5, 6, 7, 9}));
  lose(paths, params, {5});
  EXPECT_EQ(round(paths, params, 7), (std::vector<PathId>{0, 1, 2, 4, 6, 7, 9}));
}

// [MRC.plane.down] [D113] The second of its entropies is lost, and nothing came by the plane for 10 us: all of it is left out,
// and its backup too.
TEST(MrcPaths, APlaneGoesDown) {
  const MrcPathParams params = two_planes();
  MrcPaths paths(params);
  for (const PathId path : {PathId{0}, PathId{1}})
    paths.feedback(params, path, PathNews::clean, kNow - us(10));
  lose(paths, params, {3});
  EXPECT_FALSE(paths.is_down(params, 1));  // one loss says little
  lose(paths, params, {5});
  EXPECT_TRUE(paths.is_down(params, 1));
  EXPECT_FALSE(paths.is_down(params, 0));
  EXPECT_EQ(paths.assumed_bad(), 0u);
  EXPECT_EQ(round(paths, params, 4), (std::vector<PathId>{0, 2, 4, 6}));
  lose(paths, params, {7});  // says nothing new
  EXPECT_EQ(paths.assumed_bad(), 0u);
}

// [MRC.plane.down] Something came by it a moment ago: entropies are bad one by one.
TEST(MrcPaths, APlaneIsHeardOf) {
  const MrcPathParams params = two_planes();
  for (const PathNews news : {PathNews::clean, PathNews::marked, PathNews::trimmed}) {
    MrcPaths paths(params);
    paths.feedback(params, 1, news, kNow - us(10) + ns(1));
    lose(paths, params, {3, 5});
    EXPECT_FALSE(paths.is_down(params, 1));
    EXPECT_EQ(paths.assumed_bad(), 2u);
  }
}

// [MRC.plane.down] The last plane that is left is kept, and one that is alone.
TEST(MrcPaths, OnePlaneIsKept) {
  const MrcPathParams params = two_planes();
  MrcPaths paths(params);
  lose(paths, params, {3, 5, 0, 2});
  EXPECT_TRUE(paths.is_down(params, 1));
  EXPECT_FALSE(paths.is_down(params, 0));
  EXPECT_EQ(paths.assumed_bad(), 2u);
  MrcPaths alone(small());
  lose(alone, small(), {0, 1, 2, 3});
  EXPECT_FALSE(alone.is_down(small(), 0));
}

// [MRC.plane.probe] Its entropies are probed one after the other; the first that comes back brings back all.
TEST(MrcPaths, APlaneComesBack) {
  const MrcPathParams params = two_planes();
  MrcPaths paths(params);
  lose(paths, params, {3, 5});
  EXPECT_EQ(paths.next_probe(), kNow + us(10));
  EXPECT_EQ(paths.poll_probe(params, kNow + us(10)), PathId{1});
  EXPECT_EQ(paths.poll_probe(params, kNow + us(20)), PathId{3});
  paths.on_probe(params, 1, false, kNow + us(25));
  EXPECT_FALSE(paths.is_down(params, 1));
  EXPECT_EQ(paths.next_probe(), Instant::never());
  EXPECT_EQ(round(paths, params).size(), 8u);
  EXPECT_EQ(paths.state(3), State::good);
  // It counts as heard: two losses more are two bad entropies.
  paths.feedback(params, 1, PathNews::timed_out, kNow + us(30));
  paths.feedback(params, 7, PathNews::timed_out, kNow + us(30));
  EXPECT_EQ(paths.assumed_bad(), 2u);
}

TEST(MrcPaths, Faults) {
  const auto fault_of = [](const MrcPathParams& p) {
    const auto wrong = out_of_range(p);
    return std::string(wrong ? wrong->field : p.fault()->field);
  };
  EXPECT_FALSE(out_of_range(small()));
  EXPECT_FALSE(small().fault());
  MrcPathParams p = small();
  p.active = 12;
  EXPECT_EQ(fault_of(p), "active");
  p = small();
  p.backups = 249;
  EXPECT_EQ(fault_of(p), "backups");
  p = small();
  p.min_active = 9;
  EXPECT_EQ(fault_of(p), "min_active");
  p = small();
  p.planes = 9;
  EXPECT_EQ(fault_of(p), "planes");
  p = small();
  p.active = 4;
  p.planes = 5;
  EXPECT_EQ(fault_of(p), "planes");
  p = small();
  p.probe_every = ps(0);
  EXPECT_EQ(fault_of(p), "probe_every");
}

}  // namespace
}  // namespace strack::core
