// [D111] Knows when a run has come to its end because links that never come back were the last ones between
// those who still talk: they would try for ever.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "sim/config.h"
#include "sim/net/topology.h"
#include "workload/workload.h"

namespace strack::sim {

class CutGuard {
 public:
  CutGuard(const SimConfig& config, const Topology& topology, const workload::Workload& workload);

  void on_flow_done(std::uint32_t flow) {
    if (armed() && !flow_is_cut_[flow]) --others_;
  }
  void on_job_done(std::uint32_t job) {
    if (armed() && !job_is_cut_[job]) --others_;
  }

  /// Whether it is time for a check: depends on nothing but the time, so all ranks agree.
  [[nodiscard]] bool due(Instant now) const { return now >= next_check_; }
  /// Called between windows, with a number that grows with whatever is done. True: nobody who can still
  /// reach the other has anything left, and nothing has been done for long.
  [[nodiscard]] bool check(Instant now, std::uint64_t progress);
  /// [D117] What has been seen; who is cut off from whom follows from the scenario.
  template <class Archive>
  void state(Archive& a) {
    a(others_, next_check_, quiet_since_, progress_);
    static_assert(sizeof(CutGuard) == 152, "list what is new");
  }
  /// Who is cut off from whom.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  [[nodiscard]] bool armed() const { return !text_.empty(); }

  static constexpr Picoseconds kInterval = ms(10);
  /// What is still on its way, or tried again after a loss, has been done by then: ten base RTTs and a job's
  /// longest computation are added to it.
  static constexpr Picoseconds kPatience = ms(100);

  std::vector<bool> flow_is_cut_;
  std::vector<bool> job_is_cut_;
  std::string text_;
  std::uint64_t others_ = 0;  ///< flows and jobs that are not cut, and not done
  Picoseconds patience_ = kPatience;
  Instant next_check_ = Instant::never();
  Instant quiet_since_{};
  std::uint64_t progress_ = ~std::uint64_t{0};
};

}  // namespace strack::sim
