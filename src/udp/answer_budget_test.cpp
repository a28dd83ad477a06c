#include "udp/answer_budget.h"

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

Address host(std::uint8_t a, std::uint8_t b) {
  Address address;
  address.ip = {10, 0, a, b};
  return address;
}

// [D45] A burst after a rest, then evenly: never more than burst + rate * time.
TEST(AnswerBudget, BurstAndThenTheRate) {
  AnswerBudget budget({1'000, 10}, {1'000'000, 1'000'000}, 7);
  const Instant start = at(seconds(5));
  int sent = 0;
  for (int i = 0; i < 100; ++i) sent += budget.take(host(1, 1), start);
  EXPECT_EQ(sent, 10);
  for (int t = 1; t <= 1'000; ++t) {
    for (int i = 0; i < 5; ++i) sent += budget.take(host(1, 1), start + ms(t));
  }
  EXPECT_EQ(sent, 10 + 1'000);
  // A rest gives no more than the burst again.
  sent = 0;
  for (int i = 0; i < 100; ++i) sent += budget.take(host(1, 1), start + seconds(100));
  EXPECT_EQ(sent, 10);
}

// [D45] A part of the network that asks for all gets its share; another one is still answered.
TEST(AnswerBudget, OnePartDoesNotUseUpAll) {
  AnswerBudget budget({1'000, 100}, {100, 20}, 7);
  int one = 0;
  for (int i = 0; i < 200; ++i)
    one += budget.take(host(1, static_cast<std::uint8_t>(i)), at(seconds(1)));
  EXPECT_EQ(one, 20);
  EXPECT_TRUE(budget.take(host(2, 1), at(seconds(1))));
}

// [D45] What is merely useful leaves half to those who ask for the first time.
TEST(AnswerBudget, SpareOnesLeaveHalf) {
  AnswerBudget budget({1'000, 100}, {1'000, 100}, 7);
  int sent = 0;
  for (int i = 0; i < 200; ++i) sent += budget.take(host(1, 1), at(seconds(1)), true);
  EXPECT_EQ(sent, 50);
  for (int i = 0; i < 200; ++i) sent += budget.take(host(1, 1), at(seconds(1)));
  EXPECT_EQ(sent, 100);
}

}  // namespace
}  // namespace strack::udp
