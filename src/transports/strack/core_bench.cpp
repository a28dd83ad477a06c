// What one data packet costs in STrack's core, at windows of 8, 100 and 1000 packets, in order and with
// packets overtaking each other.
#include "core_bench.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "base/units.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"

namespace {

using namespace strack;
using namespace strack::core;

enum class Order { in_order, overtaking };

/// A sender that always has more to send, a receiver, and a pipe that holds a window's worth of
/// packets.
class Loop {
 public:
  Loop(std::uint32_t window, Order order)
      : params_(make_params(window)),
        sender_(params_, slots_, Psn{0}),
        receiver_(params_, Psn{0}),
        pipe_(window),
        order_(order) {
    refill();
  }

  /// Takes one packet all the way round.
  void packet() {
    while (const auto fresh = sender_.poll_transmit(now_)) pipe_[tail_++ % pipe_.size()] = *fresh;
    // Every other pair of packets swaps places, as if one path were a little longer.
    if (order_ == Order::overtaking && head_ % 4 == 0 && tail_ - head_ > 1) {
      std::swap(pipe_[head_ % pipe_.size()], pipe_[(head_ + 1) % pipe_.size()]);
    }
    const Arrival arrival = receiver_.on_packet(pipe_[head_++ % pipe_.size()], {}, now_);
    STRACK_CHECK(arrival.kind == ArrivalKind::accepted);
    if (const auto sack = receiver_.poll_ack(now_)) {
      sender_.on_receiving_ack(*sack, now_);
      while (sender_.poll_completion()) {
      }
    }
    refill();
    now_ = now_ + ns(82);
    benchmark::DoNotOptimize(sender_.next_deadline());
  }

  [[nodiscard]] std::uint32_t lost() const { return sender_.counters().loss_episodes; }

 private:
  static constexpr std::uint32_t kMessage = 16'000'000;

  void refill() {
    while (sender_.on_message({next_id_, kMessage}, now_) == PostResult::accepted) ++next_id_;
  }

  static StrackParams make_params(std::uint32_t window) {
    StrackParams params = StrackParams::for_link(gbps(400), us(8), bytes(4096)).value();
    params.max_cwnd = std::int64_t{window} * params.mtu;
    // The pipe is the network: its RTT is the window's time.
    params.net_base_rtt = std::int64_t{window} * ns(82);
    params.target_qdelay = params.net_base_rtt;
    params.target_qhigh = 3 * params.target_qdelay;
    params.probe_interval = 100 * params.net_base_rtt;
    return params.validated().value();
  }

  StrackParams params_;
  std::array<MessageSlot, 4> slots_{};
  Sender<> sender_;
  Receiver<> receiver_;
  std::vector<Packet> pipe_;
  Order order_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  MessageId next_id_ = 0;
  Instant now_ = at(us(100));
};

void core_loop(benchmark::State& state, Order order) {
  Loop loop(static_cast<std::uint32_t>(state.range(0)), order);
  for (auto _ : state) loop.packet();
  state.SetItemsProcessed(state.iterations());
  if (loop.lost() != 0) state.SkipWithError("the loop lost a packet");
}

BENCHMARK_CAPTURE(core_loop, in_order, Order::in_order)->Arg(8)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(core_loop, overtaking, Order::overtaking)->Arg(8)->Arg(100)->Arg(1000);

void print_sizes() {
  std::printf(
      "STrack, state per connection at a %u-packet window: sender %zu bytes (budget 512), receiver "
      "%zu bytes (budget 256), message slot %zu bytes\n",
      kMaxTrackingWindow, sizeof(Sender<>), sizeof(Receiver<>), sizeof(MessageSlot));
}
bool bare_loop(std::uint64_t packets, std::uint32_t window) {
  Loop loop(window, Order::in_order);
  for (std::uint64_t i = 0; i < packets; ++i) loop.packet();
  return loop.lost() == 0;
}
const bench::Registration kRegistration({"strack", print_sizes, bare_loop});

}  // namespace
