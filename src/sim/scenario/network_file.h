// Networks of any shape, from a file (.net): hosts, switches, and links with rates and latencies of their
// own.
//
//   rate 400Gbps                     of links that say none
//   latency 500ns                    the same
//   hosts gpu[0-15]                  in the order in which they are numbered
//   switches leaf[0-3] spine[0-1]
//   link gpu[0-3] leaf0              every one of the first to every one of the second
//   link leaf[0-3] spine[0-1] 800Gbps 1us x2
//
// A host has one link. Parallel links are named leaf0-spine0:0, leaf0-spine0:1; a single one leaf0-spine0.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "sim/net/network_graph.h"
#include "workload/amount.h"

namespace strack::sim {

/// The most that there may be of each.
struct NetworkLimits {
  static constexpr std::uint64_t kHosts = 65'536;
  static constexpr std::uint64_t kSwitches = 65'536;
  static constexpr std::uint64_t kLinks = 1u << 20;
};

[[nodiscard]] Result<NetworkGraph, workload::TextError> parse_network(std::string_view text);

/// Whether a topology's file is one of these, by how it ends.
[[nodiscard]] bool is_network_name(std::string_view file);

/// A number for all that is in it.
[[nodiscard]] std::uint64_t fingerprint(const NetworkGraph& graph);

}  // namespace strack::sim
