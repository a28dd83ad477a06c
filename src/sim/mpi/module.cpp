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
  }
  ~MpiRanks() override {
    if (!lost_) MPI_Finalize();
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  [[nodiscard]] std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  [[nodiscard]] std::uint32_t count() const override { return static_cast<std::uint32_t>(count_); }
  void watch(const std::atomic<bool>* stop) override { stop_ = stop; }

  void exchange(std::span<const Parcel> out, std::vector<Parcel>& in) override {
    in.resize(out.size());
    // Heads and lengths first, from each to each: all know then how much comes.
    for (std::size_t r = 0; r < out.size(); ++r)
      heads_out_[r] = {out[r].head, r == rank() ? 0 : out[r].body.size()};
    constexpr int kWords = sizeof(Head) / sizeof(std::uint64_t);
    MPI_Request one = MPI_REQUEST_NULL;
    check(MPI_Ialltoall(heads_out_.data(), kWords, MPI_UINT64_T, heads_in_.data(), kWords,
                        MPI_UINT64_T, MPI_COMM_WORLD, &one));
    requests_.assign(1, one);
    wait();
    requests_.clear();
    for (std::size_t r = 0; r < in.size(); ++r) {
      in[r].head = heads_in_[r].head;
      in[r].body.resize(heads_in_[r].words);
      if (in[r].body.empty()) continue;
      check(MPI_Irecv(in[r].body.data(), static_cast<int>(in[r].body.size()), MPI_UINT64_T,
                      static_cast<int>(r), 0, MPI_COMM_WORLD, &requests_.emplace_back()));
    }
    for (std::size_t r = 0; r < out.size(); ++r) {
      if (heads_out_[r].words == 0) continue;
      check(MPI_Isend(out[r].body.data(), static_cast<int>(out[r].body.size()), MPI_UINT64_T,
                      static_cast<int>(r), 0, MPI_COMM_WORLD, &requests_.emplace_back()));
    }
    wait();
  }

  void abort() override { MPI_Abort(MPI_COMM_WORLD, 2); }

 private:
  struct Head {
    std::array<std::uint64_t, 5> head{};
    std::uint64_t words = 0;  ///< of the body
  };

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
