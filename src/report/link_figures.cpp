// Links over time: queueing delay, the replay of the fabric, one link in full.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "report/figures.h"
#include "report/time_bins.h"

namespace strack::report {

using metrics::FileError;
using metrics::LinkInfo;
using metrics::LinkSample;
using metrics::ResultReader;
using metrics::RunInfo;

namespace {

/// "tor 5" as what it is and its number.
struct Node {
  std::string_view kind;
  std::uint32_t index = 0;
};

Node node_of(std::string_view name) {
  const std::size_t space = name.find(' ');
  if (space == std::string_view::npos) return {name, 0};
  Node node{name.substr(0, space), 0};
  const std::string_view digits = name.substr(space + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), node.index);
  if (error != std::errc{} || end != digits.data() + digits.size()) return {name, 0};
  return node;
}

enum class Kind : std::uint8_t { host_up, up, down, last_hop, other };

Kind kind_of(const Node& from, const Node& to) {
  if (from.kind == "host") return Kind::host_up;
  if (to.kind == "host") return Kind::last_hop;
  if (from.kind == "tor") return Kind::up;
  if (to.kind == "tor") return Kind::down;
  return Kind::other;
}

bool wanted(LinkTier tier, Kind kind) {
  switch (tier) {
    case LinkTier::all:
      return kind != Kind::host_up;
    case LinkTier::up:
      return kind == Kind::up;
    case LinkTier::down:
      return kind == Kind::down;
    case LinkTier::last_hop:
      return kind == Kind::last_hop;
  }
  return false;
}

/// Whether the scenario's `record.tier` has rows of it.
bool recorded(const std::string& tier, Kind kind) {
  if (tier == "fabric") return kind == Kind::up || kind == Kind::down || kind == Kind::other;
  if (tier == "host") return kind == Kind::host_up || kind == Kind::last_hop;
  if (tier == "last-hop") return kind == Kind::last_hop;
  return true;
}

std::string name_of(const LinkInfo& link) { return fmt::format("{} to {}", link.from, link.to); }

/// What rows were recorded at; where the scenario does not say, at what the first one was.
class Interval {
 public:
  explicit Interval(const RunInfo& run)
      : value_(scenario_time(run, "record.interval_us").value_or(ps(0))) {}
  [[nodiscard]] Picoseconds from(Instant first) {
    if (value_ <= ps(0)) value_ = std::max(first - Instant{}, ps(1));
    return value_;
  }

 private:
  Picoseconds value_;
};

/// The same order for the same file, and none that a pattern in it could follow.
std::uint64_t lot(const LinkSample& sample) {
  std::uint64_t x = static_cast<std::uint64_t>(sample.time.ps) * 0x9E3779B97F4A7C15U + sample.link;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27) * 0x94D049BB133111EBU;
  return x ^ x >> 31;
}

/// A sample that may become a point.
struct Candidate {
  Instant time{};
  Picoseconds qdelay{0};
  std::uint64_t lot = 0;
};

bool deeper(const Candidate& a, const Candidate& b) {
  return a.qdelay != b.qdelay ? a.qdelay > b.qdelay : a.lot < b.lot;
}
bool luckier(const Candidate& a, const Candidate& b) { return a.lot < b.lot; }

/// The first `limit` in the order of `before`; what does not find room comes back.
template <class Before>
std::optional<Candidate> keep(std::vector<Candidate>& kept, const Candidate& one, std::size_t limit,
                              Before before) {
  if (limit == 0) return one;
  if (kept.size() < limit) {
    kept.push_back(one);
    std::push_heap(kept.begin(), kept.end(), before);
    return std::nullopt;
  }
  if (!before(one, kept.front())) return one;
  std::pop_heap(kept.begin(), kept.end(), before);
  const Candidate out = std::exchange(kept.back(), one);
  std::push_heap(kept.begin(), kept.end(), before);
  return out;
}

struct QueueBin {
  Picoseconds max{0};
  double sum_us = 0;
  std::uint64_t drops = 0;
  std::uint64_t marks = 0;
  std::uint64_t pause_frames = 0;
  std::vector<Candidate> deep;
  std::vector<Candidate> others;
  std::size_t deepest = 0;  ///< how many of each are kept
  std::size_t sampled = 0;

  void take(const Candidate& one) {
    const auto left = keep(deep, one, deepest, deeper);
    if (left) static_cast<void>(keep(others, *left, sampled, luckier));
  }
  void merge(QueueBin&& later) {
    max = std::max(max, later.max);
    sum_us += later.sum_us;
    drops += later.drops;
    marks += later.marks;
    pause_frames += later.pause_frames;
    deepest = std::max(deepest, later.deepest);
    sampled = std::max(sampled, later.sampled);
    for (const Candidate& one : later.deep) take(one);
    for (const Candidate& one : later.others) take(one);
  }
};

/// Both directions of all ToR-spine links in one frame; empty: nothing was recorded in it.
struct Frame {
  struct Cell {
    std::int64_t up_bytes = 0;
    std::int64_t down_bytes = 0;
    Picoseconds up_queue{0};
    Picoseconds down_queue{0};
  };
  std::vector<Cell> cells;

  void merge(Frame&& later) {
    if (cells.empty()) {
      cells = std::move(later.cells);
      return;
    }
    for (std::size_t i = 0; i < later.cells.size(); ++i) {
      cells[i].up_bytes += later.cells[i].up_bytes;
      cells[i].down_bytes += later.cells[i].down_bytes;
      cells[i].up_queue = std::max(cells[i].up_queue, later.cells[i].up_queue);
      cells[i].down_queue = std::max(cells[i].down_queue, later.cells[i].down_queue);
    }
  }
};

struct Place {
  Kind kind = Kind::other;
  std::uint32_t cell = 0;  ///< of a ToR-spine link
};

/// Which link is where, and how large the fabric's grid is.
struct Map {
  std::unordered_map<std::uint32_t, Place> places;
  std::uint32_t tors = 0;
  std::uint32_t spines = 0;
  std::vector<std::int64_t> up_rate;  ///< bits per second, of all links of a cell
  std::vector<std::int64_t> down_rate;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> down;

  explicit Map(const std::vector<LinkInfo>& links) {
    bool two_tiers = true;
    std::uint64_t ups = 0;
    for (const LinkInfo& link : links) {
      const Node from = node_of(link.from);
      const Node to = node_of(link.to);
      places[link.link].kind = kind_of(from, to);
      if (from.kind == "agg" || to.kind == "agg") two_tiers = false;
      if (from.kind != "tor" || to.kind != "spine") continue;
      ++ups;
      tors = std::max(tors, from.index + 1);
      spines = std::max(spines, to.index + 1);
    }
    // Every ToR is linked to every spine, so a grid larger than that is not one.
    if (!two_tiers || tors == 0 || spines == 0 || std::uint64_t{tors} * spines > ups) {
      tors = spines = 0;
      return;
    }
    up_rate.resize(std::size_t{tors} * spines);
    down_rate.resize(up_rate.size());
    for (const LinkInfo& link : links) {
      const Node from = node_of(link.from);
      const Node to = node_of(link.to);
      const bool up = from.kind == "tor" && to.kind == "spine";
      if (!up && !(from.kind == "spine" && to.kind == "tor")) continue;
      const std::uint32_t tor = up ? from.index : to.index;
      const std::uint32_t spine = up ? to.index : from.index;
      if (tor >= tors || spine >= spines) continue;
      const std::uint32_t cell = tor * spines + spine;
      places[link.link].cell = cell;
      (up ? up_rate : down_rate)[cell] += link.rate.count();
      if (up && link.down) down.emplace_back(tor, spine);
    }
  }
};

float share(std::int64_t carried, std::int64_t rate, Picoseconds span) {
  if (rate <= 0) return 0;
  const double could = static_cast<double>(rate) / 8 * static_cast<double>(span.count()) / 1e12;
  return static_cast<float>(static_cast<double>(carried) / could);
}

LinkSeries::Replay replay_of(const TimeBins<Frame>& frames, const Map& map) {
  LinkSeries::Replay replay;
  replay.tors = map.tors;
  replay.spines = map.spines;
  replay.down = map.down;
  const std::size_t cells = map.up_rate.size();
  for (auto* layer : {&replay.up_use, &replay.up_queue, &replay.down_use, &replay.down_queue}) {
    layer->reserve(frames.size() * cells);
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    replay.times.push_back(in_us(frames.end(i) - Instant{}));
    for (std::size_t c = 0; c < cells; ++c) {
      const Frame::Cell cell = frames[i].cells.empty() ? Frame::Cell{} : frames[i].cells[c];
      replay.up_use.push_back(share(cell.up_bytes, map.up_rate[c], frames.span(i)));
      replay.up_queue.push_back(static_cast<float>(in_us(cell.up_queue)));
      replay.down_use.push_back(share(cell.down_bytes, map.down_rate[c], frames.span(i)));
      replay.down_queue.push_back(static_cast<float>(in_us(cell.down_queue)));
    }
  }
  return replay;
}

/// Frames that the replay may have.
std::size_t frame_limit(const LinkLimits& limits, const Map& map) {
  const std::size_t each = std::max<std::size_t>(4 * map.up_rate.size(), 1);
  return std::max<std::size_t>(std::min(limits.frames, limits.replay_bytes / each), 1);
}

}  // namespace

Result<LinkSeries, FileError> read_links(ResultReader& reader, const LinkLimits& limits) {
  const auto links = reader.links();
  if (!links) return links.error();
  const Map map(links.value());
  const RunInfo& run = reader.run();
  LinkSeries series;
  series.label = label_of(run);
  series.target_qdelay = target_qdelay(run).value_or(ps(0));
  // With `links`, every busy link has a row, however short its queue.
  if (scenario_value(run, "record.links") != "true") {
    series.threshold = scenario_size(run, "record.queue_threshold").value_or(bytes(0));
  }
  series.tier = limits.tier;
  const std::string tier = scenario_value(run, "record.tier");
  for (const auto& [link, place] : map.places) {
    if (wanted(limits.tier, place.kind) && recorded(tier, place.kind)) ++series.links;
  }

  Interval interval(run);
  std::optional<TimeBins<QueueBin>> bins;
  std::optional<TimeBins<Frame>> frames;
  Picoseconds deepest{0};
  bool fabric_seen = false;
  const bool want_replay = limits.frames > 0 && map.tors > 0;
  const auto error = reader.for_each([&](const LinkSample& sample) {
    if (!bins) {
      series.interval = interval.from(sample.time);
      bins.emplace(series.interval, limits.bins);
      frames.emplace(series.interval, frame_limit(limits, map));
    }
    const auto found = map.places.find(sample.link);
    const Place place = found == map.places.end() ? Place{} : found->second;
    if (want_replay) {
      // Every time has its frame, so that the replay is as long as the run.
      Frame& frame = frames->at(sample.time);
      if (place.kind == Kind::up || place.kind == Kind::down) {
        fabric_seen = true;
        if (frame.cells.empty()) frame.cells.resize(map.up_rate.size());
        Frame::Cell& cell = frame.cells[place.cell];
        const bool up = place.kind == Kind::up;
        (up ? cell.up_bytes : cell.down_bytes) += sample.carried.count();
        Picoseconds& queue = up ? cell.up_queue : cell.down_queue;
        queue = std::max(queue, sample.qdelay_max);
      }
    }
    QueueBin& bin = bins->at(sample.time);
    if (!wanted(limits.tier, place.kind)) return;
    ++series.samples;
    bin.deepest = limits.deepest;
    bin.sampled = limits.sampled;
    bin.max = std::max(bin.max, sample.qdelay_max);
    bin.sum_us += in_us(sample.qdelay_max);
    bin.drops += sample.drops;
    bin.marks += sample.marks;
    bin.pause_frames += sample.pause_frames;
    bin.take({sample.time, sample.qdelay_max, lot(sample)});
    if (sample.qdelay_max > deepest) {
      deepest = sample.qdelay_max;
      series.deepest = sample.link;
    }
  });
  if (error) return *error;
  if (series.deepest) {
    for (const LinkInfo& link : links.value()) {
      if (link.link == *series.deepest) series.deepest_link = name_of(link);
    }
  }
  if (!bins) return series;
  series.links = std::max<std::uint64_t>(series.links, 1);
  for (std::size_t i = 0; i < bins->size(); ++i) {
    QueueBin& from = (*bins)[i];
    LinkSeries::Bin& bin = series.bins.emplace_back();
    bin.end = bins->end(i);
    bin.span = bins->span(i);
    bin.qdelay_max = from.max;
    const double intervals = std::ceil(static_cast<double>(bin.span.count()) /
                                       static_cast<double>(series.interval.count()));
    bin.qdelay_mean = from.sum_us / (static_cast<double>(series.links) * std::max(intervals, 1.0));
    bin.drops = from.drops;
    bin.marks = from.marks;
    bin.pause_frames = from.pause_frames;
    from.deep.insert(from.deep.end(), from.others.begin(), from.others.end());
    std::sort(from.deep.begin(), from.deep.end(), [](const Candidate& a, const Candidate& b) {
      return a.time != b.time ? a.time < b.time : deeper(a, b);
    });
    for (const Candidate& one : from.deep) bin.points.emplace_back(one.time, one.qdelay);
    series.drawn += bin.points.size();
  }
  if (want_replay && fabric_seen) series.replay = replay_of(*frames, map);
  return series;
}

namespace {

std::string tier_words(LinkTier tier) {
  switch (tier) {
    case LinkTier::all:
      return "switch ports";
    case LinkTier::up:
      return "links from ToRs to spines";
    case LinkTier::down:
      return "links from spines to ToRs";
    case LinkTier::last_hop:
      return "links from ToRs to hosts";
  }
  return "links";
}

/// The target of the first run that has one.
template <class Runs>
void mark_target(XyFigure& figure, const Runs& runs) {
  for (const auto& run : runs) {
    if (run.target_qdelay <= ps(0)) continue;
    figure.marks.push_back({"y", in_us(run.target_qdelay), "target queueing delay"});
    return;
  }
}

}  // namespace

XyFigure queue_delay(FigureHead head, std::span<const LinkSeries> runs) {
  XyFigure figure{std::move(head), {}, {}, {}, {}};
  figure.x = {"time", "us", "linear", {}};
  figure.y = {"queueing delay", "us", "linear", {}};
  std::uint64_t drawn = 0;
  std::uint64_t samples = 0;
  const auto suffix = [&](const LinkSeries& run, const char* what) {
    return Label{runs.size() == 1 ? what : fmt::format("{}: {}", run.label.name, what),
                 run.label.role};
  };
  for (const LinkSeries& run : runs) {
    if (run.samples == 0) continue;
    Series points{suffix(run, "links"), "points", false, {}};
    Series largest{suffix(run, "largest"), "line", false, {}};
    Series mean{suffix(run, "mean"), "line", true, {}};
    for (const LinkSeries::Bin& bin : run.bins) {
      const double t = in_us(bin.end - Instant{});
      largest.points.push_back({t, in_us(bin.qdelay_max)});
      mean.points.push_back({t, bin.qdelay_mean});
      for (const auto& [time, qdelay] : bin.points) {
        points.points.push_back({in_us(time - Instant{}), in_us(qdelay)});
      }
    }
    drawn += run.drawn;
    samples += run.samples;
    // Said once where it is the same of all.
    const bool same = runs.size() > 1 && std::all_of(runs.begin(), runs.end(), [&](const auto& r) {
                        return r.threshold == run.threshold;
                      });
    if (run.threshold > bytes(0) && (!same || &run == &runs.front())) {
      figure.notices.push_back(
          fmt::format("{}queues of up to {} were not recorded, and count as empty",
                      same ? "" : run.label.name + ": ", size_text(run.threshold)));
    }
    for (Series* series : {&points, &largest, &mean}) figure.series.push_back(std::move(*series));
  }
  mark_target(figure, runs);
  if (figure.caption.empty() && !runs.empty()) {
    figure.caption = fmt::format(
        "The deepest queue of each interval at {}, as the time it takes to drain. Lines are the "
        "largest and the mean of all of them, empty ones included.",
        tier_words(runs.front().tier));
  }
  if (drawn < samples) {
    figure.caption += fmt::format(
        "{}Of {} samples {} are drawn as points: the deepest at each time, and a fixed choice of "
        "the others.",
        figure.caption.empty() ? "" : " ", samples, drawn);
  }
  return figure;
}

FabricFigure fabric(FigureHead head, std::span<const LinkSeries> runs) {
  FabricFigure figure{std::move(head), {}};
  for (const LinkSeries& run : runs) {
    if (!run.replay) continue;
    const LinkSeries::Replay& replay = *run.replay;
    // Its own scale; the page has one for all runs, unless the reader wants each on its own.
    float deepest = 0;
    for (const auto* layer : {&replay.up_queue, &replay.down_queue}) {
      for (const float value : *layer) deepest = std::max(deepest, value);
    }
    const double queue_max = deepest > 0 ? static_cast<double>(deepest) : 1;
    FabricVariant variant;
    variant.name = run.label.name;
    variant.tors = replay.tors;
    variant.spines = replay.spines;
    variant.times = replay.times;
    variant.down = replay.down;
    const auto add = [&](const char* id, const char* label, const char* unit, double max,
                         const std::vector<float>& values) {
      FabricLayer layer{id, label, unit, max, {}};
      layer.data.reserve(values.size());
      for (const float value : values) {
        const double step = std::clamp(static_cast<double>(value) / max, 0.0, 1.0) * 255;
        layer.data.push_back(static_cast<std::uint8_t>(std::lround(step)));
      }
      variant.layers.push_back(std::move(layer));
    };
    add("up-use", "ToR to spine, utilisation", "share", 1, replay.up_use);
    add("up-queue", "ToR to spine, queue", "us", queue_max, replay.up_queue);
    add("down-use", "spine to ToR, utilisation", "share", 1, replay.down_use);
    add("down-queue", "spine to ToR, queue", "us", queue_max, replay.down_queue);
    figure.variants.push_back(std::move(variant));
  }
  if (figure.caption.empty()) {
    figure.caption =
        "Every link between ToRs (rows) and spines (columns) over time: how much of it is used, "
        "and the deepest queue in front of it.";
  }
  return figure;
}

// --- One link ------------------------------------------------------------------------------------

namespace {

struct TraceBin {
  Picoseconds qdelay{0};
  std::int64_t arrived = 0;
  std::int64_t carried = 0;
  std::uint64_t drops = 0;
  std::uint64_t marks = 0;
  Picoseconds paused{0};

  void merge(TraceBin&& later) {
    qdelay = std::max(qdelay, later.qdelay);
    arrived += later.arrived;
    carried += later.carried;
    drops += later.drops;
    marks += later.marks;
    paused += later.paused;
  }
};

}  // namespace

Result<LinkTrace, FileError> read_link(
    ResultReader& reader, const std::optional<std::pair<std::string, std::string>>& ends,
    std::size_t bin_limit) {
  const auto links = reader.links();
  if (!links) return links.error();
  LinkTrace trace;
  trace.label = label_of(reader.run());
  trace.target_qdelay = target_qdelay(reader.run()).value_or(ps(0));
  std::optional<std::uint32_t> chosen;
  if (ends) {
    for (const LinkInfo& link : links.value()) {
      if (link.from == ends->first && link.to == ends->second) chosen = link.link;
    }
    if (!chosen) {
      return FileError{fmt::format(
          "{}: there is no link from {} to {}. links have names such as \"tor 0\" to \"host 0\"",
          reader.path().string(), ends->first, ends->second)};
    }
  } else {
    Picoseconds deepest{0};
    const auto error = reader.for_each([&](const LinkSample& sample) {
      if (sample.qdelay_max <= deepest) return;
      deepest = sample.qdelay_max;
      chosen = sample.link;
    });
    if (error) return *error;
    if (!chosen) return trace;
  }
  for (const LinkInfo& link : links.value()) {
    if (link.link != *chosen) continue;
    trace.link = name_of(link);
    trace.rate = link.rate;
  }
  Interval interval(reader.run());
  std::optional<TimeBins<TraceBin>> bins;
  const auto error = reader.for_each([&](const LinkSample& sample) {
    if (!bins) bins.emplace(interval.from(sample.time), bin_limit);
    // Other links' rows say that time went on, and this one was idle.
    TraceBin& bin = bins->at(sample.time);
    if (sample.link != *chosen) return;
    bin.qdelay = std::max(bin.qdelay, sample.qdelay_max);
    bin.arrived += sample.arrived.count();
    bin.carried += sample.carried.count();
    bin.drops += sample.drops;
    bin.marks += sample.marks;
    bin.paused += sample.paused;
  });
  if (error) return *error;
  if (!bins) return trace;
  for (std::size_t i = 0; i < bins->size(); ++i) {
    const TraceBin& bin = (*bins)[i];
    trace.bins.push_back({bins->end(i), bins->span(i), bin.qdelay, bytes(bin.arrived),
                          bytes(bin.carried), bin.drops, bin.marks, bin.paused});
  }
  return trace;
}

namespace {

/// Of each run's bins, a line.
template <class Value>
Series line_of(const LinkTrace& run, Label label, bool dashed, Value value) {
  Series series{std::move(label), "line", dashed, {}};
  for (const LinkTrace::Bin& bin : run.bins) {
    series.points.push_back({in_us(bin.end - Instant{}), value(bin)});
  }
  return series;
}

/// "tor 0 to host 0", or which link it is in each run.
std::string links_of(std::span<const LinkTrace> runs) {
  bool same = true;
  for (const LinkTrace& run : runs) same = same && run.link == runs.front().link;
  if (same) return runs.empty() ? "" : runs.front().link;
  std::string text;
  for (const LinkTrace& run : runs) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", run.link, run.label.name);
  }
  return text;
}

}  // namespace

XyFigure link_queue(FigureHead head, std::span<const LinkTrace> runs) {
  XyFigure figure{std::move(head), {}, {}, {}, {}};
  figure.x = {"time", "us", "linear", {}};
  figure.y = {"queueing delay", "us", "linear", {}};
  for (const LinkTrace& run : runs) {
    figure.series.push_back(line_of(
        run, run.label, false, [](const LinkTrace::Bin& bin) { return in_us(bin.qdelay_max); }));
  }
  mark_target(figure, runs);
  if (figure.caption.empty()) {
    figure.caption = fmt::format(
        "The deepest queue of each interval at {}, as the time it takes to drain.", links_of(runs));
  }
  return figure;
}

XyFigure link_rate(FigureHead head, std::span<const LinkTrace> runs) {
  XyFigure figure{std::move(head), {}, {}, {}, {}};
  figure.x = {"time", "us", "linear", {}};
  figure.y = {"rate", "Gbps", "linear", {}};
  const auto gbps_of = [](Bytes amount, Picoseconds span) {
    return static_cast<double>(amount.count()) * 8e3 / static_cast<double>(span.count());
  };
  for (const LinkTrace& run : runs) {
    const auto label = [&](const char* what) {
      return Label{runs.size() == 1 ? what : fmt::format("{}: {}", run.label.name, what),
                   run.label.role};
    };
    figure.series.push_back(line_of(run, label("arriving"), false, [&](const auto& bin) {
      return gbps_of(bin.arrived, bin.span);
    }));
    figure.series.push_back(line_of(run, label("carried"), true, [&](const auto& bin) {
      return gbps_of(bin.carried, bin.span);
    }));
  }
  if (!runs.empty() && runs.front().rate > BitsPerSecond{0}) {
    figure.marks.push_back({"y", in_gbps(runs.front().rate), "link rate"});
  }
  if (figure.caption.empty()) {
    figure.caption = fmt::format(
        "Data that arrives for {}, dropped or not, and what the link carries.", links_of(runs));
  }
  return figure;
}

std::vector<Figure> link_trouble(const FigureHead& head, std::span<const LinkTrace> runs) {
  std::vector<Figure> figures;
  const auto add = [&](const char* id, const char* title, Axis y, const std::string& caption,
                       auto value) {
    XyFigure figure{head, {}, {}, {}, {}};
    figure.id += id;
    figure.title += title;
    figure.caption = caption;
    figure.x = {"time", "us", "linear", {}};
    figure.y = std::move(y);
    bool any = false;
    for (const LinkTrace& run : runs) {
      Series series = line_of(run, run.label, false, value);
      for (const Point& point : series.points) any = any || point.y > 0;
      figure.series.push_back(std::move(series));
    }
    if (any) figures.emplace_back(std::move(figure));
  };
  add("-drops", ": drops", {"drops", "count", "linear", {}},
      fmt::format("Packets dropped at {} in each interval.", links_of(runs)),
      [](const LinkTrace::Bin& bin) { return static_cast<double>(bin.drops); });
  add("-pauses", ": pauses", {"time paused", "share", "linear", {}},
      fmt::format("Share of each interval for which {} was held by a pause.", links_of(runs)),
      [](const LinkTrace::Bin& bin) {
        return static_cast<double>(bin.paused.count()) / static_cast<double>(bin.span.count());
      });
  return figures;
}

std::vector<Figure> last_hop(const FigureHead& head, std::span<const LinkTrace> runs) {
  std::vector<LinkTrace> seen;
  for (const LinkTrace& run : runs) {
    if (!run.bins.empty()) seen.push_back(run);
  }
  std::vector<Figure> figures;
  if (seen.empty()) return figures;
  const auto part = [&](const char* id, const char* title) {
    return FigureHead{head.id + id, head.title + title, head.caption, head.notices};
  };
  figures.emplace_back(link_queue(part("-queue", ": queueing delay"), seen));
  figures.emplace_back(link_rate(part("-rate", ": rates"), seen));
  for (Figure& figure : link_trouble(head, seen)) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace strack::report
