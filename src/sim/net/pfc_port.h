// A lossless switch's egress: a Port that its peer can pause, and that sends pause frames itself.
//
// Data never finds the queue full here; the switch's SharedBuffer decides what gets in. Three things
// wait for the wire: a pause frame, control, data, in this order; only data is held by a pause. The
// port's own link brings pause frames from the peer: they are not routed but come here.
//
// At one instant: arrivals, pause frames among them, then the departure, then the expiry of a pause.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "base/units.h"
#include "sim/net/link_pause.h"
#include "sim/net/port.h"
#include "sim/net/shared_buffer.h"

namespace strack::sim {

/// A packet that reaches a port of a lossless switch, and the one it came in by.
struct PfcArrival {
  Instant time;
  const SimPacket* packet;
  std::uint32_t ingress;
  std::uint32_t egress;
};

/// [R.pfc.account] The ports by which packets that wait at a port came in: on the packets, ...
class IngressOnPacket {
 protected:
  template <class Archive>
  void state(Archive& /*a*/) {}
  static void note(SimPacket& packet, std::uint32_t port) { packet.set_ingress(port); }
  void note_queued(std::uint32_t /*port*/) {}
  void note_served(std::uint32_t /*port*/) {}
  void serve_first() {}
  [[nodiscard]] static std::uint32_t of_served(const SimPacket& packet) { return packet.ingress(); }
  [[nodiscard]] static std::uint32_t of_waiting(const PacketRing& queue, std::uint32_t i) {
    return queue[i].ingress();
  }
};

/// ... or beside them, where their bits are for what is measured.
class IngressBeside {
 protected:
  template <class Archive>
  void state(Archive& a) {
    a(queued_, served_);
  }
  static void note(SimPacket& /*packet*/, std::uint32_t /*port*/) {}
  void note_queued(std::uint32_t port) { queued_.push(static_cast<std::uint16_t>(port)); }
  void note_served(std::uint32_t port) { served_ = port; }
  void serve_first() {
    served_ = queued_.front();
    queued_.pop();
  }
  [[nodiscard]] std::uint32_t of_served(const SimPacket& /*packet*/) const { return served_; }
  [[nodiscard]] std::uint32_t of_waiting(const PacketRing& /*queue*/, std::uint32_t i) const {
    return queued_[i];
  }

 private:
  Ring<std::uint16_t> queued_;
  std::uint32_t served_ = 0;
};

template <class Meter>
using IngressNotes = std::conditional_t<Meter::kMeasures, IngressBeside, IngressOnPacket>;

template <class Meter>
class BasicPfcPort : public PortBase, private IngressNotes<Meter>, private Meter {
  using Ingress = IngressNotes<Meter>;

 public:
  /// Works through one window in which the shared buffer is of no consequence: `arrivals` in order
  /// of time, all before context.end. An account is the SharedBuffer, or takes the same.
  template <class Account>
  void run(std::span<const PfcArrival> arrivals, const PortRules& rules, WindowContext& context,
           Fingerprint& fingerprint, DropCounts& drops, Account& buffer) {
    for (const PfcArrival& arrival : arrivals) {
      advance(arrival.time, rules, context, fingerprint, drops, buffer);
      take(arrival, rules, buffer);
    }
    advance(context.end, rules, context, fingerprint, drops, buffer);
  }

  /// In such a window, packet by packet: all that leaves before `now` does, ...
  template <class Account>
  void advance(Instant now, const PortRules& rules, WindowContext& context,
               Fingerprint& fingerprint, DropCounts& drops, Account& buffer) {
    while (next_event() < now) step(rules, context, fingerprint, drops, buffer);
  }
  /// ... and then a packet arrives.
  template <class Account>
  void take(const PfcArrival& arrival, const PortRules& rules, Account& buffer) {
    const SimPacket& packet = *arrival.packet;
    if (packet.is_control()) {
      accept_control(packet, arrival.time, rules);
    } else {
      const std::int64_t size = rules.wire_size(packet);
      buffer.add(arrival.ingress, size);
      accept_data(packet, size, arrival.ingress, arrival.time);
    }
  }
  /// advance() in steps: what is next, a departure or the end of a pause.
  template <class Account>
  void step(const PortRules& rules, WindowContext& context, Fingerprint& fingerprint,
            DropCounts& drops, Account& buffer) {
    const Instant now = next_event();
    if (in_service()) finish(rules, context, fingerprint, drops, buffer);
    start_next(now, rules);
  }

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    PortBase::state(a);
    Ingress::state(a);
    Meter::state(a);
    a(wake_, held_left_, unsent_, pause_, pauses_sent_, data_departures_);
    static_assert(sizeof(BasicPfcPort<NoMeter>) == sizeof(PortBase) + 104, "list what is new");
  }

  // What the switch calls where order between ports counts.

  /// A data packet that the buffer has taken.
  void accept_data(const SimPacket& packet, std::int64_t size, std::uint32_t ingress, Instant now) {
    end_lapsed_pause(now);
    interval_.arrived += size;
    SimPacket own = packet;
    if (own.held()) [[unlikely]] {
      if (queued_bytes_ == 0) own.set_victim();  // [R.pfc.victim] [D37]
      own.set_held(false);
    }
    Ingress::note(own, ingress);  // [R.pfc.account]
    if (done_ == Instant::never() && !pause_.active()) {
      serve(own, size, now);
      Ingress::note_served(ingress);
      return;
    }
    queue_data(own, size);
    Ingress::note_queued(ingress);
    if (done_ == Instant::never()) wake_ = pause_.until();
  }

  /// An ACK or the like, to send on; or a pause frame, meant for this port.
  void accept_control(const SimPacket& packet, Instant now, const PortRules& rules) {
    if (packet.is_pause()) {
      accept_pause(packet.pause_time(), now, rules);
    } else if (done_ == Instant::never()) {
      wake_ = Instant::never();
      serve(packet, rules.control_size, now);
    } else {
      control_.push(packet);
    }
  }

  /// [R.pfc.frame] Tells the peer to hold its data so long, or with 0 to go on: at once, or right
  /// after the packet in service. Of two unsent frames the newer takes the older's place.
  void send_pause(Picoseconds time, Instant now, const PortRules& rules) {
    unsent_ = time;
    if (done_ == Instant::never()) {
      wake_ = Instant::never();
      serve_pause(rules, now);
    }
  }

  /// The packet in service leaves, and its bytes the buffer; true if there were any, that is, if it
  /// was data. start_next() must follow.
  template <class Account>
  bool finish(const PortRules& rules, WindowContext& context, Fingerprint& fingerprint,
              DropCounts& drops, Account& buffer) {
    put_on_wire(rules, context, fingerprint, drops, static_cast<Meter&>(*this));
    if (in_service_.is_control()) return false;
    buffer.release(Ingress::of_served(in_service_), in_service_size_);  // [R.pfc.account]
    ++data_departures_;
    return true;
  }

  /// The wire is free.
  void start_next(Instant now, const PortRules& rules) {
    if (pause_.expire(now)) mark_held();
    wake_ = Instant::never();
    if (unsent_) {
      serve_pause(rules, now);  // [R.pfc.frame]
    } else if (!control_.empty()) {
      serve_control(rules, now);
    } else if (!data_.empty() && !pause_.active()) {
      serve_data(rules, now);
      Ingress::serve_first();
      if (held_left_ > 0) [[unlikely]] {
        --held_left_;
        in_service_.set_held(true);
      }
    } else {
      done_ = Instant::never();
      if (!data_.empty()) wake_ = pause_.until();  // [R.pfc.expiry]
    }
  }

  /// A packet was on its way here but the buffer did not take it.
  void count_drop(std::int64_t size) {
    interval_.arrived += size;
    ++interval_.drops;
  }

  /// When the packet in service has left, or a pause that holds data back is over.
  [[nodiscard]] Instant next_event() const { return std::min(done_, wake_); }
  [[nodiscard]] bool in_service() const { return done_ != Instant::never(); }

  /// Since the last time it was asked; now, all before which has been run.
  Tally take_interval(Instant now) {
    Tally tally = take_tally();
    const LinkPause::Interval pause = pause_.take_interval(now);
    tally.paused = pause.paused;
    tally.pause_frames = pause.frames;
    return tally;
  }

  /// The pause that the peer has imposed, with its totals.
  [[nodiscard]] const LinkPause& pause() const { return pause_; }
  /// Frames this port has put into service.
  [[nodiscard]] std::uint64_t pauses_sent() const { return pauses_sent_; }
  [[nodiscard]] std::uint64_t pauses_received() const { return pause_.frames(); }
  /// Data packets that have left by this port.
  [[nodiscard]] std::uint64_t data_departures() const { return data_departures_; }

  /// Data that waits here, and the port by which the i-th has come in. For the search for pause
  /// loops.
  [[nodiscard]] std::uint32_t waiting() const { return data_.size(); }
  [[nodiscard]] std::uint32_t waiting_from(std::uint32_t i) const {
    return Ingress::of_waiting(data_, i);
  }

 private:
  /// [R.pfc.hold] The packet in service is not touched: data simply does not start.
  void accept_pause(Picoseconds time, Instant now, const PortRules& rules) {
    end_lapsed_pause(now);
    const bool let_go = pause_.on_frame(time, now);
    if (let_go) mark_held();
    if (done_ != Instant::never() || data_.empty()) return;
    if (let_go) {
      start_next(now, rules);
    } else {
      wake_ = pause_.until();
    }
  }

  /// A pause that ended while the port had other things to do, or none.
  void end_lapsed_pause(Instant now) {
    if (pause_.active() && pause_.until() < now) [[unlikely]] {
      pause_.expire(now);
      mark_held();
    }
  }

  /// [R.pfc.victim] A pause ends: what waits now was held by it.
  void mark_held() { held_left_ = data_.size(); }

  void serve_pause(const PortRules& rules, Instant now) {
    serve(SimPacket::pause(*unsent_), rules.pause_size, now);
    unsent_.reset();
    ++pauses_sent_;
  }

  Instant wake_ = Instant::never();  ///< nothing in service, and a pause holds data until then
  std::uint32_t held_left_ = 0;      ///< so many from the front of data_ have been held
  std::optional<Picoseconds> unsent_;
  LinkPause pause_;
  std::uint64_t pauses_sent_ = 0;
  std::uint64_t data_departures_ = 0;
  static_assert(kMaxPorts <= SimPacket::kMaxIngress);
};

using PfcPort = BasicPfcPort<NoMeter>;

}  // namespace strack::sim
