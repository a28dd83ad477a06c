#include "league/league_report.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace strack::league {
namespace {

using report::Cell;
using LeagueCell = league::Cell;

/// The darkest colour of the heat map: so many times the bound, or more.
constexpr double kDarkest = 10;

/// cell_text() of the worst run.
std::string worst_text(const LeagueCell& cell) {
  LeagueCell worst = cell;
  worst.median = worst.worst;
  return cell_text(worst);
}

std::string with_x(std::string times) {
  return std::isdigit(static_cast<unsigned char>(times.front())) != 0 ? times + "x" : times;
}

std::string us_text(double us) {
  return std::isfinite(us) ? time_text(ps(static_cast<std::int64_t>(us * 1e6))) : "never";
}

/// "1.05 times the bound, at worst 1.10 of 3 seeds; rank 2"
std::string note_of(const LeagueCell& cell) {
  std::string text;
  if (std::isfinite(cell.median)) {
    text = fmt::format("{} times the bound ({}), at worst {}", times_text(cell.median),
                       us_text(cell.median_us), worst_text(cell));
  } else {
    text = std::string(name_of(cell.ending));
  }
  text += fmt::format(", {} seed{}; rank {}", cell.seeds, cell.seeds == 1 ? "" : "s", cell.rank);
  if (cell.unfinished > 0) text += fmt::format("; {} not finished: {}", cell.unfinished, cell.why);
  return text;
}

report::HeatFigure heat_map(const Standings& standings) {
  report::HeatFigure figure;
  figure.id = "heat";
  figure.title = "How far from the physical bound, everybody everywhere";
  figure.caption =
      "Times over the bound, the median of the seeds; 1 is what physics allows. Transports are "
      "sorted by their mean rank, the best on top. `>100` was given 100 times the bound and had "
      "not finished.";
  figure.value = {"times over the bound", "x", "log", {}};
  figure.low = 1;
  figure.high = kDarkest;
  figure.none = "not finished";
  for (const Case* one : standings.cases) {
    figure.columns.emplace_back(one->title);
    const std::string_view group = find_part(one->part)->title;
    if (figure.groups.empty() || figure.groups.back().first != group) {
      figure.groups.emplace_back(group, 0);
    }
    ++figure.groups.back().second;
  }
  for (const Standing& row : standings.rows) {
    figure.rows.push_back({row.label, row.fabric});
    std::vector<report::HeatCell>& cells = figure.cells.emplace_back();
    for (const LeagueCell& cell : row.cells) {
      if (cell.seeds == 0) {
        cells.emplace_back();
      } else {
        const double value = std::isfinite(cell.median) ? cell.median : report::kUnknown;
        cells.push_back({value, cell_text(cell), note_of(cell)});
      }
    }
  }
  return figure;
}

report::Table standings_table(const Standings& standings) {
  report::Table table{"standings",
                      "Ranks",
                      {{"transport", "left"},
                       {"fabric", "left"},
                       {"mean rank", "right"},
                       {"first places", "right"},
                       {"mean over the bound", "right"},
                       {"worst case", "right"},
                       {"cases", "right"},
                       {"not finished", "right"}},
                      {}};
  for (const Standing& row : standings.rows) {
    table.rows.push_back({row.label, row.fabric, fmt::format("{:.2f}", row.mean_rank), row.firsts,
                          mean_text(row), times_text(row.worst), row.ran, row.unfinished});
  }
  return table;
}

std::string share_text(double share) {
  if (share == 0) return "0";
  const double percent = 100 * share;
  return percent < 0.01 ? "< 0.01 %" : fmt::format("{:.{}f} %", percent, percent < 1 ? 2 : 1);
}

report::Table cost_table(const Standings& standings) {
  report::Table table{"cost",
                      "What the network had to do for it, over all runs",
                      {{"transport", "left"},
                       {"fabric", "left"},
                       {"headroom of a port", "right"},
                       {"deepest queue", "right"},
                       {"packets dropped", "right"},
                       {"trimmed", "right"},
                       {"sent again", "right"},
                       {"pause frames per 1000 packets", "right"},
                       {"control packets per data packet", "right"},
                       {"CPU time of the runs", "right"}},
                      {}};
  for (const Standing& row : standings.rows) {
    const Cost& c = row.cost;
    const auto size = [](double amount) {
      return size_text(bytes(static_cast<std::int64_t>(amount)));
    };
    table.rows.push_back({row.label, row.fabric, c.headroom > 0 ? size(c.headroom) : "none",
                          size(c.deepest_queue), share_text(c.drops), share_text(c.trims),
                          share_text(c.resent), fmt::format("{:.1f}", c.pauses),
                          fmt::format("{:.2f}", c.control), fmt::format("{:.1f} s", c.cpu_s)});
  }
  return table;
}

report::Table unfinished_table(const Standings& standings) {
  report::Table table{"unfinished",
                      "What was not finished",
                      {{"transport", "left"},
                       {"case", "left"},
                       {"runs", "right"},
                       {"how it ended", "left"},
                       {"why", "left"}},
                      {}};
  for (const Standing& row : standings.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const LeagueCell& cell = row.cells[i];
      if (cell.unfinished == 0) continue;
      table.rows.push_back({row.label, standings.cases[i]->title,
                            fmt::format("{} of {}", cell.unfinished, cell.seeds),
                            name_of(cell.ending), cell.why});
    }
  }
  return table;
}

/// One case, by rank.
report::Table case_table(const Standings& standings, std::size_t at) {
  report::Table table{fmt::format("{}-table", standings.cases[at]->id),
                      fmt::format("By rank; the bound is {}", us_text(standings.bound_us[at])),
                      {{"rank", "right"},
                       {"transport", "left"},
                       {"fabric", "left"},
                       {"median", "right"},
                       {"worst", "right"},
                       {"median over the bound", "right"},
                       {"worst over the bound", "right"}},
                      {}};
  std::vector<const Standing*> rows;
  for (const Standing& row : standings.rows) {
    if (row.cells[at].seeds > 0) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const Standing* a, const Standing* b) {
    return a->cells[at].median < b->cells[at].median;
  });
  for (const Standing* row : rows) {
    const LeagueCell& cell = row->cells[at];
    table.rows.push_back({cell.rank, row->label, row->fabric, us_text(cell.median_us),
                          us_text(cell.worst_us), with_x(cell_text(cell)),
                          with_x(worst_text(cell))});
  }
  return table;
}

const char* kHowToRead =
    "Every scheme runs every case on the fabric its transport asks for: lossy switches drop, "
    "trimming ones cut payloads off, lossless ones pause their neighbours (PFC); some choose a "
    "port "
    "for every packet, where all others hash. Everything else is the same for all: links of 400 "
    "Gb/s, a base RTT of 8 us, a packet of 4 KiB, the same flows and the same broken links for the "
    "same seed. No constant is tuned for a case.";
const char* kHowToRank =
    "A case is judged by its slowest flow or job, or as it says, from the message being ready to "
    "its "
    "last acknowledgement, divided by what physics allows. A cell is the median over seeds. A rank "
    "is one more than the number of schemes that are faster by more than 1 %; a run that is not "
    "finished after 100 ms of simulated time is infinitely slow, which is the last rank and never "
    "the first.";

std::string counts_text(Scale scale, const Results& results, const Standings& standings) {
  double cpu = 0;
  std::set<std::string> versions;
  for (const Outcome& one : results.outcomes) {
    cpu += one.cpu_s;
    if (!one.version.empty()) versions.insert(one.version);
  }
  std::vector<std::string_view> not_run;
  for (const Case& one : cases()) {
    if (std::ranges::find(standings.cases, &one) == standings.cases.end())
      not_run.push_back(one.id);
  }
  return fmt::format(
      "{} schemes, {} cases, {} seeds at the {} scale: {} of {} runs, {:.0f} s of CPU "
      "time, version {}.{}",
      standings.rows.size(), standings.cases.size(), standings.seeds, name_of(scale),
      results.outcomes.size(), results.planned, cpu, fmt::join(versions, ", "),
      not_run.empty() ? "" : fmt::format(" Not run: {}.", fmt::join(not_run, ", ")));
}

report::Run run_of(const Outcome& one) {
  report::Run run;
  run.name = one.of;
  run.scheme = one.scheme;
  run.seed = one.seed;
  run.status = std::string(name_of(one.ending));
  run.partial = one.ending != Ending::finished;
  run.hosts = static_cast<std::uint32_t>(one.hosts);
  run.what = one.why;
  run.version = one.version;
  run.max_us = one.time_us;
  run.ideal_us = one.bound_us;
  if (one.bound_us > 0) run.slowdown = one.time_us / one.bound_us;
  run.drops = one.drops;
  run.retransmissions = one.resent;
  run.pause_frames = one.pauses;
  run.cpu_s = one.cpu_s;
  run.hash = one.hash;
  return run;
}

// --- Markdown ------------------------------------------------------------------------------------

std::string cell_markdown(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value)) {
    std::string out;
    for (const char c : *text) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
  }
  const auto* number = std::get_if<double>(&cell.value);
  return number == nullptr ? "" : fmt::format("{}", *number);
}

std::string table_markdown(const report::Table& table) {
  std::string head;
  std::string rule;
  for (const report::Column& column : table.columns) {
    head += fmt::format("| {} ", column.name);
    rule += column.align == "left" ? "|---" : "|---:";
  }
  std::string text = head + "|\n" + rule + "|\n";
  for (const auto& row : table.rows) {
    for (const Cell& cell : row) text += fmt::format("| {} ", cell_markdown(cell));
    text += "|\n";
  }
  return text;
}

/// Cases from top to bottom, schemes across, in the order of their ranks.
report::Table overview_table(const Standings& standings) {
  report::Table table{"overview", "", {{"case", "left"}, {"bound", "right"}}, {}};
  for (const Standing& row : standings.rows) table.columns.push_back({row.label, "right"});
  for (std::size_t i = 0; i < standings.cases.size(); ++i) {
    std::vector<Cell>& line = table.rows.emplace_back();
    line.emplace_back(standings.cases[i]->title);
    line.emplace_back(us_text(standings.bound_us[i]));
    for (const Standing& row : standings.rows) {
      const LeagueCell& cell = row.cells[i];
      const std::string median = cell_text(cell);
      const std::string worst = cell.seeds == 0 ? "" : worst_text(cell);
      line.emplace_back(cell.seeds < 2 ? median : fmt::format("{} ({})", median, worst));
    }
  }
  return table;
}

}  // namespace

report::Report make_report(Scale scale, const Results& results, const Standings& standings) {
  report::Report made;
  made.title = "The league: transports side by side";
  made.lead = {counts_text(scale, results, standings)};
  for (const std::string& problem : results.problems) made.notices.push_back({"warning", problem});
  if (results.outcomes.size() < results.planned) {
    made.notices.push_back({"info", fmt::format("{} of {} runs are missing; `strack league run "
                                                "--scale {}` makes them.",  // the program's name
                                                results.planned - results.outcomes.size(),
                                                results.planned, name_of(scale))});
  }
  report::Section overview;
  overview.id = "league";
  overview.title = "At a glance";
  overview.group = "The league";
  overview.figures.emplace_back(heat_map(standings));
  overview.tables.push_back(standings_table(standings));
  made.sections.push_back(std::move(overview));

  report::Section reading;
  reading.id = "reading";
  reading.title = "How to read it";
  reading.group = "The league";
  reading.explanation = {kHowToRead, kHowToRank};
  made.sections.push_back(std::move(reading));

  report::Section fabric;
  fabric.id = "fabric";
  fabric.title = "What it asks of the fabric";
  fabric.group = "The league";
  fabric.explanation = {
      "A fabric's features are not free: PFC needs headroom in every port's buffer and lets one "
      "slow receiver stop others; trimming needs switches that cut packets, and a queue for the "
      "headers. Deep queues are memory, control packets are bandwidth on the way back."};
  fabric.tables.push_back(cost_table(standings));
  made.sections.push_back(std::move(fabric));

  if (report::Table table = unfinished_table(standings); !table.rows.empty()) {
    report::Section section;
    section.id = "unfinished-section";
    section.title = "Not finished";
    section.group = "The league";
    section.tables.push_back(std::move(table));
    made.sections.push_back(std::move(section));
  }
  for (std::size_t i = 0; i < standings.cases.size(); ++i) {
    const Case& one = *standings.cases[i];
    report::Section section;
    section.id = one.id;
    section.title = one.title;
    section.group = find_part(one.part)->title;
    section.explanation = {std::string(one.about), fmt::format("The bound: {}", one.bound)};
    section.tables.push_back(case_table(standings, i));
    made.sections.push_back(std::move(section));
  }
  for (const Outcome& one : results.outcomes) made.runs.push_back(run_of(one));
  return made;
}

std::string make_markdown(Scale scale, const Results& results, const Standings& standings) {
  // In what follows, the word before `league` and `sim` is the program's name.
  constexpr std::string_view kIntroduction = R"(# The league: transports side by side

Generated by `strack league report --markdown` from the results of `strack league run --scale {0}`; the numbers of every run are in
the CSV file of the same name.

    strack league run                              # the quick scale: minutes
    strack league report                           # results/league-quick/report.html
    strack league run --scale full --part faults   # the full scale, in parts: an hour at most on two processors
    strack league cases                            # what is run

{1}

## How to read it

{2}

{3}

A case is a scenario file, made in `results/league-{0}/cases`; `strack sim run` takes it with any `--scheme`. A run that this version has made is
not made again, so an interrupted league goes on where it was. A transport that is added to `src/transports` is in the next league. With
8192 hosts and 16 MB a run takes about 20 s of CPU time.

)";
  std::string text = fmt::format(kIntroduction, name_of(scale),
                                 counts_text(scale, results, standings), kHowToRead, kHowToRank);
  text +=
      "## Times over the bound\n\nThe median over seeds, and the worst in brackets; best mean rank "
      "to the left.\n\n";
  text += table_markdown(overview_table(standings));
  text += "\n## Ranks\n\n" + table_markdown(standings_table(standings));
  text +=
      "\nThe mean over the bound is geometric, over the cases that were finished; where not all "
      "were, their number stands beside it.\n";
  text += "\n## What it asks of the fabric\n\n" + table_markdown(cost_table(standings));
  if (const report::Table table = unfinished_table(standings); !table.rows.empty()) {
    text += "\n## Not finished\n\n" + table_markdown(table);
  }
  text += "\n## The cases, and their bounds\n";
  for (const Part& part : parts()) {
    text += fmt::format(
        "\n### {} (`--part {}`)\n\n| case | what happens | the bound |\n|---|---|---|\n",
        part.title, part.id);
    for (const Case& one : cases()) {
      if (one.part != part.id) continue;
      text += fmt::format("| `{}`: {} | {} | {} |\n", one.id, one.title, one.about, one.bound);
    }
  }
  return text;
}

std::string make_json(Scale scale, const Results& results, const Standings& standings) {
  using Json = nlohmann::ordered_json;
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json cases_json = Json::array();
  for (std::size_t i = 0; i < standings.cases.size(); ++i) {
    const Case& one = *standings.cases[i];
    cases_json.push_back({{"id", one.id},
                          {"title", one.title},
                          {"part", one.part},
                          {"bound_us", number(standings.bound_us[i])}});
  }
  Json rows = Json::array();
  for (const Standing& row : standings.rows) {
    Json cells = Json::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const LeagueCell& cell = row.cells[i];
      if (cell.seeds == 0) continue;
      cells.push_back({{"case", standings.cases[i]->id},
                       {"rank", cell.rank},
                       {"seeds", cell.seeds},
                       {"unfinished", cell.unfinished},
                       {"ending", name_of(cell.ending)},
                       {"why", cell.why},
                       {"median", number(cell.median)},
                       {"worst", number(cell.worst)},
                       {"median_us", number(cell.median_us)},
                       {"worst_us", number(cell.worst_us)}});
    }
    rows.push_back({{"scheme", row.scheme},
                    {"label", row.label},
                    {"fabric", row.fabric},
                    {"mean_rank", row.mean_rank},
                    {"firsts", row.firsts},
                    {"mean", number(row.mean)},
                    {"unfinished", row.unfinished},
                    {"cells", std::move(cells)}});
  }
  const Json json{{"scale", name_of(scale)},         {"planned", results.planned},
                  {"runs", results.outcomes.size()}, {"problems", results.problems},
                  {"cases", std::move(cases_json)},  {"schemes", std::move(rows)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace strack::league
