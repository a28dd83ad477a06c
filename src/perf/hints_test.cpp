#include "perf/hints.h"

#include <gtest/gtest.h>

namespace strack::perf {
namespace {

SystemLimits roomy() {
  SystemLimits system;
  system.receive_buffer = system.send_buffer = std::uint64_t{64} << 20;
  system.descriptors = 1024;
  return system;
}

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
  EXPECT_TRUE(hints(udp::EndpointOptions{}, roomy()).empty());
  EXPECT_TRUE(hints({}, plan(), {}, {}, {}).empty()) << "nothing was sent";
}

TEST(PerfHints, SmallBuffersNameTheirSetting) {
  SystemLimits system = roomy();
  system.receive_buffer = 212'992;
  system.send_buffer = 100'000;
  const auto found = hints(udp::EndpointOptions{}, system);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0],
            "receive buffers are smaller than asked for: sysctl -w net.core.rmem_max=4194304 "
            "allows them (212992 now)");
  EXPECT_EQ(found[1],
            "send buffers are smaller than asked for: sysctl -w net.core.wmem_max=2097152 allows "
            "them (100000 now)");
  system.may_exceed = true;
  EXPECT_EQ(hints(udp::EndpointOptions{}, system).size(), 1u) << "that of receiving is overruled";
}

TEST(PerfHints, FewDescriptorsSharePorts) {
  SystemLimits system = roomy();
  system.descriptors = 100;
  ASSERT_EQ(hints(udp::EndpointOptions{}, system).size(), 1u);
  EXPECT_EQ(hints(udp::EndpointOptions{}, system)[0],
            "100 files may be open, which are too few for 256 paths: some share a port. ulimit -n "
            "264 gives each its own");
  udp::EndpointOptions few;
  few.paths = 64;
  EXPECT_TRUE(hints(few, system).empty());
  few.threads = 2;
  EXPECT_EQ(
      hints(few, system)[0],
      "100 files may be open, which are too few for 64 paths of 2 threads: some share a port. "
      "ulimit -n 144 gives each its own");
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

TEST(PerfHints, TheSystemIsLookedAt) {
  const SystemLimits system = look_at_system();
  EXPECT_GT(system.descriptors, 0u);
}

}  // namespace
}  // namespace strack::perf
