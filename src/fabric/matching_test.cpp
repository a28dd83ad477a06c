#include "fabric/matching.h"

#include <vector>

#include <gtest/gtest.h>

namespace strack::fabric {
namespace {

struct Sender {};
struct Receive {
  Pattern<Sender> pattern;
};
struct Message {
  const Sender* peer;
  std::uint64_t tag;
  int number;
};
using All = Matching<Sender, Receive, Message>;

const Sender a;
const Sender b;

// Of several receives that a message matches, the one posted first has it, whether it is for one peer or any.
TEST(Matching, TheOldestReceiveTakesAMessage) {
  All all;
  Receive from_b{{&b, 7, 0}};
  Receive any{{nullptr, 0, ~std::uint64_t{0}}};
  Receive from_a{{&a, 7, 0}};
  for (Receive* one : {&from_b, &any, &from_a}) all.post(one);
  EXPECT_EQ(all.find(&a, 7), &any);
  EXPECT_EQ(all.find(&b, 7), &from_b);
  EXPECT_EQ(all.find(&b, 8), &any);
  all.remove(&any);
  EXPECT_EQ(all.find(&a, 7), &from_a);
  EXPECT_EQ(all.find(&b, 8), nullptr);
}

// Of several messages that a receive matches, the one that came first goes to it.
TEST(Matching, AReceiveTakesTheOldestMessage) {
  All all;
  all.keep({&a, 1, 10});
  all.keep({&b, 2, 20});
  all.keep({&b, 1, 30});
  EXPECT_EQ(all.peek({&b, 1, 0})->number, 30);
  EXPECT_EQ(all.peek({nullptr, 0, ~std::uint64_t{0}})->number, 10);
  EXPECT_EQ(all.take({&b, 0, 3})->number, 20);
  EXPECT_EQ(all.take({&b, 0, 3})->number, 30);
  EXPECT_FALSE(all.take({&b, 0, 3}).has_value());
  EXPECT_EQ(all.peek({&a, 3, 1}), nullptr) << "bit 1 of the tag counts";
  all.forget_if([](const Message& one) { return one.peer == &a; });
  EXPECT_EQ(all.peek({nullptr, 0, ~std::uint64_t{0}}), nullptr);
}

}  // namespace
}  // namespace strack::fabric
