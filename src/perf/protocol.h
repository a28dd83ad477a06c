// What `strack perf client` and `strack perf server` say to each other: the only coder and decoder of
// "What the two say to each other" in docs/udp-tools.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "udp/endpoint.h"

namespace strack::perf {

/// What endpoints of `strack perf` tell their peers as user data: "STRKPF", version 3.
inline constexpr std::uint64_t kService = 0x5354'524b'5046'0003;
inline constexpr std::uint64_t kControlTag = 1;
inline constexpr std::uint64_t kDataTag = 2;
inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kMaxDepth = 1024;
/// Connections of one client, and so of one source at a server [D145].
inline constexpr std::uint32_t kMostOfOneSource = 1000;
inline constexpr std::size_t kMaxPathsTold = 256;  ///< by a server

enum class Pattern : std::uint8_t { stream = 1, pingpong = 2, write = 3 };
[[nodiscard]] const char* text(Pattern pattern);
/// Who sends the messages of a stream.
enum class Direction : std::uint8_t { client = 0, server = 1, both = 2 };
/// In front of a pattern's name: nothing where only the client sends.
[[nodiscard]] const char* text(Direction direction);
enum class Say : std::uint8_t {
  request = 1,
  ready = 2,
  finish = 3,
  report = 4,
  refuse = 5,
  go = 6,      ///< to a server that is to send
  effort = 7,  ///< before the report: what the server has sent, and what all cost it
  path = 8,    ///< before that, if `go` asks for it: what became of its packets on one path
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

/// One path as the server tells of it. Counts beyond 32 bits stay at the largest.
[[nodiscard]] Words path_words(const udp::PathStatistics& path);
[[nodiscard]] udp::PathStatistics path_of(const Words& words);

/// What one side has said on a connection: each kept as it was until it is acknowledged, since it may be sent again.
class Said {
 public:
  /// Its bytes, and the cookie that they are sent with.
  std::pair<std::uint64_t, std::span<const std::byte>> add(const Words& words) {
    const std::uint64_t cookie = next_++;
    return {cookie, kept_.emplace(cookie, encode(words)).first->second};
  }
  /// Acknowledged, or never sent.
  void forget(std::uint64_t cookie) { kept_.erase(cookie); }
  [[nodiscard]] std::size_t size() const { return kept_.size(); }

 private:
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, WordsBuffer> kept_;
};

}  // namespace strack::perf
