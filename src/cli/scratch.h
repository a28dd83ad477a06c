// A folder for what a command needs on disk only while it runs.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace strack::cli {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code none;
    std::string name = (std::filesystem::temp_directory_path(none) / "strack-XXXXXX").string();
    if (none) return;
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  /// Empty where none could be made.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace strack::cli
