// The steps of a window as kernels: what TransportOf is when Clang compiles a transport for a GPU. Their
// arguments are numbers, so that the host can tell their names (gpu.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "sim/gpu/lossless_steps.h"
#include "sim/gpu/steps.h"
#include "sim/gpu/turns.h"
#include "sim/gpu/whole_switch.h"
#include "sim/net/pfc_switch.h"
#include "sim/net/switch.h"

#pragma clang force_cuda_host_device end

namespace strack::sim {

namespace gpu {

/// The item of this thread. Only the first `per_warp` threads of a warp have one: where there are fewer items
/// than the GPU has room for threads, those of a warp wait for each other for nothing. Or else `shares`
/// neighbours, a power of two, have one between them.
STRACK_DEVICE inline Item item_of_thread(std::uint32_t per_warp, std::uint32_t shares,
                                         std::uint32_t items) {
  const std::uint32_t thread =
      __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
  const std::uint32_t lane = thread % 32 / shares;
  const std::uint32_t number = thread / 32 * per_warp + lane;
  const bool is_one = lane < per_warp && number < items;
  return {is_one ? number : 0, is_one, thread % shares, shares};
}

/// Places of the warp's hosts: as many as have one.
template <class Nearby>
STRACK_DEVICE inline Nearby* nearby_of_warp(std::uint32_t per_warp) {
  return reinterpret_cast<Nearby*>(strack_gpu_nearby) +
         __nvvm_read_ptx_sreg_tid_x() / kLanes * per_warp;
}

/// What the thread of a port has near it.
STRACK_DEVICE inline Desktop desktop_of_thread(std::uint32_t per_warp) {
  auto* const first = reinterpret_cast<std::byte*>(strack_gpu_nearby);
  return Desktop::of(first + __nvvm_read_ptx_sreg_tid_x() / kLanes * Desktop::stride_of(per_warp) *
                                 Desktop::kBytes,
                     per_warp, lane());
}

}  // namespace gpu

template <class Protocol>
class TransportOf {
  using Meter = std::conditional_t<Protocol::kMeasuresPath, UtilisationMeter, NoMeter>;
  using Dropping = gpu::Field<Protocol, BasicSwitch<BasicPort<TailDrop, Meter>>>;
  using Trimmed = gpu::Field<Protocol, BasicSwitch<BasicPort<Trimming, Meter>>>;
  using Lossless = gpu::Field<Protocol, BasicPfcSwitch<Meter>>;

 public:
#define STRACK_GPU_STEP(kernel, step, Fields, count, ...) \
  STRACK_GPU_BOUNDED_STEP(kernel, , step, Fields, count __VA_OPT__(, ) __VA_ARGS__)
#define STRACK_GPU_BOUNDED_STEP(kernel, bounds, step, Fields, count, ...)            \
  static STRACK_KERNEL bounds void kernel(unsigned long field, unsigned long memory, \
                                          unsigned long window, unsigned long end,   \
                                          unsigned per_warp, unsigned shares) {      \
    strack_gpu_set_memory(memory);                                                   \
    const auto& all = *reinterpret_cast<const Fields*>(field);                       \
    if (window == 0) {                                                               \
      if (!all.course->goes_on) return;                                              \
      window = all.course->window;                                                   \
      end = static_cast<unsigned long>(all.course->end);                             \
    }                                                                                \
    gpu::step(                                                                       \
        all, gpu::item_of_thread(per_warp, shares, all.count), gpu::Window {         \
          window, Instant { static_cast<std::int64_t>(end) }                         \
        } __VA_OPT__(, ) __VA_ARGS__);                                               \
  }
  // Only the port itself knows what it does with what does not fit.
  STRACK_GPU_STEP(gpu_take, take, Dropping, seat_count)
  // As many blocks at a time as their lists of what leaves have room for: 128 registers for a thread.
  STRACK_GPU_BOUNDED_STEP(gpu_drop, STRACK_LAUNCH_BOUNDS(64, 8), serve, Dropping, seat_count,
                          gpu::desktop_of_thread(per_warp))
  STRACK_GPU_STEP(gpu_trim, serve, Trimmed, seat_count, gpu::desktop_of_thread(per_warp))
  STRACK_GPU_STEP(gpu_keep, keep, Dropping, seat_count)
  STRACK_GPU_STEP(gpu_turns, take_turns, Dropping, turn_switch_count)
  STRACK_GPU_STEP(gpu_drop_whole, run_whole, Dropping, switch_count)
  STRACK_GPU_STEP(gpu_trim_whole, run_whole, Trimmed, switch_count)
  STRACK_GPU_STEP(gpu_pfc_weigh, weigh, Lossless, switch_count)
  STRACK_GPU_STEP(gpu_pfc_take, take, Lossless, seat_count)
  STRACK_GPU_STEP(gpu_pfc_serve, serve_lossless, Lossless, seat_count)
  STRACK_GPU_STEP(gpu_pfc_keep, keep_lossless, Lossless, seat_count)
  STRACK_GPU_STEP(gpu_pfc_whole, run_whole, Lossless, switch_count)
  STRACK_GPU_STEP(gpu_receive, receive, Dropping, host_count,
                  gpu::nearby_of_warp<gpu::NearbyReceiver<Protocol>>(per_warp))
  STRACK_GPU_STEP(gpu_ahead, receive_ahead, Dropping, host_count,
                  gpu::nearby_of_warp<gpu::NearbyReceiver<Protocol>>(per_warp))
  STRACK_GPU_STEP(gpu_send, send, Dropping, host_count,
                  gpu::nearby_of_warp<gpu::Nearby<Protocol, true>>(per_warp))
  STRACK_GPU_STEP(gpu_host, template host<false>, Dropping, host_count,
                  gpu::nearby_of_warp<gpu::Nearby<Protocol>>(per_warp))
#undef STRACK_GPU_STEP
#undef STRACK_GPU_BOUNDED_STEP

  /// After all others: tells the host, which waits for the window's number, in one of `places` in turn; and works
  /// out the next window. A step whose window is 0 is that one's.
  static STRACK_KERNEL void gpu_tell(unsigned long field, unsigned long memory,
                                     unsigned long window, unsigned long end, unsigned long told,
                                     unsigned places, unsigned long room) {
    strack_gpu_set_memory(memory);
    const auto& all = *reinterpret_cast<const Dropping*>(field);
    if (window == 0) {
      if (!all.course->goes_on) return;
      window = all.course->window;
      end = static_cast<unsigned long>(all.course->end);
    }
    const gpu::Tally tally = gpu::close_window(*all.tally);
    gpu::Course next = gpu::course_after(all.pace, window, static_cast<std::int64_t>(end), tally);
    const std::size_t used = strack_gpu_memory->used;
    next.goes_on = next.goes_on && used + room <= strack_gpu_memory->capacity;
    *all.course = next;
    auto& to = reinterpret_cast<gpu::Told*>(told)[window % places];
    to.tally = tally;
    to.used = used;
    to.goes_on = next.goes_on;
    __nvvm_membar_sys();
    *static_cast<volatile std::uint64_t*>(&to.window) = window;
  }
};

}  // namespace strack::sim

#pragma clang force_cuda_host_device begin
