// The server's side of a test: takes connections of an endpoint, and takes or answers what they send.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "perf/arena.h"
#include "perf/protocol.h"
#include "transfer/guests.h"
#include "udp/endpoint.h"

namespace strack::perf {

/// Of this program, all its threads, since it began.
[[nodiscard]] double cpu_seconds();

/// How a connection that had spoken ended.
struct ServerResult {
  bool ok = false;      ///< it has had its report
  bool tested = false;  ///< it was a test, and not a mistake
  std::string peer;
  Pattern pattern = Pattern::stream;
  Direction direction = Direction::client;  ///< who sent
  std::uint64_t size = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sent_bytes = 0;  ///< by the server
  double seconds = 0;
  std::uint64_t marks_received = 0;
  std::uint64_t duplicates_received = 0;
  std::string problem;  ///< why it is not ok
};

class Server {
 public:
  using Clock = std::chrono::steady_clock;

  /// What peers can cost at most.
  struct Limits {
    std::size_t most = 1344;  ///< connections; beyond, transfer::Guests says who goes
    /// Until a connection asks for a test; and for it to leave after its report.
    std::chrono::milliseconds patience = std::chrono::seconds(10);
    /// Without a packet of data in a test.
    std::chrono::milliseconds silence = std::chrono::seconds(60);
    /// The same, and it may have to go for others.
    std::chrono::milliseconds idle = std::chrono::seconds(15);
  };
  /// What an endpoint needs for that: room for those that are being turned away, and less than half of it, as
  /// much as may be in the middle of set-up, for one source: as many as a client may ask for, and a quarter is left to
  /// others.
  static void prepare(udp::EndpointOptions& options);

  Server(udp::Endpoint& endpoint, std::function<void(const ServerResult&)> ended, Limits limits)
      : endpoint_(endpoint),
        ended_(std::move(ended)),
        limits_(limits),
        guests_(limits.most, limits.idle),
        arena_(kMaxSize) {}

  [[nodiscard]] bool has_memory() const { return static_cast<bool>(arena_); }
  [[nodiscard]] bool idle() const { return sessions_.empty(); }

  void on(const udp::Completion& completion, Clock::time_point now);
  /// Ends those who are silent for too long; to be called now and then.
  void look_for_silence(Clock::time_point now);

 private:
  struct Session;

  void on_accepted(const udp::Completion& completion, Clock::time_point now);
  void on_words(Session& session, std::uint64_t index, std::uint64_t length, Clock::time_point now);
  void on_data(Session& session, const udp::Completion& completion, Clock::time_point now);
  void begin(Session& session, const Words& request, Clock::time_point now);
  void post_words(Session& session, std::size_t index);
  udp::Status post_data(Session& session);
  void say(Session& session, const Words& words);
  void pay(Session& session);
  void send_on(Session& session);
  void on_sent(Session& session, Clock::time_point now);
  void report(Session& session, Clock::time_point now);
  void end_rudely(Session& session, const std::string& why);
  void end(Session& session, const std::string& problem);

  udp::Endpoint& endpoint_;
  std::function<void(const ServerResult&)> ended_;
  Limits limits_;
  transfer::Guests guests_;
  Clock::time_point looked_at_{};
  /// Sessions that keep account of their paths, which takes memory; no more than so many do.
  static constexpr std::size_t kMostTellPaths = 64;
  std::size_t tell_paths_ = 0;
  Arena arena_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions_;  ///< by connection
};

}  // namespace strack::perf
