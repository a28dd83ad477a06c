// SQLite with values of our own types: a database that closes itself, and statements that are filled
// and read from left to right. For whoever keeps tables; what the tables are is theirs to know.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/units.h"

namespace strack::metrics {

/// A sentence for people: the file, what is wrong with it, what would work.
struct FileError {
  std::string message;
  bool passing = false;  ///< nothing is wrong with the file itself: another time it may go well
};

/// "FILE: what".
[[nodiscard]] FileError error_at(const std::filesystem::path& path, std::string_view what);

/// What SQLite or the system said, for somebody who has never heard of either.
[[nodiscard]] FileError explain(const std::filesystem::path& path, int rc, int system_error,
                                const char* said);

class Database {
 public:
  enum class Access : std::uint8_t { read, write };

  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { close(); }

  /// The file must exist; how long to wait for others that keep it locked.
  [[nodiscard]] bool open(const std::filesystem::path& path, Access access, int patience_ms);
  /// An empty one that is never written to a disk.
  [[nodiscard]] bool open_in_memory();
  void close() { sqlite3_close_v2(std::exchange(handle_, nullptr)); }

  /// One or several statements that give no rows.
  [[nodiscard]] bool execute(const std::string& sql) const {
    return sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  /// What the newest call that failed was told.
  [[nodiscard]] std::string message() const { return sqlite3_errmsg(handle_); }
  [[nodiscard]] FileError failure(const std::filesystem::path& path) const;
  /// The newest call failed for want of room.
  [[nodiscard]] bool full() const;
  [[nodiscard]] sqlite3* handle() const { return handle_; }

 private:
  [[nodiscard]] int system_error() const;

  sqlite3* handle_ = nullptr;
};

template <class T>
concept WholeNumber = std::integral<T> || std::is_enum_v<T>;

/// A prepared statement.
class Statement {
 public:
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  [[nodiscard]] bool prepare(const Database& database, std::string_view sql) {
    return sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                              SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) == SQLITE_OK;
  }

  // Filling, from left to right.
  template <WholeNumber T>
  Statement& operator<<(T value) {
    sqlite3_bind_int64(statement_, ++bound_, static_cast<std::int64_t>(value));
    return *this;
  }
  Statement& operator<<(double value) {
    sqlite3_bind_double(statement_, ++bound_, value);
    return *this;
  }
  /// The text must live until done().
  Statement& operator<<(std::string_view value) {
    // No text at all would be NULL, and the last argument says that the text is not to be freed.
    sqlite3_bind_text(statement_, ++bound_, value.empty() ? "" : value.data(),
                      static_cast<int>(value.size()), nullptr);
    return *this;
  }
  Statement& operator<<(const std::string& value) { return *this << std::string_view(value); }
  Statement& operator<<(const char* value) { return *this << std::string_view(value); }
  template <class Tag>
  Statement& operator<<(detail::Quantity<Tag> value) {
    return *this << value.count();
  }
  Statement& operator<<(Instant value) {
    return value == Instant::never() ? *this << std::nullopt : *this << value.ps;
  }
  Statement& operator<<(std::nullopt_t /*nothing*/) {
    sqlite3_bind_null(statement_, ++bound_);
    return *this;
  }
  template <class T>
  Statement& operator<<(const std::optional<T>& value) {
    return value ? *this << *value : *this << std::nullopt;
  }

  /// Runs a statement that gives no rows.
  [[nodiscard]] bool done() {
    const int rc = sqlite3_step(statement_);
    sqlite3_reset(statement_);
    bound_ = 0;
    return rc == SQLITE_DONE;
  }

  // Reading: while (next()) get each column in turn. ok() says whether the rows ended well.
  [[nodiscard]] bool next() {
    column_ = 0;
    last_ = sqlite3_step(statement_);
    return last_ == SQLITE_ROW;
  }
  [[nodiscard]] bool ok() const { return last_ == SQLITE_DONE || last_ == SQLITE_ROW; }

  [[nodiscard]] int columns() const { return sqlite3_column_count(statement_); }
  [[nodiscard]] std::string column_name(int index) const {
    return sqlite3_column_name(statement_, index);
  }
  /// SQLITE_NULL, SQLITE_INTEGER, SQLITE_FLOAT or SQLITE_TEXT, of the column that is next.
  [[nodiscard]] int type() const { return sqlite3_column_type(statement_, column_); }
  Statement& skip(int columns = 1) {
    column_ += columns;
    return *this;
  }

  template <WholeNumber T>
  Statement& operator>>(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = sqlite3_column_int64(statement_, column_++) != 0;
    } else {
      value = static_cast<T>(sqlite3_column_int64(statement_, column_++));
    }
    return *this;
  }
  Statement& operator>>(double& value) {
    value = sqlite3_column_double(statement_, column_++);
    return *this;
  }
  Statement& operator>>(std::string& value) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column_));
    const int size = sqlite3_column_bytes(statement_, column_++);
    value.assign(text == nullptr ? "" : text, static_cast<std::size_t>(size));
    return *this;
  }
  template <class Tag>
  Statement& operator>>(detail::Quantity<Tag>& value) {
    return *this >> value.value;
  }
  Statement& operator>>(Instant& value) {
    if (type() != SQLITE_NULL) return *this >> value.ps;
    value = Instant::never();
    return skip();
  }
  template <class T>
  Statement& operator>>(std::optional<T>& value) {
    if (type() != SQLITE_NULL) return *this >> value.emplace();
    value.reset();
    return skip();
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  int column_ = 0;
  int last_ = SQLITE_DONE;
};

}  // namespace strack::metrics
