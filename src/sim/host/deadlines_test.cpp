#include "sim/host/deadlines.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/units.h"

namespace strack::sim {
namespace {

constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

/// Connections, each of which is told its place; and a plain list of them, in the order in which they started.
class Running {
  /// Where connections are told their places.
  [[nodiscard]] auto told() {
    return [this](std::uint32_t slot, std::uint32_t place) { places_[slot] = place; };
  }

 public:
  explicit Running(std::uint32_t slots) : places_(slots, kNowhere) {}

  void start(std::uint32_t slot, Instant time) {
    heap_.add(time, slot, told());
    list_.push_back({time, slot});
  }
  void stop(std::uint32_t slot) {
    heap_.remove(places_[slot], told());
    places_[slot] = kNowhere;
    list_.erase(find(slot));
  }
  void change(std::uint32_t slot, Instant time) {
    heap_.change(places_[slot], time, told());
    find(slot)->time = time;
  }
  [[nodiscard]] bool runs(std::uint32_t slot) const { return places_[slot] != kNowhere; }

  /// All that are due, each put off by so much, and whom the list says.
  void expect_due(Instant now, Picoseconds later) {
    std::vector<std::uint32_t> expected;
    for (const Deadline& d : list_) {
      if (d.time <= now) expected.push_back(d.slot);
    }
    std::vector<std::uint32_t> found;
    heap_.for_each_due(now, [&](std::uint32_t slot) {
      found.push_back(slot);
      change(slot, now + later);
    });
    ASSERT_EQ(found, expected);
  }
  void expect_same() const {
    Instant earliest = Instant::never();
    for (const Deadline& d : list_) {
      earliest = std::min(earliest, d.time);
      ASSERT_EQ(heap_.time(places_[d.slot]), d.time);
    }
    ASSERT_EQ(heap_.earliest(), earliest);
  }

 private:
  [[nodiscard]] std::vector<Deadline>::iterator find(std::uint32_t slot) {
    return std::find_if(list_.begin(), list_.end(),
                        [&](const Deadline& d) { return d.slot == slot; });
  }

  RunningHeap heap_;
  std::vector<std::uint32_t> places_;
  std::vector<Deadline> list_;
};

// None: nothing is due, ever.
TEST(RunningHeap, Empty) {
  RunningHeap heap;
  EXPECT_EQ(heap.earliest(), Instant::never());
  heap.for_each_due(Instant{} + us(1), [](std::uint32_t) { FAIL(); });
}

// Those due at one time take turns as they started, not by their deadlines or slots; one that stopped and started
// again is behind the others.
TEST(RunningHeap, TurnsAreInTheOrderOfStarts) {
  Running running(4);
  running.start(2, Instant{} + us(3));
  running.start(0, Instant{} + us(1));
  running.start(3, Instant{} + us(9));
  running.start(1, Instant{} + us(2));
  running.stop(2);
  running.start(2, Instant{} + us(1));
  running.expect_due(Instant{} + us(5), us(7));  // 0, 1, 2
  running.expect_due(Instant{} + us(5), us(7));  // nobody any more
  running.expect_due(Instant{} + us(12), us(1));
  running.expect_same();
}

// Whatever is done, places and times are those of a plain list.
TEST(RunningHeap, AsAList) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    constexpr std::uint32_t kSlots = 40;
    Running running(kSlots);
    for (int step = 0; step < 400; ++step) {
      const auto slot = static_cast<std::uint32_t>(rng.below(kSlots));
      const Instant time = Instant{} + ps(static_cast<std::int64_t>(rng.below(50)));
      if (!running.runs(slot)) {
        running.start(slot, time);
      } else if (rng.below(3) == 0) {
        running.stop(slot);
      } else {
        running.change(slot, time);
      }
      if (step % 7 == 0) running.expect_due(time, ps(20));
      running.expect_same();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace strack::sim
