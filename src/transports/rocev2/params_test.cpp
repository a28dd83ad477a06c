#include "transports/rocev2/params.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"

namespace strack::core {
namespace {

constexpr Bytes kMtu = bytes(4'096);

/// The paper's evaluation: 400 Gb/s, 8 us, packets of 4 KiB.
RoceParams params_400g() { return RoceParams::for_link(gbps(400), us(8), kMtu).value(); }

/// What validated() complains about, or "" if nothing.
std::string_view complaint(const RoceParams& params) {
  const auto result = params.validated();
  return result ? "" : result.error().field;
}
std::string_view complaint(BitsPerSecond rate, Picoseconds net_base_rtt, Bytes mtu,
                           DcqcnSet set = kDefaultDcqcn) {
  const auto result = RoceParams::for_link(rate, net_base_rtt, mtu, set);
  return result ? "" : result.error().field;
}

/// Changes one field of the 400 Gb/s parameters and says what validated() thinks of it.
template <class Change>
std::string_view complaint_after(Change change) {
  RoceParams params = params_400g();
  change(params);
  return complaint(params);
}

// ---- The published sets of DCQCN's constants ----

// [D35] [R.dcqcn.alpha] [R.dcqcn.timer] [R.dcqcn.bytes] The 2015 paper's, as printed, on the 40
// Gb/s they are printed for. Neither R_HAI nor a least rate is: 10 x R_AI and 10 Mb/s.
TEST(RoceParams, Named_Paper2015At40Gbps) {
  const DcqcnParams p = DcqcnParams::named(DcqcnSet::paper2015, gbps(40));
  EXPECT_EQ(p.variant, DcqcnVariant::paper);
  EXPECT_EQ(p.g, (Ratio{1, 256}));
  EXPECT_EQ(p.alpha_timer, us(55));
  EXPECT_EQ(p.decrease_interval, ps(0));
  EXPECT_EQ(p.increase_timer, us(55));
  EXPECT_EQ(p.byte_counter, mb(10));
  EXPECT_EQ(p.fast_recovery, 5u);
  EXPECT_EQ(p.rate_ai, mbps(40));
  EXPECT_EQ(p.rate_hai, mbps(400));
  EXPECT_EQ(p.min_rate, mbps(10));
  EXPECT_EQ(p.cnp_interval, us(50));
}

// [D35] Ten times the link: ten times the rates and byte counts, the same times and the same least
// rate.
TEST(RoceParams, Named_Paper2015ScalesRatesAndBytesNotTimes) {
  const DcqcnParams p = DcqcnParams::named(DcqcnSet::paper2015, gbps(400));
  EXPECT_EQ(p.byte_counter, mb(100));
  EXPECT_EQ(p.rate_ai, mbps(400));
  EXPECT_EQ(p.rate_hai, mbps(4'000));
  EXPECT_EQ(p.min_rate, mbps(10));
  EXPECT_EQ(p.alpha_timer, us(55));
  EXPECT_EQ(p.increase_timer, us(55));
  EXPECT_EQ(p.cnp_interval, us(50));
  EXPECT_EQ(p.g, (Ratio{1, 256}));
  EXPECT_EQ(p.fast_recovery, 5u);
}

// [D35] [R.dcqcn.cut_interval] What NICs hold in their registers, on any link.
TEST(RoceParams, Named_NicDefaultIsTheSameOnEveryLink) {
  for (const BitsPerSecond link : {gbps(25), gbps(100), gbps(400), gbps(800)}) {
    const DcqcnParams p = DcqcnParams::named(DcqcnSet::nic_default, link);
    EXPECT_EQ(p.variant, DcqcnVariant::nic);
    EXPECT_EQ(p.g, (Ratio{5, 1'024}));
    EXPECT_EQ(p.alpha_timer, us(1));
    EXPECT_EQ(p.decrease_interval, us(4));
    EXPECT_EQ(p.increase_timer, us(300));
    EXPECT_EQ(p.byte_counter, bytes(32'767));
    EXPECT_EQ(p.fast_recovery, 1u);
    EXPECT_EQ(p.rate_ai, mbps(5));
    EXPECT_EQ(p.rate_hai, mbps(50));
    EXPECT_EQ(p.min_rate, mbps(1));
    EXPECT_EQ(p.cnp_interval, us(4));
  }
}

// [D35] [R.dcqcn.cnp] HPCC's simulator at 400 Gb/s: no byte counter, and every marked packet is
// told of.
TEST(RoceParams, Named_HpccNs3At400Gbps) {
  const DcqcnParams p = DcqcnParams::named(DcqcnSet::hpcc_ns3, gbps(400));
  EXPECT_EQ(p.variant, DcqcnVariant::nic);
  EXPECT_EQ(p.g, (Ratio{1, 256}));
  EXPECT_EQ(p.alpha_timer, us(1));
  EXPECT_EQ(p.decrease_interval, us(4));
  EXPECT_EQ(p.increase_timer, us(300));
  EXPECT_EQ(p.byte_counter, bytes(0));
  EXPECT_EQ(p.fast_recovery, 1u);
  EXPECT_EQ(p.rate_ai, mbps(80));
  EXPECT_EQ(p.rate_hai, mbps(800));
  EXPECT_EQ(p.min_rate, gbps(1));
  EXPECT_EQ(p.cnp_interval, ps(0));
}

// [D64] uet-htsim: the 2015 paper's rules and times, increases of a twentieth and a tenth of the link.
TEST(DcqcnParams, Named_UetHtsimScalesItsIncreases) {
  const DcqcnParams p = DcqcnParams::named(DcqcnSet::uet_htsim, gbps(400));
  EXPECT_EQ(p.variant, DcqcnVariant::paper);
  EXPECT_EQ(p.g, (Ratio{1, 256}));
  EXPECT_EQ(p.initial_alpha, (Ratio{1, 1}));
  EXPECT_EQ(p.alpha_timer, us(55));
  EXPECT_EQ(p.increase_timer, us(55));
  EXPECT_EQ(p.byte_counter, mb(10));
  EXPECT_EQ(p.fast_recovery, 5u);
  EXPECT_EQ(p.rate_ai, gbps(20));
  EXPECT_EQ(p.rate_hai, gbps(40));
  EXPECT_EQ(p.cnp_interval, us(50));
}

// [D35] A quarter of the link, a quarter of the rates.
TEST(RoceParams, Named_HpccNs3ScalesRatesNotTimes) {
  const DcqcnParams p = DcqcnParams::named(DcqcnSet::hpcc_ns3, gbps(100));
  EXPECT_EQ(p.rate_ai, mbps(20));
  EXPECT_EQ(p.rate_hai, mbps(200));
  EXPECT_EQ(p.min_rate, mbps(250));
  EXPECT_EQ(p.alpha_timer, us(1));
  EXPECT_EQ(p.decrease_interval, us(4));
  EXPECT_EQ(p.increase_timer, us(300));
  EXPECT_EQ(p.byte_counter, bytes(0));
}

// [D31] No rate control: PFC alone.
TEST(RoceParams, Named_Off) {
  const DcqcnParams p = DcqcnParams::named(DcqcnSet::off, gbps(400));
  EXPECT_EQ(p.variant, DcqcnVariant::off);
  EXPECT_EQ(p.min_rate, gbps(400));
  EXPECT_EQ(complaint(gbps(400), us(8), kMtu, DcqcnSet::off), "");
}

// [R.dcqcn.bounds] [D35] On slow links: the least rate is no more than the link's and no less than
// 1 Mb/s, and no step is larger than the link.
TEST(RoceParams, Named_FitsTheLink) {
  EXPECT_EQ(DcqcnParams::named(DcqcnSet::paper2015, mbps(5)).min_rate, mbps(5));
  EXPECT_EQ(DcqcnParams::named(DcqcnSet::paper2015, mbps(20)).min_rate, mbps(10));
  EXPECT_EQ(DcqcnParams::named(DcqcnSet::hpcc_ns3, mbps(400)).min_rate, mbps(1));
  EXPECT_EQ(DcqcnParams::named(DcqcnSet::hpcc_ns3, mbps(100)).min_rate, mbps(1));
  EXPECT_EQ(DcqcnParams::named(DcqcnSet::nic_default, mbps(40)).rate_hai, mbps(40));
  EXPECT_EQ(DcqcnParams::named(DcqcnSet::nic_default, mbps(4)).rate_ai, mbps(4));
}

// ---- The reliable connection's ----

// [D33] [D34] [R.roce.ack] [R.roce.nak_repeat] [R.roce.timeout] [R.roce.outstanding]
// [R.roce.stripe] [R.dcqcn.start] At 8 us and 4 KiB: an ACK per 16 packets or 32 us, a NAK again
// after 200 us, a timeout of 4.096 us x 2^12 >= 16 ms.
TEST(RoceParams, ForLink_DefaultsOfTheReliableConnection) {
  const RoceParams p = params_400g();
  EXPECT_EQ(p.mtu, kMtu);
  EXPECT_EQ(p.header, bytes(64));
  EXPECT_EQ(p.line_rate, gbps(400));
  EXPECT_EQ(p.qps_per_conn, 1u);
  EXPECT_EQ(p.stripe_packets, 32u);
  EXPECT_EQ(p.ack_bytes, kib(64));
  EXPECT_EQ(p.ack_interval, us(32));
  EXPECT_EQ(p.nak_interval, us(200));
  EXPECT_EQ(p.reorder_time, us(32));
  EXPECT_EQ(p.rto, ns(16'777'216));
  EXPECT_EQ(p.max_outstanding, 8'388'608u);
  EXPECT_EQ(p.dcqcn.rate_ai, mbps(5));  // nic-default's
}

// [D35] The set is chosen by name and scaled to the link given.
TEST(RoceParams, ForLink_TakesTheSetNamed) {
  const RoceParams p = RoceParams::for_link(gbps(80), us(8), kMtu, DcqcnSet::paper2015).value();
  EXPECT_EQ(p.dcqcn.variant, DcqcnVariant::paper);
  EXPECT_EQ(p.dcqcn.rate_ai, mbps(80));
  EXPECT_EQ(p.dcqcn.byte_counter, mb(20));
}

// Everything is known at compile time, so a device can have it as constants.
constexpr auto kAtCompileTime = RoceParams::for_link(gbps(400), us(8), bytes(4'096));
static_assert(kAtCompileTime.ok() && kAtCompileTime.value().dcqcn.rate_ai == mbps(5));

// [D34] The shortest of InfiniBand's timeouts that is not shorter than asked for.
TEST(RoceParams, InfinibandTimeout_IsTheNextPowerOfTwoOfFourMicroseconds) {
  EXPECT_EQ(infiniband_timeout(ps(0)), ns(4'096));
  EXPECT_EQ(infiniband_timeout(ns(4'096)), ns(4'096));
  EXPECT_EQ(infiniband_timeout(ns(4'096) + ps(1)), ns(8'192));
  EXPECT_EQ(infiniband_timeout(ns(8'192)), ns(8'192));
  EXPECT_EQ(infiniband_timeout(ms(16)), ns(16'777'216));  // 4096 x 2^12
  EXPECT_EQ(infiniband_timeout(ms(17)), ns(33'554'432));
}

// [D34] It ends somewhere: 4.096 us x 2^28, eighteen minutes.
TEST(RoceParams, InfinibandTimeout_HasALongest) {
  EXPECT_EQ(infiniband_timeout(seconds(3'600)), ns(std::int64_t{4'096} << 28));
}

// ---- Inputs that make no sense ----

TEST(RoceParams, ForLink_RefusesItsInputsByName) {
  EXPECT_EQ(complaint(mbps(1) - BitsPerSecond{1}, us(8), kMtu), "rate");
  EXPECT_EQ(complaint(gbps(100'000), us(8), kMtu), "");
  EXPECT_EQ(complaint(gbps(100'000) + BitsPerSecond{1}, us(8), kMtu), "rate");
  EXPECT_EQ(complaint(gbps(400), ns(10) - ps(1), kMtu), "net_base_rtt");
  EXPECT_EQ(complaint(gbps(400), ns(10), kMtu), "");
  EXPECT_EQ(complaint(gbps(400), seconds(1), kMtu), "");
  EXPECT_EQ(complaint(gbps(400), seconds(1) + ps(1), kMtu), "net_base_rtt");
  EXPECT_EQ(complaint(gbps(400), us(8), bytes(63)), "mtu");
  EXPECT_EQ(complaint(gbps(400), us(8), bytes(64)), "");
  EXPECT_EQ(complaint(gbps(400), us(8), bytes(65'535)), "");
  EXPECT_EQ(complaint(gbps(400), us(8), bytes(65'536)), "mtu");
}

// [D35] Whatever link is accepted is accepted with every set, whatever link that was made for.
TEST(RoceParams, ForLink_EverySetWorksOnEveryLink) {
  for (const BitsPerSecond link : {mbps(1), mbps(10), mbps(100), mbps(399), gbps(1)}) {
    for (const DcqcnSet set : {DcqcnSet::paper2015, DcqcnSet::nic_default, DcqcnSet::hpcc_ns3,
                               DcqcnSet::off, DcqcnSet::uet_htsim}) {
      EXPECT_EQ(complaint(link, us(8), kMtu, set), "")
          << link.count() << " b/s, set " << static_cast<int>(set);
    }
  }
}

// [D20] [R.roce.pacing] Each field has its own limits, and a complaint names it.
TEST(RoceParams, Validated_PacketSizes) {
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.mtu = bytes(63); }), "mtu");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.mtu = bytes(64); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.mtu = bytes(65'536); }), "mtu");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.header = bytes(-1); }), "header");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.header = bytes(0); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.header = bytes(4'096); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.header = bytes(4'097); }), "header");
}

TEST(RoceParams, Validated_LineRate) {
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.line_rate = mbps(1) - BitsPerSecond{1}; }),
            "line_rate");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.line_rate = gbps(100'000); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.line_rate = gbps(100'001); }), "line_rate");
}

// [R.roce.stripe] [D32] Powers of two.
TEST(RoceParams, Validated_Stripes) {
  for (const std::uint32_t good : {1u, 2u, 4u, 8u, 16u}) {
    EXPECT_EQ(complaint_after([good](RoceParams& p) { p.qps_per_conn = good; }), "");
    EXPECT_EQ(complaint_after([good](RoceParams& p) { p.stripe_packets = good << 12; }), "");
  }
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.stripe_packets = 1; }), "");
  for (const std::uint32_t bad : {0u, 3u, 12u, 32u}) {
    EXPECT_EQ(complaint_after([bad](RoceParams& p) { p.qps_per_conn = bad; }), "qps_per_conn");
  }
  for (const std::uint32_t bad : {0u, 3u, 48u, 131'072u}) {
    EXPECT_EQ(complaint_after([bad](RoceParams& p) { p.stripe_packets = bad; }), "stripe_packets");
  }
}

// [R.roce.ack] [R.roce.nak_repeat] [R.roce.timeout] [R.roce.outstanding]
TEST(RoceParams, Validated_ReliableConnection) {
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.ack_bytes = bytes(0); }), "ack_bytes");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.ack_bytes = bytes(1); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.ack_bytes = bytes(1 << 30); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.ack_bytes = bytes((1 << 30) + 1); }),
            "ack_bytes");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.ack_interval = ps(-1); }), "ack_interval");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.ack_interval = ps(0); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.ack_interval = seconds(3'600) + ps(1); }),
            "ack_interval");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.reorder_time = ps(999); }), "reorder_time");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.reorder_time = ns(1); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.reorder_time = seconds(3'600) + ps(1); }),
            "reorder_time");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.nak_interval = ps(999); }), "nak_interval");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.nak_interval = ns(1); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.nak_interval = seconds(3'600) + ps(1); }),
            "nak_interval");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.rto = ps(999); }), "rto");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.rto = ns(1); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.rto = seconds(3'600); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.rto = seconds(3'600) + ps(1); }), "rto");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.max_outstanding = 0; }), "max_outstanding");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.max_outstanding = 16; }), "");  // 64 KiB an ACK
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.max_outstanding = 15; }), "ack_bytes");
  EXPECT_EQ(complaint_after([](RoceParams& p) {
              p.max_outstanding = 1;
              p.ack_bytes = p.mtu;
            }),
            "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.max_outstanding = (1u << 23) + 1; }),
            "max_outstanding");
}

// [AR.window] Nor may an ACK wait for more than ends can track, whatever max_outstanding is.
TEST(RoceParams, Validated_AckWithinTheWindow) {
  RoceParams p = RoceParams::for_link(gbps(400), us(8), bytes(4'096)).value();
  p.ack_bytes = 4'096 * p.mtu;
  EXPECT_TRUE(p.validated(4'096));
  p.ack_bytes = p.ack_bytes + bytes(1);
  EXPECT_TRUE(p.validated());
  const auto refused = p.validated(4'096);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, std::string("ack_bytes"));
}

// [R.dcqcn.alpha] [R.dcqcn.cut_interval] [R.dcqcn.timer] [R.dcqcn.cnp]
TEST(RoceParams, Validated_DcqcnTimes) {
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.alpha_timer = ps(999); }),
            "dcqcn_alpha_timer");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.alpha_timer = ns(1); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.alpha_timer = seconds(1) + ps(1); }),
            "dcqcn_alpha_timer");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.decrease_interval = ps(-1); }),
            "dcqcn_decrease_interval");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.decrease_interval = ps(0); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.decrease_interval = seconds(1) + ps(1); }),
            "dcqcn_decrease_interval");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.increase_timer = ps(999); }),
            "dcqcn_increase_timer");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.increase_timer = ns(1); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.increase_timer = seconds(1) + ps(1); }),
            "dcqcn_increase_timer");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.cnp_interval = ps(-1); }),
            "dcqcn_cnp_interval");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.cnp_interval = seconds(1); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.cnp_interval = seconds(1) + ps(1); }),
            "dcqcn_cnp_interval");
}

// [R.dcqcn.alpha] A weight from 0 to 1.
TEST(RoceParams, Validated_DcqcnG) {
  const auto with = [](Ratio g) { return complaint_after([g](RoceParams& p) { p.dcqcn.g = g; }); };
  EXPECT_EQ(with({0, 1}), "");
  EXPECT_EQ(with({1, 1}), "");
  EXPECT_EQ(with({1, 1'000'000}), "");
  EXPECT_EQ(with({-1, 256}), "dcqcn_g");
  EXPECT_EQ(with({257, 256}), "dcqcn_g");
  EXPECT_EQ(with({0, 0}), "dcqcn_g");
  EXPECT_EQ(with({-1, -256}), "dcqcn_g");
  EXPECT_EQ(with({1, 1'000'001}), "dcqcn_g");
}

// [R.dcqcn.bytes] [R.dcqcn.fast] [R.dcqcn.additive] [R.dcqcn.hyper] [R.dcqcn.bounds]
TEST(RoceParams, Validated_DcqcnRates) {
  const BitsPerSecond one{1};
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.byte_counter = bytes(-1); }),
            "dcqcn_byte_counter");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.byte_counter = bytes(1LL << 40); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.byte_counter = bytes((1LL << 40) + 1); }),
            "dcqcn_byte_counter");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.fast_recovery = 0; }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.fast_recovery = 1'000; }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.fast_recovery = 1'001; }),
            "dcqcn_fast_recovery");
  EXPECT_EQ(complaint_after([one](RoceParams& p) { p.dcqcn.rate_ai = -one; }), "dcqcn_rate_ai");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.rate_ai = p.line_rate; }), "");
  EXPECT_EQ(complaint_after([one](RoceParams& p) { p.dcqcn.rate_ai = p.line_rate + one; }),
            "dcqcn_rate_ai");
  EXPECT_EQ(complaint_after([one](RoceParams& p) { p.dcqcn.rate_hai = -one; }), "dcqcn_rate_hai");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.rate_hai = p.line_rate; }), "");
  EXPECT_EQ(complaint_after([one](RoceParams& p) { p.dcqcn.rate_hai = p.line_rate + one; }),
            "dcqcn_rate_hai");
  EXPECT_EQ(complaint_after([one](RoceParams& p) { p.dcqcn.min_rate = mbps(1) - one; }),
            "dcqcn_min_rate");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.min_rate = mbps(1); }), "");
  EXPECT_EQ(complaint_after([](RoceParams& p) { p.dcqcn.min_rate = p.line_rate; }), "");
  EXPECT_EQ(complaint_after([one](RoceParams& p) { p.dcqcn.min_rate = p.line_rate + one; }),
            "dcqcn_min_rate");
}

// A complaint shows the value found and one that would work.
TEST(RoceParams, Validated_ShowsTheValueAndARemedy) {
  RoceParams params = params_400g();
  params.qps_per_conn = 3;
  const auto result = params.validated();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().value, 3);
  EXPECT_EQ(std::string_view(result.error().remedy), "1, 2, 4, 8 or 16");
}

}  // namespace
}  // namespace strack::core
