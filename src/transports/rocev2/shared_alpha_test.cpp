// [D118] One alpha of all flows: what steps of many come to, and from when on they count.
#include "transports/rocev2/shared_alpha.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"
#include "transports/rocev2/params.h"

namespace strack::core {
namespace {

constexpr std::int64_t kOne = Dcqcn::kOne;
constexpr Ratio kG{1, 256};
constexpr std::int64_t kStep = kOne / 256;

RoceParams shared_params(DcqcnSet set, Picoseconds epoch = us(10)) {
  RoceParams p = RoceParams::for_link(gbps(40), us(8), bytes(4'096), set).value();
  p.dcqcn.shared_alpha = epoch;
  return p;
}

// ---- What steps come to ----

TEST(SharedAlpha, OneStepIsThatOfALimiterAlone) {
  EXPECT_EQ(SharedAlpha::after(kOne / 2, kG, {}), kOne / 2);
  EXPECT_EQ(SharedAlpha::after(0, kG, {1, 0}), kStep);
  EXPECT_EQ(SharedAlpha::after(kOne / 2, kG, {1, 0}), kOne / 2 + kStep / 2);
  EXPECT_EQ(SharedAlpha::after(kOne, kG, {0, 1}), kOne - kStep);
}

TEST(SharedAlpha, StepsOfOneKindAreStepsOneByOne) {
  // 255 * 255 / 256 / 256
  EXPECT_EQ(SharedAlpha::after(kOne, kG, {0, 2}), kOne / 65'536 * 65'025);
  EXPECT_EQ(SharedAlpha::after(0, kG, {2, 0}), kOne - kOne / 65'536 * 65'025);
}

// Of both kinds, it goes to where they hold each other: their share.
TEST(SharedAlpha, StepsOfBothKindsLeadToTheirShare) {
  EXPECT_EQ(SharedAlpha::after(kOne / 4, kG, {1, 3}), kOne / 4);
  EXPECT_EQ(SharedAlpha::after(kOne, kG, {1'000'000, 3'000'000}), kOne / 4);
  EXPECT_EQ(SharedAlpha::after(0, Ratio{1, 2}, {1, 1}), 3 * kOne / 8);  // half of 3/4
}

// ---- From when on they count ----

class Three {
 public:
  explicit Three(const RoceParams& params) : params_(params) {}
  void tell(Instant begin) {
    SharedAlpha::tell(params_.dcqcn, begin, [&](auto&& visit) {
      for (SharedAlpha& one : nics) {
        if (!visit(one)) return;
      }
    });
  }
  /// The same for all.
  std::int64_t alpha(Instant now) {
    for (const SharedAlpha& one : nics)
      EXPECT_EQ(one.at(params_.dcqcn, now), nics[0].at(params_.dcqcn, now));
    return nics[0].at(params_.dcqcn, now);
  }
  void count(std::size_t nic, AlphaNews news, Instant now) {
    nics[nic].count(params_.dcqcn, news, now);
  }

  std::array<SharedAlpha, 3> nics;

 private:
  RoceParams params_;
};

TEST(SharedAlpha, CountsFromTheEpochAfterTheNext) {
  Three all(shared_params(DcqcnSet::paper2015));
  EXPECT_EQ(all.alpha(at(us(0))), kOne);
  all.count(0, {0, 1}, at(us(3)));
  all.count(2, {0, 1}, at(us(9)));
  all.tell(at(us(9)));  // the epoch is not over
  EXPECT_EQ(all.alpha(at(us(12))), kOne);
  all.tell(at(us(10)));
  EXPECT_EQ(all.alpha(at(us(19))), kOne);
  EXPECT_EQ(all.alpha(at(us(20))), kOne / 65'536 * 65'025);
  all.tell(at(us(19)));  // once
  EXPECT_EQ(all.alpha(at(us(20))), kOne / 65'536 * 65'025);
}

// A window may hold the end of one epoch and the beginning of the next, and time may leap.
TEST(SharedAlpha, TwoEpochsAtOnceAndALeap) {
  for (const Picoseconds leap : {us(20), us(29), us(40), us(1'000)}) {
    Three all(shared_params(DcqcnSet::paper2015));
    all.count(0, {0, 1}, at(us(8)));
    all.count(1, {1, 0}, at(us(12)));
    all.tell(at(leap));
    const std::int64_t once = kOne - kStep;
    const std::int64_t twice = SharedAlpha::after(once, kG, {1, 0});
    EXPECT_EQ(all.alpha(at(leap)), leap < us(30) ? once : twice) << leap.value;
    EXPECT_EQ(all.alpha(at(leap + us(10))), twice) << leap.value;
    // Nothing is told twice.
    all.tell(at(leap + us(10)));
    all.tell(at(leap + us(20)));
    EXPECT_EQ(all.alpha(at(leap + us(30))), twice) << leap.value;
  }
}

TEST(SharedAlpha, BeginsWithTheInitialAlpha) {
  RoceParams params = shared_params(DcqcnSet::paper2015);
  params.dcqcn.initial_alpha = {1, 2};
  Three all(params);
  EXPECT_EQ(all.alpha(at(us(0))), kOne / 2);
  all.tell(at(us(500)));
  EXPECT_EQ(all.alpha(at(us(500))), kOne / 2);
}

TEST(SharedAlpha, NothingIsToldWhereEachHasItsOwn) {
  Three all(shared_params(DcqcnSet::paper2015, ps(0)));
  all.tell(at(us(500)));  // does not divide by it
}

// ---- A limiter with it ----

TEST(AlphaLease, ACutIsByTheAlphaOfAllAndACnpIsNewsForAll) {
  const RoceParams params = shared_params(DcqcnSet::paper2015);
  Three all(params);
  for (int i = 0; i < 64; ++i) all.count(1, {0, 1'000'000}, at(us(1)));  // alpha falls to 0
  all.tell(at(us(10)));
  Dcqcn limiter(params.line_rate);
  {
    const AlphaLease lease(limiter, &all.nics[0], params, at(us(20)));
    limiter.on_cnp(params, at(us(20)));
  }
  EXPECT_EQ(limiter.rate(params, at(us(20))), params.line_rate);
  all.tell(at(us(30)));
  EXPECT_EQ(all.alpha(at(us(40))), kStep);
}

// Its timer's periods fall on all, whether CNPs come or not: 55 us each.
TEST(AlphaLease, PeriodsWithoutACnpAreNewsForAll) {
  const RoceParams params = shared_params(DcqcnSet::paper2015);
  Three all(params);
  Dcqcn limiter(params.line_rate);
  const auto ready = [&](Instant now) {
    const AlphaLease lease(limiter, &all.nics[0], params, now);
    (void)limiter.ready(params, now);
  };
  ready(at(us(3)));  // not before the first CNP
  {
    const AlphaLease lease(limiter, &all.nics[0], params, at(us(5)));
    limiter.on_cnp(params, at(us(5)));
  }
  EXPECT_EQ(limiter.rate(params, at(us(5))), gbps(20));  // the first alpha is 1
  ready(at(us(59)));
  all.tell(at(us(80)));
  EXPECT_EQ(all.alpha(at(us(90))), kOne);  // 1 and a step towards 1
  all.tell(at(us(110)));
  ready(at(us(5 + 110)));
  all.tell(at(us(120)));
  EXPECT_EQ(all.alpha(at(us(130))), kOne / 65'536 * 65'025);
}

// The NICs' rules: a period with a CNP is one step up, however many came.
TEST(AlphaLease, NicsStepOncePerPeriod) {
  const RoceParams params = shared_params(DcqcnSet::nic_default, us(8));
  Dcqcn limiter(params.line_rate);
  limiter.adopt(kOne);
  for (const Picoseconds time : {ns(16'000), ns(16'200), ns(16'400)}) {
    limiter.on_cnp(params, at(time));
  }
  (void)limiter.ready(params, at(ns(18'500)));  // two periods, one of them with CNPs
  const AlphaNews news = limiter.take_news();
  EXPECT_EQ(news.rises, 1);
  EXPECT_EQ(news.falls, 1);
  EXPECT_EQ(limiter.alpha(), kOne);  // not by itself
}

}  // namespace
}  // namespace strack::core
