// What the tests of lossless switches share: one switch by itself, with a lane in and a lane out at
// each port; and peers that send at will and obey pauses, as NICs do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/packet.h"
#include "sim/net/link_pause.h"
#include "sim/net/packing.h"
#include "sim/net/pfc_switch.h"

namespace strack::sim::testing {

inline Instant t(std::int64_t picoseconds) { return at(ps(picoseconds)); }

inline SimPacket data_packet(std::uint32_t dst, std::uint32_t psn = 0,
                             std::uint16_t payload = 4'096) {
  core::Packet packet;
  packet.psn = core::Psn{psn};
  packet.payload = payload;
  return pack(packet, {dst, 0});
}
inline SimPacket sack_packet(std::uint32_t dst, std::uint32_t epsn = 0) {
  SimPacket packet = SimPacket::ack({dst, 0}, 0);
  packet.w1 = epsn;
  return packet;
}

/// One rack: hosts at ports 0, 1, 2, ..., and a spine behind the last one.
inline TopologyParams one_rack(std::uint32_t hosts, Picoseconds latency = us(1)) {
  TopologyParams params;
  params.racks = 2;
  params.hosts_per_rack = hosts;
  params.spines = 1;
  params.host_latency = params.fabric_latency = latency;
  return params;
}

/// A buffer with that much to share and the headroom that fits the links.
inline SharedBufferParams buffer_with(std::uint32_t ports, Bytes shared, Ratio alpha,
                                      Bytes headroom, Bytes reserve = bytes(0),
                                      Bytes xon_offset = bytes(0)) {
  SharedBufferParams params;
  params.alpha = alpha;
  params.reserve = reserve;
  params.xon_offset = xon_offset;
  params.headroom.assign(ports, headroom);
  params.max_packet = bytes(4'160);
  params.buffer = shared + std::int64_t{ports} * (headroom + reserve);
  return params;
}

inline SwitchParams no_marks() {
  SwitchParams params;
  params.kmin = params.kmax = mb(1'000);
  return params;
}

/// What a peer sends next: how long it waits after the last one has left, and the packet.
struct Offer {
  Picoseconds gap{0};
  SimPacket packet;
};

/// A NIC at the far end of a port: sends what it is offered, holds data while it is paused, and
/// keeps what arrives.
class Peer {
 public:
  std::function<Offer()> offer;  ///< never-ending; none: it only receives
  Instant stop = Instant::never();
  LinkPause pause;
  std::vector<Transit> received;
  std::uint64_t sent = 0;

  /// Runs one window; calls send(packet, start of service).
  template <class Send>
  void run(std::span<const Transit> arrivals, Instant end, const PortRules& rules,
           const ByteTime& byte_time, Send&& send) {
    held_.insert(held_.end(), arrivals.begin(), arrivals.end());
    std::size_t taken = 0;
    while (true) {
      if (!next_ && offer) next_ = offer();
      const Instant arrival = taken < held_.size() ? held_[taken].time : Instant::never();
      const Instant start = next_start();
      if (arrival <= start && arrival < end) {
        const Transit& transit = held_[taken++];
        now_ = transit.time;
        if (transit.packet.is_pause()) {
          pause.on_frame(transit.packet.pause_time(), now_);
        } else {
          received.push_back(transit);
        }
      } else if (start < end && start < stop) {
        now_ = start;
        const std::int64_t size =
            next_->packet.is_pause() ? rules.pause_size : rules.wire_size(next_->packet);
        free_ = start + byte_time(size);
        send(next_->packet, free_);
        ++sent;
        next_.reset();
      } else {
        break;
      }
    }
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(taken));
  }

  [[nodiscard]] std::size_t held() const { return held_.size(); }

 private:
  [[nodiscard]] Instant next_start() const {
    if (!next_) return Instant::never();
    const Instant start = std::max(free_ + next_->gap, now_);
    return !next_->packet.is_control() && pause.holds(start) ? pause.until() : start;
  }

  Instant now_{};
  Instant free_{};
  std::optional<Offer> next_;
  std::vector<Transit> held_;
};

/// The first rack's ToR, all links at 400 Gb/s.
template <class SwitchType>
class PfcBenchOf {
 public:
  PfcBenchOf(const TopologyParams& params, const SharedBufferParams& buffer,
             const SwitchParams& marks = no_marks(), const PfcParams& pfc = {})
      : topology_(params),
        info_(topology_.tor(0)),
        rules_(marks, HostParams{}, pfc),
        lanes_in_(std::make_unique<Lane[]>(info_.ports.size())),
        lanes_out_(std::make_unique<Lane[]>(info_.ports.size())),
        mail_(topology_.nodes()),
        sw(info_, params, 1, buffer) {
    for (std::uint32_t p = 0; p < info_.ports.size(); ++p) {
      Wire& wire = sw.port(p).wire;
      wire.lane = &lanes_out_[p];
      wire.peer = info_.ports[p].peer;
      wire.byte_time = ByteTime(gbps(400));
      wire.latency = topology_.latency(info_.ports[p].ref.tier);
      sw.connect(p, &lanes_in_[p]);
    }
    context_.mail = &mail_;
    context_.window = 1;
    std::vector<RouteVersion> versions;
    versions.push_back(
        {Instant{}, make_routes(topology_, [](const LinkRef&) { return false; })[0]});
    sw.set_routes(std::move(versions));
    out.resize(info_.ports.size());
    peers.resize(info_.ports.size());
  }

  void arrive(std::uint32_t port, std::int64_t time, const SimPacket& packet) {
    bool first = false;
    Transit& transit = lanes_in_[port].push(context_.window - 1, first);
    transit.time = t(time);
    transit.packet = packet;
  }

  /// Runs one window and adds what each port sent in it to `out`.
  Instant run(std::int64_t end = 1'000'000'000'000) {
    context_.end = t(end);
    const Instant next = sw.run(rules_, context_, scratch_);
    for (std::uint32_t p = 0; p < out.size(); ++p) {
      const auto sent = lanes_out_[p].arrivals(context_.window + 1);
      out[p].insert(out[p].end(), sent.begin(), sent.end());
    }
    ++context_.window;
    return next;
  }

  /// Runs switch and peers together, window by window.
  void run_with_peers(std::int64_t until) {
    const std::int64_t lookahead = topology_.smallest_latency().value;
    while (begin_ < until) {
      const Instant end = t(std::min(begin_ + lookahead, until));
      begin_ = end.ps;
      for (std::uint32_t p = 0; p < peers.size(); ++p) {
        const Wire& wire = sw.port(p).wire;
        peers[p].run(lanes_out_[p].arrivals(context_.window), end, rules_, wire.byte_time,
                     [&](const SimPacket& packet, Instant left) {
                       bool first = false;
                       Transit& transit = lanes_in_[p].push(context_.window, first);
                       transit = {left + wire.latency, packet};
                     });
      }
      run(end.ps);
    }
  }
  /// Packets between switch and peers, either way.
  [[nodiscard]] std::uint64_t under_way() const {
    std::uint64_t total = 0;
    for (std::uint32_t p = 0; p < peers.size(); ++p) {
      total += lanes_in_[p].arrivals(context_.window).size() +
               lanes_out_[p].arrivals(context_.window).size() + peers[p].held();
    }
    return total;
  }

  [[nodiscard]] const PortRules& rules() const { return rules_; }
  void measure_over(Picoseconds period) { rules_.measured_over = period; }
  [[nodiscard]] std::uint64_t hops() const { return context_.packet_hops; }

 private:
  Topology topology_;
  SwitchInfo info_;
  PortRules rules_;
  std::unique_ptr<Lane[]> lanes_in_;
  std::unique_ptr<Lane[]> lanes_out_;
  MailFlags mail_;
  WindowContext context_;
  PfcScratch scratch_;
  std::int64_t begin_ = 0;

 public:
  SwitchType sw;
  std::vector<Peer> peers;  ///< by port
  std::vector<std::vector<Transit>> out;
};

using PfcBench = PfcBenchOf<PfcSwitch>;

}  // namespace strack::sim::testing
