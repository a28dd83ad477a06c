// STrack+'s choice of entropies, packet by packet.
#include "transports/strack_plus/paths.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"

namespace strack::core {
namespace {

PlusParams params() { return PlusParams::for_link(gbps(400), us(8), bytes(4'096)).value(); }

std::vector<int> take(PlusPaths& paths, const PlusParams& p, int count, Instant now = at(us(1))) {
  std::vector<int> taken;
  for (int i = 0; i < count; ++i) taken.push_back(paths.next(p, 132, now));
  return taken;
}
using Ids = std::vector<int>;

// [PLUS.ring] Clean entropies are used once each, the oldest first; then the rotation goes on where it was.
TEST(PlusPaths, RingThenRotation) {
  const PlusParams p = params();
  PlusPaths paths;
  EXPECT_EQ(take(paths, p, 3), (Ids{1, 2, 3}));
  for (const PathId clean : std::vector<PathId>{2, 1, 3}) paths.feedback(p, clean, false);
  EXPECT_EQ(paths.waiting(), 3u);
  EXPECT_EQ(take(paths, p, 5), (Ids{2, 1, 3, 4, 5}));
}

// [PLUS.ring] It has eight places, and the newest keep theirs.
TEST(PlusPaths, RingKeepsTheNewest) {
  const PlusParams p = params();
  PlusPaths paths;
  for (PathId clean = 100; clean < 110; ++clean) paths.feedback(p, clean, false);
  EXPECT_EQ(paths.waiting(), 8u);
  EXPECT_EQ(take(paths, p, 9), (Ids{102, 103, 104, 105, 106, 107, 108, 109, 1}));
}

// [PLUS.ring] Without places it is the paper's: the last clean one, until a mark comes.
TEST(PlusPaths, NoRingIsAlgorithm2) {
  PlusParams p = params();
  p.ring = 0;
  PlusPaths paths;
  paths.feedback(p, 7, false);
  paths.feedback(p, 9, false);
  EXPECT_EQ(take(paths, p, 2), (Ids{9, 1}));
  paths.feedback(p, 9, false);
  paths.feedback(p, 20, true);
  EXPECT_EQ(take(paths, p, 1), (Ids{2}));
}

// [PLUS.rotation] It passes over marked ones; a packet forgives the one that would have been its.
TEST(PlusPaths, RotationPassesMarked) {
  PlusParams p = params();
  p.avoid = false;
  PlusPaths paths;
  for (const PathId marked : std::vector<PathId>{1, 2, 3}) paths.feedback(p, marked, true);
  EXPECT_EQ(take(paths, p, 1), (Ids{4}));
  EXPECT_FALSE(paths.is_marked(1));
  EXPECT_TRUE(paths.is_marked(2));
  EXPECT_EQ(take(paths, p, 253), [] {
    Ids rest;
    for (int i = 5; i < 256; ++i) rest.push_back(i);
    rest.push_back(0);
    rest.push_back(1);
    return rest;
  }());
  EXPECT_EQ(take(paths, p, 1), (Ids{4}));  // 2 and 3 still are; 2 is forgiven
  EXPECT_FALSE(paths.is_marked(2));
}

// [PLUS.rotation] All are used in turn, or as the paper has it, as many as two windows have packets.
TEST(PlusPaths, RotationGoesOverAll) {
  PlusParams p = params();
  p.avoid = false;
  PlusPaths all;
  EXPECT_EQ(take(all, p, 257)[255], 0);
  p.rotate_all = false;
  PlusPaths paper;
  Ids taken;
  for (int i = 0; i < 10; ++i) taken.push_back(paper.next(p, 5, at(us(1))));
  EXPECT_EQ(taken, (Ids{1, 2, 3, 4, 5, 6, 7, 8, 9, 0}));
  p.max_paths = 1;
  EXPECT_EQ(paper.next(p, 5, at(us(1))), 0);
}

// [PLUS.rotation] All of them, though the window is small; and a clean answer takes a mark away.
TEST(PlusPaths, RotationGoesOverAll_WithASmallWindow) {
  PlusParams p = params();
  p.avoid = false;
  PlusPaths paths;
  Ids taken;
  for (int i = 0; i < 20; ++i) taken.push_back(paths.next(p, 5, at(us(1))));
  EXPECT_EQ(taken.back(), 20);
  paths.feedback(p, 22, true);
  EXPECT_TRUE(paths.is_marked(22));
  paths.feedback(p, 22, false);
  EXPECT_FALSE(paths.is_marked(22));
}

// [PLUS.rotation] Where all are marked it takes the next, and forgives nothing.
TEST(PlusPaths, RotationWithAllMarked) {
  PlusParams p = params();
  p.avoid = false;
  p.max_paths = 2;
  PlusPaths paths;
  for (const PathId marked : std::vector<PathId>{0, 1}) paths.feedback(p, marked, true);
  EXPECT_EQ(take(paths, p, 3), (Ids{1, 0, 1}));
  EXPECT_EQ(paths.marked(), 2u);
}

// [PLUS.avoid] An entropy whose last packet has no answer is passed over; with nothing else left it is taken.
TEST(PlusPaths, UnansweredAreAvoided) {
  PlusParams p = params();
  p.max_paths = 4;
  PlusPaths paths;
  EXPECT_EQ(take(paths, p, 4), (Ids{1, 2, 3, 0}));
  EXPECT_EQ(take(paths, p, 2), (Ids{1, 2}));  // none is better than another
  paths.feedback(p, 0, true);                 // answered, though marked
  EXPECT_TRUE(paths.is_unanswered(3));
  EXPECT_FALSE(paths.is_unanswered(0));
  EXPECT_TRUE(paths.is_marked(0));
  paths.feedback(p, 3, false);
  EXPECT_EQ(take(paths, p, 1), (Ids{3}));  // from the ring
}

// [PLUS.avoid.last] Where each has something against it, what was answered is taken, though marked: a queue costs less than
// a packet. Where all are unanswered, or with the switch off, whichever is next.
TEST(PlusPaths, RatherMarkedThanUnanswered) {
  PlusParams p = params();
  p.max_paths = 4;
  PlusPaths paths;
  EXPECT_EQ(take(paths, p, 4), (Ids{1, 2, 3, 0}));
  paths.feedback(p, 3, true);
  paths.feedback(p, 0, true);
  EXPECT_EQ(take(paths, p, 1), (Ids{3}));  // past 1 and 2, which have no answer
  EXPECT_TRUE(paths.is_marked(3));         // nothing but an answer takes that back
  EXPECT_EQ(take(paths, p, 1), (Ids{0}));
  EXPECT_EQ(take(paths, p, 1), (Ids{1}));  // now none is better than another
  paths.feedback(p, 0, true);
  p.rather_marked = false;
  EXPECT_EQ(take(paths, p, 1), (Ids{2}));
}

// Packets of one burst share an entropy.
TEST(PlusPaths, Bursts) {
  PlusParams p = params();
  PlusPaths paths;
  EXPECT_EQ(paths.take(p, 77), 77);
  EXPECT_TRUE(paths.is_unanswered(77));
  EXPECT_EQ(paths.unanswered(), 1u);
  EXPECT_EQ(take(paths, p, 1), (Ids{1}));  // the rotation has not moved
  p.avoid = false;
  EXPECT_EQ(paths.take(p, 78), 78);
  EXPECT_FALSE(paths.is_unanswered(78));
  paths.feedback(p, 5, true);
  EXPECT_EQ(paths.marked(), 1u);
}

// [PLUS.avoid.forget] After 100 base RTTs, and [PLUS.timeout] after a timeout, all are as good as new.
TEST(PlusPaths, AvoidedAreForgotten) {
  const PlusParams p = params();
  PlusPaths paths;
  paths.next(p, 132, at(us(1)));
  EXPECT_TRUE(paths.is_unanswered(1));
  paths.next(p, 132, at(us(800)));
  EXPECT_TRUE(paths.is_unanswered(1));
  paths.next(p, 132, at(us(801)));
  EXPECT_FALSE(paths.is_unanswered(1));
  paths.feedback(p, 9, false);
  paths.feedback(p, 8, true);
  paths.fall_silent();
  EXPECT_FALSE(paths.is_marked(8));
  EXPECT_FALSE(paths.is_unanswered(3));
  EXPECT_EQ(paths.waiting(), 0u);
}

}  // namespace
}  // namespace strack::core
