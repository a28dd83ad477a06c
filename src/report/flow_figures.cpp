// Flows over time: throughput, and the inspector of single flows.
#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "report/figures.h"
#include "report/time_bins.h"

namespace strack::report {

using metrics::EventKind;
using metrics::FileError;
using metrics::FlowEvent;
using metrics::FlowSample;
using metrics::LossCause;
using metrics::ResultReader;
using metrics::RunInfo;

namespace {

/// A flow in one bin of the inspector. More than one interval: of RTT and queueing delay the
/// largest, of window and rate the last.
struct SampleBin {
  bool seen = false;
  Instant time{};
  Bytes cwnd{0};
  Picoseconds rtt{0};
  Picoseconds qdelay{0};
  std::int64_t acked = 0;
  std::uint64_t ecn = 0;
  BitsPerSecond rate{0};

  void take(const FlowSample& sample) {
    seen = true;
    time = sample.time;
    cwnd = sample.cwnd;
    rtt = std::max(rtt, sample.rtt);
    qdelay = std::max(qdelay, sample.avg_qdelay);
    acked += sample.acked.count();
    ecn += sample.ecn_marks;
    rate = sample.rate;
  }
  void merge(SampleBin&& later) {
    if (!later.seen) return;
    seen = true;
    time = later.time;
    cwnd = later.cwnd;
    rtt = std::max(rtt, later.rtt);
    qdelay = std::max(qdelay, later.qdelay);
    acked += later.acked;
    ecn += later.ecn;
    rate = later.rate;
  }
};

/// What all flows have had acknowledged in one bin; by their place in FlowSeries::flows.
struct AckedBin {
  std::vector<double> acked;
  std::vector<char> seen;

  void add(std::size_t place, double amount) {
    if (acked.size() <= place) {
      acked.resize(place + 1);
      seen.resize(place + 1);
    }
    acked[place] += amount;
    seen[place] = 1;
  }
  void merge(AckedBin&& later) {
    for (std::size_t i = 0; i < later.acked.size(); ++i) {
      if (later.seen[i] != 0) add(i, later.acked[i]);
    }
  }
};

/// Kinds of events as the page names them.
constexpr std::array<const char*, 9> kKinds{"sent",  "resent",       "ack", "loss", "timeout",
                                            "probe", "probe answer", "nak", "cnp"};

std::uint32_t kind_of(const FlowEvent& event) {
  switch (event.kind) {
    case EventKind::sent:
      return 0;
    case EventKind::resent:
      return 1;
    case EventKind::ack:
      return 2;
    case EventKind::loss:
      return event.cause == LossCause::timeout ? 4 : 3;
    case EventKind::probe:
      return 5;
    case EventKind::probe_ack:
      return 6;
    case EventKind::nak:
      return 7;
    case EventKind::cnp:
      return 8;
  }
  return 0;
}

/// To a nanosecond: there are many of them, and no screen shows more.
double short_us(Picoseconds time) { return std::round(in_us(time) * 1e3) / 1e3; }

template <class T, class Make>
double or_unknown(const std::optional<T>& value, Make make) {
  return value ? make(*value) : kUnknown;
}

void add_event(FlowEvents& events, const FlowEvent& event) {
  const auto number = [](const auto& value) { return static_cast<double>(value); };
  events.t.push_back(short_us(event.time - Instant{}));
  events.kind.push_back(kind_of(event));
  events.path.push_back(or_unknown(event.path, number));
  events.psn.push_back(or_unknown(event.psn, number));
  events.rtt.push_back(or_unknown(event.rtt, short_us));
  events.ecn.push_back(or_unknown(event.ecn, [](bool mark) { return mark ? 1.0 : 0.0; }));
  events.cwnd.push_back(
      or_unknown(event.cwnd, [](Bytes cwnd) { return static_cast<double>(cwnd.count()); }));
}

/// Takes a column away that says nothing.
void drop_if_unknown(std::vector<double>& column) {
  const bool any =
      std::any_of(column.begin(), column.end(), [](double v) { return !std::isnan(v); });
  if (!any) column.clear();
}

FlowColumns columns_of(const TimeBins<SampleBin>& bins, Picoseconds interval) {
  FlowColumns columns;
  bool limited = false;
  bool delayed = false;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const SampleBin& bin = bins[i];
    if (!bin.seen) continue;
    columns.t.push_back(in_us(bin.time - Instant{}));
    // A flow that is done has neither window nor rate.
    columns.cwnd.push_back(bin.cwnd > bytes(0) ? static_cast<double>(bin.cwnd.count()) : kUnknown);
    columns.rtt.push_back(bin.rtt > ps(0) ? in_us(bin.rtt) : kUnknown);
    columns.qdelay.push_back(in_us(bin.qdelay));
    delayed = delayed || bin.qdelay > ps(0) || bin.cwnd > bytes(0);
    // The run's last interval may be shorter; a bin's begins where it would.
    const std::int64_t begin = bins.intervals() > 1
                                   ? bins.begin(i).ps
                                   : (bin.time.ps - 1) / interval.count() * interval.count();
    const auto span = static_cast<double>(std::max<std::int64_t>(bin.time.ps - begin, 1));
    columns.gbps.push_back(static_cast<double>(bin.acked) * 8e3 / span);
    columns.ecn.push_back(static_cast<double>(bin.ecn));
    columns.rate.push_back(bin.rate > BitsPerSecond{0} ? in_gbps(bin.rate) : kUnknown);
    limited = limited || bin.rate > BitsPerSecond{0};
  }
  drop_if_unknown(columns.cwnd);
  drop_if_unknown(columns.rtt);
  if (!delayed) columns.qdelay.clear();
  if (!limited) columns.rate.clear();
  return columns;
}

}  // namespace

Result<FlowSeries, FileError> read_flows(ResultReader& reader, const FlowLimits& limits) {
  const RunInfo& run = reader.run();
  FlowSeries series;
  series.label = label_of(run);
  Picoseconds interval = scenario_time(run, "record.interval_us").value_or(ps(0));
  std::optional<TimeBins<AckedBin>> acked;
  std::vector<TimeBins<SampleBin>> samples;
  std::unordered_map<std::uint32_t, std::size_t> places;
  std::unordered_set<std::uint32_t> all;

  const auto place_of = [&](std::uint32_t flow) {
    places.emplace(flow, series.flows.size());
    FlowSeries::Flow& kept = series.flows.emplace_back();
    kept.flow = flow;
    kept.name = fmt::format("flow {}", flow);
    samples.emplace_back(interval, limits.samples);
    return series.flows.size() - 1;
  };
  auto error = reader.for_each([&](const FlowSample& sample) {
    if (!acked) {
      if (interval <= ps(0)) interval = std::max(sample.time - Instant{}, ps(1));
      // A whole number of intervals, or some bins would have one more than others.
      const std::int64_t intervals = (limits.bin.count() + interval.count() - 1) / interval.count();
      acked.emplace(interval * std::max<std::int64_t>(intervals, 1), limits.bins);
    }
    all.insert(sample.flow);
    AckedBin& bin = acked->at(sample.time);
    auto found = places.find(sample.flow);
    if (found == places.end()) {
      if (series.flows.size() >= limits.flows) return;
      place_of(sample.flow);
      found = places.find(sample.flow);
    }
    bin.add(found->second, static_cast<double>(sample.acked.count()));
    samples[found->second].at(sample.time).take(sample);
    series.until = std::max(series.until, sample.time);
  });
  if (error) return *error;
  const std::size_t sampled = series.flows.size();
  if (acked) {
    series.bin = acked->width();
    for (std::size_t f = 0; f < sampled; ++f) {
      FlowSeries::Flow& flow = series.flows[f];
      bool begun = false;
      std::size_t last = 0;
      const auto seen = [&](std::size_t i) {
        return f < (*acked)[i].seen.size() && (*acked)[i].seen[f] != 0;
      };
      for (std::size_t i = 0; i < acked->size(); ++i) {
        if (!seen(i)) continue;
        if (!begun) flow.first = i;
        begun = true;
        last = i;
      }
      for (std::size_t i = flow.first; begun && i <= last; ++i) {
        flow.acked.push_back(seen(i) ? (*acked)[i].acked[f] : 0);
      }
      flow.inspected.samples = columns_of(samples[f], interval);
    }
  }

  std::size_t inspected = 0;
  error = reader.for_each([&](const FlowEvent& event) {
    all.insert(event.flow);
    const auto found = places.find(event.flow);
    std::size_t place = found == places.end() ? series.flows.size() : found->second;
    if (place == series.flows.size() || !series.flows[place].inspected.events) {
      if (inspected >= limits.inspected) return;
      ++inspected;
      if (place == series.flows.size()) place = place_of(event.flow);
      series.flows[place].inspected.events.emplace();
    }
    InspectedFlow& flow = series.flows[place].inspected;
    if (flow.events->t.size() >= limits.events) {
      flow.truncated = true;
      return;
    }
    add_event(*flow.events, event);
  });
  if (error) return *error;
  series.recorded = all.size();

  if (!series.flows.empty()) {
    const auto flows = reader.flows();
    if (!flows) return flows.error();
    const auto channels = reader.channels();
    if (!channels) return channels.error();
    for (const metrics::FlowRecord& row : flows.value()) {
      const auto found = places.find(row.flow);
      if (found == places.end()) continue;
      series.flows[found->second].name = fmt::format("flow {}: host {} to host {}, {}", row.flow,
                                                     row.src, row.dst, size_text(row.size));
    }
    for (const metrics::ChannelInfo& row : channels.value()) {
      const auto found = places.find(row.flow);
      if (found == places.end()) continue;
      series.flows[found->second].name = fmt::format("connection {} of job {}: host {} to host {}",
                                                     row.flow, row.job, row.src, row.dst);
    }
  }
  const auto target = target_qdelay(run);
  for (FlowSeries::Flow& flow : series.flows) {
    InspectedFlow& one = flow.inspected;
    one.label = {flow.name, series.label.role};
    one.kinds.assign(kKinds.begin(), kKinds.end());
    if (run.base_rtt > ps(0)) one.base_rtt = in_us(run.base_rtt);
    // Of the RTT, so that both can stand in one picture.
    if (target) one.target = in_us(run.base_rtt + *target);
    if (!one.events) continue;
    for (auto* column : {&one.events->path, &one.events->psn, &one.events->rtt, &one.events->ecn,
                         &one.events->cwnd}) {
      drop_if_unknown(*column);
    }
  }
  return series;
}

XyFigure throughput(FigureHead head, std::span<const FlowSeries> runs, std::size_t flows) {
  XyFigure figure{std::move(head), {}, {}, {}, {}};
  figure.x = {"time", "us", "linear", {}};
  figure.y = {"throughput", "Gbps", "linear", {}};
  Picoseconds bin{0};
  std::string left_out;
  for (const FlowSeries& run : runs) {
    bin = std::max(bin, run.bin);
    std::size_t drawn = 0;
    for (const FlowSeries::Flow& flow : run.flows) {
      if (flow.acked.empty() || drawn == flows) continue;
      ++drawn;
      // Flows of one run have colours of their own; of several, each run has one.
      Series series{{flow.name, "other"}, "line", false, {}};
      if (runs.size() > 1) {
        series.label = {fmt::format("{}, flow {}", run.label.name, flow.flow), run.label.role};
      }
      for (std::size_t i = 0; i < flow.acked.size(); ++i) {
        const auto at = static_cast<std::int64_t>(flow.first + i);
        const Instant begin{at * run.bin.count()};
        const Instant end = std::min(begin + run.bin, run.until);
        const auto span = static_cast<double>(std::max<std::int64_t>((end - begin).count(), 1));
        series.points.push_back({in_us(end - Instant{}), flow.acked[i] * 8e3 / span});
      }
      figure.series.push_back(std::move(series));
    }
    if (run.recorded > drawn) {
      left_out += fmt::format("{}{} of {}{}", left_out.empty() ? " Drawn are the first " : ", ",
                              drawn, run.recorded, runs.size() > 1 ? " of " + run.label.name : "");
    }
  }
  if (figure.caption.empty()) {
    figure.caption =
        fmt::format("Bytes acknowledged in each {}, as a rate, of single flows.", time_text(bin));
  }
  if (!left_out.empty()) figure.caption += left_out + " recorded flows.";
  return figure;
}

FlowFigure inspector(FigureHead head, std::span<const FlowSeries> runs) {
  FlowFigure figure{std::move(head), {}};
  for (const FlowSeries& run : runs) {
    const bool events = std::any_of(run.flows.begin(), run.flows.end(), [](const auto& flow) {
      return flow.inspected.events.has_value();
    });
    for (const FlowSeries::Flow& flow : run.flows) {
      // Beside flows with every event, those with samples alone are of little use.
      if (events && !flow.inspected.events) continue;
      if (flow.inspected.samples.t.empty() && !flow.inspected.events) continue;
      InspectedFlow& one = figure.flows.emplace_back(flow.inspected);
      one.label = {fmt::format("{}, {}", flow.name, run.label.name), run.label.role};
      if (one.truncated) {
        figure.notices.push_back(fmt::format("{}: only the first {} events are shown",
                                             one.label.name, one.events->t.size()));
      }
    }
  }
  if (figure.caption.empty()) {
    figure.caption =
        "One sender at work: its window, the round trips it measures, marks, and the "
        "paths of its packets where every event was recorded.";
  }
  return figure;
}

}  // namespace strack::report
