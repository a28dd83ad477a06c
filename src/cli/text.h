// Tables as text for people, and the words for numbers that go into them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/text.h"

namespace strack::cli {

using metrics::decimal;
using metrics::in_us;
using metrics::rate_text;
using metrics::ratio_text;
using metrics::size_text;
using metrics::time_text;

/// Columns as wide as what is in them; the first `left` to the left, the others to the right.
class Table {
 public:
  Table(std::vector<std::string> header, std::size_t left);
  void add(std::vector<std::string> row);
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t left_;
};

/// For a JSON text, quotes included.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace strack::cli
