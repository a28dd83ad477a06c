// `strack plan`: which network and transport a job mix should be given.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace strack::cli {

struct PlanOptions {
  std::filesystem::path file;
  unsigned jobs = 0;
  std::optional<std::uint32_t> threads;
  std::filesystem::path out;  ///< a folder; empty: results/<name>-plan
  bool force = false;
  bool dry_run = false;
  bool quiet = false;
  bool json = false;
  bool csv = false;
};
int plan(const PlanOptions& options);

}  // namespace strack::cli
