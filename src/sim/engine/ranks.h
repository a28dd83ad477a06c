// Processes that run one cluster together, each some of its nodes: what they say to each other.
//
// All of them make the same calls in the same order. sim/mpi does it with MPI, a test with threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace strack::sim {

/// What one rank has for another. All that is sent is made of words, so that it lies where it may be read.
struct Parcel {
  std::array<std::uint64_t, 5> head{};
  std::vector<std::uint64_t> body;
};

/// And what one has got, where it lies.
struct Received {
  std::array<std::uint64_t, 5> head{};
  std::span<const std::uint64_t> body;
};

/// One of them is gone, and without it there is no going on.
struct RankLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Ranks {
 public:
  virtual ~Ranks() = default;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t count() const = 0;
  /// Gives every rank its parcel, this one too, and takes one from each. Throws RankLost.
  virtual void exchange(std::span<const Parcel> out, std::vector<Parcel>& in) = 0;
  /// The same between windows. What comes stays where it is until the next time.
  virtual void pass(std::span<const Parcel> out, std::vector<Received>& in) {
    exchange(out, passed_);
    in.clear();
    for (const Parcel& parcel : passed_) in.push_back({parcel.head, parcel.body});
  }
  /// Once this is set, nobody waits long for a rank that does not come. May be null.
  virtual void watch(const std::atomic<bool>* stop) = 0;
  /// Ends all of them, with an error.
  virtual void abort() = 0;

 private:
  std::vector<Parcel> passed_;
};

}  // namespace strack::sim
