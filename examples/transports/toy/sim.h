// The toy in a simulated host: sim/host/protocol.h says what is asked.
#pragma once

#include <memory>

#include "sim/host/protocol.h"
#include "sim/transport.h"
#include "toy.h"

namespace strack::sim {

struct ToyProtocol : TransportDefaults {
  using Params = core::ToyParams;
  using Events = SimEvents;  // nothing of its own to record
  static constexpr std::array kCounters{metrics::CounterName{"useless_acks", "useless ACK"}};

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    core::ToySender sender;

    SendingEnd(const Params& params, std::size_t count, Events, core::Psn first = core::Psn{0})
        : slots(std::make_unique<core::MessageSlot[]>(count)),
          sender(params, {slots.get(), count}, first) {}
    [[nodiscard]] Bytes acked() const { return sender.acked(); }
  };
  struct ReceivingEnd {
    core::ToyReceiver receiver;

    explicit ReceivingEnd(const Params& params, core::Psn first = core::Psn{0})
        : receiver(params, first) {}
  };

  static std::int64_t window_packets(const Params& params) { return params.window; }
  static Picoseconds longest_timeout(const Params& params) { return params.rto; }

  static SimPacket pack_ack(const core::ToyAck& ack, Address to) {
    SimPacket packet = SimPacket::ack(to, 0);
    packet.w1 = ack.expected.value;
    return packet;
  }
  static core::ToyAck unpack_ack(const SimPacket& packet) {
    return {{static_cast<std::uint32_t>(packet.w1)}};
  }

  using TransportDefaults::fill;
  static void fill(metrics::FlowRecord& record, const SendingEnd& end) {
    record.retransmissions = end.sender.retransmissions;
    record.timeouts = end.sender.timeouts;
    record.own = {end.sender.useless_acks};
  }
};

}  // namespace strack::sim
