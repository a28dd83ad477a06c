#include "report/csv.h"

#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/csv_text.h"

namespace strack::report {
namespace {

/// Rows that end with CR LF; fields in quotes where they must be.
class Csv {
 public:
  void text(std::string_view field) {
    comma();
    out_ += csv_cell(field);
  }
  /// The shortest text that means exactly this number; nothing for one that is not known.
  void number(double value) {
    comma();
    if (std::isfinite(value)) out_ += plain_number(value);
  }
  void row() {
    out_ += "\r\n";
    first_ = true;
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void comma() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  static std::string plain_number(double value) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (std::trunc(value) == value && std::abs(value) < kExact) {
      return fmt::format("{}", static_cast<std::int64_t>(value));
    }
    return fmt::format("{}", value);
  }

  std::string out_;
  bool first_ = true;
};

/// "FCT (us)"
std::string title_of(const Axis& axis) {
  const std::string label = axis.label.empty() ? "value" : axis.label;
  return axis.unit.empty() ? label : fmt::format("{} ({})", label, axis.unit);
}

std::string csv_of(const XyFigure& figure) {
  Csv out;
  out.text("series");
  out.text(title_of(figure.x));
  out.text(title_of(figure.y));
  out.text("low");
  out.text("high");
  out.row();
  for (const Series& series : figure.series) {
    for (const Point& p : series.points) {
      out.text(series.label.name);
      if (figure.x.scale == "category") {
        out.text(figure.x.categories.at(static_cast<std::size_t>(p.x)));
      } else {
        out.number(p.x);
      }
      out.number(p.y);
      out.number(p.low);
      out.number(p.high);
      out.row();
    }
  }
  return out.take();
}

std::string csv_of(const BarsFigure& figure) {
  Csv out;
  out.text("category");
  out.text("series");
  out.text(title_of(figure.y));
  out.text("low");
  out.text("high");
  out.row();
  for (std::size_t i = 0; i < figure.categories.size(); ++i) {
    for (const BarSeries& series : figure.series) {
      out.text(figure.categories[i]);
      out.text(series.label.name);
      out.number(i < series.values.size() ? series.values[i] : kUnknown);
      out.number(i < series.low.size() ? series.low[i] : kUnknown);
      out.number(i < series.high.size() ? series.high[i] : kUnknown);
      out.row();
    }
  }
  return out.take();
}

std::string csv_of(const HeatFigure& figure) {
  Csv out;
  out.text("row");
  out.text("column");
  out.text(title_of(figure.value));
  out.text("text");
  out.text("note");
  out.row();
  for (std::size_t i = 0; i < figure.rows.size(); ++i) {
    for (std::size_t k = 0; k < figure.columns.size(); ++k) {
      const HeatCell& cell = figure.cells[i][k];
      out.text(figure.rows[i].name);
      out.text(figure.columns[k]);
      out.number(cell.value);
      out.text(cell.text);
      out.text(cell.note);
      out.row();
    }
  }
  return out.take();
}

/// A row for each link and frame, a column for each layer; links at rest all the time are left out.
std::string csv_of(const FabricFigure& figure) {
  constexpr std::array<std::string_view, 4> kLayers{"up-use", "up-queue", "down-use", "down-queue"};
  constexpr std::array<std::string_view, 4> kTitles{"up utilisation", "up queue (us)",
                                                    "down utilisation", "down queue (us)"};
  Csv out;
  out.text("run");
  out.text("time (us)");
  out.text("tor");
  out.text("spine");
  for (const std::string_view title : kTitles) out.text(title);
  out.row();
  for (const FabricVariant& variant : figure.variants) {
    std::array<const FabricLayer*, kLayers.size()> layers{};
    for (const FabricLayer& layer : variant.layers) {
      for (std::size_t i = 0; i < kLayers.size(); ++i) {
        if (layer.id == kLayers[i]) layers[i] = &layer;
      }
    }
    const std::size_t cells = std::size_t{variant.tors} * variant.spines;
    for (std::size_t frame = 0; frame < variant.times.size(); ++frame) {
      for (std::size_t cell = 0; cell < cells; ++cell) {
        bool any = false;
        for (const FabricLayer* layer : layers) {
          any = any || (layer != nullptr && layer->data[frame * cells + cell] != 0);
        }
        if (!any) continue;
        out.text(variant.name);
        out.number(variant.times[frame]);
        out.number(static_cast<double>(cell / variant.spines));
        out.number(static_cast<double>(cell % variant.spines));
        for (const FabricLayer* layer : layers) {
          // As exact as the 255 steps are.
          out.number(layer == nullptr ? kUnknown
                                      : std::round(layer->data[frame * cells + cell] / 255.0 *
                                                   layer->max * 10'000) /
                                            10'000);
        }
        out.row();
      }
    }
  }
  return out.take();
}

std::string csv_of(const FlowFigure& figure) {
  Csv out;
  for (const char* title : {"flow", "row", "time (us)", "event", "path", "psn", "rtt (us)", "ecn",
                            "cwnd (B)", "qdelay (us)", "acked (Gb/s)", "rate (Gb/s)"}) {
    out.text(title);
  }
  out.row();
  const auto at = [](const std::vector<double>& column, std::size_t i) {
    return i < column.size() ? column[i] : kUnknown;
  };
  for (const InspectedFlow& flow : figure.flows) {
    for (std::size_t i = 0; i < flow.samples.t.size(); ++i) {
      out.text(flow.label.name);
      out.text("sample");
      out.number(flow.samples.t[i]);
      for (int empty = 0; empty < 3; ++empty) out.text("");
      out.number(at(flow.samples.rtt, i));
      out.number(at(flow.samples.ecn, i));
      out.number(at(flow.samples.cwnd, i));
      out.number(at(flow.samples.qdelay, i));
      out.number(at(flow.samples.gbps, i));
      out.number(at(flow.samples.rate, i));
      out.row();
    }
    if (!flow.events) continue;
    const FlowEvents& events = *flow.events;
    for (std::size_t i = 0; i < events.t.size(); ++i) {
      out.text(flow.label.name);
      out.text("event");
      out.number(events.t[i]);
      out.text(flow.kinds.at(events.kind[i]));
      out.number(at(events.path, i));
      out.number(at(events.psn, i));
      out.number(at(events.rtt, i));
      out.number(at(events.ecn, i));
      out.number(at(events.cwnd, i));
      for (int empty = 0; empty < 3; ++empty) out.text("");
      out.row();
    }
  }
  return out.take();
}

/// What there is, and what is wrong with it.
std::string csv_of(const TopologyFigure& figure) {
  Csv out;
  for (const char* title : {"what", "count or ends", "note"}) out.text(title);
  out.row();
  const auto count = [&](const char* what, double number) {
    out.text(what);
    out.number(number);
    out.text("");
    out.row();
  };
  count("hosts", figure.hosts);
  if (!figure.levels.empty()) {
    count("switches", std::accumulate(figure.levels.begin(), figure.levels.end(), 0U));
  } else {
    count("racks", figure.racks);
  }
  if (figure.pods > 0) {
    count("pods", figure.pods);
    count("aggregation switches", double{1} * figure.pods * figure.uppers);
    count("cores", double{1} * figure.uppers * figure.cores_per_agg);
  } else if (figure.levels.empty()) {
    count("spines", figure.uppers);
  }
  for (const Trouble& trouble : figure.troubles) {
    out.text(trouble.down ? "failure" : "impairment");
    out.text(trouble.to.empty() ? trouble.from : fmt::format("{} to {}", trouble.from, trouble.to));
    out.text(trouble.text);
    out.row();
  }
  return out.take();
}

}  // namespace

std::string csv(const Figure& figure) {
  return std::visit([](const auto& one) { return csv_of(one); }, figure);
}

std::string csv(const Table& table) {
  Csv out;
  for (const Column& column : table.columns) out.text(column.name);
  out.row();
  for (const auto& row : table.rows) {
    for (const Cell& cell : row) {
      if (const auto* value = std::get_if<double>(&cell.value)) {
        out.number(*value);
      } else if (const auto* text = std::get_if<std::string>(&cell.value)) {
        out.text(*text);
      } else {
        out.text("");
      }
    }
    out.row();
  }
  return out.take();
}

std::string csv(const std::vector<Run>& runs) {
  Csv out;
  for (const char* title : {"file",
                            "name",
                            "scheme",
                            "seed",
                            "status",
                            "partial",
                            "hosts",
                            "what",
                            "version",
                            "max_us",
                            "mean_us",
                            "p99_us",
                            "ideal_us",
                            "slowdown",
                            "drops",
                            "marks",
                            "retransmissions",
                            "pause_frames",
                            "cpu_s",
                            "hash",
                            "flows_finished",
                            "flows_unfinished",
                            "jobs_finished",
                            "jobs_unfinished"}) {
    out.text(title);
  }
  out.row();
  for (const Run& run : runs) {
    out.text(run.file);
    out.text(run.name);
    out.text(run.scheme);
    out.text(fmt::format("{}", run.seed));
    out.text(run.status);
    out.text(run.partial ? "true" : "false");
    out.number(run.hosts);
    out.text(run.what);
    out.text(run.version);
    for (const double value :
         {run.max_us, run.mean_us, run.p99_us, run.ideal_us, run.slowdown, run.drops, run.marks,
          run.retransmissions, run.pause_frames, run.cpu_s}) {
      out.number(value);
    }
    out.text(run.hash);
    for (const std::uint64_t count :
         {run.flows_finished, run.flows_unfinished, run.jobs_finished, run.jobs_unfinished})
      out.text(fmt::format("{}", count));
    out.row();
  }
  return out.take();
}

}  // namespace strack::report
