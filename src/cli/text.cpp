#include "cli/text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/check.h"

namespace strack::cli {

std::string decimal(Int128 value, std::int64_t unit, int digits) {
  if (value < 0) return "-" + decimal(-value, unit, digits);
  std::int64_t scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const Int128 scaled = (value * scale + unit / 2) / unit;
  const auto whole = static_cast<std::int64_t>(scaled / scale);
  if (digits == 0) return fmt::format("{}", whole);
  return fmt::format("{}.{:0{}}", whole, static_cast<std::int64_t>(scaled % scale), digits);
}

std::string in_us(Picoseconds time) { return decimal(time.count(), 1'000'000, 1); }

namespace {
struct Unit {
  std::int64_t size;
  std::string_view name;
};

/// In the largest unit that leaves a whole part; without a fraction where there is none to show.
template <std::size_t N>
std::string in_unit(std::int64_t value, const std::array<Unit, N>& units, int digits) {
  for (const Unit& unit : units) {
    if (value < unit.size) continue;
    return fmt::format("{} {}", decimal(value, unit.size, value % unit.size == 0 ? 0 : digits),
                       unit.name);
  }
  return fmt::format("{} {}", value, units.back().name);
}
}  // namespace

std::string time_text(Picoseconds time) {
  static constexpr std::array kUnits{Unit{1'000'000'000'000, "s"}, Unit{1'000'000'000, "ms"},
                                     Unit{1'000'000, "us"}, Unit{1'000, "ns"}, Unit{1, "ps"}};
  return in_unit(time.count(), kUnits, 3);
}

std::string size_text(Bytes size) {
  static constexpr std::array kUnits{Unit{1'000'000'000'000, "TB"}, Unit{1'000'000'000, "GB"},
                                     Unit{1'000'000, "MB"}, Unit{1'000, "KB"}, Unit{1, "B"}};
  return in_unit(size.count(), kUnits, 1);
}

std::string rate_text(BitsPerSecond rate) {
  static constexpr std::array kUnits{Unit{1'000'000'000, "Gb/s"}, Unit{1'000'000, "Mb/s"},
                                     Unit{1, "b/s"}};
  return in_unit(rate.count(), kUnits, 1);
}

std::string ratio_text(Picoseconds value, Picoseconds reference) {
  if (reference <= ps(0) || value <= ps(0)) return "-";
  return decimal(value.count(), reference.count(), 3);
}

Table::Table(std::vector<std::string> header, std::size_t left) : left_(left) {
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
  STRACK_CHECK_OP(row.size(), ==, rows_.front().size());
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += i < left_ ? fmt::format("{:<{}}", row[i], widths[i])
                        : fmt::format("{:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace strack::cli
