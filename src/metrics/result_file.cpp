#include "metrics/result_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace strack::metrics {
namespace fs = std::filesystem;
namespace {

// Times are picoseconds of simulated time, sizes bytes; the unit is in each column's name.
constexpr const char* kSchema = R"sql(
CREATE TABLE run (
  id              INTEGER PRIMARY KEY CHECK (id = 1),
  name            TEXT    NOT NULL,
  scheme          TEXT    NOT NULL,
  seed            INTEGER NOT NULL,
  scenario        TEXT    NOT NULL,
  version         TEXT    NOT NULL,
  git_commit      TEXT    NOT NULL,
  source          TEXT    NOT NULL,
  schema_version  INTEGER NOT NULL,
  threads         INTEGER NOT NULL,
  hosts           INTEGER NOT NULL,
  links           INTEGER NOT NULL,
  switches        INTEGER NOT NULL,
  flows           INTEGER NOT NULL,
  jobs            INTEGER NOT NULL,
  flow_bytes      INTEGER NOT NULL,
  mtu_bytes       INTEGER NOT NULL,
  pfc             INTEGER NOT NULL,
  host_rate_bps   INTEGER NOT NULL,
  base_rtt_ps     INTEGER NOT NULL,
  bdp_bytes       INTEGER NOT NULL,
  ideal_fct_ps    INTEGER NOT NULL,
  started_at      TEXT    NOT NULL,
  heartbeat_at    TEXT    NOT NULL,
  finished_at     TEXT,
  status          TEXT    NOT NULL,
  now_ps          INTEGER NOT NULL,
  wall_seconds    REAL,
  cpu_seconds     REAL,
  hash            TEXT
) STRICT;
CREATE TABLE flows (
  flow            INTEGER PRIMARY KEY,
  src             INTEGER NOT NULL,
  dst             INTEGER NOT NULL,
  size_bytes      INTEGER NOT NULL,
  start_ps        INTEGER NOT NULL,
  delivered_ps    INTEGER,
  end_ps          INTEGER,
  packets         INTEGER NOT NULL,
  retransmissions INTEGER NOT NULL,
  probes          INTEGER NOT NULL,
  timeouts        INTEGER NOT NULL,
  path_changes    INTEGER NOT NULL,
  cnps            INTEGER NOT NULL,
  naks            INTEGER NOT NULL,
  victim_packets  INTEGER NOT NULL
) STRICT;
CREATE TABLE jobs (
  job             INTEGER PRIMARY KEY,
  name            TEXT    NOT NULL,
  ranks           INTEGER NOT NULL,
  messages        INTEGER NOT NULL,
  bytes           INTEGER NOT NULL,
  start_ps        INTEGER,
  end_ps          INTEGER,
  ideal_ps        INTEGER NOT NULL
) STRICT;
CREATE TABLE links (
  link            INTEGER PRIMARY KEY,
  from_node       TEXT    NOT NULL,
  to_node         TEXT    NOT NULL,
  rate_bps        INTEGER NOT NULL,
  latency_ps      INTEGER NOT NULL,
  down            INTEGER NOT NULL
) STRICT;
CREATE TABLE link_samples (
  time_ps         INTEGER NOT NULL,
  link            INTEGER NOT NULL,
  carried_bytes   INTEGER NOT NULL,
  arrived_bytes   INTEGER NOT NULL,
  queue_max_bytes INTEGER NOT NULL,
  qdelay_max_ps   INTEGER NOT NULL,
  marks           INTEGER NOT NULL,
  drops           INTEGER NOT NULL,
  paused_ps       INTEGER NOT NULL,
  pause_frames    INTEGER NOT NULL
) STRICT;
CREATE TABLE flow_samples (
  time_ps         INTEGER NOT NULL,
  flow            INTEGER NOT NULL,
  cwnd_bytes      INTEGER NOT NULL,
  rtt_ps          INTEGER NOT NULL,
  avg_qdelay_ps   INTEGER NOT NULL,
  acked_bytes     INTEGER NOT NULL,
  ecn_marks       INTEGER NOT NULL,
  rate_bps        INTEGER NOT NULL,
  cnps            INTEGER NOT NULL
) STRICT;
CREATE TABLE channels (
  flow            INTEGER PRIMARY KEY,
  job             INTEGER NOT NULL,
  src             INTEGER NOT NULL,
  dst             INTEGER NOT NULL
) STRICT;
CREATE TABLE event_kinds (
  kind            INTEGER PRIMARY KEY,
  name            TEXT    NOT NULL
) STRICT;
CREATE TABLE loss_causes (
  cause           INTEGER PRIMARY KEY,
  name            TEXT    NOT NULL
) STRICT;
CREATE TABLE flow_events (
  time_ps         INTEGER NOT NULL,
  flow            INTEGER NOT NULL,
  kind            INTEGER NOT NULL,
  psn             INTEGER,
  path            INTEGER,
  ecn             INTEGER,
  rtt_ps          INTEGER,
  acked_bytes     INTEGER,
  cwnd_bytes      INTEGER,
  inflight_bytes  INTEGER,
  rate_bps        INTEGER,
  cause           INTEGER
) STRICT;
CREATE TABLE counters (
  name            TEXT    PRIMARY KEY,
  value           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE VIEW fct AS
  SELECT flow, src, dst, size_bytes, (end_ps - start_ps) / 1e6 AS fct_us,
         CAST(end_ps - start_ps AS REAL) / (SELECT ideal_fct_ps FROM run) AS slowdown
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

/// Each total's name in the file; the hash is text in the table `run`.
struct CounterName {
  const char* name;
  std::uint64_t Counters::*member;
};
constexpr std::array kCounters{
    CounterName{"data_packets_sent", &Counters::data_packets_sent},
    CounterName{"data_packets_delivered", &Counters::data_packets_delivered},
    CounterName{"control_packets_sent", &Counters::control_packets_sent},
    CounterName{"retransmissions", &Counters::retransmissions},
    CounterName{"probes", &Counters::probes},
    CounterName{"timeouts", &Counters::timeouts},
    CounterName{"marks", &Counters::marks},
    CounterName{"queue_drops", &Counters::queue_drops},
    CounterName{"failure_drops", &Counters::failure_drops},
    CounterName{"error_drops", &Counters::error_drops},
    CounterName{"no_route_drops", &Counters::no_route_drops},
    CounterName{"packet_hops", &Counters::packet_hops},
    CounterName{"windows", &Counters::windows},
    CounterName{"cnps", &Counters::cnps},
    CounterName{"naks", &Counters::naks},
    CounterName{"pause_frames", &Counters::pause_frames},
    CounterName{"ports_paused", &Counters::ports_paused},
    CounterName{"lossless_violations", &Counters::lossless_violations},
    CounterName{"victim_packets", &Counters::victim_packets},
    CounterName{"victim_flows", &Counters::victim_flows},
    CounterName{"pause_loops", &Counters::pause_loops},
};
/// Those with a unit.
constexpr const char* kDeepestQueue = "deepest_queue_bytes";
constexpr const char* kPaused = "paused_ps";
constexpr const char* kBufferMax = "buffer_max_bytes";

struct StatusName {
  RunStatus status;
  std::string_view text;
};
constexpr std::array kStatuses{
    StatusName{RunStatus::running, "running"},
    StatusName{RunStatus::finished, "finished"},
    StatusName{RunStatus::time_limit, "time limit"},
    StatusName{RunStatus::stalled, "stalled"},
    StatusName{RunStatus::interrupted, "partial: interrupted"},
    StatusName{RunStatus::disk_full, "partial: disk full"},
    StatusName{RunStatus::failed, "partial: failed"},
};

/// Their numbers in the file are those of the enumerations.
constexpr std::array<std::string_view, 8> kEventKinds{
    "sent", "ack", "resent", "loss", "probe", "probe_ack", "nak", "cnp",
};
constexpr std::array<std::string_view, 4> kLossCauses{"out_of_order", "probe", "timeout", "nak"};

constexpr auto kCommitEvery = std::chrono::milliseconds(500);
constexpr std::int64_t kCommitRows = 100'000;
constexpr std::int64_t kRowsPerLookAtTheClock = 1'024;

FileError error_at(const fs::path& path, std::string_view what) {
  return {fmt::format("{}: {}", path.string(), what)};
}

bool is_full(int rc, int system_error) {
  return (rc & 0xff) == SQLITE_FULL || system_error == ENOSPC || system_error == EDQUOT ||
         system_error == EFBIG;
}

/// What SQLite or the system said, for somebody who has never heard of either.
FileError explain(const fs::path& path, int rc, int system_error, const char* said) {
  if ((rc & 0xff) == SQLITE_FULL || system_error == ENOSPC) {
    return error_at(path, "the disk is full. free some space or choose another --out");
  }
  if (system_error == EDQUOT) {
    return error_at(path, "your disk quota is used up. free some space or choose another --out");
  }
  if (system_error == EFBIG) {
    return error_at(path,
                    "the file has reached the largest size allowed here. raise `ulimit -f`, or "
                    "record less");
  }
  switch (rc & 0xff) {
    case SQLITE_NOTADB:
      return error_at(path, "is not a result file of strack");
    case SQLITE_CORRUPT:
      return error_at(path, fmt::format("is damaged ({}). run the scenario again", said));
    case SQLITE_BUSY:
      return error_at(path, "another program keeps it locked. close that program and try again");
    default:
      break;
  }
  if (system_error != 0) return error_at(path, fmt::format("{}", std::strerror(system_error)));
  return error_at(path, said);
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const std::time_t whole = milliseconds / 1'000;
  std::tm utc{};
  gmtime_r(&whole, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     milliseconds % 1'000);
}

/// An open database; closes itself.
struct Database {
  sqlite3* handle = nullptr;

  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { close(); }
  void close() { sqlite3_close_v2(std::exchange(handle, nullptr)); }

  /// Why the system refused, where it did. SQLite forgets it when a commit fails; then it is what
  /// the newest failed call left, if that can be the reason at all.
  [[nodiscard]] int system_error() const {
    const int newest = errno;
    const int rc = sqlite3_errcode(handle) & 0xff;
    if (rc != SQLITE_IOERR && rc != SQLITE_CANTOPEN) return 0;
    if (const int remembered = sqlite3_system_errno(handle); remembered != 0) return remembered;
    for (const int possible : {EFBIG, ENOSPC, EDQUOT, EIO, EROFS, EACCES, EPERM}) {
      if (newest == possible) return newest;
    }
    return 0;
  }
  [[nodiscard]] FileError failure(const fs::path& path) const {
    const int reason = system_error();
    return explain(path, sqlite3_errcode(handle), reason, sqlite3_errmsg(handle));
  }
  [[nodiscard]] bool full() const {
    const int reason = system_error();
    return is_full(sqlite3_errcode(handle), reason);
  }
  [[nodiscard]] bool execute(const char* sql) const {
    return sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }
};

/// A prepared statement, filled from left to right.
class Statement {
 public:
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  [[nodiscard]] bool prepare(const Database& database, std::string_view sql) {
    return sqlite3_prepare_v3(database.handle, sql.data(), static_cast<int>(sql.size()),
                              SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) == SQLITE_OK;
  }

  Statement& operator<<(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Statement& operator<<(std::uint64_t value) { return *this << static_cast<std::int64_t>(value); }
  Statement& operator<<(std::uint32_t value) { return *this << std::int64_t{value}; }
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
  template <class Tag>
  Statement& operator<<(detail::Quantity<Tag> value) {
    return *this << value.count();
  }
  Statement& operator<<(Instant value) {
    if (value != Instant::never()) return *this << value.ps;
    return null();
  }
  Statement& operator<<(bool value) { return *this << std::int64_t{value}; }
  Statement& operator<<(EventKind value) { return *this << static_cast<std::uint32_t>(value); }
  Statement& operator<<(LossCause value) { return *this << static_cast<std::uint32_t>(value); }
  template <class T>
  Statement& operator<<(const std::optional<T>& value) {
    return value ? *this << *value : null();
  }

  /// Runs a statement that gives no rows.
  [[nodiscard]] bool done() {
    const int rc = sqlite3_step(statement_);
    reset();
    return rc == SQLITE_DONE;
  }

  // Reading: while (next()) get each column in turn. ok() says whether the rows ended well.
  [[nodiscard]] bool next() {
    column_ = 0;
    last_ = sqlite3_step(statement_);
    return last_ == SQLITE_ROW;
  }
  [[nodiscard]] bool ok() const { return last_ == SQLITE_DONE || last_ == SQLITE_ROW; }

  Statement& operator>>(std::int64_t& value) {
    value = sqlite3_column_int64(statement_, column_++);
    return *this;
  }
  Statement& operator>>(std::uint64_t& value) {
    value = static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column_++));
    return *this;
  }
  Statement& operator>>(std::uint32_t& value) {
    value = static_cast<std::uint32_t>(sqlite3_column_int64(statement_, column_++));
    return *this;
  }
  Statement& operator>>(double& value) {
    value = sqlite3_column_double(statement_, column_++);
    return *this;
  }
  Statement& operator>>(std::string& value) {
    const auto* text = sqlite3_column_text(statement_, column_);
    const int size = sqlite3_column_bytes(statement_, column_++);
    value.clear();
    for (int i = 0; i < size; ++i) value += static_cast<char>(text[i]);
    return *this;
  }
  template <class Tag>
  Statement& operator>>(detail::Quantity<Tag>& value) {
    return *this >> value.value;
  }
  Statement& operator>>(Instant& value) {
    const bool never = sqlite3_column_type(statement_, column_) == SQLITE_NULL;
    value = never ? Instant::never() : Instant{sqlite3_column_int64(statement_, column_)};
    ++column_;
    return *this;
  }
  Statement& operator>>(bool& value) {
    value = sqlite3_column_int64(statement_, column_++) != 0;
    return *this;
  }
  Statement& operator>>(EventKind& value) { return enumerator(value); }
  Statement& operator>>(LossCause& value) { return enumerator(value); }
  template <class T>
  Statement& operator>>(std::optional<T>& value) {
    if (sqlite3_column_type(statement_, column_) == SQLITE_NULL) {
      value.reset();
      ++column_;
      return *this;
    }
    return *this >> value.emplace();
  }

 private:
  Statement& null() {
    sqlite3_bind_null(statement_, ++bound_);
    return *this;
  }
  template <class Enum>
  Statement& enumerator(Enum& value) {
    value = static_cast<Enum>(sqlite3_column_int64(statement_, column_++));
    return *this;
  }
  void reset() {
    sqlite3_reset(statement_);
    bound_ = 0;
  }

  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  int column_ = 0;
  int last_ = SQLITE_DONE;
};

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

std::string_view to_text(EventKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kEventKinds.size() ? kEventKinds[index] : "unknown";
}

std::string_view to_text(LossCause cause) {
  const auto index = static_cast<std::size_t>(cause);
  return index < kLossCauses.size() ? kLossCauses[index] : "unknown";
}

// --- Writing
// --------------------------------------------------------------------------------------

struct ResultWriter::Impl {
  fs::path path;
  // Destroyed from the last to the first: statements, database, lock.
  FileLock lock;
  Database database;
  Statement insert_link;
  Statement insert_flow;
  Statement insert_job;
  Statement insert_link_sample;
  Statement insert_flow_sample;
  Statement insert_flow_event;
  Statement insert_channel;
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
    beat << std::string_view(at) << now;
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
  void added(bool good) {
    if (!require(good)) return;
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
  if (sqlite3_open_v2(path.c_str(), &database.handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    return false;
  }
  sqlite3_extended_result_codes(database.handle, 1);
  sqlite3_busy_timeout(database.handle, 10'000);
  const std::string identity = fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};",
                                           kApplicationId, kSchemaVersion);
  if (!database.execute("BEGIN") || !database.execute(identity.c_str()) ||
      !database.execute(kSchema)) {
    return false;
  }
  Statement header;
  if (!header.prepare(
          database,
          "INSERT INTO run (id, name, scheme, seed, scenario, version, git_commit, "
          "source, schema_version, threads, hosts, links, switches, flows, jobs, "
          "flow_bytes, mtu_bytes, pfc, host_rate_bps, base_rtt_ps, bdp_bytes, ideal_fct_ps, "
          "started_at, heartbeat_at, status, now_ps) VALUES (1, ?, ?, ?, ?, ?, ?, ?, "
          "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)")) {
    return false;
  }
  const std::string at = utc_now();
  header << std::string_view(run.name) << std::string_view(run.scheme) << run.seed
         << std::string_view(run.scenario) << std::string_view(run.version)
         << std::string_view(run.commit) << std::string_view(run.source)
         << std::int64_t{kSchemaVersion} << run.threads << run.hosts << run.links << run.switches
         << run.flows << run.jobs << run.bytes << run.mtu << std::int64_t{run.pfc} << run.host_rate
         << run.base_rtt << run.bdp << run.ideal_fct << std::string_view(at) << std::string_view(at)
         << to_text(RunStatus::running);
  if (!header.done() || !write_names("INSERT INTO event_kinds VALUES (?, ?)", kEventKinds) ||
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
  if (options.max_pages > 0) {
    const std::string limit = fmt::format("PRAGMA max_page_count = {}", options.max_pages);
    if (!database.execute(limit.c_str())) return false;
  }
  return insert_link.prepare(database, "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)") &&
         insert_flow.prepare(
             database, "INSERT INTO flows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") &&
         insert_job.prepare(database, "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)") &&
         insert_link_sample.prepare(
             database, "INSERT INTO link_samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") &&
         insert_flow_sample.prepare(
             database, "INSERT INTO flow_samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)") &&
         insert_flow_event.prepare(
             database, "INSERT INTO flow_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") &&
         insert_channel.prepare(database, "INSERT INTO channels VALUES (?, ?, ?, ?)") &&
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

void ResultWriter::add(const LinkInfo& link) {
  Impl& w = *impl_;
  if (w.error) return;
  w.insert_link << link.link << std::string_view(link.from) << std::string_view(link.to)
                << link.rate << link.latency << link.down;
  w.added(w.insert_link.done());
}

void ResultWriter::add(const FlowRecord& flow) {
  Impl& w = *impl_;
  if (w.error) return;
  w.insert_flow << flow.flow << flow.src << flow.dst << flow.size << flow.start << flow.delivered
                << flow.end << flow.packets << flow.retransmissions << flow.probes << flow.timeouts
                << flow.path_changes << flow.cnps << flow.naks << flow.victim_packets;
  w.added(w.insert_flow.done());
}

void ResultWriter::add(const JobRecord& job) {
  Impl& w = *impl_;
  if (w.error) return;
  w.insert_job << job.job << std::string_view(job.name) << job.ranks << job.messages << job.bytes
               << job.start << job.end << job.ideal;
  w.added(w.insert_job.done());
}

void ResultWriter::add(const LinkSample& sample) {
  Impl& w = *impl_;
  if (w.error) return;
  w.insert_link_sample << sample.time << sample.link << sample.carried << sample.arrived
                       << sample.queue_max << sample.qdelay_max << sample.marks << sample.drops
                       << sample.paused << sample.pause_frames;
  w.added(w.insert_link_sample.done());
}

void ResultWriter::add(const FlowSample& sample) {
  Impl& w = *impl_;
  if (w.error) return;
  w.insert_flow_sample << sample.time << sample.flow << sample.cwnd << sample.rtt
                       << sample.avg_qdelay << sample.acked << sample.ecn_marks << sample.rate
                       << sample.cnps;
  w.added(w.insert_flow_sample.done());
}

void ResultWriter::add(const FlowEvent& event) {
  Impl& w = *impl_;
  if (w.error) return;
  w.insert_flow_event << event.time << event.flow << event.kind << event.psn << event.path
                      << event.ecn << event.rtt << event.acked << event.cwnd << event.inflight
                      << event.rate << event.cause;
  w.added(w.insert_flow_event.done());
}

void ResultWriter::add(const ChannelInfo& channel) {
  Impl& w = *impl_;
  if (w.error) return;
  w.insert_channel << channel.flow << channel.job << channel.src << channel.dst;
  w.added(w.insert_channel.done());
}

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
  const auto count = [&w](std::string_view name, auto value) {
    if (w.error) return;
    w.insert_counter << name << value;
    w.require(w.insert_counter.done());
  };
  for (const CounterName& counter : kCounters) count(counter.name, counters.*counter.member);
  count(kDeepestQueue, counters.deepest_queue);
  count(kPaused, counters.paused);
  count(kBufferMax, counters.buffer_max);
  if (!w.error) {
    Statement ending;
    const std::string hash = fmt::format("{:016x}", counters.hash);
    if (w.require(ending.prepare(w.database,
                                 "UPDATE run SET status = ?, finished_at = ?, wall_seconds = ?, "
                                 "cpu_seconds = ?, hash = ?"))) {
      ending << to_text(status) << std::string_view(at) << wall_seconds << cpu_seconds
             << std::string_view(hash);
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
// --------------------------------------------------------------------------------------

struct ResultReader::Impl {
  fs::path path;
  Database database;
  RunInfo run;
  RunState state;
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
  if (sqlite3_open_v2(path.c_str(), &database.handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    return database.failure(path);
  }
  sqlite3_extended_result_codes(database.handle, 1);
  sqlite3_busy_timeout(database.handle, 5'000);

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
  if (!header.prepare(
          database,
          "SELECT name, scheme, seed, scenario, version, git_commit, source, threads, "
          "hosts, links, switches, flows, jobs, flow_bytes, mtu_bytes, pfc, host_rate_bps, "
          "base_rtt_ps, bdp_bytes, ideal_fct_ps, started_at, heartbeat_at, "
          "finished_at, status, now_ps, wall_seconds, cpu_seconds, hash FROM run")) {
    return database.failure(path);
  }
  if (!header.next()) {
    if (!header.ok()) return database.failure(path);
    return error_at(path, "has no run in it. run the scenario again");
  }
  RunInfo& run = impl->run;
  RunState& state = impl->state;
  std::string status;
  std::uint32_t pfc = 0;
  header >> run.name >> run.scheme >> run.seed >> run.scenario >> run.version >> run.commit >>
      run.source >> run.threads >> run.hosts >> run.links >> run.switches >> run.flows >>
      run.jobs >> run.bytes >> run.mtu >> pfc >> run.host_rate >> run.base_rtt >> run.bdp >>
      run.ideal_fct >> state.started_at >> state.heartbeat_at >> state.finished_at >> status >>
      state.now >> state.wall_seconds >> state.cpu_seconds >> state.hash;
  run.pfc = pfc != 0;
  state.status = RunStatus::failed;
  for (const StatusName& name : kStatuses) {
    if (name.text == status) state.status = name.status;
  }
  return std::shared_ptr<ResultReader>(new ResultReader(std::move(impl)));
}

const fs::path& ResultReader::path() const { return impl_->path; }
const RunInfo& ResultReader::run() const { return impl_->run; }
const RunState& ResultReader::state() const { return impl_->state; }

Result<std::vector<FlowRecord>, FileError> ResultReader::flows() {
  Statement rows;
  if (!rows.prepare(impl_->database,
                    "SELECT flow, src, dst, size_bytes, start_ps, delivered_ps, end_ps, packets, "
                    "retransmissions, probes, timeouts, path_changes, cnps, naks, victim_packets "
                    "FROM flows ORDER BY flow")) {
    return impl_->database.failure(impl_->path);
  }
  std::vector<FlowRecord> flows;
  while (rows.next()) {
    FlowRecord& f = flows.emplace_back();
    rows >> f.flow >> f.src >> f.dst >> f.size >> f.start >> f.delivered >> f.end >> f.packets >>
        f.retransmissions >> f.probes >> f.timeouts >> f.path_changes >> f.cnps >> f.naks >>
        f.victim_packets;
  }
  if (!rows.ok()) return impl_->database.failure(impl_->path);
  return flows;
}

Result<std::vector<JobRecord>, FileError> ResultReader::jobs() {
  Statement rows;
  if (!rows.prepare(
          impl_->database,
          "SELECT job, name, ranks, messages, bytes, start_ps, end_ps, ideal_ps FROM jobs "
          "ORDER BY job")) {
    return impl_->database.failure(impl_->path);
  }
  std::vector<JobRecord> jobs;
  while (rows.next()) {
    JobRecord& j = jobs.emplace_back();
    rows >> j.job >> j.name >> j.ranks >> j.messages >> j.bytes >> j.start >> j.end >> j.ideal;
  }
  if (!rows.ok()) return impl_->database.failure(impl_->path);
  return jobs;
}

Result<Counters, FileError> ResultReader::counters() {
  Statement rows;
  if (!rows.prepare(impl_->database, "SELECT name, value FROM counters")) {
    return impl_->database.failure(impl_->path);
  }
  Counters counters;
  while (rows.next()) {
    std::string name;
    std::uint64_t value = 0;
    rows >> name >> value;
    for (const CounterName& counter : kCounters) {
      if (name == counter.name) counters.*counter.member = value;
    }
    const auto amount = static_cast<std::int64_t>(value);
    if (name == kDeepestQueue) counters.deepest_queue = bytes(amount);
    if (name == kPaused) counters.paused = ps(amount);
    if (name == kBufferMax) counters.buffer_max = bytes(amount);
  }
  if (!rows.ok()) return impl_->database.failure(impl_->path);
  for (const char digit : impl_->state.hash) {
    const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    counters.hash = counters.hash << 4 | static_cast<std::uint64_t>(value & 0xf);
  }
  return counters;
}

Result<std::vector<LinkInfo>, FileError> ResultReader::links() {
  Statement rows;
  if (!rows.prepare(impl_->database,
                    "SELECT link, from_node, to_node, rate_bps, latency_ps, down FROM links "
                    "ORDER BY link")) {
    return impl_->database.failure(impl_->path);
  }
  std::vector<LinkInfo> links;
  while (rows.next()) {
    LinkInfo& link = links.emplace_back();
    rows >> link.link >> link.from >> link.to >> link.rate >> link.latency >> link.down;
  }
  if (!rows.ok()) return impl_->database.failure(impl_->path);
  return links;
}

std::optional<FileError> ResultReader::for_each(
    const std::function<void(const LinkSample&)>& take) {
  Statement rows;
  if (!rows.prepare(impl_->database,
                    "SELECT time_ps, link, carried_bytes, arrived_bytes, queue_max_bytes, "
                    "qdelay_max_ps, marks, drops, paused_ps, pause_frames FROM link_samples ORDER "
                    "BY rowid")) {
    return impl_->database.failure(impl_->path);
  }
  while (rows.next()) {
    LinkSample s;
    rows >> s.time >> s.link >> s.carried >> s.arrived >> s.queue_max >> s.qdelay_max >> s.marks >>
        s.drops >> s.paused >> s.pause_frames;
    take(s);
  }
  if (!rows.ok()) return impl_->database.failure(impl_->path);
  return std::nullopt;
}

std::optional<FileError> ResultReader::for_each(
    const std::function<void(const FlowSample&)>& take) {
  Statement rows;
  if (!rows.prepare(impl_->database,
                    "SELECT time_ps, flow, cwnd_bytes, rtt_ps, avg_qdelay_ps, acked_bytes, "
                    "ecn_marks, rate_bps, cnps FROM flow_samples ORDER BY rowid")) {
    return impl_->database.failure(impl_->path);
  }
  while (rows.next()) {
    FlowSample s;
    rows >> s.time >> s.flow >> s.cwnd >> s.rtt >> s.avg_qdelay >> s.acked >> s.ecn_marks >>
        s.rate >> s.cnps;
    take(s);
  }
  if (!rows.ok()) return impl_->database.failure(impl_->path);
  return std::nullopt;
}

std::optional<FileError> ResultReader::for_each(const std::function<void(const FlowEvent&)>& take) {
  Statement rows;
  if (!rows.prepare(impl_->database,
                    "SELECT time_ps, flow, kind, psn, path, ecn, rtt_ps, acked_bytes, cwnd_bytes, "
                    "inflight_bytes, rate_bps, cause FROM flow_events ORDER BY rowid")) {
    return impl_->database.failure(impl_->path);
  }
  while (rows.next()) {
    FlowEvent e;
    rows >> e.time >> e.flow >> e.kind >> e.psn >> e.path >> e.ecn >> e.rtt >> e.acked >> e.cwnd >>
        e.inflight >> e.rate >> e.cause;
    take(e);
  }
  if (!rows.ok()) return impl_->database.failure(impl_->path);
  return std::nullopt;
}

Result<std::vector<ChannelInfo>, FileError> ResultReader::channels() {
  Statement rows;
  if (!rows.prepare(impl_->database, "SELECT flow, job, src, dst FROM channels ORDER BY flow")) {
    return impl_->database.failure(impl_->path);
  }
  std::vector<ChannelInfo> channels;
  while (rows.next()) {
    ChannelInfo& c = channels.emplace_back();
    rows >> c.flow >> c.job >> c.src >> c.dst;
  }
  if (!rows.ok()) return impl_->database.failure(impl_->path);
  return channels;
}

}  // namespace strack::metrics
