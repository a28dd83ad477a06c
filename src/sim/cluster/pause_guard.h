// [R.pfc.loop] Looks now and then whether ports wait for each other in a ring, says so, and knows when
// a run in which nothing else happens has come to its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "sim/net/pause_loop.h"
#include "sim/net/topology.h"
#include "sim/simulation.h"

namespace strack::sim {

/// Where nothing is ever paused.
struct NoPauseGuard {
  explicit NoPauseGuard(const Topology& /*topology*/) {}
  [[nodiscard]] static bool deadlocked() { return false; }
  [[nodiscard]] static std::uint64_t loops() { return 0; }
  template <class Archive>
  void state(Archive& /*a*/) {}
};

class PauseGuard {
 public:
  explicit PauseGuard(const Topology& topology)
      : topology_(topology), watch_(topology.switches()) {}

  [[nodiscard]] bool due(Instant now) const { return now >= next_check_; }
  /// Called between windows, where it is due. Each ring is told of once.
  template <class Switches>
  void check(const Switches& switches, Instant now, std::uint64_t bytes_acked, Observer& observer) {
    next_check_ = now + kInterval;
    const std::vector<SwitchPort> ring = watch_.check(switches, now);
    if (ring.empty() || bytes_acked != acked_at_check_) without_progress_ = 0;
    acked_at_check_ = bytes_acked;
    if (ring.empty()) {
      last_ring_.clear();
      return;
    }
    // Refreshed pauses go on for ever.
    if (++without_progress_ > kChecksUntilStalled) deadlocked_ = true;
    if (ring == last_ring_) return;
    last_ring_ = ring;
    ++loops_;
    observer.on_warning(describe(ring));
  }

  [[nodiscard]] bool deadlocked() const { return deadlocked_; }
  [[nodiscard]] std::uint64_t loops() const { return loops_; }
  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(watch_, last_ring_, next_check_, loops_, acked_at_check_, without_progress_, deadlocked_);
    static_assert(sizeof(PauseGuard) == sizeof(PauseLoopWatch) + 64, "list what is new");
  }

 private:
  [[nodiscard]] std::string describe(const std::vector<SwitchPort>& ring) const {
    std::string text = "PFC deadlock: these links wait for each other and have moved no data for " +
                       std::to_string(kInterval / us(1)) + " us:";
    for (const SwitchPort& at : ring) {
      const SwitchInfo& info = topology_.switches()[at.sw];
      text += " [" + topology_.name(info.node) + " -> " + topology_.name(info.ports[at.port].peer) +
              "]";
    }
    return text;
  }

  static constexpr Picoseconds kInterval = us(500);
  static constexpr std::uint32_t kChecksUntilStalled = 200;

  const Topology& topology_;
  PauseLoopWatch watch_;
  std::vector<SwitchPort> last_ring_;
  Instant next_check_{};
  std::uint64_t loops_ = 0;
  std::uint64_t acked_at_check_ = 0;
  std::uint32_t without_progress_ = 0;
  bool deadlocked_ = false;
};

}  // namespace strack::sim
