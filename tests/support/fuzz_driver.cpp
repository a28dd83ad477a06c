// Runs a libFuzzer harness without libFuzzer, so that each harness is a test under every compiler
// and sanitizer: first on the files of its corpus, then on inputs of its own making.
//
// Input number i depends on the seed, i and the corpus alone, so a failure is replayed by itself.
// It also leaves the input behind in a file, which the libFuzzer build of the harness can read.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Sanitizers end the process without a signal; those that are linked in call this first.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

// GCC's undefined behaviour sanitizer does not when it is one of two, so it gets to raise a signal.
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1:abort_on_error=1"; }

namespace {

using Input = std::vector<std::uint8_t>;

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t runs = 2000;
  std::uint64_t max_len = 4096;
  std::optional<std::uint64_t> only;  // this one generated input, and no corpus
  std::vector<std::filesystem::path> corpus;
};

// What the harness is working on, for on_death(), which may not allocate.
struct Current {
  std::string failure_text;
  std::string failure_file;
  const Input* input = nullptr;
};
Current current;

void write_all(int fd, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd, next, size);
    if (written <= 0) return;
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

void on_death() {
  if (current.input == nullptr) return;
  const int fd = ::open(current.failure_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd >= 0) {
    write_all(fd, current.input->data(), current.input->size());
    ::close(fd);
  }
  write_all(STDERR_FILENO, current.failure_text.data(), current.failure_text.size());
  current.input = nullptr;
}

void on_signal(int signal) {
  on_death();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void install_death_handlers() {
  std::signal(SIGABRT, on_signal);
  std::signal(SIGILL, on_signal);
  std::signal(SIGTRAP, on_signal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(on_death);  // and their own reports of the signals below stay
  } else {
    std::signal(SIGSEGV, on_signal);
    std::signal(SIGBUS, on_signal);
    std::signal(SIGFPE, on_signal);
  }
}

// Standard distributions differ between libraries; the engine's own numbers do not. A bound that
// divides 2^64 unevenly biases the draw, by far too little to matter here.
std::uint64_t below(std::mt19937_64& rng, std::uint64_t bound) { return rng() % bound; }

std::uint8_t random_byte(std::mt19937_64& rng) { return static_cast<std::uint8_t>(rng() >> 56); }

Input mutate(Input input, std::uint64_t max_len, std::mt19937_64& rng) {
  for (std::uint64_t edits = 1 + below(rng, 8); edits > 0; --edits) {
    const auto at = static_cast<std::ptrdiff_t>(below(rng, input.size() + 1));
    const bool at_end = at == std::ssize(input);
    switch (below(rng, 4)) {
      case 0:
        input.insert(input.begin() + at, random_byte(rng));
        break;
      case 1:
        if (!at_end) input.erase(input.begin() + at);
        break;
      case 2:
        if (!at_end) input[static_cast<std::size_t>(at)] = random_byte(rng);
        break;
      default:
        if (!at_end)
          input[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1U << below(rng, 8));
        break;
    }
  }
  input.resize(std::min<std::uint64_t>(input.size(), max_len));
  return input;
}

// Most bugs want a short input, small numbers or the same thing many times, so those are as likely
// as plain noise.
Input generate(std::uint64_t index, const Options& options, const std::vector<Input>& corpus) {
  std::seed_seq seeds{options.seed & 0xffff'ffffU, options.seed >> 32, index & 0xffff'ffffU,
                      index >> 32};
  std::mt19937_64 rng(seeds);

  if (!corpus.empty() && below(rng, 2) == 0) {
    return mutate(corpus[below(rng, corpus.size())], options.max_len, rng);
  }

  constexpr std::array<std::uint64_t, 4> kLengths{16, 64, 512, 1U << 20};
  const std::uint64_t longest = std::min(options.max_len, kLengths[below(rng, kLengths.size())]);
  Input input(below(rng, longest + 1));
  const std::uint64_t manner = below(rng, 4);
  const std::uint8_t repeated = random_byte(rng);
  for (std::uint8_t& byte : input) {
    const std::uint8_t noise = random_byte(rng);
    switch (manner) {
      case 0:
        byte = noise;
        break;
      case 1:
        byte = noise & 7U;
        break;
      case 2:
        byte = below(rng, 8) == 0 ? noise : repeated;
        break;
      default:
        byte = below(rng, 2) == 0 ? std::uint8_t{0xff} : noise & 1U;
        break;
    }
  }
  return input;
}

Input read_input(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "error: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return Input(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// Every file named, and every file in a folder named, in an order that is the same everywhere.
std::vector<std::filesystem::path> corpus_files(const std::vector<std::filesystem::path>& named) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& path : named) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void run_one(const Input& input, const std::string& replay) {
  current.failure_text = "\nfuzz_driver: failed; the input is in " + current.failure_file +
                         "\nreplay: " + replay + "\n";
  current.input = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
  current.input = nullptr;
}

[[noreturn]] void usage(const char* program) {
  std::fprintf(
      stderr, "usage: %s [--runs=N] [--seed=N] [--max-len=BYTES] [--only=INDEX] [FILE|FOLDER]...\n",
      program);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--")) {
      options.corpus.emplace_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    if (equals == std::string_view::npos) usage(argv[0]);
    const std::string_view key = argument.substr(0, equals);
    const std::string_view text = argument.substr(equals + 1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
    if (error != std::errc{} || end != text.end()) usage(argv[0]);
    if (key == "--runs") {
      options.runs = value;
    } else if (key == "--seed") {
      options.seed = value;
    } else if (key == "--max-len") {
      options.max_len = value;
    } else if (key == "--only") {
      options.only = value;
    } else {
      usage(argv[0]);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string program = argv[0];
  current.failure_file = std::filesystem::path(program).filename().string() + ".failed_input";
  install_death_handlers();

  std::vector<Input> corpus;
  std::string corpus_arguments;
  for (const std::filesystem::path& path : options.corpus) corpus_arguments += " " + path.string();
  for (const std::filesystem::path& path : corpus_files(options.corpus)) {
    corpus.push_back(read_input(path));
    if (!options.only) run_one(corpus.back(), program + " --runs=0 " + path.string());
  }

  const std::string settings =
      " --seed=" + std::to_string(options.seed) + " --max-len=" + std::to_string(options.max_len);
  const std::uint64_t first = options.only.value_or(0);
  const std::uint64_t end = options.only ? first + 1 : options.runs;
  for (std::uint64_t index = first; index < end; ++index) {
    run_one(generate(index, options, corpus),
            program + settings + " --only=" + std::to_string(index) + corpus_arguments);
  }
  std::printf("%zu corpus inputs, %llu generated from seed %llu: no failure\n", corpus.size(),
              static_cast<unsigned long long>(end - first),
              static_cast<unsigned long long>(options.seed));
  return 0;
}
