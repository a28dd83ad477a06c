// `strack mpirun`: MPI programs over STrack.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strack::cli {

inline constexpr const char* kProvider = "libstrack-fi.so";

/// The folder of libstrack-fi.so: one of `list` (with colons), or where it lies relative to `program`; empty: nowhere.
[[nodiscard]] std::string provider_folder(const std::string& list, const std::string& program);
/// The same with FI_PROVIDER_PATH and this program.
[[nodiscard]] std::string provider_folder();
/// A list of folders with this one in it, first unless it is there already: the others' providers stay.
[[nodiscard]] std::string with_provider(const std::string& list, const std::string& folder);

/// Names and values.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// What `mpirun` is started with, so that Open MPI takes the provider: its words and the variables to set.
struct MpirunCall {
  std::vector<std::string> words;
  Variables variables;
};
/// [D164] Open MPI's parameter osc with which the windows of a program of these bytes go over STrack; empty: it may use
/// threads, or is none of MPI's.
[[nodiscard]] std::string windows_of(std::string_view program);
/// The same for the programs among mpirun's words; empty: one of them is to be left alone, or none was found.
[[nodiscard]] std::string windows_for(const std::vector<std::string>& given);
/// `given` are the user's words; `folder` is the provider's. What ranks on other hosts need of the environment goes with
/// them: FI_STRACK_* and the log's level. `windows` is for osc, unless the user has chosen.
[[nodiscard]] MpirunCall mpirun_call(const std::vector<std::string>& given,
                                     const std::string& folder, const Variables& environment,
                                     const std::string& windows = {});

/// Becomes mpirun; returns only if that fails.
int mpirun(const std::vector<std::string>& given);

}  // namespace strack::cli
