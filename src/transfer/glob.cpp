#include "transfer/glob.h"

#include <locale.h>
#include <wchar.h>
#include <wctype.h>

#include <algorithm>

#include <fmt/format.h>

namespace strack::transfer {
namespace {

/// Bytes that are no UTF-8 are beyond all characters.
constexpr char32_t kBytesFrom = 0x110000;

/// How many bytes the character at the front has; 0: it is none in UTF-8.
std::size_t length_of_character(std::string_view text, char32_t& character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  character = first;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  character = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte(i) & 0x3fu);
  }
  // Longer than need be, half of a surrogate pair, or beyond the last character.
  const char32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool wrong =
      character < least || (character >= 0xd800 && character < 0xe000) || character >= kBytesFrom;
  return wrong ? 0 : length;
}

wctype_t class_of(const std::string& name, locale_t& locale) {
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
  static const locale_t plain = ::newlocale(LC_CTYPE_MASK, "C", locale_t{});
  locale = utf8 != locale_t{} ? utf8 : plain;
  return ::wctype_l(name.c_str(), locale);
}

bool is_in_class(char32_t character, const std::string& name) {
  locale_t locale{};
  const wctype_t type = class_of(name, locale);
  return type != 0 && character < kBytesFrom &&
         ::iswctype_l(static_cast<wint_t>(character), type, locale) != 0;
}

bool is_class(const std::string& name) {
  locale_t locale{};
  return class_of(name, locale) != 0;
}

}  // namespace

Glob::Glob(std::string_view pattern) {
  const Text text = characters(pattern);
  for (std::size_t at = 0; at < text.size();) {
    const char32_t one = text[at++];
    Part part;
    part.character = one;
    if (one == U'*') {
      part.kind = Kind::several;
    } else if (one == U'?') {
      part.kind = Kind::any;
    } else if (one == U'\\') {
      if (at == text.size()) {
        fault_ =
            "the backslash at its end has nothing after it to stand for. '\\\\' is a backslash";
        return;
      }
      part.character = text[at++];
    } else if (one == U'[') {
      // One that is not closed is a character like others.
      if (auto set = read_set(text, at)) part = std::move(*set);
      if (fault_) return;
    }
    parts_.push_back(std::move(part));
  }
}

Glob::Text Glob::characters(std::string_view text) {
  Text out;
  out.reserve(text.size());
  while (!text.empty()) {
    char32_t character = 0;
    const std::size_t length = length_of_character(text, character);
    out.push_back(length > 0 ? character : kBytesFrom + static_cast<unsigned char>(text[0]));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

/// After its bracket. Nothing, and `at` stays, where it has no end.
std::optional<Glob::Part> Glob::read_set(const Text& pattern, std::size_t& at) {
  Part part;
  part.kind = Kind::set;
  std::size_t next = at;
  const auto is = [&](char32_t one) { return next < pattern.size() && pattern[next] == one; };
  part.negated = is(U'!') || is(U'^');
  if (part.negated) ++next;
  for (bool first = true; first || !is(U']'); first = false) {
    if (is(U'[') && next + 1 < pattern.size() && pattern[next + 1] == U':') {
      if (const auto name = read_named(pattern, next)) {
        part.classes.emplace_back(name->begin(), name->end());
        if (!is_class(part.classes.back()))
          fault_ = fmt::format("no class of characters is called '{}'", part.classes.back());
        continue;
      }
    }
    const std::size_t from = next;
    const auto low = read_member(pattern, next);
    if (!low) return std::nullopt;
    auto high = low;
    if (is(U'-') && next + 1 < pattern.size() && pattern[next + 1] != U']')
      high = read_member(pattern, ++next);
    if (!high) return std::nullopt;
    if (*high < *low && !fault_)
      fault_ = fmt::format("the range at character {} of it goes backwards, and nothing is in it",
                           from + 1);
    part.ranges.emplace_back(*low, *high);
  }
  at = next + 1;
  return part;
}

/// What is between "[:" and ":]", or the like, in plain letters. Nothing, and `at` stays, where it is not closed.
std::optional<Glob::Text> Glob::read_named(const Text& pattern, std::size_t& at) {
  const char32_t mark = pattern[at + 1];
  for (std::size_t end = at + 2; end + 1 < pattern.size() && pattern[end] != U'/'; ++end) {
    if (end == at + 2 || pattern[end] != mark || pattern[end + 1] != U']') continue;
    Text name(pattern.begin() + static_cast<std::ptrdiff_t>(at) + 2,
              pattern.begin() + static_cast<std::ptrdiff_t>(end));
    if (mark == U':' && std::any_of(name.begin(), name.end(),
                                    [](char32_t one) { return one < U'a' || one > U'z'; }))
      return std::nullopt;
    at = end + 2;
    return name;
  }
  return std::nullopt;
}

/// A character of a set, as it is, after a backslash, or as "[.x.]" or "[=x=]". Nothing where the set has no end.
std::optional<char32_t> Glob::read_member(const Text& pattern, std::size_t& at) {
  const auto there = [&] { return at < pattern.size() && pattern[at] != U'/'; };
  if (!there()) return std::nullopt;
  const char32_t mark = at + 1 < pattern.size() ? pattern[at + 1] : U'\0';
  if (pattern[at] == U'[' && (mark == U'.' || mark == U'=')) {
    std::size_t next = at;
    const auto name = read_named(pattern, next);
    if (name && name->size() == 1) {
      at = next;
      return name->front();
    }
  }
  if (pattern[at] == U'\\') ++at;
  if (!there()) return std::nullopt;
  return pattern[at++];
}

bool Glob::fits(const Part& part, char32_t character) {
  if (part.kind == Kind::character) return part.character == character;
  if (character == U'/') return false;
  if (part.kind != Kind::set) return true;
  const bool in = std::any_of(part.ranges.begin(), part.ranges.end(),
                              [&](const auto& range) {
                                return character >= range.first && character <= range.second;
                              }) ||
                  std::any_of(part.classes.begin(), part.classes.end(),
                              [&](const auto& name) { return is_in_class(character, name); });
  return in != part.negated;
}

/// Where it goes wrong, the last '*' takes one more: what those before it took need not change.
bool Glob::matches(std::string_view text) const {
  if (fault_) return false;
  const Text characters = Glob::characters(text);
  std::size_t part = 0;
  std::size_t at = 0;
  std::optional<std::pair<std::size_t, std::size_t>>
      star;  // the part after it, and what it begins at
  while (at < characters.size() || part < parts_.size()) {
    if (part < parts_.size() && parts_[part].kind == Kind::several) {
      star = {++part, at};
    } else if (part < parts_.size() && at < characters.size() &&
               fits(parts_[part], characters[at])) {
      ++part;
      ++at;
    } else {
      if (!star || star->second == characters.size() || characters[star->second] == U'/')
        return false;
      at = ++star->second;
      part = star->first;
    }
  }
  return true;
}

}  // namespace strack::transfer
