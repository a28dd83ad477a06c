#include "metrics/result_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "metrics/result_resume.h"
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
  std::optional<FileError> take_again(const RunInfo& run, const WriterOptions& options);
  bool go_to_work(const WriterOptions& options);
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
  return go_to_work(options);
}

/// [D117] Goes on with a file that was cut back for that.
std::optional<FileError> ResultWriter::Impl::take_again(const RunInfo& run,
                                                        const WriterOptions& options) {
  lock.fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (lock.fd < 0) return explain(path, SQLITE_OK, errno, "");
  if (flock(lock.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return error_at(path, "another run is writing it. wait for it or choose another --out");
  Statement again;
  if (!database.open(path, Database::Access::write, 10'000) ||
      !again.prepare(database, "UPDATE run SET status = ?, threads = ?"))
    return database.failure(path);
  again << to_text(RunStatus::running) << run.threads;
  if (!again.done() || !go_to_work(options)) return database.failure(path);
  return std::nullopt;
}

bool ResultWriter::Impl::go_to_work(const WriterOptions& options) {
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
  if (!options.force && is_rewound(path)) {
    if (auto error = impl->take_again(run, options)) return *error;
    impl->begin();
    return std::shared_ptr<ResultWriter>(new ResultWriter(std::move(impl)));
  }
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

void ResultWriter::commit(Instant now) {
  impl_->now = now;
  if (!impl_->error && impl_->commit()) impl_->begin();
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

}  // namespace strack::metrics
