// Two processes that do all that the provider can, at once: messages of all sizes, reads, writes and atomics.
//
//   mixed killed                       in the middle of it one of them is killed: each operation of the other's must end
//   mixed soak SECONDS [PATH PATH]     until the time is over: every byte is right, and memory does not grow.
//                                      The paths are network namespaces, in which FI_STRACK_ADDRESS_1 and _2 are theirs
//
// It has the provider in it, so that sanitizers see both. FI_STRACK_TIMEOUT says how long a peer may be silent.
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "fabric/provider.h"

extern "C" fi_provider* fi_prov_ini(void);

namespace strack::fabric {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongest = 200'000;
constexpr std::size_t kSlots = 16;  ///< of remote memory, each written and read back by itself
constexpr std::size_t kReceives = 16;
constexpr std::size_t kUnderWay = 64;
constexpr double kWarm = 20;  ///< seconds after a quarter of which all buffers have been in use
constexpr std::uint64_t kKey = 7;
constexpr std::uint64_t kGoodbye = ~std::uint64_t{0};

void must(std::int64_t status, const char* what) {
  if (status >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, fi_strerror(static_cast<int>(-status)));
  std::exit(1);
}
void check(bool fine, const char* what) {
  if (fine) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::size_t resident_kb() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long all = 0;
  unsigned long here = 0;
  check(file != nullptr && std::fscanf(file, "%lu %lu", &all, &here) == 2, "/proc/self/statm");
  std::fclose(file);
  return here * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

void fill(std::vector<std::uint8_t>& bytes, std::size_t size, std::uint64_t seed) {
  bytes.resize(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::uint8_t>(seed + i * 31 + (i >> 8) * 7);
}
bool holds(const std::uint8_t* bytes, std::size_t size, std::uint64_t seed) {
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] != static_cast<std::uint8_t>(seed + i * 31 + (i >> 8) * 7)) return false;
  }
  return true;
}

/// An operation of this side's; libfabric's context points at it.
struct Op {
  enum class Kind { free, receive, send, write, read, add };
  Kind kind = Kind::free;
  std::size_t slot = 0;
  std::uint64_t seed = 0;
  std::uint64_t found = 0;
  std::vector<std::uint8_t> bytes;
};

class Side {
 public:
  explicit Side(int peer) : peer_(peer), random_(static_cast<unsigned>(getpid())) {
    fi_provider* provider = fi_prov_ini();
    check(provider != nullptr, "the provider says no");
    fi_info* hints = fi_allocinfo();
    hints->ep_attr->type = FI_EP_RDM;
    must(provider->getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info_), "getinfo");
    fi_freeinfo(hints);
    must(provider->fabric(info_->fabric_attr, &fabric_, nullptr), "fabric");
    must(fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
    fi_av_attr av{};
    must(fi_av_open(domain_, &av, &av_, nullptr), "fi_av_open");
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_TAGGED;
    must(fi_cq_open(domain_, &cq, &cq_, nullptr), "fi_cq_open");
    memory_.resize(kSlots * kLongest + sizeof(std::uint64_t));
    must(fi_mr_reg(domain_, memory_.data(), memory_.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                   kKey, 0, &region_, nullptr),
         "fi_mr_reg");
    must(fi_endpoint(domain_, info_, &ep_, nullptr), "fi_endpoint");
    must(fi_ep_bind(ep_, &av_->fid, 0), "bind");
    must(fi_ep_bind(ep_, &cq_->fid, FI_TRANSMIT | FI_RECV), "bind");
    must(fi_enable(ep_), "fi_enable");
    ops_.resize(kReceives + kUnderWay + kSlots);
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      ops_[i].bytes.reserve(kLongest);
      if (i >= kReceives) free_.push_back(&ops_[i]);
    }
    for (std::size_t i = 0; i < kSlots; ++i) idle_slots_.push_back(i);
    exchange_names();
  }
  ~Side() {
    for (fid* one : {&ep_->fid, &region_->fid, &cq_->fid, &av_->fid, &domain_->fid, &fabric_->fid})
      must(fi_close(one), "fi_close");
    fi_freeinfo(info_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void post_receives() {
    for (std::size_t i = 0; i < kReceives; ++i) post(ops_[i]);
  }
  /// Something at random, if there is room for it.
  void begin_one() {
    if (free_.empty()) return;
    Op& op = *free_.back();
    const unsigned what = static_cast<unsigned>(random_() % 8);
    op.seed = random_();
    std::int64_t status = 0;
    if (what < 4) {
      // Short ones mostly, as programs have them; the tag says what is in it.
      const std::size_t size = random_() % (what < 3 ? 2'000 : kLongest);
      fill(op.bytes, size, op.seed & 0xffff);
      op.kind = Op::Kind::send;
      status = fi_tsend(ep_, op.bytes.data(), size, nullptr, address_, op.seed & 0xffff, &op);
    } else if (what < 6) {
      if (idle_slots_.empty()) return;
      op.slot = idle_slots_.front();
      fill(op.bytes, 1 + random_() % (what == 4 ? 2'000 : kLongest), op.seed);
      op.kind = Op::Kind::write;
      status = fi_write(ep_, op.bytes.data(), op.bytes.size(), nullptr, address_,
                        op.slot * kLongest, kKey, &op);
      if (status == 0) idle_slots_.pop_front();
    } else {
      op.kind = Op::Kind::add;
      const std::uint64_t one = 1;
      fill(op.bytes, sizeof one, 0);
      std::memcpy(op.bytes.data(), &one, sizeof one);
      status = fi_fetch_atomic(ep_, op.bytes.data(), 1, nullptr, &op.found, nullptr, address_,
                               kSlots * kLongest, kKey, FI_UINT64, FI_SUM, &op);
    }
    if (status == -FI_EAGAIN) return;
    if (status != 0) {
      ++refused;
      return;
    }
    free_.pop_back();
    ++begun;
  }
  /// Takes what is done; whether there was anything.
  bool take() {
    fi_cq_tagged_entry some[32];
    const ssize_t got = fi_cq_read(cq_, some, 32);
    if (got == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      must(fi_cq_readerr(cq_, &error, 0), "fi_cq_readerr");
      over(*static_cast<Op*>(error.op_context), 0, 0, error.err);
      return true;
    }
    if (got == -FI_EAGAIN) return false;
    must(got, "fi_cq_read");
    for (ssize_t i = 0; i < got; ++i)
      over(*static_cast<Op*>(some[i].op_context), some[i].tag, some[i].len, 0);
    return true;
  }
  [[nodiscard]] std::size_t under_way() const { return ops_.size() - kReceives - free_.size(); }
  void say_goodbye() {
    // The tag that stands for none says how often this side has added.
    std::int64_t status = -FI_EAGAIN;
    while (status == -FI_EAGAIN) {
      status = fi_tinjectdata(ep_, nullptr, 0, adds, address_, kGoodbye);
      take();
    }
    must(status, "the last message");
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory_.data() + kSlots * kLongest, sizeof value);
    return value;
  }

  std::uint64_t begun = 0, done = 0, failed = 0, refused = 0, received = 0, adds = 0;
  bool peer_is_done = false;

 private:
  void exchange_names() {
    char name[64] = {};
    std::size_t size = sizeof name;
    must(fi_getname(&ep_->fid, name, &size), "fi_getname");
    check(write(peer_, name, sizeof name) == sizeof name, "the other process is gone");
    check(read(peer_, name, sizeof name) == sizeof name, "the other process is gone");
    check(fi_av_insert(av_, name, 1, &address_, 0, nullptr) == 1, "fi_av_insert");
  }
  void post(Op& op) {
    op.kind = Op::Kind::receive;
    op.bytes.resize(kLongest);
    must(fi_trecv(ep_, op.bytes.data(), op.bytes.size(), nullptr, FI_ADDR_UNSPEC, 0, kGoodbye, &op),
         "fi_trecv");
  }
  void over(Op& op, std::uint64_t tag, std::size_t length, int error) {
    if (op.kind == Op::Kind::receive) {
      if (error != 0) return;  // of one that came half
      if (tag == kGoodbye) {
        peer_is_done = true;
      } else {
        ++received;
        check(holds(op.bytes.data(), length, tag), "a message");
      }
      return post(op);
    }
    if (error == 0 && op.kind == Op::Kind::write) {
      // What was written is read back, by an operation of its own.
      std::fill(op.bytes.begin(), op.bytes.end(), std::uint8_t{0});
      op.kind = Op::Kind::read;
      ++done;
      std::int64_t status = -FI_EAGAIN;
      while (status == -FI_EAGAIN) {
        status = fi_read(ep_, op.bytes.data(), op.bytes.size(), nullptr, address_,
                         op.slot * kLongest, kKey, &op);
      }
      if (status == 0) {
        ++begun;
        return;
      }
      ++refused;
    } else {
      ++(error == 0 ? done : failed);
      if (error == 0 && op.kind == Op::Kind::read)
        check(holds(op.bytes.data(), op.bytes.size(), op.seed), "what was written and read back");
      if (error == 0 && op.kind == Op::Kind::add) ++adds;
    }
    if (op.kind == Op::Kind::write || op.kind == Op::Kind::read) idle_slots_.push_back(op.slot);
    op.kind = Op::Kind::free;
    free_.push_back(&op);
  }

  int peer_;
  std::mt19937_64 random_;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* av_ = nullptr;
  fid_cq* cq_ = nullptr;
  fid_mr* region_ = nullptr;
  fid_ep* ep_ = nullptr;
  fi_addr_t address_ = FI_ADDR_NOTAVAIL;
  std::vector<std::uint8_t> memory_;
  std::deque<Op> ops_;
  std::vector<Op*> free_;
  std::deque<std::size_t> idle_slots_;
};

/// Everything that is under way ends, with an error if need be.
double drain(Side& side) {
  const auto start = Clock::now();
  while (side.under_way() > 0) side.take();
  return seconds_since(start);
}

int soak(int peer, double seconds, const char* name) {
  Side side(peer);
  side.post_receives();
  const auto start = Clock::now();
  std::size_t early = 0;
  while (seconds_since(start) < seconds) {
    for (int i = 0; i < 8; ++i) side.begin_one();
    while (side.take()) {
    }
    if (early == 0 && seconds_since(start) > seconds / 4) early = resident_kb();
  }
  drain(side);
  side.say_goodbye();
  while (!side.peer_is_done) side.take();
  const std::size_t late = resident_kb();
  std::uint64_t theirs = 0;
  check(write(peer, &side.adds, sizeof side.adds) == sizeof side.adds &&
            read(peer, &theirs, sizeof theirs) == sizeof theirs,
        "the other process is gone");
  check(side.sum() == theirs, "the sum of all additions");
  check(side.failed + side.refused == 0, "no operation may fail");
  std::printf(
      "%s: %llu operations, %llu messages received, %zu KB in memory after a quarter of the "
      "time, %zu at the end\n",
      name, static_cast<unsigned long long>(side.done),
      static_cast<unsigned long long>(side.received), early, late);
  // A slow leak shows; what allocators keep does not count, nor what is touched for the first time early on.
  check(seconds < kWarm || late < early + early / 10 + 2'048, "memory grows");
  return 0;
}

int killed(int peer, pid_t child) {
  Side side(peer);
  const auto busy = [&](std::uint64_t operations) {
    while (side.done < operations) {
      for (int i = 0; i < 8; ++i) side.begin_one();
      side.take();
    }
  };
  busy(500);
  drain(side);
  // Stopped first, so that it cannot be done with all that is under way when it dies.
  must(kill(child, SIGSTOP), "kill");
  check(waitpid(child, nullptr, WUNTRACED) == child, "waitpid");
  while (side.under_way() < kUnderWay / 2) side.begin_one();
  must(kill(child, SIGKILL), "kill");
  check(waitpid(child, nullptr, 0) == child, "waitpid");
  const double first = drain(side);
  const std::uint64_t lost = side.failed;
  check(lost == kUnderWay / 2, "what was begun when nobody could answer fails");
  // Whoever goes on is told as well, by the next operations.
  for (int i = 0; i < 64; ++i) side.begin_one();
  const std::uint64_t again = side.under_way() + side.refused;
  const double second = drain(side);
  check(side.failed + side.refused >= lost + again && again > 0, "all of them fail");
  std::printf(
      "%llu operations done, then the peer was killed: %llu under way ended with an error within "
      "%.1f s, "
      "%llu new ones within %.1f s\n",
      static_cast<unsigned long long>(side.done), static_cast<unsigned long long>(lost), first,
      static_cast<unsigned long long>(again), second);
  return 0;
}

/// This process's own network, if it has one.
void enter(const char* path, const char* address) {
  if (path != nullptr) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    check(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, path);
    close(fd);
  }
  if (const char* own = std::getenv(address)) setenv("FI_STRACK_ADDRESS", own, 1);
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "killed" && (mode != "soak" || argc < 3)) {
    std::fprintf(stderr, "usage: mixed killed | mixed soak SECONDS [NAMESPACE NAMESPACE]\n");
    return 2;
  }
  int both[2];
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), "socketpair");
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0;
  const pid_t child = fork();
  must(child, "fork");
  close(both[child == 0 ? 0 : 1]);
  const int peer = both[child == 0 ? 1 : 0];
  if (child == 0) {
    enter(argc > 4 ? argv[4] : nullptr, "FI_STRACK_ADDRESS_2");
    if (mode == "soak") return soak(peer, seconds, "second");
    Side side(peer);
    side.post_receives();
    while (true) {  // until it is killed, or left alone
      side.take();
      if (getppid() == 1) return 1;
    }
  }
  if (mode == "killed") return killed(peer, child);
  enter(argc > 4 ? argv[3] : nullptr, "FI_STRACK_ADDRESS_1");
  const int status = soak(peer, seconds, "first");
  int other = 0;
  check(waitpid(child, &other, 0) == child && WIFEXITED(other) && WEXITSTATUS(other) == 0,
        "the other process");
  return status;
}

}  // namespace
}  // namespace strack::fabric

int main(int argc, char** argv) { return strack::fabric::run(argc, argv); }
