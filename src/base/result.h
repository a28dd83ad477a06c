// A value or the reason there is none, for mistakes of the user. Holds no heap memory of its own.
#pragma once

#include <utility>
#include <variant>

#include "base/check.h"

namespace strack {

/// `Result<T, E>`: test it like a pointer, then take `value()` or `error()`; the wrong one is a
/// failed check.
template <class T, class E>
class [[nodiscard]] Result {
 public:
  constexpr Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  constexpr Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] constexpr bool ok() const { return state_.index() == 0; }
  constexpr explicit operator bool() const { return ok(); }

  [[nodiscard]] constexpr const T& value() const {
    STRACK_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  /// For those who want to keep it: std::move(result.value()).
  [[nodiscard]] constexpr T& value() {
    STRACK_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] constexpr const E& error() const {
    STRACK_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, E> state_;
};

}  // namespace strack
