// What both ways of `strack cp`, and `strack recv`, have in common: how they connect, take turns, and say how far
// they are; and how a copy goes on after a connection was lost.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/progress.h"
#include "transfer/dial.h"
#include "transfer/event_wait.h"
#include "transfer/protection.h"
#include "transfer/rate.h"
#include "transfer/sender.h"
#include "transfer/worker.h"
#include "udp/endpoint.h"

namespace strack::cli {

inline constexpr auto kSpin = std::chrono::microseconds(50);
inline constexpr auto kNap = std::chrono::milliseconds(100);

[[nodiscard]] std::string size_of(std::uint64_t count);
[[nodiscard]] std::string plural(std::uint64_t count, std::string_view one);

/// What both sides say about the transport; false after an error was printed.
[[nodiscard]] bool prepare(const std::string& peer_timeout, const transfer::Protection& protection,
                           udp::EndpointOptions& settings);

/// Polls endpoint, worker and `side` until nothing is to be done, then sleeps.
template <class Side>
void turn(udp::Endpoint& endpoint, transfer::Worker& worker, Side& side,
          std::chrono::steady_clock::time_point& busy_at, std::chrono::milliseconds nap = kNap) {
  std::array<udp::Completion, 256> taken;
  bool any = endpoint.poll();
  for (const udp::Completion& completion : endpoint.completions(taken)) {
    side.on(completion);
    any = true;
  }
  any = worker.deliver() || any;
  any = side.pump() || any;
  const auto now = std::chrono::steady_clock::now();
  if (any) {
    busy_at = now;
  } else if (now - busy_at > kSpin) {
    transfer::sleep_for_event(endpoint, worker, nap);
  }
}

/// " and 5.4 GB of holes"; nothing where there are none.
[[nodiscard]] std::string holes_text(std::uint64_t count);

/// "[=====>    ]"; `part` of one.
[[nodiscard]] std::string bar_text(double part, std::size_t width = 20);

/// What is said of paths; both empty before there is anything to tell.
struct PathText {
  std::string text;   ///< "12 of 256 paths, 61.000 Mb/s to 95.000 Mb/s each"
  std::string brief;  ///< "12 paths, 61 to 95 Mb/s"
};

/// For ProgressLine: all there is to tell, then less and less. Time and paths stay on a terminal of 80 columns. `what`:
/// of files, may be empty.
[[nodiscard]] std::vector<std::string> progress_lines(std::uint64_t done, std::uint64_t all,
                                                      double seconds, const std::string& what,
                                                      transfer::Pace& pace,
                                                      const PathText& paths = {});

/// What each path has carried lately, as `transfer::Pace` has it for all of them.
class PathPace {
 public:
  using Clock = transfer::Pace::Clock;

  /// `paths`: as an endpoint counts them, those that packets have taken.
  void note(const std::vector<udp::PathStatistics>& paths, Clock::time_point now);
  /// `arrivals`: of a side that receives.
  void note(const std::vector<std::uint64_t>& arrivals, Clock::time_point now);
  /// Of those that carried something lately.
  [[nodiscard]] PathText text(std::uint32_t of, const transfer::Pace& pace) const;

 private:
  struct Sample {
    Clock::time_point at;
    std::map<std::uint32_t, std::uint64_t> packets;  ///< by path
  };
  void add(Sample sample);
  std::deque<Sample> samples_;
};

struct PacedLine : ProgressLine {
  using ProgressLine::ProgressLine;
  transfer::Pace pace;
};

/// What came of one connection's life.
struct Attempt {
  bool stopped = false;
  bool finished = false;  ///< what could be copied is there for good, whatever the problem was
  std::string problem;
  udp::Status lost = udp::Status::ok;  ///< how the connection ended, where that is the problem
  transfer::Sender::Progress progress;
  std::uint64_t all = 0;  ///< bytes that there are to copy, as far as it is known
  udp::SocketLimits sockets{};
};

/// Of all attempts. What one has stored is there already for the next.
struct Totals {
  transfer::Sender::Progress last;
  std::uint64_t attempts = 0;
  std::uint64_t most = 0;    ///< bytes that were done when it came furthest
  std::uint64_t copied = 0;  ///< files
  std::uint64_t sent = 0;
  std::uint64_t again = 0;  ///< of these, sent again since the checksum was wrong
  std::uint64_t holes = 0;  ///< bytes that did not have to be
  std::uint64_t all = 0;
  bool failed = false;        ///< it went to its end without all: that was said
  udp::SocketLimits sockets;  ///< of the last one

  void add(const Attempt& attempt);
  /// `skipped`: what could not be read, of which there may be more than is known.
  [[nodiscard]] std::string text(double seconds, std::size_t skipped, bool or_more = false) const;
};

/// A copy, whichever way it goes.
struct Course {
  std::string peer_timeout;
  std::chrono::milliseconds reconnect{0};
  bool quiet = false;
  transfer::Protection protection;
  udp::EndpointOptions settings;
  /// Where to connect; asked before every attempt. Or says what is wrong.
  std::function<Result<std::vector<std::string>, std::string>()> addresses;
  /// `again`: an earlier one has brought something.
  std::function<Attempt(transfer::Dialled& dialled, bool again)> attempt;
};
/// Until all is copied or it makes no sense to go on. Returns the program's status once it has said why; nothing
/// after an end that has a last line.
[[nodiscard]] std::optional<int> attempt_until_done(const Course& course, Totals& totals,
                                                    const std::atomic<bool>& stop);

}  // namespace strack::cli
