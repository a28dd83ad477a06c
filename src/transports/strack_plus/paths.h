// Which entropy the next packet takes. Owned by the sender, asked once per packet.
//
// Entropies that a packet came through without a mark wait in a ring and are used once each, the oldest first: as
// long as acknowledgements are clean, a connection keeps the entropies it has and tries no others. When the ring is
// empty a rotation over all of them goes on, past those that were marked and those whose last packet was not answered.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/bitmap.h"
#include "base/units.h"
#include "core/packet.h"
#include "transports/strack/path_selector.h"
#include "transports/strack_plus/params.h"

namespace strack::core {

class PlusPaths {
 public:
  constexpr PathId next(const PlusParams& params, const Departure& packet) {
    return next(params, packet.cwnd_packets, packet.now);
  }
  constexpr PlusPaths() = default;
  /// [D131] Its rotation begins behind this one, and not where all others' do.
  constexpr explicit PlusPaths(std::uint8_t start) : rotation_(start) {}

  /// [D146] Before the first packet, by a host that knows of marks.
  constexpr void begin_with(const Bitmap<kMaxPaths>& marked) { marked_ = marked; }

  /// The entropy for a packet, given the window in packets.
  constexpr PathId next(const PlusParams& params, std::uint32_t cwnd_packets, Instant now) {
    if (params.avoid && now >= forget_at_) {  // [PLUS.avoid.forget]
      unanswered_.clear_all();
      forget_at_ = now + params.avoid_for;
    }
    const PathId path = waiting_ > 0 ? take_oldest() : rotate(params, cwnd_packets);
    if (params.avoid) unanswered_.set(path);
    return path;
  }

  /// This one, since others of its burst go by it.
  constexpr PathId take(const PlusParams& params, PathId path) {
    if (params.avoid) unanswered_.set(path);
    return path;
  }

  /// A packet came through by it. `sparse`: of a connection that has few under way.
  constexpr void feedback(const PlusParams& params, PathId path, bool ecn, bool sparse = false) {
    unanswered_.clear(path);
    if (ecn) {
      marked_.set(path);
      if (params.ring == 0) waiting_ = 0;  // [A2.L4]
      return;
    }
    marked_.clear(path);
    const std::uint32_t places =
        params.ring == 0 || sparse ? 1 : params.ring;  // [PLUS.ring.sparse]
    while (waiting_ >= places) take_oldest();          // [PLUS.ring] the newest are kept
    ring_[(first_ + waiting_) % PlusParams::kRing] = static_cast<std::uint8_t>(path);
    ++waiting_;
  }

  /// [PLUS.timeout] What was believed has been wrong.
  constexpr void fall_silent() {
    waiting_ = 0;
    unanswered_.clear_all();
    marked_.clear_all();
  }

  static constexpr bool kRemembers = false;  ///< what became of single packets

  [[nodiscard]] constexpr std::uint32_t waiting() const { return waiting_; }
  [[nodiscard]] constexpr bool is_marked(PathId path) const { return marked_.test(path); }
  [[nodiscard]] constexpr bool is_unanswered(PathId path) const { return unanswered_.test(path); }
  [[nodiscard]] constexpr std::uint32_t marked() const { return marked_.count(); }
  [[nodiscard]] constexpr std::uint32_t unanswered() const { return unanswered_.count(); }

 private:
  constexpr PathId take_oldest() {
    const PathId path = ring_[first_];
    first_ = static_cast<std::uint8_t>((first_ + 1u) % PlusParams::kRing);
    --waiting_;
    return path;
  }

  /// [PLUS.rotation] The next one that is neither marked nor unanswered, or else not unanswered. As in Algorithm 2
  /// one packet forgives one mark. Where none is left it takes the next.
  constexpr PathId rotate(const PlusParams& params, std::uint32_t cwnd_packets) {
    const std::uint32_t paths =
        params.rotate_all ? params.max_paths : PathSelector::path_count(params, cwnd_packets);
    const std::uint32_t next = (rotation_ + 1u) % paths;
    std::uint32_t found = first_from(next, paths, [this](std::uint32_t from) {
      return marked_.extract64(from) | unanswered_.extract64(from);
    });
    if (found == paths && params.rather_marked)  // [PLUS.avoid.last] a queue rather than no answer
      found = first_from(next, paths,
                         [this](std::uint32_t from) { return unanswered_.extract64(from); });
    if (found == paths) found = next;
    if (found != next) marked_.clear(next);
    rotation_ = static_cast<std::uint8_t>(found);
    return static_cast<PathId>(found);
  }

  /// From `next` on and around, the first of `paths` that `against` says nothing about; `paths`, if there is none.
  /// against(i) has a bit for each of the 64 from i on.
  template <class Against>
  [[nodiscard]] static constexpr std::uint32_t first_from(std::uint32_t next, std::uint32_t paths,
                                                          Against&& against) {
    const std::uint32_t found = first_between(next, paths, against);
    if (found < paths) return found;
    const std::uint32_t wrapped = first_between(0, next, against);
    return wrapped < next ? wrapped : paths;
  }
  template <class Against>
  [[nodiscard]] static constexpr std::uint32_t first_between(std::uint32_t from, std::uint32_t end,
                                                             Against&& against) {
    for (std::uint32_t at = from; at < end; at += 64) {
      const std::uint64_t free = ~against(at);
      if (free == 0) continue;
      return std::min(at + static_cast<std::uint32_t>(std::countr_zero(free)), end);
    }
    return end;
  }

  Bitmap<kMaxPaths> marked_{};
  Bitmap<kMaxPaths>
      unanswered_{};  ///< [PLUS.avoid] a packet was sent by it, and none has come through since
  Instant forget_at_{};
  std::array<std::uint8_t, PlusParams::kRing> ring_{};
  std::uint8_t first_ = 0;
  std::uint8_t waiting_ = 0;
  std::uint8_t rotation_ = 0;
};
static_assert(kMaxPaths == 256, "an entropy has 8 bits");

}  // namespace strack::core
