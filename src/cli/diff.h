// `strack diff`: what changed between two sets of result files.
#pragma once

#include <filesystem>
#include <vector>

namespace strack::cli {

struct DiffOptions {
  std::vector<std::filesystem::path> files;  ///< A and B; with `with`, all of A
  std::vector<std::filesystem::path> with;   ///< B, where it is several
  bool json = false;
  bool csv = false;
};
/// 0: nothing differs by more than seeds explain; 1: something does; 2: they cannot be compared.
int diff(const DiffOptions& options);

}  // namespace strack::cli
