// Whole transfers over loopback sockets, both sides in one thread; and peers that break the rules, made of
// the same messages.
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "transfer/digest.h"
#include "transfer/event_wait.h"
#include "transfer/receiver.h"
#include "transfer/reconnect.h"
#include "transfer/sender.h"
#include "transfer/session_testing.h"
#include "transfer/testing.h"

namespace strack::transfer {
namespace {

using testing::Puppet;
using testing::random_text;
using testing::read_file;
using testing::SessionTest;
using testing::write_file;

namespace fs = std::filesystem;

TEST_F(SessionTest, ATreeArrives) {
  fs::create_directories(out("t/d"));
  const std::string big = random_text(3 * kBlockBytes + 17, 1);
  write_file(out("t/big"), big);
  write_file(out("t/d/empty"), "");
  fs::create_symlink("d/empty", out("t/l"));
  EXPECT_EQ(copy({out("t").string()}, "x/"), "");
  wait_for_end(1);
  EXPECT_TRUE(ended_[0].finished);
  EXPECT_EQ(ended_[0].files, 2u);
  EXPECT_EQ(ended_[0].bytes, big.size());
  EXPECT_TRUE(read_file(in("x/t/big")) == big);
  EXPECT_TRUE(fs::exists(in("x/t/d/empty")));
  EXPECT_EQ(fs::read_symlink(in("x/t/l")), "d/empty");
  EXPECT_EQ(progress_.links, 1u);
  EXPECT_FALSE(fs::exists(in(".strack")));
}

// More files than may be open at a time.
TEST_F(SessionTest, ManySmallFilesArrive) {
  fs::create_directories(out("t"));
  for (int i = 0; i < 500; ++i)
    write_file(out("t/" + std::to_string(i)), random_text(static_cast<std::size_t>(i), 1));
  EXPECT_EQ(copy({out("t").string()}, ""), "");
  wait_for_end(1);
  EXPECT_EQ(ended_[0].files, 500u);
  for (int i = 0; i < 500; ++i)
    EXPECT_TRUE(read_file(in("t/" + std::to_string(i))) ==
                read_file(out("t/" + std::to_string(i))));
}

// Files with journals, and more of them than may be open: each gets its turn.
TEST_F(SessionTest, FewFilesAreOpenAtATime) {
  Receiver::Limits limits = patient();
  limits.most_files = 3;
  open_receiver(limits);
  fs::create_directories(out("t"));
  const std::string text = random_text(kBlockBytes + 1, 1);
  for (int i = 0; i < 20; ++i) write_file(out("t/" + std::to_string(i)), text);
  std::size_t most = 0;
  EXPECT_EQ(copy({out("t").string()}, "", {},
                 [&](const Sender&) {
                   std::size_t parts = 0;
                   std::error_code gone;
                   for (const auto& one : fs::directory_iterator(in(".strack"), gone))
                     parts += one.path().extension() == ".part" ? 1u : 0u;
                   most = std::max(most, parts);
                   return false;
                 }),
            "");
  wait_for_end(1);
  EXPECT_EQ(ended_[0].files, 20u);
  EXPECT_GE(most, 1u);
  EXPECT_LE(most, 3u);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(read_file(in("t/" + std::to_string(i))) == text);
}

// It has as many files open as it may have, and another transfer still gets one.
TEST_F(SessionTest, ASenderThatHangsLeavesFilesForOthers) {
  Receiver::Limits limits = patient();
  limits.most_files = 4;
  open_receiver(limits);
  Puppet hanging(address());
  hanging.say(Hello{});
  for (std::uint32_t i = 0; i < 8; ++i)
    hanging.say(Entry{i, EntryKind::file, 0644, 0, 5, "h" + std::to_string(i), {}});
  run(hanging, [&] { return hanging.last<Need>() != nullptr && worker_.pending() == 0; });
  write_file(out("a"), "a");
  write_file(out("b"), "b");
  EXPECT_EQ(copy({out("a").string(), out("b").string()}, ""), "");
  EXPECT_EQ(read_file(in("b")), "b");
  const auto needs =
      std::count_if(hanging.heard.begin(), hanging.heard.end(),
                    [](const Control& m) { return std::holds_alternative<Need>(m); });
  EXPECT_LT(needs, 4);
  // When it goes, what it held is free again.
  hanging.abort();
  run(hanging, [&] { return receiver_->active() == 0 && worker_.pending() == 0; });
  EXPECT_EQ(copy({out("a").string(), out("b").string()}, "again/"), "");
  EXPECT_EQ(read_file(in("again/b")), "b");
}

TEST_F(SessionTest, ASecondCopySendsNothing) {
  write_file(out("f"), random_text(2 * kBlockBytes, 1));
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_EQ(progress_.there, 1u);
  EXPECT_EQ(progress_.sent_bytes, 0u);
}

TEST_F(SessionTest, ADifferentFileIsRefusedAndTheOthersGoOn) {
  write_file(out("a"), "new a");
  write_file(out("b"), "b");
  write_file(in("a"), "old a");
  std::vector<std::string> told;
  Sender::Options options;
  options.noted = [&](const std::string& text) { told.push_back(text); };
  EXPECT_EQ(copy({out("a").string(), out("b").string()}, "", options), "");
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(progress_.refused, 1u);
  EXPECT_EQ(progress_.kept_bytes, 0u) << "of the one that differs";
  EXPECT_EQ(read_file(in("a")), "old a");
  EXPECT_EQ(read_file(in("b")), "b");
  options.force = true;
  EXPECT_EQ(copy({out("a").string(), out("b").string()}, "", options), "");
  EXPECT_EQ(read_file(in("a")), "new a");
}

// What one transfer ends while another fills it stays open to that one, until it ends it or is gone.
TEST_F(SessionTest, TheLastOneFinishesAFolder) {
  using testing::mode_of;
  using testing::mtime_of;
  for (const bool leaves : {false, true}) {
    const std::string name = leaves ? "left" : "ended";
    const auto folder = [&](EntryKind kind, std::uint32_t number, std::int64_t time) {
      return Entry{number, kind, 0555, time, 0, name, {}};
    };
    const auto is_done = [](const Puppet& puppet, std::uint32_t number) {
      const Done* done = puppet.last<Done>();
      return done != nullptr && done->number == number && done->outcome <= Outcome::there;
    };
    Puppet first(address());
    Puppet second(address());
    for (Puppet* one : {&first, &second}) {
      one->say(Hello{});
      one->say(folder(EntryKind::folder, 0, 0));
      run(*one, [&] { return is_done(*one, 0); });
    }
    first.say(folder(EntryKind::folder_end, 1, 5));
    run(first, [&] { return is_done(first, 1); });
    first.say(Finish{});
    run(first, [&] { return first.last<Finished>() != nullptr; });
    EXPECT_EQ(mode_of(in(name)), 0700u);
    if (leaves) {
      second.abort();
    } else {
      second.say(Entry{1, EntryKind::link, 0777, 0, 0, name + "/l", "x"});
      second.say(folder(EntryKind::folder_end, 2, 6));
    }
    run(second, [&] { return mode_of(in(name)) == 0555; });
    EXPECT_EQ(mtime_of(in(name)), leaves ? 5 : 6);
    EXPECT_EQ(fs::is_symlink(in(name + "/l")), !leaves);
    run(second, [&] { return worker_.pending() == 0; });
    if (leaves) {
      EXPECT_FALSE(fs::exists(in(".strack")));
    }
  }
}

// The sender is gone in the middle without a word, and the receiver has not noticed when the next attempt comes.
TEST_F(SessionTest, ASecondAttemptTakesOverAndGoesOn) {
  const std::string big = random_text(40 * std::size_t{kBlockBytes}, 1);
  write_file(out("f"), big);
  Puppet first(address());
  first.say(Hello{});
  const Entry entry = scan({out("f").string()}, {"h", "", true}).value().entries[0].entry;
  first.say(entry);
  run(first, [&] { return first.last<Need>() != nullptr; });
  for (std::uint32_t block = 0; block < 3; ++block) {
    const auto* from = reinterpret_cast<const std::byte*>(big.data()) + block * kBlockBytes;
    first.send(data_tag({0, block}), std::vector<std::byte>(from, from + kBlockBytes));
  }
  run(first, [&] { return receiver_->progress().bytes == 3 * kBlockBytes; });
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_EQ(progress_.kept_bytes, 3u * kBlockBytes);
  EXPECT_EQ(progress_.sent_bytes, 37u * kBlockBytes);
  EXPECT_TRUE(read_file(in("f")) == big);
}

// The source has changed, with its time set back: what was kept is of no use, nor what was sent to go with it. Only what
// is stored in the end is said to have come.
TEST_F(SessionTest, WhatWasKeptInVainDoesNotCount) {
  const std::string before = random_text(5 * std::size_t{kBlockBytes}, 1);
  const std::string after = random_text(before.size(), 2);
  write_file(out("f"), before);
  const auto time = fs::last_write_time(out("f"));
  Puppet first(address());
  first.say(Hello{});
  first.say(scan({out("f").string()}, {"h", "", true}).value().entries[0].entry);
  run(first, [&] { return first.last<Need>() != nullptr; });
  for (std::uint32_t block = 0; block < 3; ++block) {
    const auto* from = reinterpret_cast<const std::byte*>(before.data()) + block * kBlockBytes;
    first.send(data_tag({0, block}), std::vector<std::byte>(from, from + kBlockBytes));
  }
  run(first, [&] { return receiver_->progress().bytes == 3 * kBlockBytes; });
  first.abort();
  run(first, [&] { return ended_.size() == 1; });
  EXPECT_EQ(ended_[0].bytes, 3u * kBlockBytes) << "not finished, and kept for another time";
  write_file(out("f"), after);
  fs::last_write_time(out("f"), time);
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_TRUE(read_file(in("f")) == after);
  EXPECT_EQ(progress_.sent_bytes, 7u * kBlockBytes);
  EXPECT_EQ(progress_.again_bytes, 2u * kBlockBytes);
  EXPECT_EQ(progress_.kept_bytes, 0u);
  EXPECT_EQ(progress_.bytes, after.size());
  wait_for_end(2);
  EXPECT_EQ(ended_[1].bytes, after.size());
  EXPECT_EQ(ended_[1].again_bytes, 2u * kBlockBytes);
  EXPECT_EQ(ended_[1].resumed_bytes, 0u);
}

constexpr const char* kTakenOver =
    "a transfer that began later copies this file. run the same command again after it; --force "
    "replaces what differs";

// Only the file goes to the newer transfer, and the older one is told which. Its others arrive.
TEST_F(SessionTest, AFileThatTwoTransfersHaveGoesToTheNewerOne) {
  const auto entry = [](std::uint32_t number, const std::string& name) {
    return Entry{number, EntryKind::file, 0644, 0, 5, name, {}};
  };
  const auto block = [](const char* five) {
    const auto* from = reinterpret_cast<const std::byte*>(five);
    return std::vector<std::byte>(from, from + 5);
  };
  const auto end = [&](std::uint32_t number, const char* five) {
    return FileEnd{number, file_digest(5, std::vector<Digest>{block_digest(block(five))})};
  };
  Puppet older(address());
  older.say(Hello{});
  older.say(entry(0, "log"));
  older.say(entry(1, "own"));
  const auto needs = [](const Puppet& one) {
    return std::count_if(one.heard.begin(), one.heard.end(),
                         [](const Control& m) { return std::holds_alternative<Need>(m); });
  };
  run(older, [&] { return needs(older) == 2; });
  Puppet newer(address());
  newer.say(Hello{});
  newer.say(entry(0, "log"));
  run(newer, [&] { return needs(newer) == 1; });
  run(older, [&] { return older.last<Enough>() != nullptr; });
  EXPECT_EQ(older.last<Enough>()->number, 0u);
  // What was on its way is no breach of the rules.
  older.send(data_tag({0, 0}), block("older"));
  older.say(end(0, "older"));
  run(older, [&] { return older.last<Done>() != nullptr; });
  EXPECT_EQ(*older.last<Done>(), (Done{0, Outcome::refused, kTakenOver}));
  // Nor does the older one get it back.
  older.say(entry(2, "log"));
  run(older, [&] { return older.last<Done>()->number == 2; });
  EXPECT_EQ(*older.last<Done>(), (Done{2, Outcome::refused, kTakenOver}));
  older.send(data_tag({1, 0}), block("alone"));
  older.say(end(1, "alone"));
  run(older, [&] { return older.last<Done>()->number == 1; });
  EXPECT_EQ(*older.last<Done>(), (Done{1, Outcome::stored, {}}));
  older.say(Finish{});
  run(older, [&] { return older.last<Finished>() != nullptr; });
  newer.send(data_tag({0, 0}), block("newer"));
  newer.say(end(0, "newer"));
  run(newer, [&] { return newer.last<Done>() != nullptr; });
  EXPECT_EQ(*newer.last<Done>(), (Done{0, Outcome::stored, {}}));
  EXPECT_EQ(read_file(in("log")), "newer");
  EXPECT_EQ(read_file(in("own")), "alone");
  EXPECT_EQ(notes_, (std::vector<std::string>(2, std::string("log: ") + kTakenOver)));
}

// One that waits for its turn is given up without having been begun.
TEST_F(SessionTest, AFileThatWaitsGoesToTheNewerOneToo) {
  Receiver::Limits limits = patient();
  limits.most_files = 2;
  open_receiver(limits);
  Puppet older(address());
  older.say(Hello{});
  older.say(Entry{0, EntryKind::file, 0644, 0, 5, "a", {}});
  older.say(Entry{1, EntryKind::file, 0644, 0, 5, "b", {}});
  run(older, [&] { return older.last<Need>() != nullptr && worker_.pending() == 0; });
  EXPECT_EQ(older.last<Need>()->number, 0u);
  write_file(out("b"), "newer");
  EXPECT_EQ(copy({out("b").string()}, ""), "");
  run(older, [&] { return older.last<Done>() != nullptr; });
  EXPECT_EQ(*older.last<Done>(), (Done{1, Outcome::refused, kTakenOver}));
  EXPECT_EQ(read_file(in("b")), "newer");
}

/// Holes of several blocks, within a block, and at the end; and zeros that are written.
void write_sparse(const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&](std::uint64_t at, const std::string& text) {
    file.seekp(static_cast<std::streamoff>(at));
    file << text;
  };
  put(0, random_text(5'000, 1));
  put(20 * std::uint64_t{kBlockBytes} + 64 * 1024, random_text(10'000, 2));
  put(21 * std::uint64_t{kBlockBytes}, random_text(kBlockBytes, 3));
  std::string zeros(9'001, '\0');
  zeros.back() = 'x';
  put(40 * std::uint64_t{kBlockBytes} + 5, zeros);
  file.close();
  fs::resize_file(path, 50 * std::uint64_t{kBlockBytes} + 17);
}

// Holes are not sent and take no room there; the checksum covers them all the same.
TEST_F(SessionTest, SparseFilesStaySparse) {
  using testing::blocks_of;
  write_sparse(out("f"));
  ASSERT_LT(blocks_of(out("f")) * 512, 2 * std::int64_t{kBlockBytes}) << "no holes on this disk";
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  wait_for_end(1);
  EXPECT_TRUE(read_file(in("f")) == read_file(out("f")));
  EXPECT_LE(blocks_of(in("f")), blocks_of(out("f")));
  EXPECT_EQ(ended_[0].bytes, 4u * kBlockBytes) << "blocks 0, 20, 21 and 40";
  EXPECT_EQ(progress_.sent_bytes, 4u * kBlockBytes);
  EXPECT_EQ(progress_.bytes, 50u * kBlockBytes + 17);
  EXPECT_EQ(progress_.hole_bytes, 46u * kBlockBytes + 17);
  EXPECT_EQ(ended_[0].hole_bytes, 46u * kBlockBytes + 17);
  // Compared with what is there.
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_EQ(progress_.there, 1u);
  // In the place of something else.
  write_file(in("f"), std::string(50 * std::size_t{kBlockBytes} + 17, 'x'));
  Sender::Options options;
  options.force = true;
  EXPECT_EQ(copy({out("f").string()}, "", options), "");
  EXPECT_TRUE(read_file(in("f")) == read_file(out("f")));
  EXPECT_LE(blocks_of(in("f")), blocks_of(out("f")));
}

TEST_F(SessionTest, AFileOfNothingButAHoleArrives) {
  write_file(out("f"), "");
  fs::resize_file(out("f"), std::uint64_t{5} << 30);
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_EQ(progress_.sent_bytes, 0u);
  EXPECT_EQ(fs::file_size(in("f")), std::uint64_t{5} << 30);
  EXPECT_EQ(testing::blocks_of(in("f")), 0);
}

TEST_F(SessionTest, HolesThatWereNotAskedForAreRefused) {
  for (const BlockRange blocks : {BlockRange{2, 1}, {0, 3}, {4'000'000'000, 4'000'000'000}}) {
    Puppet puppet(address());
    puppet.say(Hello{});
    puppet.say(Entry{0, EntryKind::file, 0644, 0, kBlockBytes + 5, "f", {}, 1});
    run(puppet, [&] { return puppet.last<Need>() != nullptr; });
    puppet.say(Hole{0, blocks});
    run(puppet, [&] { return puppet.gone; });
    ASSERT_NE(puppet.last<Refusal>(), nullptr);
    EXPECT_EQ(puppet.last<Refusal>()->text, "a hole that was not asked for");
  }
  // And one twice.
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, kBlockBytes + 5, "g", {}, 1});
  run(puppet, [&] { return puppet.last<Need>() != nullptr; });
  for (int i = 0; i < 2; ++i) puppet.say(Hole{0, {0, 1}});
  run(puppet, [&] { return puppet.gone; });
  ASSERT_NE(puppet.last<Refusal>(), nullptr);
}

// What an earlier attempt has left where a hole is to be does not stay.
TEST_F(SessionTest, AHoleReplacesWhatWasLeftThere) {
  fs::create_directories(in(".strack"));
  write_file(in(".strack/" + path_id("f") + ".part"), random_text(3 * kBlockBytes, 1));
  write_file(out("f"), "");
  fs::resize_file(out("f"), 3 * std::uint64_t{kBlockBytes});
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_TRUE(read_file(in("f")) == std::string(3 * kBlockBytes, '\0'));
  EXPECT_EQ(testing::blocks_of(in("f")), 0);
}

// It has gone between the scan and its turn: the others are copied.
TEST_F(SessionTest, AFileThatVanishesIsSkipped) {
  write_file(out("a"), "a");
  write_file(out("b"), "b");
  std::vector<std::string> told;
  Sender::Options options;
  options.noted = [&](const std::string& text) { told.push_back(text); };
  EXPECT_EQ(copy({out("a").string(), out("b").string()}, "", options,
                 [&](const Sender&) {
                   fs::remove(out("a"));
                   return false;
                 }),
            "");
  EXPECT_EQ(told, (std::vector<std::string>{out("a").string() + ": has vanished"}));
  EXPECT_EQ(progress_.skipped, 1u) << "nobody has refused it";
  EXPECT_EQ(progress_.refused, 0u);
  wait_for_end(1);
  EXPECT_EQ(ended_[0].skipped, 1u);
  EXPECT_EQ(ended_[0].refused, 0u);
  EXPECT_FALSE(fs::exists(in("a")));
  EXPECT_EQ(read_file(in("b")), "b");
}

// Those of /proc say that they are empty. An empty copy would be lost data that nobody notices.
TEST_F(SessionTest, AFileThatHasMoreThanItsSizeIsNotStored) {
  std::vector<std::string> told;
  Sender::Options options;
  options.noted = [&](const std::string& text) { told.push_back(text); };
  EXPECT_EQ(copy({"/proc/self/stat"}, "", options), "");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(
      told[0],
      "/proc/self/stat: has more in it than the 0 bytes that it says, as files in /proc have. "
      "copy what is in it to a file and send that");
  EXPECT_EQ(progress_.files, 0u);
  EXPECT_FALSE(fs::exists(in("stat")));
}

TEST_F(SessionTest, AFileThatChangesIsNotStored) {
  write_file(out("f"), random_text(20 * std::size_t{kBlockBytes}, 1));
  bool changed = false;
  std::vector<std::string> told;
  Sender::Options options;
  options.noted = [&](const std::string& text) { told.push_back(text); };
  EXPECT_EQ(copy({out("f").string()}, "", options,
                 [&](const Sender& sender) {
                   if (!changed && sender.progress().bytes > 0) {
                     fs::resize_file(out("f"), 17 * std::size_t{kBlockBytes} + 5);
                     changed = true;
                   }
                   return false;
                 }),
            "");
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(progress_.skipped, 1u);
  EXPECT_FALSE(fs::exists(in("f")));
}

// Whoever sets its time back does not hide that a file was written to meanwhile.
TEST_F(SessionTest, AFileThatChangesIsNotStoredThoughItsTimeIsSetBack) {
  write_file(out("f"), random_text(20 * std::size_t{kBlockBytes}, 1));
  const auto time = fs::last_write_time(out("f"));
  bool changed = false;
  std::vector<std::string> told;
  Sender::Options options;
  options.noted = [&](const std::string& text) { told.push_back(text); };
  EXPECT_EQ(copy({out("f").string()}, "", options,
                 [&](const Sender& sender) {
                   if (!changed && sender.progress().bytes > 0) {
                     write_file(out("f"), random_text(20 * std::size_t{kBlockBytes}, 2));
                     fs::last_write_time(out("f"), time);
                     changed = true;
                   }
                   return false;
                 }),
            "");
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(progress_.skipped, 1u);
  EXPECT_FALSE(fs::exists(in("f")));
}

// --- Peers that break the rules: told why, nothing written, others not touched ---

struct Rude {
  const char* name;
  std::vector<Control> messages;
};

TEST_F(SessionTest, RuleBreakersAreToldAndChangeNothing) {
  const Entry file{0, EntryKind::file, 0644, 0, 5, "f", {}};
  Entry twice = file;
  twice.number = 1;
  const std::vector<Rude> all{
      {"no hello", {file}},
      {"two hellos", {Hello{}, Hello{}}},
      {"wrong version", {Hello{9, false, false, 0, 0}}},
      {"receiver's message", {Hello{}, Welcome{1, 1}}},
      {"same file twice", {Hello{}, file, twice}},
      {"end of nothing", {Hello{}, FileEnd{}}},
      {"skip of nothing", {Hello{}, Skip{}}},
      {"finish too early", {Hello{}, file, Finish{}}},
  };
  for (const Rude& rude : all) {
    Puppet puppet(address());
    for (const Control& message : rude.messages) puppet.say(message);
    run(puppet, [&] { return puppet.gone; });
    EXPECT_NE(puppet.last<Refusal>(), nullptr) << rude.name;
    EXPECT_FALSE(fs::exists(in("f"))) << rude.name;
  }
}

TEST_F(SessionTest, BytesThatMeanNothingAreRefused) {
  // A path that leaves the folder, made by hand: no encoder would.
  std::vector<std::byte> entry = encode(Entry{0, EntryKind::file, 0644, 0, 5, "xx/f", {}});
  for (const char* path : {"../f", "/tmp", "a/..", "a\0bc"}) {
    std::vector<std::byte> tricked = entry;
    for (std::size_t i = 0; i < 4; ++i)
      tricked[tricked.size() - 6 + i] = static_cast<std::byte>(path[i]);
    Puppet puppet(address());
    puppet.say(Hello{});
    puppet.send(kControlTag, tricked);
    run(puppet, [&] { return puppet.gone; });
    ASSERT_NE(puppet.last<Refusal>(), nullptr) << path;
    EXPECT_NE(puppet.last<Refusal>()->text.find("name"), std::string::npos);
  }
  Puppet puppet(address());
  puppet.send(kControlTag, std::vector<std::byte>(1000, std::byte{0xee}));
  run(puppet, [&] { return puppet.gone; });
  EXPECT_NE(puppet.last<Refusal>(), nullptr);
  EXPECT_EQ(things_in(), 0u);
}

TEST_F(SessionTest, BlocksThatWereNotAskedForAreRefused) {
  const Entry file{0, EntryKind::file, 0644, 0, kBlockBytes + 5, "f", {}};
  const std::vector<std::pair<BlockName, std::size_t>> blocks{
      {{0, 2}, 5}, {{0, 1}, 4}, {{0, 0}, 5}, {{1, 0}, 5}, {{0, 4'000'000'000}, 5}};
  for (const auto& [name, size] : blocks) {
    Puppet puppet(address());
    puppet.say(Hello{});
    puppet.say(file);
    run(puppet, [&] { return puppet.last<Need>() != nullptr; });
    puppet.send(data_tag(name), std::vector<std::byte>(size));
    run(puppet, [&] { return puppet.gone; });
    EXPECT_NE(puppet.last<Refusal>(), nullptr) << name.block;
  }
  EXPECT_FALSE(fs::exists(in("f")));
}

TEST_F(SessionTest, AMessageLongerThanABlockIsRefused) {
  Puppet puppet(address());
  puppet.say(Hello{});
  run(puppet, [&] { return puppet.last<Welcome>() != nullptr; });
  puppet.send(data_tag({0, 0}), std::vector<std::byte>(kBlockBytes + 1));
  run(puppet, [&] { return puppet.gone; });
  EXPECT_NE(puppet.last<Refusal>(), nullptr);
}

// A link made by the sender itself does not lead its next file out of the folder.
TEST_F(SessionTest, ALinkIsNotAWayOut) {
  fs::create_directories(folder_ / "out");
  fs::create_directory_symlink(folder_ / "out", in("way"));
  Puppet puppet(address());
  puppet.say(Hello{kVersion, true, false, 0, 0});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, 0, "way/f", {}});
  puppet.say(Entry{1, EntryKind::folder, 0755, 0, 0, "way/d", {}});
  run(puppet, [&] { return puppet.last<Done>() != nullptr && puppet.last<Done>()->number == 1; });
  for (const Control& message : puppet.heard) {
    if (const Done* done = std::get_if<Done>(&message)) {
      EXPECT_EQ(done->outcome, Outcome::refused) << done->number;
    }
  }
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST_F(SessionTest, WhoSaysNothingIsSentAway) {
  Receiver::Limits limits = patient();
  limits.patience = std::chrono::seconds(1);
  open_receiver(limits);
  Puppet puppet(address());
  run(puppet, [&] { return puppet.gone; });
  EXPECT_TRUE(puppet.heard.empty()) << "it would have as long again to leave";
  EXPECT_TRUE(ended_.empty()) << "there was no transfer";
}

TEST_F(SessionTest, WhoSaysHelloAndNoMoreIsSentAway) {
  Receiver::Limits limits = patient();
  limits.patience = std::chrono::seconds(1);
  open_receiver(limits);
  Puppet puppet(address());
  puppet.say(Hello{});
  run(puppet, [&] { return puppet.gone; });
  // It may be this side that has not heard.
  EXPECT_NE(puppet.last<Busy>(), nullptr);
  EXPECT_EQ(puppet.last<Refusal>(), nullptr);
  wait_for_end(1);
  EXPECT_EQ(ended_[0].problem, "a hello came, and nothing after it");
}

TEST_F(SessionTest, WhoWasNotHeardAfterTheHelloMayComeAgain) {
  Receiver::Limits limits = patient();
  limits.patience = std::chrono::seconds(1);
  open_receiver(limits);
  write_file(out("f"), "content");
  const auto held_up = [this](const Sender& /*sender*/) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1'500);
    while (ended_.empty() && receiver_->active() > 0 && std::chrono::steady_clock::now() < until)
      turn();
    return false;
  };
  EXPECT_EQ(copy({out("f").string()}, "", {}, held_up),
            "the receiver has too much to do: it did not hear what came after the hello");
  EXPECT_EQ(lost_, udp::Status::busy) << "which cp takes for a reason to come again";
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_EQ(read_file(in("f")), "content");
}

TEST_F(SessionTest, WhoFallsSilentInATransferIsSentAway) {
  Receiver::Limits limits = patient();
  limits.silence = std::chrono::seconds(1);
  limits.patience = std::chrono::seconds(2);
  open_receiver(limits);
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, 5, "f", {}});
  run(puppet, [&] { return puppet.gone; });
  ASSERT_NE(puppet.last<Refusal>(), nullptr);
  EXPECT_EQ(puppet.last<Refusal>()->text, "nothing came for 1 s");
}

// Long before the transfer is given up.
TEST_F(SessionTest, APersonIsToldOfSilence) {
  Receiver::Limits limits = patient();
  limits.patience = std::chrono::seconds(2);  // it is looked eight times in this
  limits.hush = std::chrono::milliseconds(200);
  open_receiver(limits);
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, 5, "f", {}});
  const auto noted = [&](const char* text) {
    return std::find(notes_.begin(), notes_.end(), text) != notes_.end();
  };
  run(puppet, [&] { return noted("nothing has come for 0.2 s"); });
  puppet.say(StillHere{});
  run(puppet, [&] { return noted("it is heard again"); });
  EXPECT_EQ(puppet.last<Refusal>(), nullptr);
}

// On a full disk, only folders that were begun are ended.
TEST_F(SessionTest, EntriesMayBeLeftOutAndNotGoBack) {
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::folder, 0755, 0, 0, "d", {}});
  run(puppet, [&] { return puppet.last<Done>() != nullptr; });
  EXPECT_EQ(testing::mode_of(in("d")), 0700u) << "while it is filled";
  puppet.say(Entry{7, EntryKind::folder_end, 0755, 0, 0, "d", {}});
  run(puppet, [&] { return puppet.last<Done>()->number == 7; });
  EXPECT_EQ(puppet.last<Done>()->outcome, Outcome::stored);
  EXPECT_EQ(testing::mode_of(in("d")), 0755u);
  puppet.say(Entry{7, EntryKind::folder, 0755, 0, 0, "e", {}});
  run(puppet, [&] { return puppet.gone; });
  ASSERT_NE(puppet.last<Refusal>(), nullptr);
  EXPECT_EQ(puppet.last<Refusal>()->text, "entries are out of order");
}

// It reads a long file that the receiver has, or its disk hangs.
TEST_F(SessionTest, WhoSaysThatItIsStillThereMayStay) {
  Receiver::Limits limits = patient();
  limits.silence = std::chrono::seconds(1);
  limits.patience = std::chrono::seconds(2);
  open_receiver(limits);
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, 5, "f", {}});
  const auto begin = std::chrono::steady_clock::now();
  auto said = begin;
  run(puppet, [&] {
    const auto now = std::chrono::steady_clock::now();
    if (now - said > std::chrono::milliseconds(100)) {
      puppet.say(StillHere{});
      said = now;
    }
    return puppet.gone || now - begin > std::chrono::seconds(3);
  });
  EXPECT_EQ(puppet.last<Refusal>(), nullptr);
  EXPECT_EQ(receiver_->active(), 1u);
}

// After the end there is nothing to stay for.
TEST_F(SessionTest, WhoDoesNotLeaveIsCutOff) {
  Receiver::Limits limits = patient();
  limits.patience = std::chrono::seconds(1);
  open_receiver(limits);
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Finish{});
  run(puppet, [&] { return puppet.last<Finished>() != nullptr; });
  run(puppet, [&] { return puppet.gone; });
  wait_for_end(1);
  EXPECT_TRUE(ended_[0].finished);
}

// --- What peers can cost ---

// Nothing comes of its transfers: the others come in all the same.
TEST_F(SessionTest, OneSourceDoesNotKeepOthersOut) {
  Receiver::Limits limits = patient();
  limits.most_transfers = 4;
  limits.idle = std::chrono::milliseconds(0);
  open_receiver(limits);
  std::vector<std::unique_ptr<Puppet>> idle;
  for (std::uint32_t i = 0; i < limits.most_transfers; ++i) {
    idle.push_back(std::make_unique<Puppet>(address(), "127.0.0.2:0"));
    Puppet& one = *idle.back();
    one.say(Hello{});
    one.say(Entry{0, EntryKind::file, 0644, 0, 5, "idle" + std::to_string(i), {}});
    run(one, [&] { return one.last<Need>() != nullptr; });
  }
  write_file(out("f"), "content");
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_EQ(read_file(in("f")), "content");
  wait_for_end(2);
  EXPECT_EQ(ended_[0].problem, "it had to make room for others");
  EXPECT_EQ(ended_[0].peer.substr(0, 10), "127.0.0.2:");
}

// Who is at work is not sent away within its source's share; the newcomer is told that it may come again.
TEST_F(SessionTest, NobodyMakesRoomWhoIsAtWork) {
  Receiver::Limits limits = patient();
  limits.most_transfers = 2;
  limits.idle = std::chrono::minutes(2);
  open_receiver(limits);
  std::vector<std::unique_ptr<Puppet>> at_work;
  for (std::uint32_t i = 0; i < limits.most_transfers; ++i) {
    at_work.push_back(
        std::make_unique<Puppet>(address(), "127.0.0." + std::to_string(2 + i) + ":0"));
    Puppet& one = *at_work.back();
    one.say(Hello{});
    one.say(Entry{0, EntryKind::file, 0644, 0, 5, "f" + std::to_string(i), {}});
    run(one, [&] { return one.last<Need>() != nullptr; });
  }
  write_file(out("f"), "content");
  EXPECT_EQ(copy({out("f").string()}, ""), "the receiver has as many transfers as it takes");
  EXPECT_EQ(lost_, udp::Status::busy) << "which cp takes for a reason to come again";
  EXPECT_TRUE(Reconnect::worthwhile(lost_));
  EXPECT_TRUE(ended_.empty());
  at_work[0]->abort();
  run(*at_work[0], [&] { return receiver_->active() == 1; });
  EXPECT_EQ(copy({out("f").string()}, ""), "");
  EXPECT_EQ(read_file(in("f")), "content");
  EXPECT_FALSE(at_work[1]->gone);
}

TEST_F(SessionTest, RefusedFoldersCostNothing) {
  Receiver::Limits limits = patient();
  limits.most_refused = 300;
  limits.most_notes = 2;
  open_receiver(limits);
  write_file(in("f"), "not a folder");
  Puppet puppet(address());
  puppet.say(Hello{});
  std::uint32_t number = 0;
  run(puppet, [&] {
    const Done* done = puppet.last<Done>();
    if (number == 0 || (done != nullptr && done->number + 1 == number)) {
      if (done != nullptr) {
        EXPECT_EQ(done->outcome, Outcome::refused);
      }
      EXPECT_EQ(receiver_->open_folders(), 0u);
      puppet.say(Entry{number,
                       EntryKind::folder,
                       0755,
                       0,
                       0,
                       "f/" + std::to_string(number) + std::string(200, 'x'),
                       {}});
      ++number;
    }
    return puppet.gone;
  });
  EXPECT_EQ(number, 300u);
  ASSERT_NE(puppet.last<Refusal>(), nullptr);
  EXPECT_EQ(puppet.last<Refusal>()->text, "300 entries were refused, and no more are looked at");
  EXPECT_EQ(notes_.size(), 3u);
  EXPECT_EQ(notes_.back(), "there is more to say, which is not shown here");
}

TEST_F(SessionTest, FoldersThatAreNotEndedAreBounded) {
  Receiver::Limits limits = patient();
  limits.most_folders = 3;
  open_receiver(limits);
  Puppet puppet(address());
  puppet.say(Hello{});
  for (std::uint32_t i = 0; i < 4; ++i)
    puppet.say(Entry{i, EntryKind::folder, 0755, 0, 0, "d" + std::to_string(i), {}});
  run(puppet, [&] { return puppet.gone; });
  ASSERT_NE(puppet.last<Refusal>(), nullptr);
  EXPECT_EQ(puppet.last<Refusal>()->text, "more than the 3 folders that a transfer may have");
  puppet.abort();
  run(puppet, [&] { return receiver_->open_folders() == 0; });
}

// The digests of a file's blocks are memory: too large a file is refused, and others wait for their turn.
TEST_F(SessionTest, BlocksOfOpenFilesAreBounded) {
  Receiver::Limits limits = patient();
  limits.most_blocks = 4;
  open_receiver(limits);
  fs::create_directories(out("t"));
  const std::string text = random_text(2 * kBlockBytes, 1);
  for (int i = 0; i < 5; ++i) write_file(out("t/" + std::to_string(i)), text);
  write_file(out("t/large"), random_text(4 * kBlockBytes + 1, 1));
  std::vector<std::string> told;
  Sender::Options options;
  options.noted = [&](const std::string& one) { told.push_back(one); };
  EXPECT_EQ(copy({out("t").string()}, "", options), "");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("/large: is larger than the 4 MiB that the receiver takes"),
            std::string::npos)
      << told[0];
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(read_file(in("t/" + std::to_string(i))) == text);
}

// Each would be a record in the journal.
TEST_F(SessionTest, ABlockThatComesTwiceIsRefused) {
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, kBlockBytes + 5, "f", {}});
  run(puppet, [&] { return puppet.last<Need>() != nullptr; });
  for (int i = 0; i < 2; ++i) puppet.send(data_tag({0, 1}), std::vector<std::byte>(5));
  run(puppet, [&] { return puppet.gone; });
  ASSERT_NE(puppet.last<Refusal>(), nullptr);
  EXPECT_EQ(puppet.last<Refusal>()->text, "f: a block came that was not asked for");
}

// An end without its blocks leaves no part behind that could not be resumed.
TEST_F(SessionTest, AnEndWithoutBlocksLeavesNothing) {
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, 3, "f", {}});
  run(puppet, [&] { return puppet.last<Need>() != nullptr; });
  puppet.say(FileEnd{0, Digest{}});
  run(puppet, [&] { return puppet.last<Done>() != nullptr; });
  EXPECT_EQ(puppet.last<Done>()->outcome, Outcome::refused);
  EXPECT_EQ(things_in(), 1u) << "the empty folder of parts";
}

TEST_F(SessionTest, AWrongChecksumIsAskedForAgainAndThenRefused) {
  Puppet puppet(address());
  puppet.say(Hello{});
  puppet.say(Entry{0, EntryKind::file, 0644, 0, 3, "f", {}});
  for (std::size_t attempt = 1; attempt <= 2; ++attempt) {
    const auto needs = [&] {
      return std::count_if(puppet.heard.begin(), puppet.heard.end(), [](const Control& message) {
        return std::holds_alternative<Need>(message);
      });
    };
    run(puppet, [&] { return static_cast<std::size_t>(needs()) == attempt; });
    puppet.send(data_tag({0, 0}), std::vector<std::byte>(3));
    puppet.say(FileEnd{0, Digest{}});
  }
  run(puppet, [&] { return puppet.last<Done>() != nullptr; });
  EXPECT_EQ(puppet.last<Done>()->outcome, Outcome::refused);
  EXPECT_FALSE(fs::exists(in("f")));
  puppet.abort();
  run(puppet, [&] { return ended_.size() == 1; });
  EXPECT_EQ(ended_[0].bytes, 0u) << "nothing of it is there";
}

}  // namespace
}  // namespace strack::transfer
