// Remote atomics in libfabric's words: what they do is the endpoint's.
#pragma once

#include <rdma/fi_atomic.h>

#include <cstddef>

#include "udp/atomics.h"

namespace strack::fabric {

/// The numbers are libfabric's, and one more.
static_assert(FI_MIN + 1 == static_cast<int>(udp::AtomicOp::min));
static_assert(FI_ATOMIC_READ + 1 == static_cast<int>(udp::AtomicOp::read));
static_assert(FI_CSWAP + 1 == static_cast<int>(udp::AtomicOp::swap_if_equal));
static_assert(FI_MSWAP + 1 == static_cast<int>(udp::AtomicOp::swap_masked));
static_assert(FI_INT8 + 1 == static_cast<int>(udp::ValueType::int8));
static_assert(FI_DOUBLE + 1 == static_cast<int>(udp::ValueType::double_float));
static_assert(FI_LONG_DOUBLE_COMPLEX + 1 == static_cast<int>(udp::ValueType::long_complex));

[[nodiscard]] inline udp::AtomicOp op_of(fi_op op) {
  return op >= FI_MIN && op <= FI_MSWAP ? static_cast<udp::AtomicOp>(op + 1) : udp::AtomicOp{0};
}
[[nodiscard]] inline udp::ValueType type_of(fi_datatype datatype) {
  return datatype >= FI_INT8 && datatype <= FI_LONG_DOUBLE_COMPLEX
             ? static_cast<udp::ValueType>(datatype + 1)
             : udp::ValueType{0};
}

/// Bytes of one value, 0 for a type that there are no atomics of.
[[nodiscard]] inline std::size_t size_of(fi_datatype datatype) {
  return udp::size_of(type_of(datatype));
}

enum class AtomicKind : unsigned char { plain, fetch, compare };
/// Whether there is such an operation on values of this type.
[[nodiscard]] inline bool is_atomic(fi_datatype datatype, fi_op op, AtomicKind kind) {
  if ((kind == AtomicKind::compare) != udp::compares(op_of(op))) return false;
  if (kind == AtomicKind::plain && op == FI_ATOMIC_READ) return false;
  return udp::is_atomic(type_of(datatype), op_of(op));
}

inline void apply_atomic(fi_datatype datatype, fi_op op, std::size_t count, std::byte* target,
                         const std::byte* operand, const std::byte* compare, std::byte* before) {
  udp::apply_atomic(type_of(datatype), op_of(op), count, target, operand, compare, before);
}

}  // namespace strack::fabric
