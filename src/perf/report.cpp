#include "perf/report.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/text.h"
#include "transfer/rate.h"

namespace strack::perf {
namespace {

using transfer::rate_text;

/// So long without an answer, and it is said.
constexpr double kSilentSeconds = 2;

double gbps(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) * 8 / seconds / 1e9 : 0;
}

std::string time_of(std::uint64_t ns) {
  const std::uint64_t most = INT64_MAX / 1'000;
  return strack::time_text(ps(static_cast<std::int64_t>(std::min(ns, most)) * 1'000));
}

std::string size_of(std::uint64_t count) {
  return strack::size_text(bytes(static_cast<std::int64_t>(count)));
}

double per_second(const ClientResult& r) {
  return r.seconds > 0 ? static_cast<double>(r.messages) / r.seconds : 0;
}

std::string times_json(const transfer::Histogram& times, std::uint64_t divisor) {
  const auto us = [&](std::uint64_t ns) {
    return fmt::format("{:.3f}", static_cast<double>(ns) / static_cast<double>(divisor) / 1e3);
  };
  return fmt::format(
      "{{\"min\": {}, \"mean\": {}, \"p50\": {}, \"p90\": {}, \"p99\": {}, \"p99_9\": {}, "
      "\"max\": {}}}",
      us(times.lowest()), us(times.mean()), us(times.percentile(500)), us(times.percentile(900)),
      us(times.percentile(990)), us(times.percentile(999)), us(times.highest()));
}

std::string times_text(std::string_view name, const transfer::Histogram& times,
                       std::uint64_t divisor) {
  const auto at = [&](std::uint64_t ns) { return time_of(ns / divisor); };
  return fmt::format("{}p50 {}  p90 {}  p99 {}  p99.9 {}  max {}\n", name,
                     at(times.percentile(500)), at(times.percentile(900)),
                     at(times.percentile(990)), at(times.percentile(999)), at(times.highest()));
}

/// Most losses, then most marks, then the longest RTT.
std::vector<udp::PathStatistics> worst_first(std::vector<udp::PathStatistics> paths) {
  std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) {
    return std::tuple(b.lost, b.marks, b.rtt_ns, a.path) <
           std::tuple(a.lost, a.marks, a.rtt_ns, b.path);
  });
  return paths;
}

double in_us(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }

std::string paths_json(const char* name, const std::vector<udp::PathStatistics>& paths) {
  if (paths.empty()) return {};
  std::string out = fmt::format(", \"{}\": [", name);
  for (const udp::PathStatistics& one : worst_first(paths))
    out += fmt::format(
        "{}{{\"path\": {}, \"packets\": {}, \"lost\": {}, \"sacks\": {}, \"marks\": {}, "
        "\"rtt_us\": {:.3f}, \"lowest_rtt_us\": {:.3f}}}",
        out.ends_with('[') ? "" : ", ", one.path, one.packets, one.lost, one.sacks, one.marks,
        in_us(one.rtt_ns), in_us(one.lowest_rtt_ns));
  return out + "]";
}

}  // namespace

std::string live_text(const Sample& sample) {
  const Figures& f = sample.figures;
  return fmt::format("{}  cwnd {}  RTT {}  base {}  paths {} of {}  marks {}  losses {}",
                     sample.silent >= kSilentSeconds
                         ? fmt::format("no answer for {:.0f} s", sample.silent)
                         : rate_text(sample.bytes, sample.seconds),
                     size_of(f.cwnd), time_of(f.rtt_ns), time_of(f.base_rtt_ns), f.paths_used,
                     f.paths, f.marks, f.retransmissions);
}

std::string json(const Plan& plan, std::string_view policy, const ClientResult& r) {
  const Figures& f = r.figures;
  std::string out = fmt::format(
      "{{\"ok\": {}, \"interrupted\": {}, \"pattern\": \"{}\", \"size\": {}, "
      "\"connections\": {}, \"depth\": {}, \"policy\": \"{}\", \"keyed\": {}, "
      "\"sealing\": {}, \"seconds\": {:.9f}, \"setup_seconds\": {:.9f}, \"total_seconds\": {:.9f}, "
      "\"cpu_seconds\": {:.6f}, \"messages\": {}, \"bytes\": {}, \"gbps\": {:.6f}, "
      "\"messages_per_second\": {:.1f}, \"reconnects\": {}, \"warm_up_bytes\": {}, "
      "\"reverse\": {}, \"both\": {}",
      r.ok, r.interrupted, text(plan.pattern), plan.size, plan.connections, plan.depth, policy,
      f.keyed || plan.protection.keyed(), json_string(r.sealing), r.seconds, r.setup_seconds,
      r.total_seconds, r.cpu_seconds, r.messages, r.bytes, gbps(r.bytes, r.seconds), per_second(r),
      r.reconnects, r.warm_up_bytes, plan.direction == Direction::server,
      plan.direction == Direction::both);
  if (plan.direction == Direction::both)
    out += fmt::format(
        ", \"received_messages\": {}, \"received_bytes\": {}, \"received_gbps\": {:.6f}",
        r.received_messages, r.received_bytes, gbps(r.received_bytes, r.seconds));
  out += fmt::format(
      ", \"retransmissions\": {}, \"loss_episodes\": {}, \"timeouts\": {}, \"probes\": {}, "
      "\"sacks\": {}, \"marks\": {}, \"packets\": {}, \"credit_stalls\": {}, \"paths\": {}, "
      "\"paths_used\": {}, \"payload_bytes\": {}, \"cwnd_bytes\": {}, \"rtt_us\": {:.3f}, "
      "\"base_rtt_us\": {:.3f}, \"queueing_delay_us\": {:.3f}",
      f.retransmissions, f.loss_episodes, f.timeouts, f.probes, f.sacks, f.marks, f.packets,
      f.credit_stalls, f.paths, f.paths_used, f.payload, f.cwnd,
      static_cast<double>(f.rtt_ns) / 1e3, static_cast<double>(f.base_rtt_ns) / 1e3,
      static_cast<double>(f.qdelay_ns) / 1e3);
  out += fmt::format(
      ", \"datagrams_sent\": {}, \"send_calls\": {}, \"receive_calls\": {}, \"sleeps\": {}, "
      "\"send_full\": {}",
      r.endpoint.datagrams_sent, r.endpoint.send_calls, r.endpoint.receive_calls, r.endpoint.sleeps,
      r.endpoint.send_full);
  const bool pingpong = plan.pattern == Pattern::pingpong;
  out += fmt::format(", \"{}_us\": {}", pingpong ? "round_trip" : "completion",
                     times_json(r.times, 1));
  if (pingpong) out += fmt::format(", \"half_round_trip_us\": {}", times_json(r.times, 2));
  // Zeros would read like a measurement.
  if (!r.server_told) out += ", \"server\": null";
  if (r.server_told)
    out += fmt::format(
        ", \"server\": {{\"messages\": {}, \"bytes\": {}, \"marks_received\": {}, "
        "\"duplicates_received\": {}, \"sent_messages\": {}, \"sent_bytes\": {}, "
        "\"cpu_seconds\": {:.6f}, \"threads\": {}}}",
        r.server_messages, r.server_bytes, r.server_marks, r.server_duplicates,
        r.server_sent_messages, r.server_sent_bytes, r.server_cpu_seconds, r.server_threads);
  out += paths_json("per_path", r.paths) + paths_json("server_per_path", r.server_paths);
  if (!r.server_paths.empty())
    out += fmt::format(", \"server_per_path_connections\": {}", r.server_paths_of);
  out += ", \"hints\": [";
  for (std::size_t i = 0; i < r.hints.size(); ++i)
    out += (i > 0 ? ", " : "") + json_string(r.hints[i]);
  out += "]";
  std::string intervals;
  for (const Sample& s : r.intervals) {
    intervals += fmt::format(
        "{}{{\"at\": {:.3f}, \"gbps\": {:.6f}, \"cwnd_bytes\": {}, \"rtt_us\": {:.1f}, "
        "\"marks\": {}, \"retransmissions\": {}}}",
        intervals.empty() ? "" : ", ", s.at, gbps(s.bytes, s.seconds), s.figures.cwnd,
        static_cast<double>(s.figures.rtt_ns) / 1e3, s.figures.marks, s.figures.retransmissions);
  }
  if (!intervals.empty()) out += fmt::format(", \"intervals\": [{}]", intervals);
  if (!r.problem.empty()) out += fmt::format(", \"error\": {}", json_string(r.problem));
  return out + "}";
}

std::string text(const Plan& plan, const ClientResult& r) {
  if (r.messages == 0) return {};
  const Figures& f = r.figures;
  std::string out =
      fmt::format("{}{} of {} on {} connection{}: {} messages, {} in {:.3f} s\n",
                  text(plan.direction), text(plan.pattern), size_of(plan.size), plan.connections,
                  plan.connections == 1 ? "" : "s", r.messages, size_of(r.bytes), r.seconds);
  out += fmt::format("  throughput   {}, {:.{}f} messages/s\n", rate_text(r.bytes, r.seconds),
                     per_second(r), per_second(r) < 10 ? 2 : 0);
  if (plan.direction == Direction::both)
    out += fmt::format("  from there   {}, {} messages\n", rate_text(r.received_bytes, r.seconds),
                       r.received_messages);
  if (plan.pattern == Pattern::pingpong) {
    out += times_text("  round trip   ", r.times, 1);
    out += times_text("  half of it   ", r.times, 2);
  } else if (plan.client_sends()) {
    out += times_text("  completion   ", r.times, 1);
  }
  out +=
      fmt::format("  network      RTT {}, base {}, cwnd {}, payload {}, {} of {} paths used{}\n",
                  time_of(f.rtt_ns), time_of(f.base_rtt_ns), size_of(f.cwnd), size_of(f.payload),
                  f.paths_used, f.paths, f.keyed ? fmt::format(", sealed by {}", r.sealing) : "");
  out += fmt::format("  trouble      {} retransmissions of {} packets, {} marks, {} timeouts{}\n",
                     f.retransmissions, f.packets, f.marks, f.timeouts,
                     r.reconnects > 0 ? fmt::format(", {} reconnects", r.reconnects) : "");
  if (r.total_seconds > 0)
    out += fmt::format("  CPU          {:.0f} % of one here, {:.0f} % there\n",
                       100 * r.cpu_seconds / r.total_seconds,
                       100 * r.server_cpu_seconds / r.total_seconds);
  for (const std::string& hint : r.hints) out += fmt::format("  hint: {}\n", hint);
  return out;
}

std::string path_table(const std::vector<udp::PathStatistics>& paths) {
  std::uint64_t all = 0;
  for (const udp::PathStatistics& one : paths) all += one.packets;
  std::string out = fmt::format("{:>6}{:>12}{:>8}{:>8}{:>8}{:>12}{:>12}\n", "path", "packets",
                                "share", "lost", "marks", "RTT us", "lowest us");
  for (const udp::PathStatistics& one : worst_first(paths))
    out += fmt::format("{:>6}{:>12}{:>6.1f} %{:>8}{:>8}{:>12.1f}{:>12.1f}\n", one.path, one.packets,
                       100 * static_cast<double>(one.packets) / static_cast<double>(all), one.lost,
                       one.marks, in_us(one.rtt_ns), in_us(one.lowest_rtt_ns));
  return out;
}

std::string server_path_table(const Plan& plan, const ClientResult& r) {
  if (r.server_paths.empty()) return {};
  const std::string some =
      r.server_paths_of < plan.connections
          ? fmt::format(" on {} of {} connections", r.server_paths_of, plan.connections)
          : std::string();
  return fmt::format("what the server sent{}:\n{}", some, path_table(r.server_paths));
}

std::string path_csv(const ClientResult& r) {
  std::string out = "sender,path,packets,lost,sacks,marks,rtt_us,lowest_rtt_us\n";
  const auto add = [&](const char* sender, const std::vector<udp::PathStatistics>& paths) {
    for (const udp::PathStatistics& one : worst_first(paths))
      out +=
          fmt::format("{},{},{},{},{},{},{:.3f},{:.3f}\n", sender, one.path, one.packets, one.lost,
                      one.sacks, one.marks, in_us(one.rtt_ns), in_us(one.lowest_rtt_ns));
  };
  add("client", r.paths);
  add("server", r.server_paths);
  return out;
}

std::string text(const ServerResult& r) {
  if (!r.ok) return fmt::format("{}: ended early: {}\n", r.peer, r.problem);
  return fmt::format("{}: {}{} of {}, {} in {:.2f} s, {}\n", r.peer, text(r.direction),
                     text(r.pattern), size_of(r.size), size_of(r.bytes), r.seconds,
                     rate_text(r.bytes, r.seconds));
}

std::string json(const ServerResult& r) {
  return fmt::format(
      "{{\"ok\": {}, \"peer\": {}, \"pattern\": \"{}\", \"size\": {}, \"messages\": {}, "
      "\"bytes\": {}, \"seconds\": {:.6f}, \"gbps\": {:.6f}, \"marks_received\": {}, "
      "\"duplicates_received\": {}{}}}\n",
      r.ok, json_string(r.peer), text(r.pattern), r.size, r.messages, r.bytes,
      std::max(r.seconds, 0.0), gbps(r.bytes, r.seconds), r.marks_received, r.duplicates_received,
      r.ok ? "" : fmt::format(", \"error\": {}", json_string(r.problem)));
}

}  // namespace strack::perf
