// What one data packet costs in the core: poll_transmit, on_packet, poll_ack, on_receiving_ack.
//
// `core_bench` prints the state sizes and the time per packet at windows of 8, 100 and 1000
// packets, in order and with packets overtaking each other; and for RoCEv2, with 1 to 16 QPs,
// unlimited and held back by a CNP now and then. `core_bench --packets N --window W`
// runs the bare loop, to be counted by valgrind: bench/instructions does that and prints
// instructions per packet.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "base/units.h"
#include "transports/rocev2/receiver.h"
#include "transports/rocev2/sender.h"
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

/// The same for RoCEv2: at line rate a packet is due whenever the one before it has left.
class RoceLoop {
 public:
  RoceLoop(std::uint32_t qps, bool marks)
      : params_(make_params(qps)),
        sender_qps_(qps),
        receiver_qps_(qps),
        sender_(params_, slots_, sender_qps_, Psn{0}),
        receiver_(params_, receiver_qps_, Psn{0}),
        marks_(marks) {
    refill();
  }

  void packet() {
    auto fresh = sender_.poll_transmit(now_);
    while (!fresh) {  // held back by its rate
      now_ = std::max(now_, sender_.next_deadline());
      sender_.on_timeout(now_);
      fresh = sender_.poll_transmit(now_);
    }
    const bool marked = marks_ && ++count_ % 1'000 == 0;
    const Arrival arrival = receiver_.on_packet(*fresh, {.ecn = marked}, now_);
    STRACK_CHECK(arrival.kind == ArrivalKind::accepted);
    while (const auto ack = receiver_.poll_ack(now_)) {
      sender_.on_receiving_ack(*ack, now_);
      while (sender_.poll_completion()) {
      }
    }
    refill();
    now_ = now_ + ps(83'200);
    benchmark::DoNotOptimize(sender_.next_deadline());
  }

 private:
  void refill() {
    while (sender_.on_message({next_id_, 16'000'000}, now_) == PostResult::accepted) ++next_id_;
  }
  static RoceParams make_params(std::uint32_t qps) {
    RoceParams params = RoceParams::for_link(gbps(400), us(8), bytes(4096)).value();
    params.qps_per_conn = qps;
    return params.validated().value();
  }

  RoceParams params_;
  std::array<MessageSlot, 4> slots_{};
  std::vector<RoceSenderQp> sender_qps_;
  std::vector<RoceReceiverQp> receiver_qps_;
  RoceSender<> sender_;
  RoceReceiver<> receiver_;
  bool marks_;
  std::uint64_t count_ = 0;
  MessageId next_id_ = 0;
  Instant now_ = at(us(100));
};

void roce_loop(benchmark::State& state, bool marks) {
  RoceLoop loop(static_cast<std::uint32_t>(state.range(0)), marks);
  for (auto _ : state) loop.packet();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(roce_loop, line_rate, false)->Arg(1)->Arg(4)->Arg(16);
BENCHMARK_CAPTURE(roce_loop, rate_limited, true)->Arg(1)->Arg(4)->Arg(16);

std::uint64_t option(int argc, char** argv, std::string_view name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (name == argv[i]) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::uint64_t packets = option(argc, argv, "--packets")) {
    Loop loop(static_cast<std::uint32_t>(option(argc, argv, "--window")), Order::in_order);
    for (std::uint64_t i = 0; i < packets; ++i) loop.packet();
    return loop.lost() == 0 ? 0 : 1;
  }
  std::printf(
      "state per connection at a %u-packet window: sender %zu bytes (budget 512), receiver %zu "
      "bytes "
      "(budget 256), message slot %zu bytes\n",
      kMaxTrackingWindow, sizeof(Sender<>), sizeof(Receiver<>), sizeof(MessageSlot));
  std::printf("RoCEv2: sender %zu bytes and %zu per QP, receiver %zu and %zu per QP\n",
              sizeof(RoceSender<>), sizeof(RoceSenderQp), sizeof(RoceReceiver<>),
              sizeof(RoceReceiverQp));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
