// What a parameter may be, declared once: the core's own check and the scenario key that sets it follow
// the same entry. A struct of parameters declares each of its fields, in the order of the checks:
//
//   struct MyParams {
//     Bytes bdp{0};
//     Picoseconds rto{0};
//     bool nacks = false;
//
//     static constexpr auto declared() {
//       return std::tuple{Derived{&MyParams::bdp},
//                         ParamRange{&MyParams::rto, "rto", ns(1), seconds(1), "from 1 ns to 1 s"},
//                         AnyValue{&MyParams::nacks}};
//     }
//   };
//   static_assert(declares_all<MyParams>());  // a field that is forgotten does not compile
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>

#include "base/units.h"
#include "core/param_error.h"

namespace strack::core {

template <class Params, class T>
struct ParamRange {
  T Params::*field;
  const char* name;
  T low;  ///< inclusive, as is the other
  T high;
  const char* remedy;  ///< what would work
};
/// A choice: whatever its type can be, works.
template <class Params, class T>
struct AnyValue {
  T Params::*field;
};
/// It follows from others or from the network, and no key sets it.
template <class Params, class T>
struct Derived {
  T Params::*field;
};
/// A struct that declares its own.
template <class Params, class T>
struct Nested {
  T Params::*field;
};
/// What the fields of a base are is declared there.
template <class Base>
struct Inherited {};

template <class Params, class T>
ParamRange(T Params::*, const char*, std::type_identity_t<T>, std::type_identity_t<T>, const char*)
    -> ParamRange<Params, T>;
template <class Params, class T>
AnyValue(T Params::*) -> AnyValue<Params, T>;
template <class Params, class T>
Derived(T Params::*) -> Derived<Params, T>;
template <class Params, class T>
Nested(T Params::*) -> Nested<Params, T>;

/// Of fractions, as six decimals have it; beyond, products of two might not fit.
inline constexpr std::int64_t kMostParts = 1'000'000;

/// The first that is out of its range.
template <class Params>
[[nodiscard]] constexpr std::optional<ParamError> out_of_range(const Params& params);

namespace param_detail {

template <class T>
constexpr std::int64_t plain_value(const T& value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::is_same_v<T, Ratio>) {
    return value.num;
  } else {
    return value.count();
  }
}

template <class T>
constexpr bool is_within(const T& value, const T& low, const T& high) {
  return low <= value && value <= high;
}
constexpr bool is_within(const Ratio& value, const Ratio& low, const Ratio& high) {
  const auto product = [](std::int64_t a, std::int64_t b) { return static_cast<Int128>(a) * b; };
  return value.den >= 1 && value.den <= kMostParts &&
         product(low.num, value.den) <= product(value.num, low.den) &&
         product(value.num, high.den) <= product(high.num, value.den);
}

template <class Params, class T>
constexpr std::optional<ParamError> fault_of(const Params& params,
                                             const ParamRange<Params, T>& one) {
  const T& value = params.*one.field;
  if (is_within(value, one.low, one.high)) return std::nullopt;
  return ParamError{one.name, plain_value(value), one.remedy};
}
template <class Params, class T>
constexpr std::optional<ParamError> fault_of(const Params& params, const Nested<Params, T>& one) {
  return out_of_range(params.*one.field);
}
template <class Params, class Base>
constexpr std::optional<ParamError> fault_of(const Params& params, const Inherited<Base>& /*one*/) {
  return out_of_range(static_cast<const Base&>(params));
}
template <class Params, class Other>
constexpr std::optional<ParamError> fault_of(const Params& /*params*/, const Other& /*one*/) {
  return std::nullopt;
}

/// Stands for the value of any field, and of a base.
struct Anything {
  template <class T>
  constexpr operator T() const;
};
/// How many values an aggregate takes: one for its base, and one for each field.
template <class T, class... Values>
consteval std::size_t count_values() {
  if constexpr (requires { T{Values{}..., Anything{}}; }) {
    return count_values<T, Values..., Anything>();
  } else {
    return sizeof...(Values);
  }
}

template <class A, class B>
constexpr bool are_one_field(const A& a, const B& b) {
  if constexpr (requires { a.field == b.field; }) {
    return a.field == b.field;
  } else {
    return std::is_same_v<A, B>;
  }
}
/// Whether an entry is of a field of this very struct, or of its base as a whole.
template <class Params, class Entry>
inline constexpr bool kBelongs = true;
template <class Params, template <class, class> class Entry, class Owner, class T>
inline constexpr bool kBelongs<Params, Entry<Owner, T>> = std::is_same_v<Params, Owner>;

template <class Params, class T>
Params owner_of(T Params::*);

}  // namespace param_detail

template <class Params>
[[nodiscard]] constexpr std::optional<ParamError> out_of_range(const Params& params) {
  std::optional<ParamError> error;
  std::apply(
      [&](const auto&... one) {
        const auto is_wrong = [&](const auto& declared) {
          error = param_detail::fault_of(params, declared);
          return error.has_value();
        };
        static_cast<void>((is_wrong(one) || ...));
      },
      Params::declared());
  return error;
}

/// Whether each field of a struct is declared, and once.
template <class Params>
[[nodiscard]] consteval bool declares_all() {
  return std::apply(
      [](const auto&... one) {
        const auto times = [&](const auto& wanted) {
          return (0 + ... + int{param_detail::are_one_field(wanted, one)});
        };
        return sizeof...(one) == param_detail::count_values<Params>() &&
               (param_detail::kBelongs<Params, std::remove_cvref_t<decltype(one)>> && ...) &&
               ((times(one) == 1) && ...);
      },
      Params::declared());
}

/// What is declared of a field; one that is not does not compile.
template <auto Field>
[[nodiscard]] consteval auto declaration_of() {
  using Params = decltype(param_detail::owner_of(Field));
  constexpr auto kAll = Params::declared();
  constexpr std::size_t kPlace = std::apply(
      [](const auto&... one) {
        std::size_t place = 0;
        std::size_t found = sizeof...(one);
        const auto look = [&](const auto& declared) {
          if constexpr (requires { declared.field == Field; }) {
            if (declared.field == Field) found = place;
          }
          ++place;
        };
        (look(one), ...);
        return found;
      },
      kAll);
  static_assert(kPlace < std::tuple_size_v<decltype(kAll)>,
                "this field is not declared: see declared() of its struct");
  return std::get<kPlace>(kAll);
}

}  // namespace strack::core
