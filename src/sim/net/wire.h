// The sending end of a directed link: how long a packet takes to serialise, when it arrives, and
// what may befall it.
//
// Owned by the node that sends on it. Random loss draws from the wire's own stream, so results do
// not depend on threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "base/units.h"
#include "sim/net/lane.h"

namespace strack::sim {

/// A time during which a link carries nothing.
struct Outage {
  Instant from;
  Instant until;
};

/// What went wrong, counted by whoever owns the wire.
struct DropCounts {
  std::uint64_t queue = 0;
  std::uint64_t failure = 0;
  std::uint64_t error = 0;
  std::uint64_t no_route = 0;
  std::uint64_t violation = 0;  ///< [R.pfc.violation] the headroom of a lossless port was full

  [[nodiscard]] std::uint64_t total() const {
    return queue + failure + error + no_route + violation;
  }
};

/// A fingerprint of everything that happened: a sum over events, so that neither the order in which
/// nodes ran nor where windows were cut can show.
class Fingerprint {
 public:
  void add(std::uint64_t what, Instant when) {
    value_ += mix64(what ^ mix64(static_cast<std::uint64_t>(when.ps)));
  }
  void add(const SimPacket& packet, Instant when) { add(packet.w1 ^ mix64(packet.header()), when); }
  void add(const Fingerprint& other) { value_ += other.value_; }
  [[nodiscard]] std::uint64_t value() const { return value_; }
  /// To add another's value to, where several do so at once.
  [[nodiscard]] std::uint64_t& sum() { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// Serialisation time, exact to the picosecond: a product where a byte takes a whole number of
/// them, a quotient elsewhere.
class ByteTime {
 public:
  ByteTime() = default;
  explicit ByteTime(BitsPerSecond rate)
      : rate_(rate), per_byte_(kScale % rate.value == 0 ? kScale / rate.value : 0) {}
  [[nodiscard]] Picoseconds operator()(std::int64_t size) const {
    return {per_byte_ != 0 ? size * per_byte_ : mul_div(size, kScale, rate_.value)};
  }
  [[nodiscard]] BitsPerSecond rate() const { return rate_; }

 private:
  static constexpr std::int64_t kScale = 8'000'000'000'000;
  BitsPerSecond rate_{0};
  std::int64_t per_byte_ = 0;
};

/// A part of a link's rate, and never nothing: parts of parts may come to less than a bit a second.
[[nodiscard]] constexpr BitsPerSecond slowed(Ratio part, BitsPerSecond rate) {
  const BitsPerSecond left = part * rate;
  return left < BitsPerSecond{1} ? BitsPerSecond{1} : left;
}

/// Which nodes have mail, by window. Written by many senders with the same value, read after a
/// barrier.
class MailFlags {
 public:
  explicit MailFlags(std::size_t nodes)
      : flags_{std::vector<std::atomic<std::uint64_t>>(nodes),
               std::vector<std::atomic<std::uint64_t>>(nodes)} {
    for (auto& parity : flags_) {
      for (auto& flag : parity) flag.store(kNever, std::memory_order_relaxed);
    }
  }
  void set(std::uint64_t window, std::uint32_t node) {
    flags_[(window + 1) & 1][node].store(window, std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_mail(std::uint64_t window, std::uint32_t node) const {
    return flags_[window & 1][node].load(std::memory_order_relaxed) == window - 1;
  }
  /// [D117] Who has mail in the next window.
  template <class Archive>
  void state(Archive& a, std::uint64_t next) {
    std::vector<std::uint8_t> some(flags_[0].size());
    for (std::uint32_t node = 0; node < some.size(); ++node) some[node] = has_mail(next, node);
    a.fixed(some);
    for (std::uint32_t node = 0; node < some.size(); ++node) {
      if (some[node] != 0) set(next - 1, node);
    }
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0} - 1;
  std::array<std::vector<std::atomic<std::uint64_t>>, 2> flags_;
};

/// [D87] A time in which a link works badly.
struct Spell {
  Instant from{};
  Instant until = Instant::never();
  Ratio rate{1, 1};  ///< of what it has otherwise
  std::uint64_t loss_threshold = 0;
  std::uint64_t bit_loss_threshold = 0;

  [[nodiscard]] bool holds(Instant start) const { return start >= from && start < until; }
};

struct Wire {
  Lane* lane = nullptr;
  std::uint32_t peer = 0;  ///< the node at the other end
  bool last_hop = false;   ///< which is a host: nothing comes after
  ByteTime byte_time;
  Picoseconds latency{0};
  std::uint64_t loss_threshold = 0;      ///< a packet is lost when a draw falls below; 0: never
  std::uint64_t bit_loss_threshold = 0;  ///< the same per wire byte
  std::uint64_t rng = 0;
  const std::vector<Outage>* outages = nullptr;  ///< null: none, ever
  const std::vector<Spell>* spells = nullptr;    ///< null: it is always as above

  /// [D117] What changes of it.
  template <class Archive>
  void state(Archive& a) {
    a(rng);
  }

  /// How long a packet that begins to leave then takes to leave.
  [[nodiscard]] Picoseconds time_to_send(std::int64_t size, Instant start) const {
    if (spells == nullptr) [[likely]]
      return byte_time(size);
    return time_in_spells(size, start);
  }

  /// Is a packet whose serialisation starts then, and whose last bit arrives then, lost to an
  /// outage?
  [[nodiscard]] bool is_cut(Instant start, Instant arrival) const {
    if (outages == nullptr) return false;
    for (const Outage& o : *outages) {
      if (start < o.until && arrival >= o.from) return true;
    }
    return false;
  }
  /// Draws whether this packet, which began to leave then, falls to random loss or bit errors.
  [[nodiscard]] bool is_corrupted(std::int64_t size, Instant start) {
    if (spells != nullptr) [[unlikely]] {
      for (const Spell& spell : *spells) {
        if (spell.holds(start) && draw(size, spell.loss_threshold, spell.bit_loss_threshold))
          return true;
      }
    }
    return draw(size, loss_threshold, bit_loss_threshold);
  }

 private:
  [[nodiscard]] bool draw(std::int64_t size, std::uint64_t loss, std::uint64_t bit_loss) {
    if ((loss | bit_loss) == 0) return false;
    rng = rng * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
    const std::uint64_t drawn = mix64(rng);
    std::uint64_t threshold = 0;
    if (__builtin_mul_overflow(bit_loss, static_cast<std::uint64_t>(size), &threshold)) return true;
    return drawn < loss || (threshold != 0 && mix64(drawn) < threshold);
  }
  [[nodiscard]] Picoseconds time_in_spells(std::int64_t size, Instant start) const {
    BitsPerSecond rate = byte_time.rate();
    for (const Spell& spell : *spells) {
      if (spell.holds(start)) rate = slowed(spell.rate, rate);
    }
    return ByteTime(rate)(size);
  }
};

/// What a node needs to know about the window it runs in, and what it reports back.
struct WindowContext {
  std::uint64_t window = 0;
  Instant end{};
  MailFlags* mail = nullptr;
  LaneStore* store = nullptr;  ///< where lanes' room is while nobody needs it; null: they keep it
  Instant next_event = Instant::never();  ///< the earliest arrival sent from here in this window
  std::uint64_t packet_hops = 0;

  /// Puts a packet on a wire; gives the copy under way, so that the caller may mark it.
  [[gnu::always_inline]] SimPacket& send(Wire& wire, const SimPacket& packet, Instant arrival) {
    bool first = false;
    Transit& transit = wire.lane->push(window, first, store);
    if (first) {
      mail->set(window, wire.peer);
      if (arrival < next_event) next_event = arrival;
    }
    transit.time = arrival;
    transit.packet = packet;
    return transit.packet;
  }
  /// Room for so many at once, in order of time; `arrival` is the first one's.
  [[nodiscard]] Transit* send_all(Wire& wire, std::uint32_t count, Instant arrival) {
    bool first = false;
    Transit* const room = wire.lane->push_all(window, count, first);
    if (first) {
      mail->set(window, wire.peer);
      if (arrival < next_event) next_event = arrival;
    }
    packet_hops += count;
    return room;
  }
};

}  // namespace strack::sim
