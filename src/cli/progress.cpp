#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "cli/text.h"

namespace strack::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);
constexpr auto kRedraw = std::chrono::milliseconds(100);

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool can_redraw() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

ProgressLine::ProgressLine(bool wanted) : enabled_(wanted && can_redraw()) {}

bool ProgressLine::due() const {
  if (!enabled_) return false;
  const auto now = Clock::now();
  return now - began_ >= kPatience && now - drawn_ >= kRedraw;
}

void ProgressLine::show(std::span<const std::string> lines) {
  if (!enabled_) return;
  // A line that wraps could not be redrawn.
  fmt::print(stderr, "\r\033[K{}", fitting_line(lines, terminal_columns() - 1));
  std::fflush(stderr);
  drawn_ = Clock::now();
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

double ProgressLine::seconds() const {
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

std::string fitting_line(std::span<const std::string> lines, std::size_t columns) {
  for (const std::string& line : lines) {
    if (line.size() <= columns) return line;
  }
  return lines.empty() ? std::string() : lines.back().substr(0, columns);
}

std::string time_left(double seconds, double done) {
  if (done <= 0) return "no estimate yet";
  const double left = seconds * (1 - done) / done;
  if (left < 90) return fmt::format("about {:.0f} s left", left);
  if (left < 5'400) return fmt::format("about {:.0f} min left", left / 60);
  return fmt::format("about {:.1f} h left", left / 3'600);
}

std::string describe(const sim::Progress& progress, double seconds) {
  const double done = progress.bytes == 0 ? 0
                                          : static_cast<double>(progress.bytes_acked) /
                                                static_cast<double>(progress.bytes);
  const double rate = seconds <= 0 ? 0 : static_cast<double>(progress.packet_hops) / seconds / 1e6;
  std::string what;
  if (progress.flows > 0 || progress.jobs == 0)
    what += fmt::format("  {} of {}", progress.flows_done, count_of(progress.flows, "flow"));
  if (progress.jobs > 0)
    what += fmt::format("  {} of {}", progress.jobs_done, count_of(progress.jobs, "job"));
  return fmt::format("{}{}  {:.1f} % of bytes  {:.1f} M packet-hops/s  {}",
                     time_text(progress.now - Instant{}), what, 100 * done, rate,
                     time_left(seconds, done));
}

}  // namespace strack::cli
