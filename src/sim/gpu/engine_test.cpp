// Which engine runs a simulation, and what is said where it cannot. That it gives the same bits is tested with
// whole programs: tools/prove_gpu.
#include "sim/gpu/engine.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "sim/cluster.h"
#include "sim/testing.h"

namespace strack::sim {
namespace {

namespace fs = std::filesystem;
using namespace testing;

/// The module is sought at this place alone.
class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("STRACK_GPU_MODULE", place_.c_str(), 1); }
  void TearDown() override {
    unsetenv("STRACK_GPU_MODULE");
    fs::remove(place_);
  }
  [[nodiscard]] static std::string why_not(Engine engine) {
    const auto made = make_cluster(engine, cluster(2, 2, 2), {});
    return made ? "" : made.error();
  }

  const fs::path place_ = fs::path(::testing::TempDir()) / "strack_no_module.so";
};

TEST(Engine, IsNamedByAWord) {
  EXPECT_EQ(engine_named("cpu"), Engine::cpu);
  EXPECT_EQ(engine_named("gpu"), Engine::gpu);
  EXPECT_EQ(engine_named("auto"), Engine::automatic);
  EXPECT_EQ(engine_named("emulated"), Engine::emulated);
  EXPECT_EQ(engine_named("mpi"), Engine::mpi);
}

// [D157]
TEST(Engine, LosslessAndSprayingSwitchesAreForThreadsUnlessAGpuIsAskedFor) {
  SimConfig spraying = cluster(2, 2, 2);
  EXPECT_FALSE(is_for_threads(spraying));
  spraying.switches.routing = Routing::least_queue;
  SimConfig lossless = cluster(2, 2, 2);
  lossless.pfc.enabled = true;
  EXPECT_TRUE(is_for_threads(spraying));
  EXPECT_TRUE(is_for_threads(lossless));
  EXPECT_FALSE(is_for_threads(cluster(2, 2, 2)));
}

// Only `auto` takes the CPU where there is no GPU.
TEST_F(EngineTest, WithoutTheModuleThereIsNoGpu) {
  const std::string problem = "there is no GPU engine: " + place_.string() +
                              " is not there. run it with --engine cpu, or set STRACK_GPU_MODULE";
  EXPECT_EQ(why_not(Engine::gpu), problem);
  EXPECT_EQ(why_not(Engine::emulated), problem);
  EXPECT_EQ(gpu_is_missing(), problem);
  EXPECT_EQ(why_not(Engine::automatic), "");
  EXPECT_EQ(why_not(Engine::cpu), "");
}

TEST_F(EngineTest, WhatIsNoModuleIsNotLoaded) {
  std::ofstream(place_) << "text";
  EXPECT_EQ(why_not(Engine::gpu).substr(0, 34), "the GPU engine cannot be loaded: /");
}

}  // namespace
}  // namespace strack::sim
