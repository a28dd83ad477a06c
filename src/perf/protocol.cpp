#include "perf/protocol.h"

namespace strack::perf {

const char* text(Pattern pattern) {
  static constexpr std::array kNames{"", "stream", "pingpong", "write"};
  return kNames[static_cast<std::size_t>(pattern)];
}

const char* text(Direction direction) {
  static constexpr std::array kNames{"", "reverse ", "both ways "};
  return kNames[static_cast<std::size_t>(direction)];
}

WordsBuffer encode(const Words& words) {
  WordsBuffer out{};
  out[0] = static_cast<std::byte>(words.type);
  out[1] = static_cast<std::byte>(words.code);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 8; ++j)
      out[4 + 8 * i + j] = static_cast<std::byte>(words.numbers[i] >> (56 - 8 * j));
  }
  return out;
}

std::optional<Words> decode(std::span<const std::byte> in) {
  if (in.size() != kWordsBytes || in[2] != std::byte{0} || in[3] != std::byte{0})
    return std::nullopt;
  const auto type = std::to_integer<std::uint8_t>(in[0]);
  if (type < 1 || type > 7) return std::nullopt;
  Words words{static_cast<Say>(type), std::to_integer<std::uint8_t>(in[1]), {}};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 8; ++j)
      words.numbers[i] =
          (words.numbers[i] << 8) | std::to_integer<std::uint64_t>(in[4 + 8 * i + j]);
  }
  return words;
}

}  // namespace strack::perf
