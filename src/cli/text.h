// What the commands print: tables as text, words for the numbers in them, errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace strack::cli {

/// Prints what is wrong, as a terminal can show it, and returns the program's status.
int fail(std::string_view message, int status = 2);

/// Whether the user wants no colours anywhere: NO_COLOR is set, and not empty.
[[nodiscard]] bool no_colour();

/// "1 flow", "16 flows".
[[nodiscard]] std::string count_of(std::uint64_t count, std::string_view what);
/// "1 of 16 flows is", "2 of 16 flows are", "1 of 1 flow is".
[[nodiscard]] std::string part_of(std::uint64_t some, std::uint64_t all, std::string_view what);

/// How many columns standard output has; 0, where it is no terminal.
[[nodiscard]] std::size_t terminal_width();

/// Help with lines of up to so many columns, 0: of any length. What is told of an option goes on below itself, at
/// column `hang`; other lines keep their indentation.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns,
                                  std::size_t hang = std::string_view::npos);

/// What a command that lists something was asked for: at most one of them.
struct Formats {
  bool json = false;
  bool csv = false;
};

/// Columns as wide as what is in them; the first `left` to the left, the others to the right.
class Table {
 public:
  Table(std::vector<std::string> header, std::size_t left);
  void add(std::vector<std::string> row);
  /// What does not fit `columns` goes on below, with the first `left` again; 0: everything fits.
  [[nodiscard]] std::string text(std::size_t columns = fitted_) const;
  [[nodiscard]] std::string csv() const;  ///< for spreadsheets, names in the first line
  /// For programs: an object for each row. What is to the right is a number, or null where there is none.
  [[nodiscard]] std::string json() const;

  /// From now on tables fit so many columns; 0: any number.
  static void fit(std::size_t columns) { fitted_ = columns; }
  /// For programs or for spreadsheets, as asked. False: neither.
  [[nodiscard]] bool print_as(const Formats& formats) const;

 private:
  inline static std::size_t fitted_ = 0;

  std::vector<std::vector<std::string>> rows_;
  std::size_t left_;
};

}  // namespace strack::cli
