// A network back-end for a simulator of training systems, such as ASTRA-sim: its calls, answered by the simulated network.
//
// Such a tool has a system layer per NPU that asks its network to send, to receive and to be called back after a while, each with a
// function and an argument. `Backend` is that, for one NPU, by the names that ASTRA-sim has for it; the buffers, types and requests
// that it passes as well mean nothing to a network that carries no data. What drives it here is small: the ring AllReduce
// of a system layer, with a computation before it. See docs/closed-loop.md.
//
//   network_backend SCENARIO [KEY=VALUE...]
#include <strack/closed_loop.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

using strack::loop::ClosedLoop;
using strack::loop::Ended;
using strack::loop::Host;
using strack::loop::Message;

/// One NPU's network. Calls are made from within its own callbacks, as such tools make them.
class Backend {
 public:
  using Handler = void (*)(void* argument);

  explicit Backend(std::uint32_t rank) : rank_(rank) {}

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] double sim_get_time() const { return static_cast<double>(at_->now()) / 1e3; }  // ns

  int sim_send(std::uint64_t bytes, std::uint32_t to, int tag, Handler then, void* argument) {
    at_->send(to, static_cast<std::uint64_t>(tag), bytes,
              [this, then, argument](Host& at) { call(at, then, argument); });
    return 0;
  }
  int sim_recv(std::uint32_t from, int tag, Handler then, void* argument) {
    at_->receive(from, static_cast<std::uint64_t>(tag),
                 [this, then, argument](Host& at, const Message&) { call(at, then, argument); });
    return 0;
  }
  void sim_schedule(double ns, Handler then, void* argument) {
    at_->compute(std::llround(ns * 1e3),
                 [this, then, argument](Host& at) { call(at, then, argument); });
  }

  /// Whatever the loop calls back: it is that host, and that time, as long as the handler runs.
  void call(Host& at, Handler then, void* argument) {
    Host* before = at_;
    at_ = &at;
    if (then != nullptr) then(argument);
    at_ = before;
  }

 private:
  std::uint32_t rank_;
  Host* at_ = nullptr;
};

/// What a system layer would be: it computes, then reduces with all others around a ring.
class Npu {
 public:
  Npu(Backend& network, std::uint32_t npus, std::uint64_t piece)
      : network_(network), npus_(npus), piece_(piece) {}

  static void begin(void* self) {
    auto* npu = static_cast<Npu*>(self);
    npu->network_.sim_schedule(2'000, Npu::computed, npu);
  }
  [[nodiscard]] double done_ns() const { return done_ns_; }

 private:
  static void computed(void* self) {
    auto* npu = static_cast<Npu*>(self);
    npu->pass_on();
    npu->expect();
  }
  static void arrived(void* self) {
    auto* npu = static_cast<Npu*>(self);
    if (++npu->step_ == 2 * (npu->npus_ - 1)) {
      npu->done_ns_ = npu->network_.sim_get_time();
      return;
    }
    npu->pass_on();
    npu->expect();
  }
  void pass_on() { network_.sim_send(piece_, (network_.rank() + 1) % npus_, 0, nullptr, nullptr); }
  void expect() { network_.sim_recv((network_.rank() + npus_ - 1) % npus_, 0, Npu::arrived, this); }

  Backend& network_;
  std::uint32_t npus_;
  std::uint64_t piece_;
  std::uint32_t step_ = 0;
  double done_ns_ = 0;
};

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: network_backend SCENARIO [KEY=VALUE...]\n");
    return 2;
  }
  try {
    ClosedLoop loop(argv[1], std::vector<std::string>(argv + 2, argv + argc));
    std::vector<std::unique_ptr<Backend>> networks;
    std::vector<std::unique_ptr<Npu>> npus;
    for (std::uint32_t h = 0; h < loop.hosts(); ++h) {
      networks.push_back(std::make_unique<Backend>(h));
      npus.push_back(std::make_unique<Npu>(*networks[h], loop.hosts(), 64 * 1024));
      loop.at_start(h, [network = networks[h].get(), npu = npus[h].get()](Host& at) {
        network->call(at, Npu::begin, npu);
      });
    }
    if (loop.run() != Ended::done) {
      std::fprintf(stderr, "error: %s\n", loop.waiting_for().c_str());
      return 1;
    }
    double last = 0;
    for (const auto& npu : npus) last = npu->done_ns() > last ? npu->done_ns() : last;
    std::printf("%u NPUs: reduced after %.1f ns, %llu messages\n", loop.hosts(), last,
                static_cast<unsigned long long>(loop.totals().messages));
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "error: %s\n", wrong.what());
    return 2;
  }
  return 0;
}
