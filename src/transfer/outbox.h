// What one side of a transfer has to send: control messages and blocks, in one order, kept until they are
// acknowledged. Waits when the connection has no room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "transfer/messages.h"
#include "udp/endpoint.h"

namespace strack::transfer {

class Outbox {
 public:
  /// Cookies that it uses have this bit; a user's own must not.
  static constexpr std::uint64_t kCookie = std::uint64_t{1} << 63;

  /// `first`: of its cookies, where another one shares the connection.
  Outbox(udp::Endpoint& endpoint, udp::ConnectionId connection, std::uint64_t first = 0)
      : endpoint_(endpoint), connection_(connection), next_(first) {}

  void send(const Control& message) { add({kControlTag, encode(message), {}, {}}); }
  /// `bytes` stay as they are until `done` is called.
  void send_block(BlockName name, std::span<const std::byte> bytes, std::function<void()> done) {
    add({data_tag(name), {}, bytes, std::move(done)});
  }

  /// Hands to the endpoint what it takes. Returns whether that was anything.
  bool flush() {
    bool sent = false;
    while (!waiting_.empty()) {
      const std::uint64_t cookie = waiting_.front();
      const Item& item = items_.at(cookie);
      const std::span<const std::byte> bytes =
          item.done ? item.bytes : std::span<const std::byte>(item.own);
      const udp::Status status = endpoint_.send(connection_, item.tag, bytes, cookie);
      if (status == udp::Status::would_block) break;
      waiting_.pop_front();
      // Anything else means that the connection has ended, which is told by its own completion.
      if (status != udp::Status::ok) items_.erase(cookie);
      sent = true;
    }
    return sent;
  }

  /// For every `sent` completion with its bit in the cookie.
  void on_sent(const udp::Completion& completion) {
    const auto found = items_.find(completion.cookie);
    if (found == items_.end()) return;
    const std::function<void()> done = std::move(found->second.done);
    items_.erase(found);
    if (done && completion.status == udp::Status::ok) done();
  }

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }

 private:
  struct Item {
    std::uint64_t tag = 0;
    std::vector<std::byte> own;
    std::span<const std::byte> bytes;
    std::function<void()> done;
  };
  void add(Item item) {
    const std::uint64_t cookie = kCookie | next_++;
    items_.emplace(cookie, std::move(item));
    waiting_.push_back(cookie);
    flush();
  }

  udp::Endpoint& endpoint_;
  udp::ConnectionId connection_;
  std::uint64_t next_;
  std::unordered_map<std::uint64_t, Item> items_;
  std::deque<std::uint64_t> waiting_;
};

}  // namespace strack::transfer
