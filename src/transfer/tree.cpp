#include "transfer/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

#include "transfer/glob.h"

namespace strack::transfer {
namespace {

constexpr std::string_view kInParts = "/.strack";
static_assert(kInParts.substr(1) == kPartsFolder);

class Scan {
 public:
  Scan(Tree& tree, const ScanOptions& options, const Source& from)
      : tree_(tree), options_(options), from_(from) {}

  /// Returns what is wrong, or an empty text.
  std::string add(const std::string& local, const std::string& path) {
    if (is_withheld(local))
      return fmt::format("{}: what is called '{}' is not served", printable(local), kPartsFolder);
    const FileHandle thing = from_.open(local, O_PATH);
    struct stat found {};
    if (!thing || ::fstat(thing.get(), &found) != 0)
      return fmt::format("{}: {}", printable(local),
                         errno == ELOOP && !from_.is_anywhere()
                             ? "the way there is a link, and none is followed"
                             : std::strerror(errno));
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
    root_ = path.size();
    add(local, path, thing, found);
    if (S_ISLNK(found.st_mode) && tree_.entries.size() > entries)
      tree_.named_links.push_back(fmt::format("{}: a link to '{}'", printable(local),
                                              printable(tree_.entries.back().entry.target)));
    return {};
  }

  /// Everything in the folder itself, but for what is not finished there.
  std::string add_all(const std::string& path) {
    std::vector<std::string> names;
    if (!list({}, path, names))
      return fmt::format("the folder cannot be read: {}", std::strerror(errno));
    for (const std::string& name : names) {
      if (is_withheld(name)) continue;
      std::string wrong = add(name, path.empty() ? name : path + "/" + name);
      if (!wrong.empty()) tree_.skipped.push_back(std::move(wrong));
    }
    return {};
  }

  [[nodiscard]] bool is_too_much() const { return too_much_; }

  /// Names of files last, when these are there; innermost folders first: to set a folder's time is to change nothing
  /// in it afterwards.
  void finish() {
    tree_.hard_links = hard_links_.size();
    std::move(hard_links_.begin(), hard_links_.end(), std::back_inserter(tree_.entries));
    tree_.folder_ends = folders_.size();
    std::move(folders_.rbegin(), folders_.rend(), std::back_inserter(tree_.entries));
    for (std::size_t i = 0; i < tree_.entries.size(); ++i)
      tree_.entries[i].entry.number = static_cast<std::uint32_t>(i);
  }

 private:
  /// Of a folder that is served: what is unfinished in it, or in a folder below that somebody receives into.
  [[nodiscard]] bool is_withheld(std::string_view local) const {
    return !from_.is_anywhere() && is_in_parts(local);
  }
  void skip(const std::string& local, const std::string& path, std::string_view why) {
    tree_.skipped.push_back(fmt::format("{}: {}", printable(local), why));
    tree_.unseen.insert(path);
  }
  void skip_unreadable(const std::string& local, const std::string& path) {
    skip(local, path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }

  void add(const std::string& local, const std::string& path, const FileHandle& thing,
           const struct stat& found) {
    if (const auto fault = path_fault(path))
      return skip(local, path, fmt::format("its name {}", *fault));
    if (is_in_parts(path))
      return skip(local, path, fmt::format("what is called '{}' is not copied", kPartsFolder));
    SourceEntry source;
    source.local = local;
    source.entry.path = path;
    source.entry.mode = static_cast<std::uint16_t>(found.st_mode & 0777);
    source.entry.mtime_ns =
        std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
    if (S_ISLNK(found.st_mode)) return add_link(std::move(source), thing);
    if (S_ISDIR(found.st_mode)) return add_folder(std::move(source));
    if (!S_ISREG(found.st_mode)) return skip(local, path, "neither a file, a folder nor a link");
    add_file(std::move(source), thing, found);
  }

  void add_file(SourceEntry source, const FileHandle& thing, const struct stat& found) {
    const std::string& local = source.local;
    source.entry.size = static_cast<std::uint64_t>(found.st_size);
    const auto room = static_cast<std::uint64_t>(found.st_blocks) * 512;
    source.entry.holes = source.entry.size - std::min(source.entry.size, room);
    if (source.entry.size > kMaxFileBytes)
      return skip(
          local, source.entry.path,
          fmt::format("{} bytes are more than the 2^50 that a file can have", source.entry.size));
    if (::faccessat(thing.get(), "", R_OK, AT_EMPTY_PATH | AT_EACCESS) != 0 && errno == EACCES)
      return skip_unreadable(local, source.entry.path);
    if (options_.hard_links && found.st_nlink > 1) {
      const auto [before, first] =
          names_.emplace(std::pair{found.st_dev, found.st_ino}, source.entry.path);
      if (!first) {
        source.entry.kind = EntryKind::hard_link;
        source.entry.target = before->second;
        source.entry.holes = 0;
        hard_links_.push_back(std::move(source));
        return;
      }
    }
    ++tree_.files;
    tree_.bytes += source.entry.size;
    tree_.entries.push_back(std::move(source));
  }

  void add_link(SourceEntry source, const FileHandle& thing) {
    std::array<char, kMaxPathBytes + 1> target;
    const ssize_t length = ::readlinkat(thing.get(), "", target.data(), target.size());
    if (length < 0) return skip_unreadable(source.local, source.entry.path);
    source.entry.kind = EntryKind::link;
    source.entry.target.assign(target.data(), static_cast<std::size_t>(length));
    if (const auto fault = target_fault(source.entry.path, source.entry.target))
      return skip(source.local, source.entry.path,
                  fmt::format("a link to '{}', which {}", printable(source.entry.target), *fault));
    tree_.entries.push_back(std::move(source));
  }

  /// False where it cannot be opened; what was found before an error is copied.
  bool list(const std::string& local, const std::string& path, std::vector<std::string>& names) {
    FileHandle handle = from_.open(local, O_RDONLY | O_DIRECTORY);
    if (!handle) return false;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(handle.get()), ::closedir);
    if (!folder) return false;
    handle.release();
    errno = 0;
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
      errno = 0;
      if (names.size() > options_.most) break;
    }
    if (errno != 0) skip_unreadable(local, path);
    std::sort(names.begin(), names.end());
    return true;
  }

  void add_folder(SourceEntry source) {
    source.entry.kind = EntryKind::folder;
    const std::string local = source.local;
    const std::string path = source.entry.path;
    std::vector<std::string> names;
    if (!list(local, path, names)) return skip_unreadable(local, path);
    folders_.push_back(source);
    folders_.back().entry.kind = EntryKind::folder_end;
    tree_.entries.push_back(std::move(source));
    for (const std::string& name : names) {
      if (stopped()) return;
      add_within(local.empty() ? name : local + "/" + name, path + "/" + name);
    }
  }

  void add_within(const std::string& local, const std::string& path) {
    if (is_excluded(options_.exclude, path, root_)) {
      ++tree_.excluded;
      return;
    }
    if (path.ends_with(kInParts)) {
      ++tree_.parts;
      return;
    }
    const FileHandle thing = from_.open(local, O_PATH);
    struct stat found {};
    if (!thing || ::fstat(thing.get(), &found) != 0) return skip(local, path, std::strerror(errno));
    if (!seen_.insert(path).second)
      return skip(
          local, path,
          fmt::format("another source is called '{}' at the receiver already", printable(path)));
    add(local, path, thing, found);
  }

  [[nodiscard]] bool stopped() {
    too_much_ = too_much_ ||
                tree_.entries.size() + folders_.size() + hard_links_.size() > options_.most ||
                tree_.skipped.size() > options_.most;
    return too_much_ ||
           (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed));
  }

  Tree& tree_;
  const ScanOptions& options_;
  const Source& from_;
  bool too_much_ = false;
  std::size_t root_ = 0;  ///< the length of the path that its source has
  std::vector<SourceEntry> folders_;
  std::vector<SourceEntry> hard_links_;
  std::set<std::string> seen_;
  std::map<std::string, std::pair<dev_t, ino_t>> sources_;  ///< by what they will be called
  std::map<std::pair<dev_t, ino_t>, std::string> names_;    ///< of files that have several
};

/// "a/b" is called "b"; ".", ".." and "/" have no name of their own.
std::string own_name(std::string_view source) {
  const std::string_view name = source.substr(source.rfind('/') + 1);
  return name == "." || name == ".." ? std::string{} : std::string(name);
}

constexpr std::string_view kAnywhere = "**/";

}  // namespace

std::optional<std::string> read_pattern(std::string& pattern) {
  std::string_view rest = pattern;
  const bool below_source = rest.starts_with('/') || rest.starts_with("./");
  while (rest.starts_with('/') || rest.starts_with("./"))
    rest.remove_prefix(rest.starts_with('/') ? 1 : 2);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty())
    return fmt::format(
        "'{}' leaves nothing out. a pattern is a name, such as '*.o', or a path below the source, "
        "such as 'a/b'",
        printable(pattern));
  const std::string framed = fmt::format("/{}/", rest);
  for (const std::string_view part : {"//", "/./", "/../"}) {
    if (framed.find(part) == std::string::npos) continue;
    return fmt::format("'{}' leaves nothing out: no path below a source has '{}' in it",
                       printable(pattern), part == "//" ? part : part.substr(1, part.size() - 2));
  }
  if (const Glob glob(rest); glob.fault())
    return fmt::format("'{}' is no pattern: {}", printable(pattern), *glob.fault());
  std::string_view deep = rest;
  while (deep.starts_with(kAnywhere)) deep.remove_prefix(kAnywhere.size());
  if (fmt::format("/{}", deep).find("/**/") != std::string::npos)
    return fmt::format("'{}': '**/' stands for any folders at the beginning only, such as '**/{}'",
                       printable(pattern), printable(deep.substr(deep.find(kAnywhere) + 3)));
  if (deep.size() < rest.size()) {
    // A name alone is looked for everywhere as it is.
    pattern = deep.find('/') == std::string_view::npos ? std::string(deep)
                                                       : fmt::format("{}{}", kAnywhere, deep);
    return std::nullopt;
  }
  pattern = below_source ? fmt::format("/{}", rest) : std::string(rest);
  return std::nullopt;
}

bool is_excluded(const std::vector<std::string>& patterns, std::string_view path,
                 std::size_t root) {
  for (std::size_t end = path.find('/', root + 1); !patterns.empty() && root < path.size();
       end = path.find('/', end + 1)) {
    const std::string below(
        path.substr(root + (root > 0 ? 1 : 0), end - root - (root > 0 ? 1 : 0)));
    const std::string name = own_name(below);
    for (const std::string& pattern : patterns) {
      const std::string& text = pattern.find('/') != std::string::npos ? below : name;
      const bool anywhere = pattern.starts_with(kAnywhere);
      const Glob glob(std::string_view(pattern).substr(anywhere                   ? kAnywhere.size()
                                                       : pattern.starts_with('/') ? 1
                                                                                  : 0));
      for (std::size_t from = 0; from != std::string::npos;) {
        if (glob.matches(std::string_view(text).substr(from))) return true;
        from = anywhere ? text.find('/', from) : std::string::npos;
        if (from != std::string::npos) ++from;
      }
    }
    if (end == std::string_view::npos) break;
  }
  return false;
}

std::string name_at(const Destination& destination, std::string_view source) {
  if (!destination.folder) return destination.path;
  const std::string name = own_name(source);
  if (name.empty()) return {};
  return destination.path.empty() ? name : destination.path + "/" + name;
}

Result<Tree, std::string> scan(const std::vector<std::string>& sources,
                               const Destination& destination, const ScanOptions& options,
                               const Source& from) {
  if (sources.size() > 1 && !destination.folder)
    return fmt::format(
        "{} things cannot all be called '{}'. end the destination with a slash to "
        "make it a folder",
        sources.size(), printable(destination.path));
  Tree tree;
  Scan scan(tree, options, from);
  for (std::string source : sources) {
    while (source.size() > 1 && source.ends_with('/')) source.pop_back();
    const bool all = source.empty() && !from.is_anywhere();
    const std::string path = all ? destination.path : name_at(destination, source);
    if (path.empty() && !all)
      return fmt::format(
          "'{}' has no name to be called by at the receiver. give the folder by its name, or a "
          "destination that does not end in a slash",
          printable(source));
    std::string wrong = all && destination.folder ? scan.add_all(path) : scan.add(source, path);
    if (!wrong.empty()) return wrong;
  }
  scan.finish();
  if (scan.is_too_much() || tree.entries.size() > options.most)
    return fmt::format("more than the {} files and folders that one transfer may have",
                       options.most);
  return tree;
}

}  // namespace strack::transfer
