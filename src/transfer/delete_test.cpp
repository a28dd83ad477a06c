// `cp --delete` over loopback sockets, and senders that would remove what they may not.
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "transfer/nobody_testing.h"
#include "transfer/session_testing.h"

namespace strack::transfer {
namespace {

namespace fs = std::filesystem;
using testing::Puppet;
using testing::SessionTest;
using testing::write_file;

class DeleteTest : public SessionTest {
 protected:
  DeleteTest() {
    Receiver::Limits limits = patient();
    limits.may_remove = true;
    open_receiver(limits);
    fs::create_directories(out("t/d"));
    write_file(out("t/d/f"), "1");
    fs::create_directories(in("t/d"));
    fs::create_directories(in("t/old/deep"));
    write_file(in("t/old/deep/x"), "x");
    write_file(in("t/d/gone"), "x");
    write_file(in("t/d/keep.o"), "x");
    write_file(in("beside"), "x");
    fs::create_symlink("nowhere", in("t/l"));
  }
  Sender::Options deleting() {
    Sender::Options options;
    options.noted = [this](const std::string& text) { told_.push_back(text); };
    options.prune.emplace();
    options.prune->exclude = {"*.o"};
    options.prune->noted = options.noted;
    options.prune->removed = [this](const std::string& path) { removed_.push_back(path); };
    return options;
  }
  std::vector<std::string> told_;
  std::vector<std::string> removed_;
};

TEST_F(DeleteTest, WhatTheSourceLacksGoes) {
  EXPECT_EQ(copy({out("t").string()}, "", deleting()), "");
  wait_for_end(1);
  EXPECT_FALSE(fs::exists(in("t/old")));
  EXPECT_FALSE(fs::exists(in("t/d/gone")));
  EXPECT_FALSE(fs::is_symlink(in("t/l")));
  EXPECT_TRUE(fs::exists(in("t/d/keep.o"))) << "excluded";
  EXPECT_TRUE(fs::exists(in("t/d/f")));
  EXPECT_TRUE(fs::exists(in("beside"))) << "outside of what is copied";
  EXPECT_EQ(progress_.removed, 5u);
  EXPECT_EQ(ended_[0].removed, 5u);
  EXPECT_TRUE(told_.empty());
}

TEST_F(DeleteTest, ADryRunTouchesNothing) {
  Sender::Options options = deleting();
  options.prune->dry = true;
  EXPECT_EQ(copy({out("t").string()}, "", options), "");
  EXPECT_EQ(removed_.size(), 5u);
  EXPECT_TRUE(fs::exists(in("t/old/deep/x")));
  EXPECT_FALSE(fs::exists(in("t/d/f"))) << "nothing is copied, either";
}

// [D171] What is here and cannot be copied stays there, under its name, with all that is below it; all else goes as ever.
TEST_F(DeleteTest, WhatCannotBeCopiedStaysAndStopsNothing) {
  fs::create_symlink("/etc", out("t/link"));
  ASSERT_EQ(::mkfifo(out("t/fifo").c_str(), 0600), 0);
  write_file(out("t/a\nb"), "1");
  write_file(in("t/link"), "an older one");
  fs::create_directories(in("t/fifo/deep"));
  write_file(in("t/fifo/deep/x"), "x");
  EXPECT_EQ(copy({out("t").string()}, "", deleting()), "");
  wait_for_end(1);
  EXPECT_FALSE(fs::exists(in("t/old")));
  EXPECT_FALSE(fs::exists(in("t/d/gone")));
  EXPECT_TRUE(fs::exists(in("t/link")));
  EXPECT_TRUE(fs::exists(in("t/fifo/deep/x")));
  EXPECT_EQ(progress_.removed, 5u);
  EXPECT_TRUE(told_.empty()) << told_[0];
}

// [D171] What is in a folder that cannot be read was not seen, so nothing below it goes. Beside it, it does.
TEST_F(DeleteTest, NothingGoesBelowAFolderThatCannotBeRead) {
  fs::create_directories(out("t/secret/sub"));
  fs::create_directories(in("t/secret/sub"));
  write_file(in("t/secret/x"), "x");
  write_file(in("t/secret/sub/y"), "y");
  const testing::AsNobody nobody(in("").parent_path().parent_path());
  fs::permissions(out("t/secret"), fs::perms::none);
  EXPECT_EQ(copy({out("t").string()}, "", deleting()), "");
  fs::permissions(out("t/secret"), fs::perms::owner_all);
  EXPECT_TRUE(fs::exists(in("t/secret/x")));
  EXPECT_TRUE(fs::exists(in("t/secret/sub/y")));
  EXPECT_FALSE(fs::exists(in("t/old")));
  EXPECT_EQ(progress_.removed, 5u);
}

TEST_F(DeleteTest, NotWhereItIsNotAllowed) {
  open_receiver(patient());
  EXPECT_EQ(copy({out("t").string()}, "", deleting()), "");
  EXPECT_TRUE(fs::exists(in("t/old/deep/x")));
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_[0], "t: nothing is removed here: `strack recv` runs without --allow-delete");
}

// [D110] Below folders that the transfer fills, and nowhere else.
TEST_F(DeleteTest, NothingElseIsRemoved) {
  for (const char* path : {"beside", "t/d/gone", "other/t/x"}) {
    Puppet puppet(address());
    puppet.say(Hello{});
    puppet.say(Entry{0, EntryKind::folder, 0755, 0, 0, "t/old", ""});
    puppet.say(Remove{0, false, path});
    run(puppet, [&] { return puppet.last<Refusal>() != nullptr; });
    EXPECT_EQ(puppet.last<Refusal>()->text, "it may not remove that") << path;
  }
  EXPECT_TRUE(fs::exists(in("beside")));
  EXPECT_TRUE(fs::exists(in("t/d/gone")));
}

// [D110] At any depth what is called .strack is not copied, and stays with the folders that it is in.
TEST_F(DeleteTest, UnfinishedFilesStay) {
  write_file(out("t/d/.strack"), "not copied");
  for (const char* folder : {"t/.strack", "t/d/.strack", "t/old/.strack"}) {
    fs::create_directories(in(folder));
    write_file(in(std::string(folder) + "/part"), "1");
  }
  EXPECT_EQ(copy({out("t").string()}, "", deleting()), "");
  EXPECT_TRUE(fs::exists(in("t/.strack/part")));
  EXPECT_TRUE(fs::exists(in("t/d/.strack/part")));
  EXPECT_TRUE(fs::exists(in("t/old/.strack/part")));
  EXPECT_FALSE(fs::exists(in("t/old/deep")));
  EXPECT_FALSE(fs::exists(in("t/d/gone")));
  EXPECT_EQ(progress_.removed, 4u);
  EXPECT_EQ(progress_.refused, 0u);
  EXPECT_TRUE(told_.empty()) << told_[0];
}

// A dry run says the same.
TEST_F(DeleteTest, UnfinishedFilesAreNotSaidToGo) {
  fs::create_directories(in("t/.strack"));
  fs::create_directories(in("t/old/.strack"));
  Sender::Options options = deleting();
  options.prune->dry = true;
  EXPECT_EQ(copy({out("t").string()}, "", options), "");
  EXPECT_EQ(removed_, (std::vector<std::string>{"t/l", "t/d/gone", "t/old/deep/x", "t/old/deep"}));
  EXPECT_TRUE(told_.empty());
}

// Whatever a sender says.
TEST_F(DeleteTest, UnfinishedFilesAreNeitherTakenNorRemoved) {
  fs::create_directories(in("t/.strack/d"));
  write_file(in("t/.strack/part"), "1");
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::folder, 0755, 0, 0, "t", ""});
  puppet.say(Entry{1, EntryKind::folder, 0755, 0, 0, "t/.strack/e", ""});
  puppet.say(List{0, "t/.strack"});
  puppet.say(Remove{1, false, "t/.strack/part"});
  puppet.say(Remove{2, true, "t/.strack"});
  // A welcome, two of done and three of removed.
  run(puppet, [&] { return puppet.heard.size() == 6; });
  std::vector<std::string> removed;
  std::vector<std::string> done;
  for (const Control& message : puppet.heard) {
    if (const Removed* one = std::get_if<Removed>(&message)) removed.push_back(one->text);
    if (const Done* one = std::get_if<Done>(&message); one != nullptr && one->number == 1)
      done.push_back(one->text);
  }
  EXPECT_EQ(removed, std::vector<std::string>(3, "what is called '.strack' is not removed"));
  EXPECT_EQ(done, std::vector<std::string>{"what is called '.strack' is not taken"});
  EXPECT_TRUE(fs::exists(in("t/.strack/part")));
  EXPECT_FALSE(fs::exists(in("t/.strack/e")));
}

// A link to a folder is removed itself, and nothing behind it.
TEST_F(DeleteTest, NothingBehindALinkIsRemoved) {
  fs::create_directories(folder_ / "outside");
  write_file(folder_ / "outside/x", "x");
  fs::create_directory_symlink("../../outside", in("t/way"));
  EXPECT_EQ(copy({out("t").string()}, "", deleting()), "");
  EXPECT_FALSE(fs::is_symlink(in("t/way")));
  EXPECT_TRUE(fs::exists(folder_ / "outside/x"));
  Puppet puppet(address());
  fs::create_directory_symlink("../../outside", in("t/way"));
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::folder, 0755, 0, 0, "t", ""});
  puppet.say(Remove{0, false, "t/way/x"});
  run(puppet, [&] { return puppet.last<Removed>() != nullptr; });
  EXPECT_EQ(puppet.last<Removed>()->text, "'way' is there and is not a folder");
  EXPECT_TRUE(fs::exists(folder_ / "outside/x"));
}

}  // namespace
}  // namespace strack::transfer
