#include "cli/workload.h"

#include <gtest/gtest.h>

namespace strack::cli {
namespace {

// A shell's * puts rank 10 before rank 2; ranks are numbers.
TEST(NaturalLess, DigitsAreNumbers) {
  EXPECT_TRUE(natural_less("step.2.et", "step.10.et"));
  EXPECT_FALSE(natural_less("step.10.et", "step.2.et"));
  EXPECT_TRUE(natural_less("step.02.et", "step.3.et"));
  EXPECT_FALSE(natural_less("step.2.et", "step.2.et"));
  EXPECT_TRUE(natural_less("a/2", "b/1"));
  EXPECT_TRUE(natural_less("a", "ab"));
  EXPECT_TRUE(natural_less("a1", "ab"));
  EXPECT_TRUE(natural_less("0", "1"));
  EXPECT_FALSE(natural_less("00", "0"));
  EXPECT_TRUE(natural_less("99999999999999999999998", "99999999999999999999999"));
}

}  // namespace
}  // namespace strack::cli
