#include "transfer/tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "transfer/nobody_testing.h"
#include "transfer/testing.h"

namespace strack::transfer {
namespace {

using testing::TemporaryFolder;
using testing::write_file;

namespace fs = std::filesystem;

Destination below(const std::string& path, bool folder) { return {"host", path, folder}; }

std::vector<std::string> paths(const Tree& tree) {
  std::vector<std::string> found;
  for (const SourceEntry& source : tree.entries)
    found.push_back(source.entry.path + (source.entry.kind == EntryKind::folder       ? "/"
                                         : source.entry.kind == EntryKind::folder_end ? "/."
                                         : source.entry.kind == EntryKind::link       ? "@"
                                                                                      : ""));
  return found;
}

class TreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "t/b");
    write_file(folder_ / "t/a", "12345");
    write_file(folder_ / "t/b/c", "");
    fs::create_symlink("../a", folder_ / "t/b/l");
  }
  TemporaryFolder folder_;
};

TEST_F(TreeTest, FoldersComeBeforeAndEndAfterWhatIsInThem) {
  const auto tree = scan({(folder_ / "t/").string()}, below("", true));
  ASSERT_TRUE(tree.ok()) << tree.error();
  EXPECT_EQ(paths(tree.value()),
            (std::vector<std::string>{"t/", "t/a", "t/b/", "t/b/c", "t/b/l@", "t/b/.", "t/."}));
  EXPECT_EQ(tree.value().folder_ends, 2u);
  EXPECT_EQ(tree.value().files, 2u);
  EXPECT_EQ(tree.value().bytes, 5u);
  for (std::size_t i = 0; i < tree.value().entries.size(); ++i)
    EXPECT_EQ(tree.value().entries[i].entry.number, i);
}

TEST_F(TreeTest, NamesAtTheReceiver) {
  const std::string file = (folder_ / "t/a").string();
  EXPECT_EQ(paths(scan({file}, below("", true)).value()), (std::vector<std::string>{"a"}));
  EXPECT_EQ(paths(scan({file}, below("x/y", true)).value()), (std::vector<std::string>{"x/y/a"}));
  EXPECT_EQ(paths(scan({file}, below("x/y", false)).value()), (std::vector<std::string>{"x/y"}));
  EXPECT_FALSE(scan({file, file}, below("x", false)).ok());
  EXPECT_FALSE(scan({"/"}, below("", true)).ok());
  EXPECT_FALSE(scan({".."}, below("", true)).ok());
}

// What is below a folder is meant as it is; a link on the command line may be meant as what it leads to.
TEST_F(TreeTest, LinksThatAreSourcesAreTold) {
  const std::string link = (folder_ / "t/b/l").string();
  const auto tree = scan({link}, below("x", true));
  ASSERT_TRUE(tree.ok()) << tree.error();
  EXPECT_EQ(paths(tree.value()), (std::vector<std::string>{"x/l@"}));
  EXPECT_EQ(tree.value().named_links, (std::vector<std::string>{link + ": a link to '../a'"}));
  EXPECT_TRUE(scan({(folder_ / "t").string()}, below("", true)).value().named_links.empty());
}

TEST_F(TreeTest, ASourceThatIsMissingIsAMistake) {
  EXPECT_FALSE(scan({(folder_ / "missing").string()}, below("", true)).ok());
}

// The rest is copied, and it is said what is not, in characters that do a terminal no harm.
TEST_F(TreeTest, WhatCannotBeCopiedIsSkipped) {
  const std::string t = (folder_ / "t").string();
  write_file(folder_ / "t/line\nbreak", "x");
  fs::create_directories(folder_ / "t/\x1b[2J/within");
  ASSERT_EQ(::mkfifo((folder_ / "t/pipe").c_str(), 0600), 0);
  fs::create_symlink("/etc/passwd", folder_ / "t/out");
  const auto tree = scan({t}, below("", true));
  ASSERT_TRUE(tree.ok()) << tree.error();
  EXPECT_EQ(tree.value().skipped,
            (std::vector<std::string>{t + "/\\x1b[2J: its name has control characters",
                                      t + "/line\\x0abreak: its name has control characters",
                                      t + "/out: a link to '/etc/passwd', which is not relative",
                                      t + "/pipe: neither a file, a folder nor a link"}));
  EXPECT_EQ(paths(tree.value()),
            (std::vector<std::string>{"t/", "t/a", "t/b/", "t/b/c", "t/b/l@", "t/b/.", "t/."}));
}

TEST_F(TreeTest, WhatCannotBeReadIsSkipped) {
  const std::string t = (folder_ / "t").string();
  ASSERT_EQ(::chmod((t + "/a").c_str(), 0), 0);
  ASSERT_EQ(::chmod((t + "/b").c_str(), 0), 0);
  const testing::AsNobody nobody(folder_.str());
  const auto tree = scan({t}, below("", true));
  ASSERT_EQ(::chmod((t + "/b").c_str(), 0700), 0);
  ASSERT_TRUE(tree.ok()) << tree.error();
  EXPECT_EQ(tree.value().skipped,
            (std::vector<std::string>{t + "/a: cannot be read: Permission denied",
                                      t + "/b: cannot be read: Permission denied"}));
  EXPECT_EQ(paths(tree.value()), (std::vector<std::string>{"t/", "t/."}));
}

// What is called .strack is left out at any depth, and not what only begins so; told, and no mistake.
TEST(Tree, UnfinishedFilesAreLeftOut) {
  TemporaryFolder folder;
  fs::create_directories(folder / "t/.strack/x");
  fs::create_directories(folder / "t/a");
  write_file(folder / "t/a/.strack", "1");
  write_file(folder / "t/a/.stracks", "2");
  const auto tree = scan({(folder / "t").string()}, below("", true));
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(paths(tree.value()),
            (std::vector<std::string>{"t/", "t/a/", "t/a/.stracks", "t/a/.", "t/."}));
  EXPECT_EQ(tree.value().parts, 2u);
  EXPECT_TRUE(tree.value().skipped.empty());
  const std::string named = (folder / "t/a/.strack").string();
  const auto deep = scan({named}, below("d", true));
  ASSERT_TRUE(deep.ok());
  EXPECT_EQ(deep.value().skipped,
            (std::vector<std::string>{named + ": what is called '.strack' is not copied"}));
}

// By name anywhere, or by the path below the source; never the source itself.
TEST(Tree, WhatIsExcludedIsLeftOut) {
  TemporaryFolder folder;
  fs::create_directories(folder / "t/build/x");
  fs::create_directories(folder / "t/src/build");
  write_file(folder / "t/a.o", "1");
  write_file(folder / "t/src/b.o", "2");
  write_file(folder / "t/src/b.c", "3");
  const auto found = [&](const std::vector<std::string>& exclude) {
    const auto tree = scan({(folder / "t").string()}, below("", true), {.exclude = exclude});
    EXPECT_TRUE(tree.ok());
    return tree.value();
  };
  const Tree by_name = found({"*.o", "x", "t"});
  EXPECT_EQ(paths(by_name),
            (std::vector<std::string>{"t/", "t/build/", "t/src/", "t/src/b.c", "t/src/build/",
                                      "t/src/build/.", "t/src/.", "t/build/.", "t/."}));
  EXPECT_EQ(by_name.excluded, 3u);
  const Tree by_path = found({"src/*"});
  EXPECT_EQ(paths(by_path),
            (std::vector<std::string>{"t/", "t/a.o", "t/build/", "t/build/x/", "t/src/", "t/src/.",
                                      "t/build/x/.", "t/build/.", "t/."}));
  EXPECT_EQ(by_path.excluded, 3u);
  const Tree at_the_top = found({"/build"});
  EXPECT_EQ(paths(at_the_top),
            (std::vector<std::string>{"t/", "t/a.o", "t/src/", "t/src/b.c", "t/src/b.o",
                                      "t/src/build/", "t/src/build/.", "t/src/.", "t/."}));
  EXPECT_EQ(at_the_top.excluded, 1u);
}

// With --delete a pattern that matches nothing costs a folder: what people write is understood, the rest refused.
TEST(Tree, AnExcludePatternIsReadAsPeopleWriteIt) {
  const auto read = [](std::string pattern) {
    const auto fault = read_pattern(pattern);
    return fault ? "error: " + *fault : pattern;
  };
  EXPECT_EQ(read("*.o"), "*.o");
  EXPECT_EQ(read("build/"), "build");
  EXPECT_EQ(read("build//"), "build");
  EXPECT_EQ(read("/build"), "/build");
  EXPECT_EQ(read("./build/"), "/build");
  EXPECT_EQ(read("a/b"), "a/b");
  EXPECT_EQ(read("a/*/"), "a/*");
  EXPECT_EQ(read("**/build"), "build");
  EXPECT_EQ(read("/**/**/build/"), "build");
  EXPECT_EQ(read("**/a/b"), "**/a/b");
  EXPECT_EQ(read("build/**"), "build/**");
  EXPECT_EQ(read("a/**/b"),
            "error: 'a/**/b': '**/' stands for any folders at the beginning only, such as '**/b'");
  EXPECT_EQ(read(".o"), ".o");
  EXPECT_EQ(read("..o"), "..o");
  for (const char* nothing : {"", "/", "./", "//"}) {
    EXPECT_EQ(read(nothing), fmt::format("error: '{}' leaves nothing out. a pattern is a name, "
                                         "such as '*.o', or a path below the "
                                         "source, such as 'a/b'",
                                         nothing));
  }
  EXPECT_EQ(read("../b"),
            "error: '../b' leaves nothing out: no path below a source has '..' in it");
  EXPECT_EQ(read("a/./b"),
            "error: 'a/./b' leaves nothing out: no path below a source has '.' in it");
  EXPECT_EQ(read("a//b"),
            "error: 'a//b' leaves nothing out: no path below a source has '//' in it");
  EXPECT_EQ(read("x/[z-a]"),
            "error: 'x/[z-a]' is no pattern: the range at character 4 of it goes backwards, "
            "and nothing is in it");
  EXPECT_EQ(read("a\\"),
            "error: 'a\\' is no pattern: the backslash at its end has nothing after it to "
            "stand for. '\\\\' is a backslash");
}

// '**/' is at any depth, none included; '?' is one character, however many bytes it has.
TEST(Tree, AnExcludePatternMatchesAnywhereAndByCharacters) {
  const auto out = [](const char* pattern, const char* path) {
    return is_excluded({pattern}, path, 0);
  };
  EXPECT_TRUE(out("**/a/b", "a/b"));
  EXPECT_TRUE(out("**/a/b", "x/a/b"));
  EXPECT_TRUE(out("**/a/b", "x/y/a/b/c"));
  EXPECT_FALSE(out("**/a/b", "xa/b"));
  EXPECT_FALSE(out("**/a/b", "a/x/b"));
  EXPECT_FALSE(out("a/b", "x/a/b"));
  EXPECT_TRUE(out("?.txt", "\u00e4.txt"));
  EXPECT_TRUE(out("[\u00e4\u00f6]x", "\u00f6x"));
  EXPECT_TRUE(out("?.txt", "\xe4.txt")) << "no UTF-8";
}

TEST(Tree, TheSameSourceTwiceIsOne) {
  const TemporaryFolder folder;
  write_file(folder / "a", "a");
  const std::string a = (folder / "a").string();
  const auto once =
      scan({a, folder.str() + "/./a", a}, {.host_and_port = {}, .path = {}, .folder = true});
  ASSERT_TRUE(once.ok()) << once.error();
  EXPECT_EQ(once.value().files, 1u);
  EXPECT_EQ(once.value().entries.size(), 1u);
  EXPECT_EQ(once.value().twice, (std::vector<std::string>{folder.str() + "/./a", a}));
  std::filesystem::create_directory(folder / "d");
  write_file(folder / "d/a", "another");
  const auto two =
      scan({a, (folder / "d/a").string()}, {.host_and_port = {}, .path = {}, .folder = true});
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error(),
            (folder / "d/a").string() + ": two things would be called 'a' at the receiver");
}

}  // namespace
}  // namespace strack::transfer
