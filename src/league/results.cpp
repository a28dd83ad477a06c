#include "league/results.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/csv_text.h"
#include "base/text.h"
#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "report/figures.h"
#include "run/ideal_fct.h"
#include "sim/scenario/files.h"
#include "sim/scenario/scenario.h"

namespace strack::league {
namespace fs = std::filesystem;
namespace {

constexpr Ending kEndings[] = {Ending::finished, Ending::time_limit, Ending::stalled,
                               Ending::failed, Ending::cannot};

/// Or nothing, where it did not end by itself: that says nothing of the transport.
std::optional<Ending> ending_of(metrics::RunStatus status) {
  switch (status) {
    case metrics::RunStatus::finished:
      return Ending::finished;
    case metrics::RunStatus::time_limit:
      return Ending::time_limit;
    case metrics::RunStatus::stalled:
      return Ending::stalled;
    case metrics::RunStatus::failed:
      return Ending::failed;
    case metrics::RunStatus::running:
    case metrics::RunStatus::interrupted:
    case metrics::RunStatus::disk_full:
      break;
  }
  return std::nullopt;
}

/// What switches do with a packet that finds no room, and how they choose a port where it is not by
/// a hash: "lossless, drill".
std::string fabric_of(const std::vector<metrics::Setting>& settings) {
  const auto value = [&](std::string_view key) {
    const auto found = std::find_if(settings.begin(), settings.end(),
                                    [&](const metrics::Setting& one) { return one.key == key; });
    return found == settings.end() ? std::string() : found->value;
  };
  std::string fabric = value("pfc.enabled") == "true"       ? "lossless"
                       : value("switch.trimming") == "true" ? "trimming"
                                                            : "lossy";
  std::string routing = value("switch.routing");
  std::erase(routing, '"');
  if (!routing.empty() && routing != "ecmp") fabric += ", " + routing;
  return fabric;
}

double amount_of(const std::vector<metrics::Setting>& settings, std::string_view key) {
  for (const metrics::Setting& one : settings) {
    if (one.key == key && one.amount) return static_cast<double>(*one.amount);
  }
  return 0;
}

std::string left_text(const metrics::Summary& s) {
  const auto left = [](std::uint64_t unfinished, std::uint64_t all, const char* what) {
    return fmt::format("{} of {} {}", unfinished, all, what);
  };
  return s.has_jobs() ? left(s.jobs.unfinished, s.jobs.count(), "jobs")
                      : left(s.unfinished, s.finished + s.unfinished, "flows");
}

/// Time and bound of a finished run whose measure leaves flows out.
std::optional<std::string> measure(const PlannedRun& planned, metrics::ResultReader& reader,
                                   Outcome& out) {
  const Measure& how = planned.of->measure;
  const auto flows = reader.flows();
  if (!flows) return flows.error().message;
  std::vector<std::string> set = planned.run.set;
  set.push_back(fmt::format("run.seed={}", planned.run.seed));
  const auto scenario = sim::load(planned.run.file, set);
  if (!scenario) return scenario.error().text();
  std::vector<Picoseconds> times;
  workload::Flows sent;
  for (const metrics::FlowRecord& flow : flows.value()) {
    if (!counts(how, flow.size)) continue;
    times.push_back(flow.end - flow.start);
    sent.push_back({flow.src, flow.dst, flow.size, flow.start});
  }
  out.time_us = report::in_us(measured(how, std::move(times)));
  out.bound_us =
      report::in_us(bound(how, sim::make_config(scenario.value(), planned.run.seed), sent));
  return std::nullopt;
}

/// A result file as a line, or what is wrong with it.
Result<Outcome, std::string> outcome_of(const PlannedRun& planned, Outcome out) {
  const fs::path& file = planned.run.out;
  const auto opened = metrics::ResultReader::open(file);
  if (!opened) return opened.error().message;
  const auto summary = metrics::summarise(file);
  if (!summary) return summary.error().message;
  const metrics::Summary& s = summary.value();
  if (s.run.scenario != planned.run.scenario) {
    return fmt::format("{}: holds another scenario than the case has now, so it is left out",
                       file.string());
  }
  if (s.state.live) return fmt::format("{}: is still being written", file.string());
  const auto ending = ending_of(s.state.status);
  if (!ending) {
    return fmt::format(
        "{}: {}, so it is left out. `strack league run` makes it again",  // the program's name
        file.string(), report::status_text(s.state));
  }
  out.ending = *ending;
  out.fabric = fabric_of(s.run.settings);
  if (s.run.pfc) out.headroom = amount_of(s.run.settings, "pfc.headroom");
  out.hosts = s.run.hosts;
  out.packets = static_cast<double>(s.counters.data_packets_sent);
  out.resent = static_cast<double>(s.retransmissions);
  out.control = static_cast<double>(s.counters.control_packets_sent);
  out.drops = static_cast<double>(s.drops());
  out.trims = static_cast<double>(s.counters.trims);
  out.pauses = static_cast<double>(s.counters.pause_frames);
  out.deepest_queue = static_cast<double>(s.counters.deepest_queue.count());
  out.cpu_s = s.state.cpu_seconds;
  out.version = s.run.version + (s.run.source.empty() ? "" : "/" + s.run.source);
  out.hash = s.state.hash;
  out.bound_us = report::in_us(s.run.ideal_fct);
  out.time_us = report::max_us(s);
  if (out.ending == Ending::failed) {
    out.why = report::status_text(s.state);
    out.time_us = 0;
  } else if (out.ending != Ending::finished) {
    out.time_us = report::in_us(s.state.now - Instant{});
    out.why = fmt::format("{} left after {}", left_text(s), time_text(s.state.now - Instant{}));
  }
  const bool some = planned.of->measure.largest > bytes(0) || planned.of->measure.percentile < 100;
  if (some && out.ending == Ending::finished) {
    if (const auto wrong = measure(planned, *opened.value(), out)) return *wrong;
  }
  return out;
}

/// The columns of the table; each has a text for a line, and takes one.
struct Column {
  const char* name;
  std::string (*get)(const Outcome&);
  bool (*set)(Outcome&, const std::string&);  ///< false: the text means nothing here
};

template <auto field>
constexpr Column text_column(const char* name) {
  return {name, [](const Outcome& o) { return o.*field; },
          [](Outcome& o, const std::string& text) {
            o.*field = text;
            return true;
          }};
}

template <auto field>
constexpr Column number_column(const char* name) {
  return {name, [](const Outcome& o) { return fmt::format("{}", o.*field); },
          [](Outcome& o, const std::string& text) {
            const auto value = number_of(text);
            if (!value || *value < 0) return false;
            o.*field = *value;
            return true;
          }};
}

const Column kColumns[] = {
    text_column<&Outcome::of>("case"),
    text_column<&Outcome::scheme>("scheme"),
    text_column<&Outcome::label>("label"),
    text_column<&Outcome::fabric>("fabric"),
    {"seed", [](const Outcome& o) { return fmt::format("{}", o.seed); },
     [](Outcome& o, const std::string& text) {
       const auto value = number_of(text);
       if (!value || *value < 0 || *value > 9e15) return false;
       o.seed = static_cast<std::uint64_t>(*value);
       return true;
     }},
    {"ending", [](const Outcome& o) { return std::string(name_of(o.ending)); },
     [](Outcome& o, const std::string& text) {
       for (const Ending ending : kEndings) {
         if (name_of(ending) != text) continue;
         o.ending = ending;
         return true;
       }
       return false;
     }},
    text_column<&Outcome::why>("why"),
    number_column<&Outcome::time_us>("time_us"),
    number_column<&Outcome::bound_us>("bound_us"),
    number_column<&Outcome::hosts>("hosts"),
    number_column<&Outcome::packets>("packets"),
    number_column<&Outcome::resent>("resent"),
    number_column<&Outcome::control>("control"),
    number_column<&Outcome::drops>("drops"),
    number_column<&Outcome::trims>("trims"),
    number_column<&Outcome::pauses>("pauses"),
    number_column<&Outcome::deepest_queue>("deepest_queue"),
    number_column<&Outcome::headroom>("headroom"),
    number_column<&Outcome::cpu_s>("cpu_s"),
    text_column<&Outcome::version>("version"),
    text_column<&Outcome::hash>("hash"),
};

}  // namespace

std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::finished:
      return "finished";
    case Ending::time_limit:
      return "time limit";
    case Ending::stalled:
      return "stalled";
    case Ending::failed:
      return "failed";
    case Ending::cannot:
      return "cannot";
  }
  return "failed";
}

Results read(const std::vector<PlannedRun>& runs) {
  Results results;
  results.planned = runs.size();
  std::set<std::string> versions;
  for (const PlannedRun& planned : runs) {
    Outcome out;
    out.of = planned.of->id;
    out.scheme = planned.who.scheme->name;
    out.label = planned.who.scheme->label;
    out.seed = planned.run.seed;
    if (!planned.cannot.empty()) {
      out.ending = Ending::cannot;
      out.why = planned.cannot;
      results.outcomes.push_back(std::move(out));
      continue;
    }
    if (const auto said = sim::read_file(last_words_file(planned.run))) {
      out.ending = Ending::failed;
      out.why = said.value().substr(0, said.value().find('\n'));
      results.outcomes.push_back(std::move(out));
      continue;
    }
    std::error_code ignored;
    if (!fs::exists(planned.run.out, ignored)) continue;
    auto made = outcome_of(planned, std::move(out));
    if (!made) {
      results.problems.push_back(made.error());
      continue;
    }
    versions.insert(made.value().version);
    results.outcomes.push_back(std::move(made.value()));
  }
  if (results.outcomes.size() < runs.size()) {
    results.problems.push_back(
        fmt::format("{} of {} runs are not there: ranks and means are over those that are",
                    runs.size() - results.outcomes.size(), runs.size()));
  }
  if (versions.size() > 1) {
    results.problems.push_back(fmt::format(
        "the runs are of {} versions of the program ({}). `strack league run` makes the older ones "
        "anew",  // the program's name
        versions.size(), fmt::join(versions, ", ")));
  }
  return results;
}

std::string to_csv(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Column& column : kColumns)
    text += (text.empty() ? "" : ",") + std::string(column.name);
  text += '\n';
  for (const Outcome& outcome : outcomes) {
    std::string line;
    for (const Column& column : kColumns) {
      if (&column != &kColumns[0]) line += ',';
      line += csv_cell(column.get(outcome));
    }
    text += line + '\n';
  }
  return text;
}

Result<Results, Problem> read_csv(const fs::path& file) {
  const auto text = sim::read_file(file);
  if (!text) return Problem{fmt::format("{}: {}", file.string(), text.error().message)};
  Results results;
  std::vector<const Column*> columns;
  std::size_t at = 0;
  for (int number = 1; at < text.value().size(); ++number) {
    const std::size_t end = std::min(text.value().find('\n', at), text.value().size());
    const auto cells = csv_cells(std::string_view(text.value()).substr(at, end - at));
    at = end + 1;
    if (number == 1) {
      for (const std::string& cell : cells) {
        const auto* found = std::find_if(std::begin(kColumns), std::end(kColumns),
                                         [&](const Column& one) { return one.name == cell; });
        columns.push_back(found == std::end(kColumns) ? nullptr : found);
      }
      continue;
    }
    if (cells.size() != columns.size()) {
      return Problem{fmt::format("{}:{}: {} cells under {} names", file.string(), number,
                                 cells.size(), columns.size())};
    }
    Outcome out;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (columns[i] == nullptr || columns[i]->set(out, cells[i])) continue;
      return Problem{
          fmt::format("{}:{}: {} is \"{}\"", file.string(), number, columns[i]->name, cells[i])};
    }
    if (find_case(out.of) != nullptr) results.outcomes.push_back(std::move(out));
  }
  results.planned = results.outcomes.size();
  return results;
}

bool counts(const Measure& measure, Bytes size) {
  return measure.largest == bytes(0) || size <= measure.largest;
}

Picoseconds measured(const Measure& measure, std::vector<Picoseconds> times) {
  if (times.empty()) return ps(0);
  std::sort(times.begin(), times.end());
  // By nearest rank, as in metrics/summary.h.
  const std::size_t rank = (times.size() * static_cast<std::size_t>(measure.percentile) + 99) / 100;
  return times[std::max<std::size_t>(rank, 1) - 1];
}

Picoseconds bound(const Measure& measure, const sim::SimConfig& config,
                  const workload::Flows& flows) {
  workload::Flows some;
  for (const workload::Flow& flow : flows) {
    if (counts(measure, flow.size)) some.push_back(flow);
  }
  if (measure.percentile == 100) return run::ideal_fct(config, some);
  // What a flow takes alone depends on its size and on how far it goes, so few are worked out.
  const sim::TopologyParams& t = config.topology;
  std::map<std::tuple<std::int64_t, bool, bool>, Picoseconds> known;
  std::vector<Picoseconds> alone;
  for (const workload::Flow& flow : some) {
    const std::uint32_t from = flow.src / t.hosts_per_rack;
    const std::uint32_t to = flow.dst / t.hosts_per_rack;
    const bool same_pod = t.tiers == 2 || from / t.racks_per_pod == to / t.racks_per_pod;
    const auto [found, fresh] = known.try_emplace({flow.size.count(), from == to, same_pod});
    if (fresh) found->second = run::ideal_fct(config, {flow});
    alone.push_back(found->second);
  }
  return measured(measure, std::move(alone));
}

}  // namespace strack::league
