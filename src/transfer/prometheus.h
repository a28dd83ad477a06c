// An endpoint's statistics in the text format that Prometheus reads (version 0.0.4).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "udp/endpoint.h"

namespace strack::transfer {

struct NamedConnection {
  std::string peer;  ///< its address
  udp::ConnectionId id{};
  udp::ConnectionStatistics statistics;
};

/// All figures of an endpoint, and of these connections with the labels `peer` and `connection`. `service` is
/// a label of all: "perf", "recv".
[[nodiscard]] std::string prometheus_text(std::string_view service,
                                          const udp::EndpointStatistics& endpoint,
                                          std::span<const NamedConnection> connections);
/// The same, asked of the endpoint; of at most 1024 connections.
[[nodiscard]] std::string prometheus_text(std::string_view service, const udp::Endpoint& endpoint);

}  // namespace strack::transfer
