// Hosts that are late, receivers that are slow, paths that are narrow: the engine on simulated sockets.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "udp/engine.h"
#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

/// Polls one side as a process would that wakes up a little late every time. Returns how often.
std::size_t poll_late(Duo& duo, std::size_t side, Picoseconds time, Picoseconds late) {
  const Instant end = duo.world.now() + time;
  std::size_t polls = 0;
  while (duo.world.now() < end) {
    while (duo.engines[side]->poll()) {
    }
    ++polls;
    std::array<Completion, 16> room;
    for (const Completion& got : duo.engines[side]->completions(room))
      duo.seen[side].push_back(got);
    if (!duo.of(side, Kind::failed).empty()) break;
    const Instant wanted = std::max(duo.engines[side]->next_deadline(), duo.world.now());
    duo.world.advance_to(std::min({end, duo.world.next_arrival(), wanted}) + late);
  }
  return polls;
}

// A host never wakes up when it wanted to. A dead peer is found in time all the same, and nobody spins
// until then.
TEST(LateHosts, FindADeadPeerInTimeAndWithoutSpinning) {
  EndpointOptions o = options();
  o.peer_timeout = std::chrono::seconds(2);
  Duo duo(o);
  duo.connect();
  duo.world.faults().silent_from = duo.world.now();
  const Instant died = duo.world.now();
  const std::size_t polls = poll_late(duo, 1, seconds(10), ms(1));
  ASSERT_EQ(duo.of(1, Kind::failed).size(), 1u);
  EXPECT_EQ(duo.of(1, Kind::failed)[0].status, Status::peer_dead);
  EXPECT_LT(duo.world.now() - died, ms(2'300));
  EXPECT_LT(polls, 30u);
}

// Away for longer than a connection may take to come up, with the answer waiting in its socket.
TEST(LateHosts, TakeAnAnswerThatHasWaited) {
  for (const Picoseconds away : {seconds(9), seconds(11), seconds(60)}) {
    Duo duo;
    ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 5));
    duo.client().poll();
    duo.run(ms(1), /*only=*/0);  // the server answers at once
    duo.world.advance_to(duo.world.now() + away);
    duo.run(seconds(1));
    EXPECT_EQ(duo.of(1, Kind::connected).size(), 1u) << away.count();
    EXPECT_TRUE(duo.of(1, Kind::failed).empty());
  }
}

// [D165] 32 bits of nanoseconds go round in 4.3 s: what waited for more than half of that seems to come from the future.
// It acknowledges as before, and tells no round trip.
TEST(LateHosts, TakeASackThatHasWaited) {
  for (const Picoseconds away : {ms(1'500), ms(2'500), ms(4'000)}) {
    Duo duo;
    duo.connect();
    std::vector<std::byte> room(10'000);
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), room, 0), Status::ok);
    const auto message = duo.keep(pattern(10'000));
    ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 7), Status::ok);
    const auto before = duo.client().statistics(duo.id[1]);
    duo.client().poll();
    duo.run(ms(1), /*only=*/0);
    duo.world.advance_to(duo.world.now() + away);
    while (duo.client().poll()) {
    }
    duo.run(us(1), /*only=*/1);
    const auto after = duo.client().statistics(duo.id[1]);
    ASSERT_TRUE(before && after);
    EXPECT_GT(after->sacks_received, before->sacks_received) << away.count();
    EXPECT_EQ(duo.client().statistics().refused_malformed, 0u) << away.count();
    EXPECT_LT(after->rtt_ns, 4'100'000'000u);
    duo.run(seconds(1));
    EXPECT_EQ(duo.of(1, Kind::sent).size(), 1u);
    EXPECT_EQ(room, pattern(10'000));
  }
}

// The receiver owes a buffer for seconds: that says nothing about paths.
TEST(SlowReceivers, BarNoPaths) {
  EndpointOptions o = options();
  o.paths = 64;
  Duo duo(o);
  duo.connect();
  std::vector<std::byte> buffer(400'000);
  const auto message = pattern(buffer.size());
  for (const Picoseconds owed : {ms(100), seconds(6)}) {
    ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
    duo.run(owed);
    EXPECT_LT(duo.client().statistics(duo.id[1])->paths_barred, 8u) << owed.count();
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
    duo.run(seconds(2));
    EXPECT_EQ(buffer, message);
  }
}

/// What has been sent of one type.
std::size_t count_of(const std::vector<SimulatedWorld::Captured>& tape, wire::Type type) {
  return static_cast<std::size_t>(
      std::count_if(tape.begin(), tape.end(), [&](const SimulatedWorld::Captured& packet) {
        return (packet.bytes[0] & 0x0f) == static_cast<std::uint8_t>(type);
      }));
}

// [D166] A process that gets a processor every 20 ms only answers what it was sent, as before, and says how long that has
// waited. To ask it meanwhile gives it more to do: twenty such senders asked as often as they sent.
TEST(SlowReceivers, AreAskedSeldom) {
  for (const char* transport : {"strack", "strack_plus"}) {
    for (const Picoseconds away : {ms(5), ms(20)}) {
      SCOPED_TRACE(std::string(transport) + " " + std::to_string(away.count()));
      EndpointOptions o = options();
      o.paths = 64;
      o.transport = transport;
      Duo duo(o);
      duo.connect();
      const auto message = pattern(2'000'000);
      std::vector<std::byte> buffer(message.size());
      ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
      ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
      std::vector<SimulatedWorld::Captured> tape;
      duo.world.capture = &tape;
      for (int turn = 0; turn < 2'000 && duo.of(1, Kind::sent).empty(); ++turn) {
        duo.run(away, /*only=*/1);
        while (duo.server().poll()) {
        }
      }
      EXPECT_EQ(duo.of(1, Kind::sent).size(), 1u);
      EXPECT_EQ(buffer, message);
      const std::size_t probes = count_of(tape, wire::Type::probe);
      EXPECT_LT(probes, count_of(tape, wire::Type::data) / 10);
    }
  }
}

// Nobody takes the first message. Each of the others has a buffer, and all of them arrive.
TEST(SlowReceivers, AnUnwantedTagLeavesCreditForTheOthers) {
  EndpointOptions o = options();
  o.complete_in_order = false;
  Duo duo(o);
  duo.connect();
  ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(10)), 0), Status::ok);
  std::vector<std::byte> buffer(10);
  // As many as there are slots between it and the newest.
  for (unsigned i = 1; i < o.message_slots; ++i) {
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::exactly(2), buffer, i), Status::ok);
    ASSERT_EQ(duo.client().send(duo.id[1], 2, duo.keep(pattern(10)), i), Status::ok) << i;
    duo.run(ms(10));
    ASSERT_EQ(duo.of(0, Kind::received).size(), i);
  }
}

// [D43] The path is narrower than both hosts' devices: what was agreed on stays, and packets go in
// pieces of what gets through.
TEST(NarrowPaths, TakePieces) {
  for (const bool keyed : {false, true}) {
    SimulatedFaults faults;
    faults.largest = 1'460;
    EndpointOptions o = options(keyed);
    o.max_payload = 8'192;
    Duo duo(o, faults);
    duo.connect();
    const auto message = pattern(1'000'001);
    std::vector<std::byte> buffer(message.size());
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
    ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
    std::vector<SimulatedWorld::Captured> tape;
    duo.world.capture = &tape;
    duo.run(seconds(3));
    EXPECT_EQ(buffer, message);
    const auto s = duo.client().statistics(duo.id[1]);
    EXPECT_EQ(s->payload_bytes, 8'192u);
    EXPECT_EQ(s->datagram_bytes, 1'452u);  // what a 1500-byte link takes with IPv6's header
    EXPECT_EQ(s->retransmissions, 0u);
    // Blocks of 128 bytes: eight of them beside the 68 or 44 bytes around a write, within 1200.
    EXPECT_EQ(s->data_packets_sent, 123u);
    std::size_t pieces = 0;
    std::size_t whole = 0;
    for (const auto& packet : tape) {
      if (packet.bytes[0] != 0x21) continue;
      EXPECT_LE(packet.bytes.size(), 1'452u);
      ++((packet.bytes[1] & 0x04) != 0 ? pieces : whole);
    }
    EXPECT_EQ(whole, 1u) << "the last, which is short";
    EXPECT_GE(pieces, 122u * 6);
    EXPECT_LE(pieces, 122u * 8);
  }
}

// [D43] The path becomes narrower than it was, told by this host's own device or by nobody: data goes
// on in pieces. A minute later it is wide again, and so are the packets.
TEST(NarrowPaths, NarrowerPathTakesPiecesUntilItIsWideAgain) {
  for (const bool told : {true, false}) {
    EndpointOptions o = options();
    o.max_payload = 4'096;
    Duo duo(o);
    duo.connect();
    const auto full = static_cast<std::uint32_t>(4'096 + wire::data_overhead_bytes(true));
    EXPECT_EQ(duo.client().statistics(duo.id[1])->datagram_bytes, full);
    duo.world.faults().largest = 1'452;
    duo.world.faults().says_too_large = told;
    const auto message = pattern(50'000);
    std::vector<std::byte> buffer(50'000);
    const auto transfer = [&] {
      std::fill(buffer.begin(), buffer.end(), std::byte{0});
      ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
      ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
      duo.run(seconds(8));
      EXPECT_EQ(buffer, message) << told;
    };
    transfer();
    EXPECT_EQ(duo.client().statistics(duo.id[1])->datagram_bytes, 1'452u) << told;
    EXPECT_EQ(duo.client().statistics(duo.id[1])->payload_bytes, 4'096u);
    duo.world.faults().largest = 65'507;
    duo.world.faults().says_too_large = false;
    duo.run(seconds(70));
    EXPECT_EQ(duo.client().statistics(duo.id[1])->datagram_bytes, full) << told;
    const std::uint64_t packets = duo.client().statistics().datagrams_sent;
    transfer();
    EXPECT_LT(duo.client().statistics().datagrams_sent - packets, 30u);
    EXPECT_EQ(duo.of(1, Kind::sent).size(), 2u);
  }
}

// [D43] Narrower for one connection says nothing about another peer.
TEST(NarrowPaths, NarrownessIsAConnectionsOwn) {
  EndpointOptions o = options();
  o.max_payload = 4'096;
  Duo duo(o);
  duo.connect();
  ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 6));
  duo.run(ms(50));
  ASSERT_EQ(duo.of(1, Kind::connected).size(), 1u);
  const ConnectionId other = duo.of(1, Kind::connected)[0].connection;
  duo.world.faults().largest = 1'452;
  const auto message = pattern(50'000);
  std::vector<std::byte> buffer(50'000);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
  duo.run(seconds(2));
  EXPECT_EQ(buffer, message);
  const auto full = static_cast<std::uint32_t>(4'096 + wire::data_overhead_bytes(true));
  EXPECT_LT(duo.client().statistics(duo.id[1])->datagram_bytes, full);
  EXPECT_EQ(duo.client().statistics(other)->datagram_bytes, full);
}

// Narrower by little, as by a tunnel's header, and no router says so.
TEST(NarrowPaths, AFewBytesLessAreFoundOut) {
  for (const bool keyed : {false, true}) {
    for (const std::uint32_t less : {1u, 8u, 20u, 24u, 30u}) {
      EndpointOptions o = options(keyed);
      o.max_payload = 4'096;
      Duo duo(o);
      duo.connect();
      const auto full =
          static_cast<std::uint32_t>(4'096 + wire::data_overhead_bytes(keyed));  // of a write
      duo.world.faults().largest = full - less;
      std::vector<std::byte> region(50'000);
      const auto key = duo.server().register_region(region, duo.id[0]);
      ASSERT_TRUE(key);
      const auto bytes = pattern(region.size());
      ASSERT_EQ(duo.client().write(duo.id[1], key.value(), 0, bytes, 1), Status::ok);
      duo.run(seconds(8));
      EXPECT_EQ(region, bytes) << less;
      const std::uint32_t found = duo.client().statistics(duo.id[1])->datagram_bytes;
      EXPECT_LE(found, full - less);
      EXPECT_GT(found + PathMtu::kGap, full - less);
    }
  }
}

// A receiver that is blocked for long answers small and full pings alike.
TEST(NarrowPaths, SlowReceiversAreNoNarrowPath) {
  Duo duo;
  duo.connect();
  const auto message = pattern(400'000);
  ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  duo.run(seconds(5));
  duo.world.capture = nullptr;
  EXPECT_EQ(duo.client().statistics(duo.id[1])->datagram_bytes,
            1'024 + wire::data_overhead_bytes(true));
  EXPECT_GT(duo.client().statistics(duo.id[1])->timeouts, 5u);
  std::size_t pings = 0;
  for (const auto& packet : tape) {
    const auto header = wire::decode_header(packet.bytes);
    pings += header.ok() && header.value().type == wire::Type::ping ? 1u : 0u;
  }
  EXPECT_LT(pings, 200u) << "one question for each timeout, and not for each probe";
}

}  // namespace
}  // namespace strack::udp
