#include "transports/strack/params.h"

#include <cstdint>
#include <limits>
#include <string_view>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"

namespace strack::core {
namespace {

constexpr Bytes kMtu = bytes(4'096);

StrackParams params_for(BitsPerSecond rate, Picoseconds net_base_rtt, Bytes mtu = kMtu) {
  return StrackParams::for_link(rate, net_base_rtt, mtu).value();
}

// The paper's evaluation: 400 Gb/s, 8 us, packets of 4 KiB.
StrackParams params_400g() { return params_for(gbps(400), us(8)); }

// What validated() complains about, or "" if nothing.
std::string_view complaint(const StrackParams& params) {
  const auto result = params.validated();
  return result ? "" : result.error().field;
}
std::string_view complaint(BitsPerSecond rate, Picoseconds net_base_rtt, Bytes mtu) {
  const auto result = StrackParams::for_link(rate, net_base_rtt, mtu);
  return result ? "" : result.error().field;
}

// ---- Table 1 at 400 Gb/s and 8 us: a BDP of 400 KB, 8/3 of the reference ----

// [T1.target_Qdelay] [D6] The target is the network's own base RTT, not the table's 12 us.
TEST(StrackParams, ForLink_TargetQdelayIsNetBaseRtt) {
  EXPECT_EQ(params_400g().target_qdelay, us(8));
  EXPECT_EQ(params_400g().net_base_rtt, us(8));
}

// [T1.target_Qhigh] [D5] Three times the target, as the table says; not two, as the prose does.
TEST(StrackParams, ForLink_TargetQhighIsThreeTargets) {
  EXPECT_EQ(params_400g().target_qhigh, us(24));
}

// [T1.ewma] 0.125 x 65536 = 8192.
TEST(StrackParams, ForLink_EwmaIsAnEighth) {
  EXPECT_EQ(params_400g().ewma_q16, 8'192);
  EXPECT_EQ(params_400g().ewma_q16 * 8, 65'536);
}

// [T1.bdp_sf] [D6] 400 KB over 150 KB: 8/3.
TEST(StrackParams, ForLink_BdpSfIsTheBdpInReferenceBdps) {
  EXPECT_EQ(params_400g().bdp, kb(400));
  EXPECT_EQ(params_400g().bdp_sf, (Ratio{400'000, 150'000}));
  EXPECT_EQ(kReferenceBdp, kb(150));
}

// [T1.delay_sf] [D6] [D7] 8 us over 12 us, from net_base_rtt: 2/3.
TEST(StrackParams, ForLink_DelaySfIsTheRttInReferenceRtts) {
  EXPECT_EQ(params_400g().delay_sf, (Ratio{8'000'000, 12'000'000}));
  EXPECT_EQ(kReferenceRtt, us(12));
}

// [T1.beta] [D23] 5 x 4096 x 8/3 = 54613.3.
TEST(StrackParams, ForLink_Beta) { EXPECT_EQ(params_400g().beta, bytes(54'613)); }

// [T1.eta] [D23] 0.15 x 4096 x 8/3 = 1638.4, truncated once: 614 x 8/3 would be 1637.3.
TEST(StrackParams, ForLink_Eta) { EXPECT_EQ(params_400g().eta, bytes(1'638)); }

// [T1.alpha] [D7] [D23] 4 x 4096 x 8/3 x 2/3 = 29127.1, truncated once: 43690 x 2/3 would be
// 29126.7. The field holds alpha x net_base_rtt.
TEST(StrackParams, ForLink_Alpha) { EXPECT_EQ(params_400g().alpha, bytes(29'127)); }

// [T1.gamma] [D23] 0.8 without a floating point in sight.
TEST(StrackParams, ForLink_GammaIsFourFifths) { EXPECT_EQ(params_400g().gamma, (Ratio{4, 5})); }

// ---- Table 1 on other links ----

// [T1.target_Qdelay] [T1.target_Qhigh] [T1.bdp_sf] [T1.delay_sf] [T1.beta] [T1.eta] [T1.alpha] [D6]
// On the reference link, 100 Gb/s and 12 us, both scales are 1 and the table reads as printed.
TEST(StrackParams, ForLink_ReferenceLinkIsUnscaled) {
  const StrackParams params = params_for(gbps(100), us(12));
  EXPECT_EQ(params.bdp, kb(150));
  EXPECT_EQ(params.target_qdelay, us(12));
  EXPECT_EQ(params.target_qhigh, us(36));
  EXPECT_EQ(params.bdp_sf, (Ratio{150'000, 150'000}));
  EXPECT_EQ(params.delay_sf, (Ratio{12'000'000, 12'000'000}));
  EXPECT_EQ(params.beta, bytes(20'480));   // 5 x 4096
  EXPECT_EQ(params.eta, bytes(614));       // 0.15 x 4096 = 614.4
  EXPECT_EQ(params.alpha, bytes(16'384));  // 4 x 4096
  EXPECT_EQ(params.gamma, (Ratio{4, 5}));
  EXPECT_EQ(params.ewma_q16, 8'192);
}

// [T1.bdp_sf] [T1.delay_sf] [T1.beta] [T1.eta] [T1.alpha] 200 Gb/s, 8 us: bdp_sf 4/3, delay_sf 2/3.
TEST(StrackParams, ForLink_At200Gbps) {
  const StrackParams params = params_for(gbps(200), us(8));
  EXPECT_EQ(params.bdp, kb(200));
  EXPECT_EQ(params.target_qdelay, us(8));
  EXPECT_EQ(params.target_qhigh, us(24));
  EXPECT_EQ(params.bdp_sf, (Ratio{200'000, 150'000}));
  EXPECT_EQ(params.delay_sf, (Ratio{8'000'000, 12'000'000}));
  EXPECT_EQ(params.beta, bytes(27'306));   // 20480 x 4/3 = 27306.7
  EXPECT_EQ(params.eta, bytes(819));       // 614.4 x 4/3 = 819.2
  EXPECT_EQ(params.alpha, bytes(14'563));  // 16384 x 4/3 x 2/3 = 14563.6
  EXPECT_EQ(params.max_cwnd, kb(200));
}

// [T1.bdp_sf] [T1.delay_sf] [T1.beta] [T1.eta] [T1.alpha] 800 Gb/s, 8 us: bdp_sf 16/3, delay_sf
// 2/3.
TEST(StrackParams, ForLink_At800Gbps) {
  const StrackParams params = params_for(gbps(800), us(8));
  EXPECT_EQ(params.bdp, kb(800));
  EXPECT_EQ(params.target_qdelay, us(8));
  EXPECT_EQ(params.target_qhigh, us(24));
  EXPECT_EQ(params.bdp_sf, (Ratio{800'000, 150'000}));
  EXPECT_EQ(params.delay_sf, (Ratio{8'000'000, 12'000'000}));
  EXPECT_EQ(params.beta, bytes(109'226));  // 20480 x 16/3 = 109226.7
  EXPECT_EQ(params.eta, bytes(3'276));     // 614.4 x 16/3 = 3276.8
  EXPECT_EQ(params.alpha, bytes(58'254));  // 16384 x 16/3 x 2/3 = 58254.2
  EXPECT_EQ(params.max_cwnd, kb(800));
}

// [T1.beta] [T1.eta] [T1.alpha] The gains are multiples of the MTU.
TEST(StrackParams, ForLink_GainsScaleWithTheMtu) {
  const StrackParams params = params_for(gbps(100), us(12), bytes(1'000));
  EXPECT_EQ(params.mtu, bytes(1'000));
  EXPECT_EQ(params.beta, bytes(5'000));
  EXPECT_EQ(params.eta, bytes(150));
  EXPECT_EQ(params.alpha, bytes(4'000));
}

// [T1.alpha] [D7] Twice the RTT at the same BDP doubles the gain of a whole base RTT below target.
TEST(StrackParams, ForLink_AlphaFollowsBothScales) {
  EXPECT_EQ(params_for(gbps(50), us(24)).alpha, bytes(32'768));  // bdp_sf 1, delay_sf 2
  EXPECT_EQ(params_for(gbps(50), us(24)).beta, bytes(20'480));
}

// ---- What is not in the table ----

// [P.window] [D8] The window's upper bound is one BDP, its lower bound one packet.
TEST(StrackParams, ForLink_WindowBounds) {
  EXPECT_EQ(params_400g().max_cwnd, kb(400));
  EXPECT_EQ(params_400g().min_cwnd, kMtu);
}

// [D8] A BDP below one packet still allows one.
TEST(StrackParams, ForLink_MaxCwndIsAtLeastOnePacket) {
  EXPECT_EQ(params_for(gbps(4), us(8)).bdp, bytes(4'000));
  EXPECT_EQ(params_for(gbps(4), us(8)).max_cwnd, kMtu);
  EXPECT_EQ(params_for(mbps(1), ns(10)).bdp, bytes(0));
  EXPECT_EQ(params_for(mbps(1), ns(10)).max_cwnd, kMtu);
}

// [D8] The tracking window holds 1024 packets, 4194304 bytes here; a window beyond that is no use.
TEST(StrackParams, ForLink_MaxCwndIsAtMostWhatCanBeTracked) {
  EXPECT_EQ(params_for(gbps(400), us(80)).max_cwnd, kb(4'000));
  EXPECT_EQ(params_for(gbps(400), us(84)).bdp, kb(4'200));
  EXPECT_EQ(params_for(gbps(400), us(84)).max_cwnd, bytes(4'194'304));
}

// [D3] [P.oblivious] [D30] [P.max_paths] [D24] [D9] The switches start at what the decisions chose.
TEST(StrackParams, ForLink_SwitchesHaveTheirDefaults) {
  const StrackParams params = params_400g();
  EXPECT_EQ(params.increase_rule, IncreaseRule::acked_bytes);
  EXPECT_EQ(params.path_policy, PathPolicy::adaptive);
  EXPECT_TRUE(params.recycle_moves_rotation);
  EXPECT_EQ(params.max_paths, 256U);
  EXPECT_EQ(params.min_paths, 8U);
  EXPECT_EQ(params.ecn_bitmap_reset, ps(0));
}

// [D11] [D13] [D14] [D15] [D17] [D19] [D26] And so do those of the reliability half.
TEST(StrackParams, ForLink_ReliabilityHasItsDefaults) {
  const StrackParams params = params_400g();
  EXPECT_EQ(params.sack_bytes, kMtu);
  EXPECT_TRUE(params.sack_on_epsn);
  EXPECT_EQ(params.echo_rule, EchoRule::trigger);
  EXPECT_EQ(params.ooo_cwnd, (Ratio{1, 1}));
  EXPECT_EQ(params.ooo_min, 5U);
  EXPECT_EQ(params.ooo_window, OooWindow::largest);
  EXPECT_EQ(params.rto_backoff_max, 3U);
  EXPECT_EQ(params.probe_recovers, ProbeRecovers::sent_before_probe);
  EXPECT_EQ(params.window_rule, WindowRule::fit);
  EXPECT_EQ(params.tracking_window, 1'024U);
}

// [R.probe.send] [R.timeout.value] [D6] [D15] The timers follow net_base_rtt: 3, 2 and 25 of them.
TEST(StrackParams, ForLink_TimersFollowNetBaseRtt) {
  EXPECT_EQ(params_400g().probe_interval, us(24));
  EXPECT_EQ(params_400g().probe_rtt_limit, us(16));
  EXPECT_EQ(params_400g().rto, us(200));
  EXPECT_EQ(params_for(gbps(100), us(12)).probe_interval, us(36));
  EXPECT_EQ(params_for(gbps(100), us(12)).probe_rtt_limit, us(24));
  EXPECT_EQ(params_for(gbps(100), us(12)).rto, us(300));
}

// Everything is known at compile time, so a device can have it as constants.
constexpr auto kAtCompileTime = StrackParams::for_link(gbps(400), us(8), bytes(4'096));
static_assert(kAtCompileTime.ok() && kAtCompileTime.value().beta == bytes(54'613));

// ---- Inputs that make no sense ----

TEST(StrackParams, ForLink_RateMustBeFrom1MbpsTo100Tbps) {
  EXPECT_EQ(complaint(gbps(0), us(8), kMtu), "rate");
  EXPECT_EQ(complaint(mbps(1) - BitsPerSecond{1}, us(8), kMtu), "rate");
  EXPECT_EQ(complaint(mbps(1), us(8), kMtu), "");
  EXPECT_EQ(complaint(gbps(100'000), us(8), kMtu), "");
  EXPECT_EQ(complaint(gbps(100'000) + BitsPerSecond{1}, us(8), kMtu), "rate");
  EXPECT_EQ(complaint(gbps(-400), us(8), kMtu), "rate");
}

// [D6] net_base_rtt is given by the host, so it is checked like any input.
TEST(StrackParams, ForLink_NetBaseRttMustBeFrom10NsTo1S) {
  EXPECT_EQ(complaint(gbps(1), ps(0), kMtu), "net_base_rtt");
  EXPECT_EQ(complaint(gbps(1), ns(10) - ps(1), kMtu), "net_base_rtt");
  EXPECT_EQ(complaint(gbps(1), ns(10), kMtu), "");
  EXPECT_EQ(complaint(mbps(100), seconds(1), kMtu), "");
  EXPECT_EQ(complaint(mbps(100), seconds(1) + ps(1), kMtu), "net_base_rtt");
}

// [D20] An MTU is a payload that fits the packet's 16-bit length.
TEST(StrackParams, ForLink_MtuMustBeFrom64To65535) {
  EXPECT_EQ(complaint(gbps(400), us(8), bytes(0)), "mtu");
  EXPECT_EQ(complaint(gbps(400), us(8), bytes(63)), "mtu");
  EXPECT_EQ(complaint(gbps(400), us(8), bytes(64)), "");
  EXPECT_EQ(complaint(gbps(400), us(8), bytes(65'535)), "");
  EXPECT_EQ(complaint(gbps(400), us(8), bytes(65'536)), "mtu");
}

TEST(StrackParams, ForLink_AnErrorTellsTheValueAndARemedy) {
  const auto result = StrackParams::for_link(gbps(0), us(8), kMtu);
  ASSERT_FALSE(result);
  EXPECT_STREQ(result.error().field, "rate");
  EXPECT_EQ(result.error().value, 0);
  EXPECT_STREQ(result.error().remedy, "a link rate from 1 Mb/s to 100 Tb/s, such as gbps(400)");
}

// 100 Tb/s x 1 s is a BDP of 12.5 TB: each input is possible, the gains that follow are not.
TEST(StrackParams, ForLink_GainsBeyondReasonAreRefused) {
  EXPECT_EQ(complaint(gbps(100'000), seconds(1), kMtu), "beta");
}

// [D62] [D8] [D11] A NIC: one and a quarter BDP, as far as 1024 packets reach, and a SACK for 16 KiB. All else
// stays.
TEST(StrackParams, ForNic_HasALargerWindowAndCoalescesSacks) {
  const StrackParams nic = StrackParams::for_nic(gbps(400), us(8), bytes(4'096)).value();
  EXPECT_EQ(nic.max_cwnd, kb(500));
  EXPECT_EQ(nic.sack_bytes, kib(16));
  StrackParams rest = nic;
  rest.max_cwnd = kb(400);
  rest.sack_bytes = bytes(4'096);
  const StrackParams link = StrackParams::for_link(gbps(400), us(8), bytes(4'096)).value();
  EXPECT_EQ(rest.beta, link.beta);
  EXPECT_EQ(rest.bdp, link.bdp);
  EXPECT_EQ(rest.ooo_cwnd, link.ooo_cwnd);
  EXPECT_EQ(StrackParams::for_nic(gbps(800), us(100), bytes(4'096)).value().max_cwnd,
            1'024 * bytes(4'096));
  EXPECT_FALSE(StrackParams::for_nic(gbps(400), us(8), bytes(1)));
}

// ---- validated(): after any change of a field ----

TEST(StrackParams, Validated_ReturnsThemUnchanged) {
  const StrackParams params = params_400g();
  const auto result = params.validated();
  ASSERT_TRUE(result);
  EXPECT_EQ(result.value().beta, params.beta);
  EXPECT_EQ(result.value().max_cwnd, params.max_cwnd);
}

TEST(StrackParams, Validated_ErrorTellsTheValueAndARemedy) {
  StrackParams params = params_400g();
  params.max_paths = 300;
  const auto result = params.validated();
  ASSERT_FALSE(result);
  EXPECT_STREQ(result.error().field, "max_paths");
  EXPECT_EQ(result.error().value, 300);
  EXPECT_STREQ(result.error().remedy, "from 1 to 256");
}

// One field at a time, everything else as derived for 400 Gb/s.
template <class T>
std::string_view complaint_with(T StrackParams::*field, T value) {
  StrackParams params = params_400g();
  params.*field = value;
  return complaint(params);
}

// [D20] The same bounds as in for_link.
TEST(StrackParams, Validated_Mtu) {
  EXPECT_EQ(complaint_with(&StrackParams::mtu, bytes(63)), "mtu");
  EXPECT_EQ(complaint_with(&StrackParams::mtu, bytes(64)), "");
  EXPECT_EQ(complaint_with(&StrackParams::mtu, bytes(65'536)), "mtu");
  StrackParams params = params_for(gbps(800), us(80), bytes(65'535));
  EXPECT_EQ(complaint(params), "");
}

TEST(StrackParams, Validated_NetBaseRtt) {
  EXPECT_EQ(complaint_with(&StrackParams::net_base_rtt, ns(10) - ps(1)), "net_base_rtt");
  EXPECT_EQ(complaint_with(&StrackParams::net_base_rtt, ns(10)), "");
  EXPECT_EQ(complaint_with(&StrackParams::net_base_rtt, seconds(1)), "");
  EXPECT_EQ(complaint_with(&StrackParams::net_base_rtt, seconds(1) + ps(1)), "net_base_rtt");
}

TEST(StrackParams, Validated_TargetQdelay) {
  EXPECT_EQ(complaint_with(&StrackParams::target_qdelay, ns(1) - ps(1)), "target_qdelay");
  EXPECT_EQ(complaint_with(&StrackParams::target_qdelay, ns(1)), "");
  StrackParams params = params_400g();
  params.target_qhigh = seconds(20);
  params.target_qdelay = seconds(10) + ps(1);
  EXPECT_EQ(complaint(params), "target_qdelay");
}

// [D5] target_qhigh is a switch of its own, 2 x target_qdelay included, but not below the target.
TEST(StrackParams, Validated_TargetQhigh) {
  EXPECT_EQ(complaint_with(&StrackParams::target_qhigh, us(16)), "");
  EXPECT_EQ(complaint_with(&StrackParams::target_qhigh, us(8)), "");
  EXPECT_EQ(complaint_with(&StrackParams::target_qhigh, us(8) - ps(1)), "target_qhigh");
}

TEST(StrackParams, Validated_Ewma) {
  EXPECT_EQ(complaint_with(&StrackParams::ewma_q16, std::int64_t{0}), "ewma_q16");
  EXPECT_EQ(complaint_with(&StrackParams::ewma_q16, std::int64_t{1}), "");
  EXPECT_EQ(complaint_with(&StrackParams::ewma_q16, std::int64_t{65'536}), "");
  EXPECT_EQ(complaint_with(&StrackParams::ewma_q16, std::int64_t{65'537}), "ewma_q16");
}

TEST(StrackParams, Validated_Gamma) {
  EXPECT_EQ(complaint_with(&StrackParams::gamma, Ratio{0, 1}), "");
  EXPECT_EQ(complaint_with(&StrackParams::gamma, Ratio{1, 1}), "");
  EXPECT_EQ(complaint_with(&StrackParams::gamma, Ratio{6, 5}), "gamma");
  EXPECT_EQ(complaint_with(&StrackParams::gamma, Ratio{-1, 5}), "gamma");
  EXPECT_EQ(complaint_with(&StrackParams::gamma, Ratio{0, 0}), "gamma");
  EXPECT_EQ(complaint_with(&StrackParams::gamma, Ratio{1, 1'000'000}), "");
  EXPECT_EQ(complaint_with(&StrackParams::gamma, Ratio{1, 1'000'001}), "gamma");
}

// [D8] A window below one packet could never send one.
TEST(StrackParams, Validated_MinCwnd) {
  EXPECT_EQ(complaint_with(&StrackParams::min_cwnd, kMtu - bytes(1)), "min_cwnd");
  EXPECT_EQ(complaint_with(&StrackParams::min_cwnd, 2 * kMtu), "");
}

// [D8] The upper bound is free, from min_cwnd on.
TEST(StrackParams, Validated_MaxCwnd) {
  EXPECT_EQ(complaint_with(&StrackParams::max_cwnd, kMtu - bytes(1)), "max_cwnd");
  EXPECT_EQ(complaint_with(&StrackParams::max_cwnd, kMtu), "");
  EXPECT_EQ(complaint_with(&StrackParams::max_cwnd, bytes(std::int64_t{1} << 40)), "");
  EXPECT_EQ(complaint_with(&StrackParams::max_cwnd, bytes((std::int64_t{1} << 40) + 1)),
            "max_cwnd");
}

TEST(StrackParams, Validated_Gains) {
  constexpr Bytes kLargest = bytes(std::int64_t{1} << 40);
  EXPECT_EQ(complaint_with(&StrackParams::beta, bytes(-1)), "beta");
  EXPECT_EQ(complaint_with(&StrackParams::beta, bytes(0)), "");
  EXPECT_EQ(complaint_with(&StrackParams::beta, kLargest), "");
  EXPECT_EQ(complaint_with(&StrackParams::beta, kLargest + bytes(1)), "beta");
  EXPECT_EQ(complaint_with(&StrackParams::eta, bytes(-1)), "eta");
  EXPECT_EQ(complaint_with(&StrackParams::eta, bytes(0)), "");
  EXPECT_EQ(complaint_with(&StrackParams::eta, kLargest), "");
  EXPECT_EQ(complaint_with(&StrackParams::eta, kLargest + bytes(1)), "eta");
  EXPECT_EQ(complaint_with(&StrackParams::alpha, bytes(-1)), "alpha");
  EXPECT_EQ(complaint_with(&StrackParams::alpha, bytes(0)), "");
  EXPECT_EQ(complaint_with(&StrackParams::alpha, kLargest), "");
  EXPECT_EQ(complaint_with(&StrackParams::alpha, kLargest + bytes(1)), "alpha");
}

// [P.max_paths] [D24] At most the 256 the bitmap holds; fewer than 8 are allowed.
TEST(StrackParams, Validated_MaxPaths) {
  EXPECT_EQ(complaint_with(&StrackParams::max_paths, 0U), "max_paths");
  EXPECT_EQ(complaint_with(&StrackParams::max_paths, 1U), "");
  EXPECT_EQ(complaint_with(&StrackParams::max_paths, 256U), "");
  EXPECT_EQ(complaint_with(&StrackParams::max_paths, 257U), "max_paths");
}

// [D24] Without a lower bound of 1 an empty window would leave no path to choose.
TEST(StrackParams, Validated_MinPaths) {
  EXPECT_EQ(complaint_with(&StrackParams::min_paths, 0U), "min_paths");
  EXPECT_EQ(complaint_with(&StrackParams::min_paths, 1U), "");
  EXPECT_EQ(complaint_with(&StrackParams::min_paths, 256U), "");
  EXPECT_EQ(complaint_with(&StrackParams::min_paths, 257U), "min_paths");
}

// [D9] 0 is "never", and a time before it makes no sense.
TEST(StrackParams, Validated_EcnBitmapReset) {
  EXPECT_EQ(complaint_with(&StrackParams::ecn_bitmap_reset, ps(-1)), "ecn_bitmap_reset");
  EXPECT_EQ(complaint_with(&StrackParams::ecn_bitmap_reset, ps(0)), "");
  EXPECT_EQ(complaint_with(&StrackParams::ecn_bitmap_reset, us(16)), "");
}

// [D11] One byte means a SACK for every packet.
TEST(StrackParams, Validated_SackBytes) {
  EXPECT_EQ(complaint_with(&StrackParams::sack_bytes, bytes(0)), "sack_bytes");
  EXPECT_EQ(complaint_with(&StrackParams::sack_bytes, bytes(1)), "");
  EXPECT_EQ(complaint_with(&StrackParams::sack_bytes, bytes(1 << 30)), "");
  EXPECT_EQ(complaint_with(&StrackParams::sack_bytes, bytes((1 << 30) + 1)), "sack_bytes");
}

// [D26] The bitmaps hold 1024 packets.
TEST(StrackParams, Validated_TrackingWindow) {
  EXPECT_EQ(complaint_with(&StrackParams::tracking_window, 0U), "tracking_window");
  EXPECT_EQ(complaint_with(&StrackParams::tracking_window, 1U), "");
  EXPECT_EQ(complaint_with(&StrackParams::tracking_window, 1'024U), "");
  EXPECT_EQ(complaint_with(&StrackParams::tracking_window, 1'025U), "tracking_window");
}

// [D14] The threshold in windows: any fraction from zero up.
TEST(StrackParams, Validated_OooCwnd) {
  EXPECT_EQ(complaint_with(&StrackParams::ooo_cwnd, Ratio{0, 1}), "");
  EXPECT_EQ(complaint_with(&StrackParams::ooo_cwnd, Ratio{-1, 1}), "ooo_cwnd");
  EXPECT_EQ(complaint_with(&StrackParams::ooo_cwnd, Ratio{1, 0}), "ooo_cwnd");
  EXPECT_EQ(complaint_with(&StrackParams::ooo_cwnd, Ratio{1'000, 1}), "");
  EXPECT_EQ(complaint_with(&StrackParams::ooo_cwnd, Ratio{1'001, 1}), "ooo_cwnd");
}

TEST(StrackParams, Validated_ProbeInterval) {
  EXPECT_EQ(complaint_with(&StrackParams::probe_interval, ns(1) - ps(1)), "probe_interval");
  EXPECT_EQ(complaint_with(&StrackParams::probe_interval, ns(1)), "");
}

TEST(StrackParams, Validated_ProbeRttLimit) {
  EXPECT_EQ(complaint_with(&StrackParams::probe_rtt_limit, ps(-1)), "probe_rtt_limit");
  EXPECT_EQ(complaint_with(&StrackParams::probe_rtt_limit, ps(0)), "");
}

// [D15] Doubled ten times, an hour is still far from the end of 64 bits.
TEST(StrackParams, Validated_Rto) {
  EXPECT_EQ(complaint_with(&StrackParams::rto, ns(1) - ps(1)), "rto");
  EXPECT_EQ(complaint_with(&StrackParams::rto, ns(1)), "");
  EXPECT_EQ(complaint_with(&StrackParams::rto, seconds(3'600)), "");
  EXPECT_EQ(complaint_with(&StrackParams::rto, seconds(3'600) + ps(1)), "rto");
}

// [D15] 0 is "no backoff".
TEST(StrackParams, Validated_RtoBackoffMax) {
  EXPECT_EQ(complaint_with(&StrackParams::rto_backoff_max, 0U), "");
  EXPECT_EQ(complaint_with(&StrackParams::rto_backoff_max, 10U), "");
  EXPECT_EQ(complaint_with(&StrackParams::rto_backoff_max, 11U), "rto_backoff_max");
}

// [D42] Off, unless a host asks for it.
TEST(StrackParams, Validated_BackOffInSilence) {
  const StrackParams params = StrackParams::for_link(gbps(400), us(8), bytes(4'096)).value();
  EXPECT_EQ(params.probe_backoff_max, 0u);
  EXPECT_EQ(params.silent_window, bytes(0));
  EXPECT_EQ(params.probe_copies, 1u);              // [D120]
  EXPECT_EQ(params.reorder_time, Picoseconds{0});  // [D119]
  EXPECT_EQ(complaint_with(&StrackParams::probe_copies, 16U), "");
  EXPECT_EQ(complaint_with(&StrackParams::probe_copies, 0U), "probe_copies");
  EXPECT_EQ(complaint_with(&StrackParams::probe_copies, 17U), "probe_copies");
  EXPECT_EQ(complaint_with(&StrackParams::reorder_time, seconds(1)), "");
  EXPECT_EQ(complaint_with(&StrackParams::reorder_time, seconds(1) + ps(1)), "reorder_time");
  EXPECT_EQ(complaint_with(&StrackParams::probe_backoff_max, 20U), "");
  EXPECT_EQ(complaint_with(&StrackParams::probe_backoff_max, 21U), "probe_backoff_max");
  EXPECT_EQ(complaint_with(&StrackParams::silent_window, params.mtu), "");
  EXPECT_EQ(complaint_with(&StrackParams::silent_window, params.mtu - bytes(1)), "silent_window");
}

}  // namespace
}  // namespace strack::core
