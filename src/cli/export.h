// `strack sim export`, and what `sim run` writes beside its result file: a timeline for Perfetto, a capture for Wireshark.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "metrics/result_file.h"

namespace strack::cli {

struct ExportOptions {
  std::filesystem::path file;      ///< a result file
  std::filesystem::path perfetto;  ///< empty: none
  std::filesystem::path pcap;      ///< empty: none
  std::optional<std::uint32_t> flow;
  bool force = false;
  bool quiet = false;

  [[nodiscard]] bool any() const { return !perfetto.empty() || !pcap.empty(); }
};
/// Whether what is asked for may be written beside `others`, which the command reads or writes: 0, or an error has been
/// printed.
int check_export(const ExportOptions& options, const std::vector<std::filesystem::path>& others);
/// Why no capture can be made of a run's flow, or of the first, as far as that is known before it; empty where it can.
[[nodiscard]] std::string refuses_capture(const metrics::RunInfo& run,
                                          std::optional<std::uint32_t> flow);
int sim_export(const ExportOptions& options);

}  // namespace strack::cli
