// A report put into files: the page, one CSV per figure and table, one PNG per figure.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/result_file.h"
#include "report/model.h"

namespace strack::report {

using metrics::FileError;

struct SaveOptions {
  bool force = false;  ///< replace a file that is not a report
};

/// Whether a page could be written here, asked before long work. Never replaces what is not a page
/// of ours, unless forced.
[[nodiscard]] std::optional<FileError> check_page_path(const std::filesystem::path& path,
                                                       const SaveOptions& options = {});

/// Writes a file whole or not at all: beside its place first, then moved there. Makes its folder.
[[nodiscard]] std::optional<FileError> write_file(const std::filesystem::path& path,
                                                  const std::string& text);

/// check_page_path(), html(), write_file().
[[nodiscard]] std::optional<FileError> save_page(const Report& report,
                                                 const std::filesystem::path& path,
                                                 const SaveOptions& options = {});

/// FOLDER/<figure or table>.csv and FOLDER/runs.csv; how many.
[[nodiscard]] Result<std::size_t, FileError> save_csv(const Report& report,
                                                      const std::filesystem::path& folder);

/// The browser that draws pictures: $CHROMIUM, or what PATH has; or how to get it.
[[nodiscard]] Result<std::filesystem::path, FileError> find_browser();

/// FOLDER/<figure>.png, drawn by a browser from the saved page; how many. A minute each at
/// most; `stop` ends it early.
[[nodiscard]] Result<std::size_t, FileError> save_png(const Report& report,
                                                      const std::filesystem::path& page,
                                                      const std::filesystem::path& folder,
                                                      const std::atomic<bool>* stop = nullptr);

}  // namespace strack::report
