// A small run as a timeline and as a capture, byte by byte where it matters.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "export/pcap.h"
#include "export/perfetto.h"
#include "wire/wire.h"

namespace strack::exports {
namespace {

namespace fs = std::filesystem;
using metrics::EventKind;
using metrics::FlowEvent;
using metrics::ResultReader;
using metrics::ResultWriter;
using nlohmann::json;

class ExportTest : public testing::Test {
 protected:
  ExportTest() {
    std::string name = (fs::temp_directory_path() / "strack_export_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    run_.name = "test";
    run_.scheme = "strack";
    run_.hosts = 4;
    run_.flows = 2;
    run_.mtu = bytes(4096);
    run_.settings = {{"record.interval_us", "5", 5'000'000, "given"},
                     {"failure.0.switch", "spine 1", {}, "given"},
                     {"failure.0.from_us", "10", 10'000'000, "given"}};
  }
  ~ExportTest() override { fs::remove_all(folder_); }

  template <class Fill>
  std::shared_ptr<ResultReader> result(Fill fill) {
    const fs::path path = folder_ / "run.db";
    {
      const auto writer = ResultWriter::create(path, run_);
      EXPECT_TRUE(writer);
      fill(*writer.value());
      EXPECT_FALSE(writer.value()->finish(metrics::RunStatus::finished, at(us(60)), {}, 1, 1));
    }
    auto opened = ResultReader::open(path);
    EXPECT_TRUE(opened);
    return opened.value();
  }
  [[nodiscard]] std::string read(const char* name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static metrics::FlowRecord flow(std::uint32_t number, std::uint32_t src, Picoseconds start,
                                  Picoseconds end) {
    metrics::FlowRecord row;
    row.flow = number;
    row.src = src;
    row.dst = src + 1;
    row.size = bytes(6'000);
    row.start = at(start);
    row.delivered = row.end = at(end);
    return row;
  }
  static FlowEvent event(Picoseconds time, EventKind kind, std::uint32_t psn) {
    FlowEvent one;
    one.time = at(time);
    one.kind = kind;
    one.psn = psn;
    one.path = 7;
    return one;
  }

  fs::path folder_;
  metrics::RunInfo run_;
};

TEST_F(ExportTest, ATimelineHasSlicesThatDoNotOverlapInTheirLanes) {
  const auto reader = result([](ResultWriter& out) {
    out.add(metrics::LinkInfo{0, "tor 0", "spine 1", gbps(400), us(1), false});
    out.add(flow(0, 0, us(5), us(20)));
    out.add(flow(1, 0, us(10), us(15)));
    out.add(flow(2, 0, us(30), us(40)));
    out.add(metrics::JobRecord{0, "allreduce", 4, 3, mb(1), at(us(1)), at(us(50)), us(40)});
    metrics::LinkSample sample;
    sample.time = at(us(5));
    sample.carried = kb(250);
    sample.qdelay_max = us(2);
    out.add(sample);
  });
  const auto made = save_perfetto(*reader, folder_ / "t.json");
  ASSERT_TRUE(made);
  EXPECT_EQ(made.value().left_out, "");
  const json trace = json::parse(read("t.json"));
  std::vector<std::string> slices;
  std::vector<std::string> counters;
  for (const json& one : trace.at("traceEvents")) {
    if (one.at("ph") == "X") {
      slices.push_back(one.at("pid").dump() + "/" + one.at("tid").dump() + " " +
                       one.at("name").get<std::string>() + " " + one.at("ts").dump() + "+" +
                       one.at("dur").dump());
    }
    if (one.at("ph") == "C")
      counters.push_back(one.at("name").get<std::string>() + " " + one.at("args").dump());
  }
  EXPECT_EQ(slices, (std::vector<std::string>{"2/0 down 10+50", "1/0 allreduce 1+49",
                                              "10/0 computes or waits 0+5", "10/1 to host 1 5+15",
                                              "10/2 to host 1 10+5", "10/0 computes or waits 20+10",
                                              "10/1 to host 1 30+10"}));
  EXPECT_EQ(counters,
            (std::vector<std::string>{R"(tor 0 to spine 1, queue (us) {"us":2})",
                                      R"(tor 0 to spine 1, carried (Gb/s) {"Gb/s":400})"}));
}

TEST_F(ExportTest, WhatIsTooMuchIsLeftOutAndSaid) {
  const auto reader = result([](ResultWriter& out) {
    for (std::uint32_t i = 0; i < 5; ++i) out.add(flow(i, i % 2, us(10 * i), us(10 * i + 5)));
  });
  const auto made = save_perfetto(*reader, folder_ / "t.json", {3, 1, 1});
  ASSERT_TRUE(made);
  EXPECT_EQ(made.value().left_out, "2 messages that were posted from 30.0 us on");
  EXPECT_FALSE(save_perfetto(*reader, folder_ / "no" / "t.json"));
}

// Of those that begin at one time, as many as there is room for: not none.
TEST_F(ExportTest, ManyThatBeginTogetherAreCutByNumber) {
  const auto reader = result([](ResultWriter& out) {
    for (std::uint32_t i = 0; i < 5; ++i) out.add(flow(i, i % 2, us(10), us(15)));
  });
  const auto made = save_perfetto(*reader, folder_ / "t.json", {3, 1, 1});
  ASSERT_TRUE(made);
  EXPECT_EQ(made.value().left_out, "2 messages that were posted from 10.0 us on");
  const std::string text = read("t.json");
  std::size_t sent = 0;
  for (std::size_t at = 0; (at = text.find("to host", at + 1)) != std::string::npos;) ++sent;
  EXPECT_EQ(sent, 3U);
}

// A job whose messages were not recorded still has its collectives.
TEST_F(ExportTest, CollectivesHaveTracksOfTheirOwn) {
  const auto reader = result([](ResultWriter& out) {
    out.add(metrics::JobRecord{0, "step", 4, 3, mb(1), at(us(1)), at(us(50)), us(40)});
    out.add(
        metrics::CommunicationRecord{0, "AllReduce", 4, mb(1), at(us(2)), at(us(3)), at(us(9))});
    out.add(
        metrics::CommunicationRecord{0, "AllGather", 4, mb(1), at(us(4)), at(us(5)), at(us(20))});
  });
  ASSERT_TRUE(save_perfetto(*reader, folder_ / "t.json"));
  const json trace = json::parse(read("t.json"));
  std::vector<std::string> slices;
  for (const json& one : trace.at("traceEvents")) {
    if (one.at("ph") == "X" && one.at("pid") == 5)
      slices.push_back(one.at("tid").dump() + " " + one.at("name").get<std::string>() + " " +
                       one.at("ts").dump() + "+" + one.at("dur").dump());
  }
  EXPECT_EQ(slices, (std::vector<std::string>{"0 AllReduce 2+7", "1 AllGather 4+16"}));
}

/// The datagrams of a capture of raw IP packets, and when.
std::vector<std::pair<std::uint64_t, std::string>> datagrams(const std::string& pcap) {
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value |= std::uint32_t{static_cast<std::uint8_t>(pcap.at(at + i))} << (8 * i);
    return value;
  };
  EXPECT_EQ(word(0), 0xA1B23C4DU);
  EXPECT_EQ(word(20), 101U);
  std::vector<std::pair<std::uint64_t, std::string>> all;
  for (std::size_t at = 24; at < pcap.size();) {
    const std::uint64_t time = std::uint64_t{word(at)} * 1'000'000'000 + word(at + 4);
    const std::size_t size = word(at + 8);
    EXPECT_EQ(word(at + 12), size);
    all.emplace_back(time, pcap.substr(at + 16 + 28, size - 28));
    at += 16 + size;
  }
  return all;
}

TEST_F(ExportTest, ACaptureDecodesToWhatTheFlowDid) {
  const auto reader = result([](ResultWriter& out) {
    out.add(flow(0, 1, us(0), us(20)));
    out.add(event(us(1), EventKind::sent, 0));
    out.add(event(us(2), EventKind::sent, 1));
    out.add(event(us(9), EventKind::probe, 0));
    FlowEvent ack = event(us(10), EventKind::ack, 1);
    ack.ecn = true;
    ack.rtt = us(9);
    ack.acked = bytes(4096);
    out.add(ack);
    out.add(event(us(11), EventKind::loss, 1));
    out.add(event(us(12), EventKind::resent, 1));
    out.add(event(us(13), EventKind::probe_ack, 1));
  });
  const auto made = save_pcap(*reader, folder_ / "flow.pcap");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made.value().flow, 0U);
  EXPECT_EQ(made.value().packets, 6U);
  EXPECT_FALSE(made.value().cut);
  const auto all = datagrams(read("flow.pcap"));
  ASSERT_EQ(all.size(), 6U);
  std::vector<wire::Type> types;
  for (const auto& [time, text] : all) {
    const std::vector<std::uint8_t> datagram(text.begin(), text.end());
    const auto header = wire::decode_header(datagram);
    ASSERT_TRUE(header);
    types.push_back(header.value().type);
    EXPECT_EQ(header.value().path_id, 7);
    const auto body =
        wire::decode_body(header.value(), std::span(datagram).subspan(header.value().bytes()));
    ASSERT_TRUE(body);
    if (const auto* data = std::get_if<wire::Data>(&body.value())) {
      EXPECT_EQ(data->packet.message_length, 6'000U);
      EXPECT_EQ(data->packet.payload, data->packet.psn.value == 0 ? 4'096 : 1'904);
      EXPECT_EQ(data->packet.offset, data->packet.psn.value * 4'096);
      EXPECT_EQ(data->packet.timestamp.ns, time);
    }
    if (const auto* sack = std::get_if<wire::SackBody>(&body.value());
        sack != nullptr && !sack->sack.for_probe) {
      EXPECT_EQ(sack->sack.epsn.value, 1U);
      EXPECT_TRUE(sack->sack.ecn);
      EXPECT_EQ(sack->sack.timestamp.ns, 1'000U);
      EXPECT_EQ(sack->sack.bytes_recvd, 4'096U);
    }
  }
  using wire::Type;
  EXPECT_EQ(types, (std::vector<Type>{Type::data, Type::data, Type::probe, Type::sack, Type::data,
                                      Type::sack}));
  const auto cut = save_pcap(*reader, folder_ / "flow.pcap", 0, 2);
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut.value().cut);
  EXPECT_EQ(datagrams(read("flow.pcap")).size(), 2U);
}

TEST_F(ExportTest, WhatCannotBeCapturedSaysWhatWouldWork) {
  const auto reader = result([](ResultWriter& out) {
    out.add(flow(0, 1, us(0), us(20)));
    out.add(event(us(1), EventKind::sent, 0));
    FlowEvent other = event(us(1), EventKind::cnp, 0);
    other.flow = 1;
    out.add(other);
    other.flow = 5;
    other.kind = EventKind::sent;
    out.add(other);
  });
  const std::string file = (folder_ / "run.db").string();
  const auto why = [&](std::uint32_t number) {
    const auto made = save_pcap(*reader, folder_ / "x.pcap", number);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(why(3), file + ": it has no events of flow 3. record them with --set record.inspect=4");
  EXPECT_NE(why(1).find("strack has packets that STrack's wire format does not"),
            std::string::npos);
  EXPECT_NE(why(5).find("a capture can be made of a flow"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "x.pcap"));
}

}  // namespace
}  // namespace strack::exports
