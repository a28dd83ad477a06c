#include "metrics/result_resume.h"

#include <string_view>

#include <fmt/format.h>

#include "metrics/result_file.h"

namespace strack::metrics {
namespace {

constexpr std::string_view kRewound = "partial: to go on";

/// One value; nothing where it cannot be had.
std::optional<std::string> ask(const Database& database, const std::string& sql) {
  Statement statement;
  if (!statement.prepare(database, sql) || !statement.next()) return std::nullopt;
  std::string value;
  statement >> value;
  return value;
}

std::optional<std::string> ask(const std::filesystem::path& path, const std::string& sql) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return std::nullopt;
  Database database;
  if (!database.open(path, Database::Access::read, 5'000)) return std::nullopt;
  return ask(database, sql);
}

}  // namespace

std::string started_at(const std::filesystem::path& path) {
  return ask(path, "SELECT started_at FROM run").value_or("");
}

bool is_rewound(const std::filesystem::path& path) {
  return ask(path, "SELECT status FROM run") == kRewound;
}

std::optional<FileError> rewind(const std::filesystem::path& path, const ResultMark& mark) {
  const auto opened = ResultReader::open(path);
  if (!opened) return opened.error();
  if (opened.value()->state().live) {
    FileError busy =
        error_at(path, "another run is writing it. wait for it or choose another --out");
    busy.passing = true;
    return busy;
  }
  if (opened.value()->state().started_at != mark.started_at)
    return error_at(path, "is not the result file that the checkpoint was made with");
  Database database;
  if (!database.open(path, Database::Access::write, 5'000)) return database.failure(path);
  if (!database.execute("BEGIN IMMEDIATE")) return database.failure(path);
  // Rows without a key are numbered as they came.
  std::string cut;
  std::optional<FileError> wrong;
  const auto expect = [&](const std::string& count, std::uint64_t rows) {
    if (wrong) return;
    const auto found = ask(database, count);
    if (!found) {
      wrong = database.failure(path);
    } else if (*found != fmt::format("{}", rows)) {
      wrong = error_at(path, "lacks rows that were in it when the checkpoint was made");
    }
  };
  const auto keep = [&](std::string_view table, std::uint64_t rows) {
    expect(fmt::format("SELECT count(*) FROM {} WHERE rowid <= {}", table, rows), rows);
    cut += fmt::format("DELETE FROM {} WHERE rowid > {};", table, rows);
  };
  keep("link_samples", mark.link_samples);
  keep("flow_samples", mark.flow_samples);
  keep("flow_events", mark.flow_events);
  keep("communications", mark.communications);
  expect(fmt::format("SELECT count(*) FROM flows WHERE end_ps < {}", mark.now.ps), mark.flows);
  if (wrong) {
    static_cast<void>(database.execute("ROLLBACK"));
    return wrong;
  }
  cut += fmt::format(
      "DELETE FROM flows WHERE end_ps IS NULL OR end_ps >= {}; DELETE FROM jobs; DELETE FROM "
      "counters; UPDATE run SET status = '{}', finished_at = NULL, wall_seconds = NULL, "
      "cpu_seconds = NULL, hash = NULL, now_ps = {}; COMMIT",
      mark.now.ps, kRewound, mark.now.ps);
  if (database.execute(cut)) return std::nullopt;
  const FileError failure = database.failure(path);
  static_cast<void>(database.execute("ROLLBACK"));
  return failure;
}

}  // namespace strack::metrics
