#include "report/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/differences.h"

namespace strack::report {
namespace {

using metrics::RunInfo;
using metrics::Setting;
using metrics::Summary;
using Runs = std::vector<const DiffRun*>;

bool is_name(std::string_view key) {
  return key == "name" || key == "description" || key.starts_with("run.seed") ||
         key == "run.threads" || key.starts_with("record.");
}

/// A setting's value; "-" where it means nothing to the run.
std::string value_of(const RunInfo& run, const std::string& key) {
  const Setting* setting = setting_of(run, key);
  if (setting == nullptr) return "-";
  std::string value = setting->value;
  std::erase(value, '"');
  return value.empty() ? "-" : value;
}

/// The keys, in the order of the scenarios, in which any two runs differ.
std::vector<std::string> differing(const Runs& runs) {
  std::vector<const RunInfo*> infos;
  for (const DiffRun* run : runs) infos.push_back(&run->summary.run);
  std::vector<std::string> keys;
  const auto schemes = std::any_of(infos.begin(), infos.end(), [&](const RunInfo* run) {
    return run->scheme != infos.front()->scheme;
  });
  if (schemes) keys.emplace_back("transport.scheme");
  for (std::string& key : differing_keys(infos, Missing::differs)) {
    if (!is_name(key)) keys.push_back(std::move(key));
  }
  return keys;
}

std::string value_for(const DiffRun& run, const std::string& key) {
  return key == "transport.scheme" ? run.summary.run.scheme : value_of(run.summary.run, key);
}

using Place = std::vector<std::string>;

/// By the values of `keys`, in the order they come.
std::vector<std::pair<Place, Runs>> by_place(const Runs& runs,
                                             const std::vector<std::string>& keys) {
  std::vector<std::pair<Place, Runs>> groups;
  for (const DiffRun* run : runs) {
    Place place;
    for (const std::string& key : keys) place.push_back(value_for(*run, key));
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == place; });
    if (found == groups.end()) {
      groups.push_back({place, {run}});
    } else {
      found->second.push_back(run);
    }
  }
  return groups;
}

Change judge(const Spread& a, const Spread& b) {
  if (a.count == 0 && b.count == 0) return Change::same;
  if (a.count == 0 || b.count == 0) return Change::unknown;
  if (a.median == b.median && a.low == b.low && a.high == b.high) return Change::same;
  if (a.count < 2 || b.count < 2) return Change::unknown;
  return a.high < b.low || b.high < a.low ? Change::beyond : Change::within;
}

/// The figures of one pair, one after the other.
class Figures {
 public:
  explicit Figures(DiffPair& pair) : pair_(pair) {}

  template <class Value>
  void add(std::string name, std::string unit, Value value, const std::string& workload = "") {
    const auto over = [&](const Runs& runs) {
      std::vector<double> values;
      for (const DiffRun* run : runs) values.push_back(value(run->summary));
      return spread_of(std::move(values));
    };
    DiffFigure figure{workload, std::move(name), std::move(unit), over(pair_.a), over(pair_.b)};
    if (figure.a.count + figure.b.count == 0) return;
    figure.change = judge(figure.a, figure.b);
    pair_.figures.push_back(std::move(figure));
  }

 private:
  DiffPair& pair_;
};

/// A time of what has finished.
double known(bool any, Picoseconds time) { return any ? in_us(time) : kUnknown; }

/// A total, which a run that died has not written.
double total(const Summary& s, std::uint64_t value) {
  return s.state.status == metrics::RunStatus::running ? kUnknown : static_cast<double>(value);
}

void add_times(Figures& to, bool jobs) {
  const std::string what = jobs ? "job" : "FCT";
  to.add("max " + what, "us", max_us);
  to.add("p99 " + what, "us", p99_us);
  to.add("p50 " + what, "us", [jobs](const Summary& s) {
    return jobs ? known(s.jobs.finished > 0, s.jobs.p50_time) : known(s.finished > 0, s.p50_fct);
  });
  to.add("mean " + what, "us", mean_us);
  to.add("x ideal", "x", slowdown);
}

void add_totals(Figures& to) {
  to.add("utilisation", "share", utilisation);
  to.add("retransmissions", "", [](const Summary& s) { return run_row("", s).retransmissions; });
  to.add("timeouts", "", [](const Summary& s) { return total(s, s.counters.timeouts); });
  to.add("drops", "", [](const Summary& s) { return total(s, s.drops()); });
  to.add("marks", "", [](const Summary& s) { return total(s, s.counters.marks); });
  to.add("deepest queue", "B", [](const Summary& s) {
    return total(s, static_cast<std::uint64_t>(s.counters.deepest_queue.count()));
  });
  to.add("pause frames", "", [](const Summary& s) {
    return s.run.pfc || s.counters.pause_frames > 0 ? total(s, s.counters.pause_frames) : kUnknown;
  });
}

/// Of workloads that both sides have, by name.
void add_workloads(Figures& to, const DiffPair& pair) {
  const Summary& first = pair.a.front()->summary;
  if (first.workloads.size() < 2 && pair.b.front()->summary.workloads.size() < 2) return;
  for (const metrics::WorkloadSummary& one : first.workloads) {
    const std::string& name = one.info.name;
    const auto of = [&name](const Summary& s) -> const metrics::WorkloadSummary* {
      const auto found = std::find_if(s.workloads.begin(), s.workloads.end(),
                                      [&](const auto& w) { return w.info.name == name; });
      return found == s.workloads.end() || found->finished == 0 ? nullptr : &*found;
    };
    const auto time = [&](const char* what, Picoseconds metrics::WorkloadSummary::*field) {
      to.add(
          what, "us",
          [&](const Summary& s) {
            const metrics::WorkloadSummary* w = of(s);
            return w == nullptr ? kUnknown : in_us(w->*field);
          },
          name);
    };
    time("max", &metrics::WorkloadSummary::max_time);
    time("p99", &metrics::WorkloadSummary::p99_time);
    time("p50", &metrics::WorkloadSummary::p50_time);
    time("mean", &metrics::WorkloadSummary::mean_time);
  }
}

/// What of a training step is communication that no computation hides, and its collectives by kind.
void add_communications(Figures& to, const DiffPair& pair) {
  const Summary& first = pair.a.front()->summary;
  const auto name_of = [](const Summary& s, std::uint32_t workload) {
    return workload < s.workloads.size() ? s.workloads[workload].info.name : std::string();
  };
  const auto shown = [&](const std::string& name) {
    return first.workloads.size() < 2 ? std::string() : name;
  };
  for (const metrics::ExposedSummary& one : first.exposed) {
    const std::string name = name_of(first, one.workload);
    to.add(
        "exposed communication", "us",
        [&](const Summary& s) {
          for (const metrics::ExposedSummary& its : s.exposed) {
            if (name_of(s, its.workload) == name) return in_us(its.exposed());
          }
          return kUnknown;
        },
        shown(name));
  }
  for (const metrics::CommunicationSummary& one : first.communications) {
    const std::string name = name_of(first, one.workload);
    const auto time = [&](const char* what, Picoseconds metrics::CommunicationSummary::*field) {
      to.add(
          fmt::format("{}, {}", one.name, what), "us",
          [&](const Summary& s) {
            for (const metrics::CommunicationSummary& its : s.communications) {
              if (its.name == one.name && name_of(s, its.workload) == name)
                return in_us(its.*field);
            }
            return kUnknown;
          },
          shown(name));
    };
    time("mean", &metrics::CommunicationSummary::mean_time);
    time("max", &metrics::CommunicationSummary::max_time);
    time("mean wait", &metrics::CommunicationSummary::mean_wait);
  }
}

bool all_identical(const DiffPair& pair) {
  std::map<std::uint64_t, std::string> seen;
  for (const DiffRun* run : pair.a) seen[run->summary.run.seed] = run->summary.state.hash;
  std::size_t common = 0;
  for (const DiffRun* run : pair.b) {
    const auto found = seen.find(run->summary.run.seed);
    if (found == seen.end() || found->second.empty() || found->second != run->summary.state.hash)
      return false;
    ++common;
  }
  return common == pair.a.size();
}

void add_notes(DiffPair& pair) {
  const auto unfinished = [&](const Runs& runs, const char* side) {
    const auto left = static_cast<std::size_t>(std::count_if(
        runs.begin(), runs.end(), [](const DiffRun* run) { return !run->summary.all_done(); }));
    if (left > 0) {
      pair.notes.push_back(fmt::format(
          "{}: {} of {} left flows or jobs unfinished; their times are of the others", side, left,
          runs.size() == 1 ? "1 run" : fmt::format("{} runs", runs.size())));
    }
  };
  unfinished(pair.a, "A");
  unfinished(pair.b, "B");
  if (pair.a.size() < 2 || pair.b.size() < 2) {
    pair.notes.emplace_back(
        "what seeds alone change is not known: that takes two seeds or more on both sides");
  }
}

Result<DiffPair, DiffError> pair_up(const Runs& a, const Runs& b) {
  DiffPair pair;
  pair.a = a;
  pair.b = b;
  const bool jobs = a.front()->summary.has_jobs();
  if (jobs != b.front()->summary.has_jobs()) {
    const auto side = [](bool has) { return has ? "jobs" : "flows"; };
    return DiffError{fmt::format(
        "{} is a run of {}, {} one of {}: their times mean different things. compare runs of one "
        "kind of workload",
        a.front()->file, side(jobs), b.front()->file, side(!jobs))};
  }
  pair.identical = all_identical(pair);
  Figures figures(pair);
  add_times(figures, jobs);
  add_totals(figures);
  add_workloads(figures, pair);
  add_communications(figures, pair);
  add_notes(pair);
  return pair;
}

/// All values on one side, in the order they come.
std::string values_of(const Runs& runs, const std::string& key) {
  std::vector<std::string> values;
  for (const DiffRun* run : runs) {
    std::string value = value_for(*run, key);
    if (std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(std::move(value));
  }
  std::sort(values.begin(), values.end());  // in whatever order the files were named
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string words(const std::vector<std::string>& keys, const Place& place, std::size_t runs) {
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", keys[i], place[i]);
  return fmt::format("{} ({} run{})", text, runs, runs == 1 ? "" : "s");
}

/// The same run twice on one side would count as two seeds.
std::optional<DiffError> repeated(const Runs& runs) {
  std::map<std::uint64_t, const DiffRun*> seen;
  for (const DiffRun* run : runs) {
    const auto [at, fresh] = seen.emplace(run->summary.run.seed, run);
    if (fresh) continue;
    return DiffError{fmt::format(
        "{} and {} are the same settings and seed. name one of them: both would count as seeds",
        at->second->file, run->file)};
  }
  return std::nullopt;
}

Runs pointers(const std::vector<DiffRun>& runs) {
  Runs all;
  for (const DiffRun& run : runs) all.push_back(&run);
  return all;
}

}  // namespace

std::string_view to_text(Change change) {
  switch (change) {
    case Change::same:
      return "same";
    case Change::within:
      return "within the spread";
    case Change::beyond:
      return "beyond the spread";
    case Change::unknown:
      return "differs";
  }
  return "";
}

double DiffFigure::relative() const {
  if (a.count == 0 || b.count == 0 || a.median == 0) return kUnknown;
  return (b.median - a.median) / a.median;
}

namespace {

bool any(const Diff& diff, Change change) {
  return std::any_of(diff.pairs.begin(), diff.pairs.end(), [&](const DiffPair& pair) {
    return std::any_of(pair.figures.begin(), pair.figures.end(),
                       [&](const DiffFigure& figure) { return figure.change == change; });
  });
}

}  // namespace

bool Diff::beyond() const { return any(*this, Change::beyond); }
bool Diff::differs() const { return beyond() || any(*this, Change::unknown) || !alone.empty(); }

Result<Diff, DiffError> diff(const std::vector<DiffRun>& a, const std::vector<DiffRun>& b) {
  const Runs left = pointers(a);
  const Runs right = pointers(b);
  // What was swept: whatever differs within a side.
  std::vector<std::string> swept = differing(left);
  for (std::string& key : differing(right)) {
    if (std::find(swept.begin(), swept.end(), key) == swept.end()) swept.push_back(std::move(key));
  }
  auto groups_a = by_place(left, swept);
  auto groups_b = by_place(right, swept);
  for (const auto* groups : {&groups_a, &groups_b}) {
    for (const auto& [place, runs] : *groups) {
      if (auto error = repeated(runs)) return *error;
    }
  }
  Diff result;
  Runs both = left;
  both.insert(both.end(), right.begin(), right.end());
  for (const std::string& key : differing(both)) {
    DiffSetting setting{key, values_of(left, key), values_of(right, key)};
    if (setting.a != setting.b) result.settings.push_back(std::move(setting));
  }
  const bool single = groups_a.size() == 1 && groups_b.size() == 1;
  for (const auto& group : groups_a) {
    const auto& [place, runs] = group;
    const auto found = std::find_if(groups_b.begin(), groups_b.end(), [&](const auto& other) {
      return single || other.first == group.first;
    });
    if (found == groups_b.end()) {
      result.alone.push_back("A only: " + words(swept, place, runs.size()));
      continue;
    }
    auto pair = pair_up(runs, found->second);
    if (!pair) return pair.error();
    for (std::size_t i = 0; !single && i < swept.size(); ++i)
      pair.value().where.emplace_back(swept[i], place[i]);
    result.pairs.push_back(std::move(pair.value()));
    found->second.clear();
  }
  for (const auto& [place, runs] : groups_b) {
    if (!runs.empty()) result.alone.push_back("B only: " + words(swept, place, runs.size()));
  }
  if (result.pairs.empty()) {
    return DiffError{
        fmt::format("no run of one side has the settings of one of the other; they were swept over "
                    "{}. name runs "
                    "that agree in it, or one configuration for each side",
                    fmt::join(swept, ", "))};
  }
  return result;
}

}  // namespace strack::report
