// The sending end of UET packet by packet: what tests of its rules share.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "transports/uet/sender.h"

namespace strack::core {

inline constexpr Instant kStart = at(us(1'000));
inline constexpr std::uint32_t kMtu = 4'000;

/// 100 Gb/s, 12 us: a window of 225 KB, 56 packets.
struct UetSenderTest : testing::Test {
  UetSenderTest() { use(false); }
  void use(bool trimming) {
    params = UetParams::for_link(gbps(100), us(12), bytes(kMtu), trimming, kb(150)).value();
    params.spray.policy = SprayPolicy::bit_reversed;
  }
  void post(std::uint32_t packets) {
    ASSERT_EQ(sender().on_message({1, packets * kMtu}, now), PostResult::accepted);
  }
  UetSender<>& sender() {
    if (!sender_) sender_.emplace(params, slots, records, Psn{0});
    return *sender_;
  }
  /// All that can be sent now.
  std::vector<Packet> send() {
    std::vector<Packet> sent;
    while (const auto packet = sender().poll_transmit(now)) sent.push_back(*packet);
    return sent;
  }
  /// What a receiver says that has all before `epsn`, and `bits` from there on; of a packet sent one base RTT ago.
  [[nodiscard]] UetAck ack(std::uint32_t epsn, std::uint64_t bits = 0) const {
    UetAck a;
    a.sack.epsn = a.sack.sack_base = Psn{epsn};
    a.sack.bitmap = bits;
    a.sack.ooo_count = static_cast<std::uint16_t>(std::popcount(bits));
    a.sack.psn = bits == 0 ? Psn{epsn} - 1u
                           : Psn{epsn} + static_cast<std::uint32_t>(63 - std::countl_zero(bits));
    a.sack.bytes_recvd = (epsn + a.sack.ooo_count) * kMtu;
    a.sack.timestamp = Timestamp::of(now - us(12));
    return a;
  }
  [[nodiscard]] UetAck nack(std::uint32_t psn, std::uint32_t epsn, bool last_hop = false) const {
    UetAck a = ack(epsn);
    a.kind = UetAck::Kind::nack;
    a.sack.psn = Psn{psn};
    a.last_hop = last_hop;
    return a;
  }
  void hear(const UetAck& a) { sender().on_receiving_ack(a, now); }
  static UetAck pull(std::uint32_t packets) {
    UetAck a;
    a.kind = UetAck::Kind::pull;
    a.pulled = packets;
    return a;
  }

  UetParams params;
  std::array<MessageSlot, 4> slots{};
  std::array<UetSent, UetParams::kMostTracked> records{};
  Instant now = kStart;

 private:
  std::optional<UetSender<>> sender_;
};

}  // namespace strack::core
