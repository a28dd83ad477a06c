#include "transfer/store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <string>

#include <gtest/gtest.h>

#include "transfer/digest.h"
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
