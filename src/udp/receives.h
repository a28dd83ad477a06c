// Posted receives, waiting for a message: first in, first matched. Nodes come from a pool that
// grows in chunks up to its limit and never gives memory back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "udp/endpoint.h"

namespace strack::udp {

struct PostedReceive {
  Match match;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::uint64_t cookie = 0;
  PostedReceive* next = nullptr;
  std::shared_ptr<const std::vector<std::span<std::byte>>> pieces{};  ///< instead of `buffer`
};

class ReceivePool {
 public:
  explicit ReceivePool(std::size_t limit) : limit_(limit) {}

  /// Nothing when the limit is reached.
  [[nodiscard]] PostedReceive* take() {
    if (free_ == nullptr) {
      if (nodes_.size() == limit_) return nullptr;
      return &nodes_.emplace_back();
    }
    PostedReceive* node = free_;
    free_ = node->next;
    return node;
  }
  void give_back(PostedReceive* node) {
    node->pieces.reset();
    node->next = free_;
    free_ = node;
  }

 private:
  std::size_t limit_;
  std::deque<PostedReceive> nodes_;
  PostedReceive* free_ = nullptr;
};

/// A list of them in the order of posting. Looking for a match walks it: O(1) for those who post in
/// the order in which messages come.
class ReceiveQueue {
 public:
  void push(PostedReceive* node) {
    node->next = nullptr;
    *(last_ != nullptr ? &last_->next : &first_) = node;
    last_ = node;
    ++count_;
  }
  /// Removes and returns the first that `wanted(node)` accepts, or nothing.
  template <class Wanted>
  [[nodiscard]] PostedReceive* take_if(Wanted&& wanted) {
    PostedReceive* before = nullptr;
    for (PostedReceive* node = first_; node != nullptr; before = node, node = node->next) {
      if (!wanted(*node)) continue;
      *(before != nullptr ? &before->next : &first_) = node->next;
      if (last_ == node) last_ = before;
      --count_;
      return node;
    }
    return nullptr;
  }
  [[nodiscard]] PostedReceive* take(std::uint64_t tag) {
    return take_if([tag](const PostedReceive& node) { return node.match.accepts(tag); });
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  PostedReceive* first_ = nullptr;
  PostedReceive* last_ = nullptr;
  std::uint32_t count_ = 0;
};

}  // namespace strack::udp
