#include "cli/copy.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/copy_attempts.h"
#include "cli/far_side.h"
#include "cli/interrupt.h"
#include "cli/text.h"
#include "cli/udp_options.h"
#include "transfer/file_limit.h"
#include "transfer/key_watch.h"
#include "transfer/receiver.h"
#include "transfer/socket_hints.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using transfer::Worker;

/// Those of this side, and how it goes on after a loss. Or says what is wrong; the second word is for a far side that
/// ssh starts, which brings its own key.
struct Prepared {
  Course course;
  std::uint32_t descriptors = 0;
  std::optional<int> failed;  ///< the program's status, after an error was printed
};

Prepared prepare_course(const CopyOptions& options) {
  Prepared out;
  Course& course = out.course;
  course.settings.paths = options.paths;
  course.settings.burst = options.burst;
  course.settings.max_payload = options.payload;
  course.settings.path_statistics = !options.quiet;
  course.settings.connect_timeout = std::chrono::seconds(5);
  course.settings.transport = transport_of(options.scheme);
  course.quiet = options.quiet;
  course.protection = options.protection;
  const auto rate = parse_link_rate(options.rate);
  const auto reconnect = parse_reconnect(options.reconnect);
  if (!rate || !reconnect) {
    out.failed = fail(!rate ? rate.error() : reconnect.error());
    return out;
  }
  course.settings.rate_bps = rate.value();
  course.reconnect = reconnect.value();
  if (options.ssh && (options.protection.keyed() || options.protection.insecure)) {
    out.failed = fail("--ssh brings a key of its own: leave the options of keys out");
    return out;
  }
  if (!prepare(options.peer_timeout, options.protection, course.settings)) {
    out.failed = 2;
    return out;
  }
  const auto descriptors = transfer::raise_file_limit(options.paths);
  if (!descriptors) {
    out.failed = fail(descriptors.error());
    return out;
  }
  out.descriptors = static_cast<std::uint32_t>(descriptors.value());
  return out;
}

/// Where to connect: to who listens there, or to one that ssh has started, and starts again where it has ended.
void say_where(Course& course, const CopyOptions& options, const transfer::Remote& remote,
               FarSide::Options far, std::unique_ptr<FarSide>& started,
               const std::atomic<bool>& stop) {
  if (!options.ssh) {
    course.addresses = [&course, &options, remote] {
      // [D141] They may have been changed since the last attempt; if what is there now is of no use, what was has to do.
      transfer::read_keys_to_connect(options.protection, course.settings);
      return transfer::addresses_of(remote.host + (remote.port.empty() ? "" : ":" + remote.port),
                                    options.protection);
    };
    return;
  }
  far.ssh = options.ssh_command;
  far.strack = options.remote_strack;
  far.host = remote.host;
  far.port = remote.port;
  course.protection.key_file = "-";
  course.addresses = [&course, far, &started,
                      &stop]() -> Result<std::vector<std::string>, std::string> {
    if (!started || !started->is_alive()) {
      started.reset();
      auto begun = FarSide::start(far, stop);
      if (!begun) return begun.error();
      started = std::move(begun.value());
      course.settings.key = started->key();
    }
    return transfer::addresses_of(started->address(), course.protection);
  };
}

/// "a/b" is "b" in "a"; what has no name is all of a folder.
std::pair<std::string, std::string> folder_and_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  std::string name = path.substr(slash + 1);  // npos + 1: all of it
  if (name.empty() || name == "." || name == "..") return {path, {}};
  return {
      slash == std::string::npos ? std::string() : path.substr(0, std::max<std::size_t>(slash, 1)),
      name};
}

void warn_of(const transfer::Tree& tree) {
  for (const std::string& link : tree.named_links)
    fmt::print(stderr, "warning: copied as a link, without what it leads to: {}\n", link);
  for (const std::string& skipped : tree.skipped)
    fmt::print(stderr, "warning: not copied: {}\n", skipped);
  if (tree.parts > 0)
    fmt::print(stderr, "warning: not copied: {} called '{}', as unfinished files are\n",
               plural(tree.parts, "thing"), transfer::kPartsFolder);
  for (const std::string& twice : tree.twice)
    fmt::print(stderr, "warning: given twice, copied once: {}\n", twice);
}

void print_hints(const std::vector<std::string>& hints, bool quiet) {
  for (const std::string& hint : hints) {
    if (!quiet) fmt::print(stderr, "hint: {}\n", hint);
  }
}

Attempt send_once(transfer::Dialled& dialled, const transfer::Tree& tree,
                  const transfer::Sender::Options& sending, ProgressLine& line,
                  const std::atomic<bool>& stop) {
  udp::Endpoint endpoint = std::move(dialled.endpoint);
  const udp::Completion& connected = dialled.connected;
  Worker worker;
  transfer::Sender sender(endpoint, connected.connection, worker, tree, sending);
  sender.on(connected);
  transfer::Pace pace;
  PathPace paths;
  auto busy_at = Clock::now();
  while (!sender.over() && !stop.load(std::memory_order_relaxed)) {
    turn(endpoint, worker, sender, busy_at);
    if (!line.due()) continue;
    const auto& progress = sender.progress();
    const auto statistics = endpoint.statistics(connected.connection);
    paths.note(endpoint.path_statistics(connected.connection), Clock::now());
    line.show(progress_lines(progress.bytes, tree.bytes, line.seconds(),
                             fmt::format("{} of {}", progress.files, plural(tree.files, "file")),
                             pace,
                             statistics ? paths.text(statistics.value().paths, pace) : PathText{}));
  }
  line.clear();
  const udp::SocketLimits sockets = endpoint.socket_limits();
  if (!sender.over()) endpoint.abort(connected.connection);
  return {!sender.over(),    sender.finished(), sender.problem(), sender.lost(),
          sender.progress(), tree.bytes,        sockets};
}

int push(const CopyOptions& options) {
  Prepared prepared = prepare_course(options);
  if (prepared.failed) return *prepared.failed;
  Course& course = prepared.course;
  const auto remote = transfer::parse_remote(options.destination);
  if (!remote) return fail(remote.error());
  FarSide::Options far;
  transfer::Destination destination;
  if (options.ssh) {
    const std::string& path = remote.value().path;
    const bool folder = path.empty() || path.ends_with('/');
    auto [there, name] = folder_and_name(path);
    far.may_delete = options.prune;
    far.folder = folder || name.empty() ? path : there;
    destination = {{}, folder ? std::string() : name, folder || name.empty()};
  } else {
    const auto parsed = transfer::parse_destination(options.destination);
    if (!parsed) return fail(parsed.error());
    destination = parsed.value();
  }
  std::atomic<bool>& stop = stop_on_signals();
  std::unique_ptr<FarSide> started;
  say_where(course, options, remote.value(), far, started, stop);
  if (!options.ssh) {
    if (const auto addresses = course.addresses(); !addresses) return fail(addresses.error());
  }
  const auto scanned = transfer::scan(
      options.sources, destination, {.exclude = options.exclude, .hard_links = options.hard_links});
  if (!scanned) return fail(scanned.error());
  const transfer::Tree& tree = scanned.value();
  warn_of(tree);
  if (tree.entries.empty()) return fail("nothing is left to copy", 1);

  ProgressLine line(!options.quiet);
  transfer::Sender::Options sending;
  sending.force = options.force;
  if (options.prune) {
    sending.prune.emplace();
    sending.prune->exclude = options.exclude;
    sending.prune->dry = options.dry_run;
    if (options.dry_run)
      sending.prune->removed = [](const std::string& path) {
        fmt::print("would remove {}\n", printable(path));
      };
  }
  std::set<std::string> told;  // once, in however many attempts
  bool noted = false;
  sending.noted = [&](const std::string& text) {
    if (!told.insert(text).second) return;
    line.clear();
    noted = true;
    fmt::print(stderr, "error: {}\n", text);
  };
  if (sending.prune) sending.prune->noted = sending.noted;
  course.attempt = [&](transfer::Dialled& dialled, bool again) {
    // What is there is there: only a first attempt may have to begin anew.
    sending.resume = options.resume || again;
    return send_once(dialled, tree, sending, line, stop);
  };
  Totals totals;
  totals.all = tree.bytes;
  if (const auto status = attempt_until_done(course, totals, stop)) return *status;
  if (!options.quiet && !options.dry_run)
    fmt::print("{}\n", totals.text(line.seconds(), tree.skipped.size()));
  std::vector<std::string> hints;
  transfer::add_sharing_hints(hints, totals.sockets, options.paths);
  print_hints(hints, options.quiet);
  const bool all = !noted && !totals.failed && totals.last.refused + totals.last.skipped == 0;
  return all && tree.skipped.empty() ? 0 : 1;
}

/// What is asked for, and the folder here that it goes to.
struct Wanted {
  transfer::Remote remote;
  std::string far_folder;  ///< over ssh
  transfer::Ask ask;
  std::string folder;
};

Result<Wanted, std::string> wanted_of(const CopyOptions& options) {
  Wanted wanted;
  for (std::size_t i = 0; i < options.sources.size(); ++i) {
    const auto remote = transfer::parse_remote(options.sources[i]);
    if (!remote) return remote.error();
    const transfer::Remote& one = remote.value();
    if (i == 0) wanted.remote = one;
    if (one.host != wanted.remote.host || one.port != wanted.remote.port)
      return fmt::format("'{}' and '{}' are on different hosts. fetch from one at a time",
                         printable(options.sources[0]), printable(options.sources[i]));
    std::string path = one.path;
    if (options.ssh) {
      auto [folder, name] = folder_and_name(path);
      if (i > 0 && folder != wanted.far_folder)
        return fmt::format("'{}' and '{}' are in different folders. over ssh fetch one at a time",
                           printable(options.sources[0]), printable(options.sources[i]));
      wanted.far_folder = folder;
      path = name;
    }
    while (path.ends_with('/') || path == ".") path.pop_back();
    const auto fault = path.empty() ? std::nullopt : transfer::path_fault(path);
    if (fault)
      return fmt::format("'{}': the name '{}' {}. it must be one below the folder that is served",
                         printable(options.sources[i]), printable(path), *fault);
    wanted.ask.paths.push_back(path);
  }
  std::error_code unknown;
  const fs::path here = options.destination;
  if (fs::is_directory(here, unknown) || options.destination.ends_with('/')) {
    wanted.folder = options.destination;
  } else {
    if (options.sources.size() > 1)
      return fmt::format(
          "{} things cannot all be called '{}'. end the destination with a slash to "
          "make it a folder",
          options.sources.size(), printable(options.destination));
    wanted.folder = here.has_parent_path() ? here.parent_path().string() : ".";
    wanted.ask.as = here.filename().string();
    if (const auto fault = transfer::path_fault(wanted.ask.as))
      return fmt::format("'{}': the name {}", printable(options.destination), *fault);
    if (!fs::is_directory(wanted.folder, unknown))
      return fmt::format("there is no folder '{}'", printable(wanted.folder));
  }
  if (transfer::encode(wanted.ask).size() > transfer::kMaxControlBytes)
    return std::string("too many names to ask for at a time. fetch the folder that they are in");
  return wanted;
}

Attempt fetch_once(transfer::Dialled& dialled, const std::shared_ptr<transfer::Store>& store,
                   const transfer::Receiver::Fetch& what, transfer::Receiver::Limits limits,
                   transfer::Receiver::Events events, PacedLine& line, std::uint64_t& unread,
                   const std::atomic<bool>& stop) {
  udp::Endpoint endpoint = std::move(dialled.endpoint);
  std::optional<transfer::TransferSummary> summary;
  events.ended = [&](const transfer::TransferSummary& one) { summary = one; };
  transfer::Receiver::Progress progress;
  {
    // The worker ends last: it writes down what is safe of a transfer that was cut off.
    Worker worker;
    transfer::Receiver receiver(endpoint, worker, store, events, limits);
    receiver.fetch(dialled.connected, what);
    PathPace paths;
    auto busy_at = Clock::now();
    while (!summary && !stop.load(std::memory_order_relaxed)) {
      turn(endpoint, worker, receiver, busy_at);
      if (summary) break;
      progress = receiver.progress();
      if (!line.due()) continue;
      const auto arrivals = endpoint.path_arrivals(dialled.connected.connection);
      paths.note(arrivals, Clock::now());
      line.show(progress_lines(progress.bytes, progress.of, line.seconds(), "", line.pace,
                               paths.text(static_cast<std::uint32_t>(arrivals.size()), line.pace)));
    }
    line.clear();
  }
  Attempt attempt;
  attempt.sockets = endpoint.socket_limits();
  attempt.stopped = !summary || !summary->finished ? stop.load() : false;
  attempt.all = progress.of;
  if (!summary) return attempt;
  unread = std::max<std::uint64_t>(summary->unread, summary->partial ? 1 : 0);
  attempt.finished = summary->finished;
  attempt.problem = summary->finished ? std::string() : summary->problem;
  attempt.lost = summary->lost;
  attempt.progress.bytes = summary->finished ? progress.of : progress.bytes;
  attempt.progress.sent_bytes = summary->bytes + summary->again_bytes;
  attempt.progress.again_bytes = summary->again_bytes;
  attempt.progress.kept_bytes = summary->resumed_bytes;
  attempt.progress.hole_bytes = summary->hole_bytes;
  attempt.progress.files = summary->files;
  attempt.progress.there = summary->there;
  attempt.progress.links = summary->links;
  attempt.progress.refused = summary->refused;
  attempt.progress.skipped = summary->skipped;
  attempt.progress.removed = summary->removed;
  return attempt;
}

int pull(const CopyOptions& options) {
  Prepared prepared = prepare_course(options);
  if (prepared.failed) return *prepared.failed;
  Course& course = prepared.course;
  const auto made = wanted_of(options);
  if (!made) return fail(made.error());
  const Wanted& wanted = made.value();
  std::atomic<bool>& stop = stop_on_signals();
  std::unique_ptr<FarSide> started;
  FarSide::Options far;
  far.folder = wanted.far_folder;
  far.serve = true;
  say_where(course, options, wanted.remote, far, started, stop);
  const auto store = transfer::Store::open(wanted.folder);
  if (!store) return fail(store.error());

  PacedLine line(!options.quiet);
  transfer::Receiver::Limits limits;
  limits.most_files = prepared.descriptors / transfer::IncomingFile::kMostDescriptors;
  transfer::Receiver::Events events;
  std::set<std::string> told;  // once, in however many attempts
  bool noted = false;
  events.noted = [&](const std::string& /*peer*/, const std::string& text) {
    if (!told.insert(text).second) return;
    line.clear();
    noted = true;
    fmt::print(stderr, "error: {}\n", text);
  };
  std::uint64_t unread = 0;  // things that the other side could not read
  course.attempt = [&](transfer::Dialled& dialled, bool again) {
    transfer::Receiver::Fetch what{wanted.ask,
                                   options.force,
                                   !options.resume && !again,
                                   options.exclude,
                                   options.prune,
                                   options.dry_run,
                                   {}};
    if (options.dry_run)
      what.removed = [](const std::string& path) {
        fmt::print("would remove {}\n", printable(path));
      };
    return fetch_once(dialled, store.value(), what, limits, events, line, unread, stop);
  };
  Totals totals;
  if (const auto status = attempt_until_done(course, totals, stop)) return *status;
  if (!options.quiet && !options.dry_run)
    fmt::print("{}\n", totals.text(line.seconds(), unread, unread > limits.most_notes));
  std::vector<std::string> hints;
  transfer::add_receive_hints(hints, totals.sockets);
  transfer::add_sharing_hints(hints, totals.sockets, options.paths);
  print_hints(hints, options.quiet);
  const bool all = !noted && !totals.failed && totals.last.refused + totals.last.skipped == 0;
  return all && unread == 0 ? 0 : 1;
}

}  // namespace

int copy_files(const CopyOptions& options) {
  if (options.dry_run && !options.prune)
    return fail("--dry-run is for --delete: it says what that would remove");
  const bool fetches =
      !transfer::is_remote(options.destination) &&
      std::any_of(options.sources.begin(), options.sources.end(), transfer::is_remote);
  return fetches ? pull(options) : push(options);
}

}  // namespace strack::cli
