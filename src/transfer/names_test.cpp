#include "transfer/names.h"

#include <string>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

TEST(Names, OrdinaryPathsAreSafe) {
  for (const char* path : {"a", "a/b/c.txt", "...", "..a", "a..", "-rf", " ", "a b", "\xc3\xa4",
                           "\xff\xfe", "a/.strack", ".strack2", "~", "a\\b", "*"})
    EXPECT_EQ(path_fault(path), std::nullopt) << path;
  EXPECT_EQ(path_fault(std::string(255, 'x')), std::nullopt);
}

TEST(Names, TricksAreNot) {
  for (const char* path : {"", "/", "/etc/passwd", ".", "..", "../a", "a/..", "a/../b", "a/./b",
                           "./a", "a//b", "a/", "a\nb", "a\x7f", "\x1b[2J", ".strack", ".strack/x"})
    EXPECT_NE(path_fault(path), std::nullopt) << path;
  EXPECT_NE(path_fault(std::string("a\0b", 3)), std::nullopt);
  EXPECT_NE(path_fault(std::string(256, 'x')), std::nullopt);
  std::string deepest = "a";
  for (std::size_t i = 1; i < kMaxDepth; ++i) deepest += "/a";
  EXPECT_EQ(path_fault(deepest), std::nullopt);
  EXPECT_EQ(path_fault(deepest + "/a"), "is 257 names deep; 256 are possible");
  std::string deep = "a";
  while (deep.size() <= kMaxPathBytes) deep += "/a";
  EXPECT_NE(path_fault(deep), std::nullopt);
}

TEST(Names, LinksStayInside) {
  EXPECT_EQ(target_fault("l", "x"), std::nullopt);
  EXPECT_EQ(target_fault("l", "./x/y"), std::nullopt);
  EXPECT_EQ(target_fault("a/l", "../x"), std::nullopt);
  EXPECT_EQ(target_fault("a/b/l", "../.."), std::nullopt);
  EXPECT_NE(target_fault("l", "../x"), std::nullopt);
  EXPECT_NE(target_fault("a/l", "../../x"), std::nullopt);
  EXPECT_NE(target_fault("l", "/etc"), std::nullopt);
  EXPECT_NE(target_fault("l", ""), std::nullopt);
  EXPECT_NE(target_fault("l", std::string("x\0y", 3)), std::nullopt);
  // By its text it stays inside; but x may be a link to somewhere else, whose parent is not a.
  EXPECT_NE(target_fault("a/l", "x/../y"), std::nullopt);
}

TEST(Names, PrintableHidesControlCharacters) {
  EXPECT_EQ(printable("a b\xc3\xa4"), "a b\xc3\xa4");
  EXPECT_EQ(printable("a\x1b[2J\n"), "a\\x1b[2J\\x0a");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b");
}

TEST(Names, Destinations) {
  const auto check = [](const char* text, const char* host, const char* path, bool folder) {
    const auto parsed = parse_destination(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.error();
    EXPECT_EQ(parsed.value().host_and_port, host) << text;
    EXPECT_EQ(parsed.value().path, path) << text;
    EXPECT_EQ(parsed.value().folder, folder) << text;
  };
  check("host:", "host", "", true);
  check("host:name", "host", "name", false);
  check("host:a/b/", "host", "a/b", true);
  check("host:5000:", "host:5000", "", true);
  check("host:5000:a", "host:5000", "a", false);
  check("host:5000", "host", "5000", false);
  check("host:a:b", "host", "a:b", false);
  check("[::1]:", "[::1]", "", true);
  check("[::1]:5000:x/", "[::1]:5000", "x", true);
  for (const char* text : {"", "host", ":", ":x", "[::1", "[::1]", "host:/etc", "host:../x",
                           "host:a/../b", "host:/", "host:.strack/x"})
    EXPECT_FALSE(parse_destination(text).ok()) << text;
}

TEST(Names, WhatIsInUnfinishedFiles) {
  for (const char* path : {".strack", "a/.strack", ".strack/a", "a/.strack/b"})
    EXPECT_TRUE(is_in_parts(path)) << path;
  for (const char* path : {"", "a", ".stracks", "a/x.strack", "a/.strackb/c"})
    EXPECT_FALSE(is_in_parts(path)) << path;
  for (const char* name : {"a", ".strack", "..."}) EXPECT_TRUE(is_one_name(name)) << name;
  for (const char* name : {"", ".", "..", "a/b", ".strack/a", "a\n"})
    EXPECT_FALSE(is_one_name(name)) << name;
}

}  // namespace
}  // namespace strack::transfer
