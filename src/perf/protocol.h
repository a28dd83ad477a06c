// What `strack perf client` and `strack perf server` say to each other: the only coder and decoder of
// "What the two say to each other" in docs/udp-tools.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace strack::perf {

/// What endpoints of `strack perf` tell their peers as user data: "STRKPF", version 2.
inline constexpr std::uint64_t kService = 0x5354'524b'5046'0002;
inline constexpr std::uint64_t kControlTag = 1;
inline constexpr std::uint64_t kDataTag = 2;
inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kMaxDepth = 1024;

enum class Pattern : std::uint8_t { stream = 1, pingpong = 2, write = 3 };
[[nodiscard]] const char* text(Pattern pattern);
enum class Say : std::uint8_t {
  request = 1,
  ready = 2,
  finish = 3,
  report = 4,
  refuse = 5,
  go = 6,  ///< to a server that is to send
};

/// All of them have the same shape: type, code, two reserved bytes, and four numbers in network order.
struct Words {
  Say type = Say::request;
  std::uint8_t code = 0;  ///< request: the pattern
  std::array<std::uint64_t, 4> numbers{};
  friend bool operator==(const Words&, const Words&) = default;
};
inline constexpr std::size_t kWordsBytes = 4 + 4 * 8;
using WordsBuffer = std::array<std::byte, kWordsBytes>;

[[nodiscard]] WordsBuffer encode(const Words& words);
/// Nothing for what no encoder makes.
[[nodiscard]] std::optional<Words> decode(std::span<const std::byte> in);

}  // namespace strack::perf
