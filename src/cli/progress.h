// One line at the bottom of a terminal that says how far a long command is, and then is gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "sim/simulation.h"

namespace strack::cli {

/// Shows itself only on a terminal, only after two seconds, and at most ten times a second.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  /// `wanted` false, or standard error not a terminal: nothing is ever shown.
  explicit ProgressLine(bool wanted);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  /// Whether a new line would be shown now; asked before the line is made.
  [[nodiscard]] bool due() const;
  void show(const std::string& line) { show(std::span(&line, 1)); }
  /// The first of these that the terminal has room for; the last is cut.
  void show(std::span<const std::string> lines);
  /// Takes the line away, so that something else can be printed.
  void clear();

  [[nodiscard]] double seconds() const;  ///< since the start

 private:
  bool enabled_;
  bool shown_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point drawn_{};
};

/// The first that fits in so many columns; where none does, so much of the last.
[[nodiscard]] std::string fitting_line(std::span<const std::string> lines, std::size_t columns);

/// "1.204 ms  5120 of 8192 flows  62.5 %  14.2 M packet-hops/s  about 12 s left"
[[nodiscard]] std::string describe(const sim::Progress& progress, double seconds);

/// "about 40 s left", "about 3 min left"; from how much is done, in parts of one.
[[nodiscard]] std::string time_left(double seconds, double done);

}  // namespace strack::cli
