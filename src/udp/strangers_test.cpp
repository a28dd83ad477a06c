// What strangers may try: floods of set-ups, forged packets, replays. None of it changes anything, and
// nothing is allocated for it. Everything happens in virtual time, so "changes nothing" can be taken
// literally: a run with hostile packets in its midst ends with the same figures as one without.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "udp/allocation_count.h"
#include "udp/engine.h"
#include "udp/network/simulated/simulated_network.h"
#include "udp/questions_testing.h"
#include "udp/testing.h"
#include "wire/wire.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

using Datagram = std::vector<std::uint8_t>;
using Tape = std::vector<SimulatedWorld::Captured>;
using Field = std::pair<const char*, std::uint64_t>;

// ---- Before and after ----

std::vector<Field> fields(const ConnectionStatistics& statistics) {
  // As many names as there are fields, or it does not compile. A new field belongs below as well.
  const auto& [cwnd_bytes, max_cwnd_bytes, inflight_bytes, rtt_ns, base_rtt_ns, avg_qdelay_ns,
               target_qdelay_ns, payload_bytes, datagram_bytes, paths, paths_marked, paths_barred,
               path_rate_bps, paths_used, keyed, rekeyings, messages_sent, message_bytes_sent,
               data_packets_sent, data_bytes_sent, retransmissions, loss_episodes, timeouts,
               probes_sent, sacks_received, marks_echoed, credit_stalls, messages_received,
               message_bytes_received, data_packets_received, duplicates_received, marks_received,
               sacks_sent, packets_held, packets_unplaced] = statistics;
  return {{"cwnd_bytes", cwnd_bytes},
          {"max_cwnd_bytes", max_cwnd_bytes},
          {"inflight_bytes", inflight_bytes},
          {"rtt_ns", rtt_ns},
          {"base_rtt_ns", base_rtt_ns},
          {"avg_qdelay_ns", avg_qdelay_ns},
          {"target_qdelay_ns", target_qdelay_ns},
          {"payload_bytes", payload_bytes},
          {"datagram_bytes", datagram_bytes},
          {"paths", paths},
          {"paths_marked", paths_marked},
          {"paths_barred", paths_barred},
          {"path_rate_bps", path_rate_bps},
          {"paths_used", paths_used},
          {"keyed", keyed},
          {"rekeyings", rekeyings},
          {"messages_sent", messages_sent},
          {"message_bytes_sent", message_bytes_sent},
          {"data_packets_sent", data_packets_sent},
          {"data_bytes_sent", data_bytes_sent},
          {"retransmissions", retransmissions},
          {"loss_episodes", loss_episodes},
          {"timeouts", timeouts},
          {"probes_sent", probes_sent},
          {"sacks_received", sacks_received},
          {"marks_echoed", marks_echoed},
          {"credit_stalls", credit_stalls},
          {"messages_received", messages_received},
          {"message_bytes_received", message_bytes_received},
          {"data_packets_received", data_packets_received},
          {"duplicates_received", duplicates_received},
          {"marks_received", marks_received},
          {"sacks_sent", sacks_sent},
          {"packets_held", packets_held},
          {"packets_unplaced", packets_unplaced}};
}

/// All that can be seen of the two endpoints, but what they refused and what the sockets carried.
struct Sight {
  std::vector<Field> side[2];
  EndpointStatistics endpoint[2];
};

Sight look(Duo& duo) {
  Sight sight;
  for (std::size_t i = 0; i < 2; ++i) {
    const Engine& engine = *duo.engines[i];
    std::vector<Field>& seen = sight.side[i];
    if (const auto s = engine.statistics(duo.id[i])) seen = fields(*s);
    const EndpointStatistics& e = sight.endpoint[i] = engine.statistics();
    seen.insert(seen.end(), {{"connections_held", engine.connections_held()},
                             {"connections", e.connections},
                             {"connections_made", e.connections_made},
                             {"connections_failed", e.connections_failed},
                             {"held_bytes", e.held_bytes},
                             {"has_completions", engine.has_completions()},
                             {"completions", duo.seen[i].size()}});
  }
  return sight;
}

void expect_same(const Sight& one, const Sight& other, const std::string& when = "") {
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(one.side[i].size(), other.side[i].size()) << when << ", side " << i;
    for (std::size_t f = 0; f < one.side[i].size(); ++f) {
      EXPECT_EQ(one.side[i][f].second, other.side[i][f].second)
          << one.side[i][f].first << " of side " << i << ' ' << when;
    }
  }
}

std::uint64_t refused(const EndpointStatistics& e) {
  return e.refused_malformed + e.refused_unknown + e.refused_forged + e.refused_replayed +
         e.refused_set_up + e.refused_untrusted;
}

// ---- Packets of a stranger ----

struct Hostile {
  std::size_t to;
  Address from;
  Datagram bytes;
};

/// They arrive one by one, and no time passes. Returns how often the engines have asked the heap for
/// memory.
std::uint64_t strike(Duo& duo, const std::vector<Hostile>& packets) {
  std::uint64_t allocated = 0;
  for (const Hostile& packet : packets) {
    duo.world.inject(*duo.hosts[packet.to], packet.from, packet.bytes);
    allocated += duo.settle();
  }
  return allocated;
}

/// What somebody on the way can read of a connection, as one side is to be addressed.
struct Overheard {
  std::uint32_t id = 0;
  std::uint64_t counter = 0;  ///< the next that the side has not seen
  std::uint64_t echo = 0;     ///< of the initiator's nonce
  core::Psn psn;              ///< the peer's first
};

wire::Header header_of(const Datagram& bytes) { return wire::decode_header(bytes).value(); }
wire::ConstBytes body_of(const Datagram& bytes) {
  return wire::ConstBytes(bytes).subspan(header_of(bytes).bytes());
}

Overheard overhear(const Duo& duo, const Tape& tape, std::size_t side) {
  Overheard heard;
  for (const auto& packet : tape) {
    const wire::Header header = header_of(packet.bytes);
    const bool here = packet.to == duo.hosts[side]->address();
    std::optional<wire::Terms> terms;
    if (header.type == wire::Type::hello) {
      terms = wire::decode_hello(header, body_of(packet.bytes)).value().terms;
      heard.echo = wire::nonce_echo(terms->nonce);
    } else if (header.type == wire::Type::accept) {
      terms = wire::decode_accept(header, body_of(packet.bytes)).value().terms;
    } else if (here && wire::is_session(header.type)) {
      heard.counter = std::max(heard.counter, header.counter + 1);
    }
    if (terms && here) heard.psn = terms->initial_psn;
    if (terms && !here) heard.id = terms->connection_id;
  }
  return heard;
}

wire::Terms some_terms(bool keyed) {
  wire::Terms terms;
  terms.connection_id = 1;
  terms.idle_timeout_ms = 1'000;
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

/// A packet as its type wants it, in everything but the tag, which nobody without the key can make.
template <class Encode>
Datagram forge(bool keyed, Encode&& encode) {
  Datagram bytes(1'500);
  const std::size_t n = encode(wire::MutableBytes(bytes));
  bytes.resize(n + (keyed ? wire::kTagBytes : 0));
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(n), bytes.end(), std::uint8_t{0xa5});
  return bytes;
}

/// One packet of each type that a connection's side takes, and whose receiver should find nothing
/// wrong with but that it is forged. The counters have not been used.
std::vector<Datagram> one_of_each(const Overheard& heard, bool keyed, std::uint64_t echo) {
  std::vector<Datagram> packets;
  std::uint64_t counter = heard.counter;
  const auto add = [&](const auto& body) {
    packets.push_back(forge(keyed, [&](wire::MutableBytes out) {
      return wire::encode(out, {heard.id, keyed, counter++}, body);
    }));
  };
  const std::array<std::uint8_t, 100> payload{};
  wire::Data data;
  data.packet.psn = heard.psn;
  data.packet.payload = payload.size();
  data.packet.message_length = payload.size();
  data.payload = payload;
  add(data);
  data.kind = wire::DataKind::write;
  data.region = 1;
  add(data);
  wire::SackBody sack;
  sack.credit = 1'000;
  add(sack);
  core::Packet probe;
  probe.type = core::PacketType::probe;
  probe.psn = heard.psn;
  add(probe);
  add(wire::Ping{.timestamp = {}, .credit = 1'000});
  add(wire::Pong{.id = 1, .timestamp = {}, .credit = 1'000, .size = 1'000});
  for (const auto reason : {wire::CloseReason::done, wire::CloseReason::aborted}) {
    for (const auto encode : {&wire::encode_close, &wire::encode_close_ack}) {
      packets.push_back(forge(keyed, [&](wire::MutableBytes out) {
        return encode(out, {heard.id, keyed, counter++}, {reason, heard.psn, 1});
      }));
    }
  }
  const auto plain = [&](const auto& body, std::uint32_t id, bool with_key) {
    packets.push_back(forge(false, [&](wire::MutableBytes out) {
      return wire::encode(out, {id, with_key, 0}, body);
    }));
  };
  plain(wire::Challenge{echo, {}, 1'200}, heard.id, false);
  plain(wire::Accept{some_terms(keyed), {}}, heard.id, keyed);
  plain(wire::Reject{.echo = echo}, heard.id, false);
  plain(wire::Reset{heard.id, counter, {}}, 0, true);
  return packets;
}

std::vector<Hostile> aimed(std::size_t to, const Address& from, std::vector<Datagram> packets) {
  std::vector<Hostile> hostile;
  for (Datagram& bytes : packets) hostile.push_back({to, from, std::move(bytes)});
  return hostile;
}

Address elsewhere() { return *Address::parse("127.0.0.99:4794"); }

/// Each refused and counted once, nothing allocated, nothing else changed, and nothing answered but
/// with a reset where the id is unknown: on each side at most so many.
void expect_nothing_from(Duo& duo, const std::vector<Hostile>& packets, const std::string& when,
                         std::uint64_t resets = 0) {
  const Sight before = look(duo);
  EXPECT_EQ(strike(duo, packets), 0u) << when;
  const Sight after = look(duo);
  expect_same(before, after, when);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto aimed_here = std::count_if(packets.begin(), packets.end(),
                                          [i](const Hostile& packet) { return packet.to == i; });
    EXPECT_EQ(refused(after.endpoint[i]) - refused(before.endpoint[i]),
              static_cast<std::uint64_t>(aimed_here))
        << when << ", side " << i;
    EXPECT_LE(after.endpoint[i].datagrams_sent - before.endpoint[i].datagrams_sent, resets)
        << when << ", side " << i;
  }
}

// ---- Floods ----

/// Keeps the last answer.
class Flood final : public testing::Questions {
 public:
  Flood() : Questions(ms(1)) {}  // slowly enough for each to be answered

  SendResult send(std::span<const Outgoing> batch) override {
    for (const Outgoing& out : batch) {
      size_ = 0;
      for (const Piece& piece : out.pieces) {
        std::copy_n(static_cast<const std::uint8_t*>(piece.data), piece.size, &answer_[size_]);
        size_ += piece.size;
      }
    }
    return Questions::send(batch);
  }
  [[nodiscard]] wire::Cookie cookie() const {
    const wire::ConstBytes answer(answer_.data(), size_);
    const wire::Header header = wire::decode_header(answer).value();
    return wire::decode_challenge(header, answer.subspan(header.bytes())).value().cookie;
  }

 private:
  std::array<std::uint8_t, 2'000> answer_{};
  std::size_t size_ = 0;
};

// From each of 100,000 addresses a hello, a connect with a made-up cookie, one with a cookie that is
// good at another address, and one with its own good cookie and a MAC that is wrong in one bit: no
// state, no memory, no larger answers.
TEST(SetUp, FloodLeavesNothingBehind) {
  constexpr std::uint32_t kAttempts = 100'000;
  Secret psk;
  psk.fill(42);
  const JobKey key(psk);
  wire::Terms terms = some_terms(true);
  Datagram hello(wire::kHelloMinBytes);
  Datagram connect(200);
  Address from = *Address::parse("192.0.2.9:999");
  Flood network;
  EndpointOptions o = options();
  o.listen = "127.0.0.1:1";
  Engine engine(o, network);
  engine.poll();
  const auto encode = [&](const wire::Cookie& cookie) {
    const std::size_t n = wire::encode(connect, {0, true, 0}, wire::Connect{terms, cookie, {}});
    const wire::Mac mac = key.connect_mac({connect.data(), n - wire::kTagBytes});
    std::copy(mac.begin(), mac.end(), connect.data() + n - wire::kTagBytes);
    return std::span(connect.data(), n);
  };
  const auto encode_hello = [&] {
    wire::encode(hello, {0, true, 0}, wire::Hello{terms});
    const wire::Mac mac = key.hello_mac({hello.data(), wire::kHelloMacAt});
    std::copy(mac.begin(), mac.end(), hello.data() + wire::kHelloMacAt);
  };
  const std::uint64_t before = allocations;
  for (std::uint32_t i = 0; i < kAttempts; ++i) {
    terms.connection_id = i + 1;
    terms.nonce[i % 32] = static_cast<std::uint8_t>(i >> 3);
    terms.reply_port = static_cast<std::uint16_t>(i | 1);
    from.port = static_cast<std::uint16_t>(i);
    from.ip[3] = static_cast<std::uint8_t>(i >> 16);
    encode_hello();
    network.ask(engine, hello, from);
    const wire::Cookie good = network.cookie();

    wire::Cookie made_up{};
    made_up[i % 32] = static_cast<std::uint8_t>(i);
    network.ask(engine, encode(made_up), from);

    Address another = from;
    another.ip[2] ^= 1;
    network.ask(engine, encode(good), another);

    const std::span<std::uint8_t> packet = encode(good);
    const std::uint32_t bit = i % (8 * wire::kTagBytes);
    packet[packet.size() - 1 - bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    network.ask(engine, packet, from);
  }
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_EQ(engine.connections_held(), 0u);
  EXPECT_EQ(engine.statistics().challenges_sent, 3u * kAttempts);
  EXPECT_EQ(engine.statistics().refused_set_up, 2u * kAttempts);
  EXPECT_EQ(engine.statistics().refused_forged, kAttempts);
  EXPECT_LT(network.answered, network.asked);
  EXPECT_FALSE(engine.has_completions());
  EXPECT_EQ(engine.next_deadline(), Instant::never());

  // Nothing but that bit was wrong with them.
  network.ask(engine, hello, from);
  network.ask(engine, encode(network.cookie()), from);
  EXPECT_EQ(engine.connections_held(), 1u);
}

// Without a key, whoever can receive at an address can have a half-open connection there: half of
// max_connections at most, and for three seconds. Who is connected does not notice, and who wants to
// be still finds room.
TEST(SetUp, FloodWithoutAKeyIsBounded) {
  constexpr std::uint32_t kRoom = 256;
  EndpointOptions o = options(false);
  o.max_connections = kRoom;
  Duo duo(o);
  duo.connect();
  Tape tape;
  const auto message = pattern(20'000);
  std::vector<std::byte> buffer(message.size());
  const auto address = [](std::uint32_t i) {
    Address from = elsewhere();
    for (std::size_t b = 0; b < 3; ++b) from.ip[3 - b] = static_cast<std::uint8_t>(i >> 8 * b);
    from.ip[1] = static_cast<std::uint8_t>(from.ip[1] + 1);
    return from;
  };
  wire::Terms terms = some_terms(false);
  const auto terms_of = [&](std::uint32_t i) -> const wire::Terms& {
    terms.connection_id = i + 1;
    for (std::size_t b = 0; b < 4; ++b) terms.nonce[b] = static_cast<std::uint8_t>(i >> 8 * b);
    return terms;
  };
  Datagram packet;
  const auto ask = [&](std::uint32_t i, const auto& body) -> Datagram {
    packet.resize(wire::kHelloMinBytes);
    packet.resize(wire::encode(packet, {0, false, 0}, body));
    // As fast as challenges are given.
    if constexpr (std::is_same_v<std::decay_t<decltype(body)>, wire::Hello>) duo.run(us(100));
    tape.clear();
    duo.world.capture = &tape;
    duo.world.inject(*duo.hosts[0], address(i), packet);
    duo.server().poll();
    duo.world.capture = nullptr;
    if (tape.empty()) return {};
    EXPECT_EQ(tape.size(), 1u);
    EXPECT_LT(tape[0].bytes.size(), packet.size());
    return tape[0].bytes;
  };

  std::uint64_t blocks = 0;
  for (const std::uint32_t attempts : {30'000u, 1'000u}) {
    std::vector<wire::Cookie> cookies;
    const std::uint64_t refused = duo.server().statistics().refused_set_up;
    for (std::uint32_t i = 0; i < attempts; ++i) {
      const Datagram answer = ask(i, wire::Hello{terms_of(i)});
      ASSERT_FALSE(answer.empty());
      ASSERT_EQ(header_of(answer).type, wire::Type::challenge);
      cookies.push_back(wire::decode_challenge(header_of(answer), body_of(answer)).value().cookie);
    }
    ASSERT_EQ(duo.server().connections_held(), 1u) << "cookies cost nothing";
    std::uint32_t accepted = 0;
    std::uint32_t ignored = 0;
    for (std::uint32_t i = 0; i < attempts; ++i) {
      const Datagram answer = ask(i, wire::Connect{terms_of(i), cookies[i], {}});
      accepted += !answer.empty() && header_of(answer).type == wire::Type::accept;
      ignored += answer.empty();
      ASSERT_LE(duo.server().connections_held(), kRoom);
      if (i % (attempts / 10) == attempts / 20) {  // ten times in the midst of it
        std::fill(buffer.begin(), buffer.end(), std::byte{0});
        ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
        ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
        duo.run(ms(5));
        ASSERT_EQ(buffer, message);
      }
    }
    EXPECT_EQ(accepted, kRoom / 2);
    EXPECT_EQ(ignored, attempts - accepted);
    EXPECT_EQ(duo.server().statistics().refused_set_up - refused, ignored);

    EXPECT_EQ(duo.of(0, Kind::received).size(), 10u);
    EXPECT_EQ(duo.seen[0].size(), 10u) << "nobody is told of half-open ones";
    duo.run(seconds(4));
    EXPECT_EQ(duo.server().connections_held(), 1u);
    EXPECT_EQ(duo.server().statistics().connections, 1u);
    EXPECT_EQ(duo.server().statistics(duo.id[0])->retransmissions, 0u);
    EXPECT_EQ(duo.client().statistics(duo.id[1])->retransmissions, 0u);
    for (auto& seen : duo.seen) seen = {};
    cookies = {};
    tape = {};
    // The first flood may have left room in lists and tables, of a size that the second needs too.
    const std::uint64_t now = allocations - releases;
    if (blocks == 0) blocks = now;
    EXPECT_EQ(now, blocks) << "memory was not given back";
  }
  // And there is room again.
  ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), 6));
  duo.run(ms(20));
  EXPECT_EQ(duo.of(1, Kind::connected).size(), 1u);
  EXPECT_EQ(duo.of(0, Kind::accepted).size(), 1u);
}

// ---- Forgeries during set-up ----

/// Sets up a connection and stops in every state on the way, for `attack` to do its worst.
Sight set_up(bool keyed, const std::function<void(Duo&, const Tape&, const std::string&)>& attack) {
  Duo duo(options(keyed));
  Tape tape;
  duo.world.capture = &tape;
  auto made = duo.client().connect(duo.hosts[0]->address(), 5);
  EXPECT_TRUE(made);
  duo.id[1] = made.value();
  const auto has = [&tape](wire::Type type) {
    return std::any_of(tape.begin(), tape.end(),
                       [type](const auto& p) { return header_of(p.bytes).type == type; });
  };
  const auto pause = [&](const std::string& when) {
    duo.settle();
    duo.world.capture = nullptr;
    attack(duo, tape, when);
    duo.world.capture = &tape;
  };
  pause("hello sent");
  for (int i = 0; i < 100 && !has(wire::Type::connect); ++i) duo.run(us(1));
  pause("connect sent");
  for (int i = 0; i < 100 && !has(wire::Type::accept); ++i) duo.run(us(1));
  EXPECT_EQ(duo.server().connections_held(), 1u);
  EXPECT_EQ(duo.server().statistics().connections, 0u);
  pause("half open");
  duo.run(ms(20));
  EXPECT_EQ(duo.of(1, Kind::connected).size(), 1u);
  EXPECT_EQ(duo.of(0, Kind::accepted).size(), 1u);
  if (duo.of(0, Kind::accepted).empty()) return {};
  duo.id[0] = duo.of(0, Kind::accepted)[0].connection;
  pause("open");
  duo.run(seconds(1));

  const auto message = pattern(50'000);
  std::vector<std::byte> buffer(message.size());
  EXPECT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  EXPECT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
  duo.run(ms(100));
  EXPECT_EQ(buffer, message);
  return look(duo);
}

void no_attack(Duo& /*duo*/, const Tape& /*tape*/, const std::string& /*when*/) {}

// Somebody on the way, who sees everything and lacks only the key: one packet of each type, to both
// sides, in each state. Only a challenge and a reject can be made without a key by who has seen the
// nonce: here they come from who has not.
TEST(Strangers, ForgeriesWithKeyChangeNothingInAnyState) {
  const Sight undisturbed = set_up(true, no_attack);
  const Sight disturbed = set_up(true, [](Duo& duo, const Tape& tape, const std::string& when) {
    for (const std::size_t side : {0u, 1u}) {
      const Overheard heard = overhear(duo, tape, side);
      if (heard.id == 0) continue;  // the server, which has not answered yet
      const Address peer = duo.hosts[1 - side]->address();
      Address port = peer;
      port.port = 4'795;
      const bool up = when == "open";
      const std::string name = when + (side == 0 ? ", to the server" : ", to the client");
      const std::uint64_t forged = duo.engines[side]->statistics().refused_forged;
      expect_nothing_from(
          duo, aimed(side, peer, one_of_each(heard, true, up ? heard.echo : ~heard.echo)), name);
      const std::uint64_t more = duo.engines[side]->statistics().refused_forged - forged;
      // The ten session packets are tried with the key as soon as there is one, and the accept while
      // it is waited for.
      EXPECT_EQ(more, when == "hello sent" ? 0u : side == 0 || when == "open" ? 10u : 1u) << name;
      expect_nothing_from(duo, aimed(side, elsewhere(), one_of_each(heard, true, heard.echo)),
                          name + " from another host");
      expect_nothing_from(
          duo, aimed(side, port, one_of_each(heard, true, up ? heard.echo : ~heard.echo)),
          name + " from another port");
      // As if there were no key: no session packet is taken.
      expect_nothing_from(
          duo, aimed(side, peer, one_of_each(heard, false, up ? heard.echo : ~heard.echo)),
          name + " unsealed");
    }
  });
  expect_same(undisturbed, disturbed);
}

// Without a key it takes the peer's address and the id.
TEST(Strangers, ForgeriesWithoutKeyFromElsewhereChangeNothingInAnyState) {
  const Sight undisturbed = set_up(false, no_attack);
  const Sight disturbed = set_up(false, [](Duo& duo, const Tape& tape, const std::string& when) {
    for (const std::size_t side : {0u, 1u}) {
      Overheard heard = overhear(duo, tape, side);
      if (heard.id == 0) continue;
      expect_nothing_from(duo, aimed(side, elsewhere(), one_of_each(heard, false, heard.echo)),
                          when + " from another host");
      heard.id ^= 0x10'0000;
      // Resets to those that are no smaller than one: all but the closes; a probe is answered, too.
      expect_nothing_from(
          duo, aimed(side, duo.hosts[1 - side]->address(), one_of_each(heard, false, heard.echo)),
          when + " with another id", 6);
    }
  });
  expect_same(undisturbed, disturbed);
}

// Who has seen the hello can make these up. With a key each challenge to what is asked now [D170] is answered, no reject believed.
TEST(Strangers, MadeUpChallengesAndRejectsDoNotPreventAConnection) {
  std::uint32_t times = 0;
  set_up(true, [&times](Duo& duo, const Tape& tape, const std::string& when) {
    if (when != "hello sent" && when != "connect sent") return;
    ++times;
    const Overheard heard = overhear(duo, tape, 1);
    std::vector<Datagram> challenges, of_hellos, rejects;
    for (std::uint8_t i = 1; i <= wire::kRejectReasons; ++i) {
      wire::Challenge challenge{heard.echo, {}, 200};
      challenge.cookie.fill(i);
      const wire::Reject reject{.echo = heard.echo, .reason = static_cast<wire::RejectReason>(i)};
      const auto plain = [&](const auto& body) {
        return forge(false, [&](wire::MutableBytes out) {
          return wire::encode(out, {heard.id, false, 0}, body);
        });
      };
      challenges.push_back(plain(challenge));
      challenge.hello_size = 1'200;
      of_hellos.push_back(plain(challenge));
      rejects.push_back(plain(reject));
    }
    const Sight before = look(duo);
    const Address server = duo.hosts[0]->address();
    EXPECT_EQ(strike(duo, aimed(1, server, rejects)), 0u);
    EXPECT_EQ(duo.client().statistics().datagrams_sent, before.endpoint[1].datagrams_sent);
    EXPECT_EQ(strike(duo, aimed(1, server, challenges)), 0u);
    EXPECT_EQ(strike(duo, aimed(1, server, of_hellos)), 0u) << "one was enough";
    EXPECT_EQ(duo.client().statistics().datagrams_sent - before.endpoint[1].datagrams_sent,
              challenges.size());
    expect_same(before, look(duo), when);
  });
  EXPECT_EQ(times, 2u);
}

// One that does not listen says so, and that is all.
TEST(Strangers, InitiatorTakesNoConnections) {
  Duo duo;
  duo.connect();
  const Sight before = look(duo);
  std::vector<Datagram> packets;
  packets.push_back(forge(false, [](wire::MutableBytes out) {
    return wire::encode(out, {0, true, 0}, wire::Hello{some_terms(true)});
  }));
  packets.push_back(forge(false, [](wire::MutableBytes out) {
    return wire::encode(out, {0, true, 0}, wire::Connect{some_terms(true), {}, {}});
  }));
  for (const Address& from : {duo.hosts[0]->address(), elsewhere()}) {
    EXPECT_EQ(strike(duo, aimed(1, from, packets)), 0u);
  }
  duo.run(ms(1));
  expect_same(before, look(duo));
  EXPECT_EQ(duo.client().statistics().rejected - before.endpoint[1].rejected, 4u);
}

// ---- Forgeries during a transfer ----

constexpr Picoseconds kOneWay = us(500);

/// Three windows each way, stopped when the second is in flight.
struct Transfer {
  static SimulatedFaults slow() {
    SimulatedFaults faults;
    faults.one_way = kOneWay;
    return faults;
  }
  explicit Transfer(bool keyed) : duo(options(keyed), slow()) {
    duo.world.capture = &tape;
    duo.connect();
    for (const std::size_t side : {0u, 1u}) {
      EXPECT_EQ(duo.engines[side]->post_receive(duo.id[side], Match::any(), buffer[side], 1),
                Status::ok);
      EXPECT_EQ(duo.engines[side]->send(duo.id[side], 1, message[1 - side], 2), Status::ok);
    }
    duo.run(us(800));
    const std::size_t arrived = tape.size();
    duo.run(kOneWay);
    duo.settle();
    duo.world.capture = nullptr;
    tape.resize(arrived);  // what is still under way would be no replay
    for (const std::size_t side : {0u, 1u}) {
      const auto s = duo.engines[side]->statistics(duo.id[side]);
      EXPECT_GT(s->inflight_bytes, 500'000u) << "nothing is under way";
      EXPECT_GT(s->sacks_received, 0u);
      EXPECT_EQ(s->messages_sent, 0u);
    }
  }
  /// The rest of it, and one message more.
  Sight finish() {
    duo.run(ms(100));
    for (const std::size_t side : {0u, 1u}) {
      EXPECT_EQ(duo.of(side, Kind::sent).size(), 1u);
      EXPECT_EQ(duo.of(side, Kind::received).size(), 1u);
      EXPECT_EQ(duo.seen[side].size(), 2u);
      EXPECT_EQ(buffer[side], message[side]);
      EXPECT_EQ(duo.engines[side]->post_receive(duo.id[side], Match::any(), buffer[side], 1),
                Status::ok);
      EXPECT_EQ(duo.engines[side]->send(duo.id[side], 1, message[side], 2), Status::ok);
    }
    duo.run(ms(100));
    for (const std::size_t side : {0u, 1u}) EXPECT_EQ(buffer[side], message[1 - side]);
    return look(duo);
  }

  const std::vector<std::byte> message[2] = {pattern(3'000'000, 1), pattern(3'000'000, 2)};
  std::vector<std::byte> buffer[2] = {std::vector<std::byte>(3'000'000),
                                      std::vector<std::byte>(3'000'000)};
  Tape tape;  ///< all that has arrived
  Duo duo;
};

// With the peer's address, the right id and counters that are yet to come, so that the key itself has
// to tell. Those counters are not taken for used either: what the peer sends under them arrives.
TEST(Strangers, ForgedSacksToASenderChangeNothing) {
  const Sight undisturbed = Transfer(true).finish();
  Transfer transfer(true);
  Duo& duo = transfer.duo;
  Rng rng(7);
  for (const std::size_t side : {0u, 1u}) {
    const Overheard heard = overhear(duo, transfer.tape, side);
    const Overheard peer = overhear(duo, transfer.tape, 1 - side);
    std::vector<Datagram> sacks;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
      wire::SackBody body;  // everything has come, a little more each time
      body.sack.epsn = body.sack.sack_base = peer.psn + static_cast<std::uint32_t>(i);
      body.sack.psn = peer.psn + static_cast<std::uint32_t>(i) - 1;
      body.sack.bytes_recvd = static_cast<std::uint32_t>(i * 1'024);
      body.sack.timestamp = core::Timestamp::of(duo.world.now() - us(1));
      body.sack.ecn = i % 2 == 0;
      body.credit = 1'000;
      const std::uint64_t far = i % 3 == 0 ? wire::kCounterLimit / 2 : 0;
      sacks.push_back(forge(true, [&](wire::MutableBytes out) {
        return wire::encode(out, {heard.id, true, heard.counter + far + i}, body);
      }));
      for (std::size_t b = wire::kSealedHeaderBytes; b < sacks.back().size() && i % 2 == 1; ++b) {
        sacks.back()[b] = static_cast<std::uint8_t>(rng.next());  // as sealed ones look
      }
    }
    const auto before = duo.engines[side]->statistics();
    expect_nothing_from(duo, aimed(side, duo.hosts[1 - side]->address(), sacks), "forged");
    EXPECT_EQ(duo.engines[side]->statistics().refused_forged - before.refused_forged, 1'000u);
  }
  expect_same(undisturbed, transfer.finish());
}

// Genuine ones even, but from another host, or to another id.
TEST(Strangers, SacksFromElsewhereChangeNothing) {
  const Sight undisturbed = Transfer(false).finish();
  Transfer transfer(false);
  Duo& duo = transfer.duo;
  for (const std::size_t side : {0u, 1u}) {
    std::vector<Hostile> hostile;
    for (const auto& packet : transfer.tape) {
      if (!(packet.to == duo.hosts[side]->address())) continue;
      if (header_of(packet.bytes).type != wire::Type::sack) continue;
      Address other = packet.from;
      other.ip[3] ^= 64;
      hostile.push_back({side, other, packet.bytes});
      Datagram changed = packet.bytes;
      changed[4 + hostile.size() / 8 % 4] ^= static_cast<std::uint8_t>(1u << hostile.size() % 8);
      hostile.push_back({side, packet.from, changed});
    }
    ASSERT_GT(hostile.size(), 20u);
    const auto before = duo.engines[side]->statistics();
    expect_nothing_from(duo, hostile, "from elsewhere", 100);
    EXPECT_EQ(duo.engines[side]->statistics().refused_unknown - before.refused_unknown,
              hostile.size());
  }
  expect_same(undisturbed, transfer.finish());
}

/// The newest SACK that has come to a side, as if it had been sent just now, and what that side has
/// sent so far.
struct Acknowledged {
  wire::SackBody body;
  std::uint32_t id = 0;
  core::Psn next;           ///< one past the highest PSN sent
  std::uint32_t bytes = 0;  ///< sent

  Acknowledged(const Transfer& transfer, std::size_t side) {
    const Duo& duo = transfer.duo;
    for (const auto& packet : transfer.tape) {
      const wire::Header header = header_of(packet.bytes);
      if (header.type == wire::Type::sack && packet.to == duo.hosts[side]->address()) {
        id = header.connection_id;
        body = wire::decode_sack(header, body_of(packet.bytes)).value();
      }
    }
    const auto s = duo.engines[side]->statistics(duo.id[side]);
    const Overheard peer = overhear(duo, transfer.tape, 1 - side);
    next = peer.psn + static_cast<std::uint32_t>(s->data_packets_sent - s->retransmissions);
    bytes = static_cast<std::uint32_t>(s->data_bytes_sent);
    EXPECT_EQ(s->retransmissions, 0u);
    body.sack.timestamp = core::Timestamp::of(duo.world.now());
    body.sack.hold_time_ns = 0;
    body.sack.ecn = false;
    body.credit = 0;
  }
  [[nodiscard]] Datagram encode(const core::Sack& sack) const {
    return forge(false, [&](wire::MutableBytes out) {
      return wire::encode(out, {id, false, 0}, wire::SackBody{sack, body.credit});
    });
  }
  /// [D25] What cannot be true, one fault each.
  [[nodiscard]] std::vector<core::Sack> impossible() const {
    std::vector<core::Sack> all;
    const auto add = [&](auto&& spoil) {
      core::Sack sack = body.sack;
      spoil(sack);
      all.push_back(sack);
    };
    using S = core::Sack;
    add([&](S& s) { s.epsn = s.sack_base = next + 1, s.bitmap = 0; });
    add([&](S& s) { s.psn = next; });
    add([&](S& s) { s.sack_base = s.epsn - 1; });
    add([&](S& s) { s.sack_base = s.epsn + transports().front()->tracking_window; });
    add([&](S& s) { s.epsn = next - 2, s.sack_base = next - 1, s.bitmap = 2, s.ooo_count = 1; });
    add([&](S& s) { s.sack_base = s.epsn, s.bitmap = 6, s.ooo_count = 1; });
    add([&](S& s) { s.sack_base = s.epsn, s.bitmap = 1, s.ooo_count = 1; });
    add([&](S& s) { s.psn = s.epsn; });
    add([&](S& s) { s.bytes_recvd = bytes + 1; });
    add([&](S& s) {
      s.epsn = s.sack_base = next, s.psn = next - 1, s.bitmap = 0, s.bytes_recvd = bytes - 1;
    });
    add([&](S& s) { s.ooo_count = transports().front()->tracking_window; });
    add([&](S& s) { s.path_id = 255; });
    return all;
  }
};

// Without a key, from the peer's address and with the right id: what cannot be true is refused whole.
TEST(Strangers, ImpossibleSacksChangeNothing) {
  const Sight undisturbed = Transfer(false).finish();
  Transfer transfer(false);
  Duo& duo = transfer.duo;
  for (const std::size_t side : {0u, 1u}) {
    const Acknowledged known(transfer, side);
    const Address peer = duo.hosts[1 - side]->address();
    const auto impossible = known.impossible();
    for (std::size_t i = 0; i < impossible.size(); ++i) {
      const Sight before = look(duo);
      EXPECT_EQ(strike(duo, aimed(side, peer, {known.encode(impossible[i])})), 0u);
      expect_same(before, look(duo), "impossible in way " + std::to_string(i));
    }
  }
  expect_same(undisturbed, transfer.finish());

  // Nothing else was wrong with them: as it was, it counts, and so where it may be very late [D165].
  Transfer another(false);
  for (const std::size_t side : {0u, 1u}) {
    const Acknowledged known(another, side);
    const auto& engine = *another.duo.engines[side];
    const auto before = engine.statistics(another.duo.id[side])->sacks_received;
    core::Sack late = known.body.sack;
    ++late.timestamp.ns;
    strike(another.duo, aimed(side, another.duo.hosts[1 - side]->address(),
                              {known.encode(known.body.sack), known.encode(late)}));
    EXPECT_EQ(engine.statistics(another.duo.id[side])->sacks_received, before + 2);
  }
}

// Refused whole: not its RTT, nor its mark, nor its credit counts either.
TEST(Strangers, ImpossibleSacksTeachNothing) {
  const Sight undisturbed = Transfer(false).finish();
  Transfer transfer(false);
  Duo& duo = transfer.duo;
  for (const std::size_t side : {0u, 1u}) {
    Acknowledged known(transfer, side);
    known.body.credit = 1'000;
    const Address peer = duo.hosts[1 - side]->address();
    const auto impossible = known.impossible();
    for (std::size_t i = 0; i < impossible.size(); ++i) {
      core::Sack sack = impossible[i];
      sack.timestamp = core::Timestamp::of(duo.world.now() - us(1));
      sack.ecn = true;
      const Sight before = look(duo);
      EXPECT_EQ(strike(duo, aimed(side, peer, {known.encode(sack)})), 0u);
      expect_same(before, look(duo), "impossible in way " + std::to_string(i));
    }
  }
  expect_same(undisturbed, transfer.finish());
  // The credit that was made up is not used: the peer would take it for a broken rule.
  for (std::uint64_t i = 0; i < 16; ++i)
    EXPECT_EQ(duo.client().send(duo.id[1], i, duo.keep(pattern(10)), i), Status::ok);
  duo.run(ms(100));
  EXPECT_TRUE(duo.of(0, Kind::failed).empty());
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
}

// Noise, and genuine packets with a byte changed, to both sides of a connection with a key.
TEST(Strangers, NoiseAndTamperingChangeNothing) {
  const Sight undisturbed = Transfer(true).finish();
  Transfer transfer(true);
  Duo& duo = transfer.duo;
  std::vector<Hostile> hostile;
  Rng rng(3);
  for (const std::size_t side : {0u, 1u}) {
    const Overheard heard = overhear(duo, transfer.tape, side);
    const Address peer = duo.hosts[1 - side]->address();
    for (const auto& packet : transfer.tape) {
      if (!(packet.to == duo.hosts[side]->address())) continue;
      if (!wire::is_session(header_of(packet.bytes).type)) continue;
      Datagram changed = packet.bytes;
      changed[rng.below(changed.size())] ^= static_cast<std::uint8_t>(1 + rng.below(255));
      hostile.push_back({side, packet.from, changed});
      Datagram fresh = packet.bytes;
      fresh[12] = 0x01;  // a counter not used yet
      hostile.push_back({side, packet.from, fresh});
    }
    for (int i = 0; i < 5'000; ++i) {
      Datagram noise(1 + rng.below(200));
      for (std::uint8_t& b : noise) b = static_cast<std::uint8_t>(rng.next());
      if (i % 2 == 0)
        noise[0] = static_cast<std::uint8_t>(wire::kVersion << 4 | (1 + rng.below(13)));
      if (noise.size() > 8 && i % 4 == 0) {  // an id in use
        for (std::size_t b = 0; b < 4; ++b)
          noise[4 + b] = static_cast<std::uint8_t>(heard.id >> (24 - 8 * b));
      }
      hostile.push_back({side, peer, noise});
    }
  }
  const Sight before = look(duo);
  expect_nothing_from(duo, hostile, "noise", 100);
  for (const std::size_t side : {0u, 1u}) {
    const EndpointStatistics& now = duo.engines[side]->statistics();
    EXPECT_GT(now.refused_malformed, before.endpoint[side].refused_malformed);
    EXPECT_GT(now.refused_forged, before.endpoint[side].refused_forged);
  }
  expect_same(undisturbed, transfer.finish());
}

// Forged packets are no sign of life: a peer that is dead is given up at the same moment.
TEST(Strangers, ForgeriesDoNotKeepADeadPeerAlive) {
  for (const std::size_t side : {0u, 1u}) {
    Instant found_out[2];
    for (const bool attacked : {false, true}) {
      Duo duo;
      Tape tape;
      duo.world.capture = &tape;
      duo.connect();
      duo.world.capture = nullptr;
      duo.world.faults().silent_from = duo.world.now();
      Overheard heard = overhear(duo, tape, side);
      heard.counter += 100;  // what the peer goes on sending is lost
      const auto forged =
          aimed(side, duo.hosts[1 - side]->address(), one_of_each(heard, true, heard.echo));
      for (int i = 0; i < 2'000 && duo.of(side, Kind::failed).empty(); ++i) {
        if (attacked) strike(duo, forged);
        duo.run(ms(10));
      }
      ASSERT_EQ(duo.seen[side].size(), 1u);
      EXPECT_EQ(duo.seen[side][0].status, Status::peer_dead);
      found_out[attacked] = duo.world.now();
    }
    EXPECT_EQ(found_out[0], found_out[1]) << "side " << side;
  }
}

// ---- Replays ----

/// Everything recorded, from where it came, from another port and from another host.
std::vector<Hostile> again(const Duo& duo, const Tape& tape) {
  std::vector<Hostile> hostile;
  for (const auto& packet : tape) {
    const std::size_t to = packet.to == duo.hosts[0]->address() ? 0 : 1;
    Address port = packet.from;
    port.port ^= 1;
    for (const Address& from : {packet.from, port, elsewhere()})
      hostile.push_back({to, from, packet.bytes});
  }
  return hostile;
}

TEST(Strangers, ReplaysDuringATransferChangeNothing) {
  const Sight undisturbed = Transfer(true).finish();
  Transfer transfer(true);
  Duo& duo = transfer.duo;
  const Sight before = look(duo);
  EXPECT_EQ(strike(duo, again(duo, transfer.tape)), 0u);
  expect_same(before, look(duo));
  const auto recorded = [&](wire::Type type) {
    return static_cast<std::uint64_t>(
        std::count_if(transfer.tape.begin(), transfer.tape.end(),
                      [type](const auto& p) { return header_of(p.bytes).type == type; }));
  };
  // Each hello gets its challenge, a connect from the host that sent it another accept, and one from elsewhere, where
  // its cookie is not good, a challenge; that is all.
  EXPECT_EQ(duo.server().statistics().datagrams_sent - before.endpoint[0].datagrams_sent,
            3 * recorded(wire::Type::hello) + 3 * recorded(wire::Type::connect));
  EXPECT_EQ(duo.client().statistics().datagrams_sent, before.endpoint[1].datagrams_sent);
  for (const std::size_t side : {0u, 1u}) {
    const EndpointStatistics& now = duo.engines[side]->statistics();
    EXPECT_GT(now.refused_replayed, before.endpoint[side].refused_replayed + 100);
    EXPECT_EQ(now.refused_forged, before.endpoint[side].refused_forged);
  }
  expect_same(undisturbed, transfer.finish());
}

// A whole session from hello to close, played again to both sides: while the connection is idle, when
// it is over and lingers, when it is forgotten, and when its cookie has died too.
TEST(Strangers, ReplaysOfAWholeSessionChangeNothing) {
  Duo duo;
  Tape tape;
  duo.world.capture = &tape;
  duo.connect();
  const auto message = pattern(30'000);
  std::vector<std::byte> buffer[2] = {std::vector<std::byte>(message.size()),
                                      std::vector<std::byte>(message.size())};
  for (const std::size_t side : {0u, 1u}) {
    ASSERT_EQ(duo.engines[side]->post_receive(duo.id[side], Match::any(), buffer[side], 1),
              Status::ok);
    ASSERT_EQ(duo.engines[side]->send(duo.id[side], 1, message, 1), Status::ok);
  }
  duo.run(ms(10));
  duo.world.capture = nullptr;
  for (auto& b : buffer) {
    ASSERT_EQ(b, message);
    std::fill(b.begin(), b.end(), std::byte{0});
  }
  const auto replay = [&](const std::string& when) {
    const Sight before = look(duo);
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(strike(duo, again(duo, tape)), 0u) << when;
      duo.run(ms(1));  // what was answered has arrived
      EXPECT_EQ(duo.settle(), 0u) << when;
    }
    expect_same(before, look(duo), when);
    for (const auto& b : buffer) EXPECT_EQ(b, std::vector<std::byte>(message.size())) << when;
  };
  replay("while it is idle");

  duo.world.capture = &tape;
  for (const std::size_t side : {0u, 1u}) {
    ASSERT_EQ(duo.engines[side]->close(duo.id[side]), Status::ok);
  }
  duo.run(ms(10));
  duo.world.capture = nullptr;
  for (const std::size_t side : {0u, 1u}) {
    ASSERT_EQ(duo.of(side, Kind::closed).size(), 1u);
    ASSERT_EQ(duo.engines[side]->connections_held(), 1u);
  }
  for (const wire::Type type :
       {wire::Type::hello, wire::Type::challenge, wire::Type::connect, wire::Type::accept,
        wire::Type::ping, wire::Type::pong, wire::Type::data, wire::Type::sack, wire::Type::close,
        wire::Type::close_ack}) {
    EXPECT_TRUE(std::any_of(tape.begin(), tape.end(), [type](const auto& p) {
      return header_of(p.bytes).type == type;
    })) << wire::name(type);
  }
  replay("while it lingers");

  duo.run(ms(1'500));
  ASSERT_EQ(duo.server().connections_held(), 0u);
  ASSERT_EQ(duo.client().connections_held(), 0u);
  // A good connect, whose cookie lives and which nobody remembers: one half-open connection for three
  // seconds [protocol: Set-up]. Nothing else of the recording fits it, and nobody is told.
  const auto told = duo.seen[0].size();
  for (int round = 0; round < 3; ++round) {
    strike(duo, again(duo, tape));
    EXPECT_EQ(duo.server().connections_held(), 1u);
    EXPECT_EQ(duo.client().connections_held(), 0u);
    duo.run(ms(100));
  }
  EXPECT_EQ(duo.server().statistics().connections, 0u);
  EXPECT_EQ(duo.server().statistics().connections_made, 1u);
  duo.run(seconds(3));
  EXPECT_EQ(duo.server().connections_held(), 0u);
  EXPECT_EQ(duo.seen[0].size(), told);

  duo.run(seconds(3));
  replay("when its cookie is dead");
}

}  // namespace
}  // namespace strack::udp
