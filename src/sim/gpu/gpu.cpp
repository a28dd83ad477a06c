// A GPU as a machine: memory with one address on both sides, and a window as five kernels.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sim/gpu/arena.h"
#include "sim/gpu/device_memory.h"
#include "sim/gpu/driver.h"
#include "sim/gpu/kernel_images.h"
#include "sim/gpu/light_port.h"
#include "sim/gpu/machine.h"
#include "sim/gpu/shares.h"

namespace strack::sim::gpu {
namespace {

constexpr std::string_view kMemoryIsFull =
    "its memory is full. use fewer hosts, flows or messages, or run it with --engine cpu";

/// The GPU is gone, or has no memory left.
[[noreturn]] void give_up(const std::string& why) {
  const OutsideArena outside;
  throw MachineLost("the GPU engine stopped: " + why);
}

class Gpu final : public Machine {
 public:
  Gpu(const Driver& driver, unsigned company) : cuda_(driver), company_(company) {}
  ~Gpu() override {
    if (costs_.open > 0 && std::getenv("STRACK_GPU_VERBOSE") != nullptr) tell_costs();
    // Windows that were launched ahead may still be on their way, to find that they are void.
    for (const CuStream stream : {ports_, hosts_, switches_}) {
      if (stream != nullptr) cuda_.cuStreamSynchronize(stream);
    }
    for (const CuPointer sheet : sheets_) cuda_.cuMemFree_v2(sheet);
    // The addresses stay reserved: whoever still has something there does no harm.
    if (mapped_ > 0) cuda_.cuMemUnmap(base(), mapped_);
    for (const CuHandle block : blocks_) cuda_.cuMemRelease(block);
    if (arena_.base != nullptr) {
      munmap(arena_.base, arena_.capacity);
      forget_arena(arena_);
    }
    for (void* memory :
         {static_cast<void*>(told_), static_cast<void*>(failure_), static_cast<void*>(ferry_)}) {
      if (memory != nullptr) cuda_.cuMemFreeHost(memory);
    }
    if (together_ != nullptr) cuda_.cuGraphExecDestroy(together_);
    for (const auto& marks : {marks_, marks_together_}) {
      for (const CuEvent mark : marks) {
        if (mark != nullptr) cuda_.cuEventDestroy_v2(mark);
      }
    }
    for (const CuStream stream : {ports_, hosts_, switches_}) {
      if (stream != nullptr) cuda_.cuStreamDestroy_v2(stream);
    }
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Or why not.
  std::string open() {
    const auto began = Clock::now();
    std::size_t free = 0;
    std::size_t total = 0;
    void* told = nullptr;
    void* failure = nullptr;
    void* ferry = nullptr;
    if (failed(cuda_.cuInit(0)) || failed(cuda_.cuDeviceGet(&device_, 0)) ||
        failed(cuda_.cuDevicePrimaryCtxRetain(&context_, device_)) ||
        failed(cuda_.cuCtxSetCurrent(context_)) ||
        failed(cuda_.cuDeviceGetAttribute(&processors_, kCuProcessors, device_)) ||
        failed(cuda_.cuMemGetInfo_v2(&free, &total)))
      return text_;
    if (failed(cuda_.cuMemHostAlloc(&told, kTold * sizeof(Told), kCuHostMapped)) ||
        failed(cuda_.cuMemHostAlloc(&failure, sizeof(DeviceFailure), kCuHostMapped)) ||
        failed(cuda_.cuMemHostAlloc(&ferry, ferry_size(), 0)) ||
        failed(cuda_.cuStreamCreate(&ports_, kCuStreamNonBlocking)) ||
        failed(cuda_.cuStreamCreate(&hosts_, kCuStreamNonBlocking)) ||
        failed(cuda_.cuStreamCreate(&switches_, kCuStreamNonBlocking)))
      return text_;
    for (auto* marks : {&marks_, &marks_together_}) {
      for (CuEvent& mark : *marks) {
        if (failed(cuda_.cuEventCreate(&mark, kCuEventDefault))) return text_;
      }
    }
    if (const char* verbose = std::getenv("STRACK_GPU_VERBOSE"))
      times_kernels_ = std::string_view(verbose) == "kernels";
    told_ = new (told) Told[kTold];
    failure_ = new (failure) DeviceFailure{};
    ferry_ = static_cast<char*>(ferry);
    std::string problem = reserve(free / kBlockBytes * kBlockBytes);
    costs_.open = since(began);
    return problem;
  }

  [[nodiscard]] bool emulated() const override { return false; }
  [[nodiscard]] void* make_sheet(std::size_t bytes) override {
    const std::size_t room = (bytes + 64) / 64 * 64 + 64;
    if (room > sheet_left_) {
      // Many of them at once: to take memory and to give it back both wait for all that the GPU does.
      const std::size_t all = std::max(room, kSheets);
      check(cuda_.cuMemAlloc_v2(&next_sheet_, all));
      check(cuda_.cuMemsetD8_v2(next_sheet_, 0, all));
      check(cuda_.cuStreamSynchronize(nullptr));
      sheet_left_ = all;
      const OutsideArena outside;  // the list goes after the arena
      sheets_.push_back(next_sheet_);
    }
    const CuPointer sheet = next_sheet_;
    next_sheet_ += room;
    sheet_left_ -= room;
    return reinterpret_cast<void*>(sheet);
  }
  void fetch(void* to, const void* from, std::size_t bytes) override {
    check(cuda_.cuMemcpyDtoH_v2(to, reinterpret_cast<CuPointer>(from), bytes));
  }
  void store(void* to, const void* from, std::size_t bytes) override {
    check(cuda_.cuMemcpyHtoD_v2(reinterpret_cast<CuPointer>(to), from, bytes));
    // From memory that is not the driver's it may still be under way, and a window's streams would not wait for it.
    check(cuda_.cuStreamSynchronize(nullptr));
  }

  void start(const Layout& layout) override {
    layout_ = layout;
    const auto began = Clock::now();
    used_ = (arena_.used + 63) / 64 * 64;
    more_room_ = std::clamp(layout.hosts * kMoreOfHost, kLeastMore, kMostMore);
    make_room();
    load(layout.transport);
    if (!times_kernels_ && !layout_.pauses) prepare_together();
    push();
    costs_.start = since(began);
  }

  // By way of memory that the driver knows to be the host's: the address alone says no longer whose it is.
  void push() override {
    for (std::size_t at = 0; at < used_; at += ferry_size()) {
      const std::size_t size = std::min(ferry_size(), used_ - at);
      std::memcpy(ferry_, arena_.base + at, size);
      check(cuda_.cuMemcpyHtoD_v2(base() + at, ferry_, size));
    }
  }
  void pull() override {
    if (is_here_) return;
    const auto began = Clock::now();
    for (std::size_t at = 0; at < used_; at += ferry_size()) {
      const std::size_t size = std::min(ferry_size(), used_ - at);
      check(cuda_.cuMemcpyDtoH_v2(ferry_, base() + at, size));
      std::memcpy(arena_.base + at, ferry_, size);
    }
    is_here_ = true;
    costs_.pulls += since(began);
  }

  Tally run_window(std::uint64_t window, std::int64_t end) override {
    is_here_ = false;
    asked_ = window;
    const auto began = Clock::now();
    ++costs_.windows;
    if (launched_ < window) {
      launch_window(window, end);
      launched_ = window;
    }
    // Some windows ahead, so that it does not wait for the host; void where the host has to look first.
    while (launched_ < window + ahead_) {
      if (together_ == nullptr || ahead_ < kTogether) {
        launch_window(0, 0);
        ++launched_;
      } else if (launched_ + kTogether <= window + kAhead) {
        check(cuda_.cuGraphLaunch(together_, ports_));
        check(cuda_.cuEventRecord(mark_of(Mark::told), ports_));
        launched_ += kTogether;
      } else {
        break;
      }
    }
    const Told told = wait_for(window);
    if (times_kernels_) take_times();
    if (told.goes_on) {
      ahead_ = halted_ || times_kernels_ ? 0 : std::min(ahead_ + 1, kAhead);
    } else {
      launched_ = window;
      ahead_ = 0;
    }
    used_ = told.used;
    costs_.running += since(began);
    if (used_ + more_room_ > mapped_) make_room();
    return told.tally;
  }
  [[nodiscard]] bool halt() override {
    halted_ = true;
    return launched_ == asked_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] static double since(Clock::time_point began) {
    return std::chrono::duration<double>(Clock::now() - began).count();
  }
  /// For people who make it faster.
  void tell_costs() const {
    std::fprintf(
        stderr,
        "gpu: open %.3f s, start %.3f s, %lu windows in %.3f s (%.1f us each), pulls %.3f s; "
        "%.1f MB used, %.1f KB per host; per warp %u hosts, %u ports; %u threads take\n",
        costs_.open, costs_.start, static_cast<unsigned long>(costs_.windows), costs_.running,
        costs_.windows > 0 ? 1e6 * costs_.running / static_cast<double>(costs_.windows) : 0,
        costs_.pulls, static_cast<double>(used_) / 1e6,
        static_cast<double>(used_) / 1e3 / layout_.hosts, hosts_per_warp_, ports_per_warp_,
        sharers_);
    if (!times_kernels_ || costs_.windows == 0) return;
    const auto each = [&](Mark from) {
      return 1e3 * costs_.kernels[static_cast<std::size_t>(from)] /
             static_cast<double>(costs_.windows);
    };
    std::fprintf(stderr,
                 "gpu: us per window: receive %.1f, host %.1f, beside take %.1f, serve %.1f, keep "
                 "%.1f, receive ahead %.1f; whole switches %.1f\n",
                 each(Mark::host_begins), each(Mark::send_begins), each(Mark::take_begins),
                 each(Mark::serve_begins), each(Mark::keep_begins), each(Mark::ahead_begins),
                 each(Mark::switches_begin));
  }
  /// Between kernels, for their times.
  enum class Mark : std::uint8_t {
    host_begins,
    send_begins,
    host_ends,
    take_begins,
    serve_begins,
    keep_begins,
    ahead_begins,
    ahead_ends,
    told,
    weighed,
    switches_begin,
    switches_end,
    count
  };
  static constexpr std::size_t kMarks = static_cast<std::size_t>(Mark::count);
  [[nodiscard]] CuEvent mark_of(Mark at) const { return marks_[static_cast<std::size_t>(at)]; }
  void mark(Mark at, CuStream stream) {
    if (times_kernels_) check(cuda_.cuEventRecord(mark_of(at), stream));
  }
  void take_times() {
    check(cuda_.cuStreamSynchronize(hosts_));
    check(cuda_.cuStreamSynchronize(switches_));
    check(cuda_.cuStreamSynchronize(ports_));
    for (std::size_t i = 0; i < static_cast<std::size_t>(Mark::ahead_ends); ++i) {
      float milliseconds = 0;
      if (i + 1 == static_cast<std::size_t>(Mark::take_begins)) continue;
      check(cuda_.cuEventElapsedTime(&milliseconds, marks_[i], marks_[i + 1]));
      costs_.kernels[i] += static_cast<double>(milliseconds);
    }
    if (layout_.switches == 0) return;
    float milliseconds = 0;
    check(cuda_.cuEventElapsedTime(&milliseconds, mark_of(Mark::switches_begin),
                                   mark_of(Mark::switches_end)));
    costs_.kernels[static_cast<std::size_t>(Mark::switches_begin)] +=
        static_cast<double>(milliseconds);
  }

  struct Costs {
    std::array<double, kMarks> kernels{};  ///< ms, from each mark to the next
    double open = 0;
    double start = 0;
    double running = 0;
    double pulls = 0;
    std::uint64_t windows = 0;
  };

  static constexpr std::size_t kBlockBytes = std::size_t{64}
                                             << 20;  ///< the GPU's memory is taken by these
  /// For what grows in one window: of a host with its ports, and of all together.
  static constexpr std::size_t kMoreOfHost = std::size_t{32} << 10;
  static constexpr std::size_t kLeastMore = kBlockBytes / 2;
  static constexpr std::size_t kMostMore = 4 * kBlockBytes;
  static constexpr std::size_t kLargeFerry = std::size_t{16} << 20;
  static constexpr std::size_t kSmallFerry = std::size_t{1} << 20;  ///< of runs that share the GPU
  static constexpr std::size_t kSheets = std::size_t{1} << 20;

  [[nodiscard]] std::size_t ferry_size() const { return company_ > 1 ? kSmallFerry : kLargeFerry; }
  [[nodiscard]] CuPointer base() const { return reinterpret_cast<CuPointer>(arena_.base); }

  /// Addresses that are the GPU's, and the host's as well: the driver keeps others from them, and what the
  /// host has there is its own copy.
  std::string reserve(std::size_t capacity) {
    CuPointer place = 0;
    if (failed(cuda_.cuMemAddressReserve(&place, capacity, 0, 0, 0))) return text_;
    void* here = mmap(reinterpret_cast<void*>(place), capacity, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (here == MAP_FAILED) return "the host has no room beside the GPU's memory";
    madvise(here, capacity, MADV_HUGEPAGE);  // much of it is seen once, when it comes back
    arena_ = {static_cast<char*>(here), capacity, 0};
    return enlist_arena(arena_) ? std::string() : std::string(kTooMany);
  }

  /// Takes more of the GPU's memory, ahead of what is used.
  void make_room() {
    const std::size_t wanted = std::min(arena_.capacity, used_ + used_ / 4 + 2 * more_room_);
    while (mapped_ < wanted) {
      CuAllocation what;
      what.location.id = device_;
      CuAccess access;
      access.location.id = device_;
      CuHandle block = 0;
      if (failed(cuda_.cuMemCreate(&block, kBlockBytes, &what, 0))) {
        if (used_ + more_room_ / 4 > mapped_) give_up(std::string(kMemoryIsFull));
        return;  // as far as it goes
      }
      check(cuda_.cuMemMap(base() + mapped_, kBlockBytes, 0, block, 0));
      check(cuda_.cuMemSetAccess(base() + mapped_, kBlockBytes, &access, 1));
      const OutsideArena outside;
      blocks_.push_back(block);
      mapped_ += kBlockBytes;
    }
    if (memory_ != nullptr) store(&memory_->capacity, &mapped_, sizeof mapped_);
  }
  static constexpr unsigned kBlock = 64;
  static constexpr std::size_t kNearby = std::size_t{96} << 10;  ///< of a warp of hosts, at most
  static constexpr std::uint64_t kAhead = 8;                     ///< windows, at most
  static constexpr std::uint64_t kTogether = 4;                  ///< of them launched at once
  static constexpr unsigned kTold = 16;                          ///< more than those

  bool failed(int result) {
    if (result == kCuSuccess) return false;
    const char* text = nullptr;
    cuda_.cuGetErrorString(result, &text);
    text_ = std::string("the NVIDIA driver says: ") + (text != nullptr ? text : "unknown error");
    return true;
  }
  void check(int result) {
    if (!failed(result)) return;
    const auto* told = static_cast<volatile std::uint32_t*>(&failure_->told);
    if (*told == 0) give_up(text_);
    const DeviceFailure& f = *failure_;
    if (std::strcmp(f.condition, kOutOfMemory) == 0) give_up(std::string(kMemoryIsFull));
    std::string why = std::string("check failed: ") + f.condition;
    if (f.has_values)
      why += " (" + std::to_string(f.left) + " against " + std::to_string(f.right) + ")";
    give_up(why + ", " + f.file + ":" + std::to_string(f.line));
  }

  /// The image that has this transport's kernels: they are called after its type.
  void load(const char* transport) {
    std::string prefix = std::string("_Z") + transport;
    prefix.pop_back();
    for (const KernelImage& image : kernel_images()) {
      if (!image.has(prefix + "8gpu_host")) continue;
      module_ = module_of(image);
      const Chip chip{static_cast<unsigned>(processors_), company_};
      hosts_per_warp_ = chip.per_warp("STRACK_GPU_HOSTS_PER_WARP", layout_.hosts, 4);
      // Where hosts fill the GPU anyway, nothing is won by it.
      layout_.ahead = layout_.ahead && hosts_per_warp_ < kWarp;
      find_kernels(prefix);
      give_memory();
      if (layout_.nearby != 0)
        hosts_per_warp_ =
            std::min(hosts_per_warp_, static_cast<unsigned>(kNearby / layout_.nearby));
      check(cuda_.cuFuncSetAttribute(host_, kCuNearbyBytes,
                                     static_cast<int>(hosts_per_warp_ * layout_.nearby)));
      ports_per_warp_ = chip.per_warp("STRACK_GPU_PORTS_PER_WARP", layout_.seats, 6, 16);
      receivers_per_warp_ = chip.per_warp("STRACK_GPU_RECEIVERS_PER_WARP", layout_.hosts, 8);
      return;
    }
    give_up(std::string("it was built without kernels for ") + transport);
  }
  void find_kernels(const std::string& prefix) {
    const auto step = [&](const std::string& name) {
      return find(prefix + std::to_string(name.size()) + name + "Emmmmjj");
    };
    const bool pauses = layout_.pauses;
    take_ = step(pauses ? "gpu_pfc_take" : "gpu_take");
    serve_ = step(pauses ? "gpu_pfc_serve" : layout_.trims ? "gpu_trim" : "gpu_drop");
    keep_ = step(pauses ? "gpu_pfc_keep" : "gpu_keep");
    host_ = step(layout_.apart ? "gpu_send" : "gpu_host");
    receive_ = step("gpu_receive");
    if (layout_.ahead) receive_ahead_ = step("gpu_ahead");
    if (layout_.turn_switches != 0) turns_ = step("gpu_turns");
    if (pauses) weigh_ = step("gpu_pfc_weigh");
    if (layout_.switches != 0)
      whole_ = step(pauses ? "gpu_pfc_whole" : layout_.trims ? "gpu_trim_whole" : "gpu_drop_whole");
    tell_ = find(prefix + "8gpu_tellEmmmmmjm");
  }
  /// Loaded once for all runs of the program, which share it; it goes with the program.
  [[nodiscard]] CuModule module_of(const KernelImage& image) {
    static std::mutex one_at_a_time;
    static std::map<const char*, CuModule> loaded;
    const OutsideArena outside;
    const std::lock_guard lock(one_at_a_time);
    CuModule& module = loaded[image.data];
    if (module == nullptr) check(cuda_.cuModuleLoadData(&module, image.data));
    return module;
  }
  CuFunction find(const std::string& name) {
    CuFunction function = nullptr;
    if (failed(cuda_.cuModuleGetFunction(&function, module_, name.c_str())))
      give_up("it has no kernel " + name);
    return function;
  }
  void give_memory() {
    const DeviceMemory memory{arena_.base, mapped_, used_, failure_};
    void* sheet = make_sheet(sizeof(DeviceMemory));
    store(sheet, &memory, sizeof memory);
    memory_ = static_cast<DeviceMemory*>(sheet);
  }

  void launch(CuFunction kernel, CuStream stream, std::uint32_t items, unsigned per_warp,
              unsigned shares, std::uint64_t window, std::uint64_t end, unsigned block = kBlock,
              std::size_t nearby = 0) {
    const unsigned warps = (items + per_warp - 1) / per_warp;
    const unsigned blocks = (warps * kWarp + block - 1) / block;
    auto field = reinterpret_cast<std::uint64_t>(layout_.field);
    void* arguments[] = {&field, &memory_, &window, &end, &per_warp, &shares};
    check(cuda_.cuLaunchKernel(kernel, blocks, 1, 1, block, 1, 1, static_cast<unsigned>(nearby),
                               stream, arguments, nullptr));
  }

  /// A window's kernels; of the one that the GPU has worked out, where its number is 0.
  void launch_window(std::uint64_t window, std::int64_t end) {
    auto last = static_cast<std::uint64_t>(end);
    check(cuda_.cuStreamWaitEvent(hosts_, mark_of(Mark::told), 0));
    mark(Mark::host_begins, hosts_);
    if (layout_.apart)
      launch(receive_, hosts_, layout_.hosts, receivers_per_warp_, 1, window, last, kWarp,
             receivers_per_warp_ * layout_.nearby_receiver);
    check(cuda_.cuEventRecord(mark_of(Mark::send_begins), hosts_));
    launch(host_, hosts_, layout_.hosts, hosts_per_warp_, 1, window, last, kWarp,
           hosts_per_warp_ * layout_.nearby);
    check(cuda_.cuEventRecord(mark_of(Mark::host_ends), hosts_));
    launch_whole_switches(window, last);
    mark(Mark::take_begins, ports_);
    launch(take_, ports_, layout_.seats, 32 / sharers_, sharers_, window, last);
    if (layout_.turn_switches != 0)
      launch(turns_, ports_, layout_.turn_switches, 1, kWarp, window, last, kWarp);
    mark(Mark::serve_begins, ports_);
    launch(serve_, ports_, layout_.seats, ports_per_warp_, 1, window, last, kBlock,
           kBlock / kWarp * Desktop::stride_of(ports_per_warp_) * Desktop::kBytes);
    mark(Mark::keep_begins, ports_);
    launch(keep_, ports_, layout_.seats, 32, 1, window, last);
    mark(Mark::ahead_begins, ports_);
    if (layout_.ahead) {
      // Beside what is sent, but not beside what is received.
      check(cuda_.cuStreamWaitEvent(ports_, mark_of(Mark::send_begins), 0));
      launch(receive_ahead_, ports_, layout_.hosts, receivers_per_warp_, 1, window, last, kWarp,
             receivers_per_warp_ * layout_.nearby_receiver);
    }
    mark(Mark::ahead_ends, ports_);
    check(cuda_.cuStreamWaitEvent(ports_, mark_of(Mark::host_ends), 0));
    if (layout_.switches != 0)
      check(cuda_.cuStreamWaitEvent(ports_, mark_of(Mark::switches_end), 0));
    auto field = reinterpret_cast<std::uint64_t>(layout_.field);
    auto told = reinterpret_cast<std::uint64_t>(told_);
    unsigned places = kTold;
    std::uint64_t room = more_room_;
    void* arguments[] = {&field, &memory_, &window, &last, &told, &places, &room};
    check(cuda_.cuLaunchKernel(tell_, 1, 1, 1, 1, 1, 1, 0, ports_, arguments, nullptr));
    check(cuda_.cuEventRecord(mark_of(Mark::told), ports_));
  }

  /// Some windows that the GPU works out, for the driver to launch at once: one call for many.
  void prepare_together() {
    // Events that were recorded for this are of no use elsewhere.
    std::swap(marks_, marks_together_);
    CuGraph graph = nullptr;
    check(cuda_.cuStreamBeginCapture_v2(ports_, kCuCaptureRelaxed));
    check(cuda_.cuEventRecord(mark_of(Mark::told), ports_));
    for (std::uint64_t i = 0; i < kTogether; ++i) launch_window(0, 0);
    check(cuda_.cuStreamEndCapture(ports_, &graph));
    std::swap(marks_, marks_together_);
    check(cuda_.cuGraphInstantiateWithFlags(&together_, graph, 0));
    check(cuda_.cuGraphDestroy(graph));
  }

  /// Beside hosts and ports. One to a warp: each goes its own way.
  void launch_whole_switches(std::uint64_t window, std::uint64_t last) {
    if (layout_.switches == 0) return;
    check(cuda_.cuStreamWaitEvent(switches_, mark_of(Mark::told), 0));
    mark(Mark::switches_begin, switches_);
    if (layout_.pauses) {
      launch(weigh_, ports_, layout_.switches, 1, kWarp, window, last);
      check(cuda_.cuEventRecord(mark_of(Mark::weighed), ports_));
      check(cuda_.cuStreamWaitEvent(switches_, mark_of(Mark::weighed), 0));
    }
    launch(whole_, switches_, layout_.switches, 1, 1, window, last, kWarp);
    check(cuda_.cuEventRecord(mark_of(Mark::switches_end), switches_));
  }

  [[nodiscard]] Told wait_for(std::uint64_t window) {
    const Told& told = told_[window % kTold];
    const auto* number = static_cast<const volatile std::uint64_t*>(&told.window);
    // Then it sleeps: runs that share the GPU, and others, want the processor too.
    constexpr std::uint64_t kLooks = 1u << 12;
    constexpr std::uint64_t kQueries = 64;
    for (std::uint64_t looks = 1; *number != window; ++looks) {
      if (looks < kLooks) continue;
      if (ahead_ > 0 || company_ > 1) std::this_thread::sleep_for(std::chrono::microseconds(10));
      if (looks % kQueries == 0 && cuda_.cuStreamQuery(ports_) != kCuNotReady && *number != window)
        check(cuda_.cuStreamSynchronize(ports_));
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return told;
  }
  static constexpr int kCuNotReady = 600;

  void enter() override { open_arena(&arena_); }
  void leave() override { open_arena(nullptr); }

  const Driver& cuda_;
  unsigned company_;  ///< runs that share the GPU, this one included
  std::string text_;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
  int processors_ = 0;
  CuStream ports_ = nullptr;
  CuStream hosts_ = nullptr;
  CuStream switches_ = nullptr;  ///< of those that run as a whole
  std::array<CuEvent, kMarks> marks_{};
  std::array<CuEvent, kMarks> marks_together_{};
  CuGraphExec together_ = nullptr;
  CuModule module_ = nullptr;
  CuFunction take_ = nullptr;
  CuFunction serve_ = nullptr;
  CuFunction keep_ = nullptr;
  CuFunction host_ = nullptr;
  CuFunction receive_ = nullptr;
  CuFunction receive_ahead_ = nullptr;
  CuFunction tell_ = nullptr;
  CuFunction turns_ = nullptr;
  CuFunction weigh_ = nullptr;
  CuFunction whole_ = nullptr;
  unsigned hosts_per_warp_ = 1;
  unsigned ports_per_warp_ = 1;
  unsigned receivers_per_warp_ = 1;
  unsigned sharers_ = 8;  ///< threads that look at what has come by one port
  bool times_kernels_ = false;
  Arena arena_;
  Layout layout_;
  Told* told_ = nullptr;        ///< of a window at its number modulo kTold
  std::uint64_t asked_ = 0;     ///< the last window
  std::uint64_t launched_ = 0;  ///< up to this one
  std::uint64_t ahead_ = 0;     ///< so many are launched before they are asked for
  bool halted_ = false;
  DeviceMemory* memory_ = nullptr;  ///< the GPU's
  char* ferry_ = nullptr;
  std::size_t used_ = 0;  ///< of the arena, on either side
  std::size_t more_room_ = kMostMore;
  std::size_t mapped_ = 0;  ///< of it, so much memory the GPU has there
  bool is_here_ = false;    ///< nothing has run since all was pulled
  std::vector<CuHandle> blocks_;
  DeviceFailure* failure_ = nullptr;
  std::vector<CuPointer> sheets_;
  CuPointer next_sheet_ = 0;
  std::size_t sheet_left_ = 0;
  Costs costs_;
};

}  // namespace

std::string look_for_gpu() {
  const auto driver = load_driver();
  if (!driver) return driver.error();
  CuDevice device = 0;
  if (driver.value()->cuInit(0) != kCuSuccess ||
      driver.value()->cuDeviceGet(&device, 0) != kCuSuccess)
    return "the NVIDIA driver finds no GPU here. run it with --engine cpu";
  return {};
}

Result<std::unique_ptr<Machine>, std::string> open_gpu(unsigned company) {
  auto driver = load_driver();
  if (!driver) return driver.error();
  auto gpu = std::make_unique<Gpu>(*driver.value(), company);
  std::string problem = gpu->open();
  if (!problem.empty()) return problem;
  return std::unique_ptr<Machine>(std::move(gpu));
}

}  // namespace strack::sim::gpu
