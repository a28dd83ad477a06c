// The rows that the program carries, so that it can repeat the paper where there is no repository.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "metrics/result_file.h"

namespace strack::paper {

/// The files of scenarios/paper, one after the other, each behind a line "@@ name size".
[[nodiscard]] std::string_view own_rows();

/// Writes them into a folder.
[[nodiscard]] std::optional<metrics::FileError> write_own_rows(const std::filesystem::path& folder);

}  // namespace strack::paper
