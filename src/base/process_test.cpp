#include "base/process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace strack {
namespace {

int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Process, WordsReachTheProgramAsTheyAre) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child =
      start_process("/usr/bin/printf", {"printf", "%s|%s", "a b", "$HOME"}, {.output = ends[1]});
  ASSERT_GT(child, 0);
  close(ends[1]);
  std::array<char, 64> text{};
  const ssize_t got = read(ends[0], text.data(), text.size());
  close(ends[0]);
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(got > 0 ? got : 0)), "a b|$HOME");
  EXPECT_EQ(WEXITSTATUS(status_of(child)), 0);
}

TEST(Process, WhatCannotBeRunEndsWith127) {
  const pid_t child = start_process("/no/such/program", {"x"}, {});
  ASSERT_GT(child, 0);
  EXPECT_EQ(WEXITSTATUS(status_of(child)), 127);
}

TEST(Process, ItsGroupCanBeEnded) {
  const pid_t child = start_process("/bin/sleep", {"sleep", "60"}, {});
  ASSERT_GT(child, 0);
  EXPECT_EQ(getpgid(child), child);
  EXPECT_EQ(kill(-child, SIGKILL), 0);
  EXPECT_EQ(WTERMSIG(status_of(child)), SIGKILL);
}

// What is in the way under that name is no program.
TEST(FindProgram, LooksInThePathsFolders) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "strack_find";
  std::filesystem::create_directories(folder / "a/tool");
  std::filesystem::create_directories(folder / "b");
  const std::string tool = folder / "b/tool";
  std::ofstream(tool) << "#!/bin/sh\n";
  const std::string before = std::getenv("PATH");
  setenv("PATH", (":" + (folder / "a").string() + ":" + (folder / "b").string()).c_str(), 1);
  EXPECT_EQ(find_program("tool"), "");
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  EXPECT_EQ(find_program("tool"), tool);
  EXPECT_EQ(find_program("no-tool"), "");
  EXPECT_EQ(find_program(tool), tool);
  EXPECT_EQ(find_program(folder / "a/tool"), "");
  setenv("PATH", before.c_str(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace strack
