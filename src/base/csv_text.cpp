#include "base/csv_text.h"

#include <charconv>
#include <cmath>

namespace strack {

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += '"';
  }
  return out + '"';
}

std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool within = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (within) {
      if (c != '"')
        cells.back() += c;
      else if (i + 1 < line.size() && line[i + 1] == '"')
        cells.back() += line[++i];
      else
        within = false;
    } else if (c == '"') {
      within = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace strack
