#include "perf/protocol.h"

#include <vector>

#include <gtest/gtest.h>

namespace strack::perf {
namespace {

// The bytes of docs/udp-tools.md.
TEST(PerfProtocol, BytesAreAsDocumented) {
  const WordsBuffer bytes = encode({Say::request, 2, {0x0102'0304'0506'0708, 9, 0, 1}});
  std::vector<std::byte> wanted(kWordsBytes);
  wanted[0] = std::byte{1};
  wanted[1] = std::byte{2};
  for (std::size_t i = 0; i < 8; ++i) wanted[4 + i] = static_cast<std::byte>(i + 1);
  wanted[19] = std::byte{9};
  wanted[35] = std::byte{1};
  EXPECT_EQ(std::vector<std::byte>(bytes.begin(), bytes.end()), wanted);
}

TEST(PerfProtocol, WhatIsSaidIsHeard) {
  for (const Say type : {Say::request, Say::ready, Say::finish, Say::report, Say::refuse, Say::go,
                         Say::effort, Say::path}) {
    const Words words{type, 3, {1, UINT64_MAX, 0, 7}};
    EXPECT_EQ(decode(encode(words)), words);
  }
}

TEST(PerfProtocol, OtherBytesAreRefused) {
  const WordsBuffer good = encode({Say::ready, 0, {}});
  EXPECT_EQ(decode(std::span(good).first(kWordsBytes - 1)), std::nullopt);
  EXPECT_EQ(decode(std::vector<std::byte>(kWordsBytes + 1)), std::nullopt);
  for (const auto& [at, value] : {std::pair{0, 0}, {0, 9}, {2, 1}, {3, 1}}) {
    WordsBuffer bad = good;
    bad[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_EQ(decode(bad), std::nullopt) << at << ' ' << value;
  }
}

TEST(PerfProtocol, APathIsTold) {
  const udp::PathStatistics path{255, 1ull << 40, 3, 40, 2, 10'000, 8'000};
  const Words words = path_words(path);
  EXPECT_EQ(words.numbers,
            (std::array<std::uint64_t, 4>{(255ull << 32) | 3, 1ull << 40, (40ull << 32) | 2,
                                          (10'000ull << 32) | 8'000}));
  const udp::PathStatistics told = path_of(words);
  EXPECT_EQ(told.path, path.path);
  EXPECT_EQ(told.packets, path.packets);
  EXPECT_EQ(told.lost, path.lost);
  EXPECT_EQ(told.sacks, path.sacks);
  EXPECT_EQ(told.marks, path.marks);
  EXPECT_EQ(told.rtt_ns, path.rtt_ns);
  EXPECT_EQ(told.lowest_rtt_ns, path.lowest_rtt_ns);
  // What does not fit is the most that does.
  EXPECT_EQ(path_of(path_words({0, 0, 1ull << 40, 0, 0, 0, 0})).lost, UINT32_MAX);
}

// What was said stays as it was while another word is said, and goes when it is acknowledged.
TEST(PerfProtocol, WordsAreKeptApart) {
  Said said;
  const auto [first, go] = said.add({Say::go, 0, {}});
  const auto [second, finish] = said.add({Say::finish, 0, {}});
  EXPECT_NE(first, second);
  EXPECT_EQ(decode(go)->type, Say::go);
  EXPECT_EQ(decode(finish)->type, Say::finish);
  said.forget(first);
  EXPECT_EQ(decode(finish)->type, Say::finish);
  said.forget(second);
  EXPECT_EQ(said.size(), 0u);
}

}  // namespace
}  // namespace strack::perf
