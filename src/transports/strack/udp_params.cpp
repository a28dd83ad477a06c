#include "transports/strack/udp_params.h"

#include <algorithm>

namespace strack::udp {
Picoseconds serialisation(const Measured& measured) {
  const Picoseconds least = kLinks * (bytes(measured.payload) / measured.rate);
  const Picoseconds longer = measured.full_rtt - measured.rtt;
  return longer > kTimingNoise ? std::max(least, longer) : least;
}

BitsPerSecond path_rate(const Measured& measured) {
  const std::int64_t bits = kLinks * std::int64_t{measured.payload} * 8;
  const BitsPerSecond fits{mul_div(bits, seconds(1).count(), serialisation(measured).count())};
  return std::clamp(fits, std::min(kSlowest, measured.rate), measured.rate);
}

Result<core::StrackParams, core::ParamError> derive_params(const Measured& measured) {
  const Bytes mtu = bytes(measured.payload);
  const std::int64_t burst = measured.burst;
  if (measured.rate < kSlowest) {
    return core::ParamError{"rate", measured.rate.count(), "a link rate from 1 Mb/s"};
  }
  const BitsPerSecond rate = path_rate(measured);
  // What a full packet takes where nothing is in its way, and a burst as one of its size. An estimate
  // that is too long corrects itself, as base_rtt falls to what is seen; one too short never would
  // [D7].
  const Picoseconds full_rtt = measured.rtt + burst * serialisation(measured);
  const Picoseconds unit = std::max({full_rtt, kSchedulingNoise, kLeastBdp * (mtu / rate)});
  const Picoseconds most = std::min(seconds(1), kLargestBdp / rate);
  auto scaled = core::StrackParams::for_link(rate, std::min(unit, most), mtu);
  if (!scaled) return scaled;
  core::StrackParams params = scaled.value();

  // [P.window] One BDP of a NIC's RTT; here the hosts' own delays come on top of the network's and
  // are as long as the noise allows for, so two. The network's queues stay bounded by the delay
  // target.
  const Bytes least = 4 * burst * mtu;
  // What the peer tracks comes last: it may be less than `least`.
  params.max_cwnd = std::min(std::max(2 * params.bdp, least), std::int64_t{measured.window} * mtu);
  params.min_cwnd = burst * mtu;
  params.max_cwnd = std::max(params.max_cwnd, params.min_cwnd);
  params.tracking_window = std::min(measured.window, core::kMaxTrackingWindow);
  // [T1.alpha] grows with the RTT's square, and was written for 12 us: at milliseconds one SACK would
  // open the whole window.
  params.alpha = std::min(params.alpha, params.max_cwnd / 8);

  params.max_paths = measured.paths;
  // Bursts take every burst-th turn of the rotation: with an odd number of paths they still reach
  // all. Of two, one less would be none to choose from.
  if (burst > 1 && params.max_paths > 2 && params.max_paths % 2 == 0) --params.max_paths;
  // [A2.L18] The share of each real path is that of the entropies in use: the more, the more even.
  params.min_paths = params.max_paths;
  if (measured.oblivious) params.path_policy = core::PathPolicy::oblivious;

  // One SACK may stand for several packets when a receiver is busy: then any of their marks counts.
  params.echo_rule = core::EchoRule::any_mark;
  // [R.timeout.value] of the RTT itself, not of what it is scaled up to; but never within what a
  // queue may hold a packet for.
  params.rto = std::max({25 * full_rtt, 3 * params.target_qhigh, kLowestTimeout});
  params.rto = std::min(params.rto, seconds(25));
  // [R.probe.send] Likewise: of a message of a few packets it is all that finds a loss [D167].
  params.probe_interval = 3 * std::min(std::max(full_rtt, kSchedulingNoise), params.net_base_rtt);
  // [D42] Towards a peer that does not answer: timeouts up to kLongestTimeout apart, and between them
  // probes.
  params.rto_backoff_max = std::max(3u, doublings(params.rto, kLongestTimeout));
  params.probe_backoff_max = doublings(params.probe_interval, kLongestProbeWait);
  params.probe_copies = std::min(kProbeCopies, params.max_paths);  // [D120]
  // [D119] No path's queue is that much longer than another's.
  params.reorder_time = std::min(params.target_qhigh, seconds(1));
  params.path_health = true;  // [D39]
  params.delay_marks = true;  // [D40]
  params.least_rtt = kSchedulingNoise;
  params.full_packet_time = kLinks * (mtu / rate);
  params.silent_window = std::max<std::int64_t>(burst, kSilentPackets) * mtu;
  return params.validated();
}

}  // namespace strack::udp
