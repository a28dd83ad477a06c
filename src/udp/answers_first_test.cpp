// What a program answers leaves before the acknowledgement of what it answers to.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

class AnswersFirst : public ::testing::Test {
 protected:
  static EndpointOptions answering() {
    EndpointOptions o = options();
    o.answers_first = true;
    return o;
  }
  void SetUp() override {
    duo_.connect();
    for (unsigned i = 0; i < 3; ++i) {
      ASSERT_EQ(duo_.server().post_receive(duo_.id[0], Match::any(), buffers_[i], i), Status::ok);
      ASSERT_EQ(duo_.client().post_receive(duo_.id[1], Match::any(), buffers_[i + 3], i),
                Status::ok);
    }
    duo_.run(ms(5));
    duo_.seen[0].clear();
  }
  /// A message of one packet is at the server, which has not looked yet.
  void bring() {
    ASSERT_EQ(duo_.client().send(duo_.id[1], 1, duo_.keep(pattern(100)), 1), Status::ok);
    duo_.client().poll();
    duo_.world.advance_to(duo_.world.now() + us(10));
  }
  ConnectionStatistics of_server() { return *duo_.server().statistics(duo_.id[0]); }
  std::size_t taken() {
    std::array<Completion, 8> room;
    return duo_.server().completions(room).size();
  }

  Duo duo_{answering()};
  std::array<std::vector<std::byte>, 6> buffers_{
      std::vector<std::byte>(100), std::vector<std::byte>(100), std::vector<std::byte>(100),
      std::vector<std::byte>(100), std::vector<std::byte>(100), std::vector<std::byte>(100)};
};

// [D88] The answer is first on the wire.
TEST_F(AnswersFirst, AnAnswerLeavesBeforeTheSack) {
  bring();
  const ConnectionStatistics before = of_server();
  EXPECT_TRUE(duo_.server().poll());
  EXPECT_EQ(taken(), 1u);
  EXPECT_EQ(of_server().sacks_sent, before.sacks_sent) << "it waits";
  EXPECT_EQ(duo_.server().next_deadline(), Instant{}) << "and whoever sleeps must not";

  std::vector<SimulatedWorld::Captured> tape;
  duo_.world.capture = &tape;
  ASSERT_EQ(duo_.server().send(duo_.id[0], 2, duo_.keep(pattern(50)), 2), Status::ok);
  duo_.server().flush();
  duo_.world.capture = nullptr;
  ASSERT_EQ(tape.size(), 2u);
  EXPECT_GT(tape[0].bytes.size(), tape[1].bytes.size()) << "the answer, then the SACK";
  EXPECT_EQ(of_server().data_packets_sent, before.data_packets_sent + 1);
  EXPECT_EQ(of_server().sacks_sent, before.sacks_sent + 1);
}

// [D88]
TEST_F(AnswersFirst, WithoutAnAnswerTheNextCallSendsTheSack) {
  bring();
  const ConnectionStatistics before = of_server();
  EXPECT_TRUE(duo_.server().poll());
  EXPECT_EQ(of_server().sacks_sent, before.sacks_sent);
  EXPECT_TRUE(duo_.server().poll());
  EXPECT_EQ(of_server().sacks_sent, before.sacks_sent + 1);
  EXPECT_NE(duo_.server().next_deadline(), Instant{});
}

// [D88] A program that computes meanwhile would keep the sender waiting: its next 64 are acknowledged at once.
TEST_F(AnswersFirst, NoneWaitsForALateProgram) {
  bring();
  EXPECT_TRUE(duo_.server().poll());
  duo_.world.advance_to(duo_.world.now() + us(21));
  const ConnectionStatistics before = of_server();
  EXPECT_TRUE(duo_.server().poll());
  EXPECT_EQ(of_server().sacks_sent, before.sacks_sent + 1);
  bring();
  EXPECT_TRUE(duo_.server().poll());
  EXPECT_EQ(of_server().sacks_sent, before.sacks_sent + 2) << "with the message itself";
}

TEST(AnswersFirstNot, SacksDoNotWait) {
  Duo duo;
  duo.connect();
  std::vector<std::byte> buffer(100);
  ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
  duo.run(ms(5));
  const std::uint64_t before = duo.server().statistics(duo.id[0])->sacks_sent;
  ASSERT_EQ(duo.client().send(duo.id[1], 1, duo.keep(pattern(100)), 1), Status::ok);
  duo.client().poll();
  duo.world.advance_to(duo.world.now() + us(10));
  EXPECT_TRUE(duo.server().poll());
  EXPECT_EQ(duo.server().statistics(duo.id[0])->sacks_sent, before + 1);
}

}  // namespace
}  // namespace strack::udp
