#include "transfer/identity.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "transfer/protection.h"
#include "transfer/testing.h"

namespace strack::transfer {
namespace {

using testing::TemporaryFolder;
using testing::write_file;

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Identity, IsWrittenOnceAndForItsOwnerOnly) {
  const TemporaryFolder folder;
  const std::string file = (folder / "id").string();
  const auto made = new_identity(file);
  ASSERT_TRUE(made.ok()) << made.error();
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const auto read = read_identity(file);
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(udp::public_key(read.value().secret), made.value());
  EXPECT_FALSE(read.value().readable_by_others());
  const std::string before = contents(file);
  const auto again = new_identity(file);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().find("is there already"), std::string::npos);
  EXPECT_EQ(contents(file), before);
  fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
  EXPECT_TRUE(read_identity(file).value().readable_by_others());
  EXPECT_EQ(read_identity(file).value().mode, 0640u);
}

TEST(Identity, IsNoSharedKey) {
  const TemporaryFolder folder;
  write_file(folder / "key", std::string(64, '0'));
  const auto read = read_identity((folder / "key").string());
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().find("--key-file"), std::string::npos);
  write_file(folder / "cut", "strack-identity 00ff");
  const std::string cut = read_identity((folder / "cut").string()).error();
  EXPECT_NE(cut.find("as `strack key new` writes it"), std::string::npos) << cut;
  EXPECT_EQ(cut.find("openssl"), std::string::npos) << cut;
  EXPECT_NE(read_identity((folder / "cut").string()).error().find("64 hexadecimal"),
            std::string::npos);
  EXPECT_NE(read_identity((folder / "none").string()).error().find("strack key new"),
            std::string::npos);
}

TEST(Identity, TrustedPeersAreLines) {
  const TemporaryFolder folder;
  const std::string file = (folder / "peers").string();
  udp::Key key{};
  key[31] = std::byte{1};
  EXPECT_EQ(trust(file, "alpha", key).value(), true);
  EXPECT_EQ(trust(file, "alpha", key).value(), false);
  key[0] = std::byte{0xff};
  EXPECT_NE(trust(file, "alpha", key).error().find("another key for alpha"), std::string::npos);
  EXPECT_FALSE(trust(file, "a b", key).ok());
  EXPECT_FALSE(trust(file, "#a", key).ok());
  std::ofstream(file, std::ios::app)
      << "# somebody's note\n\n  beta  " << udp::key_text(key) << "  # by telephone";
  EXPECT_EQ(trust(file, "gamma", key).value(), true);
  const auto peers = read_trusted(file);
  ASSERT_TRUE(peers.ok()) << peers.error();
  ASSERT_EQ(peers.value().size(), 3u);
  EXPECT_EQ(peers.value()[1].name, "beta");
  EXPECT_EQ(peers.value()[1].key, key);
  EXPECT_EQ(peers.value()[2].name, "gamma");
  std::ofstream(file, std::ios::app) << "delta 12\n";
  EXPECT_NE(read_trusted(file).error().find("peers:6: "), std::string::npos);
}

// What is written can be read again: no name makes the file unreadable, and none is ambiguous.
TEST(Identity, NamesAreNamesOnly) {
  const TemporaryFolder folder;
  const std::string file = (folder / "peers").string();
  udp::Key key{};
  key[0] = std::byte{9};
  for (const char* name : {"", "#a", "a#b", "a#", "a b", "a\n"})
    EXPECT_NE(trust(file, name, key).error().find("without spaces and #"), std::string::npos)
        << name;
  EXPECT_EQ(trust(file, "a\nb", key).error().find('\n'), std::string::npos);
  const std::string digits = udp::key_text(key);
  EXPECT_NE(trust(file, digits, key).error().find("is a key itself"), std::string::npos);
  EXPECT_EQ(trust(file, std::string(256, 'a'), key).error(),
            "the name has 256 characters: it takes 255 at most");
  EXPECT_FALSE(fs::exists(file)) << "nothing was written";
  ASSERT_TRUE(trust(file, std::string(255, 'a'), key).ok());
  ASSERT_TRUE(trust(file, "a", key).ok());
  EXPECT_TRUE(read_trusted(file).ok());
  write_file(file, "a " + digits + "\n\nb " + digits + "\na " + digits + "\n");
  EXPECT_NE(read_trusted(file).error().find("peers:4: a has a key in line 1 already"),
            std::string::npos);
  write_file(file, digits + " " + digits + "\n");
  EXPECT_NE(read_trusted(file).error().find("peers:1: name"), std::string::npos);
}

// A file that is cut off where it is too large would be another list.
TEST(Identity, FilesThatAreTooLargeAreRefused) {
  const TemporaryFolder folder;
  const std::string file = (folder / "peers").string();
  write_file(file, "#" + std::string(std::size_t{1} << 20, 'x') + "\n");
  EXPECT_NE(read_trusted(file).error().find("File too large"), std::string::npos);
  EXPECT_NE(trust(file, "a", udp::Key{}).error().find("File too large"), std::string::npos);
  write_file(file, "#" + std::string((std::size_t{1} << 20) - 2, 'x') + "\n");
  EXPECT_TRUE(read_trusted(file).ok());
  EXPECT_NE(trust(file, "a", udp::Key{}).error().find("File too large"), std::string::npos);
}

// Who reads an identity, and who writes the list of those who are trusted.
TEST(Identity, WarnsOfOthers) {
  const TemporaryFolder folder;
  Protection words;
  words.identity_file = (folder / "id").string();
  words.trust_file = (folder / "peers").string();
  ASSERT_TRUE(new_identity(words.identity_file).ok());
  ASSERT_TRUE(trust(words.trust_file, "a", udp::public_key(udp::Key{})).ok());
  fs::permissions(words.trust_file, fs::perms(0644));
  udp::EndpointOptions options;
  EXPECT_EQ(protect(words, options).value(), std::nullopt);
  fs::permissions(words.trust_file, fs::perms(0664));
  EXPECT_NE(protect(words, options).value()->find("changed by others (mode 664)"),
            std::string::npos);
  fs::permissions(words.identity_file, fs::perms(0640));
  const std::string two = *protect(words, options).value();
  EXPECT_NE(two.find("read by others (mode 640)"), std::string::npos) << two;
  EXPECT_NE(two.find("changed by others (mode 664)"), std::string::npos) << two;
}

// What the command line's words come to, and which of them contradict each other.
TEST(Identity, ProtectsByName) {
  const TemporaryFolder folder;
  const std::string id = (folder / "id").string();
  const std::string peers = (folder / "peers").string();
  ASSERT_TRUE(new_identity(id).ok());
  udp::Key other{};
  other[0] = std::byte{9};
  ASSERT_TRUE(trust(peers, "server", other).ok());
  Protection words;
  words.identity_file = id;
  words.trust_file = peers;
  words.peer = "server";
  udp::EndpointOptions options;
  const auto done = protect(words, options);
  ASSERT_TRUE(done.ok()) << done.error();
  EXPECT_TRUE(options.identity.has_value());
  EXPECT_EQ(options.peer, other);
  EXPECT_EQ(options.trusted, std::vector<udp::Key>{other});
  words.peer = "nobody";
  EXPECT_NE(protect(words, options).error().find("has no peer nobody"), std::string::npos);
  words.peer = udp::key_text(other);
  EXPECT_TRUE(protect(words, options).ok());
  words.peer.clear();
  words.trust_file = "/dev/null";
  EXPECT_EQ(protect(words, options).error(),
            "--trust /dev/null: there is no key in it, so nobody could connect. `strack key trust "
            "/dev/null NAME PUBLICKEY` adds one");
  words.trust_file = peers;
  words.peer = udp::key_text(udp::Key{});
  EXPECT_NE(protect(words, options).error().find("has no peer 0000"), std::string::npos);
  write_file(folder / "zero", "z " + udp::key_text(udp::Key{}) + "\n");
  EXPECT_NE(read_trusted((folder / "zero").string()).error().find("zero:1: 0000"),
            std::string::npos);
  words.peer = udp::key_text(other);
  EXPECT_EQ(listen_address("", words).value().text, "0.0.0.0:4794");
  words.trust_file.clear();
  EXPECT_NE(listen_address("", words).error().find("--trust"), std::string::npos);
  words.peer.clear();
  EXPECT_NE(unprotected("192.0.2.1:4794", words)->find("--peer"), std::string::npos);
  EXPECT_NE(unprotected("127.0.0.1:4794", words)->find("--peer"), std::string::npos);
  words.key_file = "key";
  EXPECT_FALSE(protect(words, options).ok());
  words = {};
  words.peer = "server";
  EXPECT_NE(protect(words, options).error().find("--identity"), std::string::npos);
}

}  // namespace
}  // namespace strack::transfer
