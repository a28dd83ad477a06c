#include "perf/protocol.h"

#include <algorithm>

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
  if (type < 1 || type > 8) return std::nullopt;
  Words words{static_cast<Say>(type), std::to_integer<std::uint8_t>(in[1]), {}};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 8; ++j)
      words.numbers[i] =
          (words.numbers[i] << 8) | std::to_integer<std::uint64_t>(in[4 + 8 * i + j]);
  }
  return words;
}

Words path_words(const udp::PathStatistics& path) {
  const auto two = [](std::uint64_t high, std::uint64_t low) {
    return std::min<std::uint64_t>(high, UINT32_MAX) << 32 |
           std::min<std::uint64_t>(low, UINT32_MAX);
  };
  return {Say::path,
          0,
          {two(path.path, path.lost), path.packets, two(path.sacks, path.marks),
           two(path.rtt_ns, path.lowest_rtt_ns)}};
}

udp::PathStatistics path_of(const Words& words) {
  const auto high = [&](std::size_t i) { return words.numbers[i] >> 32; };
  const auto low = [&](std::size_t i) { return words.numbers[i] & UINT32_MAX; };
  udp::PathStatistics path;
  path.path = static_cast<std::uint32_t>(high(0));
  path.lost = low(0);
  path.packets = words.numbers[1];
  path.sacks = high(2);
  path.marks = low(2);
  path.rtt_ns = high(3);
  path.lowest_rtt_ns = low(3);
  return path;
}

}  // namespace strack::perf
