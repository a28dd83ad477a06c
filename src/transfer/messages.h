// What `strack cp` and `strack recv` say to each other, as messages of an endpoint: the only coder and
// decoder of docs/udp-tools.md. A file's blocks travel as messages of their own, under a tag that says
// which block they are; all else is a control message.
//
// Decoding is strict: every byte is accounted for, every number within its range, every name safe
// (transfer/names.h). What it accepts encodes to the same bytes again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace strack::transfer {

/// What endpoints of the transfer tools tell their peers as user data: "STRKCP" and a one. The version
/// is the hello's, so that one side can tell the other which it speaks.
inline constexpr std::uint64_t kService = 0x5354'524b'4350'0001;
inline constexpr std::uint16_t kVersion = 4;

inline constexpr std::uint32_t kBlockBytes = 1 << 20;
inline constexpr std::size_t kMaxControlBytes = 64 << 10;
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 50;
inline constexpr std::uint32_t kMaxEntries = (1u << 28) - 1;
inline constexpr std::size_t kMaxTextBytes = 1024;
inline constexpr std::size_t kMaxRanges = 4096;

using Digest = std::array<std::uint8_t, 32>;

/// Blocks of a file; the last one may be shorter.
[[nodiscard]] constexpr std::uint32_t block_count(std::uint64_t size) {
  return static_cast<std::uint32_t>((size + kBlockBytes - 1) / kBlockBytes);
}
[[nodiscard]] constexpr std::uint32_t block_length(std::uint64_t size, std::uint32_t block) {
  const std::uint64_t left = size - std::uint64_t{block} * kBlockBytes;
  return left < kBlockBytes ? static_cast<std::uint32_t>(left) : kBlockBytes;
}

// --- Tags: the kind in the upper 4 bits, the entry's number in the next 28, the block's in the rest ---

inline constexpr std::uint64_t kControlTag = std::uint64_t{1} << 60;
inline constexpr std::uint64_t kDataTag = std::uint64_t{2} << 60;
inline constexpr std::uint64_t kKindMask = std::uint64_t{15} << 60;

struct BlockName {
  std::uint32_t entry = 0;
  std::uint32_t block = 0;
  friend bool operator==(const BlockName&, const BlockName&) = default;
};
[[nodiscard]] constexpr std::uint64_t data_tag(BlockName name) {
  return kDataTag | (std::uint64_t{name.entry} << 32) | name.block;
}
[[nodiscard]] constexpr BlockName block_name(std::uint64_t tag) {
  return {static_cast<std::uint32_t>((tag & ~kKindMask) >> 32), static_cast<std::uint32_t>(tag)};
}

// --- Control messages, in the order in which they come ---

/// The first of whoever connects to fetch: the receiver of it, then, asks a `recv` that serves a folder to be the
/// sender. The answer is a hello, or a refusal.
struct Ask {
  std::uint16_t version = kVersion;
  std::string as;                  ///< what the one thing is to be called; empty: by its own name
  std::vector<std::string> paths;  ///< below the folder; an empty one is all that is in it
  friend bool operator==(const Ask&, const Ask&) = default;
};

/// To who has asked: something that a person should see, as a file that cannot be read.
struct Note {
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};

/// The sender's first: what it is about to send.
struct Hello {
  std::uint16_t version = kVersion;
  bool force = false;         ///< replace files that are there and differ
  bool fresh = false;         ///< do not go on with what is left of an earlier attempt
  std::uint64_t entries = 0;  ///< for the display only, like `bytes`
  std::uint64_t bytes = 0;
  bool partial = false;  ///< there was more, which could not be listed
  friend bool operator==(const Hello&, const Hello&) = default;
};

/// The receiver's answer.
struct Welcome {
  std::uint16_t version = kVersion;
  std::uint32_t most_open = 0;  ///< entries that may be without their `Done`, 1 to 4096
  friend bool operator==(const Welcome&, const Welcome&) = default;
};

/// The receiver takes no part in it, or no longer; the connection is closed after it.
struct Refusal {
  std::string text;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// In place of a welcome: the receiver has as many transfers as it takes. It closes after it; the sender may
/// come again.
struct Busy {
  friend bool operator==(const Busy&, const Busy&) = default;
};

enum class EntryKind : std::uint8_t {
  file = 1,
  folder = 2,      ///< before everything in it
  link = 3,        ///< a symbolic one
  folder_end = 4,  ///< after everything in it: now it gets its permissions and time
  hard_link = 5,   ///< another name of a file that was sent before
};

/// Entries are numbered 0, 1, 2, ... in the order of sending. Each is answered by a `Done`; that of a file, by a
/// `Need` first.
struct Entry {
  std::uint32_t number = 0;
  EntryKind kind = EntryKind::file;
  std::uint16_t mode = 0;  ///< permissions, at most 0777
  std::int64_t mtime_ns = 0;
  std::uint64_t size = 0;  ///< of a file or another name of it; 0 otherwise
  std::string path;
  std::string
      target;  ///< of a link: where it leads; of a hard one: the path that was sent; else empty
  std::uint64_t holes = 0;  ///< bytes of `size` that are zeros and take no room where it is
  friend bool operator==(const Entry&, const Entry&) = default;
};

struct BlockRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

/// The blocks of a file that the receiver asks for; those not named it has. Ranges are in order and apart.
struct Need {
  std::uint32_t number = 0;
  std::vector<BlockRange> ranges;
  friend bool operator==(const Need&, const Need&) = default;
};

/// The sender has sent what was needed. The digest is that of the whole file (transfer/digest.h). The
/// answer is a `Done`, or another `Need` when what is there already turned out to be something else.
struct FileEnd {
  std::uint32_t number = 0;
  Digest digest{};
  friend bool operator==(const FileEnd&, const FileEnd&) = default;
};

/// Instead of `FileEnd`: the file cannot be read, or has changed. Answered by a `Done`.
struct Skip {
  std::uint32_t number = 0;
  friend bool operator==(const Skip&, const Skip&) = default;
};

enum class Outcome : std::uint8_t {
  stored = 0,
  there = 1,    ///< it was there already, the same
  refused = 2,  ///< this entry; the others go on
  fatal = 3,    ///< and no other would fare better: a full disk
};

struct Done {
  std::uint32_t number = 0;
  Outcome outcome = Outcome::stored;
  std::string text;  ///< why it was refused; empty otherwise
  friend bool operator==(const Done&, const Done&) = default;
};

/// The sender has no more entries and has seen all their `Done`s.
struct Finish {
  friend bool operator==(const Finish&, const Finish&) = default;
};
/// Everything is on the receiver's disk.
struct Finished {
  friend bool operator==(const Finished&, const Finished&) = default;
};

/// In place of blocks that were needed: they are holes, zeros that take no room.
struct Hole {
  std::uint32_t number = 0;
  BlockRange blocks{0, 1};
  friend bool operator==(const Hole&, const Hole&) = default;
};

/// The sender has had nothing to send for a while, and is still at work: it reads what the receiver has
/// already. Not answered; who is silent for long is taken for dead.
struct StillHere {
  friend bool operator==(const StillHere&, const StillHere&) = default;
};

/// The receiver wants no more of a file that it has asked for. The sender says `Skip` in place of its end, unless
/// that is on its way.
struct Enough {
  std::uint32_t number = 0;
  friend bool operator==(const Enough&, const Enough&) = default;
};

/// The sender asks what is in a folder, to have removed what its own does not have. The answer is one or several
/// `Names`, or a `Removed` with the reason.
struct List {
  std::uint32_t number = 0;  ///< of questions, those to remove included
  std::string path;
  friend bool operator==(const List&, const List&) = default;
};

struct Names {
  struct Name {
    bool folder = false;
    std::string name;
    friend bool operator==(const Name&, const Name&) = default;
  };
  std::uint32_t number = 0;
  bool last = true;
  std::uint32_t hidden = 0;  ///< others, which no message can name
  std::vector<Name> names;
  friend bool operator==(const Names&, const Names&) = default;
};

/// Answered by a `Removed`. A folder must be empty.
struct Remove {
  std::uint32_t number = 0;
  bool folder = false;
  std::string path;
  friend bool operator==(const Remove&, const Remove&) = default;
};

struct Removed {
  std::uint32_t number = 0;
  std::string text;  ///< why not; empty: it is gone
  friend bool operator==(const Removed&, const Removed&) = default;
};

using Control =
    std::variant<Hello, Welcome, Refusal, Entry, Need, FileEnd, Skip, Done, Finish, Finished,
                 StillHere, Hole, Busy, Enough, Ask, Note, List, Names, Remove, Removed>;

/// Why bytes are not a control message.
enum class Fault : std::uint8_t {
  too_short,
  too_long,
  unknown_type,
  reserved,    ///< bits that must be zero
  bad_magic,   ///< hello: not this protocol
  bad_number,  ///< a field outside its range
  bad_name,    ///< a path that is not safe
  bad_target,  ///< of a link: leaves the folder
  bad_text,    ///< control characters in words for people
  bad_ranges,  ///< out of order, empty, or touching
};
[[nodiscard]] const char* text(Fault fault);

[[nodiscard]] std::vector<std::byte> encode(const Control& message);
[[nodiscard]] Result<Control, Fault> decode(std::span<const std::byte> bytes);

/// A text of at most kMaxTextBytes without control characters, so that it can be encoded.
[[nodiscard]] std::string clean_text(std::string text);

}  // namespace strack::transfer
