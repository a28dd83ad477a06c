#include "cli/copy_attempts.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <numeric>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/text.h"
#include "cli/udp_options.h"
#include "transfer/messages.h"
#include "transfer/reconnect.h"

namespace strack::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSlots = 128;  ///< messages under way of a connection

int give_up(const std::string& problem, const Totals& totals) {
  fail(problem, 1);
  if (totals.attempts > 0)
    fmt::print(stderr, "       {} of {} are there: the same command goes on where it was\n",
               size_of(totals.most), size_of(totals.all));
  return 1;
}

int interrupted(const Totals& totals) {
  fmt::print(stderr, "interrupted after {} of {}: the same command goes on where it was\n",
             size_of(totals.most), size_of(totals.all));
  return interrupted_status();
}

void nap(std::chrono::milliseconds time, const std::atomic<bool>& stop) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end && !stop.load(std::memory_order_relaxed))
    std::this_thread::sleep_for(std::min<Clock::duration>(kNap, end - Clock::now()));
}

}  // namespace

std::string size_of(std::uint64_t count) {
  return size_text(bytes(static_cast<std::int64_t>(count)));
}

std::string plural(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string holes_text(std::uint64_t count) {
  return count == 0 ? std::string() : fmt::format(" and {} of holes", size_of(count));
}

bool prepare(const std::string& peer_timeout, const transfer::Protection& protection,
             udp::EndpointOptions& settings) {
  const auto timeout = parse_peer_timeout(peer_timeout);
  if (!timeout) {
    fail(timeout.error());
    return false;
  }
  settings.peer_timeout = timeout.value();
  const auto warning = transfer::protect(protection, settings);
  if (!warning) {
    fail(warning.error());
    return false;
  }
  if (warning.value()) fmt::print(stderr, "warning: {}\n", *warning.value());
  settings.user_data = transfer::kService;
  settings.message_slots = kSlots;
  return true;
}

std::string bar_text(double part, std::size_t width) {
  const auto filled =
      static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(width));
  std::string bar(width, ' ');
  std::fill_n(bar.begin(), filled, '=');
  if (filled < width) bar[filled] = '>';
  return '[' + bar + ']';
}

std::vector<std::string> progress_lines(std::uint64_t done, std::uint64_t all, double seconds,
                                        const std::string& what, transfer::Pace& pace,
                                        const PathText& paths) {
  constexpr std::size_t kShortBar = 10;
  const double part =
      all == 0 ? 1 : static_cast<double>(std::min(done, all)) / static_cast<double>(all);
  const auto now = Clock::now();
  // The first line comes late, and tells of all that was before it.
  if (pace.empty())
    pace.note(0, now - std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(seconds)));
  pace.note(done, now);
  const std::string percent = fmt::format("{:.1f} %", 100 * part);
  const std::string bar = bar_text(part, kShortBar) + ' ' + percent;
  const std::string bytes = fmt::format("{} of {}", size_of(done), size_of(all));
  const std::string rate = pace.text();
  const std::string left = time_left(seconds, part);
  const auto line = [](std::initializer_list<std::string_view> parts) {
    std::string out;
    for (const std::string_view one : parts) {
      if (!one.empty()) out.append(out.empty() ? "" : "  ").append(one);
    }
    return out;
  };
  return {line({bar_text(part) + ' ' + percent, bytes, what, rate, left, paths.text}),
          line({bar, bytes, what, rate, left, paths.brief}),
          line({bar, bytes, rate, left, paths.brief}),
          line({bar, rate, left, paths.brief}),
          line({percent, rate, left, paths.brief}),
          line({percent, rate, left}),
          line({percent, left}),
          percent};
}

void PathPace::note(const std::vector<udp::PathStatistics>& paths, Clock::time_point now) {
  Sample sample{now, {}};
  for (const udp::PathStatistics& one : paths) sample.packets[one.path] = one.packets;
  add(std::move(sample));
}

void PathPace::note(const std::vector<std::uint64_t>& arrivals, Clock::time_point now) {
  Sample sample{now, {}};
  for (std::uint32_t path = 0; path < arrivals.size(); ++path) {
    if (arrivals[path] > 0) sample.packets[path] = arrivals[path];
  }
  add(std::move(sample));
}

void PathPace::add(Sample sample) {
  samples_.push_back(std::move(sample));
  while (samples_.size() > 2 && samples_.back().at - samples_[1].at >= transfer::Pace::kWindow)
    samples_.pop_front();
}

PathText PathPace::text(std::uint32_t of, const transfer::Pace& pace) const {
  if (samples_.size() < 2 || pace.recent_bytes() == 0) return {};
  const auto& before = samples_.front().packets;
  std::vector<std::uint64_t> carried;
  for (const auto& [path, packets] : samples_.back().packets) {
    const auto found = before.find(path);
    const std::uint64_t lately = packets - (found == before.end() ? 0 : found->second);
    if (lately > 0) carried.push_back(lately);
  }
  if (carried.empty()) return {};
  const double all =
      static_cast<double>(std::accumulate(carried.begin(), carried.end(), std::uint64_t{0}));
  const auto bytes_of = [&](std::uint64_t packets) {
    return static_cast<double>(pace.recent_bytes()) * static_cast<double>(packets) / all;
  };
  const auto rate = [&](std::uint64_t packets) {
    return transfer::rate_text(static_cast<std::uint64_t>(bytes_of(packets)),
                               pace.recent_seconds());
  };
  const auto [fewest, most] = std::minmax_element(carried.begin(), carried.end());
  const double mbps = pace.recent_seconds() > 0 ? 8e-6 / pace.recent_seconds() : 0;
  return {
      fmt::format("{} of {} paths, {} to {} each", carried.size(), of, rate(*fewest), rate(*most)),
      fmt::format("{} paths, {:.3g} to {:.3g} Mb/s", carried.size(), mbps * bytes_of(*fewest),
                  mbps * bytes_of(*most))};
}

void Totals::add(const Attempt& attempt) {
  const transfer::Sender::Progress& progress = attempt.progress;
  last = progress;
  ++attempts;
  most = std::max(most, progress.bytes);
  copied += progress.files - progress.there;
  sent += progress.sent_bytes;
  again += progress.again_bytes;
  holes += progress.hole_bytes;
  all = std::max(all, attempt.all);
  sockets = attempt.sockets;
}

std::string Totals::text(double seconds, std::size_t skipped, bool or_more) const {
  const std::string what =
      plural(copied, "file") + (last.links > 0 ? ", " + plural(last.links, "link") : "");
  const std::uint64_t there = last.files > copied ? last.files - copied : 0;
  const std::uint64_t sent_last = last.sent_bytes - last.again_bytes;
  const std::uint64_t sent_before = sent - again - sent_last;
  const std::uint64_t holes_before = holes - last.hole_bytes;
  const std::uint64_t brought = std::min(last.kept_bytes, sent_before + holes_before);
  const std::uint64_t kept = last.kept_bytes - brought;
  // What an earlier attempt sent and the last one found there counts, what had to be sent again does not.
  const std::uint64_t arrived = sent_last + brought - std::min(brought, holes_before);
  std::string text = fmt::format("copied {}, {}{} in {:.1f} s, {}", what, size_of(arrived),
                                 holes_text(last.hole_bytes + std::min(brought, holes_before)),
                                 seconds, transfer::rate_text(arrived, seconds));
  if (sent > arrived) text += fmt::format("; {} sent twice", size_of(sent - arrived));
  if (there > 0) text += fmt::format("; {} there already", plural(there, "file"));
  if (kept > 0 && last.files > there)
    text += fmt::format("; {} did not have to be sent", size_of(kept));
  if (attempts > 1) text += fmt::format("; connected again {}", plural(attempts - 1, "time"));
  if (last.removed > 0) text += fmt::format("; {} removed", last.removed);
  if (last.refused > 0) text += fmt::format("; {} refused", last.refused);
  if (last.not_begun > 0) text += fmt::format("; {} not begun", last.not_begun);
  if (skipped + last.skipped > 0)
    text += fmt::format("; {}{} skipped", or_more ? "at least " : "", skipped + last.skipped);
  return text;
}

std::optional<int> attempt_until_done(const Course& course, Totals& totals,
                                      const std::atomic<bool>& stop) {
  transfer::Reconnect again(course.reconnect, std::random_device{}());
  bool waits_in_turn = false;  // which is said once
  while (true) {
    std::string problem;
    udp::Status lost = udp::Status::ok;
    const auto addresses = course.addresses();
    if (stop.load()) return interrupted(totals);
    if (!addresses) {
      if (totals.attempts == 0) return fail(addresses.error());
      // With a network that is gone, names and ssh are, too; they come back with it.
      const auto wait = again.next(Clock::now());
      if (!wait) return give_up(addresses.error(), totals);
      nap(*wait, stop);
      continue;
    }
    auto dialled = transfer::dial(addresses.value(), course.settings, stop);
    if (dialled) {
      const std::uint64_t most = totals.most;
      const Attempt attempt = course.attempt(dialled.value(), totals.attempts > 0);
      if (attempt.lost != udp::Status::busy) totals.add(attempt);
      if (attempt.stopped) return interrupted(totals);
      if (attempt.problem.empty()) return std::nullopt;
      if (attempt.lost == udp::Status::ok) {
        fail(attempt.problem, 1);
        if (!attempt.finished) return 1;
        totals.failed = true;
        return std::nullopt;
      }
      if (totals.most > most) again.progressed();
      problem = attempt.problem;
      lost = attempt.lost;
    } else {
      const transfer::NotDialled& why = dialled.error();
      if (why.stopped) return interrupted(totals);
      if (!why.mistake.empty()) return fail(why.mistake);
      problem = transfer::explain(why.status, why.address, "strack recv", course.protection);
      lost = why.status;
      if (totals.attempts == 0 && !waits_in_turn && lost != udp::Status::busy &&
          lost != udp::Status::went_silent)
        return fail(problem, 1);
    }
    const auto wait =
        transfer::Reconnect::worthwhile(lost) ? again.next(Clock::now()) : std::nullopt;
    if (!wait) return give_up(problem, totals);
    const bool heard_once = lost == udp::Status::went_silent;
    const bool in_turn = lost == udp::Status::busy || heard_once;
    if ((in_turn ? !waits_in_turn : dialled.ok()) && !course.quiet)
      fmt::print(stderr, "{}; {}, for up to {}\n", problem,
                 heard_once ? "trying again"
                 : in_turn  ? "waiting for a turn"
                            : "connecting again",
                 text_of(again.limit()));
    waits_in_turn = in_turn || (waits_in_turn && !dialled);
    nap(*wait, stop);
  }
}

}  // namespace strack::cli
