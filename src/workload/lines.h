// Text files of one record a line: blank-separated fields, `#` begins a comment. For the parsers of
// this folder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace strack::workload {

struct Line {
  int number = 0;  ///< from 1
  std::vector<std::string_view> fields;
};

/// A text without the mark that some editors put before it.
[[nodiscard]] inline std::string_view without_bom(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(without_bom(text)) {}

  /// The next line that has a field.
  [[nodiscard]] std::optional<Line> next() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      std::string_view text = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      text = text.substr(0, text.find('#'));
      Line line{number_, {}};
      while (true) {
        const std::size_t begin = text.find_first_not_of(" \t\r");
        if (begin == text.npos) break;
        text.remove_prefix(begin);
        const std::size_t length = std::min(text.find_first_of(" \t\r"), text.size());
        line.fields.push_back(text.substr(0, length));
        text.remove_prefix(length);
      }
      if (!line.fields.empty()) return line;
    }
    return std::nullopt;
  }

 private:
  std::string_view rest_;
  int number_ = 0;
};

/// "1 node is", "3 nodes are".
[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view one,
                                         std::string_view many) {
  return std::to_string(count) + ' ' + std::string(count == 1 ? one : many);
}

/// What was found, for a message: short and printable.
[[nodiscard]] inline std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  if (text.size() <= kLongest) return strack::printable(text);
  // Not in the middle of a character.
  std::size_t end = kLongest;
  while (end > kLongest - 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return strack::printable(text.substr(0, end)) + "...";
}
[[nodiscard]] inline std::string quoted(std::string_view text) {
  return '"' + printable(text) + '"';
}

}  // namespace strack::workload
