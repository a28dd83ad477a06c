// STrack over UDP: what lies in a datagram, byte by byte. docs/protocol.md is the specification;
// this file and wire.cpp are its only coder and decoder.
//
// Two steps each way, because cryptography lies in between and is not done here:
//
//   auto header = decode_header(datagram);            // clear: type, connection id, counter
//   ... find the connection; where header.sealed(), open datagram.subspan(header.bytes()) with
//       datagram.first(header.bytes()) as associated data; drop the tag ...
//   auto data = decode_data(header, body);            // or decode_sack, ...
//
//   std::size_t n = encode(out, envelope, sack);      // clear header and plain body
//   ... where sealed, encrypt out[envelope.header_bytes()..n) in place and append the tag ...
//
// Decoding is strict and happens once: exact lengths, every reserved bit zero, no value outside its
// range; what it accepts encodes to the same bytes again. It allocates nothing and throws nothing.
// A datagram it refuses is the network's mistake, to be counted under its DecodeFault. To encode
// what no decoder would accept is our own mistake, and a failed check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "core/packet.h"

namespace strack::wire {

using ConstBytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

inline constexpr std::uint8_t kVersion = 2;
/// Where endpoints listen unless told otherwise. Not registered; next to those of other transports for
/// RDMA (4791, 4793), so that rules made for those are easily widened.
inline constexpr std::uint16_t kDefaultPort = 4794;

inline constexpr std::size_t kHeaderBytes = 8;         ///< every packet starts with these
inline constexpr std::size_t kSealedHeaderBytes = 16;  ///< and, where sealed, has the counter too
inline constexpr std::size_t kTagBytes = 16;           ///< of the AEAD, and of set-up's MACs
inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kCookieBytes = 32;
inline constexpr std::size_t kHelloMinBytes = 1200;  ///< no answer to a hello is as large
inline constexpr std::size_t kMaxDatagramBytes = 65'507;
/// A key seals counters below this and no more; then the connection must be set up anew.
inline constexpr std::uint64_t kCounterLimit = std::uint64_t{1} << 40;
inline constexpr std::uint16_t kMaxPaths = 256;
/// Bytes of Noise's two messages [D95], each with a payload of 32.
inline constexpr std::size_t kFirstMessageBytes = 128;
inline constexpr std::size_t kSecondMessageBytes = 80;
inline constexpr std::uint16_t kMinMtu = 512;  ///< payload bytes; the least that set-up agrees on
inline constexpr std::uint16_t kMaxTrackingWindow = 32'768;

enum class Type : std::uint8_t {
  data = 1,       ///< part of a message
  sack = 2,       ///< what has arrived
  probe = 3,      ///< asks for a SACK at once
  ping = 4,       ///< asks for a pong: keepalive, path MTU, new credit, base RTT
  pong = 5,       ///< answers a ping
  hello = 6,      ///< initiator's first: terms, padded
  challenge = 7,  ///< responder's stateless answer: a cookie
  connect = 8,    ///< initiator's second: the same terms and the cookie
  accept = 9,     ///< responder's terms: the connection exists
  reject = 10,    ///< why there will be none; a hint only
  close = 11,     ///< no more from this side
  close_ack = 12,
  reset = 13,  ///< that connection is unknown here
  // 14 is reserved for extensions, 15 for experiments: unknown until a version says otherwise.
};

/// Why a datagram is refused. Each has a text; counters go by it.
enum class DecodeFault : std::uint8_t {
  too_short,          ///< ends within its header or its fixed fields
  too_long,           ///< bytes after the last field, or more than UDP can carry
  unknown_version,    ///< not kVersion
  unknown_type,       ///< 0, 14 or 15
  reserved_flag,      ///< a flag that its type does not have
  keyed_not_allowed,  ///< the keyed flag on challenge or reject
  path_not_allowed,   ///< a path id on a type that takes no path, or beyond kMaxPaths
  connection_id,      ///< zero where an id is needed, or an id on hello, connect or reset
  counter_limit,      ///< a counter of kCounterLimit or more
  reserved_not_zero,  ///< a reserved byte, or padding, is not zero
  field_not_allowed,  ///< a field that must be zero under these flags is not
  no_payload,         ///< data without payload in a message that is not empty
  beyond_message,     ///< payload that reaches past its message's end
  beyond_region,      ///< a write whose region offset and length pass 2^64
  bad_terms,          ///< set-up terms outside their ranges
  bad_reason,         ///< a reason code that is not defined
};
inline constexpr std::size_t kDecodeFaults = 16;
[[nodiscard]] std::string_view name(DecodeFault fault);  ///< "too_short"
[[nodiscard]] std::string_view text(DecodeFault fault);  ///< a short sentence for people
[[nodiscard]] std::string_view name(Type type);          ///< "data"

/// Data, SACK, probe, ping, pong, close, close_ack: sealed where the connection has a key. The others
/// belong to set-up, are never encrypted, and carry a MAC where one is called for.
[[nodiscard]] constexpr bool is_session(Type type) {
  return type <= Type::pong || type == Type::close || type == Type::close_ack;
}

// --- The header -----------------------------------------------------------------------------------

/// The clear part in front. `flags` holds the type's own bits, without the keyed bit.
struct Header {
  Type type = Type::data;
  bool keyed = false;
  std::uint8_t flags = 0;
  /// Data, probe, ping: its path; SACK, pong: the one echoed; hello, connect: the attempt's number.
  core::PathId path_id = 0;
  std::uint32_t connection_id = 0;  ///< the receiver's own; 0 in hello, connect and reset
  std::uint64_t counter = 0;        ///< sealed packets only

  /// Hello, connect, accept: set-up is by the hosts' own keys, and has Noise's messages in it.
  [[nodiscard]] constexpr bool host_keys() const {
    return (flags & 0x01) != 0 &&
           (type == Type::hello || type == Type::connect || type == Type::accept);
  }
  /// Is what follows the header encrypted?
  [[nodiscard]] constexpr bool sealed() const { return keyed && is_session(type); }
  [[nodiscard]] constexpr std::size_t bytes() const {
    return sealed() ? kSealedHeaderBytes : kHeaderBytes;
  }
};

/// Checks and reads the clear header of a whole datagram, and its length as far as that is known
/// before opening it: so strangers' packets cost no cryptography.
[[nodiscard]] Result<Header, DecodeFault> decode_header(ConstBytes datagram);

/// What the sender of a packet adds to its body. Set-up packets ignore `counter`.
struct Envelope {
  std::uint32_t connection_id = 0;  ///< the peer's
  bool keyed = false;
  std::uint64_t counter = 0;

  /// Of a session packet.
  [[nodiscard]] constexpr std::size_t header_bytes() const {
    return keyed ? kSealedHeaderBytes : kHeaderBytes;
  }
  /// What sealing adds behind a session packet.
  [[nodiscard]] constexpr std::size_t trailer_bytes() const { return keyed ? kTagBytes : 0; }
};

// --- Session packets ------------------------------------------------------------------------------

enum class DataKind : std::uint8_t {
  send,   ///< matched by `tag` with a posted receive
  write,  ///< one-sided, to `region_offset` of `region`
};

/// Each data packet says by itself where its payload belongs [D21]. `packet.payload` is the
/// payload's length, and `packet.path_id` travels in the header. Where the path is too narrow for a
/// whole one, it travels in pieces: `offset` and `payload` are then the piece's [D43].
struct Data {
  core::Packet packet;
  bool piece = false;
  DataKind kind = DataKind::send;
  std::uint64_t tag = 0;            ///< send only
  std::uint64_t region = 0;         ///< write only: as the peer named it
  std::uint64_t region_offset = 0;  ///< write only: where the message starts in the region
  ConstBytes payload;               ///< decoded: within the datagram
};

/// [D148] A write to this region is a request to the peer's endpoint, where both sides have the extension: no memory has
/// this name.
inline constexpr std::uint64_t kRequestRegion = 0;
inline constexpr std::size_t kRequestBytes = 32;

/// The payload of such a message: bytes of a region of the peer's are to be written to one of this side's.
struct ReadRequest {
  std::uint64_t region = 0;  ///< the peer's; not 0
  std::uint64_t offset = 0;
  std::uint64_t reply_region = 0;  ///< this side's, as large as `length`; not 0
  std::uint32_t length = 0;
};

/// [D154] Numbers of operations and of types of values, as docs/protocol.md has them.
inline constexpr std::uint8_t kAtomicRead = 11;
inline constexpr std::uint8_t kFirstComparing =
    13;  ///< this one and those behind it take two operands
inline constexpr std::uint8_t kAtomicOps = 19;
inline constexpr std::uint8_t kAtomicTypes = 10;
inline constexpr std::size_t kMostAtomicBytes = 240;  ///< so that a request fits every packet
/// Bytes of one value; 0: no type has this number.
[[nodiscard]] std::size_t atomic_bytes(std::uint8_t type);
/// How many operands each value has.
[[nodiscard]] constexpr std::size_t atomic_operands(std::uint8_t op) {
  return op == kAtomicRead ? 0 : op < kFirstComparing ? 1 : 2;
}

/// [D154] The same for values that are changed in place: what was there is written to the reply's region.
struct AtomicRequest {
  ReadRequest where;  ///< `length`: of all values
  std::uint8_t op = 0;
  std::uint8_t type = 0;
  ConstBytes operands;  ///< then what is compared with; decoded: within the payload
};

struct SackBody {
  core::Sack sack;
  std::uint32_t credit = 0;  ///< the peer may start messages with ids before this
};

/// Padding of zeros makes it as large as the path MTU to be tried.
struct Ping {
  core::PathId path_id = 0;
  std::uint32_t id = 0;
  core::Timestamp timestamp;
  std::uint32_t credit = 0;
  std::uint16_t padding = 0;  ///< bytes
};

struct Pong {
  core::PathId path_id = 0;        ///< echo
  bool ecn = false;                ///< echo: was the ping marked
  std::uint32_t id = 0;            ///< echo
  core::Timestamp timestamp;       ///< echo
  std::uint32_t hold_time_ns = 0;  ///< how long the answer was held back
  std::uint32_t credit = 0;
  std::uint16_t size = 0;  ///< the ping's UDP payload as it arrived, in bytes
};

enum class CloseReason : std::uint16_t {
  done = 0,            ///< graceful: all that this side sent is acknowledged
  aborted = 1,         ///< by the application; what is under way is lost
  protocol_error = 2,  ///< the peer broke a rule
  no_resources = 3,
  keys_exhausted = 4,  ///< kCounterLimit is near
  going_away = 5,      ///< the endpoint is being destroyed
};
inline constexpr std::uint16_t kCloseReasons = 6;
[[nodiscard]] std::string_view name(CloseReason reason);  ///< "done"

/// Both close and, echoing it, close_ack.
struct Close {
  CloseReason reason = CloseReason::done;
  core::Psn end_psn;            ///< one past the last PSN this side has ever sent
  std::uint32_t source_id = 0;  ///< the id of the side that closes: who has seen set-up knows it
};

// --- Set-up ---------------------------------------------------------------------------------------

using Nonce = std::array<std::uint8_t, kNonceBytes>;
using Cookie = std::array<std::uint8_t, kCookieBytes>;
using Mac = std::array<std::uint8_t, kTagBytes>;

enum Cipher : std::uint8_t {
  kChaCha20Poly1305 = 0x01,
  kAes256Gcm = 0x02,
};
inline constexpr std::uint8_t kAllCiphers = kChaCha20Poly1305 | kAes256Gcm;

inline constexpr std::size_t kTermsBytes = 72;

/// Extensions of these bits change what packets mean: who does not know one refuses. The others may
/// be ignored.
inline constexpr std::uint16_t kCriticalExtensions = 0xff00;
/// Keys follow from the counter [D96].
inline constexpr std::uint16_t kRekeying = 0x0001;
/// Requests to the endpoint itself [D148].
inline constexpr std::uint16_t kRequests = 0x0002;
/// [D154] Of them, atomics: of no use without kRequests.
inline constexpr std::uint16_t kAtomics = 0x0004;
inline constexpr std::uint16_t kPlainExtensions = kRequests | kAtomics;
inline constexpr std::uint16_t kKeyedExtensions = kPlainExtensions | kRekeying;
/// The hosts' own keys: set if and only if the header says so, too [D95].
inline constexpr std::uint16_t kHostKeys = 0x0100;

using FirstMessage = std::array<std::uint8_t, kFirstMessageBytes>;
using SecondMessage = std::array<std::uint8_t, kSecondMessageBytes>;

/// What each side says of itself. The initiator offers, the responder answers.
struct Terms {
  std::uint32_t connection_id = 0;  ///< what the peer shall address this side by; unpredictable
  Nonce nonce{};
  std::uint32_t key_id = 0;           ///< which pre-shared key; 0 and only 0 without one
  std::uint64_t user_data = 0;        ///< the application's: a rank, a service
  core::Psn initial_psn;              ///< of this side's first data packet; unpredictable
  std::uint32_t credit = 0;           ///< the peer may start messages with ids before this
  std::uint32_t idle_timeout_ms = 0;  ///< silence after which this side gives the peer up; not 0
  std::uint16_t mtu = 0;    ///< largest payload of a data packet; the answer's holds for both sides
  std::uint16_t paths = 0;  ///< path ids this side sends with: 0 ... paths - 1
  std::uint16_t tracking_window = 0;  ///< packets this side can track as a receiver [D26]
  std::uint8_t ciphers = 0;           ///< offer: those it can use; answer: the one; 0 without a key
  std::uint8_t transport = 1;         ///< which protocol data, SACKs and probes follow; not 0
  std::uint16_t reply_port = 0;  ///< where this side receives: packets come from other ports; not 0
  std::uint16_t extensions = 0;  ///< offer: those it would use; answer: those of them that hold
};

/// `size` is that of the whole datagram, at least kHelloMinBytes; the rest is zeros.
struct Hello {
  Terms terms;
  std::uint16_t size = kHelloMinBytes;
  std::uint8_t attempt = 0;             ///< how often it was sent before; the MAC is over this too
  Mac mac{};                            ///< keyed only, before the zeros: over everything before it
  std::optional<FirstMessage> first{};  ///< by the hosts' keys: behind the terms
};

struct Challenge {
  std::uint64_t echo = 0;        ///< nonce_echo() of the hello's or connect's nonce
  Cookie cookie{};               ///< only its maker knows what is in it
  std::uint16_t hello_size = 0;  ///< size of the datagram it answers, in bytes
};

struct Connect {
  Terms terms;  ///< byte for byte those of the hello
  Cookie cookie{};
  Mac mac{};  ///< keyed only: over everything before it
  std::uint8_t attempt = 0;
  std::optional<FirstMessage> first{};  ///< that of the hello; behind the cookie
};

struct Accept {
  Terms terms;
  Mac mac{};  ///< keyed only: over the initiator's terms and everything before it
  std::optional<SecondMessage> second{};  ///< behind the terms
};

enum class RejectReason : std::uint8_t {
  version = 1,        ///< see the versions given
  key_required = 2,   ///< this responder takes keyed connections only
  key_unknown = 3,    ///< no key has that id here
  no_key = 4,         ///< this responder has no key
  no_cipher = 5,      ///< none in common
  busy = 6,           ///< no room for another connection
  not_listening = 7,  ///< this endpoint accepts none
  terms = 8,          ///< a term is outside what this responder takes
  transport = 9,      ///< this responder does not speak that transport
  extension = 10,     ///< a critical extension is not known here
};
inline constexpr std::uint8_t kRejectReasons = 10;
[[nodiscard]] std::string_view name(RejectReason reason);  ///< "busy"

/// Not authenticated: an initiator shows it and, with a key, keeps trying until its own time is up.
struct Reject {
  std::uint64_t echo = 0;
  RejectReason reason = RejectReason::busy;
  std::uint8_t lowest_version = kVersion;
  std::uint8_t highest_version = kVersion;
  std::uint8_t header_version = kVersion;  ///< that of the packet it answers; decoded: kVersion
};

/// Says that `unknown_id` is no connection here. Found by the peer's address and that id.
struct Reset {
  std::uint32_t unknown_id = 0;
  std::uint64_t echo = 0;  ///< of the packet it answers: its counter; without a key packet_echo()
  Mac mac{};               ///< keyed only: over everything before it
};

/// The start of a nonce, by which the initiator knows what is answered.
[[nodiscard]] std::uint64_t nonce_echo(const Nonce& nonce);

// --- Decoding: `header` from decode_header, `body` what follows it, opened and without its tag -----

[[nodiscard]] Result<Data, DecodeFault> decode_data(const Header& header, ConstBytes body);
/// Of a whole message to kRequestRegion.
[[nodiscard]] Result<ReadRequest, DecodeFault> decode_request(ConstBytes payload);
[[nodiscard]] Result<AtomicRequest, DecodeFault> decode_atomic(ConstBytes payload);
/// Of a payload: whether it says that it is one of these.
[[nodiscard]] bool is_atomic(ConstBytes payload);
[[nodiscard]] Result<SackBody, DecodeFault> decode_sack(const Header& header, ConstBytes body);
[[nodiscard]] Result<core::Packet, DecodeFault> decode_probe(const Header& header, ConstBytes body);
[[nodiscard]] Result<Ping, DecodeFault> decode_ping(const Header& header, ConstBytes body);
[[nodiscard]] Result<Pong, DecodeFault> decode_pong(const Header& header, ConstBytes body);
/// Close and close_ack.
[[nodiscard]] Result<Close, DecodeFault> decode_close(const Header& header, ConstBytes body);
[[nodiscard]] Result<Hello, DecodeFault> decode_hello(const Header& header, ConstBytes body);
[[nodiscard]] Result<Challenge, DecodeFault> decode_challenge(const Header& header,
                                                              ConstBytes body);
[[nodiscard]] Result<Connect, DecodeFault> decode_connect(const Header& header, ConstBytes body);
[[nodiscard]] Result<Accept, DecodeFault> decode_accept(const Header& header, ConstBytes body);
[[nodiscard]] Result<Reject, DecodeFault> decode_reject(const Header& header, ConstBytes body);
[[nodiscard]] Result<Reset, DecodeFault> decode_reset(const Header& header, ConstBytes body);

/// Any of them; `core::Packet` is a probe, `Close` also a close_ack. For tools and tests.
using Body = std::variant<Data, SackBody, core::Packet, Ping, Pong, Close, Hello, Challenge,
                          Connect, Accept, Reject, Reset>;
[[nodiscard]] Result<Body, DecodeFault> decode_body(const Header& header, ConstBytes body);

// --- Encoding: bytes written from the start of `out`, which must have room -------------------------

/// A data packet without its payload, which the caller puts behind it.
std::size_t encode_data_front(MutableBytes out, const Envelope& envelope, const Data& data);
/// How many bytes that is, with header and without tag.
[[nodiscard]] constexpr std::size_t data_front_bytes(bool keyed, DataKind kind) {
  return (keyed ? kSealedHeaderBytes : kHeaderBytes) + (kind == DataKind::write ? 36u : 28u);
}
/// The largest data packet's bytes around its payload: what to take off a path's UDP payload.
[[nodiscard]] constexpr std::size_t data_overhead_bytes(bool keyed) {
  return data_front_bytes(keyed, DataKind::write) + (keyed ? kTagBytes : 0);
}

/// Of a ping's body, without its padding.
inline constexpr std::size_t kPingFields = 12;

[[nodiscard]] std::array<std::uint8_t, kRequestBytes> encode_request(const ReadRequest& request);
/// Without the operands, which follow it.
[[nodiscard]] std::array<std::uint8_t, kRequestBytes> encode_atomic(const AtomicRequest& request);
std::size_t encode(MutableBytes out, const Envelope& envelope, const Data& data);
std::size_t encode(MutableBytes out, const Envelope& envelope, const SackBody& sack);
/// A probe.
std::size_t encode(MutableBytes out, const Envelope& envelope, const core::Packet& probe);
std::size_t encode(MutableBytes out, const Envelope& envelope, const Ping& ping);
std::size_t encode(MutableBytes out, const Envelope& envelope, const Pong& pong);
std::size_t encode_close(MutableBytes out, const Envelope& envelope, const Close& close);
std::size_t encode_close_ack(MutableBytes out, const Envelope& envelope, const Close& close);
std::size_t encode(MutableBytes out, const Envelope& envelope, const Hello& hello);
std::size_t encode(MutableBytes out, const Envelope& envelope, const Challenge& challenge);
/// The MAC is the packet's last kTagBytes; the caller computes it over what lies before and copies
/// it there. The same for accept and reset.
std::size_t encode(MutableBytes out, const Envelope& envelope, const Connect& connect);
std::size_t encode(MutableBytes out, const Envelope& envelope, const Accept& accept);
std::size_t encode(MutableBytes out, const Envelope& envelope, const Reject& reject);
std::size_t encode(MutableBytes out, const Envelope& envelope, const Reset& reset);

// --- For set-up -----------------------------------------------------------------------------------

/// The terms as they lie in a decoded hello, connect or accept: what MACs, cookies and keys are made of.
[[nodiscard]] inline ConstBytes terms_bytes(ConstBytes datagram) {
  return datagram.subspan(kHeaderBytes, kTermsBytes);
}
/// The same from the struct.
[[nodiscard]] std::array<std::uint8_t, kTermsBytes> encode_terms(const Terms& terms);

/// The MAC of a keyed hello is behind its terms, or Noise's first message, and covers what lies before it.
inline constexpr std::size_t kHelloMacAt = kHeaderBytes + kTermsBytes;
inline constexpr std::size_t kHostHelloMacAt = kHelloMacAt + kFirstMessageBytes;
/// What a reset echoes of a session packet without a key: the first 8 bytes after its header. Of a
/// ping those are its id and timestamp.
[[nodiscard]] std::uint64_t packet_echo(ConstBytes datagram);

/// A hello of another version: enough to reject it with a hint at the versions spoken here. These
/// few bytes lie in the same places in every version, the port from version 2 on.
struct ForeignHello {
  std::uint8_t version = 0;
  std::uint32_t connection_id = 0;
  std::uint64_t echo = 0;
  std::uint16_t reply_port = 0;  ///< 0: it names none, and is answered where it came from
};
[[nodiscard]] std::optional<ForeignHello> foreign_hello(ConstBytes datagram);

}  // namespace strack::wire
