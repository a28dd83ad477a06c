// Room for packets under way that nobody needs at the moment: what one node of a worker has read, its next one writes.
//
// So a window writes into memory that has just been read, and is in a near cache; and there is half as much of it as if
// each lane kept room for what it reads and for what it writes. One for each worker. Whoever reads more than it
// writes gives the others of it between windows (even_out).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "sim/net/transit.h"

namespace strack::sim {

class LaneStore {
 public:
  LaneStore() = default;
  LaneStore(const LaneStore&) = delete;
  LaneStore& operator=(const LaneStore&) = delete;
  ~LaneStore() {
    for (Shelf& shelf : shelves_) {
      for (Transit* room : shelf) ::operator delete(room);
    }
  }

  /// Room for so many, a power of two: what was put by last.
  [[nodiscard]] Transit* take(std::uint32_t capacity) {
    Shelf& shelf = shelves_[number_of(capacity)];
    if (shelf.empty()) return make(capacity);
    Transit* const room = shelf.back();
    shelf.pop_back();
    return room;
  }
  void put(Transit* room, std::uint32_t capacity) { shelves_[number_of(capacity)].push_back(room); }

  /// The same where there may be no store.
  [[nodiscard]] static Transit* room([[maybe_unused]] LaneStore* store, std::uint32_t capacity) {
#ifndef STRACK_GPU_DEVICE
    if (store != nullptr) [[likely]]
      return store->take(capacity);
#endif
    return make(capacity);
  }
  static void put([[maybe_unused]] LaneStore* store, Transit* room,
                  [[maybe_unused]] std::uint32_t capacity) {
#ifndef STRACK_GPU_DEVICE
    if (store != nullptr) [[likely]]
      return store->put(room, capacity);
#endif
    ::operator delete(room);
  }

  [[nodiscard]] std::size_t count(std::uint32_t capacity) const {
    return shelves_[number_of(capacity)].size();
  }

  /// Between windows: none of them is left with much more than the others.
  template <class Stores>
  static void even_out(const Stores& stores) {
    for (std::size_t n = 0; n < kShelves; ++n) {
      std::size_t all = 0;
      std::size_t most = 0;
      for (const LaneStore* store : stores) {
        all += store->shelves_[n].size();
        most = std::max(most, store->shelves_[n].size());
      }
      const std::size_t fair = all / std::size(stores) + 1;
      if (most > fair + kSlack) share(stores, n, fair);
    }
  }

 private:
  /// Of one size. The room itself is not looked at here: that would be a wait for it.
  using Shelf = std::vector<Transit*>;
  static constexpr std::size_t kShelves = 32;
  static constexpr std::size_t kSlack = 256;

  [[nodiscard]] static std::size_t number_of(std::uint32_t capacity) {
    return static_cast<std::size_t>(std::countr_zero(capacity));
  }
  [[nodiscard]] static Transit* make(std::uint32_t capacity) {
    return static_cast<Transit*>(::operator new(capacity * sizeof(Transit)));
  }
  template <class Stores>
  static void share(const Stores& stores, std::size_t n, std::size_t fair) {
    auto to = std::begin(stores);
    for (LaneStore* from : stores) {
      Shelf& shelf = from->shelves_[n];
      while (shelf.size() > fair) {
        while (to != std::end(stores) && (*to)->shelves_[n].size() >= fair) ++to;
        if (to == std::end(stores)) return;
        (*to)->shelves_[n].push_back(shelf.back());
        shelf.pop_back();
      }
    }
  }

  std::array<Shelf, kShelves> shelves_;
};

}  // namespace strack::sim
