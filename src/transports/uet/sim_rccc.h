// UET with receiver credit in a simulated host: as sim.h, and a pacer for each NIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/packet.h"
#include "sim/host/protocol.h"
#include "sim/transport.h"
#include "transports/uet/pull_pacer.h"
#include "transports/uet/receiver.h"
#include "transports/uet/sim.h"

namespace strack::sim {

/// [RCCC.pacer] One pacer for all connections that end at a NIC.
struct RcccProtocol : NsccProtocol {
  struct Nic {
    core::PullPacer pacer;

    void set_up(const Params& params, BitsPerSecond rate) { pacer.set_up(params, rate); }
    [[nodiscard]] Instant next_deadline() const { return pacer.next_deadline(); }
    void on_timeout(Instant now) { pacer.on_timeout(now); }
    std::optional<NicAck<core::UetAck>> poll(Instant now) {
      const auto pull = pacer.poll(now);
      if (!pull) return std::nullopt;
      return NicAck<core::UetAck>{pull->slot, pull->ack};
    }
  };

  struct ReceivingEnd {
    core::UetReceiver receiver;

    ReceivingEnd(const Params& params, std::uint32_t slot, Nic& nic, core::Psn first = core::Psn{0})
        : receiver(params, first, &nic.pacer, slot) {}
  };

  // [D117] The pacer's queue runs through receivers: what it is, by their slots, and both ends without it.
  [[nodiscard]] static std::vector<std::uint32_t> queue_of(const Nic& nic) {
    std::vector<std::uint32_t> slots;
    nic.pacer.for_each_waiting([&](const core::PullAccount& one) { slots.push_back(one.slot); });
    return slots;
  }
  static void unlink(Nic& nic) { nic.pacer.forget_queue(); }
  static void unlink(core::UetReceiver& receiver) { receiver.leave_queue(); }
  static void enqueue(core::UetReceiver& receiver) { receiver.join_queue(); }
};

extern template class TransportOf<RcccProtocol>;

}  // namespace strack::sim
