// What `strack cp` is to copy: the files, folders and links below the names that were given.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transfer/messages.h"
#include "transfer/names.h"
#include "transfer/source.h"

namespace strack::transfer {

struct SourceEntry {
  Entry entry;
  std::string local;  ///< where it is here
};

struct Tree {
  /// In the order of sending, numbered: folders before what is in them, their ends after everything else.
  std::vector<SourceEntry> entries;
  std::size_t hard_links = 0;   ///< how many of these, before the ends of folders
  std::size_t folder_ends = 0;  ///< how many of these, at the end
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t parts = 0;           ///< what is called `kPartsFolder`, left out with all below it
  std::uint64_t excluded = 0;        ///< names that a pattern left out, with all below them
  std::vector<std::string> twice;    ///< sources that were given before, by whatever name
  std::vector<std::string> skipped;  ///< what is there and cannot be copied, and why
  /// [D171] What that would have been called, and folders that were not read to their end: what is there, or below it, at the
  /// receiver may be what is here.
  std::set<std::string> unseen;
  /// Sources that are links themselves, with their targets: whoever names one often means what it leads to.
  std::vector<std::string> named_links;
};

/// Walks over what is there, without following links. What cannot be copied is skipped: a name that the receiver
/// would refuse, what cannot be read, what has gone meanwhile, what is neither file, folder nor link. Fails
/// where a source itself is not there, or two things would have one name: better now than after an hour. The same
/// thing twice is one. What is below a source and matches one of the patterns to exclude is left out: as
/// fnmatch(3) does, by its own name or, where the pattern has a slash, by its path below the source.
struct ScanOptions {
  std::vector<std::string> exclude;
  bool hard_links = false;         ///< a file's second name is told as such
  std::size_t most = kMaxEntries;  ///< entries; more are a mistake
  const std::atomic<bool>* stop =
      nullptr;  ///< set by another thread: the result is of no use any more
};
/// Below a folder, an empty source is everything in it.
[[nodiscard]] Result<Tree, std::string> scan(const std::vector<std::string>& sources,
                                             const Destination& destination,
                                             const ScanOptions& options = {},
                                             const Source& from = {});

/// Turns a pattern as people write it into what is compared: a slash at its end says nothing, "/a" and "./a" are a directly
/// below the source. Says so where it could never leave anything out.
[[nodiscard]] std::optional<std::string> read_pattern(std::string& pattern);

/// Whether a pattern leaves out the path, or a folder on the way to it; `root` is the length of its source's own.
[[nodiscard]] bool is_excluded(const std::vector<std::string>& patterns, std::string_view path,
                               std::size_t root);
/// What a source is called at its destination: its path if that is no folder, else its own name in it; nothing
/// where it has none.
[[nodiscard]] std::string name_at(const Destination& destination, std::string_view source);

}  // namespace strack::transfer
