#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"
#include "target.h"
#include "transports/strack_plus/udp_ack.h"
#include "wire/testing.h"
#include "wire/wire.h"
#include "wire_rules.h"

namespace strack::decoders {
namespace {

using wire::Type;

bool same(Bytes a, Bytes b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void check_foreign(Bytes datagram) {
  const auto foreign = wire::foreign_hello(datagram);
  STRACK_CHECK(foreign.has_value() == is_foreign_hello(datagram));
  if (!foreign) return;
  STRACK_CHECK(foreign->version == datagram[0] >> 4);
  STRACK_CHECK(foreign->connection_id == number_at<4>(datagram, 8));
  STRACK_CHECK(foreign->echo == number_at<8>(datagram, 12));
  STRACK_CHECK(foreign->reply_port == (foreign->version == 1 ? 0 : number_at<2>(datagram, 76)));
}

/// [D148] [D154] Whatever the payload, not only that of a write to region 0.
void check_request(Bytes payload) {
  const auto request = wire::decode_request(payload);
  STRACK_CHECK(request.ok() == request_is_right(payload));
  if (request) STRACK_CHECK(same(wire::encode_request(request.value()), payload));
  const auto atomic = wire::decode_atomic(payload);
  STRACK_CHECK(atomic.ok() == atomic_is_right(payload));
  if (!atomic) return;
  STRACK_CHECK(same(wire::encode_atomic(atomic.value()), payload.first(wire::kRequestBytes)));
  STRACK_CHECK(same(atomic.value().operands, payload.subspan(wire::kRequestBytes)));
}

/// [D98] As STrack+ reads it, and writes it again.
void check_plus(const wire::Header& header, const wire::SackBody& body, Bytes datagram) {
  const auto encode = [&](const core::PlusAck& ack) {
    wire::SackBody again{udp::to_wire(ack, body.sack.psn), body.credit};
    again.sack.hold_time_ns = body.sack.hold_time_ns;
    std::array<std::uint8_t, 64> bytes{};
    wire::testing::encode_to(bytes, {header, again});
    return bytes;
  };
  const core::PlusAck ack = udp::from_wire(body.sack);
  STRACK_CHECK(ack.count <= core::PlusParams::kEchoes);
  for (std::size_t i = 0; i < ack.count; ++i) STRACK_CHECK(ack.echoes[i].path_id < 256);
  const auto bytes = encode(ack);
  const Bytes plain = datagram.first(header.bytes() + 40);
  const Bytes front = Bytes(bytes).first(plain.size());
  if (plus_sack_is_canonical(datagram)) STRACK_CHECK(same(front, plain));
  const auto again = wire::decode_sack(header, front.subspan(header.bytes()));
  STRACK_CHECK(again.ok());
  STRACK_CHECK(same(encode(udp::from_wire(again.value().sack)), bytes));
}

class Wire final : public Target {
 public:
  [[nodiscard]] std::string_view name() const override { return "wire"; }

  std::size_t make(Rng& rng, Room room) override {
    std::array<std::uint8_t, 1'400> payload;
    const std::size_t longest = rng.below(16) == 0 ? payload.size() : 40;
    for (auto& byte : payload) byte = static_cast<std::uint8_t>(rng.next());
    wire::testing::RandomPackets random(rng.next(), Bytes(payload).first(longest));
    const Type type = wire::testing::kAllTypes[rng.below(std::size(wire::testing::kAllTypes))];
    wire::testing::Packet packet = random.make(type);
    if (type == Type::data && rng.below(4) == 0) ask(rng, packet, payload);
    std::size_t size = wire::testing::encode_to(room, packet);
    for (std::size_t i = packet.header.sealed() ? wire::kTagBytes : 0; i > 0; --i)
      room[size++] = 0xee;
    const auto decoded = wire::testing::decode(room.first(size));
    STRACK_CHECK(decoded.ok());
    STRACK_CHECK(wire::testing::describe(decoded.value()) == wire::testing::describe(packet));
    return size;
  }

  bool check(Bytes datagram, Room room) override {
    check_foreign(datagram);
    const bool right = packet_is_right(datagram);
    const auto header = wire::decode_header(datagram);
    STRACK_CHECK(header.ok() == header_is_right(datagram));
    if (!header) return refused(header.error(), right);
    const Bytes open = wire::testing::opened(header.value(), datagram);
    const auto body = wire::decode_body(header.value(), open);
    if (!body) return refused(body.error(), right);
    STRACK_CHECK(right);
    STRACK_CHECK(header.value().sealed() == is_sealed(datagram));

    // A tag is not the decoder's to keep.
    const Bytes plain = datagram.first(header.value().bytes() + open.size());
    const Room out = room.last(plain.size());
    STRACK_CHECK_OP(wire::testing::encode_to(out, {header.value(), body.value()}), ==,
                    plain.size());
    STRACK_CHECK(same(out, plain));
    if (const auto* data = std::get_if<wire::Data>(&body.value())) {
      STRACK_CHECK(data->payload.data() + data->payload.size() == plain.data() + plain.size());
      check_request(data->payload);
    } else if (const auto* sack = std::get_if<wire::SackBody>(&body.value())) {
      check_plus(header.value(), *sack, datagram);
    }
    ++accepted_[static_cast<std::size_t>(header.value().type)];
    return true;
  }

  [[nodiscard]] std::string reached() const override {
    std::string text = "accepted:";
    for (const Type type : wire::testing::kAllTypes)
      text += fmt::format(" {} {}", wire::name(type), accepted_[static_cast<std::size_t>(type)]);
    text += "; refused:";
    for (std::size_t i = 0; i < wire::kDecodeFaults; ++i)
      text += fmt::format(" {} {}", wire::name(static_cast<wire::DecodeFault>(i)), refused_[i]);
    return text;
  }

 private:
  bool refused(wire::DecodeFault fault, bool right) {
    STRACK_CHECK(!right);
    ++refused_[static_cast<std::size_t>(fault)];
    return false;
  }

  /// Makes a request of values in place, of a right length more often than not; returns its bytes.
  static std::size_t change(Rng& rng, wire::ReadRequest where,
                            std::array<std::uint8_t, 1'400>& payload) {
    const auto op = static_cast<std::uint8_t>(1 + rng.next() % wire::kAtomicOps);
    const auto type = static_cast<std::uint8_t>(1 + rng.next() % wire::kAtomicTypes);
    const std::size_t size = wire::atomic_bytes(type);
    where.length =
        static_cast<std::uint32_t>(size * (1 + rng.next() % (wire::kMostAtomicBytes / size)));
    const auto bytes = wire::encode_atomic({where, op, type, {}});
    std::copy(bytes.begin(), bytes.end(), payload.begin());
    return wire::kRequestBytes + where.length * wire::atomic_operands(op);
  }

  /// Makes the data packet a request.
  static void ask(Rng& rng, wire::testing::Packet& packet,
                  std::array<std::uint8_t, 1'400>& payload) {
    wire::ReadRequest request{rng.next() | 1, rng.next() >> 1, rng.next() | 1,
                              static_cast<std::uint32_t>(rng.next())};
    const auto bytes = wire::encode_request(request);
    std::copy(bytes.begin(), bytes.end(), payload.begin());
    const auto all = static_cast<std::uint16_t>(
        rng.next() % 2 == 0 ? wire::kRequestBytes : change(rng, request, payload));
    auto& data = std::get<wire::Data>(packet.body);
    data.packet.message_length = all;
    data.packet.offset = 0;
    data.packet.payload = all;
    data.piece = false;
    data.kind = wire::DataKind::write;
    data.tag = 0;
    data.region = wire::kRequestRegion;
    data.region_offset = 0;
    data.payload = Bytes(payload).first(all);
  }

  std::array<std::uint64_t, 16> accepted_{};
  std::array<std::uint64_t, wire::kDecodeFaults> refused_{};
};

}  // namespace

std::unique_ptr<Target> wire_target() { return std::make_unique<Wire>(); }

}  // namespace strack::decoders
