#include "transfer/receiver.h"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "transfer/names.h"
#include "transfer/receiver_session.h"

namespace strack::transfer {
namespace {

// Cookies of receives: the kind, and which buffer.
constexpr std::uint64_t kControlReceive = std::uint64_t{1} << 32;
constexpr std::uint64_t kDataReceive = std::uint64_t{2} << 32;
constexpr std::uint64_t kReceiveMask = std::uint64_t{3} << 32;

using Clock = std::chrono::steady_clock;

/// How many answers may wait for a peer that does not take them.
constexpr std::size_t kMostAnswers = 1024;

/// Of a file that a newer transfer has.
Verdict taken_over() {
  return {
      Outcome::refused,
      "a transfer that began later copies this file. run the same command again after it; --force "
      "replaces what differs"};
}

}  // namespace

Receiver::Receiver(udp::Endpoint& endpoint, Worker& worker, std::shared_ptr<Store> store,
                   Events events, Limits limits)
    : endpoint_(endpoint),
      worker_(worker),
      store_(std::move(store)),
      events_(std::move(events)),
      limits_(limits),
      guests_(limits.most_transfers, limits.idle) {}

Receiver::~Receiver() {
  stop();
  *alive_ = false;
}

void Receiver::on(const udp::Completion& completion) {
  using udp::Kind;
  if (completion.kind == Kind::accepted) return on_accepted(completion);
  const auto found = sessions_.find(static_cast<std::uint64_t>(completion.connection));
  if (found == sessions_.end()) return;
  const SessionPtr session = found->second;
  switch (completion.kind) {
    case Kind::sent:
      session->outbox.on_sent(completion);
      if (session->giving && session->giving->sender) session->giving->sender->on(completion);
      break;
    case Kind::received: {
      if (completion.status == udp::Status::truncated) {
        refuse(session, "a message was longer than it may be");
        break;
      }
      if (completion.status != udp::Status::ok) break;
      const auto index = static_cast<std::uint32_t>(completion.cookie);
      if ((completion.cookie & kReceiveMask) == kDataReceive) {
        on_data(session, completion);
      } else {
        // Used before it is posted again.
        on_control(session,
                   std::span<const std::byte>(session->control[index]).first(completion.length));
        post_control(*session, index);
      }
      break;
    }
    case Kind::peer_closed:
      if (session->giving && session->giving->sender) {
        session->giving->sender->on(completion);
      } else {
        endpoint_.close(session->id);
      }
      break;
    case Kind::closed:
    case Kind::failed:
      if (session->giving && session->giving->sender) session->giving->sender->on(completion);
      if (completion.kind == Kind::failed && session->state != Session::State::over)
        session->summary.lost = completion.status;
      end(session, session->state == Session::State::over,
          completion.kind == Kind::closed
              ? "the peer left before the end"
              : fmt::format("the connection was lost: {}", udp::text(completion.status)));
      break;
    default:
      break;
  }
}

/// A connection that has come up.
Receiver::SessionPtr Receiver::enrol(const udp::Completion& completion) {
  auto session = std::make_shared<Session>(endpoint_, completion.connection);
  session->summary.peer = endpoint_.peer_address(completion.connection);
  sessions_.emplace(static_cast<std::uint64_t>(completion.connection), session);
  session->control.assign(kControlBuffers, std::vector<std::byte>(kMaxControlBytes));
  for (std::uint32_t i = 0; i < kControlBuffers; ++i) post_control(*session, i);
  return session;
}

void Receiver::on_accepted(const udp::Completion& completion) {
  const SessionPtr session = enrol(completion);
  if (completion.tag != kService)
    return refuse(session, "this is `strack recv`: it takes files from `strack cp`");
  const auto id = static_cast<std::uint64_t>(completion.connection);
  const auto leaves = guests_.enter(id, source_of(session->summary.peer), session->began);
  if (leaves == id)
    return part(session, fmt::format("{} transfers are under way", limits_.most_transfers), Busy{});
  if (!leaves) return;
  const SessionPtr other = sessions_.at(*leaves);
  endpoint_.abort(other->id);
  end(other, false, "it had to make room for others");
}

void Receiver::post_control(Session& session, std::uint32_t index) {
  // The only reason to fail is that the connection has ended, which its completion will tell.
  [[maybe_unused]] const auto posted = endpoint_.post_receive(
      session.id, {kControlTag, kKindMask}, session.control[index], kControlReceive | index);
}

void Receiver::post_data(Session& session, std::uint32_t index) {
  [[maybe_unused]] const auto posted = endpoint_.post_receive(
      session.id, {kDataTag, kKindMask}, session.data[index], kDataReceive | index);
}

void Receiver::on_control(const SessionPtr& session, std::span<const std::byte> bytes) {
  if (session->state >= Session::State::refused) return;
  if (session->giving) return take_for_sender(session, bytes);
  const auto message = decode(bytes);
  if (!message) {
    refuse(session, fmt::format("a message cannot be understood: {}", text(message.error())));
    return;
  }
  std::visit([&](const auto& one) { handle(session, one); }, message.value());
}

void Receiver::handle(const SessionPtr& session, const Hello& hello) {
  if (session->state != Session::State::new_born) return refuse(session, "a second hello");
  if (hello.version != kVersion)
    return refuse(session, fmt::format("the sender speaks version {}, this receiver version {}",
                                       hello.version, kVersion));
  if (!store_) return refuse(session, "nothing is taken here: `strack recv` runs without --dir");
  session->state = Session::State::running;
  session->said_hello = true;
  // Who fetches decides for itself what is replaced.
  session->force = session->asked ? session->asked->force : hello.force;
  session->fresh = session->asked ? session->asked->fresh : hello.fresh;
  session->total_bytes = session->announced_bytes = hello.bytes;
  session->announced = hello.entries;
  session->summary.partial = hello.partial;
  session->began = Clock::now();
  session->data.assign(kDataBuffers, std::vector<std::byte>(kBlockBytes));
  for (std::uint32_t i = 0; i < kDataBuffers; ++i) post_data(*session, i);
  session->outbox.send(Welcome{kVersion, kMostOpen});
}

/// Two transfers cannot write one file, and the newer one is likely to be the older one's second attempt: it gets
/// the file, and the older one goes on with its others. Returns whether it is this one.
bool Receiver::take_over(const SessionPtr& session, const std::string& path) {
  const auto found = claims_.find(path);
  const SessionPtr other = found == claims_.end() ? nullptr : found->second.lock();
  // One that was refused and has not left yet gets nothing.
  if (other && other->state < Session::State::refused && other->id > session->id) return false;
  if (other) {
    const auto file = std::find_if(other->open.begin(), other->open.end(), [&](const auto& one) {
      return one.second.file && !one.second.lost && one.second.entry.path == path;
    });
    if (file != other->open.end()) lose(other, file->first);
  }
  claims_[path] = session;
  return true;
}

/// A file of it goes to another transfer. It is told at once if it has been asked for nothing yet, and else that no
/// more is wanted, and why when it has ended the file.
void Receiver::lose(const SessionPtr& session, std::uint32_t number) {
  Session::OpenEntry& open = session->open.at(number);
  open.lost = true;
  open.file->cancel();
  const bool tell = session->state == Session::State::running;  // or it has been told of its end
  if (open.begun) {
    if (tell && open.receiving) session->outbox.send(Enough{number});
    return worker_.run([file = open.file] { file->suspend(); }, [] {});
  }
  if (!tell) return;
  std::erase_if(waiting_,
                [&](const Waiting& one) { return one.session == session && one.number == number; });
  const Entry entry = open.entry;
  done(session, entry, taken_over());
}

void Receiver::unclaim(const SessionPtr& session, const std::string& path) {
  const auto found = claims_.find(path);
  if (found != claims_.end() && found->second.lock() == session) claims_.erase(found);
}

void Receiver::handle(const SessionPtr& session, const Entry& entry) {
  if (session->state != Session::State::running) return refuse(session, "an entry out of place");
  // Some may be left out: on a full disk only the folders that were begun are ended.
  if (entry.number < session->next_number) return refuse(session, "entries are out of order");
  if (session->open.size() >= kMostOpen || session->outbox.waiting() > kMostAnswers)
    return refuse(session, "too many entries at a time");
  session->next_number = entry.number + 1;
  if (session->asked && !is_wanted(session, entry)) return;
  Session::OpenEntry& open = session->open[entry.number];
  open.entry = entry;
  const auto alive = alive_;
  if (is_in_parts(entry.path) || (entry.kind == EntryKind::hard_link && is_in_parts(entry.target)))
    return done(session, entry, {Outcome::refused, "what is called '.strack' is not taken"});
  if (entry.kind == EntryKind::folder_end) return end_folder(session, entry);
  if (entry.kind == EntryKind::folder) {
    if (session->folders.size() == limits_.most_folders ||
        folders_.size() == 2 * limits_.most_folders)
      return refuse(session, fmt::format("more than the {} folders that a transfer may have",
                                         limits_.most_folders));
    const PathKey key = path_key(entry.path);
    if (session->folders.insert(key).second) ++folders_[key].sessions;
  }
  if (entry.kind != EntryKind::file) {
    auto verdict = std::make_shared<Verdict>();
    worker_.run(
        [store = store_, entry, verdict, force = session->force] {
          *verdict = entry.kind == EntryKind::folder ? store->make_folder(entry)
                     : entry.kind == EntryKind::link ? store->make_link(entry, force)
                                                     : store->make_hard_link(entry, force);
        },
        [this, alive, session, entry, verdict] {
          if (!*alive) return;
          // One that was refused is not filled, and must not cost anything.
          if (entry.kind == EntryKind::folder && verdict->outcome > Outcome::there)
            forget_folder(session, path_key(entry.path));
          done(session, entry, *verdict);
        });
    return;
  }
  if (block_count(entry.size) > limits_.most_blocks)
    return done(session, entry,
                {Outcome::refused, fmt::format("is larger than the {} MiB that the receiver takes",
                                               limits_.most_blocks)});
  const auto claim = claims_.find(entry.path);
  if (claim != claims_.end() && claim->second.lock() == session) {
    session->open.erase(entry.number);
    return refuse(session, "the same file twice at a time");
  }
  if (!take_over(session, entry.path)) return done(session, entry, taken_over());
  open.file = std::make_shared<IncomingFile>(store_, entry, session->force, session->fresh);
  waiting_.push_back({session, entry.number});
  begin_files();
}

/// Begins those that wait, as far as descriptors and memory go. No transfer gets more than are left for the
/// others: one whose sender hangs must not hold all of them.
void Receiver::begin_files() {
  std::size_t i = 0;
  while (i < waiting_.size() && open_files_ < limits_.most_files) {
    const Waiting next = waiting_[i];
    const Session& session = *next.session;
    if (session.state == Session::State::running) {
      const std::uint64_t blocks = block_count(session.open.at(next.number).entry.size);
      const bool fits =
          session.open_files < limits_.most_files - open_files_ &&
          (open_blocks_ == 0 || session.open_blocks + blocks <= limits_.most_blocks - open_blocks_);
      if (!fits) {
        ++i;
        continue;
      }
    }
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    if (session.state == Session::State::running) begin_file(next.session, next.number);
  }
}

void Receiver::begin_file(const SessionPtr& session, std::uint32_t number) {
  Session::OpenEntry& open = session->open.at(number);
  open.begun = true;
  ++session->open_files;
  ++open_files_;
  session->open_blocks += block_count(open.entry.size);
  open_blocks_ += block_count(open.entry.size);
  const auto alive = alive_;
  auto step = std::make_shared<IncomingFile::Step>();
  worker_.run([file = open.file, step] { *step = file->begin(); },
              [this, alive, session, number, step] {
                if (*alive) take_step(session, number, *step);
              });
}

/// A file goes on with the blocks that are needed, or is over.
void Receiver::take_step(const SessionPtr& session, std::uint32_t number,
                         const IncomingFile::Step& step) {
  const auto found = session->open.find(number);
  if (found == session->open.end()) return;  // the session has ended
  if (const Verdict* verdict = std::get_if<Verdict>(&step)) {
    const Entry entry = found->second.entry;
    const bool good = verdict->outcome <= Outcome::there;
    return done(session, entry, found->second.lost && !good ? taken_over() : *verdict);
  }
  if (found->second.lost) {
    const Entry entry = found->second.entry;
    return done(session, entry, taken_over());
  }
  session->summary.again_bytes += found->second.bytes;
  session->take_back(found->second);
  found->second.resumed = found->second.file->resumed_bytes();
  session->summary.resumed_bytes += found->second.resumed;
  session->done_bytes += found->second.resumed;
  found->second.receiving = true;
  session->outbox.send(Need{number, std::get<0>(step)});
}

void Receiver::on_data(const SessionPtr& session, const udp::Completion& completion) {
  if (session->state != Session::State::running) return;
  const BlockName name = block_name(completion.tag);
  const auto index = static_cast<std::uint32_t>(completion.cookie);
  const auto found = session->open.find(name.entry);
  if (found == session->open.end() || !found->second.receiving ||
      name.block >= block_count(found->second.entry.size) ||
      completion.length != block_length(found->second.entry.size, name.block))
    return refuse(session, "a block that was not asked for");
  if (found->second.lost) return post_data(*session, index);
  found->second.bytes += completion.length;
  session->summary.bytes += completion.length;
  session->done_bytes += completion.length;
  auto verdict = std::make_shared<std::optional<Verdict>>();
  const auto alive = alive_;
  ++session->writing;
  worker_.run(
      [file = found->second.file, session, index, name, length = completion.length, verdict] {
        *verdict =
            file->write(name.block, std::span<const std::byte>(session->data[index]).first(length));
      },
      [this, alive, session, index, number = name.entry, verdict] {
        --session->writing;
        if (!*alive || session->state == Session::State::over) return;
        post_data(*session, index);
        if (*verdict) break_off(session, number, **verdict);
      });
}

/// A file cannot go on. Other blocks of it are on their way and would break a rule: this ends the transfer.
void Receiver::break_off(const SessionPtr& session, std::uint32_t number, const Verdict& verdict) {
  const auto open = session->open.find(number);
  if (open == session->open.end() || open->second.lost) return;
  const std::string why = fmt::format("{}: {}", printable(open->second.entry.path), verdict.text);
  note(session, why);
  refuse(session, why);
}

void Receiver::handle(const SessionPtr& session, const Hole& hole) {
  const auto found = session->open.find(hole.number);
  if (found == session->open.end() || !found->second.receiving ||
      std::uint64_t{hole.blocks.first} + hole.blocks.count > block_count(found->second.entry.size))
    return refuse(session, "a hole that was not asked for");
  if (found->second.lost) return;
  const std::uint64_t first = std::uint64_t{hole.blocks.first} * kBlockBytes;
  const std::uint64_t length =
      std::min(std::uint64_t{hole.blocks.count} * kBlockBytes, found->second.entry.size - first);
  found->second.left_out += length;
  session->summary.hole_bytes += length;
  session->done_bytes += length;
  auto verdict = std::make_shared<std::optional<Verdict>>();
  worker_.run(
      [file = found->second.file, hole, verdict] { *verdict = file->leave_out(hole.blocks); },
      [this, alive = alive_, session, number = hole.number, verdict] {
        if (!*alive || session->state == Session::State::over) return;
        if (*verdict) break_off(session, number, **verdict);
      });
}

void Receiver::handle(const SessionPtr& session, const FileEnd& end) {
  const auto found = session->open.find(end.number);
  if (found == session->open.end() || !found->second.receiving)
    return refuse(session, "the end of a file that is not on its way");
  found->second.receiving = false;
  if (found->second.lost) {
    const Entry entry = found->second.entry;
    return done(session, entry, taken_over());
  }
  auto step = std::make_shared<IncomingFile::Step>();
  const auto alive = alive_;
  worker_.run(
      [file = found->second.file, digest = end.digest, step] {
        *step = file->finish(digest);
        if (std::holds_alternative<Verdict>(*step)) file->suspend();
      },
      [this, alive, session, number = end.number, step] {
        if (*alive) take_step(session, number, *step);
      });
}

void Receiver::handle(const SessionPtr& session, const Skip& skip) {
  const auto found = session->open.find(skip.number);
  if (found == session->open.end() || !found->second.receiving)
    return refuse(session, "the end of a file that is not on its way");
  found->second.receiving = false;
  if (found->second.lost) {
    const Entry entry = found->second.entry;
    return done(session, entry, taken_over());
  }
  const auto alive = alive_;
  worker_.run([file = found->second.file] { file->discard(); },
              [this, alive, session, entry = found->second.entry] {
                if (*alive) done(session, entry, {Outcome::refused, "the sender gave it up"}, true);
              });
}

/// That it came is all there is to it.
void Receiver::handle(const SessionPtr& /*session*/, const StillHere& /*still_here*/) {}

void Receiver::handle(const SessionPtr& session, const Finish& /*finish*/) {
  if (session->state != Session::State::running || !session->open.empty())
    return refuse(session, "the end came too early");
  session->state = Session::State::finishing;
  prune(session);
  finish(session);
}

void Receiver::finish(const SessionPtr& session) {
  auto synced = std::make_shared<bool>(false);
  const auto alive = alive_;
  worker_.run(
      [store = store_, synced] {
        *synced = store->sync();
        store->tidy();
      },
      [this, alive, session, synced] {
        if (!*alive || session->state != Session::State::finishing) return;
        if (!*synced) return refuse(session, "the receiver's disk reports an error");
        session->outbox.send(Finished{});
        session->state = Session::State::over;
        session->parted_at = Clock::now();
        session->summary.seconds =
            std::chrono::duration<double>(session->parted_at - session->began).count();
      });
}

template <class Other>
void Receiver::handle(const SessionPtr& session, const Other& /*other*/) {
  refuse(session, "a message that only a receiver sends");
}

/// An entry is over.
void Receiver::done(const SessionPtr& session, const Entry& entry, const Verdict& verdict,
                    bool skipped) {
  const auto found = session->open.find(entry.number);
  if (found == session->open.end()) return;  // the session has ended
  const bool begun = found->second.begun;
  const bool good = verdict.outcome <= Outcome::there;
  if (!good) session->take_back(found->second);
  session->open.erase(found);
  if (begun) {
    unclaim(session, entry.path);
    --session->open_files;
    --open_files_;
    session->open_blocks -= block_count(entry.size);
    open_blocks_ -= block_count(entry.size);
    begin_files();
  }
  if (!good) {
    ++(skipped ? session->summary.skipped : session->summary.refused);
    note(session, fmt::format("{}: {}", printable(entry.path), verdict.text));
    if (session->summary.refused + session->summary.skipped == limits_.most_refused)
      return refuse(session, fmt::format("{} entries were refused, and no more are looked at",
                                         limits_.most_refused));
  } else if (entry.kind == EntryKind::file) {
    ++session->summary.files;
    if (verdict.outcome == Outcome::there) {
      ++session->summary.there;
      session->done_bytes += entry.size;
    }
  } else if (entry.kind == EntryKind::folder) {
    ++session->summary.folders;
  } else if (entry.kind == EntryKind::link || entry.kind == EntryKind::hard_link) {
    ++session->summary.links;
  }
  session->outbox.send(
      Done{entry.number, verdict.outcome, good ? std::string{} : clean_text(verdict.text)});
}

/// A log is not filled by one peer either: the summary has the number.
void Receiver::note(const SessionPtr& session, const std::string& text) {
  if (!events_.noted || session->notes > limits_.most_notes) return;
  events_.noted(session->summary.peer, ++session->notes > limits_.most_notes
                                           ? "there is more to say, which is not shown here"
                                           : text);
}

/// Ends a transfer that broke a rule, and tells the peer.
void Receiver::refuse(const SessionPtr& session, const std::string& why) {
  part(session, why, Refusal{clean_text(why)});
}

void Receiver::part(const SessionPtr& session, const std::string& why, const Control& last_words) {
  if (session->state >= Session::State::refused) return;
  session->state = Session::State::refused;
  guests_.leave(static_cast<std::uint64_t>(session->id));
  session->parted_at = Clock::now();
  session->summary.problem = why;
  session->outbox.send(last_words);
}

/// What was being written is put in order for another time, and others may have it.
void Receiver::release(const SessionPtr& session) {
  for (const auto& [number, open] : session->open) {
    if (!open.file) continue;
    unclaim(session, open.entry.path);
    open.file->cancel();
    const auto alive = alive_;
    worker_.run([file = open.file, session] { file->suspend(); },
                [this, alive, begun = open.begun, blocks = block_count(open.entry.size)] {
                  if (!*alive || !begun) return;
                  --open_files_;
                  open_blocks_ -= blocks;
                  begin_files();
                });
  }
  session->open.clear();
  leave_folders(session);
  std::erase_if(waiting_, [&](const Waiting& one) { return one.session == session; });
}

/// The connection is over.
void Receiver::end(const SessionPtr& session, bool finished, const std::string& problem) {
  if (sessions_.erase(static_cast<std::uint64_t>(session->id)) == 0) return;
  guests_.leave(static_cast<std::uint64_t>(session->id));
  note_given(*session);
  session->state = Session::State::over;
  session->summary.finished = finished || session->summary.finished;
  finished = session->summary.finished;
  if (!finished && session->summary.problem.empty()) session->summary.problem = problem;
  if (!finished || session->giving)
    session->summary.seconds = std::chrono::duration<double>(Clock::now() - session->began).count();
  release(session);
  if (session->said_hello && events_.ended) events_.ended(session->summary);
}

bool Receiver::pump() {
  bool any = lister_ && lister_->deliver();
  std::vector<SessionPtr> stubborn;
  const auto now = Clock::now();
  const bool look = now - looked_at_ > limits_.patience / 8;
  if (look) looked_at_ = now;
  for (const auto& [id, session] : sessions_) {
    any = session->outbox.flush() || any;
    any = pump_sender(session, now) || any;
    if (session->giving && session->giving->sender && session->giving->sender->over())
      stubborn.push_back(session);
    if (look && look_for_silence(session, now)) {
      stubborn.push_back(session);
      continue;
    }
    if (session->state < Session::State::refused) continue;
    // The peer has the reason once the outbox is empty.
    if (session->state == Session::State::refused && session->outbox.empty())
      endpoint_.close(session->id);
    if (now - session->parted_at > limits_.patience) stubborn.push_back(session);
  }
  for (const SessionPtr& session : stubborn) {
    endpoint_.abort(session->id);
    end(session, session->state == Session::State::over, {});
  }
  return any;
}

void Receiver::stop() {
  while (!sessions_.empty()) {
    const SessionPtr session = sessions_.begin()->second;
    endpoint_.abort(session->id);
    end(session, session->state == Session::State::over, "this receiver was stopped");
  }
}

std::size_t Receiver::active() const {
  std::size_t count = 0;
  for (const auto& [id, session] : sessions_) count += session->said_hello ? 1u : 0u;
  return count;
}

Receiver::Progress Receiver::progress() const {
  Progress progress;
  for (const auto& [id, session] : sessions_) {
    const Sender* sender = session->giving ? session->giving->sender.get() : nullptr;
    progress.bytes += sender != nullptr ? sender->progress().bytes : session->done_bytes;
    progress.of += session->total_bytes;
  }
  return progress;
}

}  // namespace strack::transfer
