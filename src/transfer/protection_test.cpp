#include "transfer/protection.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "transfer/testing.h"

namespace strack::transfer {
namespace {

using testing::TemporaryFolder;
using testing::write_file;

namespace fs = std::filesystem;

TEST(Protection, ReadsAKey) {
  const TemporaryFolder folder;
  // Made in one piece: GCC 12 warns of the other way under the thread sanitizer, without a reason.
  std::string key(65, '0');
  key.replace(63, 2, "a\n");
  write_file(folder / "key", key);
  fs::permissions(folder / "key", fs::perms::owner_read);
  udp::EndpointOptions options;
  const auto warning = protect({(folder / "key").string(), false}, options);
  ASSERT_TRUE(warning.ok()) << warning.error();
  EXPECT_EQ(warning.value(), std::nullopt);
  ASSERT_TRUE(options.key.has_value());
  EXPECT_EQ(options.key->back(), std::byte{10});
  EXPECT_FALSE(options.insecure);
}

// As of `--key-file <(pass show job)`: in pieces, from somebody who comes late and stays.
TEST(Protection, AKeyMayComeByAPipe) {
  const TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
    pause();
    std::ofstream out(pipe);
    out << std::string(10, 'a') << std::flush;
    pause();
    out << std::string(54, 'b') << "\n" << std::flush;
    pause();
  });
  udp::EndpointOptions options;
  const auto warning = protect({pipe, false}, options);
  writer.join();
  ASSERT_TRUE(warning.ok()) << warning.error();
  EXPECT_EQ(options.key->back(), std::byte{0xbb});
}

// Nobody waits for ever for what comes of a pipe, and who has connections does not wait at all.
TEST(Protection, APipeThatNobodyWritesToIsNoKeyFile) {
  const TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  udp::EndpointOptions options;
  EXPECT_EQ(protect({pipe, false}, options, /*again=*/true).error(),
            "key file " + pipe + ": it is no plain file");
  EXPECT_EQ(protect({pipe, false}, options).error(),
            "key file " + pipe +
                ": nothing came of it in five seconds. it takes a plain file, or a pipe that "
                "somebody writes to");
}

TEST(Protection, WarnsOfAKeyThatOthersCanRead) {
  const TemporaryFolder folder;
  write_file(folder / "key", std::string(64, '0'));
  fs::permissions(folder / "key", fs::perms::owner_read | fs::perms::others_read);
  udp::EndpointOptions options;
  const auto warning = protect({(folder / "key").string(), false}, options);
  ASSERT_TRUE(warning.ok());
  ASSERT_TRUE(warning.value().has_value());
  EXPECT_NE(warning.value()->find("chmod 600"), std::string::npos);
}

TEST(Protection, SaysWhatIsWrongWithAKey) {
  const TemporaryFolder folder;
  write_file(folder / "short", "abc");
  udp::EndpointOptions options;
  EXPECT_FALSE(protect({(folder / "short").string(), false}, options).ok());
  EXPECT_FALSE(protect({(folder / "missing").string(), false}, options).ok());
  EXPECT_FALSE(protect({(folder / "short").string(), true}, options).ok());
  EXPECT_FALSE(options.key.has_value());
}

// Whatever this side has, silence may be about keys.
TEST(Protection, SilenceMayBeAboutKeys) {
  const auto hint = [](const Protection& protection) {
    const std::string text = explain(udp::Status::timed_out, "h:1", "strack recv", protection);
    EXPECT_TRUE(text.starts_with("nobody answers at h:1. is `strack recv` running there, "));
    return text.substr(text.find('?') + 1);
  };
  EXPECT_EQ(hint({}), " a listener with --identity stays silent to who has no --identity, too");
  EXPECT_EQ(hint({"key", false}),
            " a listener whose key differs from this key file may stay silent, too");
  Protection identity;
  identity.identity_file = "a.id";
  EXPECT_EQ(hint(identity),
            " a listener that does not trust this host's key, or is not --peer, stays silent, too");
}

TEST(Protection, WithoutAKeyOnlyThisHost) {
  EXPECT_EQ(listen_address("", {}).value().text, "127.0.0.1:4794");
  EXPECT_EQ(listen_address("", {"key", false}).value().text, "0.0.0.0:4794");
  EXPECT_EQ(listen_address("", {"", true}).value().text, "0.0.0.0:4794");
  EXPECT_EQ(listen_address("127.0.0.2:5", {}).value().text, "127.0.0.2:5");
  EXPECT_EQ(listen_address("[::1]:5", {}).value().text, "[::1]:5");
  EXPECT_EQ(listen_address("192.0.2.1", {"", true}).value().text, "192.0.2.1:4794");
  const auto refused = listen_address("0.0.0.0:5", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().find("--key-file"), std::string::npos);
  EXPECT_NE(refused.error().find("--insecure"), std::string::npos);
  EXPECT_TRUE(unprotected("192.0.2.1:5", {}).has_value());
  EXPECT_FALSE(unprotected("192.0.2.1:5", {"key", false}).has_value());
  EXPECT_FALSE(unprotected("192.0.2.1:5", {"", true}).has_value());
  EXPECT_FALSE(unprotected("127.0.0.1:5", {}).has_value());
  EXPECT_FALSE(unprotected("[::1]:5", {}).has_value());
  EXPECT_TRUE(unprotected("[2001:db8::1]:5", {}).has_value());
}

}  // namespace
}  // namespace strack::transfer
