// What became of a connection's packets path by path, for who wants to see it (EndpointOptions::path_statistics).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "core/packet.h"
#include "udp/endpoint.h"
#include "wire/wire.h"

namespace strack::udp {

class PathRecord {
 public:
  /// A packet goes by `path`. One that goes again was lost, or taken for it, where it went before.
  void on_sent(core::Psn psn, core::PathId path, bool retransmission) {
    std::uint16_t& went = went_[psn.value % kRemembered];
    if (retransmission) ++paths_[went].lost;
    went = static_cast<std::uint16_t>(path % wire::kMaxPaths);
    ++paths_[went].packets;
  }
  void on_sack(core::PathId path, bool mark, Picoseconds rtt) {
    PathStatistics& one = paths_[path % wire::kMaxPaths];
    ++one.sacks;
    if (mark) ++one.marks;
    if (rtt <= ps(0)) return;
    const auto ns = static_cast<std::uint64_t>(rtt.count() / 1'000);
    sums_[path % wire::kMaxPaths] += ns;
    ++counts_[path % wire::kMaxPaths];
    one.lowest_rtt_ns = one.lowest_rtt_ns == 0 ? ns : std::min(one.lowest_rtt_ns, ns);
  }

  /// A packet of the peer's has come by its `path`.
  void on_arrived(core::PathId path) { ++arrived_[path % wire::kMaxPaths]; }
  [[nodiscard]] const std::array<std::uint64_t, wire::kMaxPaths>& arrivals() const {
    return arrived_;
  }

  /// Those that packets have gone by.
  [[nodiscard]] std::vector<PathStatistics> paths() const {
    std::vector<PathStatistics> out;
    for (std::uint32_t i = 0; i < wire::kMaxPaths; ++i) {
      if (paths_[i].packets == 0) continue;
      out.push_back(paths_[i]);
      out.back().path = i;
      out.back().rtt_ns = counts_[i] == 0 ? 0 : sums_[i] / counts_[i];
    }
    return out;
  }

 private:
  /// Packets further apart than that are never under way at a time.
  static constexpr std::uint32_t kRemembered = 1u << 16;

  std::array<PathStatistics, wire::kMaxPaths> paths_{};
  std::array<std::uint64_t, wire::kMaxPaths> arrived_{};
  std::array<std::uint64_t, wire::kMaxPaths> sums_{};
  std::array<std::uint64_t, wire::kMaxPaths> counts_{};
  std::array<std::uint16_t, kRemembered> went_{};
};

}  // namespace strack::udp
