// About how many bytes hosts send: what pools of runs are ordered by.
#include <gtest/gtest.h>

#include "sim/scenario/scenario.h"

namespace strack::sim {
namespace {

double bytes_of(const std::string& workload) {
  const auto scenario =
      load_text("topology.hosts = 128\ntopology.hosts_per_rack = 16\n" + workload, "a.toml");
  EXPECT_TRUE(scenario) << scenario.error().text();
  return expected_bytes(scenario.value());
}

TEST(ExpectedBytes, OfEveryKindOfWorkload) {
  EXPECT_EQ(bytes_of("workload.size = \"2 MB\""), 256e6);
  EXPECT_EQ(bytes_of("workload.kind = \"incast\"\nworkload.fan_in = 32\nworkload.size = \"1 MB\""),
            32e6);
  // 128 x 500 us x 200 Gb/s
  EXPECT_EQ(bytes_of("workload.kind = \"random\"\nworkload.load = 0.5\nworkload.size = \"100 KB\"\n"
                     "workload.duration_us = 500"),
            1.6e9);
  const std::string jobs =
      "workload.kind = \"collective\"\nworkload.jobs = 4\nworkload.ranks = 32\n"
      "workload.size = \"1 MB\"\nworkload.collective = ";
  EXPECT_EQ(bytes_of(jobs + "\"alltoall\""), 128e6);
  EXPECT_EQ(bytes_of(jobs + "\"allreduce-ring\""), 256e6);  // there and back
}

}  // namespace
}  // namespace strack::sim
