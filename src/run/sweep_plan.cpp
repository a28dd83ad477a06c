#include "run/sweep_plan.h"

#include <charconv>
#include <set>

#include <fmt/format.h>

#include "run/run.h"

namespace strack::run {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// At the commas that stand outside of quotes, brackets and braces.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  char quote = 0;
  int depth = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth <= 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  for (std::string& part : parts) part = std::string(trimmed(part));
  return parts;
}

bool read_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string_view Axis::short_name() const {
  const std::size_t dot = key.rfind('.');
  return std::string_view(key).substr(dot == std::string::npos ? 0 : dot + 1);
}

Result<Axis, Problem> parse_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Problem{fmt::format(
        "--set {}: no key and values. write key=v1,v2, such as --set workload.size=2MB,16MB",
        text)};
  }
  Axis axis{std::string(trimmed(text.substr(0, equals))), split(text.substr(equals + 1))};
  std::set<std::string> seen;
  for (const std::string& value : axis.values) {
    if (value.empty()) {
      return Problem{fmt::format("--set {}: a value is missing. write key=v1,v2", text)};
    }
    if (!seen.insert(value).second) {
      return Problem{fmt::format("--set {}: {} is there twice. once is enough", text, value)};
    }
  }
  return axis;
}

Result<std::vector<std::uint64_t>, Problem> parse_seeds(std::string_view text) {
  constexpr std::uint64_t kMost = 100'000;
  std::vector<std::uint64_t> seeds;
  std::set<std::uint64_t> seen;
  for (const std::string& part : split(text)) {
    const std::size_t dash = part.find('-');
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool good = read_number(std::string_view(part).substr(0, dash), first);
    last = first;
    if (good && dash != std::string::npos) {
      good = read_number(std::string_view(part).substr(dash + 1), last);
    }
    if (!good) {
      return Problem{
          fmt::format("--seeds {}: {} is no seed. write numbers and ranges, such as "
                      "--seeds 1,2,5-8",
                      text, part.empty() ? "nothing" : part)};
    }
    if (last < first) {
      return Problem{
          fmt::format("--seeds {0}: {1} goes down. write {3}-{2}", text, part, first, last)};
    }
    if (last - first >= kMost - seeds.size())
      return Problem{fmt::format("--seeds {}: these are more than {} seeds", text, kMost)};
    for (std::uint64_t seed = first;; ++seed) {
      if (seen.insert(seed).second) seeds.push_back(seed);
      if (seed == last) break;
    }
  }
  return seeds;
}

std::vector<Combination> product(const std::vector<Axis>& axes) {
  std::vector<Combination> all{{}};
  for (const Axis& axis : axes) {
    std::vector<Combination> longer;
    for (const Combination& combination : all) {
      for (const std::string& value : axis.values) {
        longer.push_back(combination);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::string file_part(const std::vector<Axis>& axes, const Combination& combination) {
  std::string part;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].values.size() == 1) continue;
    if (!part.empty()) part += '-';
    part += safe_name(combination[i]);
  }
  return part;
}

}  // namespace strack::run
