// Connections between hosts that have keys of their own: who gets one, who gets an answer, who gets neither.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "udp/crypto.h"
#include "udp/testing.h"
#include "wire/wire.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;
using Datagram = std::vector<std::uint8_t>;

Key identity(int which) {
  Key key;
  key.fill(static_cast<std::byte>(which));
  return key;
}

EndpointOptions server_options() {
  EndpointOptions o = options(false);
  o.listen = "127.0.0.1:4794";
  o.identity = identity(1);
  o.trusted = {public_key(identity(3)), public_key(identity(2))};
  return o;
}
EndpointOptions client_options() {
  EndpointOptions o = options(false);
  o.identity = identity(2);
  o.peer = public_key(identity(1));
  o.connect_timeout = std::chrono::milliseconds(1'000);
  return o;
}

/// Whether a key lies anywhere in there.
bool holds(std::span<const std::byte> memory, const Key& key) {
  return std::search(memory.begin(), memory.end(), key.begin(), key.end()) != memory.end();
}

TEST(Secrets, OptionsWipeTheirs) {
  alignas(EndpointOptions) std::array<std::byte, 2 * sizeof(EndpointOptions)> memory{};
  const std::span<std::byte> copies(memory);
  auto* first = new (memory.data()) EndpointOptions;
  first->key = identity(7);
  first->identity = identity(9);
  auto* second = new (memory.data() + sizeof(EndpointOptions)) EndpointOptions(*first);
  EXPECT_TRUE(holds(copies, identity(7)) && holds(copies, identity(9)));
  first->~EndpointOptions();
  EXPECT_TRUE(holds(copies, identity(7)) && holds(copies, identity(9)));
  second->key.reset();
  second->identity = std::nullopt;
  EXPECT_TRUE(holds(copies, identity(7)) && holds(copies, identity(9)));
  second->~EndpointOptions();
  EXPECT_FALSE(holds(copies, identity(7)) || holds(copies, identity(9)));
}

// As hexadecimal digits, with colons or not, and as OpenSSL prints them: Alice's key of RFC 7748, 6.1.
TEST(PublicKeys, AreReadInSeveralWays) {
  const std::string digits = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
  const Key key = parse_public_key(" " + digits + "\n").value();
  EXPECT_EQ(key_text(key), digits);
  std::string colons;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    colons += (i > 0 ? ":" : "") + digits.substr(i, 2);
  EXPECT_EQ(parse_public_key(colons).value(), key);
  EXPECT_EQ(
      parse_public_key("MCowBQYDK2VuAyEAhSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=\n").value(),
      key);
  EXPECT_FALSE(parse_public_key("MCowBQYDK2VwAyEAhSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="))
      << "another kind of key";
  EXPECT_EQ(parse_public_key(digits.substr(2)).error().text,
            "a public key is 64 hexadecimal digits, as `strack key show` prints it; this has 62");
}

// Points of low order, of the curve and of its twist, and what is equal to them modulo 2^255 - 19.
TEST(PublicKeys, LowOrderIsNone) {
  for (const char* point : {"0000000000000000000000000000000000000000000000000000000000000000",
                            "0100000000000000000000000000000000000000000000000000000000000000",
                            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
    const auto parsed = parse_public_key(point);
    ASSERT_FALSE(parsed) << point;
    EXPECT_EQ(parsed.error().text,
              std::string(point) + " is no public key: nobody has an identity for it");
  }
}

/// Two hosts that know each other.
struct Hosts : Duo {
  explicit Hosts(const EndpointOptions& server_with = server_options(),
                 const EndpointOptions& client_with = client_options(),
                 const SimulatedFaults& faults = {})
      : Duo(options(false), faults) {
    replace(0, server_with);
    replace(1, client_with);
  }
  void replace(std::size_t side, const EndpointOptions& o) {
    engines[side] = std::make_unique<Engine>(o, networks[side]);
    all[side] = engines[side].get();
  }
  /// All that passes between them, `keep` says whether it arrives.
  void record(std::function<bool(const Datagram&)> keep = {}) {
    tape.clear();
    world.filter = [this, keep](const SimulatedWorld::Captured& packet) {
      tape.push_back(packet.bytes);
      return !keep || keep(packet.bytes);
    };
  }
  [[nodiscard]] std::vector<Datagram> of_type(wire::Type type) const {
    std::vector<Datagram> found;
    std::copy_if(tape.begin(), tape.end(), std::back_inserter(found),
                 [&](const Datagram& d) { return static_cast<wire::Type>(d[0] & 0x0f) == type; });
    return found;
  }
  /// Asks, and says how that went.
  std::optional<Status> ask(Picoseconds patience = ms(1'500)) {
    const auto made = client().connect(hosts[0]->address(), 5);
    EXPECT_TRUE(made) << made.error().text;
    run(patience);
    if (!of(1, Kind::connected).empty()) return Status::ok;
    return of(1, Kind::failed).empty() ? std::nullopt
                                       : std::optional(of(1, Kind::failed)[0].status);
  }
  std::vector<Datagram> tape;
};

// [D95] One round trip: hello, accept. Both sides know who the other is, and what is sent is sealed.
TEST(HostKeys, OneRoundTripAndBothAreKnown) {
  Hosts duo;
  duo.record();
  duo.connect();
  EXPECT_EQ(duo.of_type(wire::Type::hello).size(), 1u);
  EXPECT_EQ(duo.of_type(wire::Type::accept).size(), 1u);
  EXPECT_TRUE(duo.of_type(wire::Type::challenge).empty());
  EXPECT_EQ(duo.server().peer_key(duo.id[0]), public_key(identity(2)));
  EXPECT_EQ(duo.client().peer_key(duo.id[1]), public_key(identity(1)));
  EXPECT_TRUE(duo.client().statistics(duo.id[1])->keyed);

  std::vector<std::byte> buffer(100'000);
  ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), buffer, 1), Status::ok);
  const auto message = duo.keep(pattern(100'000));
  ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 2), Status::ok);
  duo.run(ms(20));
  ASSERT_EQ(duo.of(0, Kind::received).size(), 1u);
  EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), message.begin()));
}

// [D95] The initiator's key is not to be seen, nor its public half; nor the same session's keys twice.
TEST(HostKeys, TheInitiatorIsHidden) {
  Hosts duo;
  duo.record();
  duo.connect();
  const Key seen = public_key(identity(2));
  const auto* begin = reinterpret_cast<const std::uint8_t*>(seen.data());
  for (const Datagram& packet : duo.tape)
    EXPECT_EQ(std::search(packet.begin(), packet.end(), begin, begin + seen.size()), packet.end());
}

// Not trusted, another key than expected, no key, a shared key: nobody gets a word.
TEST(HostKeys, StrangersGetSilence) {
  const auto silent = [](const EndpointOptions& client) {
    Hosts duo(server_options(), client);
    duo.record();
    EXPECT_EQ(duo.ask(), Status::timed_out);
    EXPECT_EQ(duo.of_type(wire::Type::hello).size(), duo.tape.size());
    EXPECT_EQ(duo.server().connections_held(), 0u);
    return duo.server().statistics();
  };
  EndpointOptions client = client_options();
  client.identity = identity(4);  // knows the server, which does not know it
  EXPECT_GT(silent(client).refused_untrusted, 0u);
  client = client_options();
  client.peer = public_key(identity(5));  // expects somebody else there
  EXPECT_GT(silent(client).refused_forged, 0u);
  client = options(false);
  client.connect_timeout = std::chrono::milliseconds(1'000);
  EXPECT_GT(silent(client).refused_forged, 0u);
  client.key = identity(1);  // what would be the shared key has another meaning
  EXPECT_GT(silent(client).refused_forged, 0u);
}

// And the other way round: a host with a key of its own talks to nobody who has not the one it expects.
TEST(HostKeys, NoDowngrade) {
  for (const bool keyed : {false, true}) {
    EndpointOptions server = options(keyed);
    server.listen = "127.0.0.1:4794";
    Hosts duo(server, client_options());
    EXPECT_EQ(duo.ask(), Status::key_refused);  // at the end of its time, by what it was told
    EXPECT_EQ(duo.of(1, Kind::connected).size(), 0u);
  }
  // Who strikes out the extension, or the flag, or both, or changes the terms, and knows the public key: makes the MAC
  // anew. That does not help.
  Secret known;
  std::memcpy(known.data(), public_key(identity(1)).data(), known.size());
  const JobKey door(known);
  for (const int what : {1, 2, 3, 4}) {
    Hosts duo;
    bool accepted = false;
    duo.record([&](const Datagram& packet) {
      const auto type = static_cast<wire::Type>(packet[0] & 0x0f);
      accepted |= type == wire::Type::accept;
      if (type != wire::Type::hello) return true;
      Datagram changed = packet;
      if ((what & 1) != 0) changed[1] &= 0xfe;
      if ((what & 2) != 0) changed[8 + 70] &= 0xfe;
      if (what == 4) changed[8 + 44] ^= 1;  // user_data
      const std::size_t at = (what & 1) != 0 ? wire::kHelloMacAt : wire::kHostHelloMacAt;
      const wire::Mac mac = door.hello_mac(wire::ConstBytes(changed).first(at));
      const auto place = changed.begin() + static_cast<std::ptrdiff_t>(at);
      std::fill(std::copy(mac.begin(), mac.end(), place), changed.end(), std::uint8_t{0});
      duo.world.inject(*duo.hosts[0], duo.hosts[1]->address(), changed);
      return false;
    });
    EXPECT_EQ(duo.ask(), Status::timed_out);
    EXPECT_FALSE(accepted);
    const EndpointStatistics s = duo.server().statistics();
    EXPECT_EQ(s.refused_malformed > 0, what < 3)
        << "the flag and the extension contradict each other";
    EXPECT_EQ(s.refused_forged > 0, what >= 3) << what;
  }
}

// Any bit of a hello or an accept that is changed on the way, and any length: nothing comes of it.
TEST(HostKeys, WhatIsChangedOnTheWayIsRefused) {
  Hosts first;
  first.record();
  first.connect();
  const Datagram hello = first.of_type(wire::Type::hello)[0];
  Hosts duo;
  const auto try_it = [&duo](const Datagram& changed) {
    duo.world.inject(*duo.hosts[0], duo.hosts[1]->address(), changed);
    duo.settle();
    return duo.server().connections_held();
  };
  for (std::size_t byte = 1; byte < wire::kHostHelloMacAt + 16; byte += 3) {
    Datagram changed = hello;
    changed[byte] ^= static_cast<std::uint8_t>(1u << byte % 8);
    ASSERT_EQ(try_it(changed), 0u) << byte;
  }
  for (const std::size_t size : {0u, 79u, 207u, 223u, 224u, 1'199u})
    ASSERT_EQ(try_it({hello.begin(), hello.begin() + static_cast<std::ptrdiff_t>(size)}), 0u);
  EXPECT_EQ(try_it(hello), 1u);
}

// An accept that somebody made up neither connects nor spoils the handshake: the true one still does.
TEST(HostKeys, ForgedAcceptsChangeNothing) {
  Hosts duo;
  std::size_t forged = 0;
  duo.record([&](const Datagram& packet) {
    if (static_cast<wire::Type>(packet[0] & 0x0f) != wire::Type::accept || forged > 0) return true;
    for (std::size_t byte = 8; byte < packet.size(); byte += 7, ++forged) {
      Datagram changed = packet;
      changed[byte] ^= 1;
      duo.world.inject(*duo.hosts[1], duo.hosts[0]->address(), changed);
    }
    return true;
  });
  EXPECT_EQ(duo.ask(), Status::ok);
  EXPECT_GT(forged, 20u);
  EXPECT_GT(duo.client().statistics().refused_forged, 15u);
}

// A first message that was recorded leads to a half-open connection for three seconds, once, and to nothing else.
TEST(HostKeys, AReplayedFirstMessageConnectsNobody) {
  Hosts first;
  first.record();
  first.connect();
  const Datagram hello = first.of_type(wire::Type::hello)[0];
  Hosts duo;
  for (int i = 0; i < 20; ++i) duo.world.inject(*duo.hosts[0], duo.hosts[1]->address(), hello);
  duo.run(ms(100), 0);
  EXPECT_EQ(duo.server().connections_held(), 1u);
  EXPECT_TRUE(duo.of(0, Kind::accepted).empty());
  duo.run(ms(3'000), 0);
  EXPECT_EQ(duo.server().connections_held(), 0u);
  EXPECT_TRUE(duo.of(0, Kind::accepted).empty());
}

// Who copies a first message and is faster, from an address of his choice, locks nobody out: the true one is another.
TEST(HostKeys, ACopyFromElsewhereLocksNobodyOut) {
  Hosts duo;
  std::size_t copies = 0;
  duo.record([&](const Datagram& packet) {
    if (static_cast<wire::Type>(packet[0] & 0x0f) != wire::Type::hello || copies > 0) return true;
    for (const char* from : {"127.0.0.77:5000", "127.0.0.78:5000"}) {
      duo.world.inject(*duo.hosts[0], *Address::parse(from), packet);
      ++copies;
    }
    return true;
  });
  EXPECT_EQ(duo.ask(ms(20)), Status::ok);
  EXPECT_EQ(copies, 2u);
  EXPECT_EQ(duo.of_type(wire::Type::hello).size(), 1u) << "the first was answered";
  EXPECT_EQ(duo.server().connections_held(), 3u);
  duo.run(ms(3'100));
  EXPECT_EQ(duo.server().connections_held(), 1u)
      << "the copies' are forgotten, and not the true one";
  EXPECT_EQ(duo.of(0, Kind::accepted).size(), 1u);
}

// Answers that somebody made up for one connection use up nothing of what others need.
TEST(HostKeys, ForgedAcceptsHoldUpNobodyElse) {
  Hosts duo;
  Datagram accept;
  duo.record([&](const Datagram& packet) {
    if (static_cast<wire::Type>(packet[0] & 0x0f) != wire::Type::accept || !accept.empty())
      return true;
    accept = packet;
    return false;
  });
  ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 1));
  duo.run(ms(1));
  ASSERT_FALSE(accept.empty());
  Datagram forged = accept;
  forged[8 + 72] ^= 1;  // in the second message
  for (int i = 0; i < 400; ++i) {
    duo.world.inject(*duo.hosts[1], duo.hosts[0]->address(), forged);
    duo.settle();
  }
  EXPECT_EQ(duo.client().statistics().refused_forged, 400u);
  ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 2));
  duo.run(ms(1));
  ASSERT_EQ(duo.of(1, Kind::connected).size(), 1u);
  EXPECT_EQ(duo.of(1, Kind::connected)[0].cookie, 2u);
  duo.run(ms(150));
  EXPECT_EQ(duo.of(1, Kind::connected).size(), 2u) << "nor is the first lost";
}

// Cookies only under load: when many connections are half there, a hello is answered with a challenge, and a connection
// comes up all the same.
TEST(HostKeys, UnderLoadACookieIsAskedFor) {
  EndpointOptions server = server_options();
  server.max_connections = 32;
  Hosts duo(server);
  // Eight who never go on: their hellos come from somewhere, and nobody is there to answer.
  duo.record([](const Datagram& packet) {
    return static_cast<wire::Type>(packet[0] & 0x0f) != wire::Type::accept;
  });
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 9));
  duo.run(ms(50));
  EXPECT_EQ(duo.server().connections_held(), 8u);
  EXPECT_TRUE(duo.of_type(wire::Type::challenge).empty());
  duo.replace(1, client_options());
  duo.record();
  ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 5));
  duo.run(ms(50));
  EXPECT_EQ(duo.of(1, Kind::connected).size(), 1u);
  EXPECT_EQ(duo.of_type(wire::Type::challenge).size(), 1u);
  EXPECT_EQ(duo.of_type(wire::Type::connect).size(), 1u);
}

// Also where few connections are allowed: before half of them are half open, and nobody new is let in.
TEST(HostKeys, SmallEndpointsAskForCookiesToo) {
  EndpointOptions server = server_options();
  server.max_connections = 16;
  Hosts duo(server);
  duo.record([](const Datagram& packet) {
    return static_cast<wire::Type>(packet[0] & 0x0f) != wire::Type::accept;
  });
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 9));
  duo.run(us(15));  // hellos have come, and nobody has answered a challenge
  EXPECT_EQ(duo.server().connections_held(), 4u);
  EXPECT_EQ(duo.server().statistics().challenges_sent, 16u);
}

// However many hellos of one part of the network: openings are bounded, and so are the answers.
TEST(HostKeys, OpeningsAreBounded) {
  Hosts duo;
  duo.record();
  EndpointOptions stranger = client_options();
  stranger.identity = identity(4);
  stranger.max_connections = 2'000;
  duo.replace(1, stranger);
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 9));
  duo.run(ms(10));
  // A burst of 100 at once; the others are asked for a cookie, with which they have as many again.
  EXPECT_LE(duo.server().statistics().refused_untrusted, 220u);
  EXPECT_GE(duo.server().statistics().refused_untrusted, 100u);
  EXPECT_EQ(duo.server().connections_held(), 0u);
}

// [D97] A restarted peer is noticed at once, by either side; nobody else's reset is believed.
TEST(HostKeys, ResetsAreThePeersOwn) {
  for (const std::size_t side : {0u, 1u}) {
    Hosts duo;
    duo.connect();
    duo.replace(side, side == 0 ? server_options() : client_options());
    const std::size_t other = 1 - side;
    const auto message = duo.keep(pattern(10'000));
    ASSERT_EQ(duo.all[other]->send(duo.id[other], 1, message, 7), Status::ok);
    duo.run(ms(20));
    ASSERT_EQ(duo.of(other, Kind::failed).size(), 1u) << side;
    EXPECT_EQ(duo.of(other, Kind::failed)[0].status, Status::peer_restarted);
  }
  // [D97] The same host at another address: its second endpoint with the same port knows nothing of the connection.
  {
    Hosts duo;
    duo.connect();
    const ConnectionId id = duo.id[1];
    SimulatedHost& host = duo.world.add_host();
    std::uint64_t apart = 0;
    testing::CountedApart network(host, apart);
    Engine second(server_options(), network);
    ASSERT_EQ(host.address().port, duo.hosts[0]->address().port);
    // Who stands on the way hands every packet to it, and its answers on as the first one's.
    std::size_t resets = 0;
    duo.world.filter = [&](const SimulatedWorld::Captured& packet) {
      const auto header = wire::decode_header(packet.bytes).value();
      if (packet.to == duo.hosts[0]->address() && wire::is_session(header.type))
        duo.world.inject(host, packet.from, packet.bytes);
      if (header.type != wire::Type::reset) return true;
      ++resets;
      duo.world.inject(*duo.hosts[1], duo.hosts[0]->address(), packet.bytes);
      return false;
    };
    const auto message = duo.keep(pattern(10'000));
    ASSERT_EQ(duo.client().send(id, 1, message, 7), Status::ok);
    for (int i = 0; i < 100; ++i) {
      duo.run(us(300));
      second.poll();
    }
    EXPECT_GT(resets, 0u);
    EXPECT_TRUE(duo.of(1, Kind::failed).empty());
    EXPECT_GE(duo.client().statistics().refused_forged, resets);
  }
  // Somebody else in the server's place, with another key.
  Hosts duo;
  duo.connect();
  EndpointOptions impostor = server_options();
  impostor.identity = identity(7);
  duo.replace(0, impostor);
  const auto message = duo.keep(pattern(10'000));
  ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 7), Status::ok);
  duo.run(ms(200));
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
  EXPECT_GT(duo.client().statistics().refused_forged, 0u);
}

// Lost hellos and accepts are repeated; the same accept comes again.
TEST(HostKeys, ComesUpThroughLoss) {
  int up = 0;
  for (std::int64_t seed = 0; seed < 10; ++seed) {
    SimulatedFaults faults;
    faults.loss = {30 + seed, 100};
    EndpointOptions client = client_options();
    client.connect_timeout = std::chrono::seconds(10);
    Hosts duo(server_options(), client, faults);
    up += duo.ask(seconds(11)) == Status::ok ? 1 : 0;
  }
  EXPECT_EQ(up, 10);
}

// What is wrong with the options is said, with what would work.
TEST(HostKeys, WrongOptionsAreNamed) {
  const auto says = [](const EndpointOptions& o, const char* words) {
    const auto wrong = Engine::check(o);
    ASSERT_TRUE(wrong) << words;
    EXPECT_NE(wrong->text.find(words), std::string::npos) << wrong->text;
  };
  EndpointOptions o = server_options();
  o.key = identity(1);
  says(o, "give one of them");
  o = server_options();
  o.trusted.clear();
  says(o, "nobody is trusted");
  o = options(false);
  o.peer = identity(1);
  says(o, "set identity");
  o = options();
  o.rekey_packets = 0;
  says(o, "1 to 16777216");
  o = options();
  o.rekey_interval = std::chrono::milliseconds(0);
  says(o, "1 ms to a day");

  o = client_options();
  o.peer.reset();
  Hosts duo(server_options(), o);
  const auto unknown = duo.client().connect(duo.hosts[0]->address(), 1);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text.find("whom to expect"), std::string::npos);
  const auto none = duo.client().connect(duo.hosts[0]->address(), 1, Key{});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text.find("no public key"), std::string::npos);
  EXPECT_EQ(duo.client().connections_held(), 0u);
  EXPECT_TRUE(duo.client().connect(duo.hosts[0]->address(), 1, public_key(identity(1))));
}

}  // namespace
}  // namespace strack::udp
