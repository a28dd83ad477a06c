// What came of a test, as text for people and as JSON (docs/udp-tools.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perf/client.h"
#include "perf/server.h"

namespace strack::perf {

/// "9.412 Gb/s  cwnd 1.2 MB  RTT ...": a line that changes while the test runs.
[[nodiscard]] std::string live_text(const Sample& sample);
/// A few lines; empty where nothing was sent.
[[nodiscard]] std::string text(const Plan& plan, const ClientResult& result);
/// One object. `policy` is --policy's.
[[nodiscard]] std::string json(const Plan& plan, std::string_view policy,
                               const ClientResult& result);

/// Path by path, the worst first: a table, and lines of CSV with a header.
[[nodiscard]] std::string path_table(const std::vector<udp::PathStatistics>& paths);
/// That of the server, and of how many connections it is where not of all; empty where it told nothing.
[[nodiscard]] std::string server_path_table(const Plan& plan, const ClientResult& result);
[[nodiscard]] std::string path_csv(const ClientResult& result);

[[nodiscard]] std::string text(const ServerResult& result);
[[nodiscard]] std::string json(const ServerResult& result);

}  // namespace strack::perf
