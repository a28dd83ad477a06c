// The words of an enum, tied to it at compile time: one for each enumerator, in its order. A new
// enumerator without a word does not compile.
//
//   inline constexpr auto kRuleWords = words_of<Rule>({{Rule::fit, "fit"}, {Rule::overshoot, "overshoot"}});
//   kRuleWords[static_cast<std::size_t>(rule)]
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace strack {
namespace detail {

template <auto Value>
constexpr std::string_view spelled() {
  return __PRETTY_FUNCTION__;
}
/// GCC and Clang spell a value without a name as a cast: (Rule)2.
template <auto Value>
consteval bool is_enumerator() {
  const std::string_view text = spelled<Value>();
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == ')' && text[i + 1] >= '0' && text[i + 1] <= '9') return false;
  }
  return true;
}

}  // namespace detail

/// How many enumerators an enum has that counts from 0.
template <class Enum, std::size_t From = 0>
consteval std::size_t enumerators() {
  if constexpr (detail::is_enumerator<static_cast<Enum>(From)>()) {
    return enumerators<Enum, From + 1>();
  } else {
    return From;
  }
}

template <class Enum>
struct Word {
  Enum value;
  std::string_view text;
};

template <class Enum, std::size_t N>
consteval std::array<std::string_view, N> words_of(const Word<Enum> (&list)[N]) {
  static_assert(N == enumerators<Enum>(), "each enumerator has a word, and each word is of one");
  std::array<std::string_view, N> words{};
  for (std::size_t i = 0; i < N; ++i) {
    if (static_cast<std::size_t>(list[i].value) != i) throw "words are in the order of the enum";
    words[i] = list[i].text;
  }
  return words;
}

}  // namespace strack
