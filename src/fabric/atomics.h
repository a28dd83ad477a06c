// What a remote atomic does to memory.
#pragma once

#include <rdma/fi_atomic.h>

#include <cstddef>

namespace strack::fabric {

/// Bytes of one value, 0 for a type that there are no atomics of.
[[nodiscard]] std::size_t size_of(fi_datatype datatype);

enum class AtomicKind : unsigned char { plain, fetch, compare };
/// Whether there is such an operation on values of this type.
[[nodiscard]] bool is_atomic(fi_datatype datatype, fi_op op, AtomicKind kind);

/// Does it to `count` values at `target`; what was there goes to `before`, where that is not null. All may be
/// unaligned. What `is_atomic` refuses does nothing.
void apply_atomic(fi_datatype datatype, fi_op op, std::size_t count, std::byte* target,
                  const std::byte* operand, const std::byte* compare, std::byte* before);

}  // namespace strack::fabric
