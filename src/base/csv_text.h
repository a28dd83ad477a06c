// Comma separated values (RFC 4180), cell by cell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strack {

/// A text as a cell: in quotes where it must be.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// The cells of one line, which has no line break at its end. One that is quoted may hold commas
/// and doubled quotes, but no line break.
[[nodiscard]] std::vector<std::string> csv_cells(std::string_view line);

/// The whole of a text as a finite number.
[[nodiscard]] std::optional<double> number_of(std::string_view text);

}  // namespace strack
