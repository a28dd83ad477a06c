// One run, one SQLite file: written while the run goes, readable at any moment, and after a crash.
//
// The command line writes it with ResultWriter; `strack sim summary`, sweeps and reports read it
// with ResultReader. docs/results.md describes the tables. What stays true: from its first commit
// on, the file is valid whatever happens to the writer, and says that it is partial until finish()
// has said otherwise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "metrics/records.h"
#include "metrics/sqlite.h"

namespace strack::metrics {

/// "STRK": what SQLite's header says about whose file it is.
inline constexpr std::int32_t kApplicationId = 0x5354524B;
/// Goes up whenever a reader of the old tables would go wrong.
inline constexpr std::int32_t kSchemaVersion = 4;

/// What is known before a run starts.
struct RunInfo {
  std::string name;      ///< of the scenario
  std::string scheme;    ///< adaptive, oblivious, ...
  std::string scenario;  ///< the resolved scenario, as TOML
  std::uint64_t seed = 0;
  std::uint32_t threads = 1;
  std::string version;  ///< of the program
  std::string commit;   ///< it was built from, where known
  std::string source;   ///< a fingerprint of the sources that decide results

  std::uint32_t hosts = 0;
  std::uint64_t links = 0;
  std::uint64_t switches = 0;
  std::uint64_t flows = 0;
  std::uint64_t jobs = 0;
  Bytes bytes{0};  ///< of all flows and jobs
  Bytes mtu{0};
  bool pfc = false;  ///< switches pause rather than drop
  BitsPerSecond host_rate{0};
  Picoseconds base_rtt{0};
  Bytes bdp{0};
  Picoseconds ideal_fct{0};  ///< what physics allows the slowest flow, or job

  // Tables of their own.
  std::vector<Setting> settings;        ///< the scenario key by key
  std::vector<WorkloadInfo> workloads;  ///< in the order of the scenario
};

/// How far a run has come.
enum class RunStatus : std::uint8_t {
  running,     ///< somebody is writing the file; or was, and died
  finished,    ///< every flow and job is done
  time_limit,  ///< stopped where the scenario said
  stalled,     ///< flows or jobs are left, but nothing would ever have happened again
  interrupted,
  disk_full,
  failed,
};

/// By its header, whatever the rest of it is: what --force replaces.
[[nodiscard]] bool is_result_file(const std::filesystem::path& path);

/// As the file says it; partial ones begin with "partial: ".
[[nodiscard]] std::string_view to_text(RunStatus status);

/// As the file says them: "sent", "out_of_order".
[[nodiscard]] std::string_view to_text(EventKind kind);
[[nodiscard]] std::string_view to_text(LossCause cause);

/// How a run ended, or where it is.
struct RunState {
  RunStatus status = RunStatus::running;
  bool live = false;         ///< a program is writing the file right now
  std::string started_at;    ///< UTC, ISO 8601
  std::string finished_at;   ///< empty while it runs
  std::string heartbeat_at;  ///< the newest commit
  Instant now{};             ///< simulated time at the newest commit
  double wall_seconds = 0;
  double cpu_seconds = 0;
  std::string hash;  ///< of every completion, drop and mark; empty while it runs

  /// The run has reached its own end: the same scenario would end in the same way again.
  [[nodiscard]] bool complete() const {
    return status == RunStatus::finished || status == RunStatus::time_limit ||
           status == RunStatus::stalled;
  }
};

class MemoryResult;

struct WriterOptions {
  bool force = false;          ///< replace an existing result file
  std::int64_t max_pages = 0;  ///< for tests: a file of more 4 KB pages finds the disk full
  /// [D127] Rows stay in memory as long as they take no more bytes than this; beyond, there is the file.
  std::int64_t memory = 0;
  // Of a run that is written after it has ended; else now.
  std::string started_at = {};
  std::string finished_at = {};
};

class ResultWriter {
 public:
  /// Makes the file and its folder, and writes the header. Never replaces a file unasked, and
  /// never one that is not a result file.
  [[nodiscard]] static Result<std::shared_ptr<ResultWriter>, FileError> create(
      const std::filesystem::path& path, const RunInfo& run, const WriterOptions& options = {});

  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;
  /// Commits what there is. Without finish(), the file stays marked as running.
  ~ResultWriter();

  void add(const LinkInfo& link);
  void add(const FlowRecord& flow);
  void add(const JobRecord& job);
  void add(const LinkSample& sample);
  void add(const FlowSample& sample);
  void add(const FlowEvent& event);
  void add(const ChannelInfo& channel);
  void add(const CommunicationRecord& one);
  void add(const ComputationInfo& one);

  /// Commits when the newest commit is older than half a second. To be called often.
  void tick(Instant now);
  /// Commits what there is, at once.
  void commit(Instant now);

  /// The first thing that went wrong; nothing is written after it.
  [[nodiscard]] const std::optional<FileError>& error() const;

  /// Writes totals and the ending, commits, and folds everything into the one file.
  [[nodiscard]] std::optional<FileError> finish(RunStatus status, Instant now,
                                                const Counters& counters, double wall_seconds,
                                                double cpu_seconds);
  /// After finish(): the rows, where they have stayed in memory and there is no file.
  [[nodiscard]] std::shared_ptr<const MemoryResult> in_memory() const;

 private:
  struct Impl;
  explicit ResultWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class ResultReader {
 public:
  [[nodiscard]] static Result<std::shared_ptr<ResultReader>, FileError> open(
      const std::filesystem::path& path);

  ResultReader(const ResultReader&) = delete;
  ResultReader& operator=(const ResultReader&) = delete;
  ~ResultReader();

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] const RunInfo& run() const;
  [[nodiscard]] const RunState& state() const;

  /// By flow number. A run that died has reported only the flows that were done.
  [[nodiscard]] Result<std::vector<FlowRecord>, FileError> flows();
  /// By job number; the same holds for them.
  [[nodiscard]] Result<std::vector<JobRecord>, FileError> jobs();
  /// All zero where the run has not ended.
  [[nodiscard]] Result<Counters, FileError> counters();
  [[nodiscard]] Result<std::vector<LinkInfo>, FileError> links();
  /// By number; those of jobs that were sampled or inspected.
  [[nodiscard]] Result<std::vector<ChannelInfo>, FileError> channels();
  /// Of jobs whose graphs say what their messages do together, in the order of their ends.
  [[nodiscard]] Result<std::vector<CommunicationRecord>, FileError> communications();
  [[nodiscard]] Result<std::vector<ComputationInfo>, FileError> computations();
  /// In the order they were recorded, which is that of time.
  [[nodiscard]] std::optional<FileError> for_each(
      const std::function<void(const LinkSample&)>& take);
  [[nodiscard]] std::optional<FileError> for_each(
      const std::function<void(const FlowSample&)>& take);
  /// In order of time, then of flows.
  [[nodiscard]] std::optional<FileError> for_each(
      const std::function<void(const FlowEvent&)>& take);

 private:
  struct Impl;
  explicit ResultReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strack::metrics
