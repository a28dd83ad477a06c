#include "udp/receives.h"

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

TEST(ReceivePool, StopsAtItsLimitAndTakesBack) {
  ReceivePool pool(2);
  PostedReceive* a = pool.take();
  PostedReceive* b = pool.take();
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(pool.take(), nullptr);
  pool.give_back(a);
  EXPECT_EQ(pool.take(), a);
}

TEST(ReceiveQueue, FirstPostedThatMatchesIsTaken) {
  ReceivePool pool(8);
  ReceiveQueue queue;
  const auto post = [&](Match match, std::uint64_t cookie) {
    PostedReceive* node = pool.take();
    *node = {match, nullptr, 0, cookie, nullptr};
    queue.push(node);
  };
  post(Match::exactly(7), 1);
  post({0x10, 0xf0}, 2);  // any tag with these four bits
  post(Match::any(), 3);
  post(Match::exactly(7), 4);
  EXPECT_EQ(queue.take(0x15)->cookie, 2u);
  EXPECT_EQ(queue.take(0x15)->cookie, 3u);
  EXPECT_EQ(queue.take(0x15), nullptr);
  EXPECT_EQ(queue.take(7)->cookie, 1u);
  EXPECT_EQ(queue.count(), 1u);
  EXPECT_EQ(queue.take(7)->cookie, 4u);
  EXPECT_EQ(queue.take(7), nullptr);
  EXPECT_EQ(queue.count(), 0u);
  post(Match::any(), 5);  // after the last was taken the list begins anew
  EXPECT_EQ(queue.take(1)->cookie, 5u);
}

}  // namespace
}  // namespace strack::udp
