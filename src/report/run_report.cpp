#include "report/run_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "report/differences.h"
#include "report/figures.h"
#include "report/scenario.h"
#include "report/seeds.h"
#include "transports/registry.h"

namespace strack::report {
namespace fs = std::filesystem;
namespace {

using metrics::FileError;
using metrics::ResultReader;
using metrics::Summary;

/// Runs whose links and flows over time are shown; those of more would make a page nobody can open.
constexpr std::size_t kDetailed = 12;
/// Of all replays together, and of all flows' events.
constexpr std::size_t kReplayBytes = 24'000'000;
constexpr std::size_t kEvents = 600'000;

/// Everything read of one file.
struct Loaded {
  std::string file;
  Summary summary;
  Times times;
  std::optional<Times> messages;                ///< of jobs, where they are recorded
  std::map<std::string, std::string> settings;  ///< of the scenario, by "section.key"
  std::set<std::string> follows;                ///< those of them that follow from others
  std::optional<Bytes> size;                    ///< of a message
  Label label;
  std::string name;  ///< what tells it from all others of its group
  bool detailed = false;
  std::vector<TimeSpan> spans;           ///< when something was broken
  std::vector<metrics::LinkInfo> infos;  ///< where they are recorded
  LinkSeries links;
  std::optional<LinkTrace> deepest;
  FlowSeries flows;
};

void read_settings(Loaded& run) {
  for (const metrics::Setting& setting : run.summary.run.settings) {
    run.settings[setting.key] = setting.value;
    if (setting.origin == "derived") run.follows.insert(setting.key);
  }
}

bool in_section(const std::string& key, std::string_view section) {
  return key.starts_with(section) && key.size() > section.size() && key[section.size()] == '.';
}

/// Whether it says how things are sent, not what is sent where.
bool is_parameter(const std::string& key) {
  if (key == "transport.scheme") return false;  // in the label
  for (const transports::Descriptor* transport : transports::all()) {
    const auto& told = transport->labelled;
    if (std::find(told.begin(), told.end(), key) != told.end()) return false;
    if (in_section(key, transport->section)) return true;
  }
  return in_section(key, "transport") || in_section(key, "switch") || in_section(key, "pfc");
}

/// What comparable runs have in common.
std::string group_key(const Loaded& run) {
  std::string key = fmt::format("hosts {}, jobs {}\n", run.summary.run.hosts,
                                run.summary.has_jobs() ? "yes" : "no");
  for (const auto& [name, value] : run.settings) {
    const bool counts = in_section(name, "topology") || in_section(name, "workload") ||
                        in_section(name, "host") || in_section(name, "failure") ||
                        in_section(name, "impairment") || name == "run.only";
    if (!counts || name == "workload.size" || run.follows.contains(name)) continue;
    key += fmt::format("{} = {}\n", name, value);
  }
  // Nothing is known about what a file without a scenario did.
  if (run.settings.empty()) key += run.summary.run.name;
  return key;
}

/// Whether it comes first in tables and figures: schemes in the order of lists, then sizes, then
/// seeds. Where that is not enough, as the files were given.
bool comes_before(const Loaded* a, const Loaded* b) {
  const auto place = [](const Loaded& run) {
    const auto names = transports::scheme_names();
    return std::tuple{std::find(names.begin(), names.end(), run.summary.run.scheme) - names.begin(),
                      run.size.value_or(bytes(0)).count(), run.summary.run.seed};
  };
  return place(*a) < place(*b);
}

/// "max_paths 8"
std::string spelled(const std::string& key, const metrics::Setting* setting) {
  std::string value = setting == nullptr ? "-" : setting->value;
  std::erase(value, '"');
  return fmt::format("{} {}", key.substr(key.rfind('.') + 1), value.empty() ? "-" : value);
}

std::vector<const metrics::RunInfo*> infos_of(const std::vector<Loaded*>& runs) {
  std::vector<const metrics::RunInfo*> infos;
  for (const Loaded* run : runs) infos.push_back(&run->summary.run);
  return infos;
}

/// Gives runs of one group names that tell them apart: by scheme, and by parameters that differ.
void label_runs(std::vector<Loaded*>& runs) {
  for (Loaded* run : runs) run->label = label_of(run->summary.run);
  for (const std::string& key : differing_keys(infos_of(runs))) {
    if (!is_parameter(key)) continue;
    for (Loaded* run : runs) {
      if (const metrics::Setting* setting = setting_of(run->summary.run, key))
        run->label.name += ", " + spelled(key, setting);
    }
  }
  // One colour, one name.
  std::map<std::string, std::string> owner;
  for (Loaded* run : runs) {
    const auto [at, mine] = owner.emplace(run->label.role, run->label.name);
    if (!mine && at->second != run->label.name) run->label.role = "other";
  }
  std::set<std::uint64_t> seeds;
  std::set<std::optional<Bytes>> sizes;
  for (const Loaded* run : runs) {
    seeds.insert(run->summary.run.seed);
    sizes.insert(run->size);
  }
  const bool alone = runs.size() == 1;
  for (Loaded* run : runs) {
    run->name = run->label.name;
    if (run->size && (alone || sizes.size() > 1)) run->name += ", " + size_text(*run->size);
    if (alone || seeds.size() > 1) run->name += fmt::format(", seed {}", run->summary.run.seed);
    run->times.label = run->label;
  }
}

/// Of each group, by one of its runs: the scenario's name, and where another group has the same what
/// tells the two apart.
std::vector<std::string> headings_of(const std::vector<Loaded*>& firsts) {
  const auto name_of = [](const Loaded& run) {
    return run.summary.run.name.empty() ? std::string("run") : run.summary.run.name;
  };
  std::vector<std::string> headings;
  for (const Loaded* run : firsts) {
    std::vector<Loaded*> alike;
    std::copy_if(firsts.begin(), firsts.end(), std::back_inserter(alike),
                 [&](const Loaded* other) { return name_of(*other) == name_of(*run); });
    std::string what;
    for (const std::string& key : differing_keys(infos_of(alike))) {
      if (is_parameter(key) || key == "workload.size" || in_section(key, "record")) continue;
      what += (what.empty() ? "" : ", ") + spelled(key, setting_of(run->summary.run, key));
    }
    headings.push_back(name_of(*run) + (what.empty() ? "" : fmt::format(" ({})", what)));
  }
  return headings;
}

std::string count_of(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Whether it was asked to record anything over time.
bool has_series(const metrics::RunInfo& run) {
  const std::string inspected = scenario_value(run, "record.inspect");
  return scenario_time(run, "record.interval_us").value_or(ps(0)) > ps(0) ||
         (!inspected.empty() && inspected != "0");
}

/// "1-3, 7"
std::string ranges(const std::set<std::uint64_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::uint64_t first = *at;
    std::uint64_t last = first;
    for (++at; at != numbers.end() && *at == last + 1; ++at) last = *at;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    if (last != first) text += fmt::format("-{}", last);
  }
  return text;
}

class Maker {
 public:
  RunReport make(const std::vector<fs::path>& files, const std::string& title);

 private:
  void load(const fs::path& path);
  void load_details();
  void load_detail(Loaded& run, ResultReader& reader, std::size_t share);
  using Groups = std::map<std::string, std::vector<Loaded*>>;
  void add_groups(const std::vector<std::string>& order, Groups& groups);
  void add_group(std::vector<Loaded*>& runs, const std::string& heading);
  void add_scenario(Section& section, const std::vector<Loaded*>& runs);
  void add_tables(Section& section, const std::string& id, const std::vector<Loaded*>& runs);
  void add_messages(Section& section, const std::vector<Loaded*>& runs);
  void add_detail(const Loaded& run, Section& section, const std::string& id);
  std::string unique(const std::string& wanted);
  void notice(const std::string& level, const std::string& text) {
    out_.report.notices.push_back({level, text});
  }

  RunReport out_;
  std::vector<std::unique_ptr<Loaded>> runs_;
  std::set<std::string> ids_;
};

std::string Maker::unique(const std::string& wanted) {
  const std::string base = safe_id(wanted);
  std::string id = base;
  for (int i = 2; !ids_.insert(id).second; ++i) id = fmt::format("{}-{}", base, i);
  return id;
}

void Maker::load(const fs::path& path) {
  const auto refuse = [&](const FileError& error) {
    out_.unreadable.push_back(error.message);
    notice("warning", error.message);
  };
  const auto opened = ResultReader::open(path);
  if (!opened) return refuse(opened.error());
  ResultReader& reader = *opened.value();
  const auto flows = reader.flows();
  if (!flows) return refuse(flows.error());
  const auto jobs = reader.jobs();
  if (!jobs) return refuse(jobs.error());
  const auto counters = reader.counters();
  if (!counters) return refuse(counters.error());
  auto run = std::make_unique<Loaded>();
  run->file = path.string();
  run->summary = metrics::summarise(reader.run(), reader.state(), flows.value(), counters.value(),
                                    jobs.value());
  const auto times = run->summary.has_jobs() ? job_times(reader) : flow_times(reader);
  if (!times) return refuse(times.error());
  run->times = times.value();
  if (run->summary.messages > 0) {
    auto messages = message_times(reader);
    if (!messages) return refuse(messages.error());
    run->messages = std::move(messages.value());
  }
  read_settings(*run);
  run->size = scenario_size(run->summary.run, "workload.size");
  run->spans = spans_of(breakages(run->summary.run), run->summary.state.now - Instant{});
  ++out_.read;
  for (const Notice& one : notices_of(run->file, run->summary)) out_.report.notices.push_back(one);
  runs_.push_back(std::move(run));
}

void Maker::load_detail(Loaded& run, ResultReader& reader, std::size_t share) {
  const auto failed = [&](const FileError& error) {
    notice("warning", fmt::format("{} What it has recorded over time is not shown", error.message));
  };
  LinkLimits link_limits;
  link_limits.replay_bytes = std::min(link_limits.replay_bytes, kReplayBytes / share);
  auto links = read_links(reader, link_limits);
  if (!links) return failed(links.error());
  run.links = std::move(links.value());
  auto infos = reader.links();
  if (!infos) return failed(infos.error());
  run.infos = std::move(infos.value());
  if (run.links.deepest) {
    // Its ends by name, as read_link wants them.
    for (const metrics::LinkInfo& link : run.infos) {
      if (link.link != *run.links.deepest) continue;
      const auto trace = read_link(reader, std::pair{link.from, link.to});
      if (!trace) return failed(trace.error());
      run.deepest = trace.value();
      break;
    }
  }
  FlowLimits flow_limits;
  flow_limits.bin = run.summary.run.base_rtt;  // in less time, most flows have little to show
  flow_limits.inspected = share > 4 ? 1 : flow_limits.inspected;
  flow_limits.events = std::min(flow_limits.events,
                                kEvents / share / std::max<std::size_t>(flow_limits.inspected, 1));
  auto flows = read_flows(reader, flow_limits);
  if (!flows) return failed(flows.error());
  run.flows = std::move(flows.value());
  run.links.label = run.flows.label = run.label;
  if (run.deepest) run.deepest->label = run.label;
  run.detailed = run.links.samples > 0 || !run.flows.flows.empty();
}

/// What the section is about, before what came of it.
void Maker::add_scenario(Section& section, const std::vector<Loaded*>& runs) {
  const Loaded& first = *runs.front();
  if (first.settings.empty()) return;
  std::vector<std::string> transports;
  for (const Loaded* run : runs) {
    const std::string& name = run->label.name;
    if (std::find(transports.begin(), transports.end(), name) == transports.end())
      transports.push_back(name);
  }
  const std::vector<const metrics::RunInfo*> infos = infos_of(runs);
  Table settings = given_settings(unique(section.id + "-settings"), infos);
  if (!settings.rows.empty()) section.settings = std::move(settings);
  const auto recorded =
      std::find_if(runs.begin(), runs.end(), [](const Loaded* run) { return !run->infos.empty(); });
  const Loaded& drawn = recorded == runs.end() ? first : **recorded;
  auto network =
      topology({unique(section.id + "-network"), "The network", "", {}}, drawn.summary.run,
               drawn.infos.empty() ? graph_links(drawn.summary.run, drawn.file) : drawn.infos);
  section.scenario = scenario_text(infos, transports, network.has_value());
  if (network) section.figures.emplace_back(std::move(*network));
}

/// Figures of one run's links and flows over time, except those that show several runs at once.
void Maker::add_detail(const Loaded& run, Section& section, const std::string& id) {
  const std::size_t before = section.figures.size();
  if (run.links.samples > 0) {
    section.figures.emplace_back(
        queue_delay({unique(id + "-queues"), "Queueing delay", "", {}}, std::span(&run.links, 1)));
  }
  if (run.deepest && !run.deepest->bins.empty()) {
    const FigureHead head{
        unique(id + "-deepest"), "The deepest queue, " + run.deepest->link, "", {}};
    for (Figure& figure : last_hop(head, std::span(&*run.deepest, 1))) {
      head_of(figure).id = unique(head_of(figure).id);
      section.figures.push_back(std::move(figure));
    }
  }
  const bool sampled =
      std::any_of(run.flows.flows.begin(), run.flows.flows.end(),
                  [](const FlowSeries::Flow& flow) { return !flow.acked.empty(); });
  if (sampled) {
    section.figures.emplace_back(
        throughput({unique(id + "-throughput"), "Throughput", "", {}}, std::span(&run.flows, 1)));
  }
  for (std::size_t i = before; i < section.figures.size(); ++i)
    head_of(section.figures[i]).spans = run.spans;
}

void Maker::add_groups(const std::vector<std::string>& order, Groups& groups) {
  std::vector<Loaded*> firsts;
  for (const std::string& key : order) {
    std::stable_sort(groups[key].begin(), groups[key].end(), comes_before);
    firsts.push_back(groups[key].front());
  }
  for (const std::string& key : order) label_runs(groups[key]);
  load_details();
  const std::vector<std::string> headings = headings_of(firsts);
  for (std::size_t i = 0; i < order.size(); ++i) {
    add_group(groups[order[i]], headings[i]);
    for (const Loaded* run : groups[order[i]])
      out_.report.runs.push_back(run_row(run->file, run->summary));
  }
}

/// Of jobs whose messages are recorded, their times beside those of the jobs.
void Maker::add_messages(Section& section, const std::vector<Loaded*>& runs) {
  std::vector<Times> messages;
  for (const Loaded* run : runs) {
    if (run->messages) messages.push_back(*run->messages);
  }
  if (messages.empty()) return;
  section.figures.emplace_back(cdf(
      {unique(section.id + "-messages"), "Distribution of the messages' completion times", "", {}},
      messages, "FCT of messages"));
}

void Maker::add_tables(Section& section, const std::string& id, const std::vector<Loaded*>& runs) {
  std::vector<LabelledSummary> rows;
  bool mixed = false;
  for (const Loaded* run : runs) {
    rows.push_back({run->label, run->summary});
    mixed = mixed || run->summary.workloads.size() > 1;
  }
  std::set<std::pair<std::string, std::optional<Bytes>>> apart;
  for (const Loaded* run : runs) apart.emplace(run->label.name, run->size);
  if (apart.size() < runs.size())
    section.tables.push_back(seed_table(unique(id + "-seeds"), "Medians over seeds", rows));
  section.tables.push_back(rows.size() > 1
                               ? summary_table(unique(id + "-table"), "All runs", rows)
                               : run_table(unique(id + "-table"), rows.front().summary));
  if (mixed) section.tables.push_back(workload_table(unique(id + "-workloads"), "Workloads", rows));
}

void Maker::add_group(std::vector<Loaded*>& runs, const std::string& heading) {
  const Summary& first = runs.front()->summary;
  const bool jobs = first.has_jobs();
  const bool several = runs.size() > 1;
  Section section;
  section.id = unique(first.run.name.empty() ? "run" : first.run.name);
  section.title = heading;
  if (!several) section.title += ": " + runs.front()->name;
  section.group = several ? "Comparison" : "Run";
  std::set<std::uint64_t> seeds;
  std::set<Bytes> sizes;
  for (const Loaded* run : runs) {
    seeds.insert(run->summary.run.seed);
    if (run->size) sizes.insert(*run->size);
  }
  section.scale = fmt::format("{}, {}seed{} {}", count_of(first.run.hosts, "host"),
                              several ? "" : what_is_sent(first.run) + ", ",
                              seeds.size() == 1 ? "" : "s", ranges(seeds));
  const std::string id = section.id;
  const std::string slowest = jobs ? "slowest job" : "max FCT";

  // The same run twice would count as two seeds.
  std::map<std::tuple<std::string, std::int64_t, std::uint64_t>, const Loaded*> seen;
  for (const Loaded* run : runs) {
    const auto [at, fresh] = seen.emplace(
        std::tuple{run->label.name, run->size.value_or(bytes(0)).count(), run->summary.run.seed},
        run);
    if (!fresh) {
      notice("info", fmt::format("{}: the same scheme, parameters, size and seed as {}; both count",
                                 run->file, at->second->file));
    }
  }

  add_scenario(section, runs);
  add_tables(section, id, runs);
  if (several && sizes.size() > 1) {
    std::vector<SizedRun> sized;
    for (const Loaded* run : runs) {
      if (!run->size) continue;
      const Summary& s = run->summary;
      sized.push_back({run->label, *run->size, max_us(s),
                       s.run.ideal_fct > ps(0) ? in_us(s.run.ideal_fct) : kUnknown});
    }
    section.figures.emplace_back(fct_by_size(
        {unique(id + "-by-size"), "The " + slowest + " by message size", "", {}}, sized, slowest));
  } else if (several) {
    std::vector<BarValue> values;
    for (const Loaded* run : runs) {
      const Summary& s = run->summary;
      values.push_back({"max", run->label, max_us(s)});
      values.push_back({"p99", run->label, p99_us(s)});
      values.push_back({"mean", run->label, mean_us(s)});
    }
    if (first.run.ideal_fct > ps(0)) {
      std::vector<double> ideals;
      for (const Loaded* run : runs) ideals.push_back(in_us(run->summary.run.ideal_fct));
      values.push_back({"max", {"ideal", "ideal"}, spread_of(ideals).median});
    }
    section.figures.emplace_back(
        bars({unique(id + "-bars"),
              jobs ? "Times of jobs" : "Flow completion times",
              fmt::format("The slowest, the 99th percentile and the mean, beside what physics "
                          "allows the slowest{}.",
                          seeds.size() > 1
                              ? "; of several seeds the median, with the least and the largest"
                              : ""),
              {}},
             {jobs ? "job time" : "FCT", "us", "linear", {}}, values));
  }

  std::vector<Times> times;
  for (const Loaded* run : runs) {
    if (sizes.size() < 2 || run->size == *sizes.rbegin()) times.push_back(run->times);
  }
  XyFigure distribution =
      cdf({unique(id + "-cdf"),
           jobs ? "Distribution of jobs' times" : "Distribution of flow completion times",
           "",
           {}},
          times, jobs ? "job time" : "FCT");
  if (sizes.size() > 1) {
    distribution.caption += fmt::format(" Of the largest size, {}.", size_text(*sizes.rbegin()));
  }
  if (!distribution.series.empty()) section.figures.emplace_back(std::move(distribution));
  add_messages(section, runs);

  // Runs side by side in one figure, for those kinds that have a chooser.
  std::vector<LinkSeries> replays;
  std::vector<FlowSeries> inspected;
  for (const Loaded* run : runs) {
    const std::string name = several ? run->name : run->label.name;
    if (run->links.replay) {
      replays.push_back(run->links);
      replays.back().label.name = name;
      replays.back().bins.clear();
    }
    if (!run->flows.flows.empty()) {
      inspected.push_back(run->flows);
      inspected.back().label.name = name;
    }
  }
  std::vector<Figure> shared;
  if (!replays.empty()) {
    shared.emplace_back(fabric({unique(id + "-fabric"), "The fabric, replayed", "", {}}, replays));
  }
  if (!inspected.empty()) {
    FlowFigure figure = inspector({unique(id + "-flows"), "Flows, inspected", "", {}}, inspected);
    if (!figure.flows.empty()) shared.emplace_back(std::move(figure));
  }
  // Failures drawn by the seed come at the same times in all of them; the longest run has met the most.
  const auto longest = std::max_element(
      runs.begin(), runs.end(),
      [](const Loaded* a, const Loaded* b) { return a->spans.size() < b->spans.size(); });
  for (Figure& figure : shared) head_of(figure).spans = (*longest)->spans;
  if (!several) add_detail(*runs.front(), section, id);
  for (Figure& figure : shared) section.figures.push_back(std::move(figure));
  out_.report.sections.push_back(std::move(section));
  if (!several) return;

  for (const Loaded* run : runs) {
    if (!run->detailed) continue;
    Section own;
    own.id = unique(id + "-" + run->name);
    own.title = run->name;
    own.group = fmt::format("Single runs: {}", first.run.name);
    own.choice = id;
    own.scale =
        fmt::format("{}, {}", count_of(first.run.hosts, "host"), what_is_sent(run->summary.run));
    add_detail(*run, own, own.id);
    if (!own.figures.empty()) out_.report.sections.push_back(std::move(own));
  }
}

/// Links and flows over time of those runs that stand for the others.
void Maker::load_details() {
  const std::size_t share = std::clamp<std::size_t>(runs_.size(), 1, kDetailed);
  std::vector<Candidate> candidates;
  for (const auto& run : runs_) {
    candidates.push_back({fmt::format("{}\n{}\n{}", group_key(*run), run->label.name,
                                      run->size.value_or(bytes(0)).count()),
                          max_us(run->summary), has_series(run->summary.run)});
  }
  std::size_t detailed = 0;
  std::size_t left_out = 0;
  for (const std::size_t i : worth_showing(candidates, kDetailed)) {
    Loaded& run = *runs_[i];
    if (detailed == kDetailed) {
      if (candidates[i].recorded) ++left_out;
      continue;
    }
    const auto opened = ResultReader::open(run.file);
    if (!opened) {
      notice("warning", opened.error().message);
      continue;
    }
    load_detail(run, *opened.value(), share);
    if (run.detailed) ++detailed;
  }
  if (left_out == 0) return;
  notice(
      "info",
      fmt::format("links and flows over time are shown of {} runs, of each scheme and size first "
                  "the one in the middle of its seeds; name fewer files to see those of the "
                  "other {}",
                  kDetailed, left_out));
}

RunReport Maker::make(const std::vector<fs::path>& files, const std::string& title) {
  std::set<fs::path> given;
  for (const fs::path& file : files) {
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(file, ignored);
    if (given.insert(real.empty() ? file : real).second) load(file);
  }
  std::vector<std::string> order;
  Groups groups;
  for (const auto& run : runs_) {
    const std::string key = group_key(*run);
    auto& group = groups[key];
    if (group.empty()) order.push_back(key);
    group.push_back(run.get());
  }
  add_groups(order, groups);

  Report& report = out_.report;
  if (!title.empty()) {
    report.title = title;
  } else if (runs_.size() == 1) {
    report.title = report.sections.front().title;
  } else {
    report.title = fmt::format("{} compared", count_of(runs_.size(), "run"));
  }
  if (runs_.size() == 1) {
    const Summary& s = runs_.front()->summary;
    report.lead.push_back(fmt::format("One run of `{}`: {}, {}, {}. Status: {}.", s.run.name,
                                      label_of(s.run).name, count_of(s.run.hosts, "host"),
                                      what_is_sent(s.run), status_text(s.state)));
  } else if (!runs_.empty()) {
    report.lead.push_back(fmt::format(
        "{} in {}. Runs that differ only in scheme, its parameters, message size or seed are "
        "compared with each other.",
        count_of(runs_.size(), "run"), count_of(order.size(), "group")));
  }
  return std::move(out_);
}

}  // namespace

RunReport report_on(const std::vector<fs::path>& files, const std::string& title) {
  return Maker().make(files, title);
}

}  // namespace strack::report
