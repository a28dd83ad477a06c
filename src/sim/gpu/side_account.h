// The account of a lossless switch's buffer, kept by several threads at once: a sum for each port, to which any of them
// adds.
#pragma once

#include <cstdint>

#include "sim/gpu/atomics.h"
#include "sim/net/shared_buffer.h"

namespace strack::sim::gpu {

/// SharedBuffer's add() and release() by one of several threads. What each change of a port's bytes does to what is
/// shared follows from what was there before it, so the sum is right in whatever order they come.
class SideAccount {
 public:
  explicit SideAccount(SharedBuffer& buffer) : buffer_(buffer) {}

  void add(std::uint32_t port, std::int64_t size) { change(port, size); }
  void release(std::uint32_t port, std::int64_t size) { change(port, -size); }
  void close() {
    if (shared_ != 0) fetch_add(buffer_.shared_sum(), shared_);
  }

 private:
  void change(std::uint32_t port, std::int64_t by) {
    const std::int64_t before = fetch_add(buffer_.bytes_at(port), by);
    shared_ += buffer_.shared_of(before + by) - buffer_.shared_of(before);
  }

  SharedBuffer& buffer_;
  std::int64_t shared_ = 0;
};

}  // namespace strack::sim::gpu
