#include "udp/crypto.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

class Crypto : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(crypto_ready()); }

  static Secret secret(std::uint8_t fill) {
    Secret s;
    s.fill(fill);
    return s;
  }
  static std::vector<wire::Cipher> ciphers() {
    std::vector<wire::Cipher> all{wire::kChaCha20Poly1305};
    if ((usable_ciphers() & wire::kAes256Gcm) != 0) all.push_back(wire::kAes256Gcm);
    return all;
  }
};

TEST_F(Crypto, BestCipher_IsOneThatBothHave) {
  EXPECT_EQ(best_cipher(wire::kChaCha20Poly1305), wire::kChaCha20Poly1305);
  EXPECT_EQ(best_cipher(0), 0);
  const std::uint8_t best = best_cipher(wire::kAllCiphers);
  EXPECT_NE(best & usable_ciphers(), 0);
}

TEST_F(Crypto, Seal_OpensWithTheSameKeyAndCounterOnly) {
  for (const wire::Cipher cipher : ciphers()) {
    const SealingKey key(cipher, secret(1));
    const SealingKey other(cipher, secret(2));
    for (const std::size_t body : {0u, 1u, 40u, 1'000u}) {
      std::vector<std::uint8_t> plain(wire::kSealedHeaderBytes + body + wire::kTagBytes);
      for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::uint8_t>(i);
      std::vector<std::uint8_t> sealed = plain;
      key.seal(sealed.data(), wire::kSealedHeaderBytes + body, 77);
      // The header stays readable.
      EXPECT_TRUE(
          std::equal(sealed.begin(), sealed.begin() + wire::kSealedHeaderBytes, plain.begin()));
      std::vector<std::uint8_t> copy = sealed;
      EXPECT_TRUE(key.open(copy, 77));
      EXPECT_TRUE(std::equal(copy.begin(), copy.end() - wire::kTagBytes, plain.begin()));
      copy = sealed;
      EXPECT_FALSE(key.open(copy, 78));
      copy = sealed;
      EXPECT_FALSE(other.open(copy, 77));
      for (std::size_t i = 0; i < sealed.size(); i += 7) {  // header, body and tag
        copy = sealed;
        copy[i] ^= 1;
        EXPECT_FALSE(key.open(copy, 77)) << i;
      }
    }
    std::vector<std::uint8_t> tiny(wire::kSealedHeaderBytes + wire::kTagBytes - 1);
    EXPECT_FALSE(key.open(tiny, 0));
  }
}

TEST_F(Crypto, SessionKeys_DifferByDirectionAndByEitherSidesTerms) {
  const JobKey key(secret(3));
  TermsBytes a{};
  TermsBytes b{};
  b[5] = 1;
  const auto keys = key.session_keys(a, b);
  EXPECT_NE(keys[0], keys[1]);
  TermsBytes changed = a;
  changed[67] = 1;
  EXPECT_NE(key.session_keys(changed, b)[0], keys[0]);
  EXPECT_NE(key.session_keys(a, changed)[0], keys[0]);
  EXPECT_NE(key.session_keys(b, a)[0], keys[0]);
  EXPECT_NE(JobKey(secret(4)).session_keys(a, b)[0], keys[0]);
  EXPECT_NE(key.id(), JobKey(secret(4)).id());
  EXPECT_NE(key.id(), 0u);
}

std::vector<std::uint8_t> from_hex(std::string_view hex) {
  std::vector<std::uint8_t> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, bytes[i], 16);
  }
  return bytes;
}

// docs/protocol.md's table of keys, worked through by an independent program
// (tests/wire/vectors/keys.txt).
TEST_F(Crypto, AgreesWithTheSpecificationsVectors) {
  Secret psk;
  for (std::size_t i = 0; i < psk.size(); ++i) psk[i] = static_cast<std::uint8_t>(i);
  const JobKey key(psk);
  EXPECT_EQ(key.id(), 0x9901d841u);
  TermsBytes initiator;
  TermsBytes responder;
  std::ranges::copy(
      from_hex("1a2b3c4d202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f9901d841"
               "0000000000000007ffffff000000004000007530100001000400030112ba0000"),
      initiator.begin());
  std::ranges::copy(
      from_hex("5eed0001c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf9901d841"
               "000000000000000900abcdef0000008000004e200fbc00800200010112ba0000"),
      responder.begin());
  const auto keys = key.session_keys(initiator, responder);
  Secret expected;
  std::ranges::copy(from_hex("3e4564e8a685412dd761b58afc492c9c76f4852a764e553e32318651ba673b01"),
                    expected.begin());
  EXPECT_EQ(keys[0], expected);
  std::ranges::copy(from_hex("8e9a400bc5a117963d393834a9cafa442d974e0936274b227af089a89f66b1ce"),
                    expected.begin());
  EXPECT_EQ(keys[1], expected);

  auto chacha = from_hex(
      "218000095eed00010000000000000000"
      "0a91bbe6a0264a53efa34281081efda8e44fcefddbfd3d7b9e6dd7e409949a62b4a7244612752c86f1255a10"
      "2e8dab1ac25df8f8");
  EXPECT_TRUE(SealingKey(wire::kChaCha20Poly1305, keys[0]).open(chacha, 0));
  if ((usable_ciphers() & wire::kAes256Gcm) != 0) {
    auto gcm = from_hex(
        "228300021a2b3c4d0000000100000000"
        "868f272cfb21500caa8b825422c829635328064fda4f729a64ade9d310f1a7f635cda1910d6ef4cd34a7d4a8"
        "7944b69857e442209c14cb26");
    EXPECT_TRUE(SealingKey(wire::kAes256Gcm, keys[1]).open(gcm, std::uint64_t{1} << 32));
  }
}

TEST_F(Crypto, Replay_EachCounterOnce) {
  ReplayWindow window;
  EXPECT_FALSE(window.is_old(0));
  window.note(0);
  EXPECT_TRUE(window.is_old(0));
  EXPECT_FALSE(window.is_old(5));
  window.note(5);
  EXPECT_FALSE(window.is_old(3));
  window.note(3);
  EXPECT_TRUE(window.is_old(3));
  EXPECT_TRUE(window.is_old(5));
  EXPECT_FALSE(window.is_old(4));
  // What has left the bitmap cannot be told from what was seen.
  window.note(4 + ReplayWindow::kBits);
  EXPECT_TRUE(window.is_old(4));
  EXPECT_TRUE(window.is_old(5));
  EXPECT_FALSE(window.is_old(6));
  window.note(1'000'000);
  EXPECT_TRUE(window.is_old(6));
  EXPECT_FALSE(window.is_old(999'999));
  EXPECT_FALSE(window.is_old(1'000'001 - ReplayWindow::kBits));
  EXPECT_TRUE(window.is_old(1'000'000 - ReplayWindow::kBits));
}

TEST_F(Crypto, Cookie_IsGoodForItsMakerAddressTermsAndTimeOnly) {
  const CookieJar jar(secret(9));
  const Address from = *Address::parse("192.0.2.1:1000");
  TermsBytes terms{};
  const Instant now = at(seconds(100));
  const wire::Cookie cookie = jar.make(from, true, terms, now);
  EXPECT_TRUE(jar.is_good(cookie, from, true, terms, now));
  EXPECT_TRUE(jar.is_good(cookie, from, true, terms, now + CookieJar::kLifetime));
  EXPECT_FALSE(jar.is_good(cookie, from, true, terms, now + CookieJar::kLifetime + ps(1)));
  EXPECT_FALSE(jar.is_good(cookie, from, true, terms, now - ps(1)));
  EXPECT_FALSE(jar.is_good(cookie, from, false, terms, now));
  EXPECT_FALSE(jar.is_good(cookie, *Address::parse("192.0.2.1:1001"), true, terms, now));
  EXPECT_FALSE(jar.is_good(cookie, *Address::parse("192.0.2.2:1000"), true, terms, now));
  TermsBytes others = terms;
  others[67] = 1;
  EXPECT_FALSE(jar.is_good(cookie, from, true, others, now));
  EXPECT_FALSE(CookieJar(secret(8)).is_good(cookie, from, true, terms, now));
  for (std::size_t i = 0; i < cookie.size(); ++i) {
    wire::Cookie forged = cookie;
    forged[i] ^= 1;
    EXPECT_FALSE(jar.is_good(forged, from, true, terms, now)) << i;
  }
}

}  // namespace
}  // namespace strack::udp
