#include "perf/hints.h"

#include <gtest/gtest.h>

namespace strack::perf {
namespace {

SystemLimits roomy() { return {}; }

ClientResult result() {
  ClientResult out;
  out.messages = 10;
  out.total_seconds = 2;
  out.cpu_seconds = 1;
  out.server_cpu_seconds = 1;
  out.figures.payload = 8192;
  return out;
}

Plan plan() {
  Plan out;
  out.size = 1'000'000;
  return out;
}

TEST(PerfHints, NothingWhereNothingIsInTheWay) {
  EXPECT_TRUE(hints(result(), plan(), {}, roomy(), roomy()).empty());
  EXPECT_TRUE(hints(udp::SocketLimits{}, 256).empty());
  EXPECT_TRUE(hints({}, plan(), {}, {}, {}).empty()) << "nothing was sent";
}

// [D144] What the sockets got counts, and not what the system is said to allow.
TEST(PerfHints, SmallBuffersNameTheirSetting) {
  udp::SocketLimits limits;
  limits.receive_buffer_asked = std::uint64_t{8} << 20;
  limits.send_buffer_asked = std::uint64_t{4} << 20;
  EXPECT_TRUE(hints(limits, 256).empty()) << "no socket yet";
  limits.receive_buffer = limits.receive_buffer_asked;
  limits.send_buffer = limits.send_buffer_asked;
  EXPECT_TRUE(hints(limits, 256).empty());
  limits.receive_buffer = 425'984;
  limits.send_buffer = 200'000;
  ClientResult small = result();
  small.sockets = limits;
  for (const auto& found : {hints(limits, 256), hints(small, plan(), {}, roomy(), roomy())}) {
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0],
              "receive buffers have 425984 bytes, of 8388608 that were asked for: sysctl -w "
              "net.core.rmem_max=4194304 allows them");
    EXPECT_EQ(found[1],
              "send buffers have 200000 bytes, of 4194304 that were asked for: sysctl -w "
              "net.core.wmem_max=2097152 allows them");
  }
}

TEST(PerfHints, SharedPortsAreTold) {
  udp::SocketLimits limits;
  limits.paths_sharing = 200;
  ASSERT_EQ(hints(limits, 256).size(), 1u);
  EXPECT_EQ(hints(limits, 256)[0],
            "200 of 256 paths got no port of their own and share one: a higher limit of open files "
            "(ulimit -n) gives each its own, or --paths 56 asks for no more than there are");
}

// Of several threads one core's time is not all there is.
TEST(PerfHints, ThreadsHaveMoreThanOneCpu) {
  ClientResult busy = result();
  busy.cpu_seconds = busy.server_cpu_seconds = 3;
  udp::EndpointOptions settings;
  settings.threads = 2;
  busy.server_threads = 2;
  EXPECT_TRUE(hints(busy, plan(), settings, roomy(), roomy()).empty());
  busy.server_cpu_seconds = 3.9;
  EXPECT_EQ(hints(busy, plan(), settings, roomy(), roomy())[0].substr(0, 16), "the server's CPU");
}

TEST(PerfHints, ABusyCpuIsTold) {
  ClientResult busy = result();
  busy.cpu_seconds = 1.95;
  EXPECT_EQ(hints(busy, plan(), {}, roomy(), roomy())[0].substr(0, 33),
            "this side's CPU has no time left:");
  busy.server_cpu_seconds = 2;
  EXPECT_EQ(hints(busy, plan(), {}, roomy(), roomy())[0].substr(0, 20), "either side's CPU ha");
  udp::EndpointOptions single;
  EXPECT_NE(hints(busy, plan(), single, roomy(), roomy())[0].find("--burst auto"),
            std::string::npos);
  single.burst = 0;
  EXPECT_EQ(hints(busy, plan(), single, roomy(), roomy())[0].find("--burst auto"),
            std::string::npos);
  busy.cpu_seconds = 0.5;
  EXPECT_EQ(hints(busy, plan(), {}, roomy(), roomy())[0].substr(0, 16), "the server's CPU");
  Plan paced = plan();
  paced.target_bps = 1;
  EXPECT_TRUE(hints(busy, paced, {}, roomy(), roomy()).empty()) << "it was not to be faster";
}

TEST(PerfHints, LostDatagramsAndASmallMtuAreTold) {
  ClientResult small = result();
  small.figures.payload = 1'408;
  SystemLimits after = roomy();
  after.receive_errors = 7;
  const auto found = hints(small, plan(), {}, roomy(), after);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0],
            "this system has lost 7 datagrams for full receive buffers meanwhile, of all programs");
  EXPECT_EQ(found[1],
            "packets carry 1408 bytes, since the path's MTU allows no more: one of 9000 would need "
            "a fifth of the packets");
}

}  // namespace
}  // namespace strack::perf
