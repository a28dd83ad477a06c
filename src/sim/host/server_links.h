// Links inside a server of several NICs: what its hosts send each other does not go through the network.
// [D90]
//
// No packets: a message goes through the sender's port, one after the other, and is at its fellow a latency
// later. Like packets in lanes, messages of one window are found in the next: a box has one writer and one
// reader, and no link is shorter than a window.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/net/wire.h"

namespace strack::sim {

/// A message of a job, wholly there at that time.
struct MessageInside {
  Instant time;
  std::uint32_t job = 0;
  std::uint32_t node = 0;
};

/// What one host has for one of its fellows.
class ServerBox {
 public:
  void push(std::uint64_t window, const MessageInside& message) {
    std::vector<MessageInside>& list = lists_[window & 1];
    if (windows_[window & 1] != window) list.clear();
    windows_[window & 1] = window;
    list.push_back(message);
  }
  /// Those of the window before.
  [[nodiscard]] std::span<const MessageInside> arrivals(std::uint64_t window) const {
    const std::uint64_t before = window - 1;
    if (windows_[before & 1] != before) return {};
    return lists_[before & 1];
  }

  /// [D117] What the next window finds.
  template <class Archive>
  void state(Archive& a, std::uint64_t next) {
    std::vector<MessageInside> messages;
    if constexpr (!Archive::kLoads) {
      const std::span<const MessageInside> ahead = arrivals(next);
      messages.assign(ahead.begin(), ahead.end());
    }
    a(messages);
    if (!Archive::kLoads) return;
    for (const MessageInside& message : messages) push(next - 1, message);
  }

 private:
  std::vector<MessageInside> lists_[2];
  std::uint64_t windows_[2] = {~std::uint64_t{0}, ~std::uint64_t{0}};
};

/// A host's end of them.
class ServerPort {
 public:
  static constexpr std::uint32_t kOutside = ~std::uint32_t{0};

  /// `hosts` are all of the server, itself included.
  ServerPort(std::vector<std::uint32_t> hosts, BitsPerSecond rate, Picoseconds latency)
      : hosts_(std::move(hosts)),
        in_(hosts_.size()),
        out_(hosts_.size()),
        byte_time_(rate),
        latency_(latency) {}

  void connect(std::uint32_t fellow, const ServerBox* in) { in_[fellow] = in; }
  [[nodiscard]] const ServerBox& to(std::uint32_t fellow) const { return out_[fellow]; }

  /// Which of the server's hosts that is; kOutside: none.
  [[nodiscard]] std::uint32_t fellow(std::uint32_t host) const {
    for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
      if (hosts_[i] == host) return i;
    }
    return kOutside;
  }

  /// Sends so much from now on, behind all that was sent before; when it is there.
  [[nodiscard]] Instant carry(std::int64_t size, Instant now) {
    free_ = (free_ < now ? now : free_) + byte_time_(size);
    return free_ + latency_;
  }
  void send(std::uint32_t fellow, const MessageInside& message) {
    leaving_.push_back({fellow, message});
  }

  /// Calls take(message) for what the others have sent in the window before.
  template <class Take>
  void receive(std::uint64_t window, Take&& take) const {
    for (const ServerBox* in : in_) {
      if (in == nullptr) continue;
      for (const MessageInside& message : in->arrivals(window)) take(message);
    }
  }
  /// At the end of a window: what was sent in it is for the others to find.
  void hand_over(WindowContext& context) {
    for (const Leaving& one : leaving_) {
      out_[one.fellow].push(context.window, one.message);
      context.mail->set(context.window, hosts_[one.fellow]);
      if (one.message.time < context.next_event) context.next_event = one.message.time;
    }
    leaving_.clear();
  }

  /// [D117]
  template <class Archive>
  void state(Archive& a, std::uint64_t next) {
    for (ServerBox& box : out_) box.state(a, next);
    a(free_, leaving_, flows_, first_flow_);
    static_assert(sizeof(ServerPort) == 160, "list what is new");
  }

  /// Flows are known to their sender alone, and over when they are there: in the order in which they began.
  struct FlowInside {
    Instant time;
    std::uint32_t slot = 0;
  };
  void add(const FlowInside& flow) { flows_.push_back(flow); }
  [[nodiscard]] bool carries(std::uint32_t slot) const {
    for (std::size_t i = first_flow_; i < flows_.size(); ++i) {
      if (flows_[i].slot == slot) return true;
    }
    return false;
  }
  [[nodiscard]] Instant next_flow() const {
    return first_flow_ < flows_.size() ? flows_[first_flow_].time : Instant::never();
  }
  std::uint32_t pop_flow() { return flows_[first_flow_++].slot; }

 private:
  struct Leaving {
    std::uint32_t fellow;
    MessageInside message;
  };

  std::vector<std::uint32_t> hosts_;
  std::vector<const ServerBox*> in_;
  std::vector<ServerBox> out_;
  ByteTime byte_time_;
  Picoseconds latency_;
  Instant free_{};
  std::vector<Leaving> leaving_;
  std::vector<FlowInside> flows_;
  std::size_t first_flow_ = 0;
};

}  // namespace strack::sim
