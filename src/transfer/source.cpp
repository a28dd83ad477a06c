#include "transfer/source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "base/text.h"

namespace strack::transfer {

Result<std::shared_ptr<const Source>, std::string> Source::below(const std::string& folder) {
  auto source = std::make_shared<Source>();
  source->folder_ = FileHandle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!source->folder_)
    return fmt::format("the folder '{}' cannot be opened: {}", printable(folder),
                       std::strerror(errno));
  return std::shared_ptr<const Source>(std::move(source));
}

FileHandle Source::open(const std::string& path, int flags) const {
  flags |= O_CLOEXEC | O_NOFOLLOW;
  if (!folder_) return FileHandle(::open(path.c_str(), flags));
  open_how how{};
  how.flags = static_cast<decltype(how.flags)>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const auto opened =
      ::syscall(SYS_openat2, folder_.get(), path.empty() ? "." : path.c_str(), &how, sizeof how);
  // A sandbox may forbid a call that it does not know.
  if (opened < 0 && (errno == ENOSYS || errno == EPERM)) return open_in_steps(path, flags);
  return FileHandle(static_cast<int>(opened));
}

FileHandle Source::open_in_steps(const std::string& path, int flags) const {
  flags |= O_CLOEXEC | O_NOFOLLOW;
  FileHandle at(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0));
  std::size_t begin = 0;
  while (at) {
    const std::size_t slash = path.find('/', begin);
    const bool last = slash == std::string::npos;
    const std::string name = path.substr(begin, last ? slash : slash - begin);
    if (name == "..") {
      errno = EXDEV;
      return {};
    }
    at = FileHandle(::openat(at.get(), name.empty() ? "." : name.c_str(),
                             last ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (last) break;
    begin = slash + 1;
  }
  return at;
}

}  // namespace strack::transfer
