// Algorithm 2: which path the next packet takes. Owned by the sender, asked once per packet.
//
// The whole congestion state of up to 256 paths is one bit each: marked or not. A clean ACK hands
// its path to the next packet; a marked one sets the path's bit, and the rotation passes over it
// once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bitmap.h"
#include "base/check.h"
#include "core/events.h"
#include "core/packet.h"
#include "core/paths/news.h"
#include "transports/strack/params.h"

namespace strack::core {

/// What a packet is sent for.
enum class Purpose : std::uint8_t {
  news,   ///< for the first time: it may try a path nothing is known of
  again,  ///< after its loss: to lose it once more would cost a timeout
  probe,
  probe_again,  ///< after one that was not answered: what was believed has been wrong
};

/// A packet that wants a path.
struct Departure {
  Purpose purpose = Purpose::news;
  std::uint16_t payload = 0;
  Psn psn;  ///< a data packet's
  std::uint32_t cwnd_packets = 0;
  Instant now{};
};

class PathSelector {
 public:
  // A PathChoice (path_choice.h): Algorithm 2, under the names that any policy has.
  template <class Events>
  constexpr PathId next(const StrackParams& params, const Departure& packet, Events& events) {
    return choose_path(params, packet.cwnd_packets, events);
  }
  /// Of a packet without an answer the paper's bitmap learns nothing.
  constexpr void feedback(const StrackParams& params, PathId path, PathNews news) {
    if (news == PathNews::timed_out) return;
    update_ecn_bitmap(params, news != PathNews::clean, path);
  }
  [[nodiscard]] static constexpr bool remembers() { return false; }
  static constexpr void sent(PathId /*path*/, const Departure& /*packet*/) {}
  static constexpr void arrived(Psn /*psn*/) {}
  static constexpr void lost(const StrackParams& /*params*/, Psn /*psn*/, Instant /*now*/) {}
  static constexpr void fall_silent(const StrackParams& /*params*/) {}
  [[nodiscard]] static constexpr std::uint16_t payload(Psn /*psn*/) { return 0; }
  [[nodiscard]] static constexpr Timestamp sent_at(Psn /*psn*/) { return {}; }

  /// [A2.L2-8] Learns from the echo of one ACK.
  constexpr void update_ecn_bitmap(const StrackParams& params, bool ecn, PathId path_id) {
    STRACK_DCHECK(path_id < params.max_paths);
    if (ecn) {                  // [A2.L3]
      next_path_id_ = kNoPath;  // [A2.L4] [D2] a marked ACK takes back any invitation
      if (uses_bitmap(params)) marked_.set(path_id);  // [A2.L5] [D1]
    } else {                                          // [A2.L6]
      if (recycles(params)) next_path_id_ = path_id;  // [A2.L7]
      marked_.clear(path_id);                         // [A2.L8] [D1]
    }
  }

  /// [A2.L11] The path for one packet, given the window in packets.
  template <class Events>
  constexpr PathId choose_path(const StrackParams& params, std::uint32_t cwnd_packets,
                               Events& events) {
    if (next_path_id_ != kNoPath) {  // [A2.L12] [D2]
      const PathId recycled = next_path_id_;
      if (params.recycle_moves_rotation) rr_ = recycled;  // [A2.L13] [D30]
      next_path_id_ = kNoPath;                            // [A2.L14]
      events.on(PathChosen{recycled, true});
      return recycled;  // [A2.L29]
    }
    // [A2.L15]
    const std::uint32_t paths = path_count(params, cwnd_packets);
    std::uint32_t rr = (rr_ + 1u) % paths;  // [A2.L19]
    if (marked_.test(rr)) {                 // [A2.L20]
      // [A2.L16] [A2.L21-24] One packet clears one mark, so a path is forgiven no faster than it
      // can be tried again. [A2.L26] [D4] Then the next clear one on the circle: with all others
      // marked, that is the one just forgiven, so the walk ends after at most paths + 1 steps.
      const std::uint32_t forgiven = rr;
      marked_.clear(forgiven);
      rr = next_clear_on_circle(forgiven, paths);
      if (rr == forgiven) events.on(Reached{Rare::all_paths_marked});
    }
    rr_ = static_cast<PathId>(rr);
    events.on(PathChosen{rr_, false});
    return rr_;  // [A2.L29]
  }

  /// [D146] Before the first packet, by a host that knows of marks.
  constexpr void begin_with(const Bitmap<kMaxPaths>& marked) { marked_ = marked; }
  /// [D9] Forgets every mark.
  constexpr void reset_ecn_bitmap() { marked_.clear_all(); }

  /// [A2.L17] [A2.L18] [D24] What a window can keep fresh information about; oblivious spray keeps
  /// none and takes them all [D60].
  [[nodiscard]] static constexpr std::uint32_t path_count(const StrackParams& params,
                                                          std::uint32_t cwnd_packets) {
    if (params.path_policy == PathPolicy::oblivious) return params.max_paths;
    const std::uint32_t paths = std::min(params.max_paths, 2 * cwnd_packets);
    return std::min(params.max_paths, std::max(params.min_paths, paths));
  }

  [[nodiscard]] constexpr bool is_marked(PathId path_id) const { return marked_.test(path_id); }
  [[nodiscard]] constexpr std::uint32_t marked_paths() const { return marked_.count(); }

 private:
  static constexpr PathId kNoPath = 0xffff;

  [[nodiscard]] static constexpr bool uses_bitmap(const StrackParams& params) {
    return params.path_policy == PathPolicy::adaptive ||
           params.path_policy == PathPolicy::bitmap_only;
  }
  [[nodiscard]] static constexpr bool recycles(const StrackParams& params) {
    return params.path_policy == PathPolicy::adaptive ||
           params.path_policy == PathPolicy::recycle_only;
  }

  [[nodiscard]] constexpr std::uint32_t next_clear_on_circle(std::uint32_t from,
                                                             std::uint32_t paths) const {
    const std::uint32_t above = paths - (from + 1);
    const std::uint32_t ahead = marked_.next_clear(from + 1, above);
    if (ahead < above) return from + 1 + ahead;
    const std::uint32_t wrapped = marked_.next_clear(0, from + 1);
    STRACK_CHECK_OP(wrapped, <=, from);  // `from` itself is clear
    return wrapped;
  }

  // [A2.L1] All paths good, none remembered.
  Bitmap<kMaxPaths> marked_{};
  PathId rr_ = 0;
  PathId next_path_id_ = kNoPath;
};

}  // namespace strack::core
