// What was simulated, before what came of it: the network as a drawing, workload and transport in words,
// what breaks, and the settings that were given. From the settings in a result file; run_report.cpp puts
// it at the beginning of each section.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metrics/result_file.h"
#include "report/model.h"

namespace strack::report {

/// A failure or impairment of the scenario, and when.
struct Breakage {
  Trouble trouble;
  std::string who;  ///< "spine 3", "tor 2 to spine 1", "4 links of 2 racks"
  /// Beginnings and ends; without an end it lasts. Of one that flaps many.
  std::vector<std::pair<Picoseconds, std::optional<Picoseconds>>> times;
  bool more = false;  ///< it flaps more often than `times` has
};

/// Of something that flaps, so many times are told unless more are asked for.
inline constexpr std::size_t kMostSpans = 200;
/// In the order of the scenario; failures first. Of one that flaps, at most so many times.
[[nodiscard]] std::vector<Breakage> breakages(const metrics::RunInfo& run,
                                              std::size_t most_times = kMostSpans + 1);

/// When something was broken, until `end`, in order of time; what breaks at the same time is said once.
/// What is broken from the beginning to the end is left out: it tells no time from another. Where there would be
/// more than kMostSpans, what flaps most often is one span over all its times; of still more, one over all.
[[nodiscard]] std::vector<TimeSpan> spans_of(std::span<const Breakage> breakages, Picoseconds end);

/// The network: ToRs, spines, pods. Nothing where the settings do not say it, as of files without any.
/// `links`, where they were recorded, tell which ones the seed has drawn; networks from files are drawn from them.
[[nodiscard]] std::optional<TopologyFigure> topology(FigureHead head, const metrics::RunInfo& run,
                                                     std::span<const metrics::LinkInfo> links);

/// The links of a run with a network from a file, whatever it recorded; none of any other, or where the file cannot be read.
[[nodiscard]] std::vector<metrics::LinkInfo> graph_links(const metrics::RunInfo& run,
                                                         const std::string& file);

/// Network, workload and transports in one paragraph, and what breaks in another. `runs` differ in
/// schemes, their parameters, sizes and seeds; `transports` are their labels. With `drawn`, the drawing of
/// the network lists what breaks.
[[nodiscard]] std::vector<std::string> scenario_text(std::span<const metrics::RunInfo* const> runs,
                                                     const std::vector<std::string>& transports,
                                                     bool drawn);

/// The settings that were given to any of them, with all their values. Names and seeds are told elsewhere.
[[nodiscard]] Table given_settings(std::string id, std::span<const metrics::RunInfo* const> runs);

}  // namespace strack::report
