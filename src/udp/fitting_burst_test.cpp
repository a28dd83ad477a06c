#include "udp/fitting_burst.h"

#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

Measured over(BitsPerSecond rate, Picoseconds longer = us(5)) {
  return {.rate = rate,
          .rtt = us(20),
          .full_rtt = us(20) + longer,
          .payload = 8'192,
          .paths = 256,
          .window = 1'024};
}

// [D114] As many as take 50 us on the link, and no more than one call to the kernel takes.
TEST(FittingBurst, FollowsTheLinksRate) {
  EXPECT_EQ(fitting_burst(over(gbps(10)), 8'228), 7u) << "46 us";
  EXPECT_EQ(fitting_burst(over(gbps(100)), 8'228), 7u) << "64 KiB";
  EXPECT_EQ(fitting_burst(over(gbps(10)), 16'436), 3u);
  EXPECT_EQ(fitting_burst(over(gbps(10)), 1'472), 42u);
  EXPECT_EQ(fitting_burst(over(gbps(400)), 548), 64u);
  EXPECT_EQ(fitting_burst(over(gbps(2)), 8'228), 1u) << "two would take 66 us";
  EXPECT_EQ(fitting_burst(over(mbps(200)), 1'472), 1u);
}

// [D114] [D143] Where full packets are found to take longer than noise does, whatever rate was told.
TEST(FittingBurst, IsOneWhereASlowerLinkIsFound) {
  EXPECT_EQ(fitting_burst(over(gbps(10), us(100)), 8'228), 7u);
  EXPECT_EQ(fitting_burst(over(gbps(10), us(101)), 8'228), 1u);
  Measured unknown = over(gbps(10));
  unknown.full_rtt = ps(0);  // full ones have not come through
  EXPECT_EQ(fitting_burst(unknown, 8'228), 1u) << "it may be anything";
}

/// Calls to the network for a message of ten packets.
std::size_t calls_for_ten(std::uint32_t burst) {
  EndpointOptions o = options();
  o.burst = burst;
  Duo duo(o);
  duo.connect();
  std::vector<std::byte> buffer(10'240);
  EXPECT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  duo.run(ms(5));
  const std::uint64_t before = duo.client().statistics().send_calls;
  EXPECT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(10'240)), 1), Status::ok);
  duo.client().flush();
  const std::uint64_t calls = duo.client().statistics().send_calls - before;
  duo.run(ms(5));
  EXPECT_EQ(buffer, pattern(10'240));
  return calls;
}

// [D114]
TEST(FittingBurst, HoldsForAConnectionThatLeavesItToThePath) {
  EXPECT_EQ(calls_for_ten(1), 10u);
  EXPECT_EQ(calls_for_ten(4), 3u);
  EXPECT_EQ(calls_for_ten(0), 1u);
}

}  // namespace
}  // namespace strack::udp
