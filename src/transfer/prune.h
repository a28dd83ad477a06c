// What is at the destination and not in the source, and is to go (`strack cp --delete`): the sender's side of it, which
// asks for what is in each folder, and says what to remove. Knows nothing of networks: what it wants said is taken
// from it, and answers are given to it [D110].
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "transfer/messages.h"

namespace strack::transfer {

class Prune {
 public:
  struct Options {
    std::vector<std::string> exclude;  ///< patterns of what is spared
    bool dry = false;                  ///< nothing is removed, only told
    /// A path that goes, or would.
    std::function<void(const std::string& path)> removed;
    /// A path that cannot, and why.
    std::function<void(const std::string& text)> noted;
  };
  /// What the source has. Folders come before what is in them.
  struct Known {
    std::string path;
    bool folder = false;
    bool whole =
        true;  ///< a folder of which everything is known; else all that is in it stays, but for folders that are
  };
  Prune(const std::vector<Known>& source, Options options);
  ~Prune();

  /// What is to be said next; nothing where it waits, or is over.
  [[nodiscard]] std::optional<Control> next();
  /// An answer. False where it answers no question.
  [[nodiscard]] bool on(const Names& names);
  [[nodiscard]] bool on(const Removed& removed);
  [[nodiscard]] bool over() const { return waiting_.empty() && asked_.empty(); }
  [[nodiscard]] std::uint64_t count() const { return count_; }

  static constexpr std::size_t kMostAsked = 16;  ///< questions without their answer
  static constexpr std::size_t kMostNames = std::size_t{1} << 22;  ///< told by the other side

 private:
  struct Folder;
  struct Question {
    Control message;
    std::shared_ptr<Folder> folder;  ///< that is listed, or that what is removed is in
    std::string path;
    bool is_list = false;
  };
  void list(const std::string& path, std::size_t root, const std::shared_ptr<Folder>& parent);
  void remove(const std::string& path, bool folder, const std::shared_ptr<Folder>& parent);
  void leave(const std::shared_ptr<Folder>& folder, bool spared);

  Options options_;
  std::unordered_set<std::string> known_;
  std::deque<Question> waiting_;
  std::unordered_map<std::uint32_t, Question> asked_;
  std::uint32_t next_number_ = 0;
  std::size_t names_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace strack::transfer
