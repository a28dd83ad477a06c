#include "transfer/source.h"

#include <errno.h>
#include <fcntl.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "transfer/testing.h"

namespace strack::transfer {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using testing::write_file;

class SourceTest : public ::testing::Test {
 protected:
  SourceTest() {
    fs::create_directories(folder_ / "served/d");
    write_file(folder_ / "secret", "secret");
    write_file(folder_ / "served/d/f", "open");
    fs::create_symlink("../../secret", folder_ / "served/d/l");
    fs::create_directory_symlink("..", folder_ / "served/up");
    fs::create_directory_symlink("d", folder_ / "served/e");
  }
  TemporaryFolder folder_;
};

// Links lead nowhere, not even within the folder; nor do absolute paths or "..". Both ways of opening agree.
TEST_F(SourceTest, NothingOutsideOfTheFolderIsOpened) {
  const auto source = Source::below((folder_ / "served").string());
  ASSERT_TRUE(source.ok());
  const auto error_of = [&](const std::string& path) {
    const FileHandle at_once = source.value()->open(path, O_RDONLY);
    const int error = at_once ? 0 : errno;
    const FileHandle in_steps = source.value()->open_in_steps(path, O_RDONLY);
    EXPECT_EQ(static_cast<bool>(at_once), static_cast<bool>(in_steps)) << path;
    return error;
  };
  EXPECT_EQ(error_of("d/f"), 0);
  EXPECT_EQ(error_of("d"), 0);
  EXPECT_EQ(error_of(""), 0);
  EXPECT_EQ(error_of("d/l"), ELOOP);
  EXPECT_EQ(error_of("up/secret"), ELOOP);
  EXPECT_EQ(error_of("e/f"), ELOOP);
  EXPECT_EQ(error_of("../secret"), EXDEV);
  EXPECT_EQ(error_of("d/../../secret"), EXDEV);
  EXPECT_EQ(error_of("nothing"), ENOENT);
  EXPECT_EQ(source.value()->open((folder_ / "secret").string(), O_RDONLY).get(), -1);
  EXPECT_EQ(errno, EXDEV);
}

TEST_F(SourceTest, AnywhereIsWhereTheUserSays) {
  const Source anywhere;
  EXPECT_TRUE(anywhere.is_anywhere());
  EXPECT_TRUE(static_cast<bool>(anywhere.open((folder_ / "secret").string(), O_RDONLY)));
  EXPECT_TRUE(static_cast<bool>(anywhere.open((folder_ / "served/e/f").string(), O_RDONLY)));
  EXPECT_FALSE(static_cast<bool>(anywhere.open((folder_ / "served/d/l").string(), O_RDONLY)));
}

TEST_F(SourceTest, AFolderThatIsNotThereIsNamed) {
  const auto source = Source::below((folder_ / "no").string());
  ASSERT_FALSE(source.ok());
  EXPECT_NE(source.error().find("no' cannot be opened: No such file"), std::string::npos)
      << source.error();
}

}  // namespace
}  // namespace strack::transfer
