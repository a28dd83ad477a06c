// Memory that is there when it is touched, and zero. For messages whose bytes nobody looks at.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace strack::perf {

class Arena {
 public:
  explicit Arena(std::size_t size) : size_(size) {
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
  }
  explicit operator bool() const { return memory_ != nullptr; }
  [[nodiscard]] std::span<std::byte> first(std::uint64_t size) const { return {memory_, size}; }

 private:
  std::size_t size_;
  std::byte* memory_;
};

}  // namespace strack::perf
