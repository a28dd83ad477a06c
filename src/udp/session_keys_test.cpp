#include "udp/session_keys.h"

#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"
#include "wire/wire.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

constexpr std::uint64_t kEpoch = std::uint64_t{1} << kEpochBits;

class SessionKeys : public ::testing::Test {
 protected:
  SessionKeys() {
    EXPECT_TRUE(crypto_ready());
    secret_.fill(9);
    const SealingLibrary& library = *find_sealing_library("libsodium");
    sending_.start(wire::kChaCha20Poly1305, secret_, library);
    opening_.start(wire::kChaCha20Poly1305, secret_, library, true, 5);
  }
  [[nodiscard]] std::vector<std::uint8_t> sealed(std::uint64_t counter) const {
    std::vector<std::uint8_t> packet(wire::kSealedHeaderBytes + 4 + wire::kTagBytes);
    sending_.seal(packet.data(), wire::kSealedHeaderBytes + 4, counter);
    return packet;
  }
  Opening open(std::vector<std::uint8_t> packet, std::uint64_t counter, Instant now = {}) {
    return opening_.open(packet, counter, now);
  }
  Secret secret_{};
  SendingKeys sending_;
  OpeningKeys opening_;
};

// [D96] The counter says by which key; packets that were overtaken open with the one before, for a while.
TEST_F(SessionKeys, FollowTheCounter) {
  const auto late = sealed(7);
  const auto later = sealed(8);
  EXPECT_EQ(open(sealed(6), 6), Opening::good);
  sending_.advance();
  EXPECT_EQ(open(sealed(kEpoch), kEpoch), Opening::good);
  EXPECT_EQ(opening_.epoch(), 1u);
  EXPECT_TRUE(opening_.has_older());
  EXPECT_EQ(open(late, 7), Opening::good);
  EXPECT_EQ(open(late, 7), Opening::replayed);
  EXPECT_EQ(open(sealed(kEpoch), kEpoch), Opening::replayed);
  const Instant then = Instant{} + OpeningKeys::kOvertaken;
  EXPECT_EQ(open(later, 8, then), Opening::replayed);  // the key is gone
  EXPECT_FALSE(opening_.has_older());
  EXPECT_EQ(open(sealed(kEpoch + 1), kEpoch + 1, then), Opening::good);
}

// Nobody who does not have the next key moves the receiver on, nor one who claims to be two ahead.
TEST_F(SessionKeys, ForgeriesDoNotMoveThem) {
  EXPECT_EQ(open(sealed(kEpoch), kEpoch), Opening::forged);  // by the old key
  EXPECT_EQ(open(sealed(2 * kEpoch), 2 * kEpoch), Opening::forged);
  EXPECT_EQ(opening_.epoch(), 0u);
  EXPECT_EQ(open(sealed(1), 1), Opening::good);
}

// So many forgeries, and the key is worn out.
TEST_F(SessionKeys, BearSoManyForgeries) {
  auto packet = sealed(3);
  packet.back() ^= 1;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(open(packet, 3), Opening::forged);
  EXPECT_EQ(open(packet, 3), Opening::exhausted);
}

// The next key does not give away the one before: it is a hash of it, as docs/protocol.md has it.
TEST_F(SessionKeys, NextIsAHash) {
  const Secret next = next_secret(secret_);
  EXPECT_NE(next, secret_);
  EXPECT_NE(next_secret(next), next);
  EXPECT_EQ(next[0], 0xf6);
}

// [D105] A peer that has a new key for every packet gets sixteen of them, and then one each 5 ms; what is under another is not even tried.
TEST_F(SessionKeys, HurriedOnesAreNotTried) {
  std::uint64_t epoch = 0;
  const auto next = [&](Instant now) {
    sending_.advance();
    ++epoch;
    return open(sealed(epoch * kEpoch), epoch * kEpoch, now);
  };
  const Instant start = Instant{} + seconds(1);
  for (int i = 0; i <= OpeningKeys::kEpochsAtOnce; ++i) EXPECT_EQ(next(start), Opening::good) << i;
  EXPECT_EQ(next(start), Opening::hurried);
  EXPECT_EQ(opening_.epoch(), epoch - 1);
  // Later it is as good as any.
  const Instant later = start + OpeningKeys::kPerEpoch;
  EXPECT_EQ(open(sealed(epoch * kEpoch), epoch * kEpoch, later), Opening::good);
  EXPECT_EQ(next(later), Opening::hurried);
}

/// Messages of 500 packets each way, one after the other, while keys change every 20, or as soon as they may.
void expect_no_gap(const EndpointOptions& o, const SimulatedFaults& faults, bool lossy) {
  Duo duo(o);
  duo.connect();
  duo.world.faults() = faults;
  std::vector<std::byte> buffers[2] = {std::vector<std::byte>(500'000),
                                       std::vector<std::byte>(500'000)};
  const auto message = duo.keep(pattern(500'000));
  constexpr std::size_t kMessages = 5;
  for (std::size_t round = 0; round < kMessages; ++round) {
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(duo.all[i]->post_receive(duo.id[i], Match::any(), buffers[i], 1), Status::ok);
      ASSERT_EQ(duo.all[i]->send(duo.id[i], 1, message, 2), Status::ok);
    }
    duo.run(ms(lossy ? 400 : 20));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(duo.of(i, Kind::received).size(), kMessages) << i;
    EXPECT_TRUE(std::equal(buffers[i].begin(), buffers[i].end(), message.begin()));
    const ConnectionStatistics s = *duo.all[i]->statistics(duo.id[i]);
    EXPECT_GE(s.rekeyings, 3u);
    if (!lossy) {
      EXPECT_EQ(s.retransmissions, 0u);
    }
    EXPECT_EQ(duo.all[i]->statistics().refused_replayed, 0u);
    EXPECT_EQ(duo.all[i]->statistics().refused_forged, 0u);
  }
}

// [D96] New keys while data flows both ways: not a packet is lost or sent again for it, though the network reorders.
TEST(Rekeying, LeavesNoGap) {
  EndpointOptions o = options();
  o.rekey_packets = 20;
  expect_no_gap(o, {}, false);
  SimulatedFaults reordering;
  reordering.jitter = us(3);
  expect_no_gap(o, reordering, true);
  SimulatedFaults lossy;
  lossy.loss = {1, 20};
  lossy.jitter = us(30);
  expect_no_gap(o, lossy, true);
}

// [D105] However few packets a key is for: no sooner than 10 ms after the last one, and no peer finds that hurried.
TEST(Rekeying, NotAllTheTime) {
  EndpointOptions o = options();
  o.rekey_packets = 1;
  Duo duo(o);
  duo.connect();
  const Instant start = duo.world.now();
  std::vector<std::byte> buffer(3'000'000);
  const auto message = duo.keep(pattern(buffer.size()));
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 2), Status::ok);
  duo.run(ms(200));
  ASSERT_EQ(duo.of(0, Kind::received).size(), 1u);
  const auto most = static_cast<std::uint32_t>((duo.world.now() - start) / ms(10)) + 3;
  for (std::size_t i = 0; i < 2; ++i) {
    const ConnectionStatistics s = *duo.all[i]->statistics(duo.id[i]);
    EXPECT_GE(s.rekeyings, 1u);
    EXPECT_LE(s.rekeyings, most);
    EXPECT_EQ(s.retransmissions, 0u);
    EXPECT_EQ(duo.all[i]->statistics().refused_forged, 0u);
  }
}

// By time, also where one side only receives and the other is idle.
TEST(Rekeying, ByTime) {
  EndpointOptions o = options();
  o.rekey_interval = std::chrono::milliseconds(3'000);
  Duo duo(o);
  duo.connect();
  duo.run(seconds(60));
  EXPECT_TRUE(duo.of(0, Kind::failed).empty());
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_GE(duo.all[i]->statistics(duo.id[i])->rekeyings, 5u) << i;
}

// Only an answer to what was sealed with the newest key lets a side go on to the next: SACKs and pongs of what was sent
// before do not, however late they come.
TEST(Rekeying, WaitsUntilThePeerHasFollowed) {
  EndpointOptions o = options();
  o.rekey_interval = std::chrono::milliseconds(3'000);
  Duo duo(o);
  duo.connect();
  // What the client seals with its second key is lost; the server's keepalives reach it and are answered.
  duo.world.filter = [&duo](const SimulatedWorld::Captured& packet) {
    const auto header = wire::decode_header(packet.bytes);
    return !(packet.to == duo.hosts[0]->address()) || epoch_of(header.value().counter) == 0;
  };
  duo.run(seconds(8));
  EXPECT_EQ(duo.client().statistics(duo.id[1])->rekeyings, 1u);
  duo.world.filter = nullptr;
  duo.run(seconds(1));
  EXPECT_EQ(duo.client().statistics(duo.id[1])->rekeyings, 2u) << "it was due";
  EXPECT_TRUE(duo.of(1, Kind::failed).empty());
}

}  // namespace
}  // namespace strack::udp
