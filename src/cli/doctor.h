// `strack doctor`: what MPI over STrack needs of this host, and what is found on the way to a peer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/perf.h"
#include "cli/text.h"
#include "udp/endpoint.h"

namespace strack::cli {

/// What was looked at, in this order.
class Findings {
 public:
  /// Something that is good to have, or to know; `value`: its number for programs.
  void add(bool good, const std::string& what, const std::string& found,
           const std::optional<std::uint64_t>& value = std::nullopt);
  /// Something without which it does not go.
  void need(bool good, const std::string& what, const std::string& found,
            const std::optional<std::uint64_t>& value = std::nullopt);
  void print(const Formats& formats) const;
  /// A line for each, or several where there are so many columns only; 0: any number.
  [[nodiscard]] std::string text(std::size_t columns) const;
  /// Whether all is there that is needed.
  [[nodiscard]] bool well() const { return well_; }

 private:
  std::vector<std::array<std::string, 4>> rows_;
  bool well_ = true;
};

struct DoctorOptions {
  std::string
      peer;  ///< HOST[:PORT] of a `strack perf server` or `strack recv`; empty: this host only
  PerfTransport transport;
  Formats formats;
};

/// What became of data by every entropy, in words.
void judge_entropies(const std::vector<udp::PathStatistics>& paths, std::uint32_t tried,
                     Findings& findings);
/// How large datagrams and packets are that get there.
void judge_mtu(const udp::ConnectionStatistics& found, std::uint32_t wanted_payload,
               Findings& findings);
/// Routers by their distance: those that answered for any of so many source ports.
void judge_routers(const std::vector<std::vector<std::string>>& hops, std::size_t ports,
                   Findings& findings);

/// Connects, sends by every entropy where a `perf server` takes it, and adds what that shows.
void examine_peer(const DoctorOptions& options, Findings& findings);
/// 0 if nothing that is needed is missing and the peer, where there is one, is well.
int doctor(const DoctorOptions& options);

}  // namespace strack::cli
