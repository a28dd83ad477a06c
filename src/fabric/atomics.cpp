#include "fabric/atomics.h"

#include <complex>
#include <concepts>
#include <cstdint>
#include <cstring>

namespace strack::fabric {
namespace {

template <class T>
constexpr bool kOrdered = std::integral<T> || std::floating_point<T>;

/// The new value. False: `op` is nothing that such values have.
template <class T>
bool combine(fi_op op, T there, T operand, T& result) {
  const bool a = there != T{};
  const bool b = operand != T{};
  switch (op) {
    case FI_SUM:
      result = static_cast<T>(there + operand);
      return true;
    case FI_PROD:
      result = static_cast<T>(there * operand);
      return true;
    case FI_LOR:
      result = static_cast<T>(a || b ? 1 : 0);
      return true;
    case FI_LAND:
      result = static_cast<T>(a && b ? 1 : 0);
      return true;
    case FI_LXOR:
      result = static_cast<T>(a != b ? 1 : 0);
      return true;
    case FI_ATOMIC_READ:
      result = there;
      return true;
    case FI_ATOMIC_WRITE:
      result = operand;
      return true;
    default:
      break;
  }
  if constexpr (kOrdered<T>) {
    if (op == FI_MIN || op == FI_MAX) {
      result = (op == FI_MIN) == (operand < there) ? operand : there;
      return true;
    }
  }
  if constexpr (std::integral<T>) {
    if (op != FI_BOR && op != FI_BAND && op != FI_BXOR) return false;
    result = static_cast<T>(op == FI_BOR    ? there | operand
                            : op == FI_BAND ? there & operand
                                            : there ^ operand);
    return true;
  }
  return false;
}

/// The same for those that compare: `operand` goes there when `compare` stands so to what is there.
template <class T>
bool swap(fi_op op, T there, T operand, T compare, T& result) {
  bool does = false;
  if (op == FI_CSWAP) {
    does = compare == there;
  } else if (op == FI_CSWAP_NE) {
    does = compare != there;
  } else if constexpr (kOrdered<T>) {
    switch (op) {
      case FI_CSWAP_LE:
        does = compare <= there;
        break;
      case FI_CSWAP_LT:
        does = compare < there;
        break;
      case FI_CSWAP_GE:
        does = compare >= there;
        break;
      case FI_CSWAP_GT:
        does = compare > there;
        break;
      case FI_MSWAP:
        if constexpr (std::integral<T>) {
          result = static_cast<T>((operand & compare) | (there & ~compare));
          return true;
        }
        return false;
      default:
        return false;
    }
  } else {
    return false;
  }
  result = does ? operand : there;
  return true;
}

/// Calls `f` with a value of the type that `datatype` names; false when it names none.
template <class F>
bool with_type(fi_datatype datatype, F&& f) {
  switch (datatype) {
    case FI_INT8:
      return f(std::int8_t{});
    case FI_UINT8:
      return f(std::uint8_t{});
    case FI_INT16:
      return f(std::int16_t{});
    case FI_UINT16:
      return f(std::uint16_t{});
    case FI_INT32:
      return f(std::int32_t{});
    case FI_UINT32:
      return f(std::uint32_t{});
    case FI_INT64:
      return f(std::int64_t{});
    case FI_UINT64:
      return f(std::uint64_t{});
    case FI_FLOAT:
      return f(float{});
    case FI_DOUBLE:
      return f(double{});
    case FI_FLOAT_COMPLEX:
      return f(std::complex<float>{});
    case FI_DOUBLE_COMPLEX:
      return f(std::complex<double>{});
    case FI_LONG_DOUBLE:
      return f(0.0L);
    case FI_LONG_DOUBLE_COMPLEX:
      return f(std::complex<long double>{});
    default:
      return false;
  }
}

/// Signed numbers wrap around, as they do in every machine's atomics.
template <class T>
auto as_arithmetic(T value) {
  if constexpr (std::signed_integral<T>) {
    return static_cast<std::make_unsigned_t<T>>(value);
  } else {
    return value;
  }
}

template <class T>
bool change(fi_op op, T there, T operand, T compare, T& result) {
  if (op >= FI_CSWAP) return swap(op, there, operand, compare, result);
  if constexpr (std::signed_integral<T>) {
    if (op == FI_SUM || op == FI_PROD) {
      using U = std::make_unsigned_t<T>;
      U wrapped{};
      // Small ones are promoted to int, which could overflow: as the largest unsigned they cannot.
      const auto a = static_cast<std::uint64_t>(as_arithmetic(there));
      const auto b = static_cast<std::uint64_t>(as_arithmetic(operand));
      wrapped = static_cast<U>(op == FI_SUM ? a + b : a * b);
      result = static_cast<T>(wrapped);
      return true;
    }
  } else if constexpr (std::unsigned_integral<T>) {
    if (op == FI_PROD) {
      result = static_cast<T>(std::uint64_t{there} * std::uint64_t{operand});
      return true;
    }
  }
  return combine(op, there, operand, result);
}

}  // namespace

std::size_t size_of(fi_datatype datatype) {
  std::size_t size = 0;
  with_type(datatype, [&](auto value) {
    size = sizeof value;
    return true;
  });
  return size;
}

bool is_atomic(fi_datatype datatype, fi_op op, AtomicKind kind) {
  if (kind == AtomicKind::compare ? op < FI_CSWAP || op > FI_MSWAP : op >= FI_CSWAP) return false;
  if (kind == AtomicKind::plain && op == FI_ATOMIC_READ) return false;
  return with_type(datatype, [&](auto value) {
    auto result = value;
    return change(op, value, value, value, result);
  });
}

void apply_atomic(fi_datatype datatype, fi_op op, std::size_t count, std::byte* target,
                  const std::byte* operand, const std::byte* compare, std::byte* before) {
  with_type(datatype, [&](auto value) {
    using T = decltype(value);
    for (std::size_t i = 0; i < count; ++i) {
      T there{};
      T given{};
      T compared{};
      std::memcpy(&there, target + i * sizeof(T), sizeof(T));
      if (operand != nullptr) std::memcpy(&given, operand + i * sizeof(T), sizeof(T));
      if (compare != nullptr) std::memcpy(&compared, compare + i * sizeof(T), sizeof(T));
      if (before != nullptr) std::memcpy(before + i * sizeof(T), &there, sizeof(T));
      T result{};
      if (change(op, there, given, compared, result))
        std::memcpy(target + i * sizeof(T), &result, sizeof(T));
    }
    return true;
  });
}

}  // namespace strack::fabric
