// The client's side of a test: connects, agrees on the test, runs it to its end, and has the figures.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "perf/arena.h"
#include "perf/plan.h"
#include "perf/protocol.h"
#include "transfer/histogram.h"
#include "transfer/reconnect.h"
#include "udp/endpoint.h"

namespace strack::perf {

/// Sums over connections, and what of them is worth showing.
struct Figures {
  std::uint64_t cwnd = 0;
  std::uint64_t rtt_ns = 0;
  std::uint64_t base_rtt_ns = 0;
  std::uint64_t qdelay_ns = 0;
  std::uint64_t paths = 0;
  std::uint64_t paths_used = 0;
  std::uint64_t payload = 0;
  std::uint64_t packets = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t loss_episodes = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t probes = 0;
  std::uint64_t sacks = 0;
  std::uint64_t marks = 0;
  std::uint64_t credit_stalls = 0;
  bool keyed = false;

  void add(const udp::ConnectionStatistics& s);
};

/// Of the same path: counts are added, times are those of all answers.
void add(udp::PathStatistics& sum, const udp::PathStatistics& one);

/// A stretch of the test.
struct Sample {
  double at = 0;       ///< its end, in seconds since the first message
  double seconds = 0;  ///< its length
  std::uint64_t bytes = 0;
  Figures figures;    ///< at its end
  double silent = 0;  ///< seconds since anything was acknowledged, at its end
};

struct ClientResult {
  bool ok = false;
  bool interrupted = false;
  bool mistake = false;          ///< of the user's: no attempt could begin
  std::string problem;           ///< why it did not go to its end; empty otherwise
  double seconds = 0;            ///< from the first message to the last that was acknowledged
  std::uint64_t reconnects = 0;  ///< times that all connections were made again
  double setup_seconds = 0;
  double total_seconds = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t warm_up_bytes = 0;  ///< before the time that counts, and not among `bytes`
  /// Those that the server sent, where both send: `bytes` are then the client's.
  std::uint64_t received_messages = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t received_warm_up_bytes = 0;
  transfer::Histogram times;  ///< of messages, in nanoseconds
  Figures figures;
  std::string sealing;               ///< the library that seals packets; empty without a key
  udp::EndpointStatistics endpoint;  ///< since the last reconnect, like `figures`
  udp::SocketLimits sockets;         ///< what the system has given it
  bool server_told = false;          ///< of all connections; else what follows says nothing
  /// As the server counted them, since the last reconnect: those that it received or, where it alone sends, sent.
  std::uint64_t server_messages = 0;
  std::uint64_t server_bytes = 0;
  std::uint64_t server_marks = 0;
  std::uint64_t server_duplicates = 0;
  std::uint64_t server_sent_messages = 0;
  std::uint64_t server_sent_bytes = 0;
  double server_cpu_seconds = 0;     ///< of the whole program there, since the test was asked for
  std::uint64_t server_threads = 0;  ///< that move packets there; 0: the program does
  std::vector<Sample> intervals;
  double cpu_seconds = 0;                  ///< of this program, until the end
  std::vector<udp::PathStatistics> paths;  ///< all connections' together, where they were wanted
  std::vector<udp::PathStatistics> server_paths;  ///< the same of what the server sent
  std::uint64_t server_paths_of = 0;              ///< connections that it told of: it has a limit
  std::vector<std::string> hints;  ///< what stands in the way of more, and what would help
};

class Client {
 public:
  using Clock = std::chrono::steady_clock;

  struct Events {
    /// Every `Plan::interval`.
    std::function<void(const Sample&)> interval;
    /// The connections were lost, in these words, and will be asked for again.
    std::function<void(const std::string& problem)> lost;
    /// Before each time that they are: what the settings say of keys may have changed.
    std::function<void()> again;
    /// After each round of the loop, for whoever shows something of it.
    std::function<void()> round;
  };

  /// Between two looks at the statistics of so many connections: each look costs all of them a microsecond, which would be
  /// a part of what is measured.
  [[nodiscard]] static constexpr std::chrono::microseconds statistics_every(
      std::size_t connections) {
    return std::max<std::chrono::microseconds>(std::chrono::milliseconds(50),
                                               std::chrono::microseconds(250) * connections);
  }

  /// What an endpoint needs for a test.
  static void prepare(udp::EndpointOptions& settings, const Plan& plan);

  Client(const udp::EndpointOptions& settings, const Plan& plan, Events events);
  ~Client();

  [[nodiscard]] bool has_memory() const { return arena_ && sink_; }
  /// The whole test. Ends early, with the figures so far, when the flag is set.
  ClientResult run(const std::atomic<bool>& stop);
  /// Since the last call, or the beginning; nothing before the first message.
  [[nodiscard]] std::optional<Sample> sample();

 private:
  struct Connection;
  enum class State : std::uint8_t { connecting, asked, running, finishing, closing, over };
  struct Mark {
    Clock::time_point at{};
    std::uint64_t bytes = 0;
  };

  bool connect(const std::atomic<bool>& stop);
  void test(const std::atomic<bool>& stop);
  void finish(const std::atomic<bool>& stop);
  bool wait_to_reconnect(transfer::Reconnect& reconnect, const std::atomic<bool>& stop);
  void renew(Connection& connection) const;
  template <class Done>
  void loop(const std::atomic<bool>& stop, Done done);
  void on(const udp::Completion& completion, Clock::time_point now);
  void on_words(Connection& connection, std::uint64_t index, std::uint64_t length);
  void fail_with(std::string problem);
  void lose(udp::Status status, std::string problem);
  void post_words(Connection& connection, std::size_t index);
  udp::Status say(Connection& connection, const Words& words);
  void issue(Connection& connection, Clock::time_point now);
  bool issue_one(Connection& connection, Clock::time_point now);
  void issue_in_turn(Clock::time_point now);
  [[nodiscard]] std::chrono::nanoseconds pace() const;
  bool count_message(Connection& connection, Clock::time_point now);
  void on_received(Connection& connection, Clock::time_point now);
  [[nodiscard]] std::uint64_t left_to_receive(const Connection& connection) const;
  void post_sink(Connection& connection);
  void complete(Connection& connection, std::uint32_t slot, Clock::time_point now);
  [[nodiscard]] bool all_at(State state) const;
  [[nodiscard]] bool all_idle() const;
  [[nodiscard]] std::uint64_t all_bytes() const { return result_.bytes + result_.warm_up_bytes; }
  [[nodiscard]] std::uint64_t all_received() const {
    return result_.received_bytes + result_.received_warm_up_bytes;
  }
  [[nodiscard]] bool is_late(Clock::time_point now) const;
  [[nodiscard]] Sample since(Mark& mark, Clock::time_point now) const;
  void conclude();
  void conclude_paths();
  void take_statistics(Clock::time_point now);

  const udp::EndpointOptions& settings_;
  const Plan& plan_;
  Events events_;
  std::optional<udp::Endpoint> endpoint_;  ///< while there is a connection
  std::string server_;                     ///< the address that answered
  Arena arena_;
  Arena sink_;
  std::vector<Connection> connections_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  udp::Status lost_ = udp::Status::ok;  ///< how the connection ended, where that is the problem
  bool heard_ = false;                  ///< there is a server
  bool told_ = false;                   ///< that it was lost, since it was last heard
  std::uint64_t counted_from_ = 0;      ///< bytes that the present server has not seen
  std::uint64_t received_from_ = 0;     ///< or not sent
  bool issuing_ = true;
  Clock::time_point asked_{};
  Clock::time_point began_{};
  Clock::time_point last_{};
  Clock::time_point counts_from_{};  ///< the end of the warm-up
  Clock::time_point next_at_{};      ///< when the target rate lets another message go
  std::size_t turn_ = 0;             ///< the connection that it is the turn of
  Clock::time_point end_at_ = Clock::time_point::max();
  Mark shown_;  ///< by `Events::interval`
  Mark taken_;  ///< by `sample`
  Clock::time_point statistics_at_{};
  std::uint64_t answers_ = 0;     ///< of all connections, when the statistics were last taken
  Clock::time_point answered_{};  ///< when there was another one
  ClientResult result_;
};

}  // namespace strack::perf
