// Compares the parameters that scenarios set transports up with. For tests.
#pragma once

#include <gtest/gtest.h>

#include "sim/config.h"
#include "sim/transport.h"
#include "transports/rocev2/sim.h"
#include "transports/strack/sim.h"

namespace strack::sim {

inline void expect_same(const core::StrackParams& a, const core::StrackParams& b) {
  EXPECT_EQ(a.net_base_rtt, b.net_base_rtt);
  EXPECT_EQ(a.mtu, b.mtu);
  EXPECT_EQ(a.bdp, b.bdp);
  EXPECT_EQ(a.target_qdelay, b.target_qdelay);
  EXPECT_EQ(a.target_qhigh, b.target_qhigh);
  EXPECT_EQ(a.ewma_q16, b.ewma_q16);
  EXPECT_EQ(a.bdp_sf, b.bdp_sf);
  EXPECT_EQ(a.delay_sf, b.delay_sf);
  EXPECT_EQ(a.beta, b.beta);
  EXPECT_EQ(a.eta, b.eta);
  EXPECT_EQ(a.alpha, b.alpha);
  EXPECT_EQ(a.gamma, b.gamma);
  EXPECT_EQ(a.max_cwnd, b.max_cwnd);
  EXPECT_EQ(a.min_cwnd, b.min_cwnd);
  EXPECT_EQ(a.increase_rule, b.increase_rule);
  EXPECT_EQ(a.window_rule, b.window_rule);
  EXPECT_EQ(a.path_policy, b.path_policy);
  EXPECT_EQ(a.recycle_moves_rotation, b.recycle_moves_rotation);
  EXPECT_EQ(a.max_paths, b.max_paths);
  EXPECT_EQ(a.min_paths, b.min_paths);
  EXPECT_EQ(a.ecn_bitmap_reset, b.ecn_bitmap_reset);
  EXPECT_EQ(a.sack_bytes, b.sack_bytes);
  EXPECT_EQ(a.sack_on_epsn, b.sack_on_epsn);
  EXPECT_EQ(a.echo_rule, b.echo_rule);
  EXPECT_EQ(a.tracking_window, b.tracking_window);
  EXPECT_EQ(a.ooo_cwnd, b.ooo_cwnd);
  EXPECT_EQ(a.ooo_min, b.ooo_min);
  EXPECT_EQ(a.ooo_window, b.ooo_window);
  EXPECT_EQ(a.probe_interval, b.probe_interval);
  EXPECT_EQ(a.probe_rtt_limit, b.probe_rtt_limit);
  EXPECT_EQ(a.probe_recovers, b.probe_recovers);
  EXPECT_EQ(a.rto, b.rto);
  EXPECT_EQ(a.rto_backoff_max, b.rto_backoff_max);
  EXPECT_EQ(a.path_health, b.path_health);
  EXPECT_EQ(a.delay_marks, b.delay_marks);
  EXPECT_EQ(a.least_rtt, b.least_rtt);
  EXPECT_EQ(a.full_packet_time, b.full_packet_time);
  EXPECT_EQ(a.probe_backoff_max, b.probe_backoff_max);
  EXPECT_EQ(a.silent_window, b.silent_window);
}

inline void expect_same(const core::RoceParams& a, const core::RoceParams& b) {
  EXPECT_EQ(a.mtu, b.mtu);
  EXPECT_EQ(a.header, b.header);
  EXPECT_EQ(a.line_rate, b.line_rate);
  EXPECT_EQ(a.qps_per_conn, b.qps_per_conn);
  EXPECT_EQ(a.stripe_packets, b.stripe_packets);
  EXPECT_EQ(a.ack_bytes, b.ack_bytes);
  EXPECT_EQ(a.ack_interval, b.ack_interval);
  EXPECT_EQ(a.nak_interval, b.nak_interval);
  EXPECT_EQ(a.rto, b.rto);
  EXPECT_EQ(a.max_outstanding, b.max_outstanding);
  EXPECT_EQ(a.dcqcn.variant, b.dcqcn.variant);
  EXPECT_EQ(a.dcqcn.g, b.dcqcn.g);
  EXPECT_EQ(a.dcqcn.initial_alpha, b.dcqcn.initial_alpha);
  EXPECT_EQ(a.dcqcn.shared_alpha, b.dcqcn.shared_alpha);
  EXPECT_EQ(a.dcqcn.alpha_timer, b.dcqcn.alpha_timer);
  EXPECT_EQ(a.dcqcn.decrease_interval, b.dcqcn.decrease_interval);
  EXPECT_EQ(a.dcqcn.increase_timer, b.dcqcn.increase_timer);
  EXPECT_EQ(a.dcqcn.byte_counter, b.dcqcn.byte_counter);
  EXPECT_EQ(a.dcqcn.fast_recovery, b.dcqcn.fast_recovery);
  EXPECT_EQ(a.dcqcn.rate_ai, b.dcqcn.rate_ai);
  EXPECT_EQ(a.dcqcn.rate_hai, b.dcqcn.rate_hai);
  EXPECT_EQ(a.dcqcn.min_rate, b.dcqcn.min_rate);
  EXPECT_EQ(a.dcqcn.cnp_interval, b.dcqcn.cnp_interval);
}

/// Whichever transport it is, it is the same with the same parameters.
inline void expect_same_transport(const SimConfig& a, const SimConfig& b) {
  if (dynamic_cast<const TransportWith<core::StrackParams>*>(b.transport.get()) != nullptr) {
    expect_same(params_of<StrackProtocol>(a), params_of<StrackProtocol>(b));
  } else {
    expect_same(params_of<RoceProtocol>(a), params_of<RoceProtocol>(b));
  }
}

}  // namespace strack::sim
