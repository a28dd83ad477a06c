#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "metrics/result_file.h"
#include "metrics/sqlite.h"
#include "metrics/tables.h"

namespace strack::metrics {
namespace fs = std::filesystem;

struct ResultReader::Impl {
  fs::path path;
  Database database;
  RunInfo run;
  RunState state;

  /// Calls take(record) for every row of its table.
  template <class Record, class Take>
  std::optional<FileError> for_each(Take&& take) {
    Statement rows;
    if (!rows.prepare(database, select_sql<Record>())) return database.failure(path);
    while (rows.next()) {
      Record record;
      fetch(rows, Table<Record>::columns, record);
      take(std::move(record));
    }
    if (!rows.ok()) return database.failure(path);
    return std::nullopt;
  }
  template <class Record>
  Result<std::vector<Record>, FileError> all() {
    std::vector<Record> records;
    auto error = for_each<Record>([&](Record&& r) { records.push_back(std::move(r)); });
    if (error) return *std::move(error);
    return records;
  }
  /// Of a table that older files do not have.
  template <class Record>
  Result<std::vector<Record>, FileError> all_if_there() {
    Statement found;
    if (!found.prepare(database, "SELECT 1 FROM sqlite_master WHERE name = ?"))
      return database.failure(path);
    found << Table<Record>::name;
    if (!found.next()) return std::vector<Record>{};
    return all<Record>();
  }
};

namespace {

/// One number from the file's header.
std::optional<std::int64_t> pragma(const Database& database, const char* name) {
  Statement statement;
  std::int64_t value = 0;
  if (!statement.prepare(database, fmt::format("PRAGMA {}", name)) || !statement.next()) {
    return std::nullopt;
  }
  statement >> value;
  return value;
}

/// Whether a writer holds the file. Asked before SQLite opens it: see FileLock.
bool is_being_written(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool busy = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return busy;
}

}  // namespace

ResultReader::ResultReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ResultReader::~ResultReader() = default;

Result<std::shared_ptr<ResultReader>, FileError> ResultReader::open(const fs::path& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return error_at(path, "there is no such file");
    return explain(path, SQLITE_OK, errno, "");
  }
  if (S_ISDIR(facts.st_mode)) {
    return error_at(path, "is a folder. name the result files in it, such as " +
                              (path / "*.db").lexically_normal().string());
  }
  if (facts.st_size == 0) {
    return error_at(path, "is empty: its run ended before it began. run the scenario again");
  }
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->state.live = is_being_written(path);
  Database& database = impl->database;
  if (!database.open(path, Database::Access::read, 5'000)) return database.failure(path);

  const std::optional<std::int64_t> id = pragma(database, "application_id");
  if (!id) return database.failure(path);
  if (*id != kApplicationId) return error_at(path, "is not a result file of strack");
  const std::optional<std::int64_t> schema = pragma(database, "user_version");
  if (!schema) return database.failure(path);
  if (*schema != kSchemaVersion) {
    const bool newer = *schema > kSchemaVersion;
    return error_at(path, fmt::format("was written by {} strack (its tables are version {}, this "
                                      "program reads version {}). {}",
                                      newer ? "a newer" : "an older", *schema, kSchemaVersion,
                                      newer ? "use that program" : "run the scenario again"));
  }

  Statement header;
  if (!header.prepare(database, fmt::format("SELECT {} FROM run", column_names(kRunColumns)))) {
    return database.failure(path);
  }
  if (!header.next()) {
    if (!header.ok()) return database.failure(path);
    return error_at(path, "has no run in it. run the scenario again");
  }
  StoredState stored;
  fetch(header, Table<RunInfo>::columns, impl->run);
  fetch(header, kStateColumns, stored);
  auto settings = impl->all<Setting>();
  if (!settings) return settings.error();
  impl->run.settings = std::move(settings).value();
  // A file from before there could be several has no such table.
  if (auto workloads = impl->all<WorkloadInfo>()) impl->run.workloads = workloads.value();

  RunState& state = impl->state;
  state.started_at = stored.started_at;
  state.heartbeat_at = stored.heartbeat_at;
  state.finished_at = stored.finished_at.value_or("");
  state.now = stored.now;
  state.wall_seconds = stored.wall_seconds.value_or(0);
  state.cpu_seconds = stored.cpu_seconds.value_or(0);
  state.hash = stored.hash.value_or("");
  state.status = RunStatus::failed;
  for (const StatusName& name : kStatuses) {
    if (name.text == stored.status) state.status = name.status;
  }
  return std::shared_ptr<ResultReader>(new ResultReader(std::move(impl)));
}

const fs::path& ResultReader::path() const { return impl_->path; }
const RunInfo& ResultReader::run() const { return impl_->run; }
const RunState& ResultReader::state() const { return impl_->state; }

Result<std::vector<FlowRecord>, FileError> ResultReader::flows() {
  return impl_->all<FlowRecord>();
}
Result<std::vector<JobRecord>, FileError> ResultReader::jobs() { return impl_->all<JobRecord>(); }
Result<std::vector<LinkInfo>, FileError> ResultReader::links() { return impl_->all<LinkInfo>(); }
Result<std::vector<ChannelInfo>, FileError> ResultReader::channels() {
  return impl_->all<ChannelInfo>();
}
Result<std::vector<CommunicationRecord>, FileError> ResultReader::communications() {
  return impl_->all_if_there<CommunicationRecord>();
}
Result<std::vector<ComputationInfo>, FileError> ResultReader::computations() {
  return impl_->all_if_there<ComputationInfo>();
}

Result<Counters, FileError> ResultReader::counters() {
  Statement rows;
  if (!rows.prepare(impl_->database, "SELECT name, value FROM counters ORDER BY name")) {
    return impl_->database.failure(impl_->path);
  }
  Counters counters;
  while (rows.next()) {
    std::string name;
    rows >> name;
    bool known = false;
    for_each_total(counters, [&](std::string_view total, auto& value) {
      if (name != total) return;
      rows >> value;
      known = true;
    });
    if (!known) rows >> counters.own.emplace_back(OwnTotal{std::move(name), 0}).value;
  }
  if (!rows.ok()) return impl_->database.failure(impl_->path);
  const std::string& hash = impl_->state.hash;
  std::from_chars(hash.data(), hash.data() + hash.size(), counters.hash, 16);
  return counters;
}

std::optional<FileError> ResultReader::for_each(
    const std::function<void(const LinkSample&)>& take) {
  return impl_->for_each<LinkSample>(take);
}
std::optional<FileError> ResultReader::for_each(
    const std::function<void(const FlowSample&)>& take) {
  return impl_->for_each<FlowSample>(take);
}
std::optional<FileError> ResultReader::for_each(const std::function<void(const FlowEvent&)>& take) {
  return impl_->for_each<FlowEvent>(take);
}

}  // namespace strack::metrics
