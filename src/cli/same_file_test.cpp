#include "cli/same_file.h"

#include <stdlib.h>

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

TEST(SameFile, IsFoundByAnyName) {
  std::string pattern = (fs::temp_directory_path() / "strack-same-file-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  std::ofstream(folder / "a") << "a";
  std::ofstream(folder / "b") << "a";
  fs::create_symlink("a", folder / "link");
  fs::create_hard_link(folder / "a", folder / "hard");
  fs::create_symlink("none", folder / "dangling");
  fs::create_directory_symlink(folder, folder / "again");
  EXPECT_TRUE(is_same_file(folder / "a", folder / "." / "a"));
  EXPECT_TRUE(is_same_file(folder / "a", folder / "link"));
  EXPECT_TRUE(is_same_file(folder / "a", folder / "hard"));
  EXPECT_FALSE(is_same_file(folder / "a", folder / "b"));
  // Also where nothing is there yet.
  EXPECT_TRUE(is_same_file(folder / "none", folder / "dangling"));
  EXPECT_TRUE(is_same_file(folder / "none", folder / "again" / "none"));
  EXPECT_FALSE(is_same_file(folder / "none", folder / "a"));
  EXPECT_EQ(*find_same_file(folder / "a", {"", folder / "b", folder / "link"}), folder / "link");
  EXPECT_EQ(find_same_file(folder / "a", {folder / "b"}), nullptr);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace strack::cli
