// Puts marks of ranks together: which communication began and ended when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "metrics/records.h"
#include "workload/workload.h"

namespace strack::run {

class Communications {
 public:
  explicit Communications(const std::vector<workload::Job>& jobs) : jobs_(jobs) {}

  /// Marks come in order of time. The communication that has ended with this one, where one has.
  [[nodiscard]] std::optional<metrics::CommunicationRecord> take(const metrics::JobMark& mark) {
    const auto id = static_cast<workload::CommunicationId>((mark.mark - 1) / 2);
    const workload::Communication& what = jobs_[mark.job].graph->communications()[id];
    // Done several times over: a rank can be in the next while another is in the last.
    const bool begins = mark.mark == workload::begin_mark(id);
    Seen& seen = seen_[{mark.job, id}];
    std::uint64_t& count = begins ? seen.begun : seen.ended;
    const std::uint64_t which = count++ / what.ranks;
    Open& open = seen.open[which];
    if (begins) {
      if (open.first == Instant::never()) open.first = mark.time;
      open.begin = mark.time;
      return std::nullopt;
    }
    if (count % what.ranks != 0) return std::nullopt;
    const metrics::CommunicationRecord done{mark.job,   what.name,  what.ranks, what.bytes,
                                            open.first, open.begin, mark.time};
    seen.open.erase(which);
    return done;
  }

  /// [D117] What is open, and how many have been.
  template <class Archive>
  void state(Archive& a) {
    struct SeenRow {
      std::uint32_t job;
      workload::CommunicationId id;
      std::uint64_t begun;
      std::uint64_t ended;
    };
    struct OpenRow {
      std::uint32_t job;
      workload::CommunicationId id;
      std::uint64_t which;
      Open open;
    };
    std::vector<SeenRow> rows;
    std::vector<OpenRow> open_rows;
    for (const auto& [key, seen] : seen_) {
      rows.push_back({key.first, key.second, seen.begun, seen.ended});
      for (const auto& [which, open] : seen.open)
        open_rows.push_back({key.first, key.second, which, open});
    }
    a(rows, open_rows);
    for (const SeenRow& row : rows) seen_[{row.job, row.id}] = {row.begun, row.ended, {}};
    for (const OpenRow& row : open_rows) seen_[{row.job, row.id}].open[row.which] = row.open;
  }

 private:
  struct Open {
    Instant first = Instant::never();
    Instant begin{};
  };
  struct Seen {
    std::uint64_t begun = 0;
    std::uint64_t ended = 0;
    std::map<std::uint64_t, Open> open;
  };
  const std::vector<workload::Job>& jobs_;
  std::map<std::pair<std::uint32_t, workload::CommunicationId>, Seen> seen_;
};

}  // namespace strack::run
