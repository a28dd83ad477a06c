// What two providers say to each other: messages of the endpoint below, most of which begin with this header.
//
//   hello        the first on every connection: who its initiator is, as address vectors know it
//   send         a message with all its bytes behind the header
//   offer        a longer one, whose bytes wait at the sender until the receiver has a place for them
//   fetch        the answer to an offer: so many bytes, please, in a message with this tag of the endpoint's
//   answer       an operation is done, or why not; what a fetching atomic found follows
//   write        segments, then the bytes that go there
//   write_offer  the same for many bytes: answered by fetch, and by answer when they are in place
//   read         segments; their bytes come in a message with this tag of the endpoint's
//   atomic       segments, operands, and what to compare with
//   bye          its sender asks nothing more by this connection: whoever has nothing under way there closes it
//   full         too many messages wait for a receive here: every one is to be offered from now on
//   room         that is over
//   counted      so many bytes of messages have come here unasked since the connection began
//
// The bytes that an offer or a read stands for travel without a header, out of the user's memory into the
// user's memory. Numbers are little-endian, as on every machine that this is built for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace strack::fabric {

static_assert(std::endian::native == std::endian::little);

/// The endpoint's tag of messages with a header. Others have one that their receiver chose.
inline constexpr std::uint64_t kWithHeader = 0;
inline constexpr std::uint8_t kMessageVersion = 1;

enum class Type : std::uint8_t {
  hello = 1,
  send,
  offer,
  fetch,
  answer,
  write,
  write_offer,
  read,
  atomic,
  bye,
  full,
  room,
  counted,
};

namespace bits {
inline constexpr std::uint8_t kTagged = 1;
inline constexpr std::uint8_t kImmediate = 2;    ///< `immediate` is the user's
inline constexpr std::uint8_t kWantsAnswer = 4;  ///< by its `operation`
inline constexpr std::uint8_t kWhenMatched = 8;  ///< of a message: not before a receive has it
}  // namespace bits

struct Header {
  Type type{};
  std::uint8_t version = kMessageVersion;
  std::uint8_t bits = 0;
  std::uint8_t segments = 0;    ///< that follow
  std::uint32_t operation = 0;  ///< the sender's; fetch, answer: the receiver's
  std::uint64_t length = 0;     ///< of the user's bytes
  std::uint64_t tag = 0;        ///< the user's; fetch, read: the endpoint's; atomic: what to do
  std::uint64_t immediate = 0;  ///< the user's; fetch, answer: 0 or what went wrong
};
static_assert(sizeof(Header) == 32);

/// A piece of registered memory.
struct Segment {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint64_t key = 0;
};
static_assert(sizeof(Segment) == 24);

/// Takes a T off the front; false when there are too few bytes.
template <class T>
[[nodiscard]] bool take(std::span<const std::byte>& from, T& out) {
  if (from.size() < sizeof(T)) return false;
  std::memcpy(&out, from.data(), sizeof(T));
  from = from.subspan(sizeof(T));
  return true;
}

}  // namespace strack::fabric
