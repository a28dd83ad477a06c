#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/copy.h"
#include "cli/copy_attempts.h"
#include "cli/interrupt.h"
#include "cli/key_reload.h"
#include "cli/text.h"
#include "transfer/file_limit.h"
#include "transfer/leftovers.h"
#include "transfer/metrics_server.h"
#include "transfer/prometheus.h"
#include "transfer/receiver.h"
#include "transfer/socket_hints.h"

namespace strack::cli {
namespace {

using Clock = std::chrono::steady_clock;
using transfer::Worker;

constexpr std::uint32_t kMostTransfers = 32;  ///< at a time; each takes 17 MB
/// More than transfers, for those that are being turned away; and less than half of them, as many as may be in
/// the middle of set-up, to one source.
constexpr std::uint32_t kMostConnections = 2 * kMostTransfers;
constexpr std::uint32_t kMostOfOneSource = 28;
/// While a folder is read for somebody, which wakes nobody.
constexpr auto kShortNap = std::chrono::milliseconds(5);

std::string summary_text(const transfer::TransferSummary& summary) {
  // Who fetches may have them, leave them out, or only look what it would remove: it does not say which.
  const std::uint64_t not_needed = summary.given ? std::min(summary.there, summary.files) : 0;
  std::string text = fmt::format("{}: {}{}", summary.peer, summary.given ? "fetched " : "",
                                 plural(summary.files - not_needed, "file"));
  if (summary.folders > 0) text += fmt::format(", {}", plural(summary.folders, "folder"));
  if (summary.links > 0) text += fmt::format(", {}", plural(summary.links, "link"));
  text += fmt::format(", {}{} in {:.1f} s", size_of(summary.bytes), holes_text(summary.hole_bytes),
                      summary.seconds);
  if (summary.resumed_bytes > 0)
    text += fmt::format(", {} kept from before", size_of(summary.resumed_bytes));
  if (summary.there > 0)
    text += fmt::format(", {} {}", summary.there, summary.given ? "not needed" : "there already");
  if (summary.removed > 0) text += fmt::format(", {} removed", summary.removed);
  if (summary.refused > 0) text += fmt::format(", {} refused", summary.refused);
  if (summary.skipped > 0)
    text += fmt::format(", {} given up{}", summary.skipped, summary.given ? "" : " by the sender");
  if (!summary.finished) text += fmt::format("; not finished: {}", summary.problem);
  return text;
}

/// A folder that is not there is more often a slip than a wish.
Result<std::shared_ptr<transfer::Store>, std::string> open_store(const RecvOptions& options) {
  if (options.dir.empty()) return std::shared_ptr<transfer::Store>();  // it only serves
  std::error_code unknown;
  if (!options.create && !std::filesystem::exists(options.dir, unknown))
    return fmt::format("there is no folder '{}'. give one that is there, or --create to make it",
                       options.dir);
  return transfer::Store::open(options.dir);
}

/// Where `cp` has started it over ssh, the family that ssh came by, and any free port.
std::string bind_of(const RecvOptions& options) {
  if (!options.until_eof || !options.bind.empty()) return options.bind;
  const char* ssh = std::getenv("SSH_CONNECTION");
  const std::string_view peer = ssh == nullptr ? "" : std::string_view(ssh);
  const bool v6 = peer.substr(0, peer.find(' ')).find(':') != std::string_view::npos;
  return fmt::format("{}:{}", v6 ? "[::]" : "0.0.0.0", options.port);
}

/// Whether who has started it has gone: its standard input is at its end.
class Parent {
 public:
  [[nodiscard]] bool has_gone() {
    const auto now = Clock::now();
    if (now - looked_at_ < kNap) return false;
    looked_at_ = now;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    std::array<char, 64> unused;
    return ::poll(&input, 1, 0) > 0 && ::read(STDIN_FILENO, unused.data(), unused.size()) == 0;
  }

 private:
  Clock::time_point looked_at_{};
};

/// "receiving into in, serving out"
std::string what_it_does(const RecvOptions& options) {
  std::string text;
  if (!options.dir.empty()) text += fmt::format("receiving into {}", options.dir);
  if (!options.serve.empty())
    text += fmt::format("{}serving {}", text.empty() ? "" : ", ", options.serve);
  return text;
}

void say_it_is_there(const RecvOptions& options, const udp::Endpoint& endpoint,
                     const std::optional<transfer::MetricsServer>& metrics) {
  if (options.until_eof) {
    fmt::print("port {}\n", endpoint.local_port());
    std::fflush(stdout);
  } else if (!options.quiet) {
    fmt::print("{} at {}{}{}\n", what_it_does(options), endpoint.local_address(),
               options.bind.empty() && !options.protection.keyed() && !options.protection.insecure
                   ? ", for this host only: --key-file or --insecure opens it to others"
                   : "",
               metrics ? fmt::format(", metrics at http://{}/metrics", metrics->address()) : "");
    std::fflush(stdout);
  }
}

/// What the system did not give the endpoint; `shared`: of its ports, which are opened when packets take them. True: there
/// was something to tell.
bool tell_hints(const RecvOptions& options, const udp::Endpoint& endpoint, bool shared) {
  if (options.quiet || options.until_eof) return false;
  std::vector<std::string> hints;
  if (shared) {
    transfer::add_sharing_hints(hints, endpoint.socket_limits(), options.paths);
  } else if (!options.dir.empty()) {
    transfer::add_receive_hints(hints, endpoint.socket_limits());
  }
  for (const std::string& hint : hints) fmt::print(stderr, "hint: {}\n", hint);
  return !hints.empty();
}

/// Until Ctrl-C, or as the options say; returns the program's status.
int receive(const RecvOptions& options, udp::Endpoint& endpoint,
            const std::shared_ptr<transfer::Store>& store,
            const std::shared_ptr<const transfer::Source>& served,
            std::optional<transfer::MetricsServer>& metrics, std::size_t most_files,
            KeyReload& keys, const std::atomic<bool>& stop) {
  std::optional<PacedLine> line;
  std::uint64_t ended = 0;
  bool told = false;
  bool last_good = false;
  transfer::Receiver::Events events;
  events.ended = [&](const transfer::TransferSummary& summary) {
    line.reset();
    ++ended;
    told = told || tell_hints(options, endpoint, true);
    last_good = summary.finished && summary.refused + summary.skipped == 0;
    // Who has started it over ssh says it there.
    if (options.until_eof) return;
    if (!options.quiet || !summary.finished)
      fmt::print(summary.finished ? stdout : stderr, "{}\n", summary_text(summary));
    std::fflush(stdout);
  };
  events.noted = [&](const std::string& peer, const std::string& text) {
    if (options.until_eof) return;
    if (line) line->clear();
    fmt::print(stderr, "{}: {}\n", peer, text);
  };
  {
    // The worker ends last: it writes down what is safe of transfers that were cut off.
    Worker worker;
    transfer::Receiver::Limits limits;
    limits.most_transfers = kMostTransfers;
    limits.may_remove = options.allow_delete;
    limits.most_files = most_files;
    transfer::Receiver receiver(endpoint, worker, store, events, limits);
    receiver.serve(served);
    auto busy_at = Clock::now();
    Parent parent;
    transfer::Leftovers leftovers;
    while (!stop.load(std::memory_order_relaxed) && !(options.once && ended > 0)) {
      turn(endpoint, worker, receiver, busy_at, receiver.listing() ? kShortNap : kNap);
      if (options.until_eof && parent.has_gone()) break;
      if (metrics) metrics->poll();
      keys.look(endpoint);
      leftovers.look(endpoint, Clock::now());
      if (receiver.active() == 0) {
        line.reset();
      } else if (!line) {
        line.emplace(!options.quiet && !options.until_eof);
      } else if (line->due()) {
        const auto progress = receiver.progress();
        line->show(progress_lines(progress.bytes, progress.of, line->seconds(), "", line->pace));
      }
    }
  }
  line.reset();
  if (stop.load()) return interrupted_status();
  return last_good ? 0 : 1;
}

}  // namespace

int recv_files(const RecvOptions& options) {
  if (options.dir.empty() && options.serve.empty())
    return fail("--dir DIR is missing: where files go. --serve DIR gives them instead");
  udp::EndpointOptions settings;
  settings.paths = options.paths;
  settings.burst = options.burst;
  settings.threads = options.threads;
  settings.max_connections = kMostConnections;
  settings.max_connections_per_source = kMostOfOneSource;
  KeyReload keys(options.protection, options.quiet);
  if (!prepare(options.peer_timeout, options.protection, settings)) return 2;
  const auto descriptors = transfer::raise_file_limit(options.paths, options.threads);
  if (!descriptors) return fail(descriptors.error());
  const auto address = transfer::listen_address(bind_of(options), options.protection);
  if (!address) return fail(address.error());
  settings.listen = address.value().text;
  auto store = open_store(options);
  if (!store) return fail(store.error());
  std::shared_ptr<const transfer::Source> served;
  if (!options.serve.empty()) {
    auto source = transfer::Source::below(options.serve);
    if (!source) return fail(source.error());
    served = std::move(source.value());
  }
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

  const std::atomic<bool>& stop = stop_on_signals();
  keys.listen();
  say_it_is_there(options, endpoint, metrics);
  tell_hints(options, endpoint, false);
  return receive(options, endpoint, store.value(), served, metrics,
                 descriptors.value() / transfer::IncomingFile::kMostDescriptors, keys, stop);
}

}  // namespace strack::cli
