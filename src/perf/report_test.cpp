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
  result.cpu_seconds = 0.5;
  const std::string found = json(plan, "adaptive", result);
  for (const char* wanted :
       {"{\"ok\": true, ", "\"policy\": \"adaptive\"", "\"sealing\": \"\"",
        "\"cpu_seconds\": 0.500000", "\"gbps\": 0.016000", "\"messages_per_second\": 2000.0",
        "\"completion_us\": {\"min\": 5.000"})
    EXPECT_NE(found.find(wanted), std::string::npos) << wanted << "\n" << found;
  EXPECT_EQ(found.find("intervals"), std::string::npos);
  result.figures.keyed = true;
  result.sealing = "openssl";
  EXPECT_NE(text(plan, result).find(" paths used, sealed by openssl\n"), std::string::npos);
  EXPECT_NE(json(plan, "adaptive", result).find("\"sealing\": \"openssl\""), std::string::npos);
  EXPECT_EQ(found.find("error"), std::string::npos);
  EXPECT_NE(found.find("\"hints\": []"), std::string::npos);
  plan.direction = Direction::both;
  result.received_messages = 4;
  result.received_bytes = 4'000;
  result.total_seconds = 1;
  result.server_cpu_seconds = 0.25;
  result.hints = {"do \"this\""};
  EXPECT_EQ(text(plan, result).substr(0, 26), "both ways stream of 1 KB o");
  EXPECT_NE(text(plan, result).find("  from there   32.000 Mb/s, 4 messages\n"), std::string::npos);
  EXPECT_NE(text(plan, result).find("  CPU          50 % of one here, 25 % there\n  hint: do"),
            std::string::npos)
      << text(plan, result);
  // Zeros would read like a measurement, and set-up may have been cut off before anything was sealed.
  EXPECT_NE(found.find("\"server\": null, \"hints\""), std::string::npos) << found;
  EXPECT_NE(found.find("\"keyed\": false"), std::string::npos);
  result.figures.keyed = false;
  plan.protection.key_file = "k";
  result.server_told = true;
  const std::string both = json(plan, "adaptive", result);
  for (const char* wanted : {"\"server\": {\"messages\": 0, ", "\"keyed\": true"})
    EXPECT_NE(both.find(wanted), std::string::npos) << wanted << "\n" << both;
  for (const char* wanted :
       {"\"both\": true", "\"received_messages\": 4", "\"received_gbps\": 0.032000",
        "\"cpu_seconds\": 0.250000", "\"hints\": [\"do \\\"this\\\"\"]"})
    EXPECT_NE(both.find(wanted), std::string::npos) << wanted << "\n" << both;
}

TEST(PerfReport, PathsWorstFirst) {
  ClientResult result;
  result.paths = {{1, 100, 0, 100, 2, 20'000, 9'000},
                  {2, 50, 3, 40, 0, 10'000, 8'000},
                  {9, 50, 0, 50, 2, 30'500, 7'000}};
  result.server_paths = {{7, 5, 1, 4, 0, 12'000, 6'000}};
  EXPECT_EQ(path_csv(result),
            "sender,path,packets,lost,sacks,marks,rtt_us,lowest_rtt_us\n"
            "client,2,50,3,40,0,10.000,8.000\n"
            "client,9,50,0,50,2,30.500,7.000\n"
            "client,1,100,0,100,2,20.000,9.000\n"
            "server,7,5,1,4,0,12.000,6.000\n");
  EXPECT_EQ(path_table(result.paths),
            "  path     packets   share    lost   marks      RTT us   lowest us\n"
            "     2          50  25.0 %       3       0        10.0         8.0\n"
            "     9          50  25.0 %       0       2        30.5         7.0\n"
            "     1         100  50.0 %       0       2        20.0         9.0\n");
  EXPECT_NE(json({}, "adaptive", result)
                .find("\"per_path\": [{\"path\": 2, \"packets\": 50, \"lost\": 3, \"sacks\": 40"),
            std::string::npos);
  // A server tells of some connections only, and it is said of how many.
  Plan plan;
  plan.connections = 200;
  result.server_paths_of = 64;
  const std::string table = path_table(result.server_paths);
  EXPECT_EQ(server_path_table(plan, result),
            "what the server sent on 64 of 200 connections:\n" + table);
  EXPECT_NE(json(plan, "adaptive", result).find("], \"server_per_path_connections\": 64, "),
            std::string::npos);
  plan.connections = 64;
  EXPECT_EQ(server_path_table(plan, result), "what the server sent:\n" + table);
  result.server_paths.clear();
  EXPECT_EQ(server_path_table(plan, result), "");
}

// Of several connections: counts are added, times weighted by answers.
TEST(PerfReport, PathsOfConnectionsAreOne) {
  udp::PathStatistics sum{4, 10, 1, 10, 1, 100, 50};
  add(sum, {4, 30, 0, 30, 2, 200, 40});
  EXPECT_EQ(sum.packets, 40u);
  EXPECT_EQ(sum.lost, 1u);
  EXPECT_EQ(sum.sacks, 40u);
  EXPECT_EQ(sum.marks, 3u);
  EXPECT_EQ(sum.rtt_ns, 175u);
  EXPECT_EQ(sum.lowest_rtt_ns, 40u);
}

}  // namespace
}  // namespace strack::perf
