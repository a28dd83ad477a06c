#include "transfer/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Entry file_entry() {
  return {.number = 7,
          .kind = EntryKind::file,
          .mode = 0644,
          .mtime_ns = -5,
          .size = 3'000'000,
          .path = "a/b",
          .target = {}};
}

Fault fault_of(const std::vector<std::byte>& bytes) {
  const auto decoded = decode(bytes);
  EXPECT_FALSE(decoded.ok());
  return decoded.ok() ? Fault{} : decoded.error();
}
Fault fault_of(const Control& message) { return fault_of(encode(message)); }

TEST(TransferMessages, EveryMessageComesBackAsItWas) {
  Digest digest{};
  digest[31] = 9;
  const std::vector<Control> messages{
      Hello{1, true, false, 12, 1'000'000},
      Hello{2, false, true, 0, 0},
      Welcome{1, 64},
      Refusal{"no"},
      file_entry(),
      Entry{8, EntryKind::link, 0777, 1, 0, "a/l", "../x"},
      Entry{9, EntryKind::folder_end, 0, INT64_MIN, 0, "a", ""},
      Need{3, {}},
      Need{3, {{0, 1}, {2, 5}, {4'294'967'290, 5}}},
      FileEnd{4, digest},
      Skip{5},
      Done{6, Outcome::there, ""},
      Done{6, Outcome::fatal, "the disk is full"},
      Finish{},
      Finished{},
      StillHere{},
      Busy{},
      Enough{5},
      Hole{7, {8, 9}},
      Hello{4, false, false, 3, 4, true},
      Entry{10, EntryKind::hard_link, 0644, 1, 12, "a/h", "a/b"},
      Ask{4, "x/y", {"a/b"}},
      Ask{4, "", {"", "c", "d"}},
      Note{"a: cannot be read"},
      List{7, "a/b"},
      Names{7, false, 2, {{true, "d"}, {false, "f"}}},
      Names{8, true, 0, {}},
      Remove{9, true, "a/b"},
      Removed{9, ""},
      Removed{9, "is not empty"},
  };
  for (const Control& message : messages) {
    const auto decoded = decode(encode(message));
    ASSERT_TRUE(decoded.ok()) << message.index() << ": " << text(decoded.error());
    EXPECT_EQ(decoded.value(), message) << message.index();
  }
}

// The bytes of docs/udp-tools.md.
TEST(TransferMessages, BytesAreAsDocumented) {
  EXPECT_EQ(encode(Skip{0x01020304}), bytes_of({7, 1, 2, 3, 4}));
  EXPECT_EQ(encode(Enough{0x01020304}), bytes_of({14, 1, 2, 3, 4}));
  EXPECT_EQ(encode(Done{1, Outcome::refused, "x"}), bytes_of({8, 0, 0, 0, 1, 2, 0, 1, 'x'}));
  EXPECT_EQ(encode(Hole{2, {3, 4}}), bytes_of({12, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4}));
  EXPECT_EQ(encode(Need{2, {{3, 4}}}), bytes_of({5, 0, 0, 0, 2, 0, 1, 0, 0, 0, 3, 0, 0, 0, 4}));
  EXPECT_EQ(encode(Hello{1, true, false, 2, 3}),
            bytes_of({1, 'S', 'T', 'R', 'A', 'C', 'K', 'C', 'P', 0, 1, 0, 1, 0, 0,
                      0, 0,   0,   0,   0,   2,   0,   0,   0,   0, 0, 0, 0, 3}));
}

// Cut anywhere, and with a byte too many, no message is accepted.
TEST(TransferMessages, LengthsAreExact) {
  const std::vector<Control> messages{
      Hello{},     Welcome{1, 1}, Refusal{"a"}, file_entry(),       Need{1, {{0, 1}}},
      FileEnd{},   Skip{},        Done{},       Finish{},           Finished{},
      StillHere{}, Busy{},        Enough{},     Ask{4, "x", {"a"}}, Note{"a"}};
  for (const Control& message : messages) {
    std::vector<std::byte> whole = encode(message);
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_EQ(fault_of(std::vector<std::byte>(whole.begin(),
                                                whole.begin() + static_cast<std::ptrdiff_t>(size))),
                Fault::too_short)
          << message.index() << " cut at " << size;
    whole.push_back(std::byte{0});
    EXPECT_EQ(fault_of(whole), Fault::too_long) << message.index();
  }
  EXPECT_EQ(fault_of(std::vector<std::byte>(kMaxControlBytes + 1)), Fault::too_long);
}

TEST(TransferMessages, WhatIsOutOfRangeIsRefused) {
  EXPECT_EQ(fault_of(bytes_of({0})), Fault::unknown_type);
  EXPECT_EQ(fault_of(bytes_of({21})), Fault::unknown_type);
  EXPECT_EQ(fault_of(Hello{0, false, false, 0, 0}), Fault::bad_number);
  std::vector<std::byte> hello = encode(Hello{});
  hello[12] = std::byte{8};
  EXPECT_EQ(fault_of(hello), Fault::reserved);
  hello[1] = std::byte{'s'};
  EXPECT_EQ(fault_of(hello), Fault::bad_magic);
  EXPECT_EQ(fault_of(Welcome{1, 0}), Fault::bad_number);
  EXPECT_EQ(fault_of(Welcome{1, 4097}), Fault::bad_number);

  Entry entry = file_entry();
  entry.number = kMaxEntries + 1;
  EXPECT_EQ(fault_of(entry), Fault::bad_number);
  entry = file_entry();
  entry.mode = 04755;
  EXPECT_EQ(fault_of(entry), Fault::bad_number);
  entry = file_entry();
  entry.size = kMaxFileBytes + 1;
  EXPECT_EQ(fault_of(entry), Fault::bad_number);
  entry = file_entry();
  entry.holes = entry.size + 1;
  EXPECT_EQ(fault_of(entry), Fault::bad_number);
  EXPECT_EQ(fault_of(Hole{0, {3, 0}}), Fault::bad_number);
  EXPECT_EQ(fault_of(Hole{kMaxEntries + 1, {0, 1}}), Fault::bad_number);
  entry = file_entry();
  entry.kind = EntryKind::folder;  // with a size
  EXPECT_EQ(fault_of(entry), Fault::bad_number);
  entry = file_entry();
  entry.kind = static_cast<EntryKind>(6);
  EXPECT_EQ(fault_of(entry), Fault::bad_number);
  entry = file_entry();
  entry.target = "x";
  EXPECT_EQ(fault_of(entry), Fault::bad_target);
  entry = file_entry();
  entry.path = "../x";
  EXPECT_EQ(fault_of(entry), Fault::bad_name);
  EXPECT_EQ(fault_of(Entry{1, EntryKind::link, 0, 0, 0, "l", "/etc/passwd"}), Fault::bad_target);

  EXPECT_EQ(fault_of(Entry{1, EntryKind::hard_link, 0, 0, 0, "l", "../x"}), Fault::bad_name);
  EXPECT_EQ(fault_of(Entry{1, EntryKind::hard_link, 0, 0, 0, "l", ""}), Fault::bad_name);
  EXPECT_EQ(fault_of(Ask{0, "", {"a"}}), Fault::bad_number);
  EXPECT_EQ(fault_of(Ask{4, "", {}}), Fault::bad_number);
  EXPECT_EQ(fault_of(Ask{4, "x", {"a", "b"}}), Fault::bad_number);
  EXPECT_EQ(fault_of(Ask{4, "", {"a/../../b"}}), Fault::bad_name);
  EXPECT_EQ(fault_of(Ask{4, "", {"/etc"}}), Fault::bad_name);
  EXPECT_EQ(fault_of(Ask{4, "", {".strack/x"}}), Fault::bad_name);
  EXPECT_EQ(fault_of(Ask{4, "../x", {"a"}}), Fault::bad_name);
  EXPECT_EQ(fault_of(Note{"a\nb"}), Fault::bad_text);
  EXPECT_EQ(fault_of(List{1, ""}), Fault::bad_name);
  EXPECT_EQ(fault_of(Names{1, true, 0, {{false, "a/b"}}}), Fault::bad_name);
  EXPECT_EQ(fault_of(Names{1, true, 0, {{false, ".."}}}), Fault::bad_name);
  EXPECT_EQ(fault_of(Remove{1, false, "../a"}), Fault::bad_name);
  EXPECT_EQ(fault_of(Remove{1, false, ".strack/a"}), Fault::bad_name);
  EXPECT_EQ(fault_of(Removed{1, "a\nb"}), Fault::bad_text);

  EXPECT_EQ(fault_of(Done{1, static_cast<Outcome>(4), ""}), Fault::bad_number);
  EXPECT_EQ(fault_of(Done{1, Outcome::stored, "words"}), Fault::bad_text);
  EXPECT_EQ(fault_of(Done{1, Outcome::refused, "a\nb"}), Fault::bad_text);
  EXPECT_EQ(fault_of(Refusal{"\x1b[2J"}), Fault::bad_text);
}

// Ranges are in order, not empty, and do not touch: there is one way to say a thing.
TEST(TransferMessages, RangesAreInOrderAndApart) {
  EXPECT_EQ(fault_of(Need{1, {{0, 0}}}), Fault::bad_ranges);
  EXPECT_EQ(fault_of(Need{1, {{0, 2}, {2, 1}}}), Fault::bad_ranges);
  EXPECT_EQ(fault_of(Need{1, {{5, 1}, {3, 1}}}), Fault::bad_ranges);
  EXPECT_EQ(fault_of(Need{1, {{4'294'967'295, 2}}}), Fault::bad_ranges);
}

TEST(TransferMessages, TagsNameBlocks) {
  const BlockName name{kMaxEntries, 4'000'000'000};
  EXPECT_EQ(block_name(data_tag(name)), name);
  EXPECT_EQ(data_tag(name) & kKindMask, kDataTag);
  EXPECT_EQ(data_tag({1, 2}), 0x2000'0001'0000'0002u);
}

TEST(TransferMessages, BlocksOfAFile) {
  EXPECT_EQ(block_count(0), 0u);
  EXPECT_EQ(block_count(1), 1u);
  EXPECT_EQ(block_count(kBlockBytes), 1u);
  EXPECT_EQ(block_count(kBlockBytes + 1), 2u);
  EXPECT_EQ(block_length(kBlockBytes + 1, 0), kBlockBytes);
  EXPECT_EQ(block_length(kBlockBytes + 1, 1), 1u);
  EXPECT_EQ(block_count(kMaxFileBytes), 1u << 30);
}

TEST(TransferMessages, CleanTextCanBeSent) {
  EXPECT_EQ(clean_text("a\tb\x7f"), "a?b?");
  EXPECT_EQ(clean_text(std::string(5000, 'x')).size(), kMaxTextBytes);
}

}  // namespace
}  // namespace strack::transfer
