// Where the ranks come from, and what is said where there are none. That they give the same bits is tested with
// threads (cluster/rank_exchange_test.cpp) and with whole programs (tests/mpi).
#include "sim/mpi/engine.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace strack::sim {
namespace {

TEST(MpiEngine, WithoutTheModuleThereAreNoRanks) {
  const auto place = std::filesystem::path(::testing::TempDir()) / "strack_no_mpi_module.so";
  setenv("STRACK_MPI_MODULE", place.c_str(), 1);
  const auto opened = open_mpi();
  unsetenv("STRACK_MPI_MODULE");
  ASSERT_FALSE(opened);
  EXPECT_EQ(
      opened.error(),
      "there is no MPI engine: " + place.string() +
          " is not there. build it where Open MPI is installed (Debian: libopenmpi-dev), run it "
          "with --engine cpu, or set STRACK_MPI_MODULE");
}

// mpirun says how many it has started; one alone is no reason.
TEST(MpiEngine, IsTakenWhereMpirunStartsSeveral) {
  unsetenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_FALSE(started_by_mpi());
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_FALSE(started_by_mpi());
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_TRUE(started_by_mpi());
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

}  // namespace
}  // namespace strack::sim
