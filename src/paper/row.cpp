#include "paper/row.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "sim/scenario/expected_time.h"
#include "sim/scenario/files.h"

namespace strack::paper {
namespace fs = std::filesystem;
namespace {

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

/// Reads one table, remembers the first mistake, and refuses keys nobody asked for.
class Reader {
 public:
  Reader(const toml::table& table, std::string where, std::string file,
         std::optional<ScenarioError>& error)
      : table_(table), where_(std::move(where)), file_(std::move(file)), error_(error) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    for (const auto& [key, node] : table_) {
      if (known_.contains(std::string(key.str()))) continue;
      fail(line_of(node), fmt::format("unknown key {} in [{}]. it takes {}", key.str(), where_,
                                      fmt::join(known_, ", ")));
    }
  }

  const toml::node* find(const std::string& key) {
    known_.insert(key);
    return table_.get(key);
  }
  std::string text(const std::string& key, bool needed = false, std::string otherwise = {}) {
    const toml::node* node = find(key);
    if (node == nullptr) {
      if (needed) fail(line_of(table_), fmt::format("[{}] has no {}", where_, key));
      return otherwise;
    }
    if (const auto value = node->value_exact<std::string>()) return *value;
    fail(line_of(*node), fmt::format("{} is not a text. write it in quotes", key));
    return otherwise;
  }
  bool flag(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return false;
    if (const auto value = node->value_exact<bool>()) return *value;
    fail(line_of(*node), fmt::format("{} is true or false", key));
    return false;
  }
  std::optional<double> number(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto value = node->value<double>()) return value;
    fail(line_of(*node), fmt::format("{} is not a number", key));
    return std::nullopt;
  }
  std::vector<std::string> texts(const std::string& key) {
    std::vector<std::string> all;
    for_each(key, [&](const toml::node& item) {
      if (const auto value = item.value_exact<std::string>())
        all.push_back(*value);
      else
        fail(line_of(item), fmt::format("{} is a list of texts", key));
    });
    return all;
  }
  std::vector<std::uint64_t> seeds(const std::string& key) {
    std::vector<std::uint64_t> all;
    for_each(key, [&](const toml::node& item) {
      const auto value = item.value_exact<std::int64_t>();
      if (value && *value >= 0)
        all.push_back(static_cast<std::uint64_t>(*value));
      else
        fail(line_of(item), fmt::format("{} is a list of whole numbers", key));
    });
    return all;
  }
  std::optional<Range> range(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const toml::array* array = node->as_array();
    if (array != nullptr && array->size() == 2) {
      const auto low = array->get(0)->value<double>();
      const auto high = array->get(1)->value<double>();
      if (low && high && *low <= *high) return Range{*low, *high};
    }
    fail(line_of(*node), fmt::format("{} is a range, such as [5.0, inf]", key));
    return std::nullopt;
  }
  /// {"workload.size" = ["2 MB", "16 MB"]}
  std::vector<Axis> axes(const std::string& key) {
    std::vector<Axis> all;
    const toml::node* node = find(key);
    if (node == nullptr) return all;
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      fail(line_of(*node), fmt::format("{} is a table of keys and lists of values", key));
      return all;
    }
    for (const auto& [name, values] : *table) {
      Axis axis{std::string(name.str()), {}};
      if (const toml::array* array = values.as_array()) {
        for (const toml::node& value : *array) axis.values.push_back(as_text(value));
      }
      if (axis.values.empty()) {
        fail(line_of(values), fmt::format("{} in {} is a list of values", name.str(), key));
      }
      all.push_back(std::move(axis));
    }
    return all;
  }
  std::map<std::string, std::string> queries(const std::string& key) {
    std::map<std::string, std::string> all;
    const toml::node* node = find(key);
    if (node == nullptr) return all;
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      fail(line_of(*node), fmt::format("{} is a table of names and SQL texts", key));
      return all;
    }
    for (const auto& [name, sql] : *table) {
      if (const auto value = sql.value_exact<std::string>())
        all.emplace(name.str(), *value);
      else
        fail(line_of(sql), fmt::format("{} is not a text", name.str()));
    }
    return all;
  }
  /// Calls visit(Reader&) for each [[key]].
  template <class Visit>
  void tables(const std::string& key, Visit&& visit) {
    for_each(key, [&](const toml::node& item) {
      if (const toml::table* table = item.as_table()) {
        Reader reader(*table, where_ + "." + key, file_, error_);
        visit(reader);
      } else {
        fail(line_of(item), fmt::format("write [[{}.{}]] above its keys", where_, key));
      }
    });
  }

  void fail(int line, std::string message) {
    if (!error_) error_ = ScenarioError{file_, line, std::move(message)};
  }
  [[nodiscard]] int line() const { return line_of(table_); }

 private:
  template <class Visit>
  void for_each(const std::string& key, Visit&& visit) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (const toml::array* array = node->as_array()) {
      for (const toml::node& item : *array) visit(item);
    } else {
      fail(line_of(*node), fmt::format("{} is a list", key));
    }
  }
  static std::string as_text(const toml::node& value) {
    if (const auto text = value.value_exact<std::string>()) return *text;
    std::ostringstream out;
    value.visit([&](const auto& v) {
      if constexpr (toml::is_value<decltype(v)>) out << v;
    });
    return out.str();
  }

  const toml::table& table_;
  std::string where_;
  std::string file_;
  std::optional<ScenarioError>& error_;
  std::set<std::string> known_;
};

/// The rule for a statement "p times as fast", by the gain p - 1: from two thirds to one and a half
/// of it is reproduced; from a third to three times it is partly.
void judge_as_ratio(Check& check, double paper) {
  const double gain = paper - 1;
  check.ratio = true;
  check.reproduced = {1 + gain / 1.5, 1 + gain * 1.5};
  check.partly = Range{1 + gain / 3, 1 + gain * 3};
}

void read_check(Row& row, Reader& reader) {
  Check check;
  check.says = reader.text("says", true);
  check.value = reader.text("value", true);
  check.unit = reader.text("unit");
  check.paper = reader.number("paper");
  check.paper_text = reader.text("paper_text");
  const std::string rule = reader.text("rule");
  const auto reproduced = reader.range("reproduced");
  check.partly = reader.range("partly");
  check.full_only = reader.flag("full_only");
  if (rule == "ratio") {
    if (!check.paper || *check.paper <= 1 || reproduced || check.partly) {
      reader.fail(reader.line(),
                  "rule = \"ratio\" needs paper, a number above 1, and no ranges beside it");
    } else {
      judge_as_ratio(check, *check.paper);
    }
  } else if (!rule.empty()) {
    reader.fail(reader.line(), fmt::format("rule is \"{}\". it is \"ratio\", or left out for the "
                                           "ranges reproduced and partly",
                                           rule));
  } else if (!reproduced) {
    reader.fail(reader.line(), "a check needs the range reproduced, or rule = \"ratio\"");
  } else {
    check.reproduced = *reproduced;
  }
  check.label = reader.text("label", check.ratio);
  row.checks.push_back(std::move(check));
}

void read_figure(Row& row, Reader& reader) {
  FigureSpec figure;
  figure.kind = reader.text("kind", true);
  const std::vector<std::string>& kinds = figure_kinds();
  if (std::find(kinds.begin(), kinds.end(), figure.kind) == kinds.end()) {
    reader.fail(reader.line(), fmt::format("there is no kind of figure \"{}\". the kinds are {}",
                                           figure.kind, fmt::join(kinds, ", ")));
  }
  figure.title = reader.text("title", true);
  figure.caption = reader.text("caption", true);
  figure.where = reader.text("where");
  figure.x = reader.text("x", false, figure.x);
  figure.x_label = reader.text("x_label");
  figure.y = reader.text("y", false, figure.y);
  figure.y_label = reader.text("y_label");
  figure.y_unit = reader.text("y_unit");
  figure.series = reader.text("series", false, figure.series);
  figure.bin_us = reader.number("bin_us").value_or(0);
  figure.count = static_cast<int>(reader.number("count").value_or(0));
  row.figures.push_back(std::move(figure));
}

std::string short_name(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string file_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '_';
    if (plain) name += c;
  }
  return name;
}

std::string fingerprint(std::string_view text) {
  std::uint64_t hash = 14'695'981'039'346'656'037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211u;
  return fmt::format("{:016x}", hash);
}

}  // namespace

const std::string& Row::title_at(const std::string& scale) const {
  const auto found = scales.find(scale);
  return found == scales.end() || found->second.title.empty() ? title : found->second.title;
}

const std::vector<std::string>& figure_kinds() {
  static const std::vector<std::string> kinds{"lines",    "bars",        "fct-cdf",
                                              "job-cdf",  "queue-delay", "throughput",
                                              "last-hop", "fabric",      "flow"};
  return kinds;
}

Result<Row, ScenarioError> load_row(const fs::path& file) {
  const auto text = sim::read_file(file);
  if (!text) return ScenarioError{file.string(), 0, text.error().message};
  const toml::parse_result parsed = toml::parse(text.value());
  if (!parsed) {
    return ScenarioError{file.string(), static_cast<int>(parsed.error().source().begin.line),
                         std::string(parsed.error().description())};
  }
  const toml::node* node = parsed.table().get("paper");
  const toml::table* table = node == nullptr ? nullptr : node->as_table();
  if (table == nullptr) {
    return ScenarioError{file.string(), 0, "has no table [paper]. it is a scenario, but no row"};
  }
  std::optional<ScenarioError> error;
  Row row;
  row.id = file.stem().string();
  row.file = file;
  {
    Reader reader(*table, "paper", file.string(), error);
    row.title = reader.text("title", true);
    row.group = reader.text("group", true);
    row.claim = reader.text("claim");
    row.section = reader.text("section", !row.claim.empty());
    row.explain = reader.texts("explain");
    row.measures = reader.queries("measures");
    row.numbers = reader.queries("numbers");
    reader.tables("runs", [&](Reader& group) {
      row.runs.push_back({group.axes("axes"), group.seeds("seeds")});
      if (row.runs.back().seeds.empty())
        group.fail(group.line(), "seeds is a list, such as [1, 2]");
    });
    reader.tables("check", [&](Reader& check) { read_check(row, check); });
    reader.tables("figure", [&](Reader& figure) { read_figure(row, figure); });
    if (const toml::node* scales = reader.find("scale")) {
      if (const toml::table* all = scales->as_table()) {
        for (const auto& [name, value] : *all) {
          if (const toml::table* one = value.as_table()) {
            Reader scale(*one, fmt::format("paper.scale.{}", name.str()), file.string(), error);
            row.scales[std::string(name.str())] = {scale.texts("set"), scale.axes("axes"),
                                                   scale.seeds("seeds"), scale.text("title")};
          }
        }
      }
    }
    if (row.claim.empty() != row.checks.empty()) {
      reader.fail(reader.line(), "a claim needs checks, and checks need a claim");
    }
  }
  if (error) return *error;
  return row;
}

Result<std::vector<Row>, ScenarioError> load_rows(const fs::path& folder) {
  const fs::path order = folder / "ORDER";
  const auto text = sim::read_file(order);
  if (!text) return ScenarioError{order.string(), 0, text.error().message};
  std::vector<Row> rows;
  std::set<std::string> named;
  std::istringstream lines(text.value());
  int line = 0;
  for (std::string name; std::getline(lines, name);) {
    ++line;
    if (name.empty() || name.front() == '#') continue;
    if (!named.insert(name).second) {
      return ScenarioError{order.string(), line, fmt::format("{} is named twice", name)};
    }
    auto row = load_row(folder / (name + ".toml"));
    if (!row) return row.error();
    rows.push_back(std::move(row.value()));
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".toml" || named.contains(entry.path().stem().string()))
      continue;
    return ScenarioError{order.string(), 0,
                         fmt::format("does not name {}", entry.path().filename().string())};
  }
  return rows;
}

Result<std::vector<PlannedRun>, ScenarioError> plan(const Row& row, const std::string& scale) {
  const auto found = row.scales.find(scale);
  const Scale none;
  const Scale& smaller = found == row.scales.end() ? none : found->second;
  std::vector<PlannedRun> planned;
  std::set<std::string> names;
  for (const RunGroup& group : row.runs) {
    // The last axis changes fastest.
    std::vector<std::vector<std::string>> combinations{{}};
    for (const Axis& axis : group.axes) {
      const auto other = std::find_if(smaller.axes.begin(), smaller.axes.end(),
                                      [&](const Axis& a) { return a.key == axis.key; });
      const std::vector<std::string>& values =
          other == smaller.axes.end() ? axis.values : other->values;
      std::vector<std::vector<std::string>> longer;
      for (const auto& combination : combinations) {
        for (const std::string& value : values) {
          longer.push_back(combination);
          longer.back().push_back(value);
        }
      }
      combinations = std::move(longer);
    }
    for (const std::uint64_t seed : smaller.seeds.empty() ? group.seeds : smaller.seeds) {
      for (const auto& combination : combinations) {
        PlannedRun run;
        run.row = row.id;
        run.file = row.file;
        run.set = smaller.set;
        run.seed = seed;
        for (std::size_t i = 0; i < combination.size(); ++i) {
          const std::string& key = group.axes[i].key;
          run.set.push_back(key + "=" + combination[i]);
          run.axes[short_name(key)] = combination[i];
          if (!run.name.empty()) run.name += '-';
          run.name += file_name(combination[i]);
        }
        run.name += fmt::format("{}s{}", run.name.empty() ? "" : "-", seed);
        // Groups may overlap, as when a smaller scale replaces what told them apart.
        if (!names.insert(run.name).second) continue;
        std::vector<std::string> set = run.set;
        set.push_back(fmt::format("run.seed={}", seed));
        const auto loaded = sim::load(row.file, set);
        if (!loaded) return ScenarioError{row.file.string(), 0, loaded.error().text()};
        run.scenario = sim::to_toml(loaded.value());
        run.digest = fingerprint(run.scenario);
        const sim::ExpectedTime time = sim::expected_time(loaded.value());
        run.seconds = time.cpu;
        run.gpu_seconds = time.gpu;
        run.hosts = loaded.value().config.topology.hosts();
        planned.push_back(std::move(run));
      }
    }
  }
  return planned;
}

}  // namespace strack::paper
