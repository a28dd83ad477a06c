// The wire format of protocol buffers, as far as reading needs it: a row of fields, each a number and
// a value. Nothing is allocated; whatever does not fit into what is left ends the reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace strack::workload {

struct WireField {
  std::uint32_t number = 0;
  enum class Kind : std::uint8_t { number, bytes } kind = Kind::number;
  std::uint64_t value = 0;  ///< varint, 32 or 64 bits
  std::string_view bytes;   ///< of a length-delimited field
};

class WireReader {
 public:
  /// `offset` is where the bytes begin in their file.
  explicit WireReader(std::string_view bytes, std::uint64_t offset = 0)
      : rest_(bytes), offset_(offset) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  [[nodiscard]] std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      if (i == 9 && byte > 1) return std::nullopt;  // more than 64 bits
      value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
      if ((byte & 0x80) == 0) {
        skip(i + 1);
        return value;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string_view> delimited() {
    const std::optional<std::uint64_t> length = varint();
    if (!length || *length > rest_.size()) return std::nullopt;
    const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(*length));
    skip(bytes.size());
    return bytes;
  }
  [[nodiscard]] std::optional<std::uint64_t> fixed(std::size_t bytes) {
    if (rest_.size() < bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    skip(bytes);
    return value;
  }
  /// The next field; nothing where the bytes are none, groups among them (nobody writes those).
  [[nodiscard]] std::optional<WireField> field() {
    const std::optional<std::uint64_t> key = varint();
    if (!key || (*key >> 3) == 0 || (*key >> 3) >= std::uint64_t{1} << 29) return std::nullopt;
    WireField field;
    field.number = static_cast<std::uint32_t>(*key >> 3);
    std::optional<std::uint64_t> value;
    switch (*key & 7) {
      case 0:
        value = varint();
        break;
      case 1:
        value = fixed(8);
        break;
      case 5:
        value = fixed(4);
        break;
      case 2: {
        const std::optional<std::string_view> bytes = delimited();
        if (!bytes) return std::nullopt;
        field.kind = WireField::Kind::bytes;
        field.bytes = *bytes;
        return field;
      }
      default:
        return std::nullopt;
    }
    if (!value) return std::nullopt;
    field.value = *value;
    return field;
  }

 private:
  void skip(std::size_t bytes) {
    rest_.remove_prefix(bytes);
    offset_ += bytes;
  }

  std::string_view rest_;
  std::uint64_t offset_;
};

}  // namespace strack::workload
