// The largest datagram that gets through to a peer: packetisation-layer path MTU discovery in the
// spirit of RFC 8899, for one connection and direction [D43].
//
// A size is raised only by the peer's answer to a probe of that size, and lowered only when packets of
// it are lost and probes of it too, while small ones are answered; or when this host's own device
// refuses it. What routers say (ICMP) counts for nothing: anybody can make that up. A search sends a
// bounded number of probes, and starts again after a while, since paths get wider too.
//
// Sizes are those of UDP payloads. The caller sends a probe when `probe` says so, and tells of answers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/units.h"

namespace strack::udp {

/// Timeouts in a row after which packets are perhaps too large.
inline constexpr std::uint32_t kDoubtfulTimeouts = 3;

class PathMtu {
 public:
  /// What every path is trusted with: 1280 bytes with the headers of IPv6 and UDP, and 32 to spare.
  static constexpr std::uint32_t kBase = 1'200;
  static constexpr std::uint32_t kTries = 3;  ///< probes of one size
  static constexpr std::uint32_t kGap = 32;   ///< what is not worth another probe
  static constexpr Picoseconds kRaiseAfter = seconds(60);
  static constexpr Picoseconds kLeastPatience = ms(50);
  /// Times in a row that only the small one of two probes must have been answered.
  static constexpr std::uint32_t kMissed = 2;

  /// `largest`: what data packets would like to have.
  void start(std::uint32_t largest, Instant now) {
    largest_ = largest;
    size_ = std::min(kBase, largest);
    search(largest + 1, now);
  }

  /// The largest datagram that may be sent.
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t largest() const { return largest_; }
  /// When `probe` wants to be called.
  [[nodiscard]] Instant deadline() const { return deadline_; }

  /// The size of a probe to be sent now, or 0. `rtt`: what an answer takes.
  [[nodiscard]] std::uint32_t probe(Picoseconds rtt, Instant now) {
    if (now < deadline_) return 0;
    if (resting_) search(largest_ + 1, now);
    if (tries_ == kTries) {
      too_large_ = candidate_;
      tries_ = 0;
    }
    if (tries_ == 0) candidate_ = next_candidate();
    if (candidate_ == 0) {
      resting_ = true;
      deadline_ = size_ == largest_ ? Instant::never() : now + kRaiseAfter;
      return 0;
    }
    ++tries_;
    deadline_ = now + std::max(4 * rtt, kLeastPatience);
    return candidate_;
  }

  /// The peer has got a probe of this size.
  void answered(std::uint32_t size, Instant now) {
    if (size <= size_ || size > largest_) return;
    size_ = size;
    too_large_ = std::max(too_large_, size_ + 1);
    tries_ = 0;
    resting_ = false;
    deadline_ = size_ == largest_ ? Instant::never() : now;
  }

  /// This host's own device takes no more than this.
  void limit(std::uint32_t size, Instant now) {
    if (size >= size_) return;
    size_ = size;
    search(size + 1, now);
  }

  // ---- Packets are lost for long: is it their size? ----

  /// Whether to send a small probe and one of size() now, and then to tell of their answers.
  [[nodiscard]] bool doubt(bool first, Instant now) {
    // Neither answered: their path is dead, and that says nothing of sizes. First: what there is is of
    // another time.
    if (first || full_answered_) {
      missed_ = 0;
    } else if (small_answered_) {
      ++missed_;
    }
    small_answered_ = full_answered_ = false;
    if (missed_ >= kMissed && size_ > kBase) {
      const std::uint32_t was = size_;
      size_ = kBase;
      missed_ = 0;
      search(was, now);
      return false;
    }
    return size_ > kBase;
  }
  void small_answered() { small_answered_ = true; }
  void full_answered() { full_answered_ = true; }

 private:
  /// Between what is known to pass and `too_large`.
  void search(std::uint32_t too_large, Instant now) {
    too_large_ = too_large;
    tries_ = 0;
    resting_ = false;
    deadline_ = size_ == largest_ ? Instant::never() : now;
  }
  /// All of it, then what usual links take, then the middle; 0 when nothing is worth it.
  [[nodiscard]] std::uint32_t next_candidate() const {
    if (too_large_ > largest_) return size_ < largest_ ? largest_ : 0;
    if (too_large_ - size_ <= kGap) return 0;
    constexpr std::array<std::uint32_t, 2> kUsual{9'000 - 48, 1'500 - 48};
    for (const std::uint32_t usual : kUsual) {
      if (usual > size_ && usual < too_large_) return usual;
    }
    return size_ + (too_large_ - size_) / 2;
  }

  std::uint32_t size_ = kBase;
  std::uint32_t largest_ = kBase;
  std::uint32_t too_large_ = kBase + 1;  ///< the smallest that did not pass; largest_ + 1: none yet
  std::uint32_t candidate_ = 0;
  std::uint32_t tries_ = 0;  ///< of the candidate
  bool resting_ = true;      ///< a search is over
  bool small_answered_ = false;
  bool full_answered_ = false;
  std::uint32_t missed_ = 0;
  Instant deadline_ = Instant::never();
};

/// [D43] Where the path is too narrow for a data packet, it travels in pieces. A packet is divided in
/// at most 64 blocks of this size, the last perhaps shorter, and a piece is one or more whole blocks.
[[nodiscard]] constexpr std::uint32_t block_bytes(std::uint32_t mtu) { return (mtu + 63) / 64; }
/// The largest pieces for a path that has room for so much payload.
[[nodiscard]] constexpr std::uint32_t piece_bytes(std::uint32_t mtu, std::uint32_t room) {
  const std::uint32_t block = block_bytes(mtu);
  return std::max(room / block, 1u) * block;
}

/// The blocks that a piece covers, as bits; 0 if it is no such piece. `place` and `whole`: where it
/// starts in its packet, and how long that is.
[[nodiscard]] constexpr std::uint64_t blocks_of(std::uint32_t mtu, std::uint32_t whole,
                                                std::uint32_t place, std::uint32_t size) {
  const std::uint32_t block = block_bytes(mtu);
  const bool fits = size > 0 && place % block == 0 && place + size <= whole &&
                    (size % block == 0 || place + size == whole);
  if (!fits) return 0;
  const std::uint32_t first = place / block;
  const std::uint32_t count = (size + block - 1) / block;
  const std::uint64_t bits = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  return bits << first;
}

}  // namespace strack::udp
