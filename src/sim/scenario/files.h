// Files that scenarios and commands are made from: whole texts, and the files that a name stands for.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/amount.h"
#include "workload/formats/trace.h"

namespace strack::sim {

/// A file's text, or why there is none.
[[nodiscard]] Result<std::string, workload::TextError> read_file(const std::filesystem::path& path);

/// What stands for a rank's number in the name of a trace that has a file for each.
inline constexpr std::string_view kRankMark = "{rank}";

/// The files that a name stands for: itself; or with {rank} in it, those of all ranks, from 0 on. A
/// rank that is missing is an error.
[[nodiscard]] Result<std::vector<std::filesystem::path>, workload::TextError> trace_files(
    const std::filesystem::path& name);

/// The whole trace from files in the order of ranks.
[[nodiscard]] Result<workload::Trace, workload::TraceError> read_trace(
    std::span<const std::filesystem::path> files, const workload::TraceParams& params);

}  // namespace strack::sim
