// A report on any result files: one run in full, or several compared.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/model.h"

namespace strack::report {

struct RunReport {
  Report report;  ///< made.at and so on are the caller's to fill
  /// Of files that cannot be read: a sentence each, which is also a notice in the report.
  std::vector<std::string> unreadable;
  std::size_t read = 0;  ///< files that could be
};

/// Runs that differ only in scheme and its parameters, message size and seed are compared; others
/// have sections of their own. What a file does not hold is not drawn.
[[nodiscard]] RunReport report_on(const std::vector<std::filesystem::path>& files,
                                  const std::string& title = "");

}  // namespace strack::report
