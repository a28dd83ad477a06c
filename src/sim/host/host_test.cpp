#include "sim/host/host.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/testing.h"
#include "transports/strack/sim.h"

namespace strack::sim {
namespace {

constexpr std::int64_t kS = 83'200;     ///< serialisation of a full data packet
constexpr std::int64_t kC = 1'280;      ///< of a SACK or a probe
constexpr std::int64_t kL = 1'000'000;  ///< the cable's latency

Instant t(std::int64_t picoseconds) { return at(ps(picoseconds)); }

/// One host by itself: what reaches it is written by the test, what it sends is seen at the cable's
/// far end.
class Bench {
 public:
  explicit Bench(std::uint32_t window_packets = 100) {
    params = testing::strack_params(testing::cluster(2, 2, 2));
    params.max_cwnd = window_packets * testing::kMtu;
    host.port.wire.lane = &out_;
    host.port.wire.byte_time = ByteTime(gbps(400));
    host.port.wire.latency = us(1);
    host.in = &in_;
    context_.mail = &mail_;
    context_.window = 1;
  }

  /// A flow of full packets that starts here. Flows are numbered from 0 on, like their slots.
  void sends(std::int64_t packets, std::int64_t start = 0) {
    const auto flow = static_cast<std::uint32_t>(placement_.outgoing.size());
    placement_.outgoing.push_back(
        {flow, 100 + flow, 200 + flow, static_cast<std::uint32_t>(packets * 4'096), t(start)});
  }
  /// The last of them goes before the usual.
  void with_priority(std::uint8_t priority) { placement_.outgoing.back().priority = priority; }
  void receives() {
    const auto flow = static_cast<std::uint32_t>(50 + placement_.incoming.size());
    placement_.incoming.push_back({flow, 300 + flow, 400 + flow});
  }

  void data(std::int64_t time, std::uint32_t slot, std::uint32_t psn, std::uint32_t of = 1'000) {
    core::Packet packet;
    packet.psn = core::Psn{psn};
    packet.payload = 4'096;
    packet.offset = psn * 4'096;
    packet.message_length = of * 4'096;
    arrive(time, pack(packet, {0, slot}));
  }
  /// All up to `epsn` has been received; `sent` is when the packet that it answers went onto the
  /// wire.
  void sack(std::int64_t time, std::uint32_t slot, std::uint32_t epsn, std::int64_t sent) {
    core::Sack sack;
    sack.epsn = sack.sack_base = core::Psn{epsn};
    sack.psn = core::Psn{epsn - 1};
    sack.bytes_recvd = epsn * 4'096;
    sack.timestamp = core::Timestamp::of(t(sent));
    arrive(time, pack(sack, {0, slot}));
  }

  /// Runs up to `end`; `out` holds what was sent since.
  Instant run(std::int64_t end) {
    if (!prepared_) host.prepare(std::move(placement_), params);
    prepared_ = true;
    const PortRules sizes(SwitchParams{}, HostParams{});
    const HostRules<StrackProtocol> rules{&params, &sizes, watches, {}, nullptr};
    context_.end = t(end);
    const Instant next = host.run(rules, context_, report);
    out.clear();
    for (const Transit& transit : out_.arrivals(context_.window + 1)) out.push_back(transit);
    ++context_.window;
    return next;
  }

  [[nodiscard]] std::vector<std::int64_t> times() const {
    std::vector<std::int64_t> all;
    for (const Transit& transit : out) all.push_back(transit.time.ps);
    return all;
  }

  core::StrackParams params;
  Host<StrackProtocol> host;
  HostReport report;
  std::vector<SenderWatch> watches;
  std::vector<Transit> out;

 private:
  void arrive(std::int64_t time, const SimPacket& packet) {
    bool first = false;
    Transit& transit = in_.push(context_.window - 1, first);
    transit.time = t(time);
    transit.packet = packet;
  }

  Lane in_;
  Lane out_;
  MailFlags mail_{1'000};
  WindowContext context_;
  HostPlacement placement_;
  bool prepared_ = false;
};

using Times = std::vector<std::int64_t>;

// Packets leave back to back until the window is full, addressed to the flow's far end.
TEST(Host, Sends_BackToBackUpToTheWindow) {
  Bench bench(3);
  bench.sends(10);
  bench.run(1'000'000);
  EXPECT_EQ(bench.times(), (Times{kS + kL, 2 * kS + kL, 3 * kS + kL}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(unpack_packet(bench.out[i].packet).psn, core::Psn{i});
    EXPECT_EQ(bench.out[i].packet.dst(), 100u);
    EXPECT_EQ(bench.out[i].packet.slot(), 200u);
  }
  EXPECT_EQ(bench.host.data_sent, 3u);
}

// A flow waits for its start, and a host says when it next has something to do.
TEST(Host, Sends_FromItsStart) {
  Bench bench;
  bench.sends(1, 7'000);
  EXPECT_EQ(bench.run(5'000), t(7'000));
  EXPECT_TRUE(bench.out.empty());
  bench.run(1'000'000);
  EXPECT_EQ(bench.times(), (Times{7'000 + kS + kL}));
}

// Flows start in order of time, whatever the order they were given in.
TEST(Host, Sends_StartsInAnyOrder) {
  Bench bench;
  bench.sends(1, 900'000);
  bench.sends(1, 100'000);
  bench.sends(1, 500'000);
  bench.run(2'000'000);
  EXPECT_EQ(bench.times(), (Times{100'000 + kS + kL, 500'000 + kS + kL, 900'000 + kS + kL}));
  EXPECT_EQ(bench.out[0].packet.dst(), 101u);
  EXPECT_EQ(bench.out[1].packet.dst(), 102u);
  EXPECT_EQ(bench.out[2].packet.dst(), 100u);
}

// [D116] Connections of a higher priority send what they may, in turn among themselves, then the others; their
// packets say so.
TEST(Host, Sends_HigherPrioritiesFirst) {
  Bench bench(2);
  for (const std::uint8_t priority : std::array<std::uint8_t, 4>{0, 1, 3, 1}) {
    bench.sends(3);
    bench.with_priority(priority);
  }
  bench.run(1'000'000);
  std::vector<std::uint32_t> dst;
  std::vector<std::uint32_t> priorities;
  for (const Transit& transit : bench.out) {
    dst.push_back(transit.packet.dst());
    priorities.push_back(transit.packet.priority());
  }
  EXPECT_EQ(dst, (std::vector<std::uint32_t>{102, 102, 101, 103, 101, 103, 100, 100}));
  EXPECT_EQ(priorities, (std::vector<std::uint32_t>{3, 3, 1, 1, 1, 1, 0, 0}));
}

// [D27] A packet's time is that of its first bit on the wire, not of the flow's start: three flows
// ready at once go one after the other, and each says when.
TEST(Host, Sends_StampsThePacketOnTheWire) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.sends(1);
  bench.run(1'000'000);
  ASSERT_EQ(bench.out.size(), 3u);
  EXPECT_EQ(unpack_packet(bench.out[0].packet).timestamp.ns, 0u);
  EXPECT_EQ(unpack_packet(bench.out[1].packet).timestamp.ns, 83u);
  EXPECT_EQ(unpack_packet(bench.out[2].packet).timestamp.ns, 166u);
}

// Connections take turns, packet by packet.
TEST(Host, Sends_ConnectionsInTurn) {
  Bench bench;
  bench.sends(3);
  bench.sends(2);
  bench.sends(4);
  bench.run(3'000'000);
  std::vector<std::uint32_t> order;
  for (const Transit& transit : bench.out) order.push_back(transit.packet.dst() - 100);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0, 2, 2}));
}

// A connection whose window is closed does not hold up the others, and comes back when a SACK opens
// it.
TEST(Host, Sends_PassesOverAClosedWindow) {
  Bench bench(2);
  bench.sends(10);
  bench.sends(2);
  bench.sack(20 * kS, 0, 1, 0);
  bench.run(30 * kS);
  std::vector<std::uint32_t> order;
  for (const Transit& transit : bench.out) order.push_back(transit.packet.dst() - 100);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 0, 1, 0}));
  EXPECT_EQ(bench.times()[4], 21 * kS + kL);
}

// A SACK that opens the window at the very instant the port becomes free lets the next packet
// follow at once.
TEST(Host, Sends_SackAtTheInstantThePortIsFree) {
  Bench bench(2);
  bench.sends(3);
  bench.sack(2 * kS, 0, 1, 0);
  bench.run(10 * kS);
  EXPECT_EQ(bench.times(), (Times{kS + kL, 2 * kS + kL, 3 * kS + kL}));
}

// Data is answered at once by a SACK on the wire of an idle port, addressed to the sender.
TEST(Host, Acknowledges_AtOnce) {
  Bench bench;
  bench.receives();
  bench.data(500, 0, 0);
  bench.run(1'000'000);
  ASSERT_EQ(bench.out.size(), 1u);
  EXPECT_EQ(bench.times(), (Times{500 + kC + kL}));
  EXPECT_TRUE(bench.out[0].packet.is_control());
  EXPECT_EQ(bench.out[0].packet.dst(), 350u);
  EXPECT_EQ(bench.out[0].packet.slot(), 450u);
  EXPECT_EQ(unpack_sack(bench.out[0].packet).epsn, core::Psn{1});
}

// SACKs go before data that is ready, but the packet on the wire is not displaced.
TEST(Host, Acknowledges_BeforeQueuedDataNotPreempting) {
  Bench bench;
  bench.sends(3);
  bench.receives();
  bench.data(10, 0, 0);
  bench.data(20, 0, 1);
  bench.run(1'000'000);
  EXPECT_EQ(bench.times(), (Times{kS + kL, kS + kC + kL, kS + 2 * kC + kL, 2 * kS + 2 * kC + kL,
                                  3 * kS + 2 * kC + kL}));
  EXPECT_FALSE(bench.out[0].packet.is_control());
  EXPECT_TRUE(bench.out[1].packet.is_control());
  EXPECT_TRUE(bench.out[2].packet.is_control());
  EXPECT_EQ(bench.host.control_sent, 2u);
  EXPECT_EQ(bench.host.data_sent, 3u);
}

// A SACK caused at the very instant the port becomes free still goes before the data.
TEST(Host, Acknowledges_AtTheInstantThePortIsFree) {
  Bench bench;
  bench.sends(2);
  bench.receives();
  bench.data(kS, 0, 0);
  bench.run(1'000'000);
  EXPECT_EQ(bench.times(), (Times{kS + kL, kS + kC + kL, 2 * kS + kC + kL}));
  EXPECT_TRUE(bench.out[1].packet.is_control());
}

// A flow is delivered when its last missing packet arrives, in whatever order.
TEST(Host, Delivers_WithTheLastMissingPacket) {
  Bench bench;
  bench.receives();
  bench.data(1'000, 0, 1, 2);
  bench.data(9'000, 0, 0, 2);
  bench.run(1'000'000);
  ASSERT_EQ(bench.report.deliveries.size(), 1u);
  EXPECT_EQ(bench.report.deliveries[0].flow, 50u);
  EXPECT_EQ(bench.report.deliveries[0].time, t(9'000));
}

// A flow ends with the SACK of its last packet, and is reported once.
TEST(Host, Finishes_WithTheLastSack) {
  Bench bench;
  bench.sends(2);
  bench.sack(1'000'000, 0, 1, 0);
  bench.sack(1'500'000, 0, 2, kS);
  bench.run(2'000'000);
  ASSERT_EQ(bench.report.finished.size(), 1u);
  EXPECT_EQ(bench.report.finished[0].flow, 0u);
  EXPECT_EQ(bench.report.finished[0].end, t(1'500'000));
  EXPECT_EQ(bench.report.finished[0].packets, 2u);
  EXPECT_EQ(bench.report.bytes_acked, 2u * 4'096);
}

// A SACK for a flow that is done is received, and changes nothing.
TEST(Host, Finishes_LateSacksAreHarmless) {
  Bench bench;
  bench.sends(1);
  bench.sack(1'000'000, 0, 1, 0);
  bench.sack(1'100'000, 0, 1, 0);
  bench.run(2'000'000);
  EXPECT_EQ(bench.report.finished.size(), 1u);
  EXPECT_EQ(bench.host.control_received, 2u);
}

// [R.probe.send] Silence for a probe interval: the probe goes out at that instant, of a SACK's
// size.
TEST(Host, Timer_ProbesOnTime) {
  Bench bench;
  bench.sends(1);
  const std::int64_t interval = bench.params.probe_interval.value;
  bench.run(interval);
  EXPECT_EQ(bench.out.size(), 1u);
  bench.run(interval + 1);
  EXPECT_EQ(bench.times(), (Times{interval + kC + kL}));
  EXPECT_TRUE(bench.out[0].packet.is_bare());
}

// A probe is no data packet in the flow's record.
TEST(Host, Timer_ProbesAreNotDataPackets) {
  Bench bench;
  bench.sends(1);
  bench.run(bench.params.probe_interval.value + 1);
  std::vector<metrics::FlowRecord> records;
  bench.host.for_each_unfinished([&](const metrics::FlowRecord& r) { records.push_back(r); });
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].probes, 1u);
  EXPECT_EQ(records[0].packets, 1u);
}

// [R.timeout.value] Nothing at all for an RTO: all is sent again at that instant.
TEST(Host, Timer_TimesOutOnTime) {
  Bench bench;
  bench.params.probe_interval = seconds(1);  // no probes in between
  bench.sends(2);
  const std::int64_t rto = bench.params.rto.value;
  bench.run(rto);
  EXPECT_EQ(bench.out.size(), 2u);
  bench.run(rto + 1'000'000);
  EXPECT_EQ(bench.times(), (Times{rto + kS + kL, rto + 2 * kS + kL}));
  EXPECT_TRUE(unpack_packet(bench.out[0].packet).retransmission);
}

// A SACK ends the backoff and so moves the deadline closer: the host follows it, though nothing is
// sent then. Two timeouts (at 1 and 3 RTOs, the next due at 7), then half is acknowledged at 3.5:
// due at 4.5.
TEST(Host, Timer_FollowsADeadlineThatMovesCloser) {
  Bench bench(2);
  bench.params.probe_interval = seconds(1);
  bench.sends(2);
  const std::int64_t rto = bench.params.rto.value;
  bench.run(3 * rto + rto / 4);
  EXPECT_EQ(bench.out.size(), 6u);
  bench.sack(3 * rto + rto / 2, 0, 1, 3 * rto);
  bench.run(4 * rto + rto / 2);
  EXPECT_EQ(bench.out.size(), 0u);
  bench.run(5 * rto);
  EXPECT_EQ(bench.times(), (Times{4 * rto + rto / 2 + kS + kL}));
}

// What arrives after the window is kept for its own.
TEST(Host, Held_UntilItsWindow) {
  Bench bench;
  bench.receives();
  bench.data(1'000, 0, 0);
  bench.data(25'000, 0, 1);
  bench.run(10'000);
  EXPECT_EQ(bench.times(), (Times{1'000 + kC + kL}));
  EXPECT_EQ(bench.host.transits_held(), 1u);
  EXPECT_EQ(bench.run(20'000), t(25'000));
  bench.run(30'000);
  EXPECT_EQ(bench.times(), (Times{25'000 + kC + kL}));
  EXPECT_EQ(bench.host.transits_held(), 0u);
}

// A cut cable loses what is put on it, at the same pace.
TEST(Host, Failure_CountedAtTheSamePace) {
  Bench bench;
  const std::vector<Outage> outages{{t(0), t(kS)}};
  bench.host.port.wire.outages = &outages;
  bench.sends(2);
  bench.run(1'000'000);
  EXPECT_EQ(bench.times(), (Times{2 * kS + kL}));
  EXPECT_EQ(bench.host.port.drops.failure, 1u);
}

}  // namespace
}  // namespace strack::sim
