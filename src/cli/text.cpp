#include "cli/text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "base/check.h"

namespace strack::cli {

int fail(std::string_view message, int status) {
  std::string shown;
  while (true) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    shown += printable(message.substr(0, end));
    if (end == message.size()) break;
    shown += '\n';
    message.remove_prefix(end + 1);
  }
  std::fflush(stdout);
  fmt::print(stderr, "error: {}\n", shown);
  return status;
}

bool no_colour() {
  const char* const value = std::getenv("NO_COLOR");
  return value != nullptr && *value != '\0';
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

}  // namespace strack::cli
