// A run as a timeline that ui.perfetto.dev and chrome://tracing open: their JSON trace format.
//
// Jobs and their collectives, what every host sends, links and flows over time, failures: as far as the result
// file holds them. A message is a slice from when it was posted to its last acknowledgement; several at a time
// have lanes. Messages of jobs are there where they were recorded (record.messages).
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "metrics/result_file.h"

namespace strack::exports {

struct PerfettoLimits {
  std::size_t slices = 500'000;   ///< messages and flows, the first by time
  std::size_t links = 32;         ///< those with the deepest queues
  std::size_t samples = 500'000;  ///< of links and flows
  std::size_t flaps = 100'000;    ///< times that one thing is down
};

/// What was left out, for people; empty where nothing was.
struct Exported {
  std::string left_out;
};

[[nodiscard]] Result<Exported, metrics::FileError> save_perfetto(metrics::ResultReader& reader,
                                                                 const std::filesystem::path& file,
                                                                 const PerfettoLimits& limits = {});

}  // namespace strack::exports
