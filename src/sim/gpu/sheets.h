// What hosts tell of while they run on a GPU: sheets with room for all that can happen in a window, filled
// by all threads at once. Their order is nobody's business: a recorder puts it right.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/gpu/atomics.h"
#include "sim/host/graph_runner.h"
#include "sim/host/report.h"

namespace strack::sim::gpu {

/// What a window came to. All that the host reads after each.
struct Tally {
  std::int64_t next = Instant::never().ps;  ///< the earliest thing that happens anywhere
  std::uint64_t packet_hops = 0;            ///< so far
  std::uint64_t bytes_acked = 0;            ///< in this window, as all that follows
  std::uint32_t finished = 0;
  std::uint32_t deliveries = 0;
  std::uint32_t moments = 0;
  std::uint32_t job_changes = 0;
  std::uint32_t victims = 0;  ///< whether there were any
};

/// The same, where the host sees it as soon as the number is that of the window.
struct Told {
  Tally tally;
  std::uint64_t used = 0;  ///< of the memory that steps take from
  bool goes_on = false;    ///< with the window that follows
  std::uint64_t window = 0;
};

/// What decides when a window ends, as the cluster does (sim/cluster.h).
struct Pace {
  Picoseconds lookahead{0};
  Instant end = Instant::never();  ///< of the run
  Picoseconds interval{0};         ///< between samples; 0: none
  bool waits = false;              ///< for the host, after every window
};

/// The window that comes next, where the machine goes on by itself.
struct Course {
  std::uint64_t window = 0;
  std::int64_t end = 0;
  bool goes_on = false;  ///< otherwise the host has to look first
};

/// After a window that ended then and came to this: the next one, unless there is something to tell of, to sample
/// or to decide.
inline Course course_after(const Pace& pace, std::uint64_t window, std::int64_t end,
                           const Tally& tally) {
  const bool tells =
      (tally.finished | tally.deliveries | tally.moments | tally.job_changes | tally.victims) != 0;
  if (pace.waits || tells || tally.next == Instant::never().ps || tally.next >= pace.end.ps)
    return {};
  std::int64_t last = pace.end.ps;
  if (const std::int64_t interval = pace.interval.value; interval > 0) {
    const std::int64_t sample = (end + interval - 1) / interval * interval;
    if (tally.next >= sample) return {};
    if (sample < last) last = sample;
  }
  const std::int64_t ahead = tally.next + pace.lookahead.value;
  return {window + 1, ahead < last ? ahead : last, true};
}

/// The next window does not end before this, whoever works it out.
inline Instant surely_in_next(const Pace& pace, Instant end) {
  std::int64_t last = pace.end.ps;
  if (const std::int64_t interval = pace.interval.value; interval > 0) {
    const std::int64_t sample = (end.ps + interval - 1) / interval * interval;
    if (sample < last) last = sample;
  }
  const std::int64_t ahead = end.ps + pace.lookahead.value;
  return {ahead < last ? ahead : last};
}

/// Makes ready for the next window; returns what this one came to.
inline Tally close_window(Tally& tally) {
  const Tally closed = tally;
  tally = Tally{};
  tally.packet_hops = closed.packet_hops;
  return closed;
}

/// A sheet has room for every flow, or for every moment of every message: each comes once in a run.
struct Sheets {
  metrics::FlowRecord* finished = nullptr;
  Delivery* deliveries = nullptr;
  MessageMoment* moments = nullptr;
  JobTally* jobs = nullptr;          ///< by job
  std::uint32_t* victims = nullptr;  ///< by flow, of the whole run; null where nothing is paused
};

/// One host's view of them. The same calls as HostReport has.
class SheetReport {
 public:
  SheetReport(const Sheets& sheets, Tally& tally) : sheets_(sheets), tally_(tally) {}

  void on_finished(const metrics::FlowRecord& record) {
    sheets_.finished[fetch_add(tally_.finished, 1u)] = record;
  }
  void on_delivery(const Delivery& delivery) {
    sheets_.deliveries[fetch_add(tally_.deliveries, 1u)] = delivery;
  }
  void on_victim(std::uint32_t flow) {
    fetch_add(sheets_.victims[flow], 1u);
    tally_.victims = 1;
  }
  void on_moment(const MessageMoment& moment) {
    sheets_.moments[fetch_add(tally_.moments, 1u)] = moment;
  }
  void on_acked(std::uint64_t bytes) { acked_ += bytes; }
  void on_job_started(std::uint32_t job, Instant now) {
    lower_to(sheets_.jobs[job].first.ps, now.ps);
    tally_.job_changes = 1;
  }
  void on_job_done(std::uint32_t job, Instant now) {
    fetch_add(sheets_.jobs[job].done, std::uint64_t{1});
    raise_to(sheets_.jobs[job].last.ps, now.ps);
    tally_.job_changes = 1;
  }

  /// What was added up on the way.
  void close() {
    if (acked_ != 0) fetch_add(tally_.bytes_acked, acked_);
  }

 private:
  const Sheets& sheets_;
  Tally& tally_;
  std::uint64_t acked_ = 0;
};

}  // namespace strack::sim::gpu
