// What one data packet costs in STrack+'s core, as STrack's core_bench.cpp measures it.
#include "core_bench.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include <benchmark/benchmark.h>

#include "base/units.h"
#include "core_loop.h"
#include "transports/strack_plus/receiver.h"
#include "transports/strack_plus/sender.h"

namespace {

using namespace strack;
using bench::Order;

struct StrackPlus {
  using Params = core::PlusParams;
  using Sender = core::PlusSender<>;
  using Receiver = core::PlusReceiver;

  static Params params(std::uint32_t window) {
    Params params = Params::for_link(gbps(400), us(8), bytes(4096)).value();
    params.max_cwnd = std::int64_t{std::min(window, Params::kTracked)} * params.mtu;
    // The pipe is the network: its RTT is the window's time.
    params.net_base_rtt = std::int64_t{window} * ns(82);
    params.target_qdelay = params.net_base_rtt;
    params.target_qhigh = 3 * params.target_qdelay;
    params.rack = 3 * params.net_base_rtt / 2;
    params.probe_interval = 100 * params.net_base_rtt;
    params.derive();
    return params.validated().value();
  }
  static std::uint32_t lost(const Sender& sender) { return sender.counters().retransmissions; }
};

const auto plus_loop = bench::core_loop<StrackPlus>;
BENCHMARK_CAPTURE(plus_loop, in_order, Order::in_order)->Arg(8)->Arg(100)->Arg(500);
BENCHMARK_CAPTURE(plus_loop, overtaking, Order::overtaking)->Arg(8)->Arg(100)->Arg(500);

void print_sizes() {
  std::printf(
      "STrack+, state per connection at a %u-packet window: sender %zu bytes (budget 768), "
      "receiver %zu bytes (budget 384)\n",
      core::PlusParams::kTracked, sizeof(StrackPlus::Sender), sizeof(StrackPlus::Receiver));
}
const bench::Registration kRegistration({"strack-plus", print_sizes, bench::bare_loop<StrackPlus>});

}  // namespace
