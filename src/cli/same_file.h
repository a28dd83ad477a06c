// Whether what a command is to write is something that it has another use for.
#pragma once

#include <filesystem>
#include <vector>

namespace strack::cli {

/// One file by two names: spelt otherwise, or by links.
[[nodiscard]] bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// The first of `others` that is the same file; null: none is.
[[nodiscard]] const std::filesystem::path* find_same_file(
    const std::filesystem::path& file, const std::vector<std::filesystem::path>& others);

}  // namespace strack::cli
