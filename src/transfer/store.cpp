#include "transfer/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "transfer/digest.h"
#include "transfer/names.h"

namespace strack::transfer {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kFileFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// A verdict on an error of the system's. A disk that is full is so for the next file as well.
Verdict failure(std::string_view what, int error) {
  const bool fatal = error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO ||
                     error == EMFILE || error == ENFILE;
  return {fatal ? Outcome::fatal : Outcome::refused,
          fmt::format("{}: {}{}", what, std::strerror(error),
                      error == EMFILE ? " at the receiver; `ulimit -n` raises its limit" : "")};
}

/// The same for what cannot be added to the folder that `path` is in: mostly one that was finished read-only.
Verdict not_added(std::string_view what, std::string_view path, int error) {
  if (error != EACCES) return failure(what, error);
  const std::size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string_view::npos ? "." : printable(path.substr(0, slash));
  return {
      Outcome::refused,
      fmt::format("the receiver may not write into its folder '{}'; `chmod u+w` on it there, and "
                  "the same command goes on",
                  folder)};
}

/// What a folder is known by when it is to be finished: one that was replaced, or whose permissions somebody
/// has changed meanwhile, is no longer ours. Nothing if it cannot be looked at.
std::optional<std::string> folder_note(int folder) {
  struct stat found {};
  if (::fstat(folder, &found) != 0) return std::nullopt;
  // An inode may be used again by another folder, which is born later. Not every file system knows when; and
  // devices are counted anew when a machine starts, so they are only the second best.
  struct statx more {};
  const bool born = ::statx(folder, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 &&
                    (more.stx_mask & STATX_BTIME) != 0;
  return fmt::format(
      "{} {:o} {}\n", found.st_ino, found.st_mode,
      born ? fmt::format("born {}.{:09}", more.stx_btime.tv_sec, more.stx_btime.tv_nsec)
           : fmt::format("device {}", found.st_dev));
}

timespec to_timespec(std::int64_t ns) {
  std::int64_t seconds = ns / 1'000'000'000;
  std::int64_t rest = ns % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --seconds;
  }
  return {static_cast<time_t>(seconds), static_cast<long>(rest)};
}

/// Now for the access, as given for the modification.
std::array<timespec, 2> times(std::int64_t mtime_ns) {
  return {timespec{0, UTIME_NOW}, to_timespec(mtime_ns)};
}

/// Permissions and time. A file system that has none of these is no reason to refuse a file. The permissions
/// are last: a folder that has them is finished.
void set_attributes(int fd, const Entry& entry) {
  ::futimens(fd, times(entry.mtime_ns).data());
  ::fchmod(fd, entry.mode);
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool write_all(int fd, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count == 0) errno = EIO;
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

bool read_all(int fd, std::span<std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

std::string in_bytes(std::uint64_t size) {
  static constexpr std::array kUnits{"bytes", "KB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(size);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace

// --- Store ---

Result<std::shared_ptr<Store>, std::string> Store::open(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return fmt::format("the folder '{}' cannot be made: {}", folder, std::strerror(errno));
  FileHandle handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle)
    return fmt::format("the folder '{}' cannot be opened: {}", folder, std::strerror(errno));
  if (::faccessat(handle.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    return fmt::format("nothing can be written into the folder '{}': {}", folder,
                       std::strerror(errno));
  return std::shared_ptr<Store>(new Store(std::move(handle)));
}

Result<FileHandle, Verdict> Store::parent_of(std::string_view path) {
  FileHandle at(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0));
  if (!at) return failure("the folder cannot be opened", errno);
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/')) {
    const std::string name(path.substr(0, slash));
    path = path.substr(slash + 1);
    FileHandle next(::openat(at.get(), name.c_str(), kFolderFlags));
    if (!next && errno == ENOENT) {
      if (::mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST)
        return failure(fmt::format("the folder '{}' cannot be made", printable(name)), errno);
      next = FileHandle(::openat(at.get(), name.c_str(), kFolderFlags));
    }
    if (!next) {
      if (errno == ENOTDIR || errno == ELOOP)
        return Verdict{Outcome::refused,
                       fmt::format("'{}' is there and is not a folder", printable(name))};
      return failure(fmt::format("the folder '{}' cannot be opened", printable(name)), errno);
    }
    at = std::move(next);
  }
  return at;
}

Result<FileHandle, Verdict> Store::parts() {
  const std::string name(kPartsFolder);
  if (::mkdirat(folder_.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    return failure("the folder of unfinished files cannot be made", errno);
  FileHandle handle(::openat(folder_.get(), name.c_str(), kFolderFlags));
  if (!handle) return failure("the folder of unfinished files cannot be opened", errno);
  return handle;
}

Verdict Store::make_folder(const Entry& entry) {
  auto parent = parent_of(entry.path);
  if (!parent) return parent.error();
  const std::string name(last_name(entry.path));
  struct stat found {};
  if (::fstatat(parent.value().get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISDIR(found.st_mode)) return {Outcome::refused, "is there already and is not a folder"};
    return {Outcome::there, {}};
  }
  if (errno != ENOENT) return failure("the folder cannot be looked at", errno);
  return make_noted(parent.value().get(), name, entry.path);
}

/// The note is on the disk, since the attempt that makes a folder is not always the one that fills it. It is
/// there before the folder is, empty: who is cut off in between leaves one that can still be finished.
Verdict Store::make_noted(int parent, const std::string& name, std::string_view path) {
  auto parts_folder = parts();
  if (!parts_folder) return parts_folder.error();
  const int notes = parts_folder.value().get();
  const std::string note_name = path_id(path) + ".folder";
  const FileHandle file(::openat(notes, note_name.c_str(), kFileFlags | O_CREAT | O_TRUNC, 0600));
  if (!file) return failure("the folder cannot be noted", errno);
  if (::mkdirat(parent, name.c_str(), 0700) != 0) {
    const int error = errno;
    ::unlinkat(notes, note_name.c_str(), 0);
    return not_added("the folder cannot be made", path, error);
  }
  const FileHandle folder(::openat(parent, name.c_str(), kFolderFlags));
  const auto note = folder ? folder_note(folder.get()) : std::nullopt;
  if (!note || !write_all(file.get(), std::as_bytes(std::span(*note)), 0)) {
    const int error = errno;
    ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
    ::unlinkat(notes, note_name.c_str(), 0);
    return failure("the folder cannot be noted", error);
  }
  return {};
}

Verdict Store::finish_folder(const Entry& entry) {
  auto parent = parent_of(entry.path);
  if (!parent) return parent.error();
  const std::string name(last_name(entry.path));
  const FileHandle folder(::openat(parent.value().get(), name.c_str(), kFolderFlags));
  if (!folder) return failure("the folder cannot be opened", errno);
  auto parts_folder = parts();
  if (!parts_folder) return parts_folder.error();
  const std::string note_name = path_id(entry.path) + ".folder";
  const FileHandle file(::openat(parts_folder.value().get(), note_name.c_str(), kFileFlags));
  if (!file && errno == ENOENT) return {Outcome::there, {}};
  struct stat found {};
  std::array<char, 128> kept;
  const ssize_t length = file ? ::pread(file.get(), kept.data(), kept.size(), 0) : -1;
  const auto wanted = length >= 0 ? folder_note(folder.get()) : std::nullopt;
  if (!wanted || ::fstat(folder.get(), &found) != 0)
    return failure("it cannot be seen who has made the folder", errno);
  const std::string_view note(kept.data(), static_cast<std::size_t>(length));
  // Cut off before the note was written to its end: then it looks as it was made.
  const bool as_made = found.st_uid == ::geteuid() && (found.st_mode & 0777) == 0700;
  const bool ours = note.ends_with('\n') ? note == *wanted : as_made;
  if (ours) set_attributes(folder.get(), entry);
  ::unlinkat(parts_folder.value().get(), note_name.c_str(), 0);
  return {ours ? Outcome::stored : Outcome::there, {}};
}

Verdict Store::make_link(const Entry& entry, bool force) {
  auto parent = parent_of(entry.path);
  if (!parent) return parent.error();
  const int folder = parent.value().get();
  const std::string name(last_name(entry.path));
  const auto set_time = [&] {
    ::utimensat(folder, name.c_str(), times(entry.mtime_ns).data(), AT_SYMLINK_NOFOLLOW);
  };
  if (::symlinkat(entry.target.c_str(), folder, name.c_str()) == 0) {
    set_time();
    return {};
  }
  if (errno != EEXIST) return not_added("the link cannot be made", entry.path, errno);
  std::array<char, kMaxPathBytes + 1> target;
  const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (length >= 0 &&
      std::string_view(target.data(), static_cast<std::size_t>(length)) == entry.target)
    return {Outcome::there, {}};
  if (!force)
    return {Outcome::refused, "is there already and is something else; --force replaces it"};
  // Made under another name first, so that there is never nothing.
  auto parts_folder = parts();
  if (!parts_folder) return parts_folder.error();
  const std::string id = path_id(entry.path) + ".link";
  ::unlinkat(parts_folder.value().get(), id.c_str(), 0);
  if (::symlinkat(entry.target.c_str(), parts_folder.value().get(), id.c_str()) != 0)
    return failure("the link cannot be made", errno);
  if (::renameat(parts_folder.value().get(), id.c_str(), folder, name.c_str()) != 0) {
    const int error = errno;
    ::unlinkat(parts_folder.value().get(), id.c_str(), 0);
    return not_added("the link cannot replace what is there", entry.path, error);
  }
  set_time();
  return {};
}

bool Store::may_add(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  const std::string folder(slash == std::string_view::npos ? "." : path.substr(0, slash));
  return ::faccessat(folder_.get(), folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ||
         errno != EACCES;
}

bool Store::sync() { return ::syncfs(folder_.get()) == 0; }

void Store::tidy() { ::unlinkat(folder_.get(), std::string(kPartsFolder).c_str(), AT_REMOVEDIR); }

// --- IncomingFile ---

IncomingFile::IncomingFile(std::shared_ptr<Store> store, Entry entry, bool force, bool fresh)
    : store_(std::move(store)),
      entry_(std::move(entry)),
      force_(force),
      fresh_(fresh),
      id_(path_id(entry_.path)) {}

std::string_view IncomingFile::name() const { return last_name(entry_.path); }

IncomingFile::Step IncomingFile::begin() {
  // Folders are opened again whenever they are needed: many files wait at a time, and descriptors are few.
  auto parent = store_->parent_of(entry_.path);
  if (!parent) return parent.error();
  const std::string name(this->name());
  struct stat found {};
  if (::fstatat(parent.value().get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return failure("cannot be looked at", errno);
    return begin_part();
  }
  if (S_ISDIR(found.st_mode))
    return Verdict{Outcome::refused,
                   "is there already and is a folder; to copy into it, end the destination with a "
                   "slash"};
  const bool same_size =
      S_ISREG(found.st_mode) && static_cast<std::uint64_t>(found.st_size) == entry_.size;
  if (same_size) {
    const FileHandle there(
        ::openat(parent.value().get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (there && digest_all(there.get())) {
      comparing_ = true;
      return std::vector<BlockRange>{};
    }
  }
  if (!force_)
    return Verdict{
        Outcome::refused,
        fmt::format("is there already and differs{}; --force replaces it",
                    S_ISREG(found.st_mode)
                        ? fmt::format(" ({} there, {} here)",
                                      in_bytes(static_cast<std::uint64_t>(found.st_size)),
                                      in_bytes(entry_.size))
                        : "")};
  return begin_part();
}

/// Fills the digests from a file, or returns false where it cannot be read to its end.
bool IncomingFile::digest_all(int fd) {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(entry_.size, kBlockBytes));
  const std::uint32_t count = block_count(entry_.size);
  digests_.assign(count, Digest{});
  for (std::uint32_t block = 0; block < count; ++block) {
    const std::span<std::byte> bytes(buffer.data(), block_length(entry_.size, block));
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    if (!read_all(fd, bytes, std::uint64_t{block} * kBlockBytes)) return false;
    digests_[block] = block_digest(bytes);
  }
  return true;
}

IncomingFile::Step IncomingFile::begin_part() {
  comparing_ = false;
  resumed_bytes_ = 0;
  unsafe_.clear();
  unsafe_bytes_ = 0;
  if (!store_->may_add(entry_.path)) return not_added({}, entry_.path, EACCES);
  auto parts = store_->parts();
  if (!parts) return parts.error();
  if (auto verdict = lock_part(parts.value().get())) return *verdict;
  struct stat before {};
  const bool empty = ::fstat(part_.get(), &before) == 0 && before.st_size == 0;
  if (auto verdict = make_room()) {
    // What an earlier attempt has brought may still be of use when there is room again.
    empty ? discard() : part_.reset();
    return *verdict;
  }
  // After the room, which bounds how many there can be.
  digests_.assign(block_count(entry_.size), Digest{});
  have_.assign(block_count(entry_.size), false);
  if (journaled()) keep_safe_blocks(parts.value().get());
  const std::vector<BlockRange> ranges = missing();
  for (const BlockRange& range : ranges)
    std::fill_n(have_.begin() + static_cast<std::ptrdiff_t>(range.first), range.count, false);
  return ranges;
}

/// Opens the .part file and makes sure that no other process has it.
std::optional<Verdict> IncomingFile::lock_part(int parts) {
  const std::string part_name = id_ + ".part";
  for (int attempt = 0; attempt < 10; ++attempt) {
    part_ = FileHandle(::openat(parts, part_name.c_str(), kFileFlags | O_CREAT, 0600));
    if (!part_) return failure("the unfinished file cannot be opened", errno);
    if (::flock(part_.get(), LOCK_EX | LOCK_NB) != 0) break;
    // It could have been finished and renamed before it was locked.
    struct stat mine {};
    struct stat named {};
    if (::fstat(part_.get(), &mine) == 0 &&
        ::fstatat(parts, part_name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        mine.st_ino == named.st_ino && S_ISREG(mine.st_mode))
      return std::nullopt;
  }
  part_.reset();  // not ours to discard
  return Verdict{Outcome::refused, "another program is receiving it right now"};
}

/// Takes all the space at once: a disk too small is noticed now and not after an hour.
std::optional<Verdict> IncomingFile::make_room() {
  const auto size = static_cast<off_t>(entry_.size);
  struct stat found {};
  if (::fstat(part_.get(), &found) != 0) return failure("cannot be looked at", errno);
  if (found.st_size > size && ::ftruncate(part_.get(), size) != 0)
    return failure("cannot be made shorter", errno);
  if (size == 0) return std::nullopt;
  struct statvfs disk {};
  const bool known = ::fstatvfs(part_.get(), &disk) == 0;
  const std::uint64_t free = known ? std::uint64_t{disk.f_bavail} * disk.f_frsize : 0;
  const auto has = static_cast<std::uint64_t>(found.st_blocks) * 512;
  const auto too_small = [&] {
    return Verdict{Outcome::fatal,
                   fmt::format("no space left on the receiver's disk: {} needed, {} "
                               "free",
                               in_bytes(entry_.size), in_bytes(free + has))};
  };
  if (known && entry_.size > free + has) return too_small();
  if (::fallocate(part_.get(), 0, 0, size) == 0) return std::nullopt;
  if (errno == ENOSPC || errno == EDQUOT) return too_small();
  if (errno != EOPNOTSUPP) return failure("no room can be made for it", errno);
  if (::ftruncate(part_.get(), size) != 0) return failure("no room can be made for it", errno);
  return std::nullopt;
}

/// Takes over those blocks of an earlier attempt that are what they were.
void IncomingFile::keep_safe_blocks(int parts) {
  const std::string journal_name = id_ + ".journal";
  journal_ = FileHandle(::openat(parts, journal_name.c_str(), kFileFlags | O_CREAT, 0600));
  if (!journal_) return;  // then it cannot be resumed, no more
  struct stat found {};
  if (::fstat(journal_.get(), &found) != 0) return journal_.reset();
  const std::vector<std::byte> header = journal_header(identity());
  // More than twice as many records as blocks cannot be of use.
  const std::uint64_t most =
      header.size() + 2 * kRecordBytes * std::uint64_t{block_count(entry_.size)};
  std::vector<std::byte> bytes(std::min(static_cast<std::uint64_t>(found.st_size), most));
  std::optional<JournalContents> contents;
  if (!fresh_ && read_all(journal_.get(), bytes, 0)) contents = read_journal(identity(), bytes);
  if (!contents) {
    if (::ftruncate(journal_.get(), 0) != 0 || !write_all(journal_.get(), header, 0))
      journal_.reset();
    return;
  }
  if (::ftruncate(journal_.get(), static_cast<off_t>(contents->good_bytes)) != 0)
    return journal_.reset();
  std::vector<std::byte> buffer(kBlockBytes);
  for (const SafeBlock& safe : contents->blocks) {
    if (cancelled_.load(std::memory_order_relaxed)) {
      unread_ = true;
      return;
    }
    const std::span<std::byte> block(buffer.data(), block_length(entry_.size, safe.block));
    if (have_[safe.block] || !read_all(part_.get(), block, std::uint64_t{safe.block} * kBlockBytes))
      continue;
    if (block_digest(block) != safe.digest) continue;
    have_[safe.block] = true;
    digests_[safe.block] = safe.digest;
    resumed_bytes_ += block.size();
  }
}

std::vector<BlockRange> IncomingFile::missing() const {
  std::vector<BlockRange> ranges;
  const auto count = static_cast<std::uint32_t>(have_.size());
  for (std::uint32_t block = 0; block < count; ++block) {
    if (have_[block]) continue;
    const bool follows = !ranges.empty() && ranges.back().first + ranges.back().count == block;
    if (!follows && ranges.size() == kMaxRanges) {
      // Too many holes to name: all the rest again.
      ranges.back().count = count - ranges.back().first;
      break;
    }
    if (!follows) ranges.push_back({block, 0});
    ++ranges.back().count;
  }
  return ranges;
}

std::optional<Verdict> IncomingFile::write(std::uint32_t block, std::span<const std::byte> bytes) {
  if (comparing_ || !part_) return Verdict{Outcome::refused, "a block came that was not asked for"};
  STRACK_CHECK_OP(block, <, have_.size());
  STRACK_CHECK_OP(bytes.size(), ==, block_length(entry_.size, block));
  // A journal has a record for each: who sends one block again and again would fill the disk with them.
  if (have_[block]) return Verdict{Outcome::refused, "a block came that was not asked for"};
  if (!write_all(part_.get(), bytes, std::uint64_t{block} * kBlockBytes))
    return failure("cannot be written", errno);
  digests_[block] = block_digest(bytes);
  have_[block] = true;
  if (!journal_) return std::nullopt;
  unsafe_.push_back({block, digests_[block]});
  unsafe_bytes_ += bytes.size();
  if (unsafe_bytes_ >= kSyncBytes || std::chrono::steady_clock::now() - synced_ >= kSyncInterval)
    make_safe();
  return std::nullopt;
}

/// What is written is put where a crash cannot take it, and then noted.
void IncomingFile::make_safe() {
  if (unsafe_.empty() || !journal_ || !part_) return;
  struct stat found {};
  if (::fdatasync(part_.get()) == 0 && ::fstat(journal_.get(), &found) == 0) {
    const std::vector<std::byte> records = journal_records(identity(), unsafe_);
    // A record that is not written whole is no harm: its check says so.
    [[maybe_unused]] const bool noted =
        write_all(journal_.get(), records, static_cast<std::uint64_t>(found.st_size));
  }
  unsafe_.clear();
  unsafe_bytes_ = 0;
  synced_ = std::chrono::steady_clock::now();
}

IncomingFile::Step IncomingFile::finish(const Digest& digest) {
  const bool right = file_digest(entry_.size, digests_) == digest;
  if (comparing_) {
    if (!right && !force_)
      return Verdict{Outcome::refused, "is there already and differs; --force replaces it"};
    if (!right) return begin_part();
    if (auto parent = store_->parent_of(entry_.path)) {
      const FileHandle there(::openat(parent.value().get(), std::string(name()).c_str(),
                                      O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
      if (there) set_attributes(there.get(), entry_);
    }
    return Verdict{Outcome::there, {}};
  }
  if (!part_ || std::find(have_.begin(), have_.end(), false) != have_.end())
    return Verdict{Outcome::refused, "its end came before all of its blocks"};
  if (!right) {
    discard();
    if (++failures_ < 2) return begin_part();
    return Verdict{Outcome::refused, "its checksum was wrong twice"};
  }
  return give_name();
}

Verdict IncomingFile::give_name() {
  set_attributes(part_.get(), entry_);
  if (journaled() && ::fdatasync(part_.get()) != 0)
    return failure("cannot be brought to the disk", errno);
  auto parent = store_->parent_of(entry_.path);
  auto parts = store_->parts();
  if (!parent || !parts) {
    make_safe();
    return !parent ? parent.error() : parts.error();
  }
  const int from = parts.value().get();
  const int to = parent.value().get();
  const std::string part_name = id_ + ".part";
  const std::string name(this->name());
  int error = 0;
  if (force_) {
    if (::renameat(from, part_name.c_str(), to, name.c_str()) != 0) error = errno;
  } else if (::renameat2(from, part_name.c_str(), to, name.c_str(), RENAME_NOREPLACE) != 0) {
    error = errno;
    struct stat found {};
    if (error == EINVAL &&  // a file system that cannot promise it
        ::fstatat(to, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 &&
        ::renameat(from, part_name.c_str(), to, name.c_str()) == 0)
      error = 0;
  }
  if (error != 0) {
    if (error == EEXIST) {
      discard();
      return {Outcome::refused, "has appeared in the meantime; --force replaces it"};
    }
    make_safe();
    return not_added("cannot be given its name", entry_.path, error);
  }
  if (journal_) ::unlinkat(from, (id_ + ".journal").c_str(), 0);
  journal_.reset();
  part_.reset();
  return {};
}

void IncomingFile::suspend() {
  make_safe();
  // What could not be resumed anyway is not left lying about.
  const bool empty = std::find(have_.begin(), have_.end(), true) == have_.end();
  if (part_ && !unread_ && (empty || !journal_)) return discard();
  part_.reset();
  journal_.reset();
}

void IncomingFile::discard() {
  if (part_) {
    if (const auto parts = store_->parts()) {
      ::unlinkat(parts.value().get(), (id_ + ".part").c_str(), 0);
      ::unlinkat(parts.value().get(), (id_ + ".journal").c_str(), 0);
    }
  }
  unsafe_.clear();
  part_.reset();
  journal_.reset();
}

}  // namespace strack::transfer
