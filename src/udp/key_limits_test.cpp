// What becomes of a connection whose keys are used up, and of secrets that are not needed any more: docs/protocol.md,
// "Keys", "New keys", "Security".
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "udp/connection.h"
#include "udp/engine_common.h"
#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

/// Both sides' keys last so long.
struct Brief : Duo {
  explicit Brief(KeyLimits client_limits, KeyLimits server_limits = {}) : Duo(options()) {
    EndpointOptions o = options();
    engines[1] = std::make_unique<Engine>(o, networks[1], transports(), client_limits);
    o.listen = "127.0.0.1:4794";
    engines[0] = std::make_unique<Engine>(o, networks[0], transports(), server_limits);
    all = {engines[0].get(), engines[1].get()};
    connect();
  }
  /// The client sends messages until something fails; how many have arrived.
  std::size_t send_until_it_ends() {
    std::vector<std::byte> buffer(10'000);
    const auto message = keep(pattern(buffer.size()));
    std::size_t arrived = 0;
    for (int i = 0; i < 500 && of(1, Kind::failed).empty() && of(0, Kind::failed).empty(); ++i) {
      if (server().post_receive(id[0], Match::any(), buffer, 1) != Status::ok ||
          client().send(id[1], 1, message, 2) != Status::ok)
        break;
      run(ms(2));
      arrived += buffer == pattern(buffer.size()) ? 1u : 0u;
      std::fill(buffer.begin(), buffer.end(), std::byte{0});
    }
    run(ms(50));
    return arrived;
  }
  void expect_ended_by_keys() {
    for (const std::size_t side : {0u, 1u}) {
      ASSERT_EQ(of(side, Kind::failed).size(), 1u) << side;
      EXPECT_EQ(of(side, Kind::failed)[0].status, Status::keys_exhausted) << side;
    }
  }
};

KeyLimits counters(std::uint64_t usable) { return {.counters = kCounterReserve + usable}; }

// Who sends ends before a counter would be used twice, and the peer is told why.
TEST(KeyLimits, WhoSendsEndsWithItsCounters) {
  Brief duo(counters(300));
  const std::size_t arrived = duo.send_until_it_ends();
  EXPECT_GT(arrived, 5u);
  EXPECT_LT(arrived, 40u) << "ten packets each";
  duo.expect_ended_by_keys();
}

// So does who only acknowledges, when its next timer is due.
TEST(KeyLimits, WhoReceivesEndsWithItsCounters) {
  Brief duo({}, counters(100));
  EXPECT_GT(duo.send_until_it_ends(), 5u);
  duo.run(seconds(10));
  duo.expect_ended_by_keys();
}

// Without the limit they go on.
TEST(KeyLimits, OthersGoOn) {
  Brief duo({});
  EXPECT_EQ(duo.send_until_it_ends(), 500u);
  EXPECT_TRUE(duo.of(0, Kind::failed).empty() && duo.of(1, Kind::failed).empty());
}

// A key that has borne so many forgeries is given up with its connection; one less, and nothing happens.
TEST(KeyLimits, ForgeriesEndIt) {
  constexpr std::uint64_t kBears = 5;
  Brief duo({}, {.forgeries = kBears});
  std::vector<std::uint8_t> sealed;
  duo.world.filter = [&](const SimulatedWorld::Captured& packet) {
    const auto type = static_cast<wire::Type>(packet.bytes[0] & 0x0f);
    if (packet.to == duo.hosts[0]->address() && type == wire::Type::data) sealed = packet.bytes;
    return true;
  };
  duo.send_until_it_ends();
  ASSERT_FALSE(sealed.empty());
  ASSERT_TRUE(duo.of(0, Kind::failed).empty());
  // Counters that have not been seen, and tags that are wrong.
  const auto forge = [&](std::uint8_t which) {
    std::vector<std::uint8_t> packet = sealed;
    packet[13] = 0x40;  // counter + 2^20 or so
    packet[15] = which;
    duo.world.inject(*duo.hosts[0], duo.hosts[1]->address(), packet);
    duo.run(ms(1));
  };
  const std::uint64_t before = duo.server().statistics().refused_forged;
  for (std::uint8_t i = 1; i < kBears; ++i) forge(i);
  EXPECT_EQ(duo.server().statistics().refused_forged - before, kBears - 1);
  EXPECT_TRUE(duo.of(0, Kind::failed).empty());
  forge(kBears);
  duo.run(ms(50));
  duo.expect_ended_by_keys();
}

/// Memory that an object lived in.
template <class T>
struct Place {
  alignas(T) std::array<std::uint8_t, sizeof(T)> memory{};
  template <class... Arguments>
  T* make(Arguments&&... arguments) {
    return new (memory.data()) T(std::forward<Arguments>(arguments)...);
  }
  [[nodiscard]] bool holds(const Secret& secret) const {
    return std::search(memory.begin(), memory.end(), secret.begin(), secret.end()) != memory.end();
  }
};

Secret secret(std::uint8_t which) {
  Secret out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(which + 7 * i);
  return out;
}

TEST(Secrets, EpochKeysWipeTheirs) {
  ASSERT_TRUE(crypto_ready());
  Place<EpochKey> first;
  Place<EpochKey> second;
  EpochKey* key = first.make();
  key->make(wire::kChaCha20Poly1305, secret(1), *find_sealing_library("libsodium"));
  EXPECT_TRUE(first.holds(secret(1)));
  EpochKey* moved = second.make(std::move(*key));
  EXPECT_FALSE(first.holds(secret(1)));
  EXPECT_TRUE(second.holds(secret(1)));
  // The next one takes its place, and nothing is left of it.
  *moved = moved->next();
  EXPECT_FALSE(second.holds(secret(1)));
  EXPECT_TRUE(second.holds(next_secret(secret(1))));
  moved->~EpochKey();
  key->~EpochKey();
  EXPECT_FALSE(second.holds(next_secret(secret(1))));
}

TEST(Secrets, JobKeysWipeTheirs) {
  ASSERT_TRUE(crypto_ready());
  Place<JobKey> shared;
  JobKey* key = shared.make(secret(2));
  EXPECT_TRUE(shared.holds(secret(2)));
  key->~JobKey();
  EXPECT_FALSE(shared.holds(secret(2)));
  EXPECT_EQ(std::count(shared.memory.begin(), shared.memory.end(), 0) >= 64, true)
      << "what set-up's MACs are made with, too";
  Place<OwnKey> own;
  OwnKey* identity = own.make(secret(3), true);
  EXPECT_TRUE(own.holds(secret(3)));
  identity->~OwnKey();
  EXPECT_FALSE(own.holds(secret(3)));
}

TEST(Secrets, HandshakesWipeTheirs) {
  ASSERT_TRUE(crypto_ready());
  const auto own = noise::KeyPair::from(secret(4));
  const auto peer = noise::KeyPair::from(secret(5));
  Place<noise::Handshake> place;
  noise::Handshake* handshake = place.make(noise::Handshake::initiator({}, own, peer.public_key));
  std::array<std::uint8_t, noise::kFirstOverhead> message{};
  ASSERT_TRUE(handshake->write_first(secret(6), {}, message));
  EXPECT_TRUE(place.holds(secret(4)));
  EXPECT_TRUE(place.holds(secret(6))) << "the ephemeral one, until the answer has come";
  const noise::Handshake copy = *handshake;
  handshake->~Handshake();
  EXPECT_FALSE(place.holds(secret(4)) || place.holds(secret(6)));

  Place<noise::SessionKeys> keys;
  noise::SessionKeys* session = keys.make();
  session->initiators = secret(7);
  session->responders = secret(8);
  session->~SessionKeys();
  EXPECT_FALSE(keys.holds(secret(7)) || keys.holds(secret(8)));
}

// What a connection keeps of a handshake goes with it.
TEST(Secrets, ConnectionsWipeTheirs) {
  Place<Keys> place;
  Keys* keys = place.make();
  keys->reset = secret(9);
  EXPECT_TRUE(place.holds(secret(9)));
  keys->~Keys();
  EXPECT_FALSE(place.holds(secret(9)));
}

}  // namespace
}  // namespace strack::udp
