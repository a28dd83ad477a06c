#include "transfer/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace strack::transfer {
namespace {

class Scan {
 public:
  Scan(Tree& tree, const std::vector<std::string>& exclude) : tree_(tree), exclude_(exclude) {}

  /// Returns what is wrong, or an empty text.
  std::string add(const std::string& local, const std::string& path) {
    struct stat found {};
    if (::lstat(local.c_str(), &found) != 0)
      return fmt::format("{}: {}", printable(local), std::strerror(errno));
    const std::pair identity{found.st_dev, found.st_ino};
    const auto [before, first] = sources_.emplace(path, identity);
    if (!first && before->second == identity) {
      tree_.twice.push_back(printable(local));
      return {};
    }
    if (!seen_.insert(path).second)
      return fmt::format("{}: two things would be called '{}' at the receiver", printable(local),
                         printable(path));
    const std::size_t entries = tree_.entries.size();
    root_ = path.size() + 1;
    add(local, path, found);
    if (S_ISLNK(found.st_mode) && tree_.entries.size() > entries)
      tree_.named_links.push_back(fmt::format("{}: a link to '{}'", printable(local),
                                              printable(tree_.entries.back().entry.target)));
    return {};
  }

  std::vector<SourceEntry>& folders() { return folders_; }

 private:
  void skip(const std::string& local, std::string_view why) {
    tree_.skipped.push_back(fmt::format("{}: {}", printable(local), why));
  }
  [[nodiscard]] bool is_excluded(const std::string& name, const std::string& path) const {
    return std::any_of(exclude_.begin(), exclude_.end(), [&](const std::string& pattern) {
      const bool whole = pattern.find('/') != std::string::npos;
      const std::string& text = whole ? path : name;
      return ::fnmatch(pattern.c_str(), text.c_str() + (whole ? root_ : 0), FNM_PATHNAME) == 0;
    });
  }
  void skip_unreadable(const std::string& local) {
    skip(local, fmt::format("cannot be read: {}", std::strerror(errno)));
  }

  void add(const std::string& local, const std::string& path, const struct stat& found) {
    if (const auto fault = path_fault(path)) return skip(local, fmt::format("its name {}", *fault));
    SourceEntry source;
    source.local = local;
    source.entry.path = path;
    source.entry.mode = static_cast<std::uint16_t>(found.st_mode & 0777);
    source.entry.mtime_ns =
        std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
    if (S_ISLNK(found.st_mode)) return add_link(std::move(source));
    if (S_ISDIR(found.st_mode)) return add_folder(std::move(source));
    if (!S_ISREG(found.st_mode)) return skip(local, "neither a file, a folder nor a link");
    source.entry.size = static_cast<std::uint64_t>(found.st_size);
    const auto room = static_cast<std::uint64_t>(found.st_blocks) * 512;
    source.entry.holes = source.entry.size - std::min(source.entry.size, room);
    if (source.entry.size > kMaxFileBytes)
      return skip(local, fmt::format("{} bytes are more than the 2^50 that a file can have",
                                     source.entry.size));
    if (::access(local.c_str(), R_OK) != 0) return skip_unreadable(local);
    ++tree_.files;
    tree_.bytes += source.entry.size;
    tree_.entries.push_back(std::move(source));
  }

  void add_link(SourceEntry source) {
    std::array<char, kMaxPathBytes + 1> target;
    const ssize_t length = ::readlink(source.local.c_str(), target.data(), target.size());
    if (length < 0) return skip_unreadable(source.local);
    source.entry.kind = EntryKind::link;
    source.entry.target.assign(target.data(), static_cast<std::size_t>(length));
    if (const auto fault = target_fault(source.entry.path, source.entry.target))
      return skip(source.local,
                  fmt::format("a link to '{}', which {}", printable(source.entry.target), *fault));
    tree_.entries.push_back(std::move(source));
  }

  void add_folder(SourceEntry source) {
    source.entry.kind = EntryKind::folder;
    const std::string local = source.local;
    const std::string path = source.entry.path;
    std::vector<std::string> names;
    {
      const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(local.c_str()), ::closedir);
      if (!folder) return skip_unreadable(local);
      errno = 0;
      while (const dirent* entry = ::readdir(folder.get())) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") names.push_back(name);
        errno = 0;
      }
      if (errno != 0) skip_unreadable(local);  // what was found of it is copied
    }
    folders_.push_back(source);
    folders_.back().entry.kind = EntryKind::folder_end;
    tree_.entries.push_back(std::move(source));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      struct stat found {};
      const std::string within = local + "/" + name;
      if (is_excluded(name, path + "/" + name)) {
        ++tree_.excluded;
      } else if (::lstat(within.c_str(), &found) != 0) {
        skip(within, std::strerror(errno));
      } else if (std::string called = path + "/" + name; seen_.insert(called).second) {
        add(within, called, found);
      } else {
        skip(within, fmt::format("another source is called '{}' at the receiver already",
                                 printable(called)));
      }
    }
  }

  Tree& tree_;
  const std::vector<std::string>& exclude_;
  std::size_t root_ = 0;  ///< where in a path the part below its source begins
  std::vector<SourceEntry> folders_;
  std::set<std::string> seen_;
  std::map<std::string, std::pair<dev_t, ino_t>> sources_;  ///< by what they will be called
};

/// "a/b" is called "b"; ".", ".." and "/" have no name of their own.
std::string own_name(const std::string& source) {
  const std::string name = source.substr(source.rfind('/') + 1);
  return name == "." || name == ".." ? std::string{} : name;
}

}  // namespace

Result<Tree, std::string> scan(const std::vector<std::string>& sources,
                               const Destination& destination,
                               const std::vector<std::string>& exclude) {
  if (sources.size() > 1 && !destination.folder)
    return fmt::format(
        "{} things cannot all be called '{}'. end the destination with a slash to "
        "make it a folder",
        sources.size(), printable(destination.path));
  Tree tree;
  Scan scan(tree, exclude);
  for (std::string source : sources) {
    while (source.size() > 1 && source.ends_with('/')) source.pop_back();
    std::string path = destination.path;
    if (destination.folder) {
      const std::string name = own_name(source);
      if (name.empty())
        return fmt::format(
            "'{}' has no name to be called by at the receiver. give the folder by its name, or a "
            "destination that does not end in a slash",
            printable(source));
      path += (path.empty() ? "" : "/") + name;
    }
    std::string wrong = scan.add(source, path);
    if (!wrong.empty()) return wrong;
  }
  // Innermost first: to set a folder's time is to change nothing in it afterwards.
  tree.folder_ends = scan.folders().size();
  std::move(scan.folders().rbegin(), scan.folders().rend(), std::back_inserter(tree.entries));
  if (tree.entries.size() > kMaxEntries)
    return fmt::format("{} files and folders are more than the {} of one transfer",
                       tree.entries.size(), kMaxEntries);
  for (std::size_t i = 0; i < tree.entries.size(); ++i)
    tree.entries[i].entry.number = static_cast<std::uint32_t>(i);
  return tree;
}

}  // namespace strack::transfer
