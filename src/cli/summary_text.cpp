#include "cli/summary_text.h"

#include <fmt/format.h>

#include "cli/text.h"

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

std::string count_of(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
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
  line("flows", fmt::format("{} of {} finished, {} in {}", s.finished, s.finished + s.unfinished,
                            size_text(s.delivered), time_text(s.span)));
  Table fct({"", "us", "x ideal"}, 1);
  const auto row = [&](std::string_view name, Picoseconds value) {
    fct.add({std::string(name), s.finished == 0 ? "-" : in_us(value),
             ratio_text(value, s.run.ideal_fct)});
  };
  row("max FCT       ", s.max_fct);
  row("p99 FCT", s.p99_fct);
  row("p50 FCT", s.p50_fct);
  row("mean FCT", s.mean_fct);
  fct.add({"ideal FCT", in_us(s.run.ideal_fct), "1.000"});
  text += fct.text();
  line("utilisation", decimal(s.utilisation_ppm, 10'000, 1) + " % of the host rate");
  line("drops",
       fmt::format("{}: {} queue full, {} link down, {} damaged, {} without a route", s.drops(),
                   c.queue_drops, c.failure_drops, c.error_drops, c.no_route_drops));
  line("marks", fmt::format("{}", c.marks));
  line("resent", fmt::format("{}; {}, {}", count_of(s.retransmissions, "packet"),
                             count_of(c.probes, "probe"), count_of(c.timeouts, "timeout")));
  line("packets", fmt::format("{} data, {} control; {}", c.data_packets_sent,
                              c.control_packets_sent, count_of(c.packet_hops, "packet-hop")));
  line("deepest queue", size_text(c.deepest_queue));
  line("hash", s.state.hash.empty() ? "-" : s.state.hash);
  return text;
}

std::string table_text(const std::vector<std::string>& label_names,
                       const std::vector<SummaryRow>& rows, bool compare) {
  std::vector<std::string> header = label_names;
  for (const char* name : {"flows", "max us", "mean us", "p50 us", "p99 us", "ideal us", "x ideal",
                           "drops", "marks", "resent", "util %"}) {
    header.emplace_back(name);
  }
  if (compare && !rows.empty()) header.push_back("x " + rows.front().labels.front());
  Table table(std::move(header), label_names.size());
  for (const SummaryRow& row : rows) {
    const Summary& s = row.summary;
    std::vector<std::string> cells = row.labels;
    const auto fct = [&](Picoseconds value) {
      cells.push_back(s.finished == 0 ? "-" : in_us(value));
    };
    cells.push_back(s.unfinished == 0
                        ? fmt::format("{}", s.finished)
                        : fmt::format("{} of {}", s.finished, s.finished + s.unfinished));
    fct(s.max_fct);
    fct(s.mean_fct);
    fct(s.p50_fct);
    fct(s.p99_fct);
    cells.push_back(in_us(s.run.ideal_fct));
    cells.push_back(ratio_text(s.max_fct, s.run.ideal_fct));
    cells.push_back(fmt::format("{}", s.drops()));
    cells.push_back(fmt::format("{}", s.counters.marks));
    cells.push_back(fmt::format("{}", s.retransmissions));
    cells.push_back(decimal(s.utilisation_ppm, 10'000, 1));
    if (compare) cells.push_back(ratio_text(s.max_fct, rows.front().summary.max_fct));
    table.add(std::move(cells));
  }
  return table.text();
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
    text +=
        fmt::format("!! {}: {} of {} flows are UNFINISHED; the figures are those of the others\n",
                    name, s.unfinished, s.finished + s.unfinished);
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
  const auto words = [&](std::string_view key, std::string_view value) {
    put(key, json_string(value));
  };
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
  number("hosts", s.run.hosts);
  number("switches", s.run.switches);
  number("links", s.run.links);
  number("host_rate_bps", s.run.host_rate.count());
  number("mtu_bytes", s.run.mtu.count());
  number("base_rtt_ps", s.run.base_rtt.count());
  number("bdp_bytes", s.run.bdp.count());
  number("flows_finished", s.finished);
  number("flows_unfinished", s.unfinished);
  number("delivered_bytes", s.delivered.count());
  number("span_ps", s.span.count());
  number("now_ps", s.state.now.ps);
  number("ideal_fct_ps", s.run.ideal_fct.count());
  const auto fct = [&](std::string_view key, Picoseconds value) {
    put(key, s.finished == 0 ? "null" : fmt::format("{}", value.count()));
  };
  fct("max_fct_ps", s.max_fct);
  fct("mean_fct_ps", s.mean_fct);
  fct("p50_fct_ps", s.p50_fct);
  fct("p99_fct_ps", s.p99_fct);
  const bool comparable = s.finished > 0 && s.run.ideal_fct > ps(0);
  put("slowdown", comparable ? decimal(s.max_fct.count(), s.run.ideal_fct.count(), 6) : "null");
  put("utilisation", decimal(s.utilisation_ppm, 1'000'000, 6));
  number("drops", s.drops());
  number("queue_drops", c.queue_drops);
  number("failure_drops", c.failure_drops);
  number("error_drops", c.error_drops);
  number("no_route_drops", c.no_route_drops);
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
  words("hash", s.state.hash);
  return text + "}";
}

}  // namespace strack::cli
