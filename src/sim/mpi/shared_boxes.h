// Memory that all ranks of one machine see: what one has for another lies there, and is read where it lies.
//
// Each has a box with two halves, which it fills in turn: while the others read what it put there last, it fills the
// other one. All of a machine make the same calls in the same order.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace strack::sim::mpi {

class SharedBoxes {
 public:
  SharedBoxes() = default;
  ~SharedBoxes() = default;
  SharedBoxes(const SharedBoxes&) = delete;
  SharedBoxes& operator=(const SharedBoxes&) = delete;

  /// Who is on this machine. There is no room yet.
  void open(int rank, int count) {
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine_) !=
        MPI_SUCCESS) {
      machine_ = MPI_COMM_NULL;
      return;
    }
    MPI_Comm_set_errhandler(machine_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(machine_, &here_);
    MPI_Comm_size(machine_, &size_);
    std::vector<int> ranks(static_cast<std::size_t>(size_));
    MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, machine_);
    place_of_.assign(static_cast<std::size_t>(count), -1);
    for (int i = 0; i < size_; ++i)
      place_of_[static_cast<std::size_t>(ranks[static_cast<std::size_t>(i)])] = i;
  }
  /// Before MPI ends; what was put into a box is gone.
  void close() {
    for (MPI_Win& window : windows_) {
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
    }
    windows_.clear();
    boxes_.clear();
    if (machine_ != MPI_COMM_NULL) MPI_Comm_free(&machine_);
  }

  /// Whether that rank is another one of this machine.
  [[nodiscard]] bool reach(std::size_t rank) const {
    return size_ > 1 && place_of_[rank] >= 0 && place_of_[rank] != here_;
  }

  /// Something new is to be put in.
  void begin() {
    half_ ^= 1;
    used_ = 0;
    wanted_ = 0;
  }
  /// Where in the box it then lies, from 1 on; 0: there is no room, or nothing to be put in.
  [[nodiscard]] std::uint64_t put(std::span<const std::uint64_t> words) {
    wanted_ += words.size();
    if (words.empty() || words.size() > room_ - used_) return 0;
    std::memcpy(half_of(here_) + used_, words.data(), words.size_bytes());
    used_ += words.size();
    return used_ - words.size() + 1;
  }
  [[nodiscard]] std::span<const std::uint64_t> get(std::size_t rank, std::uint64_t place,
                                                   std::uint64_t words) const {
    return {half_of(place_of_[rank]) + place - 1, words};
  }
  /// When all is in, before others are told; and again before one looks at theirs.
  void sync() const {
    if (!windows_.empty()) MPI_Win_sync(windows_.back());
  }

  /// So much room was wanted here this time.
  [[nodiscard]] std::uint64_t wanted() const { return wanted_; }
  /// And so much by somebody, as all of a machine know: boxes are larger from the next time on. What lies in those that
  /// there are can still be read.
  void grow(std::uint64_t wanted) {
    if (wanted <= room_ || size_ < 2 || failed_) return;
    const std::uint64_t room = std::max(2 * wanted, kLeast);
    void* base = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    int made = MPI_Win_allocate_shared(static_cast<MPI_Aint>(2 * room * sizeof(std::uint64_t)), 1,
                                       MPI_INFO_NULL, machine_, &base, &window) == MPI_SUCCESS
                   ? 1
                   : 0;
    int all_made = 0;
    MPI_Allreduce(&made, &all_made, 1, MPI_INT, MPI_MIN, machine_);
    failed_ = all_made == 0;
    if (failed_) return;  // messages go as ever
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    windows_.push_back(window);
    room_ = room;
    boxes_.resize(static_cast<std::size_t>(size_));
    for (int i = 0; i < size_; ++i) {
      MPI_Aint bytes = 0;
      int unit = 0;
      MPI_Win_shared_query(window, i, &bytes, &unit, &boxes_[static_cast<std::size_t>(i)]);
    }
  }

 private:
  static constexpr std::uint64_t kLeast = 8'192;

  [[nodiscard]] std::uint64_t* half_of(int place) const {
    return static_cast<std::uint64_t*>(boxes_[static_cast<std::size_t>(place)]) + half_ * room_;
  }

  MPI_Comm machine_ = MPI_COMM_NULL;
  int here_ = 0;
  int size_ = 1;
  std::vector<int> place_of_;     ///< by rank: which of this machine it is, or -1
  std::vector<MPI_Win> windows_;  ///< the last one has the boxes
  std::vector<void*> boxes_;
  std::uint64_t room_ = 0;  ///< words of a half
  std::uint64_t half_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t wanted_ = 0;
  bool failed_ = false;
};

}  // namespace strack::sim::mpi
