// `strack vectors`: what is exported is what is checked.
#include "cli/vectors.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strack::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class VectorsCommand : public ::testing::Test {
 protected:
  VectorsCommand() {
    std::string pattern = (fs::temp_directory_path() / "strack-vectors-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~VectorsCommand() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path folder_;
};

TEST_F(VectorsCommand, WhatIsExportedAgrees) {
  for (const bool json : {false, true}) {
    const fs::path file = folder_ / (json ? "vectors.json" : "vectors.txt");
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(vectors_export({.out = file, .json = json}), 0);
    EXPECT_EQ(vectors_check({file}), 0);
    EXPECT_THAT(::testing::internal::GetCapturedStdout(),
                HasSubstr("every decision and every state agrees"));
  }
}

TEST_F(VectorsCommand, EventsAloneAreNoAnswers) {
  const fs::path file = folder_ / "events.txt";
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(vectors_export({.out = file, .events = true}), 0);
  static_cast<void>(::testing::internal::GetCapturedStdout());
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(vectors_check({file}), 1);
  EXPECT_EQ(vectors_export({.out = file}), 2);  // it is there
  EXPECT_EQ(vectors_check({folder_ / "none"}), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("31 problems in 31 vectors"));
}

TEST_F(VectorsCommand, ListNamesBranches) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(vectors_list({}), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("timeout_backoff_capped"));
}

}  // namespace
}  // namespace strack::cli
