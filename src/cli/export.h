// `strack sim export`, and what `sim run` writes beside its result file: a timeline for Perfetto, a capture for Wireshark.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

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
/// Whether what is asked for may be written beside a result: 0, or an error has been printed.
int check_export(const ExportOptions& options, const std::filesystem::path& result);
int sim_export(const ExportOptions& options);

}  // namespace strack::cli
