// The toy over UDP: what its acknowledgements are on the wire, and its parameters from what set-up measured.
#include <algorithm>
#include <memory>

#include "toy.h"
#include "udp/session_of.h"

namespace strack::udp {
namespace {

struct ToyOverUdp {
  using Params = core::ToyParams;
  using Sender = core::ToySender;
  using Receiver = core::ToyReceiver;

  static Params params(const Measured& measured) {
    return {.mtu = bytes(measured.payload),
            .window = std::min(64u, measured.window),
            .rto = std::max(25 * measured.rtt, ms(10))};
  }
  static core::Psn expected(const Receiver& receiver) { return receiver.expected(); }
  static bool would_accept(const Receiver& receiver, const core::Packet& packet,
                           std::uint32_t mtu) {
    return packet.psn == receiver.expected() && core::fits_its_message(packet, mtu);
  }
  static void to_wire(const core::ToyAck& ack, core::Sack& sack) {
    sack.epsn = sack.sack_base = ack.expected;
  }
  static core::ToyAck from_wire(const core::Sack& sack) { return {sack.epsn}; }
};

}  // namespace

extern const Transport toy_over_udp{
    .name = "toy",
    .id = 255,  // for experiments
    .tracking_window = 64,
    .make_session = [](const SessionPlan& plan) -> std::unique_ptr<Session> {
      return std::make_unique<SessionOf<ToyOverUdp>>(plan);
    }};

}  // namespace strack::udp
