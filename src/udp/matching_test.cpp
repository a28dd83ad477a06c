#include "udp/matching.h"

#include <array>

#include <gtest/gtest.h>

#include "udp/receives.h"

namespace strack::udp {
namespace {

struct Sender {};
struct Receive {
  Pattern<Sender> pattern;
  Receive* next = nullptr;
};
struct Message {
  const Sender* peer;
  std::uint64_t tag;
  int number;
};
using All = Matching<Sender, Receive, Message>;

const Sender a;
const Sender b;

// [D153] Of several receives that a message matches, the one posted first has it, whether it is for one peer or any.
TEST(Matching, TheOldestReceiveTakesAMessage) {
  All all;
  Receive from_b{{&b, Match::exactly(7)}};
  Receive any{{nullptr, Match::any()}};
  Receive from_a{{&a, Match::exactly(7)}};
  for (Receive* one : {&from_b, &any, &from_a}) all.post(one);
  EXPECT_EQ(all.find(&a, 7), &any);
  EXPECT_EQ(all.find(&b, 7), &from_b);
  EXPECT_EQ(all.find(&b, 8), &any);
  all.remove(&any);
  EXPECT_EQ(all.find(&a, 7), &from_a);
  EXPECT_EQ(all.find(&b, 8), nullptr);
}

// [D153] Of several messages that a receive matches, the one that came first goes to it.
TEST(Matching, AReceiveTakesTheOldestMessage) {
  All all;
  all.keep({&a, 1, 10});
  all.keep({&b, 2, 20});
  all.keep({&b, 1, 30});
  EXPECT_EQ(all.peek({&b, Match::exactly(1)})->number, 30);
  EXPECT_EQ(all.peek({nullptr, Match::any()})->number, 10);
  EXPECT_EQ(all.take({&b, {0, ~std::uint64_t{3}}})->number, 20);
  EXPECT_EQ(all.take({&b, {0, ~std::uint64_t{3}}})->number, 30);
  EXPECT_FALSE(all.take({&b, {0, ~std::uint64_t{3}}}).has_value());
  EXPECT_EQ(all.peek({&a, {3, ~std::uint64_t{1}}}), nullptr) << "bit 1 of the tag counts";
  all.forget_if([](const Message& one) { return one.peer == &a; });
  EXPECT_EQ(all.peek({nullptr, Match::any()}), nullptr);
}

// One after the other, by tag alone.
TEST(ReceiveQueue, FirstPostedThatMatchesIsTaken) {
  ReceivePool pool(8);
  ReceiveQueue<PostedReceive> queue;
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

// A receive in the middle, at the end or alone goes, and those before and behind it stay in their order.
TEST(ReceiveQueue, AnyMayBeRemoved) {
  std::array<Receive, 4> four;
  ReceiveQueue<Receive> queue;
  for (Receive& one : four) queue.push(&one);
  const auto is = [&](std::size_t i) {
    return [&, i](const Receive& one) { return &one == &four[i]; };
  };
  EXPECT_EQ(queue.find_if(is(3)), &four[3]);
  EXPECT_EQ(queue.count(), 4u) << "to be found is not to be taken";
  EXPECT_EQ(queue.take_if(is(1)), &four[1]);
  EXPECT_EQ(queue.take_if(is(3)), &four[3]);
  EXPECT_EQ(queue.take_if(is(3)), nullptr);
  queue.push(&four[1]);
  EXPECT_EQ(queue.count(), 3u);
  const auto any = [](const Receive&) { return true; };
  for (const std::size_t i : {0u, 2u, 1u}) EXPECT_EQ(queue.take_if(any), &four[i]);
  EXPECT_EQ(queue.take_if(any), nullptr);
  EXPECT_EQ(queue.count(), 0u);
}

// [D153] A connection's own receive has a message before one for any that was posted earlier; if its tag does not fit, it
// is no better than none.
TEST(Matching, OwnReceivesComeFirst) {
  std::array<PostedReceive, 4> all{
      {{Match::any()}, {Match::exactly(7)}, {Match::exactly(8)}, {Match::exactly(8)}}};
  ReceiveQueue<PostedReceive> own;
  ReceiveQueue<PostedReceive> any;
  any.push(&all[0]);
  any.push(&all[1]);
  own.push(&all[2]);
  own.push(&all[3]);
  EXPECT_EQ(take_own_first(own, any, 8), &all[2]);
  EXPECT_EQ(take_own_first(own, any, 7), &all[0]);
  EXPECT_EQ(take_own_first(own, any, 9), nullptr);
  EXPECT_EQ(take_own_first(own, any, 8), &all[3]);
  EXPECT_EQ(take_own_first(own, any, 7), &all[1]);
  EXPECT_EQ(own.count() + any.count(), 0u);
}

// [D153] Where a message is still to come a receive takes none of those behind it.
TEST(Matching, NothingBehindAGapIsTaken) {
  const std::array<int, 5> tags{4, 7, -1, 9, 7};
  const auto first = [&](int tag) {
    const auto found = oldest(
        tags.begin(), tags.end(), [tag](int one) { return one == tag; },
        [](int one) { return one < 0; });
    return found - tags.begin();
  };
  EXPECT_EQ(first(4), 0);
  EXPECT_EQ(first(7), 1);
  EXPECT_EQ(first(9), 5) << "it lies behind the gap";
  EXPECT_EQ(first(-1), 5);
}

}  // namespace
}  // namespace strack::udp
