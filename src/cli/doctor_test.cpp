#include "cli/doctor.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace strack::cli {
namespace {

std::string said_by(const Findings& findings) {
  testing::internal::CaptureStdout();
  findings.print({});
  return testing::internal::GetCapturedStdout();
}

// Whatever this machine has, each thing is named.
TEST(Doctor, ItNamesAllThatItLooksFor) {
  testing::internal::CaptureStdout();
  const int status = doctor({});
  const std::string said = testing::internal::GetCapturedStdout();
  for (const char* what : {"provider", "mpirun", "mpicc", "fi_info", "interface lo", "MTU",
                           "receive buffer", "send buffer", "open files", "processors"})
    EXPECT_NE(said.find(what), std::string::npos) << what;
  EXPECT_NE(said.find(status == 0 ? "ready: " : "is missing"), std::string::npos);
}

// A terminal breaks lines anywhere; here they break between words and go on below themselves.
TEST(Doctor, LinesFitTheTerminal) {
  Findings findings;
  findings.add(true, "receive buffer",
               "up to 212992 bytes; as root: sysctl net.core.rmem_max=8388608");
  findings.need(false, "mpirun", "missing");
  EXPECT_EQ(findings.text(0),
            "ok   receive buffer           up to 212992 bytes; as root: sysctl "
            "net.core.rmem_max=8388608\n"
            "!!   mpirun                   missing\n");
  EXPECT_EQ(findings.text(60),
            "ok   receive buffer           up to 212992 bytes; as root:\n"
            "                              sysctl\n"
            "                              net.core.rmem_max=8388608\n"
            "!!   mpirun                   missing\n");
}

// What was lost by an entropy did not arrive: one whose packets were all lost has not answered.
TEST(Doctor, EntropiesThatNeverAnswerAreCounted) {
  std::vector<udp::PathStatistics> paths(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    paths[i].path = i;
    paths[i].packets = 8;
    paths[i].lowest_rtt_ns = 10'000 * (i + 1);
  }
  paths[1].lost = 7;
  Findings good;
  judge_entropies(paths, 4, good);
  EXPECT_TRUE(good.well());
  EXPECT_NE(said_by(good).find("4, all of them"), std::string::npos);
  EXPECT_NE(said_by(good).find("10 us to 40 us"), std::string::npos) << said_by(good);
  paths[1].lost = 8;
  Findings bad;
  judge_entropies(paths, 5, bad);
  EXPECT_FALSE(bad.well());
  EXPECT_NE(said_by(bad).find("3 of 4: all that was sent by the others is lost"),
            std::string::npos);
  EXPECT_NE(said_by(bad).find("--   entropies used           4 of 5"), std::string::npos);
  Findings none;
  judge_entropies({}, 4, none);
  EXPECT_FALSE(none.well());
}

// A packet that does not fit a datagram is said to go in pieces; one that an MTU has made smaller is said to be.
TEST(Doctor, PacketsInPiecesAreNamed) {
  udp::ConnectionStatistics found;
  found.payload_bytes = 8192;
  found.datagram_bytes = 8300;
  Findings whole;
  judge_mtu(found, 8192, whole);
  EXPECT_NE(said_by(whole).find("ok   payload of a packet      8192 bytes\n"), std::string::npos);
  Findings less;
  judge_mtu(found, 16'384, less);
  EXPECT_NE(said_by(less).find("of 16384 wanted"), std::string::npos);
  found.datagram_bytes = 1'472;
  Findings pieces;
  judge_mtu(found, 8192, pieces);
  EXPECT_NE(said_by(pieces).find("--   payload of a packet      8192 bytes, which go in pieces"),
            std::string::npos);
}

// The widest place that was seen is what is known of the number of ways, and only that.
TEST(Doctor, WaysAreCountedByRouters) {
  Findings fabric;
  judge_routers({{"10.0.1.1"}, {"a", "b", "c", "d"}, {"10.0.5.1"}}, 64, fabric);
  EXPECT_NE(said_by(fabric).find("routers at hop 2         4: a b c d"), std::string::npos);
  EXPECT_NE(said_by(fabric).find("at least 4, by routers that answered for 64 source ports"),
            std::string::npos);
  Findings silent;
  judge_routers({}, 64, silent);
  EXPECT_NE(said_by(silent).find("is not known"), std::string::npos);
  EXPECT_EQ(said_by(silent).find("at least"), std::string::npos);
}

}  // namespace
}  // namespace strack::cli
