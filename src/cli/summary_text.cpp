#include "cli/summary_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cli/text.h"
#include "cli/workloads_text.h"
#include "report/differences.h"
#include "transports/registry.h"

namespace strack::cli {
namespace {

using metrics::RunState;
using metrics::RunStatus;
using metrics::Summary;

/// What the file says, and what can be seen of who wrote it.
std::string status_text(const RunState& state) {
  if (state.status != RunStatus::running) return std::string(metrics::to_text(state.status));
  return state.live ? "running" : "partial: the program died";
}

/// Its transport, where this program has it.
const transports::Descriptor* transport_of(const Summary& s) {
  return transports::find(s.run.scheme).transport;
}
/// Whether CNPs mean something to it, or came all the same.
bool counts_cnps(const Summary& s) {
  const transports::Descriptor* transport = transport_of(s);
  return s.cnps > 0 ||
         (transport != nullptr &&
          std::any_of(transport->counters.begin(), transport->counters.end(),
                      [](const metrics::CounterName& own) { return own.name == "cnps"; }));
}
/// "12 CNPs, 1 NAK": what only its transport counts.
std::string counted_text(const transports::Descriptor& transport, const Summary& s) {
  std::string text;
  for (const metrics::CounterName& own : transport.counters)
    text += (text.empty() ? "" : ", ") + count_of(s.counted(own.name), own.one);
  return text;
}
/// What the slowest took: of a run with jobs, the slowest job.
Picoseconds slowest(const Summary& s) { return s.has_jobs() ? s.jobs.max_time : s.max_fct; }
/// And what physics would have allowed it.
Picoseconds slowest_ideal(const Summary& s) {
  return s.has_jobs() ? s.jobs.slowest_ideal : s.run.ideal_fct;
}
/// In percent.
std::string utilisation_text(const Summary& s) {
  return s.utilisation_known() ? decimal(s.utilisation_ppm, 10'000, 1) : "-";
}
std::string done_of(std::uint64_t finished, std::uint64_t unfinished) {
  return unfinished == 0 ? fmt::format("{}", finished)
                         : fmt::format("{} of {}", finished, finished + unfinished);
}

std::string settings_json(const Summary& s) {
  std::string text;
  for (const metrics::Setting& setting : s.run.settings) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", json_string(setting.key),
                        json_string(setting.value));
  }
  return "{" + text + "}";
}

/// What only its transport counts.
std::string own_counters_json(const metrics::Counters& counters) {
  std::string text;
  for (const metrics::OwnTotal& own : counters.own)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", json_string(own.name), own.value);
  return "{" + text + "}";
}

/// "incast, 16 MB": what is sent, and how large.
std::string workload_text(const Summary& s) {
  std::string text;
  if (s.workloads.size() > 1) return fmt::format("{} of them, see below", s.workloads.size());
  for (const char* const key : {"workload.kind", "workload.collective", "workload.file",
                                "workload.size", "workload.size_distribution"}) {
    const metrics::Setting* const setting = report::setting_of(s.run, key);
    if (setting != nullptr) text += (text.empty() ? "" : ", ") + setting->value;
  }
  return text;
}

/// Whether pauses are possible, or came all the same.
bool has_pauses(const Summary& s) { return s.run.pfc || s.counters.pause_frames > 0; }

/// What came of the flows of a run, or of its jobs.
struct Done {
  std::uint64_t finished = 0;
  std::uint64_t unfinished = 0;
  Bytes delivered{0};
  Picoseconds span{0};
};
std::string done_text(const Summary& s, const Done& done, bool alone) {
  const std::uint64_t all = done.finished + done.unfinished;
  if (done.unfinished == 0) {
    return fmt::format("{} of {} finished, {} in {}", all, all, size_text(done.delivered),
                       time_text(done.span));
  }
  const std::string until = time_text(s.state.now - Instant{});
  // What is acknowledged is known of both together.
  if (!alone)
    return fmt::format("{} of {} finished, {} until {}", done.finished, all,
                       size_text(done.delivered), until);
  // What is under way counts too: a collective is one job, and all or nothing says little.
  const bool known = s.state.complete() || s.counters.acked > bytes(0);
  return fmt::format("{} of {} finished; {} of {} acknowledged until {}", done.finished, all,
                     known ? size_text(s.counters.acked) : "an unknown part",
                     size_text(s.run.bytes), until);
}

/// The times of flows and of jobs, a line each. Where each has an ideal of its own, the slowest is held against its own,
/// and the others, which are of nobody in particular, against none.
std::string times_text(const Summary& s, bool has_flows) {
  Table times({"", "us", "x ideal"}, 1);
  const auto row = [&](std::string_view name, std::uint64_t finished, Picoseconds value) {
    // The ideal is that of a job; a message of one has another, and so has each of several workloads.
    // What was left behind may be slower than all that is done.
    const bool comparable = s.all_done() && s.workloads.size() < 2 &&
                            (s.messages == 0 || name.ends_with("job")) &&
                            (s.same_ideals || name.starts_with("max"));
    times.add({fmt::format("{:<14}", name), finished == 0 ? "-" : us_text(value),
               comparable ? ratio_text(value, slowest_ideal(s)) : "-"});
  };
  if (has_flows) {
    row("max FCT", s.finished, s.max_fct);
    row("p99 FCT", s.finished, s.p99_fct);
    row("p50 FCT", s.finished, s.p50_fct);
    row("mean FCT", s.finished, s.mean_fct);
  }
  if (s.has_jobs()) {
    row("max job", s.jobs.finished, s.jobs.max_time);
    row("p99 job", s.jobs.finished, s.jobs.p99_time);
    row("p50 job", s.jobs.finished, s.jobs.p50_time);
    row("mean job", s.jobs.finished, s.jobs.mean_time);
    row("min job", s.jobs.finished, s.jobs.min_time);
  }
  times.add({s.has_jobs() ? "ideal job" : "ideal FCT", us_text(s.run.ideal_fct), "1.000"});
  return times.text();
}

}  // namespace

std::string run_text(const Summary& s) {
  const metrics::Counters& c = s.counters;
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14} {}\n", name, value);
  };
  line("scenario", fmt::format("{}, {}, seed {}", s.run.name, s.run.scheme, s.run.seed));
  line("status", status_text(s.state));
  line("network",
       fmt::format("{} at {}, {}, {}; base RTT {}, BDP {}", count_of(s.run.hosts, "host"),
                   rate_text(s.run.host_rate),
                   s.run.switches == 1 ? "1 switch" : fmt::format("{} switches", s.run.switches),
                   count_of(s.run.links, "link"), time_text(s.run.base_rtt), size_text(s.run.bdp)));
  if (const std::string sent = workload_text(s); !sent.empty()) line("workload", sent);
  const bool has_flows = s.finished + s.unfinished > 0 || !s.has_jobs();
  const bool alone = s.run.flows == 0 || !s.has_jobs();
  if (has_flows)
    line("flows", done_text(s, {s.finished, s.unfinished, s.flow_delivered, s.flow_span}, alone));
  if (s.has_jobs())
    line("jobs",
         done_text(s, {s.jobs.finished, s.jobs.unfinished, s.jobs.delivered, s.jobs.span}, alone));
  text += times_text(s, has_flows);
  if (s.messages > 0 && s.finished > 0) {
    const metrics::FlowRecord& f = s.slowest_flow;
    line("slowest flow", fmt::format("flow {}: host {} to host {}, {}, from {} to {}", f.flow,
                                     f.src, f.dst, size_text(f.size),
                                     time_text(f.start - Instant{}), time_text(f.end - Instant{})));
  }
  if (s.jobs.finished > 0) {
    line("slowest job",
         fmt::format("job {}, {} x its own ideal, {} % longer than the fastest", s.jobs.slowest,
                     ratio_text(s.jobs.max_time, s.jobs.slowest_ideal),
                     decimal(s.jobs.spread_ppm, 10'000, 1)));
  }
  line("utilisation",
       s.utilisation_known() ? utilisation_text(s) + " % of the host rate" : "unknown");
  std::string drops =
      fmt::format("{}: {} queue full, {} link down, {} damaged, {} without a route", s.drops(),
                  c.queue_drops, c.failure_drops, c.error_drops, c.no_route_drops);
  if (has_pauses(s)) drops += fmt::format(", {} headroom full", c.lossless_violations);
  line("drops", drops);
  if (c.trims > 0) line("trimmed", count_of(c.trims, "packet"));
  line("marks", fmt::format("{}", c.marks));
  if (const auto* transport = transport_of(s); transport != nullptr && !transport->counters.empty())
    line(transport->counted, counted_text(*transport, s));
  if (has_pauses(s)) {
    line("pauses", fmt::format("{}; {} held, {} together; {} with {}",
                               count_of(c.pause_frames, "frame"), count_of(c.ports_paused, "port"),
                               time_text(c.paused), count_of(s.victim_flows, "victim flow"),
                               count_of(s.victim_packets, "packet")));
    if (c.buffer_max > bytes(0)) {
      line("fullest buffer", fmt::format("{} of the shared part", size_text(c.buffer_max)));
    }
  }
  line("resent", fmt::format("{}; {}, {}", count_of(s.retransmissions, "packet"),
                             count_of(c.probes, "probe"), count_of(c.timeouts, "timeout")));
  line("packets", fmt::format("{} data, {} control; {}", c.data_packets_sent,
                              c.control_packets_sent, count_of(c.packet_hops, "packet-hop")));
  line("deepest queue", size_text(c.deepest_queue));
  line("hash", s.state.hash.empty() ? "-" : s.state.hash);
  if (s.workloads.size() > 1) text += "\n" + workloads_text(s);
  if (const std::string more = communications_text(s); !more.empty()) text += "\n" + more;
  return text;
}

namespace {

/// The run that one is compared with: of the first row's first label, everything else alike, the seed
/// too. Runs of other seeds have other flows and say nothing about each other.
const Summary* counterpart(const std::vector<SummaryRow>& rows, const SummaryRow& row) {
  for (const SummaryRow& other : rows) {
    if (other.labels.front() == rows.front().labels.front() &&
        std::equal(other.labels.begin() + 1, other.labels.end(), row.labels.begin() + 1))
      return &other.summary;
  }
  return nullptr;
}

/// The median of what each seed gives, and how far they lie apart; nothing where there is one seed.
std::string over_seeds(const std::vector<std::string>& label_names,
                       const std::vector<SummaryRow>& rows) {
  if (rows.empty() || label_names.size() < 2 || label_names.back() != "seed") return "";
  struct Group {
    std::vector<std::string> labels;
    std::vector<std::int64_t> times;   ///< ps
    std::vector<std::int64_t> ratios;  ///< millionths
  };
  std::vector<Group> groups;
  for (const SummaryRow& row : rows) {
    const std::vector<std::string> labels(row.labels.begin(), row.labels.end() - 1);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& g) { return g.labels == labels; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{labels, {}, {}});
    const std::int64_t time = slowest(row.summary).count();
    if (time == 0 || !row.summary.all_done()) continue;
    group->times.push_back(time);
    const Summary* const base = counterpart(rows, row);
    if (base != nullptr && base->all_done() && slowest(*base) > ps(0))
      group->ratios.push_back(mul_div(time, 1'000'000, slowest(*base).count()));
  }
  const auto median = [](std::vector<std::int64_t>& of) {
    std::sort(of.begin(), of.end());
    const std::size_t half = of.size() / 2;
    return of.size() % 2 == 1 ? of[half] : of[half - 1] + (of[half] - of[half - 1]) / 2;
  };
  std::vector<std::string> header(label_names.begin(), label_names.end() - 1);
  const std::string ratio = "x " + rows.front().labels.front();
  for (const std::string& name :
       {std::string("seeds"), std::string("median us"), std::string("from"), std::string("to"),
        "median " + ratio, std::string("from"), std::string("to")})
    header.push_back(name);
  Table table(std::move(header), label_names.size() - 1);
  for (Group& group : groups) {
    std::vector<std::string> cells = group.labels;
    cells.push_back(fmt::format("{}", group.times.size()));
    const auto three = [&](std::vector<std::int64_t>& of, auto&& text) {
      for (const int which : {0, 1, 2}) {
        if (of.empty()) {
          cells.emplace_back("-");
          continue;
        }
        const std::int64_t middle = median(of);  // sorts
        cells.push_back(text(which == 0 ? middle : which == 1 ? of.front() : of.back()));
      }
    };
    three(group.times, [](std::int64_t value) { return us_text(ps(value)); });
    three(group.ratios, [](std::int64_t value) { return decimal(value, 1'000'000, 3); });
    table.add(std::move(cells));
  }
  return "\nof the slowest, over seeds; ratios are of runs with the same seed\n" + table.text();
}

std::string one_table(const std::vector<std::string>& label_names,
                      const std::vector<SummaryRow>& rows, bool compare, bool jobs) {
  std::vector<std::string> header = label_names;
  if (jobs) {
    for (const char* name : {"jobs", "max job us", "mean job us", "p50 job us", "p99 job us"})
      header.emplace_back(name);
  } else {
    for (const char* name : {"flows", "max us", "mean us", "p50 us", "p99 us"})
      header.emplace_back(name);
  }
  header.emplace_back("ideal us");
  header.emplace_back("x ideal");
  if (jobs) header.emplace_back("spread %");
  header.emplace_back("drops");
  // More columns where they mean something to any of the rows.
  const bool trimmed = std::any_of(rows.begin(), rows.end(), [](const SummaryRow& row) {
    return row.summary.counters.trims > 0;
  });
  if (trimmed) header.emplace_back("trims");
  for (const char* name : {"marks", "resent", "util %"}) header.emplace_back(name);
  const bool extended = std::any_of(rows.begin(), rows.end(), [](const SummaryRow& row) {
    return counts_cnps(row.summary) || has_pauses(row.summary);
  });
  if (extended) {
    header.emplace_back("CNPs");
    header.emplace_back("pauses");
  }
  if (compare && !rows.empty()) header.push_back("x " + rows.front().labels.front());
  Table table(std::move(header), label_names.size());
  for (const SummaryRow& row : rows) {
    const Summary& s = row.summary;
    std::vector<std::string> cells = row.labels;
    const std::uint64_t finished = jobs ? s.jobs.finished : s.finished;
    const auto time = [&](Picoseconds value) {
      cells.push_back(finished == 0 ? "-" : us_text(value));
    };
    cells.push_back(done_of(finished, jobs ? s.jobs.unfinished : s.unfinished));
    time(slowest(s));
    time(jobs ? s.jobs.mean_time : s.mean_fct);
    time(jobs ? s.jobs.p50_time : s.p50_fct);
    time(jobs ? s.jobs.p99_time : s.p99_fct);
    cells.push_back(us_text(s.run.ideal_fct));
    cells.push_back(s.all_done() ? ratio_text(slowest(s), slowest_ideal(s)) : "-");
    if (jobs) cells.push_back(finished == 0 ? "-" : decimal(s.jobs.spread_ppm, 10'000, 1));
    cells.push_back(fmt::format("{}", s.drops()));
    if (trimmed) cells.push_back(fmt::format("{}", s.counters.trims));
    cells.push_back(fmt::format("{}", s.counters.marks));
    cells.push_back(fmt::format("{}", s.retransmissions));
    cells.push_back(utilisation_text(s));
    if (extended) {
      cells.push_back(counts_cnps(s) ? fmt::format("{}", s.cnps) : "-");
      cells.push_back(has_pauses(s) ? fmt::format("{}", s.counters.pause_frames) : "-");
    }
    if (compare) {
      const Summary* const base = counterpart(rows, row);
      const bool comparable = base != nullptr && s.all_done() && base->all_done();
      cells.push_back(comparable ? ratio_text(slowest(s), slowest(*base)) : "-");
    }
    table.add(std::move(cells));
  }
  return table.text() + (compare ? over_seeds(label_names, rows) : "");
}

}  // namespace

std::string table_text(const std::vector<std::string>& label_names,
                       const std::vector<SummaryRow>& rows, bool compare) {
  std::vector<SummaryRow> of_flows;
  std::vector<SummaryRow> of_jobs;
  for (const SummaryRow& row : rows) (row.summary.has_jobs() ? of_jobs : of_flows).push_back(row);
  std::string text;
  if (!of_flows.empty() || of_jobs.empty()) text = one_table(label_names, of_flows, compare, false);
  if (!of_jobs.empty()) {
    if (!text.empty()) text += "\n";
    text += one_table(label_names, of_jobs, compare, true);
  }
  return text;
}

Differences differences(const std::vector<SummaryRow>& rows) {
  std::vector<const metrics::RunInfo*> runs;
  for (const SummaryRow& row : rows) runs.push_back(&row.summary.run);
  // What another kind of workload does not have is no difference; a failure that another run does not have is.
  const auto broken = [](const std::string& key) {
    return key.starts_with("failure.") || key.starts_with("impairment.");
  };
  const std::vector<std::string> both = report::differing_keys(runs);
  std::vector<std::string> keys = report::differing_keys(runs, report::Missing::differs);
  std::erase_if(keys, [&](const std::string& key) {
    return !broken(key) && std::find(both.begin(), both.end(), key) == both.end();
  });
  Differences out;
  const auto short_name = [&](const std::string& key) {
    return broken(key) ? key : key.substr(key.find('.') + 1);
  };
  for (const std::string& key : keys) {
    const auto alike = std::count_if(keys.begin(), keys.end(), [&](const std::string& other) {
      return short_name(other) == short_name(key);
    });
    out.keys.push_back(alike > 1 ? key : short_name(key));
  }
  for (const metrics::RunInfo* run : runs) {
    std::vector<std::string>& values = out.values.emplace_back();
    for (const std::string& key : keys) {
      const metrics::Setting* const its = report::setting_of(*run, key);
      values.push_back(its == nullptr ? "-" : its->value);
    }
  }
  return out;
}

std::string warnings_text(const std::string& name, const Summary& s) {
  std::string text;
  const Picoseconds until = s.state.now - Instant{};
  switch (s.state.status) {
    case RunStatus::finished:
      break;
    case RunStatus::time_limit:
      text += fmt::format("!! {}: STOPPED at its time limit, {}\n", name, time_text(until));
      break;
    case RunStatus::stalled:
      text += fmt::format("!! {}: STALLED at {}: nothing more would have happened\n", name,
                          time_text(until));
      break;
    case RunStatus::running:
      text += s.state.live ? fmt::format("!! {}: STILL RUNNING, at {}\n", name, time_text(until))
                           : fmt::format("!! {}: PARTIAL: the program died, at or after {}\n", name,
                                         time_text(until));
      break;
    case RunStatus::interrupted:
      text += fmt::format("!! {}: PARTIAL: interrupted at {}\n", name, time_text(until));
      break;
    case RunStatus::disk_full:
      text += fmt::format("!! {}: PARTIAL: the disk was full at {}\n", name, time_text(until));
      break;
    case RunStatus::failed:
      text += fmt::format("!! {}: PARTIAL: writing it failed at {}\n", name, time_text(until));
      break;
  }
  if (s.unfinished > 0) {
    text += fmt::format("!! {}: {} UNFINISHED; the figures are those of the others\n", name,
                        part_of(s.unfinished, s.finished + s.unfinished, "flow"));
  }
  if (s.jobs.unfinished > 0) {
    text += fmt::format("!! {}: {} UNFINISHED; the figures are those of the others\n", name,
                        part_of(s.jobs.unfinished, s.jobs.count(), "job"));
  }
  const metrics::Counters& c = s.counters;
  if (c.lossless_violations > 0) {
    text += fmt::format(
        "!! {}: LOSSLESS VIOLATED: {} dropped though PFC was on: a port's headroom was full. leave "
        "[pfc] headroom out, or make it larger\n",
        name, count_of(c.lossless_violations, "packet"));
  }
  if (c.pause_loops > 0) {
    text += fmt::format(
        "!! {}: PAUSE LOOP: {} of ports seen that wait for each other: a deadlock while it lasts\n",
        name, count_of(c.pause_loops, "ring"));
  }
  return text;
}

std::string json_text(const std::string& file, const Summary& s) {
  const metrics::Counters& c = s.counters;
  std::string text = "{";
  const auto put = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{}\"{}\": {}", text.size() == 1 ? "" : ", ", key, value);
  };
  const auto number = [&](std::string_view key, auto value) { put(key, fmt::format("{}", value)); };
  const auto words = [&](std::string_view key, std::string_view v) { put(key, json_string(v)); };
  words("file", file);
  words("name", s.run.name);
  words("scheme", s.run.scheme);
  number("seed", s.run.seed);
  words("status", status_text(s.state));
  put("complete", s.state.complete() ? "true" : "false");
  words("version", s.run.version);
  words("git_commit", s.run.commit);
  words("source", s.run.source);
  words("started_at", s.state.started_at);
  words("finished_at", s.state.finished_at);
  number("threads", s.run.threads);
  number("wall_seconds", s.state.wall_seconds);
  number("cpu_seconds", s.state.cpu_seconds);
  put("settings", settings_json(s));
  number("hosts", s.run.hosts);
  number("switches", s.run.switches);
  number("links", s.run.links);
  number("host_rate_bps", s.run.host_rate.count());
  number("mtu_bytes", s.run.mtu.count());
  number("base_rtt_ps", s.run.base_rtt.count());
  number("bdp_bytes", s.run.bdp.count());
  number("flows_finished", s.finished);
  number("flows_unfinished", s.unfinished);
  number("bytes", s.run.bytes.count());
  number("acked_bytes", c.acked.count());
  number("delivered_bytes", s.delivered.count());
  number("span_ps", s.span.count());
  number("now_ps", s.state.now.ps);
  number("ideal_fct_ps", s.run.ideal_fct.count());
  const auto time = [&](std::string_view key, Picoseconds value, std::uint64_t finished) {
    put(key, finished == 0 ? "null" : fmt::format("{}", value.count()));
  };
  time("max_fct_ps", s.max_fct, s.finished);
  time("mean_fct_ps", s.mean_fct, s.finished);
  time("p50_fct_ps", s.p50_fct, s.finished);
  time("p99_fct_ps", s.p99_fct, s.finished);
  number("messages", s.messages);
  if (s.finished > 0) number("slowest_flow", s.slowest_flow.flow);
  number("jobs_finished", s.jobs.finished);
  number("jobs_unfinished", s.jobs.unfinished);
  time("max_job_ps", s.jobs.max_time, s.jobs.finished);
  time("mean_job_ps", s.jobs.mean_time, s.jobs.finished);
  time("min_job_ps", s.jobs.min_time, s.jobs.finished);
  time("p50_job_ps", s.jobs.p50_time, s.jobs.finished);
  time("p99_job_ps", s.jobs.p99_time, s.jobs.finished);
  time("slowest_job_ideal_ps", s.jobs.slowest_ideal, s.jobs.finished);
  put("job_spread", s.jobs.finished == 0 ? "null" : decimal(s.jobs.spread_ppm, 1'000'000, 6));
  const bool comparable = s.all_done() && slowest_ideal(s) > ps(0);
  put("slowdown", comparable ? decimal(slowest(s).count(), slowest_ideal(s).count(), 6) : "null");
  put("utilisation", s.utilisation_known() ? decimal(s.utilisation_ppm, 1'000'000, 6) : "null");
  number("drops", s.drops());
  number("queue_drops", c.queue_drops);
  number("failure_drops", c.failure_drops);
  number("error_drops", c.error_drops);
  number("no_route_drops", c.no_route_drops);
  number("trims", c.trims);
  number("marks", c.marks);
  number("retransmissions", s.retransmissions);
  number("path_changes", s.path_changes);
  number("probes", c.probes);
  number("timeouts", c.timeouts);
  number("data_packets_sent", c.data_packets_sent);
  number("data_packets_delivered", c.data_packets_delivered);
  number("control_packets_sent", c.control_packets_sent);
  number("packet_hops", c.packet_hops);
  number("deepest_queue_bytes", c.deepest_queue.count());
  put("pfc", s.run.pfc ? "true" : "false");
  number("cnps", s.cnps);
  number("naks", s.naks);
  number("pause_frames", c.pause_frames);
  number("paused_ps", c.paused.count());
  number("ports_paused", c.ports_paused);
  number("lossless_violations", c.lossless_violations);
  number("victim_flows", s.victim_flows);
  number("victim_packets", s.victim_packets);
  number("pause_loops", c.pause_loops);
  number("buffer_max_bytes", c.buffer_max.count());
  put("own_counters", own_counters_json(c));
  words("hash", s.state.hash);
  put("communications", communications_json(s));
  return text + ", \"exposed\": " + exposed_json(s) + ", \"workloads\": " + workloads_json(s) + "}";
}

}  // namespace strack::cli
