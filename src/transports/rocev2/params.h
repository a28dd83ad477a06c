// RoCEv2's constants in one struct: the reliable connection's, and DCQCN's by the name of a
// published set.
//
// As with STrack, all connections over one kind of link share one const object. Rates and byte
// counts that a publication states for its own link speed are scaled to this one; what NICs hold in
// registers is not. [D35]
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"

namespace strack::core {

/// The most queue pairs a connection can stripe over.
inline constexpr std::uint32_t kMaxQps = 16;

/// [D31] Which rules a rate limiter follows. Their constants are DcqcnParams' other fields.
enum class DcqcnVariant : std::uint8_t {
  off,    ///< always line rate: PFC alone holds the sender back
  paper,  ///< alpha moves with each CNP; every CNP cuts
  nic,    ///< alpha moves by its timer; at most one cut per interval
};

/// The published sets of constants.
enum class DcqcnSet : std::uint8_t { paper2015, nic_default, hpcc_ns3, off, uet_htsim };
/// [D35] What NICs ship, and the set that serves RoCEv2 best on the paper's workloads.
inline constexpr DcqcnSet kDefaultDcqcn = DcqcnSet::nic_default;

struct DcqcnParams {
  DcqcnVariant variant = DcqcnVariant::nic;
  Ratio g{1, 256};              ///< [R.dcqcn.alpha] weight of news in alpha
  Ratio initial_alpha{1, 1};    ///< [D64] at the first CNP
  Picoseconds shared_alpha{0};  ///< [D118] one alpha of all flows, told so often; 0: each its own
  Picoseconds alpha_timer{0};   ///< [R.dcqcn.alpha]
  Picoseconds decrease_interval{0};  ///< [R.dcqcn.cut_interval] nic: least time between two cuts
  Picoseconds increase_timer{0};     ///< [R.dcqcn.timer]
  Bytes byte_counter{0};             ///< [R.dcqcn.bytes] 0: time alone drives the increase
  std::uint32_t fast_recovery = 5;   ///< [R.dcqcn.fast] F: so many events of either kind
  BitsPerSecond rate_ai{0};          ///< [R.dcqcn.additive]
  BitsPerSecond rate_hai{0};         ///< [R.dcqcn.hyper]
  BitsPerSecond min_rate{0};         ///< [R.dcqcn.bounds]
  Picoseconds cnp_interval{
      0};  ///< [R.dcqcn.cnp] receiver: at most one CNP per QP in this time; 0: every mark

  static constexpr auto declared() {
    return std::tuple{AnyValue{&DcqcnParams::variant},
                      ParamRange{&DcqcnParams::g, "dcqcn_g", Ratio{0}, Ratio{1},
                                 "a fraction from 0 to 1, such as 1/256"},
                      ParamRange{&DcqcnParams::initial_alpha, "dcqcn_initial_alpha", Ratio{0},
                                 Ratio{1}, "a fraction from 0 to 1, such as 1"},
                      ParamRange{&DcqcnParams::shared_alpha, "dcqcn_shared_alpha", ps(0),
                                 seconds(1), "0 for none, or up to 1 s"},
                      ParamRange{&DcqcnParams::alpha_timer, "dcqcn_alpha_timer", ns(1), seconds(1),
                                 "from 1 ns to 1 s"},
                      ParamRange{&DcqcnParams::decrease_interval, "dcqcn_decrease_interval", ps(0),
                                 seconds(1), "from 0 to 1 s"},
                      ParamRange{&DcqcnParams::increase_timer, "dcqcn_increase_timer", ns(1),
                                 seconds(1), "from 1 ns to 1 s"},
                      ParamRange{&DcqcnParams::byte_counter, "dcqcn_byte_counter", bytes(0),
                                 bytes(std::int64_t{1} << 40), "0 for none, or up to 1 TiB"},
                      ParamRange{&DcqcnParams::fast_recovery, "dcqcn_fast_recovery", 0, 1'000,
                                 "at most 1000 events"},
                      ParamRange{&DcqcnParams::rate_ai, "dcqcn_rate_ai", BitsPerSecond{0},
                                 gbps(100'000), "from 0 to the link's rate"},
                      ParamRange{&DcqcnParams::rate_hai, "dcqcn_rate_hai", BitsPerSecond{0},
                                 gbps(100'000), "from 0 to the link's rate"},
                      // A packet at the least rate must still take less than any timer's range.
                      ParamRange{&DcqcnParams::min_rate, "dcqcn_min_rate", mbps(1), gbps(100'000),
                                 "from 1 Mb/s to the link's rate"},
                      ParamRange{&DcqcnParams::cnp_interval, "dcqcn_cnp_interval", ps(0),
                                 seconds(1), "from 0 to 1 s"}};
  }

  [[nodiscard]] static constexpr DcqcnParams named(DcqcnSet set, BitsPerSecond link);
};
static_assert(declares_all<DcqcnParams>());

struct RoceParams {
  Bytes mtu;                ///< [D20] the largest payload of a packet
  Bytes header;             ///< on the wire beyond the payload: pacing counts it
  BitsPerSecond line_rate;  ///< [R.dcqcn.start] and the first rate of every QP
  DcqcnParams dcqcn;

  std::uint32_t qps_per_conn = 1;     ///< [R.roce.stripe] a power of two
  std::uint32_t stripe_packets = 32;  ///< [R.roce.stripe] packets in a stripe, a power of two

  Bytes ack_bytes;           ///< [R.roce.ack] an ACK at least every so many bytes ...
  Picoseconds ack_interval;  ///< ... or with the first packet after so long ...
  Picoseconds nak_interval;  ///< [R.roce.nak_repeat] the same NAK again after so long
  Picoseconds rto;           ///< [R.roce.timeout] no progress for so long: go back
  std::uint32_t max_outstanding = 1u << 23;  ///< [R.roce.outstanding] packets of a QP
  Picoseconds reorder_time;  ///< [AR.overdue] how late a packet may be where switches spray

  static constexpr auto declared() {
    return std::tuple{
        ParamRange{&RoceParams::mtu, "mtu", bytes(64), bytes(65'535),
                   "a payload from 64 to 65535 bytes"},
        ParamRange{&RoceParams::header, "header", bytes(0), bytes(4'096), "from 0 to 4096 bytes"},
        ParamRange{&RoceParams::line_rate, "line_rate", mbps(1), gbps(100'000),
                   "from 1 Mb/s to 100 Tb/s"},
        ParamRange{&RoceParams::qps_per_conn, "qps_per_conn", 1, kMaxQps, "1, 2, 4, 8 or 16"},
        ParamRange{&RoceParams::stripe_packets, "stripe_packets", 1, 1u << 16,
                   "a power of two up to 65536"},
        ParamRange{&RoceParams::ack_bytes, "ack_bytes", bytes(1), bytes(1 << 30),
                   "from 1 byte to 1 GiB"},
        ParamRange{&RoceParams::ack_interval, "ack_interval", ps(0), seconds(3'600),
                   "from 0 to an hour"},
        ParamRange{&RoceParams::nak_interval, "nak_interval", ns(1), seconds(3'600),
                   "from 1 ns to an hour"},
        ParamRange{&RoceParams::rto, "rto", ns(1), seconds(3'600), "from 1 ns to an hour"},
        ParamRange{&RoceParams::reorder_time, "reorder_time", ns(1), seconds(3'600),
                   "from 1 ns to an hour"},
        ParamRange{&RoceParams::max_outstanding, "max_outstanding", 1, 1u << 23,
                   "from 1 to 8388608 packets"},
        Nested{&RoceParams::dcqcn}};
  }

  /// Scales everything to one link, or says which input makes no sense.
  [[nodiscard]] static constexpr Result<RoceParams, ParamError> for_link(
      BitsPerSecond rate, Picoseconds net_base_rtt, Bytes mtu, DcqcnSet set = kDefaultDcqcn);

  /// Holds after any change of a field, or says which value cannot work. `tracked`: packets that the ends can
  /// track, where that is less than max_outstanding.
  [[nodiscard]] constexpr Result<RoceParams, ParamError> validated(
      std::uint32_t tracked = 1u << 23) const;
};
static_assert(declares_all<RoceParams>());

constexpr DcqcnParams DcqcnParams::named(DcqcnSet set, BitsPerSecond link) {
  DcqcnParams p;
  switch (set) {
    case DcqcnSet::paper2015:  // given for 40 Gb/s
      p.variant = DcqcnVariant::paper;
      p.g = {1, 256};
      p.alpha_timer = us(55);
      p.increase_timer = us(55);
      p.byte_counter = {mul_div(mb(10).value, link.value, gbps(40).value)};
      p.fast_recovery = 5;
      p.rate_ai = {mul_div(mbps(40).value, link.value, gbps(40).value)};
      p.rate_hai = 10 * p.rate_ai;  // [D35] not stated there; QCN's proportion
      p.min_rate = mbps(10);        // [D35] not stated there
      p.cnp_interval = us(50);
      break;
    case DcqcnSet::nic_default:
      p.variant = DcqcnVariant::nic;
      p.g = {5, 1024};
      p.alpha_timer = us(1);
      p.decrease_interval = us(4);
      p.increase_timer = us(300);
      p.byte_counter = bytes(32'767);
      p.fast_recovery = 1;
      p.rate_ai = mbps(5);
      p.rate_hai = mbps(50);
      p.min_rate = mbps(1);
      p.cnp_interval = us(4);
      break;
    case DcqcnSet::hpcc_ns3:  // given for 400 Gb/s
      p.variant = DcqcnVariant::nic;
      p.g = {1, 256};
      p.alpha_timer = us(1);
      p.decrease_interval = us(4);
      p.increase_timer = us(300);
      p.byte_counter = bytes(0);
      p.fast_recovery = 1;
      p.rate_ai = {mul_div(mbps(80).value, link.value, gbps(400).value)};
      p.rate_hai = {mul_div(mbps(800).value, link.value, gbps(400).value)};
      p.min_rate = {mul_div(gbps(1).value, link.value, gbps(400).value)};
      p.cnp_interval = ps(0);
      break;
    case DcqcnSet::uet_htsim:  // [D64] increases by shares of the link
      p.variant = DcqcnVariant::paper;
      p.g = {1, 256};
      p.alpha_timer = us(55);
      p.increase_timer = us(55);
      p.byte_counter = mb(10);
      p.fast_recovery = 5;
      p.rate_ai = {link.value / 20};
      p.rate_hai = {link.value / 10};
      p.min_rate = mbps(10);  // none is stated
      p.cnp_interval = us(50);
      break;
    case DcqcnSet::off:
      p.variant = DcqcnVariant::off;
      p.alpha_timer = us(1);
      p.increase_timer = us(300);
      p.min_rate = link;
      break;
  }
  // No set was made for links this slow; what it says must still be possible.
  p.min_rate = std::clamp(p.min_rate, std::min(mbps(1), link), link);
  p.rate_ai = std::min(p.rate_ai, link);
  p.rate_hai = std::min(p.rate_hai, link);
  return p;
}

/// [D34] The shortest of InfiniBand's timeouts, 4.096 us x 2^n, that outlasts `least`.
[[nodiscard]] constexpr Picoseconds infiniband_timeout(Picoseconds least) {
  Picoseconds timeout = ns(4'096);
  while (timeout < least && timeout < seconds(1'000)) timeout = 2 * timeout;
  return timeout;
}

constexpr Result<RoceParams, ParamError> RoceParams::for_link(BitsPerSecond rate,
                                                              Picoseconds net_base_rtt, Bytes mtu,
                                                              DcqcnSet set) {
  if (rate < mbps(1) || rate > gbps(100'000)) {
    return ParamError{"rate", rate.count(),
                      "a link rate from 1 Mb/s to 100 Tb/s, such as gbps(400)"};
  }
  if (net_base_rtt < ns(10) || net_base_rtt > seconds(1)) {
    return ParamError{"net_base_rtt", net_base_rtt.count(),
                      "a base RTT from 10 ns to 1 s, such as us(8)"};
  }
  if (mtu < bytes(64) || mtu > bytes(65'535)) {
    return ParamError{"mtu", mtu.count(), "a payload from 64 to 65535 bytes, such as bytes(4096)"};
  }
  RoceParams p;
  p.mtu = mtu;
  p.header = bytes(64);
  p.line_rate = rate;
  p.dcqcn = DcqcnParams::named(set, rate);
  p.ack_bytes = 16 * mtu;
  p.ack_interval = 4 * net_base_rtt;
  p.nak_interval = 25 * net_base_rtt;
  p.reorder_time = 4 * net_base_rtt;
  p.rto = infiniband_timeout(2'000 * net_base_rtt);
  return p.validated();
}

constexpr Result<RoceParams, ParamError> RoceParams::validated(std::uint32_t tracked) const {
  if (const auto wrong = out_of_range(*this)) return *wrong;
  // What a range does not say, and what one may be beside another.
  if (!std::has_single_bit(qps_per_conn))
    return ParamError{"qps_per_conn", qps_per_conn, "1, 2, 4, 8 or 16"};
  if (!std::has_single_bit(stripe_packets))
    return ParamError{"stripe_packets", stripe_packets, "a power of two up to 65536"};
  // Else a sender that may send no more waits for an ACK that is not owed yet.
  if (ack_bytes > std::int64_t{max_outstanding} * mtu)
    return ParamError{"ack_bytes", ack_bytes.count(), "no more than max_outstanding packets hold"};
  if (ack_bytes > std::int64_t{tracked} * mtu)
    return ParamError{"ack_bytes", ack_bytes.count(),
                      "no more than the packets of a window hold, such as 16 MTU"};
  if (dcqcn.rate_ai > line_rate)
    return ParamError{"dcqcn_rate_ai", dcqcn.rate_ai.count(), "from 0 to the link's rate"};
  if (dcqcn.rate_hai > line_rate)
    return ParamError{"dcqcn_rate_hai", dcqcn.rate_hai.count(), "from 0 to the link's rate"};
  if (dcqcn.min_rate > line_rate)
    return ParamError{"dcqcn_min_rate", dcqcn.min_rate.count(), "from 1 Mb/s to the link's rate"};
  return *this;
}

}  // namespace strack::core
