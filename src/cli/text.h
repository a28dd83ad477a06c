// Numbers and tables as text for people. Whole-number arithmetic, so the same everywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace strack::cli {

/// "345.2", rounded to the nearest.
[[nodiscard]] std::string decimal(Int128 value, std::int64_t unit, int digits);
[[nodiscard]] std::string in_us(Picoseconds time);        ///< "345.2"
[[nodiscard]] std::string time_text(Picoseconds time);    ///< "345.2 us", "12.04 ms", "80 ns"
[[nodiscard]] std::string size_text(Bytes size);          ///< "16 MB", "400.1 KB", "64 B"
[[nodiscard]] std::string rate_text(BitsPerSecond rate);  ///< "400 Gb/s"
/// "1.037"; "-" where there is nothing to compare with.
[[nodiscard]] std::string ratio_text(Picoseconds value, Picoseconds reference);

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
