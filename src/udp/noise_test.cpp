// The handshake against published test vectors (those of cacophony and snow, whose implementations are not
// related to this one), and what it refuses.
#include "udp/noise.h"

#include <sodium.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "udp/crypto.h"

namespace strack::udp::noise {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes unhex(std::string_view text) {
  Bytes out(text.size() / 2);
  EXPECT_EQ(
      sodium_hex2bin(out.data(), out.size(), text.data(), text.size(), nullptr, nullptr, nullptr),
      0);
  return out;
}
Secret key_of(std::string_view text) {
  const Bytes bytes = unhex(text);
  Secret key{};
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

struct Vector {
  const char* prologue;
  const char* initiator;
  const char* initiator_ephemeral;
  const char* responder;
  const char* responder_ephemeral;
  const char* hash;  ///< where it is published
  /// Payload and message: the first two are the handshake's, the others the session's, in turn.
  std::vector<std::array<const char*, 2>> messages;
};

const std::vector<Vector>& vectors() {
  static const std::vector<Vector> all{
      {"4a6f686e2047616c74",
       "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1",
       "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a",
       "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893",
       "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b",
       "0b0f68fb0c27e03ce9b97565995ed4838cc0581b762ef72b062f6a546419fad7",
       {{"4c756477696720766f6e204d69736573",
         "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944718da798efbcd9152852020"
         "4f904b9bd6c7413dccdc214d951e15253e39987f18146e8cd0873654207148333479d4d16c289f0294b2996"
         "0a72f48e0b7bba2e89083169825e59642148d492020664ccf7"},
        {"4d757272617920526f746862617264",
         "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f1448088435361e70b2ed446e6c9ec387"
         "d1d6b3b840f194e373979d241b203c4acafccf5"},
        {"462e20412e20486179656b", "050e9f3c8fac16b68dbce8f8c4bfbf6617c897f9ada4aa29aa19c8"},
        {"4361726c204d656e676572", "344233a6cabb7141d80f3da2fedc311d9646bbb0f505afe403a667"}}},
      {"5468657265206973206e6f20726967687420616e642077726f6e672e2054686572652773206f6e6c792066756e2"
       "0616e6420626f72696e672e",
       "f49f93c5112c0787acc808d61716d7e090e076a58f15a3f78d92773f8dcb473b",
       "dae68498c41315cff7e4a34dded8d973199d8f0cf3fcb8b6651c169de77de8be",
       "b790546f98b1e933c48cd01f17e7b281469d46fcacc9a3b584ae65b1d6272e8e",
       "c0875a5b59c8492bd2135e5432d7d484f938e0a1f5009428c4bcb70b2f69f69f",
       "",
       {{"95a8f51c435a9530ff1f30868ed7b23ec952eb513c26a0774fed82d2978a8c81",
         "6d21fec9141f3f37cc464e936a48b2d9521b5a44e0f3d960895d3c3fba30282f731f445c25e898e2534ac05"
         "36715b24308c108fc46bd260c887b36c3f68e3a05654fc8295c068ed53fb2022560961224e0b10b0835e1ef"
         "c82fc587cd50f7178fe3d9eb06e0351c6e7334162c10bed670bfa2a105f7b2768a140b3fd597782601"},
        {"b866b807a6d8b83182b884dbfedc861843c5082bd6e480cb54e4245a72083041",
         "e64e1fb8701c4f4bc3850b255fea657d4d835338b059c89acc99628fbe52473b41a4e79e3c1e6abc46bf80f"
         "078a005e15d8a3e04f989af3e6cb99b52031165006163ac3e17b928af8c116009d7bf4fb2"},
        {"e3a4937faef391028f759758b428b57652e0069a8dee64dfed01b60846938740",
         "2bebe19102169cdfe79cf41e38930bfd20a5b2fc78ccf33e853ddd939c0983174656eb27b61464a60776284"
         "8892ca1c0"},
        {"693972f27b0cb98aeac1fb54d782125431e7540e0cb2fa882cf51a8184d724fd",
         "c7c56da33b45d12f4754e17978bd49999c9c8f51d00db460f902aba2e6e245d0c46662f507915de8596f43b"
         "1d175f1db"}}}};
  return all;
}

/// Sealed as Noise's transport messages are, with the first nonce and no associated data.
Bytes sealed(const Secret& key, const Bytes& plain) {
  Bytes out(plain.size() + 16);
  const std::array<std::uint8_t, 12> nonce{};
  crypto_aead_chacha20poly1305_ietf_encrypt(out.data(), nullptr, plain.data(), plain.size(),
                                            nullptr, 0, nullptr, nonce.data(), key.data());
  return out;
}

class NoiseTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(crypto_ready()); }
};

// [D79] Both sides of those that are published, and their session keys.
TEST_F(NoiseTest, PublishedVectors) {
  for (const Vector& v : vectors()) {
    const KeyPair own[2] = {KeyPair::from(key_of(v.initiator)), KeyPair::from(key_of(v.responder))};
    const Bytes prologue = unhex(v.prologue);
    Handshake initiator = Handshake::initiator(prologue, own[0], own[1].public_key);
    Handshake responder = Handshake::responder(prologue, own[1]);

    Bytes payload = unhex(v.messages[0][0]);
    Bytes message(payload.size() + kFirstOverhead);
    ASSERT_TRUE(initiator.write_first(key_of(v.initiator_ephemeral), payload, message));
    EXPECT_EQ(message, unhex(v.messages[0][1]));
    Bytes read(payload.size());
    ASSERT_TRUE(responder.read_first(message, read));
    EXPECT_EQ(read, payload);
    EXPECT_EQ(responder.peer(), own[0].public_key);

    payload = unhex(v.messages[1][0]);
    message.resize(payload.size() + kSecondOverhead);
    ASSERT_TRUE(responder.write_second(key_of(v.responder_ephemeral), payload, message));
    EXPECT_EQ(message, unhex(v.messages[1][1]));
    read.resize(payload.size());
    ASSERT_TRUE(initiator.read_second(message, read));
    EXPECT_EQ(read, payload);

    const SessionKeys keys[2] = {initiator.finish(), responder.finish()};
    for (const SessionKeys& one : keys) {
      EXPECT_EQ(sealed(one.initiators, unhex(v.messages[2][0])), unhex(v.messages[2][1]));
      EXPECT_EQ(sealed(one.responders, unhex(v.messages[3][0])), unhex(v.messages[3][1]));
      EXPECT_EQ(one.hash, keys[0].hash);
      if (v.hash[0] != 0) {
        EXPECT_EQ(Bytes(one.hash.begin(), one.hash.end()), unhex(v.hash));
      }
    }
  }
}

// A bit changed anywhere, another prologue, another responder, a length that is not right: nothing is read.
TEST_F(NoiseTest, WhatIsNotTheVeryMessageIsRefused) {
  const Vector& v = vectors()[0];
  const KeyPair own[2] = {KeyPair::from(key_of(v.initiator)), KeyPair::from(key_of(v.responder))};
  const Bytes prologue = unhex(v.prologue);
  const Bytes first = unhex(v.messages[0][1]);
  const Bytes second = unhex(v.messages[1][1]);
  Bytes read(first.size() - kFirstOverhead);
  for (std::size_t bit = 0; bit < 8 * first.size(); bit += 5) {
    Bytes changed = first;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    // The highest bit of an ephemeral is not used for the secret, but it is hashed.
    EXPECT_FALSE(Handshake::responder(prologue, own[1]).read_first(changed, read)) << bit;
  }
  EXPECT_FALSE(Handshake::responder({}, own[1]).read_first(first, read));
  EXPECT_FALSE(Handshake::responder(prologue, own[0]).read_first(first, read));
  EXPECT_FALSE(Handshake::responder(prologue, own[1]).read_first(ConstBytes(first).first(95), {}));
  read.push_back(0);
  EXPECT_FALSE(Handshake::responder(prologue, own[1]).read_first(first, read));

  Handshake initiator = Handshake::initiator(prologue, own[0], own[1].public_key);
  Bytes again(first.size());
  ASSERT_TRUE(initiator.write_first(key_of(v.initiator_ephemeral), unhex(v.messages[0][0]), again));
  read.resize(second.size() - kSecondOverhead);
  for (std::size_t bit = 0; bit < 8 * second.size(); bit += 5) {
    Bytes changed = second;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_FALSE(Handshake(initiator).read_second(changed, read)) << bit;
  }
  EXPECT_TRUE(initiator.read_second(second, read));
}

// The few points whose secret everybody knows are no keys: not as a static, not as an ephemeral one.
TEST_F(NoiseTest, PointsOfLowOrderAreRefused) {
  const Vector& v = vectors()[0];
  const KeyPair own = KeyPair::from(key_of(v.initiator));
  for (const std::uint8_t low : {std::uint8_t{0}, std::uint8_t{1}}) {
    PublicKey point{};
    point[0] = low;
    Bytes out(kFirstOverhead);
    EXPECT_FALSE(Handshake::initiator({}, own, point).write_first(key_of(v.responder), {}, out));
    std::copy(point.begin(), point.end(), out.begin());
    EXPECT_FALSE(Handshake::responder({}, own).read_first(out, {}));
  }
}

// Each has its own ephemeral key: the same two hosts never have the same session keys twice.
TEST_F(NoiseTest, SessionKeysAreNewEachTime) {
  const Vector& v = vectors()[0];
  const KeyPair own[2] = {KeyPair::from(key_of(v.initiator)), KeyPair::from(key_of(v.responder))};
  std::vector<SessionKeys> seen;
  for (const auto& [i, r] : {std::pair{1, 2}, std::pair{1, 3}, std::pair{4, 2}}) {
    Secret e[2];
    e[0].fill(static_cast<std::uint8_t>(i));
    e[1].fill(static_cast<std::uint8_t>(r));
    Handshake initiator = Handshake::initiator({}, own[0], own[1].public_key);
    Handshake responder = Handshake::responder({}, own[1]);
    std::array<std::uint8_t, kFirstOverhead> first{};
    std::array<std::uint8_t, kSecondOverhead> second{};
    ASSERT_TRUE(initiator.write_first(e[0], {}, first));
    ASSERT_TRUE(responder.read_first(first, {}));
    ASSERT_TRUE(responder.write_second(e[1], {}, second));
    ASSERT_TRUE(initiator.read_second(second, {}));
    seen.push_back(initiator.finish());
    EXPECT_EQ(seen.back().initiators, responder.finish().initiators);
    for (std::size_t k = 0; k + 1 < seen.size(); ++k) {
      EXPECT_NE(seen[k].initiators, seen.back().initiators);
      EXPECT_NE(seen[k].responders, seen.back().responders);
    }
  }
}

}  // namespace
}  // namespace strack::udp::noise
