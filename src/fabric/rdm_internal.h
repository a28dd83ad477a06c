// What an Rdm has under way. Each is a cookie of the endpoint's, which says what it is.
#pragma once

#include <deque>
#include <memory>

#include "fabric/rdm.h"

namespace strack::fabric {

struct Cookie {
  enum class Kind : std::uint8_t { outgoing, buffer, placing };
  explicit Cookie(Kind k) : kind(k) {}
  Kind kind;

  [[nodiscard]] std::uint64_t number() const { return reinterpret_cast<std::uint64_t>(this); }
};

/// Of one peer's reads and long writes, at once and waiting; of messages that it does not take.
inline constexpr std::size_t kMostActive = 64;
inline constexpr std::size_t kMostAsked = 65'536;
inline constexpr std::size_t kMostOwed = 131'072;

struct Link {
  udp::ConnectionId id{};
  Peer* peer = nullptr;  ///< null until an accepted one's hello
  bool up = false;       ///< the peer has said what it takes
  bool closing = false;
  bool awaited = false;               ///< by an operation that was told to come again
  std::size_t eager = kMostInjected;  ///< what both sides take unasked
  std::deque<std::unique_ptr<Outgoing>> waiting;
  std::size_t unacked = 0;  ///< messages on their way, those that wait included

  // [D103] Its end, when nobody uses it.
  bool used = true;         ///< since somebody looked
  std::uint32_t looks = 0;  ///< that found it unused
  bool parted = false;      ///< this side has said so
  bool left = false;        ///< the peer has

  // [D104] Messages that wait for a receive.
  bool full = false;          ///< this side has said so
  std::size_t beyond = 0;     ///< bytes that are kept since
  bool offers = false;        ///< the peer has: every message is offered
  std::size_t offered = 0;    ///< of its messages, those that wait where they are
  std::uint64_t unasked = 0;  ///< bytes that were sent without an offer
  std::uint64_t counted = 0;  ///< of these, as the peer says
  std::uint64_t came = 0;     ///< the peer's, likewise
  std::uint64_t told = 0;     ///< as it was told

  // [D94] Reads and long writes of the peer's, and its atomics.
  struct Asked {
    Header header;
    std::vector<std::byte> segments;
  };
  std::size_t active = 0;   ///< that are being carried out
  std::size_t found = 0;    ///< bytes that atomics found, on their way to the peer
  bool at_it = false;       ///< `asked` is being gone through
  std::deque<Asked> asked;  ///< that wait for their turn
};

/// Of the user's, until it is done.
struct Operation {
  Request request;
  Counted counted{};
  std::uint64_t done_flags = 0;
  std::uint32_t id = 0;  ///< in the table of those that a peer will speak of; 0: not there
  Link* link = nullptr;
  bool offered = false;               ///< may be fetched, once
  bool told = false;                  ///< to the user it is done: its bytes are in `copy`
  bool unsent = false;                ///< the endpoint has it
  bool unanswered = false;            ///< the peer has still to say that it is done
  int error = 0;                      ///< as the peer says
  std::uint64_t posted = 0;           ///< of a read: the cookie of its buffer
  std::unique_ptr<std::byte[]> copy;  ///< of bytes that are the user's again

  // Of receives.
  udp::Pattern<Peer> pattern;
  Operation* next = nullptr;   ///< among those that are posted
  std::size_t used = 0;        ///< of a buffer for several messages
  std::uint32_t arriving = 0;  ///< messages that are being placed there
  bool spent = false;          ///< no longer posted
  bool cancelled = false;      ///< and said so with its last
};

/// A message on its way out.
struct Outgoing : Cookie {
  Outgoing() : Cookie(Kind::outgoing) {}
  Link* link = nullptr;
  std::uint64_t tag = kWithHeader;
  std::unique_ptr<std::byte[]> own;
  std::span<const std::byte> bytes;  ///< its own, or the user's
  std::span<const std::byte> rest;   ///< the user's, behind its own
  std::unique_ptr<Pieces> pieces;    ///< the user's, where these are several: all of it
  Operation* operation = nullptr;    ///< that is done with it, or null
  bool asked = false;                ///< the answer to a peer's read
  std::size_t found = 0;             ///< bytes that a peer's atomic found
};

/// For a message with a header.
struct Buffer : Cookie {
  explicit Buffer(std::size_t size)
      : Cookie(Kind::buffer), memory(new std::byte[size]), bytes(memory.get(), size) {}
  std::unique_ptr<std::byte[]> memory;  ///< not zeroed: it costs nothing until it is used
  std::span<std::byte> bytes;

  // [D123] Of a message that goes on to its receive as it comes.
  Operation* receive = nullptr;  ///< null: all of it comes here
  Unexpected message;
  std::size_t offset = 0;  ///< in the receive's buffer
  std::size_t length = 0;
};

/// Bytes that come without a header.
struct Placing : Cookie {
  Placing() : Cookie(Kind::placing) {}
  Link* link = nullptr;
  Operation* operation = nullptr;  ///< a receive or a read; null: a peer's write
  Unexpected message;              ///< receives and writes
  std::size_t offset = 0;          ///< in the receive's buffer
  std::uint64_t length = 0;
  bool revoked = false;  ///< of a write: its region is no more
};

}  // namespace strack::fabric
