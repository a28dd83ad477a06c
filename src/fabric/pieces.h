// The user's memory, in a few pieces.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace strack::fabric {

inline constexpr std::size_t kMostPieces = 4;

/// Lengths that no memory has stay longer than any, and do not come round to short ones.
[[nodiscard]] constexpr std::size_t sum_of(std::size_t a, std::size_t b) {
  return a > ~std::size_t{0} - b ? ~std::size_t{0} : a + b;
}
[[nodiscard]] constexpr std::size_t product_of(std::size_t a, std::size_t b) {
  return b != 0 && a > ~std::size_t{0} / b ? ~std::size_t{0} : a * b;
}

class Pieces {
 public:
  Pieces() = default;
  Pieces(const iovec* iov, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) add(iov[i].iov_base, iov[i].iov_len);
  }
  Pieces(void* bytes, std::size_t size) { add(bytes, size); }

  void add(void* bytes, std::size_t size) {
    if (size == 0 || count_ == kMostPieces) return;
    pieces_[count_++] = {static_cast<std::byte*>(bytes), size};
    total_ = sum_of(total_, size);
  }
  [[nodiscard]] std::size_t size() const { return total_; }
  [[nodiscard]] void* first() const { return count_ > 0 ? pieces_[0].data() : nullptr; }
  [[nodiscard]] bool contiguous() const { return count_ <= 1; }
  [[nodiscard]] std::span<const std::span<std::byte>> all() const {
    return {pieces_.data(), count_};
  }
  /// The same memory, for those who only read it.
  [[nodiscard]] std::array<std::span<const std::byte>, kMostPieces> to_read() const {
    std::array<std::span<const std::byte>, kMostPieces> out;
    std::copy(pieces_.begin(), pieces_.end(), out.begin());
    return out;
  }
  /// As many of its bytes as there are of these.
  [[nodiscard]] Pieces part(std::size_t offset, std::size_t length) const {
    Pieces out;
    for (const std::span<std::byte> piece : all()) {
      const std::size_t skipped = std::min(offset, piece.size());
      const std::size_t taken = std::min(length, piece.size() - skipped);
      out.add(piece.data() + skipped, taken);
      offset -= skipped;
      length -= taken;
    }
    return out;
  }
  /// All of it, where it is contiguous.
  [[nodiscard]] std::span<std::byte> whole() const {
    return count_ > 0 ? pieces_[0] : std::span<std::byte>();
  }

  void copy_to(std::byte* to) const {
    for (std::size_t i = 0; i < count_; ++i) {
      std::memcpy(to, pieces_[i].data(), pieces_[i].size());
      to += pieces_[i].size();
    }
  }
  /// As many of these bytes as there is room for behind the first `offset`.
  void fill(std::size_t offset, std::span<const std::byte> from) const {
    for (std::size_t i = 0; i < count_ && !from.empty(); ++i) {
      const std::span<std::byte> piece = pieces_[i];
      if (offset >= piece.size()) {
        offset -= piece.size();
        continue;
      }
      const std::size_t n = std::min(piece.size() - offset, from.size());
      std::memcpy(piece.data() + offset, from.data(), n);
      from = from.subspan(n);
      offset = 0;
    }
  }

 private:
  std::array<std::span<std::byte>, kMostPieces> pieces_{};
  std::size_t count_ = 0;
  std::size_t total_ = 0;
};

}  // namespace strack::fabric
