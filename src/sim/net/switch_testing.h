// What the tests of lossy switches share: one ToR by itself, with a lane in and a lane out at each port.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/testing.h"
#include "base/units.h"
#include "sim/net/packing.h"
#include "sim/net/port_testing.h"
#include "sim/net/switch.h"

namespace strack::sim::testing {

inline TopologyParams leaf_spine(std::uint32_t racks, std::uint32_t hosts_per_rack,
                                 std::uint32_t spines) {
  TopologyParams params;
  params.racks = racks;
  params.hosts_per_rack = hosts_per_rack;
  params.spines = spines;
  params.host_latency = params.fabric_latency = us(1);
  return params;
}

inline SimPacket data_packet(std::uint32_t dst, std::uint32_t slot, core::PathId path,
                             std::uint32_t psn = 0) {
  core::Packet packet;
  packet.psn = core::Psn{psn};
  packet.payload = 4'096;
  packet.path_id = path;
  return pack(packet, {dst, slot});
}

/// One ToR by itself, with a lane in and a lane out at each port.
class SwitchBench {
 public:
  SwitchBench(const TopologyParams& params, std::uint32_t rack, std::uint64_t salt)
      : SwitchBench(params, Topology(params).tor(rack), salt) {}
  /// Or any other switch.
  SwitchBench(const TopologyParams& params, SwitchInfo info, std::uint64_t salt)
      : topology_(params),
        info_(std::move(info)),
        rules_(deep(), HostParams{}),
        lanes_in_(std::make_unique<Lane[]>(info_.ports.size())),
        lanes_out_(std::make_unique<Lane[]>(info_.ports.size())),
        mail_(topology_.nodes()),
        sw(info_, params, salt) {
    for (std::uint32_t p = 0; p < info_.ports.size(); ++p) {
      Wire& wire = sw.port(p).wire;
      wire.lane = &lanes_out_[p];
      wire.peer = info_.ports[p].peer;
      wire.byte_time = ByteTime(gbps(400));
      wire.latency = us(1);
      sw.connect(p, &lanes_in_[p]);
    }
    context_.mail = &mail_;
    context_.window = 1;
    std::vector<RouteVersion> versions;
    versions.push_back({Instant{}, all_up()});
    sw.set_routes(std::move(versions));
  }

  [[nodiscard]] RouteTable all_up() const {
    return routes([](const LinkRef&) { return false; });
  }
  [[nodiscard]] RouteTable without(const LinkRef& link) const {
    return routes([&](const LinkRef& ref) { return ref == link; });
  }
  [[nodiscard]] RouteTable without_uplink(std::uint32_t uplink) const {
    return without({LinkRef::Tier::fabric, info_.ref.index, uplink});
  }

  void arrive(std::uint32_t port, std::int64_t time, const SimPacket& packet) {
    bool first = false;
    Transit& transit = lanes_in_[port].push(context_.window - 1, first);
    transit.time = t(time);
    transit.packet = packet;
  }

  /// Runs one window and collects what each port sent in it.
  Instant run(std::int64_t end = 1'000'000'000'000) {
    context_.end = t(end);
    const Instant next = sw.run(rules_, context_, scratch_);
    out.assign(info_.ports.size(), {});
    for (std::uint32_t p = 0; p < info_.ports.size(); ++p) {
      for (const Transit& transit : lanes_out_[p].arrivals(context_.window + 1))
        out[p].push_back(transit);
    }
    ++context_.window;
    return next;
  }

 private:
  template <class IsDown>
  [[nodiscard]] RouteTable routes(IsDown&& is_down) const {
    return make_routes(topology_, is_down)[info_.node - topology_.hosts()];
  }
  static SwitchParams deep() {
    SwitchParams params;
    params.kmin = params.kmax = params.queue_limit = mb(1'000);
    return params;
  }

  Topology topology_;
  SwitchInfo info_;
  PortRules rules_;
  std::unique_ptr<Lane[]> lanes_in_;
  std::unique_ptr<Lane[]> lanes_out_;
  MailFlags mail_;
  WindowContext context_;
  SwitchScratch scratch_;

 public:
  Switch sw;
  std::vector<std::vector<Transit>> out;
};

}  // namespace strack::sim::testing
