// Bursts that go whole, however much is sent before it is looked for what has arrived [D138].
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

constexpr std::size_t kPayload = 1'024;

class WholeBursts : public ::testing::TestWithParam<bool> {
 protected:
  static EndpointOptions in_sevens() {
    EndpointOptions o = options(GetParam());
    o.burst = 7;
    o.max_payload = kPayload;
    o.message_slots = 64;
    o.unexpected_messages = 64;
    return o;
  }
  [[nodiscard]] std::size_t datagram() const {
    return kPayload + wire::data_front_bytes(GetParam(), wire::DataKind::send) +
           (GetParam() ? wire::kTagBytes : 0);
  }
  /// What the client sends in one call, or in so long, in packets per system call.
  std::vector<std::size_t> sent(Picoseconds time = ps(0)) {
    std::vector<SimulatedWorld::Captured> tape;
    duo_.world.capture = &tape;
    if (time == ps(0)) {
      duo_.client().poll();
    } else {
      duo_.run(time);
    }
    duo_.world.capture = nullptr;
    std::vector<std::size_t> packets;
    for (const auto& one : tape) {
      if (one.bytes.size() >= datagram()) packets.push_back(one.bytes.size() / datagram());
    }
    return packets;
  }
  void send(ConnectionId id) {
    ASSERT_EQ(duo_.client().send(id, 1, duo_.keep(pattern(100 * kPayload)), 1), Status::ok);
  }

  Duo duo_{in_sevens()};
};

// [D138] One connection alone sends five bursts of seven before it looks again; none is cut short by the budget of 32.
TEST_P(WholeBursts, NoneIsCutShort) {
  duo_.connect();
  send(duo_.id[1]);
  EXPECT_EQ(sent(), (std::vector<std::size_t>{7, 7, 7, 7, 7}));
  EXPECT_EQ(sent(), (std::vector<std::size_t>{7, 7, 7, 7, 7}));
}

// [D138] Of several, each has a turn of 16 packets and the rest of its last burst; what is left is the last one's.
TEST_P(WholeBursts, SeveralTakeTurns) {
  duo_.connect();
  const auto other = duo_.client().connect(duo_.hosts[0]->address(), 6);
  ASSERT_TRUE(other);
  duo_.run(ms(20));
  send(duo_.id[1]);
  send(other.value());
  EXPECT_EQ(sent(), (std::vector<std::size_t>{7, 7, 7, 7, 7}));
  const auto first = duo_.client().statistics(duo_.id[1])->data_packets_sent;
  const auto second = duo_.client().statistics(other.value())->data_packets_sent;
  EXPECT_EQ(first, 21u);
  EXPECT_EQ(second, 14u);
}

// [D138] Packets that each are larger than the one before go alone, and no more of them than the budget.
TEST_P(WholeBursts, TheBudgetHoldsWhereNothingFitsTogether) {
  duo_.connect();
  for (std::size_t i = 0; i < 60; ++i)
    ASSERT_EQ(duo_.client().send(duo_.id[1], 1, duo_.keep(pattern(100 + 10 * i)), 1), Status::ok);
  // Set-up is over and the server has told how much it takes.
  const auto before = duo_.client().statistics(duo_.id[1])->data_packets_sent;
  duo_.client().poll();
  const auto at_once = duo_.client().statistics(duo_.id[1])->data_packets_sent - before;
  EXPECT_GE(at_once, 32u);
  EXPECT_LE(at_once, 33u);
}

// [D138] [D55] Whoever waits for a sign of life sends single packets, whatever its bursts are.
TEST_P(WholeBursts, NoneGoesIntoSilence) {
  duo_.connect();
  duo_.world.faults().silent_from = duo_.world.now();
  send(duo_.id[1]);
  const std::vector<std::size_t> before = sent();
  ASSERT_FALSE(before.empty());
  EXPECT_EQ(before.front(), 7u);
  duo_.run(ms(500));
  const std::vector<std::size_t> later = sent(seconds(2));
  ASSERT_FALSE(later.empty()) << "it still tries";
  EXPECT_EQ(*std::max_element(later.begin(), later.end()), 1u);
}

INSTANTIATE_TEST_SUITE_P(Keys, WholeBursts, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Keyed" : "Plain"; });

}  // namespace
}  // namespace strack::udp
