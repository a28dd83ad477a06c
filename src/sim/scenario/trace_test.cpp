// Scenarios that take workload or topology from files of other tools.
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/scenario/files.h"
#include "sim/scenario/scenario.h"

namespace strack::sim {
namespace {

namespace fs = std::filesystem;

/// 16 hosts in four racks, each with four uplinks.
const std::string kNetwork = "[topology]\nhosts = 16\nhosts_per_rack = 4\n";

class TraceScenario : public testing::Test {
 protected:
  TraceScenario() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TraceScenario() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void copy(const std::string& name) const {
    fs::copy_file(fs::path(STRACK_SCENARIOS) / "traces" / name, folder_ / name);
  }
  [[nodiscard]] Result<Scenario, ScenarioError> load(
      const std::string& keys, const std::vector<std::string>& overrides = {}) const {
    return load_text(kNetwork + "[workload]\nkind = \"trace\"\n" + keys, "x.toml", folder_,
                     overrides);
  }
  [[nodiscard]] Scenario loaded(const std::string& keys,
                                const std::vector<std::string>& overrides = {}) const {
    const auto scenario = load(keys, overrides);
    EXPECT_TRUE(scenario) << scenario.error().text();
    return scenario ? scenario.value() : Scenario{};
  }
  [[nodiscard]] std::string error(const std::string& keys,
                                  const std::vector<std::string>& overrides = {}) const {
    const auto scenario = load(keys, overrides);
    return scenario ? "loaded" : scenario.error().text();
  }
  [[nodiscard]] std::string topology_error(const std::string& keys,
                                           const std::vector<std::string>& overrides = {}) const {
    const auto scenario = load_text("[topology]\n" + keys, "x.toml", folder_, overrides);
    return scenario ? "loaded" : scenario.error().text();
  }
  [[nodiscard]] std::string here(const std::string& name) const {
    return (folder_ / name).string();
  }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     (std::string("trace_scenario_") +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
};

// Rank r is host r, unless another placement is asked for.
TEST_F(TraceScenario, BecomesOneJobOnConsecutiveHosts) {
  write("a.cm", "Nodes 3\nConnections 1\n0->2 start 5 size 1000\n");
  const Scenario s = loaded("file = \"a.cm\"\nstart_us = 2");
  EXPECT_EQ(s.workloads.front().kind, WorkloadKind::trace);
  EXPECT_EQ(name_of(s.workloads.front().kind), "trace");
  const workload::Workload work = make_workload(s, 7);
  EXPECT_TRUE(work.flows.empty());
  ASSERT_EQ(work.jobs.size(), 1u);
  const workload::Job& job = work.jobs.front();
  EXPECT_EQ(job.name, "a.cm");
  EXPECT_EQ(job.hosts, (std::vector<workload::HostId>{0, 1, 2}));
  EXPECT_EQ(job.starts, std::vector<Instant>(3, at(us(2))));
  EXPECT_EQ(job.graph->messages(), 1u);
  EXPECT_EQ(expected_flows(s), 0u);
  EXPECT_EQ(expected_messages(s), 1u);
  EXPECT_GT(memory_estimate(s), bytes(0));

  const Scenario striped = loaded("file = \"a.cm\"\nplacement = \"striped\"");
  EXPECT_EQ(make_workload(striped, 7).jobs.front().hosts, (std::vector<workload::HostId>{0, 4, 8}));
}

TEST_F(TraceScenario, LoadsAllExamples) {
  for (const char* name : {"relay4.cm", "pipeline3.goal", "step.0.et", "step.1.et"}) copy(name);
  EXPECT_EQ(loaded("file = \"relay4.cm\"").workloads.front().graph->ranks(), 4u);
  EXPECT_EQ(loaded("file = \"pipeline3.goal\"").workloads.front().graph->ranks(), 3u);
  EXPECT_EQ(loaded("file = \"step.{rank}.et\"").workloads.front().graph->ranks(), 2u);
}

// The text names the file; what was in it is part of what was run. It loads to the same again.
TEST_F(TraceScenario, ResolvedTextCarriesAFingerprint) {
  write("a.cm", "Nodes 3\nConnections 1\n0->2 start 5 size 1000\n");
  const std::string before = to_toml(loaded("file = \"a.cm\""));
  EXPECT_NE(before.find("\n# the trace: 3 ranks, 1 messages, fingerprint "), std::string::npos);
  EXPECT_NE(before.find("\nplacement = \"packed\"\n"), std::string::npos);
  const auto again = load_text(before, "x.toml", folder_);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_toml(again.value()), before);
  write("a.cm", "# as before\nNodes 3\nConnections 1\n0->2 start 5 size 1000\n");
  EXPECT_EQ(to_toml(loaded("file = \"a.cm\"")), before);
  write("a.cm", "Nodes 3\nConnections 1\n0->2 start 6 size 1000\n");
  EXPECT_NE(to_toml(loaded("file = \"a.cm\"")), before);
}

TEST_F(TraceScenario, UnitsOfTime) {
  write("a.cm", "Nodes 3\nConnections 1\n0->2 start 5 size 1000\n");
  const auto start = [&](const std::string& unit) {
    return loaded("file = \"a.cm\"\n" + unit).workloads.front().graph->timed().front().time;
  };
  EXPECT_EQ(start(""), ps(5));
  EXPECT_EQ(start("time_unit = \"ps\""), ps(5));
  EXPECT_EQ(start("time_unit = \"us\""), us(5));
  EXPECT_NE(to_toml(loaded("file = \"a.cm\"\ntime_unit = \"us\"")).find("\ntime_unit = \"us\"\n"),
            std::string::npos);

  write("a.goal", "num_ranks 1\nrank 0 {\na: calc 7\n}\n");
  const auto time = [&](const std::string& unit) {
    return loaded("file = \"a.goal\"\n" + unit).workloads.front().graph->node(0).amount;
  };
  EXPECT_EQ(time(""), 7'000);
  EXPECT_EQ(time("calc_unit_ns = 1000"), 7'000'000);
  EXPECT_EQ(time("calc_unit_ns = \"1 ps\""), 7);
}

TEST_F(TraceScenario, FormatByNameOrByKey) {
  write("a.txt", "num_ranks 1\nrank 0 {\na: calc 7\n}\n");
  EXPECT_EQ(loaded("file = \"a.txt\"\nformat = \"goal\"").workloads.front().graph->size(), 1u);
  EXPECT_EQ(error("file = \"a.txt\""),
            "x.toml:6: file is \"a.txt\", and its name does not say what it is. names end in .cm, "
            ".goal, .et or .json; for another say which, such as format = \"goal\"");
  EXPECT_EQ(error("file = \"a.txt\"\nformat = \"text\""),
            "x.toml:7: format is \"text\". a format is \"auto\", \"cm\", \"goal\" or \"chakra\"");
  EXPECT_EQ(error("file = \"a.txt\"\nformat = \"goal\"\ntime_unit = \"us\""),
            "x.toml:8: time_unit is \"us\", but the trace is goal. leave it out: it is for cm");
  EXPECT_EQ(error("file = \"a.cm\"\ncalc_unit_ns = 5"),
            "x.toml:7: calc_unit_ns is 5, but the trace is cm. leave it out: it is for goal");
  EXPECT_EQ(error("file = \"a.cm\"\ntime_unit = \"ns\""),
            "x.toml:7: time_unit is \"ns\". a unit is \"ps\" or \"us\"");
  EXPECT_EQ(error("file = \"a.cm\"\ncalc_unit_ns = 0"),
            "x.toml:7: calc_unit_ns is 0. it is a time from 1 ps to 1 s, such as calc_unit_ns = 1");
}

TEST_F(TraceScenario, MistakesAreExplained) {
  EXPECT_EQ(error(""),
            "x.toml:5: kind is \"trace\", but no file is named. say which, such as file = "
            "\"step.goal\"");
  EXPECT_EQ(error("file = \"no.cm\""), "x.toml:6: file is \"no.cm\": there is no such file");
  write("a.cm", "Nodes 3\nConnections 1\n0->2 start 5 sise 1000\n");
  EXPECT_EQ(error("file = \"a.cm\"").find(here("a.cm") + ":3: "), 0u) << error("file = \"a.cm\"");
  write("a.cm", "Nodes 17\nConnections 1\n0->2 start 5 size 1000\n");
  EXPECT_EQ(error("file = \"a.cm\""),
            "x.toml:6: \"a.cm\" has 17 ranks, each on a host of its own. there are 16 hosts: hosts "
            "= 20 would do");
  write("a.cm", "Nodes 3\nConnections 1\n0->2 start 5000 size 1000\n");
  EXPECT_EQ(error("file = \"a.cm\"\ntime_unit = \"us\"", {"run.end_ms=4"}),
            "x.toml:6: \"a.cm\" has a message that starts at 5 ms, but the run ends at 4 ms. set a "
            "later end_ms, or leave it out");
  EXPECT_EQ(error("file = \"a.cm\"\nsize = 5"),
            "x.toml:7: size is set, but kind is \"trace\". leave it out: it is for kind = "
            "permutation or incast or random or collective");
  write("a.et", "\x05xx");
  EXPECT_EQ(error("file = \"a.et\"").find(here("a.et") + ": byte "), 0u)
      << error("file = \"a.et\"");
}

TEST_F(TraceScenario, FilesOfAllRanks) {
  EXPECT_EQ(
      error("file = \"s.{rank}.et\""),
      "x.toml:6: file is \"s.{rank}.et\": there is no \"s.0.et\". {rank} stands for 0, 1, 2 and "
      "so on");
  EXPECT_EQ(error("file = \"none/s.{rank}.et\""),
            "x.toml:6: file is \"none/s.{rank}.et\": its folder cannot be read: No such file or "
            "directory");
  for (const char* name : {"s.0.et", "s.1.et", "s.3.et", "s.x.et", "s..et"}) write(name, "");
  EXPECT_EQ(
      error("file = \"s.{rank}.et\""),
      "x.toml:6: file is \"s.{rank}.et\": there are 3 such files, but no \"s.2.et\". ranks are "
      "numbered from 0 without a gap");
  write("s.02.et", "");
  const auto files = trace_files(folder_ / "s.{rank}.et");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files.value(), (std::vector<fs::path>{folder_ / "s.0.et", folder_ / "s.1.et",
                                                  folder_ / "s.02.et", folder_ / "s.3.et"}));
  write("s.2.et", "");
  EXPECT_NE(error("file = \"s.{rank}.et\"").find("rank 2 has two files"), std::string::npos);
  write("a.0.cm", "");
  write("a.1.cm", "");
  EXPECT_EQ(error("file = \"a.{rank}.cm\""),
            here("a.1.cm") +
                ": a second file. only Chakra's traces have a file for each rank, and this is cm");
}

// htsim's link n of a ToR or an aggregation switch is our uplink n of it.
TEST_F(TraceScenario, FailedLinks) {
  const auto with = [&](const std::string& failure) {
    write("a.cm", "Nodes 3\nConnections 1\nFailures 1\n0->2 start 5 size 1000\nfailure " + failure);
    return error("file = \"a.cm\"");
  };
  EXPECT_EQ(with("switch_type TOR switch_id 3 link_id 2"), "loaded");
  const Scenario s = loaded("file = \"a.cm\"");
  ASSERT_EQ(s.config.failures.failures.size(), 1u);
  const Failure& failure = s.config.failures.failures.front();
  EXPECT_EQ(failure.link->tier, LinkRef::Tier::fabric);
  EXPECT_EQ(failure.link->lower, 3u);
  EXPECT_EQ(failure.link->upper, 2u);
  EXPECT_EQ(failure.from, Instant{});
  EXPECT_EQ(failure.until, Instant::never());
  EXPECT_NE(to_toml(s).find("\n# failed by the trace: rack 3, uplink 2\n"), std::string::npos);
  const auto again = load_text(to_toml(s), "x.toml", folder_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again.value().config.failures.failures.size(), 1u);

  EXPECT_EQ(
      with("switch_type TOR switch_id 4 link_id 2"),
      here("a.cm") + ":5: switch_id is 4. the network has 4 TOR switches, so it is from 0 to 3");
  EXPECT_EQ(with("switch_type TOR switch_id 0 link_id 4"),
            here("a.cm") +
                ":5: link_id is 4. it is an uplink of the switch, and a TOR has 4: from 0 to 3");
  EXPECT_EQ(with("switch_type AGG switch_id 0 link_id 0"),
            here("a.cm") +
                ":5: a failed link of an AGG switch. a link is known here by the switch below it: "
                "name a TOR, or leave the line out and write [[failure]] in the scenario");

  const std::vector<std::string> three{"topology.tiers=3", "topology.racks_per_pod=2"};
  const Scenario pods = loaded("file = \"a.cm\"", three);
  EXPECT_EQ(pods.config.failures.failures.front().link->tier, LinkRef::Tier::core);
  EXPECT_NE(to_toml(pods).find("\n# failed by the trace: agg 0, uplink 0\n"), std::string::npos);
  EXPECT_EQ(with("switch_type CORE switch_id 0 link_id 0")
                .find(here("a.cm") + ":5: a failed link of "
                                     "a core switch."),
            0u);
}

TEST_F(TraceScenario, NotesOfTheReaderAreKept) {
  copy("relay4.cm");
  EXPECT_EQ(loaded("file = \"relay4.cm\"").notes,
            std::vector<std::string>{"1 priority is ignored"});
}

// --- topology.file

TEST_F(TraceScenario, TopologyOfTwoTiers) {
  copy("leaf-spine-32.topo");
  const auto s = load_text("[topology]\nfile = \"leaf-spine-32.topo\"", "x.toml", folder_);
  ASSERT_TRUE(s) << s.error().text();
  const TopologyParams& t = s.value().config.topology;
  EXPECT_EQ(t.tiers, 2);
  EXPECT_EQ(t.racks, 4u);
  EXPECT_EQ(t.hosts_per_rack, 8u);
  EXPECT_EQ(t.spines, 2u);
  EXPECT_EQ(t.links_per_spine, 2u);
  EXPECT_EQ(t.host_rate, gbps(400));
  EXPECT_EQ(t.host_latency, ns(1'250));
  EXPECT_EQ(t.fabric_latency, ns(1'500));
  EXPECT_EQ(s.value().oversubscription, (Ratio{2, 1}));
  EXPECT_EQ(s.value().config.switches.queue_limit, mb(1));
  // The resolved scenario needs no file beside it.
  EXPECT_EQ(to_toml(s.value()).find("file"), std::string::npos);
  const auto again = load_text(to_toml(s.value()), "x.toml", "no-such-folder");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_toml(again.value()), to_toml(s.value()));
}

TEST_F(TraceScenario, TopologyOfThreeTiers) {
  copy("pods-64.topo");
  const auto s = load_text("[topology]\nfile = \"pods-64.topo\"", "x.toml", folder_);
  ASSERT_TRUE(s) << s.error().text();
  const TopologyParams& t = s.value().config.topology;
  EXPECT_EQ(t.tiers, 3);
  EXPECT_EQ(t.racks, 16u);
  EXPECT_EQ(t.racks_per_pod, 4u);
  EXPECT_EQ(t.aggs_per_pod, 4u);
  EXPECT_EQ(t.cores_per_agg, 4u);
  EXPECT_EQ(t.core_rate, gbps(100));
  EXPECT_EQ(t.core_latency, us(2));
}

TEST_F(TraceScenario, TopologyAndKeysMustAgree) {
  copy("leaf-spine-32.topo");
  const std::string file = "file = \"leaf-spine-32.topo\"\n";
  EXPECT_EQ(topology_error(file + "hosts = 32\nhost_gbps = 400\nfabric_latency_ns = 1500"),
            "loaded");
  EXPECT_EQ(topology_error(file + "hosts = 64"),
            "x.toml:3: hosts is 64, but \"leaf-spine-32.topo\" makes it 32. leave one of the two "
            "out");
  EXPECT_EQ(
      topology_error("tiers = 3\n" + file),
      "x.toml:3: tiers is 3, but \"leaf-spine-32.topo\" makes it 2. leave one of the two out");
  EXPECT_EQ(topology_error(file + "fabric_gbps = 100"),
            "x.toml:3: fabric_gbps is 100, but \"leaf-spine-32.topo\" makes it \"400 Gb/s\". leave "
            "one of the two out");
  EXPECT_EQ(
      topology_error(file + "link_gbps = 400"),
      "x.toml:3: link_gbps is 400, but \"leaf-spine-32.topo\" has rates of its own. leave one "
      "of the two out");
  EXPECT_EQ(
      topology_error(file + "base_rtt_us = 8"),
      "x.toml:3: base_rtt_us is 8, but \"leaf-spine-32.topo\" has latencies of its own. leave "
      "one of the two out");
  EXPECT_EQ(topology_error(file + "oversubscription = 4"),
            "x.toml:3: oversubscription is 4, but 2 spines make it 2:1. leave one of the two out");
  EXPECT_EQ(topology_error(file, {"switch.queue_limit=1 BDP"}),
            "--set switch.queue_limit: queue_limit is \"1 BDP\", but \"leaf-spine-32.topo\" makes "
            "it 1000000. leave one "
            "of the two out");
  EXPECT_EQ(topology_error(file, {"switch.queue_limit=1MB"}), "loaded");
}

TEST_F(TraceScenario, MistakesInATopologyAreExplained) {
  EXPECT_EQ(topology_error("file = \"no.topo\""),
            "x.toml:2: file is \"no.topo\": there is no such file");
  write("a.topo", "Nodes 32\nTears 2\n");
  EXPECT_EQ(topology_error("file = \"a.topo\"").find(here("a.topo") + ":2: "), 0u);
}

// --- switch.control_priority

// Lossless switches keep control packets in a class of their own, whatever is asked for.
TEST_F(TraceScenario, ControlPriorityIsNoChoiceWithPfc) {
  const auto asked = [](const std::string& text, const std::vector<std::string>& overrides = {}) {
    const auto scenario = load_text(text, "x.toml", {}, overrides);
    return scenario ? "loaded" : scenario.error().text();
  };
  const std::string remedy =
      ". a lossless switch has a class of its own for control packets: leave control_priority out, "
      "or set enabled = false in [pfc]";
  EXPECT_EQ(asked("[switch]\ncontrol_priority = false"), "loaded");
  EXPECT_EQ(asked("[switch]\ncontrol_priority = false\n[pfc]\nenabled = true"),
            "x.toml:4: control_priority is false, but PFC is enabled" + remedy);
  EXPECT_EQ(asked("[switch]\ncontrol_priority = false", {"transport.scheme=rocev2"}),
            "--set transport.scheme: control_priority is false, but PFC is enabled, as the scheme "
            "rocev2 asks" +
                remedy);
  EXPECT_EQ(asked("[pfc]\nenabled = false\n[switch]\ncontrol_priority = false",
                  {"transport.scheme=rocev2"}),
            "loaded");
}

// A trace that is named in the place of a scenario is one, on a network that has room for it.
TEST_F(TraceScenario, ATraceIsAScenario) {
  write("a.cm", "Nodes 40\nConnections 1\n0->39 start 5 size 1000\n");
  const auto loaded_trace = sim::load(folder_ / "a.cm");
  ASSERT_TRUE(loaded_trace) << loaded_trace.error().text();
  EXPECT_EQ(loaded_trace.value().name, "a");
  EXPECT_EQ(loaded_trace.value().config.topology.racks, 3u);
  EXPECT_EQ(loaded_trace.value().config.topology.hosts_per_rack, 16u);
  EXPECT_TRUE(loaded_trace.value().config.record.messages);
  const auto smaller =
      sim::load(folder_ / "a.cm", {"topology.hosts=20", "topology.hosts_per_rack=10"});
  ASSERT_FALSE(smaller);
  EXPECT_NE(smaller.error().message.find("has 40 ranks"), std::string::npos);
  const auto off = sim::load(folder_ / "a.cm", {"record.messages=off"});
  ASSERT_TRUE(off);
  EXPECT_FALSE(off.value().config.record.messages);
  EXPECT_EQ(sim::load(folder_ / "b.goal").error().message, "there is no such file");
}

}  // namespace
}  // namespace strack::sim
