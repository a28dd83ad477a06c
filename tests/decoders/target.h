// What decoder_storm throws bytes at: each decoder of what strangers send, behind one interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"

namespace strack::decoders {

using Bytes = std::span<const std::uint8_t>;
using Room = std::span<std::uint8_t>;

/// No message is longer; what UDP can carry, and a little more.
inline constexpr std::size_t kLongest = 65'536;

class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Puts some valid message at the start of `room`, which has kLongest bytes; how many it has. A failed check if decoding
  /// it gives anything else than what was encoded.
  virtual std::size_t make(Rng& rng, Room room) = 0;
  /// Decodes any bytes: they are accepted if and only if the documents allow them, and then encode to the same bytes again;
  /// anything else is a failed check. Whether they were accepted. `room` ends where memory does: it has as many bytes as the
  /// message, so that to write one more is a fault.
  virtual bool check(Bytes message, Room room) = 0;
  /// Bits of strings that matter to it.
  [[nodiscard]] virtual std::span<const std::string_view> words() const { return {}; }
  /// What came of it, in a few words: which faults were met, and how often each kind was accepted.
  [[nodiscard]] virtual std::string reached() const = 0;
};

[[nodiscard]] std::unique_ptr<Target> wire_target();      ///< docs/protocol.md
[[nodiscard]] std::unique_ptr<Target> transfer_target();  ///< docs/udp-tools.md, of `cp` and `recv`
[[nodiscard]] std::unique_ptr<Target> perf_target();      ///< docs/udp-tools.md, of `perf`

}  // namespace strack::decoders
