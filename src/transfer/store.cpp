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
  const bool fatal =
      error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO || error == EMFILE;
  return {fatal ? Outcome::fatal : Outcome::refused,
          fmt::format("{}: {}", what, std::strerror(error))};
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

/// Permissions and time. A file system that has none of these is no reason to refuse a file.
void set_attributes(int fd, const Entry& entry) {
  ::fchmod(fd, entry.mode);
  ::futimens(fd, times(entry.mtime_ns).data());
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
  if (::mkdirat(parent.value().get(), name.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return failure("the folder cannot be made", errno);
  struct stat found {};
  if (::fstatat(parent.value().get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
    return failure("the folder cannot be looked at", errno);
  if (!S_ISDIR(found.st_mode)) return {Outcome::refused, "is there already and is not a folder"};
  return {Outcome::there, {}};
}

Verdict Store::finish_folder(const Entry& entry) {
  auto parent = parent_of(entry.path);
  if (!parent) return parent.error();
  const std::string name(last_name(entry.path));
  const FileHandle folder(::openat(parent.value().get(), name.c_str(), kFolderFlags));
  if (!folder) return failure("the folder cannot be opened", errno);
  set_attributes(folder.get(), entry);
  return {};
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
  if (errno != EEXIST) return failure("the link cannot be made", errno);
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
    return failure("the link cannot replace what is there", error);
  }
  set_time();
  return {};
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
  auto parent = store_->parent_of(entry_.path);
  if (!parent) return parent.error();
  parent_ = std::move(parent.value());
  const std::string name(this->name());
  struct stat found {};
  if (::fstatat(parent_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
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
        ::openat(parent_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
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
  auto parts = store_->parts();
  if (!parts) return parts.error();
  parts_ = std::move(parts.value());
  if (auto verdict = lock_part()) return *verdict;
  if (auto verdict = make_room()) {
    discard();
    return *verdict;
  }
  // After the room, which bounds how many there can be.
  digests_.assign(block_count(entry_.size), Digest{});
  have_.assign(block_count(entry_.size), false);
  if (journaled()) keep_safe_blocks();
  return missing();
}

/// Opens the .part file and makes sure that no other process has it.
std::optional<Verdict> IncomingFile::lock_part() {
  const std::string part_name = id_ + ".part";
  for (int attempt = 0; attempt < 10; ++attempt) {
    part_ = FileHandle(::openat(parts_.get(), part_name.c_str(), kFileFlags | O_CREAT, 0600));
    if (!part_) return failure("the unfinished file cannot be opened", errno);
    if (::flock(part_.get(), LOCK_EX | LOCK_NB) != 0) break;
    // It could have been finished and renamed before it was locked.
    struct stat mine {};
    struct stat named {};
    if (::fstat(part_.get(), &mine) == 0 &&
        ::fstatat(parts_.get(), part_name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
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
void IncomingFile::keep_safe_blocks() {
  const std::string journal_name = id_ + ".journal";
  journal_ = FileHandle(::openat(parts_.get(), journal_name.c_str(), kFileFlags | O_CREAT, 0600));
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
    const std::string name(this->name());
    const FileHandle there(
        ::openat(parent_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (there) set_attributes(there.get(), entry_);
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
  const std::string part_name = id_ + ".part";
  const std::string name(this->name());
  int error = 0;
  if (force_) {
    if (::renameat(parts_.get(), part_name.c_str(), parent_.get(), name.c_str()) != 0)
      error = errno;
  } else if (::renameat2(parts_.get(), part_name.c_str(), parent_.get(), name.c_str(),
                         RENAME_NOREPLACE) != 0) {
    error = errno;
    struct stat found {};
    if (error == EINVAL &&  // a file system that cannot promise it
        ::fstatat(parent_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 &&
        ::renameat(parts_.get(), part_name.c_str(), parent_.get(), name.c_str()) == 0)
      error = 0;
  }
  if (error != 0) {
    if (error == EEXIST) {
      discard();
      return {Outcome::refused, "has appeared in the meantime; --force replaces it"};
    }
    make_safe();
    return failure("cannot be given its name", error);
  }
  if (journal_) ::unlinkat(parts_.get(), (id_ + ".journal").c_str(), 0);
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
    ::unlinkat(parts_.get(), (id_ + ".part").c_str(), 0);
    ::unlinkat(parts_.get(), (id_ + ".journal").c_str(), 0);
  }
  unsafe_.clear();
  part_.reset();
  journal_.reset();
}

}  // namespace strack::transfer
