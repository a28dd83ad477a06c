#include "report/model.h"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "transports/registry.h"

namespace strack::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kGenerator = R"(<meta name="generator" content="strack report">)";

/// Whole numbers without a fraction; what is not finite becomes null.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < kExact) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json numbers(const std::vector<double>& values) {
  Json array = Json::array();
  auto& items = array.get_ref<Json::array_t&>();
  items.reserve(values.size());
  for (const double value : values) items.push_back(number(value));
  return array;
}

Json optional_text(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}

Json axis_json(const Axis& axis) {
  return {{"label", axis.label}, {"unit", axis.unit}, {"scale", axis.scale}};
}

Json marks_json(const std::vector<Mark>& marks) {
  Json array = Json::array();
  for (const Mark& mark : marks) {
    array.push_back({{"axis", mark.axis}, {"at", number(mark.at)}, {"label", mark.label}});
  }
  return array;
}

Json head_json(const FigureHead& head, std::string_view kind) {
  Json json{{"id", head.id},
            {"kind", kind},
            {"title", head.title},
            {"caption", head.caption},
            {"notices", head.notices}};
  if (head.spans.empty()) return json;
  Json spans = Json::array();
  for (const TimeSpan& span : head.spans) {
    spans.push_back(
        {{"from", number(span.from)}, {"until", number(span.until)}, {"label", span.label}});
  }
  json["spans"] = std::move(spans);
  return json;
}

std::string base64(const std::vector<std::uint8_t>& data) {
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_encoded_len(data.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), data.data(), data.size(), kVariant);
  text.pop_back();  // the end of a C string
  return text;
}

Json figure_json(const XyFigure& figure) {
  Json json = head_json(figure, "xy");
  json["x"] = axis_json(figure.x);
  json["y"] = axis_json(figure.y);
  const auto x_of = [&](double x) -> Json {
    if (figure.x.scale != "category") return number(x);
    return figure.x.categories.at(static_cast<std::size_t>(x));
  };
  Json all = Json::array();
  for (const Series& series : figure.series) {
    Json points = Json::array();
    for (const Point& p : series.points) {
      Json point = Json::array({x_of(p.x), number(p.y)});
      if (!std::isnan(p.low) || !std::isnan(p.high)) {
        point.push_back(number(p.low));
        point.push_back(number(p.high));
      }
      points.push_back(std::move(point));
    }
    Json one{{"name", series.label.name}, {"role", series.label.role}, {"draw", series.draw}};
    if (series.dashed) one["dashed"] = true;
    one["points"] = std::move(points);
    all.push_back(std::move(one));
  }
  json["series"] = std::move(all);
  json["marks"] = marks_json(figure.marks);
  return json;
}

Json figure_json(const BarsFigure& figure) {
  Json json = head_json(figure, "bars");
  json["categories"] = figure.categories;
  if (figure.horizontal) json["horizontal"] = true;
  json["y"] = axis_json(figure.y);
  Json all = Json::array();
  for (const BarSeries& series : figure.series) {
    Json one{{"name", series.label.name},
             {"role", series.label.role},
             {"values", numbers(series.values)}};
    if (!series.low.empty()) one["low"] = numbers(series.low);
    if (!series.high.empty()) one["high"] = numbers(series.high);
    all.push_back(std::move(one));
  }
  json["series"] = std::move(all);
  json["marks"] = marks_json(figure.marks);
  return json;
}

Json figure_json(const FabricFigure& figure) {
  Json json = head_json(figure, "fabric");
  Json variants = Json::array();
  for (const FabricVariant& variant : figure.variants) {
    Json layers = Json::array();
    for (const FabricLayer& layer : variant.layers) {
      STRACK_CHECK_OP(layer.data.size(), ==, variant.times.size() * variant.tors * variant.spines);
      layers.push_back({{"id", layer.id},
                        {"label", layer.label},
                        {"unit", layer.unit},
                        {"max", number(layer.max)},
                        {"encoding", "u8"},
                        {"data", base64(layer.data)}});
    }
    Json down = Json::array();
    for (const auto& [tor, spine] : variant.down) down.push_back(Json::array({tor, spine}));
    variants.push_back({{"name", variant.name},
                        {"tors", variant.tors},
                        {"spines", variant.spines},
                        {"times", numbers(variant.times)},
                        {"layers", std::move(layers)},
                        {"down", std::move(down)}});
  }
  json["variants"] = std::move(variants);
  return json;
}

Json figure_json(const FlowFigure& figure) {
  Json json = head_json(figure, "flow");
  Json flows = Json::array();
  for (const InspectedFlow& flow : figure.flows) {
    Json one{{"name", flow.label.name}, {"role", flow.label.role}};
    const auto put = [](Json& object, const char* name, const std::vector<double>& column) {
      if (!column.empty()) object[name] = numbers(column);
    };
    Json samples = Json::object();
    put(samples, "t", flow.samples.t);
    put(samples, "cwnd", flow.samples.cwnd);
    put(samples, "rtt", flow.samples.rtt);
    put(samples, "qdelay", flow.samples.qdelay);
    put(samples, "gbps", flow.samples.gbps);
    put(samples, "ecn", flow.samples.ecn);
    put(samples, "rate", flow.samples.rate);
    one["samples"] = std::move(samples);
    if (flow.events) {
      Json events{{"t", numbers(flow.events->t)}, {"kind", flow.events->kind}};
      put(events, "path", flow.events->path);
      put(events, "psn", flow.events->psn);
      put(events, "rtt", flow.events->rtt);
      put(events, "ecn", flow.events->ecn);
      put(events, "cwnd", flow.events->cwnd);
      one["events"] = std::move(events);
    } else {
      one["events"] = nullptr;
    }
    one["kinds"] = flow.kinds;
    one["base_rtt"] = number(flow.base_rtt);
    one["target"] = number(flow.target);
    one["truncated"] = flow.truncated;
    flows.push_back(std::move(one));
  }
  json["flows"] = std::move(flows);
  return json;
}

Json figure_json(const HeatFigure& figure) {
  STRACK_CHECK_OP(figure.cells.size(), ==, figure.rows.size());
  Json json = head_json(figure, "heat");
  json["value"] = axis_json(figure.value);
  json["low"] = number(figure.low);
  json["high"] = number(figure.high);
  json["none"] = figure.none;
  Json rows = Json::array();
  for (const HeatFigure::Row& row : figure.rows) {
    rows.push_back({{"name", row.name}, {"note", row.note}});
  }
  json["rows"] = std::move(rows);
  json["columns"] = figure.columns;
  Json groups = Json::array();
  for (const auto& [name, columns] : figure.groups) {
    groups.push_back({{"name", name}, {"columns", columns}});
  }
  json["groups"] = std::move(groups);
  Json cells = Json::array();
  for (const auto& row : figure.cells) {
    STRACK_CHECK_OP(row.size(), ==, figure.columns.size());
    Json line = Json::array();
    for (const HeatCell& cell : row) {
      line.push_back({{"value", number(cell.value)}, {"text", cell.text}, {"note", cell.note}});
    }
    cells.push_back(std::move(line));
  }
  json["cells"] = std::move(cells);
  return json;
}

Json figure_json(const TopologyFigure& figure) {
  Json json = head_json(figure, "topology");
  json["hosts"] = figure.hosts;
  json["hosts_per_rack"] = figure.hosts_per_rack;
  json["racks"] = figure.racks;
  json["pods"] = figure.pods;
  json["uppers"] = figure.uppers;
  json["cores_per_agg"] = figure.cores_per_agg;
  json["parallel"] = figure.parallel;
  json["host_gbps"] = number(figure.host_gbps);
  json["fabric_gbps"] = number(figure.fabric_gbps);
  json["core_gbps"] = number(figure.core_gbps);
  if (!figure.levels.empty()) {
    Json switches = Json::array();
    for (const DrawnSwitch& one : figure.switches)
      switches.push_back(
          {{"name", one.name}, {"level", one.level}, {"place", one.place}, {"hosts", one.hosts}});
    Json links = Json::array();
    for (const DrawnLink& one : figure.links)
      links.push_back({{"a", one.a}, {"b", one.b}, {"count", one.count}, {"gbps", one.gbps}});
    json["graph"] = {{"levels", figure.levels},
                     {"ring", figure.ring},
                     {"rates", figure.rates},
                     {"switches", std::move(switches)},
                     {"links", std::move(links)}};
  }
  Json troubles = Json::array();
  for (const Trouble& trouble : figure.troubles) {
    troubles.push_back({{"down", trouble.down},
                        {"from", trouble.from},
                        {"to", trouble.to},
                        {"text", trouble.text}});
  }
  json["troubles"] = std::move(troubles);
  return json;
}

Json table_json(const Table& table) {
  Json columns = Json::array();
  for (const Column& column : table.columns) {
    columns.push_back({{"name", column.name}, {"align", column.align}});
  }
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    STRACK_CHECK_OP(row.size(), ==, table.columns.size());
    Json cells = Json::array();
    for (const Cell& cell : row) {
      if (const auto* value = std::get_if<double>(&cell.value)) {
        cells.push_back(number(*value));
      } else if (const auto* text = std::get_if<std::string>(&cell.value)) {
        cells.push_back(*text);
      } else {
        cells.push_back(nullptr);
      }
    }
    rows.push_back(std::move(cells));
  }
  return {{"id", table.id},
          {"title", table.title},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)}};
}

Json section_json(const Section& section) {
  Json checks = Json::array();
  for (const Check& check : section.checks) {
    checks.push_back({{"says", check.says},
                      {"paper", check.paper},
                      {"ours", check.ours},
                      {"spread", check.spread},
                      {"verdict", check.verdict},
                      {"rule", check.rule}});
  }
  Json figures = Json::array();
  for (const Figure& figure : section.figures) {
    figures.push_back(std::visit([](const auto& one) { return figure_json(one); }, figure));
  }
  Json tables = Json::array();
  for (const Table& table : section.tables) tables.push_back(table_json(table));
  return {{"id", section.id},
          {"scenario", section.scenario},
          {"settings", section.settings ? table_json(*section.settings) : Json(nullptr)},
          {"choice", section.choice},
          {"title", section.title},
          {"group", section.group},
          {"verdict", optional_text(section.verdict)},
          {"claim", optional_text(section.claim)},
          {"scale", optional_text(section.scale)},
          {"checks", std::move(checks)},
          {"explanation", section.explanation},
          {"figures", std::move(figures)},
          {"tables", std::move(tables)}};
}

Json run_json(const Run& run) {
  return {{"file", run.file},
          {"name", run.name},
          {"scheme", run.scheme},
          {"seed", run.seed},
          {"status", run.status},
          {"partial", run.partial},
          {"hosts", run.hosts},
          {"what", run.what},
          {"version", run.version},
          {"max_us", number(run.max_us)},
          {"mean_us", number(run.mean_us)},
          {"p99_us", number(run.p99_us)},
          {"ideal_us", number(run.ideal_us)},
          {"slowdown", number(run.slowdown)},
          {"drops", number(run.drops)},
          {"marks", number(run.marks)},
          {"retransmissions", number(run.retransmissions)},
          {"pause_frames", number(run.pause_frames)},
          {"cpu_s", number(run.cpu_s)},
          {"hash", run.hash}};
}

/// For the text of an element.
std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

/// What is not UTF-8 becomes U+FFFD.
std::string clean(std::string_view text) {
  return Json::parse(Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

/// Puts `text` between the end of `open` and the next `close`.
void replace_between(std::string& page, std::string_view open, std::string_view close,
                     std::string_view text) {
  const std::size_t begin = page.find(open);
  if (begin == std::string::npos) return;
  const std::size_t from = begin + open.size();
  const std::size_t to = page.find(close, from);
  if (to == std::string::npos) return;
  page.replace(from, to - from, text);
}

}  // namespace

const FigureHead& head_of(const Figure& figure) {
  return std::visit([](const auto& one) -> const FigureHead& { return one; }, figure);
}
FigureHead& head_of(Figure& figure) {
  return std::visit([](auto& one) -> FigureHead& { return one; }, figure);
}

std::uint32_t picture_height(const Figure& figure) {
  if (const auto* heat = std::get_if<HeatFigure>(&figure)) {
    // As heatHeight() in web/src/heat.ts.
    return static_cast<std::uint32_t>(300 + 26 * heat->rows.size());
  }
  const auto* bars = std::get_if<BarsFigure>(&figure);
  if (bars == nullptr || !bars->horizontal) return 600;
  // As lyingHeight() in web/src/bars.ts.
  const std::size_t row = std::max<std::size_t>(34, 6 + 14 * bars->series.size());
  return static_cast<std::uint32_t>(
      std::max<std::size_t>(320, 200 + row * bars->categories.size()));
}

std::string to_json(const Report& report) {
  Json notices = Json::array();
  for (const Notice& notice : report.notices) {
    notices.push_back({{"level", notice.level}, {"text", notice.text}});
  }
  Json sections = Json::array();
  for (const Section& section : report.sections) sections.push_back(section_json(section));
  Json runs = Json::array();
  for (const Run& run : report.runs) runs.push_back(run_json(run));
  Json roles = Json::array();
  for (const transports::Role& role : transports::roles())
    roles.push_back({{"name", role.name}, {"colour", transports::name_of(role.colour)}});
  const Json json{{"format", 1},
                  {"title", report.title},
                  {"lead", report.lead},
                  {"made",
                   {{"version", report.made.version},
                    {"commit", report.made.commit},
                    {"at", report.made.at},
                    {"command", report.made.command}}},
                  {"notices", std::move(notices)},
                  {"roles", std::move(roles)},
                  {"sections", std::move(sections)},
                  {"runs", std::move(runs)}};
  const std::string plain = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Outside of strings JSON has no `<`, so wherever one is, this means the same.
  std::string safe;
  safe.reserve(plain.size() + plain.size() / 64);
  for (const char c : plain) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string html(const Report& report, std::string_view page_template) {
  std::string page(page_template);
  const std::size_t head = page.find("<head>");
  STRACK_CHECK(head != std::string::npos);
  page.insert(head + 6, kGenerator);
  replace_between(page, "<title>", "</title>", html_text(clean(report.title)));
  constexpr std::string_view kPlaceholder = "/*REPORT_DATA*/";
  const std::size_t place = page.find(kPlaceholder);
  STRACK_CHECK(place != std::string::npos);
  page.replace(place, kPlaceholder.size(), to_json(report));
  return page;
}

bool is_our_page(std::string_view beginning) {
  return beginning.find(kGenerator) != std::string_view::npos;
}

std::string safe_id(std::string_view text) {
  std::string id;
  bool skipped = false;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-';
    if (plain) {
      if (skipped) id += '-';
      id += c;
    }
    skipped = !plain && !id.empty();
  }
  // A leading dot would hide a file of this name.
  if (id.empty() || id.front() == '.' || id.front() == '-') id.insert(0, "_");
  return id;
}

}  // namespace strack::report
