// `strack vectors`: conformance vectors of the core, for other implementations of it.
#pragma once

#include <filesystem>

#include "cli/text.h"

namespace strack::cli {

struct VectorsExportOptions {
  std::filesystem::path out;  ///< empty: standard output
  bool json = false;
  bool events = false;  ///< without decisions and digests
  bool force = false;
};
int vectors_export(const VectorsExportOptions& options);

struct VectorsCheckOptions {
  std::filesystem::path file;
  bool json = false;
};
int vectors_check(const VectorsCheckOptions& options);

int vectors_list(const Formats& formats);

}  // namespace strack::cli
