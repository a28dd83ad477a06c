// A record declared once: which of its fields is which column. The statements that make a table, fill
// it and read it follow from that, so they cannot disagree.
//
//   template <>
//   struct Table<ChannelInfo> {
//     static constexpr std::string_view name = "channels";
//     static constexpr auto columns = std::tuple{Column{"flow", &ChannelInfo::flow, Column::key}, ...};
//   };
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/units.h"
#include "metrics/sqlite.h"

namespace strack::metrics {

enum class ColumnRule : std::uint8_t {
  always,     ///< every row has a value
  sometimes,  ///< NULL where there is none: an optional, or an instant that is never
  key,        ///< and no two rows the same
};

/// One column of Record's table.
template <class Record, class Field>
struct Column {
  std::string_view name;
  Field Record::*field;
  ColumnRule rule = ColumnRule::always;

  constexpr Column(std::string_view n, Field Record::*f, ColumnRule r = ColumnRule::always)
      : name(n), field(f), rule(r) {}

  [[nodiscard]] static constexpr std::string_view type() {
    using Plain = typename Unwrapped<Field>::type;
    if constexpr (std::same_as<Plain, std::string>) {
      return "TEXT";
    } else if constexpr (std::floating_point<Plain>) {
      return "REAL";
    } else {
      return "INTEGER";
    }
  }
  [[nodiscard]] static constexpr bool is_optional() { return Unwrapped<Field>::optional; }

 private:
  template <class T>
  struct Unwrapped {
    using type = T;
    static constexpr bool optional = false;
  };
  template <class T>
  struct Unwrapped<std::optional<T>> {
    using type = T;
    static constexpr bool optional = true;
  };
};

template <class Record>
struct Table;

/// "name TYPE NOT NULL, ...".
template <class Columns>
[[nodiscard]] std::string column_definitions(const Columns& columns) {
  std::string text;
  std::apply(
      [&text](const auto&... column) {
        const auto add = [&text](const auto& c) {
          if (!text.empty()) text += ", ";
          text += std::string(c.name) + ' ' + std::string(c.type());
          if (c.rule == ColumnRule::key) {
            text += " PRIMARY KEY";
          } else if (c.rule == ColumnRule::always && !c.is_optional()) {
            text += " NOT NULL";
          }
        };
        (add(column), ...);
      },
      columns);
  return text;
}

/// "name, name, ...".
template <class Columns>
[[nodiscard]] std::string column_names(const Columns& columns) {
  std::string text;
  std::apply(
      [&text](const auto&... column) {
        ((text += (text.empty() ? "" : ", ") + std::string(column.name)), ...);
      },
      columns);
  return text;
}

/// "?, ?, ...".
template <class Columns>
[[nodiscard]] std::string placeholders(const Columns& /*columns*/) {
  std::string text = "?";
  for (std::size_t i = 1; i < std::tuple_size_v<Columns>; ++i) text += ", ?";
  return text;
}

/// `row` is a Statement, or takes and gives values as one does.
template <class Row, class Columns, class Record>
void bind(Row& row, const Columns& columns, const Record& record) {
  std::apply([&](const auto&... column) { (row << ... << (record.*column.field)); }, columns);
}
template <class Row, class Columns, class Record>
void fetch(Row& row, const Columns& columns, Record& record) {
  std::apply([&](const auto&... column) { (row >> ... >> (record.*column.field)); }, columns);
}

template <class Record>
[[nodiscard]] std::string create_sql() {
  using T = Table<Record>;
  return "CREATE TABLE " + std::string(T::name) + " (" + column_definitions(T::columns) +
         ") STRICT;\n";
}
template <class Record>
[[nodiscard]] std::string insert_sql() {
  using T = Table<Record>;
  return "INSERT INTO " + std::string(T::name) + " (" + column_names(T::columns) + ") VALUES (" +
         placeholders(T::columns) + ")";
}
/// In order of the key, or as they were written where there is none.
template <class Record>
[[nodiscard]] std::string select_sql() {
  using T = Table<Record>;
  std::string order = "rowid";
  std::apply(
      [&order](const auto&... column) {
        ((column.rule == ColumnRule::key ? void(order = column.name) : void()), ...);
      },
      T::columns);
  return "SELECT " + column_names(T::columns) + " FROM " + std::string(T::name) + " ORDER BY " +
         order;
}

}  // namespace strack::metrics
