#include "udp/derive_params.h"

#include <algorithm>

namespace strack::udp {

Result<core::StrackParams, core::ParamError> derive_params(const Measured& measured) {
  const Bytes mtu = bytes(measured.payload);
  // Set-up's packets are small: a full one needs its serialisation time on each link besides. An
  // estimate that is too long corrects itself, as base_rtt falls to what is seen; one too short
  // never would [D7].
  const Picoseconds full_rtt = measured.rtt + kLinks * (mtu * measured.burst / measured.rate);
  const Picoseconds rtt = std::clamp(full_rtt, kSchedulingNoise, seconds(1));
  auto scaled = core::StrackParams::for_link(measured.rate, rtt, mtu);
  if (!scaled) return scaled;
  core::StrackParams params = scaled.value();

  // [P.window] One BDP of a NIC's RTT; here the hosts' own delays come on top of the network's and
  // are as long as the noise allows for, so two. The network's queues stay bounded by the delay
  // target.
  const Bytes least = std::max(bytes(8 * mtu.count()), 4 * std::int64_t{measured.burst} * mtu);
  // What the peer tracks comes last: it may be less than `least`.
  params.max_cwnd = std::min(std::max(2 * params.bdp, least), std::int64_t{measured.window} * mtu);
  params.min_cwnd = std::int64_t{measured.burst} * mtu;
  params.max_cwnd = std::max(params.max_cwnd, params.min_cwnd);
  params.tracking_window = std::min(measured.window, core::kMaxTrackingWindow);

  params.max_paths = measured.paths;
  // Bursts take every burst-th turn of the rotation: with an odd number of paths they still reach
  // all.
  if (measured.burst > 1 && params.max_paths > 1 && params.max_paths % 2 == 0) --params.max_paths;
  params.min_paths = std::min(params.min_paths, params.max_paths);
  if (measured.oblivious) params.path_policy = core::PathPolicy::oblivious;

  // One SACK may stand for several packets when a receiver is busy: then any of their marks counts.
  params.echo_rule = core::EchoRule::any_mark;
  params.rto = std::max(params.rto, kLowestTimeout);
  return params.validated();
}

}  // namespace strack::udp
