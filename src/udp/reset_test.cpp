// Peers that were restarted, and those who only say so.
#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"
#include "wire/wire.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;
using Datagram = std::vector<std::uint8_t>;

/// Kills one engine without a word, and starts it again at the same address.
void restart(Duo& duo, std::size_t side, bool keyed) {
  EndpointOptions o = options(keyed);
  if (side == 0) o.listen = "127.0.0.1:4794";
  duo.engines[side] = std::make_unique<Engine>(o, duo.networks[side]);
  duo.all[side] = duo.engines[side].get();
}

// [D46] The next packet tells, with a key and without; and a new connection comes up.
TEST(Resets, ARestartedPeerIsNoticedAtOnce) {
  for (const bool keyed : {false, true}) {
    for (const std::size_t side : {0u, 1u}) {
      Duo duo(options(keyed));
      duo.connect();
      restart(duo, side, keyed);
      const std::size_t other = 1 - side;
      const auto message = duo.keep(pattern(100'000));
      ASSERT_EQ(duo.all[other]->send(duo.id[other], 1, message, 7), Status::ok);
      duo.run(ms(20));
      ASSERT_EQ(duo.of(other, Kind::failed).size(), 1u) << keyed << side;
      EXPECT_EQ(duo.of(other, Kind::failed)[0].status, Status::peer_restarted);
      ASSERT_EQ(duo.of(other, Kind::sent).size(), 1u);
      EXPECT_EQ(duo.of(other, Kind::sent)[0].status, Status::peer_restarted);
      duo.seen[0].clear();
      duo.seen[1].clear();
      ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 1));
      duo.run(ms(20));
      EXPECT_EQ(duo.of(1, Kind::connected).size(), 1u);
    }
  }
}

// [D46] An idle one finds out when it asks whether its peer is there.
TEST(Resets, AnIdlePeerFindsOutByItsKeepalive) {
  Duo duo;
  duo.connect();
  restart(duo, 0, true);
  duo.run(ms(2'600));  // a quarter of ten seconds
  ASSERT_EQ(duo.of(1, Kind::failed).size(), 1u);
  EXPECT_EQ(duo.of(1, Kind::failed)[0].status, Status::peer_restarted);
}

/// The peer's id of engine 1's connection, and the counter it has come to, as who listens can see.
struct Seen {
  std::uint32_t id = 0;
  std::uint64_t counter = 0;
  Datagram packet;
};
Seen look(Duo& duo) {
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  duo.run(seconds(3));  // keepalives
  duo.world.capture = nullptr;
  Seen seen;
  for (const auto& packet : tape) {
    if (!(packet.to == duo.hosts[0]->address())) continue;
    const auto header = wire::decode_header(packet.bytes);
    if (!header || !wire::is_session(header.value().type)) continue;
    seen.id = header.value().connection_id;
    seen.counter = header.value().counter;
    seen.packet = packet.bytes;
  }
  return seen;
}

Datagram forged(bool keyed, std::uint32_t id, std::uint64_t echo, const wire::Mac& mac = {}) {
  Datagram bytes(64);
  bytes.resize(wire::encode(bytes, {0, keyed, 0}, wire::Reset{id, echo, mac}));
  return bytes;
}

// [D46] [D102] Who sees everything and lacks the key cannot reset a connection; nor can a reset of another
// host, one for a packet not sent yet, or one without a key.
TEST(Resets, ForgedOnesChangeNothing) {
  Duo duo;
  duo.connect();
  const Seen seen = look(duo);
  ASSERT_NE(seen.id, 0u);
  Secret psk;
  psk.fill(42);
  const JobKey key(psk);
  const auto macced = [&](std::uint64_t counter, const Address& sender) {
    Datagram bytes = forged(true, seen.id, counter);
    const wire::Mac mac = key.reset_mac({bytes.data(), bytes.size() - wire::kTagBytes}, sender);
    std::copy(mac.begin(), mac.end(), bytes.end() - wire::kTagBytes);
    return bytes;
  };
  const Address server = duo.hosts[0]->address();
  const Address member = *Address::parse("127.0.0.99:4794");
  Address neighbour = server;
  neighbour.port = 4'795;
  const std::uint64_t sent = duo.client().statistics().datagrams_sent;
  for (const Datagram& bytes :
       {forged(true, seen.id, seen.counter), forged(false, seen.id, seen.counter),
        macced(seen.counter, member), macced(seen.counter, neighbour),
        macced(seen.counter + 1'000, server)}) {
    duo.world.inject(*duo.hosts[1], server, bytes);
    EXPECT_EQ(duo.settle(), 0u);
  }
  // From elsewhere not even a good one.
  duo.world.inject(*duo.hosts[1], member, macced(seen.counter, server));
  EXPECT_EQ(duo.settle(), 0u);
  EXPECT_EQ(duo.client().statistics().connections, 1u);
  EXPECT_EQ(duo.client().statistics().datagrams_sent, sent) << "nor is any of them answered";
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());

  // A good one may be older than the connection: a ping asks. Only a reset that answers that is believed, and
  // nobody can have had one made before, since the ping's counter is some way ahead.
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  for (int i = 0; i < 100; ++i) {
    duo.world.inject(*duo.hosts[1], server, macced(seen.counter, server));
    duo.run(us(100));
  }
  duo.world.capture = nullptr;
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
  ASSERT_FALSE(tape.empty());
  EXPECT_EQ(duo.client().statistics().datagrams_sent - sent, 1u) << "one question in 20 ms";
  const std::uint64_t asked = wire::decode_header(tape[0].bytes).value().counter;
  EXPECT_GT(asked, seen.counter);
  EXPECT_LE(asked, seen.counter + 2'048);
  duo.world.inject(*duo.hosts[1], server, macced(asked - 1, server));
  duo.run(us(10));
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
  duo.world.inject(*duo.hosts[1], server, macced(asked, server));
  duo.run(us(10));
  ASSERT_EQ(duo.of(1, Kind::failed).size(), 1u) << "nothing else was wrong with them";
}

// The question's answer has time to come, however long the way.
TEST(Resets, AreAskedBackOnLongWays) {
  for (const bool keyed : {false, true}) {
    SimulatedFaults far;
    far.one_way = ms(40);
    Duo duo(options(keyed), far);
    ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 5));
    duo.run(seconds(2));
    ASSERT_EQ(duo.of(1, Kind::connected).size(), 1u);
    const ConnectionId id = duo.of(1, Kind::connected)[0].connection;
    restart(duo, 0, keyed);
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(duo.client().send(id, 1, duo.keep(pattern(1'000)), 7), Status::ok);
      duo.run(ms(15));
    }
    duo.run(ms(300));
    ASSERT_EQ(duo.of(1, Kind::failed).size(), 1u) << keyed;
    EXPECT_EQ(duo.of(1, Kind::failed)[0].status, Status::peer_restarted);
  }
}

// [D47] Without a key a reset is not believed at once: a ping asks, and the peer, which lives, answers.
TEST(Resets, WithoutAKeyTheyAreAskedBack) {
  Duo duo(options(false));
  duo.connect();
  const Seen seen = look(duo);
  const std::uint64_t pings = duo.client().statistics().datagrams_sent;
  for (int i = 0; i < 100; ++i) {
    // Even with the echo of a packet that was really sent.
    duo.world.inject(*duo.hosts[1], duo.hosts[0]->address(),
                     forged(false, seen.id, wire::packet_echo(seen.packet)));
    duo.run(us(100));
  }
  EXPECT_EQ(duo.client().statistics().datagrams_sent - pings, 1u) << "one question in 20 ms";
  EXPECT_EQ(duo.client().statistics().connections, 1u);
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
}

// [D47] A close without a key must name both ids, and a PSN that the peer can have come to.
TEST(Resets, ClosesWithoutAKeyProveThatTheyHaveSeenTheConnection) {
  Duo duo(options(false));
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  duo.connect();
  duo.world.capture = nullptr;
  std::optional<wire::Terms> offer;
  std::optional<wire::Terms> answer;
  for (const auto& packet : tape) {
    const auto header = wire::decode_header(packet.bytes).value();
    const auto body = wire::ConstBytes(packet.bytes).subspan(header.bytes());
    if (header.type == wire::Type::hello) offer = wire::decode_hello(header, body).value().terms;
    if (header.type == wire::Type::accept) answer = wire::decode_accept(header, body).value().terms;
  }
  ASSERT_TRUE(offer && answer);
  const auto strike = [&](core::Psn end, std::uint32_t source) {
    Datagram bytes(64);
    bytes.resize(wire::encode_close(bytes, {offer->connection_id, false, 0},
                                    {wire::CloseReason::aborted, end, source}));
    const std::uint64_t before = duo.client().statistics().datagrams_sent;
    duo.world.inject(*duo.hosts[1], duo.hosts[0]->address(), bytes);
    duo.run(us(5));
    const std::uint64_t answers = duo.client().statistics().datagrams_sent - before;
    duo.run(ms(25));  // it is asked once in 20 ms
    return answers;
  };
  EXPECT_EQ(strike(answer->initial_psn, answer->connection_id ^ 1), 0u);
  EXPECT_EQ(strike(answer->initial_psn - 1u, answer->connection_id), 1u) << "a ping asks";
  EXPECT_EQ(strike(answer->initial_psn + 40'000u, answer->connection_id), 1u);
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
  EXPECT_EQ(strike(answer->initial_psn, answer->connection_id), 1u) << "acknowledged";
  ASSERT_EQ(duo.of(1, Kind::failed).size(), 1u);
  EXPECT_EQ(duo.of(1, Kind::failed)[0].status, Status::peer_aborted);
}

// [D46] Packets for connections that do not exist are answered seldom, and never with more than they
// had.
TEST(Resets, AreFewAndSmall) {
  for (const bool keyed : {false, true}) {
    Duo duo(options(keyed));
    std::vector<SimulatedWorld::Captured> tape;
    duo.world.capture = &tape;
    Datagram ping(100);
    std::size_t n = wire::encode(ping, {77, keyed, 5}, wire::Ping{});
    if (keyed) n += wire::kTagBytes;
    ping.resize(n);
    Datagram probe(100);
    core::Packet packet;
    packet.type = core::PacketType::probe;
    n = wire::encode(probe, {77, keyed, 5}, packet);
    if (keyed) n += wire::kTagBytes;
    probe.resize(n);
    for (const Datagram& bytes : {ping, probe}) {
      tape.clear();
      duo.world.inject(*duo.hosts[0], duo.hosts[1]->address(), bytes);
      EXPECT_EQ(duo.settle(), 0u);
      ASSERT_EQ(tape.size(), 1u);
      // A probe without a key is all that some senders in doubt send.
      EXPECT_LE(tape[0].bytes.size(), std::max<std::size_t>(bytes.size(), 20));
    }
    tape.clear();
    for (int i = 0; i < 10'000; ++i) {
      duo.world.inject(*duo.hosts[0], duo.hosts[1]->address(), ping);
      duo.settle();
    }
    EXPECT_LE(tape.size(), 100u) << "the burst for one part of the network";
    EXPECT_GE(tape.size(), 98u);
    EXPECT_EQ(duo.server().connections_held(), 0u);
  }
}

}  // namespace
}  // namespace strack::udp
