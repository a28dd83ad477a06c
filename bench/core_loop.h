// A sender that always has more to send, a receiver, and a pipe that holds a window's worth of packets, for the
// core_bench.cpp of transports: one data packet after the other, in order or with packets overtaking each other.
//
// `Ends` has Params, Sender and Receiver, params(window) and lost(sender).
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"

namespace strack::bench {

enum class Order { in_order, overtaking };

template <class Ends>
class CoreLoop {
 public:
  CoreLoop(std::uint32_t window, Order order)
      : params_(Ends::params(window)),
        sender_(params_, slots_, core::Psn{0}),
        receiver_(params_, core::Psn{0}),
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
    const core::Arrival arrival = receiver_.on_packet(pipe_[head_++ % pipe_.size()], {}, now_);
    STRACK_CHECK(arrival.kind == core::ArrivalKind::accepted);
    if (const auto ack = receiver_.poll_ack(now_)) {
      sender_.on_receiving_ack(*ack, now_);
      while (sender_.poll_completion()) {
      }
    }
    refill();
    now_ = now_ + ns(82);
    benchmark::DoNotOptimize(sender_.next_deadline());
  }

  [[nodiscard]] std::uint32_t lost() const { return Ends::lost(sender_); }

 private:
  static constexpr std::uint32_t kMessage = 16'000'000;

  void refill() {
    while (sender_.on_message({next_id_, kMessage}, now_) == core::PostResult::accepted) ++next_id_;
  }

  typename Ends::Params params_;
  std::array<core::MessageSlot, 4> slots_{};
  typename Ends::Sender sender_;
  typename Ends::Receiver receiver_;
  std::vector<core::Packet> pipe_;
  Order order_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  core::MessageId next_id_ = 0;
  Instant now_ = at(us(100));
};

template <class Ends>
void core_loop(benchmark::State& state, Order order) {
  CoreLoop<Ends> loop(static_cast<std::uint32_t>(state.range(0)), order);
  for (auto _ : state) loop.packet();
  state.SetItemsProcessed(state.iterations());
  if (loop.lost() != 0) state.SkipWithError("the loop lost a packet");
}

/// For valgrind; false if a packet was lost.
template <class Ends>
bool bare_loop(std::uint64_t packets, std::uint32_t window) {
  CoreLoop<Ends> loop(window, Order::in_order);
  for (std::uint64_t i = 0; i < packets; ++i) loop.packet();
  return loop.lost() == 0;
}

}  // namespace strack::bench
