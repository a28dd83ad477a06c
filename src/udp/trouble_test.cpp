// Hosts that are late, receivers that are slow, paths that are narrow: the engine on simulated sockets.
#include <array>
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
      EXPECT_TRUE(duo.hosts[1]->fragments());
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
  EXPECT_FALSE(duo.hosts[1]->fragments());
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
