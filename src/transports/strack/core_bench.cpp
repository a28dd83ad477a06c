// What one data packet costs in STrack's core, at windows of 8, 100 and 1000 packets, in order and with
// packets overtaking each other.
#include "core_bench.h"

#include <cstdint>
#include <cstdio>

#include <benchmark/benchmark.h>

#include "base/units.h"
#include "core_loop.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"

namespace {

using namespace strack;
using bench::Order;

struct Strack {
  using Params = core::StrackParams;
  using Sender = core::Sender<>;
  using Receiver = core::Receiver<>;

  static Params params(std::uint32_t window) {
    Params params = Params::for_link(gbps(400), us(8), bytes(4096)).value();
    params.max_cwnd = std::int64_t{window} * params.mtu;
    // The pipe is the network: its RTT is the window's time.
    params.net_base_rtt = std::int64_t{window} * ns(82);
    params.target_qdelay = params.net_base_rtt;
    params.target_qhigh = 3 * params.target_qdelay;
    params.probe_interval = 100 * params.net_base_rtt;
    return params.validated().value();
  }
  static std::uint32_t lost(const Sender& sender) { return sender.counters().loss_episodes; }
};

const auto core_loop = bench::core_loop<Strack>;
BENCHMARK_CAPTURE(core_loop, in_order, Order::in_order)->Arg(8)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(core_loop, overtaking, Order::overtaking)->Arg(8)->Arg(100)->Arg(1000);

void print_sizes() {
  std::printf(
      "STrack, state per connection at a %u-packet window: sender %zu bytes (budget 512), receiver "
      "%zu bytes (budget 256), message slot %zu bytes\n",
      core::kMaxTrackingWindow, sizeof(Strack::Sender), sizeof(Strack::Receiver),
      sizeof(core::MessageSlot));
}
const bench::Registration kRegistration({"strack", print_sizes, bench::bare_loop<Strack>});

}  // namespace
