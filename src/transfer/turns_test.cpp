// Files that two transfers want, and whose turn it is to speak.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "transfer/session_testing.h"
#include "transfer/testing.h"

namespace strack::transfer {
namespace {

using testing::Puppet;
using testing::random_text;
using testing::SessionTest;
using testing::write_file;

// What is left of it is not sent in vain.
TEST_F(SessionTest, AFileThatWasTakenOverIsNotSentToItsEnd) {
  const std::string text = random_text(24 * std::size_t{kBlockBytes}, 1);
  write_file(out("f"), text);
  std::unique_ptr<Puppet> newer;
  EXPECT_EQ(copy({out("f").string()}, "", {},
                 [&](const Sender& sender) {
                   if (newer || sender.progress().sent_bytes == 0) return false;
                   newer = std::make_unique<Puppet>(address());
                   newer->say(Hello{});
                   newer->say(Entry{0, EntryKind::file, 0644, 0, 5, "f", {}});
                   run(*newer, [&] { return newer->last<Need>() != nullptr; });
                   return false;
                 }),
            "");
  EXPECT_EQ(progress_.refused, 1u);
  EXPECT_EQ(progress_.skipped, 0u);
  EXPECT_LT(progress_.sent_bytes, text.size());
}

// Who broke a rule and has not left yet has no claim to a file.
TEST_F(SessionTest, WhoWasRefusedTakesNothingOver) {
  Puppet older(address());
  older.say(Hello{});
  run(older, [&] { return older.last<Welcome>() != nullptr; });
  Puppet newer(address());
  newer.say(Hello{});
  newer.say(Entry{0, EntryKind::file, 0644, 0, 5, "log", {}});
  run(newer, [&] { return newer.last<Need>() != nullptr; });
  newer.say(Hello{});
  run(newer, [&] { return newer.last<Refusal>() != nullptr; });
  older.say(Entry{0, EntryKind::file, 0644, 0, 5, "log", {}});
  run(older, [&] { return older.last<Need>() != nullptr || older.last<Done>() != nullptr; });
  EXPECT_EQ(older.last<Done>(), nullptr);
}

// What is said of it is bounded like all else.
TEST_F(SessionTest, SilenceDoesNotFillALog) {
  Receiver::Limits limits = patient();
  limits.patience = std::chrono::milliseconds(1'600);
  limits.hush = std::chrono::milliseconds(60);
  limits.most_notes = 0;
  open_receiver(limits);
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, 5, "f", {}});
  run(puppet, [&] { return !notes_.empty(); });
  EXPECT_EQ(notes_[0], "there is more to say, which is not shown here");
}

// A file that cannot begin before another one has ended is no excuse.
TEST_F(SessionTest, WhoseOtherFileWaitsMaySpeak) {
  Receiver::Limits limits = patient();
  limits.patience = std::chrono::milliseconds(1'600);
  limits.silence = std::chrono::milliseconds(250);
  limits.most_files = 2;  // of which one is left for others
  open_receiver(limits);
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, 5, "f", {}});
  puppet.say(Entry{1, EntryKind::file, 0644, 0, 5, "g", {}});
  run(puppet, [&] { return puppet.last<Refusal>() != nullptr; });
  ASSERT_NE(puppet.last<Refusal>(), nullptr);
  EXPECT_EQ(puppet.last<Refusal>()->text, "nothing came for 0 s");
}

// While the receiver's disk is at work the sender has nothing to say.
TEST_F(SessionTest, ASlowDiskIsNotTheSendersSilence) {
  Receiver::Limits limits = patient();
  limits.patience = std::chrono::milliseconds(1'600);  // it is looked eight times in this
  limits.silence = limits.hush = std::chrono::milliseconds(250);
  open_receiver(limits);
  // Outlives this test, should the worker look at it once more.
  const auto slow = std::make_shared<std::atomic<bool>>(true);
  worker_.run(
      [slow] {
        while (*slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      },
      [] {});
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, 5, "f", {}});
  const auto begin = std::chrono::steady_clock::now();
  run(puppet,
      [&] { return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(700); });
  EXPECT_EQ(puppet.last<Refusal>(), nullptr);
  EXPECT_TRUE(notes_.empty());
  *slow = false;
}

}  // namespace
}  // namespace strack::transfer
