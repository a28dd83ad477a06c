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
#include "metrics/memory_result.h"
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

/// [D126] Some room on the disk, under no name: once the disk is full, what is left to say still finds a place.
class Reserve {
 public:
  Reserve() = default;
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  ~Reserve() { release(); }

  /// Where it cannot be had, there is none.
  void take(const fs::path& beside) {
    const fs::path folder = beside.has_parent_path() ? beside.parent_path() : fs::path(".");
    fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ >= 0 && posix_fallocate(fd_, 0, kSize) != 0) release();
  }
  void release() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  static constexpr off_t kSize = 64 * 1024;
  int fd_ = -1;
};

/// The files that SQLite keeps beside its own while somebody writes.
std::array<fs::path, 3> companions(const fs::path& path) {
  return {path.string() + "-wal", path.string() + "-shm", path.string() + "-journal"};
}

FileError busy_at(const fs::path& path) {
  return error_at(path, "another run is writing it. wait for it or choose another --out");
}

/// By a run that is writing it.
bool is_locked(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return locked;
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

bool is_result_file(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ours = is_ours_or_empty(fd);
  close(fd);
  return ours;
}

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
  ResultWriter* self = nullptr;
  fs::path path;
  WriterOptions options;
  std::shared_ptr<MemoryResult> memory;  ///< then there is no file
  // Destroyed from the last to the first: statements, database, lock.
  FileLock lock;
  Reserve reserve;
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
    if (memory) {
      memory->add(record);
      if (memory->size_bytes() > options.memory) go_to_file();
      return;
    }
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
  /// Takes the place and writes the header.
  std::optional<FileError> make_file(const RunInfo& run);
  /// What was in memory is too much for it.
  void go_to_file();
  std::optional<FileError> take_place();
  bool write_header(const RunInfo& run);
  std::optional<FileError> take_again(const RunInfo& run);
  bool go_to_work();
};

/// Makes the empty file, and locks it against other runs.
std::optional<FileError> ResultWriter::Impl::take_place() {
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
      std::error_code kept;
      if (ours && !busy && fs::remove(path, kept)) {
        for (const fs::path& companion : companions(path)) fs::remove(companion, failure);
      }
      close(old);
      if (busy) return busy_at(path);
      if (kept) {
        return error_at(
            path, fmt::format("cannot be replaced: {}. choose another --out", kept.message()));
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
    if (is_locked(path)) return busy_at(path);
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

bool ResultWriter::Impl::write_header(const RunInfo& run) {
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
  const std::string at = options.started_at.empty() ? utc_now() : options.started_at;
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
  return go_to_work();
}

/// [D117] Goes on with a file that was cut back for that.
std::optional<FileError> ResultWriter::Impl::take_again(const RunInfo& run) {
  lock.fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (lock.fd < 0) return explain(path, SQLITE_OK, errno, "");
  if (flock(lock.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return busy_at(path);
  Statement again;
  if (!database.open(path, Database::Access::write, 10'000) ||
      !again.prepare(database, "UPDATE run SET status = ?, threads = ?"))
    return database.failure(path);
  again << to_text(RunStatus::running) << run.threads;
  if (!again.done() || !go_to_work()) return database.failure(path);
  return std::nullopt;
}

bool ResultWriter::Impl::go_to_work() {
  // From here on through a write-ahead log: readers are never in the way, and a commit of what has
  // come in costs one write. The header is in the file itself, so even a copy of it alone says
  // what it is.
  reserve.take(path);
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
  impl->options = options;
  Impl& w = *impl;
  if (options.memory > 0) {
    w.memory = std::make_shared<MemoryResult>(run, utc_now());
  } else if (!options.force && is_rewound(path)) {
    if (auto error = w.take_again(run)) return *error;
    w.begin();
  } else if (auto error = w.make_file(run)) {
    return *error;
  }
  auto writer = std::shared_ptr<ResultWriter>(new ResultWriter(std::move(impl)));
  w.self = writer.get();
  return writer;
}

std::optional<FileError> ResultWriter::Impl::make_file(const RunInfo& run) {
  if (auto taken = take_place()) return taken;
  if (!write_header(run)) {
    const FileError failed = database.failure(path);
    database.close();
    // Nothing is in it that somebody could miss.
    std::error_code ignored;
    fs::remove(path, ignored);
    for (const fs::path& companion : companions(path)) fs::remove(companion, ignored);
    return failed;
  }
  begin();
  return std::nullopt;
}

void ResultWriter::Impl::go_to_file() {
  const std::shared_ptr<MemoryResult> kept = std::exchange(memory, nullptr);
  options.started_at = kept->state().started_at;
  error = make_file(kept->run());
  if (!error) kept->copy_to(*self);
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
  if (!impl_->memory) impl_->commit_if_due();
}

void ResultWriter::commit(Instant now) {
  impl_->now = now;
  if (!impl_->memory && !impl_->error && impl_->commit()) impl_->begin();
}

const std::optional<FileError>& ResultWriter::error() const { return impl_->error; }

std::optional<FileError> ResultWriter::finish(RunStatus status, Instant now,
                                              const Counters& counters, double wall_seconds,
                                              double cpu_seconds) {
  Impl& w = *impl_;
  w.now = now;
  const std::string at = w.options.finished_at.empty() ? utc_now() : w.options.finished_at;
  const std::string hash = fmt::format("{:016x}", counters.hash);
  if (w.memory) {
    w.memory->finish({.status = status,
                      .live = false,
                      .started_at = w.memory->state().started_at,
                      .finished_at = at,
                      .heartbeat_at = at,
                      .now = now,
                      .wall_seconds = wall_seconds,
                      .cpu_seconds = cpu_seconds,
                      .hash = hash},
                     counters);
    return std::nullopt;
  }
  const std::optional<FileError> before = w.error;
  const auto insert = [&w](std::string_view name, auto value) {
    if (w.error) return;
    w.insert_counter << name << value;
    w.require(w.insert_counter.done());
  };
  const auto write_totals = [&] {
    for_each_total(counters, insert);
    for (const OwnTotal& own : counters.own) insert(own.name, own.value);
  };
  const auto write_ending = [&] {
    if (w.error) return;
    Statement ending;
    if (w.require(ending.prepare(w.database,
                                 "UPDATE run SET status = ?, finished_at = ?, wall_seconds = ?, "
                                 "cpu_seconds = ?, hash = ?"))) {
      ending << to_text(status) << at << wall_seconds << cpu_seconds << hash;
      w.require(ending.done());
    }
  };
  if (before) {
    // What is there stays. Why the rest is missing comes first, by itself, in the room that was kept for it.
    status = w.disk_full ? RunStatus::disk_full : RunStatus::failed;
    w.reserve.release();
    bool said = false;
    for (const bool first : {true, false}) {
      if (said) continue;
      // A log that cannot grow may still be emptied into the file.
      if (!first) static_cast<void>(w.database.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
      w.error.reset();
      w.begin();
      write_ending();
      said = w.commit();
    }
    if (said) w.begin();
  }
  write_totals();
  if (!before) write_ending();
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

std::shared_ptr<const MemoryResult> ResultWriter::in_memory() const { return impl_->memory; }

}  // namespace strack::metrics
