// A FIFO of packets that grows to what it once needed and stays there.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "base/check.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

class PacketRing {
 public:
  PacketRing() = default;
  PacketRing(const PacketRing&) = delete;
  PacketRing& operator=(const PacketRing&) = delete;
  ~PacketRing() { std::free(data_); }

  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::uint32_t size() const { return tail_ - head_; }

  void push(const SimPacket& packet) {
    if (tail_ - head_ == capacity_) grow();
    data_[tail_++ & (capacity_ - 1)] = packet;
  }
  [[nodiscard]] const SimPacket& front() const { return data_[head_ & (capacity_ - 1)]; }
  void pop() { ++head_; }
  /// The packet so many places behind the front.
  [[nodiscard]] const SimPacket& operator[](std::uint32_t i) const {
    return data_[(head_ + i) & (capacity_ - 1)];
  }

 private:
  void grow() {
    const std::uint32_t capacity = capacity_ == 0 ? 16 : capacity_ * 2;
    auto* data = static_cast<SimPacket*>(std::malloc(capacity * sizeof(SimPacket)));
    STRACK_CHECK(data != nullptr);
    const std::uint32_t held = size();
    for (std::uint32_t i = 0; i < held; ++i) data[i] = data_[(head_ + i) & (capacity_ - 1)];
    std::free(data_);
    data_ = data;
    capacity_ = capacity;
    head_ = 0;
    tail_ = held;
  }

  SimPacket* data_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

}  // namespace strack::sim
