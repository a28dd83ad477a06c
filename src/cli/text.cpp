#include "cli/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/csv_text.h"

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

std::string count_of(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}
std::string part_of(std::uint64_t some, std::uint64_t all, std::string_view what) {
  return fmt::format("{} of {} {}", some, count_of(all, what), some == 1 ? "is" : "are");
}

std::size_t terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t hang) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool told = line.size() > hang && line[hang] != ' ' && line[hang - 1] == ' ' &&
                      line[hang - 2] == ' ' && begin > 0;
    const std::size_t indent = told ? hang : begin;
    std::string rest(line);
    while (columns > indent && rest.size() > columns) {
      const std::size_t cut = rest.rfind(' ', columns);
      if (cut == rest.npos || cut <= indent) break;
      out += rest.substr(0, cut) + '\n';
      rest = std::string(indent, ' ') + rest.substr(cut + 1);
    }
    out += rest + '\n';
  }
  return out;
}

Table::Table(std::vector<std::string> header, std::size_t left) : left_(left) {
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
  STRACK_CHECK_OP(row.size(), ==, rows_.front().size());
  rows_.push_back(std::move(row));
}

std::string Table::csv() const {
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + csv_cell(row[i]);
    text += '\n';
  }
  return text;
}

std::string Table::json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (std::size_t r = 1; r < rows_.size(); ++r) {
    nlohmann::ordered_json one = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      const std::string& cell = rows_[r][i];
      nlohmann::ordered_json& value = one[rows_.front()[i]];
      if (i < left_) {
        value = cell;
      } else {
        value = nlohmann::ordered_json::parse(cell, nullptr, false);
        if (!value.is_number()) value = nullptr;
      }
    }
    all.push_back(std::move(one));
  }
  return all.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

bool Table::print_as(const Formats& formats) const {
  if (formats.json) fmt::print("{}", json());
  if (formats.csv) fmt::print("{}", csv());
  return formats.json || formats.csv;
}

std::string Table::text(std::size_t columns) const {
  constexpr std::size_t kGap = 2;
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  std::size_t next = left_;
  do {
    std::vector<std::size_t> shown;  // columns: the labels, and as many of the others as fit
    std::size_t used = 0;
    const auto show = [&](std::size_t column) {
      shown.push_back(column);
      used += widths[column] + kGap;
    };
    for (std::size_t i = 0; i < left_; ++i) show(i);
    for (bool first = true; next < widths.size(); first = false, show(next++)) {
      if (columns > 0 && used + widths[next] > columns && !first) break;
    }
    if (!text.empty()) text += '\n';
    for (const auto& row : rows_) {
      std::string line;
      for (const std::size_t i : shown) {
        line += i < left_ ? fmt::format("{:<{}}", row[i], widths[i])
                          : fmt::format("{:>{}}", row[i], widths[i]);
        line.append(kGap, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  } while (next < widths.size());
  return text;
}

}  // namespace strack::cli
