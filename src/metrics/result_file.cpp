#include "metrics/result_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "metrics/sqlite.h"
#include "metrics/tables.h"

namespace strack::metrics {
namespace fs = std::filesystem;
namespace {

// Times are picoseconds of simulated time, sizes bytes; the unit is in each column's name.

constexpr std::string_view kViews = R"sql(
CREATE TABLE event_kinds (kind INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE loss_causes (cause INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE VIEW fct AS
  SELECT flow, src, dst, size_bytes, (end_ps - start_ps) / 1e6 AS fct_us,
         CASE (SELECT jobs FROM run) WHEN 0
           THEN CAST(end_ps - start_ps AS REAL) / (SELECT ideal_fct_ps FROM run) END AS slowdown
  FROM flows WHERE end_ps IS NOT NULL;
CREATE VIEW flow_log AS
  SELECT time_ps / 1e6 AS time_us, flow, event_kinds.name AS event, psn, path, ecn,
         rtt_ps / 1e6 AS rtt_us, acked_bytes, cwnd_bytes, inflight_bytes, rate_bps,
         loss_causes.name AS cause
  FROM flow_events JOIN event_kinds USING (kind) LEFT JOIN loss_causes USING (cause)
  ORDER BY flow_events.rowid;
CREATE VIEW job_times AS
  SELECT job, name, ranks, (end_ps - start_ps) / 1e6 AS time_us,
         CAST(end_ps - start_ps AS REAL) / ideal_ps AS slowdown,
         CUME_DIST() OVER (ORDER BY end_ps - start_ps) AS cdf
  FROM jobs WHERE end_ps IS NOT NULL;
)sql";

/// The run's one row: what was known before it began, then this.
struct StoredState {
  std::string started_at;
  std::string heartbeat_at;
  std::optional<std::string> finished_at;
  std::string status;
  Instant now{};
  std::optional<double> wall_seconds;
  std::optional<double> cpu_seconds;
  std::optional<std::string> hash;
};

constexpr auto kStateColumns = std::tuple{
    Column{"started_at", &StoredState::started_at},
    Column{"heartbeat_at", &StoredState::heartbeat_at},
    Column{"finished_at", &StoredState::finished_at},
    Column{"status", &StoredState::status},
    Column{"now_ps", &StoredState::now},
    Column{"wall_seconds", &StoredState::wall_seconds},
    Column{"cpu_seconds", &StoredState::cpu_seconds},
    Column{"hash", &StoredState::hash},
};
constexpr auto kRunColumns = std::tuple_cat(Table<RunInfo>::columns, kStateColumns);

template <class... Records>
std::string create_tables() {
  return (create_sql<Records>() + ...);
}

std::string schema() {
  return fmt::format(
             "CREATE TABLE run (id INTEGER PRIMARY KEY CHECK (id = 1), "
             "schema_version INTEGER NOT NULL, {}) STRICT;\n",
             column_definitions(kRunColumns)) +
         create_tables<Setting, WorkloadInfo, FlowRecord, JobRecord, LinkInfo, LinkSample,
                       FlowSample, ChannelInfo, FlowEvent, CommunicationRecord, ComputationInfo>() +
         std::string(kViews);
}

constexpr auto kCommitEvery = std::chrono::milliseconds(500);
constexpr std::int64_t kCommitRows = 100'000;
constexpr std::int64_t kRowsPerLookAtTheClock = 1'024;

/// Held while a run is written, so that others can tell a live run from a dead one. It must outlive
/// SQLite's use of the file: closing any descriptor of a file gives up all of SQLite's locks on it.
struct FileLock {
  int fd = -1;

  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() {
    if (fd >= 0) close(fd);
  }
};

/// The files that SQLite keeps beside its own while somebody writes.
std::array<fs::path, 3> companions(const fs::path& path) {
  return {path.string() + "-wal", path.string() + "-shm", path.string() + "-journal"};
}

/// Whether the file may be replaced when asked for: an empty one or one of ours.
bool is_ours_or_empty(int fd) {
  std::array<unsigned char, 100> header{};
  const ssize_t got = pread(fd, header.data(), header.size(), 0);
  if (got == 0) return true;
  if (got < static_cast<ssize_t>(header.size())) return false;
  std::uint32_t id = 0;
  for (std::size_t i = 68; i < 72; ++i) id = id << 8 | header[i];
  return std::memcmp(header.data(), "SQLite format 3", 16) == 0 &&
         id == static_cast<std::uint32_t>(kApplicationId);
}

}  // namespace

std::string_view to_text(RunStatus status) {
  for (const StatusName& name : kStatuses) {
    if (name.status == status) return name.text;
  }
  return "partial: failed";
}

// --- Writing

namespace {

/// The statement that adds rows of one kind.
template <class Record>
struct Insert {
  Statement statement;

  [[nodiscard]] bool prepare(const Database& database) {
    return statement.prepare(database, insert_sql<Record>());
  }
  [[nodiscard]] bool add(const Record& record) {
    bind(statement, Table<Record>::columns, record);
    return statement.done();
  }
};

}  // namespace

struct ResultWriter::Impl {
  fs::path path;
  // Destroyed from the last to the first: statements, database, lock.
  FileLock lock;
  Database database;
  std::tuple<Insert<LinkInfo>, Insert<FlowRecord>, Insert<JobRecord>, Insert<LinkSample>,
             Insert<FlowSample>, Insert<FlowEvent>, Insert<ChannelInfo>,
             Insert<CommunicationRecord>, Insert<ComputationInfo>>
      inserts;
  Statement insert_counter;
  Statement beat;
  std::optional<FileError> error;
  bool disk_full = false;
  bool open = false;  ///< a transaction is
  std::int64_t rows = 0;
  Instant now{};
  std::chrono::steady_clock::time_point committed;

  void fail() {
    if (error) return;
    disk_full = database.full();
    error = database.failure(path);
    if (open) static_cast<void>(database.execute("ROLLBACK"));
    open = false;
  }
  bool require(bool good) {
    if (!good) fail();
    return good;
  }
  void begin() {
    open = require(database.execute("BEGIN"));
    rows = 0;
    committed = std::chrono::steady_clock::now();
  }
  bool commit() {
    if (error) return false;
    const std::string at = utc_now();
    beat << at << now;
    if (!require(beat.done())) return false;
    if (!require(database.execute("COMMIT"))) return false;
    open = false;
    return true;
  }
  void commit_if_due() {
    if (error) return;
    if (rows < kCommitRows && std::chrono::steady_clock::now() - committed < kCommitEvery) return;
    if (commit()) begin();
  }
  template <class Record>
  void add(const Record& record) {
    if (error || !require(std::get<Insert<Record>>(inserts).add(record))) return;
    if (++rows % kRowsPerLookAtTheClock == 0) commit_if_due();
  }
  bool write_names(std::string_view sql, std::span<const std::string_view> names) {
    Statement insert;
    if (!insert.prepare(database, sql)) return false;
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      insert << i << names[i];
      if (!insert.done()) return false;
    }
    return true;
  }
  template <class Record>
  bool write_all(const std::vector<Record>& records) {
    Insert<Record> insert;
    bool good = insert.prepare(database);
    for (const Record& record : records) good = good && insert.add(record);
    return good;
  }
  std::optional<FileError> take_place(const WriterOptions& options);
  bool write_header(const RunInfo& run, const WriterOptions& options);
};

/// Makes the empty file, and locks it against other runs.
std::optional<FileError> ResultWriter::Impl::take_place(const WriterOptions& options) {
  std::error_code failure;
  if (const fs::path folder = path.parent_path(); !folder.empty()) {
    fs::create_directories(folder, failure);
    // An existing folder behind a link is no failure, whatever the library says.
    if (failure && !fs::is_directory(folder)) {
      return error_at(path, fmt::format("its folder cannot be made: {}. choose another --out",
                                        failure.message()));
    }
  }
  if (fs::is_directory(path, failure)) {
    return error_at(path, "is a folder. name a file in it, such as --out " +
                              (path / "results.db").lexically_normal().string());
  }
  if (fs::exists(path, failure) && !fs::is_regular_file(path, failure))
    return error_at(path, "is not a plain file. choose another --out");
  if (options.force) {
    const int old = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (old >= 0) {
      const bool busy = flock(old, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      const bool ours = is_ours_or_empty(old);
      if (ours && !busy) {
        fs::remove(path, failure);
        for (const fs::path& companion : companions(path)) fs::remove(companion, failure);
      }
      close(old);
      if (busy) {
        return error_at(path, "another run is writing it. wait for it or choose another --out");
      }
      if (!ours) {
        return error_at(path,
                        "is not a result file of strack, so --force does not replace it. choose "
                        "another --out");
      }
    }
  }
  lock.fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (lock.fd < 0 && errno == EEXIST) {
    return error_at(path, "exists already. choose another --out, or --force to replace it");
  }
  if (lock.fd < 0) {
    const int reason = errno;
    FileError refused = explain(path, SQLITE_OK, reason, "");
    if (reason != ENOSPC && reason != EDQUOT) refused.message += ". choose another --out";
    return refused;
  }
  // Some network file systems have no such locks; the run goes on without.
  static_cast<void>(flock(lock.fd, LOCK_EX | LOCK_NB));
  return std::nullopt;
}

bool ResultWriter::Impl::write_header(const RunInfo& run, const WriterOptions& options) {
  if (!database.open(path, Database::Access::write, 10'000)) return false;
  const std::string identity = fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};",
                                           kApplicationId, kSchemaVersion);
  Statement header;
  if (!database.execute("BEGIN") || !database.execute(identity) || !database.execute(schema()) ||
      !header.prepare(
          database,
          fmt::format("INSERT INTO run (id, schema_version, {}) VALUES (1, {}, {})",
                      column_names(kRunColumns), kSchemaVersion, placeholders(kRunColumns)))) {
    return false;
  }
  const std::string at = utc_now();
  const StoredState state{.started_at = at,
                          .heartbeat_at = at,
                          .finished_at = {},
                          .status = std::string(to_text(RunStatus::running)),
                          .now = {},
                          .wall_seconds = {},
                          .cpu_seconds = {},
                          .hash = {}};
  bind(header, Table<RunInfo>::columns, run);
  bind(header, kStateColumns, state);
  if (!header.done() || !write_all(run.settings) || !write_all(run.workloads) ||
      !write_names("INSERT INTO event_kinds VALUES (?, ?)", kEventKinds) ||
      !write_names("INSERT INTO loss_causes VALUES (?, ?)", kLossCauses) ||
      !database.execute("COMMIT")) {
    return false;
  }

  // From here on through a write-ahead log: readers are never in the way, and a commit of what has
  // come in costs one write. The header is in the file itself, so even a copy of it alone says
  // what it is.
  if (!database.execute("PRAGMA journal_mode = WAL") ||
      !database.execute("PRAGMA synchronous = NORMAL")) {
    return false;
  }
  if (options.max_pages > 0 &&
      !database.execute(fmt::format("PRAGMA max_page_count = {}", options.max_pages))) {
    return false;
  }
  return std::apply([this](auto&... insert) { return (insert.prepare(database) && ...); },
                    inserts) &&
         insert_counter.prepare(database, "INSERT INTO counters VALUES (?, ?)") &&
         beat.prepare(database, "UPDATE run SET heartbeat_at = ?, now_ps = ?");
}

ResultWriter::ResultWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ResultWriter::~ResultWriter() {
  if (impl_->open) static_cast<void>(impl_->commit());
}

Result<std::shared_ptr<ResultWriter>, FileError> ResultWriter::create(
    const fs::path& path, const RunInfo& run, const WriterOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  if (auto error = impl->take_place(options)) return *error;
  if (!impl->write_header(run, options)) {
    const FileError error = impl->database.failure(path);
    impl->database.close();
    // Nothing is in it that somebody could miss.
    std::error_code ignored;
    fs::remove(path, ignored);
    for (const fs::path& companion : companions(path)) fs::remove(companion, ignored);
    return error;
  }
  impl->begin();
  return std::shared_ptr<ResultWriter>(new ResultWriter(std::move(impl)));
}

void ResultWriter::add(const LinkInfo& link) { impl_->add(link); }
void ResultWriter::add(const FlowRecord& flow) { impl_->add(flow); }
void ResultWriter::add(const JobRecord& job) { impl_->add(job); }
void ResultWriter::add(const LinkSample& sample) { impl_->add(sample); }
void ResultWriter::add(const FlowSample& sample) { impl_->add(sample); }
void ResultWriter::add(const FlowEvent& event) { impl_->add(event); }
void ResultWriter::add(const ChannelInfo& channel) { impl_->add(channel); }
void ResultWriter::add(const CommunicationRecord& one) { impl_->add(one); }
void ResultWriter::add(const ComputationInfo& one) { impl_->add(one); }

void ResultWriter::tick(Instant now) {
  impl_->now = now;
  impl_->commit_if_due();
}

const std::optional<FileError>& ResultWriter::error() const { return impl_->error; }

std::optional<FileError> ResultWriter::finish(RunStatus status, Instant now,
                                              const Counters& counters, double wall_seconds,
                                              double cpu_seconds) {
  Impl& w = *impl_;
  w.now = now;
  const std::string at = utc_now();
  const std::optional<FileError> before = w.error;
  if (before) {
    // What is there stays; the little that says why the rest is missing may still find room.
    w.error.reset();
    status = w.disk_full ? RunStatus::disk_full : RunStatus::failed;
    w.begin();
  }
  const auto insert = [&w](std::string_view name, auto value) {
    if (w.error) return;
    w.insert_counter << name << value;
    w.require(w.insert_counter.done());
  };
  for_each_total(counters, insert);
  for (const OwnTotal& own : counters.own) insert(own.name, own.value);
  if (!w.error) {
    Statement ending;
    const std::string hash = fmt::format("{:016x}", counters.hash);
    if (w.require(ending.prepare(w.database,
                                 "UPDATE run SET status = ?, finished_at = ?, wall_seconds = ?, "
                                 "cpu_seconds = ?, hash = ?"))) {
      ending << to_text(status) << at << wall_seconds << cpu_seconds << hash;
      w.require(ending.done());
    }
  }
  static_cast<void>(w.commit());
  if (!w.error) {
    // One file again, with nothing beside it. A reader at this moment can prevent that; then the
    // last one to close the file does it.
    static_cast<void>(w.database.execute("PRAGMA busy_timeout = 100"));
    static_cast<void>(w.database.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    static_cast<void>(w.database.execute("PRAGMA journal_mode = DELETE"));
  }
  if (before) w.error = before;
  return w.error;
}

// --- Reading

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
    return error_at(path, std::strerror(errno));
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
