#include "transfer/journal.h"

#include <algorithm>
#include <cstring>

#include "transfer/digest.h"

namespace strack::transfer {
namespace {

constexpr std::string_view kMagic = "STRKPART";
constexpr std::uint32_t kJournalVersion = 1;
constexpr std::size_t kCheckBytes = 8;

void put(std::vector<std::byte>& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// The header without its check, which is a digest of it.
std::vector<std::byte> header_body(const FileIdentity& file) {
  std::vector<std::byte> out;
  for (const char c : kMagic) out.push_back(static_cast<std::byte>(c));
  put(out, kJournalVersion, 4);
  put(out, kBlockBytes, 4);
  put(out, file.size, 8);
  put(out, static_cast<std::uint64_t>(file.mtime_ns), 8);
  put(out, file.path.size(), 2);
  for (const char c : file.path) out.push_back(static_cast<std::byte>(c));
  return out;
}

/// The record with a check that holds for this file only.
std::vector<std::byte> record(const Digest& header, const SafeBlock& block) {
  std::vector<std::byte> out;
  put(out, block.block, 4);
  for (const std::uint8_t byte : block.digest) out.push_back(std::byte{byte});
  std::vector<std::byte> checked = out;
  for (const std::uint8_t byte : header) checked.push_back(std::byte{byte});
  const Digest check = block_digest(checked);
  for (std::size_t i = 0; i < kCheckBytes; ++i) out.push_back(std::byte{check[i]});
  return out;
}

}  // namespace

std::vector<std::byte> journal_header(const FileIdentity& file) {
  std::vector<std::byte> out = header_body(file);
  for (const std::uint8_t byte : block_digest(out)) out.push_back(std::byte{byte});
  return out;
}

std::vector<std::byte> journal_records(const FileIdentity& file,
                                       std::span<const SafeBlock> blocks) {
  const Digest header = block_digest(header_body(file));
  std::vector<std::byte> out;
  for (const SafeBlock& block : blocks) {
    const std::vector<std::byte> one = record(header, block);
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

std::optional<JournalContents> read_journal(const FileIdentity& file,
                                            std::span<const std::byte> bytes) {
  const std::vector<std::byte> wanted = journal_header(file);
  if (bytes.size() < wanted.size() || !std::equal(wanted.begin(), wanted.end(), bytes.begin()))
    return std::nullopt;
  const Digest header = block_digest(header_body(file));
  const std::uint32_t count = block_count(file.size);
  JournalContents contents{{}, wanted.size()};
  while (bytes.size() - contents.good_bytes >= kRecordBytes) {
    const std::span<const std::byte> found = bytes.subspan(contents.good_bytes, kRecordBytes);
    SafeBlock block;
    for (std::size_t i = 0; i < 4; ++i)
      block.block = (block.block << 8) | std::to_integer<std::uint32_t>(found[i]);
    std::memcpy(block.digest.data(), found.data() + 4, block.digest.size());
    const std::vector<std::byte> right = record(header, block);
    if (block.block >= count || !std::equal(right.begin(), right.end(), found.begin())) break;
    contents.blocks.push_back(block);
    contents.good_bytes += kRecordBytes;
  }
  return contents;
}

}  // namespace strack::transfer
