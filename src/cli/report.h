// `strack report`: result files as a page for people, as CSV for programs, as pictures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace strack::cli {

struct ReportOptions {
  std::vector<std::filesystem::path> files;
  std::filesystem::path out;  ///< empty: <file>.html beside one result, report.html beside several
  std::filesystem::path csv;  ///< a folder; empty: none is wanted
  std::filesystem::path png;  ///< likewise
  std::string title;          ///< empty: from the runs
  bool force = false;
};

/// Returns the program's exit status: 0; 1 where some of the files could not be read, or something
/// could not be written; 2 where none could be read, or for a mistake of the user's; 130 after
/// Ctrl-C.
int report(const ReportOptions& options);

}  // namespace strack::cli
