#include "sim/gpu/shares.h"

#include <gtest/gtest.h>

namespace strack::sim::gpu {
namespace {

constexpr const char* kNoSetting = "STRACK_GPU_NO_SUCH_SETTING";

// An H200 with the sizes of docs/simulator.md.
TEST(Chip, WarpsGetAsFewItemsAsFillIt) {
  const Chip chip{132, 1};
  EXPECT_EQ(chip.per_warp(kNoSetting, 4, 4), 1u);
  EXPECT_EQ(chip.per_warp(kNoSetting, 1'024, 4), 2u);
  EXPECT_EQ(chip.per_warp(kNoSetting, 8'192, 4), 16u);
  EXPECT_EQ(chip.per_warp(kNoSetting, 65'536, 4), 32u);
  EXPECT_EQ(chip.per_warp(kNoSetting, 24'576, 6), 32u);
}

TEST(Chip, RunsThatShareItCountAllTheirItems) {
  EXPECT_EQ((Chip{132, 64}.per_warp(kNoSetting, 1'024, 4)), 32u);
  EXPECT_EQ((Chip{132, 8}.per_warp(kNoSetting, 1'024, 4)), 16u);
}

TEST(Chip, WhereItIsFullThereIsAnotherNumber) {
  const Chip chip{132, 1};
  EXPECT_EQ(chip.per_warp(kNoSetting, 67'584, 6, 16), 32u);
  EXPECT_EQ(chip.per_warp(kNoSetting, 67'585, 6, 16), 16u);
}

}  // namespace
}  // namespace strack::sim::gpu
