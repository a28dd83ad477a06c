// Sums of what connections and paths tell (perf/client.h).
#include <algorithm>

#include "perf/client.h"

namespace strack::perf {

void add(udp::PathStatistics& sum, const udp::PathStatistics& one) {
  sum.path = one.path;
  const std::uint64_t sacks = sum.sacks + one.sacks;
  if (sacks > 0) sum.rtt_ns = (sum.rtt_ns * sum.sacks + one.rtt_ns * one.sacks) / sacks;
  if (sum.lowest_rtt_ns == 0 || (one.lowest_rtt_ns > 0 && one.lowest_rtt_ns < sum.lowest_rtt_ns))
    sum.lowest_rtt_ns = one.lowest_rtt_ns;
  sum.packets += one.packets;
  sum.lost += one.lost;
  sum.sacks = sacks;
  sum.marks += one.marks;
}

void Figures::add(const udp::ConnectionStatistics& s) {
  cwnd += s.cwnd_bytes;
  rtt_ns = std::max(rtt_ns, s.rtt_ns);
  base_rtt_ns = base_rtt_ns == 0 ? s.base_rtt_ns : std::min(base_rtt_ns, s.base_rtt_ns);
  qdelay_ns = std::max(qdelay_ns, s.avg_qdelay_ns);
  paths = std::max<std::uint64_t>(paths, s.paths);
  paths_used = std::max(paths_used, s.paths_used);
  payload = std::max<std::uint64_t>(payload, s.payload_bytes);
  packets += s.data_packets_sent;
  retransmissions += s.retransmissions;
  loss_episodes += s.loss_episodes;
  timeouts += s.timeouts;
  probes += s.probes_sent;
  sacks += s.sacks_received;
  marks += s.marks_echoed;
  credit_stalls += s.credit_stalls;
  keyed = s.keyed;
}

}  // namespace strack::perf
