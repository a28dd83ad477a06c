#include "perf/report.h"

#include <gtest/gtest.h>

namespace strack::perf {
namespace {

ServerResult good() {
  ServerResult result;
  result.ok = true;
  result.peer = "127.0.0.1:5";
  result.size = 100'000;
  result.messages = 50;
  result.bytes = 5'000'000;
  result.seconds = 0.04;
  return result;
}

TEST(PerfReport, AServersConnection) {
  EXPECT_EQ(text(good()), "127.0.0.1:5: stream of 100 KB, 5 MB in 0.04 s, 1.000 Gb/s\n");
  EXPECT_EQ(json(good()),
            "{\"ok\": true, \"peer\": \"127.0.0.1:5\", \"pattern\": \"stream\", \"size\": 100000, "
            "\"messages\": 50, \"bytes\": 5000000, \"seconds\": 0.040000, \"gbps\": 1.000000, "
            "\"marks_received\": 0, \"duplicates_received\": 0}\n");
  ServerResult bad = good();
  bad.ok = false;
  bad.problem = "it \"left\"";
  EXPECT_EQ(text(bad), "127.0.0.1:5: ended early: it \"left\"\n");
  EXPECT_NE(json(bad).find("\"ok\": false"), std::string::npos);
  EXPECT_NE(json(bad).find("\"error\": \"it \\\"left\\\"\""), std::string::npos);
}

// What is slow is told in a unit that shows it, and a link that is down as such.
TEST(PerfReport, ALine) {
  Sample sample;
  sample.seconds = 1;
  sample.bytes = 125;
  EXPECT_EQ(live_text(sample).substr(0, 17), "1.000 kb/s  cwnd ");
  sample.silent = 1.9;
  EXPECT_EQ(live_text(sample).substr(0, 17), "1.000 kb/s  cwnd ");
  sample.silent = 12.2;
  EXPECT_EQ(live_text(sample).substr(0, 23), "no answer for 12 s  cwn");
}

TEST(PerfReport, AClientsTest) {
  Plan plan;
  plan.size = 1'000;
  ClientResult result;
  EXPECT_EQ(text(plan, result), "") << "nothing was sent";
  result.ok = true;
  result.messages = 2;
  result.bytes = 2'000;
  result.seconds = 0.001;
  result.times.add(5'000);
  EXPECT_EQ(text(plan, result).substr(0, 68),
            "stream of 1 KB on 1 connection: 2 messages, 2 KB in 0.001 s\n  throug");
  const std::string found = json(plan, "adaptive", 0.5, result);
  for (const char* wanted :
       {"{\"ok\": true, ", "\"policy\": \"adaptive\"", "\"sealing\": \"\"",
        "\"cpu_seconds\": 0.500000", "\"gbps\": 0.016000", "\"messages_per_second\": 2000.0",
        "\"completion_us\": {\"min\": 5.000"})
    EXPECT_NE(found.find(wanted), std::string::npos) << wanted << "\n" << found;
  EXPECT_EQ(found.find("intervals"), std::string::npos);
  result.figures.keyed = true;
  result.sealing = "openssl";
  EXPECT_NE(text(plan, result).find(" paths used, sealed by openssl\n"), std::string::npos);
  EXPECT_NE(json(plan, "adaptive", 0.5, result).find("\"sealing\": \"openssl\""),
            std::string::npos);
  EXPECT_EQ(found.find("error"), std::string::npos);
}

}  // namespace
}  // namespace strack::perf
