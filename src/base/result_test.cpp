#include "base/result.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace strack {
namespace {

struct Fault {
  const char* field;
  int value;
};

using IntResult = Result<int, Fault>;

constexpr IntResult halve(int number) {
  if (number % 2 != 0) return Fault{"number", number};
  return number / 2;
}

TEST(Result, HoldsAValue) {
  const IntResult result = halve(8);
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result);
  EXPECT_EQ(result.value(), 4);
}

TEST(Result, HoldsAnError) {
  const IntResult result = halve(7);
  EXPECT_FALSE(result.ok());
  EXPECT_FALSE(result);
  EXPECT_STREQ(result.error().field, "number");
  EXPECT_EQ(result.error().value, 7);
}

// A failed one must not pass for a number.
static_assert(!std::is_convertible_v<IntResult, bool> && !std::is_convertible_v<IntResult, int>);
static_assert(std::is_constructible_v<bool, IntResult>);

// It works at compile time and needs no destructor of its own.
constexpr IntResult kHalved = halve(8);
constexpr IntResult kOdd = halve(7);
static_assert(kHalved.value() == 4 && kOdd.error().value == 7);
static_assert(std::is_trivially_copyable_v<IntResult>);

TEST(Result, MovesWhatItIsGiven) {
  auto text = std::make_unique<std::string>("payload");
  const std::string* const where = text.get();
  const Result<std::unique_ptr<std::string>, Fault> result(std::move(text));
  EXPECT_EQ(result.value().get(), where);
}

TEST(ResultDeathTest, ThereIsNoValueInAnError) {
  const IntResult result = halve(7);
  EXPECT_DEATH(static_cast<void>(result.value()), "check failed: ok\\(\\)");
}

TEST(ResultDeathTest, ThereIsNoErrorInAValue) {
  const IntResult result = halve(8);
  EXPECT_DEATH(static_cast<void>(result.error()), "check failed: !ok\\(\\)");
}

}  // namespace
}  // namespace strack
