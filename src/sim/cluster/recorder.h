// What is told of a run while it runs: flows and jobs as they finish, samples, events. Called between
// windows, on one thread; the order of what it tells does not depend on the number of threads.
//
// Hosts report by records, so whatever a receiver finds out about a flow meets here with what its
// sender does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/cluster/cut_guard.h"
#include "sim/cluster/placement.h"
#include "sim/config.h"
#include "sim/host/flow_log.h"
#include "sim/host/host.h"
#include "sim/net/port.h"
#include "sim/net/topology.h"
#include "sim/simulation.h"
#include "workload/workload.h"

namespace strack::sim {

template <class Protocol, class NetworkType>
class Recorder {
 public:
  Recorder(const SimConfig& config, const workload::Workload& workload, NetworkType& network,
           std::vector<SenderPlace> senders)
      : config_(config.record),
        flows_(workload.flows),
        jobs_(workload.jobs),
        network_(network),
        senders_(std::move(senders)),
        driven_(jobs_.size()) {
    watches.resize(senders_.size());
    for (std::uint32_t f = 0; f < std::min<std::size_t>(config_.inspect, senders_.size()); ++f)
      logs_.emplace_back(f);
    for (std::size_t f = 0; f < logs_.size(); ++f) watches[f].log = &logs_[f];
  }

  /// Before the first window: makes room for what nobody else sees.
  void begin() {
    delivered_.assign(flows_.size(), Instant::never());
    victims_.assign(flows_.size(), 0);
    job_tallies_.resize(jobs_.size());
  }

  /// What this job does is not in its graph.
  void drive(std::uint32_t job) { driven_[job] = true; }

  /// Of the flows that are sampled or inspected, written by their senders' hosts.
  std::vector<SenderWatch> watches;

  std::uint64_t flows_done = 0;
  std::uint64_t jobs_done = 0;
  std::uint64_t bytes_acked = 0;
  [[nodiscard]] bool all_done() const {
    return flows_done == flows_.size() && jobs_done == jobs_.size();
  }
  /// Grows with whatever is done.
  [[nodiscard]] std::uint64_t progress() const {
    std::uint64_t done = bytes_acked + flows_done;
    for (const KnownTally& tally : job_tallies_) done += tally.done;
    return done;
  }
  [[nodiscard]] bool inspects() const { return !logs_.empty(); }
  [[nodiscard]] std::uint64_t victim_flows() const {
    return static_cast<std::uint64_t>(
        std::count_if(victims_.begin(), victims_.end(), [](std::uint32_t n) { return n > 0; }));
  }

  /// [D117] Between two windows, when nothing waits to be told but events.
  template <class Archive>
  void state(Archive& a) {
    a.fixed(watches);
    a(flows_done, jobs_done, bytes_acked);
    a.fixed(delivered_);
    a.fixed(victims_);
    a.fixed(job_tallies_);
    a.fixed(logs_);
    static_assert(sizeof(Recorder) == 336, "list what is new");
  }

  // ---- Flows and jobs ----

  /// Takes what one worker's hosts have reported.
  void take(HostReport& report) {
    for (const Delivery& delivery : report.deliveries) delivered_[delivery.flow] = delivery.time;
    report.deliveries.clear();
    for (const std::uint32_t flow : report.victims) ++victims_[flow];
    report.victims.clear();
    finished_.insert(finished_.end(), report.finished.begin(), report.finished.end());
    report.finished.clear();
    bytes_acked += std::exchange(report.bytes_acked, 0);
    for (const MessageMoment& moment : report.moments) take(moment);
    report.moments.clear();
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      job_tallies_[j].add(std::exchange(report.jobs[j], {}));
    }
  }

  /// Tells what has finished in the window whose reports have been taken.
  void report_finished(Observer& observer, CutGuard& cuts) {
    std::sort(messages_.begin(), messages_.end(), [](const auto& a, const auto& b) {
      return a.end != b.end ? a.end < b.end : a.flow < b.flow;
    });
    for (metrics::FlowRecord& record : messages_) observer.on_flow(record);
    messages_.clear();
    std::sort(marks_.begin(), marks_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.time, a.job, a.mark) < std::tie(b.time, b.job, b.mark);
    });
    for (const metrics::JobMark& mark : marks_) observer.on_mark(mark);
    marks_.clear();
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      KnownTally& tally = job_tallies_[j];
      if (tally.told || !finished(j)) continue;
      tally.told = true;
      ++jobs_done;
      cuts.on_job_done(j);
      observer.on_job(job_record(j));
    }
    if (finished_.empty()) return;
    std::sort(finished_.begin(), finished_.end(), [](const auto& a, const auto& b) {
      return a.end != b.end ? a.end < b.end : a.flow < b.flow;
    });
    for (metrics::FlowRecord& record : finished_) {
      complete(record);
      cuts.on_flow_done(record.flow);
      observer.on_flow(record);
    }
    flows_done += finished_.size();
    finished_.clear();
  }

  /// Jobs that have nothing to do, and nobody to say so.
  void report_empty_jobs(Observer& observer, CutGuard& cuts) {
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      if (!is_empty(j)) continue;
      ++jobs_done;
      cuts.on_job_done(j);
      observer.on_job(empty_job_record(j));
    }
  }

  /// All jobs that have been told of, once more.
  void repeat_jobs(Observer& observer) const {
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      if (is_empty(j)) {
        observer.on_job(empty_job_record(j));
      } else if (job_tallies_[j].told) {
        observer.on_job(job_record(j));
      }
    }
  }

  /// The run stops without them. Of flows this tells all that their hosts know: complete() adds the rest.
  void report_unfinished_flows(Observer& observer) const {
    for (const auto& host : network_.all_hosts()) {
      host.for_each_unfinished(
          [&](const metrics::FlowRecord& record) { observer.on_flow(record); });
    }
  }
  void report_unfinished_jobs(Observer& observer) const {
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      for (const auto& [node, times] : job_tallies_[j].under_way)
        observer.on_flow(message_record(j, node, times));
      if (!finished(j) && (driven_[j] || jobs_[j].graph->size() > 0))
        observer.on_job(job_record(j));
    }
  }

  /// Adds what only others than the sender know.
  void complete(metrics::FlowRecord& record) const {
    record.src = flows_[record.flow].src;
    record.delivered = delivered_[record.flow];
    record.victim_packets = victims_[record.flow];
  }

  // ---- Samples and events ----

  void sample(Observer& observer, Instant time) {
    if (config_.links && (config_.tier == RecordTier::all || config_.tier == RecordTier::host))
      sample_hosts(observer, time);
    if (config_.queues || config_.links) sample_ports(observer, time);
    for (std::uint32_t f = 0; f < std::min<std::size_t>(config_.flows, senders_.size()); ++f)
      sample_flow(observer, time, f);
  }

  /// Whatever threads did, events of one time come in the order of their flows.
  void report_events(Observer& observer) {
    events_.clear();
    for (FlowLog& log : logs_) log.move_to(events_);
    std::stable_sort(events_.begin(), events_.end(), [](const auto& a, const auto& b) {
      return a.time != b.time ? a.time < b.time : a.flow < b.flow;
    });
    for (const metrics::FlowEvent& event : events_) observer.on_flow_event(event);
  }

  /// The connections of jobs that are sampled or inspected.
  [[nodiscard]] std::vector<metrics::ChannelInfo> channels() const {
    std::vector<metrics::ChannelInfo> all;
    for (std::uint32_t f = 0; f < senders_.size(); ++f) {
      const SenderPlace& s = senders_[f];
      if (s.job != kNoJob) all.push_back({f, s.job, s.src, s.dst});
    }
    return all;
  }

 private:
  struct MessageTimes {
    Instant posted{};
    Instant delivered = Instant::never();
    Instant end = Instant::never();
  };
  struct KnownTally : JobTally {
    bool told = false;
    std::map<workload::NodeId, MessageTimes> under_way{};  ///< of those that are recorded

    template <class Archive>
    void state(Archive& a) {
      struct Message {
        std::uint64_t node;  // as wide as the others: nothing between them
        MessageTimes times;
      };
      std::vector<Message> messages;
      for (const auto& [node, times] : under_way) messages.push_back({node, times});
      a(done, begun, first, last, told, messages);
      for (const Message& message : messages)
        under_way[static_cast<workload::NodeId>(message.node)] = message.times;
      static_assert(sizeof(KnownTally) == 88, "list what is new");
    }
  };

  [[nodiscard]] bool is_empty(std::uint32_t j) const {
    return jobs_[j].graph->size() == 0 && !driven_[j];
  }
  [[nodiscard]] metrics::JobRecord empty_job_record(std::uint32_t j) const {
    metrics::JobRecord record = job_record(j);
    record.start = record.end = *std::min_element(jobs_[j].starts.begin(), jobs_[j].starts.end());
    return record;
  }

  /// A driven job is once all its ranks have begun, as they do together, and nothing is under way.
  [[nodiscard]] bool finished(std::uint32_t j) const {
    const JobTally& tally = job_tallies_[j];
    if (driven_[j]) return tally.done > 0 && tally.done == tally.begun;
    return tally.done > 0 && tally.done == jobs_[j].graph->size();
  }

  [[nodiscard]] metrics::JobRecord job_record(std::uint32_t j) const {
    const workload::Graph& graph = *jobs_[j].graph;
    metrics::JobRecord record;
    record.job = j;
    record.name = jobs_[j].name;
    record.ranks = graph.ranks();
    record.messages = graph.messages();
    record.bytes = graph.bytes();
    record.start = job_tallies_[j].first;
    if (finished(j)) record.end = job_tallies_[j].last;
    return record;
  }

  /// Of a message that is recorded, until it is delivered and acknowledged: inside a server that is one instant, and either
  /// end may be heard first. One without bytes is only a word.
  void take(const MessageMoment& moment) {
    const workload::Graph::Node& node = jobs_[moment.job].graph->node(moment.node);
    if (node.computes) marks_.push_back({moment.job, node.mark, moment.time});
    if (node.computes || node.amount == 0) return;
    auto& under_way = job_tallies_[moment.job].under_way;
    MessageTimes& times = under_way[moment.node];
    if (moment.moment == workload::Moment::started) times.posted = moment.time;
    if (moment.moment == workload::Moment::received) times.delivered = moment.time;
    if (moment.moment == workload::Moment::sent) times.end = moment.time;
    if (times.end == Instant::never() || times.delivered == Instant::never()) return;
    messages_.push_back(message_record(moment.job, moment.node, times));
    under_way.erase(moment.node);
  }

  /// As a flow. Where every connection of a job has one message, its number is the connection's; else
  /// they are numbered behind all connections, by their nodes.
  [[nodiscard]] metrics::FlowRecord message_record(std::uint32_t j, workload::NodeId id,
                                                   const MessageTimes& times) const {
    const workload::Graph& graph = *jobs_[j].graph;
    const workload::Graph::Node& node = graph.node(id);
    const bool alone = graph.messages() == graph.channels().size();
    std::size_t number = flows_.size() + (alone ? node.channel : id);
    for (std::uint32_t other = 0; other < jobs_.size(); ++other) {
      if (other < j || !alone) number += jobs_[other].graph->channels().size();
      if (other < j && !alone) number += jobs_[other].graph->size();
    }
    metrics::FlowRecord record;
    record.flow = static_cast<std::uint32_t>(number);
    record.src = jobs_[j].hosts[node.rank];
    record.dst = jobs_[j].hosts[graph.receiver(id)];
    record.size = bytes(node.amount);
    record.start = times.posted;
    record.delivered = times.delivered;
    record.end = times.end;
    return record;
  }

  void sample_hosts(Observer& observer, Instant time) {
    std::uint32_t link = 0;
    for (auto& host : network_.all_hosts()) {
      const std::uint32_t number = link++;
      const NicPort::Tally tally = host.port.take_interval(time);
      if (tally.carried == 0 && tally.drops == 0 && tally.paused == ps(0) &&
          tally.pause_frames == 0)
        continue;
      observer.on_link_sample({time, number, bytes(tally.carried), bytes(tally.arrived), bytes(0),
                               ps(0), 0, tally.drops, tally.paused, tally.pause_frames});
    }
  }

  void sample_ports(Observer& observer, Instant time) {
    network_.for_each_port([&](const PortInfo& info, auto& port) {
      const bool to_host = info.ref.tier == LinkRef::Tier::host;
      if (config_.tier != RecordTier::all && (config_.tier == RecordTier::fabric) == to_host)
        return;
      const PortTally tally = port.take_interval(time);
      const bool deep = config_.queues && tally.queue_max > config_.queue_threshold.value;
      const bool busy = config_.links && tally.carried > 0;
      if (!deep && !busy && tally.drops == 0 && tally.paused == ps(0) && tally.pause_frames == 0)
        return;
      observer.on_link_sample({time, info.link, bytes(tally.carried), bytes(tally.arrived),
                               bytes(tally.queue_max),
                               port.wire.time_to_send(tally.queue_max, time - ps(1)), tally.marks,
                               tally.drops, tally.paused, tally.pause_frames});
    });
  }

  void sample_flow(Observer& observer, Instant time, std::uint32_t f) {
    if (!network_.part.has_host(senders_[f].src)) return;
    const auto* o = network_.hosts[senders_[f].src].outgoing(senders_[f].slot);
    SenderWatch& watch = watches[f];
    const std::int64_t acked = std::exchange(watch.acked, 0);
    const std::uint32_t marks = std::exchange(watch.ecn_marks, 0);
    const std::uint32_t cnps = std::exchange(watch.cnps, 0);
    if (o == nullptr && acked == 0) return;
    metrics::FlowSample sample;
    sample.time = time;
    sample.flow = f;
    if (o != nullptr) Protocol::fill(sample, *o);
    sample.rtt = watch.rtt;
    sample.acked = bytes(acked);
    sample.ecn_marks = marks;
    sample.cnps = cnps;
    observer.on_flow_sample(sample);
  }

  const RecordParams& config_;
  const workload::Flows& flows_;
  const std::vector<workload::Job>& jobs_;
  NetworkType& network_;
  const std::vector<SenderPlace> senders_;  ///< by flow; of those that are sampled or inspected
  std::vector<bool> driven_;                ///< by job
  std::vector<Instant> delivered_;          ///< by flow
  std::vector<std::uint32_t> victims_;      ///< by flow: packets that a pause held for others' sake
  std::vector<KnownTally> job_tallies_;
  std::vector<FlowLog> logs_;  ///< of those that are inspected
  std::vector<metrics::FlowRecord> finished_;
  std::vector<metrics::FlowRecord> messages_;  ///< of jobs, that are done
  std::vector<metrics::JobMark> marks_;        ///< that ranks have come to
  std::vector<metrics::FlowEvent> events_;
};

}  // namespace strack::sim
