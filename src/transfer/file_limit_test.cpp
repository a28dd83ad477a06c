#include "transfer/file_limit.h"

#include <sys/resource.h>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

TEST(FileLimit, WhatSocketsLeave) {
  EXPECT_EQ(descriptors_left(1024, 64).value(), 1024u - 64 - 32);
  EXPECT_EQ(descriptors_left(98, 64).value(), 2u);
  EXPECT_GT(descriptors_left(RLIM_INFINITY, 256).value(), 100'000u);
}

TEST(FileLimit, TooFewAreSaidWithWhatWouldWork) {
  const auto found = descriptors_left(97, 64);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(
      found.error(),
      "97 files may be open at a time (`ulimit -n`), and 64 paths need 98. raise the limit, or "
      "give --paths 63");
  EXPECT_TRUE(descriptors_left(97, 63).ok());
  // Each thread has its own.
  EXPECT_EQ(descriptors_left(1024, 64, 4).value(), 1024u - 4 * 64 - 3 * 4 - 32);
  EXPECT_EQ(descriptors_left(301, 64, 4).error(),
            "301 files may be open at a time (`ulimit -n`), and 64 paths of 4 threads need 302. "
            "raise the limit, or give --paths 63");
  EXPECT_TRUE(descriptors_left(301, 63, 4).ok());
  // Where no number of paths would do, none is named.
  EXPECT_EQ(descriptors_left(20, 1).error().find("--paths"), std::string::npos);
}

TEST(FileLimit, IsRaisedAsFarAsItGoes) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit lower{before.rlim_max / 2, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  EXPECT_TRUE(raise_file_limit(4).ok());
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace strack::transfer
