#include "transfer/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "transfer/digest.h"
#include "transfer/holes.h"

namespace strack::transfer {
namespace {

constexpr std::uint32_t kControlBuffers = 8;
constexpr std::size_t kMostWaiting = 64;  ///< messages in the outbox before more is announced
/// Of a sender that was asked: the receives and sends that the asking took have others.
constexpr std::uint64_t kAskedCookies = std::uint64_t{1} << 40;
constexpr int kMostNeeds = 4;  ///< of one file: what is there is compared, sent, sent again

}  // namespace

struct Sender::Buffer {
  std::vector<std::byte> bytes = std::vector<std::byte>(kBlockBytes);
  std::uint32_t block = 0;
  std::uint32_t length = 0;
  bool wanted = false;
  bool hole = false;  ///< nothing was read: it is all zeros
  Digest digest{};
  std::string problem;  ///< the file cannot be read
};

/// A file that was announced.
struct Sender::Outgoing {
  const SourceEntry* source = nullptr;
  std::shared_ptr<const Source> from;
  std::shared_ptr<const void> keeper;
  FileHandle handle;  ///< the worker's
  timespec
      changed{};  ///< as it was opened: unlike the time of its contents, nobody can set it back
  std::vector<BlockRange> ranges;
  std::size_t range = 0;       ///< the first that does not end before the cursor
  std::uint32_t cursor = 0;    ///< the next block to read
  std::uint32_t digested = 0;  ///< blocks that have been read
  std::vector<Digest> digests;
  BlockRange hole;  ///< that the receiver has not been told of
  int needs = 0;
  std::uint64_t done = 0;  ///< bytes of this need: in all, sent, and that the receiver has
  std::uint64_t sent = 0;
  std::uint64_t kept = 0;
  std::uint64_t left_out = 0;  ///< of holes
  bool refused = false;
  bool reading = false;  ///< a `Need` is being served
  bool given_up = false;
  bool unwanted = false;  ///< given up for the receiver, which says why

  [[nodiscard]] std::uint32_t blocks() const { return block_count(source->entry.size); }
  [[nodiscard]] bool wants(std::uint32_t block) {
    while (range < ranges.size() && ranges[range].first + ranges[range].count <= block) ++range;
    return range < ranges.size() && ranges[range].first <= block;
  }
};

Sender::Sender(udp::Endpoint& endpoint, udp::ConnectionId connection, Worker& worker,
               const Tree& tree, Options options)
    : endpoint_(endpoint),
      connection_(connection),
      worker_(worker),
      tree_(tree),
      options_(std::move(options)),
      outbox_(endpoint, connection, options_.asked ? kAskedCookies : 0),
      hard_links_from_(tree.entries.size() - tree.folder_ends - tree.hard_links),
      ends_from_(tree.entries.size() - tree.folder_ends),
      control_(kControlBuffers, std::vector<std::byte>(kMaxControlBytes)) {
  for (std::uint32_t i = 0; i < kBuffers; ++i) free_.push_back(std::make_shared<Buffer>());
  pruned_ = !options_.prune;
  if (!pruned_ && options_.prune->dry) next_ = ends_from_;
  if (!options_.from) options_.from = std::make_shared<Source>();
  if (options_.asked) return;
  for (std::uint32_t i = 0; i < kControlBuffers; ++i) post_control(i);
}

Sender::~Sender() { *alive_ = false; }

void Sender::post_control(std::uint32_t index) {
  [[maybe_unused]] const auto posted =
      endpoint_.post_receive(connection_, {kControlTag, kKindMask}, control_[index], index);
}

void Sender::on(const udp::Completion& completion) {
  using udp::Kind;
  if (completion.connection != connection_ || state_ == State::over) return;
  switch (completion.kind) {
    case Kind::connected:
      if (completion.tag != kService) {
        stop("who answers there is not `strack recv`");
        break;
      }
      begin();
      break;
    case Kind::sent:
      outbox_.on_sent(completion);
      break;
    case Kind::received:
      if (completion.status != udp::Status::ok || options_.asked) break;
      on_control(std::span<const std::byte>(control_[completion.cookie]).first(completion.length));
      post_control(static_cast<std::uint32_t>(completion.cookie));
      break;
    case Kind::peer_closed:
      if (state_ != State::closing) stop("the receiver left before the end");
      endpoint_.close(connection_);
      break;
    case Kind::closed:
      if (state_ != State::closing && problem_.empty())
        problem_ = "the receiver left before the end";
      state_ = State::over;
      break;
    case Kind::failed:
      // After everything is stored it no longer matters how the connection ends.
      if (state_ != State::closing) lost_ = completion.status;
      if (state_ != State::closing && problem_.empty())
        problem_ = fmt::format("the connection was lost: {}", udp::text(completion.status));
      state_ = State::over;
      break;
    default:
      break;
  }
}

void Sender::begin() {
  state_ = State::hello;
  outbox_.send(Hello{kVersion, options_.force, !options_.resume, tree_.entries.size(), tree_.bytes,
                     !tree_.skipped.empty()});
}

void Sender::on_control(std::span<const std::byte> bytes) {
  if (state_ >= State::closing) return;
  const auto message = decode(bytes);
  if (!message)
    return stop(fmt::format("the receiver sent a message that cannot be understood: {}",
                            text(message.error())));
  std::visit([&](const auto& one) { handle(one); }, message.value());
}

void Sender::handle(const Welcome& welcome) {
  if (state_ != State::hello) return stop("the receiver sent a second welcome");
  if (welcome.version != kVersion)
    return stop(fmt::format("the receiver speaks version {}, this sender version {}",
                            welcome.version, kVersion));
  most_open_ = std::min<std::uint32_t>(welcome.most_open, 64);
  state_ = State::running;
}

void Sender::handle(const Refusal& refusal) {
  stop(fmt::format("the receiver has ended the transfer: {}", printable(refusal.text)));
}

void Sender::handle(const Busy& /*busy*/) {
  stop(state_ == State::hello
           ? "the receiver has as many transfers as it takes"
           : "the receiver has too much to do: it did not hear what came after the hello");
  lost_ = udp::Status::busy;
}

void Sender::handle(const Need& need) {
  const auto found = files_.find(need.number);
  if (found == files_.end() || found->second->reading || ++found->second->needs > kMostNeeds)
    return stop("the receiver asked for a file out of turn");
  Outgoing& file = *found->second;
  take_back(file, true);
  const std::uint32_t blocks = file.blocks();
  for (const BlockRange& range : need.ranges) {
    if (std::uint64_t{range.first} + range.count > blocks)
      return stop("the receiver asked for blocks beyond the end of a file");
  }
  file.ranges = need.ranges;
  file.range = 0;
  file.cursor = 0;
  file.digested = 0;
  file.given_up = false;
  file.hole = {};
  file.digests.assign(blocks, Digest{});
  file.reading = true;
  to_read_.push_back(found->second);
}

void Sender::handle(const Done& done) {
  if (open_ == 0 || done.number >= next_) return stop("the receiver answered what was not asked");
  const SourceEntry& source = tree_.entries[done.number];
  const auto file = files_.find(done.number);
  if (source.entry.kind == EntryKind::file) {
    // A second answer, or one while its blocks are still being sent.
    if (file == files_.end() || file->second->reading)
      return stop("the receiver answered what was not asked");
  }
  --open_;
  if (done.outcome >= Outcome::refused) {
    const std::string why = fmt::format("{}: {}", printable(source.local), printable(done.text));
    const bool own = file != files_.end() && file->second->given_up && !file->second->unwanted;
    ++(own ? progress_.skipped : progress_.refused);
    const bool last_straw = done.outcome == Outcome::fatal && !giving_up_;
    // Who asked for it knows what it refused.
    if (options_.noted && !own && !last_straw && !options_.asked) options_.noted(why);
    if (last_straw) give_up_rest(why);
    if (file != files_.end()) {
      take_back(*file->second, false);
      progress_.bytes += source.entry.size;
    }
  } else if (source.entry.kind == EntryKind::file) {
    ++progress_.files;
    if (done.outcome == Outcome::there) ++progress_.there;
  } else if (source.entry.kind == EntryKind::link || source.entry.kind == EntryKind::hard_link) {
    ++progress_.links;
  }
  if (file != files_.end()) files_.erase(file);
}

void Sender::handle(const Enough& enough) {
  const auto found = files_.find(enough.number);
  if (found == files_.end()) return stop("the receiver answered what was not asked");
  Outgoing& file = *found->second;
  if (!file.reading) return;  // its end is on its way
  file.given_up = file.unwanted = true;
  file.reading = false;
  outbox_.send(Skip{enough.number});
}

void Sender::handle(const Finished& /*finished*/) {
  if (state_ != State::finishing) return stop("the receiver ended too early");
  state_ = State::closing;
  finished_ = true;
  endpoint_.close(connection_);
}

void Sender::handle(const Names& names) {
  if (!prune_ || !prune_->on(names)) stop("the receiver answered what was not asked");
}

void Sender::handle(const Removed& removed) {
  if (!prune_ || !prune_->on(removed)) stop("the receiver answered what was not asked");
}

/// Before folders get their times: all that is copied is there, and what is too much goes. Not what could not be read here, or
/// may be below that [D171].
bool Sender::prune_on() {
  if (pruned_ || next_ != ends_from_ || open_ > 0) return false;
  if (!prune_) {
    if (giving_up_) {
      pruned_ = true;
      if (options_.noted) options_.noted("nothing is removed, since not everything was copied");
      return true;
    }
    std::vector<Prune::Known> known;
    for (std::size_t i = 0; i < ends_from_; ++i) {
      const Entry& entry = tree_.entries[i].entry;
      known.push_back(
          {entry.path, entry.kind == EntryKind::folder, tree_.unseen.count(entry.path) == 0});
    }
    for (const std::string& path : tree_.unseen) known.push_back({path});
    prune_ = std::make_unique<Prune>(known, *options_.prune);
  }
  bool any = false;
  while (outbox_.waiting() < kMostWaiting) {
    const auto message = prune_->next();
    if (!message) break;
    outbox_.send(*message);
    any = true;
  }
  if (!prune_->over()) return any;
  progress_.removed = prune_->count();
  pruned_ = true;
  prune_.reset();
  if (options_.prune->dry) next_ = tree_.entries.size();
  return true;
}

/// It is at work: it reads what it has already.
void Sender::handle(const StillHere& /*still_here*/) {}

template <class Other>
void Sender::handle(const Other& /*other*/) {
  stop("the receiver sent a message that only a sender sends");
}

/// What is open comes to its end, and folders that were begun get their permissions; nothing else is begun.
void Sender::give_up_rest(const std::string& why) {
  giving_up_ = true;
  problem_ = why;
  if (next_ >= ends_from_) return;
  std::size_t left = 0;
  std::size_t folders = 0;
  for (std::size_t i = 0; i < ends_from_; ++i) {
    const SourceEntry& source = tree_.entries[i];
    const bool folder = source.entry.kind == EntryKind::folder;
    if (i < next_) {
      folders += folder ? 1u : 0u;
    } else if (!folder && ++left <= kMostNamed && options_.noted) {
      options_.noted(fmt::format("{}: not begun", printable(source.local)));
    }
  }
  progress_.not_begun = left;
  if (left > kMostNamed && options_.noted)
    options_.noted(fmt::format("and {} more were not begun", left - kMostNamed));
  // Ends are in the order of folders, turned round.
  next_ = ends_from_ = tree_.entries.size() - folders;
  hard_links_from_ = SIZE_MAX;
}

/// It cannot go on. The receiver keeps what it has.
void Sender::stop(const std::string& problem) {
  if (problem_.empty()) problem_ = problem;
  endpoint_.abort(connection_);
  state_ = State::over;
}

bool Sender::pump() {
  if (state_ == State::over) return false;
  bool any = outbox_.flush();
  if (state_ != State::running) return any;
  any = announce() || any;
  any = prune_on() || any;
  any = read_on() || any;
  const auto now = std::chrono::steady_clock::now();
  if (!outbox_.empty()) sent_at_ = now;
  if (now - sent_at_ > kStillHereAfter) outbox_.send(StillHere{});
  if (next_ == tree_.entries.size() && open_ == 0 && pruned_ && state_ == State::running) {
    state_ = State::finishing;
    outbox_.send(Finish{});
    any = true;
  }
  return any;
}

bool Sender::announce() {
  bool any = false;
  while (next_ < tree_.entries.size() && open_ < most_open_ && outbox_.waiting() < kMostWaiting) {
    // A folder gets its time when nothing in it changes any more.
    // A file has its other names after its own.
    if ((next_ == ends_from_ || next_ == hard_links_from_) && open_ > 0) break;
    if (next_ == ends_from_ && !pruned_) break;
    const SourceEntry& source = tree_.entries[next_];
    if (source.entry.kind == EntryKind::file) {
      auto file = std::make_shared<Outgoing>();
      file->source = &source;
      file->from = options_.from;
      file->keeper = options_.keeper;
      files_.emplace(source.entry.number, std::move(file));
    }
    ++open_;
    ++next_;
    outbox_.send(source.entry);
    any = true;
  }
  return any;
}

/// The worker's part. An empty file is looked at as well: what is in a file, not its size, says that it is empty.
void Sender::read_block(Outgoing& file, Buffer& buffer) {
  const Entry& entry = file.source->entry;
  const auto fail = [&](std::string_view what) {
    buffer.problem = fmt::format("{}: {}", printable(file.source->local),
                                 what.empty() ? std::string_view(std::strerror(errno)) : what);
  };
  if (buffer.block == 0) file.handle = file.from->open(file.source->local, O_RDONLY | O_NONBLOCK);
  if (!file.handle) return fail(errno == ENOENT ? "has vanished" : "");
  struct stat now {};
  if (buffer.block == 0) {
    if (::fstat(file.handle.get(), &now) != 0) return fail("");
    file.changed = now.st_ctim;
  }
  const auto read = [&](std::byte* to, std::size_t size, std::uint64_t offset) {
    ssize_t count = 0;
    do {
      count = ::pread(file.handle.get(), to, size, static_cast<off_t>(offset));
    } while (count < 0 && errno == EINTR);
    return count;
  };
  std::size_t have = 0;
  const std::uint64_t offset = std::uint64_t{buffer.block} * kBlockBytes;
  if (entry.holes > 0 && is_hole(file.handle.get(), offset, buffer.length)) {
    buffer.hole = true;
    have = buffer.length;
  }
  while (have < buffer.length) {
    const ssize_t count = read(buffer.bytes.data() + have, buffer.length - have, offset + have);
    if (count < 0) return fail("");
    if (count == 0) return fail("became shorter while it was being copied");
    have += static_cast<std::size_t>(count);
  }
  buffer.digest = buffer.hole ? zero_digest(buffer.length)
                              : block_digest(std::span(buffer.bytes).first(buffer.length));
  if (buffer.block + 1 < file.blocks()) return;
  if (::fstat(file.handle.get(), &now) != 0) return fail("");
  if (now.st_ctim.tv_sec != file.changed.tv_sec || now.st_ctim.tv_nsec != file.changed.tv_nsec ||
      static_cast<std::uint64_t>(now.st_size) != entry.size ||
      std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec != entry.mtime_ns)
    return fail("changed while it was being copied");
  std::byte beyond{};
  if (read(&beyond, 1, entry.size) > 0)
    return fail(
        fmt::format("has more in it than the {} bytes that it says, as files in /proc "
                    "have. copy what is in it to a file and send that",
                    entry.size));
  file.handle.reset();
}

/// Has the worker read the next blocks, as long as there are buffers.
bool Sender::read_on() {
  bool any = false;
  const auto alive = alive_;
  while (!to_read_.empty() && state_ == State::running) {
    const std::shared_ptr<Outgoing> file = to_read_.front();
    if (file->given_up) {
      to_read_.pop_front();
      continue;
    }
    if (free_.empty()) break;
    const std::shared_ptr<Buffer> buffer = free_.back();
    free_.pop_back();
    buffer->block = file->cursor++;
    buffer->length = block_length(file->source->entry.size, buffer->block);
    buffer->wanted = file->wants(buffer->block);
    buffer->hole = false;
    buffer->problem.clear();
    if (file->cursor >= file->blocks()) to_read_.pop_front();
    worker_.run([file, buffer] { read_block(*file, *buffer); },
                [this, alive, file, buffer] {
                  if (*alive && state_ == State::running) on_block(file, buffer);
                });
    any = true;
  }
  return any;
}

void Sender::on_block(const std::shared_ptr<Outgoing>& file,
                      const std::shared_ptr<Buffer>& buffer) {
  if (!buffer->problem.empty() && !file->given_up) give_up(*file, buffer->problem);
  if (file->given_up) {
    free_.push_back(buffer);
    return;
  }
  if (file->blocks() == 0) {
    free_.push_back(buffer);
    return end_file(*file);
  }
  file->digests[buffer->block] = buffer->digest;
  ++file->digested;
  const bool sent = buffer->wanted && !buffer->hole;
  if (sent) tell_hole(*file);
  if (sent) {
    outbox_.send_block({file->source->entry.number, buffer->block},
                       std::span<const std::byte>(buffer->bytes).first(buffer->length),
                       [this, file, buffer, round = file->needs] {
                         on_sent(*file, round, buffer->length);
                         free_.push_back(buffer);
                       });
  } else {
    if (buffer->wanted) {
      BlockRange& hole = file->hole;
      if (hole.count > 0 && hole.first + hole.count != buffer->block) tell_hole(*file);
      if (hole.count == 0) hole.first = buffer->block;
      ++hole.count;
      progress_.hole_bytes += buffer->length;
      file->left_out += buffer->length;
    } else {
      progress_.kept_bytes += buffer->length;
      file->kept += buffer->length;
    }
    progress_.bytes += buffer->length;
    file->done += buffer->length;
    free_.push_back(buffer);
  }
  if (file->digested == file->blocks()) end_file(*file);
}

/// A block is acknowledged, which may come after what the receiver thinks of its file.
void Sender::on_sent(Outgoing& file, int round, std::uint32_t bytes) {
  if (file.refused) return;
  progress_.sent_bytes += bytes;
  if (file.needs != round) {
    progress_.again_bytes += bytes;
    return;
  }
  progress_.bytes += bytes;
  file.done += bytes;
  file.sent += bytes;
}

/// What the receiver has of a file is of no use: it wants all of it again, or none.
void Sender::take_back(Outgoing& file, bool again) {
  progress_.bytes -= file.done;
  progress_.kept_bytes -= file.kept;
  progress_.hole_bytes -= file.left_out;
  if (again) {
    progress_.again_bytes += file.sent;
  } else {
    progress_.sent_bytes -= file.sent;
    file.refused = true;
  }
  file.done = file.sent = file.kept = file.left_out = 0;
}

void Sender::tell_hole(Outgoing& file) {
  if (file.hole.count > 0) outbox_.send(Hole{file.source->entry.number, file.hole});
  file.hole = {};
}

void Sender::end_file(Outgoing& file) {
  tell_hole(file);
  file.reading = false;
  const Entry& entry = file.source->entry;
  outbox_.send(FileEnd{entry.number, file_digest(entry.size, file.digests)});
}

void Sender::give_up(Outgoing& file, const std::string& why) {
  file.given_up = true;
  file.reading = false;
  if (options_.noted) options_.noted(why);
  outbox_.send(Skip{file.source->entry.number});
}

}  // namespace strack::transfer
