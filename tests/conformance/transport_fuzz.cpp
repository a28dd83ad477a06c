// Every registered transport between a host that does anything in any order and a network that invents
// what it likes. Nothing may break, however little of it is true; and who is asked to do what is due has then
// a later deadline, so that time goes on.
//
// The first byte says which transport, of the list of all schemes and variants; the rest, what happens.
#include "core/transport.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/fuzz_input.h"
#include "base/units.h"
#include "conformance/any_transport.h"
#include "core/packet.h"
#include "sim/host/ends.h"
#include "sim/net/sim_packet.h"
#include "sim/transport.h"

namespace strack::conformance {
namespace {

constexpr BitsPerSecond kRate = gbps(100);
constexpr Bytes kMtu{4'096};

/// All of them, set up once.
const std::vector<std::shared_ptr<const sim::Transport>>& transports() {
  static const auto kAll = [] {
    std::vector<std::shared_ptr<const sim::Transport>> all;
    for (const Variant& variant : variants())
      all.push_back(transport_on(variant, kRate, us(10), kMtu));
    return all;
  }();
  return kAll;
}

class Fuzz {
 public:
  explicit Fuzz(FuzzInput& input)
      : input_(input),
        ends_(transports()[input.in_range<std::size_t>(0, transports().size() - 1)]->make_ends(
            4, core::Psn{input.in_range<std::uint32_t>(0, ~0u)}, kRate)) {}

  void run() {
    while (!input_.empty()) {
      now_ = now_ + ns(static_cast<std::int64_t>(bits(16)));
      step();
      while (ends_->poll_completion()) {
      }
    }
  }

 private:
  std::uint64_t bits(int count) {
    return input_.in_range<std::uint64_t>(0, ~std::uint64_t{0} >> (64 - count));
  }
  std::uint64_t below(std::uint64_t limit) { return input_.in_range<std::uint64_t>(0, limit - 1); }

  void step() {
    switch (below(6)) {
      case 0:
        ends_->on_message({next_id_++, static_cast<std::uint32_t>(bits(20))}, now_);
        break;
      case 1:
        if (const auto packet = ends_->poll_transmit(now_)) arrives(*packet);
        break;
      case 2:
        ends_->on_receiving_ack(turned(honest_), now_);
        break;
      case 3:
        ends_->on_receiving_ack(invented_ack(), now_);
        break;
      case 4:
        arrives(invented_packet());
        break;
      default:
        time_passes();
        break;
    }
  }

  void arrives(const core::Packet& packet) {
    core::Signals signals;
    const auto drawn = static_cast<unsigned>(bits(8));
    signals.ecn = (drawn & 1) != 0;
    signals.trimmed = (drawn & 0x0e) == 0x0e;
    signals.hops = static_cast<std::uint8_t>(drawn >> 4);
    ends_->on_packet(packet, signals, now_);
    while (const auto ack = ends_->poll_ack(now_)) honest_ = *ack;
  }

  sim::SimPacket turned(sim::SimPacket ack) {
    std::uint64_t* const words[] = {&ack.w1, &ack.w2, &ack.w3};
    for (std::uint64_t flips = below(4); flips > 0; --flips)
      *words[below(3)] ^= std::uint64_t{1} << below(64);
    return ack;
  }
  sim::SimPacket invented_ack() {
    sim::SimPacket ack = sim::SimPacket::ack({}, static_cast<std::uint16_t>(bits(16)));
    ack.w1 = bits(64);
    ack.w2 = bits(64);
    ack.w3 = bits(64);
    return ack;
  }
  core::Packet invented_packet() {
    core::Packet packet;
    packet.type = below(8) == 0 ? core::PacketType::probe : core::PacketType::data;
    packet.retransmission = below(2) == 0;
    packet.payload = static_cast<std::uint16_t>(bits(16));
    packet.path_id = static_cast<core::PathId>(bits(16));
    packet.psn = core::Psn{static_cast<std::uint32_t>(bits(32))};
    packet.message_id = static_cast<std::uint32_t>(bits(32));
    packet.offset = static_cast<std::uint32_t>(bits(32));
    packet.message_length = static_cast<std::uint32_t>(bits(32));
    packet.timestamp = {static_cast<std::uint32_t>(bits(32))};
    packet.probe_id = static_cast<std::uint16_t>(bits(16));
    return packet;
  }

  /// Both ends at their deadlines: each of what is due may need a call of its own, but time goes on. What a
  /// sender then sends is lost.
  void time_passes() {
    const Instant due = deadline();
    if (due != Instant::never() && due > now_ && due - now_ < seconds(10)) now_ = due;
    int calls = 0;
    do {
      STRACK_CHECK(++calls <= kMostCalls);
      ends_->on_sender_timeout(now_);
      ends_->on_receiver_timeout(now_);
      while (const auto ack = ends_->poll_ack(now_)) honest_ = *ack;
      for (int packets = 0; ends_->poll_transmit(now_);) STRACK_CHECK(++packets < kMostAtOnce);
    } while (deadline() <= now_);
  }
  [[nodiscard]] Instant deadline() const {
    return std::min(ends_->sender_deadline(), ends_->receiver_deadline());
  }

  static constexpr int kMostCalls = 4;
  /// A sender has four messages of up to a mebibyte, and may send all of them again.
  static constexpr int kMostAtOnce = 1 << 16;

  FuzzInput& input_;
  std::unique_ptr<sim::Ends> ends_;
  Instant now_ = Instant{} + us(1);
  core::MessageId next_id_ = 1;
  sim::SimPacket honest_;  ///< the last acknowledgement that the receiver gave
};

}  // namespace
}  // namespace strack::conformance

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strack::FuzzInput input(data, size);
  if (!input.empty()) strack::conformance::Fuzz(input).run();
  return 0;
}
