// The endpoint's cryptography against vectors/keys.txt, which make_vectors.py works out by itself from
// the table of keys in docs/protocol.md.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "udp/crypto.h"
#include "udp/noise.h"
#include "udp/session_keys.h"
#include "vector_file.h"
#include "wire/wire.h"

namespace strack::wire {
namespace {

template <std::size_t N>
std::array<std::uint8_t, N> array_of(const Bytes& bytes) {
  std::array<std::uint8_t, N> out{};
  EXPECT_EQ(bytes.size(), N);
  std::copy_n(bytes.begin(), std::min(N, bytes.size()), out.begin());
  return out;
}

Bytes bytes_of(const auto& array) { return Bytes(array.begin(), array.end()); }

class WireKeys : public ::testing::Test {
 protected:
  WireKeys() : sodium_ready_(udp::crypto_ready()), key_(array_of<32>(block_.bytes("psk"))) {}

  [[nodiscard]] Bytes packet(const Vector& of) const {
    return find_vector(packets_, of.get("packet")).bytes("hex");
  }
  [[nodiscard]] std::array<udp::Secret, 2> session() const {
    return key_.session_keys(array_of<kTermsBytes>(block_.bytes("initiator_terms")),
                             array_of<kTermsBytes>(block_.bytes("responder_terms")));
  }

  const std::vector<Vector> keys_ = read_vectors("keys.txt");
  const std::vector<Vector> packets_ = read_vectors("valid.txt");
  const Vector block_ = find_vector(keys_, "keys");
  const bool sodium_ready_;
  const udp::JobKey key_;
};

TEST_F(WireKeys, KeyId) {
  ASSERT_TRUE(sodium_ready_);
  EXPECT_EQ(key_.id(), std::stoul(block_.get("key_id"), nullptr, 16));
}

TEST_F(WireKeys, MacsOfSetUp) {
  const Vector hello = find_vector(keys_, "hello");
  Bytes bytes = packet(hello);
  bytes.resize(kHelloMacAt);
  EXPECT_EQ(bytes_of(key_.hello_mac(bytes)), hello.bytes("mac"));

  const Vector connect = find_vector(keys_, "connect");
  bytes = packet(connect);
  bytes.resize(bytes.size() - kTagBytes);
  EXPECT_EQ(bytes_of(key_.connect_mac(bytes)), connect.bytes("mac"));

  const Vector accept = find_vector(keys_, "accept");
  bytes = packet(accept);
  bytes.resize(bytes.size() - kTagBytes);
  const auto initiator = array_of<kTermsBytes>(block_.bytes("initiator_terms"));
  EXPECT_EQ(bytes_of(key_.accept_mac(initiator, bytes)), accept.bytes("mac"));

  const Vector reset = find_vector(keys_, "reset");
  bytes = packet(reset);
  bytes.resize(bytes.size() - kTagBytes);
  const auto sender = udp::Address::parse("192.0.2.7:4794");
  ASSERT_TRUE(sender);
  EXPECT_EQ(bytes_of(key_.reset_mac(bytes, *sender)), reset.bytes("mac"));
}

TEST_F(WireKeys, SessionKeys) {
  EXPECT_EQ(bytes_of(session()[0]), block_.bytes("initiator_key"));
  EXPECT_EQ(bytes_of(session()[1]), block_.bytes("responder_key"));
}

// [D95] The whole handshake between two hosts, as make_vectors.py has worked it out by itself.
TEST_F(WireKeys, HostsWithKeysOfTheirOwn) {
  const Vector hosts = find_vector(keys_, "hosts");
  const auto secret = [&](const char* name) { return array_of<32>(hosts.bytes(name)); };
  const auto packet_of = [&](const char* name) { return find_vector(packets_, name).bytes("hex"); };
  const Bytes hello = packet_of("hello-of-a-host");
  const Bytes connect = packet_of("connect-of-a-host");
  const Bytes accept = packet_of("accept-of-a-host");
  const Bytes reset = packet_of("reset-of-a-host");
  const auto before_mac = [](const Bytes& bytes) {
    return ConstBytes(bytes).first(bytes.size() - kTagBytes);
  };
  const auto mac_of = [](const Bytes& bytes) { return Bytes(bytes.end() - 16, bytes.end()); };

  const auto initiator = udp::noise::KeyPair::from(secret("initiator_identity"));
  const auto responder = udp::noise::KeyPair::from(secret("responder_identity"));
  EXPECT_EQ(bytes_of(initiator.public_key), hosts.bytes("initiator_public"));
  EXPECT_EQ(bytes_of(responder.public_key), hosts.bytes("responder_public"));
  const udp::JobKey door(responder.public_key);
  EXPECT_EQ(door.id(), std::stoul(hosts.get("key_id"), nullptr, 16));
  EXPECT_EQ(bytes_of(door.hello_mac(ConstBytes(hello).first(kHostHelloMacAt))),
            Bytes(hello.begin() + kHostHelloMacAt, hello.begin() + kHostHelloMacAt + 16));
  EXPECT_EQ(bytes_of(door.connect_mac(before_mac(connect))), mac_of(connect));

  const auto offer = array_of<kTermsBytes>(hosts.bytes("initiator_terms"));
  const auto answer = array_of<kTermsBytes>(hosts.bytes("responder_terms"));
  const auto prologue = udp::noise_prologue(offer);
  auto first_side = udp::noise::Handshake::initiator(prologue, initiator, responder.public_key);
  auto second_side = udp::noise::Handshake::responder(prologue, responder);
  FirstMessage first{};
  SecondMessage second{};
  udp::Secret told{};
  ASSERT_TRUE(first_side.write_first(secret("initiator_ephemeral"),
                                     udp::reset_secret(initiator.secret, 0x1a2b3c4d, 40001),
                                     first));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), hello.begin() + 80));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), connect.begin() + 112));
  ASSERT_TRUE(second_side.read_first(first, told));
  EXPECT_EQ(bytes_of(told), hosts.bytes("initiator_reset_secret"));
  ASSERT_TRUE(second_side.write_second(secret("responder_ephemeral"),
                                       udp::reset_secret(responder.secret, 0x5eed0001, 4794),
                                       second));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), accept.begin() + 80));
  ASSERT_TRUE(first_side.read_second(second, told));
  EXPECT_EQ(bytes_of(told), hosts.bytes("responder_reset_secret"));
  const auto sender = udp::Address::parse("192.0.2.7:4794");
  ASSERT_TRUE(sender);
  EXPECT_EQ(bytes_of(udp::host_reset_mac(told, before_mac(reset), *sender)), mac_of(reset));

  const udp::JobKey outcome = udp::handshake_key(first_side.finish());
  EXPECT_EQ(bytes_of(outcome.accept_mac(offer, before_mac(accept))), mac_of(accept));
  const auto session = outcome.session_keys(offer, answer);
  EXPECT_EQ(bytes_of(session[0]), hosts.bytes("initiator_key"));
  EXPECT_EQ(bytes_of(session[1]), hosts.bytes("responder_key"));
  EXPECT_EQ(bytes_of(udp::next_secret(session[0])), hosts.bytes("initiator_next_key"));
}

TEST_F(WireKeys, SealedPackets) {
  int sealed_packets = 0;
  for (const Vector& vector : keys_) {
    if (!vector.name.ends_with("-sealed")) continue;
    const bool aes = vector.get("cipher") == "aes-256-gcm";
    if (aes && (udp::usable_ciphers() & kAes256Gcm) == 0) continue;
    const udp::SealingKey key(aes ? kAes256Gcm : kChaCha20Poly1305,
                              session()[vector.get("sender") == "initiator" ? 0 : 1]);
    Bytes bytes = packet(vector);  // in clear, with room for the tag
    const Bytes clear(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(kTagBytes));
    const auto header = decode_header(bytes);
    ASSERT_TRUE(header.ok()) << vector.name;
    const std::uint64_t counter = header.value().counter;

    key.seal(bytes.data(), clear.size(), counter);
    EXPECT_EQ(bytes, vector.bytes("sealed")) << vector.name;

    Bytes changed = bytes;
    changed[3] ^= 1;  // in the header, which is not encrypted
    EXPECT_FALSE(key.open(changed, counter)) << vector.name;
    ASSERT_TRUE(key.open(bytes, counter)) << vector.name;
    bytes.resize(clear.size());
    EXPECT_EQ(bytes, clear) << vector.name;
    ++sealed_packets;
  }
  EXPECT_GE(sealed_packets, 2);
}

}  // namespace
}  // namespace strack::wire
