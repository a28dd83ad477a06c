#include "transfer/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "transfer/digest.h"
#include "transfer/disk.h"
#include "transfer/names.h"

namespace strack::transfer {
namespace {

/// What a folder is known by when it is to be finished: one that was replaced, or whose permissions somebody
/// has changed meanwhile, is no longer ours. Nothing if it cannot be looked at.
std::optional<std::string> folder_note(int folder) {
  struct stat found {};
  if (::fstat(folder, &found) != 0) return std::nullopt;
  // An inode may be used again by another folder, which is born later. Not every file system knows when; and
  // devices are counted anew when a machine starts, so they are only the second best.
  struct statx more {};
  const bool born = ::statx(folder, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 &&
                    (more.stx_mask & STATX_BTIME) != 0;
  return fmt::format(
      "{} {:o} {}\n", found.st_ino, found.st_mode,
      born ? fmt::format("born {}.{:09}", more.stx_btime.tv_sec, more.stx_btime.tv_nsec)
           : fmt::format("device {}", found.st_dev));
}

}  // namespace

Result<std::shared_ptr<Store>, std::string> Store::open(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return fmt::format("the folder '{}' cannot be made: {}", folder, std::strerror(errno));
  FileHandle handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle)
    return fmt::format("the folder '{}' cannot be opened: {}", folder, std::strerror(errno));
  if (::faccessat(handle.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    return fmt::format("nothing can be written into the folder '{}': {}", folder,
                       std::strerror(errno));
  return std::shared_ptr<Store>(new Store(std::move(handle)));
}

Result<FileHandle, Verdict> Store::parent_of(std::string_view path, bool make) {
  FileHandle at(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0));
  if (!at) return failure("the folder cannot be opened", errno);
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/')) {
    const std::string name(path.substr(0, slash));
    path = path.substr(slash + 1);
    FileHandle next(::openat(at.get(), name.c_str(), kFolderFlags));
    if (!next && errno == ENOENT && make) {
      if (::mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST)
        return failure(fmt::format("the folder '{}' cannot be made", printable(name)), errno);
      next = FileHandle(::openat(at.get(), name.c_str(), kFolderFlags));
    }
    if (!next) {
      if (errno == ENOTDIR || errno == ELOOP)
        return Verdict{Outcome::refused,
                       fmt::format("'{}' is there and is not a folder", printable(name))};
      return failure(fmt::format("the folder '{}' cannot be opened", printable(name)), errno);
    }
    at = std::move(next);
  }
  return at;
}

Result<FileHandle, Verdict> Store::parts() {
  const std::string name(kPartsFolder);
  if (::mkdirat(folder_.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    return failure("the folder of unfinished files cannot be made", errno);
  FileHandle handle(::openat(folder_.get(), name.c_str(), kFolderFlags));
  if (!handle) return failure("the folder of unfinished files cannot be opened", errno);
  return handle;
}

Verdict Store::make_folder(const Entry& entry) {
  auto parent = parent_of(entry.path);
  if (!parent) return parent.error();
  const std::string name(last_name(entry.path));
  struct stat found {};
  if (::fstatat(parent.value().get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISDIR(found.st_mode)) return {Outcome::refused, "is there already and is not a folder"};
    return {Outcome::there, {}};
  }
  if (errno != ENOENT) return failure("the folder cannot be looked at", errno);
  return make_noted(parent.value().get(), name, entry.path);
}

/// The note is on the disk, since the attempt that makes a folder is not always the one that fills it. It is
/// there before the folder is, empty: who is cut off in between leaves one that can still be finished.
Verdict Store::make_noted(int parent, const std::string& name, std::string_view path) {
  auto parts_folder = parts();
  if (!parts_folder) return parts_folder.error();
  const int notes = parts_folder.value().get();
  const std::string note_name = path_id(path) + ".folder";
  const FileHandle file(::openat(notes, note_name.c_str(), kFileFlags | O_CREAT | O_TRUNC, 0600));
  if (!file) return failure("the folder cannot be noted", errno);
  if (::mkdirat(parent, name.c_str(), 0700) != 0) {
    const int error = errno;
    ::unlinkat(notes, note_name.c_str(), 0);
    return not_added("the folder cannot be made", path, error);
  }
  const FileHandle folder(::openat(parent, name.c_str(), kFolderFlags));
  const auto note = folder ? folder_note(folder.get()) : std::nullopt;
  if (!note || !write_all(file.get(), std::as_bytes(std::span(*note)), 0)) {
    const int error = errno;
    ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
    ::unlinkat(notes, note_name.c_str(), 0);
    return failure("the folder cannot be noted", error);
  }
  return {};
}

Verdict Store::finish_folder(const Entry& entry) {
  auto parent = parent_of(entry.path);
  if (!parent) return parent.error();
  const std::string name(last_name(entry.path));
  const FileHandle folder(::openat(parent.value().get(), name.c_str(), kFolderFlags));
  if (!folder) return failure("the folder cannot be opened", errno);
  auto parts_folder = parts();
  if (!parts_folder) return parts_folder.error();
  const std::string note_name = path_id(entry.path) + ".folder";
  const FileHandle file(::openat(parts_folder.value().get(), note_name.c_str(), kFileFlags));
  if (!file && errno == ENOENT) return {Outcome::there, {}};
  struct stat found {};
  std::array<char, 128> kept;
  const ssize_t length = file ? ::pread(file.get(), kept.data(), kept.size(), 0) : -1;
  const auto wanted = length >= 0 ? folder_note(folder.get()) : std::nullopt;
  if (!wanted || ::fstat(folder.get(), &found) != 0)
    return failure("it cannot be seen who has made the folder", errno);
  const std::string_view note(kept.data(), static_cast<std::size_t>(length));
  // Cut off before the note was written to its end: then it looks as it was made.
  const bool as_made = found.st_uid == ::geteuid() && (found.st_mode & 0777) == 0700;
  const bool ours = note.ends_with('\n') ? note == *wanted : as_made;
  if (ours) set_attributes(folder.get(), entry);
  ::unlinkat(parts_folder.value().get(), note_name.c_str(), 0);
  return {ours ? Outcome::stored : Outcome::there, {}};
}

Verdict Store::make_link(const Entry& entry, bool force) {
  auto parent = parent_of(entry.path);
  if (!parent) return parent.error();
  const int folder = parent.value().get();
  const std::string name(last_name(entry.path));
  const auto set_time = [&] {
    ::utimensat(folder, name.c_str(), times(entry.mtime_ns).data(), AT_SYMLINK_NOFOLLOW);
  };
  if (::symlinkat(entry.target.c_str(), folder, name.c_str()) == 0) {
    set_time();
    return {};
  }
  if (errno != EEXIST) return not_added("the link cannot be made", entry.path, errno);
  std::array<char, kMaxPathBytes + 1> target;
  const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (length >= 0 &&
      std::string_view(target.data(), static_cast<std::size_t>(length)) == entry.target)
    return {Outcome::there, {}};
  if (!force)
    return {Outcome::refused, "is there already and is something else; --force replaces it"};
  // Made under another name first, so that there is never nothing.
  auto parts_folder = parts();
  if (!parts_folder) return parts_folder.error();
  const std::string id = path_id(entry.path) + ".link";
  ::unlinkat(parts_folder.value().get(), id.c_str(), 0);
  if (::symlinkat(entry.target.c_str(), parts_folder.value().get(), id.c_str()) != 0)
    return failure("the link cannot be made", errno);
  if (::renameat(parts_folder.value().get(), id.c_str(), folder, name.c_str()) != 0) {
    const int error = errno;
    ::unlinkat(parts_folder.value().get(), id.c_str(), 0);
    return not_added("the link cannot replace what is there", entry.path, error);
  }
  set_time();
  return {};
}

Verdict Store::make_hard_link(const Entry& entry, bool force) {
  auto parent = parent_of(entry.path);
  if (!parent) return parent.error();
  auto from = parent_of(entry.target);
  if (!from) return from.error();
  const int folder = parent.value().get();
  const std::string name(last_name(entry.path));
  const std::string other(last_name(entry.target));
  struct stat found {};
  // Where the file was refused, something else may have its name.
  if (::fstatat(from.value().get(), other.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(found.st_mode) || static_cast<std::uint64_t>(found.st_size) != entry.size ||
      std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec != entry.mtime_ns)
    return {Outcome::refused,
            fmt::format("is another name of '{}', which was not copied", printable(entry.target))};
  if (::linkat(from.value().get(), other.c_str(), folder, name.c_str(), 0) == 0) return {};
  if (errno != EEXIST) return not_added("the name cannot be added", entry.path, errno);
  struct stat there {};
  if (::fstatat(folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      there.st_dev == found.st_dev && there.st_ino == found.st_ino)
    return {Outcome::there, {}};
  if (!force || S_ISDIR(there.st_mode))
    return {Outcome::refused, "is there already and is something else; --force replaces files"};
  auto parts_folder = parts();
  if (!parts_folder) return parts_folder.error();
  const int parts = parts_folder.value().get();
  const std::string id = path_id(entry.path) + ".link";
  ::unlinkat(parts, id.c_str(), 0);
  if (::linkat(from.value().get(), other.c_str(), parts, id.c_str(), 0) != 0)
    return failure("the name cannot be added", errno);
  if (::renameat(parts, id.c_str(), folder, name.c_str()) == 0) return {};
  const int error = errno;
  ::unlinkat(parts, id.c_str(), 0);
  return not_added("the name cannot replace what is there", entry.path, error);
}

Store::Listing Store::list(const std::string& path, std::size_t most) {
  Listing out;
  auto parent = parent_of(path, false);
  if (!parent) {
    out.problem = parent.error().text;
    return out;
  }
  FileHandle handle(
      ::openat(parent.value().get(), std::string(last_name(path)).c_str(), kFolderFlags));
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(
      handle ? ::fdopendir(handle.get()) : nullptr,
      [](DIR* one) { return one ? ::closedir(one) : 0; });
  if (!folder) {
    out.problem = fmt::format("cannot be read: {}", std::strerror(errno));
    return out;
  }
  handle.release();
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat found {};
    if (path_fault(path + "/" + name) ||
        ::fstatat(::dirfd(folder.get()), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
      ++out.hidden;
    } else {
      out.names.push_back({S_ISDIR(found.st_mode), name});
    }
    if (out.names.size() > most) {
      out.problem = fmt::format("has more than {} names", most);
      return out;
    }
    errno = 0;
  }
  if (errno != 0) out.problem = fmt::format("cannot be read: {}", std::strerror(errno));
  return out;
}

std::string Store::remove(const std::string& path, bool folder) {
  auto parent = parent_of(path, false);
  if (!parent) return parent.error().text;
  if (::unlinkat(parent.value().get(), std::string(last_name(path)).c_str(),
                 folder ? AT_REMOVEDIR : 0) == 0 ||
      errno == ENOENT)
    return {};
  return fmt::format("cannot be removed: {}", std::strerror(errno));
}

bool Store::may_add(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  const std::string folder(slash == std::string_view::npos ? "." : path.substr(0, slash));
  return ::faccessat(folder_.get(), folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ||
         errno != EACCES;
}

bool Store::sync() { return ::syncfs(folder_.get()) == 0; }

void Store::tidy() { ::unlinkat(folder_.get(), std::string(kPartsFolder).c_str(), AT_REMOVEDIR); }

}  // namespace strack::transfer
