// [D154] The swarm's atomics: memory of one side that the other alone changes, and a model of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "udp/engine.h"

namespace strack::udp {

class RemoteValues {
 public:
  void expose(Engine& owner, ConnectionId connection) {
    values_.resize(kBytes);
    model_ = values_;
    key_ = owner.register_region(values_, connection, Access::both).value();
  }

  /// The other side asks for one, at any address, for any number of values of any size. Its cookie is `cookies` and a
  /// number below 2^32. False: no more now.
  bool ask(Engine& engine, ConnectionId connection, std::uint64_t cookies, Rng& rng) {
    const AtomicOp op = kOps[rng.below(std::size(kOps))];
    const std::size_t which = rng.below(std::size(kTypes));
    const std::size_t size = std::size_t{1} << which;
    const std::size_t length = size * (1 + rng.below(kMostAtomicBytes / size));
    const std::size_t offset = rng.below(kBytes - length + 1);
    const auto at = model_.begin() + static_cast<std::ptrdiff_t>(offset);
    std::vector<std::byte> found(at, at + static_cast<std::ptrdiff_t>(length));
    std::vector<std::byte> operands(op == AtomicOp::read ? 0 : length);
    for (std::byte& b : operands) b = static_cast<std::byte>(rng.next());
    std::vector<std::byte> compared;
    if (op >= AtomicOp::swap_if_equal) {
      compared = found;
      for (std::byte& b : compared) {
        if (rng.below(16) == 0) b = static_cast<std::byte>(rng.next());
      }
    }
    Asked& asked = asked_.emplace_back();
    asked.before.resize(length);
    const Status status = engine.atomic(connection, key_, offset, op, kTypes[which], asked.before,
                                        operands, compared, cookies | (asked_.size() - 1));
    if (status != Status::ok) {
      STRACK_CHECK(status == Status::would_block || status == Status::connection_closed);
      asked_.pop_back();
      return false;
    }
    for (std::size_t i = 0; i < length; i += size) {
      const std::uint64_t value = value_after(
          op, value_at(found, i, size), value_at(operands, i, size), value_at(compared, i, size));
      std::memcpy(model_.data() + offset + i, &value, size);
    }
    asked.expected = std::move(found);
    asked.after = model_;
    return true;
  }

  /// One is over. False: the peer had said that it sends no more, as with reads.
  bool on(const Completion& c) {
    Asked& asked = asked_[c.cookie & 0xffff'ffff];
    ++asked.completed;
    STRACK_CHECK_OP(asked.completed, ==, 1);
    if (c.status == Status::connection_closed) return false;
    STRACK_CHECK_OP(static_cast<int>(c.status), ==, 0);
    STRACK_CHECK(asked.before == asked.expected);
    asked.done = true;
    return true;
  }

  /// Each was done once, in the order of asking, but for the last ones where the peer sent no more.
  void check_end() const {
    std::vector<std::byte> expected(values_.size());
    bool refused = false;
    for (const Asked& one : asked_) {
      STRACK_CHECK_OP(one.completed, ==, 1);
      STRACK_CHECK(!(one.done && refused));
      refused |= !one.done;
      if (one.done) expected = one.after;
    }
    STRACK_CHECK(values_ == expected);
  }

 private:
  static constexpr std::size_t kBytes = 300;
  static constexpr AtomicOp kOps[] = {AtomicOp::max,        AtomicOp::sum,  AtomicOp::bitwise_xor,
                                      AtomicOp::write,      AtomicOp::read, AtomicOp::swap_if_equal,
                                      AtomicOp::swap_masked};
  static constexpr ValueType kTypes[] = {ValueType::uint8, ValueType::uint16, ValueType::uint32,
                                         ValueType::uint64};

  struct Asked {
    std::vector<std::byte> before, expected;
    std::vector<std::byte> after;  ///< all of the memory
    int completed = 0;
    bool done = false;
  };

  static std::uint64_t value_at(const std::vector<std::byte>& bytes, std::size_t i,
                                std::size_t size) {
    std::uint64_t value = 0;
    if (!bytes.empty()) std::memcpy(&value, bytes.data() + i, size);
    return value;
  }

  /// What `op` makes of one unsigned value, by the words of endpoint.h.
  static std::uint64_t value_after(AtomicOp op, std::uint64_t there, std::uint64_t operand,
                                   std::uint64_t compared) {
    switch (op) {
      case AtomicOp::max:
        return std::max(there, operand);
      case AtomicOp::sum:
        return there + operand;
      case AtomicOp::bitwise_xor:
        return there ^ operand;
      case AtomicOp::write:
        return operand;
      case AtomicOp::swap_if_equal:
        return compared == there ? operand : there;
      case AtomicOp::swap_masked:
        return (operand & compared) | (there & ~compared);
      default:
        return there;
    }
  }

  std::vector<std::byte> values_, model_;  ///< the model: when all that was asked for is done
  std::deque<Asked> asked_;
  RegionKey key_;
};

}  // namespace strack::udp
