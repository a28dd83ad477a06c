// Set-up when paths are dead before it begins.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

wire::Terms some_terms(bool keyed) {
  wire::Terms terms;
  terms.connection_id = 9;
  terms.idle_timeout_ms = 1;
  terms.mtu = 1'000;
  terms.paths = terms.tracking_window = 1;
  terms.reply_port = 4'794;
  if (keyed) {
    Secret psk;
    psk.fill(42);  // as in options()
    terms.key_id = JobKey(psk).id();
    terms.ciphers = wire::kChaCha20Poly1305;
  }
  return terms;
}

// [D44] One or two of three spines lead nowhere, in both directions, each direction with a hash of
// its own: every connection comes up before its time is over, and both sides know.
TEST(SetUpPaths, DeadSpinesDoNotPreventAConnection) {
  for (const std::uint32_t dead : {1u, 2u}) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      SimulatedFaults faults;
      faults.spines = 3;
      faults.dead_spines = dead;
      faults.hash_seed = mix64(seed);
      faults.spines_die_at = Instant{};
      EndpointOptions o = options();
      o.paths = 64;
      Duo duo(o, faults);
      ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 5));
      duo.run(us(o.connect_timeout.count() * 1'000));
      ASSERT_EQ(duo.of(1, Kind::connected).size(), 1u) << dead << " dead, seed " << seed;
      ASSERT_EQ(duo.of(0, Kind::accepted).size(), 1u) << dead << " dead, seed " << seed;
    }
  }
}

// [D44] Repetitions leave by other ports, and so do their answers; all go to the ports that receive.
TEST(SetUpPaths, EachRepetitionTakesOtherPorts) {
  SimulatedFaults faults;
  faults.silent_until = at(seconds(2));
  faults.silent_from = at(seconds(0));
  Duo duo(options(), faults);
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 5));
  duo.run(ms(350));  // after 0, 100 and 300 ms
  std::vector<std::uint16_t> ports;
  for (const auto& packet : tape) {
    EXPECT_EQ(packet.bytes[0], 0x26);
    EXPECT_EQ(packet.to, duo.hosts[0]->address());
    ports.push_back(packet.from.port);
  }
  ASSERT_EQ(ports.size(), 1u + 2u + 3u);
  EXPECT_EQ(tape[0].bytes[3], 0);
  EXPECT_EQ(tape[1].bytes[3], 1);
  EXPECT_EQ(tape[5].bytes[3], 2);
  std::sort(ports.begin(), ports.end());
  EXPECT_EQ(std::unique(ports.begin(), ports.end()), ports.end());

  tape.clear();
  duo.run(seconds(1) + ms(100));
  ASSERT_EQ(duo.of(1, Kind::connected).size(), 1u);
  ports.clear();
  for (const auto& packet : tape) {
    if (packet.bytes[0] != 0x27 && packet.bytes[0] != 0x29) continue;
    EXPECT_EQ(packet.to, duo.hosts[1]->address());
    ports.push_back(packet.from.port);
  }
  std::sort(ports.begin(), ports.end());
  EXPECT_GE(std::unique(ports.begin(), ports.end()) - ports.begin(), 4);
}

// A peer of version 1 is told which version is spoken here, in its own.
TEST(SetUpPaths, OtherVersionsAreTold) {
  Duo duo;
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  std::vector<std::uint8_t> hello(wire::kHelloMinBytes);
  hello[0] = 0x16;
  hello[11] = 9;  // its id
  hello[19] = 7;  // the end of its nonce's first eight bytes
  Address from = duo.hosts[1]->address();
  duo.world.inject(*duo.hosts[0], from, hello);
  duo.settle();
  ASSERT_EQ(tape.size(), 1u);
  EXPECT_EQ(tape[0].to, from);
  const std::vector<std::uint8_t> reject{0x1a, 0, 0, 0, 0, 0, 0, 9, 0, 0,
                                         0,    0, 0, 0, 0, 7, 1, 2, 2, 0};
  EXPECT_EQ(tape[0].bytes, reject);
}

// Later versions name the port that they listen at, in the same place as this one.
TEST(SetUpPaths, LaterVersionsAreToldWhereTheyListen) {
  Duo duo;
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  std::vector<std::uint8_t> hello(wire::kHelloMinBytes);
  wire::encode(hello, {0, false, 0}, wire::Hello{some_terms(false)});
  hello[0] = 0x36;
  Address from = duo.hosts[1]->address();
  from.port = 31'000;
  duo.world.inject(*duo.hosts[0], from, hello);
  duo.settle();
  ASSERT_EQ(tape.size(), 1u);
  from.port = 4'794;
  EXPECT_EQ(tape[0].to, from);
  EXPECT_EQ(tape[0].bytes[0], 0x3a);
}

// Whichever way it comes back, and each reason in words of its own.
TEST(SetUpPaths, EveryReasonOfARejectIsToldApart) {
  const std::pair<wire::RejectReason, Status> all[] = {
      {wire::RejectReason::version, Status::version_refused},
      {wire::RejectReason::key_required, Status::key_refused},
      {wire::RejectReason::busy, Status::busy},
      {wire::RejectReason::not_listening, Status::not_listening},
      {wire::RejectReason::terms, Status::refused},
      {wire::RejectReason::transport, Status::transport_refused},
      {wire::RejectReason::extension, Status::extension_refused}};
  std::vector<std::string_view> texts;
  for (const auto& [reason, status] : all) {
    Duo duo(options(false));
    std::vector<SimulatedWorld::Captured> tape;
    duo.world.capture = &tape;
    ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 5));
    ASSERT_EQ(tape.size(), 1u);
    const auto header = wire::decode_header(tape[0].bytes);
    ASSERT_TRUE(header.ok());
    const auto hello = wire::decode_hello(
        header.value(), wire::ConstBytes(tape[0].bytes).subspan(wire::kHeaderBytes));
    ASSERT_TRUE(hello.ok());
    wire::Reject reject;
    reject.echo = wire::nonce_echo(hello.value().terms.nonce);
    reject.reason = reason;
    std::vector<std::uint8_t> bytes(64);
    bytes.resize(wire::encode(bytes, {hello.value().terms.connection_id, false, 0}, reject));
    duo.world.inject(*duo.hosts[1], tape[0].to, bytes);
    duo.run(us(1), 1);
    ASSERT_EQ(duo.seen[1].size(), 1u);
    EXPECT_EQ(duo.seen[1][0].kind, Kind::failed);
    EXPECT_EQ(duo.seen[1][0].status, status);
    texts.push_back(text(status));
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
}

// Who was asked for a cookie's return, and then heard no more, is told just that. It may be that there is no room: rejects are few and
// may be lost, and where half of the room is half-open connections nothing is said; or ways lose packets.
TEST(SetUpPaths, WhoWasChallengedIsNotToldThatNobodyAnswers) {
  for (const bool keyed : {false, true}) {
    for (const bool challenged : {false, true}) {
      Duo duo(options(keyed));
      duo.world.filter = [&](const SimulatedWorld::Captured& packet) {
        const auto type = static_cast<wire::Type>(packet.bytes[0] & 0x0f);
        return type == wire::Type::hello || type == wire::Type::connect ||
               (challenged && type == wire::Type::challenge);
      };
      ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 5));
      duo.run(seconds(11));
      ASSERT_EQ(duo.of(1, Kind::failed).size(), 1u);
      EXPECT_EQ(duo.of(1, Kind::failed)[0].status,
                challenged ? Status::went_silent : Status::timed_out);
    }
  }
}

// Without a route it fails at the next poll and not when the time is over.
TEST(SetUpPaths, NoRouteIsToldAtOnce) {
  for (const bool keyed : {false, true}) {
    SimulatedFaults faults;
    faults.unreachable = true;
    Duo duo(options(keyed), faults);
    ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 5));
    duo.run(us(1));
    ASSERT_EQ(duo.seen[1].size(), 1u);
    EXPECT_EQ(duo.seen[1][0].kind, Kind::failed);
    EXPECT_EQ(duo.seen[1][0].status, Status::unreachable);
    EXPECT_EQ(duo.seen[1][0].cookie, 5u);
  }
}

// Extensions that nobody knows yet: critical ones are refused, others ignored.
TEST(SetUpPaths, OnlyCriticalExtensionsAreRefused) {
  Duo duo(options(false));
  wire::Terms terms = some_terms(false);
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  const auto answer = [&] {
    std::vector<std::uint8_t> hello(wire::kHelloMinBytes);
    wire::encode(hello, {0, false, 0}, wire::Hello{terms});
    tape.clear();
    duo.world.inject(*duo.hosts[0], duo.hosts[1]->address(), hello);
    duo.settle();
    return tape.at(0).bytes;
  };
  terms.extensions = 0x00ff;
  EXPECT_EQ(answer()[0], 0x27);
  terms.extensions = 0x0200;
  EXPECT_EQ(answer().at(16), static_cast<std::uint8_t>(wire::RejectReason::extension));
  terms.extensions = 0;
  terms.transport = 100;  // nobody has it
  EXPECT_EQ(answer().at(16), static_cast<std::uint8_t>(wire::RejectReason::transport));
}

// [D45] 20,000 hellos a second from everywhere, all of them good, beside a transfer: so many are
// answered as the budget has, and the transfer takes as long as without them.
TEST(SetUpPaths, FloodOfHellosIsAnsweredWithinItsBudget) {
  for (const bool keyed : {false, true}) {
    Instant done[2];
    for (const bool flooded : {false, true}) {
      Duo duo(options(keyed));
      duo.connect();
      Secret psk;
      psk.fill(42);
      wire::Terms terms = some_terms(keyed);
      std::vector<std::uint8_t> hello(wire::kHelloMinBytes);
      const auto message = pattern(1'000'000);
      std::vector<std::byte> buffer(message.size());
      const std::uint64_t challenges = duo.server().statistics().challenges_sent;
      for (std::uint32_t i = 0; i < 20'000; ++i) {
        if (i == 10'000) {
          ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
          ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
        }
        if (flooded) {
          Address from = duo.hosts[0]->address();
          for (std::size_t b = 0; b < 3; ++b)
            from.ip[b + 1] = static_cast<std::uint8_t>(i >> 4 * b);
          terms.connection_id = i + 1;
          wire::encode(hello, {0, keyed, 0}, wire::Hello{terms});
          if (keyed) {
            const wire::Mac mac = JobKey(psk).hello_mac({hello.data(), wire::kHelloMacAt});
            std::copy(mac.begin(), mac.end(), hello.data() + wire::kHelloMacAt);
          }
          duo.world.inject(*duo.hosts[0], from, hello);
        }
        duo.run(us(50));
        if (done[flooded] == Instant{} && !duo.of(1, Kind::sent).empty())
          done[flooded] = duo.world.now();
      }
      EXPECT_EQ(buffer, message);
      // The burst, and 10,000 in the second.
      const std::uint64_t answered = duo.server().statistics().challenges_sent - challenges;
      if (flooded) {
        EXPECT_GE(answered, 11'990u);
        EXPECT_LE(answered, 12'001u);
      }
      EXPECT_EQ(duo.client().statistics(duo.id[1])->retransmissions, 0u);
    }
    EXPECT_EQ(done[0], done[1]);
    EXPECT_NE(done[0], Instant{});
  }
}

}  // namespace
}  // namespace strack::udp
