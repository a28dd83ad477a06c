// A port's window in two passes, for ports that nothing is wrong with: first who leaves when, by notes alone; then
// packets are moved, each on its own. What port.h does packet by packet, and the same bits: threads that go side by
// side part in the first pass, where little is done, and not in the second, where much is.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "base/units.h"
#include "sim/gpu/atomics.h"
#include "sim/gpu/notes.h"
#include "sim/net/port.h"
#include "sim/net/utilisation.h"
#include "sim/net/wire.h"

namespace strack::sim::gpu {

/// A packet that leaves: when, as seen from the window's end, and where it lies.
struct Leaving {
  static constexpr std::uint32_t kMarked = 1u << 31;
  static constexpr int kWhereShift = 29;
  static constexpr std::uint32_t kPlace = (1u << kWhereShift) - 1;
  enum Where : std::uint32_t { in_service, in_data, in_control, in_notes };

  std::int32_t time;
  std::uint32_t what;  ///< whether it is marked, where it is, and its place there

  [[nodiscard]] bool is_marked() const { return (what & kMarked) != 0; }
};

/// Those of one port, in memory near its thread: neighbours' lie in turn.
struct LeavingList {
  static constexpr std::uint32_t kMost = 20;
  Leaving* first = nullptr;
  std::uint32_t stride = 1;

  [[nodiscard]] Leaving& operator[](std::uint32_t i) const { return first[i * stride]; }
};

/// What a port's thread has near it for a window.
struct Desktop {
  LeavingList leaving;
  NearNotes notes;

  /// Of each thread with a port in memory of that many, one behind the other; an odd number of them lies side by side,
  /// so that neighbours' lie in different banks.
  static constexpr std::size_t kBytes =
      sizeof(Leaving) * LeavingList::kMost + sizeof(NearNote) * NearNotes::kMost;
  [[nodiscard]] static constexpr std::uint32_t stride_of(std::uint32_t threads) {
    return threads | 1;
  }
  [[nodiscard]] static Desktop of(void* memory, std::uint32_t threads, std::uint32_t number) {
    const std::uint32_t stride = stride_of(threads);
    auto* const leaving = static_cast<Leaving*>(memory);
    auto* const notes = reinterpret_cast<NearNote*>(leaving + LeavingList::kMost * stride);
    return {{leaving + number, stride}, {notes + number, stride}};
  }
};

/// A port as it looks from inside; nothing is added to it.
template <class PortT>
class LightPort : public PortT {
 public:
  static constexpr bool kMayBe = std::is_same_v<PortT, BasicPort<TailDrop, NoMeter>>;
  static constexpr std::size_t kMostNotes = NearNote::kPlaces;
  static constexpr Picoseconds kLongest{std::int64_t{1} << 30};  ///< a window that it can count in

  /// Data that does not fit is dropped, and the wire loses nothing.
  [[nodiscard]] bool is_one() const {
    const Wire& out = this->wire;
    return kMayBe && out.outages == nullptr && out.spells == nullptr &&
           (out.loss_threshold | out.bit_loss_threshold) == 0;
  }
  /// What the first pass counts with fits its words.
  [[nodiscard]] bool is_small(const PortRules& rules, Instant end) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    return this->queued_bytes_ < kMost && this->deepest_ < kMost && rules.queue_limit < kMost &&
           this->interval_.queue_max<kMost&& this->done_> end - kLongest;
  }
  /// [D116] Nothing that it has or gets goes before the usual data.
  [[nodiscard]] bool is_usual(std::span<const Note> notes) const {
    if (this->has_urgent() || this->in_service_.is_urgent()) return false;
    return std::none_of(notes.begin(), notes.end(),
                        [](const Note& note) { return note.is_urgent(); });
  }

  /// As BasicPort::run. All threads of a warp come here; those without a port of their own do nothing. `notes` are in
  /// order, or else those near are.
  void run(bool is_there, std::span<const Note> notes, const PortRules& rules,
           const Desktop& desktop, WindowContext& context, Fingerprint& fingerprint,
           DropCounts& drops) {
    Pass pass{*this, notes, rules, context.end, desktop};
    if (is_there) pass.begin();
    bool goes_on = is_there;
    while (any(goes_on)) {
      // Mostly once: as many leave in a window as the link can carry.
      while (any(goes_on && pass.leaving < LeavingList::kMost)) {
        if (goes_on && pass.leaving < LeavingList::kMost) goes_on = pass.step(fingerprint, drops);
      }
      move(desktop.leaving, notes, pass.leaving, context, fingerprint);
      pass.leaving = 0;
    }
    if (is_there) pass.finish();
    keep(pass.control, this->control_, pass);
    keep(pass.data, this->data_, pass);
  }

 private:
  static constexpr std::uint32_t kAtOnce = 4;
  struct Pass;

  [[nodiscard]] const SimPacket* packet_at(std::uint32_t what, std::span<const Note> notes) const {
    const std::uint32_t place = what & Leaving::kPlace;
    switch (what >> Leaving::kWhereShift & 3) {
      case Leaving::in_data:
        return &this->data_[place];
      case Leaving::in_control:
        return &this->control_[place];
      case Leaving::in_notes:
        return notes[place].packet();
      default:
        return &this->in_service_;
    }
  }

  /// Onto the wire, four at a time: they are on their way here together. Room for all is made before.
  void move(const LeavingList& list, std::span<const Note> notes, std::uint32_t count,
            WindowContext& context, Fingerprint& fingerprint) {
    const bool last_hop = this->wire.last_hop;
    const Instant base = context.end;
    const Picoseconds latency = this->wire.latency;
    Transit* to = nullptr;
    if (count > 0) to = context.send_all(this->wire, count, base + ps(list[0].time) + latency);
    for (std::uint32_t i = 0; any(i < count); i += kAtOnce) {
      if (i >= count) continue;
      Leaving leaving[kAtOnce];
      const SimPacket* from[kAtOnce];
      Transit transits[kAtOnce];
      STRACK_GPU_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k) {
        leaving[k] = list[i + k < count ? i + k : i];
        from[k] = packet_at(leaving[k].what, notes);
      }
      STRACK_GPU_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k) {
        transits[k].packet = *from[k];
        transits[k].time = base + ps(leaving[k].time) + latency;
      }
      STRACK_GPU_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k) {
        if (i + k >= count) continue;
        if (leaving[k].is_marked()) {
          fingerprint.add(transits[k].packet, base + ps(leaving[k].time));
          transits[k].packet.mark(last_hop);
        }
        to[i + k] = transits[k];
      }
    }
  }

  /// What waits goes into its queue. By all threads of a warp, a packet each at a time, whoever's it is: so all are on
  /// their way at once.
  void keep(std::uint64_t waiting, PacketRing& queue, const Pass& pass) {
    const LeavingList& list = pass.desktop.leaving;
    while (any(waiting != 0)) {
      std::uint32_t count = 0;
      for (; waiting != 0 && count < LeavingList::kMost; ++count)
        list[count].what = pass.take(waiting).place();
      const std::uint32_t first = queue.size();
      if (count != 0) queue.extend(count);
      const std::uint32_t up_to_mine = sum_up_to_here(count);
      const std::uint32_t before_mine = up_to_mine - count;
      const std::uint32_t all = of_lane(up_to_mine, kLanes - 1);
      const auto notes = reinterpret_cast<std::uintptr_t>(pass.notes.data());
      const auto memory = reinterpret_cast<std::uintptr_t>(queue.memory());
      const std::uint32_t place = queue.place(first);
      const std::uint32_t mask = queue.place_mask();
      wait_for_others();
      for (std::uint32_t i = lane(); any(i < all); i += kLanes) {
        std::uint32_t whose = 0;
        for (std::uint32_t step = kLanes / 2; step > 0; step /= 2) {
          if (of_lane(up_to_mine, whose + step - 1) <= i) whose += step;
        }
        const std::uint32_t k = i - of_lane(before_mine, whose);
        const auto* const from = reinterpret_cast<const Note*>(of_lane(notes, whose));
        auto* const to = reinterpret_cast<SimPacket*>(of_lane(memory, whose));
        const std::uint32_t at = (of_lane(place, whose) + k) & of_lane(mask, whose);
        // Lists lie side by side.
        if (i < all) to[at] = *from[list.first[k * list.stride + whose - lane()].what].packet();
      }
      wait_for_others();
    }
  }

  /// The first pass: the port's state as numbers, times as seen from the window's end, and what waits as places in the
  /// lists.
  struct Pass {
    static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
    static constexpr std::uint32_t kInService = Leaving::in_service << Leaving::kWhereShift;

    LightPort& port;
    std::span<const Note> notes;
    const PortRules& rules;
    Instant end;
    Desktop desktop;

    std::int32_t done = kNever;  ///< or any time before that, where it is so late
    std::int32_t start = 0;
    std::uint32_t in_service = kInService;  ///< where that packet lies
    std::uint32_t size = 0;                 ///< of the packet in service
    bool is_idle = false;                   ///< there is none
    bool may_be_marked = false;
    std::int32_t queued = 0;
    std::int32_t deepest = 0;
    std::int32_t queue_max = 0;
    std::uint32_t carried = 0;
    std::uint32_t arrived = 0;
    std::uint32_t marks = 0;
    std::uint32_t dropped = 0;
    std::uint64_t rng = 0;
    std::uint32_t data_taken = 0;     ///< of the port's own queue
    std::uint32_t control_taken = 0;  ///< and of that for control
    std::uint64_t data = 0;           ///< those of this window that wait, by their notes
    std::uint64_t control = 0;
    std::uint32_t next = 0;
    NearNote coming;  ///< the next one, asked for before it is wanted
    std::uint32_t leaving = 0;
    std::uint32_t data_waiting = 0;  ///< in the port's own queue, when it begins
    std::uint32_t control_waiting = 0;
    bool is_near = false;  ///< notes are
    // Of the port's own queue, what its first one is; of the rules and the wire, what every packet asks for: kept here,
    // a thread has them at hand.
    std::uint64_t front_w0 = 0;
    std::uint64_t front_w3 = 0;
    std::int32_t kmin = 0;
    std::int32_t queue_limit = 0;
    std::uint32_t control_size = 0;
    bool control_priority = false;
    ByteTime byte_time;

    Pass(LightPort& p, std::span<const Note> n, const PortRules& r, Instant e, const Desktop& d)
        : port(p), notes(n), rules(r), end(e), desktop(d) {}

    /// Of something less than kNever away.
    [[nodiscard]] std::int32_t seen(Instant time) const {
      return static_cast<std::int32_t>(std::min<std::int64_t>(time.ps - end.ps, kNever - 1));
    }
    void begin() {
      is_near = notes.size() <= NearNotes::kMost;
      kmin = static_cast<std::int32_t>(std::min<std::int64_t>(rules.kmin, kNever));
      queue_limit = static_cast<std::int32_t>(rules.queue_limit);
      control_size = static_cast<std::uint32_t>(rules.control_size);
      control_priority = rules.control_priority;
      byte_time = port.wire.byte_time;
      data_waiting = port.data_.size();
      control_waiting = port.control_.size();
      is_idle = port.done_ == Instant::never();
      done = is_idle ? kNever : seen(port.done_);
      look_at_front();
      size = static_cast<std::uint32_t>(port.in_service_size_);
      may_be_marked = !port.in_service_.is_control();
      queued = static_cast<std::int32_t>(port.queued_bytes_);
      deepest = static_cast<std::int32_t>(port.deepest_);
      queue_max = static_cast<std::int32_t>(port.interval_.queue_max);
      rng = port.mark_rng_;
      if (!notes.empty()) coming = note_at(0);
    }
    [[nodiscard]] NearNote note_at(std::uint32_t i) const {
      return is_near ? desktop.notes[i] : NearNote(notes[i], i);
    }
    [[nodiscard]] std::uint32_t size_of(const NearNote& note) const {
      const std::uint32_t noted = note.size();
      if (noted < Note::kLarge) [[likely]]
        return noted;
      return static_cast<std::uint32_t>(rules.wire_size(*notes[note.place()].packet()));
    }

    /// A departure and an arrival, where it is time for them. False when all is done.
    bool step(Fingerprint& fingerprint, DropCounts& drops) {
      const std::int32_t arrival = next < notes.size() ? coming.time : 0;
      if (done < arrival) {
        depart();
      } else if (next == notes.size()) {
        return false;
      }
      if (next < notes.size() && done >= arrival) accept(fingerprint, drops);
      return true;
    }

    void serve(std::uint32_t where, std::uint32_t bytes, bool is_control, std::int32_t now) {
      in_service = where;
      size = bytes;
      may_be_marked = !is_control;
      is_idle = false;
      start = now;
      done = static_cast<std::int32_t>(
          std::min<std::int64_t>(now + byte_time(bytes).value, kNever - 1));
    }

    void accept(Fingerprint& fingerprint, DropCounts& drops) {
      const NearNote note = coming;
      const std::uint64_t bit = std::uint64_t{1} << next++;
      if (next < notes.size()) coming = note_at(next);
      const std::uint32_t bytes = size_of(note);
      const bool is_control = note.is_control();
      arrived += is_control ? 0 : bytes;
      if (is_idle) {
        serve(place_of(note), bytes, is_control, note.time);
      } else if (is_control && control_priority) {
        control |= bit;
      } else if (queued + static_cast<std::int32_t>(bytes) > queue_limit) {
        fingerprint.add(*notes[note.place()].packet(), end + ps(note.time));
        ++drops.queue;
        ++dropped;
      } else {
        queued += static_cast<std::int32_t>(bytes);
        if (queued > queue_max) queue_max = queued;
        data |= bit;
      }
    }
    [[nodiscard]] static std::uint32_t place_of(const NearNote& note) {
      return (Leaving::in_notes << Leaving::kWhereShift) | note.place();
    }

    void depart() {
      const std::int32_t now = done;
      carried += size;
      const bool marked = queued > kmin && may_be_marked && draws_mark();
      marks += marked ? 1 : 0;
      desktop.leaving[leaving++] = {now, in_service | (marked ? Leaving::kMarked : 0)};
      if (control_taken < control_waiting) {
        serve((Leaving::in_control << Leaving::kWhereShift) | control_taken++, control_size, true,
              now);
      } else if (control != 0) {
        serve(place_of(take(control)), control_size, true, now);
      } else if (data_taken < data_waiting) {
        SimPacket packet;
        packet.w0 = front_w0;
        packet.w3 = front_w3;
        const std::uint32_t place = data_taken++;
        look_at_front();
        serve_data((Leaving::in_data << Leaving::kWhereShift) | place,
                   static_cast<std::uint32_t>(rules.wire_size(packet)), packet.is_control(), now);
      } else if (data != 0) {
        const NearNote note = take(data);
        serve_data(place_of(note), size_of(note), note.is_control(), now);
      } else {
        done = kNever;
        is_idle = true;
      }
    }
    /// The first of the port's own queue is asked for before it is wanted.
    void look_at_front() {
      if (data_taken == data_waiting) return;
      const SimPacket& front = port.data_[data_taken];
      front_w0 = front.w0;
      front_w3 = front.w3;
    }
    void serve_data(std::uint32_t where, std::uint32_t bytes, bool is_control, std::int32_t now) {
      if (queued > deepest) deepest = queued;
      queued -= static_cast<std::int32_t>(bytes);
      serve(where, bytes, is_control, now);
    }
    /// The first of those that wait.
    [[nodiscard]] NearNote take(std::uint64_t& waiting) const {
      const auto first = static_cast<std::uint32_t>(std::countr_zero(waiting));
      waiting &= waiting - 1;
      return note_at(first);
    }
    [[nodiscard]] bool draws_mark() {
      if (port.wire.last_hop && !rules.mark_last_hop) return false;  // [D50]
      if (queued >= rules.kmax) return true;
      rng = rng * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
      return (rng >> 16) < static_cast<std::uint64_t>(queued - kmin) * rules.mark_slope;
    }

    /// Everything has been moved that leaves; what waits is still to go into the port's queues.
    void finish() {
      if (is_idle) {
        port.done_ = Instant::never();
      } else if (in_service != kInService) {
        port.in_service_ = *port.packet_at(in_service, notes);
        port.start_ = end + ps(start);
        port.done_ = port.start_ + byte_time(size);
      }
      port.in_service_size_ = size;
      port.control_.pop(control_taken);
      port.data_.pop(data_taken);
      port.queued_bytes_ = queued;
      port.deepest_ = deepest;
      port.mark_rng_ = rng;
      port.marks_ += marks;
      PortCounts& interval = port.interval_;
      interval.carried += carried;
      interval.arrived += arrived;
      interval.queue_max = queue_max;
      interval.marks += marks;
      interval.drops += dropped;
    }
  };
};

}  // namespace strack::sim::gpu
