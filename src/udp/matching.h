// Which message goes to which receive: the one place that decides it, for the endpoint and for the provider above it
// [D153]. A receive takes the oldest message that it matches, a message the oldest receive; so messages of one peer
// with the same tag never overtake each other. The endpoint has receives of connections besides those for any: a message
// takes the former first, whenever they were posted.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <utility>

#include "udp/endpoint.h"

namespace strack::udp {

/// Tags, from one peer or (null) from any.
template <class Peer>
struct Pattern {
  const Peer* from = nullptr;
  Match match;

  [[nodiscard]] bool accepts(const Peer* peer, std::uint64_t tag) const {
    return (from == nullptr || from == peer) && match.accepts(tag);
  }
};

/// Receives in the order of posting, linked by their own `next` and owned by others. To look for one walks the list: O(1)
/// for those who post in the order in which messages come.
template <class Receive>
class ReceiveQueue {
 public:
  void push(Receive* receive) {
    receive->next = nullptr;
    *(last_ != nullptr ? &last_->next : &first_) = receive;
    last_ = receive;
    ++count_;
  }
  /// The first that `wanted(receive)` accepts, or nothing; it stays.
  template <class Wanted>
  [[nodiscard]] Receive* find_if(Wanted&& wanted) const {
    for (Receive* one = first_; one != nullptr; one = one->next) {
      if (wanted(std::as_const(*one))) return one;
    }
    return nullptr;
  }
  /// The same, removed.
  template <class Wanted>
  [[nodiscard]] Receive* take_if(Wanted&& wanted) {
    Receive* before = nullptr;
    for (Receive* one = first_; one != nullptr; before = one, one = one->next) {
      if (!wanted(std::as_const(*one))) continue;
      *(before != nullptr ? &before->next : &first_) = one->next;
      if (last_ == one) last_ = before;
      --count_;
      return one;
    }
    return nullptr;
  }
  /// Of receives with a `match` alone: the first for this tag, removed.
  [[nodiscard]] Receive* take(std::uint64_t tag) {
    return take_if([tag](const Receive& one) { return one.match.accepts(tag); });
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  Receive* first_ = nullptr;
  Receive* last_ = nullptr;
  std::uint32_t count_ = 0;
};

/// For a message of a connection: the oldest receive of its own, or else the oldest for any, removed.
template <class Receive>
[[nodiscard]] Receive* take_own_first(ReceiveQueue<Receive>& own, ReceiveQueue<Receive>& any,
                                      std::uint64_t tag) {
  Receive* receive = own.take(tag);
  return receive != nullptr ? receive : any.take(tag);
}

/// Of messages in the order of their coming, the first that a receive takes; `end` if there is none. What lies behind
/// the first that `is_gap` is not looked at: what is still to come there may be what the receive is for.
template <class Iterator, class Takes, class IsGap>
[[nodiscard]] Iterator oldest(Iterator begin, Iterator end, Takes&& takes, IsGap&& is_gap) {
  for (; begin != end && !is_gap(*begin); ++begin) {
    if (takes(*begin)) return begin;
  }
  return end;
}

/// Both lists, where one receives from many peers. `Receive` has a `pattern` and a `next` and is owned by others;
/// `Message` has a `peer` and a `tag` and lives here.
template <class Peer, class Receive, class Message>
class Matching {
 public:
  void post(Receive* receive) { receives_.push(receive); }
  void keep(Message message) { messages_.push_back(std::move(message)); }

  /// The oldest receive for a message; it stays posted.
  [[nodiscard]] Receive* find(const Peer* peer, std::uint64_t tag) const {
    return receives_.find_if([&](const Receive& one) { return one.pattern.accepts(peer, tag); });
  }
  void remove(const Receive* receive) {
    static_cast<void>(receives_.take_if([receive](const Receive& one) { return &one == receive; }));
  }
  /// Takes back the oldest receive for which `wanted` says so.
  template <class Wanted>
  [[nodiscard]] Receive* remove_if(Wanted&& wanted) {
    return receives_.take_if(wanted);
  }

  /// The oldest message for a receive; it stays.
  [[nodiscard]] const Message* peek(const Pattern<Peer>& pattern) const {
    const auto found = first_for(messages_.begin(), messages_.end(), pattern);
    return found == messages_.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::optional<Message> take(const Pattern<Peer>& pattern) {
    const auto found = first_for(messages_.begin(), messages_.end(), pattern);
    if (found == messages_.end()) return std::nullopt;
    std::optional<Message> taken(std::move(*found));
    messages_.erase(found);
    return taken;
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
  template <class Iterator>
  static Iterator first_for(Iterator begin, Iterator end, const Pattern<Peer>& pattern) {
    return oldest(
        begin, end, [&](const Message& one) { return pattern.accepts(one.peer, one.tag); },
        [](const Message&) { return false; });
  }

  ReceiveQueue<Receive> receives_;
  std::list<Message> messages_;
};

}  // namespace strack::udp
