// A port's window in two passes, for ports that nothing is wrong with: first who leaves when, by notes alone; then
// packets are moved, each on its own. What port.h does packet by packet, and the same bits: threads that go side by
// side part in the first pass, where little is done, and not in the second, where much is.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/units.h"
#include "sim/gpu/atomics.h"
#include "sim/gpu/notes.h"
#include "sim/net/port.h"
#include "sim/net/utilisation.h"
#include "sim/net/wire.h"

namespace strack::sim::gpu {

/// A packet that leaves.
struct Leaving {
  static constexpr std::uint64_t kMarked = std::uint64_t{1} << 63;
  std::int64_t time;    ///< ps
  std::uint64_t place;  ///< where it lies, and above that whether it is marked

  [[nodiscard]] const SimPacket* packet() const {
    return reinterpret_cast<const SimPacket*>(place & ~kMarked);
  }
  [[nodiscard]] bool is_marked() const { return (place & kMarked) != 0; }
};

/// Those of one port, in memory near its thread: neighbours' lie in turn.
struct LeavingList {
  static constexpr std::uint32_t kMost = 24;
  Leaving* first = nullptr;
  std::uint32_t stride = 1;

  [[nodiscard]] Leaving& operator[](std::uint32_t i) const { return first[i * stride]; }
};

/// A port as it looks from inside; nothing is added to it.
template <class PortT>
class LightPort : public PortT {
 public:
  static constexpr bool kMayBe = std::is_same_v<PortT, BasicPort<TailDrop, NoMeter>>;
  static constexpr std::size_t kMostNotes = 64;

  /// Data that does not fit is dropped, and the wire loses nothing.
  [[nodiscard]] bool is_one() const {
    const Wire& out = this->wire;
    return kMayBe && out.outages == nullptr && out.spells == nullptr &&
           (out.loss_threshold | out.bit_loss_threshold) == 0;
  }
  /// [D116] Nothing that it has or gets goes before the usual data.
  [[nodiscard]] bool is_usual(std::span<const Note> notes) const {
    if (this->has_urgent() || this->in_service_.is_urgent()) return false;
    return std::none_of(notes.begin(), notes.end(),
                        [](const Note& note) { return note.is_urgent(); });
  }

  /// As BasicPort::run. All threads of a warp come here; those without a port of their own do nothing.
  void run(bool is_there, std::span<const Note> notes, const PortRules& rules, LeavingList list,
           WindowContext& context, Fingerprint& fingerprint, DropCounts& drops) {
    Pass pass{*this, notes, rules, context.end, list};
    if (is_there) pass.begin();
    bool goes_on = is_there;
    while (any(goes_on)) {
      // Mostly once: as many leave in a window as the link can carry.
      while (any(goes_on && pass.leaving < LeavingList::kMost)) {
        if (goes_on && pass.leaving < LeavingList::kMost) goes_on = pass.step(fingerprint, drops);
      }
      move(list, pass.leaving, context, fingerprint);
      pass.leaving = 0;
    }
    if (is_there) pass.finish();
  }

 private:
  static constexpr std::uint32_t kAtOnce = 4;

  /// Onto the wire, four at a time: they are on their way here together. Room for all is made before.
  void move(const LeavingList& list, std::uint32_t count, WindowContext& context,
            Fingerprint& fingerprint) {
    const bool last_hop = this->wire.last_hop;
    const Picoseconds latency = this->wire.latency;
    Transit* to = nullptr;
    if (count > 0) to = context.send_all(this->wire, count, Instant{list[0].time} + latency);
    for (std::uint32_t i = 0; any(i < count); i += kAtOnce) {
      if (i >= count) continue;
      Leaving leaving[kAtOnce];
      Transit transits[kAtOnce];
      STRACK_GPU_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k) {
        leaving[k] = list[i + k < count ? i + k : i];
        transits[k].packet = *leaving[k].packet();
        transits[k].time = Instant{leaving[k].time} + latency;
      }
      STRACK_GPU_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k) {
        if (i + k >= count) continue;
        if (leaving[k].is_marked()) {
          fingerprint.add(transits[k].packet, Instant{leaving[k].time});
          transits[k].packet.mark(last_hop);
        }
        to[i + k] = transits[k];
      }
    }
  }

  /// What waits in the port's own queue, and what is to be known of it.
  struct Waiting {
    const SimPacket* place = nullptr;
    SimPacket packet;
  };

  /// The first pass: the port's state as numbers, and what waits as places in the lists.
  struct Pass {
    LightPort& port;
    std::span<const Note> notes;
    const PortRules& rules;
    Instant end;

    Instant done{};
    Instant start{};
    const SimPacket* in_service = nullptr;
    std::int64_t size = 0;  ///< of the packet in service
    bool may_be_marked = false;
    std::int64_t queued = 0;
    std::int64_t deepest = 0;
    std::uint64_t rng = 0;
    PortCounts interval;
    std::uint32_t data_taken = 0;     ///< of the port's own queue
    std::uint32_t control_taken = 0;  ///< and of that for control
    std::uint64_t data = 0;           ///< those of this window that wait, by their notes
    std::uint64_t control = 0;
    std::uint32_t next = 0;
    Note coming;  ///< the next one, and the one behind it: asked for before they are wanted
    Note behind;
    std::uint32_t leaving = 0;
    std::uint32_t data_waiting = 0;  ///< in the port's own queue, when it begins
    std::uint32_t control_waiting = 0;
    // Of the rules and the wire, what every packet asks for: kept here, a thread has them at hand.
    Waiting front;
    std::int64_t kmin = 0;
    std::int64_t queue_limit = 0;
    std::int64_t control_size = 0;
    bool control_priority = false;
    ByteTime byte_time;
    LeavingList list;

    Pass(LightPort& p, std::span<const Note> n, const PortRules& r, Instant e, LeavingList l)
        : port(p), notes(n), rules(r), end(e), list(l) {}

    void begin() {
      kmin = rules.kmin;
      queue_limit = rules.queue_limit;
      control_size = rules.control_size;
      control_priority = rules.control_priority;
      byte_time = port.wire.byte_time;
      data_waiting = port.data_.size();
      control_waiting = port.control_.size();
      done = port.done_;
      start = port.start_;
      in_service = &port.in_service_;
      look_at_front();
      size = port.in_service_size_;
      may_be_marked = !port.in_service_.is_control();
      queued = port.queued_bytes_;
      deepest = port.deepest_;
      rng = port.mark_rng_;
      interval = port.interval_;
      if (notes.empty()) return;
      coming = notes[0];
      behind = notes[notes.size() > 1 ? 1 : 0];
    }

    /// A departure and an arrival, where it is time for them. False when all is done.
    bool step(Fingerprint& fingerprint, DropCounts& drops) {
      const Instant arrival = next < notes.size() ? coming.time(end) : end;
      if (done < arrival) {
        depart();
      } else if (next == notes.size()) {
        return false;
      }
      if (next < notes.size() && done >= arrival) accept(arrival, fingerprint, drops);
      return true;
    }

    void serve(const SimPacket* packet, std::int64_t bytes, bool is_control, Instant now) {
      in_service = packet;
      size = bytes;
      may_be_marked = !is_control;
      start = now;
      done = now + byte_time(bytes);
    }

    void accept(Instant now, Fingerprint& fingerprint, DropCounts& drops) {
      const Note note = coming;
      const std::uint64_t bit = std::uint64_t{1} << next++;
      coming = behind;
      behind = notes[next + 1 < notes.size() ? next + 1 : notes.size() - 1];
      const std::int64_t bytes = note.size(rules);
      const bool is_control = note.is_control();
      interval.arrived += is_control ? 0 : bytes;
      if (done == Instant::never()) {
        serve(note.packet(), bytes, is_control, now);
      } else if (is_control && control_priority) {
        control |= bit;
      } else if (queued + bytes > queue_limit) {
        fingerprint.add(*note.packet(), now);
        ++drops.queue;
        ++interval.drops;
      } else {
        queued += bytes;
        if (queued > interval.queue_max) interval.queue_max = queued;
        data |= bit;
      }
    }

    void depart() {
      const Instant now = done;
      interval.carried += size;
      const bool marked = queued > kmin && may_be_marked && draws_mark();
      interval.marks += marked ? 1 : 0;
      list[leaving++] = {
          now.ps, reinterpret_cast<std::uintptr_t>(in_service) | (marked ? Leaving::kMarked : 0)};
      if (control_taken < control_waiting) {
        serve(&port.control_[control_taken++], control_size, true, now);
      } else if (control != 0) {
        const Note note = take(control);
        serve(note.packet(), control_size, true, now);
      } else if (data_taken < data_waiting) {
        const Waiting next_one = front;
        ++data_taken;
        look_at_front();
        serve_data(next_one.place, rules.wire_size(next_one.packet), next_one.packet.is_control(),
                   now);
      } else if (data != 0) {
        const Note note = take(data);
        serve_data(note.packet(), note.size(rules), note.is_control(), now);
      } else {
        done = Instant::never();
      }
    }
    /// The first of the port's own queue is asked for before it is wanted.
    void look_at_front() {
      if (data_taken == data_waiting) return;
      front.place = &port.data_[data_taken];
      front.packet.w0 = front.place->w0;
      front.packet.w3 = front.place->w3;
    }
    void serve_data(const SimPacket* packet, std::int64_t bytes, bool is_control, Instant now) {
      if (queued > deepest) deepest = queued;
      queued -= bytes;
      serve(packet, bytes, is_control, now);
    }
    /// The first of those that wait.
    const Note& take(std::uint64_t& waiting) const {
      const auto first = static_cast<std::size_t>(std::countr_zero(waiting));
      waiting &= waiting - 1;
      return notes[first];
    }
    [[nodiscard]] bool draws_mark() {
      if (port.wire.last_hop && !rules.mark_last_hop) return false;  // [D50]
      if (queued >= rules.kmax) return true;
      rng = rng * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
      return (rng >> 16) < static_cast<std::uint64_t>(queued - rules.kmin) * rules.mark_slope;
    }

    /// Those that wait go into a queue, four at a time: they are on their way here together.
    void keep(std::uint64_t waiting, PacketRing& queue) const {
      while (waiting != 0) {
        SimPacket packets[kAtOnce];
        std::uint32_t count = 0;
        STRACK_GPU_UNROLL
        for (std::uint32_t k = 0; k < kAtOnce; ++k) {
          if (waiting == 0) continue;
          packets[k] = *take(waiting).packet();
          ++count;
        }
        STRACK_GPU_UNROLL
        for (std::uint32_t k = 0; k < kAtOnce; ++k) {
          if (k < count) queue.push(packets[k]);
        }
      }
    }
    /// Everything has been moved that leaves; what waits goes into the port's queues.
    void finish() {
      if (done != Instant::never() && in_service != &port.in_service_)
        port.in_service_ = *in_service;
      port.control_.pop(control_taken);
      port.data_.pop(data_taken);
      keep(control, port.control_);
      keep(data, port.data_);
      port.done_ = done;
      port.start_ = start;
      port.in_service_size_ = size;
      port.queued_bytes_ = queued;
      port.deepest_ = deepest;
      port.mark_rng_ = rng;
      port.marks_ += interval.marks - port.interval_.marks;
      port.interval_ = interval;
    }
  };
};

}  // namespace strack::sim::gpu
