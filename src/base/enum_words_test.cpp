#include "base/enum_words.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace strack {
namespace {

enum class Fruit : std::uint8_t { apple, pear, plum };
enum class Lone { one };

static_assert(enumerators<Fruit>() == 3);
static_assert(enumerators<Lone>() == 1);

TEST(EnumWords, AreFoundByTheirEnumerator) {
  constexpr auto kWords = words_of<Fruit>(
      {{Fruit::apple, "an apple"}, {Fruit::pear, "a pear"}, {Fruit::plum, "a plum"}});
  static_assert(kWords.size() == 3);
  EXPECT_EQ(kWords[static_cast<std::size_t>(Fruit::pear)], "a pear");
}

}  // namespace
}  // namespace strack
