#include "udp/atomics.h"

#include <complex>
#include <concepts>
#include <cstdint>
#include <cstring>

namespace strack::udp {
namespace {

template <class T>
constexpr bool kOrdered = std::integral<T> || std::floating_point<T>;

/// The new value. False: `op` is nothing that such values have.
template <class T>
bool combine(AtomicOp op, T there, T operand, T& result) {
  const bool a = there != T{};
  const bool b = operand != T{};
  switch (op) {
    case AtomicOp::sum:
      result = static_cast<T>(there + operand);
      return true;
    case AtomicOp::product:
      result = static_cast<T>(there * operand);
      return true;
    case AtomicOp::logical_or:
      result = static_cast<T>(a || b ? 1 : 0);
      return true;
    case AtomicOp::logical_and:
      result = static_cast<T>(a && b ? 1 : 0);
      return true;
    case AtomicOp::logical_xor:
      result = static_cast<T>(a != b ? 1 : 0);
      return true;
    case AtomicOp::read:
      result = there;
      return true;
    case AtomicOp::write:
      result = operand;
      return true;
    default:
      break;
  }
  if constexpr (kOrdered<T>) {
    if (op == AtomicOp::min || op == AtomicOp::max) {
      // What is there stays unless the operand is less, or greater: so it is with a NaN on either side and with zeros.
      result = (op == AtomicOp::min ? operand < there : there < operand) ? operand : there;
      return true;
    }
  }
  if constexpr (std::integral<T>) {
    if (op != AtomicOp::bitwise_or && op != AtomicOp::bitwise_and && op != AtomicOp::bitwise_xor)
      return false;
    result = static_cast<T>(op == AtomicOp::bitwise_or    ? there | operand
                            : op == AtomicOp::bitwise_and ? there & operand
                                                          : there ^ operand);
    return true;
  }
  return false;
}

/// The same for those that compare: `operand` goes there when `compare` stands so to what is there.
template <class T>
bool swap(AtomicOp op, T there, T operand, T compare, T& result) {
  bool does = false;
  if (op == AtomicOp::swap_if_equal) {
    does = compare == there;
  } else if (op == AtomicOp::swap_if_not_equal) {
    does = compare != there;
  } else if constexpr (kOrdered<T>) {
    switch (op) {
      case AtomicOp::swap_if_less_or_equal:
        does = compare <= there;
        break;
      case AtomicOp::swap_if_less:
        does = compare < there;
        break;
      case AtomicOp::swap_if_greater_or_equal:
        does = compare >= there;
        break;
      case AtomicOp::swap_if_greater:
        does = compare > there;
        break;
      case AtomicOp::swap_masked:
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

/// Calls `f` with a value of that type; false when it names none.
template <class F>
bool with_type(ValueType type, F&& f) {
  switch (type) {
    case ValueType::int8:
      return f(std::int8_t{});
    case ValueType::uint8:
      return f(std::uint8_t{});
    case ValueType::int16:
      return f(std::int16_t{});
    case ValueType::uint16:
      return f(std::uint16_t{});
    case ValueType::int32:
      return f(std::int32_t{});
    case ValueType::uint32:
      return f(std::uint32_t{});
    case ValueType::int64:
      return f(std::int64_t{});
    case ValueType::uint64:
      return f(std::uint64_t{});
    case ValueType::single_float:
      return f(float{});
    case ValueType::double_float:
      return f(double{});
    case ValueType::single_complex:
      return f(std::complex<float>{});
    case ValueType::double_complex:
      return f(std::complex<double>{});
    case ValueType::long_double:
      return f(0.0L);
    case ValueType::long_complex:
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
bool change(AtomicOp op, T there, T operand, T compare, T& result) {
  if (compares(op)) return swap(op, there, operand, compare, result);
  if constexpr (std::signed_integral<T>) {
    if (op == AtomicOp::sum || op == AtomicOp::product) {
      using U = std::make_unsigned_t<T>;
      U wrapped{};
      // Small ones are promoted to int, which could overflow: as the largest unsigned they cannot.
      const auto a = static_cast<std::uint64_t>(as_arithmetic(there));
      const auto b = static_cast<std::uint64_t>(as_arithmetic(operand));
      wrapped = static_cast<U>(op == AtomicOp::sum ? a + b : a * b);
      result = static_cast<T>(wrapped);
      return true;
    }
  } else if constexpr (std::unsigned_integral<T>) {
    if (op == AtomicOp::product) {
      result = static_cast<T>(std::uint64_t{there} * std::uint64_t{operand});
      return true;
    }
  }
  return combine(op, there, operand, result);
}

}  // namespace

std::size_t size_of(ValueType type) {
  std::size_t size = 0;
  with_type(type, [&](auto value) {
    size = sizeof value;
    return true;
  });
  return size;
}

bool is_atomic(ValueType type, AtomicOp op) {
  return with_type(type, [&](auto value) {
    auto result = value;
    return change(op, value, value, value, result);
  });
}

std::unique_lock<std::mutex> alone_with_values() {
  static std::mutex values;
  return std::unique_lock(values);
}

void apply_atomic(ValueType type, AtomicOp op, std::size_t count, std::byte* target,
                  const std::byte* operand, const std::byte* compare, std::byte* before) {
  with_type(type, [&](auto value) {
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

}  // namespace strack::udp
