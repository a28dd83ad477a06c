// This processor in a GPU's place: whoever asks takes the steps. It has two memories at one address, as a GPU
// and its host do, and has one of them in place at a time: who reads here what was not pulled, or frees at the
// end what went with the machine, fails as it would there.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/gpu/arena.h"
#include "sim/gpu/machine.h"

namespace strack::sim::gpu {
namespace {

class Emulation final : public Machine {
 public:
  Emulation() = default;
  ~Emulation() override {
    if (arena_.base != nullptr) {
      munmap(arena_.base, kCapacity);
      forget_arena(arena_);
    }
    for (const int file : {host_, machine_}) {
      if (file >= 0) close(file);
    }
  }
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;

  /// Or why not.
  std::string open() {
    for (int* file : {&host_, &machine_}) {
      *file = memfd_create("strack-gpu", MFD_CLOEXEC);
      if (*file < 0 || ftruncate(*file, kCapacity) != 0) return "there is no memory for two";
    }
    void* place =
        mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, host_, 0);
    if (place == MAP_FAILED) return "there is no memory for two";
    arena_ = {static_cast<char*>(place), kCapacity, 0};
    return enlist_arena(arena_) ? std::string() : std::string(kTooMany);
  }

  [[nodiscard]] bool emulated() const override { return true; }
  [[nodiscard]] void* make_sheet(std::size_t bytes) override {
    const OutsideArena outside;
    return sheets_.emplace_back(std::make_unique<std::byte[]>(bytes + 1)).get();
  }
  void fetch(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void store(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void start(const Layout& /*layout*/) override { push(); }
  void pull() override { carry(machine_, host_); }
  void push() override { carry(host_, machine_); }
  Tally run_window(std::uint64_t /*window*/, std::int64_t /*end*/) override { return {}; }

 private:
  static constexpr std::size_t kCapacity = std::size_t{1} << 34;

  void enter() override { open_arena(&arena_); }
  void leave() override { open_arena(nullptr); }
  void begin_turn() override {
    show(machine_);
    open_arena(&arena_);
  }
  void end_turn() override {
    open_arena(nullptr);
    show(host_);
  }

  void show(int file) {
    const std::size_t size = shown();
    void* place = mmap(arena_.base, size, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0);
    STRACK_CHECK(place == arena_.base);
  }
  /// All that is used, and what one window may use.
  [[nodiscard]] std::size_t shown() const {
    constexpr std::size_t kMore = std::size_t{256} << 20;
    return std::min(kCapacity, (arena_.used + kMore) / kMore * kMore + kMore);
  }
  void carry(int from, int to) const {
    std::vector<char> ferry(std::size_t{1} << 20);
    for (std::size_t at = 0; at < arena_.used; at += ferry.size()) {
      const auto offset = static_cast<off_t>(at);
      const ssize_t got = pread(from, ferry.data(), ferry.size(), offset);
      STRACK_CHECK(got == static_cast<ssize_t>(ferry.size()));
      STRACK_CHECK(pwrite(to, ferry.data(), ferry.size(), offset) == got);
    }
  }

  int host_ = -1;
  int machine_ = -1;
  Arena arena_;
  std::vector<std::unique_ptr<std::byte[]>> sheets_;
};

}  // namespace

Result<std::unique_ptr<Machine>, std::string> open_emulation() {
  auto emulation = std::make_unique<Emulation>();
  std::string problem = emulation->open();
  if (!problem.empty()) return problem;
  return std::unique_ptr<Machine>(std::move(emulation));
}

}  // namespace strack::sim::gpu
