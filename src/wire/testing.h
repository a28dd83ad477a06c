// For tests, fuzzing and vectors only: packets as text, any packet back to bytes, random packets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "wire/wire.h"

namespace strack::wire::testing {

using Buffer = std::vector<std::uint8_t>;

/// A packet and what travels around it.
struct Packet {
  Header header;
  Body body;
};

/// What follows the header, the tag of a sealed packet left out. Nothing is encrypted in tests.
inline ConstBytes opened(const Header& header, ConstBytes datagram) {
  const std::size_t trailer = header.sealed() ? kTagBytes : 0;
  return datagram.subspan(header.bytes(), datagram.size() - header.bytes() - trailer);
}

/// Both steps of decoding.
inline Result<Packet, DecodeFault> decode(ConstBytes datagram) {
  const auto header = decode_header(datagram);
  if (!header) return header.error();
  const auto body = decode_body(header.value(), opened(header.value(), datagram));
  if (!body) return body.error();
  return Packet{header.value(), body.value()};
}

/// To the start of `out`, without the tag of a sealed one; how many bytes that is.
inline std::size_t encode_to(MutableBytes out, const Packet& packet) {
  const Envelope envelope{packet.header.connection_id, packet.header.keyed, packet.header.counter};
  return std::visit(
      [&](const auto& body) -> std::size_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(body)>, Close>) {
          return packet.header.type == Type::close ? encode_close(out, envelope, body)
                                                   : encode_close_ack(out, envelope, body);
        } else {
          return wire::encode(out, envelope, body);
        }
      },
      packet.body);
}

/// The datagram of a packet; of a sealed one with `tag` bytes where its tag would be.
inline Buffer encode(const Packet& packet, std::uint8_t tag = 0xee) {
  Buffer out(kMaxDatagramBytes);
  const std::size_t size = encode_to(out, packet);
  out.resize(size);
  if (packet.header.sealed()) out.resize(size + kTagBytes, tag);
  return out;
}

// --- Text: the names and forms of tests/wire/vectors and of the Wireshark dissector ---------------

class Text {
 public:
  void number(std::string_view key, std::uint64_t value) { add(key, std::to_string(value)); }
  void hex(std::string_view key, std::uint64_t value, int digits) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "0x%0*llx", digits,
                  static_cast<unsigned long long>(value));
    add(key, buffer);
  }
  void bytes(std::string_view key, ConstBytes value) {
    std::string digits;
    for (const std::uint8_t byte : value) {
      char buffer[4];
      std::snprintf(buffer, sizeof buffer, "%02x", byte);
      digits += buffer;
    }
    add(key, digits);
  }
  void add(std::string_view key, std::string_view value) {
    lines_ += key;
    lines_ += value.empty() ? ":" : ": ";
    lines_ += value;
    lines_ += '\n';
  }
  [[nodiscard]] std::string take() { return std::move(lines_); }

 private:
  std::string lines_;
};

inline void describe_terms(Text& text, const Terms& terms) {
  text.hex("terms.connection_id", terms.connection_id, 8);
  text.bytes("terms.nonce", terms.nonce);
  text.hex("terms.key_id", terms.key_id, 8);
  text.number("terms.user_data", terms.user_data);
  text.number("terms.initial_psn", terms.initial_psn.value);
  text.number("terms.credit", terms.credit);
  text.number("terms.idle_timeout_ms", terms.idle_timeout_ms);
  text.number("terms.mtu", terms.mtu);
  text.number("terms.paths", terms.paths);
  text.number("terms.tracking_window", terms.tracking_window);
  text.hex("terms.ciphers", terms.ciphers, 2);
  text.number("terms.transport", terms.transport);
  text.number("terms.reply_port", terms.reply_port);
  text.hex("terms.extensions", terms.extensions, 4);
}

/// One line for each field, in the order of the packet.
inline std::string describe(const Packet& packet) {
  const Header& header = packet.header;
  Text text;
  text.number("version", kVersion);
  text.add("type", name(header.type));
  text.number("keyed", header.keyed);
  text.number("path_id", header.path_id);
  text.hex("connection_id", header.connection_id, 8);
  if (header.sealed()) text.number("counter", header.counter);

  if (const auto* data = std::get_if<Data>(&packet.body)) {
    STRACK_CHECK(data->packet.path_id == header.path_id);
    text.number("data.retransmission", data->packet.retransmission);
    text.number("data.write", data->kind == DataKind::write);
    text.number("data.piece", data->piece);
    text.number("data.psn", data->packet.psn.value);
    text.number("data.timestamp", data->packet.timestamp.ns);
    text.number("data.message_id", data->packet.message_id);
    text.number("data.message_length", data->packet.message_length);
    text.number("data.offset", data->packet.offset);
    if (data->kind == DataKind::write) {
      text.hex("data.region", data->region, 16);
      text.number("data.region_offset", data->region_offset);
    } else {
      text.hex("data.tag", data->tag, 16);
    }
    if (data->kind == DataKind::write && data->region == kRequestRegion) {
      if (const auto request = decode_request(data->payload)) {
        text.number("request.length", request.value().length);
        text.hex("request.region", request.value().region, 16);
        text.number("request.offset", request.value().offset);
        text.hex("request.reply_region", request.value().reply_region, 16);
      } else if (const auto atomic = decode_atomic(data->payload)) {
        text.number("atomic.op", atomic.value().op);
        text.number("atomic.type", atomic.value().type);
        text.number("atomic.length", atomic.value().where.length);
        text.hex("atomic.region", atomic.value().where.region, 16);
        text.number("atomic.offset", atomic.value().where.offset);
        text.hex("atomic.reply_region", atomic.value().where.reply_region, 16);
      }
    }
    text.number("data.payload_length", data->packet.payload);
    text.bytes("data.payload", data->payload);
  } else if (const auto* body = std::get_if<SackBody>(&packet.body)) {
    const core::Sack& sack = body->sack;
    STRACK_CHECK(sack.path_id == header.path_id);
    text.number("sack.ecn", sack.ecn);
    text.number("sack.for_probe", sack.for_probe);
    text.number("sack.epsn", sack.epsn.value);
    text.number("sack.sack_base", sack.sack_base.value);
    text.hex("sack.bitmap", sack.bitmap, 16);
    text.number("sack.bytes_recvd", sack.bytes_recvd);
    text.number("sack.psn", sack.psn.value);
    text.number("sack.timestamp", sack.timestamp.ns);
    text.number("sack.hold_time_ns", sack.hold_time_ns);
    text.number("sack.ooo_count", sack.ooo_count);
    text.number("sack.probe_id", sack.probe_id);
    text.number("sack.credit", body->credit);
  } else if (const auto* probe = std::get_if<core::Packet>(&packet.body)) {
    STRACK_CHECK(probe->path_id == header.path_id);
    text.number("probe.psn", probe->psn.value);
    text.number("probe.timestamp", probe->timestamp.ns);
    text.number("probe.probe_id", probe->probe_id);
  } else if (const auto* ping = std::get_if<Ping>(&packet.body)) {
    STRACK_CHECK(ping->path_id == header.path_id);
    text.number("ping.id", ping->id);
    text.number("ping.timestamp", ping->timestamp.ns);
    text.number("ping.credit", ping->credit);
    text.number("ping.padding", ping->padding);
  } else if (const auto* pong = std::get_if<Pong>(&packet.body)) {
    STRACK_CHECK(pong->path_id == header.path_id);
    text.number("pong.ecn", pong->ecn);
    text.number("pong.id", pong->id);
    text.number("pong.timestamp", pong->timestamp.ns);
    text.number("pong.hold_time_ns", pong->hold_time_ns);
    text.number("pong.credit", pong->credit);
    text.number("pong.size", pong->size);
  } else if (const auto* close = std::get_if<Close>(&packet.body)) {
    text.number("close.end_psn", close->end_psn.value);
    text.hex("close.source_id", close->source_id, 8);
    text.add("close.reason", name(close->reason));
  } else if (const auto* hello = std::get_if<Hello>(&packet.body)) {
    describe_terms(text, hello->terms);
    STRACK_CHECK(hello->attempt == header.path_id);
    if (hello->first) text.bytes("hello.first", *hello->first);
    if (header.keyed) text.bytes("hello.mac", hello->mac);
    text.number("hello.size", hello->size);
  } else if (const auto* challenge = std::get_if<Challenge>(&packet.body)) {
    text.hex("challenge.echo", challenge->echo, 16);
    text.bytes("challenge.cookie", challenge->cookie);
    text.number("challenge.hello_size", challenge->hello_size);
  } else if (const auto* connect = std::get_if<Connect>(&packet.body)) {
    STRACK_CHECK(connect->attempt == header.path_id);
    describe_terms(text, connect->terms);
    text.bytes("connect.cookie", connect->cookie);
    if (connect->first) text.bytes("connect.first", *connect->first);
    if (header.keyed) text.bytes("connect.mac", connect->mac);
  } else if (const auto* accept = std::get_if<Accept>(&packet.body)) {
    describe_terms(text, accept->terms);
    if (accept->second) text.bytes("accept.second", *accept->second);
    if (header.keyed) text.bytes("accept.mac", accept->mac);
  } else if (const auto* reject = std::get_if<Reject>(&packet.body)) {
    text.hex("reject.echo", reject->echo, 16);
    text.add("reject.reason", name(reject->reason));
    text.number("reject.lowest_version", reject->lowest_version);
    text.number("reject.highest_version", reject->highest_version);
  } else {
    const Reset& reset = std::get<Reset>(packet.body);
    text.hex("reset.unknown_id", reset.unknown_id, 8);
    text.hex("reset.echo", reset.echo, 16);
    if (header.keyed) text.bytes("reset.mac", reset.mac);
  }
  return text.take();
}

// --- Random packets -------------------------------------------------------------------------------

inline constexpr Type kAllTypes[] = {Type::data,   Type::sack,   Type::probe,     Type::ping,
                                     Type::pong,   Type::hello,  Type::challenge, Type::connect,
                                     Type::accept, Type::reject, Type::close,     Type::close_ack,
                                     Type::reset};

/// Any valid packet of a type. Payloads are cut from `payload`, which must outlive it.
class RandomPackets {
 public:
  RandomPackets(std::uint64_t seed, ConstBytes payload) : rng_(seed), payload_(payload) {}

  Packet make(Type type) {
    Packet packet;
    Header& header = packet.header;
    header.type = type;
    header.keyed = type != Type::challenge && type != Type::reject && rng_.below(2) == 0;
    if (type <= Type::hello || type == Type::connect)
      header.path_id = number<core::PathId>(0, kMaxPaths - 1);
    if (type != Type::hello && type != Type::connect && type != Type::reset)
      header.connection_id = number<std::uint32_t>(1, 0xffff'ffff);
    if (header.sealed()) header.counter = number<std::uint64_t>(0, kCounterLimit - 1);
    if (header.keyed && (type == Type::hello || type == Type::connect || type == Type::accept))
      header.flags = flag() ? 1 : 0;  // by the hosts' keys
    packet.body = body(header);
    return packet;
  }

 private:
  /// Uniform, but as often as not one of the ends.
  template <class T>
  T number(std::uint64_t low, std::uint64_t high) {
    const std::uint64_t choice = rng_.below(4);
    if (choice == 0) return static_cast<T>(low);
    if (choice == 1) return static_cast<T>(high);
    if (high - low == ~std::uint64_t{0}) return static_cast<T>(rng_.next());
    return static_cast<T>(low + rng_.below(high - low + 1));
  }
  template <class T>
  T any() {
    return number<T>(0, std::numeric_limits<T>::max());
  }
  template <std::size_t N>
  std::array<std::uint8_t, N> array() {
    std::array<std::uint8_t, N> bytes;
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(rng_.next());
    return bytes;
  }
  bool flag() { return rng_.below(2) == 0; }

  Terms terms(const Header& header, bool one_cipher) {
    const bool keyed = header.keyed;
    Terms t;
    t.connection_id = number<std::uint32_t>(1, 0xffff'ffff);
    t.nonce = array<kNonceBytes>();
    if (keyed) t.key_id = number<std::uint32_t>(1, 0xffff'ffff);
    t.user_data = any<std::uint64_t>();
    t.initial_psn = {any<std::uint32_t>()};
    t.credit = any<std::uint32_t>();
    t.idle_timeout_ms = number<std::uint32_t>(1, 0xffff'ffff);
    t.mtu = number<std::uint16_t>(kMinMtu, 0xffff);
    t.paths = number<std::uint16_t>(1, kMaxPaths);
    t.tracking_window = number<std::uint16_t>(1, kMaxTrackingWindow);
    if (keyed) t.ciphers = number<std::uint8_t>(1, one_cipher ? 2 : 3);
    t.transport = number<std::uint8_t>(1, 0xff);
    t.reply_port = number<std::uint16_t>(1, 0xffff);
    t.extensions = any<std::uint16_t>();
    const std::uint16_t others = static_cast<std::uint16_t>(t.extensions & ~kHostKeys);
    t.extensions = header.host_keys() ? static_cast<std::uint16_t>(others | kHostKeys) : others;
    return t;
  }

  Body body(const Header& header) {
    switch (header.type) {
      case Type::data: {
        Data data;
        core::Packet& packet = data.packet;
        packet.retransmission = flag();
        packet.path_id = header.path_id;
        packet.psn = {any<std::uint32_t>()};
        packet.timestamp = {any<std::uint32_t>()};
        packet.message_id = any<std::uint32_t>();
        packet.message_length = any<std::uint32_t>();
        if (packet.message_length != 0) {
          packet.offset = number<std::uint32_t>(0, packet.message_length - 1);
          const std::uint64_t most =
              std::min<std::uint64_t>(packet.message_length - packet.offset, payload_.size());
          packet.payload = number<std::uint16_t>(1, most);
          data.piece = flag();
        }
        data.payload = payload_.first(packet.payload);
        if (flag()) {
          data.kind = DataKind::write;
          data.region = any<std::uint64_t>();
          data.region_offset = number<std::uint64_t>(0, ~std::uint64_t{0} - packet.message_length);
        } else {
          data.tag = any<std::uint64_t>();
        }
        return data;
      }
      case Type::sack: {
        SackBody body;
        core::Sack& sack = body.sack;
        sack.path_id = header.path_id;
        sack.ecn = flag();
        sack.for_probe = flag();
        sack.epsn = {any<std::uint32_t>()};
        sack.sack_base = {any<std::uint32_t>()};
        sack.bitmap = any<std::uint64_t>();
        sack.bytes_recvd = any<std::uint32_t>();
        sack.psn = {any<std::uint32_t>()};
        sack.timestamp = {any<std::uint32_t>()};
        sack.hold_time_ns = any<std::uint32_t>();
        sack.ooo_count = any<std::uint16_t>();
        if (sack.for_probe) sack.probe_id = any<std::uint16_t>();
        body.credit = any<std::uint32_t>();
        return body;
      }
      case Type::probe: {
        core::Packet probe;
        probe.type = core::PacketType::probe;
        probe.path_id = header.path_id;
        probe.psn = {any<std::uint32_t>()};
        probe.timestamp = {any<std::uint32_t>()};
        probe.probe_id = any<std::uint16_t>();
        return probe;
      }
      case Type::ping:
        return Ping{header.path_id,
                    any<std::uint32_t>(),
                    {any<std::uint32_t>()},
                    any<std::uint32_t>(),
                    number<std::uint16_t>(0, 2000)};
      case Type::pong: {
        Pong pong;
        pong.path_id = header.path_id;
        pong.ecn = flag();
        pong.id = any<std::uint32_t>();
        pong.timestamp = {any<std::uint32_t>()};
        pong.hold_time_ns = any<std::uint32_t>();
        pong.credit = any<std::uint32_t>();
        pong.size = any<std::uint16_t>();
        return pong;
      }
      case Type::hello: {
        Hello hello{terms(header, false),
                    number<std::uint16_t>(kHelloMinBytes, 9000),
                    static_cast<std::uint8_t>(header.path_id),
                    {}};
        if (header.keyed) hello.mac = array<kTagBytes>();
        if (header.host_keys()) hello.first = array<kFirstMessageBytes>();
        return hello;
      }
      case Type::challenge:
        return Challenge{any<std::uint64_t>(), array<kCookieBytes>(), any<std::uint16_t>()};
      case Type::connect: {
        Connect connect{terms(header, false),
                        array<kCookieBytes>(),
                        {},
                        static_cast<std::uint8_t>(header.path_id)};
        if (header.keyed) connect.mac = array<kTagBytes>();
        if (header.host_keys()) connect.first = array<kFirstMessageBytes>();
        return connect;
      }
      case Type::accept: {
        Accept accept{terms(header, true), {}};
        if (header.keyed) accept.mac = array<kTagBytes>();
        if (header.host_keys()) accept.second = array<kSecondMessageBytes>();
        return accept;
      }
      case Type::reject: {
        Reject reject;
        reject.echo = any<std::uint64_t>();
        reject.reason = static_cast<RejectReason>(number<std::uint8_t>(1, kRejectReasons));
        reject.lowest_version = number<std::uint8_t>(1, 15);
        reject.highest_version = number<std::uint8_t>(reject.lowest_version, 15);
        return reject;
      }
      case Type::close:
      case Type::close_ack:
        return Close{static_cast<CloseReason>(number<std::uint16_t>(0, kCloseReasons - 1)),
                     {any<std::uint32_t>()},
                     number<std::uint32_t>(1, 0xffff'ffff)};
      case Type::reset:
        break;
    }
    Reset reset{number<std::uint32_t>(1, 0xffff'ffff),
                number<std::uint64_t>(0, header.keyed ? kCounterLimit - 1 : ~std::uint64_t{0}),
                {}};
    if (header.keyed) reset.mac = array<kTagBytes>();
    return reset;
  }

  Rng rng_;
  ConstBytes payload_;
};

}  // namespace strack::wire::testing
