// One file on its way in (transfer/store.h).
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "transfer/digest.h"
#include "transfer/disk.h"
#include "transfer/holes.h"
#include "transfer/store.h"

namespace strack::transfer {

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
    const std::uint64_t offset = std::uint64_t{block} * kBlockBytes;
    if (sparse() && is_hole(fd, offset, bytes.size())) {
      digests_[block] = zero_digest(static_cast<std::uint32_t>(bytes.size()));
      continue;
    }
    if (!read_all(fd, bytes, offset)) return false;
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
                               in_bytes(entry_.size - entry_.holes), in_bytes(free + has))};
  };
  if (known && entry_.size - entry_.holes > free + has) return too_small();
  if (sparse()) {
    if (::ftruncate(part_.get(), size) != 0) return failure("no room can be made for it", errno);
    return std::nullopt;
  }
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
  if (!write_block(block, bytes)) return failure("cannot be written", errno);
  digests_[block] = block_digest(bytes);
  have_[block] = true;
  if (!journal_) return std::nullopt;
  unsafe_.push_back({block, digests_[block]});
  unsafe_bytes_ += bytes.size();
  if (unsafe_bytes_ >= kSyncBytes || std::chrono::steady_clock::now() - synced_ >= kSyncInterval)
    make_safe();
  return std::nullopt;
}

/// Of a file with holes, pages of zeros are left out: they may have been part of one. Something may be there from
/// an earlier attempt.
bool IncomingFile::write_block(std::uint32_t block, std::span<const std::byte> bytes) {
  constexpr std::size_t kPage = 4096;
  const std::uint64_t offset = std::uint64_t{block} * kBlockBytes;
  if (!sparse() || !make_hole(part_.get(), offset, bytes.size()))
    return write_all(part_.get(), bytes, offset);
  const auto is_zero = [&](std::size_t at) {
    const auto page = bytes.subspan(at, std::min(kPage, bytes.size() - at));
    return std::all_of(page.begin(), page.end(),
                       [](std::byte byte) { return byte == std::byte{0}; });
  };
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = at;
    while (end < bytes.size() && !is_zero(end)) end += std::min(kPage, bytes.size() - end);
    if (end > at && !write_all(part_.get(), bytes.subspan(at, end - at), offset + at)) return false;
    at = end + kPage;  // the page of zeros, or beyond the end
  }
  return true;
}

std::optional<Verdict> IncomingFile::leave_out(BlockRange blocks) {
  if (comparing_ || !part_) return Verdict{Outcome::refused, "a hole came that was not asked for"};
  const std::uint32_t end = blocks.first + blocks.count;
  STRACK_CHECK_OP(end, <=, have_.size());
  for (std::uint32_t block = blocks.first; block < end; ++block) {
    if (have_[block]) return Verdict{Outcome::refused, "a hole came that was not asked for"};
    have_[block] = true;
    digests_[block] = zero_digest(block_length(entry_.size, block));
  }
  // Not noted in the journal: to be told of it again costs nothing.
  const std::uint64_t from = std::uint64_t{blocks.first} * kBlockBytes;
  const std::uint64_t length = std::min(std::uint64_t{end} * kBlockBytes, entry_.size) - from;
  if (is_hole(part_.get(), from, length) || make_hole(part_.get(), from, length))
    return std::nullopt;
  const std::vector<std::byte> zeros(kBlockBytes);
  for (std::uint32_t block = blocks.first; block < end; ++block) {
    if (cancelled_.load(std::memory_order_relaxed)) break;
    if (!write_all(part_.get(), std::span(zeros).first(block_length(entry_.size, block)),
                   std::uint64_t{block} * kBlockBytes))
      return failure("cannot be written", errno);
  }
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
