// Four flows for one connection, each with a path, a Swift window and protective load balancing of its own; losses
// by time within a flow (RACK). Falcon is built on Swift, so its window is Swift's as it stands.
#pragma once

#include <array>
#include <cstdint>

#include "base/bitmap.h"
#include "base/units.h"
#include "core/packet.h"
#include "core/paths/draws.h"
#include "core/window/control.h"
#include "core/window/params.h"
#include "transports/falcon_like/params.h"
#include "transports/swift/control.h"

namespace strack::core {

class FalconControl {
 public:
  static constexpr std::uint32_t kFlows = FalconParams::kFlows;

  constexpr explicit FalconControl(const FalconParams& params)
      : flows_{Flow(params), Flow(params), Flow(params), Flow(params)} {
    for (std::uint32_t f = 0; f < kFlows; ++f) flows_[f].path = draw(params, f);
  }

  // ---- What the sender asks ----

  /// [FALCON.window] All flows' windows together.
  [[nodiscard]] constexpr Bytes cwnd() const {
    Bytes sum{0};
    for (const Flow& flow : flows_) sum += flow.window.cwnd();
    return sum;
  }
  /// [FALCON.pace] Less than a packet per RTT, of all flows together.
  [[nodiscard]] constexpr Picoseconds pacing(const FalconParams& params, Bytes /*payload*/) const {
    const Bytes all = cwnd();
    return all >= params.mtu ? ps(0) : ps(mul_div(rtt_.value, params.mtu.value, all.value));
  }
  /// [FALCON.flows] The flow whose window has most room is next; of equals, the first after the last.
  constexpr PathId next_path(const FalconParams& /*params*/) {
    std::uint32_t best = (last_ + 1) % kFlows;
    for (std::uint32_t i = 2; i <= kFlows; ++i) {
      const std::uint32_t f = (last_ + i) % kFlows;
      if (flows_[f].room() > flows_[best].room()) best = f;
    }
    last_ = best;
    return flows_[best].path;
  }
  /// [FALCON.rack] Lost, when one that left so much later on the same flow has arrived.
  [[nodiscard]] constexpr PacketFate fate_of(const FalconParams& params, Psn psn) const {
    const Timestamp sent = sent_at_[psn.value % kWindowTracking];
    const Flow& flow = flows_[flow_of(psn)];
    if (flow.heard && flow.newest.since(sent) > params.rack_window) return PacketFate::lost;
    const bool recent = newest_.since(sent) <= params.rack_window;
    return recent && !again_.test(psn.value) ? PacketFate::recent : PacketFate::open;
  }

  // ---- What it is told ----

  constexpr void on_sent(Psn psn, Bytes payload, PathId path, bool again, Instant now) {
    const std::uint32_t f = path % kFlows;
    flows_[f].inflight += payload;
    sent_at_[psn.value % kWindowTracking] = Timestamp::of(now);
    put(low_, psn, (f & 1) != 0);
    put(high_, psn, (f & 2) != 0);
    put(again_, psn, again);
  }
  constexpr void on_left(Psn psn, Bytes payload, bool lost) {
    Flow& flow = flows_[flow_of(psn)];
    flow.inflight -= payload;
    flow.lost |= lost;
  }

  constexpr void on_ack(const FalconParams& params, const AckNews& ack, Instant now) {
    if (ack.rtt <= ps(0)) return;
    rtt_ = ack.rtt;
    const std::uint32_t f = ack.path_id % kFlows;
    Flow& flow = flows_[f];
    const Timestamp sent{Timestamp::of(now).ns - static_cast<std::uint32_t>(ack.rtt.value / 1'000)};
    if (!flow.heard || sent.since(flow.newest) > ps(0)) flow.newest = sent;
    if (!heard_ || sent.since(newest_) > ps(0)) newest_ = sent;
    flow.heard = heard_ = true;
    if (ack.path_id == flow.path) balance(params, f, ack);
    flow.window.on_ack(params, ack, now);  // [FALCON.window.flow]
  }

  /// [FALCON.loss] Of the flows that lost something. [FALCON.timeout] A timeout also moves them.
  constexpr void on_loss(const FalconParams& params, const LossNews& loss, Instant now) {
    for (std::uint32_t f = 0; f < kFlows; ++f) {
      if (!flows_[f].lost) continue;
      flows_[f].lost = false;
      flows_[f].window.on_loss(params, loss, now);
      if (loss.sign == LossSign::timeout) move(params, f);
    }
  }

  [[nodiscard]] constexpr Bytes flow_cwnd(std::uint32_t f) const { return flows_[f].window.cwnd(); }
  [[nodiscard]] constexpr Bytes flow_inflight(std::uint32_t f) const { return flows_[f].inflight; }
  [[nodiscard]] constexpr PathId flow_path(std::uint32_t f) const { return flows_[f].path; }

 private:
  struct Flow {
    constexpr explicit Flow(const FalconParams& params) : window(params) {}
    [[nodiscard]] constexpr Bytes room() const { return window.cwnd() - inflight; }

    SwiftControl window;
    Bytes inflight{0};
    Bytes seen{0};     ///< acknowledged in this round
    Bytes late{0};     ///< and later than the target
    Timestamp newest;  ///< when the latest packet left that is known to have arrived
    std::uint32_t congested = 0;
    PathId path = 0;
    bool heard = false;
    bool lost = false;
  };

  /// [FALCON.plb.late] [FALCON.plb.round] [FALCON.plb.move]
  constexpr void balance(const FalconParams& params, std::uint32_t f, const AckNews& ack) {
    Flow& flow = flows_[f];
    flow.seen += ack.acked;
    if (ack.rtt > params.plb_delay * flow.window.target_delay(params, ack.hops))
      flow.late += ack.acked;
    if (flow.seen < flow.window.cwnd()) return;
    const bool congested =
        flow.late.value * params.plb_late.den >= flow.seen.value * params.plb_late.num;
    flow.congested = congested ? flow.congested + 1 : 0;
    flow.seen = flow.late = bytes(0);
    if (flow.congested >= params.plb_rounds) move(params, f);
  }

  constexpr void move(const FalconParams& params, std::uint32_t f) {
    Flow& flow = flows_[f];
    const PathId before = flow.path;
    for (int tries = 0; tries < 4 && flow.path == before; ++tries) flow.path = draw(params, f);
    flow.congested = 0;
    flow.seen = flow.late = bytes(0);
  }
  /// [FALCON.flows] Two bits of an entropy say which flow it is of.
  constexpr PathId draw(const FalconParams& params, std::uint32_t f) {
    return static_cast<PathId>(draws_.below(params.spray.paths / kFlows) * kFlows + f);
  }

  [[nodiscard]] constexpr std::uint32_t flow_of(Psn psn) const {
    return (low_.test(psn.value) ? 1u : 0u) + (high_.test(psn.value) ? 2u : 0u);
  }
  static constexpr void put(Bitmap<kWindowTracking>& bits, Psn psn, bool value) {
    if (value) {
      bits.set(psn.value);
    } else {
      bits.clear(psn.value);
    }
  }

  std::array<Flow, kFlows> flows_;
  std::array<Timestamp, kWindowTracking> sent_at_{};
  Bitmap<kWindowTracking> low_{};  ///< which flow a packet is of: its two bits
  Bitmap<kWindowTracking> high_{};
  Bitmap<kWindowTracking> again_{};  ///< sent again
  Draws draws_{0};
  Picoseconds rtt_{us(1)};
  Timestamp newest_;  ///< of all flows
  std::uint32_t last_ = kFlows - 1;
  bool heard_ = false;
};

static_assert(PacketControl<FalconControl, FalconParams>);

}  // namespace strack::core
