#include "metrics/result_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "metrics/memory_result.h"
#include "metrics/summary.h"

namespace strack::metrics {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A folder of its own for each test, gone afterwards.
class ResultFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "strack_result_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "run.db";
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::size_t files_in_folder() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++count;
    return count;
  }
  void write(std::string_view text) const { std::ofstream(path_) << text; }

  fs::path folder_;
  fs::path path_;
};

RunInfo some_run() {
  RunInfo run;
  run.name = "perm";
  run.scheme = "adaptive";
  run.scenario = "name = \"perm\"\n# it's \xce\xbcs\n";
  run.seed = 0xfedcba9876543210;
  run.threads = 2;
  run.version = "0.1.0";
  run.commit = "1b205e9";
  run.source = "0011223344ff";
  run.hosts = 8192;
  run.links = 32768;
  run.switches = 192;
  run.flows = 3;
  run.jobs = 4;
  run.bytes = mb(48);
  run.mtu = bytes(4096);
  run.pfc = true;
  run.host_rate = gbps(400);
  run.base_rtt = ps(8'000'001);
  run.bdp = bytes(400'000);
  run.ideal_fct = ps(333'000'000);
  run.settings = {{"topology.hosts", "8192", std::nullopt, "default"},
                  {"workload.size", "2 MB", 2'000'000, "given"}};
  return run;
}

FlowRecord flow(std::uint32_t number, Instant end) {
  FlowRecord record;
  record.flow = number;
  record.src = number + 1;
  record.dst = number + 2;
  record.size = mb(16);
  record.start = at(us(1));
  record.delivered = end;
  record.end = end;
  record.packets = 4000;
  record.retransmissions = 3;
  record.probes = 2;
  record.timeouts = 1;
  record.path_changes = 3999;
  record.cnps = 40;
  record.naks = 5;
  record.victim_packets = 6;
  return record;
}

JobRecord job(std::uint32_t number, Instant end) {
  JobRecord record;
  record.job = number;
  record.name = "allreduce-ring";
  record.ranks = 32;
  record.messages = 1'984;
  record.bytes = mb(1'984);
  record.start = end == Instant::never() ? end : at(us(2));
  record.end = end;
  record.ideal = us(123);
  return record;
}

Counters some_counters() {
  Counters c;
  c.data_packets_sent = 1;
  c.data_packets_delivered = 2;
  c.control_packets_sent = 3;
  c.retransmissions = 4;
  c.probes = 5;
  c.timeouts = 6;
  c.marks = 7;
  c.queue_drops = 8;
  c.failure_drops = 9;
  c.error_drops = 10;
  c.no_route_drops = 11;
  c.packet_hops = 12;
  c.windows = 13;
  c.deepest_queue = bytes(14);
  c.cnps = 15;
  c.naks = 16;
  c.pause_frames = 17;
  c.paused = ps(18);
  c.ports_paused = 19;
  c.lossless_violations = 20;
  c.victim_packets = 21;
  c.victim_flows = 22;
  c.pause_loops = 23;
  c.trims = 25;
  c.buffer_max = bytes(24);
  c.hash = 0x0123456789abcdef;
  return c;
}

/// With everything a row can have, and with nothing it need not.
FlowEvent whole_event() {
  FlowEvent event;
  event.time = at(us(9));
  event.flow = 2;
  event.kind = EventKind::loss;
  event.psn = 17;
  event.path = 255;
  event.ecn = true;
  event.rtt = us(8);
  event.acked = bytes(4096);
  event.cwnd = kb(400);
  event.inflight = kb(300);
  event.rate = gbps(123);
  event.cause = LossCause::timeout;
  return event;
}
FlowEvent bare_event() {
  FlowEvent event;
  event.time = at(us(10));
  event.flow = 1;
  event.kind = EventKind::cnp;
  return event;
}
void expect_same(const FlowEvent& a, const FlowEvent& b) {
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.flow, b.flow);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.psn, b.psn);
  EXPECT_EQ(a.path, b.path);
  EXPECT_EQ(a.ecn, b.ecn);
  EXPECT_EQ(a.rtt, b.rtt);
  EXPECT_EQ(a.acked, b.acked);
  EXPECT_EQ(a.cwnd, b.cwnd);
  EXPECT_EQ(a.inflight, b.inflight);
  EXPECT_EQ(a.rate, b.rate);
  EXPECT_EQ(a.cause, b.cause);
}

std::shared_ptr<ResultWriter> create(const fs::path& path, const WriterOptions& options = {}) {
  const auto writer = ResultWriter::create(path, some_run(), options);
  EXPECT_TRUE(writer) << writer.error().message;
  return writer.value();
}

std::string refusal(const fs::path& path, const WriterOptions& options = {}) {
  const auto writer = ResultWriter::create(path, some_run(), options);
  EXPECT_FALSE(writer);
  return writer ? "" : writer.error().message;
}

std::string cannot_read(const fs::path& path) {
  const auto reader = ResultReader::open(path);
  EXPECT_FALSE(reader);
  return reader ? "" : reader.error().message;
}

/// A row or two of each kind, and the ending.
void fill(ResultWriter& writer) {
  writer.add(LinkInfo{7, "host 3", "tor 0", gbps(400), ns(500), true});
  writer.add(LinkInfo{8, "tor 0", "spine 1", gbps(400), ns(500), false});
  writer.add(ChannelInfo{5, 1, 2, 3});
  writer.add(whole_event());
  writer.add(bare_event());
  writer.add(flow(2, at(us(400))));
  writer.add(flow(0, Instant::never()));
  writer.add(job(1, at(us(300))));
  writer.add(job(0, Instant::never()));
  LinkSample link;
  link.time = at(us(10));
  link.link = 7;
  link.carried = kb(500);
  link.arrived = kb(600);
  link.queue_max = kb(40);
  link.qdelay_max = ns(800);
  link.marks = 5;
  link.drops = 6;
  link.paused = ns(70);
  link.pause_frames = 8;
  writer.add(link);
  FlowSample sample;
  sample.time = at(us(10));
  sample.flow = 2;
  sample.cwnd = kb(400);
  sample.rtt = us(9);
  sample.avg_qdelay = ns(100);
  sample.acked = kb(300);
  sample.ecn_marks = 4;
  sample.rate = mbps(123'456);
  sample.cnps = 3;
  writer.add(sample);
  EXPECT_FALSE(writer.finish(RunStatus::finished, at(us(401)), some_counters(), 1.5, 2.5));
}

/// That everything of it is in the file, to the last bit.
void expect_filled(const fs::path& path) {
  const auto opened = ResultReader::open(path);
  ASSERT_TRUE(opened) << opened.error().message;
  ResultReader& reader = *opened.value();
  const RunInfo wanted = some_run();
  EXPECT_EQ(reader.run().name, wanted.name);
  EXPECT_EQ(reader.run().scheme, wanted.scheme);
  EXPECT_EQ(reader.run().scenario, wanted.scenario);
  EXPECT_EQ(reader.run().seed, wanted.seed);
  EXPECT_EQ(reader.run().threads, wanted.threads);
  EXPECT_EQ(reader.run().version, wanted.version);
  EXPECT_EQ(reader.run().commit, wanted.commit);
  EXPECT_EQ(reader.run().source, wanted.source);
  EXPECT_EQ(reader.run().hosts, wanted.hosts);
  EXPECT_EQ(reader.run().links, wanted.links);
  EXPECT_EQ(reader.run().switches, wanted.switches);
  EXPECT_EQ(reader.run().flows, wanted.flows);
  EXPECT_EQ(reader.run().jobs, wanted.jobs);
  EXPECT_EQ(reader.run().bytes, wanted.bytes);
  EXPECT_EQ(reader.run().mtu, wanted.mtu);
  EXPECT_EQ(reader.run().pfc, wanted.pfc);
  EXPECT_EQ(reader.run().host_rate, wanted.host_rate);
  EXPECT_EQ(reader.run().base_rtt, wanted.base_rtt);
  EXPECT_EQ(reader.run().bdp, wanted.bdp);
  EXPECT_EQ(reader.run().ideal_fct, wanted.ideal_fct);
  EXPECT_EQ(reader.run().settings, wanted.settings);
  EXPECT_EQ(reader.state().status, RunStatus::finished);
  EXPECT_TRUE(reader.state().complete());
  EXPECT_FALSE(reader.state().live);
  EXPECT_EQ(reader.state().now, at(us(401)));
  EXPECT_EQ(reader.state().wall_seconds, 1.5);
  EXPECT_EQ(reader.state().cpu_seconds, 2.5);
  EXPECT_EQ(reader.state().hash, "0123456789abcdef");
  EXPECT_EQ(reader.state().finished_at.size(), std::string("2026-01-02T03:04:05.678Z").size());

  const auto flows = reader.flows();
  ASSERT_TRUE(flows);
  ASSERT_EQ(flows.value().size(), 2u);
  EXPECT_EQ(flows.value()[0].end, Instant::never());
  EXPECT_EQ(flows.value()[0].delivered, Instant::never());
  const FlowRecord& done = flows.value()[1];
  EXPECT_EQ(done.flow, 2u);
  EXPECT_EQ(done.src, 3u);
  EXPECT_EQ(done.dst, 4u);
  EXPECT_EQ(done.size, mb(16));
  EXPECT_EQ(done.start, at(us(1)));
  EXPECT_EQ(done.delivered, at(us(400)));
  EXPECT_EQ(done.end, at(us(400)));
  EXPECT_EQ(done.packets, 4000u);
  EXPECT_EQ(done.retransmissions, 3u);
  EXPECT_EQ(done.probes, 2u);
  EXPECT_EQ(done.timeouts, 1u);
  EXPECT_EQ(done.path_changes, 3999u);
  EXPECT_EQ(done.cnps, 40u);
  EXPECT_EQ(done.naks, 5u);
  EXPECT_EQ(done.victim_packets, 6u);

  const auto jobs = reader.jobs();
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs.value().size(), 2u);
  EXPECT_EQ(jobs.value()[0].job, 0u);
  EXPECT_EQ(jobs.value()[0].start, Instant::never());
  EXPECT_EQ(jobs.value()[0].end, Instant::never());
  EXPECT_EQ(jobs.value()[1].job, 1u);
  EXPECT_EQ(jobs.value()[1].name, "allreduce-ring");
  EXPECT_EQ(jobs.value()[1].ranks, 32u);
  EXPECT_EQ(jobs.value()[1].messages, 1'984u);
  EXPECT_EQ(jobs.value()[1].bytes, mb(1'984));
  EXPECT_EQ(jobs.value()[1].start, at(us(2)));
  EXPECT_EQ(jobs.value()[1].end, at(us(300)));
  EXPECT_EQ(jobs.value()[1].ideal, us(123));

  const auto counters = reader.counters();
  ASSERT_TRUE(counters);
  const Counters& c = counters.value();
  EXPECT_EQ(c.data_packets_sent, 1u);
  EXPECT_EQ(c.data_packets_delivered, 2u);
  EXPECT_EQ(c.control_packets_sent, 3u);
  EXPECT_EQ(c.retransmissions, 4u);
  EXPECT_EQ(c.probes, 5u);
  EXPECT_EQ(c.timeouts, 6u);
  EXPECT_EQ(c.marks, 7u);
  EXPECT_EQ(c.queue_drops, 8u);
  EXPECT_EQ(c.trims, 25u);
  EXPECT_EQ(c.failure_drops, 9u);
  EXPECT_EQ(c.error_drops, 10u);
  EXPECT_EQ(c.no_route_drops, 11u);
  EXPECT_EQ(c.packet_hops, 12u);
  EXPECT_EQ(c.windows, 13u);
  EXPECT_EQ(c.deepest_queue, bytes(14));
  EXPECT_EQ(c.cnps, 15u);
  EXPECT_EQ(c.naks, 16u);
  EXPECT_EQ(c.pause_frames, 17u);
  EXPECT_EQ(c.paused, ps(18));
  EXPECT_EQ(c.ports_paused, 19u);
  EXPECT_EQ(c.lossless_violations, 20u);
  EXPECT_EQ(c.victim_packets, 21u);
  EXPECT_EQ(c.victim_flows, 22u);
  EXPECT_EQ(c.pause_loops, 23u);
  EXPECT_EQ(c.buffer_max, bytes(24));
  EXPECT_EQ(c.hash, 0x0123456789abcdefu);

  const auto links = reader.links();
  ASSERT_TRUE(links);
  ASSERT_EQ(links.value().size(), 2u);
  EXPECT_EQ(links.value()[0].link, 7u);
  EXPECT_EQ(links.value()[0].from, "host 3");
  EXPECT_EQ(links.value()[0].to, "tor 0");
  EXPECT_EQ(links.value()[0].rate, gbps(400));
  EXPECT_EQ(links.value()[0].latency, ns(500));
  EXPECT_TRUE(links.value()[0].down);
  EXPECT_FALSE(links.value()[1].down);

  const auto channels = reader.channels();
  ASSERT_TRUE(channels);
  ASSERT_EQ(channels.value().size(), 1u);
  EXPECT_EQ(channels.value()[0].flow, 5u);
  EXPECT_EQ(channels.value()[0].job, 1u);
  EXPECT_EQ(channels.value()[0].src, 2u);
  EXPECT_EQ(channels.value()[0].dst, 3u);

  std::vector<FlowEvent> events;
  EXPECT_FALSE(reader.for_each([&](const FlowEvent& e) { events.push_back(e); }));
  ASSERT_EQ(events.size(), 2u);
  expect_same(events[0], whole_event());
  expect_same(events[1], bare_event());

  int link_samples = 0;
  EXPECT_FALSE(reader.for_each([&](const LinkSample& s) {
    ++link_samples;
    EXPECT_EQ(s.time, at(us(10)));
    EXPECT_EQ(s.link, 7u);
    EXPECT_EQ(s.carried, kb(500));
    EXPECT_EQ(s.arrived, kb(600));
    EXPECT_EQ(s.queue_max, kb(40));
    EXPECT_EQ(s.qdelay_max, ns(800));
    EXPECT_EQ(s.marks, 5u);
    EXPECT_EQ(s.drops, 6u);
    EXPECT_EQ(s.paused, ns(70));
    EXPECT_EQ(s.pause_frames, 8u);
  }));
  EXPECT_EQ(link_samples, 1);
  int flow_samples = 0;
  EXPECT_FALSE(reader.for_each([&](const FlowSample& s) {
    ++flow_samples;
    EXPECT_EQ(s.time, at(us(10)));
    EXPECT_EQ(s.flow, 2u);
    EXPECT_EQ(s.cwnd, kb(400));
    EXPECT_EQ(s.rtt, us(9));
    EXPECT_EQ(s.avg_qdelay, ns(100));
    EXPECT_EQ(s.acked, kb(300));
    EXPECT_EQ(s.ecn_marks, 4u);
    EXPECT_EQ(s.rate, mbps(123'456));
    EXPECT_EQ(s.cnps, 3u);
  }));
  EXPECT_EQ(flow_samples, 1);
}

// Everything that goes in comes out, and one file is all that is left.
TEST_F(ResultFile, HoldsARun) {
  fill(*create(path_));
  EXPECT_EQ(files_in_folder(), 1u);
  expect_filled(path_);
}

// [D127] A run in memory has no file, until it is asked for: then that of any other.
TEST_F(ResultFile, CanBeWrittenOfARunInMemory) {
  const auto writer = create(path_, {.memory = 1'000'000});
  fill(*writer);
  EXPECT_EQ(files_in_folder(), 0u);
  const auto kept = writer->in_memory();
  ASSERT_NE(kept, nullptr);
  const Summary before = summarise(*kept);
  EXPECT_FALSE(kept->write(path_, false));
  EXPECT_EQ(files_in_folder(), 1u);
  expect_filled(path_);
  const auto after = summarise(path_);
  ASSERT_TRUE(after);
  EXPECT_EQ(before.max_fct, after.value().max_fct);
  EXPECT_EQ(before.jobs.max_time, after.value().jobs.max_time);
  EXPECT_EQ(before.state.started_at, after.value().state.started_at);
  EXPECT_EQ(before.state.finished_at, after.value().state.finished_at);
  EXPECT_EQ(before.state.hash, after.value().state.hash);
  EXPECT_THAT(kept->write(path_, false)->message, HasSubstr("exists already"));
}

// [D127] Columns are as the file would give them: rows by their number, times that never came marked.
TEST_F(ResultFile, OfARunInMemoryHasColumns) {
  const auto writer = create(path_, {.memory = 1'000'000});
  fill(*writer);
  std::map<std::string_view, std::map<std::string_view, ColumnView>> tables;
  for (const TableView& table : writer->in_memory()->tables()) {
    for (const ColumnView& column : table.columns) tables[table.name][column.name] = column;
  }
  using testing::ElementsAre;
  EXPECT_THAT(tables["flows"]["flow"].numbers, ElementsAre(0, 2));
  EXPECT_THAT(tables["flows"]["end_ps"].missing, ElementsAre(1, 0));
  EXPECT_THAT(tables["flows"]["end_ps"].numbers, ElementsAre(0, 400'000'000));
  EXPECT_TRUE(tables["flows"]["end_ps"].optional);
  EXPECT_FALSE(tables["flows"]["start_ps"].optional);
  EXPECT_TRUE(tables["flows"]["start_ps"].missing.empty());
  EXPECT_THAT(tables["jobs"]["job"].numbers, ElementsAre(0, 1));
  EXPECT_THAT(tables["jobs"]["name"].texts, ElementsAre("allreduce-ring", "allreduce-ring"));
  EXPECT_THAT(tables["links"]["from_node"].texts, ElementsAre("host 3", "tor 0"));
  EXPECT_THAT(tables["links"]["down"].numbers, ElementsAre(1, 0));
  EXPECT_THAT(tables["flow_events"]["cause"].missing, ElementsAre(0, 1));
  EXPECT_THAT(tables["settings"]["amount"].missing, ElementsAre(1, 0));
  EXPECT_EQ(tables["counters"]["name"].texts.front(), "acked_bytes");
}

// [D127] What is more than may be kept in memory goes to the file, with what was there before.
TEST_F(ResultFile, TakesWhatIsTooMuchForMemory) {
  for (const std::int64_t memory : {1, 300, 700}) {
    auto writer = create(path_, {.force = true, .memory = memory});
    fill(*writer);
    EXPECT_EQ(writer->in_memory(), nullptr);
    writer.reset();
    EXPECT_EQ(files_in_folder(), 1u);
    expect_filled(path_);
  }
  write("of somebody");
  const auto writer = create(path_, {.memory = 1});
  writer->add(flow(0, at(us(400))));
  ASSERT_TRUE(writer->error());
  EXPECT_THAT(writer->error()->message, HasSubstr("exists already"));
}

// What only one transport counts has rows of its own, by name; a reader needs not know the transport.
TEST_F(ResultFile, KeepsATransportsOwnCounters) {
  Counters counters = some_counters();
  counters.own = {{"credits", 0}, {"pulls", 7}};
  {
    auto writer = create(path_);
    EXPECT_FALSE(writer->finish(RunStatus::finished, at(us(1)), counters, 0, 0));
  }
  const auto reader = ResultReader::open(path_);
  ASSERT_TRUE(reader);
  const auto read = reader.value()->counters();
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().own, counters.own);
  EXPECT_EQ(read.value().timeouts, counters.timeouts);
}

TEST(EventNames, AreWhatTheFileSays) {
  EXPECT_EQ(to_text(EventKind::sent), "sent");
  EXPECT_EQ(to_text(EventKind::ack), "ack");
  EXPECT_EQ(to_text(EventKind::resent), "resent");
  EXPECT_EQ(to_text(EventKind::loss), "loss");
  EXPECT_EQ(to_text(EventKind::probe), "probe");
  EXPECT_EQ(to_text(EventKind::probe_ack), "probe_ack");
  EXPECT_EQ(to_text(EventKind::nak), "nak");
  EXPECT_EQ(to_text(EventKind::cnp), "cnp");
  EXPECT_EQ(to_text(static_cast<EventKind>(8)), "unknown");
  EXPECT_EQ(to_text(LossCause::out_of_order), "out_of_order");
  EXPECT_EQ(to_text(LossCause::probe), "probe");
  EXPECT_EQ(to_text(LossCause::timeout), "timeout");
  EXPECT_EQ(to_text(LossCause::nak), "nak");
  EXPECT_EQ(to_text(static_cast<LossCause>(4)), "unknown");
}

TEST_F(ResultFile, Create_MakesItsFolder) {
  create(folder_ / "a" / "b" / "run.db");
  EXPECT_TRUE(fs::exists(folder_ / "a" / "b" / "run.db"));
}

// What jobs compute and exchange is summed up by workload and kind; a job that did not end, or of no workload, is
// left out, and so is what a trace's times make longer than the job was.
TEST_F(ResultFile, Summarise_CommunicationsAndComputations) {
  RunInfo run = some_run();
  run.workloads.resize(2);
  run.workloads[0].name = "a";
  run.workloads[0].jobs = 2;
  run.workloads[1].workload = 1;
  run.workloads[1].name = "b";
  run.workloads[1].first_job = 2;
  run.workloads[1].jobs = 1;
  {
    const auto made = ResultWriter::create(path_, run, {});
    ASSERT_TRUE(made) << made.error().message;
    ResultWriter& writer = *made.value();
    for (std::uint32_t number = 0; number < 3; ++number) {
      JobRecord one = job(number, at(us(100 + 10 * number)));
      one.start = at(us(0));
      writer.add(one);
      writer.add(ComputationInfo{number, number == 2 ? us(500) : us(40)});
    }
    const auto exchange = [&](std::uint32_t number, std::string name, int begin, int end) {
      writer.add(CommunicationRecord{number, std::move(name), 4 + number, kb(10), at(us(begin - 2)),
                                     at(us(begin)), at(us(end))});
    };
    exchange(0, "gradients", 10, 20);
    exchange(1, "gradients", 10, 40);
    exchange(1, "activations", 50, 55);
    exchange(7, "gradients", 10, 20);  // of no workload
    EXPECT_FALSE(writer.finish(RunStatus::finished, at(us(401)), {}, 0, 0));
  }
  const auto summary = summarise(path_);
  ASSERT_TRUE(summary) << summary.error().message;
  const auto& kinds = summary.value().communications;
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].name, "gradients");
  EXPECT_EQ(kinds[0].count, 2u);
  EXPECT_EQ(kinds[0].ranks, 5u);
  EXPECT_EQ(kinds[0].bytes, kb(20));
  EXPECT_EQ(kinds[0].mean_time, us(20));
  EXPECT_EQ(kinds[0].max_time, us(30));
  EXPECT_EQ(kinds[0].mean_wait, us(2));
  EXPECT_EQ(kinds[1].name, "activations");
  ASSERT_EQ(summary.value().exposed.size(), 1u);  // of the first workload, its slower job
  EXPECT_EQ(summary.value().exposed[0].time, us(110));
  EXPECT_EQ(summary.value().exposed[0].exposed(), us(70));
}

TEST_F(ResultFile, Create_LeavesAnExistingFileAlone) {
  write("precious");
  EXPECT_EQ(refusal(path_),
            path_.string() + ": exists already. choose another --out, or --force to replace it");
  std::string text;
  std::getline(std::ifstream(path_), text);
  EXPECT_EQ(text, "precious");
}

// Nor for devices and pipes.
TEST_F(ResultFile, Create_ForceLeavesWhatIsNoFileAlone) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal(path_, {.force = true}),
            path_.string() + ": is not a plain file. choose another --out");
  EXPECT_TRUE(fs::is_fifo(path_));
}

// --force is for old results, not for the scenario file that somebody named by mistake.
TEST_F(ResultFile, Create_ForceReplacesOnlyResults) {
  write("precious");
  EXPECT_THAT(refusal(path_, {.force = true}), HasSubstr("is not a result file of strack"));
  write(std::string(5000, 'x'));
  EXPECT_THAT(refusal(path_, {.force = true}), HasSubstr("is not a result file of strack"));
  EXPECT_EQ(fs::file_size(path_), 5000u);

  fs::remove(path_);
  create(path_)->add(flow(0, at(us(5))));
  {
    auto writer = create(path_, {.force = true});
    EXPECT_FALSE(writer->finish(RunStatus::finished, at(us(1)), {}, 0, 0));
  }
  const auto reader = ResultReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader.value()->flows().value().empty());
  write("");
  create(path_, {.force = true});
}

TEST_F(ResultFile, Create_RefusesAFileInUse) {
  const auto writer = create(path_);
  EXPECT_THAT(refusal(path_, {.force = true}), HasSubstr("another run is writing it"));
}

TEST_F(ResultFile, Create_RefusesAFolder) {
  EXPECT_EQ(refusal(folder_), folder_.string() +
                                  ": is a folder. name a file in it, such as --out " +
                                  (folder_ / "results.db").string());
}

TEST_F(ResultFile, Create_SaysWhenAFileIsInTheWayOfTheFolder) {
  write("a file");
  EXPECT_THAT(refusal(path_ / "run.db"), HasSubstr("its folder cannot be made: Not a directory"));
}

TEST_F(ResultFile, Create_SaysWhenTheFolderCannotBeWritten) {
  // /proc refuses everybody, root too.
  EXPECT_THAT(refusal("/proc/run.db"), HasSubstr("/proc/run.db: "));
  EXPECT_THAT(refusal("/proc/run.db"), HasSubstr(". choose another --out"));
}

// A full disk stops the writing, not the program; what was committed stays readable and says so.
TEST_F(ResultFile, DiskFull_IsSaidOnceAndLeavesAReadableFile) {
  {
    auto writer = create(path_, {.max_pages = 40});
    for (std::uint32_t i = 0; i < 200'000 && !writer->error(); ++i) writer->add(flow(i, at(us(5))));
    ASSERT_TRUE(writer->error());
    EXPECT_EQ(writer->error()->message,
              path_.string() + ": the disk is full. free some space or choose another --out");
    writer->add(flow(999'999, at(us(5))));
    writer->tick(at(us(6)));
    const auto error = writer->finish(RunStatus::interrupted, at(us(7)), some_counters(), 1, 1);
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message, HasSubstr("the disk is full"));
  }
  const auto reader = ResultReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader.value()->state().status, RunStatus::disk_full);
  EXPECT_FALSE(reader.value()->state().complete());
  EXPECT_TRUE(reader.value()->flows());
}

// [D126] On a disk that is really full, too: room was kept for the word. What is asked for first finds the log full.
TEST_F(ResultFile, DiskFull_TheLastWordHasRoom) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A file that may not grow is like a disk that is full, for this process alone.
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 300'000;
    signal(SIGXFSZ, SIG_IGN);
    auto writer = create(path_);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    for (std::uint32_t i = 0; i < 200'000 && !writer->error(); ++i) {
      writer->add(flow(i, at(us(5))));
      if (i % 100 == 0) writer->commit(at(us(6)));
    }
    if (!writer->error()) _exit(3);
    _exit(writer->finish(RunStatus::interrupted, at(us(7)), some_counters(), 1, 1) ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);
  const auto reader = ResultReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader.value()->state().status, RunStatus::disk_full);
}

// Without finish() the file stays marked, and is nobody's.
TEST_F(ResultFile, Abandoned_StaysMarkedAsRunning) {
  create(path_)->add(flow(0, at(us(5))));
  const auto reader = ResultReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader.value()->state().status, RunStatus::running);
  EXPECT_FALSE(reader.value()->state().complete());
  EXPECT_FALSE(reader.value()->state().live);
  EXPECT_EQ(reader.value()->flows().value().size(), 1u);
  EXPECT_EQ(reader.value()->counters().value().marks, 0u);
}

/// Starts a process that writes until it is killed, and waits for its first `rows` to be committed.
pid_t start_writer(const fs::path& path, std::size_t rows) {
  const pid_t child = fork();
  if (child == 0) {
    auto writer = ResultWriter::create(path, some_run());
    for (std::uint32_t i = 0; writer; ++i) {
      writer.value()->add(flow(i, at(us(5))));
      writer.value()->tick(at(us(i)));
      if (i % 64 == 0) usleep(1'000);
    }
    _exit(1);
  }
  for (int i = 0; i < 1'000; ++i) {
    usleep(10'000);
    const auto reader = ResultReader::open(path);
    if (!reader) continue;
    const auto flows = reader.value()->flows();
    if (flows && flows.value().size() >= rows) break;
  }
  return child;
}

// A run can be looked at while it goes on: by a process that does not disturb it.
TEST_F(ResultFile, Live_IsReadableAndRecognised) {
  const pid_t child = start_writer(path_, 1);
  const auto reader = ResultReader::open(path_);
  EXPECT_TRUE(reader);
  if (reader) {
    EXPECT_TRUE(reader.value()->state().live);
    EXPECT_EQ(reader.value()->state().status, RunStatus::running);
    EXPECT_GT(reader.value()->state().now, at(ps(0)));
    EXPECT_GE(reader.value()->flows().value().size(), 1u);
  }
  EXPECT_THAT(refusal(path_, {.force = true}), HasSubstr("another run is writing it"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(ResultFile, Killed_LeavesAValidFileThatSaysItIsPartial) {
  const pid_t child = start_writer(path_, 100);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);

  const auto reader = ResultReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader.value()->state().status, RunStatus::running);
  EXPECT_FALSE(reader.value()->state().live);
  EXPECT_FALSE(reader.value()->state().complete());
  EXPECT_GE(reader.value()->flows().value().size(), 100u);
  create(path_, {.force = true});
}

TEST_F(ResultFile, Open_ExplainsWhatIsWrong) {
  EXPECT_EQ(cannot_read(path_), path_.string() + ": there is no such file");
  EXPECT_THAT(cannot_read(folder_), HasSubstr("is a folder"));
  write("");
  EXPECT_THAT(cannot_read(path_), HasSubstr("is empty: its run ended before it began"));
  write("not a database, though long enough to look at twice");
  EXPECT_THAT(cannot_read(path_), HasSubstr("is not a result file of strack"));
}

/// Changes four bytes of the header, big-endian.
void patch(const fs::path& path, std::streamoff offset, std::uint32_t value) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(value >> shift & 0xff));
}

TEST_F(ResultFile, Open_KnowsOtherVersionsAndOtherPeoplesFiles) {
  {
    auto writer = create(path_);
    EXPECT_FALSE(writer->finish(RunStatus::finished, at(us(1)), {}, 0, 0));
  }
  patch(path_, 60, 5);
  EXPECT_EQ(cannot_read(path_),
            path_.string() +
                ": was written by a newer strack (its tables are version 5, this program reads "
                "version 4). use that program");
  // Before RoCEv2 and PFC; before the events of flows; before the table of settings.
  for (const std::uint32_t old : {1u, 2u, 3u}) {
    patch(path_, 60, old);
    EXPECT_EQ(cannot_read(path_),
              path_.string() + ": was written by an older strack (its tables are version " +
                  std::to_string(old) + ", this program reads version 4). run the scenario again");
  }
  patch(path_, 68, 12345);
  EXPECT_THAT(cannot_read(path_), HasSubstr("is not a result file of strack"));
}

TEST_F(ResultFile, Open_FindsDamage) {
  {
    auto writer = create(path_);
    for (std::uint32_t i = 0; i < 20'000; ++i) writer->add(flow(i, at(us(5))));
    EXPECT_FALSE(writer->finish(RunStatus::finished, at(us(1)), {}, 0, 0));
  }
  // The schema's page is gone: not even the header can be read.
  const auto size = fs::file_size(path_);
  fs::resize_file(path_, 2'000);
  EXPECT_FALSE(cannot_read(path_).empty());
  // The second half is noise: opening may work, reading the rows must not.
  fs::remove(path_);
  {
    auto writer = create(path_);
    for (std::uint32_t i = 0; i < 20'000; ++i) writer->add(flow(i, at(us(5))));
    EXPECT_FALSE(writer->finish(RunStatus::finished, at(us(1)), {}, 0, 0));
  }
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 2));
    file << std::string(size / 2, '\x5a');
  }
  const auto reader = ResultReader::open(path_);
  if (reader) {
    const auto flows = reader.value()->flows();
    ASSERT_FALSE(flows);
    EXPECT_THAT(flows.error().message, HasSubstr("is damaged"));
  } else {
    EXPECT_THAT(reader.error().message, HasSubstr("is damaged"));
  }
}

}  // namespace
}  // namespace strack::metrics
