// What the commands print: tables as text, words for the numbers in them, errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace strack::cli {

/// Prints what is wrong, as a terminal can show it, and returns the program's status.
int fail(std::string_view message, int status = 2);

/// Whether the user wants no colours anywhere: NO_COLOR is set, and not empty.
[[nodiscard]] bool no_colour();

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

}  // namespace strack::cli
