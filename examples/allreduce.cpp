// A ring AllReduce: every rank has a vector of floats, and in the end every rank has their sum.
//
//   allreduce [RANKS [FLOATS]]       default: 4 ranks, 1000000 floats
//
// Each rank is a thread with an endpoint of its own; only the addresses and the verdict pass between threads in
// any other way. A vector is cut into as many pieces as there are ranks. In the first half
// (reduce-scatter) a rank adds what comes from the left to its own piece and passes it on to the right,
// so that each piece is summed up on its way round; in the second (all-gather) the sums go round once more.
#include <strack/endpoint.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace strack::udp;

[[noreturn]] void die(std::string_view what, std::string_view why) {
  std::fprintf(stderr, "error: %.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(why.size()), why.data());
  std::_Exit(1);  // other threads are at work
}

void need(Status status, std::string_view what) {
  if (status != Status::ok) die(what, text(status));
}

/// A small whole number, so that sums are exact whatever the order.
float initial(std::size_t rank, std::size_t i) {
  return static_cast<float>((rank + 1) * (i % 97 + 1));
}
float expected(std::size_t ranks, std::size_t i) {
  return static_cast<float>(ranks * (ranks + 1) / 2 * (i % 97 + 1));
}

/// What the threads share.
struct Job {
  std::size_t ranks;
  std::size_t floats;
  std::vector<std::string> addresses;  ///< by rank; complete when all have arrived at `listening`
  std::latch listening;
  std::atomic<std::size_t> wrong = 0;
};

class Rank {
 public:
  Rank(Job& job, std::size_t rank)
      : job_(job), rank_(rank), endpoint_(open(rank)), data_(job.floats) {
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = initial(rank, i);
  }

  void run() {
    meet_neighbours();
    // A rank begins with its own piece, so in step s it sends the one s to its left.
    for (std::size_t step = 0; step + 1 < job_.ranks; ++step) reduce(step);
    // Now it has the sum of the piece to its right.
    for (std::size_t step = 0; step + 1 < job_.ranks; ++step) gather(step);
    part();
    for (std::size_t i = 0; i < data_.size(); ++i) {
      if (data_[i] != expected(job_.ranks, i)) ++job_.wrong;
    }
  }

 private:
  static Endpoint open(std::size_t rank) {
    EndpointOptions options;
    options.listen = "127.0.0.1:0";  // any free port
    options.user_data = rank;        // told to every peer
    auto opened = Endpoint::open(options);
    if (!opened) die("cannot open", opened.error().text);
    return std::move(opened.value());
  }

  void meet_neighbours() {
    job_.addresses[rank_] = endpoint_.local_address();
    job_.listening.arrive_and_wait();
    const auto connected = endpoint_.connect(job_.addresses[(rank_ + 1) % job_.ranks]);
    if (!connected) die("cannot connect", connected.error().text);
    right_ = connected.value();
    while (left_ == kAnyConnection || !right_up_) work();
  }

  void part() {
    need(endpoint_.close(left_), "cannot close");
    need(endpoint_.close(right_), "cannot close");
    while (closed_ < 2) work();
  }

  void reduce(std::size_t step) {
    const std::span<float> mine = piece(rank_ + 2 * job_.ranks - step - 1);
    scratch_.resize(mine.size());
    exchange(step, piece(rank_ + job_.ranks - step), scratch_);
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] += scratch_[i];
  }

  void gather(std::size_t step) {
    // Straight into its place.
    exchange(job_.ranks + step, piece(rank_ + job_.ranks + 1 - step),
             piece(rank_ + job_.ranks - step));
  }

  /// Sends to the right and receives from the left. A neighbour that is ahead does not overrun this rank:
  /// what finds no receive waits in a bounded pool, and at its sender beyond that.
  void exchange(std::size_t tag, std::span<const float> out, std::span<float> in) {
    sent_ = received_ = false;
    need(endpoint_.post_receive(left_, Match::exactly(tag), std::as_writable_bytes(in), 0),
         "cannot post a receive");
    need(endpoint_.send(right_, tag, std::as_bytes(out), 0), "cannot send");
    while (!sent_ || !received_) work();
  }

  /// Works until something has happened, and notes it.
  void work() {
    endpoint_.wait(std::chrono::seconds(1));
    std::array<Completion, 16> some;
    for (const Completion& done : endpoint_.completions(some)) {
      if (done.status != Status::ok) die(text(done.kind), text(done.status));
      switch (done.kind) {
        case Kind::sent:
          sent_ = true;
          break;
        case Kind::received:
          received_ = true;
          break;
        case Kind::connected:
          right_up_ = true;
          break;
        case Kind::accepted:  // the tag is what the peer says about itself
          if (done.tag != (rank_ + job_.ranks - 1) % job_.ranks) die("accepted", "a wrong rank");
          left_ = done.connection;
          break;
        case Kind::closed:
          ++closed_;
          break;
        case Kind::written:
        case Kind::read:
        case Kind::atomic:
        case Kind::peer_closed:
        case Kind::failed:
          break;
      }
    }
  }

  std::span<float> piece(std::size_t index) {
    index %= job_.ranks;
    const std::size_t begin = data_.size() * index / job_.ranks;
    const std::size_t end = data_.size() * (index + 1) / job_.ranks;
    return std::span(data_).subspan(begin, end - begin);
  }

  Job& job_;
  std::size_t rank_;
  Endpoint endpoint_;
  std::vector<float> data_;
  std::vector<float> scratch_;
  ConnectionId left_ = kAnyConnection;
  ConnectionId right_ = kAnyConnection;
  bool right_up_ = false;
  bool sent_ = false;
  bool received_ = false;
  int closed_ = 0;
};

/// A number between two others, or the end of the program.
std::size_t number(const char* word, std::size_t low, std::size_t high) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(word, &end, 10);
  if (end == word || *end != '\0' || value < low || value > high) {
    die(word,
        "a number from " + std::to_string(low) + " to " + std::to_string(high) + " would be right");
  }
  return static_cast<std::size_t>(value);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t ranks = argc > 1 ? number(argv[1], 2, 64) : 4;
  const std::size_t floats = argc > 2 ? number(argv[2], 0, 100'000'000) : 1'000'000;
  Job job{.ranks = ranks,
          .floats = floats,
          .addresses = std::vector<std::string>(ranks),
          .listening = std::latch(static_cast<std::ptrdiff_t>(ranks))};

  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&job, rank] { Rank(job, rank).run(); });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;

  if (job.wrong != 0) {
    std::fprintf(stderr, "error: %zu sums are wrong\n", job.wrong.load());
    return 1;
  }
  std::printf("%zu ranks have the sums of %zu floats, after %.1f ms\n", ranks, floats,
              took.count());
  return 0;
}
