// A window of a port that nothing is wrong with: what port.h does packet by packet, and the same bits.
//
// What is to be known of an arrival is noted when it is routed, so who leaves when is decided without a look at the
// packets. These stay where they came until they leave, and are copied once; only what is left at the window's end goes
// into the port's queues.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/units.h"
#include "sim/net/port.h"
#include "sim/net/wire.h"

namespace strack::sim {

/// Where a packet lies, and what a port asks of it, in one word: an address has 48 bits, of which three are always 0.
class PlaceAndKind {
 public:
  PlaceAndKind() {}  // NOLINT
  explicit PlaceAndKind(const SimPacket& packet)
      : bits_((reinterpret_cast<std::uintptr_t>(&packet) << kPayloadBits) | packet.payload() |
              (std::uint64_t{packet.is_control()} << kPayloadBits) |
              (std::uint64_t{packet.is_bare()} << (kPayloadBits + 1)) |
              (std::uint64_t{packet.is_urgent() || packet.trimmed()} << (kPayloadBits + 2))) {}

  [[nodiscard]] const SimPacket& packet() const {
    return *reinterpret_cast<const SimPacket*>((bits_ >> kPayloadBits) & ~std::uint64_t{7});
  }
  [[nodiscard]] bool is_control() const { return (bits_ & kControl) != 0; }
  /// Trimmed, or of another priority than the usual one.
  [[nodiscard]] bool is_special() const { return (bits_ & kSpecial) != 0; }
  /// On the wire, of what is not special.
  [[nodiscard]] std::int64_t size(const PortRules& rules) const {
    const auto whole = static_cast<std::int64_t>(bits_ & kPayload) + rules.data_header;
    return (bits_ & (kControl | kBare)) != 0 ? rules.control_size : whole;
  }

 private:
  static constexpr int kPayloadBits = 16;
  static constexpr std::uint64_t kPayload = 0xffff;
  static constexpr std::uint64_t kControl = std::uint64_t{1} << kPayloadBits;
  static constexpr std::uint64_t kBare = kControl << 1;
  static constexpr std::uint64_t kSpecial = kControl << 2;

  std::uint64_t bits_;  ///< nothing, until it is one: lists of them are not filled ahead
};
static_assert(alignof(SimPacket) >= 8 && sizeof(std::uintptr_t) == 8);

/// A packet that reaches a port.
struct NotedArrival {
  Instant time;
  PlaceAndKind what;
};

class PlainRun {
 public:
  /// Of such ports: data that does not fit is dropped. A GPU has passes of its own (sim/gpu/light_port.h).
  template <class PortT>
#ifdef STRACK_GPU_DEVICE
  static constexpr bool kMayBe = false;
#else
  static constexpr bool kMayBe = std::is_same_v<PortT, BasicPort<TailDrop>>;
#endif

  /// Whether such a port can be one: a wire that loses nothing, and nothing that goes before the usual data [D116].
  [[nodiscard]] static bool fits(const PortBase& port) {
    const Wire& wire = port.wire;
    return wire.outages == nullptr && wire.spells == nullptr &&
           (wire.loss_threshold | wire.bit_loss_threshold) == 0 && !port.has_urgent() &&
           !port.in_service_.is_urgent();
  }

  /// Takes arrivals in order of time, and says how many: all, and then it has also let go what leaves before the
  /// window's end; or fewer, where the next is for the port itself.
  [[nodiscard]] static std::size_t run(PortBase& port, std::span<const NotedArrival> arrivals,
                                       const PortRules& rules, WindowContext& context,
                                       Fingerprint& fingerprint, DropCounts& drops) {
    Wire& wire = port.wire;
    const std::int64_t control_size = rules.control_size;
    Instant done = port.done_;
    Instant start = port.start_;
    const SimPacket* in_service = &port.in_service_;
    std::int64_t size = port.in_service_size_;
    bool may_be_marked = PortBase::may_be_marked(port.in_service_);
    std::int64_t queued = port.queued_bytes_;
    std::int64_t queue_max = port.interval_.queue_max;
    std::int64_t deepest = port.deepest_;
    std::int64_t arrived = 0;
    std::int64_t carried = 0;
    std::uint32_t data_held = port.data_.size();
    std::uint32_t control_held = port.control_.size();
    const std::uint32_t data_there = data_held;
    const std::uint32_t control_there = control_held;
    Waiting data;
    Waiting control;

    const auto serve = [&](const SimPacket& packet, std::int64_t bytes, bool markable,
                           Instant now) {
      in_service = &packet;
      size = bytes;
      may_be_marked = markable;
      start = now;
      done = now + wire.byte_time(bytes);
    };
    std::size_t taken = 0;
    bool is_special = false;
    while (true) {
      const bool more = taken < arrivals.size();
      if (done < (more ? arrivals[taken].time : context.end)) {
        // Leaves.
        const Instant now = done;
        carried += size;
        SimPacket& under_way = context.send(wire, *in_service, now + wire.latency);
        ++context.packet_hops;
        if (queued > rules.kmin && may_be_marked && port.draw_mark(rules, queued)) [[unlikely]] {
          under_way.mark(wire.last_hop);
          ++port.marks_;
          ++port.interval_.marks;
          fingerprint.add(*in_service, now);
        }
        if (control_held > 0) {
          serve(port.control_[control_there - control_held--], control_size, false, now);
        } else if (!control.empty()) {
          serve(control.pop().packet(), control_size, false, now);
        } else if (queued > 0) {
          deepest = std::max(deepest, queued);
          if (data_held > 0) {
            const SimPacket& next = port.data_[data_there - data_held--];
            serve(next, rules.wire_size(next), PortBase::may_be_marked(next), now);
          } else {
            const PlaceAndKind next = data.pop();
            serve(next.packet(), next.size(rules), !next.is_control(), now);
          }
          queued -= size;
        } else {
          done = Instant::never();
        }
        continue;
      }
      if (!more) break;
      const NotedArrival& arrival = arrivals[taken];
      is_special = arrival.what.is_special() || data.is_full() || control.is_full();
      if (is_special) [[unlikely]]
        break;
      ++taken;
      const std::int64_t bytes = arrival.what.size(rules);
      const bool is_control = arrival.what.is_control();
      arrived += is_control ? 0 : bytes;
      if (done == Instant::never()) {
        serve(arrival.what.packet(), bytes, !is_control, arrival.time);
      } else if (is_control && rules.control_priority) {
        control.push(arrival.what);
      } else if (queued + bytes > rules.queue_limit) [[unlikely]] {
        fingerprint.add(arrival.what.packet(), arrival.time);
        ++drops.queue;
        ++port.interval_.drops;
      } else {
        queued += bytes;
        queue_max = std::max(queue_max, queued);
        data.push(arrival.what);
      }
    }
    // The port is again as it describes itself. First what is in service: something may come to where it lies.
    if (done != Instant::never() && in_service != &port.in_service_) port.in_service_ = *in_service;
    port.done_ = done;
    port.start_ = start;
    port.in_service_size_ = size;
    port.queued_bytes_ = queued;
    port.deepest_ = deepest;
    port.interval_.queue_max = queue_max;
    port.interval_.arrived += arrived;
    port.interval_.carried += carried;
    put_back(port.data_, data_there - data_held, data);
    put_back(port.control_, control_there - control_held, control);
    return taken;
  }

 private:
  /// Arrivals of this window that wait, in order.
  struct Waiting {
    static constexpr std::uint32_t kMost = 64;
    std::array<PlaceAndKind, kMost> all;
    std::uint32_t first = 0;
    std::uint32_t end = 0;

    Waiting() {}  // NOLINT: what is in it is written before it is read
    [[nodiscard]] bool empty() const { return first == end; }
    [[nodiscard]] bool is_full() const { return end == kMost; }
    void push(PlaceAndKind arrival) { all[end++] = arrival; }
    [[nodiscard]] PlaceAndKind pop() { return all[first++]; }
  };

  static void put_back(PacketRing& ring, std::uint32_t taken, Waiting& waiting) {
    ring.pop(taken);
    if (waiting.empty()) return;
    if (ring.empty()) ring.rewind();
    while (!waiting.empty()) ring.push(waiting.pop().packet());
  }
};

}  // namespace strack::sim
