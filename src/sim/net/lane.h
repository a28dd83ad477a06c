// One directed link's packets under way, handed from the sending node to the receiving one between
// windows.
//
// Two buffers: during window k the sender writes the one that the receiver will read in window k
// + 1. Each is written by one node and read by one other, never in the same window, so there is no
// lock and no atomic. Whether a buffer holds anything new is told by the number of the window it was
// written in.
//
// Where a buffer lies: what a receiver has read it may put by (lane_store.h), and whoever sends next
// writes there, in memory that is near by then. A lane that nobody takes it from keeps what it has.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "sim/net/fetch_ahead.h"
#include "sim/net/lane_store.h"
#include "sim/net/transit.h"

namespace strack::sim {

class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    for (Buffer& b : buffers_) {
      if (b.capacity != 0) ::operator delete(b.data);
    }
  }

  /// Appends a packet in window k and gives the slot to fill. Times must not decrease. `first`
  /// tells whether it is the window's first; room comes from the store, if there is one.
  [[gnu::always_inline]] Transit& push(std::uint64_t window, bool& first,
                                       LaneStore* store = nullptr) {
    Buffer& b = buffers_[(window + 1) & 1];
    first = b.window != window;
    if (first) {
      b.window = window;
      b.size = 0;
    }
    if (b.size == b.capacity) [[unlikely]]
      grow(b, store);
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
    while (b.capacity - b.size < count) grow(b, nullptr);
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
    while (b.capacity - b.size < count) grow(b, nullptr);
    std::memcpy(static_cast<void*>(b.data + b.size), transits, count * sizeof(Transit));
    b.size += count;
  }
  /// Reads what was written in window k elsewhere where it lies, on a lane that nobody writes here.
  void look_at(std::uint64_t window, const Transit* transits, std::uint32_t count) {
    Buffer& b = buffers_[(window + 1) & 1];
    STRACK_CHECK(b.capacity == 0 && b.window != window);
    b.data = const_cast<Transit*>(transits);  // without capacity nothing is written there
    b.window = window;
    b.size = count;
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

  /// What this window was to read has been read: the room goes to the store.
  void put_by(std::uint64_t window, LaneStore& store) {
    Buffer& b = buffers_[window & 1];
    if (b.window != window - 1 || b.capacity == 0) return;
    store.put(b.data, b.capacity);
    b.usual = b.capacity;
    b.data = nullptr;
    b.capacity = 0;
    b.size = 0;
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
  void fetch_ahead(std::uint64_t window) const { fetch_line_ahead(&buffers_[window & 1]); }
  void fetch_arrivals_ahead(std::uint64_t window) const {
    const std::span<const Transit> ahead = arrivals(window);
    sim::fetch_ahead(ahead.data(), ahead.size_bytes());
  }
  /// Where what this window writes will lie.
  void fetch_room_ahead(std::uint64_t window) const {
    fetch_line_to_write(&buffers_[(window + 1) & 1]);
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
    std::uint32_t capacity = 0;    ///< 0: there is no room, or it is not the lane's
    std::uint32_t usual = kFirst;  ///< so much it had when it was last put by
  };

#ifdef STRACK_GPU_DEVICE
  static constexpr std::uint32_t kFirst = 32;  // there nothing is given back
#else
  static constexpr std::uint32_t kFirst = 16;
  [[gnu::noinline]]  // out of loops over ports
#endif
  /// Grows to what the link can hold in a window, then never again.
  static void grow(Buffer& b, LaneStore* store) {
    const std::uint32_t capacity = b.capacity == 0 ? b.usual : b.capacity * 2;
    Transit* data = LaneStore::room(store, capacity);
    if (b.capacity != 0) {
      std::memcpy(static_cast<void*>(data), b.data, b.capacity * sizeof(Transit));
      LaneStore::put(store, b.data, b.capacity);
    }
    b.data = data;
    b.capacity = capacity;
  }

  std::array<Buffer, 2> buffers_{};
};

/// What was held back, and behind it what has come. Seldom needed, and kept out of loops over ports.
[[nodiscard, gnu::noinline]] inline std::span<const Transit> append(
    std::vector<Transit>& held, std::span<const Transit> arrivals) {
  held.insert(held.end(), arrivals.begin(), arrivals.end());
  return held;
}

}  // namespace strack::sim
