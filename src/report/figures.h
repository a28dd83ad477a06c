// Figures from result files, for anybody's runs and for the paper's.
//
// In two steps: read_...() passes over a file once and keeps no more than can be drawn, however many
// rows there are; a function named as the figure makes it of what one or several files gave. What a
// figure leaves out, its caption or notices say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "base/units.h"
#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "report/model.h"

namespace strack::report {

// --- Words and numbers ---------------------------------------------------------------------------

[[nodiscard]] double in_us(Picoseconds time);
[[nodiscard]] double in_gbps(BitsPerSecond rate);

/// A run's name and colour, as the transport of its scheme has them: "STrack, oblivious". A scheme
/// that this program does not know is called what it is.
[[nodiscard]] Label label_of(const metrics::RunInfo& run);

/// One value of the scenario as it stands in the file, such as "2 MB" without its quotes for
/// `workload.size`; also of keys that follow from others. Empty where there is none.
[[nodiscard]] std::string scenario_value(const metrics::RunInfo& run, std::string_view key);
/// The same as bytes, or as a time; sizes in BDP and times in RTT are worked out.
[[nodiscard]] std::optional<Bytes> scenario_size(const metrics::RunInfo& run, std::string_view key);
/// The queueing delay that its transport aims at, where it has such an aim.
[[nodiscard]] std::optional<Picoseconds> target_qdelay(const metrics::RunInfo& run);
[[nodiscard]] std::optional<Picoseconds> scenario_time(const metrics::RunInfo& run,
                                                       std::string_view key);

/// "8192 flows, 16 MB each", "64 jobs of allreduce-dbt, 128 MB each".
[[nodiscard]] std::string what_is_sent(const metrics::RunInfo& run);
/// "finished", "running", "partial: interrupted", "partial: the program died".
[[nodiscard]] std::string status_text(const metrics::RunState& state);

/// The slowest flow's time, or with jobs the slowest job's; kUnknown where none has finished.
[[nodiscard]] double max_us(const metrics::Summary& summary);
[[nodiscard]] double mean_us(const metrics::Summary& summary);
[[nodiscard]] double p99_us(const metrics::Summary& summary);
[[nodiscard]] double slowdown(const metrics::Summary& summary);
[[nodiscard]] double utilisation(const metrics::Summary& s);  ///< as a share of 1

/// Of several seeds: the middle one (of an even number, the mean of the two in the middle), the
/// least and the largest. Unknown values do not count.
struct Spread {
  double median = kUnknown;
  double low = kUnknown;
  double high = kUnknown;
  std::size_t count = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

// --- Tables and rows -----------------------------------------------------------------------------

/// A run's line in the report's table of runs. `file` is what it is called there.
[[nodiscard]] Run run_row(const std::string& file, const metrics::Summary& summary);

/// Whatever a reader must know before trusting the figures: partial and stalled runs, what is
/// unfinished, losses in a lossless network. Each names the file.
[[nodiscard]] std::vector<Notice> notices_of(const std::string& file,
                                             const metrics::Summary& summary);

/// One run in full: a row for each figure.
[[nodiscard]] Table run_table(std::string id, const metrics::Summary& summary);

/// A row for each run; `labels` tell them apart.
struct LabelledSummary {
  Label label;
  metrics::Summary summary;
};
[[nodiscard]] Table summary_table(std::string id, std::string title,
                                  std::span<const LabelledSummary> runs);
/// A row for each workload of each run.
[[nodiscard]] Table workload_table(std::string id, std::string title,
                                   std::span<const LabelledSummary> runs);

// --- Completion times ----------------------------------------------------------------------------

/// One run of a series over message sizes.
struct SizedRun {
  Label label;
  Bytes size{0};
  double value_us = kUnknown;  ///< max_us() of its summary, in most cases
  double ideal_us = kUnknown;
};
/// Both axes logarithmic, sizes in order, the median over seeds (that is, over runs of one label
/// and size) with the spread, and the ideal as a line of its own.
[[nodiscard]] XyFigure fct_by_size(FigureHead head, std::span<const SizedRun> runs,
                                   std::string y_label = "max FCT");

/// Times of finished flows, or jobs, in microseconds, in no order.
struct Times {
  Label label;
  std::vector<double> us;
  std::uint64_t unfinished = 0;
};
[[nodiscard]] Result<Times, metrics::FileError> flow_times(metrics::ResultReader& reader);
/// Of jobs' messages, where they are recorded.
[[nodiscard]] Result<Times, metrics::FileError> message_times(metrics::ResultReader& reader);
[[nodiscard]] Result<Times, metrics::FileError> job_times(metrics::ResultReader& reader);

inline constexpr std::size_t kCdfPoints = 500;
/// Steps: the share of flows or jobs that took no longer. Times of one label are put together. Of
/// more than kCdfPoints, an even choice is drawn, with the ends and the 50 slowest among it.
[[nodiscard]] XyFigure cdf(FigureHead head, std::span<const Times> times,
                           std::string x_label = "FCT");

/// One value of a chart of bars; those of one category and label are seeds.
struct BarValue {
  std::string category;
  Label label;
  double value = kUnknown;
};
/// Categories and labels in the order they first come; the median over seeds with the spread.
[[nodiscard]] BarsFigure bars(FigureHead head, Axis y, std::span<const BarValue> values);

// --- Links over time -----------------------------------------------------------------------------

enum class LinkTier : std::uint8_t {
  all,       ///< switches' ports: hosts' own are not counted, since their queue is not recorded
  up,        ///< ToR to spine, or to aggregation
  down,      ///< back to the ToR
  last_hop,  ///< ToR to host
};

struct LinkLimits {
  LinkTier tier = LinkTier::all;
  std::size_t bins = 600;    ///< of the time axis; several intervals share one where there are more
  std::size_t deepest = 4;   ///< points of the deepest queues in each bin
  std::size_t sampled = 6;   ///< and of others, drawn the same way each time
  std::size_t frames = 120;  ///< of the replay; 0: none is wanted
  std::size_t replay_bytes = 8'000'000;  ///< of all frames and layers: fewer frames where it takes
};

/// What is kept of a file's link samples.
struct LinkSeries {
  /// The links of the tier that was asked for, in one stretch of time.
  struct Bin {
    Instant end{};
    Picoseconds span{0};
    Picoseconds qdelay_max{0};
    double qdelay_mean =
        0;  ///< us, over all links of the tier and intervals, empty queues included
    std::uint64_t drops = 0;
    std::uint64_t marks = 0;
    std::uint64_t pause_frames = 0;
    std::vector<std::pair<Instant, Picoseconds>> points;  ///< those to draw
  };
  Label label;
  Picoseconds interval{0};
  Picoseconds target_qdelay{0};  ///< 0 where the scheme has none
  Bytes threshold{0};            ///< shorter queues were not recorded
  LinkTier tier = LinkTier::all;
  std::uint64_t links = 0;    ///< of the tier, and recorded
  std::uint64_t samples = 0;  ///< rows of them in the file
  std::uint64_t drawn = 0;    ///< points kept
  std::vector<Bin> bins;
  std::string deepest_link;  ///< "tor 0 to host 0"; empty where no queue ever formed
  std::optional<std::uint32_t> deepest;
  /// Of ToRs x spines cells for each frame, as they were measured; fabric() packs them.
  struct Replay {
    std::uint32_t tors = 0;
    std::uint32_t spines = 0;
    std::vector<double> times;    ///< end of each frame
    std::vector<float> up_use;    ///< share of what the links of the cell can carry
    std::vector<float> up_queue;  ///< us
    std::vector<float> down_use;
    std::vector<float> down_queue;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> down;  ///< links that are: tor, spine
  };
  /// Where the network has two tiers, and links between them were recorded.
  std::optional<Replay> replay;
};
[[nodiscard]] Result<LinkSeries, metrics::FileError> read_links(metrics::ResultReader& reader,
                                                                const LinkLimits& limits = {});

/// Points, and lines of the largest and the mean, of one or several runs.
[[nodiscard]] XyFigure queue_delay(FigureHead head, std::span<const LinkSeries> runs);

/// The replay, of those runs that have one.
[[nodiscard]] FabricFigure fabric(FigureHead head, std::span<const LinkSeries> runs);

/// One link's samples, the last of several intervals' where there are more than bins.
struct LinkTrace {
  struct Bin {
    Instant end{};
    Picoseconds span{0};
    Picoseconds qdelay_max{0};
    Bytes arrived{0};
    Bytes carried{0};
    std::uint64_t drops = 0;
    std::uint64_t marks = 0;
    Picoseconds paused{0};
  };
  Label label;
  std::string link;  ///< "tor 0 to host 0"
  BitsPerSecond rate{0};
  Picoseconds target_qdelay{0};
  std::vector<Bin> bins;
};
/// The link that is named by its ends ("tor 0", "host 0"), or else the one with the deepest queue.
[[nodiscard]] Result<LinkTrace, metrics::FileError> read_link(
    metrics::ResultReader& reader,
    const std::optional<std::pair<std::string, std::string>>& ends = std::nullopt,
    std::size_t bins = 1'000);

/// Queueing delay over time of one link, in one or several runs.
[[nodiscard]] XyFigure link_queue(FigureHead head, std::span<const LinkTrace> runs);
/// What arrives at it and what it carries, Gb/s.
[[nodiscard]] XyFigure link_rate(FigureHead head, std::span<const LinkTrace> runs);
/// Drops and, as a share of time, pauses; two figures, those without anything to show left out.
[[nodiscard]] std::vector<Figure> link_trouble(const FigureHead& head,
                                               std::span<const LinkTrace> runs);
/// All of the above; ids and titles begin as `head` says.
[[nodiscard]] std::vector<Figure> last_hop(const FigureHead& head, std::span<const LinkTrace> runs);

// --- Flows over time -----------------------------------------------------------------------------

struct FlowLimits {
  std::size_t flows = 8;         ///< the first so many of those recorded
  Picoseconds bin{0};            ///< of throughput, rounded up to whole recording intervals
  std::size_t bins = 600;        ///< of the time axis at most
  std::size_t samples = 4'000;   ///< of a flow in the inspector
  std::size_t events = 200'000;  ///< of a flow in the inspector
  std::size_t inspected = 4;     ///< flows with events that are kept
};

struct FlowSeries {
  struct Flow {
    std::uint32_t flow = 0;
    std::string name;           ///< "flow 0: host 17 to host 0, 16 MB"
    std::size_t first = 0;      ///< bin of the first sample
    std::vector<double> acked;  ///< bytes in each bin from there on, as far as the flow was seen
    InspectedFlow inspected;
  };
  Label label;
  Picoseconds bin{0};
  Instant until{};             ///< of the last sample: the last bin may be shorter
  std::uint64_t recorded = 0;  ///< flows that have samples or events
  std::vector<Flow> flows;
};
[[nodiscard]] Result<FlowSeries, metrics::FileError> read_flows(metrics::ResultReader& reader,
                                                                const FlowLimits& limits = {});

/// Acknowledged bytes of each flow as a rate over time.
[[nodiscard]] XyFigure throughput(FigureHead head, std::span<const FlowSeries> runs,
                                  std::size_t flows = 8);

/// Window, RTT, marks, events of flows; those without samples and events left out.
[[nodiscard]] FlowFigure inspector(FigureHead head, std::span<const FlowSeries> runs);

}  // namespace strack::report
