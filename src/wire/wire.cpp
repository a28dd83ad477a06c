#include "wire/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/check.h"

namespace strack::wire {
namespace {

constexpr std::uint8_t kKeyedFlag = 0x80;
constexpr std::uint8_t kDataRetransmission = 0x01;
constexpr std::uint8_t kDataWrite = 0x02;
constexpr std::uint8_t kDataPiece = 0x04;
constexpr std::uint8_t kDataFlags = kDataRetransmission | kDataWrite | kDataPiece;
constexpr std::uint8_t kEchoEcn = 0x01;  ///< SACK and pong
constexpr std::uint8_t kSackProbe = 0x02;
constexpr std::uint8_t kHostFlag = 0x01;  ///< hello, connect, accept

constexpr std::size_t kSendFields = 28;
constexpr std::size_t kWriteFields = 36;
static_assert(data_front_bytes(false, DataKind::send) == kHeaderBytes + kSendFields);
static_assert(data_front_bytes(true, DataKind::write) == kSealedHeaderBytes + kWriteFields);

/// What the header of a type may be. One row decides all that can be checked before opening.
struct Shape {
  std::uint8_t flags;  ///< those the type has, without the keyed one
  bool path;           ///< takes a path id, or the number of an attempt
  bool addressed;      ///< carries a connection id; otherwise it is 0
  bool keyed_allowed;
  std::uint16_t body;  ///< least bytes of a plain body
  bool open_ended;     ///< may be longer
  std::uint8_t mac;    ///< bytes of MAC that the keyed flag adds to a set-up packet
};

constexpr Shape kShapes[] = {
    {0, false, false, false, 0, false, 0},                                         // no type
    {kDataFlags, true, true, true, kSendFields, true, 0},                          // data
    {kEchoEcn | kSackProbe, true, true, true, 40, false, 0},                       // sack
    {0, true, true, true, 10, false, 0},                                           // probe
    {0, true, true, true, kPingFields, true, 0},                                   // ping
    {kEchoEcn, true, true, true, 18, false, 0},                                    // pong
    {kHostFlag, true, false, true, kHelloMinBytes - kHeaderBytes, true, 0},        // hello
    {0, false, true, false, 42, false, 0},                                         // challenge
    {kHostFlag, true, false, true, kTermsBytes + kCookieBytes, false, kTagBytes},  // connect
    {kHostFlag, false, true, true, kTermsBytes, false, kTagBytes},                 // accept
    {0, false, true, false, 12, false, 0},                                         // reject
    {0, false, true, true, 10, false, 0},                                          // close
    {0, false, true, true, 10, false, 0},                                          // close_ack
    {0, false, false, true, 12, false, kTagBytes},                                 // reset
};
constexpr std::uint8_t kTypes = static_cast<std::uint8_t>(std::size(kShapes));
static_assert(static_cast<std::uint8_t>(Type::reset) + 1 == kTypes);

constexpr const Shape& shape_of(Type type) { return kShapes[static_cast<std::uint8_t>(type)]; }

/// The least a plain body has under this header, MAC included.
constexpr std::size_t least_body(const Header& header) {
  const Shape& shape = shape_of(header.type);
  std::size_t bytes = shape.body;
  if (header.keyed) bytes += shape.mac;
  if (header.type == Type::data && (header.flags & kDataWrite) != 0) bytes = kWriteFields;
  if (header.host_keys() && header.type == Type::connect) bytes += kFirstMessageBytes;
  if (header.host_keys() && header.type == Type::accept) bytes += kSecondMessageBytes;
  return bytes;
}

std::optional<DecodeFault> length_fault(const Header& header, std::size_t body) {
  const std::size_t least = least_body(header);
  if (body < least) return DecodeFault::too_short;
  if (body > least && !shape_of(header.type).open_ended) return DecodeFault::too_long;
  return std::nullopt;
}

// --- Numbers in network byte order ----------------------------------------------------------------

template <class T>
constexpr T network_order(T value) {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    static_assert(sizeof(T) == 8);
    return __builtin_bswap64(value);
  }
}

/// Reads on from where it stands. The caller has checked that the bytes are there.
class Reader {
 public:
  explicit Reader(ConstBytes bytes) : at_(bytes.data()) {}

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return network_order(value);
  }
  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  core::Psn psn() { return {u32()}; }
  core::Timestamp timestamp() { return {u32()}; }
  template <std::size_t N>
  std::array<std::uint8_t, N> array() {
    std::array<std::uint8_t, N> bytes;
    std::memcpy(bytes.data(), at_, N);
    at_ += N;
    return bytes;
  }

 private:
  const std::uint8_t* at_;
};

/// Writes from the start of `out`, of which `room` bytes must be there.
class Writer {
 public:
  Writer(MutableBytes out, std::size_t room) : start_(out.data()), at_(out.data()) {
    STRACK_CHECK_OP(out.size(), >=, room);
  }

  template <class T>
  void number(T value) {
    value = network_order(value);
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void u8(std::uint8_t value) { number(value); }
  void u16(std::uint16_t value) { number(value); }
  void u32(std::uint32_t value) { number(value); }
  void u64(std::uint64_t value) { number(value); }
  void bytes(ConstBytes bytes) {
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void zeros(std::size_t count) {
    std::memset(at_, 0, count);
    at_ += count;
  }
  [[nodiscard]] std::size_t written() const { return static_cast<std::size_t>(at_ - start_); }

 private:
  std::uint8_t* start_;
  std::uint8_t* at_;
};

/// A header that decode_header() will accept. Everything checked here is the caller's duty.
Writer begin(MutableBytes out, const Envelope& envelope, Type type, std::uint8_t flags,
             core::PathId path_id, std::size_t body, std::uint8_t version = kVersion) {
  const Shape& shape = shape_of(type);
  const bool sealed = envelope.keyed && is_session(type);
  const std::size_t size = (sealed ? kSealedHeaderBytes : kHeaderBytes) + body;
  STRACK_CHECK(shape.addressed == (envelope.connection_id != 0));
  STRACK_CHECK(shape.keyed_allowed || !envelope.keyed);
  STRACK_CHECK_OP(path_id, <, kMaxPaths);
  STRACK_CHECK_OP(size + (sealed ? kTagBytes : 0), <=, kMaxDatagramBytes);
  Writer to(out, size);
  to.u8(static_cast<std::uint8_t>(version << 4 | static_cast<std::uint8_t>(type)));
  to.u8(envelope.keyed ? flags | kKeyedFlag : flags);
  to.u16(path_id);
  to.u32(envelope.connection_id);
  if (sealed) {
    STRACK_CHECK_OP(envelope.counter, <, kCounterLimit);
    to.u64(envelope.counter);
  }
  return to;
}

bool all_zero(ConstBytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

// --- Terms ----------------------------------------------------------------------------------------

/// `one_cipher`: an answer chooses, an offer lists.
std::optional<DecodeFault> terms_fault(const Terms& terms, bool keyed, bool one_cipher, bool host) {
  const bool ciphers_fit = !keyed       ? terms.ciphers == 0
                           : one_cipher ? std::has_single_bit(terms.ciphers)
                                        : terms.ciphers != 0;
  const bool fits = terms.connection_id != 0 && keyed == (terms.key_id != 0) && ciphers_fit &&
                    (terms.ciphers & ~kAllCiphers) == 0 && terms.idle_timeout_ms != 0 &&
                    terms.mtu >= kMinMtu && terms.paths >= 1 && terms.paths <= kMaxPaths &&
                    terms.tracking_window >= 1 && terms.tracking_window <= kMaxTrackingWindow &&
                    terms.transport != 0 && terms.reply_port != 0 &&
                    host == ((terms.extensions & kHostKeys) != 0);
  if (!fits) return DecodeFault::bad_terms;
  return std::nullopt;
}

Result<Terms, DecodeFault> read_terms(Reader& from, const Header& header, bool one_cipher) {
  Terms terms;
  terms.connection_id = from.u32();
  terms.nonce = from.array<kNonceBytes>();
  terms.key_id = from.u32();
  terms.user_data = from.u64();
  terms.initial_psn = from.psn();
  terms.credit = from.u32();
  terms.idle_timeout_ms = from.u32();
  terms.mtu = from.u16();
  terms.paths = from.u16();
  terms.tracking_window = from.u16();
  terms.ciphers = from.u8();
  terms.transport = from.u8();
  terms.reply_port = from.u16();
  terms.extensions = from.u16();
  if (const auto fault = terms_fault(terms, header.keyed, one_cipher, header.host_keys()))
    return *fault;
  return terms;
}

void write_terms(Writer& to, const Terms& terms) {
  to.u32(terms.connection_id);
  to.bytes(terms.nonce);
  to.u32(terms.key_id);
  to.u64(terms.user_data);
  to.u32(terms.initial_psn.value);
  to.u32(terms.credit);
  to.u32(terms.idle_timeout_ms);
  to.u16(terms.mtu);
  to.u16(terms.paths);
  to.u16(terms.tracking_window);
  to.u8(terms.ciphers);
  to.u8(terms.transport);
  to.u16(terms.reply_port);
  to.u16(terms.extensions);
}

}  // namespace

// --- Decoding -------------------------------------------------------------------------------------

Result<Header, DecodeFault> decode_header(ConstBytes datagram) {
  if (datagram.size() < kHeaderBytes) return DecodeFault::too_short;
  if (datagram.size() > kMaxDatagramBytes) return DecodeFault::too_long;
  Reader from(datagram);
  const std::uint8_t first = from.u8();
  if (first >> 4 != kVersion) return DecodeFault::unknown_version;
  const std::uint8_t type = first & 0x0f;
  if (type == 0 || type >= kTypes) return DecodeFault::unknown_type;
  const Shape& shape = kShapes[type];
  const std::uint8_t flags = from.u8();

  Header header;
  header.type = static_cast<Type>(type);
  header.keyed = (flags & kKeyedFlag) != 0;
  header.flags = static_cast<std::uint8_t>(flags & ~kKeyedFlag);
  header.path_id = from.u16();
  header.connection_id = from.u32();
  if ((header.flags & ~shape.flags) != 0) return DecodeFault::reserved_flag;
  if (header.keyed && !shape.keyed_allowed) return DecodeFault::keyed_not_allowed;
  if (header.host_keys() && !header.keyed) return DecodeFault::reserved_flag;
  if (header.path_id >= (shape.path ? kMaxPaths : 1)) return DecodeFault::path_not_allowed;
  if (shape.addressed != (header.connection_id != 0)) return DecodeFault::connection_id;

  const std::size_t around = header.sealed() ? kSealedHeaderBytes + kTagBytes : kHeaderBytes;
  if (datagram.size() < around) return DecodeFault::too_short;
  if (const auto fault = length_fault(header, datagram.size() - around)) return *fault;
  if (header.sealed()) {
    header.counter = from.u64();
    if (header.counter >= kCounterLimit) return DecodeFault::counter_limit;
  }
  return header;
}

Result<Data, DecodeFault> decode_data(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::data);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  Data data;
  core::Packet& packet = data.packet;
  packet.type = core::PacketType::data;
  packet.retransmission = (header.flags & kDataRetransmission) != 0;
  data.piece = (header.flags & kDataPiece) != 0;
  packet.path_id = header.path_id;
  packet.psn = from.psn();
  packet.timestamp = from.timestamp();
  packet.message_id = from.u32();
  packet.message_length = from.u32();
  packet.offset = from.u32();
  if ((header.flags & kDataWrite) != 0) {
    data.kind = DataKind::write;
    data.region = from.u64();
    data.region_offset = from.u64();
    data.payload = body.subspan(kWriteFields);
    if (data.region_offset + packet.message_length < data.region_offset)
      return DecodeFault::beyond_region;
  } else {
    data.tag = from.u64();
    data.payload = body.subspan(kSendFields);
  }
  static_assert(kMaxDatagramBytes <= 0xffff, "so that every payload's length fits 16 bits");
  if (data.payload.size() > kMaxDatagramBytes) return DecodeFault::too_long;
  packet.payload = static_cast<std::uint16_t>(data.payload.size());
  if (packet.payload == 0 && (packet.message_length != 0 || data.piece))
    return DecodeFault::no_payload;
  if (std::uint64_t{packet.offset} + packet.payload > packet.message_length)
    return DecodeFault::beyond_message;
  return data;
}

Result<SackBody, DecodeFault> decode_sack(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::sack);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  SackBody decoded;
  core::Sack& sack = decoded.sack;
  sack.path_id = header.path_id;
  sack.ecn = (header.flags & kEchoEcn) != 0;
  sack.for_probe = (header.flags & kSackProbe) != 0;
  sack.epsn = from.psn();
  sack.sack_base = from.psn();
  sack.bitmap = from.u64();
  sack.bytes_recvd = from.u32();
  sack.psn = from.psn();
  sack.timestamp = from.timestamp();
  sack.hold_time_ns = from.u32();
  sack.ooo_count = from.u16();
  sack.probe_id = from.u16();
  decoded.credit = from.u32();
  if (!sack.for_probe && sack.probe_id != 0) return DecodeFault::field_not_allowed;
  return decoded;
}

Result<core::Packet, DecodeFault> decode_probe(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::probe);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  core::Packet probe;
  probe.type = core::PacketType::probe;
  probe.path_id = header.path_id;
  probe.psn = from.psn();
  probe.timestamp = from.timestamp();
  probe.probe_id = from.u16();
  return probe;
}

Result<Ping, DecodeFault> decode_ping(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::ping);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  Ping ping;
  ping.path_id = header.path_id;
  ping.id = from.u32();
  ping.timestamp = from.timestamp();
  ping.credit = from.u32();
  if (body.size() > kMaxDatagramBytes) return DecodeFault::too_long;
  ping.padding = static_cast<std::uint16_t>(body.size() - kPingFields);
  if (!all_zero(body.subspan(kPingFields))) return DecodeFault::reserved_not_zero;
  return ping;
}

Result<Pong, DecodeFault> decode_pong(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::pong);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  Pong pong;
  pong.path_id = header.path_id;
  pong.ecn = (header.flags & kEchoEcn) != 0;
  pong.id = from.u32();
  pong.timestamp = from.timestamp();
  pong.hold_time_ns = from.u32();
  pong.credit = from.u32();
  pong.size = from.u16();
  return pong;
}

Result<Close, DecodeFault> decode_close(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::close || header.type == Type::close_ack);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  Close close;
  close.end_psn = from.psn();
  close.source_id = from.u32();
  const std::uint16_t reason = from.u16();
  if (reason >= kCloseReasons) return DecodeFault::bad_reason;
  close.reason = static_cast<CloseReason>(reason);
  if (close.source_id == 0) return DecodeFault::connection_id;
  return close;
}

Result<Hello, DecodeFault> decode_hello(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::hello);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  const auto terms = read_terms(from, header, /*one_cipher=*/false);
  if (!terms) return terms.error();
  if (body.size() > kMaxDatagramBytes - kHeaderBytes) return DecodeFault::too_long;
  Hello hello{terms.value(),
              static_cast<std::uint16_t>(kHeaderBytes + body.size()),
              static_cast<std::uint8_t>(header.path_id),
              {}};
  if (header.host_keys()) hello.first = from.array<kFirstMessageBytes>();
  if (header.keyed) hello.mac = from.array<kTagBytes>();
  if (!all_zero(body.subspan(kTermsBytes + (hello.first ? kFirstMessageBytes : 0) +
                             (header.keyed ? kTagBytes : 0))))
    return DecodeFault::reserved_not_zero;
  return hello;
}

Result<Challenge, DecodeFault> decode_challenge(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::challenge);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  Challenge challenge;
  challenge.echo = from.u64();
  challenge.cookie = from.array<kCookieBytes>();
  challenge.hello_size = from.u16();
  return challenge;
}

Result<Connect, DecodeFault> decode_connect(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::connect);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  const auto terms = read_terms(from, header, /*one_cipher=*/false);
  if (!terms) return terms.error();
  Connect connect;
  connect.terms = terms.value();
  connect.cookie = from.array<kCookieBytes>();
  if (header.host_keys()) connect.first = from.array<kFirstMessageBytes>();
  if (header.keyed) connect.mac = from.array<kTagBytes>();
  connect.attempt = static_cast<std::uint8_t>(header.path_id);
  return connect;
}

Result<Accept, DecodeFault> decode_accept(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::accept);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  const auto terms = read_terms(from, header, /*one_cipher=*/true);
  if (!terms) return terms.error();
  Accept accept;
  accept.terms = terms.value();
  if (header.host_keys()) accept.second = from.array<kSecondMessageBytes>();
  if (header.keyed) accept.mac = from.array<kTagBytes>();
  return accept;
}

Result<Reject, DecodeFault> decode_reject(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::reject);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  Reject reject;
  reject.echo = from.u64();
  const std::uint8_t reason = from.u8();
  reject.lowest_version = from.u8();
  reject.highest_version = from.u8();
  if (from.u8() != 0) return DecodeFault::reserved_not_zero;
  if (reason == 0 || reason > kRejectReasons) return DecodeFault::bad_reason;
  reject.reason = static_cast<RejectReason>(reason);
  if (reject.lowest_version == 0 || reject.lowest_version > reject.highest_version ||
      reject.highest_version > 15)
    return DecodeFault::bad_terms;
  return reject;
}

Result<Reset, DecodeFault> decode_reset(const Header& header, ConstBytes body) {
  STRACK_CHECK(header.type == Type::reset);
  if (const auto fault = length_fault(header, body.size())) return *fault;
  Reader from(body);
  Reset reset;
  reset.unknown_id = from.u32();
  reset.echo = from.u64();
  if (header.keyed) reset.mac = from.array<kTagBytes>();
  if (reset.unknown_id == 0) return DecodeFault::connection_id;
  if (header.keyed && reset.echo >= kCounterLimit) return DecodeFault::counter_limit;
  return reset;
}

Result<Body, DecodeFault> decode_body(const Header& header, ConstBytes body) {
  const auto widen = [](const auto& decoded) -> Result<Body, DecodeFault> {
    if (!decoded) return decoded.error();
    return Body(decoded.value());
  };
  switch (header.type) {
    case Type::data:
      return widen(decode_data(header, body));
    case Type::sack:
      return widen(decode_sack(header, body));
    case Type::probe:
      return widen(decode_probe(header, body));
    case Type::ping:
      return widen(decode_ping(header, body));
    case Type::pong:
      return widen(decode_pong(header, body));
    case Type::hello:
      return widen(decode_hello(header, body));
    case Type::challenge:
      return widen(decode_challenge(header, body));
    case Type::connect:
      return widen(decode_connect(header, body));
    case Type::accept:
      return widen(decode_accept(header, body));
    case Type::reject:
      return widen(decode_reject(header, body));
    case Type::close:
    case Type::close_ack:
      return widen(decode_close(header, body));
    case Type::reset:
      return widen(decode_reset(header, body));
  }
  return DecodeFault::unknown_type;
}

// --- Encoding -------------------------------------------------------------------------------------

namespace {
Writer data_front(MutableBytes out, const Envelope& envelope, const Data& data,
                  std::size_t payload_here) {
  const core::Packet& packet = data.packet;
  const bool write = data.kind == DataKind::write;
  const std::size_t fields = write ? kWriteFields : kSendFields;
  STRACK_CHECK(packet.type == core::PacketType::data);
  STRACK_CHECK(packet.payload != 0 || (packet.message_length == 0 && !data.piece));
  STRACK_CHECK(std::uint64_t{packet.offset} + packet.payload <= packet.message_length);
  STRACK_CHECK_OP(envelope.header_bytes() + fields + packet.payload + envelope.trailer_bytes(), <=,
                  kMaxDatagramBytes);
  std::uint8_t flags = 0;
  if (packet.retransmission) flags |= kDataRetransmission;
  if (write) flags |= kDataWrite;
  if (data.piece) flags |= kDataPiece;
  Writer to = begin(out, envelope, Type::data, flags, packet.path_id, fields + payload_here);
  to.u32(packet.psn.value);
  to.u32(packet.timestamp.ns);
  to.u32(packet.message_id);
  to.u32(packet.message_length);
  to.u32(packet.offset);
  if (write) {
    STRACK_CHECK(data.region_offset + packet.message_length >= data.region_offset);
    to.u64(data.region);
    to.u64(data.region_offset);
  } else {
    to.u64(data.tag);
  }
  return to;
}

std::size_t closing(MutableBytes out, const Envelope& envelope, Type type, const Close& close) {
  Writer to = begin(out, envelope, type, 0, 0, shape_of(type).body);
  STRACK_CHECK_OP(close.source_id, !=, 0u);
  to.u32(close.end_psn.value);
  to.u32(close.source_id);
  to.u16(static_cast<std::uint16_t>(close.reason));
  return to.written();
}
}  // namespace

std::size_t encode_data_front(MutableBytes out, const Envelope& envelope, const Data& data) {
  return data_front(out, envelope, data, 0).written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const Data& data) {
  STRACK_CHECK_OP(data.payload.size(), ==, data.packet.payload);
  Writer to = data_front(out, envelope, data, data.payload.size());
  to.bytes(data.payload);
  return to.written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const SackBody& body) {
  const core::Sack& sack = body.sack;
  std::uint8_t flags = 0;
  if (sack.ecn) flags |= kEchoEcn;
  if (sack.for_probe) flags |= kSackProbe;
  Writer to = begin(out, envelope, Type::sack, flags, sack.path_id, shape_of(Type::sack).body);
  to.u32(sack.epsn.value);
  to.u32(sack.sack_base.value);
  to.u64(sack.bitmap);
  to.u32(sack.bytes_recvd);
  to.u32(sack.psn.value);
  to.u32(sack.timestamp.ns);
  to.u32(sack.hold_time_ns);
  to.u16(sack.ooo_count);
  to.u16(sack.for_probe ? sack.probe_id : 0);  // means nothing otherwise
  to.u32(body.credit);
  return to.written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const core::Packet& probe) {
  STRACK_CHECK(probe.type == core::PacketType::probe);
  Writer to = begin(out, envelope, Type::probe, 0, probe.path_id, shape_of(Type::probe).body);
  to.u32(probe.psn.value);
  to.u32(probe.timestamp.ns);
  to.u16(probe.probe_id);
  return to.written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const Ping& ping) {
  Writer to = begin(out, envelope, Type::ping, 0, ping.path_id, kPingFields + ping.padding);
  to.u32(ping.id);
  to.u32(ping.timestamp.ns);
  to.u32(ping.credit);
  to.zeros(ping.padding);
  return to.written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const Pong& pong) {
  Writer to = begin(out, envelope, Type::pong, pong.ecn ? kEchoEcn : 0, pong.path_id,
                    shape_of(Type::pong).body);
  to.u32(pong.id);
  to.u32(pong.timestamp.ns);
  to.u32(pong.hold_time_ns);
  to.u32(pong.credit);
  to.u16(pong.size);
  return to.written();
}

std::size_t encode_close(MutableBytes out, const Envelope& envelope, const Close& close) {
  return closing(out, envelope, Type::close, close);
}
std::size_t encode_close_ack(MutableBytes out, const Envelope& envelope, const Close& close) {
  return closing(out, envelope, Type::close_ack, close);
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const Hello& hello) {
  STRACK_CHECK(!terms_fault(hello.terms, envelope.keyed, false, hello.first.has_value()));
  STRACK_CHECK_OP(hello.size, >=, kHelloMinBytes);
  Writer to = begin(out, envelope, Type::hello, hello.first ? kHostFlag : 0, hello.attempt,
                    hello.size - kHeaderBytes);
  write_terms(to, hello.terms);
  if (hello.first) to.bytes(*hello.first);
  if (envelope.keyed) to.bytes(hello.mac);
  to.zeros(hello.size - to.written());
  return to.written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const Challenge& challenge) {
  Writer to = begin(out, envelope, Type::challenge, 0, 0, shape_of(Type::challenge).body);
  to.u64(challenge.echo);
  to.bytes(challenge.cookie);
  to.u16(challenge.hello_size);
  return to.written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const Connect& connect) {
  STRACK_CHECK(!terms_fault(connect.terms, envelope.keyed, false, connect.first.has_value()));
  Writer to = begin(out, envelope, Type::connect, connect.first ? kHostFlag : 0, connect.attempt,
                    shape_of(Type::connect).body + envelope.trailer_bytes() +
                        (connect.first ? kFirstMessageBytes : 0));
  write_terms(to, connect.terms);
  to.bytes(connect.cookie);
  if (connect.first) to.bytes(*connect.first);
  if (envelope.keyed) to.bytes(connect.mac);
  return to.written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const Accept& accept) {
  STRACK_CHECK(!terms_fault(accept.terms, envelope.keyed, true, accept.second.has_value()));
  Writer to = begin(out, envelope, Type::accept, accept.second ? kHostFlag : 0, 0,
                    shape_of(Type::accept).body + envelope.trailer_bytes() +
                        (accept.second ? kSecondMessageBytes : 0));
  write_terms(to, accept.terms);
  if (accept.second) to.bytes(*accept.second);
  if (envelope.keyed) to.bytes(accept.mac);
  return to.written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const Reject& reject) {
  STRACK_CHECK(reject.lowest_version >= 1 && reject.lowest_version <= reject.highest_version);
  STRACK_CHECK_OP(reject.highest_version, <=, 15);
  STRACK_CHECK_OP(reject.header_version, <=, 15);
  Writer to =
      begin(out, envelope, Type::reject, 0, 0, shape_of(Type::reject).body, reject.header_version);
  to.u64(reject.echo);
  to.u8(static_cast<std::uint8_t>(reject.reason));
  to.u8(reject.lowest_version);
  to.u8(reject.highest_version);
  to.u8(0);
  return to.written();
}

std::size_t encode(MutableBytes out, const Envelope& envelope, const Reset& reset) {
  STRACK_CHECK_OP(reset.unknown_id, !=, 0u);
  STRACK_CHECK(!envelope.keyed || reset.echo < kCounterLimit);
  Writer to = begin(out, envelope, Type::reset, 0, 0,
                    shape_of(Type::reset).body + envelope.trailer_bytes());
  to.u32(reset.unknown_id);
  to.u64(reset.echo);
  if (envelope.keyed) to.bytes(reset.mac);
  return to.written();
}

// --- For set-up -----------------------------------------------------------------------------------

std::uint64_t nonce_echo(const Nonce& nonce) { return Reader(nonce).u64(); }

std::array<std::uint8_t, kTermsBytes> encode_terms(const Terms& terms) {
  std::array<std::uint8_t, kTermsBytes> bytes;
  Writer to(bytes, kTermsBytes);
  write_terms(to, terms);
  STRACK_CHECK_OP(to.written(), ==, kTermsBytes);
  return bytes;
}

std::uint64_t packet_echo(ConstBytes datagram) {
  STRACK_CHECK_OP(datagram.size(), >=, kHeaderBytes + 8);
  return Reader(datagram.subspan(kHeaderBytes)).u64();
}

std::optional<ForeignHello> foreign_hello(ConstBytes datagram) {
  if (datagram.size() < kHelloMinBytes || datagram.size() > kMaxDatagramBytes) return std::nullopt;
  const auto version = static_cast<std::uint8_t>(datagram[0] >> 4);
  if ((datagram[0] & 0x0f) != static_cast<std::uint8_t>(Type::hello)) return std::nullopt;
  if (version == 0 || version == kVersion) return std::nullopt;
  Reader from(datagram.subspan(kHeaderBytes));
  ForeignHello hello{version, from.u32(), from.u64(), 0};
  if (version >= 2) hello.reply_port = Reader(datagram.subspan(kHeaderBytes + 68)).u16();
  return hello.connection_id == 0 ? std::nullopt : std::optional(hello);
}

}  // namespace strack::wire
