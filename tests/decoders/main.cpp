// decoder_storm: hundreds of thousands of messages a second into each decoder of what strangers send.
//
//   decoder_storm [--seconds N | --runs N] [--seed N] [--only NAME] [--into FOLDER] [--verbose]
//   decoder_storm --only NAME --input FILE      one message again
//   ... --print                                 each message in hexadecimal, and 1 or 0: whether it was accepted
//
// libFuzzer looks for new branches and is slow; this knows the formats. Each execution takes a valid message out of a pool,
// changes it in no, one or a few places, and asks the decoder and the rules of the documents (wire_rules.cpp,
// transfer_rules.cpp) whether it is right: they must agree, and what is accepted must encode to the same bytes again. The
// message ends where its memory does, and so does the room for what is encoded, so that one byte more faults at once, with a
// sanitizer or without; nothing of the loop allocates. What was accepted takes the place of what it was made from now and then.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/check.h"
#include "mutate.h"
#include "target.h"

// Sanitizers end the process without a signal; those that are linked in call this first.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

// Many small pieces of memory for a moment: what is remembered of each would take most of the time.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=4:thread_local_quarantine_size_kb=64:malloc_context_size=0";
}

namespace strack::decoders {
namespace {

constexpr std::size_t kKept = 256;        ///< messages of a pool
constexpr std::size_t kKeptBytes = 2048;  ///< longer ones are used once
constexpr std::uint64_t kMakeEach = 128;  ///< executions

/// Memory between pages that nobody may touch.
class Fenced {
 public:
  Fenced() {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    bytes_ = (kLongest + page - 1) / page * page;
    void* all = ::mmap(nullptr, bytes_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    STRACK_CHECK(all != MAP_FAILED);
    start_ = static_cast<std::uint8_t*>(all) + page;
    STRACK_CHECK(::mprotect(start_, bytes_, PROT_READ | PROT_WRITE) == 0);
  }
  [[nodiscard]] Room last(std::size_t size) const { return {start_ + bytes_ - size, size}; }
  [[nodiscard]] Room first(std::size_t size) const { return {start_, size}; }

 private:
  std::uint8_t* start_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Settings {
  double seconds = 0;
  std::uint64_t runs = 0;
  std::uint64_t seed = 1;
  std::string only;
  std::string input;
  std::string into = ".";  ///< where a message that fails is left
  bool verbose = false;
  bool print = false;
};

// What is under way, for on_death(), which may not allocate.
struct Current {
  const char* program = "";
  const char* target = "";
  Bytes message;
  std::uint64_t executions = 0;
  std::uint64_t seen = 0;  ///< by the last look at the clock
  std::array<char, 512> file{};
};
Current current;

void say(const char* text) { static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text))); }

void on_death() {
  if (current.message.data() == nullptr) return;
  const int fd = ::open(current.file.data(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd >= 0) {
    static_cast<void>(!::write(fd, current.message.data(), current.message.size()));
    ::close(fd);
  }
  say("\nreplay: ");
  say(current.program);
  say(" --only ");
  say(current.target);
  say(" --input ");
  say(current.file.data());
  say("\n");
  current.message = {};
}

void on_signal(int signal) {
  on_death();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Once in ten seconds of processor time: an execution that is still the same hangs.
void on_look(int) {
  if (current.message.data() != nullptr && current.executions == current.seen) {
    say("decoder_storm: one message takes more than ten seconds\n");
    on_death();
    ::_exit(3);
  }
  current.seen = current.executions;
}

void prepare_for_death(const char* program, const Settings& settings) {
  current.program = program;
  for (const int signal : {SIGABRT, SIGILL, SIGTRAP}) ::signal(signal, on_signal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(on_death);
  } else {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE}) ::signal(signal, on_signal);
  }
  std::snprintf(current.file.data(), current.file.size(), "%s/decoder_storm-%llu.failed",
                settings.into.c_str(), static_cast<unsigned long long>(settings.seed));
  ::signal(SIGVTALRM, on_look);
  const itimerval each{{10, 0}, {10, 0}};
  ::setitimer(ITIMER_VIRTUAL, &each, nullptr);
}

/// One decoder, its pool, and what came of it.
class Storm {
 public:
  Storm(std::unique_ptr<Target> target, std::uint64_t seed)
      : target_(std::move(target)), name_(target_->name()), rng_(Rng(seed).stream(name_)) {
    for (auto& kept : pool_) {
      kept.bytes.resize(kKeptBytes);
      make(kept);
    }
  }

  void run(std::uint64_t executions) {
    for (; executions > 0; --executions) {
      if (executions_ % kMakeEach == 0) make(pool_[rng_.below(kKept)]);
      once();
    }
  }

  /// Exactly these bytes.
  bool check(Bytes message) {
    const Room in = (executions_ % 8 == 0 ? in_.first(message.size()) : in_.last(message.size()));
    std::copy(message.begin(), message.end(), in.begin());
    current.target = name_.c_str();
    current.message = in;
    const bool accepted = target_->check(in, out_.last(message.size()));
    current.message = {};
    ++current.executions;
    ++executions_;
    accepted_ += accepted ? 1 : 0;
    if (printing) print(message, accepted);
    return accepted;
  }

  [[nodiscard]] std::uint64_t executions() const { return executions_; }
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] const Target& target() const { return *target_; }

  bool printing = false;

 private:
  struct Kept {
    std::vector<std::uint8_t> bytes;
    std::size_t size = 0;
    [[nodiscard]] Bytes message() const { return Bytes(bytes).first(size); }
  };

  static void print(Bytes message, bool accepted) {
    for (const std::uint8_t byte : message) std::printf("%02x", byte);
    std::printf(" %d\n", accepted ? 1 : 0);
  }

  void keep(Kept& kept, Bytes message) {
    if (message.size() > kKeptBytes) return;
    std::copy(message.begin(), message.end(), kept.bytes.begin());
    kept.size = message.size();
  }
  void make(Kept& kept) {
    const std::size_t size = target_->make(rng_, work_);
    check(Bytes(work_).first(size));
    keep(kept, Bytes(work_).first(size));
  }

  void once() {
    Kept& base = pool_[rng_.below(kKept)];
    std::size_t size = base.size;
    std::copy_n(base.bytes.begin(), size, work_.begin());
    const std::uint64_t draw = rng_.next();
    const bool changed = draw % 16 != 0;
    // One change in half of them, two in a quarter, ... eight at most.
    const int edits = changed ? 1 + std::countr_zero((draw >> 4) | 1u << 7) : 0;
    for (int i = 0; i < edits; ++i)
      size = mutate(rng_, work_, size, pool_[rng_.below(kKept)].message(), target_->words());
    // The longest that there are, now and then.
    if ((draw >> 32) % 8192 == 0) size = lengthened(size);
    // In its own place, or what is hardest to break would soon be all there is.
    if (check(Bytes(work_).first(size)) && changed && (draw >> 48) % 8 == 0)
      keep(base, Bytes(work_).first(size));
  }

  std::size_t lengthened(std::size_t size) {
    const std::size_t wanted = kLongest - rng_.below(40);
    std::fill(work_.begin() + static_cast<std::ptrdiff_t>(size),
              work_.begin() + static_cast<std::ptrdiff_t>(wanted), std::uint8_t{0});
    return wanted;
  }

  std::unique_ptr<Target> target_;
  std::string name_;
  Rng rng_;
  std::array<Kept, kKept> pool_;
  std::vector<std::uint8_t> work_ = std::vector<std::uint8_t>(kLongest);
  Fenced in_;
  Fenced out_;
  std::uint64_t executions_ = 0;
  std::uint64_t accepted_ = 0;
};

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: decoder_storm [--seconds N | --runs N] [--seed N] [--into FOLDER] [--only "
               "NAME [--input FILE]] [--verbose] [--print]\n");
  std::exit(2);
}

template <class T>
T number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) usage();
  return value;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--verbose" || word == "--print") {
      (word == "--print" ? settings.print : settings.verbose) = true;
      continue;
    }
    if (i + 1 == argc) usage();
    const std::string_view value = argv[++i];
    if (word == "--seconds") {
      settings.seconds = number<double>(value);
    } else if (word == "--runs") {
      settings.runs = number<std::uint64_t>(value);
    } else if (word == "--seed") {
      settings.seed = number<std::uint64_t>(value);
    } else if (word == "--only") {
      settings.only = value;
    } else if (word == "--input") {
      settings.input = value;
    } else if (word == "--into") {
      settings.into = value;
    } else {
      usage();
    }
  }
  if (settings.seconds == 0 && settings.runs == 0) settings.seconds = 10;
  return settings;
}

int again(Storm& storm, const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in || bytes.size() > kLongest) usage();
  std::printf("%zu bytes: %s\n", bytes.size(), storm.check(bytes) ? "accepted" : "refused");
  return 0;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Each gets its turns in proportion to how much there is to decode.
void run(std::vector<std::unique_ptr<Storm>>& storms, const Settings& settings) {
  static constexpr std::array<std::uint64_t, 3> kTurns{800, 250, 50};
  const auto start = Clock::now();
  std::uint64_t done = 0;
  while ((settings.runs == 0 || done < settings.runs) &&
         (settings.seconds == 0 || seconds_since(start) < settings.seconds)) {
    for (std::size_t i = 0; i < storms.size(); ++i) {
      storms[i]->run(kTurns[i]);
      done += kTurns[i];
    }
  }
  std::uint64_t executions = 0;
  std::uint64_t accepted = 0;
  for (const auto& storm : storms) {
    executions += storm->executions();
    accepted += storm->accepted();
    std::printf("%s: %llu executions, %llu accepted\n", std::string(storm->target().name()).c_str(),
                static_cast<unsigned long long>(storm->executions()),
                static_cast<unsigned long long>(storm->accepted()));
    if (settings.verbose) std::printf("  %s\n", storm->target().reached().c_str());
  }
  const double seconds = seconds_since(start);
  std::printf("all: %llu executions, %llu accepted (%.1f %%), no failure; %.1f s, %.0f a second\n",
              static_cast<unsigned long long>(executions),
              static_cast<unsigned long long>(accepted),
              100.0 * static_cast<double>(accepted) / static_cast<double>(executions), seconds,
              static_cast<double>(executions) / seconds);
}

}  // namespace
}  // namespace strack::decoders

int main(int argc, char** argv) {
  using namespace strack::decoders;
  const Settings settings = parse(argc, argv);
  prepare_for_death(argv[0], settings);
  std::vector<std::unique_ptr<Storm>> storms;
  for (const auto& make : {wire_target, transfer_target, perf_target}) {
    auto target = make();
    if (settings.only.empty() || target->name() == settings.only)
      storms.push_back(std::make_unique<Storm>(std::move(target), settings.seed));
  }
  if (storms.empty() || (!settings.input.empty() && storms.size() != 1)) usage();
  if (!settings.input.empty()) return again(*storms[0], settings.input);
  for (const auto& storm : storms) storm->printing = settings.print;
  run(storms, settings);
  return 0;
}
