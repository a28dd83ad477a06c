#include "transfer/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "transfer/digest.h"
#include "transfer/nobody_testing.h"
#include "transfer/testing.h"

namespace strack::transfer {
namespace {

using testing::mode_of;
using testing::mtime_of;
using testing::random_text;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

namespace fs = std::filesystem;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Store::open(folder_.str());
    ASSERT_TRUE(opened.ok());
    store_ = opened.value();
  }

  static Entry entry(const std::string& path, const std::string& text) {
    return {0, EntryKind::file, 0640, 1'234'567'890'123'456'789, text.size(), path, {}};
  }
  static std::span<const std::byte> block_of(const std::string& text, std::uint32_t block) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes + std::size_t{block} * kBlockBytes, block_length(text.size(), block)};
  }
  static Digest digest_of(const std::string& text) {
    std::vector<Digest> blocks;
    for (std::uint32_t i = 0; i < block_count(text.size()); ++i)
      blocks.push_back(block_digest(block_of(text, i)));
    return file_digest(text.size(), blocks);
  }
  static std::vector<BlockRange> ranges(const IncomingFile::Step& step) {
    if (const Verdict* verdict = std::get_if<Verdict>(&step)) {
      ADD_FAILURE() << verdict->text;
      return {};
    }
    return std::get<0>(step);
  }
  static Verdict verdict(const IncomingFile::Step& step) {
    if (const Verdict* found = std::get_if<Verdict>(&step)) return *found;
    ADD_FAILURE() << "no verdict";
    return {};
  }
  static void write(IncomingFile& file, const std::string& text, std::uint32_t from,
                    std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i)
      EXPECT_FALSE(file.write(i, block_of(text, i)).has_value());
  }
  /// All of a file at once.
  Verdict store(const std::string& path, const std::string& text, bool force = false) {
    IncomingFile file(store_, entry(path, text), force);
    IncomingFile::Step step = file.begin();
    for (int i = 0; i < 3; ++i) {
      if (step.index() == 1) return verdict(step);
      for (const BlockRange& range : ranges(step))
        write(file, text, range.first, range.first + range.count);
      step = file.finish(digest_of(text));
    }
    return verdict(step);
  }
  [[nodiscard]] std::size_t parts() const {
    if (!fs::exists(folder_ / ".strack")) return 0;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_ / ".strack"), fs::directory_iterator()));
  }

  TemporaryFolder folder_;
  std::shared_ptr<Store> store_;
};

TEST_F(StoreTest, AFileGetsItsNameWhenItIsWhole) {
  const std::string text = random_text(2 * kBlockBytes + 5, 1);
  IncomingFile file(store_, entry("a/b/c", text), false);
  EXPECT_EQ(ranges(file.begin()), (std::vector<BlockRange>{{0, 3}}));
  write(file, text, 0, 3);
  EXPECT_FALSE(fs::exists(folder_ / "a/b/c"));
  EXPECT_EQ(verdict(file.finish(digest_of(text))).outcome, Outcome::stored);
  EXPECT_TRUE(read_file(folder_ / "a/b/c") == text);
  EXPECT_EQ(mode_of(folder_ / "a/b/c"), 0640u);
  EXPECT_EQ(mtime_of(folder_ / "a/b/c"), 1'234'567'890'123'456'789);
  EXPECT_EQ(parts(), 0u);
}

TEST_F(StoreTest, AnEmptyFileHasNoBlocks) {
  EXPECT_EQ(store("empty", "").outcome, Outcome::stored);
  EXPECT_TRUE(fs::exists(folder_ / "empty"));
  EXPECT_EQ(fs::file_size(folder_ / "empty"), 0u);
}

TEST_F(StoreTest, AWrongChecksumIsTriedOnceMore) {
  const std::string text = random_text(kBlockBytes + 1, 2);
  IncomingFile file(store_, entry("f", text), false);
  EXPECT_EQ(ranges(file.begin()), (std::vector<BlockRange>{{0, 2}}));
  for (int attempt = 0; attempt < 2; ++attempt) {
    write(file, text, 0, 2);
    const auto step = file.finish(Digest{});
    if (attempt == 0) {
      EXPECT_EQ(ranges(step), (std::vector<BlockRange>{{0, 2}}));
    } else {
      EXPECT_EQ(verdict(step).outcome, Outcome::refused);
    }
  }
  EXPECT_FALSE(fs::exists(folder_ / "f"));
  EXPECT_EQ(parts(), 0u);
}

TEST_F(StoreTest, AnEndBeforeItsBlocksIsRefused) {
  const std::string text = random_text(2 * kBlockBytes, 3);
  IncomingFile file(store_, entry("f", text), false);
  ranges(file.begin());
  write(file, text, 0, 1);
  EXPECT_EQ(verdict(file.finish(digest_of(text))).outcome, Outcome::refused);
  EXPECT_FALSE(fs::exists(folder_ / "f"));
}

TEST_F(StoreTest, GoesOnWhereItWas) {
  const std::string text = random_text(6 * kBlockBytes + 1, 4);
  {
    IncomingFile file(store_, entry("f", text), false);
    ranges(file.begin());
    write(file, text, 0, 2);
    write(file, text, 4, 5);
    file.suspend();
  }
  IncomingFile file(store_, entry("f", text), false);
  EXPECT_EQ(ranges(file.begin()), (std::vector<BlockRange>{{2, 2}, {5, 2}}));
  EXPECT_EQ(file.resumed_bytes(), 3u * kBlockBytes);
  write(file, text, 2, 4);
  write(file, text, 5, 7);
  EXPECT_EQ(verdict(file.finish(digest_of(text))).outcome, Outcome::stored);
  EXPECT_TRUE(read_file(folder_ / "f") == text);
  EXPECT_EQ(parts(), 0u);
}

// A block that was damaged meanwhile is asked for again.
TEST_F(StoreTest, BlocksAreVerifiedBeforeTheyAreUsedAgain) {
  const std::string text = random_text(3 * kBlockBytes, 5);
  {
    IncomingFile file(store_, entry("f", text), false);
    ranges(file.begin());
    write(file, text, 0, 3);
    file.suspend();
  }
  {
    std::fstream part(folder_ / (".strack/" + path_id("f") + ".part"),
                      std::ios::in | std::ios::out | std::ios::binary);
    part.seekp(kBlockBytes + 17);
    part.put(static_cast<char>(~text[kBlockBytes + 17]));
  }
  IncomingFile file(store_, entry("f", text), false);
  EXPECT_EQ(ranges(file.begin()), (std::vector<BlockRange>{{1, 1}}));
}

TEST_F(StoreTest, AChangedSourceStartsAnew) {
  const std::string text = random_text(3 * kBlockBytes, 6);
  {
    IncomingFile file(store_, entry("f", text), false);
    ranges(file.begin());
    write(file, text, 0, 2);
    file.suspend();
  }
  Entry newer = entry("f", text);
  ++newer.mtime_ns;
  IncomingFile file(store_, newer, false);
  EXPECT_EQ(ranges(file.begin()), (std::vector<BlockRange>{{0, 3}}));
}

TEST_F(StoreTest, FreshDoesNotGoOn) {
  const std::string text = random_text(3 * kBlockBytes, 6);
  {
    IncomingFile file(store_, entry("f", text), false);
    ranges(file.begin());
    write(file, text, 0, 2);
    file.suspend();
  }
  IncomingFile file(store_, entry("f", text), false, /*fresh=*/true);
  EXPECT_EQ(ranges(file.begin()), (std::vector<BlockRange>{{0, 3}}));
}

TEST_F(StoreTest, WhatCannotBeResumedIsNotLeftBehind) {
  const std::string small = "small";
  IncomingFile file(store_, entry("f", small), false);
  ranges(file.begin());
  write(file, small, 0, 1);
  file.suspend();
  EXPECT_EQ(parts(), 0u);
}

TEST_F(StoreTest, TheSameFileIsThereAlready) {
  const std::string text = random_text(kBlockBytes + 3, 7);
  write_file(folder_ / "f", text);
  IncomingFile file(store_, entry("f", text), false);
  EXPECT_EQ(ranges(file.begin()), (std::vector<BlockRange>{}));
  EXPECT_EQ(verdict(file.finish(digest_of(text))).outcome, Outcome::there);
  EXPECT_EQ(mode_of(folder_ / "f"), 0640u);
}

TEST_F(StoreTest, ADifferentFileStaysUnlessForced) {
  for (const std::string& other : {std::string("longer than the new one"), std::string("old")}) {
    write_file(folder_ / "f", other);
    EXPECT_EQ(store("f", "new").outcome, Outcome::refused);
    EXPECT_EQ(read_file(folder_ / "f"), other);
    EXPECT_EQ(store("f", "new", /*force=*/true).outcome, Outcome::stored);
    EXPECT_EQ(read_file(folder_ / "f"), "new");
  }
  EXPECT_EQ(parts(), 0u);
}

TEST_F(StoreTest, AFileThatAppearsMeanwhileStays) {
  IncomingFile file(store_, entry("f", "new"), false);
  ranges(file.begin());
  write(file, "new", 0, 1);
  write_file(folder_ / "f", "somebody else's");
  EXPECT_EQ(verdict(file.finish(digest_of("new"))).outcome, Outcome::refused);
  EXPECT_EQ(read_file(folder_ / "f"), "somebody else's");
}

TEST_F(StoreTest, AFolderIsNeverReplacedByAFile) {
  fs::create_directory(folder_ / "f");
  EXPECT_EQ(store("f", "x", true).outcome, Outcome::refused);
  EXPECT_TRUE(fs::is_directory(folder_ / "f"));
}

// The links lead out of the folder, however they came to be there.
TEST_F(StoreTest, LinksAreNeverFollowed) {
  const TemporaryFolder outside;
  write_file(outside / "secret", "s");
  fs::create_directory_symlink(outside.str(), folder_ / "way");
  EXPECT_EQ(store("way/f", "x", true).outcome, Outcome::refused);
  EXPECT_FALSE(fs::exists(outside / "f"));
  EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0755, 0, 0, "way/d", {}}).outcome,
            Outcome::refused);
  EXPECT_EQ(store_->finish_folder({0, EntryKind::folder_end, 0, 0, 0, "way", {}}).outcome,
            Outcome::refused);
  EXPECT_EQ(store_->make_link({0, EntryKind::link, 0, 0, 0, "way/l", "x"}, true).outcome,
            Outcome::refused);
  EXPECT_FALSE(fs::exists(outside / "d"));
  // A link in the place of the file itself is replaced, what it points to is not touched.
  fs::create_symlink(outside / "secret", folder_ / "l");
  EXPECT_EQ(store("l", "x").outcome, Outcome::refused);
  EXPECT_EQ(store("l", "x", true).outcome, Outcome::stored);
  EXPECT_EQ(read_file(outside / "secret"), "s");
  EXPECT_FALSE(fs::is_symlink(folder_ / "l"));
}

TEST_F(StoreTest, ALinkForTheUnfinishedFilesIsNotFollowed) {
  const TemporaryFolder outside;
  fs::create_directory_symlink(outside.str(), folder_ / ".strack");
  EXPECT_NE(store("f", "x").outcome, Outcome::stored);
  EXPECT_TRUE(fs::is_empty(outside.str()));
}

TEST_F(StoreTest, FoldersGetTheirPermissionsAtTheEnd) {
  EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0500, 5, 0, "d", {}}).outcome,
            Outcome::stored);
  EXPECT_EQ(mode_of(folder_ / "d"), 0700u);
  EXPECT_EQ(store("d/f", "x").outcome, Outcome::stored);
  EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0500, 5, 0, "d", {}}).outcome,
            Outcome::there);
  EXPECT_EQ(store_->finish_folder({0, EntryKind::folder_end, 0500, 5, 0, "d", {}}).outcome,
            Outcome::stored);
  EXPECT_EQ(mode_of(folder_ / "d"), 0500u);
  EXPECT_EQ(mtime_of(folder_ / "d"), 5);
  fs::permissions(folder_ / "d", fs::perms::owner_all);
  EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0755, 0, 0, "d/f", {}}).outcome,
            Outcome::refused);
}

TEST_F(StoreTest, AFolderThatWasThereStaysAsItIs) {
  fs::create_directory(folder_ / "d");
  ASSERT_EQ(::chmod((folder_ / "d").c_str(), 0750), 0);
  const auto before = mtime_of(folder_ / "d");
  EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0777, 5, 0, "d", {}}).outcome,
            Outcome::there);
  EXPECT_EQ(store_->finish_folder({1, EntryKind::folder_end, 0777, 5, 0, "d", {}}).outcome,
            Outcome::there);
  EXPECT_EQ(mode_of(folder_ / "d"), 0750u);
  EXPECT_EQ(mtime_of(folder_ / "d"), before);
  EXPECT_EQ(parts(), 0u);
}

// An attempt that was cut off has made it, and the next one gives it what it should have.
TEST_F(StoreTest, AFolderIsFinishedByALaterAttempt) {
  const Entry end{1, EntryKind::folder_end, 0550, 5, 0, "a/d", {}};
  EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0550, 5, 0, "a/d", {}}).outcome,
            Outcome::stored);
  store_ = Store::open(folder_.str()).value();
  EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0550, 5, 0, "a/d", {}}).outcome,
            Outcome::there);
  EXPECT_EQ(store("a/d/f", "x").outcome, Outcome::stored);
  EXPECT_EQ(store_->finish_folder(end).outcome, Outcome::stored);
  EXPECT_EQ(mode_of(folder_ / "a/d"), 0550u);
  EXPECT_EQ(mtime_of(folder_ / "a/d"), 5);
  EXPECT_EQ(parts(), 0u);
  // From now on it is one that was there.
  ASSERT_EQ(::chmod((folder_ / "a/d").c_str(), 0700), 0);
  EXPECT_EQ(store_->finish_folder(end).outcome, Outcome::there);
  EXPECT_EQ(mode_of(folder_ / "a/d"), 0700u);
}

TEST_F(StoreTest, AFolderThatSomebodyHasChangedMeanwhileStaysSo) {
  EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0777, 5, 0, "d", {}}).outcome,
            Outcome::stored);
  ASSERT_EQ(::chmod((folder_ / "d").c_str(), 0710), 0);
  EXPECT_EQ(store_->finish_folder({1, EntryKind::folder_end, 0777, 5, 0, "d", {}}).outcome,
            Outcome::there);
  EXPECT_EQ(mode_of(folder_ / "d"), 0710u);
  EXPECT_EQ(parts(), 0u);
}

// Killed by its first write, which is that of the note: the folder is there by then.
TEST_F(StoreTest, AFolderIsFinishedThoughItsMakerWasKilledAtOnce) {
  const Entry folder{0, EntryKind::folder, 0550, 5, 0, "d", {}};
  const auto make = [&] {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::setrlimit(RLIMIT_FSIZE, &none);
    [[maybe_unused]] const Verdict verdict = store_->make_folder(folder);
  };
  EXPECT_EXIT(make(), ::testing::KilledBySignal(SIGXFSZ), "");
  ASSERT_EQ(mode_of(folder_ / "d"), 0700u);
  EXPECT_EQ(store_->make_folder(folder).outcome, Outcome::there);
  EXPECT_EQ(store_->finish_folder({1, EntryKind::folder_end, 0550, 5, 0, "d", {}}).outcome,
            Outcome::stored);
  EXPECT_EQ(mode_of(folder_ / "d"), 0550u);
  EXPECT_EQ(mtime_of(folder_ / "d"), 5);
  EXPECT_EQ(parts(), 0u);
}

TEST_F(StoreTest, AFolderIsNotedBeforeItIsMade) {
  fs::create_directory(folder_ / ".strack");
  const FileHandle watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  for (const char* name : {".", ".strack"})
    ASSERT_GE(::inotify_add_watch(watch.get(), (folder_ / name).c_str(), IN_CREATE), 0);
  EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0550, 5, 0, "d", {}}).outcome,
            Outcome::stored);
  alignas(inotify_event) std::array<char, 4096> bytes;
  const ssize_t length = ::read(watch.get(), bytes.data(), bytes.size());
  std::vector<std::string> made;
  for (ssize_t at = 0; at < length;) {
    inotify_event event;
    std::memcpy(&event, bytes.data() + at, sizeof event);
    made.emplace_back(bytes.data() + at + sizeof event);
    at += static_cast<ssize_t>(sizeof event + event.len);
  }
  EXPECT_EQ(made, (std::vector<std::string>{path_id("d") + ".folder", "d"}));
}

class FolderNoteTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    EXPECT_EQ(store_->make_folder({0, EntryKind::folder, 0550, 5, 0, "d", {}}).outcome,
              Outcome::stored);
    note_ = read_file(file_);
    ASSERT_GT(note_.size(), 5u);
  }
  Outcome finish() {
    return store_->finish_folder({1, EntryKind::folder_end, 0550, 5, 0, "d", {}}).outcome;
  }

  const fs::path file_ = folder_ / (".strack/" + path_id("d") + ".folder");
  std::string note_;
};

TEST_F(FolderNoteTest, IsTakenWhereItIsTorn) {
  write_file(file_, note_.substr(0, note_.size() / 2));
  EXPECT_EQ(finish(), Outcome::stored);
  EXPECT_EQ(mode_of(folder_ / "d"), 0550u);
}

TEST_F(FolderNoteTest, IsNotTakenForAnotherFolderWhereItIsTorn) {
  write_file(file_, "");
  ASSERT_EQ(::chmod((folder_ / "d").c_str(), 0710), 0);
  EXPECT_EQ(finish(), Outcome::there);
  EXPECT_EQ(mode_of(folder_ / "d"), 0710u);
}

// As if the inode were used again: all is the same but the birth.
TEST_F(FolderNoteTest, TellsAFolderWithTheSameInode) {
  char& last = note_[note_.size() - 2];
  last = last == '1' ? '2' : '1';
  write_file(file_, note_);
  EXPECT_EQ(finish(), Outcome::there);
  EXPECT_EQ(mode_of(folder_ / "d"), 0700u);
}

// Else the folder would count as copied, and stay as it is.
TEST_F(FolderNoteTest, IsAskedForAgainWhereItCannotBeRead) {
  fs::remove(file_);
  fs::create_directory(file_);
  EXPECT_EQ(finish(), Outcome::refused);
  fs::remove(file_);
  write_file(file_, note_);
  EXPECT_EQ(finish(), Outcome::stored);
}

TEST_F(StoreTest, AFolderThatIsReadOnlyIsNamed) {
  fs::create_directories(folder_ / "a/d");
  ASSERT_EQ(::chmod((folder_ / "a/d").c_str(), 0555), 0);
  const testing::AsNobody nobody(folder_.str());
  const std::vector<Verdict> found{
      store("a/d/f", "x"), store_->make_folder({0, EntryKind::folder, 0755, 0, 0, "a/d/g", {}}),
      store_->make_link({0, EntryKind::link, 0777, 0, 0, "a/d/l", "x"}, false)};
  for (const Verdict& one : found) {
    EXPECT_EQ(one.outcome, Outcome::refused);
    EXPECT_NE(one.text.find("'a/d'"), std::string::npos) << one.text;
  }
  EXPECT_EQ(parts(), 0u);
}

TEST_F(StoreTest, AFileOnItsWayHasFewDescriptors) {
  const auto descriptors = [] {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
  };
  const std::size_t before = descriptors();
  const std::string text = random_text(kBlockBytes + 1, 1);
  std::vector<std::unique_ptr<IncomingFile>> files;
  for (int i = 0; i < 10; ++i) {
    files.push_back(
        std::make_unique<IncomingFile>(store_, entry("a/b/" + std::to_string(i), text), false));
    ranges(files.back()->begin());
  }
  EXPECT_EQ(descriptors() - before, 10 * IncomingFile::kMostDescriptors);
  for (const auto& file : files) {
    write(*file, text, 0, 2);
    EXPECT_EQ(verdict(file->finish(digest_of(text))).outcome, Outcome::stored);
  }
  EXPECT_EQ(descriptors(), before);
}

TEST_F(StoreTest, Links) {
  const Entry link{0, EntryKind::link, 0777, 9, 0, "d/l", "../x"};
  EXPECT_EQ(store_->make_link(link, false).outcome, Outcome::stored);
  EXPECT_EQ(fs::read_symlink(folder_ / "d/l"), "../x");
  EXPECT_EQ(mtime_of(folder_ / "d/l"), 9);
  EXPECT_EQ(store_->make_link(link, false).outcome, Outcome::there);
  Entry other = link;
  other.target = "y";
  EXPECT_EQ(store_->make_link(other, false).outcome, Outcome::refused);
  EXPECT_EQ(store_->make_link(other, true).outcome, Outcome::stored);
  EXPECT_EQ(fs::read_symlink(folder_ / "d/l"), "y");
}

TEST_F(StoreTest, TwoProgramsDoNotWriteOneFile) {
  const std::string text = random_text(2 * kBlockBytes, 8);
  IncomingFile first(store_, entry("f", text), false);
  ranges(first.begin());
  IncomingFile second(store_, entry("f", text), false);
  EXPECT_EQ(verdict(second.begin()).outcome, Outcome::refused);
  second.suspend();
  write(first, text, 0, 2);
  EXPECT_EQ(verdict(first.finish(digest_of(text))).outcome, Outcome::stored);
  EXPECT_TRUE(read_file(folder_ / "f") == text);
}

// More than any disk has: said at once, and nothing is left.
TEST_F(StoreTest, NoSpaceIsNoticedBeforeTheFirstByte) {
  Entry huge = entry("f", "x");
  huge.size = kMaxFileBytes;
  IncomingFile file(store_, huge, false);
  const Verdict found = verdict(file.begin());
  EXPECT_NE(found.outcome, Outcome::stored);
  EXPECT_FALSE(found.text.empty());
  EXPECT_EQ(parts(), 0u);
  EXPECT_FALSE(fs::exists(folder_ / "f"));
}

TEST_F(StoreTest, TidyRemovesAnEmptyFolderOnly) {
  const std::string text = random_text(2 * kBlockBytes, 9);
  IncomingFile file(store_, entry("f", text), false);
  ranges(file.begin());
  store_->tidy();
  EXPECT_TRUE(fs::exists(folder_ / ".strack"));
  file.discard();
  store_->tidy();
  EXPECT_FALSE(fs::exists(folder_ / ".strack"));
  EXPECT_TRUE(store_->sync());
}

TEST(Store, SaysWhatIsWrongWithAFolder) {
  const TemporaryFolder folder;
  write_file(folder / "file", "x");
  const auto opened = Store::open((folder / "file").string());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().find("file"), std::string::npos);
  EXPECT_TRUE(Store::open((folder / "new").string()).ok());
}

}  // namespace
}  // namespace strack::transfer
