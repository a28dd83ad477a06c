// What a test is to do, from the words of the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "perf/protocol.h"
#include "transfer/protection.h"

namespace strack::perf {

/// As people write it.
struct PlanWords {
  std::string server;  ///< "host:port" or "host"
  std::string size = "1MB";
  std::optional<std::uint64_t> count;  ///< messages of each connection
  std::string seconds;  ///< "5s" or "5"; empty: no limit if there is a count, else 5 s
  std::uint32_t connections = 1;
  std::string pattern = "stream";  ///< or "pingpong", "write"
  std::uint32_t depth = 0;         ///< messages under way on a connection; 0: follows from the size
  std::string interval;            ///< "1s": a line each; empty: none
  std::string target_rate;         ///< "1Gb/s", of all connections; empty: as fast as it goes
  bool reverse = false;            ///< the server sends
  bool both = false;               ///< and so does the client
  std::string warm_up;             ///< "1s" that does not count; empty: none
};

struct Plan {
  Pattern pattern = Pattern::stream;
  std::uint64_t size = 0;
  std::uint64_t count = 0;           ///< of each connection; 0: until the time is over
  std::chrono::nanoseconds time{0};  ///< 0: until the count is reached
  std::uint32_t connections = 1;
  std::uint32_t depth = 1;
  std::chrono::nanoseconds interval{0};
  Direction direction = Direction::client;
  std::uint64_t target_bps = 0;         ///< 0: as fast as it goes
  std::chrono::nanoseconds warm_up{0};  ///< before the time that counts
  [[nodiscard]] bool client_sends() const { return direction != Direction::server; }
  [[nodiscard]] bool server_sends() const { return direction != Direction::client; }
  std::vector<std::string> servers;  ///< numeric; those that its name stands for
  transfer::Protection protection;
  /// How long it is tried to get a lost connection back; 0: not at all.
  std::chrono::milliseconds reconnect{0};
  /// How long messages that are under way when the time is over have to come to their end.
  std::chrono::milliseconds grace = std::chrono::seconds(10);
};

/// Asks the resolver for the server's addresses. Or says what is wrong.
[[nodiscard]] Result<Plan, std::string> make_plan(const PlanWords& words,
                                                  const transfer::Protection& protection);

/// "5s", "500ms"; a bare number is seconds.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_seconds(std::string_view text);

}  // namespace strack::perf
