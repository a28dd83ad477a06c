// TOML as a flat list of keys with their lines: the only door to the TOML library. For the files of
// this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario.h"

namespace strack::sim {

/// A TOML value. What a scenario has no use for (dates, tables as values) is kept as words for a
/// message.
struct Literal {
  struct Other {
    std::string what;
  };
  std::variant<bool, std::int64_t, double, std::string, std::vector<Literal>, Other> value;

  /// As a TOML file would have it.
  [[nodiscard]] std::string text() const;
  /// For a message: the same, but short.
  [[nodiscard]] std::string found() const;
};

/// One line of a scenario.
struct Entry {
  std::string section;     ///< "" at the top
  int index = -1;          ///< which [[section]]
  bool announces = false;  ///< a [[section]] begins, so that an empty one counts
  std::string key;
  int line = 0;
  Literal literal;
};

/// All keys of a text in the order of their lines.
[[nodiscard]] Result<std::vector<Entry>, ScenarioError> read_toml(std::string_view text,
                                                                  const std::string& file);

/// A value alone, as in the key table or after --set; what is no TOML value is a text.
[[nodiscard]] Literal read_value(std::string_view text);

/// Whether TOML can hold it: UTF-8.
[[nodiscard]] bool is_text(std::string_view text);
/// A text in quotes, escaped as TOML asks.
[[nodiscard]] std::string toml_string(std::string_view text);

}  // namespace strack::sim
