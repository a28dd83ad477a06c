// What one data packet costs in RoCEv2's core, with 1 to 16 QPs, unlimited and held back by a CNP now and
// then.
#include "core_bench.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "base/units.h"
#include "transports/rocev2/receiver.h"
#include "transports/rocev2/sender.h"

namespace {

using namespace strack;
using namespace strack::core;

/// A sender that always has more to send, and a receiver: at line rate a packet is due whenever the one before it has left.
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

void print_sizes() {
  std::printf("RoCEv2: sender %zu bytes and %zu per QP, receiver %zu and %zu per QP\n",
              sizeof(RoceSender<>), sizeof(RoceSenderQp), sizeof(RoceReceiver<>),
              sizeof(RoceReceiverQp));
}
bool bare_loop(std::uint64_t packets, std::uint32_t qps) {
  RoceLoop loop(qps, false);
  for (std::uint64_t i = 0; i < packets; ++i) loop.packet();
  return true;
}
const bench::Registration kRegistration({"rocev2", print_sizes, bare_loop});

}  // namespace
