// [D154] One-sided atomics between endpoints. What each operation does to values of each type is tested by the provider's
// atomics_test.cpp, which has all types.
#include "udp/atomics.h"

#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;

using Values = std::array<std::uint64_t, 3>;

template <class T, std::size_t n>
std::span<std::byte> bytes(std::array<T, n>& values) {
  return std::as_writable_bytes(std::span(values));
}

/// Whether there is a key.
class RemoteAtomics : public ::testing::TestWithParam<bool> {
 protected:
  RemoteAtomics() : duo(options(GetParam())) { duo.connect(); }
  RegionKey expose(std::span<std::byte> memory, Access access = Access::both) {
    auto made = duo.server().register_region(memory, duo.id[0], access);
    EXPECT_TRUE(made);
    return made.value();
  }
  Status ask(RegionKey region, std::uint64_t offset, AtomicOp op, std::span<std::byte> before,
             std::span<const std::byte> operands, std::span<const std::byte> compared = {},
             ValueType type = ValueType::uint64) {
    return duo.client().atomic(duo.id[1], region, offset, op, type, before, operands, compared, 7);
  }
  /// The only thing that the client is told.
  Completion told() {
    duo.run(ms(5));
    EXPECT_EQ(duo.seen[1].size(), 1u);
    const Completion done = duo.seen[1].empty() ? Completion{} : duo.seen[1][0];
    duo.seen[1].clear();
    return done;
  }
  Duo duo;
};

// [D154] Values change where they are; what was there comes back; the peer's program is told nothing.
TEST_P(RemoteAtomics, ChangeWhatIsThere) {
  Values memory{1, 20, 300};
  const RegionKey region = expose(bytes(memory));
  std::array<std::uint64_t, 2> before{};
  std::array<std::uint64_t, 2> operands{5, 7};
  ASSERT_EQ(ask(region, 8, AtomicOp::sum, bytes(before), bytes(operands)), Status::ok);
  operands = {};  // they were copied
  const Completion done = told();
  EXPECT_EQ(done.kind, Kind::atomic);
  EXPECT_EQ(done.status, Status::ok);
  EXPECT_EQ(done.cookie, 7u);
  EXPECT_EQ(done.length, 16u);
  EXPECT_EQ(memory, (Values{1, 25, 307}));
  EXPECT_EQ(before, (std::array<std::uint64_t, 2>{20, 300}));

  operands = {100, 200};
  std::array<std::uint64_t, 2> compared{25, 0};
  ASSERT_EQ(
      ask(region, 8, AtomicOp::swap_if_equal, bytes(before), bytes(operands), bytes(compared)),
      Status::ok);
  EXPECT_EQ(told().status, Status::ok);
  EXPECT_EQ(memory, (Values{1, 100, 307})) << "307 is not 0";
  EXPECT_EQ(before, (std::array<std::uint64_t, 2>{25, 307}));

  Values all{};
  ASSERT_EQ(ask(region, 0, AtomicOp::read, bytes(all), {}), Status::ok);
  EXPECT_EQ(told().status, Status::ok);
  EXPECT_EQ(all, memory);
  EXPECT_TRUE(duo.seen[0].empty());
}

// At an odd address, as many as there may be, of the smallest type.
TEST_P(RemoteAtomics, AsManyAsThereMayBe) {
  std::vector<std::byte> memory(kMostAtomicBytes + 2, std::byte{1});
  const RegionKey region = expose(memory);
  std::array<std::uint8_t, kMostAtomicBytes> operands{};
  operands.fill(2);
  std::array<std::uint8_t, kMostAtomicBytes> before{};
  ASSERT_EQ(ask(region, 1, AtomicOp::swap_masked, bytes(before), bytes(operands), bytes(operands),
                ValueType::uint8),
            Status::ok);
  EXPECT_EQ(told().status, Status::ok);
  EXPECT_EQ(memory.front(), std::byte{1});
  EXPECT_EQ(memory.back(), std::byte{1});
  for (std::size_t i = 1; i <= kMostAtomicBytes; ++i) EXPECT_EQ(memory[i], std::byte{3}) << i;
  EXPECT_EQ(before.back(), 1);
}

// [D154] Each once, in the order of asking, whatever is lost and overtaken on the way, and behind the writes before it.
TEST_P(RemoteAtomics, AreDoneOnceAndInTheirOrder) {
  SimulatedFaults faults;
  faults.loss = Ratio{1, 10};
  faults.jitter = us(30);
  Duo lossy(options(GetParam()), faults);
  const auto made = lossy.client().connect(lossy.hosts[0]->address(), 5);
  ASSERT_TRUE(made);
  lossy.id[1] = made.value();
  for (int i = 0; i < 400 && lossy.of(1, Kind::connected).empty(); ++i) lossy.run(ms(20));
  lossy.seen[1].clear();
  Values memory{};
  const auto region = lossy.server().register_region(bytes(memory), kAnyConnection, Access::both);
  std::array<std::uint64_t, 1> start{1'000};
  ASSERT_EQ(lossy.client().write(lossy.id[1], region.value(), 8, bytes(start), 1), Status::ok);
  constexpr std::size_t kTimes = 300;
  std::array<std::array<std::uint64_t, 1>, kTimes> before{};
  const std::array<std::uint64_t, 1> one{1};
  std::size_t asked = 0;
  for (int i = 0; i < 20'000 && lossy.of(1, Kind::atomic).size() < kTimes; ++i) {
    while (asked < kTimes &&
           lossy.client().atomic(lossy.id[1], region.value(), 8, AtomicOp::sum, ValueType::uint64,
                                 bytes(before[asked]), std::as_bytes(std::span(one)), {},
                                 asked) == Status::ok)
      ++asked;
    lossy.run(us(200));
  }
  ASSERT_EQ(lossy.of(1, Kind::atomic).size(), kTimes);
  for (const Completion& done : lossy.of(1, Kind::atomic)) EXPECT_EQ(done.status, Status::ok);
  for (std::size_t i = 0; i < kTimes; ++i) EXPECT_EQ(before[i][0], 1'000 + i);
  EXPECT_EQ(memory, (Values{0, 1'000 + kTimes, 0}));
}

// [D154] Whoever may only read may look, and whoever may only write may not even change; it ends the connection, as with writes.
TEST_P(RemoteAtomics, NeedTheirRights) {
  struct Case {
    Access access;
    AtomicOp op;
    std::uint64_t offset;
    bool allowed;
  };
  for (const Case& one :
       {Case{Access::read, AtomicOp::read, 16, true}, Case{Access::read, AtomicOp::sum, 16, false},
        Case{Access::write, AtomicOp::write, 16, false},
        Case{Access::write, AtomicOp::read, 16, false},
        Case{Access::both, AtomicOp::sum, 17, false}}) {
    Duo fresh(options(GetParam()));
    fresh.connect();
    Values memory{1, 2, 3};
    const auto region = fresh.server().register_region(bytes(memory), fresh.id[0], one.access);
    std::array<std::uint64_t, 1> before{99};
    const std::array<std::uint64_t, 1> operand{50};
    const auto operands =
        one.op == AtomicOp::read ? std::span<const std::byte>() : std::as_bytes(std::span(operand));
    ASSERT_EQ(fresh.client().atomic(fresh.id[1], region.value(), one.offset, one.op,
                                    ValueType::uint64, bytes(before), operands, {}, 7),
              Status::ok);
    fresh.run(ms(5));
    const auto done = fresh.of(1, Kind::atomic);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].status, one.allowed ? Status::ok : Status::protocol_error);
    EXPECT_EQ(memory, (Values{1, 2, 3}));
    EXPECT_EQ(before[0], one.allowed ? 3u : 99u);
    EXPECT_EQ(fresh.of(0, Kind::failed).size(), one.allowed ? 0u : 1u);
  }
}

// What makes no sense is said at once, and nothing is sent.
TEST_P(RemoteAtomics, SayWhatCannotBe) {
  const RegionKey region{1};
  std::array<std::byte, kMostAtomicBytes + 8> many{};
  const auto first = [&](std::size_t n) { return std::span(many).first(n); };
  using Op = AtomicOp;
  EXPECT_EQ(ask(region, 0, Op::sum, {}, {}), Status::invalid) << "of nothing";
  EXPECT_EQ(ask(region, 0, Op::sum, first(12), first(12)), Status::invalid) << "half a value";
  EXPECT_EQ(ask(region, 0, Op::sum, first(8), {}), Status::invalid) << "no operand";
  EXPECT_EQ(ask(region, 0, Op::sum, first(8), first(8), first(8)), Status::invalid);
  EXPECT_EQ(ask(region, 0, Op::swap_if_less, first(8), first(8)), Status::invalid);
  EXPECT_EQ(ask(region, 0, Op::read, first(8), first(8)), Status::invalid);
  EXPECT_EQ(ask(region, 0, Op::sum, many, many), Status::too_long);
  EXPECT_EQ(ask(region, 0, AtomicOp{0}, first(8), first(8)), Status::invalid);
  EXPECT_EQ(ask(region, 0, AtomicOp{20}, first(8), first(8)), Status::invalid);
  EXPECT_EQ(ask(region, 0, Op::bitwise_or, first(8), first(8), {}, ValueType::double_float),
            Status::invalid);
  EXPECT_EQ(ask(region, 0, Op::sum, first(8), first(8), {}, ValueType::single_complex),
            Status::invalid)
      << "it does not travel";
  EXPECT_EQ(ask(region, ~std::uint64_t{0} - 7, Op::sum, first(8), first(8)), Status::too_long);
  EXPECT_EQ(ask(RegionKey{0}, 0, Op::sum, first(8), first(8)), Status::unknown_region);
  EXPECT_EQ(duo.client().atomic(ConnectionId{999}, region, 0, Op::sum, ValueType::int64, first(8),
                                first(8), {}, 1),
            Status::unknown_connection);
  duo.run(ms(2));
  EXPECT_TRUE(duo.seen[1].empty());
}

// A region whose length would lead beyond all memory is none.
TEST(Regions, HaveAnEnd) {
  Duo duo(options(false));
  std::byte one{};
  const auto reg = [&](std::size_t size) {
    return bool(duo.server().register_region({&one, size}, kAnyConnection, Access::both));
  };
  EXPECT_FALSE(reg(~std::size_t{0}));
  EXPECT_FALSE(reg(~std::size_t{0} - reinterpret_cast<std::uintptr_t>(&one) + 1));
  EXPECT_TRUE(reg(1));
}

// [D154] The least and the greatest: a NaN on either side, and zeros of both signs, leave what is there.
TEST(AtomicValues, NotANumberLeavesWhatIsThere) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::array<std::array<double, 2>, 4> pairs{
      {{nan, 1.0}, {1.0, nan}, {0.0, -0.0}, {-0.0, 0.0}}};
  for (const auto& [there, operand] : pairs) {
    for (const AtomicOp op : {AtomicOp::min, AtomicOp::max}) {
      double value = there;
      apply_atomic(ValueType::double_float, op, 1,
                   std::as_writable_bytes(std::span(&value, 1)).data(),
                   std::as_bytes(std::span(&operand, 1)).data(), nullptr, nullptr);
      EXPECT_EQ(std::memcmp(&value, &there, sizeof value), 0) << there << " " << operand;
    }
  }
  double value = 1;
  const double greater = 2;
  apply_atomic(ValueType::double_float, AtomicOp::max, 1,
               std::as_writable_bytes(std::span(&value, 1)).data(),
               std::as_bytes(std::span(&greater, 1)).data(), nullptr, nullptr);
  EXPECT_EQ(value, 2);
}

INSTANTIATE_TEST_SUITE_P(Engines, RemoteAtomics, ::testing::Bool(), [](const auto& tested) {
  return std::string(tested.param ? "Keyed" : "Plain");
});

}  // namespace
}  // namespace strack::udp
