#include "sim/scenario/keys.h"

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace strack::sim {
namespace {

TEST(Keys, EachIsThereOnceAndComplete) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Key& key : keys()) {
    const std::string id = std::string(key.section) + "." + std::string(key.name);
    EXPECT_TRUE(seen.emplace(key.section, key.name).second) << id;
    EXPECT_NE(find_section(key.section), nullptr) << id;
    EXPECT_EQ(find_key(key.section, key.name), &key) << id;
    EXPECT_FALSE(key.needs.empty()) << id;
    EXPECT_FALSE(key.help.empty()) << id;
    EXPECT_TRUE(key.help.ends_with('.')) << id;
    EXPECT_FALSE(key.needs.ends_with('.')) << id;
    EXPECT_EQ(key.kind == Kind::time, !key.unit.empty()) << id;
    EXPECT_EQ(key.kind == Kind::choice, !key.words.empty()) << id;
    if (key.kind == Kind::time) {
      EXPECT_TRUE(key.name.ends_with("_" + std::string(key.unit))) << id;
    }
  }
}

// What every key says applies without it can itself be said.
TEST(Keys, HaveADefaultOrSayWhatAppliesWithoutThem) {
  for (const Key& key : keys()) {
    const bool in_array = find_section(key.section)->array;
    EXPECT_TRUE(in_array || key.fallback.empty() != key.otherwise.empty())
        << key.section << "." << key.name;
  }
}

// A section's keys stand together, so that to_toml writes each section once.
TEST(Keys, AreInTheOrderOfTheirSections) {
  std::size_t section = 0;
  for (const Key& key : keys()) {
    while (sections()[section].name != key.section) ASSERT_LT(++section, sections().size());
  }
}

TEST(Nearest, FindsWhatWasMeant) {
  constexpr std::array<std::string_view, 4> kWords{"link_gbps", "hosts", "host_latency_ns",
                                                   "rto_us"};
  EXPECT_EQ(nearest("link_gps", kWords), "link_gbps");
  EXPECT_EQ(nearest("host", kWords), "hosts");
  EXPECT_EQ(nearest("hotss", kWords), "hosts");
  EXPECT_EQ(nearest("latency", kWords), "host_latency_ns");
  EXPECT_EQ(nearest("rto", kWords), "rto_us");
  static constexpr std::string_view kLetter[] = {"g"};
  EXPECT_EQ(nearest("x", kLetter), "");  // nothing in common
  EXPECT_EQ(nearest("banana", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kWords), "");
}

}  // namespace
}  // namespace strack::sim
