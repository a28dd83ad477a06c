#include "sim/engine/memory_nodes.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::sim {
namespace {

namespace fs = std::filesystem;

cpu_set_t processors(std::uint32_t count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::uint32_t p = 0; p < count; ++p) CPU_SET(p, &set);
  return set;
}

/// A machine as the system would describe it: a list of processors for each node.
class MemoryNodesTest : public ::testing::Test {
 protected:
  MemoryNodesTest() : folder_(fs::path(::testing::TempDir()) / "strack_memory_nodes") {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "power");
  }
  ~MemoryNodesTest() override { fs::remove_all(folder_); }
  void add(const std::string& name, const std::string& list) {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "cpulist") << list << '\n';
  }

  fs::path folder_;
};

TEST(ProcessorsIn, Lists) {
  EXPECT_EQ(processors_in("0-3,8,10-11\n"), (std::vector<std::uint32_t>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_TRUE(processors_in("").empty());
  EXPECT_TRUE(processors_in("\n").empty());
}

// Workers are shared out by processors, neighbours together; what may not be used does not count.
TEST_F(MemoryNodesTest, WorkersAreSharedOut) {
  add("node1", "8-15");
  add("node0", "0-7");
  add("node2", "");  // memory alone
  const MemoryNodes nodes(folder_, processors(12));
  ASSERT_EQ(nodes.nodes().size(), 2u);
  EXPECT_EQ(nodes.nodes()[0].processors.size(), 8u);
  EXPECT_EQ(nodes.nodes()[1].processors.size(), 4u);
  std::vector<std::uint32_t> at(2);
  for (std::uint32_t w = 0; w < 12; ++w) {
    const MemoryNodes::Node* node = nodes.node_of(w, 12);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->number, w < 8 ? 0u : 1u);
  }
  EXPECT_EQ(nodes.node_of(5, 9)->number, 0u);
  EXPECT_EQ(nodes.node_of(8, 9)->number, 1u);
}

// A run that fits beside one node, and more threads than processors, are the system's to place.
TEST_F(MemoryNodesTest, OthersMayBeAnywhere) {
  add("node0", "0-7");
  add("node1", "8-15");
  const MemoryNodes nodes(folder_, processors(16));
  EXPECT_EQ(nodes.node_of(0, 1), nullptr);
  EXPECT_EQ(nodes.node_of(0, 8), nullptr);
  EXPECT_NE(nodes.node_of(0, 9), nullptr);
  EXPECT_EQ(nodes.node_of(0, 17), nullptr);
  const MemoryNodes one(folder_, processors(8));
  EXPECT_EQ(one.node_of(0, 8), nullptr);
  EXPECT_EQ(MemoryNodes(folder_ / "none", processors(8)).node_of(0, 9), nullptr);
}

// What the system does with it, on whichever machine this is.
TEST(MemoryNodesHere, ThreadsStayAndMemoryMoves) {
  const MemoryNodes here = MemoryNodes::here();
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  {
    const KeepsAffinity keeps;
    MemoryNodes::Node first;
    for (std::uint32_t p = 0; first.processors.empty(); ++p) {
      if (CPU_ISSET(p, &before)) first.processors.push_back(p);
    }
    ASSERT_TRUE(stay_at(first));
    EXPECT_EQ(sched_getcpu(), static_cast<int>(first.processors.front()));
  }
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  std::vector<std::uint64_t> words(1 << 16, 7);
  for (const MemoryNodes::Node& node : here.nodes())
    move_to(node, words.data(), words.size() * sizeof(std::uint64_t));
  EXPECT_EQ(words, std::vector<std::uint64_t>(1 << 16, 7));
}

}  // namespace
}  // namespace strack::sim
