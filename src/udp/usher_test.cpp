// Messages that go on to their place as they come [D123].
#include <algorithm>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

constexpr std::size_t kHead = 32;

/// Gives each message a place of its own, by the first byte.
class Seats final : public Usher {
 public:
  std::optional<Place> place(ConnectionId connection, std::uint64_t cookie, std::uint64_t length,
                             std::span<const std::byte> first) override {
    asked.push_back({connection, cookie, length, {first.begin(), first.end()}});
    if (no) return std::nullopt;
    return Place{kHead, rests.emplace_back(std::min<std::size_t>(length - kHead, room))};
  }

  struct Asked {
    ConnectionId connection;
    std::uint64_t cookie;
    std::uint64_t length;
    std::vector<std::byte> first;
  };
  std::vector<Asked> asked;
  std::deque<std::vector<std::byte>> rests;
  std::size_t room = ~std::size_t{0};
  bool no = false;
};

class UsherTest : public ::testing::TestWithParam<bool> {
 protected:
  void start() {
    duo_.emplace(options(GetParam()));
    duo_->connect();
    duo_->server().set_usher(&seats_);
  }
  void post(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t cookie = buffers_.size();
      ASSERT_EQ(duo_->server().post_receive(kAnyConnection, Match::any(),
                                            buffers_.emplace_back(60'000), cookie),
                Status::ok);
    }
  }
  void send(const std::vector<std::byte>& message) {
    ASSERT_EQ(duo_->client().send(duo_->id[1], 3, duo_->keep(message), 9), Status::ok);
  }

  Seats seats_;
  std::optional<Duo> duo_;
  std::deque<std::vector<std::byte>> buffers_;
};

// [D123] The first bytes stay in the buffer, whose receive completes as ever; the others are where the usher said.
TEST_P(UsherTest, WhatIsBehindTheHeadGoesElsewhere) {
  start();
  post(1);
  const std::vector<std::byte> whole = pattern(5'000);
  send(whole);
  duo_->run(ms(2));
  const auto received = duo_->of(0, Kind::received);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].status, Status::ok);
  EXPECT_EQ(received[0].length, whole.size());
  ASSERT_EQ(seats_.asked.size(), 1u);
  EXPECT_EQ(seats_.asked[0].connection, duo_->id[0]);
  EXPECT_EQ(seats_.asked[0].cookie, 0u);
  EXPECT_EQ(seats_.asked[0].length, whole.size());
  EXPECT_TRUE(
      std::equal(seats_.asked[0].first.begin(), seats_.asked[0].first.end(), whole.begin()));
  EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + kHead, buffers_[0].begin()));
  EXPECT_TRUE(std::equal(whole.begin() + kHead, whole.end(), seats_.rests[0].begin()));
  EXPECT_EQ(buffers_[0][kHead], std::byte{0}) << "the buffer has the head alone";
}

// [D123] No more is written than there is room, and that is no error of the endpoint's.
TEST_P(UsherTest, APlaceMayBeSmaller) {
  start();
  post(1);
  seats_.room = 1'500;
  const std::vector<std::byte> whole = pattern(5'000);
  send(whole);
  duo_->run(ms(2));
  ASSERT_EQ(duo_->of(0, Kind::received).size(), 1u);
  EXPECT_EQ(duo_->of(0, Kind::received)[0].status, Status::ok);
  ASSERT_EQ(seats_.rests.size(), 1u);
  EXPECT_TRUE(std::equal(seats_.rests[0].begin(), seats_.rests[0].end(), whole.begin() + kHead));
  EXPECT_EQ(seats_.rests[0].size(), 1'500u);
}

TEST_P(UsherTest, WhatItDoesNotWantStaysInTheBuffer) {
  start();
  post(1);
  seats_.no = true;
  const std::vector<std::byte> whole = pattern(5'000);
  send(whole);
  duo_->run(ms(2));
  EXPECT_EQ(seats_.asked.size(), 1u);
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), buffers_[0].begin()));
}

// [D123] It can know which place is a message's only when it has been told of those before.
TEST_P(UsherTest, IsNotAskedBeforeItKnowsOfAllThatCameBefore) {
  start();
  post(2);
  duo_->run(ms(1));
  send(pattern(100, 1));
  send(pattern(100, 2));
  duo_->client().flush();
  duo_->world.advance_to(duo_->world.now() + us(10));
  duo_->server().poll();
  ASSERT_TRUE(duo_->server().has_completions());
  EXPECT_EQ(seats_.asked.size(), 1u) << "the second came with the first";
  duo_->run(ms(1));
  ASSERT_EQ(duo_->of(0, Kind::received).size(), 2u);
  const std::vector<std::byte> second = pattern(100, 2);
  EXPECT_TRUE(std::equal(second.begin(), second.end(), buffers_[1].begin()));
}

// [D123] However packets are lost and overtake each other, every message is whole, in one place or the other.
TEST_P(UsherTest, NothingIsLostOnTheWay) {
  start();
  duo_->world.faults().loss = {1, 20};
  duo_->world.faults().jitter = us(15);
  for (unsigned i = 0; i < 60; ++i) {
    post(1);
    const std::size_t asked = seats_.asked.size();
    const std::vector<std::byte> whole = pattern(200 + i * 90, i);
    send(whole);
    for (int waited = 0; waited < 500 && duo_->of(0, Kind::received).size() <= i; ++waited)
      duo_->run(ms(1));
    ASSERT_EQ(duo_->of(0, Kind::received).size(), i + 1);
    const bool placed = seats_.asked.size() > asked;
    const std::vector<std::byte>& buffer = buffers_.back();
    EXPECT_TRUE(
        std::equal(whole.begin(), placed ? whole.begin() + kHead : whole.end(), buffer.begin()));
    if (placed) {
      EXPECT_TRUE(std::equal(whole.begin() + kHead, whole.end(), seats_.rests.back().begin()));
    }
  }
  EXPECT_GT(seats_.asked.size(), 0u);
  EXPECT_LT(seats_.asked.size(), 60u) << "some first packets do not come first";
}

// [D123] An end in mid-message completes the receive, as ever: the place is the user's again.
TEST_P(UsherTest, AnEndInBetweenIsToldOfTheReceive) {
  start();
  post(1);
  duo_->run(ms(1));
  send(pattern(60'000));
  duo_->client().poll();  // not all of it in one call
  duo_->world.advance_to(duo_->world.now() + us(10));
  duo_->server().poll();
  ASSERT_EQ(seats_.asked.size(), 1u);
  ASSERT_FALSE(duo_->server().has_completions());
  ASSERT_EQ(duo_->server().abort(duo_->id[0]), Status::ok);
  duo_->run(ms(1));
  ASSERT_EQ(duo_->of(0, Kind::received).size(), 1u);
  EXPECT_NE(duo_->of(0, Kind::received)[0].status, Status::ok);
  EXPECT_EQ(duo_->of(0, Kind::received)[0].cookie, 0u);
}

INSTANTIATE_TEST_SUITE_P(Engines, UsherTest, ::testing::Bool(), [](const auto& tested) {
  return std::string(tested.param ? "Keyed" : "Plain");
});

}  // namespace
}  // namespace strack::udp
