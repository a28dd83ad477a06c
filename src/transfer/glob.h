// Patterns of names as fnmatch(3) has them with FNM_PATHNAME, by characters, whatever the locale: where a text is UTF-8, a
// character is one and never the bytes that it has; a byte that is no UTF-8 counts as one.
// Not fnmatch itself: where characters do not match, glibc's tries bytes, in a locale of UTF-8 too, so that '??' matches one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strack::transfer {

class Glob {
 public:
  explicit Glob(std::string_view pattern);

  /// Why it can match nothing, or not what its author meant; nothing for a good one.
  [[nodiscard]] const std::optional<std::string>& fault() const { return fault_; }
  /// The whole of a text. Only a slash matches a slash. One that has a fault matches nothing.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  enum class Kind : std::uint8_t { character, any, several, set };
  using Text = std::vector<char32_t>;
  struct Part {
    Kind kind = Kind::character;
    char32_t character = 0;  ///< that is it
    bool negated = false;    ///< a set: of those that are not in it
    std::vector<std::pair<char32_t, char32_t>> ranges;
    std::vector<std::string> classes;  ///< "alpha"
  };

  static Text characters(std::string_view text);
  static bool fits(const Part& part, char32_t character);
  std::optional<Part> read_set(const Text& pattern, std::size_t& at);
  static std::optional<Text> read_named(const Text& pattern, std::size_t& at);
  static std::optional<char32_t> read_member(const Text& pattern, std::size_t& at);

  std::vector<Part> parts_;
  std::optional<std::string> fault_;
};

}  // namespace strack::transfer
