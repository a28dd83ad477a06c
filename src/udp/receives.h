// Posted receives, waiting for a message. Nodes come from a pool that grows in chunks up to its limit and never gives
// memory back; which message goes to which of them is matching.h's.
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

}  // namespace strack::udp
