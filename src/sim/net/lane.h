// One directed link's packets under way, handed from the sending node to the receiving one between
// windows.
//
// Two buffers: during window k the sender writes the one that the receiver will read in window k
// + 1. Each is written by one node and read by one other, never in the same window, so there is no
// lock and no atomic. A receiver never writes: whether a buffer holds anything new is told by the
// number of the window it was written in.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/units.h"
#include "sim/net/fetch_ahead.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

/// A packet and when its last bit arrives.
struct Transit {
  Instant time;
  SimPacket packet;
};
static_assert(sizeof(Transit) == 40);

class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    for (Buffer& b : buffers_) ::operator delete(b.data);
  }

  /// Appends a packet in window k and gives the slot to fill. Times must not decrease. `first`
  /// tells whether it is the window's first.
  [[gnu::always_inline]] Transit& push(std::uint64_t window, bool& first) {
    Buffer& b = buffers_[(window + 1) & 1];
    first = b.window != window;
    if (first) {
      b.window = window;
      b.size = 0;
    }
    if (b.size == b.capacity) grow(b);
    return b.data[b.size++];
  }

  /// Appends so many packets at once, and gives the first slot to fill.
  [[nodiscard]] Transit* push_all(std::uint64_t window, std::uint32_t count, bool& first) {
    Buffer& b = buffers_[(window + 1) & 1];
    first = b.window != window;
    if (first) {
      b.window = window;
      b.size = 0;
    }
    while (b.capacity - b.size < count) grow(b);
    Transit* const room = b.data + b.size;
    b.size += count;
    return room;
  }

  /// Appends what was written in window k elsewhere, to a lane that nobody writes here.
  void deposit(std::uint64_t window, const void* transits, std::uint32_t count) {
    Buffer& b = buffers_[(window + 1) & 1];
    if (b.window != window) {
      b.window = window;
      b.size = 0;
    }
    while (b.capacity - b.size < count) grow(b);
    std::memcpy(static_cast<void*>(b.data + b.size), transits, count * sizeof(Transit));
    b.size += count;
  }
  /// What has been written in window k, for one who takes some of it away before anybody reads it.
  [[nodiscard]] std::span<Transit> written(std::uint64_t window) {
    Buffer& b = buffers_[(window + 1) & 1];
    if (b.window != window) return {};
    return {b.data, b.size};
  }
  /// Of that, only the first so many are left.
  void truncate(std::uint64_t window, std::size_t size) {
    buffers_[(window + 1) & 1].size = static_cast<std::uint32_t>(size);
  }

  /// [D117] What the next window reads; nothing else is left between two windows.
  template <class Archive>
  void state(Archive& a, std::uint64_t next) {
    std::vector<Transit> under_way;
    if constexpr (!Archive::kLoads) {
      const std::span<const Transit> ahead = arrivals(next);
      under_way.assign(ahead.begin(), ahead.end());
    }
    a(under_way);
    if (Archive::kLoads && !under_way.empty())
      deposit(next - 1, under_way.data(), static_cast<std::uint32_t>(under_way.size()));
  }

  /// Asks for where what this window reads lies (fetch_ahead.h); and then for that.
  void fetch_ahead(std::uint64_t window) const { __builtin_prefetch(&buffers_[window & 1]); }
  void fetch_arrivals_ahead(std::uint64_t window) const {
    const std::span<const Transit> ahead = arrivals(window);
    sim::fetch_ahead(ahead.data(), ahead.size_bytes());
  }
  /// Where what this window writes will lie.
  void fetch_room_ahead(std::uint64_t window) const {
    __builtin_prefetch(&buffers_[(window + 1) & 1], 1);
  }

  /// What was written in the window before this one.
  [[nodiscard]] std::span<const Transit> arrivals(std::uint64_t window) const {
    const Buffer& b = buffers_[window & 1];
    if (b.window != window - 1) return {};
    return {b.data, b.size};
  }

 private:
  /// On a cache line of its own: one is written while the other is read, by different threads.
  struct alignas(64) Buffer {
    Transit* data = nullptr;
    std::uint64_t window = ~std::uint64_t{0} - 1;  ///< when it was written
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;
  };

  /// Grows to what the link can hold in a window, then never again.
  static void grow(Buffer& b) {
    const std::uint32_t capacity = b.capacity == 0 ? kFirst : b.capacity * 2;
    auto* data = static_cast<Transit*>(::operator new(capacity * sizeof(Transit)));
    if (b.capacity != 0) std::memcpy(data, b.data, b.capacity * sizeof(Transit));
    ::operator delete(b.data);
    b.data = data;
    b.capacity = capacity;
  }

#ifdef STRACK_GPU_DEVICE
  static constexpr std::uint32_t kFirst = 32;  // there nothing is given back
#else
  static constexpr std::uint32_t kFirst = 16;
#endif

  std::array<Buffer, 2> buffers_{};
};

/// What was held back, and behind it what has come. Seldom needed, and kept out of loops over ports.
[[nodiscard, gnu::noinline]] inline std::span<const Transit> append(
    std::vector<Transit>& held, std::span<const Transit> arrivals) {
  held.insert(held.end(), arrivals.begin(), arrivals.end());
  return held;
}

}  // namespace strack::sim
