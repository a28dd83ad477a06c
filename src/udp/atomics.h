// What an atomic does to memory, for the endpoint and for the provider above it.
#pragma once

#include <cstddef>
#include <mutex>

#include "udp/endpoint.h"

namespace strack::udp {

/// Bytes of one value, 0 for a type that there is none of.
[[nodiscard]] std::size_t size_of(ValueType type);

/// Whether there is such an operation on values of this type.
[[nodiscard]] bool is_atomic(ValueType type, AtomicOp op);
[[nodiscard]] constexpr bool compares(AtomicOp op) {
  return op >= AtomicOp::swap_if_equal && op <= AtomicOp::swap_masked;
}

/// Does it to `count` values at `target`; what was there goes to `before`, where that is not null. All may be
/// unaligned. What `is_atomic` refuses does nothing.
void apply_atomic(ValueType type, AtomicOp op, std::size_t count, std::byte* target,
                  const std::byte* operand, const std::byte* compare, std::byte* before);

/// Held meanwhile: one for all endpoints of the process, which may have the same memory.
[[nodiscard]] std::unique_lock<std::mutex> alone_with_values();

}  // namespace strack::udp
