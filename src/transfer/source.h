// Where files to send are read from: anywhere on this host, as its user names them, or below one folder and nowhere
// else, as a peer does.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "transfer/file_handle.h"

namespace strack::transfer {

class Source {
 public:
  /// Anywhere; paths are those of this host.
  Source() = default;
  /// Paths are below this folder. Or says what is wrong.
  [[nodiscard]] static Result<std::shared_ptr<const Source>, std::string> below(
      const std::string& folder);

  /// As open(2), never through a link at the end of the path. Below a folder no step of the path is a link, whoever
  /// makes one meanwhile, and nothing leads out; the empty path is the folder. Says why not in errno.
  [[nodiscard]] FileHandle open(const std::string& path, int flags) const;
  [[nodiscard]] bool is_anywhere() const { return !folder_; }

  /// The same, step by step: for kernels that cannot do it at once.
  [[nodiscard]] FileHandle open_in_steps(const std::string& path, int flags) const;

 private:
  FileHandle folder_;
};

}  // namespace strack::transfer
