// Which way a host's questions and answers go, whatever its transport, where paths may be dead [D41].
//
// Data teaches a sender which paths live; who sends only answers learns nothing from them. So what is
// repeated until it is answered, and the answers, go by turns by the path that proved last to work and
// by any. Any is drawn, not in rotation: where a question and its answer each need their own, two
// rotations could miss each other for ever.
//
// An acknowledgement takes the number of the packet's path. But whoever asks again has perhaps not heard
// the last ones: for a while they go by turns so and as other answers do, and where no way back is known by several at
// once, with pings that seek one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/prng.h"
#include "base/units.h"
#include "core/packet.h"

namespace strack::core {

class ControlPaths {
 public:
  static constexpr Picoseconds kProofLasts =
      seconds(1);  ///< that a way leads back; it may have died since
  static constexpr Picoseconds kAstray = seconds(1);  ///< after somebody has asked again
  static constexpr std::uint32_t kWaysBack = 8;       ///< at once, where none is known
  /// [D120] To a probe where one came before and nothing new since: a way that is known may have died. Copies that come
  /// soon after it are answered by one.
  static constexpr std::uint32_t kWaysOfAnswer = 8;
  static constexpr Picoseconds kSeekEvery = ms(5);
  /// [D168] Pings that came soon after each other, while no way back was known, until the answer to one goes several ways.
  static constexpr std::uint32_t kPingsInVain = 4;

  constexpr ControlPaths() = default;
  /// `salt` is another one for each end of a connection.
  constexpr ControlPaths(std::uint32_t paths, std::uint32_t salt)
      : paths_(paths), draws_(mix64(salt)) {}

  /// Something has arrived by this path, as the peer says.
  constexpr void works(PathId path, Instant now) {
    proven_ = path;
    proven_until_ = now + kProofLasts;
  }
  /// For the next question or answer.
  [[nodiscard]] constexpr PathId next(Instant now) {
    ask_proven_ = !ask_proven_;
    if (ask_proven_ && knows_way(now) && proven_ < paths_) return proven_;
    return static_cast<PathId>(((mix64(++draws_) >> 32) * paths_) >> 32);
  }

  /// By a packet that had come before.
  constexpr void asked_again(Instant now) {
    again_ = true;
    astray_until_ = now + kAstray;
  }
  /// By a probe, whose sender has heard nothing for a while.
  constexpr void probed(Instant now) {
    asked_again(now);
    if (std::exchange(asked_before_, true) && now >= several_at_) {
      probed_ = true;
      several_at_ = now + kSeekEvery;
    }
  }
  /// Something new has come.
  constexpr void came() { asked_before_ = false; }
  /// [D168] How many ways the answer to a ping goes. Who asks again and again has perhaps heard no answer.
  [[nodiscard]] constexpr std::uint32_t of_pong(Instant now) {
    const Picoseconds since = now - pinged_at_;
    if (since < kSeekEvery) return 1;
    pinged_at_ = now;
    in_vain_ = since < kAstray && !knows_way(now) ? std::min(in_vain_ + 1, kPingsInVain) : 0;
    return in_vain_ == kPingsInVain ? std::min(kWaysBack, paths_) : 1;
  }
  /// How the next acknowledgement goes.
  struct Route {
    bool as_packet;  ///< by the number of the packet's path; else each copy by next()
    std::uint32_t copies;
    std::uint32_t pings;  ///< to be sent besides
  };
  [[nodiscard]] constexpr Route of_ack(Instant now) {
    const bool lost = again_ && !knows_way(now);
    const bool probed = std::exchange(probed_, false);
    again_ = false;
    if (now >= astray_until_) return {true, 1, 0};
    if (probed && !lost) return {false, std::min(kWaysOfAnswer, paths_), 0};
    if (!lost) return {as_packet_ = !as_packet_, 1, 0};  // [D130]
    const std::uint32_t ways = std::min(kWaysBack, paths_);
    if (now < seek_at_) return {false, ways, 0};
    seek_at_ = now + kSeekEvery;
    return {false, ways, ways};
  }
  [[nodiscard]] constexpr std::uint32_t count() const { return paths_; }

 private:
  [[nodiscard]] constexpr bool knows_way(Instant now) const { return now < proven_until_; }

  std::uint32_t paths_ = 1;
  std::uint64_t draws_ = 0;
  Instant proven_until_{};
  Instant astray_until_{};
  Instant seek_at_{};
  PathId proven_ = 0;
  bool ask_proven_ = false;
  bool as_packet_ = false;  ///< the last one went so, while astray
  bool again_ = false;
  bool probed_ = false;
  bool asked_before_ = false;  ///< by a probe, since something new came
  Instant several_at_{};       ///< when the next answer may go several ways
  Instant pinged_at_{};        ///< [D168] when the last ping came that counts
  std::uint32_t in_vain_ = 0;  ///< those before it that were perhaps not answered
};

}  // namespace strack::core
