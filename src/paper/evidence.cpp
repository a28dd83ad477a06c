#include "paper/evidence.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/csv_text.h"
#include "metrics/sqlite.h"
#include "metrics/summary.h"
#include "paper/csv_table.h"
#include "paper/median.h"
#include "paper/run_table.h"
#include "report/figures.h"
#include "sim/scenario/same_results.h"
#include "workload/amount.h"

namespace strack::paper {
namespace fs = std::filesystem;
using metrics::Database;
using metrics::Statement;
namespace {

/// NULL, a number or a text.
using Value = std::variant<std::monostate, double, std::string>;

/// The value of the column that is next.
Value next_value(Statement& row) {
  switch (row.type()) {
    case SQLITE_NULL:
      row.skip();
      return {};
    case SQLITE_INTEGER:
    case SQLITE_FLOAT: {
      double number = 0;
      row >> number;
      return number;
    }
    default: {
      std::string text;
      row >> text;
      return text;
    }
  }
}
Value last_value(Statement& row) { return next_value(row.skip(row.columns() - 1)); }

/// `whole`: a whole number is stored as such, so that SQL prints it as people write it. What was
/// measured is not: SQL would divide 340 by 100 and get 3.
void bind(Statement& statement, const Value& value, bool whole) {
  if (const auto* number = std::get_if<double>(&value)) {
    if (whole && std::nearbyint(*number) == *number && std::abs(*number) < 9e15) {
      statement << static_cast<std::int64_t>(*number);
    } else {
      statement << *number;
    }
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    statement << *text;
  } else {
    statement << std::nullopt;
  }
}

/// Calls take(row) for each row that a query gives; otherwise what SQL says is wrong with it.
template <class Take>
std::optional<std::string> for_each_row(const Database& database, const std::string& sql,
                                        Take&& take) {
  Statement rows;
  if (!rows.prepare(database, sql)) return database.message();
  while (rows.next()) take(rows);
  if (!rows.ok()) return database.message();
  return std::nullopt;
}

/// The one value a query gives.
Result<Value, std::string> ask(const Database& database, const std::string& sql) {
  std::optional<Value> first;
  auto wrong = for_each_row(database, sql, [&](Statement& row) {
    if (!first) first = last_value(row);
  });
  if (wrong) return *std::move(wrong);
  return first.value_or(Value{});
}

std::string quoted(const std::string& name) { return '"' + name + '"'; }

/// "16 MB" is 16000000, "8 us" is 8, "256" is 256, "strack" a text.
Value axis_value(const std::string& text) {
  if (const auto number = number_of(text)) return *number;
  if (const auto size = workload::parse_size(text)) return static_cast<double>(size->count());
  if (const auto time = workload::parse_time(text)) return static_cast<double>(time->count()) / 1e6;
  return text;
}

using Line = std::map<std::string, Value>;

Line line_of(const PlannedRun& run, const fs::path& file, const metrics::Summary& s) {
  Line line;
  const auto put = [&](const char* name, double value) {
    if (std::isfinite(value)) line[name] = value;
  };
  const auto count = [&](const char* name, auto value) { line[name] = static_cast<double>(value); };
  line["row"] = run.row;
  line["file"] = file.string();
  line["run"] = run.name;
  line["scenario"] = run.digest;
  line["status"] = std::string(metrics::to_text(s.state.status));
  line["version"] = s.run.version + (s.run.source.empty() ? "" : "/" + s.run.source);
  line["hash"] = s.state.hash;
  line["scheme"] = s.run.scheme;
  line["who"] = report::label_of(s.run).role;
  count("seed", run.seed);
  count("hosts", s.run.hosts);
  count("flows", s.run.flows);
  count("jobs", s.run.jobs);
  put("max_us", report::max_us(s));
  put("mean_us", report::mean_us(s));
  put("p99_us", report::p99_us(s));
  put("p50_us", report::in_us(s.has_jobs() ? s.jobs.p50_time : s.p50_fct));
  put("ideal_us", report::in_us(s.run.ideal_fct));
  put("slowdown", report::slowdown(s));
  if (s.has_jobs()) {
    put("min_us", report::in_us(s.jobs.min_time));
    put("spread", static_cast<double>(s.jobs.max_time.count()) /
                      static_cast<double>(s.jobs.min_time.count()));
  }
  count("drops", s.drops());
  count("marks", s.counters.marks);
  count("packets", s.counters.data_packets_sent);
  count("retransmissions", s.retransmissions);
  count("timeouts", s.counters.timeouts);
  count("cnps", s.cnps);
  count("pause_frames", s.counters.pause_frames);
  put("paused_us", report::in_us(s.counters.paused));
  count("deepest_queue", s.counters.deepest_queue.count());
  put("cpu_s", s.state.cpu_seconds);
  for (const auto& [name, value] : run.axes) line[name] = axis_value(value);
  // Its own columns say it better than the axis does.
  line["scheme"] = s.run.scheme;
  return line;
}

std::string number_text(double value) { return fmt::format("{}", value); }

std::string cell_text(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

/// Nothing, or what its table may have.
bool can_be_measured(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? std::isfinite(*number) && *number >= 0
                           : std::holds_alternative<std::monostate>(value);
}

}  // namespace

struct Evidence::Impl {
  std::string scale;
  Database database;
  std::vector<std::string> columns;
  std::set<std::string> given;  ///< columns that say what was run, not what came out
  std::map<std::string, Count> counts;
  std::map<std::string, std::vector<PlannedRun>> planned;
  std::map<std::string, std::set<std::string>> measures;  ///< names, by row
  std::vector<std::string> problems;
  std::vector<std::string> notes;
  std::set<std::string> taken;     ///< runs that are in the table, by run_key()
  std::vector<std::string> order;  ///< rows
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Line>>
      places;  ///< by row and run as planned

  /// Plans all rows, and makes the empty table.
  std::optional<FileError> prepare_table(const std::vector<Row>& rows) {
    columns = base_columns();
    given = {"seed", "hosts", "flows", "jobs"};
    std::set<std::string> known(columns.begin(), columns.end());
    const auto add = [&](const std::string& name) {
      if (known.insert(name).second) columns.push_back(name);
    };
    for (const Row& row : rows) {
      const auto runs = plan(row, scale);
      if (!runs) return FileError{runs.error().text()};
      planned[row.id] = runs.value();
      order.push_back(row.id);
      counts[row.id].planned = runs.value().size();
      for (const PlannedRun& run : runs.value()) {
        for (const auto& [name, value] : run.axes) {
          add(name);
          given.insert(name);
        }
      }
      for (const auto& [name, sql] : row.measures) {
        add(name);
        measures[row.id].insert(name);
      }
    }
    std::string sql = "CREATE TABLE runs (";
    for (const std::string& name : columns)
      sql += (&name == &columns.front() ? "" : ", ") + quoted(name);
    if (!database.open_in_memory() || !add_median(database) || !database.execute(sql + ")")) {
      return FileError{fmt::format("the table of runs: {}", database.message())};
    }
    return std::nullopt;
  }

  /// Wherever it was found: it has the place it would have if all were run here.
  void keep(Line line) {
    const auto at = [](const auto& all, const auto& is) {
      return static_cast<std::size_t>(std::find_if(all.begin(), all.end(), is) - all.begin());
    };
    const std::string row = std::get<std::string>(line.at("row"));
    const auto run = line.find("run");
    const std::vector<PlannedRun>& runs = planned[row];
    const std::size_t place =
        run == line.end() ? runs.size() : at(runs, [&](const PlannedRun& one) {
          return one.name == std::get<std::string>(run->second);
        });
    places[{at(order, [&](const std::string& id) { return id == row; }), place}].push_back(
        std::move(line));
  }
  void insert_all() {
    for (const auto& [place, lines] : places) {
      for (const Line& line : lines) insert(line);
    }
    places.clear();
  }

  void insert(const Line& line) {
    std::string names;
    std::string marks;
    for (const auto& [name, value] : line) {
      names += (names.empty() ? "" : ", ") + quoted(name);
      marks += marks.empty() ? "?" : ", ?";
    }
    Statement statement;
    const std::string sql = fmt::format("INSERT INTO runs ({}) VALUES ({})", names, marks);
    STRACK_CHECK(statement.prepare(database, sql));  // all columns were made from the same rows
    for (const auto& [name, value] : line) bind(statement, value, given.contains(name));
    STRACK_CHECK(statement.done());

    Count& count = counts[std::get<std::string>(line.at("row"))];
    ++count.done;
    if (const auto found = line.find("cpu_s"); found != line.end()) {
      if (const auto* cpu = std::get_if<double>(&found->second)) count.cpu_s += *cpu;
    }
    const auto seed = static_cast<std::uint64_t>(std::get<double>(line.at("seed")));
    if (std::find(count.seeds.begin(), count.seeds.end(), seed) == count.seeds.end()) {
      count.seeds.push_back(seed);
      std::sort(count.seeds.begin(), count.seeds.end());
    }
    const auto hosts = static_cast<std::size_t>(std::get<double>(line.at("hosts")));
    count.hosts = std::max(count.hosts, hosts);
    count.least_hosts = count.done == 1 ? hosts : std::min(count.least_hosts, hosts);
    if (const auto found = line.find("jobs"); found != line.end()) {
      if (const auto* jobs = std::get_if<double>(&found->second))
        count.jobs = std::max(count.jobs, static_cast<std::size_t>(*jobs));
    }
    ++count.versions[std::get<std::string>(line.at("version"))];
  }

  /// The finished results of planned runs: <folder>/<row>/<name>.db.
  void take_results(const std::vector<Row>& rows, const fs::path& folder) {
    for (const Row& row : rows) {
      for (const PlannedRun& run : planned[row.id]) {
        const fs::path file = folder / row.id / (run.name + ".db");
        std::error_code ignored;
        if (fs::exists(file, ignored)) take_result(row, run, file);
      }
    }
  }

  void take_result(const Row& row, const PlannedRun& run, const fs::path& file) {
    const auto summary = metrics::summarise(file);
    if (!summary) {
      problems.push_back(summary.error().message);
      return;
    }
    const metrics::Summary& s = summary.value();
    // A run that left flows unfinished would look fast.
    if (s.state.status != metrics::RunStatus::finished) {
      problems.push_back(fmt::format("{}: the run is not finished ({}), so it is left out",
                                     file.string(), report::status_text(s.state)));
      return;
    }
    if (!sim::same_results(s.run.scenario, run.scenario)) {
      problems.push_back(fmt::format(
          "{}: holds another scenario than the row has now, so it is left out", file.string()));
      return;
    }
    Line line = line_of(run, file, s);
    measure(row, file, line);
    taken.insert(run_key(row.id, run.name, run.digest));
    keep(std::move(line));
  }

  /// Lines of a table that stand for planned runs which are not there yet.
  std::optional<FileError> take_table(const fs::path& file, Strangers strangers) {
    const auto read = read_run_table(file);
    if (!read) return read.error();
    const CsvTable& table = read.value();
    notes.insert(notes.end(), table.notes.begin(), table.notes.end());
    std::map<std::string, std::size_t> changed;
    std::map<std::string, std::size_t> unfinished;  ///< by status
    for (const CsvTable::Line& cells : table.lines) {
      const std::string row = table.cell(cells, "row");
      if (!counts.contains(row)) {
        if (strangers == Strangers::skipped) continue;
        return FileError{fmt::format("{}:{}: there is no row {}. the rows are {}", file.string(),
                                     cells.number, row, fmt::join(order, ", "))};
      }
      if (const std::string status = table.cell(cells, "status"); status != kFinished) {
        ++unfinished[status];
        continue;
      }
      const std::string run = table.cell(cells, "run");
      const auto known = std::find_if(planned[row].begin(), planned[row].end(),
                                      [&](const PlannedRun& p) { return p.name == run; });
      // A table may be kept without fingerprints, which change with every new key: then names count.
      const std::string digest = table.cell(cells, "scenario");
      if (known == planned[row].end() || (!digest.empty() && known->digest != digest)) {
        ++changed[row];
        continue;
      }
      if (!taken.insert(run_key(row, run, known->digest)).second) continue;
      Line line;
      if (auto error = line_from(file, table, cells, *known, line)) return error;
      keep(std::move(line));
    }
    for (const auto& [row, count] : changed) {
      problems.push_back(
          fmt::format("{}: {} runs of {} are of other scenarios than the row has "
                      "now, so they are left out",
                      file.string(), count, row));
    }
    for (const auto& [status, count] : unfinished) {
      problems.push_back(fmt::format("{}: {} not finished ({}), so {} left out", file.string(),
                                     count == 1 ? "a run is" : fmt::format("{} runs are", count),
                                     status, count == 1 ? "it is" : "they are"));
    }
    return std::nullopt;
  }

  /// Half of a seed's runs would pass for all of them: where all runs of another seed are there, the row
  /// is judged by that one, and these wait in the table `rest`.
  void set_aside_parts() {
    STRACK_CHECK(database.execute("CREATE TABLE rest AS SELECT * FROM runs WHERE 0"));
    struct Part {
      std::size_t there = 0;
      std::size_t of = 0;
    };
    for (const auto& [row, runs] : planned) {
      std::map<std::uint64_t, Part> seeds;
      for (const PlannedRun& run : runs) {
        Part& part = seeds[run.seed];
        ++part.of;
        if (taken.contains(run_key(row, run.name, run.digest))) ++part.there;
      }
      Count& count = counts[row];
      count.has_whole_seed = std::any_of(seeds.begin(), seeds.end(), [](const auto& seed) {
        return seed.second.there == seed.second.of;
      });
      if (!count.has_whole_seed) continue;
      for (const auto& [seed, part] : seeds) {
        if (part.there == 0 || part.there == part.of) continue;
        const std::string these =
            fmt::format("FROM runs WHERE row = '{}' AND seed = {}", row, seed);
        STRACK_CHECK(database.execute("INSERT INTO rest SELECT * " + these));
        STRACK_CHECK(database.execute("DELETE " + these));
        std::erase(count.seeds, seed);
        problems.push_back(
            fmt::format("{}: seed {} has {} of its {} runs, and counts when it has all", row, seed,
                        part.there, part.of));
      }
    }
  }

  /// The cells that this table of runs has columns for, of a planned run that finished. Its seed and axes are those of its
  /// name, and what its row measures is there, if only as an empty cell.
  std::optional<FileError> line_from(const fs::path& file, const CsvTable& table,
                                     const CsvTable::Line& from, const PlannedRun& run,
                                     Line& line) const {
    const auto wrong = [&](const std::string& what) {
      return FileError{fmt::format("{}:{}: {}", file.string(), from.number, what)};
    };
    const auto measured = measures.find(run.row);
    for (std::size_t i = 0; i < table.names.size(); ++i) {
      const std::string& name = table.names[i];
      const std::string& cell = from.cells[i];
      if (cell.empty() || std::find(columns.begin(), columns.end(), name) == columns.end())
        continue;
      const auto value = number_of(cell);
      if (value && !is_text_column(name)) {
        line[name] = *value;
      } else if (measured != measures.end() && measured->second.contains(name)) {
        return wrong(fmt::format("{} is \"{}\". a measure is a number from 0 on", name, cell));
      } else {
        line[name] = cell;
      }
    }
    if (line.at("seed") != Value(static_cast<double>(run.seed))) {
      return wrong(fmt::format("seed is \"{}\", where the run {} of {} has {}",
                               table.cell(from, "seed"), run.name, run.row, run.seed));
    }
    for (const auto& [name, text] : run.axes) {
      const Value value = axis_value(text);
      // Its own columns say it better than the axis does.
      if (is_text_column(name)) continue;
      const auto [at, missing] = line.try_emplace(name, value);
      if (missing || at->second == value) continue;
      return wrong(fmt::format("{} is \"{}\", where the run {} of {} has {}", name,
                               cell_text(at->second), run.name, run.row, cell_text(value)));
    }
    if (measured == measures.end()) return std::nullopt;
    for (const std::string& name : measured->second) {
      if (std::find(table.names.begin(), table.names.end(), name) != table.names.end()) continue;
      return wrong(fmt::format(
          "there is no column {0}, which {1} measures. take out the lines of {1}, or run "
          "it again",
          name, run.row));
    }
    return std::nullopt;
  }

  void measure(const Row& row, const fs::path& file, Line& line) {
    if (row.measures.empty()) return;
    Database result;
    if (!result.open(file, Database::Access::read, 5'000)) {
      problems.push_back(result.failure(file).message);
      return;
    }
    for (const auto& [name, sql] : row.measures) {
      const auto value = ask(result, sql);
      if (value && can_be_measured(value.value())) {
        line[name] = value.value();
      } else {
        problems.push_back(fmt::format(
            "{}: measure {} of {}: {}", file.string(), name, row.id,
            value ? "\"" + cell_text(value.value()) + "\" is no number from 0 on: left out"
                  : value.error()));
      }
    }
  }
};

Evidence::Evidence(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Evidence::~Evidence() = default;

const Evidence::Count& Evidence::count(const std::string& row) const {
  return impl_->counts.at(row);
}
const std::string& Evidence::scale() const { return impl_->scale; }
const std::vector<std::string>& Evidence::problems() const { return impl_->problems; }
void Evidence::add_problem(std::string problem) { impl_->problems.push_back(std::move(problem)); }
const std::vector<std::string>& Evidence::notes() const { return impl_->notes; }

Result<std::shared_ptr<Evidence>, FileError> Evidence::read(const std::vector<Row>& rows,
                                                            const std::string& scale,
                                                            const fs::path& folder,
                                                            const std::vector<fs::path>& tables,
                                                            Strangers strangers) {
  auto impl = std::make_unique<Impl>();
  impl->scale = scale;
  if (const auto error = impl->prepare_table(rows)) return *error;
  if (!folder.empty()) impl->take_results(rows, folder);
  for (const fs::path& table : tables) {
    if (const auto error = impl->take_table(table, strangers)) return *error;
  }
  impl->insert_all();
  impl->set_aside_parts();
  std::set<std::string> versions;
  for (const auto& [row, count] : impl->counts) {
    for (const auto& [version, runs] : count.versions) versions.insert(version);
  }
  // Whoever puts tables together knows it, and the page says it.
  if (versions.size() > 1 && !folder.empty()) {
    impl->problems.push_back(
        fmt::format("{}: the runs are of {} versions of the program ({}). `strack paper run` makes "
                    "the older ones anew",
                    folder.string(), versions.size(), fmt::join(versions, ", ")));
  }
  return std::shared_ptr<Evidence>(new Evidence(std::move(impl)));
}

std::string Evidence::to_csv() {
  std::string text;
  std::string names;
  // Runs from a table that was kept without fingerprints have none; then names count for all of them.
  const auto nameless = values("SELECT 1 FROM runs WHERE scenario IS NULL LIMIT 1");
  STRACK_CHECK(nameless);
  for (const std::string& name : impl_->columns) {
    if (name == "file") continue;  // where it was is nobody else's business
    if (name == "scenario" && !nameless.value().empty()) continue;
    names += (names.empty() ? "" : ", ") + quoted(name);
    text += (text.empty() ? "" : ",") + name;
  }
  for (const char* table : {"runs", "rest"}) {
    const std::string sql = fmt::format("SELECT {} FROM {} ORDER BY rowid", names, table);
    const auto wrong = for_each_row(impl_->database, sql, [&](Statement& row) {
      text += '\n';
      for (int i = 0; i < row.columns(); ++i) {
        if (i > 0) text += ',';
        text += csv_cell(cell_text(next_value(row)));
      }
    });
    STRACK_CHECK(!wrong);
  }
  std::string notes;
  for (const std::string& note : impl_->notes) notes += "# " + note + '\n';
  return notes + text + '\n';
}

namespace {
FileError bad_query(const std::string& sql, const std::string& said) {
  return FileError{fmt::format("the query `{}`: {}", sql, said)};
}
}  // namespace

Result<std::vector<double>, FileError> Evidence::values(const std::string& sql) {
  std::vector<double> all;
  const auto wrong = for_each_row(impl_->database, sql, [&](Statement& row) {
    const Value value = last_value(row);
    if (const auto* number = std::get_if<double>(&value)) all.push_back(*number);
  });
  if (wrong) return bad_query(sql, *wrong);
  return all;
}

Result<std::vector<std::string>, FileError> Evidence::seeds_without(const std::string& sql) {
  std::vector<std::string> seeds;
  const auto wrong = for_each_row(impl_->database, sql, [&](Statement& row) {
    if (row.columns() != 2) return;
    const Value seed = next_value(row);
    const Value value = next_value(row);
    if (!std::holds_alternative<double>(value)) seeds.push_back(cell_text(seed));
  });
  if (wrong) return bad_query(sql, *wrong);
  return seeds;
}

namespace {
/// A condition of a figure; about its own row's runs unless it says otherwise.
std::string condition(const std::string& row, const std::string& where) {
  std::string text = where.empty() ? "1" : "(" + where + ")";
  if (where.find("row ") == std::string::npos && where.find("row=") == std::string::npos) {
    text += " AND row = '" + row + "'";
  }
  return text;
}
}  // namespace

Result<std::vector<Evidence::Found>, FileError> Evidence::find(const std::string& row,
                                                               const std::string& where) {
  const std::string sql =
      "SELECT file, who FROM runs WHERE " + condition(row, where) + " ORDER BY seed, rowid";
  std::vector<Found> all;
  const auto wrong = for_each_row(impl_->database, sql, [&](Statement& line) {
    std::string file;
    Found& found = all.emplace_back();
    line >> file >> found.who;
    found.file = file;
  });
  if (wrong) return bad_query(sql, *wrong);
  return all;
}

Result<std::vector<Evidence::Cells>, FileError> Evidence::cells(const std::string& row,
                                                                const FigureSpec& figure) {
  const std::string sql =
      fmt::format("SELECT {}, {}, {} FROM runs WHERE {} ORDER BY rowid", figure.series, figure.x,
                  figure.y, condition(row, figure.where));
  std::vector<Cells> all;
  const auto wrong = for_each_row(impl_->database, sql, [&](Statement& line) {
    const Value series = next_value(line);
    const Value x = next_value(line);
    const Value y = next_value(line);
    const auto* number = std::get_if<double>(&y);
    if (number == nullptr) return;
    Cells& cell = all.emplace_back();
    cell.series = cell_text(series);
    cell.y = *number;
    if (const auto* at = std::get_if<double>(&x)) {
      cell.x_number = *at;
      cell.numeric = true;
      cell.x = number_text(*at);
    } else if (const auto* text = std::get_if<std::string>(&x)) {
      cell.x = *text;
    }
  });
  if (wrong) return bad_query(sql, *wrong);
  return all;
}

}  // namespace strack::paper
