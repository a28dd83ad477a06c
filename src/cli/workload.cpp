#include "cli/workload.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/result.h"
#include "cli/text.h"
#include "sim/scenario/files.h"
#include "sim/scenario/scenario.h"
#include "workload/formats/cm_export.h"
#include "workload/formats/draw_schedule.h"
#include "workload/formats/goal_export.h"
#include "workload/formats/trace.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;
using workload::Graph;
using workload::TraceFormat;

/// What is said after "error: ".
struct Complaint {
  std::string text;
};

using cli::fail;
int fail(const Complaint& complaint) { return fail(complaint.text); }

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
}

/// A workload as a graph, wherever it is from.
struct Loaded {
  std::string name;    ///< of the file, or of all of them
  std::string format;  ///< for people
  std::shared_ptr<const Graph> graph;
  std::vector<std::string> notes;
  std::size_t failures = 0;
  // Of a scenario:
  std::size_t jobs = 0;    ///< that have this graph
  Picoseconds latency{0};  ///< one way between racks, without serialisation; 0: unknown
  BitsPerSecond rate{0};   ///< of a host's link; 0: unknown
};

/// "0.001" is 1 ps; what GOAL's `calc 1` takes.
[[nodiscard]] Result<Picoseconds, Complaint> calc_unit(const std::string& text) {
  const auto number = workload::parse_decimal(text);
  const auto value = number ? workload::exact_product(*number, ns(1).count()) : std::nullopt;
  if (!value || *value < 1 || ps(*value) > seconds(1)) {
    return Complaint{fmt::format(
        "the time of calc 1 is {} ns. it is from 0.001 to 1000000000 ns, such as 1", text)};
  }
  return ps(*value);
}
[[nodiscard]] workload::CmTime cm_time(const std::string& word) {
  return word == "us" ? workload::CmTime::microseconds : workload::CmTime::picoseconds;
}

[[nodiscard]] bool is_scenario(const WorkloadInput& input, const fs::path& file) {
  return input.format == "scenario" || (input.format == "auto" && file.extension() == ".toml");
}
[[nodiscard]] std::optional<TraceFormat> format_of(const WorkloadInput& input,
                                                   const fs::path& file) {
  for (const TraceFormat format : {TraceFormat::cm, TraceFormat::goal, TraceFormat::chakra}) {
    if (input.format == workload::name_of(format)) return format;
  }
  return workload::trace_format_of(file.string());
}

/// Flows as messages of a graph of all hosts, each on a connection of its own.
[[nodiscard]] Graph graph_of(const workload::Flows& flows, std::uint32_t hosts) {
  workload::GraphBuilder builder(hosts);
  for (const workload::Flow& flow : flows) {
    const workload::NodeId id = builder.message(flow.src, flow.dst, flow.size, true);
    if (flow.start > Instant{}) builder.not_before(id, flow.start - Instant{});
  }
  auto graph = builder.build();
  STRACK_CHECK(graph.ok());
  return std::move(graph.value());
}

[[nodiscard]] Result<Loaded, Complaint> load_scenario(const WorkloadInput& input,
                                                      const fs::path& file) {
  const auto loaded = sim::load(file, input.set);
  if (!loaded) return Complaint{loaded.error().text()};
  const sim::Scenario& scenario = loaded.value();
  const std::uint64_t seed = scenario.seeds.front();
  workload::Workload work = sim::make_workload(scenario, seed);
  const sim::TopologyParams& t = scenario.config.topology;
  Loaded out;
  out.name = file.string();
  out.rate = t.host_rate;
  out.latency = 2 * (t.host_latency + t.fabric_latency);
  if (t.tiers == 3) out.latency += 2 * t.core_latency;
  const std::string_view kind = sim::name_of(scenario.workloads.front().kind);
  if (work.jobs.empty()) {
    out.format = fmt::format("scenario, {} {} flow{}, seed {}", work.flows.size(), kind,
                             work.flows.size() == 1 ? "" : "s", seed);
    out.graph = std::make_shared<const Graph>(graph_of(work.flows, t.hosts()));
    return out;
  }
  out.jobs = work.jobs.size();
  out.format = fmt::format("scenario, {} job{} of {}", out.jobs, out.jobs == 1 ? "" : "s",
                           work.jobs.front().name);
  out.graph = work.jobs.front().graph;
  return out;
}

/// A trace from its files, in the order of ranks.
[[nodiscard]] Result<Loaded, Complaint> load_trace(const WorkloadInput& input, TraceFormat format,
                                                   std::span<const fs::path> files) {
  if (!input.set.empty()) {
    return Complaint{
        fmt::format("{}: --set changes keys of a scenario, and this is a trace. leave it out",
                    files.front().string())};
  }
  const auto unit = calc_unit(input.calc_ns);
  if (!unit) return unit.error();
  workload::TraceParams params{
      .format = format, .start_unit = cm_time(input.time), .calc_unit = unit.value()};
  if (!input.comm_groups.empty() && format == TraceFormat::chakra) {
    auto groups = sim::read_file(input.comm_groups);
    if (!groups)
      return Complaint{fmt::format("{}: {}", input.comm_groups.string(), groups.error().message)};
    params.comm_groups = {input.comm_groups.string(), std::move(groups.value())};
  }
  auto read = sim::read_trace(files, params);
  if (!read) {
    const workload::TraceError& error = read.error();
    return Complaint{sim::ScenarioError{error.file, error.line, error.message}.text()};
  }
  Loaded out;
  out.name = files.size() == 1
                 ? files.front().string()
                 : fmt::format("{} to {}", files.front().string(), files.back().string());
  switch (format) {
    case TraceFormat::cm:
      out.format = fmt::format("cm, htsim's connection matrix, starts in {}", input.time);
      break;
    case TraceFormat::goal:
      out.format = fmt::format("goal, calc 1 is {}", workload::format_time(unit.value()));
      break;
    case TraceFormat::chakra:
      out.format = fmt::format("chakra, {} file{}", files.size(), files.size() == 1 ? "" : "s");
      break;
  }
  out.failures = read.value().failures.size();
  out.notes = std::move(read.value().notes);
  out.graph = std::make_shared<const Graph>(std::move(read.value().graph));
  return out;
}

/// What is named on the command line, put into the groups of files that make one workload each.
struct Named {
  bool scenario = false;
  TraceFormat format = TraceFormat::cm;
  std::vector<fs::path> files;
};
[[nodiscard]] Result<std::vector<Named>, Complaint> group(const WorkloadInput& input) {
  std::vector<Named> groups;
  std::optional<std::size_t> chakra;  // all files of this format are one trace
  for (const fs::path& name : input.files) {
    if (is_scenario(input, name)) {
      groups.push_back({true, {}, {name}});
      continue;
    }
    const std::optional<TraceFormat> format = format_of(input, name);
    if (!format) {
      return Complaint{fmt::format(
          "{}: its name does not say what it is. names end in .cm, .goal, .et, .json or "
          ".toml; for another say which, such as --format goal",
          name.string())};
    }
    auto files = sim::trace_files(name);
    if (!files) return Complaint{fmt::format("{}: {}", name.string(), files.error().message)};
    if (*format == TraceFormat::chakra && chakra) {
      Named& set = groups[*chakra];
      set.files.insert(set.files.end(), files.value().begin(), files.value().end());
      continue;
    }
    if (*format == TraceFormat::chakra) chakra = groups.size();
    groups.push_back({false, *format, std::move(files.value())});
  }
  if (chakra) {
    // A shell's * puts rank 10 before rank 2.
    std::vector<fs::path>& files = groups[*chakra].files;
    std::stable_sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
      return natural_less(a.string(), b.string());
    });
  }
  return groups;
}

[[nodiscard]] Result<Loaded, Complaint> load(const WorkloadInput& input, const Named& named) {
  try {
    if (named.scenario) return load_scenario(input, named.files.front());
    return load_trace(input, named.format, named.files);
  } catch (const std::bad_alloc&) {
    return Complaint{fmt::format("{}: there is not enough memory for this workload",
                                 named.files.front().string())};
  }
}

/// The one workload that a command is about.
[[nodiscard]] Result<Loaded, Complaint> load_one(const WorkloadInput& input) {
  const auto groups = group(input);
  if (!groups) return groups.error();
  if (groups.value().size() != 1) {
    return Complaint{
        fmt::format("{}: a second workload. this command takes one at a time; several files are "
                    "one workload only in Chakra's format",
                    groups.value()[1].files.front().string())};
  }
  return load(input, groups.value().front());
}

std::string info_text(const Loaded& loaded) {
  const Graph& graph = *loaded.graph;
  const workload::GraphFigures figures = workload::figures_of(graph);
  std::string out = loaded.name + "\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("  {:<14} {}\n", name, value);
  };
  const auto busiest = [](workload::Rank rank, Bytes size) {
    return size == bytes(0) ? std::string("-") : fmt::format("rank {}, {}", rank, size_text(size));
  };
  line("format", loaded.format);
  // Every job of a scenario has the same graph, so one stands for all.
  line("ranks", fmt::format("{}{}", graph.ranks(), loaded.jobs > 1 ? " of each job" : ""));
  line("messages", fmt::format("{}", graph.messages()));
  line("bytes", fmt::format("{} ({})", graph.bytes().count(), size_text(graph.bytes())));
  line("channels", fmt::format("{}", graph.channels().size()));
  line("computations",
       figures.computations == 0
           ? "0"
           : fmt::format("{}, {} in all", figures.computations, time_text(figures.computing)));
  line("sends most", busiest(figures.top_sender, figures.most_sent));
  line("receives most", busiest(figures.top_receiver, figures.most_received));
  line("longest chain",
       fmt::format("{} node{}", figures.longest_chain, figures.longest_chain == 1 ? "" : "s"));
  if (!graph.timed().empty()) {
    line("start times",
         fmt::format("{}, the last at {}", graph.timed().size(), time_text(figures.last_start)));
  }
  if (loaded.failures > 0) line("failed links", fmt::format("{}", loaded.failures));
  for (const std::string& note : loaded.notes) line("note", note);
  return out;
}

/// The same for programs: names, and what belongs to them as text.
using InfoFields = std::vector<std::pair<std::string, std::string>>;
InfoFields info_fields(const Loaded& loaded) {
  const Graph& graph = *loaded.graph;
  const workload::GraphFigures figures = workload::figures_of(graph);
  const auto number = [](auto value) { return fmt::format("{}", value); };
  return {{"file", json_string(loaded.name)},
          {"format", json_string(loaded.format)},
          {"jobs", number(std::max<std::uint64_t>(1, loaded.jobs))},
          {"ranks", number(graph.ranks())},
          {"messages", number(graph.messages())},
          {"bytes", number(graph.bytes().count())},
          {"channels", number(graph.channels().size())},
          {"computations", number(figures.computations)},
          {"computing_ps", number(figures.computing.count())},
          {"top_sender", number(figures.top_sender)},
          {"most_sent_bytes", number(figures.most_sent.count())},
          {"top_receiver", number(figures.top_receiver)},
          {"most_received_bytes", number(figures.most_received.count())},
          {"longest_chain", number(figures.longest_chain)},
          {"failed_links", number(loaded.failures)}};
}
std::string info_json(const Loaded& loaded) {
  std::string text;
  for (const auto& [name, value] : info_fields(loaded))
    text += fmt::format("\"{}\": {}, ", name, value);
  std::string notes;
  for (const std::string& note : loaded.notes)
    notes += (notes.empty() ? "" : ", ") + json_string(note);
  return fmt::format("{{{}\"notes\": [{}]}}", text, notes);
}
std::string info_csv(const std::vector<Loaded>& all) {
  std::vector<std::string> names;
  std::optional<Table> table;
  for (const Loaded& loaded : all) {
    InfoFields fields = info_fields(loaded);
    fields[0].second = loaded.name;
    fields[1].second = loaded.format;
    std::vector<std::string> cells;
    for (const auto& [name, value] : fields) {
      if (!table) names.push_back(name);
      cells.push_back(value);
    }
    if (!table) table.emplace(names, 2);
    table->add(std::move(cells));
  }
  return table ? table->csv() : "";
}

/// A rate as people write it: 400, 400Gb/s, "1.6 Tb/s".
[[nodiscard]] std::optional<BitsPerSecond> parse_rate(const std::string& text) {
  const auto amount = workload::parse_amount(text);
  if (!amount) return std::nullopt;
  const auto unit =
      amount->unit.empty() ? std::optional(gbps(1).count()) : workload::rate_unit(amount->unit);
  if (!unit) return std::nullopt;
  const auto value = workload::exact_product(amount->number, *unit);
  if (!value || *value <= 0) return std::nullopt;
  return BitsPerSecond{*value};
}

}  // namespace

int write_text(const std::string& text, const fs::path& out, bool force) {
  if (out.empty()) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (written && std::fflush(stdout) == 0) return 0;
    fmt::print(stderr, "error: standard output cannot be written. is the disk full?\n");
    return 1;
  }
  std::error_code error;
  const fs::file_status status = fs::status(out, error);
  if (fs::is_directory(status)) return fail(out.string() + ": it is a folder. name a file in it");
  if (fs::exists(status) && !force)
    return fail(out.string() + ": exists already. choose another --out, or --force to replace it");
  std::ofstream file(out, std::ios::binary | std::ios::trunc);
  if (!file) return fail(out.string() + ": cannot be written. is there such a folder?");
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) {
    fmt::print(stderr, "error: {}: cannot be written to its end. is the disk full?\n",
               out.string());
    return 1;
  }
  return 0;
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number = [&](std::string_view& text) {
    std::size_t length = 0;
    while (length < text.size() && digit(text[length])) ++length;
    std::string_view digits = text.substr(0, length);
    text.remove_prefix(length);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits;
  };
  while (!a.empty() && !b.empty()) {
    if (digit(a.front()) && digit(b.front())) {
      const std::string_view left = number(a);
      const std::string_view right = number(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

int workload_info(const WorkloadInfoOptions& options) {
  const auto groups = group(options.input);
  if (!groups) return fail(groups.error());
  int status = 0;
  std::vector<Loaded> all;
  for (const Named& named : groups.value()) {
    auto loaded = load(options.input, named);
    if (!loaded) {
      status = fail(loaded.error());  // the others are still worth seeing
      continue;
    }
    if (!options.json && !options.csv)
      fmt::print("{}{}", all.empty() ? "" : "\n", info_text(loaded.value()));
    all.push_back(std::move(loaded.value()));
  }
  if (options.csv) fmt::print("{}", info_csv(all));
  if (options.json) {
    std::string text;
    for (const Loaded& one : all) text += (text.empty() ? "\n  " : ",\n  ") + info_json(one);
    fmt::print("[{}\n]\n", text);
  }
  return status;
}

int workload_convert(const WorkloadConvertOptions& options) {
  const auto loaded = load_one(options.input);
  if (!loaded) return fail(loaded.error());
  const Loaded& from = loaded.value();
  std::vector<std::string> notes = from.notes;
  if (from.jobs > 1) {
    notes.push_back(
        fmt::format("the scenario has {} jobs of this kind. one is written", from.jobs));
  }
  if (from.failures > 0) {
    notes.push_back(fmt::format("{} failed link{} not written: they are no part of a workload here",
                                from.failures, from.failures == 1 ? " is" : "s are"));
  }
  std::string text;
  if (options.to == "cm") {
    const std::string& unit = options.out_time.empty() ? options.input.time : options.out_time;
    auto made = workload::export_cm(
        *from.graph, cm_time(unit),
        options.own_connections ? workload::CmConnections::own : workload::CmConnections::shared);
    if (!made) return fail(fmt::format("{}: {}", from.name, made.error().message));
    text = std::move(made.value().text);
    if (made.value().words > 0) {
      notes.push_back(fmt::format(
          "{} without bytes {} written with one: there, size 0 is a flow without end",
          count_of(made.value().words, "message"), made.value().words == 1 ? "is" : "are"));
    }
  } else {
    const auto unit =
        calc_unit(options.out_calc_ns.empty() ? options.input.calc_ns : options.out_calc_ns);
    if (!unit) return fail(unit.error());
    auto made = workload::export_goal(*from.graph, unit.value());
    if (!made)
      return fail(fmt::format("{}: {}: --out-calc-ns 0.001", from.name, made.error().message));
    text = std::move(made.value().text);
  }
  const int status = write_text(text, options.out, options.force);
  if (status == 0) print_notes(notes);
  return status;
}

int workload_draw(const WorkloadDrawOptions& options) {
  const auto loaded = load_one(options.input);
  if (!loaded) return fail(loaded.error());
  const Loaded& from = loaded.value();
  workload::DrawParams params;
  const std::string title = fs::path(from.name).filename().string();
  params.title = title;
  if (from.rate > BitsPerSecond{0}) {
    params.rate = from.rate;
    params.latency = from.latency;
  }
  if (!options.latency.empty()) {
    const auto latency = workload::parse_time(options.latency);
    if (!latency)
      return fail(fmt::format("--latency is {}. it is a time, such as 1us", options.latency));
    params.latency = *latency;
  }
  if (!options.rate.empty()) {
    const auto rate = parse_rate(options.rate);
    if (!rate)
      return fail(fmt::format("--rate is {}. it is a rate, such as 400Gb/s", options.rate));
    params.rate = *rate;
  }
  const auto drawn = workload::draw_schedule(*from.graph, params);
  if (!drawn) return fail(fmt::format("{}: {}", from.name, drawn.error().message));
  const int status = write_text(drawn.value().svg, options.out, options.force);
  if (status == 0) print_notes(from.notes);
  return status;
}

}  // namespace strack::cli
