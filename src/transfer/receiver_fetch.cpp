// The receiver's part in what goes the other way (transfer/receiver.h): what peers fetch from a folder that is
// served, and what this side fetches from one.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "transfer/names.h"
#include "transfer/receiver_session.h"

namespace strack::transfer {
namespace {

using Clock = Guests::Clock;

/// Below or at it; everything is below the empty one.
bool is_at(std::string_view path, std::string_view root) {
  return root.empty() || path == root ||
         (path.starts_with(root) && path.size() > root.size() && path[root.size()] == '/');
}

}  // namespace

// --- This side serves ---

void Receiver::handle(const SessionPtr& session, const Ask& ask) {
  if (session->state != Session::State::new_born || session->asked)
    return refuse(session, "a question out of place");
  if (ask.version != kVersion)
    return refuse(session, fmt::format("the other side speaks version {}, this one version {}",
                                       ask.version, kVersion));
  if (!served_)
    return refuse(session, "nothing can be fetched here: `strack recv` runs without --serve");
  session->state = Session::State::giving;
  session->said_hello = true;
  session->summary.given = true;
  session->began = session->spoke = Clock::now();
  session->giving = std::make_shared<Session::Giving>();
  const auto giving = session->giving;
  giving->ask = ask;
  if (!lister_) lister_.emplace();
  lister_->run(
      [giving, from = served_, most = limits_.most_listed] {
        ScanOptions options;
        options.hard_links = true;
        options.most = most;
        options.stop = &giving->stop;
        const Ask& asked = giving->ask;
        auto tree = scan(asked.paths, {{}, asked.as, asked.as.empty()}, options, *from);
        if (tree) {
          giving->tree = std::move(tree.value());
        } else {
          giving->problem = tree.error();
        }
      },
      [this, alive = alive_, session] {
        if (*alive && session->state == Session::State::giving) give(session);
      });
}

/// The tree is there: a sender has the connection from now on.
void Receiver::give(const SessionPtr& session) {
  Session::Giving& giving = *session->giving;
  if (!giving.problem.empty()) return refuse(session, giving.problem);
  if (listed_ + giving.tree.entries.size() > 2 * limits_.most_listed)
    return part(session, "others fetch as much as there is room for", Busy{});
  giving.entries = giving.tree.entries.size();
  listed_ += giving.entries;
  session->total_bytes = giving.tree.bytes;
  const auto tell = [this, raw = session.get()](const std::string& text) {
    if (raw->notes++ < limits_.most_notes) raw->outbox.send(Note{clean_text(text)});
    if (raw->notes == limits_.most_notes + 1)
      raw->outbox.send(Note{"there is more to say, which is not told"});
  };
  for (const std::string& skipped : giving.tree.skipped) tell(skipped);
  Sender::Options options;
  options.noted = tell;
  options.from = served_;
  options.keeper = session->giving;
  options.asked = true;
  giving.sender = std::make_unique<Sender>(endpoint_, session->id, worker_, giving.tree, options);
  giving.sender->begin();
}

void Receiver::take_for_sender(const SessionPtr& session, std::span<const std::byte> bytes) {
  if (session->giving->sender) return session->giving->sender->take(bytes);
  const auto message = decode(bytes);
  if (!message || !std::holds_alternative<StillHere>(message.value()))
    refuse(session, "a message before anything was sent");
}

/// Of either way: what keeps the other side from taking this one for dead.
bool Receiver::pump_sender(const SessionPtr& session, Clock::time_point now) {
  const bool waits = session->giving ? !session->giving->sender : session->asked != nullptr;
  if (waits && session->state <= Session::State::running &&
      now - session->spoke > Sender::kStillHereAfter) {
    session->spoke = now;
    session->outbox.send(StillHere{});
  }
  return session->giving && session->giving->sender && session->giving->sender->pump();
}

/// What came of a fetch from here. Its tree stays until the worker has no use for it.
void Receiver::note_given(Session& session) {
  if (!session.giving) return;
  session.giving->stop.store(true, std::memory_order_relaxed);
  listed_ -= session.giving->entries;
  if (!session.giving->sender) return;
  const Sender::Progress& progress = session.giving->sender->progress();
  session.summary.files = progress.files;
  session.summary.there = progress.there;
  session.summary.links = progress.links;
  session.summary.refused = progress.refused;
  session.summary.skipped = progress.skipped;
  session.summary.bytes = progress.sent_bytes - progress.again_bytes;
  session.summary.again_bytes = progress.again_bytes;
  session.summary.resumed_bytes = progress.kept_bytes;
  session.summary.hole_bytes = progress.hole_bytes;
  session.summary.finished =
      session.giving->sender->over() && session.giving->sender->problem().empty();
  if (!session.summary.finished && session.summary.problem.empty())
    session.summary.problem = session.giving->sender->problem();
  // The sender keeps the keeper that it is part of.
  session.giving->sender.reset();
}

// --- This side fetches [D109] ---

void Receiver::fetch(const udp::Completion& connected, Fetch what) {
  const SessionPtr session = enrol(connected);
  session->said_hello = true;  // its end is told
  session->asked = std::make_unique<Fetch>(std::move(what));
  const Ask& ask = session->asked->ask;
  const Destination destination{{}, ask.as, ask.as.empty()};
  for (const std::string& path : ask.paths)
    session->roots.push_back(path.empty() ? ask.as : name_at(destination, path));
  if (connected.tag != kService)
    return leave(session, "who answers there is not `strack recv`", udp::Status::ok);
  session->outbox.send(ask);
}

/// Whether an entry is what was asked for, and not left out. If not, it has had its answer.
bool Receiver::is_wanted(const SessionPtr& session, const Entry& entry) {
  const auto root = std::find_if(session->roots.begin(), session->roots.end(),
                                 [&](const std::string& one) { return is_at(entry.path, one); });
  const auto is_asked_for = [&](const std::string& path) {
    return std::any_of(session->roots.begin(), session->roots.end(),
                       [&](const std::string& one) { return is_at(path, one); });
  };
  const std::uint64_t size = entry.kind == EntryKind::file ? entry.size : 0;
  if (root == session->roots.end() ||
      (entry.kind == EntryKind::hard_link && !is_asked_for(entry.target))) {
    refuse(session, fmt::format("'{}' was not asked for", printable(entry.path)));
    return false;
  }
  if (entry.number >= session->announced || size > session->announced_bytes) {
    refuse(session, "more came than was announced");
    return false;
  }
  session->announced_bytes -= size;
  const Receiver::Fetch& what = *session->asked;
  if (what.prune && entry.kind != EntryKind::folder_end)
    session->came.push_back({entry.path, entry.kind == EntryKind::folder});
  if (what.dry || is_excluded(what.exclude, entry.path, root->size())) {
    session->done_bytes += size;
    session->outbox.send(Done{entry.number, Outcome::there, {}});
    return false;
  }
  // Below what was asked for, and not only below the folder that it goes to.
  const std::size_t own = entry.path == *root ? root->rfind('/') : root->size();
  const std::string_view below =
      std::string_view(entry.path).substr(root->empty() || own == std::string::npos ? 0 : own + 1);
  if (entry.kind == EntryKind::link && target_fault(below, entry.target)) {
    session->open[entry.number].entry = entry;
    done(session, entry,
         {Outcome::refused, fmt::format("a link to '{}', which leads out of what was asked for",
                                        printable(entry.target))});
    return false;
  }
  return true;
}

void Receiver::handle(const SessionPtr& session, const Note& note) {
  if (!session->asked) return refuse(session, "a message that only a sender sends who was asked");
  // Before the hello it is about what cannot be read; after it, about files that came to nothing.
  if (session->state == Session::State::new_born) ++session->summary.unread;
  this->note(session, printable(note.text));
}

void Receiver::handle(const SessionPtr& session, const Refusal& refusal) {
  if (!session->asked) return refuse(session, "a message that only a receiver sends");
  leave(session, fmt::format("the other side refuses: {}", printable(refusal.text)),
        udp::Status::ok);
}

void Receiver::handle(const SessionPtr& session, const Busy& /*busy*/) {
  if (!session->asked) return refuse(session, "a message that only a receiver sends");
  leave(session, "the other side has as many transfers as it takes", udp::Status::busy);
}

/// The other side has said that it is over.
void Receiver::leave(const SessionPtr& session, const std::string& why, udp::Status lost) {
  session->summary.lost = lost;
  endpoint_.close(session->id);
  end(session, false, why);
}

}  // namespace strack::transfer
