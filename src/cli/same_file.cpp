#include "cli/same_file.h"

#include <algorithm>
#include <system_error>

namespace strack::cli {
namespace fs = std::filesystem;

namespace {

/// Where a file is, or would be made.
fs::path place_of(const fs::path& name) {
  std::error_code unknown;
  fs::path path = fs::absolute(name);
  // A link to what is not there yet; a loop of links is given up.
  constexpr int kMostLinks = 40;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, unknown); ++i)
    path = path.parent_path() / fs::read_symlink(path, unknown);
  const fs::path found = fs::weakly_canonical(path, unknown);
  return unknown ? path.lexically_normal() : found;
}

}  // namespace

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code missing;
  return fs::equivalent(a, b, missing) || place_of(a) == place_of(b);
}

const fs::path* find_same_file(const fs::path& file, const std::vector<fs::path>& others) {
  const auto found = std::find_if(others.begin(), others.end(), [&](const fs::path& other) {
    return !other.empty() && is_same_file(file, other);
  });
  return found == others.end() ? nullptr : &*found;
}

}  // namespace strack::cli
