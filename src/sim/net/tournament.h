// Whose turn is next among a fixed number of contestants, each with one time: a tree of winners.
// A change costs one path to the root; ties go to the lower number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace strack::sim {

class Tournament {
 public:
  /// Starts over with so many, none of which has a time.
  void reset(std::size_t contestants) {
    leaves_ = 1;
    while (leaves_ < contestants) leaves_ *= 2;
    nodes_.assign(2 * leaves_, {Instant::never(), 0});
    for (std::size_t i = 0; i < leaves_; ++i)
      nodes_[leaves_ + i].who = static_cast<std::uint32_t>(i);
  }
  /// Sets a time; build() must follow.
  void place(std::size_t who, Instant time) { nodes_[leaves_ + who].time = time; }
  void build() {
    for (std::size_t i = leaves_; i-- > 1;) play(i);
  }

  void update(std::size_t who, Instant time) {
    std::size_t i = leaves_ + who;
    if (nodes_[i].time == time) return;
    nodes_[i].time = time;
    Node winner = nodes_[i];
    for (; i > 1; i /= 2) {
      const Node other = nodes_[i ^ 1];
      // The one on the right, of odd number, loses ties too. Unpredictable, so without a branch.
      const bool loses = other.time.ps - static_cast<std::int64_t>(i & 1) < winner.time.ps;
      winner.time = loses ? other.time : winner.time;
      winner.who = loses ? other.who : winner.who;
      Node& above = nodes_[i / 2];
      if (above.time == winner.time && above.who == winner.who) return;
      above = winner;
    }
  }

  [[nodiscard]] Instant time_of(std::size_t who) const { return nodes_[leaves_ + who].time; }
  /// The winner's.
  [[nodiscard]] Instant time() const { return nodes_[1].time; }
  [[nodiscard]] std::uint32_t who() const { return nodes_[1].who; }

 private:
  struct Node {
    Instant time;
    std::uint32_t who;
  };
  void play(std::size_t i) {
    const Node& left = nodes_[2 * i];
    const Node& right = nodes_[2 * i + 1];
    nodes_[i] = right.time < left.time ? right : left;
  }

  std::size_t leaves_ = 1;
  std::vector<Node> nodes_ = {{Instant::never(), 0}, {Instant::never(), 0}};
};

}  // namespace strack::sim
