#include "export/perfetto.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json_text.h"
#include "report/figures.h"
#include "report/scenario.h"

namespace strack::exports {
namespace {

using metrics::FileError;
using metrics::FlowRecord;
using metrics::ResultReader;
using report::in_us;

// Processes of the trace; hosts come behind.
constexpr std::uint32_t kJobs = 1;
constexpr std::uint32_t kFailures = 2;
constexpr std::uint32_t kLinks = 3;
constexpr std::uint32_t kFlows = 4;
constexpr std::uint32_t kCollectives = 5;
constexpr std::uint32_t kHosts = 10;

/// Writes events one by one: a trace can be larger than memory should be.
class Trace {
 public:
  explicit Trace(std::ostream& out) : out_(out) {
    out_ << R"({"displayTimeUnit":"ns","traceEvents":[)";
  }
  void name_process(std::uint32_t pid, const std::string& name) {
    event(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", pid,
                      json_string(name)));
    event(fmt::format(
        R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})", pid));
  }
  void name_thread(std::uint32_t pid, std::size_t tid, const std::string& name) {
    event(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                      pid, tid, json_string(name)));
  }
  /// `args` is the inside of a JSON object.
  void slice(std::uint32_t pid, std::size_t tid, const std::string& name, double from, double to,
             const std::string& args) {
    event(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                      json_string(name), pid, tid, from, to - from, args));
  }
  void counter(std::uint32_t pid, const std::string& name, double at, const std::string& args) {
    event(fmt::format(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{{}}}}})", json_string(name),
                      pid, at, args));
  }
  void end() { out_ << "\n]}\n"; }

 private:
  void event(const std::string& text) {
    out_ << (first_ ? "\n" : ",\n") << text;
    first_ = false;
  }
  std::ostream& out_;
  bool first_ = true;
};

/// Slices of one track must not overlap: each goes to the first lane that is free.
class Lanes {
 public:
  std::size_t take(Instant from, Instant to) {
    for (std::size_t lane = 0; lane < free_.size(); ++lane) {
      if (free_[lane] > from) continue;
      free_[lane] = to;
      return lane;
    }
    free_.push_back(to);
    return free_.size() - 1;
  }

 private:
  std::vector<Instant> free_;
};

double us_of(Instant time) { return in_us(time - Instant{}); }

class Exporter {
 public:
  Exporter(ResultReader& reader, std::ostream& out, const PerfettoLimits& limits)
      : reader_(reader), limits_(limits), trace_(out), now_(reader.state().now) {}

  std::optional<FileError> write() {
    failures();
    for (const auto part :
         {&Exporter::jobs, &Exporter::hosts, &Exporter::links, &Exporter::flows}) {
      if (auto error = (this->*part)()) return error;
    }
    trace_.end();
    return std::nullopt;
  }
  [[nodiscard]] const std::string& left_out() const { return left_out_; }

 private:
  void leave_out(std::string text) {
    left_out_ += (left_out_.empty() ? "" : "; ") + std::move(text);
  }

  void failures() {
    const std::vector<report::Breakage> all = report::breakages(reader_.run(), limits_.flaps);
    if (all.empty()) return;
    trace_.name_process(kFailures, "failures");
    for (std::size_t i = 0; i < all.size(); ++i) {
      trace_.name_thread(kFailures, i, all[i].who);
      for (const auto& [from, until] : all[i].times) {
        if (Instant{} + from >= now_) break;
        const Instant end = until ? std::min(Instant{} + *until, now_) : now_;
        trace_.slice(kFailures, i, all[i].trouble.down ? "down" : "impaired", in_us(from),
                     us_of(end), fmt::format(R"("what":{})", json_string(all[i].trouble.text)));
      }
      if (all[i].more && Instant{} + all[i].times.back().first < now_)
        leave_out(
            fmt::format("{}: what comes after the first {} times", all[i].who, limits_.flaps));
    }
  }

  std::optional<FileError> jobs() {
    const auto jobs = reader_.jobs();
    if (!jobs) return jobs.error();
    if (jobs.value().empty()) return std::nullopt;
    trace_.name_process(kJobs, "jobs");
    for (const metrics::JobRecord& job : jobs.value()) {
      if (job.start == Instant::never()) continue;
      trace_.name_thread(kJobs, job.job, fmt::format("job {}", job.job));
      const bool done = job.end != Instant::never();
      trace_.slice(kJobs, job.job, done ? job.name : job.name + ", unfinished", us_of(job.start),
                   us_of(done ? job.end : now_),
                   fmt::format(R"("ranks":{},"messages":{},"bytes":{},"ideal_us":{})", job.ranks,
                               job.messages, job.bytes.count(), in_us(job.ideal)));
    }
    return communications();
  }

  /// Each from the first of its ranks being ready to the last being done; there whether messages were
  /// recorded or not.
  std::optional<FileError> communications() {
    auto read = reader_.communications();
    if (!read) return read.error();
    auto& all = read.value();
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first_begin < b.first_begin; });
    if (all.size() > limits_.slices) {
      leave_out(fmt::format("{} collectives", all.size() - limits_.slices));
      all.resize(limits_.slices);
    }
    if (!all.empty()) trace_.name_process(kCollectives, "collectives");
    std::map<std::uint32_t, Lanes> lanes;
    std::map<std::pair<std::uint32_t, std::size_t>, std::size_t> tracks;
    for (const metrics::CommunicationRecord& one : all) {
      const std::size_t lane = lanes[one.job].take(one.first_begin, one.end);
      const auto [track, fresh] = tracks.emplace(std::pair(one.job, lane), tracks.size());
      if (fresh)
        trace_.name_thread(kCollectives, track->second,
                           fmt::format("job {}, lane {}", one.job, lane + 1));
      trace_.slice(kCollectives, track->second, one.name, us_of(one.first_begin), us_of(one.end),
                   fmt::format(R"("ranks":{},"bytes":{},"all_ready_us":{})", one.ranks,
                               one.bytes.count(), us_of(one.begin)));
    }
    return std::nullopt;
  }

  /// What every host sends, and from its last acknowledgement to its next message that it waits or computes.
  std::optional<FileError> hosts() {
    auto read = reader_.flows();
    if (!read) return read.error();
    std::vector<FlowRecord>& rows = read.value();
    if (rows.size() > limits_.slices) {
      // The first by time, of all hosts; of those posted at one time, as many as there is room for.
      const auto earlier = [](const FlowRecord& a, const FlowRecord& b) {
        return a.start != b.start ? a.start < b.start : a.flow < b.flow;
      };
      const auto last = rows.begin() + static_cast<std::ptrdiff_t>(limits_.slices);
      std::nth_element(rows.begin(), last, rows.end(), earlier);
      leave_out(fmt::format("{} messages that were posted from {:.1f} us on",
                            rows.size() - limits_.slices, us_of(last->start)));
      rows.resize(limits_.slices);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const FlowRecord& a, const FlowRecord& b) {
      if (a.src != b.src) return a.src < b.src;
      return a.start != b.start ? a.start < b.start : a.flow < b.flow;
    });
    for (std::size_t i = 0; i < rows.size();) {
      std::size_t end = i;
      while (end < rows.size() && rows[end].src == rows[i].src) ++end;
      host(rows[i].src, std::span(rows).subspan(i, end - i));
      i = end;
    }
    return std::nullopt;
  }

  void host(std::uint32_t number, std::span<const FlowRecord> sent) {
    const std::uint32_t pid = kHosts + number;
    trace_.name_process(pid, fmt::format("host {}", number));
    trace_.name_thread(pid, 0, "at work");
    Lanes lanes;
    std::set<std::size_t> named;
    Instant busy{};
    for (const FlowRecord& row : sent) {
      if (row.start >= now_) continue;  // the run ended before it began
      const bool done = row.end != Instant::never();
      const Instant until = done ? row.end : now_;
      if (row.start > busy)
        trace_.slice(pid, 0, "computes or waits", us_of(busy), us_of(row.start), "");
      busy = std::max(busy, until);
      const std::size_t lane = 1 + lanes.take(row.start, until);
      if (named.insert(lane).second)
        trace_.name_thread(pid, lane, fmt::format("sends, lane {}", lane));
      trace_.slice(
          pid, lane, fmt::format("to host {}{}", row.dst, done ? "" : ", unfinished"),
          us_of(row.start), us_of(until),
          fmt::format(R"("flow":{},"bytes":{},"delivered_us":{},"packets":{},"resent":{})",
                      row.flow, row.size.count(),
                      row.delivered == Instant::never() ? std::string("null")
                                                        : fmt::format("{}", us_of(row.delivered)),
                      row.packets, row.retransmissions));
    }
  }

  std::optional<FileError> links() {
    std::map<std::uint32_t, Picoseconds> deepest;
    auto error = reader_.for_each([&](const metrics::LinkSample& sample) {
      Picoseconds& most = deepest[sample.link];
      most = std::max(most, sample.qdelay_max);
    });
    if (error || deepest.empty()) return error;
    std::vector<std::pair<double, std::uint32_t>> order;  // the deepest first
    for (const auto& [link, most] : deepest) order.emplace_back(-in_us(most), link);
    std::sort(order.begin(), order.end());
    if (order.size() > limits_.links) {
      leave_out(fmt::format("{} links with shorter queues", order.size() - limits_.links));
      order.resize(limits_.links);
    }
    const auto infos = reader_.links();
    if (!infos) return infos.error();
    std::map<std::uint32_t, std::string> names;
    for (const auto& [most, link] : order) names[link] = fmt::format("link {}", link);
    for (const metrics::LinkInfo& info : infos.value()) {
      const auto found = names.find(info.link);
      if (found != names.end()) found->second = fmt::format("{} to {}", info.from, info.to);
    }
    trace_.name_process(kLinks, "links");
    const auto interval =
        report::scenario_time(reader_.run(), "record.interval_us").value_or(us(1));
    std::size_t written = 0;
    error = reader_.for_each([&](const metrics::LinkSample& sample) {
      const auto found = names.find(sample.link);
      if (found == names.end() || ++written > limits_.samples) return;
      trace_.counter(kLinks, found->second + ", queue (us)", us_of(sample.time),
                     fmt::format(R"("us":{})", in_us(sample.qdelay_max)));
      const double gbps = static_cast<double>(sample.carried.count()) * 8e3 /
                          static_cast<double>(std::max<std::int64_t>(interval.count(), 1));
      trace_.counter(kLinks, found->second + ", carried (Gb/s)", us_of(sample.time),
                     fmt::format(R"("Gb/s":{:.6g})", gbps));
    });
    if (written > limits_.samples)
      leave_out(fmt::format("{} samples of links", written - limits_.samples));
    return error;
  }

  std::optional<FileError> flows() {
    std::size_t written = 0;
    auto error = reader_.for_each([&](const metrics::FlowSample& sample) {
      if (written++ == 0) trace_.name_process(kFlows, "flows");
      if (written > limits_.samples) return;
      const std::string name = fmt::format("flow {}", sample.flow);
      trace_.counter(kFlows, name + ", cwnd (bytes)", us_of(sample.time),
                     fmt::format(R"("bytes":{})", sample.cwnd.count()));
      trace_.counter(kFlows, name + ", RTT (us)", us_of(sample.time),
                     fmt::format(R"("us":{})", in_us(sample.rtt)));
    });
    if (written > limits_.samples)
      leave_out(fmt::format("{} samples of flows", written - limits_.samples));
    return error;
  }

  ResultReader& reader_;
  const PerfettoLimits& limits_;
  Trace trace_;
  Instant now_;
  std::string left_out_;
};

}  // namespace

Result<Exported, FileError> save_perfetto(ResultReader& reader, const std::filesystem::path& file,
                                          const PerfettoLimits& limits) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out)
    return FileError{fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno))};
  Exporter exporter(reader, out, limits);
  if (auto error = exporter.write()) return *error;
  out.close();
  if (!out)
    return FileError{fmt::format("{}: cannot be written: is the disk full?", file.string())};
  return Exported{exporter.left_out()};
}

}  // namespace strack::exports
