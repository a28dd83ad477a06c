// A connection's keys as its counters grow [D96]. With the extension `rekeying` every 2^24 counters have a key of
// their own, which follows from the one before and not the other way: a packet's counter says by which key it is
// sealed, so both sides change over without a word and without a gap, and who learns a key cannot read what was
// sealed by those before it. A sender goes on to the next key when it likes, by going on to its first counter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/units.h"
#include "udp/crypto.h"

namespace strack::udp {

inline constexpr int kEpochBits = 24;
[[nodiscard]] constexpr std::uint64_t epoch_of(std::uint64_t counter) {
  return counter >> kEpochBits;
}

/// The key of the next epoch.
[[nodiscard]] Secret next_secret(const Secret& secret);

/// One key, and what the next is made of; wiped in the end. `make` before anything else.
class EpochKey {
 public:
  EpochKey() = default;
  EpochKey(EpochKey&& other) noexcept;
  EpochKey& operator=(EpochKey&& other) noexcept;
  ~EpochKey();

  void make(wire::Cipher cipher, const Secret& secret, const SealingLibrary& library);
  [[nodiscard]] EpochKey next() const;
  [[nodiscard]] bool is_made() const { return library_ != nullptr; }
  [[nodiscard]] const SealingKey& key() const { return key_; }

 private:
  SealingKey key_;
  Secret secret_{};
  wire::Cipher cipher_ = wire::kChaCha20Poly1305;
  const SealingLibrary* library_ = nullptr;
};

/// What this side seals with.
class SendingKeys {
 public:
  void start(wire::Cipher cipher, const Secret& secret, const SealingLibrary& library) {
    now_.make(cipher, secret, library);
  }
  /// From the first counter of the next epoch on.
  void advance() { now_ = now_.next(); }

  void seal(std::span<const ToSeal> burst) const { now_.key().seal(burst); }
  void seal(std::uint8_t* packet, std::size_t size, std::uint64_t counter) const {
    now_.key().seal(packet, size, counter);
  }

 private:
  EpochKey now_;
};

/// [D105] A sender goes on to the next key no sooner than this, unless its counters are used up.
inline constexpr Picoseconds kLeastEpoch = ms(10);

enum class Opening : std::uint8_t {
  good,
  replayed,   ///< came before, or too long ago to tell
  forged,     ///< does not open
  hurried,    ///< under a key that is too soon: not even tried
  exhausted,  ///< the same, and so many have not that the key is in danger
};

/// What the peer seals with: the present key, the one before it for packets that were overtaken, and the next.
class OpeningKeys {
 public:
  /// Forgeries that a key bears: the limit for ChaCha20-Poly1305 of RFC 9001, the lower of the two ciphers'.
  static constexpr std::uint64_t kMostForged = std::uint64_t{1} << 36;
  /// How long packets of the epoch before are still opened.
  static constexpr Picoseconds kOvertaken = seconds(3);
  /// [D105] New keys cost more than packets, so a peer gets them at twice the rate at which an honest one asks, and so
  /// many at once, since what was held up on the way comes together.
  static constexpr Picoseconds kPerEpoch = kLeastEpoch / 2;
  static constexpr int kEpochsAtOnce = 16;

  void start(wire::Cipher cipher, const Secret& secret, const SealingLibrary& library,
             bool rekeying, std::uint64_t most_forged = kMostForged);
  /// In place.
  [[nodiscard]] Opening open(std::span<std::uint8_t> datagram, std::uint64_t counter, Instant now);
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] bool has_older() const { return before_.key.is_made(); }

 private:
  struct Epoch {
    EpochKey key;
    ReplayWindow replay;
  };
  [[nodiscard]] Opening open_with(Epoch& epoch, std::span<std::uint8_t> datagram,
                                  std::uint64_t counter);

  Epoch now_;
  Epoch before_;
  Epoch next_;  ///< made beforehand: who claims to use it makes nobody allocate
  std::uint64_t epoch_ = 0;
  Instant drop_before_at_ = Instant::never();
  Instant next_by_{};  ///< when the budget for new keys would be whole again
  std::uint64_t forged_ = 0;
  std::uint64_t most_forged_ = kMostForged;
  bool rekeying_ = false;
};

/// After how much a connection's keys are used up, and it ends. Less than this is for tests.
struct KeyLimits {
  std::uint64_t counters = wire::kCounterLimit;
  std::uint64_t forgeries = OpeningKeys::kMostForged;  ///< of one epoch
};

}  // namespace strack::udp
