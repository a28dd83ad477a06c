#include "cli/copy.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
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
#include "transfer/receiver.h"
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

int fail(const std::string& message, int status = 2) {
  fmt::print(stderr, "error: {}\n", message);
  return status;
}

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
                          const std::string& what) {
  const double part =
      all == 0 ? 1 : static_cast<double>(std::min(done, all)) / static_cast<double>(all);
  const double rate = seconds > 0 ? static_cast<double>(done) * 8 / seconds / 1e9 : 0;
  return fmt::format("{} of {}  {:.1f} %  {}{:.2f} Gb/s  {}", size_of(done), size_of(all),
                     100 * part, what, rate, time_left(seconds, part));
}

std::string summary_text(const transfer::TransferSummary& summary) {
  std::string text = fmt::format("{}: {}", summary.peer, plural(summary.files, "file"));
  if (summary.folders > 0) text += fmt::format(", {}", plural(summary.folders, "folder"));
  if (summary.links > 0) text += fmt::format(", {}", plural(summary.links, "link"));
  text += fmt::format(", {} in {:.1f} s", size_of(summary.bytes), summary.seconds);
  if (summary.resumed_bytes > 0)
    text += fmt::format(", {} kept from before", size_of(summary.resumed_bytes));
  if (summary.there > 0) text += fmt::format(", {} there already", summary.there);
  if (summary.refused > 0) text += fmt::format(", {} refused", summary.refused);
  if (!summary.finished) text += fmt::format("; not finished: {}", summary.problem);
  return text;
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
  auto store = transfer::Store::open(options.dir);
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
  std::optional<ProgressLine> line;
  std::uint64_t ended = 0;
  bool last_good = false;
  transfer::Receiver::Events events;
  events.ended = [&](const transfer::TransferSummary& summary) {
    line.reset();
    ++ended;
    last_good = summary.finished && summary.refused == 0;
    if (!options.quiet || !summary.finished)
      fmt::print(summary.finished ? stdout : stderr, "{}\n", summary_text(summary));
    std::fflush(stdout);
  };
  events.noted = [&](const std::string& peer, const std::string& text) {
    if (line) line->clear();
    fmt::print(stderr, "{}: {}\n", peer, text);
  };
  if (!options.quiet) {
    fmt::print(
        "receiving into {} at {}{}{}\n", options.dir, endpoint.local_address(),
        options.bind.empty() && options.protection.key_file.empty() && !options.protection.insecure
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
        line->show(progress_text(progress.bytes, progress.of, line->seconds(), ""));
      }
    }
  }
  line.reset();
  if (stop.load()) return kInterruptedStatus;
  return last_good ? 0 : 1;
}

int copy_files(const CopyOptions& options) {
  udp::EndpointOptions settings;
  settings.paths = options.paths;
  settings.burst = options.burst;
  settings.max_payload = options.payload;
  settings.connect_timeout = std::chrono::seconds(5);
  const auto rate = parse_link_rate(options.rate);
  if (!rate) return fail(rate.error());
  settings.rate_bps = rate.value();
  const auto destination = transfer::parse_destination(options.destination);
  if (!destination) return fail(destination.error());
  if (!prepare(options.peer_timeout, options.protection, settings)) return 2;
  const auto descriptors = transfer::raise_file_limit(options.paths);
  if (!descriptors) return fail(descriptors.error());
  const auto addresses =
      transfer::addresses_of(destination.value().host_and_port, options.protection);
  if (!addresses) return fail(addresses.error());
  const auto scanned = transfer::scan(options.sources, destination.value());
  if (!scanned) return fail(scanned.error());
  const transfer::Tree& tree = scanned.value();
  for (const std::string& skipped : tree.skipped)
    fmt::print(stderr, "warning: not copied: {}\n", skipped);
  if (tree.entries.empty()) return fail("nothing is left to copy", 1);

  std::atomic<bool>& stop = stop_on_signals();
  const auto interrupted = [&](std::uint64_t done) {
    fmt::print(stderr, "interrupted after {} of {}: the same command goes on where it was\n",
               size_of(done), size_of(tree.bytes));
    return kInterruptedStatus;
  };
  ProgressLine line(!options.quiet);
  auto dialled = transfer::dial(addresses.value(), settings, stop);
  if (!dialled) {
    const transfer::NotDialled& why = dialled.error();
    if (why.stopped) return interrupted(0);
    if (!why.mistake.empty()) return fail(why.mistake);
    return fail(transfer::explain(why.status, why.address, "strack recv", options.protection), 1);
  }
  udp::Endpoint endpoint = std::move(dialled.value().endpoint);
  const udp::Completion& connected = dialled.value().connected;
  Worker worker;
  transfer::Sender::Options sending;
  sending.force = options.force;
  sending.resume = options.resume;
  sending.noted = [&](const std::string& text) {
    line.clear();
    fmt::print(stderr, "error: {}\n", text);
  };
  transfer::Sender sender(endpoint, connected.connection, worker, tree, sending);
  sender.on(connected);
  auto busy_at = Clock::now();
  while (!sender.over() && !stop.load(std::memory_order_relaxed)) {
    turn(endpoint, worker, sender, busy_at);
    if (!line.due()) continue;
    const auto& progress = sender.progress();
    line.show(progress_text(progress.bytes, tree.bytes, line.seconds(),
                            fmt::format("{} of {}  ", progress.files, plural(tree.files, "file"))));
  }
  line.clear();
  const auto& progress = sender.progress();
  const double seconds = line.seconds();
  if (!sender.over()) {
    endpoint.abort(connected.connection);
    return interrupted(progress.bytes);
  }
  if (!sender.problem().empty()) {
    fail(sender.problem(), 1);
    if (sender.lost() != udp::Status::ok)
      fmt::print(stderr, "       {} of {} are there: the same command goes on where it was\n",
                 size_of(progress.bytes), size_of(tree.bytes));
    return 1;
  }
  if (!options.quiet) {
    std::string text = fmt::format(
        "copied {}, {} in {:.1f} s, {:.2f} Gb/s", plural(progress.files - progress.there, "file"),
        size_of(progress.sent_bytes), seconds,
        seconds > 0 ? static_cast<double>(progress.sent_bytes) * 8 / seconds / 1e9 : 0);
    if (progress.there > 0)
      text += fmt::format("; {} there already", plural(progress.there, "file"));
    if (progress.kept_bytes > 0 && progress.files > progress.there)
      text += fmt::format("; {} did not have to be sent", size_of(progress.kept_bytes));
    if (progress.refused > 0) text += fmt::format("; {} refused", progress.refused);
    if (!tree.skipped.empty()) text += fmt::format("; {} skipped", tree.skipped.size());
    fmt::print("{}\n", text);
  }
  return progress.refused > 0 || !tree.skipped.empty() ? 1 : 0;
}

}  // namespace strack::cli
