// For tests of what a user may not do, where they run as root, who may everything.
#pragma once

#include <unistd.h>

#include <filesystem>

#include "base/check.h"

namespace strack::transfer::testing {

/// From here to its end, root is a user without rights, to whom a folder and all in it belong.
class AsNobody {
 public:
  explicit AsNobody(const std::filesystem::path& folder) {
    if (::geteuid() != 0) return;
    was_root_ = true;
    STRACK_CHECK(::lchown(folder.c_str(), kNobody, kNobody) == 0);
    for (const auto& one : std::filesystem::recursive_directory_iterator(folder))
      STRACK_CHECK(::lchown(one.path().c_str(), kNobody, kNobody) == 0);
    STRACK_CHECK(::seteuid(kNobody) == 0);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() {
    if (was_root_) STRACK_CHECK(::seteuid(0) == 0);
  }

 private:
  static constexpr uid_t kNobody = 65'534;
  bool was_root_ = false;
};

}  // namespace strack::transfer::testing
