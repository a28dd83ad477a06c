#include "transports/rocev2/sim_packing.h"

#include <gtest/gtest.h>

namespace strack::sim {
namespace {

// Each kind comes out as it went in, with every field at its largest.
TEST(RocePacking, RoundTripOfLargestValues) {
  for (const auto kind : {core::RoceAckKind::ack, core::RoceAckKind::nak, core::RoceAckKind::cnp}) {
    const core::RoceAck ack{kind, 65'535, core::Psn{~0u}, {~0u}};
    const SimPacket packed = pack(ack, {SimPacket::kMaxHosts - 1, SimPacket::kMaxSlots - 1});
    const core::RoceAck out = unpack_roce_ack(packed);
    EXPECT_EQ(out.kind, kind);
    EXPECT_EQ(out.qp, 65'535);
    EXPECT_EQ(out.epsn, core::Psn{~0u});
    EXPECT_EQ(out.timestamp.ns, ~0u);
    EXPECT_TRUE(packed.is_control() && packed.is_backward());
    EXPECT_EQ(packed.dst(), SimPacket::kMaxHosts - 1);
    EXPECT_EQ(packed.slot(), SimPacket::kMaxSlots - 1);
  }
}

}  // namespace
}  // namespace strack::sim
