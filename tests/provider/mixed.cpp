// Two processes that do all that the provider can, at once: messages of all sizes and kinds, reads, writes and atomics (side.h).
//
//   mixed killed                       in the middle of it one of them is killed: each operation of the other's must end
//   mixed soak SECONDS [PATH PATH]     until the time is over: every byte is right, nothing is missing or comes twice, and memory does not grow.
//                                      The paths are network namespaces, in which FI_STRACK_ADDRESS_1 and _2 are theirs
//
// It has the provider in it, so that sanitizers see both. FI_STRACK_TIMEOUT says how long a peer may be silent.
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "side.h"

namespace strack::fabric {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWarm = 20;      ///< seconds after a quarter of which all buffers have been in use
constexpr double kPatience = 60;  ///< seconds for what is under way at the end

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

/// Everything that is under way ends, with an error if need be.
double drain(Side& side) {
  const auto start = Clock::now();
  while (side.under_way() > 0) side.step();
  return seconds_since(start);
}

/// Both sides say what they have sent, and wait for all of the other's.
void end_together(Side& side, int peer) {
  side.say_goodbye();
  const auto start = Clock::now();
  while (!side.all_is_here()) {
    side.step();
    if (seconds_since(start) < kPatience) continue;
    side.tell_missing();
    check(false, "not all has arrived");
  }
  char word = 0;
  check(write(peer, &word, 1) == 1 && read(peer, &word, 1) == 1, "the other process is gone");
}

void tell(const Side& side, const char* name, std::size_t early, std::size_t late) {
  const auto n = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "%s: %llu operations, %llu messages received, of which %llu were untagged and %llu probed "
      "for (%llu "
      "thrown away); %llu writes brought data; sent: %llu in pieces, %llu complete when delivered "
      "or "
      "matched, %llu comparisons, %llu bytes of payload; %zu KB in memory after a quarter of the "
      "time, %zu at the end\n",
      name, n(side.done), n(side.seen.tagged + side.seen.untagged + side.seen.probed),
      n(side.seen.untagged), n(side.seen.probed), n(side.discarded), n(side.seen.noted),
      n(side.scattered), n(side.late), n(side.compared), n(side.payload), early, late);
}

int soak(int peer, double seconds, const char* name) {
  Side side(peer);
  side.post_receives();
  const auto start = Clock::now();
  std::size_t early = 0;
  while (seconds_since(start) < seconds) {
    for (int i = 0; i < 8; ++i) side.begin_one();
    side.step();
    if (early == 0 && seconds_since(start) > seconds / 4) early = resident_kb();
  }
  drain(side);
  end_together(side, peer);
  const std::size_t late = resident_kb();
  check(side.failed + side.refused == 0, "no operation may fail");
  tell(side, name, early, late);
  if (seconds < kWarm) return 0;
  for (const std::uint64_t count :
       {side.seen.tagged, side.seen.untagged, side.seen.probed, side.seen.noted, side.discarded,
        side.scattered, side.late, side.compared})
    check(count > 0, "something has never been tried");
  // A slow leak shows; what allocators keep does not count, nor what is touched for the first time early on.
  check(late < early + early / 10 + 2'048, "memory grows");
  return 0;
}

int killed(int peer, pid_t child) {
  Side side(peer);
  const auto busy = [&](std::uint64_t operations) {
    while (side.done < operations) {
      for (int i = 0; i < 8; ++i) side.begin_one();
      side.step();
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
      side.step();
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
