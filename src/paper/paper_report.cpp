#include "paper/paper_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/figures.h"

namespace strack::paper {
namespace {

using report::Figure;
using report::FigureHead;

/// What columns are called in a figure's axes, and their units. {} is what is timed: a flow, or a job.
report::Axis axis_of(const std::string& column, bool jobs) {
  static const std::map<std::string, std::pair<const char*, const char*>> known{
      {"max_us", {"slowest {}", "us"}},
      {"mean_us", {"mean {}", "us"}},
      {"p99_us", {"99th percentile of {}s", "us"}},
      {"slowdown", {"slowest {} over its ideal", "x"}},
      {"spread", {"slowest {} over the fastest", "x"}},
      {"size", {"message size", "B"}},
      {"parallel", {"parallel connections", ""}},
      {"dcqcn", {"constants of DCQCN", ""}},
      {"max_cwnd", {"largest window", ""}},
      {"ooo_cwnd", {"reordering taken for loss, in windows", ""}},
      {"max_paths", {"paths of a connection", ""}},
      {"alpha", {"share of the free buffer that a port may hold", ""}},
      {"placement", {"placement of ranks", ""}},
      {"collective", {"collective", ""}},
      {"target_qhigh_us", {"target_Qhigh", "us"}},
      {"ecn_bitmap_reset_us", {"time between resets of the ECN bitmap", "us"}},
      {"worst_qdelay_us", {"longest queueing delay", "us"}},
      {"peak_arrival_gbps", {"peak arrival rate", "Gb/s"}},
      {"peak_queue_mb", {"deepest queue", "MB"}},
      {"drops", {"packets dropped", "count"}},
      {"deepest_queue", {"deepest queue", "B"}},
      {"retransmissions", {"retransmissions", "count"}}};
  report::Axis axis;
  const auto found = known.find(column);
  axis.label = found == known.end() ? column : found->second.first;
  if (const std::size_t at = axis.label.find("{}"); at != std::string::npos)
    axis.label.replace(at, 2, jobs ? "job" : "flow");
  axis.unit = found == known.end() ? "" : found->second.second;
  return axis;
}

/// The same of a figure's y, where the row does not say it itself.
report::Axis y_axis_of(const FigureSpec& spec, bool jobs) {
  report::Axis axis = axis_of(spec.y, jobs);
  if (!spec.y_label.empty()) axis.label = spec.y_label;
  if (!spec.y_unit.empty()) axis.unit = spec.y_unit;
  return axis;
}

report::Label label_of(const std::string& series) {
  static const std::map<std::string, const char*> names{{"strack", "STrack"},
                                                        {"oblivious", "STrack, oblivious"},
                                                        {"single-path", "STrack, single path"},
                                                        {"rocev2", "RoCEv2"},
                                                        {"rocev2-4qp", "RoCEv2, 4 QPs"}};
  const auto found = names.find(series);
  if (found == names.end()) return {series, "other"};
  return {found->second, series};
}

/// "16 MB" for a size, what stands there for others.
std::string category_text(const std::string& column, const Evidence::Cells& cell) {
  if (column == "size" && cell.numeric) {
    return size_text(bytes(static_cast<std::int64_t>(cell.x_number)));
  }
  return cell.x;
}

Result<std::vector<Figure>, FileError> chart(Evidence& evidence, const Row& row,
                                             const FigureSpec& spec, FigureHead head) {
  const auto cells = evidence.cells(row.id, spec);
  if (!cells) return FileError{fmt::format("{}: {}", row.file.string(), cells.error().message)};
  const bool jobs = evidence.count(row.id).jobs > 0;
  if (spec.kind == "bars") {
    std::vector<report::BarValue> values;
    for (const Evidence::Cells& cell : cells.value()) {
      values.push_back({category_text(spec.x, cell), label_of(cell.series), cell.y});
    }
    return std::vector<Figure>{report::bars(std::move(head), y_axis_of(spec, jobs), values)};
  }
  report::XyFigure figure;
  static_cast<FigureHead&>(figure) = std::move(head);
  figure.x = axis_of(spec.x, jobs);
  if (!spec.x_label.empty()) figure.x.label = spec.x_label;
  figure.y = y_axis_of(spec, jobs);
  const bool log = spec.x == "size";
  figure.x.scale = log ? "log" : "linear";
  figure.y.scale = log && spec.y.ends_with("_us") ? "log" : "linear";
  std::vector<std::string> order;
  std::map<std::string, std::map<double, std::vector<double>>> points;
  for (const Evidence::Cells& cell : cells.value()) {
    if (!points.contains(cell.series)) order.push_back(cell.series);
    points[cell.series][cell.x_number].push_back(cell.y);
  }
  const auto add = [&](report::Label label, bool dashed,
                       const std::map<double, std::vector<double>>& by_x) {
    report::Series& series = figure.series.emplace_back();
    series.label = std::move(label);
    series.dashed = dashed;
    for (const auto& [x, values] : by_x) {
      const report::Spread spread = report::spread_of(values);
      series.points.push_back({x, spread.median, spread.count > 1 ? spread.low : report::kUnknown,
                               spread.count > 1 ? spread.high : report::kUnknown});
    }
  };
  for (const std::string& name : order) add(label_of(name), false, points[name]);
  if (spec.y == "max_us") {
    FigureSpec ideal = spec;
    ideal.y = "ideal_us";
    ideal.series = "'ideal'";
    const auto bounds = evidence.cells(row.id, ideal);
    if (!bounds) return bounds.error();
    // One physical bound for all: headers differ between protocols, so the least of them.
    std::map<double, std::vector<double>> by_x;
    for (const Evidence::Cells& cell : bounds.value()) {
      std::vector<double>& least = by_x[cell.x_number];
      if (least.empty()) least.push_back(cell.y);
      least.front() = std::min(least.front(), cell.y);
    }
    if (!by_x.empty()) add({"ideal", "ideal"}, true, by_x);
  }
  return std::vector<Figure>{std::move(figure)};
}

/// Figures that are drawn from result files.
Result<std::vector<Figure>, FileError> from_files(Evidence& evidence, const Row& row,
                                                  const FigureSpec& spec, const FigureHead& head) {
  const auto found = evidence.find(row.id, spec.where);
  if (!found) return FileError{fmt::format("{}: {}", row.file.string(), found.error().message)};
  std::vector<report::Times> times;
  std::vector<report::LinkSeries> links;
  std::vector<report::LinkTrace> traces;
  std::vector<report::FlowSeries> flows;
  // Of runs that tables tell of there are no files.
  const auto& runs = found.value();
  if (!runs.empty() && std::all_of(runs.begin(), runs.end(),
                                   [](const Evidence::Found& run) { return run.file.empty(); })) {
    return std::vector<Figure>{};
  }
  for (const Evidence::Found& run : runs) {
    if (run.file.empty()) continue;
    const auto opened = metrics::ResultReader::open(run.file);
    if (!opened) return opened.error();
    metrics::ResultReader& reader = *opened.value();
    if (spec.kind == "fct-cdf" || spec.kind == "job-cdf") {
      auto read = spec.kind == "fct-cdf" ? report::flow_times(reader) : report::job_times(reader);
      if (!read) return read.error();
      times.push_back(std::move(read.value()));
    } else if (spec.kind == "queue-delay" || spec.kind == "fabric") {
      report::LinkLimits limits;
      if (spec.kind == "queue-delay") limits.frames = 0;
      auto read = report::read_links(reader, limits);
      if (!read) return read.error();
      links.push_back(std::move(read.value()));
    } else if (spec.kind == "last-hop") {
      auto read = report::read_link(reader);
      if (!read) return read.error();
      traces.push_back(std::move(read.value()));
    } else {
      report::FlowLimits limits;
      if (spec.count > 0) limits.flows = static_cast<std::size_t>(spec.count);
      if (spec.bin_us > 0) limits.bin = ps(static_cast<std::int64_t>(spec.bin_us * 1e6));
      auto read = report::read_flows(reader, limits);
      if (!read) return read.error();
      flows.push_back(std::move(read.value()));
    }
  }
  if (spec.kind == "fct-cdf") return std::vector<Figure>{report::cdf(head, times)};
  if (spec.kind == "job-cdf") {
    return std::vector<Figure>{report::cdf(head, times, "time of a collective")};
  }
  if (spec.kind == "queue-delay") return std::vector<Figure>{report::queue_delay(head, links)};
  if (spec.kind == "fabric") return std::vector<Figure>{report::fabric(head, links)};
  if (spec.kind == "last-hop") return report::last_hop(head, traces);
  if (spec.kind == "throughput") {
    return std::vector<Figure>{
        report::throughput(head, flows, static_cast<std::size_t>(spec.count > 0 ? spec.count : 8))};
  }
  return std::vector<Figure>{report::inspector(head, flows)};
}

std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
  if (seeds.size() <= 1) return seeds.empty() ? "no seeds" : fmt::format("seed {}", seeds.front());
  return fmt::format("seeds {}", fmt::join(seeds, ", "));
}

std::string scale_text(const Evidence& evidence, const std::string& row) {
  const Evidence::Count& count = evidence.count(row);
  if (count.planned == 0) return "judged by the runs of other rows";
  std::string text = fmt::format("{} of {} runs", count.done, count.planned);
  if (count.done > 0) {
    text += fmt::format(
        ", {} hosts, {}{}, {:.0f} s of CPU time",
        count.least_hosts < count.hosts ? fmt::format("{} to {}", count.least_hosts, count.hosts)
                                        : fmt::format("{}", count.hosts),
        count.jobs > 0 ? fmt::format("{} job{}, ", count.jobs, count.jobs == 1 ? "" : "s") : "",
        seeds_text(count.seeds), count.cpu_s);
  }
  return text;
}

std::string paper_value(const Check& check) {
  return check.paper ? value_text(*check.paper, check.unit) : check.paper_text;
}

std::string ours_text(const Finding& finding) {
  return finding.values.empty() ? "no runs yet"
                                : value_text(finding.median, finding.check->unit,
                                             digits_apart(*finding.check, finding.median));
}

std::string rule_of(const Finding& finding) {
  return rule_text(*finding.check,
                   finding.values.empty() ? 0 : digits_apart(*finding.check, finding.median));
}

std::string spread_text(const Finding& finding) {
  if (finding.values.size() < 2) return "";
  return fmt::format("{} to {}", value_text(finding.low, finding.check->unit),
                     value_text(finding.high, finding.check->unit));
}

/// Statements of the kind "so many times as fast", the paper's number beside ours.
report::BarsFigure beside_each_other(const std::vector<RowFinding>& findings) {
  report::BarsFigure figure;
  figure.id = "overview";
  figure.title = "How many times as fast STrack is: the paper, and this implementation";
  figure.caption =
      "Each pair is one statement of the paper that says how many times as fast STrack is, with "
      "the "
      "number the paper gives (at best, where it says up to) and the one measured here, the median "
      "over seeds.";
  figure.y = {"times as fast", "x", "linear", {}};
  figure.horizontal = true;
  figure.marks = {{"y", 1, "as fast"}};
  report::BarSeries paper{{"the paper", "paper"}, {}, {}, {}};
  report::BarSeries ours{{"this implementation", "strack"}, {}, {}, {}};
  for (const RowFinding& row : findings) {
    for (const Finding& finding : row.findings) {
      if (!finding.check->ratio || finding.values.empty()) continue;
      figure.categories.push_back(finding.check->label);
      paper.values.push_back(*finding.check->paper);
      paper.low.push_back(report::kUnknown);
      paper.high.push_back(report::kUnknown);
      ours.values.push_back(finding.median);
      const bool several = finding.values.size() > 1;
      ours.low.push_back(several ? finding.low : report::kUnknown);
      ours.high.push_back(several ? finding.high : report::kUnknown);
    }
  }
  figure.series = {std::move(paper), std::move(ours)};
  return figure;
}

/// "14 claims: 6 reproduced, 5 partly, 3 not"
std::string tally_text(const std::vector<RowFinding>& findings) {
  std::map<Verdict, int> rows;
  std::map<Verdict, int> checks;
  int claims = 0;
  int statements = 0;
  for (const RowFinding& finding : findings) {
    if (finding.row->checks.empty()) continue;
    ++claims;
    ++rows[finding.verdict];
    for (const Finding& one : finding.findings) {
      ++statements;
      ++checks[one.verdict];
    }
  }
  const auto words = [](const std::map<Verdict, int>& counts) {
    std::vector<std::string> parts;
    for (const Verdict v :
         {Verdict::reproduced, Verdict::partly, Verdict::not_reproduced, Verdict::open}) {
      const auto found = counts.find(v);
      if (found == counts.end()) continue;
      parts.push_back(fmt::format("{} {}", found->second,
                                  v == Verdict::not_reproduced ? "not reproduced"
                                  : v == Verdict::partly       ? "partly reproduced"
                                                               : name_of(v)));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  return fmt::format("{} rows: {}. {} statements in them: {}.", claims, words(rows), statements,
                     words(checks));
}

constexpr const char* kHowToRead =
    "Better by p % means that the other takes 1 + p/100 times as long. A statement `p times as "
    "fast` is "
    "judged by the gain, p - 1: from two thirds to one and a half of the paper's is reproduced; "
    "from a third to three times it is partly reproduced. Other statements have their ranges "
    "beside "
    "them. All rules stand in the scenario files.";

}  // namespace

Result<report::Report, FileError> make_report(Evidence& evidence,
                                              const std::vector<RowFinding>& findings) {
  report::Report page;
  page.title = "STrack, reproduced";
  page.lead = {fmt::format("Every experiment of the STrack paper, run packet by packet by this "
                           "implementation at the {} "
                           "scale, beside the RoCEv2 baseline. {}",
                           evidence.scale(), tally_text(findings)),
               kHowToRead};
  if (evidence.scale() != kFullScale) {
    page.notices.push_back(
        {"info",
         fmt::format(
             "The scale is {}: fewer hosts, smaller messages, fewer seeds than the paper has. It "
             "shows the directions; the numbers to compare are those of `strack paper run --scale "
             "full`.",
             evidence.scale())});
  }
  for (const std::string& problem : evidence.problems())
    page.notices.push_back({"warning", problem});
  std::size_t missing = 0;
  for (const RowFinding& finding : findings) {
    const Evidence::Count& count = evidence.count(finding.row->id);
    missing += count.planned - count.done;
  }
  if (missing > 0) {
    page.notices.push_back(
        {"warning", fmt::format("{} runs are missing: `strack paper run --scale {}` makes them.",
                                missing, evidence.scale())});
  }
  report::Section overview;
  overview.id = "overview-section";
  overview.title = "Overview";
  overview.group = "Overview";
  overview.figures.emplace_back(beside_each_other(findings));
  page.sections.push_back(std::move(overview));

  for (const RowFinding& finding : findings) {
    const Row& row = *finding.row;
    report::Section& section = page.sections.emplace_back();
    section.id = row.id;
    section.title = row.title_at(evidence.scale());
    section.group = row.group;
    section.scale = scale_text(evidence, row.id);
    if (!row.claim.empty()) {
      section.claim = fmt::format("{} ({})", row.claim, row.section);
      section.verdict = std::string(name_of(finding.verdict));
    }
    for (const Finding& one : finding.findings) {
      section.checks.push_back({one.check->says, paper_value(*one.check), ours_text(one),
                                spread_text(one), std::string(name_of(one.verdict)), rule_of(one)});
    }
    section.explanation = finding.explanation;
    int number = 0;
    for (const FigureSpec& spec : row.figures) {
      FigureHead head{fmt::format("{}-{}", row.id, ++number), spec.title, spec.caption, {}};
      auto figures = spec.kind == "lines" || spec.kind == "bars"
                         ? chart(evidence, row, spec, std::move(head))
                         : from_files(evidence, row, spec, head);
      if (!figures) return figures.error();
      for (Figure& figure : figures.value()) section.figures.push_back(std::move(figure));
    }
  }
  for (const RowFinding& finding : findings) {
    const auto runs = evidence.find(finding.row->id, "");
    if (!runs) return runs.error();
    for (const Evidence::Found& run : runs.value()) {
      if (run.file.empty()) continue;
      const auto summary = metrics::summarise(run.file);
      if (!summary) return summary.error();
      page.runs.push_back(report::run_row(run.file.string(), summary.value()));
      page.runs.back().name = finding.row->id;
    }
  }
  return page;
}

namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

/// The figure's numbers as a table: a line for each x, a column for each series.
Result<std::string, FileError> numbers(Evidence& evidence, const Row& row, const FigureSpec& spec) {
  const auto cells = evidence.cells(row.id, spec);
  if (!cells) return FileError{fmt::format("{}: {}", row.file.string(), cells.error().message)};
  std::vector<std::string> series;
  std::vector<std::string> lines;
  std::map<std::string, std::map<std::string, std::vector<double>>> values;
  std::map<std::string, double> order;
  bool numeric = true;
  for (const Evidence::Cells& cell : cells.value()) {
    const std::string name = label_of(cell.series).name;
    const std::string x = category_text(spec.x, cell);
    if (std::find(series.begin(), series.end(), name) == series.end()) series.push_back(name);
    if (std::find(lines.begin(), lines.end(), x) == lines.end()) lines.push_back(x);
    values[x][name].push_back(cell.y);
    order[x] = cell.x_number;
    numeric = numeric && cell.numeric;
  }
  if (lines.empty()) return std::string();
  if (numeric) {
    std::stable_sort(lines.begin(), lines.end(), [&](const std::string& a, const std::string& b) {
      return order[a] < order[b];
    });
  }
  const bool jobs = evidence.count(row.id).jobs > 0;
  const std::string x = spec.x_label.empty() ? axis_of(spec.x, jobs).label : spec.x_label;
  const report::Axis y = y_axis_of(spec, jobs);
  std::string text =
      fmt::format("{}: {}{}, median over seeds (least to most).\n\n| {} |", spec.title, y.label,
                  y.unit.empty() ? "" : " (" + y.unit + ")", escaped(x));
  for (const std::string& name : series) text += fmt::format(" {} |", escaped(name));
  text += "\n|---|";
  for (std::size_t i = 0; i < series.size(); ++i) text += "---|";
  text += '\n';
  for (const std::string& line : lines) {
    text += fmt::format("| {} |", escaped(line));
    for (const std::string& name : series) {
      const auto found = values[line].find(name);
      if (found == values[line].end()) {
        text += " |";
        continue;
      }
      const report::Spread spread = report::spread_of(found->second);
      text += " " + value_text(spread.median, "");
      if (spread.count > 1) {
        text += fmt::format(" ({} to {})", value_text(spread.low, ""), value_text(spread.high, ""));
      }
      text += " |";
    }
    text += '\n';
  }
  return text + '\n';
}

/// "1319 runs, 4.3 hours of CPU time, version 1": of versions that made few of them, which rows.
std::string runs_text(const Evidence& evidence, const std::vector<RowFinding>& findings) {
  double cpu = 0;
  std::size_t runs = 0;
  std::map<std::string, std::size_t> versions;
  std::map<std::string, std::vector<std::string>> rows_of;
  for (const RowFinding& finding : findings) {
    const Evidence::Count& count = evidence.count(finding.row->id);
    cpu += count.cpu_s;
    runs += count.done;
    for (const auto& [version, of_it] : count.versions) {
      versions[version] += of_it;
      rows_of[version].push_back(finding.row->id);
    }
  }
  std::size_t most = 0;
  for (const auto& [version, of_it] : versions) most = std::max(most, of_it);
  std::vector<std::string> made_by;
  for (const auto& [version, of_it] : versions) {
    made_by.push_back(of_it == most ? version
                                    : fmt::format("{} ({} runs: {})", version, of_it,
                                                  fmt::join(rows_of[version], ", ")));
  }
  return fmt::format("{} runs, {:.1f} hours of CPU time, version {}", runs, cpu / 3'600,
                     fmt::join(made_by, ", "));
}

}  // namespace

Result<std::string, FileError> make_markdown(Evidence& evidence,
                                             const std::vector<RowFinding>& findings,
                                             const std::string& data) {
  std::string text = fmt::format(
      "# Validation: the paper's claims, and what we measure\n\n"
      "Generated by `strack paper report --markdown` from the results of `strack paper run --scale "
      "{}`; the rules "
      "stand in `scenarios/paper`{}.\n\n"
      "{}\n\n{}.\n\n",
      evidence.scale(), data.empty() ? "" : fmt::format(", the numbers of every run in `{}`", data),
      tally_text(findings), runs_text(evidence, findings));
  for (const std::string& note : evidence.notes()) text += note + "\n\n";
  text += std::string(kHowToRead) + "\n\n";
  text += "| row | statement | paper | ours | over seeds | verdict |\n|---|---|---|---|---|---|\n";
  for (const RowFinding& finding : findings) {
    for (const Finding& one : finding.findings) {
      text += fmt::format(
          "| [{0}](#{1}) | {2} | {3} | {4} | {5} | {6} |\n", finding.row->id,
          [&] {
            std::string anchor;
            for (const char c : finding.row->id + "-" + finding.row->title_at(evidence.scale())) {
              if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')
                anchor += c;
              else if (c >= 'A' && c <= 'Z')
                anchor += static_cast<char>(c - 'A' + 'a');
              else if (c == ' ')
                anchor += '-';
            }
            return anchor;
          }(),
          escaped(one.check->says), paper_value(*one.check), ours_text(one), spread_text(one),
          name_of(one.verdict));
    }
  }
  for (const RowFinding& finding : findings) {
    const Row& row = *finding.row;
    text += fmt::format("\n## {} {}\n\n", row.id, row.title_at(evidence.scale()));
    if (!row.claim.empty()) {
      text += fmt::format(
          "**The paper** ({}): {}\n\n**Verdict: {}.** {}.\n\n", row.section, row.claim,
          finding.verdict == Verdict::not_reproduced ? "not reproduced" : name_of(finding.verdict),
          scale_text(evidence, row.id));
      text +=
          "| statement | paper | ours | over seeds | verdict | rule |\n|---|---|---|---|---|---|\n";
      for (const Finding& one : finding.findings) {
        text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", escaped(one.check->says),
                            paper_value(*one.check), ours_text(one), spread_text(one),
                            name_of(one.verdict), rule_of(one));
      }
      text += '\n';
    } else {
      text += fmt::format("{}.\n\n", scale_text(evidence, row.id));
    }
    for (const std::string& paragraph : finding.explanation) text += paragraph + "\n\n";
    for (const FigureSpec& spec : row.figures) {
      if (spec.kind != "lines" && spec.kind != "bars") continue;
      const auto table = numbers(evidence, row, spec);
      if (!table) return table.error();
      text += table.value();
    }
    while (text.ends_with("\n\n")) text.pop_back();
  }
  return text;
}

}  // namespace strack::paper
