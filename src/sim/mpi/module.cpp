// The module libstrack-mpi.so: ranks of MPI_COMM_WORLD.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/ranks.h"
#include "sim/mpi/engine.h"
#include "sim/mpi/shared_boxes.h"

namespace strack::sim::mpi {
namespace {

/// Once all are told to stop, who is not there after this long has died. mpirun kills a second after it asks, and
/// rank 0 has a file to finish: the others leave the judgement to it.
constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kOthersPatience = std::chrono::seconds(10);
constexpr int kSpins = 200;

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    heads_out_.resize(static_cast<std::size_t>(count_));
    heads_in_.resize(static_cast<std::size_t>(count_));
    messages_.resize(static_cast<std::size_t>(count_));
    boxes_.open(rank_, count_);
  }
  ~MpiRanks() override {
    if (lost_) return;
    boxes_.close();
    MPI_Finalize();
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  [[nodiscard]] std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  [[nodiscard]] std::uint32_t count() const override { return static_cast<std::uint32_t>(count_); }
  void watch(const std::atomic<bool>* stop) override { stop_ = stop; }

  void exchange(std::span<const Parcel> out, std::vector<Parcel>& in) override {
    in.resize(out.size());
    for (std::size_t r = 0; r < out.size(); ++r)
      heads_out_[r] = {out[r].head, r == rank() ? 0 : out[r].body.size()};
    tell_heads();
    for (std::size_t r = 0; r < in.size(); ++r) {
      in[r].head = heads_in_[r].head;
      in[r].body.resize(heads_in_[r].words);
      if (!in[r].body.empty()) receive(r, in[r].body);
      if (heads_out_[r].words != 0) send(r, out[r].body);
    }
    wait();
  }

  /// Ranks of one machine read what others have for them where these have put it.
  void pass(std::span<const Parcel> out, std::vector<Received>& in) override {
    in.resize(out.size());
    boxes_.begin();
    for (std::size_t r = 0; r < out.size(); ++r) {
      heads_out_[r] = {out[r].head, r == rank() ? 0 : out[r].body.size()};
      if (boxes_.reach(r)) heads_out_[r].place = boxes_.put(out[r].body);
    }
    for (Head& head : heads_out_) head.wanted = boxes_.wanted();
    boxes_.sync();
    tell_heads();
    boxes_.sync();
    std::uint64_t wanted = boxes_.wanted();
    for (std::size_t r = 0; r < in.size(); ++r) {
      const Head& head = heads_in_[r];
      in[r].head = head.head;
      if (head.place != 0) {
        in[r].body = boxes_.get(r, head.place, head.words);
      } else {
        messages_[r].resize(head.words);
        if (head.words != 0) receive(r, messages_[r]);
        in[r].body = messages_[r];
      }
      if (heads_out_[r].words != 0 && heads_out_[r].place == 0) send(r, out[r].body);
      if (boxes_.reach(r)) wanted = std::max(wanted, head.wanted);
    }
    wait();
    boxes_.grow(wanted);
  }

  void abort() override { MPI_Abort(MPI_COMM_WORLD, 2); }

 private:
  struct Head {
    std::array<std::uint64_t, 5> head{};
    std::uint64_t words = 0;   ///< of the body
    std::uint64_t place = 0;   ///< of the body in the sender's box; 0: it comes as a message
    std::uint64_t wanted = 0;  ///< room in that box
  };

  /// From each to each, with lengths: all know then how much comes.
  void tell_heads() {
    constexpr int kWords = sizeof(Head) / sizeof(std::uint64_t);
    MPI_Request one = MPI_REQUEST_NULL;
    check(MPI_Ialltoall(heads_out_.data(), kWords, MPI_UINT64_T, heads_in_.data(), kWords,
                        MPI_UINT64_T, MPI_COMM_WORLD, &one));
    requests_.assign(1, one);
    wait();
    requests_.clear();
  }
  void receive(std::size_t from, std::span<std::uint64_t> words) {
    check(MPI_Irecv(words.data(), static_cast<int>(words.size()), MPI_UINT64_T,
                    static_cast<int>(from), 0, MPI_COMM_WORLD, &requests_.emplace_back()));
  }
  void send(std::size_t to, std::span<const std::uint64_t> words) {
    check(MPI_Isend(words.data(), static_cast<int>(words.size()), MPI_UINT64_T,
                    static_cast<int>(to), 0, MPI_COMM_WORLD, &requests_.emplace_back()));
  }

  void lose(const std::string& why) {
    lost_ = true;
    throw RankLost(why);
  }
  void check(int status) {
    if (status == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(status, text, &length);
    lose("MPI says: " + std::string(text, static_cast<std::size_t>(length)));
  }

  /// For all requests. Others may need this processor to get on; and one that has died will never answer.
  void wait() {
    std::chrono::steady_clock::time_point asked{};
    for (int spins = 0;; ++spins) {
      int done = 0;
      check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                        MPI_STATUSES_IGNORE));
      if (done != 0) return;
      if (spins < kSpins) continue;
      sched_yield();
      if (stop_ == nullptr || !stop_->load(std::memory_order_relaxed)) continue;
      const auto now = std::chrono::steady_clock::now();
      if (asked == std::chrono::steady_clock::time_point{}) asked = now;
      if (now - asked > (rank_ == 0 ? kPatience : kOthersPatience))
        lose("another rank does not answer");
    }
  }

  int rank_ = 0;
  int count_ = 1;
  bool lost_ = false;
  const std::atomic<bool>* stop_ = nullptr;
  std::vector<Head> heads_out_;
  std::vector<Head> heads_in_;
  std::vector<MPI_Request> requests_;
  std::vector<std::vector<std::uint64_t>> messages_;  ///< that came between windows, by rank
  SharedBoxes boxes_;
};

Ranks* open(std::string& problem) {
  static std::unique_ptr<MpiRanks> ranks;
  if (!ranks) {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) {
      problem = "MPI has ended already";
      return nullptr;
    }
    ranks = std::make_unique<MpiRanks>();
  }
  return ranks.get();
}

}  // namespace
}  // namespace strack::sim::mpi

extern "C" [[gnu::visibility("default")]] const strack::sim::mpi::Module* strack_mpi_module() {
  static constexpr strack::sim::mpi::Module module{strack::sim::mpi::kModuleLayout,
                                                   &strack::sim::mpi::open};
  return &module;
}
