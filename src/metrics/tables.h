// Which field of which record is which column of the result file (docs/results.md). For
// result_file.cpp, result_reader.cpp and memory_result.cpp.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/enum_words.h"
#include "metrics/records.h"
#include "metrics/result_file.h"
#include "metrics/table.h"

namespace strack::metrics {

template <>
struct Table<RunInfo> {
  static constexpr auto columns = std::tuple{
      Column{"name", &RunInfo::name},
      Column{"scheme", &RunInfo::scheme},
      Column{"seed", &RunInfo::seed},
      Column{"scenario", &RunInfo::scenario},
      Column{"version", &RunInfo::version},
      Column{"git_commit", &RunInfo::commit},
      Column{"source", &RunInfo::source},
      Column{"threads", &RunInfo::threads},
      Column{"hosts", &RunInfo::hosts},
      Column{"links", &RunInfo::links},
      Column{"switches", &RunInfo::switches},
      Column{"flows", &RunInfo::flows},
      Column{"jobs", &RunInfo::jobs},
      Column{"flow_bytes", &RunInfo::bytes},
      Column{"mtu_bytes", &RunInfo::mtu},
      Column{"pfc", &RunInfo::pfc},
      Column{"host_rate_bps", &RunInfo::host_rate},
      Column{"base_rtt_ps", &RunInfo::base_rtt},
      Column{"bdp_bytes", &RunInfo::bdp},
      Column{"ideal_fct_ps", &RunInfo::ideal_fct},
  };
};

template <>
struct Table<Setting> {
  static constexpr std::string_view name = "settings";
  static constexpr auto columns = std::tuple{
      Column{"key", &Setting::key},
      Column{"value", &Setting::value},
      Column{"amount", &Setting::amount},
      Column{"origin", &Setting::origin},
  };
};

template <>
struct Table<WorkloadInfo> {
  static constexpr std::string_view name = "workloads";
  static constexpr auto columns = std::tuple{
      Column{"workload", &WorkloadInfo::workload, ColumnRule::key},
      Column{"name", &WorkloadInfo::name},
      Column{"kind", &WorkloadInfo::kind},
      Column{"first_flow", &WorkloadInfo::first_flow},
      Column{"flows", &WorkloadInfo::flows},
      Column{"first_job", &WorkloadInfo::first_job},
      Column{"jobs", &WorkloadInfo::jobs},
      Column{"iterations", &WorkloadInfo::iterations},
      Column{"compute_ps", &WorkloadInfo::compute},
      Column{"bytes", &WorkloadInfo::bytes},
      Column{"ideal_ps", &WorkloadInfo::ideal},
  };
};

template <>
struct Table<FlowRecord> {
  static constexpr std::string_view name = "flows";
  static constexpr auto columns = std::tuple{
      Column{"flow", &FlowRecord::flow, ColumnRule::key},
      Column{"src", &FlowRecord::src},
      Column{"dst", &FlowRecord::dst},
      Column{"size_bytes", &FlowRecord::size},
      Column{"start_ps", &FlowRecord::start},
      Column{"delivered_ps", &FlowRecord::delivered, ColumnRule::sometimes},
      Column{"end_ps", &FlowRecord::end, ColumnRule::sometimes},
      Column{"packets", &FlowRecord::packets},
      Column{"retransmissions", &FlowRecord::retransmissions},
      Column{"probes", &FlowRecord::probes},
      Column{"timeouts", &FlowRecord::timeouts},
      Column{"path_changes", &FlowRecord::path_changes},
      Column{"cnps", &FlowRecord::cnps},
      Column{"naks", &FlowRecord::naks},
      Column{"victim_packets", &FlowRecord::victim_packets},
  };
};

template <>
struct Table<JobRecord> {
  static constexpr std::string_view name = "jobs";
  static constexpr auto columns = std::tuple{
      Column{"job", &JobRecord::job, ColumnRule::key},
      Column{"name", &JobRecord::name},
      Column{"ranks", &JobRecord::ranks},
      Column{"messages", &JobRecord::messages},
      Column{"bytes", &JobRecord::bytes},
      Column{"start_ps", &JobRecord::start, ColumnRule::sometimes},
      Column{"end_ps", &JobRecord::end, ColumnRule::sometimes},
      Column{"ideal_ps", &JobRecord::ideal},
  };
};

template <>
struct Table<LinkInfo> {
  static constexpr std::string_view name = "links";
  static constexpr auto columns = std::tuple{
      Column{"link", &LinkInfo::link, ColumnRule::key},
      Column{"from_node", &LinkInfo::from},
      Column{"to_node", &LinkInfo::to},
      Column{"rate_bps", &LinkInfo::rate},
      Column{"latency_ps", &LinkInfo::latency},
      Column{"down", &LinkInfo::down},
  };
};

template <>
struct Table<LinkSample> {
  static constexpr std::string_view name = "link_samples";
  static constexpr auto columns = std::tuple{
      Column{"time_ps", &LinkSample::time},
      Column{"link", &LinkSample::link},
      Column{"carried_bytes", &LinkSample::carried},
      Column{"arrived_bytes", &LinkSample::arrived},
      Column{"queue_max_bytes", &LinkSample::queue_max},
      Column{"qdelay_max_ps", &LinkSample::qdelay_max},
      Column{"marks", &LinkSample::marks},
      Column{"drops", &LinkSample::drops},
      Column{"paused_ps", &LinkSample::paused},
      Column{"pause_frames", &LinkSample::pause_frames},
  };
};

template <>
struct Table<FlowSample> {
  static constexpr std::string_view name = "flow_samples";
  static constexpr auto columns = std::tuple{
      Column{"time_ps", &FlowSample::time},
      Column{"flow", &FlowSample::flow},
      Column{"cwnd_bytes", &FlowSample::cwnd},
      Column{"rtt_ps", &FlowSample::rtt},
      Column{"avg_qdelay_ps", &FlowSample::avg_qdelay},
      Column{"acked_bytes", &FlowSample::acked},
      Column{"ecn_marks", &FlowSample::ecn_marks},
      Column{"rate_bps", &FlowSample::rate},
      Column{"cnps", &FlowSample::cnps},
  };
};

template <>
struct Table<ChannelInfo> {
  static constexpr std::string_view name = "channels";
  static constexpr auto columns = std::tuple{
      Column{"flow", &ChannelInfo::flow, ColumnRule::key},
      Column{"job", &ChannelInfo::job},
      Column{"src", &ChannelInfo::src},
      Column{"dst", &ChannelInfo::dst},
  };
};

template <>
struct Table<FlowEvent> {
  static constexpr std::string_view name = "flow_events";
  static constexpr auto columns = std::tuple{
      Column{"time_ps", &FlowEvent::time},    Column{"flow", &FlowEvent::flow},
      Column{"kind", &FlowEvent::kind},       Column{"psn", &FlowEvent::psn},
      Column{"path", &FlowEvent::path},       Column{"ecn", &FlowEvent::ecn},
      Column{"rtt_ps", &FlowEvent::rtt},      Column{"acked_bytes", &FlowEvent::acked},
      Column{"cwnd_bytes", &FlowEvent::cwnd}, Column{"inflight_bytes", &FlowEvent::inflight},
      Column{"rate_bps", &FlowEvent::rate},   Column{"cause", &FlowEvent::cause},
  };
};

template <>
struct Table<CommunicationRecord> {
  static constexpr std::string_view name = "communications";
  static constexpr auto columns = std::tuple{
      Column{"job", &CommunicationRecord::job},
      Column{"name", &CommunicationRecord::name},
      Column{"ranks", &CommunicationRecord::ranks},
      Column{"bytes", &CommunicationRecord::bytes},
      Column{"first_begin_ps", &CommunicationRecord::first_begin},
      Column{"begin_ps", &CommunicationRecord::begin},
      Column{"end_ps", &CommunicationRecord::end},
  };
};

template <>
struct Table<ComputationInfo> {
  static constexpr std::string_view name = "computations";
  static constexpr auto columns = std::tuple{
      Column{"job", &ComputationInfo::job, ColumnRule::key},
      Column{"time_ps", &ComputationInfo::time},
  };
};

/// Each is a row of the table `counters`.
inline constexpr auto kCounterColumns = std::tuple{
    Column{"acked_bytes", &Counters::acked},
    Column{"data_packets_sent", &Counters::data_packets_sent},
    Column{"data_packets_delivered", &Counters::data_packets_delivered},
    Column{"control_packets_sent", &Counters::control_packets_sent},
    Column{"retransmissions", &Counters::retransmissions},
    Column{"probes", &Counters::probes},
    Column{"timeouts", &Counters::timeouts},
    Column{"marks", &Counters::marks},
    Column{"queue_drops", &Counters::queue_drops},
    Column{"failure_drops", &Counters::failure_drops},
    Column{"error_drops", &Counters::error_drops},
    Column{"no_route_drops", &Counters::no_route_drops},
    Column{"packet_hops", &Counters::packet_hops},
    Column{"windows", &Counters::windows},
    Column{"cnps", &Counters::cnps},
    Column{"naks", &Counters::naks},
    Column{"pause_frames", &Counters::pause_frames},
    Column{"ports_paused", &Counters::ports_paused},
    Column{"lossless_violations", &Counters::lossless_violations},
    Column{"victim_packets", &Counters::victim_packets},
    Column{"victim_flows", &Counters::victim_flows},
    Column{"pause_loops", &Counters::pause_loops},
    Column{"trims", &Counters::trims},
    Column{"deepest_queue_bytes", &Counters::deepest_queue},
    Column{"paused_ps", &Counters::paused},
    Column{"buffer_max_bytes", &Counters::buffer_max},
};

/// Calls visit(name, value) for each total; the hash is text in the table `run`.
template <class Totals, class Visit>
void for_each_total(Totals& counters, Visit&& visit) {
  std::apply([&](const auto&... column) { (visit(column.name, counters.*column.field), ...); },
             kCounterColumns);
}

/// The run's one row: what was known before it began, then this.
struct StoredState {
  std::string started_at;
  std::string heartbeat_at;
  std::optional<std::string> finished_at;
  std::string status;
  Instant now{};
  std::optional<double> wall_seconds;
  std::optional<double> cpu_seconds;
  std::optional<std::string> hash;
};

inline constexpr auto kStateColumns = std::tuple{
    Column{"started_at", &StoredState::started_at},
    Column{"heartbeat_at", &StoredState::heartbeat_at},
    Column{"finished_at", &StoredState::finished_at},
    Column{"status", &StoredState::status},
    Column{"now_ps", &StoredState::now},
    Column{"wall_seconds", &StoredState::wall_seconds},
    Column{"cpu_seconds", &StoredState::cpu_seconds},
    Column{"hash", &StoredState::hash},
};
inline constexpr auto kRunColumns = std::tuple_cat(Table<RunInfo>::columns, kStateColumns);

/// How a run ended, as the file says it.
struct StatusName {
  RunStatus status;
  std::string_view text;
};
inline constexpr std::array kStatuses{
    StatusName{RunStatus::running, "running"},
    StatusName{RunStatus::finished, "finished"},
    StatusName{RunStatus::time_limit, "time limit"},
    StatusName{RunStatus::stalled, "stalled"},
    StatusName{RunStatus::interrupted, "partial: interrupted"},
    StatusName{RunStatus::disk_full, "partial: disk full"},
    StatusName{RunStatus::failed, "partial: failed"},
};

/// Their numbers in the file are those of the enumerations.
inline constexpr auto kEventKinds = words_of<EventKind>({{EventKind::sent, "sent"},
                                                         {EventKind::ack, "ack"},
                                                         {EventKind::resent, "resent"},
                                                         {EventKind::loss, "loss"},
                                                         {EventKind::probe, "probe"},
                                                         {EventKind::probe_ack, "probe_ack"},
                                                         {EventKind::nak, "nak"},
                                                         {EventKind::cnp, "cnp"}});
inline constexpr auto kLossCauses = words_of<LossCause>({{LossCause::out_of_order, "out_of_order"},
                                                         {LossCause::probe, "probe"},
                                                         {LossCause::timeout, "timeout"},
                                                         {LossCause::nak, "nak"}});

}  // namespace strack::metrics
