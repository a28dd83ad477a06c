// What a run's rows add up to: the figures of `strack sim summary`, of sweeps and of reports.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "metrics/records.h"
#include "metrics/result_file.h"

namespace strack::metrics {

struct Summary {
  RunInfo run;
  RunState state;
  Counters counters;

  std::uint64_t finished = 0;
  std::uint64_t unfinished = 0;  ///< the figures below are of the others

  // Flow completion times, from the message being ready to its last acknowledgement.
  Picoseconds max_fct{0};
  Picoseconds mean_fct{0};
  Picoseconds p50_fct{0};
  Picoseconds p99_fct{0};

  Picoseconds span{0};  ///< from the first start to the last end
  Bytes delivered{0};   ///< of finished flows
  /// Of all flows, from the rows: there also where the run died before it could write its totals.
  std::uint64_t retransmissions = 0;
  std::uint64_t path_changes = 0;

  /// Bytes of finished flows per time, in millionths of what the ports they used could carry: those
  /// of the senders or of the receivers, whichever are fewer. So 32->1 is measured at the receiver.
  std::int64_t utilisation_ppm = 0;

  [[nodiscard]] std::uint64_t drops() const {
    return counters.queue_drops + counters.failure_drops + counters.error_drops +
           counters.no_route_drops;
  }
};

/// Percentiles are by nearest rank: the p99 of 100 flows is the 99th fastest.
[[nodiscard]] Summary summarise(const RunInfo& run, const RunState& state,
                                const std::vector<FlowRecord>& flows, const Counters& counters);

/// The same from a file.
[[nodiscard]] Result<Summary, FileError> summarise(const std::filesystem::path& path);

}  // namespace strack::metrics
