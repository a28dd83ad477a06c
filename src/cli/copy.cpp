#include "cli/copy.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/udp_options.h"
#include "transfer/dial.h"
#include "transfer/event_wait.h"
#include "transfer/file_limit.h"
#include "transfer/metrics_server.h"
#include "transfer/prometheus.h"
#include "transfer/rate.h"
#include "transfer/receiver.h"
#include "transfer/reconnect.h"
#include "transfer/sender.h"

namespace strack::cli {
namespace {

using Clock = std::chrono::steady_clock;
using transfer::Worker;

constexpr std::uint32_t kSlots = 128;         ///< messages under way of a connection
constexpr std::uint32_t kMostTransfers = 32;  ///< at a time; each takes 17 MB
/// More than transfers, for those that are being turned away; and less than half of them, as many as may be in
/// the middle of set-up, to one source.
constexpr std::uint32_t kMostConnections = 2 * kMostTransfers;
constexpr std::uint32_t kMostOfOneSource = 28;
constexpr auto kSpin = std::chrono::microseconds(50);
constexpr auto kNap = std::chrono::milliseconds(100);

std::string size_of(std::uint64_t count) {
  return size_text(bytes(static_cast<std::int64_t>(count)));
}

std::string plural(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

/// What both sides say about the transport; false after an error was printed.
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

/// Polls endpoint, worker and `side` until nothing is to be done, then sleeps.
template <class Side>
void turn(udp::Endpoint& endpoint, Worker& worker, Side& side, Clock::time_point& busy_at) {
  std::array<udp::Completion, 256> taken;
  bool any = endpoint.poll();
  for (const udp::Completion& completion : endpoint.completions(taken)) {
    side.on(completion);
    any = true;
  }
  any = worker.deliver() || any;
  any = side.pump() || any;
  const auto now = Clock::now();
  if (any) {
    busy_at = now;
  } else if (now - busy_at > kSpin) {
    transfer::sleep_for_event(endpoint, worker, kNap);
  }
}

std::string progress_text(std::uint64_t done, std::uint64_t all, double seconds,
                          const std::string& what, transfer::Pace& pace) {
  const double part =
      all == 0 ? 1 : static_cast<double>(std::min(done, all)) / static_cast<double>(all);
  pace.note(done, Clock::now());
  return fmt::format("{} of {}  {:.1f} %  {}{}  {}", size_of(done), size_of(all), 100 * part, what,
                     pace.text(), time_left(seconds, part));
}

struct PacedLine : ProgressLine {
  using ProgressLine::ProgressLine;
  transfer::Pace pace;
};

std::string summary_text(const transfer::TransferSummary& summary) {
  std::string text = fmt::format("{}: {}", summary.peer, plural(summary.files, "file"));
  if (summary.folders > 0) text += fmt::format(", {}", plural(summary.folders, "folder"));
  if (summary.links > 0) text += fmt::format(", {}", plural(summary.links, "link"));
  text += fmt::format(", {} in {:.1f} s", size_of(summary.bytes), summary.seconds);
  if (summary.resumed_bytes > 0)
    text += fmt::format(", {} kept from before", size_of(summary.resumed_bytes));
  if (summary.there > 0) text += fmt::format(", {} there already", summary.there);
  if (summary.refused > 0) text += fmt::format(", {} refused", summary.refused);
  if (summary.skipped > 0) text += fmt::format(", {} given up by the sender", summary.skipped);
  if (!summary.finished) text += fmt::format("; not finished: {}", summary.problem);
  return text;
}

/// What came of one connection's life.
struct Attempt {
  bool stopped = false;
  std::string problem;
  udp::Status lost = udp::Status::ok;  ///< how the connection ended, where that is the problem
  transfer::Sender::Progress progress;
};

Attempt copy_once(transfer::Dialled& dialled, const transfer::Tree& tree,
                  const transfer::Sender::Options& sending, ProgressLine& line,
                  const std::atomic<bool>& stop) {
  udp::Endpoint endpoint = std::move(dialled.endpoint);
  const udp::Completion& connected = dialled.connected;
  Worker worker;
  transfer::Sender sender(endpoint, connected.connection, worker, tree, sending);
  sender.on(connected);
  transfer::Pace pace;
  auto busy_at = Clock::now();
  while (!sender.over() && !stop.load(std::memory_order_relaxed)) {
    turn(endpoint, worker, sender, busy_at);
    if (!line.due()) continue;
    const auto& progress = sender.progress();
    line.show(progress_text(progress.bytes, tree.bytes, line.seconds(),
                            fmt::format("{} of {}  ", progress.files, plural(tree.files, "file")),
                            pace));
  }
  line.clear();
  if (!sender.over()) endpoint.abort(connected.connection);
  return {!sender.over(), sender.problem(), sender.lost(), sender.progress()};
}

/// Of all attempts. What one has stored is there already for the next.
struct Totals {
  transfer::Sender::Progress last;
  std::uint64_t attempts = 0;
  std::uint64_t most = 0;    ///< bytes that were done when it came furthest
  std::uint64_t copied = 0;  ///< files
  std::uint64_t sent = 0;

  void add(const transfer::Sender::Progress& progress) {
    last = progress;
    ++attempts;
    most = std::max(most, progress.bytes);
    copied += progress.files - progress.there;
    sent += progress.sent_bytes;
  }

  [[nodiscard]] std::string text(double seconds, std::size_t skipped) const {
    const std::string what =
        plural(copied, "file") + (last.links > 0 ? ", " + plural(last.links, "link") : "");
    const std::uint64_t there = last.files > copied ? last.files - copied : 0;
    const std::uint64_t sent_before = sent - last.sent_bytes;
    const std::uint64_t kept = last.kept_bytes > sent_before ? last.kept_bytes - sent_before : 0;
    // What an earlier attempt sent and the last one found there counts, what had to be sent again does not.
    const std::uint64_t arrived = last.sent_bytes + last.kept_bytes - kept;
    std::string text = fmt::format("copied {}, {} in {:.1f} s, {}", what, size_of(arrived), seconds,
                                   transfer::rate_text(arrived, seconds));
    if (sent > arrived) text += fmt::format("; {} sent twice", size_of(sent - arrived));
    if (there > 0) text += fmt::format("; {} there already", plural(there, "file"));
    if (kept > 0 && last.files > there)
      text += fmt::format("; {} did not have to be sent", size_of(kept));
    if (attempts > 1) text += fmt::format("; connected again {}", plural(attempts - 1, "time"));
    if (last.refused > 0) text += fmt::format("; {} refused", last.refused);
    if (skipped + last.skipped > 0) text += fmt::format("; {} skipped", skipped + last.skipped);
    return text;
  }
};

/// A folder that is not there is more often a slip than a wish.
Result<std::shared_ptr<transfer::Store>, std::string> open_store(const RecvOptions& options) {
  std::error_code unknown;
  if (!options.create && !std::filesystem::exists(options.dir, unknown))
    return fmt::format("there is no folder '{}'. give one that is there, or --create to make it",
                       options.dir);
  return transfer::Store::open(options.dir);
}

void warn_of(const transfer::Tree& tree) {
  for (const std::string& link : tree.named_links)
    fmt::print(stderr, "warning: copied as a link, without what it leads to: {}\n", link);
  for (const std::string& skipped : tree.skipped)
    fmt::print(stderr, "warning: not copied: {}\n", skipped);
  for (const std::string& twice : tree.twice)
    fmt::print(stderr, "warning: given twice, copied once: {}\n", twice);
}

int give_up(const std::string& problem, const Totals& totals, const transfer::Tree& tree) {
  fail(problem, 1);
  if (totals.attempts > 0)
    fmt::print(stderr, "       {} of {} are there: the same command goes on where it was\n",
               size_of(totals.most), size_of(tree.bytes));
  return 1;
}

void nap(std::chrono::milliseconds time, const std::atomic<bool>& stop) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end && !stop.load(std::memory_order_relaxed))
    std::this_thread::sleep_for(std::min<Clock::duration>(kNap, end - Clock::now()));
}

}  // namespace

int recv_files(const RecvOptions& options) {
  udp::EndpointOptions settings;
  settings.paths = options.paths;
  settings.burst = options.burst;
  settings.max_connections = kMostConnections;
  settings.max_connections_per_source = kMostOfOneSource;
  if (!prepare(options.peer_timeout, options.protection, settings)) return 2;
  const auto descriptors = transfer::raise_file_limit(options.paths);
  if (!descriptors) return fail(descriptors.error());
  const auto address = transfer::listen_address(options.bind, options.protection);
  if (!address) return fail(address.error());
  settings.listen = address.value().text;
  auto store = open_store(options);
  if (!store) return fail(store.error());
  auto opened = udp::Endpoint::open(settings);
  if (!opened) return fail(opened.error().text);
  udp::Endpoint endpoint = std::move(opened.value());
  std::optional<transfer::MetricsServer> metrics;
  if (!options.metrics.empty()) {
    auto listening = transfer::MetricsServer::open(
        options.metrics, [&endpoint] { return transfer::prometheus_text("recv", endpoint); });
    if (!listening) return fail(listening.error());
    metrics.emplace(std::move(listening.value()));
  }

  std::atomic<bool>& stop = stop_on_signals();
  std::optional<PacedLine> line;
  std::uint64_t ended = 0;
  bool last_good = false;
  transfer::Receiver::Events events;
  events.ended = [&](const transfer::TransferSummary& summary) {
    line.reset();
    ++ended;
    last_good = summary.finished && summary.refused + summary.skipped == 0;
    if (!options.quiet || !summary.finished)
      fmt::print(summary.finished ? stdout : stderr, "{}\n", summary_text(summary));
    std::fflush(stdout);
  };
  events.noted = [&](const std::string& peer, const std::string& text) {
    if (line) line->clear();
    fmt::print(stderr, "{}: {}\n", peer, text);
  };
  if (!options.quiet) {
    fmt::print("receiving into {} at {}{}{}\n", options.dir, endpoint.local_address(),
               options.bind.empty() && !options.protection.keyed() && !options.protection.insecure
                   ? ", for this host only: --key-file or --insecure opens it to others"
                   : "",
               metrics ? fmt::format(", metrics at http://{}/metrics", metrics->address()) : "");
    std::fflush(stdout);
  }
  {
    // The worker ends last: it writes down what is safe of transfers that were cut off.
    Worker worker;
    transfer::Receiver::Limits limits;
    limits.most_transfers = kMostTransfers;
    limits.most_files = descriptors.value() / transfer::IncomingFile::kMostDescriptors;
    transfer::Receiver receiver(endpoint, worker, store.value(), events, limits);
    auto busy_at = Clock::now();
    while (!stop.load(std::memory_order_relaxed) && !(options.once && ended > 0)) {
      turn(endpoint, worker, receiver, busy_at);
      if (metrics) metrics->poll();
      if (receiver.active() == 0) {
        line.reset();
      } else if (!line) {
        line.emplace(!options.quiet);
      } else if (line->due()) {
        const auto progress = receiver.progress();
        line->show(progress_text(progress.bytes, progress.of, line->seconds(), "", line->pace));
      }
    }
  }
  line.reset();
  if (stop.load()) return interrupted_status();
  return last_good ? 0 : 1;
}

namespace {

/// Those of a sender, but for the rate.
udp::EndpointOptions settings_of(const CopyOptions& options) {
  udp::EndpointOptions settings;
  settings.paths = options.paths;
  settings.burst = options.burst;
  settings.max_payload = options.payload;
  settings.connect_timeout = std::chrono::seconds(5);
  settings.transport = transport_of(options.scheme);
  return settings;
}

}  // namespace

int copy_files(const CopyOptions& options) {
  udp::EndpointOptions settings = settings_of(options);
  const auto rate = parse_link_rate(options.rate);
  if (!rate) return fail(rate.error());
  settings.rate_bps = rate.value();
  const auto destination = transfer::parse_destination(options.destination);
  if (!destination) return fail(destination.error());
  const auto reconnect = parse_reconnect(options.reconnect);
  if (!reconnect) return fail(reconnect.error());
  if (!prepare(options.peer_timeout, options.protection, settings)) return 2;
  const auto descriptors = transfer::raise_file_limit(options.paths);
  if (!descriptors) return fail(descriptors.error());
  const auto addresses =
      transfer::addresses_of(destination.value().host_and_port, options.protection);
  if (!addresses) return fail(addresses.error());
  const auto scanned = transfer::scan(options.sources, destination.value(), options.exclude);
  if (!scanned) return fail(scanned.error());
  const transfer::Tree& tree = scanned.value();
  warn_of(tree);
  if (tree.entries.empty()) return fail("nothing is left to copy", 1);

  std::atomic<bool>& stop = stop_on_signals();
  const auto interrupted = [&](std::uint64_t done) {
    fmt::print(stderr, "interrupted after {} of {}: the same command goes on where it was\n",
               size_of(done), size_of(tree.bytes));
    return interrupted_status();
  };
  ProgressLine line(!options.quiet);
  transfer::Sender::Options sending;
  sending.force = options.force;
  sending.resume = options.resume;
  std::set<std::string> told;  // once, in however many attempts
  sending.noted = [&](const std::string& text) {
    if (!told.insert(text).second) return;
    line.clear();
    fmt::print(stderr, "error: {}\n", text);
  };
  transfer::Reconnect again(reconnect.value(), std::random_device{}());
  Totals totals;
  bool waits_in_turn = false;  // which is said once
  while (true) {
    std::string problem;
    udp::Status lost = udp::Status::ok;
    auto dialled = transfer::dial(addresses.value(), settings, stop);
    if (dialled) {
      const std::uint64_t most = totals.most;
      const Attempt attempt = copy_once(dialled.value(), tree, sending, line, stop);
      if (attempt.lost != udp::Status::busy) totals.add(attempt.progress);
      if (attempt.stopped) return interrupted(totals.most);
      if (attempt.problem.empty()) break;
      if (attempt.lost == udp::Status::ok) return fail(attempt.problem, 1);
      if (totals.most > most) again.progressed();
      problem = attempt.problem;
      lost = attempt.lost;
      // What is there is there: only a first attempt may have to begin anew.
      if (totals.attempts > 0) sending.resume = true;
    } else {
      const transfer::NotDialled& why = dialled.error();
      if (why.stopped) return interrupted(totals.most);
      if (!why.mistake.empty()) return fail(why.mistake);
      problem = transfer::explain(why.status, why.address, "strack recv", options.protection);
      lost = why.status;
      if (totals.attempts == 0 && !waits_in_turn && lost != udp::Status::busy)
        return fail(problem, 1);
    }
    const auto wait =
        transfer::Reconnect::worthwhile(lost) ? again.next(Clock::now()) : std::nullopt;
    if (!wait) return give_up(problem, totals, tree);
    const bool in_turn = lost == udp::Status::busy;
    if ((in_turn ? !waits_in_turn : dialled.ok()) && !options.quiet)
      fmt::print(stderr, "{}; {}, for up to {}\n", problem,
                 in_turn ? "waiting for a turn" : "connecting again", text_of(again.limit()));
    waits_in_turn = in_turn || (waits_in_turn && !dialled);
    nap(*wait, stop);
  }
  if (!options.quiet) fmt::print("{}\n", totals.text(line.seconds(), tree.skipped.size()));
  return totals.last.refused + totals.last.skipped > 0 || !tree.skipped.empty() ? 1 : 0;
}

}  // namespace strack::cli
