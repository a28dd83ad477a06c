// A switch's egress: a FIFO for data and one for control, served at the link's rate, marked as
// packets leave.
//
// Nothing couples the ports of a lossy switch, so each works through a whole window's arrivals on
// its own. Service is never preempted: control goes before queued data, not before the packet on
// the wire. An arrival at the very instant of a departure counts as left behind by it. All exact to
// the picosecond.
//
// [D116] Data of a higher priority has queues of its own, one for each, with limits and marks of their
// own, and goes before the rest; what is said of data here is said of each priority by itself.
//
// What happens to data that finds the queue full is a policy: it is dropped (TailDrop), or cut down
// to a header that has a queue of its own (Trimming). The third way, to let no data come that has no
// room, is PFC's and takes the whole switch: pfc_port.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/check.h"
#include "base/units.h"
#include "sim/config.h"
#include "sim/net/packet_ring.h"
#include "sim/net/sim_packet.h"
#include "sim/net/utilisation.h"
#include "sim/net/wire.h"

namespace strack::sim {

/// A packet that reaches a port, by reference to where it waits.
struct PortArrival {
  Instant time;
  const SimPacket* packet;
};

/// What all ports of a network share.
struct PortRules {
  std::int64_t kmin = 0;
  std::int64_t kmax = 0;
  std::uint64_t mark_slope = 0;  ///< probability per byte above kmin, in 2^-48
  std::int64_t queue_limit = 0;
  std::int64_t data_header = 0;
  std::int64_t control_size = 0;
  bool control_priority = true;
  bool mark_last_hop = true;      ///< [D50]
  std::int64_t trim_size = 0;     ///< [D49] what is left of a trimmed packet
  std::int64_t header_limit = 0;  ///< [D49] of the queue for those
  Picoseconds measured_over{0};   ///< [D51] what a link's utilisation is averaged over
  std::int64_t pause_size = 0;    ///< [R.pfc.frame] on the wire
  std::int64_t pause_bytes = 0;   ///< [R.pfc.expiry] what the link could carry while an XOFF holds

  PortRules(const SwitchParams& s, const HostParams& h, const PfcParams& pfc = {})
      : kmin(s.kmin.value),
        kmax(s.kmax.value),
        mark_slope(kmax > kmin ? static_cast<std::uint64_t>(
                                     static_cast<Int128>(s.pmax.num) * (Int128{1} << 48) /
                                     (static_cast<Int128>(s.pmax.den) * (kmax - kmin)))
                               : 0),
        queue_limit(s.queue_limit.value),
        data_header(h.data_header.value),
        control_size(h.control_size.value),
        control_priority(s.control_priority),
        mark_last_hop(s.ecn_last_hop),
        trim_size(s.trimming.size.value),
        header_limit(s.trimming.queue_limit.value),
        pause_size(pfc.frame.value),
        pause_bytes(std::int64_t{pfc.quanta} * 512 / 8) {}

  /// [D75] As a link has them whose queue is a part of everybody's.
  [[nodiscard]] PortRules scaled(Ratio part) const {
    PortRules rules = *this;
    for (std::int64_t* size : {&rules.kmin, &rules.kmax, &rules.queue_limit, &rules.header_limit}) {
      *size = mul_div(*size, part.num, part.den);
    }
    rules.mark_slope =
        static_cast<std::uint64_t>(static_cast<Int128>(mark_slope) * part.den / part.num);
    return rules;
  }

  [[nodiscard]] std::int64_t wire_size(const SimPacket& p) const {
    if (p.is_whole()) return static_cast<std::int64_t>(p.payload()) + data_header;
    return p.trimmed() ? trim_size : control_size;
  }
};

/// What a port counts itself, for a tally.
struct PortCounts {
  std::int64_t carried = 0;
  std::int64_t arrived = 0;  ///< data, whether there was room for it or not
  std::int64_t queue_max = 0;
  std::uint32_t marks = 0;
  std::uint32_t drops = 0;
};

/// What a port has done since the last time it was asked.
struct PortTally : PortCounts {
  std::uint32_t pause_frames = 0;  ///< that came for this link, XOFF and XON
  Picoseconds paused{0};           ///< [R.pfc.hold] how long it might not send data
};

/// What few ports have, apart from the others, so that those stay small.
struct RarePort {
  static constexpr std::uint32_t kUrgent = SimPacket::kPriorities - 1;

  std::unique_ptr<const PortRules> rules;  ///< [D75] null: everybody's
  /// [D116] Data that goes before the usual: a queue for each priority, from 1 on.
  std::array<PacketRing, kUrgent> packets;
  std::array<std::int64_t, kUrgent> bytes{};
  std::int64_t all_bytes = 0;  ///< of these
};

/// The queues, the packet in service and its way out: what lossy and lossless ports have in common.
class PortBase {
 public:
  using Tally = PortTally;

  Wire wire;

  [[nodiscard]] std::uint32_t packets_held() const {
    return data_.size() + control_.size() + urgent_held() + (done_ == Instant::never() ? 0 : 1);
  }
  [[nodiscard]] std::int64_t deepest_queue() const { return deepest_; }
  /// [D57] Bytes of data that wait, and the packet in service: 0 only where the port is idle.
  [[nodiscard]] std::int64_t load() const {
    return queued_bytes_ + (done_ == Instant::never() ? 0 : in_service_size_);
  }
  [[nodiscard]] std::uint64_t marks() const { return marks_; }
  void seed(std::uint64_t seed) { mark_rng_ = seed | 1; }

  /// Its turn comes soon: what waits is asked for, and where it will go.
  void fetch_ahead(std::uint64_t window) const {
    data_.fetch_ahead(kAhead);
    control_.fetch_ahead(kControlAhead);
    if (wire.lane != nullptr) wire.lane->fetch_room_ahead(window);
  }

  /// [D117] All but the rules.
  template <class Archive>
  void state(Archive& a) {
    a(wire, done_, start_, in_service_size_, queued_bytes_, in_service_, data_, control_, mark_rng_,
      deepest_, marks_, interval_);
    bool urgent = has_urgent();
    a(urgent);
    if (urgent) {
      a.fixed(rare().packets);
      a(rare_->bytes, rare_->all_bytes);
    }
    static_assert(sizeof(PortBase) == 256, "list what is new");
  }

  /// [D75] This port's rules: everybody's, or a part of them.
  [[nodiscard]] const PortRules& rules_here(const PortRules& rules) const {
    return rare_ == nullptr || rare_->rules == nullptr ? rules : *rare_->rules;
  }
  void scale_queue(const PortRules& rules, Ratio part) {
    auto own = std::make_unique<const PortRules>(rules_here(rules).scaled(part));
    rare().rules = std::move(own);
  }

 protected:
  friend class PlainRun;

  [[nodiscard]] Tally take_tally() {
    const Tally tally{interval_, 0, ps(0)};
    interval_ = {};
    interval_.queue_max = queued_bytes_;
    return tally;
  }

  void queue_data(const SimPacket& packet, std::int64_t size) {
    queued_bytes_ += size;
    if (queued_bytes_ > interval_.queue_max) interval_.queue_max = queued_bytes_;
    data_.push(packet);
  }

  /// Bytes that wait with this packet's priority.
  [[nodiscard]] std::int64_t waiting_with(const SimPacket& packet) const {
    if (rare_ == nullptr) [[likely]]
      return packet.is_urgent() ? 0 : queued_bytes_;
    return packet.is_urgent() ? rare_->bytes[packet.priority() - 1]
                              : queued_bytes_ - rare_->all_bytes;
  }
  [[nodiscard]] bool has_urgent() const { return rare_ != nullptr && rare_->all_bytes > 0; }
  void queue_urgent(const SimPacket& packet, std::int64_t size) {
    queued_bytes_ += size;
    if (queued_bytes_ > interval_.queue_max) interval_.queue_max = queued_bytes_;
    rare().all_bytes += size;
    rare_->bytes[packet.priority() - 1] += size;
    rare_->packets[packet.priority() - 1].push(packet);
  }
  /// The first of the highest priority that waits.
  void serve_urgent(const PortRules& rules, Instant start) {
    if (queued_bytes_ > deepest_) deepest_ = queued_bytes_;
    std::uint32_t highest = RarePort::kUrgent - 1;
    while (rare_->packets[highest].empty()) --highest;
    const SimPacket& next = rare_->packets[highest].front();
    const std::int64_t size = rules.wire_size(next);
    queued_bytes_ -= size;
    rare_->all_bytes -= size;
    rare_->bytes[highest] -= size;
    serve(next, size, start);
    rare_->packets[highest].pop();
  }

  void serve(const SimPacket& packet, std::int64_t size, Instant start) {
    in_service_ = packet;
    start_ = start;
    done_ = start + wire.time_to_send(size, start);
    in_service_size_ = size;
  }
  void serve_control(const PortRules& rules, Instant start) {
    serve(control_.front(), rules.control_size, start);
    control_.pop();
  }
  void serve_data(const PortRules& rules, Instant start) {
    if (queued_bytes_ > deepest_) deepest_ = queued_bytes_;
    const SimPacket& next = data_.front();
    const std::int64_t size = rules.wire_size(next);
    queued_bytes_ -= size;
    serve(next, size, start);
    data_.pop();
  }

  /// The packet in service leaves; what it leaves behind decides whether it is marked.
  template <class Meter>
  [[gnu::always_inline]] void put_on_wire(const PortRules& rules, WindowContext& context,
                                          Fingerprint& fingerprint, DropCounts& drops,
                                          [[maybe_unused]] Meter& meter) {
    const Instant now = done_;
    const Instant arrival = now + wire.latency;
    interval_.carried += in_service_size_;
    ++context.packet_hops;
    [[maybe_unused]] std::uint32_t utilisation = 0;
    if constexpr (Meter::kMeasures)
      utilisation = meter.on_departure(now, now - start_, wire.time_to_send(queued_bytes_, now),
                                       rules.measured_over);
    if (wire.is_cut(start_, arrival)) [[unlikely]] {
      ++drops.failure;
      ++interval_.drops;
      fingerprint.add(in_service_, now);
    } else if (wire.is_corrupted(in_service_size_, start_)) [[unlikely]] {
      ++drops.error;
      ++interval_.drops;
      fingerprint.add(in_service_, now);
    } else {
      SimPacket& under_way = context.send(wire, in_service_, arrival);
      if constexpr (Meter::kMeasures) {
        if (!in_service_.is_control()) under_way.note_utilisation(utilisation);
      }
      if (queued_bytes_ > rules.kmin && may_be_marked(in_service_) &&
          draw_mark(rules, waiting_with(in_service_))) {
        under_way.mark(wire.last_hop);
        ++marks_;
        ++interval_.marks;
        fingerprint.add(in_service_, now);
      }
    }
  }

  static constexpr std::uint32_t kAhead = 12;  ///< about as many as leave in a window
  static constexpr std::uint32_t kControlAhead = 4;

  Instant done_ = Instant::never();  ///< when the packet in service has left; never: there is none
  Instant start_{};
  std::int64_t in_service_size_ = 0;
  std::int64_t queued_bytes_ = 0;  ///< waiting, the packet in service not counted
  SimPacket in_service_;
  PacketRing data_;
  PacketRing control_;
  std::uint64_t mark_rng_ = 1;
  std::int64_t deepest_ = 0;
  std::uint64_t marks_ = 0;
  PortCounts interval_;

 private:
  std::unique_ptr<RarePort> rare_;  ///< from when it is needed on

  [[nodiscard]] RarePort& rare() {
    if (rare_ == nullptr) rare_ = std::make_unique<RarePort>();
    return *rare_;
  }
  [[nodiscard]] std::uint32_t urgent_held() const {
    std::uint32_t held = 0;
    if (rare_ != nullptr) {
      for (const PacketRing& packets : rare_->packets) held += packets.size();
    }
    return held;
  }

  /// Control never is; a trimmed packet says more than a mark could.
  [[nodiscard]] static bool may_be_marked(const SimPacket& packet) {
    return !packet.is_control() && !packet.trimmed();
  }
  [[nodiscard]] bool draw_mark(const PortRules& rules, std::int64_t waiting) {
    if (wire.last_hop && !rules.mark_last_hop) return false;  // [D50]
    if (waiting >= rules.kmax) return true;
    if (waiting <= rules.kmin) [[unlikely]]
      return false;  // all the others are of another priority
    mark_rng_ = mark_rng_ * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
    const std::uint64_t probability =
        static_cast<std::uint64_t>(waiting - rules.kmin) * rules.mark_slope;
    return (mark_rng_ >> 16) < probability;
  }
};

/// Data that finds the queue full is dropped.
struct TailDrop {
  static constexpr bool kTrims = false;
  template <class Archive>
  void state(Archive& /*a*/) {}
};

/// [D49] Data that finds the queue full loses its payload; the header goes on, ahead of data, in a
/// queue with a limit of its own.
class Trimming {
 public:
  static constexpr bool kTrims = true;

  [[nodiscard]] std::uint64_t trims() const { return trims_; }
  template <class Archive>
  void state(Archive& a) {
    a(headers_, header_bytes_, trims_);
    static_assert(sizeof(Trimming) == 40, "list what is new");
  }

 protected:
  PacketRing headers_;
  std::int64_t header_bytes_ = 0;
  std::uint64_t trims_ = 0;
};

/// A lossy port.
template <class Overflow, class Meter = NoMeter>
class BasicPort : public PortBase, public Overflow, private Meter {
 public:
  /// Works through one window: `arrivals` in order of time, all before context.end.
  void run(std::span<const PortArrival> arrivals, const PortRules& rules, WindowContext& context,
           Fingerprint& fingerprint, DropCounts& drops) {
    for (const PortArrival& arrival : arrivals) {
      while (done_ < arrival.time) depart(rules, context, fingerprint, drops);
      accept(*arrival.packet, arrival.time, rules, fingerprint, drops);
    }
    while (done_ < context.end) depart(rules, context, fingerprint, drops);
  }

  // What a switch calls that looks at its queues: packet by packet, in order of time.

  /// All that leaves before `now` does.
  void advance(Instant now, const PortRules& rules, WindowContext& context,
               Fingerprint& fingerprint, DropCounts& drops) {
    while (done_ < now) depart(rules, context, fingerprint, drops);
  }
  /// An arrival; the port has been advanced to it.
  void take(const PortArrival& arrival, const PortRules& rules, Fingerprint& fingerprint,
            DropCounts& drops) {
    accept(*arrival.packet, arrival.time, rules, fingerprint, drops);
  }

  /// run() in steps: a departure and an arrival, where it is time for them. False when all is done.
  bool step(std::span<const PortArrival> arrivals, std::size_t& next, const PortRules& rules,
            WindowContext& context, Fingerprint& fingerprint, DropCounts& drops) {
    if (done_ < (next < arrivals.size() ? arrivals[next].time : context.end)) {
      depart(rules, context, fingerprint, drops);
    } else if (next == arrivals.size()) {
      return false;
    }
    if (next < arrivals.size() && done_ >= arrivals[next].time) {
      const PortArrival& arrival = arrivals[next++];
      accept(*arrival.packet, arrival.time, rules, fingerprint, drops);
    }
    return true;
  }

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    PortBase::state(a);
    Overflow::state(a);
    Meter::state(a);
  }

  /// When the packet in service has left; never, if there is none.
  [[nodiscard]] Instant next_event() const { return done_; }

  /// Since the last time it was asked. A lossless port needs the time; this one does not.
  Tally take_interval(Instant /*now*/ = {}) { return take_tally(); }

  [[nodiscard]] std::uint32_t packets_held() const {
    std::uint32_t held = PortBase::packets_held();
    if constexpr (Overflow::kTrims) held += this->headers_.size();
    return held;
  }

 private:
  void accept(const SimPacket& packet, Instant now, const PortRules& rules,
              Fingerprint& fingerprint, DropCounts& drops) {
    const std::int64_t size = rules.wire_size(packet);
    if constexpr (Overflow::kTrims) {
      if (packet.trimmed()) [[unlikely]] {
        accept_header(packet, size, now, rules, fingerprint, drops);
        return;
      }
    }
    interval_.arrived += packet.is_control() ? 0 : size;
    if (done_ == Instant::never()) {
      serve(packet, size, now);
      return;
    }
    if (packet.is_control() && rules.control_priority) {
      control_.push(packet);
      return;
    }
    if (waiting_with(packet) + size > rules.queue_limit) {
      overflow(packet, size, now, rules, fingerprint, drops);
    } else if (packet.is_urgent()) [[unlikely]] {
      queue_urgent(packet, size);
    } else {
      queue_data(packet, size);
    }
  }

  void overflow(const SimPacket& packet, std::int64_t size, Instant now, const PortRules& rules,
                Fingerprint& fingerprint, DropCounts& drops) {
    fingerprint.add(packet, now);
    if constexpr (Overflow::kTrims) {
      // Of a packet no larger than a header nothing could be saved.
      if (packet.is_whole() && size > rules.trim_size) {
        ++this->trims_;
        SimPacket header = packet;
        header.trim(wire.last_hop);
        accept_header(header, rules.trim_size, now, rules, fingerprint, drops);
        return;
      }
    }
    ++drops.queue;
    ++interval_.drops;
  }

  /// [D49] A trimmed packet, cut here or before.
  void accept_header(const SimPacket& packet, std::int64_t size, Instant now,
                     const PortRules& rules, Fingerprint& fingerprint, DropCounts& drops) {
    if (done_ == Instant::never()) {
      serve(packet, size, now);
    } else if (this->header_bytes_ + size > rules.header_limit) {
      ++drops.queue;
      ++interval_.drops;
      fingerprint.add(packet, now);
    } else {
      this->header_bytes_ += size;
      this->headers_.push(packet);
    }
  }

  void depart(const PortRules& rules, WindowContext& context, Fingerprint& fingerprint,
              DropCounts& drops) {
    const Instant now = done_;
    put_on_wire(rules, context, fingerprint, drops, static_cast<Meter&>(*this));
    if (!control_.empty()) {
      serve_control(rules, now);
      return;
    }
    if constexpr (Overflow::kTrims) {
      if (!this->headers_.empty()) [[unlikely]] {
        this->header_bytes_ -= rules.trim_size;
        serve(this->headers_.front(), rules.trim_size, now);
        this->headers_.pop();
        return;
      }
    }
    if (has_urgent()) [[unlikely]] {
      serve_urgent(rules, now);
    } else if (!data_.empty()) {
      serve_data(rules, now);
    } else {
      done_ = Instant::never();
    }
  }
};

using Port = BasicPort<TailDrop>;
using TrimmingPort = BasicPort<Trimming>;

}  // namespace strack::sim
