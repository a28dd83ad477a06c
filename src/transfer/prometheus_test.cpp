#include "transfer/prometheus.h"

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

udp::EndpointStatistics endpoint_statistics() {
  udp::EndpointStatistics statistics;
  statistics.connections = 2;
  statistics.datagrams_sent = 18'446'744'073'709'551'615u;
  statistics.refused_forged = 7;
  return statistics;
}

NamedConnection connection(std::uint64_t id, const std::string& peer) {
  NamedConnection one{peer, udp::ConnectionId{id}, {}};
  one.statistics.rtt_ns = 1'500'000'042;
  one.statistics.retransmissions = 11;
  one.statistics.keyed = true;
  return one;
}

// Every line is a comment or a sample; every sample has its HELP and TYPE before it, once, and all
// samples of a name stand together.
TEST(Prometheus, TheFormatIsRight) {
  const std::vector<NamedConnection> connections{connection(1, "127.0.0.1:1"),
                                                 connection(2, "[::1]:2")};
  std::istringstream text(prometheus_text("perf", endpoint_statistics(), connections));
  const std::regex head(R"(# (HELP|TYPE) (strack_[a-z_]+) (.+))");
  const std::regex sample(
      R"re((strack_[a-z_]+)\{([a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*)\} [0-9]+(\.[0-9]+)?)re");
  std::string line;
  std::string current;
  std::set<std::string> helped;
  std::map<std::string, std::string> types;
  std::set<std::string> series;
  while (std::getline(text, line)) {
    std::smatch found;
    if (std::regex_match(line, found, head)) {
      if (found[1] == "HELP") {
        EXPECT_TRUE(helped.insert(found[2]).second) << line;
      } else {
        EXPECT_TRUE(types.emplace(found[2], found[3]).second) << line;
        EXPECT_TRUE(found[3] == "counter" || found[3] == "gauge") << line;
      }
      current = found[2];
      continue;
    }
    ASSERT_TRUE(std::regex_match(line, found, sample)) << line;
    EXPECT_EQ(found[1], current) << line;
    EXPECT_TRUE(helped.contains(found[1]) && types.contains(found[1])) << line;
    EXPECT_EQ(types[found[1]] == "counter", found[1].str().ends_with("_total")) << line;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
  EXPECT_GT(series.size(), 80u);
}

TEST(Prometheus, ValuesAreTheStatistics) {
  const std::vector<NamedConnection> connections{connection(5, "a")};
  const std::string text = prometheus_text("recv", endpoint_statistics(), connections);
  for (const char* line :
       {"strack_connections{service=\"recv\"} 2\n",
        "strack_datagrams_sent_total{service=\"recv\"} 18446744073709551615\n",
        "strack_refused_total{service=\"recv\",cause=\"forged\"} 7\n",
        "strack_connection_rtt_seconds{service=\"recv\",connection=\"5\",peer=\"a\"} 1.500000042\n",
        "strack_connection_retransmissions_total{service=\"recv\",connection=\"5\",peer=\"a\"} "
        "11\n",
        "strack_connection_keyed{service=\"recv\",connection=\"5\",peer=\"a\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(Prometheus, LabelsAreEscaped) {
  const std::vector<NamedConnection> connections{connection(5, "a\"b\\c\nd")};
  EXPECT_NE(prometheus_text("x", {}, connections).find(R"re(peer="a\"b\\c\nd"} )re"),
            std::string::npos);
}

TEST(Prometheus, NoConnectionsNoConnectionFigures) {
  EXPECT_EQ(prometheus_text("x", {}, {}).find("strack_connection_"), std::string::npos);
}

}  // namespace
}  // namespace strack::transfer
