// The receiver's folder: everything that `strack recv` does to a disk. Knows nothing of networks; called on
// the worker's thread, and blocks as disks do.
//
// Nothing is ever made outside the folder: names are checked when messages are decoded, and every step of a path is
// opened without following links. A file is written as .strack/ID.part (ID: a digest of its path), with a
// journal beside it, and gets its name when it is whole and its checksum is right. A folder that is made here is
// noted as .strack/ID.folder until it gets its permissions: one that was there before keeps its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "transfer/file_handle.h"
#include "transfer/journal.h"
#include "transfer/messages.h"

namespace strack::transfer {

struct Verdict {
  Outcome outcome = Outcome::stored;
  std::string text;
};

class Store {
 public:
  /// Makes the folder if it is missing. Or says what is wrong.
  [[nodiscard]] static Result<std::shared_ptr<Store>, std::string> open(const std::string& folder);

  /// Makes it for this side alone, so that it can be filled whatever its permissions will be.
  [[nodiscard]] Verdict make_folder(const Entry& entry);
  /// Permissions and time, where this or an earlier attempt has made it; else it stays as it is.
  [[nodiscard]] Verdict finish_folder(const Entry& entry);
  [[nodiscard]] Verdict make_link(const Entry& entry, bool force);
  /// Another name for a file that was stored before: one of this size and time.
  [[nodiscard]] Verdict make_hard_link(const Entry& entry, bool force);
  struct Listing {
    std::vector<Names::Name> names;
    std::uint32_t hidden = 0;  ///< those that no message can name
    std::string problem;       ///< it cannot be read
  };
  /// What is in a folder, but for unfinished files; of one that has more than `most`, that is the problem.
  [[nodiscard]] Listing list(const std::string& path, std::size_t most);
  /// A file, a link, or an empty folder. Says what is wrong, or nothing.
  [[nodiscard]] std::string remove(const std::string& path, bool folder);
  /// Until everything is on the disk. False if the disk says no.
  [[nodiscard]] bool sync();
  /// Removes the folder of unfinished files where it is empty.
  void tidy();

 private:
  friend class IncomingFile;
  explicit Store(FileHandle folder) : folder_(std::move(folder)) {}
  /// The folder that a path's last name is in, made where it is missing; or why there is none.
  [[nodiscard]] Result<FileHandle, Verdict> parent_of(std::string_view path, bool make = true);
  [[nodiscard]] Result<FileHandle, Verdict> parts();
  [[nodiscard]] Verdict make_noted(int parent, const std::string& name, std::string_view path);
  /// Asked before a file comes: false if it could not be given its name in the end.
  [[nodiscard]] bool may_add(std::string_view path) const;

  FileHandle folder_;
};

/// One file on its way in. It keeps descriptors from `begin` until its end, at most kMostDescriptors.
class IncomingFile {
 public:
  static constexpr std::uint32_t kMostDescriptors = 2;

  /// `fresh`: what is left of an earlier attempt is not used.
  IncomingFile(std::shared_ptr<Store> store, Entry entry, bool force, bool fresh = false);

  /// Blocks that are needed, or the end of it.
  using Step = std::variant<std::vector<BlockRange>, Verdict>;

  /// Looks at what is there, and makes room.
  [[nodiscard]] Step begin();
  /// `bytes` is exactly as long as the block. A verdict means that it cannot go on.
  [[nodiscard]] std::optional<Verdict> write(std::uint32_t block, std::span<const std::byte> bytes);
  /// The same for blocks that are zeros and are to take no room.
  [[nodiscard]] std::optional<Verdict> leave_out(BlockRange blocks);
  /// All that was needed has been written. More may be needed, if what was kept is not right.
  [[nodiscard]] Step finish(const Digest& digest);
  /// It will not be finished now: what is there is kept for another time.
  void suspend();
  /// It will never be finished.
  void discard();
  /// From any thread: `begin` is not to look at long files any more.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  [[nodiscard]] const Entry& entry() const { return entry_; }
  [[nodiscard]] std::uint64_t resumed_bytes() const { return resumed_bytes_; }

  /// Blocks become safe in steps of this many bytes.
  static constexpr std::uint64_t kSyncBytes = std::uint64_t{32} << 20;
  static constexpr std::chrono::seconds kSyncInterval{2};

 private:
  [[nodiscard]] Step begin_part();
  [[nodiscard]] std::optional<Verdict> lock_part(int parts);
  [[nodiscard]] std::optional<Verdict> make_room();
  void keep_safe_blocks(int parts);
  [[nodiscard]] bool digest_all(int fd);
  [[nodiscard]] Verdict give_name();
  void make_safe();
  [[nodiscard]] std::vector<BlockRange> missing() const;
  [[nodiscard]] FileIdentity identity() const {
    return {entry_.path, entry_.size, entry_.mtime_ns};
  }
  [[nodiscard]] bool sparse() const { return entry_.holes > 0; }
  [[nodiscard]] bool write_block(std::uint32_t block, std::span<const std::byte> bytes);
  [[nodiscard]] bool journaled() const { return block_count(entry_.size) > 1; }
  [[nodiscard]] std::string_view name() const;

  std::shared_ptr<Store> store_;
  Entry entry_;
  bool force_;
  bool fresh_;
  std::string id_;
  std::atomic<bool> cancelled_{false};

  FileHandle part_;
  FileHandle journal_;
  bool comparing_ = false;  ///< with the file that is there
  bool unread_ = false;     ///< the journal was not read to its end
  int failures_ = 0;        ///< checksums that were wrong
  std::vector<Digest> digests_;
  std::vector<bool> have_;
  std::vector<SafeBlock> unsafe_;  ///< written, not synced
  std::uint64_t unsafe_bytes_ = 0;
  std::uint64_t resumed_bytes_ = 0;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace strack::transfer
