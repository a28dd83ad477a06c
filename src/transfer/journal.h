// Which blocks of an unfinished file are safely on disk, and what their checksums are. A small file beside
// the .part file: a header that says what file this is, then one record per block.
//
// A record is appended after its block has been synced, so after a crash every record is true, except that the last
// ones may be torn; a record carries a check of its own, and the first bad one ends the journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transfer/messages.h"

namespace strack::transfer {

/// What must be the same for blocks to be of use again.
struct FileIdentity {
  std::string path;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
};

struct SafeBlock {
  std::uint32_t block = 0;
  Digest digest{};
  friend bool operator==(const SafeBlock&, const SafeBlock&) = default;
};

inline constexpr std::size_t kRecordBytes = 4 + 32 + 8;

[[nodiscard]] std::vector<std::byte> journal_header(const FileIdentity& file);
[[nodiscard]] std::vector<std::byte> journal_records(const FileIdentity& file,
                                                     std::span<const SafeBlock> blocks);

struct JournalContents {
  std::vector<SafeBlock> blocks;
  std::size_t good_bytes = 0;  ///< up to and including the last good record
};
/// Nothing if this is not the journal of that very file.
[[nodiscard]] std::optional<JournalContents> read_journal(const FileIdentity& file,
                                                          std::span<const std::byte> bytes);

}  // namespace strack::transfer
