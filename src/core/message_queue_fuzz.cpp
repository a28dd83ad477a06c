// MessageQueue against a std::deque of messages: posting, completion in and out of order, lookups
// by PSN from anywhere in the queue, over the wrap of PSNs and of the slot array.
#include "core/message_queue.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/fuzz_input.h"
#include "core/packet.h"

namespace strack::core {
namespace {

struct Posted {
  MessageId id;
  std::uint32_t length;
  std::uint64_t first;  ///< PSNs counted from 0 without a wrap
  std::uint64_t packets;
  bool complete = false;
  bool reported = false;

  std::uint64_t end() const { return first + packets; }
};

class Harness {
 public:
  explicit Harness(FuzzInput& input)
      : input_(input),
        capacity_(std::size_t{1} << input.in_range(0, 5)),
        mtu_(input.one_of<std::uint32_t>(4'096, 64, 1'000, 65'535)),
        initial_(Psn{input.one_of<std::uint32_t>(0, 0xffff'fff0, 0x7fff'fff0, 0x1234'5678)}),
        queue_(std::span(slots_).first(capacity_), initial_) {}

  void run() {
    while (!input_.empty()) {
      switch (input_.byte() % 8) {
        case 0:
        case 1:
        case 2:
          push();
          break;
        case 3:
          fragment();
          break;
        case 4:
          for_each_between();
          break;
        case 5:
          complete_early();
          break;
        case 6:
          epsn_ = pick(epsn_, end_);
          break;
        default:
          pop_completed();
          break;
      }
      STRACK_CHECK_OP(queue_.full(), ==, model_.size() == capacity_);
      STRACK_CHECK_OP(queue_.end().value, ==, psn(end_).value);
    }
    // [D21] At the end everything posted has been reported exactly once.
    epsn_ = end_;
    while (pop_completed()) {
    }
    STRACK_CHECK_OP(reported_, ==, next_id_);
    STRACK_CHECK(model_.empty());
  }

 private:
  Psn psn(std::uint64_t n) const { return initial_ + static_cast<std::uint32_t>(n); }
  /// Any number from low to high, the ends more often than the rest.
  std::uint64_t pick(std::uint64_t low, std::uint64_t high) {
    const std::uint64_t near = std::min(high, low + input_.in_range<std::uint64_t>(0, 7));
    return input_.one_of(near, low, high, input_.in_range(low, high));
  }

  void push() {
    const std::uint32_t length =
        input_.one_of(input_.spread<std::uint32_t>(0, 0xffff'ffff), 0U, mtu_, mtu_ + 1, 3 * mtu_);
    // [D20] ceil(length / MTU), and one for nothing.
    const std::uint64_t packets =
        std::max<std::uint64_t>(1, (std::uint64_t{length} + mtu_ - 1) / mtu_);
    STRACK_CHECK_OP(MessageQueue::packet_count(length, mtu_), ==, packets);
    if (model_.size() == capacity_) return;
    // PSNs compare by distance, so no more than half the circle can be outstanding.
    const std::uint64_t oldest = model_.empty() ? end_ : model_.front().first;
    if (end_ + packets - oldest >= std::uint64_t{1} << 31) return;
    queue_.push({.id = next_id_, .length = length}, mtu_);
    model_.push_back({.id = next_id_, .length = length, .first = end_, .packets = packets});
    end_ += packets;
    ++next_id_;
  }

  // [D20] Offset, payload and message follow from the PSN alone.
  void check_fragment(const Fragment& found, const Posted& message, std::uint64_t n) const {
    const std::uint64_t offset = (n - message.first) * mtu_;
    STRACK_CHECK_OP(found.message_id, ==, message.id);
    STRACK_CHECK_OP(found.message_length, ==, message.length);
    STRACK_CHECK_OP(found.offset, ==, offset);
    STRACK_CHECK_OP(found.payload, ==, std::min<std::uint64_t>(mtu_, message.length - offset));
  }
  void fragment() {
    if (model_.empty()) return;
    const std::uint64_t n = pick(model_.front().first, end_ - 1);
    const auto message = std::find_if(model_.begin(), model_.end(),
                                      [&](const Posted& posted) { return n < posted.end(); });
    check_fragment(queue_.fragment(psn(n), mtu_), *message, n);
  }

  void for_each_between() {
    const std::uint64_t low = model_.empty() ? end_ : model_.front().first;
    const std::uint64_t from = model_.empty() ? end_ : pick(low, end_ - 1);
    const std::uint64_t to = pick(low, end_);
    auto expected = std::find_if(model_.begin(), model_.end(), [&](const Posted& posted) {
      return from < to && posted.end() > from && posted.first < to;
    });
    queue_.for_each_between(psn(from), psn(to), [&](const MessageSlot& slot) {
      STRACK_CHECK(expected != model_.end());
      STRACK_CHECK_OP(slot.message.id, ==, expected->id);
      STRACK_CHECK_OP(slot.first.value, ==, psn(expected->first).value);
      STRACK_CHECK_OP(slot.packets, ==, expected->packets);
      ++expected;
      if (expected != model_.end() && expected->first >= to) expected = model_.end();
    });
    STRACK_CHECK(expected == model_.end());
  }

  void complete_early() {
    if (model_.empty()) return;
    Posted& message = model_[input_.in_range<std::size_t>(0, model_.size() - 1)];
    if (message.complete) return;
    message.complete = true;
    const Psn last = psn(message.end() - 1);
    queue_.for_each_between(last, last + 1,
                            [&](MessageSlot& slot) { queue_.complete_early(slot); });
  }

  /// [D21] Those below EPSN first, in order, then early ones, lowest first; nobody twice.
  std::optional<MessageId> next_completed() {
    while (!model_.empty() && model_.front().end() <= epsn_) {
      const Posted done = model_.front();
      model_.pop_front();
      if (!done.reported) return done.id;
    }
    for (Posted& message : model_) {
      if (message.complete && !message.reported) {
        message.reported = true;
        return message.id;
      }
    }
    return std::nullopt;
  }
  bool pop_completed() {
    const std::optional<MessageId> expected = next_completed();
    const std::optional<MessageId> found = queue_.pop_completed(psn(epsn_));
    STRACK_CHECK_OP(found.has_value(), ==, expected.has_value());
    if (!found) return false;
    STRACK_CHECK_OP(*found, ==, *expected);
    ++reported_;
    return true;
  }

  FuzzInput& input_;
  std::size_t capacity_;
  std::uint32_t mtu_;
  Psn initial_;
  std::array<MessageSlot, 32> slots_{};
  MessageQueue queue_;
  std::deque<Posted> model_;
  std::uint64_t end_ = 0;
  std::uint64_t epsn_ = 0;
  MessageId next_id_ = 0;
  std::uint32_t reported_ = 0;
};

}  // namespace
}  // namespace strack::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strack::FuzzInput input(data, size);
  strack::core::Harness(input).run();
  return 0;
}
