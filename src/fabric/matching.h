// Which message goes to which receive: the one place that decides it. A receive takes the oldest message that it
// matches, a message the oldest receive; so messages of one peer with the same tag never overtake each other.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <utility>

namespace strack::fabric {

/// A user's tag under a mask of bits that do not count, from one peer or (null) from any.
template <class Peer>
struct Pattern {
  const Peer* from = nullptr;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;

  [[nodiscard]] bool accepts(const Peer* peer, std::uint64_t other) const {
    return (from == nullptr || from == peer) && ((tag ^ other) & ~ignore) == 0;
  }
};

/// `Receive` has a `pattern` and is owned by others; `Message` has a `peer` and a `tag` and lives here.
template <class Peer, class Receive, class Message>
class Matching {
 public:
  void post(Receive* receive) { receives_.push_back(receive); }
  void keep(Message message) { messages_.push_back(std::move(message)); }

  /// The oldest receive for a message; it stays posted.
  [[nodiscard]] Receive* find(const Peer* peer, std::uint64_t tag) const {
    for (Receive* receive : receives_) {
      if (receive->pattern.accepts(peer, tag)) return receive;
    }
    return nullptr;
  }
  void remove(const Receive* receive) { receives_.remove(const_cast<Receive*>(receive)); }
  /// Takes back the oldest receive for which `wanted` says so.
  template <class Wanted>
  [[nodiscard]] Receive* remove_if(Wanted&& wanted) {
    for (auto at = receives_.begin(); at != receives_.end(); ++at) {
      if (!wanted(**at)) continue;
      Receive* found = *at;
      receives_.erase(at);
      return found;
    }
    return nullptr;
  }

  /// The oldest message for a receive; it stays.
  [[nodiscard]] const Message* peek(const Pattern<Peer>& pattern) const {
    for (const Message& message : messages_) {
      if (pattern.accepts(message.peer, message.tag)) return &message;
    }
    return nullptr;
  }
  [[nodiscard]] std::optional<Message> take(const Pattern<Peer>& pattern) {
    for (auto at = messages_.begin(); at != messages_.end(); ++at) {
      if (!pattern.accepts(at->peer, at->tag)) continue;
      std::optional<Message> taken(std::move(*at));
      messages_.erase(at);
      return taken;
    }
    return std::nullopt;
  }
  template <class Unwanted>
  void forget_if(Unwanted&& unwanted) {
    messages_.remove_if(unwanted);
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (Message& message : messages_) visit(message);
  }

 private:
  std::list<Receive*> receives_;
  std::list<Message> messages_;
};

}  // namespace strack::fabric
