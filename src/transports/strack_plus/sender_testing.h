// STrack+'s sending end packet by packet, packets of 1000 bytes, 100 ns apart, base RTT 8 us: what tests of its rules share.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "transports/strack_plus/sender.h"

namespace strack::core {

/// BDP 400 packets; a window of 40 unless a test wants another.
inline PlusParams params(std::uint32_t window = 40) {
  PlusParams p = PlusParams::for_link(gbps(400), us(8), bytes(1'000)).value();
  p.max_cwnd = bytes(std::int64_t{window} * 1'000);
  p.first_delay = {0, 1};  // averages begin with none
  return p.validated().value();
}

/// What the last loss was called.
struct Losses {
  std::vector<LossCause>* list = nullptr;
  template <class Event>
  void on(const Event& /*event*/) const {}
  void on(const LossDeclared& event) const { list->push_back(event.cause); }
};

class PlusSenderTest : public ::testing::Test {
 protected:
  void post(std::uint32_t packets) {
    ASSERT_EQ(sender().on_message({next_id_++, packets * 1'000}, now), PostResult::accepted);
  }
  /// Sends all that may go; returns how many packets that were.
  int send() {
    int count = 0;
    while (const auto packet = sender().poll_transmit(now)) {
      sent.push_back(*packet);
      now = now + ns(100);
      ++count;
    }
    return count;
  }
  /// A SACK that all below `epsn` and these have arrived; the last one triggered it.
  PlusAck ack(std::uint32_t epsn, std::initializer_list<std::uint32_t> psns) const {
    PlusAck a;
    a.epsn = a.base = Psn{epsn};
    for (const std::uint32_t psn : psns) {
      for (const Packet& packet : sent) {
        if (packet.type != PacketType::data || packet.psn != Psn{psn}) continue;
        a.timestamp = packet.timestamp;
        a.path_id = packet.path_id;
      }
      a.echoes[a.count++] = {Psn{psn}, a.path_id, false};
    }
    return a;
  }
  PlusAck answer(const Packet& probe, std::uint32_t epsn) const {
    PlusAck a;
    a.epsn = a.base = Psn{epsn};
    a.for_probe = true;
    a.timestamp = probe.timestamp;
    a.path_id = probe.path_id;
    return a;
  }
  void give(const PlusAck& a) { sender().on_receiving_ack(a, now); }
  void wait_until(Picoseconds t) { now = at(t); }
  std::vector<std::uint32_t> lost() {
    std::vector<std::uint32_t> list;
    for (Psn psn = sender().epsn(); psn < sender().psn_next(); ++psn) {
      if (sender().is_lost(psn)) list.push_back(psn.value);
    }
    return list;
  }
  PlusSender<Losses>& sender() {
    if (!sender_) sender_.emplace(p, slots_, Psn{0}, Losses{&causes});
    return *sender_;
  }

  std::array<MessageSlot, 4>& slots() { return slots_; }

  PlusParams p = params();
  Instant now = at(us(0));
  std::vector<Packet> sent;
  std::vector<LossCause> causes;

 private:
  std::array<MessageSlot, 4> slots_{};
  std::optional<PlusSender<Losses>> sender_;
  MessageId next_id_ = 0;
};
using Psns = std::vector<std::uint32_t>;

}  // namespace strack::core
