// [R.pfc.account] The account of a lossless switch's buffer: whose bytes lie where, whom to pause,
// whom to let go.
//
// A packet is counted for the port it came in by: in the port's reserve and the shared part as long
// as it fits under the threshold, else in the port's headroom. Nothing here knows time or links; the
// switch asks on arrivals and departures, and sends the frames.
//
// For each port: shared bytes = what it has in reserve and shared beyond `reserve`. For the switch:
// shared bytes in use = their sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "sim/config.h"
#include "sim/net/topology.h"

namespace strack::sim {

/// [R.pfc.headroom] What a link can still bring once its receiver has decided to pause it.
///
/// Say the packet that made it so has arrived at t: it may be in headroom itself (one packet). The
/// XOFF waits for the packet in service on our side (one packet), takes `frame` on the wire and
/// `latency` on the way, so it acts at t + packet/rate + frame/rate + latency. Whatever the peer has
/// begun by then comes still. It began none of it before t - latency, when the packet of t had left.
/// So it is what fits between the two, 2 x latency x rate + packet + frame, and the rest of the
/// packet begun last (one packet). At rates at which a byte takes no whole number of picoseconds each
/// packet's time is rounded down by less than one, so that a little more comes in the same time.
[[nodiscard]] inline Bytes link_headroom(BitsPerSecond rate, Picoseconds latency, Bytes packet,
                                         Bytes frame) {
  const Bytes on_the_way = rate * (2 * latency);
  Bytes rounding{0};
  if (seconds(8).value % rate.value != 0) {
    const std::int64_t packets = on_the_way / packet + 4;
    rounding = rate * ps(packets) + packet;
  } else if (on_the_way / rate != 2 * latency) {
    rounding = bytes(1);
  }
  return on_the_way + rounding + 3 * packet + frame;
}

/// What a SharedBuffer is made from.
struct SharedBufferParams {
  Bytes buffer{0};              ///< all of it
  Ratio alpha{1, 8};            ///< [R.pfc.threshold]
  Bytes xoff{0};                ///< [D65] a fixed threshold; 0: as alpha says
  Bytes reserve{0};             ///< [R.pfc.reserve] of each port
  Bytes xon_offset{0};          ///< [R.pfc.xon]
  std::vector<Bytes> headroom;  ///< [R.pfc.headroom] by port
  Bytes max_packet{0};          ///< the largest data packet on the wire

  /// What is left for all to share. Must be positive: check it before making a SharedBuffer.
  [[nodiscard]] Bytes shared() const {
    Bytes left = buffer - static_cast<std::int64_t>(headroom.size()) * reserve;
    for (const Bytes h : headroom) left -= h;
    return left;
  }

  /// For one switch of a topology.
  [[nodiscard]] static SharedBufferParams of(const SwitchInfo& info, const PfcParams& pfc,
                                             const HostParams& hosts, Bytes mtu) {
    SharedBufferParams params;
    params.alpha = pfc.alpha;
    params.xoff = pfc.xoff;
    params.reserve = pfc.reserve;
    params.xon_offset = pfc.xon_offset;
    params.max_packet = std::max(mtu + hosts.data_header, hosts.control_size);
    BitsPerSecond rates{0};
    for (const PortInfo& port : info.ports) {
      rates += port.rate;
      params.headroom.push_back(
          pfc.headroom > bytes(0)
              ? pfc.headroom
              : link_headroom(port.rate, port.latency, params.max_packet, pfc.frame));
    }
    params.buffer = {mul_div(pfc.buffer_per_tbps.value, rates.value, gbps(1'000).value)};
    return params;
  }
};

class SharedBuffer {
 public:
  explicit SharedBuffer(const SharedBufferParams& params)
      : alpha_(params.alpha),
        xoff_(params.xoff.value),
        reserve_(params.reserve.value),
        xon_offset_(params.xon_offset.value),
        shared_size_(params.shared().value) {
    STRACK_CHECK_OP(shared_size_, >, 0);
    STRACK_CHECK(alpha_.num > 0 && alpha_.den > 0);
    for (const Bytes h : params.headroom) ports_.push_back({0, 0, h.value, false});
  }

  enum class Verdict : std::uint8_t { shared, headroom, dropped };

  /// [D117] What is in it; its sizes stay.
  template <class Archive>
  void state(Archive& a) {
    a(shared_used_, resume_level_, peak_headroom_, peak_);
    a.fixed(ports_);
    a(paused_);
    static_assert(sizeof(SharedBuffer) == 128, "list what is new");
  }

  /// A packet has arrived at `port`. Afterwards ask must_pause().
  [[nodiscard]] Verdict admit(std::uint32_t port, std::int64_t size) {
    PortAccount& p = ports_[port];
    const std::int64_t beyond = p.bytes + size - reserve_;
    // [R.pfc.reserve] [R.pfc.threshold] What is free counts too: with alpha above 1 the threshold
    // alone would let a port take more.
    if (beyond <= 0 || (beyond <= threshold() && std::min(size, beyond) <= free())) {
      add(port, size);
      return Verdict::shared;
    }
    if (p.headroom_bytes + size <= p.headroom) {  // [R.pfc.headroom]
      p.headroom_bytes += size;
      peak_headroom_ = std::max(peak_headroom_, p.headroom_bytes);
      return Verdict::headroom;
    }
    return Verdict::dropped;  // [R.pfc.violation]
  }

  /// [R.pfc.xoff] Asked after each arrival at the port, for what became of it. A packet that found
  /// the headroom too small for even one asks for a pause as well.
  [[nodiscard]] bool must_pause(std::uint32_t port, Verdict verdict) const {
    if (ports_[port].paused) return false;
    return verdict != Verdict::shared ||
           (shared_bytes(port) > 0 && shared_bytes(port) >= threshold());
  }

  /// Counts a packet that is known to fit under every threshold of this window, with no need to look.
  void add(std::uint32_t port, std::int64_t size) {
    std::int64_t& bytes = ports_[port].bytes;
    const std::int64_t before = std::max(bytes, reserve_);
    bytes += size;
    if (bytes > before) shared_used_ += bytes - before;
  }

  /// A packet that came in by `port` has left: out of headroom first, then shared, then reserve.
  void release(std::uint32_t port, std::int64_t size) {
    PortAccount& p = ports_[port];
    if (p.headroom_bytes > 0) [[unlikely]] {
      const std::int64_t from_headroom = std::min(p.headroom_bytes, size);
      p.headroom_bytes -= from_headroom;
      size -= from_headroom;
    }
    const std::int64_t before = p.bytes;
    p.bytes -= size;
    if (before > reserve_) shared_used_ -= before - std::max(p.bytes, reserve_);
    STRACK_CHECK(p.bytes >= 0);
    STRACK_CHECK(shared_used_ >= 0);
    if (p.paused) resume_level_ = std::min(resume_level_, level_to_resume(p));
  }

  /// The switch has sent an XOFF or an XON to the port's peer.
  void pause(std::uint32_t port) {
    PortAccount& p = ports_[port];
    STRACK_CHECK(!p.paused);
    p.paused = true;
    paused_.push_back(port);
    resume_level_ = std::min(resume_level_, level_to_resume(p));
    note_use();
  }
  void resume(std::uint32_t port) {
    STRACK_CHECK(ports_[port].paused);
    ports_[port].paused = false;
    std::erase(paused_, port);
  }

  /// [R.pfc.xon] A paused port may be let go: headroom empty, and shared bytes well below the
  /// threshold, or none.
  [[nodiscard]] bool may_resume(std::uint32_t port) const {
    return ports_[port].paused && level_to_resume(ports_[port]) <= threshold();
  }

  /// Resumes each paused port that may be, and calls visit(port) for it; asked after every departure,
  /// so it must be quick where there is none.
  template <class Visit>
  void resume_all(Visit&& visit) {
    if (paused_.empty()) return;
    const std::int64_t level = threshold();
    if (level < resume_level_) return;
    resume_level_ = kNever;
    std::size_t kept = 0;
    for (const std::uint32_t port : paused_) {
      const std::int64_t needed = level_to_resume(ports_[port]);
      if (needed <= level) {
        ports_[port].paused = false;
        visit(port);
      } else {
        resume_level_ = std::min(resume_level_, needed);
        paused_[kept++] = port;
      }
    }
    paused_.resize(kept);
  }

  /// Whatever the order of arrivals and departures: does no packet of a port that will not hold more
  /// than `most` bytes reach the threshold, while no more than `arriving` come in all?
  [[nodiscard]] bool stays_below(std::int64_t most, std::int64_t arriving) const {
    const std::int64_t beyond = most - reserve_;
    return beyond <= 0 || beyond < threshold(arriving);
  }
  /// [R.pfc.threshold] T, and what it cannot fall below while so many bytes arrive.
  [[nodiscard]] std::int64_t threshold(std::int64_t arriving = 0) const {
    const std::int64_t free = shared_size_ - shared_used_ - arriving;
    return std::max<std::int64_t>(0, xoff_ > 0 ? std::min(xoff_, free) : alpha_.of(free));  // [D65]
  }

  [[nodiscard]] bool paused(std::uint32_t port) const { return ports_[port].paused; }
  /// In the order they were paused.
  [[nodiscard]] const std::vector<std::uint32_t>& paused_ports() const { return paused_; }
  /// In reserve and shared together.
  [[nodiscard]] std::int64_t bytes_of(std::uint32_t port) const { return ports_[port].bytes; }
  [[nodiscard]] std::int64_t shared_bytes(std::uint32_t port) const {
    return shared_of(ports_[port].bytes);
  }
  [[nodiscard]] std::int64_t headroom_bytes(std::uint32_t port) const {
    return ports_[port].headroom_bytes;
  }
  [[nodiscard]] std::int64_t shared_used() const { return shared_used_; }
  [[nodiscard]] std::int64_t shared_size() const { return shared_size_; }
  /// Looks at what is in use: at pauses, and by the switch at each window's end. In between it is not
  /// followed, so peak() is right to what arrives in a window.
  void note_use() { peak_ = std::max(peak_, shared_used_); }

  // ---- For several threads that count at once, where order is of no consequence (sim/gpu) ----

  /// What add() and release() change: a port's bytes and, by what shared_of() says of them, all that is shared.
  [[nodiscard]] std::int64_t& bytes_at(std::uint32_t port) { return ports_[port].bytes; }
  [[nodiscard]] std::int64_t& shared_sum() { return shared_used_; }
  [[nodiscard]] std::int64_t shared_of(std::int64_t bytes) const {
    return std::max<std::int64_t>(0, bytes - reserve_);
  }

  /// The most any port ever had in headroom, and the most shared bytes in use.
  [[nodiscard]] std::int64_t peak_headroom() const { return peak_headroom_; }
  [[nodiscard]] std::int64_t peak() const { return peak_; }

 private:
  struct PortAccount {
    std::int64_t bytes = 0;           ///< in reserve and shared
    std::int64_t headroom_bytes = 0;  ///< in headroom
    std::int64_t headroom = 0;        ///< its size
    bool paused = false;
  };
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] std::int64_t free() const { return shared_size_ - shared_used_; }

  /// [R.pfc.xon] The threshold at which this port may be let go.
  [[nodiscard]] std::int64_t level_to_resume(const PortAccount& p) const {
    if (p.headroom_bytes > 0) return kNever;
    return p.bytes <= reserve_ ? 0 : p.bytes - reserve_ + xon_offset_;
  }

  Ratio alpha_;
  std::int64_t xoff_;
  std::int64_t reserve_;
  std::int64_t xon_offset_;
  std::int64_t shared_size_;
  std::int64_t shared_used_ = 0;
  std::int64_t resume_level_ = kNever;  ///< below it no paused port may be let go
  std::int64_t peak_headroom_ = 0;
  std::int64_t peak_ = 0;
  std::vector<PortAccount> ports_;
  std::vector<std::uint32_t> paused_;
};

}  // namespace strack::sim
