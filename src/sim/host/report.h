// What hosts tell of during a window, as records: nothing that a host writes is read by another host.
//
// A host is a template over who takes them: a thread's own lists here, sheets that all of a GPU's threads
// fill in sim/gpu/sheets.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/host/graph_runner.h"

namespace strack::sim {

/// A flow's last byte has arrived.
struct Delivery {
  std::uint32_t flow = 0;
  Instant time{};
};

/// What a thread's hosts report during one window.
struct HostReport {
  static constexpr bool kDrives = true;  ///< jobs may have drivers

  std::vector<metrics::FlowRecord> finished;
  std::vector<Delivery> deliveries;
  std::vector<std::uint32_t> victims;  ///< flows, one for each packet that came as a victim
  std::vector<JobTally> jobs;          ///< by job
  std::vector<MessageMoment> moments;  ///< of messages that are recorded
  std::uint64_t bytes_acked = 0;

  void on_finished(const metrics::FlowRecord& record) { finished.push_back(record); }
  void on_delivery(const Delivery& delivery) { deliveries.push_back(delivery); }
  void on_victim(std::uint32_t flow) { victims.push_back(flow); }
  void on_moment(const MessageMoment& moment) { moments.push_back(moment); }
  void on_acked(std::uint64_t bytes) { bytes_acked += bytes; }
  /// A message of the job was posted, or a computation begun.
  void on_job_started(std::uint32_t job, Instant now) {
    ++jobs[job].begun;
    jobs[job].first = std::min(jobs[job].first, now);
  }
  /// A node of the job is done.
  void on_job_done(std::uint32_t job, Instant now) {
    ++jobs[job].done;
    jobs[job].last = std::max(jobs[job].last, now);
  }
};

}  // namespace strack::sim
