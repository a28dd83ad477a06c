// Links and switches that fail or are impaired, as scenario files say it.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/config.h"
#include "sim/scenario/scenario.h"

namespace strack::sim {
namespace {

Scenario loaded(std::string_view text, const std::vector<std::string>& overrides = {}) {
  const auto scenario = load_text(text, "x.toml", {}, overrides);
  if (!scenario) {
    ADD_FAILURE() << scenario.error().text();
    return {};
  }
  return scenario.value();
}
std::string error_of(std::string_view text) {
  const auto scenario = load_text(text, "x.toml", {}, {});
  return scenario ? "loaded" : scenario.error().text();
}

TEST(Failures, NamedLinksAndSwitches) {
  const Scenario s = loaded(R"([[failure]]
rack = 3
uplink = 7
from_us = 100
until_us = 200
[[failure]]
host = 5
[[failure]]
switch = "spine 3"
[[failure]]
switch = "tor 127"
[[impairment]]
rack = 1
uplink = 63
rate = 0.5
loss = 1e-3
bit_error_rate = 1e-12
)");
  const auto& failures = s.config.failures.failures;
  ASSERT_EQ(failures.size(), 4u);
  EXPECT_EQ(failures[0].link->tier, LinkRef::Tier::fabric);
  EXPECT_EQ(failures[0].link->lower, 3u);
  EXPECT_EQ(failures[0].link->upper, 7u);
  EXPECT_EQ(failures[0].from, at(us(100)));
  EXPECT_EQ(failures[0].until, at(us(200)));
  EXPECT_EQ(failures[1].link->tier, LinkRef::Tier::host);
  EXPECT_EQ(failures[1].link->lower, 5u);
  EXPECT_EQ(failures[1].from, Instant{});
  EXPECT_EQ(failures[1].until, Instant::never());
  EXPECT_FALSE(failures[2].link);
  EXPECT_EQ(failures[2].node->tier, SwitchRef::Tier::agg);
  EXPECT_EQ(failures[2].node->index, 3u);
  EXPECT_EQ(failures[3].node->tier, SwitchRef::Tier::tor);
  const auto& impairments = s.config.failures.impairments;
  ASSERT_EQ(impairments.size(), 1u);
  EXPECT_EQ(impairments[0].link.upper, 63u);
  EXPECT_EQ(impairments[0].rate, (Ratio{1, 2}));
  EXPECT_EQ(impairments[0].loss, (Ratio{1, 1'000}));
  EXPECT_DOUBLE_EQ(impairments[0].bit_error_rate, 1e-12);
}

TEST(Failures, ThreeTiersHaveMoreNames) {
  const Scenario s = loaded(
      "[topology]\ntiers = 3\n[[failure]]\nagg = 511\nuplink = 15\n"
      "[[failure]]\nswitch = \"agg 2\"\n[[failure]]\nswitch = \"core 1023\"");
  const auto& failures = s.config.failures.failures;
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_EQ(failures[0].link->tier, LinkRef::Tier::core);
  EXPECT_EQ(failures[0].link->lower, 511u);
  EXPECT_EQ(failures[0].link->upper, 15u);
  EXPECT_EQ(failures[1].node->tier, SwitchRef::Tier::agg);
  EXPECT_EQ(failures[2].node->tier, SwitchRef::Tier::core);
}

// The paper: on 16 ToRs, 4 or 16 links each.
TEST(Failures, RandomLinksAreSpreadOverRacks) {
  for (const std::uint32_t links : {64u, 256u}) {
    const Scenario s = loaded("[[failure]]\nrandom_links = " + std::to_string(links));
    EXPECT_TRUE(s.config.failures.failures.empty());
    const SimConfig config = make_config(s, 5);
    EXPECT_EQ(config.seed, 5u);
    ASSERT_EQ(config.failures.failures.size(), links);
    std::map<std::uint32_t, std::set<std::uint32_t>> by_rack;
    for (const Failure& failure : config.failures.failures) {
      ASSERT_LT(failure.link->lower, 128u);
      ASSERT_LT(failure.link->upper, 64u);
      ASSERT_TRUE(by_rack[failure.link->lower].insert(failure.link->upper).second);
    }
    ASSERT_EQ(by_rack.size(), 16u);
    for (const auto& [rack, uplinks] : by_rack) EXPECT_EQ(uplinks.size(), links / 16);
  }
}

TEST(Failures, RandomLinksFollowTheSeed) {
  const Scenario s = loaded("[[failure]]\nrandom_links = 64\nfrom_us = 10");
  const auto racks = [&s](std::uint64_t seed) {
    std::vector<std::uint32_t> numbers;
    for (const Failure& failure : make_config(s, seed).failures.failures) {
      EXPECT_EQ(failure.from, at(us(10)));
      numbers.push_back(failure.link->lower * 64 + failure.link->upper);
    }
    return numbers;
  };
  EXPECT_EQ(racks(1), racks(1));
  EXPECT_NE(racks(1), racks(2));
}

// [D75] One way of a link, and its queue with it.
TEST(Failures, OneWayOfALink) {
  const Scenario s = loaded(
      "[[impairment]]\nrack = 1\nuplink = 2\nrate = 0.25\nway = \"down\"\nscale_queue = true");
  const Impairment& bad = s.config.failures.impairments.at(0);
  EXPECT_EQ(bad.way, LinkWay::down);
  EXPECT_TRUE(bad.scale_queue);
  EXPECT_EQ(bad.rate, (Ratio{1, 4}));
  const Scenario both = loaded("[[impairment]]\nhost = 1\nrate = 0.25");
  EXPECT_EQ(both.config.failures.impairments.at(0).way, LinkWay::both);
  EXPECT_FALSE(both.config.failures.impairments.at(0).scale_queue);
}

TEST(Failures, OneWayOfALink_Mistakes) {
  EXPECT_EQ(error_of("[[impairment]]\nhost = 1\nrate = 0.5\nway = \"left\""),
            "x.toml:4: way is \"left\". a way is \"both\", \"up\" or \"down\"");
  EXPECT_EQ(error_of("[[impairment]]\nhost = 1\nloss = 0.5\nscale_queue = true"),
            "x.toml:4: scale_queue is true, but rate is 1. a queue is scaled as the rate is: set "
            "rate, such as rate = 0.25, or leave scale_queue out");
}

// [D87]
TEST(Failures, ImpairmentsBeginAndEnd) {
  const Scenario s = loaded(
      "[[impairment]]\nhost = 1\nloss = 0.1\nfrom_us = 10\nuntil_us = 20\n"
      "[[impairment]]\nhost = 2\nrate = 0.5\n");
  const std::vector<Impairment>& all = s.config.failures.impairments;
  EXPECT_EQ(all[0].from, at(us(10)));
  EXPECT_EQ(all[0].until, at(us(20)));
  EXPECT_TRUE(all[0].passes());
  EXPECT_FALSE(all[1].passes());
  EXPECT_EQ(error_of("[[impairment]]\nhost = 1\nloss = 0.1\nfrom_us = 20\nuntil_us = 20\n"),
            "x.toml:5: until_us is 20 us and from_us 20 us. it can only end after it began");
  EXPECT_EQ(
      error_of("[[impairment]]\nhost = 1\nrate = 0.5\nfrom_us = 20\nscale_queue = true\n"),
      "x.toml:5: scale_queue is true, but the impairment passes. a queue has one length in a run: "
      "leave scale_queue out, or from_us and until_us");
}

TEST(Failures, FlapInOneEntry) {
  const std::string flap = "[[failure]]\nrack = 2\nuplink = 1\nfrom_us = 10\nuntil_us = 75\n";
  const Scenario s = loaded(flap + "period_us = 20\nduty = 0.25\n");
  const std::vector<Failure>& all = s.config.failures.failures;
  ASSERT_EQ(all.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].from, at(us(10 + 20 * static_cast<std::int64_t>(i))));
    EXPECT_EQ(all[i].until, all[i].from + us(5));
    EXPECT_EQ(*all[i].link, (LinkRef{LinkRef::Tier::fabric, 2, 1}));
  }
  // The last one is cut short; half of the time by default.
  EXPECT_EQ(loaded(flap + "period_us = 40\n").config.failures.failures.back().until, at(us(70)));
  EXPECT_EQ(loaded(flap + "period_us = 60\nduty = 1\n").config.failures.failures.back().until,
            at(us(75)));
  // The same links each time.
  const Scenario random =
      loaded("[[failure]]\nrandom_links = 2\nracks = 2\nuntil_us = 40\nperiod_us = 20\n");
  const SimConfig config = make_config(random, 1);
  ASSERT_EQ(config.failures.failures.size(), 4u);
  EXPECT_EQ(*config.failures.failures[0].link, *config.failures.failures[1].link);
  EXPECT_EQ(config.failures.failures[1].from, at(us(20)));
}

TEST(Failures, FlappingNeedsAnEnd) {
  EXPECT_EQ(error_of("[[failure]]\nhost = 1\nperiod_us = 20"),
            "x.toml:3: period_us is 20. it would flap for ever. say when it stops, such as "
            "until_us = 1000, or when the run does");
  EXPECT_EQ(loaded("[[failure]]\nhost = 1\nperiod_us = 500\n[run]\nend_ms = 1")
                .config.failures.failures.size(),
            2u);
  // All links of all entries count together.
  EXPECT_EQ(
      error_of("[[failure]]\nrandom_links = 128\nracks = 128\nuntil_us = 900\nperiod_us = 1"),
      "x.toml:5: period_us is 1. with what flaps before it, links would break 115200 times, and "
      "at most 100000 are simulated: take a longer period_us, or fewer links");
  EXPECT_EQ(error_of("[[failure]]\nhost = 1\nuntil_us = 10000\nperiod_us = 1"),
            "x.toml:4: period_us is 1. that is 10000 times until 10 ms, and at most 1000 are "
            "simulated: period_us = 11 would work");
  EXPECT_EQ(error_of("[[failure]]\nhost = 1\nduty = 0.5"),
            "x.toml:3: duty is 0.5. that is a part of a period, and there is none: set period_us "
            "too, such as period_us = 200");
}

TEST(Failures, SwitchesCanBeImpaired) {
  const Scenario s = loaded(
      "[topology]\nhosts = 64\nhosts_per_rack = 8\n[[impairment]]\nswitch = \"spine 3\"\nrate = "
      "0.5\n");
  const std::vector<Impairment>& all = s.config.failures.impairments;
  ASSERT_EQ(all.size(), 8u);
  for (std::uint32_t rack = 0; rack < 8; ++rack) {
    EXPECT_EQ(all[rack].link, (LinkRef{LinkRef::Tier::fabric, rack, 3}));
    EXPECT_EQ(all[rack].rate, (Ratio{1, 2}));
  }
}

TEST(Failures, RandomLinksCanBeImpaired) {
  const Scenario s = loaded("[[impairment]]\nrandom_links = 8\nracks = 2\nloss = 0.01");
  const SimConfig config = make_config(s, 1);
  ASSERT_EQ(config.failures.impairments.size(), 8u);
  EXPECT_EQ(config.failures.impairments[3].loss, (Ratio{1, 100}));
  EXPECT_EQ(config.failures.impairments[3].link.tier, LinkRef::Tier::fabric);
}

// Several entries about one link multiply: less than 1000 bit/s is refused, and who it is is said.
TEST(Impairments, TogetherLeaveSomething) {
  const std::string three = R"([topology]
link_gbps = 400
[[impairment]]
rack = 1
uplink = 2
rate = 0.001
[[impairment]]
host = 3
rate = 0.5
[[impairment]]
switch = "tor 1"
rate = 0.001
[[impairment]]
rack = 1
uplink = 2
rate = 0.001
way = "up"
)";
  EXPECT_EQ(
      error_of(three),
      "x.toml:13: entries 0, 2 and 3 of [[impairment]], counted from 0, are about one link at "
      "one time, and leave 400 bit/s of it. at least 1000 must be left: take larger rates, or "
      "let one of them say it all");
  // At other times they do not meet.
  EXPECT_EQ(error_of(three + "from_us = 10\nuntil_us = 20\n").substr(0, 11), "x.toml:13: ");
  const std::string apart = R"([topology]
link_gbps = 0.001
[[impairment]]
host = 0
rate = 0.001
until_us = 10
[[impairment]]
host = 0
rate = 0.001
from_us = 10
)";
  EXPECT_EQ(error_of(apart + "[transport]\nscheme = \"strack\"\n").find("[[impairment]]"),
            std::string::npos);
}

TEST(Failures, WhatNoPacketMeetsIsTold) {
  const auto notes = [](std::string_view text) {
    std::string all;
    for (const std::string& note : loaded(text).notes) all += note + "\n";
    return all;
  };
  EXPECT_EQ(notes("[workload]\nstart_us = 300\n[[failure]]\nhost = 1\nfrom_us = 10\nuntil_us = "
                  "20\n"),
            "the failure from 10 us is over at 120 us, before the first workload starts at 300 us: "
            "no packet meets it\n");
  // Routes are still about it.
  EXPECT_EQ(notes("[workload]\nstart_us = 50\n[[failure]]\nhost = 1\nuntil_us = 20\n"), "");
  EXPECT_EQ(
      notes("[[failure]]\nswitch = \"spine 3\"\n[[impairment]]\nrack = 2\nuplink = 3\nloss = "
            "0.1\n"),
      "entry 0 of [[impairment]], counted from 0, is about a link that is down all that time: "
      "no packet meets it there\n");
}

TEST(Run, AnEndBeforeAnythingArrivesIsTold) {
  EXPECT_EQ(
      error_of("[run]\nend_ms = 1e-9\n"),
      "x.toml:2: end_ms is 1e-09. an end is a time from 1 ns to an hour, such as end_ms = 10");
  const Scenario s = loaded("[run]\nend_ms = 0.003\n");
  ASSERT_EQ(s.notes.size(), 1u);
  EXPECT_EQ(s.notes[0].substr(0, 55), "the run ends at 3 us, within half the base RTT of 8 us:");
}

TEST(Record, SeriesThatWouldBeHugeAreRefusedOrTold) {
  EXPECT_EQ(error_of("[record]\ninterval_us = 1e-6\nqueues = true\n"),
            "x.toml:2: interval_us is 1e-06. an interval is 0, or from 1 ns to 1 s, such as "
            "interval_us = 10");
  const Scenario s = loaded("[record]\ninterval_us = 0.01\nqueues = true\n");
  ASSERT_EQ(s.notes.size(), 1u);
  EXPECT_EQ(s.notes[0].substr(0, 47), "sampling every 10 ns for 320 us or more may wri");
  EXPECT_TRUE(loaded("[record]\ninterval_us = 10\nqueues = true\n").notes.empty());
}

}  // namespace
}  // namespace strack::sim
