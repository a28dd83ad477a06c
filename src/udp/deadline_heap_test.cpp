#include "udp/deadline_heap.h"

#include <algorithm>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace strack::udp {
namespace {

struct Owner {
  HeapEntry deadline;
};

// Against a plain search, through a thousand random additions, moves and removals.
TEST(DeadlineHeap, AgreesWithASearch) {
  Rng rng(7);
  DeadlineHeap<Owner> heap;
  std::deque<Owner> owners(50);
  std::vector<Owner*> in;
  for (int step = 0; step < 5'000; ++step) {
    Owner& owner = owners[rng.below(owners.size())];
    const Instant when = at(us(rng.between(0, 100)));
    const bool present = owner.deadline.place != HeapEntry::kAbsent;
    if (!present) {
      heap.add(owner, when);
      in.push_back(&owner);
    } else if (rng.below(3) == 0) {
      heap.remove(owner);
      std::erase(in, &owner);
    } else {
      heap.move(owner, when);
    }
    Instant lowest = Instant::never();
    for (const Owner* o : in) lowest = std::min(lowest, o->deadline.when);
    ASSERT_EQ(heap.next().ps, lowest.ps);
    ASSERT_EQ(heap.size(), in.size());
    if (!heap.empty()) {
      ASSERT_EQ(heap.top().deadline.when.ps, lowest.ps);
    }
  }
}

}  // namespace
}  // namespace strack::udp
