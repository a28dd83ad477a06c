// [[workload]]: several in one run.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/scenario/scenario.h"

namespace strack::sim {
namespace {

Scenario loaded(const std::string& text, const std::vector<std::string>& set = {}) {
  auto scenario = load_text(text, "x.toml", {}, set);
  EXPECT_TRUE(scenario) << scenario.error().text();
  return std::move(scenario).value();
}
std::string error_of(const std::string& text, const std::vector<std::string>& set = {}) {
  const auto scenario = load_text(text, "x.toml", {}, set);
  return scenario ? "" : scenario.error().text();
}

const std::string kNetwork = "[topology]\nhosts = 64\nhosts_per_rack = 8\n";
const std::string kRing =
    "[[workload]]\nkind = \"collective\"\nsize = \"1 MB\"\nranks = 8\njobs = 2\n";
const std::string kIncast =
    "[[workload]]\nname = \"storage\"\nkind = \"incast\"\nfan_in = 4\nstart_us = 20\n";
const std::string kRandom = "[[workload]]\nkind = \"random\"\nsize = \"10 KB\"\nflows = 50\n";

std::vector<workload::HostId> hosts_of(const workload::Workload& work, const workload::Part& part) {
  std::vector<workload::HostId> hosts;
  for (std::uint32_t j = part.first_job; j < part.first_job + part.jobs; ++j)
    hosts.insert(hosts.end(), work.jobs[j].hosts.begin(), work.jobs[j].hosts.end());
  return hosts;
}
bool same(const workload::Flows& a, const workload::Flows& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const workload::Flow& x, const workload::Flow& y) {
        return x.src == y.src && x.dst == y.dst && x.size == y.size && x.start == y.start;
      });
}

TEST(Workloads, AreMadeOneAfterTheOther) {
  const Scenario s = loaded(kNetwork + kRing + kIncast + kRandom);
  ASSERT_EQ(s.workloads.size(), 3u);
  EXPECT_EQ(s.workloads[0].name, "allreduce-ring");
  EXPECT_EQ(s.workloads[1].name, "storage");
  EXPECT_EQ(s.workloads[2].name, "random");
  EXPECT_EQ(expected_flows(s), 54u);
  const workload::Workload work = make_workload(s, 1);
  EXPECT_EQ(work.jobs.size(), 2u);
  EXPECT_EQ(work.flows.size(), 54u);
  ASSERT_EQ(work.parts.size(), 3u);
  EXPECT_EQ(work.parts[0].kind, "collective");
  EXPECT_EQ(work.parts[0].jobs, 2u);
  EXPECT_EQ(work.parts[0].flows, 0u);
  EXPECT_EQ(work.parts[1].first_flow, 0u);
  EXPECT_EQ(work.parts[1].flows, 4u);
  EXPECT_EQ(work.parts[1].first_job, 2u);
  EXPECT_EQ(work.parts[2].first_flow, 4u);
  EXPECT_EQ(work.parts[2].flows, 50u);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(work.flows[i].start, at(us(20)));
}

// One in brackets twice is one in brackets once, and as it always was.
TEST(Workloads, OneIsTheSameEitherWay) {
  std::string once = kRandom;
  once.replace(once.find("[[workload]]"), 12, "[workload]");
  const workload::Workload a = make_workload(loaded(kNetwork + once), 7);
  const workload::Workload b = make_workload(loaded(kNetwork + kRandom), 7);
  EXPECT_TRUE(same(a.flows, b.flows));
  ASSERT_EQ(a.parts.size(), 1u);
  EXPECT_EQ(a.parts[0].name, "random");
}

// [D76] Two of a kind are not the same, and what one draws does not depend on who else there is.
TEST(Workloads, DrawFromStreamsOfTheirOwn) {
  const workload::Workload two = make_workload(loaded(kNetwork + kRandom + kRandom), 1);
  const workload::Workload one = make_workload(loaded(kNetwork + kRandom), 1);
  const workload::Flows first(two.flows.begin(), two.flows.begin() + 50);
  const workload::Flows second(two.flows.begin() + 50, two.flows.end());
  EXPECT_TRUE(same(first, one.flows));
  EXPECT_FALSE(same(first, second));
  EXPECT_EQ(two.parts[1].name, "random-2");
}

// What `only` runs is what it is beside the others: the same flows, on the same hosts.
TEST(Workloads, OneAloneIsAsBesideTheOthers) {
  const std::string text = kNetwork + kRing + kRandom + kRing;
  const workload::Workload all = make_workload(loaded(text), 3);
  const workload::Workload flows = make_workload(loaded(text, {"run.only=random"}), 3);
  ASSERT_EQ(flows.parts.size(), 1u);
  EXPECT_TRUE(flows.jobs.empty());
  EXPECT_TRUE(same(flows.flows, all.flows));
  const workload::Workload last = make_workload(loaded(text, {"run.only=allreduce-ring-2"}), 3);
  ASSERT_EQ(last.jobs.size(), 2u);
  EXPECT_EQ(last.jobs[1].hosts, all.jobs[3].hosts);
  EXPECT_EQ(make_workload(loaded(text, {"run.only=all"}), 3).parts.size(), 3u);
  EXPECT_EQ(error_of(text, {"run.only=ring"}),
            "--set run.only: only is \"ring\". the workloads are \"allreduce-ring\", \"random\", "
            "\"allreduce-ring-2\"; \"all\" is all of them");
}

// [D77] Every host has one rank of all jobs; lists come first, blocks before what is drawn.
TEST(Workloads, RanksAreBesideEachOther) {
  const Scenario s =
      loaded(kNetwork + kRing + kRing + "placement = \"blocks:8\"\n" + kRing +
             "placement = \"hosts:0-7,16-23\"\n" + kRing + "placement = \"packed\"\n");
  const workload::Workload work = make_workload(s, 5);
  std::set<workload::HostId> all;
  for (const workload::Job& job : work.jobs) all.insert(job.hosts.begin(), job.hosts.end());
  EXPECT_EQ(all.size(), 64u);
  const auto blocks = hosts_of(work, work.parts[1]);
  EXPECT_EQ(blocks[0] % 8, 0u);
  EXPECT_EQ(blocks[7], blocks[0] + 7);
  EXPECT_EQ(hosts_of(work, work.parts[2]).back(), 23u);
  // The first hosts that nobody has listed.
  EXPECT_EQ(hosts_of(work, work.parts[3]),
            (std::vector<workload::HostId>{8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30,
                                           31}));
}

TEST(Workloads, ThatShareHostsArePlacedAsIfAlone) {
  const std::string shared = kRing + "placement = \"hosts:0-15\"\n";
  EXPECT_EQ(error_of(kNetwork + shared + shared),
            "x.toml:10: \"allreduce-ring-2\" has 16 ranks, each on a host of its own, and 0 of 64 "
            "hosts are left for it beside the other jobs. fewer ranks, another placement or "
            "share_hosts = true would work");
  const workload::Workload work =
      make_workload(loaded(kNetwork + shared + shared + "share_hosts = true\n"), 1);
  EXPECT_EQ(work.jobs[0].hosts, work.jobs[2].hosts);
}

TEST(Workloads, RepeatAndIterate) {
  const Scenario s = loaded(kNetwork + kIncast + "repeats = 3\nevery_us = 100\n" + kRing +
                            "iterations = 4\ncompute_us = 50\n");
  const workload::Workload work = make_workload(s, 1);
  ASSERT_EQ(work.flows.size(), 12u);
  EXPECT_EQ(expected_flows(s), 12u);
  EXPECT_EQ(work.flows[4].start, at(us(120)));
  EXPECT_EQ(work.flows[11].start, at(us(220)));
  std::set<workload::HostId> senders;
  for (const workload::Flow& flow : work.flows) senders.insert(flow.src);
  EXPECT_GT(senders.size(), 4u);
  EXPECT_EQ(work.parts[1].iterations, 4u);
  EXPECT_EQ(work.parts[1].compute, us(50));
  EXPECT_EQ(std::uint64_t{work.jobs[0].graph->messages()} * 2, expected_messages(s));
  EXPECT_EQ(error_of(kNetwork + kIncast + "repeats = 3\n"),
            "x.toml:9: repeats is 3, but every_us is not set. say how long after each other, such "
            "as every_us = 100");
  EXPECT_EQ(error_of(kNetwork + kRing + "compute_us = 3\n"),
            "x.toml:9: compute_us is 3. that is between iterations, and there is one: set "
            "iterations too, such as iterations = 10");
}

// A run is no longer than anybody waits, and no larger than a machine.
TEST(Workloads, AreBounded) {
  EXPECT_EQ(error_of(kNetwork + kRing + "iterations = 1000\ncompute_us = \"10 s\"\n"),
            "x.toml:10: 1000 iterations with 10 s between them take more than an hour. fewer, or "
            "less of it, would work");
  EXPECT_EQ(error_of(kNetwork + kIncast + "repeats = 1000\nevery_us = \"10 s\"\n"),
            "x.toml:10: 1000 repeats, one every 10 s, take more than an hour. fewer, or a shorter "
            "every_us, would work");
  EXPECT_EQ(error_of(kNetwork + kRing + "chunk = 1000\niterations = 100000\n"),
            "x.toml:10: iterations is 100000. a job would have some 1400800000 messages and "
            "computations, and at most 200000000 are simulated: iterations = 14277 would work");
}

// Products of counts do not wrap around and look small.
TEST(Workloads, CountsDoNotOverflow) {
  const std::string many = "[topology]\nhosts = 65536\n[[workload]]\nkind = \"collective\"\n";
  EXPECT_EQ(
      error_of(many + "collective = \"broadcast\"\nranks = 2\njobs = 32768\nsize = \"64 MB\"\n"
                      "chunk = 1\niterations = 8388608\n"),
      "x.toml:10: iterations is 8388608. a job has 1 to 1000000 iterations, such as iterations = "
      "10");
  EXPECT_EQ(error_of(many + "ranks = 2\njobs = 32768\nsize = \"16 MB\"\nchunk = 1\niterations = "
                            "1000000\n"),
            "x.toml:9: iterations is 1000000. a job would have some 32000002000000 messages and "
            "computations, and at most 200000000 are simulated: iterations = 6 would work");
  EXPECT_EQ(
      error_of(many + "ranks = 2\njobs = 32768\nsize = \"16 MB\"\nchunk = 1\n"),
      "x.toml:8: 32768 jobs would have some 32000002 messages and computations each, and at most "
      "2000000000 are simulated in all: fewer jobs or iterations, or a larger chunk, would work");
}

TEST(Workloads, NamesAreTheirOwn) {
  EXPECT_EQ(error_of(kNetwork + kIncast + kIncast),
            "x.toml:10: name is \"storage\". another workload is called that. take another name");
  EXPECT_EQ(
      error_of(kNetwork + "[[workload]]\nname = \"all\"\n"),
      "x.toml:5: name is \"all\". a name is a word or a few, other than \"all\", such as name "
      "= \"background\"");
}

// Errors are about the entry they are in.
TEST(Workloads, ErrorsNameTheirLine) {
  EXPECT_EQ(error_of(kNetwork + kRing + kIncast + "receiver = 64\n"),
            "x.toml:14: receiver is 64. there are 64 hosts, so a receiver is from 0 to 63");
  EXPECT_EQ(error_of(kNetwork + kRing + kIncast + "ranks = 4\n"),
            "x.toml:14: ranks is set, but kind is \"incast\". leave it out: it is for kind = "
            "collective");
  EXPECT_EQ(error_of(kNetwork + kIncast + "priority = 1\n"), "");
  EXPECT_EQ(error_of(kNetwork + kIncast + "priority = 4\n"),
            "x.toml:9: priority is 4. a priority is from 0 to 3, and the highest goes first, such "
            "as priority = 1");
  EXPECT_EQ(error_of(kNetwork + kIncast + "priority = 1\n[transport]\nscheme = \"rocev2\"\n"),
            "x.toml:9: priority is 1. lossless switches have one class for all data here. "
            "pfc.enabled = false or priority = 0 would work");
}

// [D116] Every workload has its own; 0 where nothing is said.
TEST(Workloads, HavePriorities) {
  const workload::Workload work =
      make_workload(loaded(kNetwork + kRing + "priority = 3\n" + kIncast + kRandom), 1);
  EXPECT_EQ(work.parts[0].priority, 3u);
  EXPECT_EQ(work.parts[1].priority, 0u);
  EXPECT_TRUE(work.has_priorities());
  EXPECT_FALSE(make_workload(loaded(kNetwork + kRing + "priority = 0\n"), 1).has_priorities());
}

TEST(Workloads, AreSetByTheirNumber) {
  const Scenario s = loaded(kNetwork + kRing + kIncast, {"workload.1.fan_in=9"});
  EXPECT_EQ(s.workloads[1].fan_in, 9u);
  EXPECT_EQ(error_of(kNetwork + kRing + kIncast, {"workload.size=1KB"}),
            "--set: workload.size names no entry. number it from 0, such as --set "
            "workload.0.size=1MB");
  EXPECT_EQ(error_of(kNetwork, {"workload.0.size=1KB"}),
            "--set: workload.0.size: the scenario has one [workload], and no [[workload]]. leave "
            "the number out, such as --set workload.size");
}

TEST(Workloads, ToTomlReloads) {
  const Scenario s = loaded(kNetwork + kRing + "chunk = \"0.5 BDP\"\n" + kIncast + kRandom,
                            {"workload.0.iterations=3"});
  const std::string text = to_toml(s);
  EXPECT_EQ(text.find("\n[workload]"), text.npos);
  EXPECT_EQ(to_toml(loaded(text)), text);
  EXPECT_TRUE(std::any_of(s.settings.begin(), s.settings.end(), [](const metrics::Setting& one) {
    return one.key == "workload.1.name" && one.value == "storage";
  }));
}

}  // namespace
}  // namespace strack::sim
