// The coder and decoder against each other: any packet, each bit, each length. That the bytes are
// those of docs/protocol.md is tested by tests/wire, with vectors that were not made by this code.
#include "wire/wire.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "wire/testing.h"

namespace strack::wire {
namespace {

using testing::Buffer;
using testing::Packet;
using testing::RandomPackets;

constexpr std::size_t kPayload = 9000;

const Buffer& payload_bytes() {
  static const Buffer bytes = [] {
    Buffer b(kPayload);
    std::iota(b.begin(), b.end(), std::uint8_t{1});
    return b;
  }();
  return bytes;
}

std::string show(DecodeFault fault) { return std::string(name(fault)); }

/// What the decoder says: a fault's name, or "ok".
std::string verdict(ConstBytes datagram) {
  const auto packet = testing::decode(datagram);
  return packet ? "ok" : show(packet.error());
}

/// A valid packet of each type with small contents, `keyed` where the type can be.
Packet plain_packet(Type type, bool keyed, bool host = false) {
  RandomPackets random(1, ConstBytes(payload_bytes()).first(20));
  for (;;) {
    Packet packet = random.make(type);
    if (packet.header.keyed != keyed && type != Type::challenge && type != Type::reject) continue;
    if (packet.header.host_keys() != host) continue;
    if (const auto* hello = std::get_if<Hello>(&packet.body)) {
      if (hello->size > 1300) continue;
    }
    if (const auto* ping = std::get_if<Ping>(&packet.body)) {
      if (ping->padding > 50) continue;
    }
    return packet;
  }
}

// Whatever the fields, they come back as they were, and the bytes as well.
// [D148] A request for a read, byte for byte, and each way in which it can be wrong.
TEST(WireRequest, SaysWhatIsToBeRead) {
  const ReadRequest asked{.region = 0x0102'0304'0506'0708,
                          .offset = 0x1112'1314'1516'1718,
                          .reply_region = 0x2122'2324'2526'2728,
                          .length = 0x3132'3334};
  const std::array<std::uint8_t, kRequestBytes> bytes = encode_request(asked);
  const std::array<std::uint8_t, kRequestBytes> expected{
      1,    0,    0,    0,    0x31, 0x32, 0x33, 0x34, 1,    2,    3,
      4,    5,    6,    7,    8,    0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
      0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28};
  EXPECT_EQ(bytes, expected);
  const auto back = decode_request(bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value().region, asked.region);
  EXPECT_EQ(back.value().offset, asked.offset);
  EXPECT_EQ(back.value().reply_region, asked.reply_region);
  EXPECT_EQ(back.value().length, asked.length);
  const auto fault = [&](std::size_t from, std::size_t count, std::uint8_t value) {
    auto changed = bytes;
    std::fill_n(changed.begin() + static_cast<std::ptrdiff_t>(from), count, value);
    const auto decoded = decode_request(changed);
    return decoded.ok() ? std::string_view("none") : name(decoded.error());
  };
  EXPECT_EQ(decode_request(ConstBytes(bytes).first(31)).error(), DecodeFault::too_short);
  std::array<std::uint8_t, kRequestBytes + 1> longer{};
  EXPECT_EQ(decode_request(longer).error(), DecodeFault::too_long);
  EXPECT_EQ(fault(0, 1, 0), "field_not_allowed") << "no kind";
  EXPECT_EQ(fault(0, 1, 2), "field_not_allowed") << "a kind that nobody knows";
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(fault(i, 1, 1), "reserved_not_zero");
  EXPECT_EQ(fault(8, 8, 0), "field_not_allowed") << "of no region";
  EXPECT_EQ(fault(24, 8, 0), "field_not_allowed") << "to no region";
  EXPECT_EQ(fault(16, 8, 0xff), "beyond_region");
  EXPECT_EQ(fault(4, 4, 0), "none") << "nothing can be read, too";
}

// [D154] A request for an atomic: what a read has, the operation, the type, the operands; and each way in which it can be
// wrong.
TEST(WireRequest, SaysWhatIsToBeChanged) {
  const std::array<std::uint8_t, 32> operands{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const AtomicRequest asked{.where = {.region = 0x0102'0304'0506'0708,
                                      .offset = 0x1112'1314'1516'1718,
                                      .reply_region = 0x2122'2324'2526'2728,
                                      .length = 16},
                            .op = 13,
                            .type = 8,
                            .operands = {}};
  const auto front = encode_atomic(asked);
  const std::array<std::uint8_t, kRequestBytes> expected{
      2,    13,   8,    0,    0,    0,    0,    16,   1,    2,    3,
      4,    5,    6,    7,    8,    0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
      0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28};
  EXPECT_EQ(front, expected);
  std::vector<std::uint8_t> all(front.begin(), front.end());
  all.insert(all.end(), operands.begin(), operands.end());
  const auto back = decode_atomic(all);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value().op, 13);
  EXPECT_EQ(back.value().type, 8);
  EXPECT_EQ(back.value().where.length, 16u);
  EXPECT_EQ(back.value().where.region, asked.where.region);
  EXPECT_EQ(back.value().where.offset, asked.where.offset);
  EXPECT_EQ(back.value().where.reply_region, asked.where.reply_region);
  EXPECT_TRUE(std::equal(operands.begin(), operands.end(), back.value().operands.begin(),
                         back.value().operands.end()));
  EXPECT_TRUE(is_atomic(all));
  EXPECT_FALSE(decode_request(ConstBytes(all).first(32)).ok()) << "it is no read";
  const auto fault = [](std::vector<std::uint8_t> changed) {
    const auto decoded = decode_atomic(changed);
    return decoded.ok() ? std::string_view("none") : name(decoded.error());
  };
  const auto with = [&](std::size_t at, std::size_t count, std::uint8_t value) {
    auto changed = all;
    std::fill_n(changed.begin() + static_cast<std::ptrdiff_t>(at), count, value);
    return fault(changed);
  };
  const auto of = [&](std::uint8_t op, std::uint8_t type, std::uint8_t length, std::size_t more) {
    auto changed = all;
    changed[1] = op;
    changed[2] = type;
    changed[7] = length;
    changed.resize(kRequestBytes + more);
    return fault(changed);
  };
  EXPECT_EQ(with(0, 1, 1), "field_not_allowed") << "a read";
  EXPECT_EQ(with(1, 1, 0), "field_not_allowed") << "no operation";
  EXPECT_EQ(with(1, 1, 20), "field_not_allowed") << "one that nobody knows";
  EXPECT_EQ(with(2, 1, 0), "field_not_allowed") << "no type";
  EXPECT_EQ(with(2, 1, 11), "field_not_allowed");
  EXPECT_EQ(with(3, 1, 1), "reserved_not_zero");
  EXPECT_EQ(with(8, 8, 0), "field_not_allowed") << "of no region";
  EXPECT_EQ(with(24, 8, 0), "field_not_allowed") << "to no region";
  EXPECT_EQ(with(16, 8, 0xff), "beyond_region");
  EXPECT_EQ(of(13, 8, 0, 0), "field_not_allowed") << "of nothing";
  EXPECT_EQ(of(13, 8, 12, 24), "field_not_allowed") << "of a value and a half";
  EXPECT_EQ(of(13, 7, 240, 480), "none");
  EXPECT_EQ(of(13, 7, 248, 496), "field_not_allowed") << "of too many";
  EXPECT_EQ(of(13, 8, 16, 31), "too_short");
  EXPECT_EQ(of(13, 8, 16, 33), "too_long");
  EXPECT_EQ(of(19, 1, 3, 6), "none");
  EXPECT_EQ(of(12, 4, 4, 4), "none") << "one operand";
  EXPECT_EQ(of(12, 4, 4, 8), "too_long");
  EXPECT_EQ(of(11, 9, 8, 0), "none") << "a read has none";
  EXPECT_EQ(of(11, 9, 8, 8), "too_long");
  all.resize(31);
  EXPECT_EQ(fault(all), "too_short");
}

TEST(Wire, RoundTrip_AnyPacketOfEachType) {
  RandomPackets random(7, payload_bytes());
  for (const Type type : testing::kAllTypes) {
    for (int i = 0; i < 2000; ++i) {
      const Packet packet = random.make(type);
      const Buffer datagram = testing::encode(packet);
      const auto decoded = testing::decode(datagram);
      ASSERT_TRUE(decoded.ok()) << name(type) << ": " << show(decoded.error());
      ASSERT_EQ(testing::describe(decoded.value()), testing::describe(packet));
      ASSERT_EQ(testing::encode(decoded.value()), datagram);
    }
  }
}

// The sizes that docs/protocol.md gives.
TEST(Wire, Encode_SizesAreThoseOfTheSpecification) {
  const auto size = [](Type type, bool keyed) {
    return testing::encode(plain_packet(type, keyed)).size();
  };
  EXPECT_EQ(size(Type::sack, false), 48u);
  EXPECT_EQ(size(Type::sack, true), 72u);
  EXPECT_EQ(size(Type::probe, false), 18u);
  EXPECT_EQ(size(Type::probe, true), 42u);
  EXPECT_EQ(size(Type::pong, false), 26u);
  EXPECT_EQ(size(Type::pong, true), 50u);
  EXPECT_EQ(size(Type::challenge, false), 50u);
  EXPECT_EQ(size(Type::connect, false), 112u);
  EXPECT_EQ(size(Type::connect, true), 128u);
  EXPECT_EQ(size(Type::accept, false), 80u);
  EXPECT_EQ(size(Type::accept, true), 96u);
  EXPECT_EQ(size(Type::reject, false), 20u);
  EXPECT_EQ(size(Type::close, false), 18u);
  EXPECT_EQ(size(Type::close, true), 42u);
  EXPECT_EQ(size(Type::close_ack, true), 42u);
  EXPECT_EQ(size(Type::reset, false), 20u);
  EXPECT_EQ(size(Type::reset, true), 36u);
  // [D95] By the hosts' own keys.
  EXPECT_EQ(testing::encode(plain_packet(Type::connect, true, true)).size(), 256u);
  EXPECT_EQ(testing::encode(plain_packet(Type::accept, true, true)).size(), 176u);

  Buffer out(200);
  EXPECT_EQ(encode(out, Envelope{1}, Ping{}), 20u);
  EXPECT_EQ(encode(out, Envelope{1, true, 5}, Ping{}) + kTagBytes, 44u);
  EXPECT_EQ(data_front_bytes(false, DataKind::send), 36u);
  EXPECT_EQ(data_front_bytes(true, DataKind::send) + kTagBytes, 60u);
  EXPECT_EQ(data_overhead_bytes(false), 44u);
  EXPECT_EQ(data_overhead_bytes(true), 68u);
}

// No amplification: what is sent before a source address is proved is smaller than what asked for it.
TEST(Wire, Encode_NoStatelessAnswerIsLargerThanItsQuestion) {
  const std::size_t challenge = testing::encode(plain_packet(Type::challenge, false)).size();
  const std::size_t reject = testing::encode(plain_packet(Type::reject, false)).size();
  const std::size_t connect = testing::encode(plain_packet(Type::connect, false)).size();
  EXPECT_LT(challenge, kHelloMinBytes);
  EXPECT_LT(reject, kHelloMinBytes);
  EXPECT_LT(challenge, connect);
  EXPECT_LT(reject, connect);
  // [D95] An accept may answer a hello: four copies of it, and one to a connect.
  const std::size_t accept = testing::encode(plain_packet(Type::accept, true, true)).size();
  EXPECT_LT(4 * accept, kHelloMinBytes);
  EXPECT_LT(accept, testing::encode(plain_packet(Type::connect, true, true)).size());
  // The smallest sealed packets are probes and closes.
  EXPECT_LT(testing::encode(plain_packet(Type::reset, true)).size(),
            testing::encode(plain_packet(Type::probe, true)).size());
}

// The front of a data packet, with the payload put behind it, is the whole packet.
TEST(Wire, EncodeDataFront_PlusPayloadIsThePacket) {
  for (const bool keyed : {false, true}) {
    for (const DataKind kind : {DataKind::send, DataKind::write}) {
      Data data;
      data.kind = kind;
      data.packet.payload = 100;
      data.packet.message_length = 100;
      data.payload = ConstBytes(payload_bytes()).first(100);
      const Envelope envelope{77, keyed, 5};
      Buffer whole(500);
      whole.resize(encode(whole, envelope, data));
      Buffer front(data_front_bytes(keyed, kind));
      ASSERT_EQ(encode_data_front(front, envelope, data), front.size());
      front.insert(front.end(), data.payload.begin(), data.payload.end());
      EXPECT_EQ(front, whole);
    }
  }
}

// Any bit flipped: the packet is refused, or it is another valid packet to the last bit.
TEST(Wire, Decode_EveryBitMeansSomethingOrIsRefused) {
  for (const Type type : testing::kAllTypes) {
    for (const bool keyed : {false, true}) {
      const Packet packet = plain_packet(type, keyed);
      Buffer datagram = testing::encode(packet);
      const std::size_t end = datagram.size() - (packet.header.sealed() ? kTagBytes : 0);
      for (std::size_t bit = 0; bit < end * 8; ++bit) {
        datagram[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
        const auto decoded = testing::decode(datagram);
        if (decoded) {
          ASSERT_EQ(testing::encode(decoded.value()), datagram) << name(type) << " bit " << bit;
        }
        datagram[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
      }
    }
  }
}

/// The reserved bits of a packet as docs/protocol.md has them, as masks by byte.
std::vector<std::uint8_t> reserved_bits(const Packet& packet, std::size_t size) {
  const Type type = packet.header.type;
  std::vector<std::uint8_t> mask(size);
  mask[0] = 0xf0;  // the version: no other is spoken here
  switch (type) {
    case Type::data:
      mask[1] = 0x78;
      break;
    case Type::sack:
      mask[1] = 0x7c;
      break;
    case Type::pong:
      mask[1] = 0x7e;
      break;
    case Type::challenge:
    case Type::reject:
    case Type::reset:
      mask[1] = 0xff;
      break;
    default:
      mask[1] = 0x7f;
      break;
  }
  mask[2] = 0xff;
  if (type > Type::hello && type != Type::connect) mask[3] = 0xff;
  if (type == Type::hello || type == Type::connect || type == Type::reset)
    std::fill_n(mask.begin() + 4, 4, std::uint8_t{0xff});
  if (packet.header.sealed()) std::fill_n(mask.begin() + 8, 3, std::uint8_t{0xff});
  const std::size_t body = packet.header.bytes();
  if (type == Type::hello || type == Type::connect || type == Type::accept) {
    mask[body + 66] = packet.header.keyed ? 0xfc : 0xff;
  }
  if (type == Type::hello) {
    const std::ptrdiff_t padding = packet.header.host_keys() ? 96 + 128
                                   : packet.header.keyed     ? 96
                                                             : 80;
    std::fill(mask.begin() + padding, mask.end(), std::uint8_t{0xff});
  }
  if (type == Type::ping) {
    const std::size_t padding = std::get<Ping>(packet.body).padding;
    std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(body) + 12, padding, std::uint8_t{0xff});
  }
  if (type == Type::reject) mask[body + 11] = 0xff;
  if (type == Type::sack && !std::get<SackBody>(packet.body).sack.for_probe)
    mask[body + 34] = mask[body + 35] = 0xff;
  if (type == Type::reset && packet.header.keyed)
    std::fill_n(mask.begin() + 12, 3, std::uint8_t{0xff});
  return mask;
}

TEST(Wire, Decode_EachReservedBitIsRefused) {
  RandomPackets random(11, ConstBytes(payload_bytes()).first(20));
  for (const Type type : testing::kAllTypes) {
    for (int i = 0; i < 8; ++i) {
      const Packet packet = random.make(type);
      Buffer datagram = testing::encode(packet);
      ASSERT_EQ(verdict(datagram), "ok");
      const auto mask = reserved_bits(packet, datagram.size());
      for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
        const auto value = static_cast<std::uint8_t>(1u << (bit % 8));
        if ((mask[bit / 8] & value) == 0) continue;
        datagram[bit / 8] ^= value;
        ASSERT_NE(verdict(datagram), "ok")
            << name(type) << ", bit " << bit % 8 << " of byte " << bit / 8;
        datagram[bit / 8] ^= value;
      }
    }
  }
}

// A packet of a fixed size cut anywhere is too short; so is any other, cut within its fields.
TEST(Wire, Decode_TruncationIsRefusedAtEachLength) {
  for (const Type type : testing::kAllTypes) {
    for (const bool keyed : {false, true}) {
      const Packet packet = plain_packet(type, keyed);
      const Buffer datagram = testing::encode(packet);
      std::size_t whole = datagram.size();
      if (type == Type::hello) whole = kHelloMinBytes;
      if (const auto* ping = std::get_if<Ping>(&packet.body)) whole -= ping->padding;
      if (const auto* data = std::get_if<Data>(&packet.body)) whole -= data->packet.payload;
      for (std::size_t length = 0; length < whole; ++length) {
        ASSERT_EQ(verdict(ConstBytes(datagram).first(length)), "too_short")
            << name(type) << " of " << datagram.size() << " bytes cut to " << length;
      }
    }
  }
}

TEST(Wire, Decode_TrailingBytesAreRefused) {
  for (const Type type : testing::kAllTypes) {
    if (type == Type::data || type == Type::ping || type == Type::hello) continue;  // open-ended
    for (const bool keyed : {false, true}) {
      Buffer datagram = testing::encode(plain_packet(type, keyed));
      for (int i = 0; i < 40; ++i) {
        datagram.push_back(0);
        ASSERT_EQ(verdict(datagram), "too_long") << name(type);
      }
    }
  }
}

// The body decoders check the length again: what the cipher returns is not what was announced.
TEST(Wire, DecodeBody_LengthIsCheckedWithoutTheHeadersHelp) {
  for (const Type type : testing::kAllTypes) {
    const Packet packet = plain_packet(type, true);
    EXPECT_EQ(decode_body(packet.header, {}).error(), DecodeFault::too_short) << name(type);
  }
  Header data;
  data.connection_id = 1;
  const Buffer huge(70'000);
  EXPECT_EQ(decode_data(data, huge).error(), DecodeFault::too_long);
  data.type = Type::ping;
  EXPECT_EQ(decode_ping(data, huge).error(), DecodeFault::too_long);
  data.type = Type::hello;
  data.connection_id = 0;
  Buffer hello = testing::encode(plain_packet(Type::hello, false));
  hello.resize(70'000);
  EXPECT_EQ(decode_hello(data, ConstBytes(hello).subspan(kHeaderBytes)).error(),
            DecodeFault::too_long);
}

// The largest payloads that UDP can carry pass; the header has no smaller limit of its own.
TEST(Wire, RoundTrip_LargestDatagrams) {
  const Buffer bytes(kMaxDatagramBytes);
  for (const bool keyed : {false, true}) {
    Data data;
    data.kind = DataKind::write;
    data.packet.payload =
        static_cast<std::uint16_t>(kMaxDatagramBytes - data_overhead_bytes(keyed));
    data.packet.message_length = 0xffff'ffff;
    data.payload = ConstBytes(bytes).first(data.packet.payload);
    const Packet packet{{Type::data, keyed, 0, 0, 9, 0}, data};
    const Buffer datagram = testing::encode(packet);
    EXPECT_EQ(datagram.size(), kMaxDatagramBytes);
    EXPECT_EQ(verdict(datagram), "ok");
  }
}

// What a SACK says of a probe means nothing when no probe triggered it, and is left out.
TEST(Wire, EncodeSack_ProbeIdOnlyForProbes) {
  SackBody body;
  body.sack.probe_id = 5;
  Buffer out(48);
  ASSERT_EQ(encode(out, Envelope{1}, body), 48u);
  EXPECT_EQ(verdict(out), "ok");
}

TEST(Wire, Terms_BytesAreTheSameFromStructAndDatagram) {
  for (const Type type : {Type::hello, Type::connect, Type::accept}) {
    const Packet packet = plain_packet(type, true);
    const Buffer datagram = testing::encode(packet);
    Terms terms;
    if (const auto* hello = std::get_if<Hello>(&packet.body)) terms = hello->terms;
    if (const auto* connect = std::get_if<Connect>(&packet.body)) terms = connect->terms;
    if (const auto* accept = std::get_if<Accept>(&packet.body)) terms = accept->terms;
    const auto alone = encode_terms(terms);
    EXPECT_TRUE(std::ranges::equal(alone, terms_bytes(datagram))) << name(type);
  }
}

TEST(Wire, NonceEcho_IsItsFirstEightBytes) {
  Nonce nonce{};
  for (std::uint8_t i = 0; i < 32; ++i) nonce[i] = i;
  EXPECT_EQ(nonce_echo(nonce), 0x0001020304050607u);
}

// A hello of another version, earlier or later, can be answered; nothing else of it is looked at.
TEST(Wire, ForeignHello_GivesWhatARejectNeeds) {
  const Packet packet = plain_packet(Type::hello, false);
  const Terms& terms = std::get<Hello>(packet.body).terms;
  Buffer datagram = testing::encode(packet);
  EXPECT_FALSE(foreign_hello(datagram)) << "of our own version";
  datagram[0] = 0x16;
  datagram[1] = 0x55;
  std::fill(datagram.begin() + 100, datagram.end(), std::uint8_t{0xff});
  const auto foreign = foreign_hello(datagram);
  ASSERT_TRUE(foreign);
  EXPECT_EQ(foreign->version, 1);
  EXPECT_EQ(foreign->connection_id, terms.connection_id);
  EXPECT_EQ(foreign->echo, nonce_echo(terms.nonce));
  EXPECT_EQ(foreign->reply_port, 0) << "version 1 had none";
  datagram[0] = 0x36;
  EXPECT_EQ(foreign_hello(datagram)->reply_port, terms.reply_port);

  EXPECT_FALSE(foreign_hello(ConstBytes(datagram).first(1199))) << "the answer might be larger";
  datagram[0] = 0x06;
  EXPECT_FALSE(foreign_hello(datagram)) << "there is no version 0";
  datagram[0] = 0x38;
  EXPECT_FALSE(foreign_hello(datagram)) << "not a hello";
  datagram[0] = 0x36;
  std::fill_n(datagram.begin() + 8, 4, std::uint8_t{0});
  EXPECT_FALSE(foreign_hello(datagram)) << "nobody to answer";
}

// The answer to it carries its version, so that its sender can read it.
TEST(Wire, EncodeReject_InAnotherVersion) {
  Reject reject;
  reject.reason = RejectReason::version;
  reject.header_version = 3;
  Buffer out(20);
  ASSERT_EQ(encode(out, Envelope{1}, reject), 20u);
  EXPECT_EQ(out[0], 0x3a);
  EXPECT_EQ(verdict(out), "unknown_version");
  out[0] = 0x2a;
  EXPECT_EQ(verdict(out), "ok");
}

TEST(Wire, Names_AreDistinct) {
  std::set<std::string_view> faults;
  std::set<std::string_view> texts;
  for (std::size_t i = 0; i < kDecodeFaults; ++i) {
    faults.insert(name(static_cast<DecodeFault>(i)));
    texts.insert(text(static_cast<DecodeFault>(i)));
  }
  EXPECT_EQ(faults.size(), kDecodeFaults);
  EXPECT_EQ(texts.size(), kDecodeFaults);
  std::set<std::string_view> types;
  for (const Type type : testing::kAllTypes) types.insert(name(type));
  EXPECT_EQ(types.size(), std::size(testing::kAllTypes));
  EXPECT_EQ(name(static_cast<Type>(15)), "unknown");
  EXPECT_EQ(name(static_cast<CloseReason>(6)), "unknown");
  EXPECT_EQ(name(static_cast<RejectReason>(11)), "unknown");
}

// To encode what nobody would decode is our own mistake. A nonce used beyond its limit above all.
TEST(WireDeathTest, Encode_RefusesWhatNoDecoderTakes) {
  Buffer out(2000);
  EXPECT_DEATH(encode(out, Envelope{1, true, kCounterLimit}, SackBody{}), "kCounterLimit");
  EXPECT_DEATH(encode(out, Envelope{0}, SackBody{}), "connection_id");
  EXPECT_DEATH(encode(out, Envelope{1}, Hello{}), "terms_fault");
  EXPECT_DEATH(encode(MutableBytes(out).first(47), Envelope{1}, SackBody{}), "room");
  EXPECT_DEATH(encode(out, Envelope{1, true}, Challenge{}), "keyed_allowed");
  EXPECT_DEATH(encode(out, Envelope{0, true}, Reset{1, kCounterLimit, {}}), "kCounterLimit");
  EXPECT_DEATH(encode_close(out, Envelope{1}, Close{}), "source_id");
  Data data;
  data.packet.message_length = 10;
  EXPECT_DEATH(encode(out, Envelope{1}, data), "message_length");
}

}  // namespace
}  // namespace strack::wire
