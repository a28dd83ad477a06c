#include "udp/sealing.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "udp/crypto.h"
#include "udp/testing.h"

namespace strack::udp {
namespace {

using Bytes = std::vector<std::uint8_t>;

class Sealing : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(crypto_ready());
    if ((usable_ciphers() & wire::kAes256Gcm) != 0) ciphers.push_back(wire::kAes256Gcm);
  }
  Bytes draw(std::size_t size) {
    Bytes out(size);
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(rng());
    return out;
  }
  Secret draw_key() {
    Secret key;
    for (std::uint8_t& byte : key) byte = static_cast<std::uint8_t>(rng());
    return key;
  }

  std::mt19937_64 rng{1};
  std::vector<wire::Cipher> ciphers{wire::kChaCha20Poly1305};
};

/// A packet in the making: header and front of the body here, the payload elsewhere.
struct Draft {
  Bytes front;
  Bytes payload;
  std::uint64_t counter;
};

std::vector<Bytes> sealed(AeadKey& key, const std::vector<Draft>& drafts) {
  std::vector<Bytes> out;
  for (const Draft& draft : drafts) {
    out.emplace_back(draft.front);
    out.back().resize(draft.front.size() + draft.payload.size() + wire::kTagBytes);
  }
  std::vector<ToSeal> burst;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const Draft& draft = drafts[i];
    burst.push_back({out[i].data(), draft.front.size(), draft.counter, draft.payload.data(),
                     draft.payload.size()});
  }
  key.seal(burst);
  return out;
}

TEST_F(Sealing, TheFastestIsFirstAndLibsodiumIsAlwaysThere) {
  const auto libraries = sealing_libraries();
  ASSERT_FALSE(libraries.empty());
  EXPECT_EQ(libraries.back().name, "libsodium");
  EXPECT_EQ(find_sealing_library("")->name, libraries.front().name);
  EXPECT_EQ(find_sealing_library("libsodium")->name, "libsodium");
  EXPECT_EQ(find_sealing_library("rot13"), nullptr);
}

// Bodies of 0 to 9000 bytes, cut in two anywhere, in bursts of any length: one library's bytes are
// another's, and each opens them all and refuses each of them with a bit turned.
TEST_F(Sealing, LibrariesDifferInNothingButSpeed) {
  for (const wire::Cipher cipher : ciphers) {
    for (int round = 0; round < 60; ++round) {
      const Secret secret = draw_key();
      std::vector<std::unique_ptr<AeadKey>> keys;
      for (const SealingLibrary& one : sealing_libraries())
        keys.push_back(one.make(cipher, secret));
      std::vector<Draft> drafts(1 + rng() % 16);
      for (Draft& draft : drafts) {
        const std::size_t body = rng() % (round % 2 == 0 ? 9'001 : 100);
        const std::size_t there =
            rng() % 3 == 0 ? rng() % (body + 1) : std::min<std::size_t>(body, 28);
        draft = {draw(wire::kSealedHeaderBytes + there), draw(body - there), rng()};
      }
      const std::vector<Bytes> packets = sealed(*keys.back(), drafts);  // libsodium's
      for (std::size_t i = 0; i < keys.size(); ++i) {
        SCOPED_TRACE(sealing_libraries()[i].name);
        ASSERT_TRUE(sealed(*keys[i], drafts) == packets);
        for (std::size_t n = 0; n < packets.size(); ++n) {
          Bytes copy = packets[n];
          copy[rng() % copy.size()] ^= static_cast<std::uint8_t>(1u << rng() % 8);
          EXPECT_FALSE(keys[i]->open(copy, drafts[n].counter));
          copy = packets[n];
          EXPECT_FALSE(keys[i]->open(copy, drafts[n].counter ^ 1));
          copy = packets[n];
          ASSERT_TRUE(keys[i]->open(copy, drafts[n].counter));
          Bytes plain = drafts[n].front;
          plain.insert(plain.end(), drafts[n].payload.begin(), drafts[n].payload.end());
          copy.resize(plain.size());
          EXPECT_TRUE(copy == plain);
        }
      }
    }
  }
}

TEST_F(Sealing, EveryBitOfATagCounts) {
  for (const wire::Cipher cipher : ciphers) {
    for (const SealingLibrary& library : sealing_libraries()) {
      const auto key = library.make(cipher, draw_key());
      const Bytes packet = sealed(*key, {{draw(44), draw(1'000), 7}})[0];
      for (std::size_t bit = 0; bit < 8 * wire::kTagBytes; ++bit) {
        Bytes forged = packet;
        forged[forged.size() - wire::kTagBytes + bit / 8] ^=
            static_cast<std::uint8_t>(1u << bit % 8);
        EXPECT_FALSE(key->open(forged, 7)) << library.name << " " << bit;
      }
    }
  }
}

// One whose self-test fails is passed over; older ones have none. The flags are those of its header.
TEST(SealingLibraries, IpsecMbMustHavePassedItsOwnTest) {
  if (!detail::ipsec_mb_is_usable(~std::uint64_t{0})) GTEST_SKIP() << "built without it";
  constexpr std::uint64_t kTested = std::uint64_t{1} << 20;
  constexpr std::uint64_t kPassed = std::uint64_t{1} << 21;
  EXPECT_TRUE(detail::ipsec_mb_is_usable(~(kTested | kPassed)));
  EXPECT_FALSE(detail::ipsec_mb_is_usable(~kPassed));
  EXPECT_FALSE(detail::ipsec_mb_is_usable(kTested | kPassed)) << "a processor without AES";
}

TEST_F(Sealing, AnEndpointTakesTheNameOfALibraryThatIsHere) {
  EndpointOptions o = testing::options();
  for (const SealingLibrary& library : sealing_libraries()) {
    o.sealing = library.name;
    EXPECT_FALSE(Engine::check(o));
  }
  o.sealing = "rot13";
  const auto wrong = Engine::check(o);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->text.find("sealing is \"rot13\". here it takes one of: "), 0u);
  EXPECT_NE(wrong->text.find("libsodium"), std::string::npos);
}

TEST_F(Sealing, EndsWithDifferentLibrariesUnderstandEachOther) {
  for (const SealingLibrary& library : sealing_libraries()) {
    testing::Duo duo;
    EndpointOptions o = testing::options();
    o.sealing = library.name;
    duo.engines[1] = std::make_unique<Engine>(o, duo.networks[1]);
    duo.all[1] = duo.engines[1].get();
    EXPECT_EQ(duo.server().sealing(), sealing_libraries().front().name);
    EXPECT_EQ(duo.client().sealing(), library.name);
    duo.connect();
    const auto message = duo.keep(testing::pattern(20'000));
    std::vector<std::byte> buffer(20'000);
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
    ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 7), Status::ok);
    duo.run(ms(20));
    ASSERT_EQ(duo.of(0, Kind::received).size(), 1u) << library.name;
    EXPECT_TRUE(std::ranges::equal(buffer, message));
    EXPECT_EQ(duo.server().statistics().refused_forged, 0u);
  }
  EXPECT_EQ(testing::Duo(testing::options(false)).server().sealing(), "");
}

}  // namespace
}  // namespace strack::udp
