#include "transfer/prune.h"

#include <utility>

#include <fmt/format.h>

#include "transfer/names.h"
#include "transfer/tree.h"

namespace strack::transfer {

/// One whose names are looked at. Where it is not in the source it goes after all that is in it, unless something
/// there is spared.
struct Prune::Folder {
  std::string path;
  std::size_t root = 0;            ///< the length of its source's path
  std::shared_ptr<Folder> parent;  ///< that it goes from; none: it stays
  bool goes = false;
  bool spared = false;   ///< something in it stays
  std::size_t left = 1;  ///< its listing, and what is to be removed from it
};

Prune::Prune(const std::vector<Known>& source, Options options) : options_(std::move(options)) {
  std::string root;
  for (const Known& one : source) {
    known_.insert(one.path);
    if (!one.folder) continue;
    const bool within = !root.empty() && one.path.starts_with(root) &&
                        one.path.size() > root.size() && one.path[root.size()] == '/';
    if (!within) root = one.path;
    if (one.whole) list(one.path, root.size(), nullptr);
  }
}

Prune::~Prune() = default;

void Prune::list(const std::string& path, std::size_t root, const std::shared_ptr<Folder>& parent) {
  auto folder = std::make_shared<Folder>();
  folder->path = path;
  folder->root = root;
  folder->parent = parent;
  folder->goes = parent != nullptr;
  waiting_.push_back({List{next_number_++, path}, folder, path, true});
}

void Prune::remove(const std::string& path, bool folder, const std::shared_ptr<Folder>& parent) {
  if (!options_.dry) {
    waiting_.push_back({Remove{next_number_++, folder, path}, parent, path, false});
    return;
  }
  ++count_;
  if (options_.removed) options_.removed(path);
  leave(parent, false);
}

std::optional<Control> Prune::next() {
  if (waiting_.empty() || asked_.size() >= kMostAsked) return std::nullopt;
  Question question = std::move(waiting_.front());
  waiting_.pop_front();
  Control message = question.message;
  const std::uint32_t number =
      question.is_list ? std::get<List>(message).number : std::get<Remove>(message).number;
  asked_.emplace(number, std::move(question));
  return message;
}

bool Prune::on(const Names& names) {
  const auto found = asked_.find(names.number);
  names_ += names.names.size();
  if (found == asked_.end() || !found->second.is_list || names_ > kMostNames) return false;
  const std::shared_ptr<Folder> folder = found->second.folder;
  for (const Names::Name& one : names.names) {
    const std::string path = folder->path + "/" + one.name;
    if (known_.count(path) > 0) continue;
    if (one.name == kPartsFolder || is_excluded(options_.exclude, path, folder->root)) {
      folder->spared = true;
      continue;
    }
    ++folder->left;
    if (one.folder) {
      list(path, folder->root, folder);
    } else {
      remove(path, false, folder);
    }
  }
  folder->spared = folder->spared || names.hidden > 0;
  if (names.hidden > 0 && options_.noted)
    options_.noted(fmt::format("{}: {} in it have names that cannot be copied, and stay",
                               printable(folder->path), names.hidden));
  if (!names.last) return true;
  asked_.erase(found);
  leave(folder, false);
  return true;
}

bool Prune::on(const Removed& removed) {
  const auto found = asked_.find(removed.number);
  if (found == asked_.end()) return false;
  const Question question = std::move(found->second);
  asked_.erase(found);
  const bool good = removed.text.empty();
  if (question.is_list) {
    // It cannot be listed: in a dry run it may not be there.
    if (!good && !options_.dry && options_.noted)
      options_.noted(fmt::format("{}: {}", printable(question.path), printable(removed.text)));
    leave(question.folder, true);
    return true;
  }
  if (good) {
    ++count_;
    if (options_.removed) options_.removed(question.path);
  } else if (options_.noted) {
    options_.noted(fmt::format("{}: {}", printable(question.path), printable(removed.text)));
  }
  leave(question.folder, !good);
  return true;
}

/// Something in a folder is over; it goes when all is.
void Prune::leave(const std::shared_ptr<Folder>& folder, bool spared) {
  folder->spared = folder->spared || spared;
  if (--folder->left > 0 || !folder->goes) return;
  if (folder->spared) return leave(folder->parent, true);
  remove(folder->path, true, folder->parent);
}

}  // namespace strack::transfer
