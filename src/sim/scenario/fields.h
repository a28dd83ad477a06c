// Ties a key to the parameter it sets: field<&Params::rto>() in the key's entry is all there is to
// say. Types decide how a value is read and shown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "base/units.h"
#include "sim/scenario/keys.h"
#include "sim/scenario/literals.h"
#include "sim/scenario/settings.h"

namespace strack::sim {
namespace detail {

template <class T>
void take_value(Group& group, std::string_view id, T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = group.choice<T>(id);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = group.flag(id);
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    value = group.count(id);
  } else if constexpr (std::is_same_v<T, Ratio>) {
    value = group.fraction(id);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    value = group.size(id);
  } else if constexpr (std::is_same_v<T, Picoseconds>) {
    value = group.time(id);
  } else {
    static_assert(std::is_same_v<T, BitsPerSecond>, "no key sets a field of this type");
    value = group.rate(id);
  }
}

template <class T>
std::string show_value(const Key& key, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return fmt::format("\"{}\"", key.words[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_same_v<T, Ratio>) {
    return fmt::format("\"{}/{}\"", value.num, value.den);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return size_literal(value);
  } else if constexpr (std::is_same_v<T, Picoseconds>) {
    return time_literal(value);
  } else {
    return rate_literal(value);
  }
}

template <class Params, class T>
Params owner_of(T Params::*);

/// The member that a chain of pointers leads to.
template <auto First, auto... Rest>
auto& member(auto& params) {
  if constexpr (sizeof...(Rest) == 0) {
    return params.*First;
  } else {
    return member<Rest...>(params.*First);
  }
}

}  // namespace detail

/// field<&Params::rto>(), or by way of a struct inside: field<&Params::limiter, &Limiter::rate>().
template <auto First, auto... Rest>
constexpr Field field() {
  using Params = decltype(detail::owner_of(First));
  return {[](Group& group, std::string_view id, void* params) {
            detail::take_value(group, id,
                               detail::member<First, Rest...>(*static_cast<Params*>(params)));
          },
          [](const Key& key, const void* params) {
            return detail::show_value(
                key, detail::member<First, Rest...>(*static_cast<const Params*>(params)));
          }};
}

/// Fills the fields of all keys that have a value, given or by default.
template <class Params>
void take_fields(Group& group, std::string_view section, std::span<const Key> keys,
                 Params& params) {
  for (const Key& key : keys) {
    const std::string id = fmt::format("{}.{}", section, key.name);
    if (key.field.take != nullptr && (group.given(id) || !key.fallback.empty()))
      key.field.take(group, id, &params);
  }
}
/// Shows what the others have become.
template <class Params>
void show_fields(Group& group, std::string_view section, std::span<const Key> keys,
                 const Params& params) {
  for (const Key& key : keys) {
    const std::string id = fmt::format("{}.{}", section, key.name);
    if (key.field.show != nullptr && !group.given(id) && key.fallback.empty())
      group[id].derived = key.field.show(key, &params);
  }
}

}  // namespace strack::sim
