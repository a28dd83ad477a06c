#include "transports/strack/path_selector.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "core/events.h"
#include "transports/strack/params.h"

namespace strack::core {
namespace {

constexpr bool kClean = false;
constexpr bool kMarked = true;

/// Four packets in the window: 2 x 4 = 8 paths to rotate over.
constexpr std::uint32_t kEightPaths = 4;
/// 128 packets in the window: all 256 paths.
constexpr std::uint32_t kAllPaths = 128;

/// Remembers what the selector tells.
struct Recorder {
  std::vector<PathChosen> chosen;
  std::vector<Rare> rare;

  void on(const PathChosen& event) { chosen.push_back(event); }
  void on(const Reached& event) { rare.push_back(event.branch); }
};

StrackParams with_policy(PathPolicy policy) {
  StrackParams params = StrackParams::for_link(gbps(400), us(8), bytes(4'096)).value();
  params.path_policy = policy;
  return params;
}

/// A selector with its parameters and a recorder, under one policy.
class Selector {
 public:
  explicit Selector(PathPolicy policy = PathPolicy::adaptive) : params_(with_policy(policy)) {}

  void ack(bool ecn, PathId path_id) { selector_.update_ecn_bitmap(params_, ecn, path_id); }
  /// A whole range of marked ACKs: [from, to).
  void mark(PathId from, PathId to) {
    for (PathId path_id = from; path_id < to; ++path_id) ack(kMarked, path_id);
  }
  PathId choose(std::uint32_t cwnd_packets = kEightPaths) {
    return selector_.choose_path(params_, cwnd_packets, events_);
  }
  std::vector<PathId> choose_many(int packets, std::uint32_t cwnd_packets = kEightPaths) {
    std::vector<PathId> paths;
    for (int i = 0; i < packets; ++i) paths.push_back(choose(cwnd_packets));
    return paths;
  }
  void reset() { selector_.reset_ecn_bitmap(); }

  bool is_marked(PathId path_id) const { return selector_.is_marked(path_id); }
  std::uint32_t marked_paths() const { return selector_.marked_paths(); }
  StrackParams& params() { return params_; }
  const Recorder& events() const { return events_; }

 private:
  StrackParams params_;
  PathSelector selector_;
  Recorder events_;
};

using Paths = std::vector<PathId>;

// ---- The beginning ----

// [A2.L1] [D1] No path is marked, so all are usable.
TEST(PathSelector, Init_NothingIsMarked) {
  const Selector selector;
  EXPECT_EQ(selector.marked_paths(), 0U);
  EXPECT_FALSE(selector.is_marked(0));
  EXPECT_FALSE(selector.is_marked(255));
}

// [A2.L1] [A2.L19] [D2] rr is 0 and nothing is remembered: the first packet leaves on path 1.
TEST(PathSelector, Init_FirstPacketLeavesOnPathOne) {
  Selector selector;
  EXPECT_EQ(selector.choose(), 1);
  EXPECT_FALSE(selector.events().chosen.at(0).recycled);
}

// [P.max_paths] One bit for each of 256 paths, and two path ids besides.
TEST(PathSelector, Init_StateIsOneBitPerPath) {
  static_assert(kMaxPaths == 256);
  static_assert(sizeof(PathSelector) == 256 / 8 + 8);
}

// ---- update_ecn_bitmap ----

// [A2.L2] [A2.L3] [A2.L5] [D1] [Q2] [Q3] A marked ACK marks its path and no other; 1 is "marked".
TEST(PathSelector, UpdateEcnBitmap_MarkedAckMarksItsPath) {
  Selector selector;
  selector.ack(kMarked, 5);
  EXPECT_TRUE(selector.is_marked(5));
  EXPECT_EQ(selector.marked_paths(), 1U);
}

// [A2.L2] [A2.L5] The last of the 256 paths has a bit too.
TEST(PathSelector, UpdateEcnBitmap_KnowsAllPaths) {
  Selector selector;
  selector.ack(kMarked, 255);
  selector.ack(kMarked, 0);
  EXPECT_TRUE(selector.is_marked(255));
  EXPECT_TRUE(selector.is_marked(0));
  EXPECT_EQ(selector.marked_paths(), 2U);
}

// [A2.L5] Marked twice is marked once.
TEST(PathSelector, UpdateEcnBitmap_MarkingIsIdempotent) {
  Selector selector;
  selector.ack(kMarked, 5);
  selector.ack(kMarked, 5);
  EXPECT_EQ(selector.marked_paths(), 1U);
}

// [A2.L3] [A2.L6] [A2.L7] [Q1] [Q4] A clean ACK hands its path to the next packet.
TEST(PathSelector, UpdateEcnBitmap_CleanAckIsRemembered) {
  Selector selector;
  selector.ack(kClean, 5);
  EXPECT_EQ(selector.choose(), 5);
  EXPECT_TRUE(selector.events().chosen.at(0).recycled);
}

// [A2.L7] There is room for one path: the newest.
TEST(PathSelector, UpdateEcnBitmap_LaterCleanAckReplacesTheEarlier) {
  Selector selector;
  selector.ack(kClean, 5);
  selector.ack(kClean, 6);
  EXPECT_EQ(selector.choose_many(2), (Paths{6, 7}));
}

// [A2.L6] [A2.L8] [D1] A clean ACK clears the mark of its path and of no other.
TEST(PathSelector, UpdateEcnBitmap_CleanAckClearsItsMark) {
  Selector selector;
  selector.ack(kMarked, 5);
  selector.ack(kMarked, 6);
  selector.ack(kClean, 5);
  EXPECT_FALSE(selector.is_marked(5));
  EXPECT_TRUE(selector.is_marked(6));
}

// [A2.L4] [D2] A mark on the remembered path takes the invitation back.
TEST(PathSelector, UpdateEcnBitmap_MarkForgetsTheRememberedPath) {
  Selector selector;
  selector.ack(kClean, 5);
  selector.ack(kMarked, 5);
  EXPECT_EQ(selector.choose(), 1);
}

// [A2.L4] [D2] And so does a mark on any other path.
TEST(PathSelector, UpdateEcnBitmap_MarkOnAnotherPathForgetsTheRememberedOne) {
  Selector selector;
  selector.ack(kClean, 5);
  selector.ack(kMarked, 3);
  EXPECT_EQ(selector.choose(), 1);
}

// [A2.L4] [D2] Minus path 0 is path 0 in the paper's encoding; here it is no invitation.
TEST(PathSelector, UpdateEcnBitmap_MarkOnPathZeroInvitesNobody) {
  Selector selector;
  selector.ack(kMarked, 0);
  EXPECT_EQ(selector.choose(), 1);
}

// [D2] Of a marked ACK and a later clean one, the later has the say.
TEST(PathSelector, UpdateEcnBitmap_CleanAckAfterAMarkIsRemembered) {
  Selector selector;
  selector.ack(kMarked, 3);
  selector.ack(kClean, 5);
  EXPECT_EQ(selector.choose(), 5);
}

// ---- choose_path: the remembered path ----

// [A2.L12] [D2] Path 0 can be remembered like any other.
TEST(PathSelector, ChoosePath_RemembersPathZero) {
  Selector selector;
  selector.ack(kClean, 0);
  EXPECT_EQ(selector.choose(), 0);
  EXPECT_TRUE(selector.events().chosen.at(0).recycled);
}

// [A2.L12] The scan does not run: no mark is forgiven, not even on the path the scan would try.
TEST(PathSelector, ChoosePath_RememberedPathForgivesNothing) {
  Selector selector;
  selector.ack(kMarked, 1);
  selector.ack(kClean, 5);
  EXPECT_EQ(selector.choose(), 5);
  EXPECT_TRUE(selector.is_marked(1));
}

// [A2.L13] [A2.L29] [D30] The rotation goes on from the remembered path.
TEST(PathSelector, ChoosePath_RotationGoesOnFromTheRememberedPath) {
  Selector selector;
  selector.ack(kClean, 5);
  EXPECT_EQ(selector.choose_many(3), (Paths{5, 6, 7}));
}

// [D30] With the switch off it goes on from where it was.
TEST(PathSelector, ChoosePath_RotationMayStayWhereItWas) {
  Selector selector;
  selector.params().recycle_moves_rotation = false;
  EXPECT_EQ(selector.choose(), 1);
  selector.ack(kClean, 5);
  EXPECT_EQ(selector.choose_many(3), (Paths{5, 2, 3}));
  EXPECT_EQ(selector.events().chosen.at(1).path_id, 5);
  EXPECT_TRUE(selector.events().chosen.at(1).recycled);
}

// [A2.L13] [A2.L19] A remembered path may lie above the path count; (200 + 1) mod 8 = 1.
TEST(PathSelector, ChoosePath_RememberedPathMayBeAboveThePathCount) {
  Selector selector;
  selector.ack(kClean, 200);
  EXPECT_EQ(selector.choose_many(2), (Paths{200, 1}));
}

// [A2.L14] [A2.L15] One clean ACK is good for one packet; the next comes from the scan.
TEST(PathSelector, ChoosePath_RememberedPathIsUsedOnce) {
  Selector selector;
  selector.ack(kClean, 5);
  selector.choose();
  EXPECT_EQ(selector.choose(), 6);
  EXPECT_FALSE(selector.events().chosen.at(1).recycled);
}

// ---- choose_path: how many paths ----

// [A2.L17] [D24] Twice the window in packets.
TEST(PathSelector, PathCount_IsTwiceTheWindow) {
  const StrackParams params = with_policy(PathPolicy::adaptive);
  EXPECT_EQ(PathSelector::path_count(params, 5), 10U);
  EXPECT_EQ(PathSelector::path_count(params, 97), 194U);
}

// [A2.L17] [P.max_paths] [D24] 128 packets are the first window to use all 256.
TEST(PathSelector, PathCount_IsAtMostMaxPaths) {
  const StrackParams params = with_policy(PathPolicy::adaptive);
  EXPECT_EQ(PathSelector::path_count(params, 127), 254U);
  EXPECT_EQ(PathSelector::path_count(params, 128), 256U);
  EXPECT_EQ(PathSelector::path_count(params, 129), 256U);
  EXPECT_EQ(PathSelector::path_count(params, 1U << 30), 256U);
}

// [A2.L18] [D24] Never fewer than 8, whatever the window.
TEST(PathSelector, PathCount_IsAtLeastEight) {
  const StrackParams params = with_policy(PathPolicy::adaptive);
  EXPECT_EQ(PathSelector::path_count(params, 1), 8U);
  EXPECT_EQ(PathSelector::path_count(params, 3), 8U);
  EXPECT_EQ(PathSelector::path_count(params, 4), 8U);
  EXPECT_EQ(PathSelector::path_count(params, 5), 10U);
}

// [A2.L18] [D24] max_paths is the size of the bitmap and wins over the 8.
TEST(PathSelector, PathCount_MaxPathsBelowEightWins) {
  StrackParams params = with_policy(PathPolicy::adaptive);
  params.max_paths = 4;
  EXPECT_EQ(PathSelector::path_count(params, 1), 4U);
  EXPECT_EQ(PathSelector::path_count(params, 100), 4U);
  params.max_paths = 1;
  EXPECT_EQ(PathSelector::path_count(params, 100), 1U);
}

// [A2.L18] [D24] The lower bound is a parameter.
TEST(PathSelector, PathCount_MinPathsIsAParameter) {
  StrackParams params = with_policy(PathPolicy::adaptive);
  params.min_paths = 2;
  EXPECT_EQ(PathSelector::path_count(params, 1), 2U);
  params.min_paths = 1'000;
  EXPECT_EQ(PathSelector::path_count(params, 1), 256U);
}

// [A2.L17] [D24] The window of each call counts: it may grow and shrink between packets.
TEST(PathSelector, ChoosePath_FollowsTheWindow) {
  Selector selector;
  selector.ack(kClean, 9);
  EXPECT_EQ(selector.choose(), 9);
  EXPECT_EQ(selector.choose(6), 10);  // 12 paths
  EXPECT_EQ(selector.choose(5), 1);   // 10 paths: (10 + 1) mod 10
}

// ---- choose_path: the scan ----

// [A2.L15] [A2.L19] [A2.L29] With nothing marked it is a round robin over 8 paths.
TEST(PathSelector, ChoosePath_RotatesOverThePaths) {
  Selector selector;
  EXPECT_EQ(selector.choose_many(10), (Paths{1, 2, 3, 4, 5, 6, 7, 0, 1, 2}));
}

// [A2.L17] [A2.L19] [P.max_paths] With a large window each of the 256 paths has its turn.
TEST(PathSelector, ChoosePath_RotatesOverAll256Paths) {
  Selector selector;
  const Paths paths = selector.choose_many(257, kAllPaths);
  EXPECT_EQ(paths.at(0), 1);
  EXPECT_EQ(paths.at(254), 255);
  EXPECT_EQ(paths.at(255), 0);
  EXPECT_EQ(paths.at(256), 1);
}

// [A2.L20] [A2.L26] [D1] [Q2] A marked path is passed over.
TEST(PathSelector, ChoosePath_SkipsAMarkedPath) {
  Selector selector;
  selector.ack(kMarked, 1);
  EXPECT_EQ(selector.choose(), 2);
}

// [A2.L20] [A2.L26] And so is a run of them, across the words of the bitmap.
TEST(PathSelector, ChoosePath_SkipsARunOfMarkedPaths) {
  Selector selector;
  selector.mark(1, 130);
  EXPECT_EQ(selector.choose(kAllPaths), 130);
}

// [A2.L20] The first clear path ends the scan, although others behind it are clear too.
TEST(PathSelector, ChoosePath_TakesTheFirstClearPath) {
  Selector selector;
  selector.ack(kMarked, 1);
  selector.ack(kMarked, 3);
  EXPECT_EQ(selector.choose(), 2);
}

// [A2.L20] A mark ahead of the rotation costs nothing until it is reached.
TEST(PathSelector, ChoosePath_LeavesMarksItDoesNotMeet) {
  Selector selector;
  selector.ack(kMarked, 2);
  EXPECT_EQ(selector.choose(), 1);
  EXPECT_TRUE(selector.is_marked(2));
}

// [A2.L26] A skip goes round the circle of the paths in use: from 7 to 0.
TEST(PathSelector, ChoosePath_SkipsAroundTheCircle) {
  Selector selector;
  selector.ack(kClean, 6);
  selector.choose();
  selector.ack(kMarked, 7);
  EXPECT_EQ(selector.choose(), 0);
}

// [A2.L26] And past marked paths at its beginning: 7, 0 and 1 are marked.
TEST(PathSelector, ChoosePath_SkipsAroundTheCircleToALaterPath) {
  Selector selector;
  selector.ack(kClean, 6);
  selector.choose();
  selector.ack(kMarked, 7);
  selector.mark(0, 2);
  EXPECT_EQ(selector.choose(), 2);
}

// [A2.L26] Paths beyond the count are not candidates, clear as they are.
TEST(PathSelector, ChoosePath_NeverLeavesThePathsInUse) {
  Selector selector;
  selector.mark(1, 8);
  EXPECT_EQ(selector.choose(), 0);  // and not 8
}

// [A2.L22] [A2.L23] [A2.L24] The first path skipped is forgiven, those skipped after it are not.
TEST(PathSelector, ChoosePath_ForgivesOnlyTheFirstPathItSkips) {
  Selector selector;
  selector.mark(1, 4);
  EXPECT_EQ(selector.choose(), 4);
  EXPECT_FALSE(selector.is_marked(1));
  EXPECT_TRUE(selector.is_marked(2));
  EXPECT_TRUE(selector.is_marked(3));
}

// [A2.L23] The path just forgiven is skipped all the same, and used when its turn comes again.
TEST(PathSelector, ChoosePath_ForgivenPathIsUsedNextTimeRound) {
  Selector selector;
  selector.ack(kMarked, 1);
  EXPECT_EQ(selector.choose_many(8), (Paths{2, 3, 4, 5, 6, 7, 0, 1}));
}

// [A2.L16] [A2.L21] Each packet clears one mark: the second forgives again, but no more than one.
TEST(PathSelector, ChoosePath_EachPacketForgivesOne) {
  Selector selector;
  selector.mark(1, 4);
  selector.mark(5, 8);
  EXPECT_EQ(selector.choose(), 4);  // skips 1, 2, 3 and forgives 1
  EXPECT_EQ(selector.marked_paths(), 5U);
  EXPECT_EQ(selector.choose(), 0);  // skips 5, 6, 7 and forgives 5
  EXPECT_EQ(selector.marked_paths(), 4U);
  EXPECT_FALSE(selector.is_marked(5));
  EXPECT_TRUE(selector.is_marked(6));
}

// [A2.L21] A packet that skips nothing forgives nothing.
TEST(PathSelector, ChoosePath_WithoutASkipNothingIsForgiven) {
  Selector selector;
  selector.ack(kMarked, 5);
  selector.choose();
  EXPECT_EQ(selector.marked_paths(), 1U);
}

// [A2.L11] [A2.L23] [D4] With all paths marked the scan comes round to the one it has just
// forgiven.
TEST(PathSelector, ChoosePath_AllMarkedTakesTheOneItForgave) {
  Selector selector;
  selector.mark(0, 8);
  EXPECT_EQ(selector.choose(), 1);
  EXPECT_EQ(selector.marked_paths(), 7U);
  EXPECT_FALSE(selector.is_marked(1));
  ASSERT_EQ(selector.events().rare.size(), 1U);
  EXPECT_EQ(selector.events().rare.at(0), Rare::all_paths_marked);
}

// [A2.L11] [D4] The same with all 256, from either end of the circle.
TEST(PathSelector, ChoosePath_All256MarkedTakesTheOneItForgave) {
  Selector selector;
  selector.mark(0, 256);
  EXPECT_EQ(selector.choose(kAllPaths), 1);
  selector.ack(kClean, 254);
  selector.choose(kAllPaths);
  selector.mark(0, 256);
  EXPECT_EQ(selector.choose(kAllPaths), 255);
  EXPECT_EQ(selector.choose(kAllPaths), 255);  // 0 is forgiven, but 255 is the next clear one
  EXPECT_FALSE(selector.is_marked(0));
}

// [A2.L11] [D4] Only the paths in use count: all 8 of them are marked, the other 248 are not.
TEST(PathSelector, ChoosePath_AllInUseMarkedIsRareEvenIfOthersAreClear) {
  Selector selector;
  selector.mark(0, 8);
  selector.choose();
  EXPECT_EQ(selector.events().rare.size(), 1U);
}

// [A2.L11] [D4] With one other path clear the scan does not come round.
TEST(PathSelector, ChoosePath_OneClearPathIsFound) {
  Selector selector;
  selector.mark(0, 8);
  selector.ack(kClean, 0);
  selector.ack(kMarked, 1);  // forgets the invitation to path 0
  EXPECT_EQ(selector.choose(), 0);
  EXPECT_TRUE(selector.events().rare.empty());
}

// [A2.L11] [D4] [D24] A single path is its own circle.
TEST(PathSelector, ChoosePath_OnePathMarkedIsStillTheOnlyOne) {
  Selector selector;
  selector.params().max_paths = 1;
  selector.ack(kMarked, 0);
  EXPECT_EQ(selector.choose(), 0);
  EXPECT_EQ(selector.marked_paths(), 0U);
}

// [A2.L29] What is returned is where the next scan starts, after a skip too.
TEST(PathSelector, ChoosePath_ScanGoesOnFromThePathReturned) {
  Selector selector;
  selector.mark(1, 3);
  EXPECT_EQ(selector.choose_many(2), (Paths{3, 4}));
}

// [A2.L29] The event names the path returned.
TEST(PathSelector, ChoosePath_TellsWhatItChose) {
  Selector selector;
  selector.ack(kMarked, 1);
  selector.choose();
  selector.ack(kClean, 6);
  selector.choose();
  ASSERT_EQ(selector.events().chosen.size(), 2U);
  EXPECT_EQ(selector.events().chosen.at(0).path_id, 2);
  EXPECT_FALSE(selector.events().chosen.at(0).recycled);
  EXPECT_EQ(selector.events().chosen.at(1).path_id, 6);
  EXPECT_TRUE(selector.events().chosen.at(1).recycled);
}

// ---- reset_ecn_bitmap ----

// [D9] A reset forgets every mark.
TEST(PathSelector, ResetEcnBitmap_ForgetsEveryMark) {
  Selector selector;
  selector.mark(0, 256);
  selector.reset();
  EXPECT_EQ(selector.marked_paths(), 0U);
}

// [D9] The remembered path stays.
TEST(PathSelector, ResetEcnBitmap_KeepsTheRememberedPath) {
  Selector selector;
  selector.ack(kClean, 5);
  selector.reset();
  EXPECT_EQ(selector.choose(), 5);
}

// [D9] And so does the place in the rotation.
TEST(PathSelector, ResetEcnBitmap_KeepsThePlaceInTheRotation) {
  Selector selector;
  selector.choose_many(3);
  selector.reset();
  EXPECT_EQ(selector.choose(), 4);
}

// ---- The policies ----

// [P.oblivious] Neither marks nor clean ACKs change the rotation, over as many paths as ever.
TEST(PathSelector, Oblivious_IgnoresWhatAcksEcho) {
  Selector selector(PathPolicy::oblivious);
  selector.mark(0, 8);
  selector.ack(kClean, 5);
  EXPECT_EQ(selector.choose_many(9), (Paths{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(selector.marked_paths(), 0U);
  for (const PathChosen& chosen : selector.events().chosen) EXPECT_FALSE(chosen.recycled);
}

// [P.oblivious] [D60] It goes over all paths, however small the window; max_paths bounds it.
TEST(PathSelector, Oblivious_GoesOverAllPaths) {
  Selector selector(PathPolicy::oblivious);
  const Paths paths = selector.choose_many(257, 1);
  EXPECT_EQ(paths.at(9), 10);
  EXPECT_EQ(paths.at(254), 255);
  EXPECT_EQ(paths.at(255), 0);
  EXPECT_EQ(paths.at(256), 1);
  selector.params().max_paths = 4;
  EXPECT_EQ(selector.choose_many(4, 1), (Paths{2, 3, 0, 1}));
}

// [P.oblivious] bitmap_only: marks are skipped, clean ACKs clear them and invite nobody.
TEST(PathSelector, BitmapOnly_SkipsMarksButDoesNotRecycle) {
  Selector selector(PathPolicy::bitmap_only);
  selector.ack(kMarked, 1);
  selector.ack(kMarked, 3);
  selector.ack(kClean, 3);
  EXPECT_FALSE(selector.is_marked(3));
  EXPECT_EQ(selector.choose_many(2), (Paths{2, 3}));
}

// [P.oblivious] recycle_only: clean ACKs invite, marks are not kept.
TEST(PathSelector, RecycleOnly_RecyclesButDoesNotSkip) {
  Selector selector(PathPolicy::recycle_only);
  selector.mark(0, 8);
  EXPECT_EQ(selector.marked_paths(), 0U);
  EXPECT_EQ(selector.choose(), 1);
  selector.ack(kClean, 5);
  EXPECT_EQ(selector.choose_many(2), (Paths{5, 6}));
}

// [A2.L4] [D2] [P.oblivious] Even where marks are not kept, one takes an invitation back.
TEST(PathSelector, RecycleOnly_MarkForgetsTheRememberedPath) {
  Selector selector(PathPolicy::recycle_only);
  selector.ack(kClean, 5);
  selector.ack(kMarked, 3);
  EXPECT_EQ(selector.choose(), 1);
}

#if defined(STRACK_DCHECK_ENABLED) && STRACK_DCHECK_ENABLED
// [A2.L2] The sender has refused echoes of paths that do not exist before they get here.
TEST(PathSelectorDeathTest, UpdateEcnBitmap_PathMustExist) {
  Selector selector;
  selector.params().max_paths = 16;
  EXPECT_DEATH(selector.ack(kMarked, 16), "check failed: path_id < params.max_paths");
}
#endif

}  // namespace
}  // namespace strack::core
