// Who is connected to a server, from where, and how long each has said nothing: how a server that is full finds
// out who has to go. One source (udp::Address::source) cannot keep the others out, neither by doing nothing nor by
// being busy: places are shared evenly, and within its share nobody goes who is at work.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace strack::transfer {

/// Of "192.0.2.7:4794", as endpoints tell their peers' addresses.
[[nodiscard]] std::uint64_t source_of(std::string_view address);

class Guests {
 public:
  using Clock = std::chrono::steady_clock;
  using Id = std::uint64_t;

  /// `idle`: so long without a word, and a guest may have to go; half of it is enough where its source has more
  /// than the newcomer's.
  explicit Guests(std::size_t most, Clock::duration idle = std::chrono::seconds(15))
      : most_(most), idle_(idle) {}

  /// Takes it in. Returns who has to go for that, and is no longer counted, or nobody where there is room: the
  /// idlest one of the source with most guests; where none is idle, the newest of a source that has more than the
  /// newcomer's, which has done least; else the newcomer itself.
  [[nodiscard]] std::optional<Id> enter(Id id, std::uint64_t source, Clock::time_point now);
  void heard(Id id, Clock::time_point now);
  void leave(Id id) { guests_.erase(id); }
  [[nodiscard]] std::size_t size() const { return guests_.size(); }

 private:
  struct Guest {
    std::uint64_t source = 0;
    Clock::time_point heard{};
  };
  std::size_t most_;
  Clock::duration idle_;
  std::unordered_map<Id, Guest> guests_;
};

}  // namespace strack::transfer
