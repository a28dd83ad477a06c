// This processor in a GPU's place: memory is memory, and whoever asks takes the steps.
#include <cstring>
#include <vector>

#include "sim/gpu/machine.h"

namespace strack::sim::gpu {
namespace {

class Emulation final : public Machine {
 public:
  [[nodiscard]] bool emulated() const override { return true; }
  [[nodiscard]] void* make_sheet(std::size_t bytes) override {
    return sheets_
        .emplace_back(std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1))
        .get();
  }
  void fetch(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void store(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void start(const Layout& /*layout*/) override {}
  void pull() override {}
  void push() override {}
  Tally run_window(std::uint64_t /*window*/, std::int64_t /*end*/) override { return {}; }

 private:
  void enter() override {}
  void leave() override {}

  std::vector<std::unique_ptr<std::max_align_t[]>> sheets_;
};

}  // namespace

std::unique_ptr<Machine> make_emulation() { return std::make_unique<Emulation>(); }

}  // namespace strack::sim::gpu
