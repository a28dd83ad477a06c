#include "transfer/journal.h"

#include <vector>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

const FileIdentity kFile{"a/b", 3 * std::uint64_t{kBlockBytes} + 1, 77};

Digest digest_of(std::uint8_t value) {
  Digest digest{};
  digest.fill(value);
  return digest;
}

std::vector<std::byte> journal(const std::vector<SafeBlock>& blocks) {
  std::vector<std::byte> bytes = journal_header(kFile);
  const std::vector<std::byte> records = journal_records(kFile, blocks);
  bytes.insert(bytes.end(), records.begin(), records.end());
  return bytes;
}

TEST(Journal, ReadsWhatWasWritten) {
  const std::vector<SafeBlock> blocks{{0, digest_of(1)}, {3, digest_of(2)}, {1, digest_of(3)}};
  const std::vector<std::byte> bytes = journal(blocks);
  const auto contents = read_journal(kFile, bytes);
  ASSERT_TRUE(contents.has_value());
  EXPECT_EQ(contents->blocks, blocks);
  EXPECT_EQ(contents->good_bytes, bytes.size());
}

TEST(Journal, OfAnotherFileIsOfNoUse) {
  const std::vector<std::byte> bytes = journal({{0, digest_of(1)}});
  for (const FileIdentity& other :
       {FileIdentity{"a/c", kFile.size, kFile.mtime_ns}, FileIdentity{"a/b", kFile.size + 1, 77},
        FileIdentity{"a/b", kFile.size, 78}})
    EXPECT_FALSE(read_journal(other, bytes).has_value());
  EXPECT_FALSE(read_journal(kFile, {}).has_value());
}

// A crash in the middle of a record loses that one, and none before.
TEST(Journal, ATornRecordEndsIt) {
  const std::vector<SafeBlock> blocks{{0, digest_of(1)}, {1, digest_of(2)}};
  const std::vector<std::byte> whole = journal(blocks);
  for (std::size_t cut = 1; cut <= kRecordBytes; ++cut) {
    const std::vector<std::byte> bytes(whole.begin(),
                                       whole.end() - static_cast<std::ptrdiff_t>(cut));
    const auto contents = read_journal(kFile, bytes);
    ASSERT_TRUE(contents.has_value());
    EXPECT_EQ(contents->blocks, (std::vector<SafeBlock>{blocks[0]})) << cut;
    EXPECT_EQ(contents->good_bytes, whole.size() - kRecordBytes);
  }
}

TEST(Journal, AChangedBitEndsIt) {
  const std::vector<std::byte> whole = journal({{0, digest_of(1)}, {1, digest_of(2)}});
  for (std::size_t i = whole.size() - kRecordBytes; i < whole.size(); ++i) {
    std::vector<std::byte> bytes = whole;
    bytes[i] ^= std::byte{1};
    EXPECT_EQ(read_journal(kFile, bytes)->blocks.size(), 1u) << i;
  }
}

TEST(Journal, ABlockBeyondTheEndEndsIt) {
  EXPECT_EQ(read_journal(kFile, journal({{4, digest_of(1)}, {0, digest_of(1)}}))->blocks.size(),
            0u);
}

}  // namespace
}  // namespace strack::transfer
