#include "transfer/glob.h"

#include <fnmatch.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

bool match(std::string_view pattern, std::string_view text) { return Glob(pattern).matches(text); }

std::vector<std::string> those(std::string_view pattern, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (match(pattern, name)) found.push_back(name);
  }
  return found;
}

using Names = std::vector<std::string>;

// A character is one, however many bytes it has, and its bytes are none.
TEST(Glob, CharactersAreNotTheirBytes) {
  const Names names{"é", "日", "aé", "ab", "abc"};
  EXPECT_EQ(those("?", names), (Names{"é", "日"}));
  EXPECT_EQ(those("??", names), (Names{"aé", "ab"}));
  EXPECT_EQ(those("???", names), (Names{"abc"}));
  EXPECT_EQ(those("[!a]", names), (Names{"é", "日"}));
  EXPECT_EQ(those("[!a][!a]", names), Names{});
  EXPECT_EQ(those("a[!b]", names), (Names{"aé"}));
  EXPECT_EQ(those("*[é日]", names), (Names{"é", "日", "aé"}));
  EXPECT_TRUE(match("[à-ÿ]", "é"));
  EXPECT_FALSE(match("[à-ÿ]", "日"));
  EXPECT_TRUE(match("[[:alpha:]]", "é"));
}

// Bytes that are no UTF-8 count one each, beside characters.
TEST(Glob, BytesThatAreNoUtf8) {
  EXPECT_TRUE(match("?.txt", "\xe4.txt"));
  EXPECT_TRUE(match("??", "\xc3\xc3"));
  EXPECT_FALSE(match("?", "\xc3\xc3"));
  EXPECT_TRUE(match("[!a]?", "\xffé"));
  EXPECT_TRUE(match("\xff*", "\xffx"));
  EXPECT_FALSE(match("\xff", "ÿ"));
  EXPECT_TRUE(match("??", "\xc0\x80")) << "longer than need be";
  EXPECT_TRUE(match("???", "\xed\xa0\x80")) << "half of a pair";
}

TEST(Glob, SetsAndBackslashes) {
  EXPECT_TRUE(match("[]a]", "]"));
  EXPECT_TRUE(match("[!]a]", "b"));
  EXPECT_FALSE(match("[^]a]", "]"));
  EXPECT_TRUE(match("[a-]", "-"));
  EXPECT_TRUE(match("[\\]]", "]"));
  EXPECT_TRUE(match("[a\\-c]", "-"));
  EXPECT_FALSE(match("[a\\-c]", "b"));
  EXPECT_TRUE(match("[[.-.]x]", "-"));
  EXPECT_TRUE(match("[[=a=]]", "a"));
  EXPECT_TRUE(match("\\*", "*"));
  EXPECT_FALSE(match("\\*", "a"));
  EXPECT_TRUE(match("[a", "[a")) << "not closed";
  EXPECT_TRUE(match("[a/b]", "[a/b]")) << "not closed in its name";
}

TEST(Glob, OnlyASlashIsASlash) {
  EXPECT_FALSE(match("*", "a/b"));
  EXPECT_FALSE(match("a?b", "a/b"));
  EXPECT_FALSE(match("a[!x]b", "a/b"));
  EXPECT_TRUE(match("*/*", "a/b"));
  EXPECT_FALSE(match("*/*", "a/b/c"));
  EXPECT_TRUE(match("a*b*/c*", "axbxb/c"));
  EXPECT_FALSE(match("a*b/c", "axb/xb/c"));
}

TEST(Glob, Faults) {
  for (const char* good : {"", "*", "[a-z]", "[", "[z", "a\\\\", "[[:digit:]]", "[!z]", "[a-a]"})
    EXPECT_FALSE(Glob(good).fault()) << good;
  for (const char* bad : {"[z-a]", "[!z-a]", "[xz-a]", "a\\", "[[:nothing:]]"}) {
    EXPECT_TRUE(Glob(bad).fault()) << bad;
    EXPECT_FALSE(match(bad, "a")) << bad;
  }
}

// Of plain letters fnmatch(3) says the same.
TEST(Glob, AsFnmatch) {
  constexpr std::string_view kPattern = "ab/*?]!-\\";
  constexpr std::string_view kText = "ab/-]";
  std::mt19937 random(1);
  const auto draw = [&](std::string_view from, std::size_t most) {
    std::string out;
    for (std::size_t length = random() % (most + 1); out.size() < length;)
      out += from[random() % from.size()];
    return out;
  };
  for (int i = 0; i < 50'000; ++i) {
    const std::string pattern = draw(kPattern, 8);
    const Glob glob(pattern);
    // What is thought of a slash after a backslash differs between libraries.
    if (glob.fault() || pattern.find("\\/") != std::string::npos) continue;
    const std::string text = draw(kText, 6);
    EXPECT_EQ(glob.matches(text), ::fnmatch(pattern.c_str(), text.c_str(), FNM_PATHNAME) == 0)
        << "'" << pattern << "' and '" << text << "'";
  }
  for (int i = 0; i < 50'000; ++i) {
    const std::string set = "[" + draw("ab!-", 4) + "]";
    const Glob glob(set + "*");
    const std::string text = draw("ab!-]x", 3);
    if (glob.fault()) continue;
    EXPECT_EQ(glob.matches(text), ::fnmatch((set + "*").c_str(), text.c_str(), FNM_PATHNAME) == 0)
        << "'" << set << "*' and '" << text << "'";
  }
}

}  // namespace
}  // namespace strack::transfer
