#include "transfer/key_watch.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "transfer/identity.h"
#include "transfer/rotate.h"
#include "transfer/testing.h"

namespace strack::transfer {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using testing::write_file;

constexpr auto kPause = KeyWatch::kPause;

struct Files {
  TemporaryFolder folder;
  std::string id = (folder / "id").string();
  std::string peers = (folder / "peers").string();
  Protection protection{{}, false, id, peers, {}};
  KeyWatch::Clock::time_point now{std::chrono::hours(1)};

  Files() {
    EXPECT_TRUE(new_identity(id).ok());
    EXPECT_TRUE(trust(peers, "a", udp::public_key(udp::new_key())).ok());
  }
};

// [D141] A change is seen when it has come to an end; each once.
TEST(KeyWatch, SeesChanges) {
  Files files;
  KeyWatch watch(files.protection);
  EXPECT_FALSE(watch.is_due(files.now += kPause, false));
  ASSERT_TRUE(trust(files.peers, "b", udp::public_key(udp::new_key())).ok());
  EXPECT_FALSE(watch.is_due(files.now + kPause / 2, false)) << "too soon";
  EXPECT_FALSE(watch.is_due(files.now += kPause, false)) << "perhaps it is still being written";
  EXPECT_TRUE(watch.is_due(files.now += kPause, false));
  EXPECT_FALSE(watch.is_due(files.now += kPause, false));
  EXPECT_TRUE(watch.is_due(files.now, true)) << "somebody asks";
  ASSERT_TRUE(begin_rotation(files.id).ok());
  EXPECT_FALSE(watch.is_due(files.now += kPause, false));
  EXPECT_TRUE(watch.is_due(files.now += kPause, false));
  fs::remove(files.id + ".new");
  EXPECT_FALSE(watch.is_due(files.now += kPause, false));
  EXPECT_TRUE(watch.is_due(files.now += kPause, false));
}

// What comes from standard input, or is not there, is not watched.
TEST(KeyWatch, NothingToWatch) {
  KeyWatch watch(Protection{"-", false, {}, {}, {}});
  EXPECT_FALSE(watch.is_due(KeyWatch::Clock::time_point(std::chrono::hours(1)), true));
}

// Keys that are read again are the endpoint's; with a mistake in a file all stays as it was.
TEST(KeyWatch, TheEndpointTakesThem) {
  Files files;
  udp::EndpointOptions options;
  options.listen = "127.0.0.1:0";
  options.paths = 1;
  ASSERT_TRUE(protect(files.protection, options).ok());
  auto opened = udp::Endpoint::open(options);
  ASSERT_TRUE(opened) << opened.error().text;
  EXPECT_EQ(read_keys_again(files.protection, opened.value()).value().text,
            "connections are taken by 1 key, 1 peer is trusted");
  ASSERT_TRUE(begin_rotation(files.id).ok());
  ASSERT_TRUE(trust(files.peers, "b", udp::public_key(udp::new_key())).ok());
  EXPECT_EQ(read_keys_again(files.protection, opened.value()).value().text,
            "connections are taken by 2 keys, 2 peers are trusted");
  write_file(files.peers, "");
  EXPECT_EQ(read_keys_again(files.protection, opened.value()).value().text,
            "connections are taken by 2 keys, 0 peers are trusted");
  write_file(files.peers, "c 12\n");
  const auto wrong = read_keys_again(files.protection, opened.value());
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().find("peers:1:"), std::string::npos) << wrong.error();
  fs::remove(files.id);
  EXPECT_FALSE(read_keys_again(files.protection, opened.value()).ok());
}

TEST(Rotate, AnIdentityInThreeSteps) {
  Files files;
  const udp::Key first = udp::public_key(read_identity(files.id).value().secret);
  EXPECT_NE(use_next_key(files.id).error().find("there is no"), std::string::npos);
  EXPECT_NE(end_rotation(files.id)->find("there is no"), std::string::npos);
  const auto next = begin_rotation(files.id);
  ASSERT_TRUE(next.ok()) << next.error();
  EXPECT_NE(begin_rotation(files.id).error().find("is there already"), std::string::npos);
  EXPECT_EQ(udp::public_key(read_identity(files.id).value().secret), first);
  EXPECT_EQ(fs::status(files.id + ".new").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  // Either way both are taken, and the one that is used is the file's.
  for (const bool used : {false, true}) {
    if (used) {
      EXPECT_EQ(use_next_key(files.id).value(), next.value());
    }
    udp::EndpointOptions options;
    ASSERT_TRUE(protect(files.protection, options).ok());
    EXPECT_EQ(udp::public_key(*options.identity), used ? *next.value() : first);
    EXPECT_EQ(udp::public_key(*options.other_keys[used ? 1 : 0]), used ? first : *next.value());
    EXPECT_FALSE(options.other_keys[used ? 0 : 1]);
  }
  EXPECT_NE(begin_rotation(files.id).error().find("--end"), std::string::npos);
  EXPECT_FALSE(end_rotation(files.id));
  udp::EndpointOptions options;
  ASSERT_TRUE(protect(files.protection, options).ok());
  EXPECT_FALSE(options.other_keys[0] || options.other_keys[1]);
  EXPECT_EQ(udp::public_key(*options.identity), *next.value());
}

TEST(Rotate, ASharedKey) {
  const TemporaryFolder folder;
  const std::string file = (folder / "key").string();
  write_file(file, std::string(64, '1'));
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  const Protection protection{file, false, {}, {}, {}};
  const auto made = begin_rotation(file);
  ASSERT_TRUE(made.ok()) << made.error();
  EXPECT_FALSE(made.value()) << "nobody is shown a secret";
  udp::EndpointOptions before;
  ASSERT_TRUE(protect(protection, before).ok());
  ASSERT_TRUE(before.other_keys[0]);
  ASSERT_TRUE(use_next_key(file).ok());
  udp::EndpointOptions after;
  ASSERT_TRUE(protect(protection, after).ok());
  EXPECT_EQ(after.key, before.other_keys[0]);
  EXPECT_EQ(after.other_keys[1], before.key);
  // Nor is one made of another kind.
  ASSERT_FALSE(end_rotation(file));
  ASSERT_TRUE(new_identity(file + ".new").ok());
  EXPECT_NE(use_next_key(file).error().find("another kind"), std::string::npos);
  fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
  fs::remove(file + ".new");
  EXPECT_NE(protect(protection, after).value()->find("can be read by others"), std::string::npos);
}

// What has to be waited for is never waited for, and what is half copied stops nobody who starts; who runs keeps what it had.
TEST(OtherKeys, MayBeBroken) {
  Files files;
  const std::string next = files.id + ".new";
  ASSERT_EQ(::mkfifo(next.c_str(), 0600), 0);
  udp::EndpointOptions options;
  const auto warned = protect(files.protection, options);
  ASSERT_TRUE(warned.ok()) << warned.error();
  ASSERT_TRUE(warned.value().has_value());
  EXPECT_NE(warned.value()->find("no plain file"), std::string::npos) << *warned.value();
  EXPECT_FALSE(options.other_keys[0].has_value());
  EXPECT_FALSE(protect(files.protection, options, /*again=*/true).ok());
  fs::remove(next);

  const std::string shared = (files.folder / "job").string();
  std::ofstream(shared) << std::string(64, 'a') << "\n";
  std::ofstream(shared + ".new") << "abc";
  const Protection by_key{shared, false, {}, {}, {}};
  EXPECT_TRUE(protect(by_key, options).ok());
  EXPECT_FALSE(protect(by_key, options, /*again=*/true).ok());
}

// Of a link the old key would stay where it leads.
TEST(Rotation, LinksAreRefused) {
  Files files;
  const std::string link = (files.folder / "link").string();
  fs::create_symlink(files.id, link);
  EXPECT_FALSE(begin_rotation(link).ok());
  EXPECT_FALSE(fs::exists(link + ".new"));
  EXPECT_FALSE(use_next_key(link).ok());
}

}  // namespace
}  // namespace strack::transfer
