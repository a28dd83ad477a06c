// In what runs differ that are compared with each other: what was asked for, not what their schemes
// bring along.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/result_file.h"

namespace strack::report {

/// A setting that means something to a run; null where there is none, or where it is a parameter of
/// another transport than the run's.
[[nodiscard]] const metrics::Setting* setting_of(const metrics::RunInfo& run, std::string_view key);

/// The keys in which they differ, in the order of the scenarios. Runs of one scheme by whatever does
/// not follow from other keys; runs of two by what was given to either: the rest is how the schemes
/// are. Names, schemes and seeds are told elsewhere.
enum class Missing : bool { same, differs };  ///< from a run without the key
[[nodiscard]] std::vector<std::string> differing_keys(std::span<const metrics::RunInfo* const> runs,
                                                      Missing missing = Missing::same);

}  // namespace strack::report
