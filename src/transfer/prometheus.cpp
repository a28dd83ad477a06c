#include "transfer/prometheus.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

namespace strack::transfer {
namespace {

using udp::ConnectionStatistics;
using udp::EndpointStatistics;

enum class Type : std::uint8_t { gauge, counter };

/// A figure as a row: the name without "strack_", and how it is read. `ns` become seconds, as Prometheus
/// wants all times.
template <class Statistics>
struct Row {
  std::string_view name;
  Type type;
  std::string_view help;
  std::uint64_t (*read)(const Statistics&);
  bool ns = false;
};

#define STRACK_FIGURE(Statistics, field) \
  [](const Statistics& s) { return static_cast<std::uint64_t>(s.field); }

using EndpointRow = Row<EndpointStatistics>;
constexpr EndpointRow kEndpointRows[] = {
    {"connections", Type::gauge, "Connections that are up.",
     STRACK_FIGURE(EndpointStatistics, connections)},
    {"connections_made_total", Type::counter, "Connections that came up.",
     STRACK_FIGURE(EndpointStatistics, connections_made)},
    {"connections_failed_total", Type::counter, "Connections that failed.",
     STRACK_FIGURE(EndpointStatistics, connections_failed)},
    {"datagrams_sent_total", Type::counter, "UDP datagrams sent.",
     STRACK_FIGURE(EndpointStatistics, datagrams_sent)},
    {"datagrams_received_total", Type::counter, "UDP datagrams received.",
     STRACK_FIGURE(EndpointStatistics, datagrams_received)},
    {"sent_bytes_total", Type::counter, "UDP payload sent.",
     STRACK_FIGURE(EndpointStatistics, bytes_sent)},
    {"received_bytes_total", Type::counter, "UDP payload received.",
     STRACK_FIGURE(EndpointStatistics, bytes_received)},
    {"send_calls_total", Type::counter, "System calls to send.",
     STRACK_FIGURE(EndpointStatistics, send_calls)},
    {"receive_calls_total", Type::counter, "System calls to receive.",
     STRACK_FIGURE(EndpointStatistics, receive_calls)},
    {"sleeps_total", Type::counter, "Times that the endpoint slept.",
     STRACK_FIGURE(EndpointStatistics, sleeps)},
    {"send_errors_total", Type::counter, "Datagrams that the kernel would not take.",
     STRACK_FIGURE(EndpointStatistics, send_errors)},
    {"send_full_total", Type::counter, "Datagrams for which the kernel's buffer had no room.",
     STRACK_FIGURE(EndpointStatistics, send_full)},
    {"rejected_total", Type::counter, "Set-ups turned away.",
     STRACK_FIGURE(EndpointStatistics, rejected)},
    {"challenges_sent_total", Type::counter, "Challenges sent to those who want to connect.",
     STRACK_FIGURE(EndpointStatistics, challenges_sent)},
    {"held_bytes", Type::gauge, "Memory of packets that wait for their buffer.",
     STRACK_FIGURE(EndpointStatistics, held_bytes)},
};

/// One figure with a label for the cause.
struct RefusedRow {
  std::string_view cause;
  std::uint64_t (*read)(const EndpointStatistics&);
};
constexpr RefusedRow kRefusedRows[] = {
    {"malformed", STRACK_FIGURE(EndpointStatistics, refused_malformed)},
    {"unknown", STRACK_FIGURE(EndpointStatistics, refused_unknown)},
    {"forged", STRACK_FIGURE(EndpointStatistics, refused_forged)},
    {"replayed", STRACK_FIGURE(EndpointStatistics, refused_replayed)},
    {"set_up", STRACK_FIGURE(EndpointStatistics, refused_set_up)},
    {"untrusted", STRACK_FIGURE(EndpointStatistics, refused_untrusted)},
};

using ConnectionRow = Row<ConnectionStatistics>;
constexpr ConnectionRow kConnectionRows[] = {
    {"connection_cwnd_bytes", Type::gauge, "Congestion window.",
     STRACK_FIGURE(ConnectionStatistics, cwnd_bytes)},
    {"connection_max_cwnd_bytes", Type::gauge, "Upper limit of the congestion window.",
     STRACK_FIGURE(ConnectionStatistics, max_cwnd_bytes)},
    {"connection_inflight_bytes", Type::gauge, "Bytes sent and not acknowledged.",
     STRACK_FIGURE(ConnectionStatistics, inflight_bytes)},
    {"connection_rtt_seconds", Type::gauge, "Round trip time of the newest SACK.",
     STRACK_FIGURE(ConnectionStatistics, rtt_ns), true},
    {"connection_base_rtt_seconds", Type::gauge, "Lowest round trip time seen.",
     STRACK_FIGURE(ConnectionStatistics, base_rtt_ns), true},
    {"connection_queueing_delay_seconds", Type::gauge, "Smoothed queueing delay.",
     STRACK_FIGURE(ConnectionStatistics, avg_qdelay_ns), true},
    {"connection_target_queueing_delay_seconds", Type::gauge,
     "Queueing delay that the window settles at.",
     STRACK_FIGURE(ConnectionStatistics, target_qdelay_ns), true},
    {"connection_payload_bytes", Type::gauge, "Payload of a full packet.",
     STRACK_FIGURE(ConnectionStatistics, payload_bytes)},
    {"connection_paths", Type::gauge, "Paths that packets may take now.",
     STRACK_FIGURE(ConnectionStatistics, paths)},
    {"connection_paths_marked", Type::gauge, "Paths passed over for their mark.",
     STRACK_FIGURE(ConnectionStatistics, paths_marked)},
    {"connection_paths_barred", Type::gauge, "Paths left out since packets were lost there.",
     STRACK_FIGURE(ConnectionStatistics, paths_barred)},
    {"connection_path_rate_bits_per_second", Type::gauge, "Rate of the path, measured at set-up.",
     STRACK_FIGURE(ConnectionStatistics, path_rate_bps)},
    {"connection_paths_used", Type::gauge, "Different paths taken so far.",
     STRACK_FIGURE(ConnectionStatistics, paths_used)},
    {"connection_keyed", Type::gauge, "1 where every packet is encrypted.",
     STRACK_FIGURE(ConnectionStatistics, keyed)},
    {"connection_messages_sent_total", Type::counter, "Messages acknowledged by the peer.",
     STRACK_FIGURE(ConnectionStatistics, messages_sent)},
    {"connection_message_sent_bytes_total", Type::counter, "Their bytes.",
     STRACK_FIGURE(ConnectionStatistics, message_bytes_sent)},
    {"connection_data_packets_sent_total", Type::counter, "Data packets sent.",
     STRACK_FIGURE(ConnectionStatistics, data_packets_sent)},
    {"connection_data_sent_bytes_total", Type::counter, "Payload sent, retransmissions included.",
     STRACK_FIGURE(ConnectionStatistics, data_bytes_sent)},
    {"connection_retransmissions_total", Type::counter, "Data packets sent again.",
     STRACK_FIGURE(ConnectionStatistics, retransmissions)},
    {"connection_loss_episodes_total", Type::counter, "Times that losses were noticed.",
     STRACK_FIGURE(ConnectionStatistics, loss_episodes)},
    {"connection_timeouts_total", Type::counter, "Retransmission timeouts.",
     STRACK_FIGURE(ConnectionStatistics, timeouts)},
    {"connection_probes_sent_total", Type::counter, "Probes sent.",
     STRACK_FIGURE(ConnectionStatistics, probes_sent)},
    {"connection_sacks_received_total", Type::counter, "SACKs received.",
     STRACK_FIGURE(ConnectionStatistics, sacks_received)},
    {"connection_marks_echoed_total", Type::counter, "SACKs that told of a mark.",
     STRACK_FIGURE(ConnectionStatistics, marks_echoed)},
    {"connection_credit_stalls_total", Type::counter,
     "Times that sending waited for the peer's receives.",
     STRACK_FIGURE(ConnectionStatistics, credit_stalls)},
    {"connection_messages_received_total", Type::counter, "Messages received.",
     STRACK_FIGURE(ConnectionStatistics, messages_received)},
    {"connection_message_received_bytes_total", Type::counter, "Their bytes.",
     STRACK_FIGURE(ConnectionStatistics, message_bytes_received)},
    {"connection_data_packets_received_total", Type::counter, "New data packets received.",
     STRACK_FIGURE(ConnectionStatistics, data_packets_received)},
    {"connection_duplicates_received_total", Type::counter, "Data packets received again.",
     STRACK_FIGURE(ConnectionStatistics, duplicates_received)},
    {"connection_marks_received_total", Type::counter, "Data packets that arrived marked.",
     STRACK_FIGURE(ConnectionStatistics, marks_received)},
    {"connection_sacks_sent_total", Type::counter, "SACKs sent.",
     STRACK_FIGURE(ConnectionStatistics, sacks_sent)},
    {"connection_packets_held_total", Type::counter, "Packets that waited for their buffer.",
     STRACK_FIGURE(ConnectionStatistics, packets_held)},
    {"connection_packets_unplaced_total", Type::counter, "Packets dropped for want of a buffer.",
     STRACK_FIGURE(ConnectionStatistics, packets_unplaced)},
};

#undef STRACK_FIGURE

/// A label's value may have any character; three of them are written with a backslash.
std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

void add_head(std::string& text, std::string_view name, Type type, std::string_view help) {
  text += fmt::format("# HELP strack_{} {}\n# TYPE strack_{} {}\n", name, help, name,
                      type == Type::gauge ? "gauge" : "counter");
}

std::string value_text(std::uint64_t value, bool ns) {
  if (!ns) return fmt::format("{}", value);
  return fmt::format("{}.{:09}", value / 1'000'000'000, value % 1'000'000'000);
}

}  // namespace

std::string prometheus_text(std::string_view service, const EndpointStatistics& endpoint,
                            std::span<const NamedConnection> connections) {
  const std::string of = fmt::format("service=\"{}\"", escaped(service));
  std::string text;
  for (const EndpointRow& row : kEndpointRows) {
    add_head(text, row.name, row.type, row.help);
    text += fmt::format("strack_{}{{{}}} {}\n", row.name, of, row.read(endpoint));
  }
  add_head(text, "refused_total", Type::counter, "Datagrams refused, by cause.");
  for (const RefusedRow& row : kRefusedRows)
    text += fmt::format("strack_refused_total{{{},cause=\"{}\"}} {}\n", of, row.cause,
                        row.read(endpoint));
  if (connections.empty()) return text;
  for (const ConnectionRow& row : kConnectionRows) {
    add_head(text, row.name, row.type, row.help);
    for (const NamedConnection& connection : connections)
      text += fmt::format("strack_{}{{{},connection=\"{}\",peer=\"{}\"}} {}\n", row.name, of,
                          static_cast<std::uint64_t>(connection.id), escaped(connection.peer),
                          value_text(row.read(connection.statistics), row.ns));
  }
  return text;
}

std::string prometheus_text(std::string_view service, const udp::Endpoint& endpoint) {
  std::vector<udp::ConnectionId> ids(1024);
  ids.resize(std::min(endpoint.connections(ids), ids.size()));
  std::sort(ids.begin(), ids.end());
  std::vector<NamedConnection> connections;
  for (const udp::ConnectionId id : ids) {
    const auto statistics = endpoint.statistics(id);
    if (statistics) connections.push_back({endpoint.peer_address(id), id, statistics.value()});
  }
  return prometheus_text(service, endpoint.statistics(), connections);
}

}  // namespace strack::transfer
