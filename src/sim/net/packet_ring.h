// A FIFO, of packets mostly, that grows to what it once needed and stays there.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include "sim/net/fetch_ahead.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

template <class T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() { ::operator delete(data_); }

  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::uint32_t size() const { return tail_ - head_; }

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    std::vector<T> items;
    if constexpr (!Archive::kLoads) {
      for (std::uint32_t i = 0; i < size(); ++i) items.push_back((*this)[i]);
    }
    a(items);
    if constexpr (Archive::kLoads) {
      for (const T& item : items) push(item);
    }
  }

  void push(const T& item) {
    if (tail_ - head_ == capacity_) grow();
    data_[tail_++ & (capacity_ - 1)] = item;
  }
  /// Room for so many more, to be filled in: the first is as many places behind the front as there were items.
  void extend(std::uint32_t items) {
    while (capacity_ - size() < items) grow();
    tail_ += items;
  }
  /// For who has others fill it in: the memory, and where an item so many places behind the front lies in it.
  [[nodiscard]] T* memory() { return data_; }
  [[nodiscard]] std::uint32_t place(std::uint32_t i) const { return head_ + i; }
  [[nodiscard]] std::uint32_t place_mask() const { return capacity_ - 1; }
  [[nodiscard]] const T& front() const { return data_[head_ & (capacity_ - 1)]; }
  void pop() { ++head_; }
  void pop(std::uint32_t items) { head_ += items; }
  /// Of an empty one: what comes goes to its first places, which were used last.
  void rewind() { head_ = tail_ = 0; }
  /// The first so many will be wanted soon.
  void fetch_ahead(std::uint32_t items) const {
    constexpr std::uint32_t kPerLine = sizeof(T) < 64 ? 64 / sizeof(T) : 1;
    for (std::uint32_t i = 0; i < items && i < size(); i += kPerLine) fetch_line_ahead(&(*this)[i]);
  }
  /// The item so many places behind the front.
  [[nodiscard]] const T& operator[](std::uint32_t i) const {
    return data_[(head_ + i) & (capacity_ - 1)];
  }

 private:
  void grow() {
    const std::uint32_t capacity = capacity_ == 0 ? 16 : capacity_ * 2;
    auto* data = static_cast<T*>(::operator new(capacity * sizeof(T)));
    const std::uint32_t held = size();
    for (std::uint32_t i = 0; i < held; ++i) data[i] = data_[(head_ + i) & (capacity_ - 1)];
    ::operator delete(data_);
    data_ = data;
    capacity_ = capacity;
    head_ = 0;
    tail_ = held;
  }

  T* data_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

using PacketRing = Ring<SimPacket>;

}  // namespace strack::sim
