// `strack mpirun` and `strack doctor`: MPI programs over STrack, and what that needs.
#pragma once

#include <string>
#include <vector>

#include "cli/text.h"

namespace strack::cli {

/// The folder of libstrack-fi.so: one of `list` (with colons), or where it lies relative to `program`; empty: nowhere.
[[nodiscard]] std::string provider_folder(const std::string& list, const std::string& program);
/// The same with FI_PROVIDER_PATH and this program.
[[nodiscard]] std::string provider_folder();
/// A list of folders with this one in it, first unless it is there already: the others' providers stay.
[[nodiscard]] std::string with_provider(const std::string& list, const std::string& folder);

/// What `mpirun` is started with, so that Open MPI takes the provider: its words and the variables to set.
struct MpirunCall {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> variables;
};
/// `given` are the user's words; `forwarded` the names of variables that ranks on other hosts need, too.
[[nodiscard]] MpirunCall mpirun_call(const std::vector<std::string>& given,
                                     const std::string& folder,
                                     const std::vector<std::string>& forwarded);

/// Becomes mpirun; returns only if that fails.
int mpirun(const std::vector<std::string>& given);
/// 0 if nothing that is needed is missing.
int doctor(const Formats& formats = {});

}  // namespace strack::cli
