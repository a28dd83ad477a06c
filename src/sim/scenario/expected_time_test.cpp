// How long runs take, threads against a GPU: as measured on one H200 and 16 cores (docs/simulator.md, "On an H200").
#include "sim/scenario/expected_time.h"

#include <string>

#include <gtest/gtest.h>

namespace strack::sim {
namespace {

ExpectedTime time_of(int hosts, const std::string& size, const std::string& more = "") {
  const auto scenario =
      load_text("topology.hosts = " + std::to_string(hosts) +
                    "\ntopology.hosts_per_rack = 64\nworkload.size = \"" + size + "\"\n" + more,
                "a.toml");
  EXPECT_TRUE(scenario) << scenario.error().text();
  return expected_time(scenario.value());
}

TEST(ExpectedTime, AGpuBeats16ThreadsWhereItWasMeasured) {
  EXPECT_FALSE(time_of(1'024, "16 MB").gpu_beats(16));
  EXPECT_FALSE(time_of(8'192, "2 MB").gpu_beats(16));
  EXPECT_TRUE(time_of(8'192, "16 MB").gpu_beats(16));
  EXPECT_TRUE(time_of(8'192, "100 MB").gpu_beats(16));
  EXPECT_TRUE(time_of(65'536, "16 MB").gpu_beats(16));
}

// CPU-seconds of one thread on an EPYC beside other work, with the engine of 20 million packet-hops a second.
TEST(ExpectedTime, IsWithinAFactorOfTwoOfWhatWasMeasured) {
  const struct {
    int hosts;
    const char* size;
    const char* more;
    double seconds;
  } runs[] = {
      {8'192, "16 MB", "", 8.7},
      {8'192, "16 MB", "transport.scheme = \"rocev2\"", 16.7},
      {2'048, "16 MB", "", 1.8},
      {2'048, "16 MB", "transport.scheme = \"rocev2\"", 3.1},
      {1'024, "16 MB", "topology.oversubscription = \"4:1\"", 1.0},
      {1'024, "16 MB", "topology.oversubscription = \"4:1\"\ntransport.scheme = \"rocev2\"", 2.0},
      {1'024, "16 MB", "topology.tiers = 3\ntopology.racks_per_pod = 4", 1.5},
      {8'192, "16 MB", "workload.kind = \"incast\"\nworkload.fan_in = 128", 3.5},
  };
  for (const auto& run : runs) {
    const double ratio = time_of(run.hosts, run.size, run.more).cpu / run.seconds;
    EXPECT_GT(ratio, 0.5) << run.hosts << " x " << run.size << ' ' << run.more;
    EXPECT_LT(ratio, 2) << run.hosts << " x " << run.size << ' ' << run.more;
  }
}

// Whole runs, in the middle of what each took.
TEST(ExpectedTime, OfAGpuIsWithinAFifthOfWhatWasMeasured) {
  const struct {
    int hosts;
    const char* size;
    double seconds;
  } runs[] = {{1'024, "16 MB", 0.33},  {8'192, "2 MB", 0.48}, {8'192, "16 MB", 0.60},
              {8'192, "100 MB", 1.18}, {65'536, "2 MB", 1.5}, {65'536, "16 MB", 2.26},
              {65'536, "100 MB", 6.7}};
  for (const auto& run : runs)
    EXPECT_NEAR(time_of(run.hosts, run.size).gpu.value() / run.seconds, 1, 0.2)
        << run.hosts << " x " << run.size;
}

// A window costs a GPU the same when only a few hosts are at work.
TEST(ExpectedTime, AnIncastIsForThreads) {
  EXPECT_FALSE(
      time_of(8'192, "16 MB", "workload.kind = \"incast\"\nworkload.fan_in = 32").gpu_beats(4));
}

// All that goes on in one run counts, not the first of it.
TEST(ExpectedTime, WorkloadsAddUp) {
  const auto time = [](const std::string& workloads) {
    const auto scenario =
        load_text("[topology]\nhosts = 8192\nhosts_per_rack = 64\n" + workloads, "a.toml");
    EXPECT_TRUE(scenario) << scenario.error().text();
    return expected_time(scenario.value());
  };
  const std::string big = "[[workload]]\nsize = \"100 MB\"\n";
  const std::string incast = "[[workload]]\nkind = \"incast\"\nsize = \"1 KB\"\n";
  EXPECT_NEAR(time(incast + big).cpu, time(big).cpu, 1);
  EXPECT_NEAR(time(incast + big).cpu, time(big + incast).cpu, 1e-6);
  EXPECT_NEAR(time(incast + big).gpu.value(), time(big).gpu.value(), 0.1);
  EXPECT_TRUE(time(incast + big).gpu_beats(16));
  EXPECT_LT(time(incast + big + "[run]\nonly = \"incast\"\n").cpu, 1);
}

// [D157]
TEST(ExpectedTime, LosslessAndSprayingSwitchesAreForThreads) {
  EXPECT_FALSE(time_of(8'192, "16 MB", "transport.scheme = \"rocev2\"").gpu);
  EXPECT_FALSE(time_of(8'192, "16 MB", "switch.routing = \"round-robin\"").gpu);
}

}  // namespace
}  // namespace strack::sim
