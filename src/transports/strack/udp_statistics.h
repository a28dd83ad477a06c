// What a connection over UDP tells of its window, for the transports that have STrack's.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "transports/strack/params.h"
#include "udp/transport.h"

namespace strack::udp {

template <class Sender>
void describe_window(const core::StrackParams& params, const Sender& sender, BitsPerSecond rate,
                     ConnectionStatistics& s) {
  const auto to_ns = [](Picoseconds t) { return static_cast<std::uint64_t>(t.count() / 1'000); };
  s.path_rate_bps = static_cast<std::uint64_t>(rate.count());
  s.max_cwnd_bytes = static_cast<std::uint64_t>(params.max_cwnd.count());
  s.target_qdelay_ns = to_ns(params.target_qdelay);
  s.cwnd_bytes = static_cast<std::uint64_t>(sender.window().cwnd().count());
  s.inflight_bytes = static_cast<std::uint64_t>(sender.inflight_bytes().count());
  s.base_rtt_ns = to_ns(sender.window().base_rtt());
  s.avg_qdelay_ns = to_ns(sender.window().avg_qdelay());
  s.timeouts = sender.counters().timeouts;
  s.probes_sent = sender.counters().probes_sent;
}

}  // namespace strack::udp
