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

}  // namespace
}  // namespace strack::udp
