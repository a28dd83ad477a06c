// [D117] The checkpoint of a run: its whole state in a file beside the result file, from which the same command goes
// on to the same bits.
//
// Written under another name and renamed, so that there is a whole one or the one before. What was written by another
// program, for another scenario or network, or is damaged, is refused; then the run starts anew. Where only the moment is
// wrong (a full disk, a result file that somebody keeps locked), both files stay as they are and the run does not start.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "metrics/records.h"
#include "metrics/result_file.h"
#include "metrics/result_resume.h"
#include "run/communications.h"
#include "run/run.h"
#include "sim/cluster.h"
#include "sim/engine/archive.h"
#include "sim/engine/keeper.h"

namespace strack::run {

/// "RESULT.checkpoint".
[[nodiscard]] std::filesystem::path checkpoint_path(const std::filesystem::path& result);

/// Whether there is something of that name that never was a checkpoint, of whatever version.
[[nodiscard]] bool is_foreign(const std::filesystem::path& checkpoint);

/// What a checkpoint says before the state itself.
struct CheckpointHead {
  std::string program;   ///< of which it is: version, sources, compiler
  std::string scenario;  ///< resolved, with its seed
  std::uint64_t inputs =
      0;  ///< a digest of what else a run is made of: files that the scenario names
  Instant now{};
  double share = 0;  ///< of all bytes that are acknowledged
  double wall_seconds = 0;
  double cpu_seconds = 0;
  metrics::ResultMark mark;

  template <class Archive>
  void state(Archive& a) {
    a(program, scenario, inputs, now, share, wall_seconds, cpu_seconds, mark);
  }
};

/// For this run: all but how far it has come.
[[nodiscard]] CheckpointHead head_of(const Plan& plan);
/// Whether a result file is of the scenario and the seed of another; threads make no difference.
[[nodiscard]] bool is_of_the_same_run(const metrics::RunInfo& a, const metrics::RunInfo& b);
/// Of the network that was built.
[[nodiscard]] std::uint64_t digest_of_links(const sim::Cluster& cluster);

/// Writes one; what went wrong, if so, and then there is the one before, or none.
[[nodiscard]] std::optional<std::string> write_checkpoint(
    const std::filesystem::path& path, const std::function<void(sim::Saver&)>& save);

/// Why one is not gone on with, in words that follow its name.
struct NotResumed {
  std::string why;
  bool passing = false;  ///< it may be another time, so it is to be kept
};

/// One that is whole, in memory.
class CheckpointFile {
 public:
  [[nodiscard]] static Result<std::unique_ptr<CheckpointFile>, NotResumed> open(
      const std::filesystem::path& path);
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;
  ~CheckpointFile();

  [[nodiscard]] std::span<const std::byte> body() const { return body_; }

 private:
  CheckpointFile(void* mapped, std::size_t size, std::span<const std::byte> body)
      : mapped_(mapped), size_(size), body_(body) {}
  void* mapped_;
  std::size_t size_;
  std::span<const std::byte> body_;
};

/// A run that goes on: what it was, in a new cluster.
struct Resumed {
  CheckpointHead head;
  Communications communications;
  std::unique_ptr<sim::Cluster> cluster;
  std::vector<metrics::JobRecord> jobs;  ///< that were done
};
/// Goes on with what is beside the result file, which is cut back to it. Why not, if so.
[[nodiscard]] Result<Resumed, NotResumed> resume(const Plan& plan);

/// Writes checkpoints while a run runs.
class CheckpointKeeper final : public sim::Keeper {
 public:
  /// `head` is that of this run, its times those of the runs before; `mark` and `communications` are what has been
  /// recorded by the time it is asked.
  CheckpointKeeper(const Plan& plan, CheckpointHead head, const metrics::ResultMark& mark,
                   metrics::ResultWriter& writer, Communications& communications,
                   std::function<double()> cpu_seconds);
  /// Before the cluster runs. False: it keeps nothing.
  [[nodiscard]] bool watch(sim::Cluster& cluster);

  [[nodiscard]] bool due() override;
  void keep(const std::function<void(sim::Saver&)>& save, const sim::Progress& progress,
            bool stopped) override;
  /// The newest one; nothing: none was written.
  [[nodiscard]] const std::optional<CheckpointHead>& newest() const { return newest_; }
  /// What went wrong with the newest, if so.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  [[nodiscard]] double seconds() const;

  const CheckpointParams& params_;
  const std::filesystem::path path_;
  const CheckpointHead before_;
  std::uint64_t links_ = 0;
  const metrics::ResultMark& mark_;
  metrics::ResultWriter& writer_;
  Communications& communications_;
  const std::function<double()> cpu_seconds_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double last_ = 0;  ///< when one was written, or tried to be
  std::optional<CheckpointHead> newest_;
  std::string problem_;
};

}  // namespace strack::run
