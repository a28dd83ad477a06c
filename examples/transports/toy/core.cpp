// Both ends as object code: what they need from outside can be read off it (core_purity_test).
#include "toy.h"

namespace strack::core {

static_assert(Transport<ToySender, ToyReceiver>);

Arrival every_call_of_toy(ToySender& sender, ToyReceiver& receiver, const Packet& packet,
                          const ToyAck& ack, Instant now) {
  sender.on_message({}, now);
  sender.on_receiving_ack(ack, now);
  sender.on_timeout(now);
  sender.poll_transmit(now);
  sender.poll_completion();
  receiver.poll_ack(now);
  return receiver.on_packet(packet, {}, now);
}

}  // namespace strack::core
