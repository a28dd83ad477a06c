// Receiving ends whose flows are finished go, once nothing is under way to them. Their hosts cannot know when: the
// sender is done when the last acknowledgement has come, and packets that it sent twice may still be anywhere. So now
// and then, between two windows, all packets in the network are looked at. Results are the same bits.
//
// Where a NIC's object or timers know the receiving ends of connections they stay; so they do where several ranks share a
// run, as no rank sees the senders of all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "sim/host/host.h"
#include "sim/host/host_state.h"
#include "sim/net/lane.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

/// Goes through state as an archive does (engine/archive.h), and notes which connections' receiving ends its packets
/// are for.
class PacketsUnderWay {
 public:
  static constexpr bool kLoads = false;

  template <class... T>
  void operator()(T&... what) {
    (one(what), ...);
  }
  template <class Range>
  void fixed(Range& items) {
    for (auto& item : items) one(item);
  }
  void note(const SimPacket& packet) {
    if (!packet.is_backward()) ends_.push_back(end_at(packet.dst(), packet.slot()));
  }

  /// No more are noted.
  void close() { std::sort(ends_.begin(), ends_.end()); }
  [[nodiscard]] bool lead_to(std::uint32_t host, std::uint32_t slot) const {
    return std::binary_search(ends_.begin(), ends_.end(), end_at(host, slot));
  }

 private:
  static std::uint64_t end_at(std::uint32_t host, std::uint32_t slot) {
    return std::uint64_t{host} << 32 | slot;
  }
  template <class T>
  void one(T& what) {
    if constexpr (requires(PacketsUnderWay & archive) { what.state(archive); }) what.state(*this);
  }
  void one(SimPacket& packet) { note(packet); }
  void one(Transit& transit) { note(transit.packet); }
  template <class T>
  void one(std::vector<T>& items) {
    for (T& item : items) one(item);
  }
  void one(std::vector<bool>& /*items*/) {}

  std::vector<std::uint64_t> ends_;
};

/// Whether receiving ends of such a transport can go: nobody but their host knows them.
template <class Protocol>
inline constexpr bool kReceiversCanGo =
    std::is_empty_v<typename Protocol::Nic> && !Protocol::kReceiverTimers;

template <class Protocol>
[[nodiscard]] auto& receivers_of(Host<Protocol>& host) {
  return HostState<Protocol>::receivers(host);
}

class ReceiverSweep {
 public:
  /// Looks when so many flows have finished since the last time, and a part of them all.
  explicit ReceiverSweep(std::uint32_t least) : least_(least) {}

  [[nodiscard]] bool due(std::uint64_t finished, std::uint64_t flows) const {
    return finished - seen_ >= std::max<std::uint64_t>(least_, flows / kParts);
  }
  /// Between two windows, of which `next` is the second.
  template <class NetworkType>
  void run(NetworkType& network, std::uint64_t next, std::uint64_t finished) {
    seen_ = finished;
    PacketsUnderWay packets;
    for (std::uint32_t l = 0; l < network.topology.links(); ++l) {
      for (const Transit& transit : network.lanes[l].arrivals(next)) packets.note(transit.packet);
    }
    for (auto& sw : network.switches) packets(*sw);
    for (auto& host : network.all_hosts()) note_held(host, packets);
    packets.close();
    for (std::uint32_t h = 0; h < network.topology.hosts(); ++h) release(network, h, packets);
  }

 private:
  static constexpr std::uint64_t kParts = 8;

  template <class Protocol>
  static void note_held(Host<Protocol>& host, PacketsUnderWay& packets) {
    packets.fixed(HostState<Protocol>::held(host));
  }
  template <class NetworkType>
  static void release(NetworkType& network, std::uint32_t h, const PacketsUnderWay& packets) {
    auto& ends = receivers_of(network.hosts[h]);
    for (std::uint32_t slot = 0; slot < ends.size(); ++slot) {
      if (ends[slot] == nullptr || ends[slot]->flow.job != kNoJob) continue;
      const IncomingFlow& flow = ends[slot]->flow;
      if (network.hosts[flow.src].outgoing(flow.src_slot) == nullptr && !packets.lead_to(h, slot))
        ends[slot].reset();
    }
  }

  std::uint32_t least_;
  std::uint64_t seen_ = 0;  ///< flows that had finished by the last time
};

}  // namespace strack::sim
