#include "cli/progress.h"

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::cli {
namespace {

TEST(Describe, CountsWhatThereIsOf) {
  sim::Progress progress;
  progress.now = at(us(250));
  progress.flows = 16;
  progress.flows_done = 4;
  progress.bytes = 1'000;
  progress.bytes_acked = 500;
  progress.packet_hops = 20'000'000;
  EXPECT_EQ(describe(progress, 10),
            "250 us  4 of 16 flows  50.0 % of bytes  2.0 M packet-hops/s  about 10 s left");
  progress.jobs = 8;
  progress.jobs_done = 1;
  EXPECT_EQ(describe(progress, 10),
            "250 us  4 of 16 flows  1 of 8 jobs  50.0 % of bytes  2.0 M packet-hops/s  about 10 s "
            "left");
  progress.flows = 0;
  EXPECT_EQ(describe(progress, 10),
            "250 us  1 of 8 jobs  50.0 % of bytes  2.0 M packet-hops/s  about 10 s left");
}

TEST(Describe, OfNothingIsNoDivisionByZero) {
  EXPECT_EQ(describe({}, 0),
            "0 ps  0 of 0 flows  0.0 % of bytes  0.0 M packet-hops/s  no estimate yet");
}

}  // namespace
}  // namespace strack::cli
