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
    PlainRun state(port, rules, context, fingerprint, drops);
    std::size_t taken = 0;
    while (true) {
      const bool more = taken < arrivals.size();
      if (state.done_ < (more ? arrivals[taken].time : context.end)) {
        state.depart();
        continue;
      }
      if (!more || state.is_special(arrivals[taken].what)) break;
      state.accept(arrivals[taken++]);
    }
    state.finish();
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

  // All of it is inlined into the one loop: what is below are its variables.
  PlainRun(PortBase& port, const PortRules& rules, WindowContext& context, Fingerprint& fingerprint,
           DropCounts& drops)
      : port_(port),
        rules_(rules),
        context_(context),
        fingerprint_(fingerprint),
        drops_(drops),
        done_(port.done_),
        start_(port.start_),
        in_service_(&port.in_service_),
        size_(port.in_service_size_),
        may_be_marked_(PortBase::may_be_marked(port.in_service_)),
        queued_(port.queued_bytes_),
        queue_max_(port.interval_.queue_max),
        deepest_(port.deepest_),
        data_there_(port.data_.size()),
        control_there_(port.control_.size()),
        data_held_(data_there_),
        control_held_(control_there_) {}

  [[nodiscard, gnu::always_inline]] bool is_special(PlaceAndKind what) const {
    return what.is_special() || data_.is_full() || control_.is_full();
  }

  [[gnu::always_inline]] void serve(const SimPacket& packet, std::int64_t bytes, bool markable,
                                    Instant now) {
    in_service_ = &packet;
    size_ = bytes;
    may_be_marked_ = markable;
    start_ = now;
    done_ = now + port_.wire.byte_time(bytes);
  }

  [[gnu::always_inline]] void accept(const NotedArrival& arrival) {
    const std::int64_t bytes = arrival.what.size(rules_);
    const bool is_control = arrival.what.is_control();
    arrived_ += is_control ? 0 : bytes;
    if (done_ == Instant::never()) {
      serve(arrival.what.packet(), bytes, !is_control, arrival.time);
    } else if (is_control && rules_.control_priority) {
      control_.push(arrival.what);
    } else if (queued_ + bytes > rules_.queue_limit) [[unlikely]] {
      fingerprint_.add(arrival.what.packet(), arrival.time);
      ++drops_.queue;
      ++port_.interval_.drops;
    } else {
      queued_ += bytes;
      queue_max_ = std::max(queue_max_, queued_);
      data_.push(arrival.what);
    }
  }

  [[gnu::always_inline]] void depart() {
    const Instant now = done_;
    carried_ += size_;
    Wire& wire = port_.wire;
    SimPacket& under_way = context_.send(wire, *in_service_, now + wire.latency);
    ++context_.packet_hops;
    if (queued_ > rules_.kmin && may_be_marked_ && port_.draw_mark(rules_, queued_)) [[unlikely]] {
      under_way.mark(wire.last_hop);
      ++port_.marks_;
      ++port_.interval_.marks;
      fingerprint_.add(*in_service_, now);
    }
    if (control_held_ > 0) {
      serve(port_.control_[control_there_ - control_held_--], rules_.control_size, false, now);
    } else if (!control_.empty()) {
      serve(control_.pop().packet(), rules_.control_size, false, now);
    } else if (queued_ > 0) {
      deepest_ = std::max(deepest_, queued_);
      if (data_held_ > 0) {
        const SimPacket& next = port_.data_[data_there_ - data_held_--];
        serve(next, rules_.wire_size(next), PortBase::may_be_marked(next), now);
      } else {
        const PlaceAndKind next = data_.pop();
        serve(next.packet(), next.size(rules_), !next.is_control(), now);
      }
      queued_ -= size_;
    } else {
      done_ = Instant::never();
    }
  }

  /// The port is again as it describes itself. First what is in service: something may come to where it lies.
  [[gnu::always_inline]] void finish() {
    if (done_ != Instant::never() && in_service_ != &port_.in_service_)
      port_.in_service_ = *in_service_;
    port_.done_ = done_;
    port_.start_ = start_;
    port_.in_service_size_ = size_;
    port_.queued_bytes_ = queued_;
    port_.deepest_ = deepest_;
    port_.interval_.queue_max = queue_max_;
    port_.interval_.arrived += arrived_;
    port_.interval_.carried += carried_;
    put_back(port_.data_, data_there_ - data_held_, data_);
    put_back(port_.control_, control_there_ - control_held_, control_);
  }
  static void put_back(PacketRing& ring, std::uint32_t taken, Waiting& waiting) {
    ring.pop(taken);
    if (waiting.empty()) return;
    if (ring.empty()) ring.rewind();
    while (!waiting.empty()) ring.push(waiting.pop().packet());
  }

  PortBase& port_;
  const PortRules& rules_;
  WindowContext& context_;
  Fingerprint& fingerprint_;
  DropCounts& drops_;

  Instant done_;
  Instant start_;
  const SimPacket* in_service_;
  std::int64_t size_;
  bool may_be_marked_;
  std::int64_t queued_;
  std::int64_t queue_max_;
  std::int64_t deepest_;
  std::int64_t arrived_ = 0;
  std::int64_t carried_ = 0;
  const std::uint32_t data_there_;  ///< in the port's queue before this window
  const std::uint32_t control_there_;
  std::uint32_t data_held_;  ///< of that, what still waits
  std::uint32_t control_held_;
  Waiting data_;
  Waiting control_;
};

}  // namespace strack::sim
