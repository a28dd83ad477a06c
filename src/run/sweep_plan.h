// Which runs a sweep consists of: every combination of the values of its axes, for every seed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/run.h"

namespace strack::run {

/// One --set of a sweep.
struct Axis {
  std::string key;
  std::vector<std::string> values;

  /// The key without its section, as people say it.
  [[nodiscard]] std::string_view short_name() const;
};

/// "key=v1,v2". A comma within quotes, brackets or braces belongs to a value.
[[nodiscard]] Result<Axis, Problem> parse_axis(std::string_view text);

/// "1,2,5-8"
[[nodiscard]] Result<std::vector<std::uint64_t>, Problem> parse_seeds(std::string_view text);

/// One combination: as many values as axes. The last axis changes fastest.
using Combination = std::vector<std::string>;
[[nodiscard]] std::vector<Combination> product(const std::vector<Axis>& axes);

/// "16MB-0.5": what tells a combination's file from the others.
[[nodiscard]] std::string file_part(const std::vector<Axis>& axes, const Combination& combination);

}  // namespace strack::run
