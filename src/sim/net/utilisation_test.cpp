#include "sim/net/utilisation.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "sim/net/port.h"
#include "sim/net/port_testing.h"

namespace strack::sim {
namespace {

using namespace testing;

constexpr std::int64_t kPeriod = 10 * kS;

/// The link's utilisation after so many packets, one each `gap`, with a queue of that many behind.
std::uint32_t after(std::uint32_t packets, std::int64_t gap, std::int64_t queue) {
  UtilisationMeter meter;
  std::uint32_t value = 0;
  for (std::uint32_t i = 1; i <= packets; ++i)
    value = meter.on_departure(t(i * gap), ps(kS), ps(queue * kS), ps(kPeriod));
  return value;
}

// [D51] One packet in ten packet times; two; a link that is always busy comes to 1, half the time to
// a half.
TEST(UtilisationMeter, Load) {
  EXPECT_EQ(after(1, kS, 0), 102u);
  EXPECT_EQ(after(2, kS, 0), 194u);
  EXPECT_EQ(after(400, kS, 0), 1'023u);
  EXPECT_EQ(after(400, 2 * kS, 0), 511u);
}

// [D51] A queue worth half a period adds a half; four full links is the most that is told.
TEST(UtilisationMeter, Queue) {
  EXPECT_EQ(after(400, kS, 5), 1'535u);
  EXPECT_EQ(after(400, kS, 100), SimPacket::kMaxUtilisation);
}

// [D51] After a period without packets nothing is left of what was.
TEST(UtilisationMeter, Idle) {
  UtilisationMeter meter;
  for (std::int64_t i = 1; i <= 400; ++i)
    (void)meter.on_departure(t(i * kS), ps(kS), ps(0), ps(kPeriod));
  EXPECT_EQ(meter.on_departure(t(1'000 * kS), ps(kS), ps(0), ps(kPeriod)), 102u);
}

// [D51] A port that measures notes it on data as it leaves, and never on control.
TEST(UtilisationMeter, NotedOnData) {
  PortBench<BasicPort<TailDrop, UtilisationMeter>> bench;
  bench.rules.measured_over = ps(kPeriod);
  for (std::uint32_t i = 0; i < 3; ++i) bench.data(0, i);
  bench.sack(3 * kS, 3);
  bench.run();
  ASSERT_EQ(bench.out.size(), 4u);
  EXPECT_EQ(bench.out[0].packet.utilisation(), 122u);
  EXPECT_EQ(bench.out[1].packet.utilisation(), 223u);
  EXPECT_EQ(bench.out[2].packet.utilisation(), 303u);
  EXPECT_EQ(bench.out[3].packet.utilisation(), 0u);
}

// And one that does not leaves the bits to the transport.
TEST(UtilisationMeter, NotNotedWhereNotAskedFor) {
  PortBench<Port> bench;
  for (std::uint32_t i = 0; i < 3; ++i) bench.data(0, i);
  bench.run();
  for (const Transit& transit : bench.out) EXPECT_EQ(transit.packet.utilisation(), 0u);
  EXPECT_EQ(sizeof(BasicPort<TailDrop, NoMeter>), sizeof(Port));
  EXPECT_EQ(sizeof(Port), sizeof(PortBase));
}

}  // namespace
}  // namespace strack::sim
