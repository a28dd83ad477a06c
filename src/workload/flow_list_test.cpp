#include "workload/flow_list.h"

#include <string>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"
#include "workload/lines.h"

namespace strack::workload {
namespace {

TEST(FlowList, ReadsFlowsInOrder) {
  const auto flows = parse_flow_list(
      "# src dst bytes start\n"
      "3 1 16MB 10us\n"
      "\n"
      "0\t2   4096  0   # now\r\n"
      "1 0 1.5KB 0.5ns",
      4);
  ASSERT_TRUE(flows) << flows.error().message;
  ASSERT_EQ(flows.value().size(), 3u);
  EXPECT_EQ(flows.value()[0].src, 3u);
  EXPECT_EQ(flows.value()[0].dst, 1u);
  EXPECT_EQ(flows.value()[0].size, mb(16));
  EXPECT_EQ(flows.value()[0].start, at(us(10)));
  EXPECT_EQ(flows.value()[1].size, bytes(4'096));
  EXPECT_EQ(flows.value()[1].start, Instant{});
  EXPECT_EQ(flows.value()[2].size, bytes(1'500));
  EXPECT_EQ(flows.value()[2].start, at(ps(500)));
}

std::string error_of(std::string_view text) {
  const auto flows = parse_flow_list(text, 4);
  if (flows) return "accepted";
  return std::to_string(flows.error().line) + ": " + flows.error().message;
}

TEST(FlowList, AByteOrderMarkIsNoText) {
  const auto flows = parse_flow_list(
      "\xef\xbb\xbf"
      "0 1 16MB 0",
      4);
  ASSERT_TRUE(flows) << flows.error().message;
  EXPECT_EQ(flows.value().size(), 1u);
}

// What is shown of a file can be shown: nothing moves the cursor, and no character is cut in two.
TEST(FlowList, ShowsWhatItCannotReadSafely) {
  const auto flows = parse_flow_list("0 1 \x1b[2J\xff 0", 4);
  ASSERT_FALSE(flows);
  EXPECT_NE(flows.error().message.find("\\x1b[2J\\xff"), std::string::npos)
      << flows.error().message;
  EXPECT_EQ(printable(std::string(39, 'a') + "\xc3\xa4"), std::string(39, 'a') + "...");
}

TEST(FlowList, SaysWhichLineCannotBe) {
  EXPECT_EQ(error_of("# nothing\n"),
            "0: no flows. write one a line, src dst bytes start, such as 0 1 16MB 10us");
  EXPECT_EQ(error_of("0 1 16MB\n"),
            "1: 3 fields. a flow is four, src dst bytes start, such as 0 1 16MB 10us");
  EXPECT_EQ(error_of("0 1 16 MB 0\n"),
            "1: 5 fields. a flow is four, src dst bytes start, such as 0 1 16MB 10us");
  EXPECT_EQ(error_of("0 1 16MB 0\n\n4 1 16MB 0\n"),
            "3: src is \"4\". a host is a number from 0 to 3");
  EXPECT_EQ(error_of("-1 1 16MB 0\n"), "1: src is \"-1\". a host is a number from 0 to 3");
  EXPECT_EQ(error_of("0 x 16MB 0\n"), "1: dst is \"x\". a host is a number from 0 to 3");
  EXPECT_EQ(error_of("0 1.0 16MB 0\n"), "1: dst is \"1.0\". a host is a number from 0 to 3");
  EXPECT_EQ(error_of("2 2 16MB 0\n"), "1: src and dst are both 2. a flow goes to another host");
  EXPECT_EQ(error_of("0 1 0 0\n"),
            "1: bytes is \"0\". a flow has 1 to 1099511627776 bytes, such as 16000000 or 16MB");
  EXPECT_EQ(error_of("0 1 5TB 0\n"),
            "1: bytes is \"5TB\". a flow has 1 to 1099511627776 bytes, such as 16000000 or 16MB");
  EXPECT_EQ(error_of("0 1 16Mb 0\n"),
            "1: bytes is \"16Mb\". a flow has 1 to 1099511627776 bytes, such as 16000000 or 16MB");
  EXPECT_EQ(error_of("0 1 16MB 10\n"),
            "1: start is \"10\". a start is 0, or a time of at most an hour with its unit, such as "
            "10us");
  EXPECT_EQ(error_of("0 1 16MB 4000s\n"),
            "1: start is \"4000s\". a start is 0, or a time of at most an hour with its unit, such "
            "as 10us");
}

TEST(FlowList, TakesTheLargestFlow) {
  EXPECT_EQ(error_of("0 1 1TiB 3600s\n"), "accepted");
  EXPECT_NE(error_of("0 1 1099511627777 0\n"), "accepted");
}

}  // namespace
}  // namespace strack::workload
