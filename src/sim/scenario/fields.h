// Ties a key to the parameter it sets: param<&Params::rto>({.name = "rto_us", ...}) is all there is to
// say. What it may be follows from its declaration (core/param_range.h), how it is read and shown from its type.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "base/units.h"
#include "core/param_range.h"
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

template <auto First, auto... Rest>
consteval auto declaration_of_last() {
  if constexpr (sizeof...(Rest) == 0) {
    return core::declaration_of<First>();
  } else {
    return declaration_of_last<Rest...>();
  }
}
template <class Params, class T>
constexpr bool can_be_set(const core::ParamRange<Params, T>& /*declared*/) {
  return true;
}
template <class Params, class T>
constexpr bool can_be_set(const core::AnyValue<Params, T>& /*declared*/) {
  return true;
}
constexpr bool can_be_set(const auto& /*declared*/) { return false; }

template <class T>
constexpr Ratio as_ratio(const T& bound) {
  if constexpr (std::is_same_v<T, Ratio>) {
    return bound;
  } else {
    return {core::param_detail::plain_value(bound)};
  }
}

}  // namespace detail

/// field<&Params::rto>(), or by way of a struct inside: field<&Params::limiter, &Limiter::rate>().
/// A key that has one by way of param() needs no other.
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

/// A key of what a chain of members leads to, as that is declared; one that no key sets does not compile.
template <auto First, auto... Rest>
[[nodiscard]] consteval Key param(Key key) {
  constexpr auto declared = detail::declaration_of_last<First, Rest...>();
  static_assert(detail::can_be_set(declared), "no key sets what follows from others");
  key.field = field<First, Rest...>();
  if constexpr (requires { declared.low; }) {
    key.low = detail::as_ratio(declared.low);
    key.high = detail::as_ratio(declared.high);
  }
  return key;
}

/// Keys whose words are not quite those of another transport's: each takes the place of the one of its name.
template <std::size_t N, std::size_t M>
[[nodiscard]] consteval std::array<Key, N> revised(std::array<Key, N> keys,
                                                   const std::array<Key, M>& changed) {
  for (const Key& key : changed) {
    std::size_t at = 0;
    while (at < N && keys[at].name != key.name) ++at;
    keys.at(at) = key;  // one that is not there does not compile
  }
  return keys;
}
template <std::size_t N, std::size_t M>
[[nodiscard]] consteval std::array<Key, N + M> joined(const std::array<Key, N>& first,
                                                      const std::array<Key, M>& second) {
  std::array<Key, N + M> keys{};
  std::copy(first.begin(), first.end(), keys.begin());
  std::copy(second.begin(), second.end(), keys.begin() + N);
  return keys;
}

/// The key of a parameter, by its field's name, if somebody has given it.
[[nodiscard]] inline Setting* given_setting(Group& group, std::string_view section,
                                            const std::string& field) {
  for (const std::string& name : {field, field + "_us"}) {
    if (Setting* setting = group.find(section, name); setting != nullptr && setting->given)
      return setting;
  }
  return nullptr;
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
