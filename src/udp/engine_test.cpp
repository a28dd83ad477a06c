// The engine on simulated sockets, one behaviour at a time: everything happens in virtual time.
// What strangers may try is in strangers_test.cpp.
#include "udp/engine.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "udp/network/simulated/simulated_network.h"
#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

// ---- Options ----

TEST(EngineOptions, SaysWhichValueCannotBe) {
  EndpointOptions o;
  EXPECT_FALSE(Engine::check(o));
  o.paths = 257;
  EXPECT_EQ(Engine::check(o)->text, "paths is 257. it takes 1 to 256");
  o = {};
  o.message_slots = 48;
  EXPECT_EQ(Engine::check(o)->text, "message_slots is 48. it takes a power of two up to 65536");
  o = {};
  o.max_payload = 511;
  EXPECT_TRUE(Engine::check(o));
}

// ---- Set-up ----

TEST(SetUp, TellsBothSidesOnceWithUserDataAndCookie) {
  EndpointOptions o = options();
  o.user_data = 77;
  Duo duo(o);
  auto made = duo.client().connect(duo.hosts[0]->address(), 5);
  ASSERT_TRUE(made);
  duo.run(ms(50));
  ASSERT_EQ(duo.seen[1].size(), 1u);
  EXPECT_EQ(duo.seen[1][0].kind, Kind::connected);
  EXPECT_EQ(duo.seen[1][0].cookie, 5u);
  EXPECT_EQ(duo.seen[1][0].tag, 77u);
  ASSERT_EQ(duo.seen[0].size(), 1u);
  EXPECT_EQ(duo.seen[0][0].kind, Kind::accepted);
  EXPECT_EQ(duo.seen[0][0].tag, 77u);
  EXPECT_TRUE(duo.server().statistics(duo.seen[0][0].connection)->keyed);
}

TEST(SetUp, NoKeyOffLoopbackNeedsInsecure) {
  Duo duo(options(false));
  const Address far = *Address::parse("192.0.2.1:4794");
  auto refused = duo.client().connect(far, 0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("insecure"), std::string::npos);
  EndpointOptions o = options(false);
  o.insecure = true;
  Duo allowed(o);
  EXPECT_TRUE(allowed.client().connect(far, 0));
}

TEST(SetUp, ResponderWithoutKeyTurnsAwayWhoIsNotOnLoopback) {
  Duo duo(options(false));
  wire::Terms terms;
  terms.connection_id = 9;
  terms.idle_timeout_ms = 1;
  terms.mtu = 1'000;
  terms.paths = terms.tracking_window = 1;
  terms.reply_port = 4'794;
  std::vector<std::uint8_t> hello(wire::kHelloMinBytes);
  wire::encode(hello, {0, false, 0}, wire::Hello{terms});
  duo.world.inject(*duo.hosts[0], *Address::parse("192.0.2.1:4794"), hello);
  duo.run(ms(1));
  EXPECT_EQ(duo.server().statistics().rejected, 1u);
  EXPECT_EQ(duo.server().statistics().challenges_sent, 0u);
}

TEST(SetUp, KeysThatDoNotMatchAreReported) {
  EndpointOptions o = options();
  o.connect_timeout = std::chrono::milliseconds(500);
  Duo duo(o, {}, /*one_keyed_only=*/true);
  ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 1));
  duo.run(seconds(1));
  ASSERT_EQ(duo.seen[1].size(), 1u);
  EXPECT_EQ(duo.seen[1][0].kind, Kind::failed);
  EXPECT_EQ(duo.seen[1][0].status, Status::key_refused);
  EXPECT_EQ(duo.server().connections_held(), 0u);

  // Two keys: the initiator goes on until its time is over, since anybody could have rejected it.
  EndpointOptions other = o;
  other.key->fill(std::byte{43});
  Engine stranger(other, duo.world.add_host());
  ASSERT_TRUE(stranger.connect(duo.hosts[0]->address(), 1));
  Engine* both[] = {&stranger, &duo.server()};
  run_until(duo.world, both, duo.world.now() + ms(400));
  EXPECT_FALSE(stranger.has_completions());
  run_until(duo.world, both, duo.world.now() + ms(200));
  std::array<Completion, 4> room;
  const auto got = stranger.completions(room);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].status, Status::key_refused);
  EXPECT_EQ(duo.server().connections_held(), 0u);
}

TEST(SetUp, NobodyThereAndNobodyListening) {
  EndpointOptions o = options(false);
  o.connect_timeout = std::chrono::milliseconds(300);
  Duo duo(o);
  ASSERT_TRUE(duo.client().connect(*Address::parse("127.0.0.77:4794"), 1));
  duo.run(ms(400));
  ASSERT_EQ(duo.seen[1].size(), 1u);
  EXPECT_EQ(duo.seen[1][0].status, Status::timed_out);
  ASSERT_TRUE(duo.server().connect(duo.hosts[1]->address(), 1));
  duo.run(ms(400));
  ASSERT_EQ(duo.seen[0].size(), 1u);
  EXPECT_EQ(duo.seen[0][0].status, Status::not_listening);
}

TEST(SetUp, MoreThanMaxConnectionsAreTurnedAway) {
  EndpointOptions o = options(false);
  o.max_connections = 2;
  Duo duo(o);
  EndpointOptions many = options(false);
  Engine client(many, duo.world.add_host());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.connect(duo.hosts[0]->address(), 1));
  Engine* both[] = {&client, &duo.server()};
  int up = 0;
  int busy = 0;
  for (int i = 0; i < 20; ++i) {
    run_until(duo.world, both, duo.world.now() + ms(50));
    std::array<Completion, 8> room;
    for (const Completion& c : client.completions(room)) {
      up += c.kind == Kind::connected;
      busy += c.kind == Kind::failed && c.status == Status::busy;
    }
    static_cast<void>(duo.server().completions(room));
  }
  EXPECT_EQ(up, 2);
  EXPECT_EQ(busy, 1);
  EXPECT_FALSE(duo.server().connect(duo.hosts[1]->address(), 0));
}

// One source leaves room for others, whatever its ports; what has ended no longer counts.
TEST(SetUp, ASourceGetsItsShareAndNoMore) {
  EndpointOptions o = options(false);
  o.max_connections_per_source = 2;
  Duo duo(o);
  Engine greedy(options(false), duo.world.add_host());
  Engine modest(options(false), duo.world.add_host());
  Engine* all[] = {&greedy, &modest, &duo.server()};
  std::array<Completion, 8> room;
  const auto outcomes = [&](Engine& client) {
    std::vector<Status> found;
    for (const Instant end = duo.world.now() + ms(1'000); duo.world.now() < end;) {
      run_until(duo.world, all, end);
      for (const Completion& c : client.completions(room)) found.push_back(c.status);
      static_cast<void>(duo.server().completions(room));
    }
    return found;
  };
  std::array<ConnectionId, 2> held;
  for (ConnectionId& id : held) id = greedy.connect(duo.hosts[0]->address(), 1).value();
  EXPECT_EQ(outcomes(greedy), (std::vector<Status>{Status::ok, Status::ok}));
  ASSERT_TRUE(greedy.connect(duo.hosts[0]->address(), 1));
  EXPECT_EQ(outcomes(greedy), (std::vector<Status>{Status::busy}));
  ASSERT_TRUE(modest.connect(duo.hosts[0]->address(), 1));
  EXPECT_EQ(outcomes(modest), (std::vector<Status>{Status::ok}));
  greedy.abort(held[0]);
  static_cast<void>(outcomes(greedy));
  ASSERT_TRUE(greedy.connect(duo.hosts[0]->address(), 1));
  EXPECT_EQ(outcomes(greedy), (std::vector<Status>{Status::ok}));
}

// An initiator that falls silent after its connect leaves a half-open connection for three seconds.
TEST(SetUp, HalfOpenIsForgottenAndNeverReported) {
  Duo duo;
  ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 1));
  for (int i = 0; i < 100 && duo.server().connections_held() == 0; ++i) duo.run(us(5));
  ASSERT_EQ(duo.server().connections_held(), 1u);
  duo.run(seconds(4), /*only=*/0);
  EXPECT_EQ(duo.server().connections_held(), 0u);
  EXPECT_TRUE(duo.seen[0].empty());
}

// ---- Messages ----

TEST(Messages, TruncatedWhenTheBufferIsTooSmall) {
  Duo duo;
  duo.connect();
  const auto message = pattern(5'000);
  std::vector<std::byte> buffer(3'100, std::byte{9});
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), std::span(buffer).first(3'000), 3),
            Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 8, message, 4), Status::ok);
  duo.run(ms(50));
  ASSERT_EQ(duo.seen[0].size(), 1u);
  EXPECT_EQ(duo.seen[0][0].status, Status::truncated);
  EXPECT_EQ(duo.seen[0][0].length, 5'000u);
  EXPECT_TRUE(std::equal(buffer.begin(), buffer.begin() + 3'000, message.begin()));
  EXPECT_EQ(buffer[3'000], std::byte{9});
}

// Sent in order A, B; the buffer for B was posted first. Completion in the order of sending.
TEST(Messages, TagsFindTheirBuffersAndOrderHolds) {
  Duo duo;
  duo.connect();
  const auto a = pattern(3'000, 1);
  const auto b = pattern(2'000, 2);
  std::vector<std::byte> for_a(3'000);
  std::vector<std::byte> for_b(3'000);
  ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::exactly(0xb), for_b, 2), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 0xa, a, 10), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 0xb, b, 11), Status::ok);
  duo.run(ms(20));
  EXPECT_TRUE(duo.seen[0].empty());  // a has no buffer, and b comes after it
  ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::exactly(0xa), for_a, 1), Status::ok);
  duo.run(ms(20));
  ASSERT_EQ(duo.seen[0].size(), 2u);
  EXPECT_EQ(duo.seen[0][0].cookie, 1u);
  EXPECT_EQ(duo.seen[0][1].cookie, 2u);
  EXPECT_EQ(for_a, a);
  EXPECT_TRUE(std::equal(b.begin(), b.end(), for_b.begin()));
}

// A receive for the connection itself is taken before one for any, though posted later.
TEST(Messages, OwnReceivesBeforeThoseForAny) {
  Duo duo;
  duo.connect();
  std::vector<std::byte> any(10);
  std::vector<std::byte> own(10);
  ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), any, 1), Status::ok);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), own, 2), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(4)), 0), Status::ok);
  duo.run(ms(20));
  ASSERT_EQ(duo.seen[0].size(), 1u);
  EXPECT_EQ(duo.seen[0][0].cookie, 2u);
}

TEST(Messages, CancelledReceivesComeBack) {
  Duo duo;
  duo.connect();
  std::vector<std::byte> buffer(10);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), buffer, 1), Status::ok);
  ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), buffer, 2), Status::ok);
  EXPECT_EQ(duo.server().cancel_receives(1), 2u);
  duo.run(ms(1));
  ASSERT_EQ(duo.seen[0].size(), 2u);
  EXPECT_EQ(duo.seen[0][0].status, Status::cancelled);
}

// No buffer at all: what is held stays bounded, the sender stops, and all arrives once buffers
// come.
TEST(Messages, UnexpectedOnesAreBoundedAndNothingIsLost) {
  EndpointOptions o = options();
  o.unexpected_messages = 4;
  o.held_bytes = 64 * 1'024;
  Duo duo(o);
  duo.connect();
  std::deque<std::vector<std::byte>> messages;
  for (unsigned i = 0; i < 16; ++i) {
    messages.push_back(pattern(20'000, i));
    ASSERT_EQ(duo.client().send(duo.id[1], i, messages.back(), i), Status::ok);
  }
  EXPECT_EQ(duo.client().send(duo.id[1], 0, messages.back(), 0), Status::would_block);
  duo.run(seconds(2));
  EXPECT_TRUE(duo.seen[0].empty());
  EXPECT_LE(duo.server().statistics().held_bytes, 64u * 1'024u / 8);
  // While nobody posts, the sender falls back to its timeout: a few windows in two seconds.
  const auto waiting = duo.client().statistics(duo.id[1]);
  EXPECT_LT(waiting->data_packets_sent, 3'000u);
  EXPECT_GE(waiting->credit_stalls, 1u);
  std::deque<std::vector<std::byte>> buffers;
  for (unsigned i = 0; i < 16; ++i) {
    buffers.emplace_back(20'000);
    ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), buffers.back(), i),
              Status::ok);
  }
  duo.run(ms(500));
  ASSERT_EQ(duo.of(0, Kind::received).size(), 16u);
  EXPECT_EQ(duo.of(1, Kind::sent).size(), 16u);
  for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(buffers[i], messages[i]) << i;
  EXPECT_EQ(duo.server().statistics().held_bytes, 0u);
}

TEST(Messages, BackPressureEndsWithACompletion) {
  Duo duo;
  duo.connect();
  std::vector<std::byte> buffer(100);
  const auto message = pattern(100);
  for (int i = 0; i < 16; ++i) ASSERT_EQ(duo.client().send(duo.id[1], 0, message, 0), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 0, message, 0), Status::would_block);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  duo.run(ms(20));
  ASSERT_FALSE(duo.of(1, Kind::sent).empty());
  EXPECT_EQ(duo.client().send(duo.id[1], 0, message, 0), Status::ok);
}

// The peer has used up its credit on messages that are held, and is idle: new buffers reach it in a
// ping.
TEST(Messages, NewCreditIsPushedToAnIdlePeer) {
  EndpointOptions o = options();
  o.unexpected_messages = 2;
  Duo duo(o);
  duo.connect();
  for (unsigned i = 0; i < 8; ++i) {
    ASSERT_EQ(duo.client().send(duo.id[1], i, duo.keep(pattern(100, i)), i), Status::ok);
  }
  duo.run(ms(100));
  EXPECT_EQ(duo.of(1, Kind::sent).size(), 2u);  // those held
  std::vector<std::byte> buffer(800);
  for (unsigned i = 0; i < 8; ++i) {
    ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(),
                                        std::span(buffer).subspan(100 * i, 100), i),
              Status::ok);
  }
  duo.run(us(100));  // five times the RTT, far less than any timer
  EXPECT_EQ(duo.of(0, Kind::received).size(), 8u);
  EXPECT_EQ(duo.of(1, Kind::sent).size(), 8u);
}

// The ping with the new credit is lost, and the answer to an older ping comes: it is told again all
// the same, and soon.
TEST(Messages, LostCreditIsToldAgain) {
  EndpointOptions o = options();
  o.unexpected_messages = 2;
  Duo duo(o);
  duo.connect();
  for (unsigned i = 0; i < 8; ++i) {
    ASSERT_EQ(duo.client().send(duo.id[1], i, duo.keep(pattern(100, i)), i), Status::ok);
  }
  duo.run(ms(2'490));  // a little before the server asks whether anybody is there
  duo.world.faults().one_way = ms(15);
  duo.run(ms(20));  // its question is under way
  std::vector<std::byte> buffer(800);
  for (unsigned i = 0; i < 8; ++i) {
    ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(),
                                        std::span(buffer).subspan(100 * i, 100), i),
              Status::ok);
  }
  EXPECT_EQ(duo.server().next_deadline(), Instant{}) << "there is credit to tell";
  duo.world.faults().silent_from = duo.world.now();
  duo.world.faults().silent_until = duo.world.now() + ms(1);
  duo.run(ms(300));
  EXPECT_EQ(duo.of(0, Kind::received).size(), 8u);
}

// The credit goes in a SACK for a packet that comes twice, and that SACK is lost. All is acknowledged, so
// nobody asks; the peer waits for ever unless it is told again.
TEST(Messages, CreditInALostSackIsToldAgain) {
  EndpointOptions o = options(false);
  o.unexpected_messages = 1;
  Duo duo(o);
  duo.connect();
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  for (unsigned i = 0; i < 2; ++i) {
    ASSERT_EQ(duo.client().send(duo.id[1], i, duo.keep(pattern(100, i)), i), Status::ok);
  }
  duo.run(ms(10));
  ASSERT_EQ(duo.of(1, Kind::sent).size(), 1u);
  duo.world.capture = nullptr;
  std::vector<std::byte> buffer(100);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 0), Status::ok);
  duo.world.faults().silent_from = duo.world.now();
  duo.world.faults().silent_until = duo.world.now() + us(1);
  duo.world.inject(*duo.hosts[0], tape.front().from, tape.front().bytes);
  const std::uint64_t sacks = duo.server().statistics(duo.id[0])->sacks_sent;
  duo.settle();
  ASSERT_EQ(duo.server().statistics(duo.id[0])->sacks_sent, sacks + 1);
  duo.run(ms(3));
  EXPECT_EQ(duo.of(1, Kind::sent).size(), 2u);
}

// Where completions may come in any order, a message that nobody waits for holds up no other.
TEST(Messages, AnUnwantedTagBlocksOnlyItself) {
  for (const bool in_order : {true, false}) {
    EndpointOptions o = options();
    o.complete_in_order = in_order;
    Duo duo(o);
    duo.connect();
    std::vector<std::byte> second(100);
    std::vector<std::byte> third(100);
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::exactly(2), second, 2), Status::ok);
    for (unsigned tag = 1; tag <= 3; ++tag) {
      ASSERT_EQ(duo.client().send(duo.id[1], tag, duo.keep(pattern(100, tag)), tag), Status::ok);
    }
    duo.run(ms(10));
    EXPECT_EQ(duo.of(0, Kind::received).size(), in_order ? 0u : 1u);
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::exactly(3), third, 3), Status::ok);
    duo.run(ms(10));
    EXPECT_EQ(duo.of(0, Kind::received).size(), in_order ? 0u : 2u);
    std::vector<std::byte> first(100);
    ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), first, 1), Status::ok);
    duo.run(ms(10));
    const auto got = duo.of(0, Kind::received);
    ASSERT_EQ(got.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(got[i].tag, in_order ? i + 1 : (i + 1) % 3 + 1) << i;
    EXPECT_EQ(first, pattern(100, 1));
    EXPECT_EQ(second, pattern(100, 2));
    EXPECT_EQ(third, pattern(100, 3));
  }
}

// [D27] What waits in a host's socket, at either end, is no part of the network's RTT.
TEST(Messages, HoldTimeIsTakenOutOfTheRtt) {
  Duo duo;
  duo.connect();
  std::vector<std::byte> buffer(10);
  for (const std::size_t absent : {0u, 1u}) {
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
    ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(10)), 1), Status::ok);
    if (absent == 0) {
      duo.run(us(300), /*only=*/1);  // the receiver is elsewhere when it arrives
    } else {
      duo.client().poll();
      duo.run(us(300), /*only=*/0);  // the sender, when the SACK does
    }
    duo.run(ms(5));
    EXPECT_EQ(duo.client().statistics(duo.id[1])->rtt_ns, 20'000u) << absent;
  }
}

// [D39] A quarter of the entropies dies in the middle of a message. Each is noticed once, and then avoided.
TEST(Messages, DeadEntropiesAreAvoided) {
  EndpointOptions o = options();
  o.paths = 64;
  o.message_slots = 16;
  Duo duo(o);
  duo.connect();
  std::vector<std::byte> buffer(4'000'000);
  const auto message = pattern(buffer.size());
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
  duo.run(us(60));
  duo.world.faults().dead_entropies = 16;
  for (int i = 0; i < 100 && duo.of(0, Kind::received).empty(); ++i) duo.run(ms(10));
  ASSERT_EQ(duo.of(0, Kind::received).size(), 1u);
  EXPECT_EQ(buffer, message);
  const auto after = duo.client().statistics(duo.id[1]);
  EXPECT_GE(after->retransmissions, 10u);
  EXPECT_LT(after->retransmissions, after->data_packets_sent / 20)
      << "a rotation would lose a quarter";
}

/// Three spines, and which entropies of host 1 towards host 0 meet the dead ones.
struct Fabric3 {
  explicit Fabric3(Duo& with) : faults(with.world.faults()) {
    faults.spines = 3;
    faults.dead_spines = 1;
  }
  /// Looks for a hash by which the given entropies of host 1, towards host 0, meet the dead spine.
  void let_die(std::initializer_list<std::uint16_t> dead,
               std::initializer_list<std::uint16_t> alive) {
    const Address server = SimulatedWorld::address_of(0);
    const Address client = SimulatedWorld::address_of(1);
    const auto meets = [&](std::uint16_t e) { return meets_dead_spine(faults, client, server, e); };
    do {
      ++faults.hash_seed;
    } while (!std::all_of(dead.begin(), dead.end(), meets) ||
             !std::none_of(alive.begin(), alive.end(), meets));
  }
  SimulatedFaults& faults;
};

// [D41] What once did not end: of three spines one dies for good, and with it both of the only entropies
// that are known to work. Messages of one packet each time, so that nothing else arrives and tells.
TEST(Messages, NoSetOfDeadPathsIsTriedForEver) {
  EndpointOptions o = options();
  o.paths = 8;
  for (int tail = 1; tail <= 3; ++tail) {
    Duo duo(o);
    Fabric3 fabric(duo);
    duo.connect();
    std::vector<std::byte> buffer(4'000'000);
    const auto message = pattern(buffer.size());
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
    ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
    duo.run(us(60));
    // First all but two are dead, and are found out.
    fabric.faults.dead_spines = 2;
    fabric.let_die({2, 3, 4, 5, 6, 7}, {0, 1});
    fabric.faults.spines_die_at = duo.world.now();
    duo.run(ms(100));
    ASSERT_EQ(duo.of(0, Kind::received).size(), 1u);
    EXPECT_GE(duo.client().statistics(duo.id[1])->paths_barred, 1u);
    // Then just those two.
    fabric.faults.dead_spines = 1;
    fabric.let_die({0, 1}, {2, 3, 4, 5, 6, 7});
    const auto before = duo.client().statistics(duo.id[1]);
    for (int i = 0; i < tail; ++i) {
      ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
      ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(100)), 1), Status::ok);
    }
    duo.run(ms(100));
    EXPECT_EQ(duo.of(1, Kind::sent).size(), 1u + static_cast<unsigned>(tail));
    EXPECT_LE(duo.client().statistics(duo.id[1])->timeouts, before->timeouts + 2);
  }
}

// [D41] No entropy works both ways: what arrives is answered by another number than it came by.
TEST(Messages, AnswersNeedNotComeBackTheWayTheyWereAskedFor) {
  Duo duo;
  duo.world.faults().spines = 2;
  duo.connect();
  SimulatedFaults& faults = duo.world.faults();
  const Address server = SimulatedWorld::address_of(0);
  const Address client = SimulatedWorld::address_of(1);
  const auto is_split = [&] {  // the first half of them works one way, the second the other way
    for (std::uint16_t e = 0; e < 8; ++e) {
      if (meets_dead_spine(faults, client, server, e) == (e < 4)) return false;
      if (meets_dead_spine(faults, server, client, e) != (e < 4)) return false;
    }
    return true;
  };
  faults.dead_spines = 1;
  while (!is_split()) ++faults.hash_seed;
  faults.spines_die_at = duo.world.now();
  std::vector<std::byte> buffer(300'000);
  const auto message = pattern(buffer.size());
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
  duo.run(seconds(2));
  EXPECT_EQ(duo.of(1, Kind::sent).size(), 1u);
  EXPECT_EQ(buffer, message);
  duo.run(seconds(30));
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
  EXPECT_TRUE(duo.of(0, Kind::failed).empty());
}

// The kernel stamps arrivals by another clock than ours. None may lie in the future.
TEST(Messages, NothingArrivesInTheFuture) {
  for (const Picoseconds error : {ps(0), us(3), ms(5)}) {
    SimulatedFaults faults;
    faults.stamp_error = error;
    Duo duo(options(), faults);
    duo.connect();
    std::vector<std::byte> buffer(10'000);
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
    ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(buffer.size())), 1), Status::ok);
    duo.run(ms(1));
    EXPECT_EQ(duo.of(1, Kind::sent).size(), 1u);
    EXPECT_EQ(duo.client().statistics(duo.id[1])->rtt_ns, 20'000u) << error.count();
  }
}

// [D38] Small packets are faster through slow links than full ones. That tells the links' rate, and must
// not make full packets look late.
TEST(Messages, SlowLinksAreMeasuredAtSetUp) {
  Duo duo;
  duo.world.faults().per_byte = ns(160);  // four links of 200 Mb/s
  duo.connect();
  const auto s = duo.client().statistics(duo.id[1]);
  EXPECT_NEAR(static_cast<double>(s->path_rate_bps), 200e6, 10e6);
  std::vector<std::byte> buffer(100'000);
  for (const std::size_t size : {std::size_t{10}, buffer.size()}) {
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
    ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(size)), 1), Status::ok);
    duo.run(ms(100));
  }
  const auto full = duo.client().statistics(duo.id[1]);
  EXPECT_GT(full->rtt_ns, full->base_rtt_ns + 100'000);  // as they come
  EXPECT_LT(full->avg_qdelay_ns, 20'000u);               // and as they count
}

TEST(Messages, MarksReachTheSender) {
  SimulatedFaults faults;
  faults.marking = {1, 4};
  Duo duo(options(), faults);
  duo.connect();
  std::vector<std::byte> buffer(200'000);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(200'000)), 1), Status::ok);
  duo.run(ms(50));
  const auto marked = duo.server().statistics(duo.id[0])->marks_received;
  EXPECT_GT(marked, 20u);
  EXPECT_EQ(duo.client().statistics(duo.id[1])->marks_echoed, marked);
}

// [D40] Switches that mark are believed: late and unmarked, a queue has drained. Where nothing ever
// marks, delay itself must bring the window down.
TEST(Messages, DelayCountsWhereNothingMarks) {
  for (const bool marks : {false, true}) {
    Duo duo;
    if (marks) duo.world.faults().marking = {1, 1};
    duo.connect();
    std::vector<std::byte> buffer(4'000'000);
    const auto pass = [&](std::size_t size) {
      ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
      ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(size)), 1), Status::ok);
      duo.run(ms(200));
    };
    pass(10'000);
    duo.world.faults().marking = {0, 1};
    duo.world.faults().one_way = ms(2);  // ten times the target
    pass(4'000'000);
    const auto s = duo.client().statistics(duo.id[1]);
    EXPECT_EQ(s->marks_echoed > 0, marks);
    if (marks) {
      EXPECT_GT(s->cwnd_bytes, s->max_cwnd_bytes / 2);
    } else {
      EXPECT_LT(s->cwnd_bytes, s->max_cwnd_bytes / 4);
    }
  }
}

// A message that was not granted ends the connection: a peer cannot make this side hold more than
// it offered.
TEST(Messages, BeyondTheCreditIsAProtocolError) {
  Duo duo(options(false));
  duo.connect();
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(10)), 1), Status::ok);
  duo.run(ms(1));
  duo.world.capture = nullptr;
  const auto& packet = tape.front();
  const auto header = wire::decode_header(packet.bytes);
  ASSERT_TRUE(header.ok() && header.value().type == wire::Type::data);
  auto data = wire::decode_data(header.value(),
                                wire::ConstBytes(packet.bytes).subspan(header.value().bytes()));
  ASSERT_TRUE(data.ok());
  for (const std::uint32_t id : {3u, 4u}) {  // four are granted
    wire::Data forged = data.value();
    forged.packet.psn = forged.packet.psn + id;
    forged.packet.message_id = id;
    std::vector<std::uint8_t> bytes(200);
    bytes.resize(wire::encode(bytes, {header.value().connection_id, false, 0}, forged));
    duo.world.inject(*duo.hosts[0], packet.from, bytes);
    duo.run(us(5));
    EXPECT_EQ(duo.of(0, Kind::failed).size(), id == 4 ? 1u : 0u);
  }
  EXPECT_EQ(duo.seen[0].back().status, Status::protocol_error);
}

// ---- Writes ----

TEST(Writes, LandInTheRegionBeforeALaterMessageCompletes) {
  Duo duo;
  duo.connect();
  std::vector<std::byte> region(10'000, std::byte{1});
  auto key = duo.server().register_region(region, duo.id[0]);
  ASSERT_TRUE(key);
  const auto bytes = pattern(6'000);
  std::vector<std::byte> note(1);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), note, 1), Status::ok);
  ASSERT_EQ(duo.client().write(duo.id[1], key.value(), 4'000, bytes, 2), Status::ok);
  ASSERT_EQ(duo.client().write(duo.id[1], key.value(), 10'000, {}, 3), Status::ok);  // just fits
  ASSERT_EQ(duo.client().send(duo.id[1], 0, duo.keep(pattern(1)), 4), Status::ok);
  duo.run(ms(20));
  EXPECT_EQ(duo.of(1, Kind::written).size(), 2u);
  ASSERT_EQ(duo.seen[0].size(), 1u);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), region.begin() + 4'000));
  EXPECT_EQ(region[3'999], std::byte{1});
}

TEST(Writes, OutsideARegionEndsTheConnectionAndTouchesNothing) {
  for (const int way : {0, 1, 2, 3}) {
    Duo duo;
    duo.connect();
    std::vector<std::byte> region(1'000, std::byte{1});
    // 3: registered for another connection.
    auto second = duo.client().connect(duo.hosts[0]->address(), 0);
    duo.run(ms(5));
    const ConnectionId other = duo.of(0, Kind::accepted).back().connection;
    auto key = duo.server().register_region(region, way == 3 ? other : duo.id[0]);
    ASSERT_TRUE(key);
    RegionKey named = key.value();
    if (way == 2) named.id ^= 1;
    const std::uint64_t offset = way == 0 ? 501 : way == 1 ? ~std::uint64_t{0} - 600 : 0;
    duo.seen[0].clear();
    duo.seen[1].clear();
    ASSERT_EQ(duo.client().write(duo.id[1], named, offset, duo.keep(pattern(500)), 7), Status::ok);
    duo.run(ms(50));
    EXPECT_EQ(region, std::vector<std::byte>(1'000, std::byte{1})) << way;
    ASSERT_EQ(duo.seen[0].size(), 1u) << way;
    EXPECT_EQ(duo.seen[0][0].kind, Kind::failed);
    EXPECT_EQ(duo.seen[0][0].status, Status::access_refused);
    ASSERT_EQ(duo.seen[1].size(), 2u) << way;
    EXPECT_EQ(duo.seen[1][0].kind, Kind::written);
    EXPECT_EQ(duo.seen[1][0].cookie, 7u);
    EXPECT_EQ(duo.seen[1][0].status, Status::protocol_error);
    EXPECT_EQ(duo.seen[1][1].kind, Kind::failed);
    EXPECT_TRUE(second);
  }
}

TEST(Writes, UnregisteringStopsAWriteUnderWay) {
  SimulatedFaults slow;
  slow.one_way = ms(1);
  Duo duo(options(), slow);
  duo.connect();
  duo.run(ms(10));
  std::vector<std::byte> region(3'000'000);  // three times what can be under way at once
  auto key = duo.server().register_region(region, kAnyConnection);
  const auto bytes = pattern(3'000'000);
  ASSERT_EQ(duo.client().write(duo.id[1], key.value(), 0, bytes, 7), Status::ok);
  duo.run(ms(2));
  EXPECT_EQ(duo.server().unregister_region(key.value()), Status::ok);
  EXPECT_EQ(duo.server().unregister_region(key.value()), Status::unknown_region);
  const std::vector<std::byte> then = region;
  duo.run(ms(50));
  EXPECT_EQ(region, then);
  EXPECT_EQ(duo.of(1, Kind::failed).size(), 1u);
}

// ---- Closing ----

TEST(Closing, WaitsForEverythingAndKeepsReceiving) {
  SimulatedFaults faults;
  faults.loss = {10, 100};
  faults.jitter = us(100);
  Duo duo(options(), faults);
  auto made = duo.client().connect(duo.hosts[0]->address(), 5);
  duo.id[1] = made.value();
  for (int i = 0; i < 100 && duo.of(0, Kind::accepted).empty(); ++i) duo.run(ms(50));
  duo.id[0] = duo.of(0, Kind::accepted).at(0).connection;
  const auto there = pattern(200'000, 1);
  const auto back = pattern(100'000, 2);
  std::vector<std::byte> got_there(there.size());
  std::vector<std::byte> got_back(back.size());
  ASSERT_EQ(duo.client().send(duo.id[1], 1, there, 1), Status::ok);
  ASSERT_EQ(duo.client().post_receive(duo.id[1], Match::any(), got_back, 2), Status::ok);
  ASSERT_EQ(duo.client().close(duo.id[1]), Status::ok);
  EXPECT_EQ(duo.client().send(duo.id[1], 1, there, 1), Status::closing);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), got_there, 3), Status::ok);
  for (int i = 0; i < 100 && duo.of(0, Kind::peer_closed).empty(); ++i) duo.run(ms(20));
  EXPECT_EQ(duo.of(0, Kind::received).size(), 1u);
  EXPECT_EQ(got_there, there);
  // The other half is still open.
  ASSERT_EQ(duo.server().send(duo.id[0], 1, back, 4), Status::ok);
  ASSERT_EQ(duo.server().close(duo.id[0]), Status::ok);
  duo.run(seconds(3));
  EXPECT_EQ(got_back, back);
  for (std::size_t side : {0u, 1u}) {
    EXPECT_EQ(duo.of(side, Kind::closed).size(), 1u);
    EXPECT_TRUE(duo.of(side, Kind::failed).empty());
    EXPECT_EQ(duo.seen[side].back().kind, Kind::closed);
    EXPECT_EQ(duo.engines[side]->connections_held(), 0u);
  }
}

// What came before the close and was not fetched yet is still there to be fetched.
TEST(Closing, UnfetchedMessageIsDeliveredBeforeClosed) {
  Duo duo;
  duo.connect();
  ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(500)), 1), Status::ok);
  ASSERT_EQ(duo.client().close(duo.id[1]), Status::ok);
  ASSERT_EQ(duo.server().close(duo.id[0]), Status::ok);
  duo.run(seconds(30));
  EXPECT_TRUE(duo.of(0, Kind::closed).empty());
  std::vector<std::byte> buffer(500);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 3), Status::ok);
  duo.run(ms(10));
  EXPECT_EQ(buffer, pattern(500));
  EXPECT_EQ(duo.of(0, Kind::received).size(), 1u);
  EXPECT_EQ(duo.of(0, Kind::closed).size(), 1u);
}

TEST(Closing, AbortFailsWhatIsUnderWayAtBothSides) {
  Duo duo;
  duo.connect();
  std::vector<std::byte> buffer(10);
  ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(5)), 1), Status::ok);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::exactly(5), buffer, 2), Status::ok);
  ASSERT_EQ(duo.client().abort(duo.id[1]), Status::ok);
  duo.run(ms(100));
  ASSERT_EQ(duo.seen[1].size(), 2u);
  EXPECT_EQ(duo.seen[1][0].status, Status::cancelled);
  ASSERT_EQ(duo.seen[0].size(), 2u);
  EXPECT_EQ(duo.seen[0][0].kind, Kind::received);
  EXPECT_EQ(duo.seen[0][0].status, Status::peer_aborted);
  EXPECT_EQ(duo.seen[0][1].kind, Kind::failed);
  duo.run(seconds(2));
  EXPECT_EQ(duo.client().connections_held(), 0u);
}

// [D151] Whoever has the last word may leave right after it, and so may who has only its own close to be answered: each goes eight times, by several ways.
TEST(Closing, LastWordsGoEightTimesBySeveralWays) {
  Duo duo;
  duo.connect();
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  const auto ports = [&tape] {
    std::vector<std::uint16_t> found;
    for (const auto& packet : tape) {
      if (wire::decode_header(packet.bytes).value().type == wire::Type::close_ack)
        found.push_back(packet.from.port);
    }
    tape.clear();
    return found;
  };
  for (const std::size_t side : {1u, 0u}) {
    ASSERT_EQ(duo.engines[side]->close(duo.id[side]), Status::ok);
    duo.run(ms(1));
    ASSERT_EQ(duo.of(1 - side, Kind::peer_closed).size(), 1u);
    const auto found = ports();
    EXPECT_EQ(found.size(), 8u);
    EXPECT_GE(std::set(found.begin(), found.end()).size(), 3u);
  }
  duo.world.capture = nullptr;
}

// The word that a connection is over may get lost once or twice.
TEST(Closing, AbortIsRepeated) {
  Duo duo;
  duo.connect();
  duo.world.faults().silent_from = duo.world.now();
  duo.world.faults().silent_until = duo.world.now() + ms(25);
  ASSERT_EQ(duo.client().abort(duo.id[1]), Status::ok);
  duo.run(ms(30));
  EXPECT_TRUE(duo.of(0, Kind::failed).empty());
  duo.run(ms(20));
  EXPECT_EQ(duo.of(0, Kind::failed).size(), 1u);
}

// ---- Life and death ----

TEST(Life, SilentPeerIsReportedAfterTheLimitWithItsOperations) {
  Duo duo;
  duo.connect();
  ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(5'000)), 1), Status::ok);
  duo.world.faults().silent_from = duo.world.now();
  duo.run(ms(9'900));
  EXPECT_TRUE(duo.seen[1].empty());
  duo.run(ms(200));
  ASSERT_EQ(duo.seen[1].size(), 2u);
  EXPECT_EQ(duo.seen[1][0].kind, Kind::sent);
  EXPECT_EQ(duo.seen[1][0].status, Status::peer_dead);
  EXPECT_EQ(duo.seen[1][1].kind, Kind::failed);
  EXPECT_EQ(duo.seen[1][1].status, Status::peer_dead);
  // The side that only waited has found out too.
  ASSERT_EQ(duo.of(0, Kind::failed).size(), 1u);
  EXPECT_EQ(duo.server().connections_held(), 0u);
}

// [D42] The peer is gone in the middle of a long message. After the window that was under way, little is
// sent until it is given up; and if it comes back, that is noticed soon.
TEST(Life, LittleIsSentToAPeerThatDoesNotAnswer) {
  for (const Picoseconds away : {ms(50), seconds(1), ms(9'500)}) {
    Duo duo;
    duo.connect();
    std::vector<std::byte> buffer(8'000'000);
    const auto message = pattern(buffer.size());
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
    ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
    duo.run(us(200));
    duo.world.faults().silent_from = duo.world.now();
    duo.world.faults().silent_until = duo.world.now() + away;
    duo.run(us(50));  // the last SACKs under way
    const EndpointStatistics before = duo.client().statistics();
    duo.run(away - us(50));
    const EndpointStatistics after = duo.client().statistics();
    const std::uint64_t window = duo.client().statistics(duo.id[1])->max_cwnd_bytes;
    EXPECT_LE(after.datagrams_sent - before.datagrams_sent, window / 1'024 + 400) << away.count();
    EXPECT_LE(after.bytes_sent - before.bytes_sent, window + window / 8 + 200'000) << away.count();
    // A probe within 128 ms, and a few more if the first ones meet the reverse way's leftovers.
    const std::uint64_t had = duo.client().statistics(duo.id[1])->sacks_received;
    duo.run(ms(130));
    EXPECT_GT(duo.client().statistics(duo.id[1])->sacks_received, had + 100) << away.count();
    duo.run(seconds(1));
    EXPECT_EQ(duo.of(1, Kind::sent).size(), 1u);
    EXPECT_EQ(buffer, message);
  }
}

TEST(Life, IdlePeersStayAliveByPings) {
  Duo duo;
  duo.connect();
  duo.run(seconds(60));
  EXPECT_TRUE(duo.seen[0].empty());
  EXPECT_TRUE(duo.seen[1].empty());
}

TEST(Life, SilenceShorterThanTheLimitIsSurvived) {
  Duo duo;
  duo.connect();
  const auto message = pattern(50'000);
  std::vector<std::byte> buffer(50'000);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
  duo.world.faults().silent_from = duo.world.now();
  duo.world.faults().silent_until = duo.world.now() + seconds(9);
  duo.run(seconds(10));
  EXPECT_EQ(duo.of(0, Kind::received).size(), 1u);
  EXPECT_EQ(buffer, message);
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
}

// Stopped for longer than the limit: its own absence is not the peer's silence.
TEST(Life, StoppedProcessDoesNotBlameItsPeer) {
  EndpointOptions o = options();
  o.peer_timeout = std::chrono::seconds(2);
  Duo duo(o);
  duo.connect();
  duo.run(ms(100));
  duo.world.faults().silent_from = duo.world.now();  // what was sent meanwhile is lost as well
  duo.world.advance_to(duo.world.now() + ms(1'900));
  duo.world.faults().silent_until = duo.world.now();
  duo.run(ms(300), 1);
  duo.run(seconds(5));
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
  EXPECT_TRUE(duo.of(0, Kind::failed).empty());
}

// A program that calls seldom: a peer that lives is not given up, and one that is dead is, though
// later by one call.
TEST(Life, SeldomCalledFindsOutAsWell) {
  EndpointOptions o = options();
  o.peer_timeout = std::chrono::seconds(2);
  for (const bool dies : {false, true}) {
    Duo duo(o);
    duo.connect();
    if (dies) duo.world.faults().silent_from = duo.world.now();
    std::size_t calls = 0;
    for (; calls < 20 && duo.of(1, Kind::failed).empty(); ++calls) {
      const Instant next = duo.world.now() + ms(1'500);
      while (duo.world.now() < next) {  // the other side is always there
        duo.world.advance_to(duo.world.now() + ms(10));
        duo.server().poll();
      }
      duo.client().poll();
      duo.run(us(1), 0);
      std::array<Completion, 4> room;
      for (const Completion& got : duo.client().completions(room)) duo.seen[1].push_back(got);
    }
    EXPECT_EQ(calls < 20, dies);
    if (dies) {
      EXPECT_LE(calls, 4u);
    }
  }
}

// ---- Many ----

TEST(Many, ThousandConnectionsBetweenTwoEndpoints) {
  EndpointOptions o = options();
  o.max_connections = 1'000;
  o.message_slots = 4;
  Duo duo(o);
  std::vector<std::byte> buffer(1'000'000);
  for (std::size_t i = 0; i < 2'000; ++i) {
    ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(),
                                        std::span(buffer).subspan(500 * i, 500), i),
              Status::ok);
  }
  const auto message = pattern(500);
  for (int i = 0; i < 1'000; ++i) {
    auto made = duo.client().connect(duo.hosts[0]->address(), 0);
    ASSERT_TRUE(made);
    ASSERT_EQ(duo.client().send(made.value(), 1, message, 1), Status::ok);
    ASSERT_EQ(duo.client().send(made.value(), 2, message, 2), Status::ok);
    ASSERT_EQ(duo.client().send(made.value(), 3, {}, 3), Status::ok);
  }
  duo.run(ms(500));
  EXPECT_EQ(duo.of(0, Kind::accepted).size(), 1'000u);
  EXPECT_EQ(duo.of(0, Kind::received).size(), 2'000u);
  std::vector<std::byte> small(1);
  for (std::size_t i = 0; i < 1'000; ++i) {
    ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), small, i), Status::ok);
  }
  duo.run(ms(500));
  EXPECT_EQ(duo.of(0, Kind::received).size(), 3'000u);
  EXPECT_EQ(duo.of(1, Kind::sent).size(), 3'000u);
  std::vector<ConnectionId> ids(1'000);
  ASSERT_EQ(duo.client().connections(ids), 1'000u);
  for (const ConnectionId id : ids) ASSERT_EQ(duo.client().close(id), Status::ok);
  std::vector<ConnectionId> theirs(1'000);
  ASSERT_EQ(duo.server().connections(theirs), 1'000u);
  for (const ConnectionId id : theirs) ASSERT_EQ(duo.server().close(id), Status::ok);
  duo.run(seconds(3));
  EXPECT_EQ(duo.of(1, Kind::closed).size(), 1'000u);
  EXPECT_EQ(duo.server().connections_held(), 0u);
  EXPECT_EQ(duo.client().connections_held(), 0u);
}

}  // namespace
}  // namespace strack::udp
