// [D117] A result file of a run that was stopped, and is to go on where it was.
//
//   rewind(file, mark);                  // what came behind the mark is gone,
//   ResultWriter::create(file, run);     // and this goes on with it, where it would refuse any other that is there
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/units.h"
#include "metrics/sqlite.h"

namespace strack::metrics {

/// What was in a result file at some time of its run. All rows of flows that had ended by then, and of the others so
/// many; jobs are told of again.
struct ResultMark {
  std::string started_at;  ///< tells runs of one scenario apart
  Instant now{};
  std::uint64_t flows = 0;
  std::uint64_t link_samples = 0;
  std::uint64_t flow_samples = 0;
  std::uint64_t flow_events = 0;
  std::uint64_t communications = 0;
  std::int64_t inside_bytes = 0;  ///< of flows that had finished, by links inside servers

  template <class Archive>
  void state(Archive& a) {
    a(started_at, now, flows, link_samples, flow_samples, flow_events, communications,
      inside_bytes);
  }
};

/// When the run of a file began, as the file says it; nothing where there is none.
[[nodiscard]] std::string started_at(const std::filesystem::path& path);

/// Cuts a file back to a mark. Why not, where it is not the one that the mark was made of, or cannot be written now; then
/// it is as it was.
[[nodiscard]] std::optional<FileError> rewind(const std::filesystem::path& path,
                                              const ResultMark& mark);

/// Whether rewind() was the last to write it.
[[nodiscard]] bool is_rewound(const std::filesystem::path& path);

}  // namespace strack::metrics
