// The rows that a scenario leaves in its result file.
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sim/scenario/scenario.h"

namespace strack::sim {
namespace {

std::optional<metrics::Setting> setting(std::string_view text, std::string_view key) {
  const auto loaded = load_text(text, "test.toml");
  EXPECT_TRUE(loaded) << loaded.error().text();
  if (!loaded) return std::nullopt;
  for (const metrics::Setting& row : loaded.value().settings) {
    if (row.key == key) return row;
  }
  return std::nullopt;
}

constexpr std::string_view kSmall = R"(
[topology]
hosts = 32
hosts_per_rack = 8
base_rtt_us = 10
[workload]
kind = "permutation"
size = "2 MB"
[switch]
kmin = "0.25 BDP"
[[failure]]
rack = 1
uplink = 0
[[failure]]
rack = 2
uplink = 3
from_us = 4
)";

std::string wrong(std::string_view text, const std::string& set) {
  const auto loaded = load_text(text, "test.toml", {}, {set});
  return loaded ? "loads" : loaded.error().text();
}

// Which of several entries an override is about is part of its name.
TEST(Overrides, NameTheEntryThatIsWrong) {
  EXPECT_EQ(wrong(kSmall, "failure.1.from_us=soon").substr(0, 43),
            "--set failure.1.from_us: from_us is \"soon\".");
  EXPECT_EQ(wrong(kSmall, "failure.0.hots=1").substr(0, 50),
            "--set failure.0: unknown key hots in [[failure]]. ");
  EXPECT_EQ(wrong(kSmall, "failure.2.from_us=3").substr(0, 49),
            "--set failure.2: [[failure]] does not say what. n");
  const std::string two = "[[workload]]\nname = \"a\"\n[[workload]]\nname = \"b\"\n";
  EXPECT_EQ(wrong(two, "workload.1.size=none").substr(0, 38),
            "--set workload.1.size: size is \"none\".");
  EXPECT_EQ(wrong(kSmall, "workload.size=none").substr(0, 36),
            "--set workload.size: size is \"none\".");
}

TEST(SettingsList, WhatWasGiven) {
  EXPECT_EQ(setting(kSmall, "topology.hosts"),
            (metrics::Setting{"topology.hosts", "32", std::nullopt, "given"}));
  EXPECT_EQ(setting(kSmall, "workload.size"),
            (metrics::Setting{"workload.size", "2 MB", 2'000'000, "given"}));
  // A bare number is in the unit of its key's name.
  EXPECT_EQ(setting(kSmall, "topology.base_rtt_us"),
            (metrics::Setting{"topology.base_rtt_us", "10", 10'000'000, "given"}));
  // 400 Gb/s x 10 us.
  EXPECT_EQ(setting(kSmall, "switch.kmin"),
            (metrics::Setting{"switch.kmin", "0.25 BDP", 125'000, "given"}));
}

TEST(SettingsList, DefaultsAndWhatFollows) {
  EXPECT_EQ(setting(kSmall, "topology.tiers"),
            (metrics::Setting{"topology.tiers", "2", std::nullopt, "default"}));
  const auto spines = setting(kSmall, "topology.spines");
  ASSERT_TRUE(spines);
  EXPECT_EQ(*spines, (metrics::Setting{"topology.spines", "8", std::nullopt, "derived"}));
  const auto latency = setting(kSmall, "topology.host_latency_ns");
  ASSERT_TRUE(latency);
  EXPECT_EQ(latency->origin, "derived");
  EXPECT_GT(latency->amount.value_or(0), 0);
}

TEST(SettingsList, EntriesOfAListHaveTheirNumber) {
  EXPECT_EQ(setting(kSmall, "failure.1.rack"),
            (metrics::Setting{"failure.1.rack", "2", std::nullopt, "given"}));
  const auto from = setting(kSmall, "failure.1.from_us");
  ASSERT_TRUE(from);
  EXPECT_EQ(from->amount, 4'000'000);
  EXPECT_FALSE(setting(kSmall, "failure.2.rack"));
}

TEST(SettingsList, WhatDoesNotApplyIsNotThere) {
  EXPECT_FALSE(setting(kSmall, "workload.fan_in"));
  EXPECT_FALSE(setting(kSmall, "topology.cores_per_agg"));
}

}  // namespace
}  // namespace strack::sim
