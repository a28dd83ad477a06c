// Operations that wait for a counter.
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace strack::fabric {
namespace {

constexpr std::uint64_t kAll = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RMA_EVENT | FI_TRIGGER;

/// Two endpoints, a counter that starts things and one that hears of their ends.
class DeferredTest : public ::testing::Test {
 protected:
  DeferredTest() {
    for (fid_cntr*& one : counters_)
      EXPECT_EQ(fi_cntr_open(world_.domain, nullptr, &one, nullptr), 0);
  }
  ~DeferredTest() override {
    for (fid_cntr* one : counters_) EXPECT_EQ(fi_close(&one->fid), 0);
  }
  fi_triggered_context after(std::size_t threshold) {
    fi_triggered_context context{};
    context.event_type = FI_TRIGGER_THRESHOLD;
    context.trigger.threshold.cntr = start_;
    context.trigger.threshold.threshold = threshold;
    return context;
  }
  /// A tagged message from the first to the second that waits for its context.
  int send(std::uint64_t tag, fi_triggered_context& context, std::uint64_t flags = FI_TRIGGER) {
    fi_msg_tagged message{&bytes_, nullptr, 1, 1, tag, 0, &context, 0};
    return static_cast<int>(fi_tsendmsg(world_[0].ep, &message, flags));
  }
  int receive(std::uint64_t tag, std::uint64_t ignore = 0) {
    return static_cast<int>(
        fi_trecv(world_[1].ep, &got_, 8, nullptr, FI_ADDR_UNSPEC, tag, ignore, nullptr));
  }
  fi_deferred_work work(fi_op_type type, std::uint64_t threshold) {
    fi_deferred_work one{};
    one.threshold = threshold;
    one.triggering_cntr = start_;
    one.completion_cntr = end_;
    one.op_type = type;
    return one;
  }
  int queue(fi_deferred_work& one) { return fi_control(&world_.domain->fid, FI_QUEUE_WORK, &one); }

  World world_{2, kAll};
  std::uint64_t value_ = 77;
  std::uint64_t got_ = 0;
  iovec bytes_{&value_, 8};
  std::array<fid_cntr*, 3> counters_{};
  fid_cntr*& start_ = counters_[0];
  fid_cntr*& end_ = counters_[1];
  fid_cntr*& other_ = counters_[2];
};

// [D137] What is triggered begins when its counter has come so far, and not before; its memory is read then.
TEST_F(DeferredTest, ASendWaitsForItsCounter) {
  fi_triggered_context context = after(2);
  ASSERT_EQ(receive(5), 0);
  ASSERT_EQ(send(5, context), 0);
  EXPECT_EQ(fi_close(&start_->fid), -FI_EBUSY) << "somebody waits for it";
  EXPECT_EQ(fi_cntr_add(start_, 1), 0);
  EXPECT_TRUE(World::nothing(world_[0].tx));
  EXPECT_TRUE(World::nothing(world_[1].rx));
  value_ = 78;
  EXPECT_EQ(fi_cntr_add(start_, 1), 0);
  EXPECT_EQ(World::next(world_[1].rx).err, 0);
  EXPECT_EQ(got_, 78u);
  EXPECT_EQ(World::next(world_[0].tx).op_context, &context);
  // It has come so far already.
  ASSERT_EQ(receive(6), 0);
  ASSERT_EQ(send(6, context), 0);
  EXPECT_EQ(World::next(world_[1].rx).err, 0);
  EXPECT_EQ(World::next(world_[0].tx).err, 0);
}

// [D137] A counter that jumps lets them begin by threshold, those of one threshold as they came.
TEST_F(DeferredTest, TheyBeginInTheOrderOfTheirThresholds) {
  std::array<fi_triggered_context, 4> contexts{after(30), after(10), after(20), after(10)};
  for (std::size_t i = 0; i < contexts.size(); ++i) ASSERT_EQ(send(i, contexts[i]), 0);
  EXPECT_EQ(fi_cntr_set(start_, 30), 0);
  for (const std::uint64_t tag : {1u, 3u, 2u, 0u}) {
    ASSERT_EQ(receive(0, ~std::uint64_t{0}), 0);
    EXPECT_EQ(World::next(world_[1].rx).tag, tag);
    EXPECT_EQ(World::next(world_[0].tx).op_context, &contexts[tag]);
  }
}

// [D137] More than an endpoint takes at once: the rest begins when there is room, with nothing lost.
TEST_F(DeferredTest, MoreThanThereIsRoomFor) {
  constexpr std::size_t kMany = 3 * kQueueSize;
  fi_triggered_context context = after(1);
  for (std::size_t i = 0; i < kMany; ++i) ASSERT_EQ(send(i, context), 0);
  EXPECT_EQ(fi_cntr_add(start_, 1), 0);
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(receive(0, ~std::uint64_t{0}), 0);
    ASSERT_EQ(World::next(world_[1].rx).tag, i);
    ASSERT_EQ(World::next(world_[0].tx).err, 0);
  }
}

// Receives and remote memory wait as well.
TEST_F(DeferredTest, OtherOperationsWaitToo) {
  fi_triggered_context context = after(1);
  iovec room{&got_, 8};
  fi_msg_tagged receive{&room, nullptr, 1, FI_ADDR_UNSPEC, 5, 0, &context, 0};
  ASSERT_EQ(fi_trecvmsg(world_[1].ep, &receive, FI_TRIGGER), 0);
  ASSERT_EQ(fi_tinject(world_[0].ep, &value_, 8, 1, 5), 0);
  std::uint64_t memory = 0;
  const std::uint64_t key = world_.expose(&memory, 8, 3);
  fi_rma_iov there{0, 8, key};
  fi_triggered_context second = after(1);
  fi_msg_rma write{&bytes_, nullptr, 1, 1, &there, 1, &second, 0};
  ASSERT_EQ(fi_writemsg(world_[0].ep, &write, FI_TRIGGER), 0);
  EXPECT_TRUE(World::nothing(world_[1].rx));
  EXPECT_EQ(memory, 0u);
  EXPECT_EQ(fi_cntr_add(start_, 1), 0);
  EXPECT_EQ(World::next(world_[1].rx).op_context, &context);
  EXPECT_EQ(got_, 77u);
  EXPECT_EQ(World::next(world_[0].tx).op_context, &second);
  EXPECT_EQ(memory, 77u);
}

// [D137] A counter may be moved by what comes to another endpoint, whose program asks for nothing of this one.
TEST_F(DeferredTest, AnotherEndpointsCounterStartsIt) {
  std::uint64_t memory = 0;
  const std::uint64_t key = world_.expose(&memory, 8, 3);
  ASSERT_EQ(fi_mr_bind(world_.regions[0], &start_->fid, FI_REMOTE_WRITE), 0);
  world_.add(0);
  fi_triggered_context context = after(1);
  ASSERT_EQ(receive(5), 0);
  ASSERT_EQ(send(5, context), 0);
  ASSERT_EQ(fi_inject_write(world_[2].ep, &value_, 8, 1, 0, key), 0);
  EXPECT_EQ(World::next(world_[1].rx).err, 0);
  EXPECT_EQ(World::next(world_[0].tx).err, 0);
  EXPECT_EQ(fi_close(&world_.regions[0]->fid), 0);
  world_.regions.clear();
}

// [D137] What waits can be taken back, by its context, and ends as cancelled; an endpoint takes it along when it goes.
TEST_F(DeferredTest, WhatWaitsCanBeCancelled) {
  fi_triggered_context context = after(1);
  ASSERT_EQ(send(5, context), 0);
  EXPECT_EQ(fi_cancel(&world_[0].ep->fid, &context), 0);
  const fi_cq_err_entry entry = World::next(world_[0].tx);
  EXPECT_EQ(entry.err, FI_ECANCELED);
  EXPECT_EQ(entry.op_context, &context);
  EXPECT_EQ(fi_cancel(&world_[0].ep->fid, &context), -FI_ENOENT);
  world_.add(0);
  fi_msg_tagged message{&bytes_, nullptr, 1, 1, 5, 0, &context, 0};
  ASSERT_EQ(fi_tsendmsg(world_[2].ep, &message, FI_TRIGGER), 0);
  EXPECT_EQ(fi_close(&world_[2].ep->fid), 0);
  EXPECT_EQ(fi_close(&world_[2].tx->fid), 0);
  EXPECT_EQ(fi_close(&world_[2].rx->fid), 0);
  world_.all.pop_back();
  EXPECT_EQ(fi_cntr_add(start_, 1), 0);
  EXPECT_TRUE(World::nothing(world_[0].tx));
}

// [D137] What cannot wait is refused, and so is what does not say for what.
TEST_F(DeferredTest, WhatCannotWaitIsRefused) {
  fi_triggered_context context = after(1);
  EXPECT_EQ(send(5, context, FI_TRIGGER | FI_INJECT), -FI_EOPNOTSUPP);
  fi_msg_tagged message{&bytes_, nullptr, 1, FI_ADDR_UNSPEC, 5, 0, &context, 0};
  EXPECT_EQ(fi_trecvmsg(world_[1].ep, &message, FI_TRIGGER | FI_PEEK), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_trecvmsg(world_[1].ep, &message, FI_TRIGGER | FI_MULTI_RECV), -FI_EOPNOTSUPP);
  message.context = nullptr;
  EXPECT_EQ(fi_trecvmsg(world_[1].ep, &message, FI_TRIGGER), -FI_EINVAL);
  context.event_type = FI_TRIGGER_XPU;
  EXPECT_EQ(send(5, context), -FI_EINVAL);
  context = after(1);
  context.trigger.threshold.cntr = nullptr;
  EXPECT_EQ(send(5, context), -FI_EINVAL);
  World other(2, FI_TAGGED);
  fid_cntr* foreign = nullptr;
  ASSERT_EQ(fi_cntr_open(other.domain, nullptr, &foreign, nullptr), 0);
  context.trigger.threshold.cntr = foreign;
  EXPECT_EQ(send(5, context), -FI_EINVAL);
  // An endpoint that was not asked to.
  message.addr = 1;
  message.context = &context;
  EXPECT_EQ(fi_tsendmsg(other[0].ep, &message, FI_TRIGGER), -FI_EBADFLAGS);
  fid_ep* alias = nullptr;
  EXPECT_EQ(fi_ep_alias(other[0].ep, &alias, FI_TRANSMIT | FI_TRIGGER), -FI_EBADFLAGS);
  EXPECT_EQ(fi_close(&foreign->fid), 0);
}

// An alias is the same endpoint with other flags by default, which are its own.
TEST_F(DeferredTest, AnAliasHasItsOwnFlags) {
  fid_ep* alias = nullptr;
  EXPECT_EQ(fi_ep_alias(world_[0].ep, &alias, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
  EXPECT_EQ(fi_ep_alias(world_[0].ep, &alias, FI_TRIGGER), -FI_EBADFLAGS);
  EXPECT_EQ(fi_ep_alias(world_[0].ep, &alias, FI_TRANSMIT | FI_FENCE), -FI_EBADFLAGS);
  ASSERT_EQ(fi_ep_alias(world_[0].ep, &alias, FI_TRANSMIT | FI_TRIGGER), 0);
  EXPECT_EQ(fi_ep_bind(alias, &start_->fid, FI_SEND), -FI_ENOSYS);
  std::array<char, 64> names[2]{};
  std::array<std::size_t, 2> sizes{64, 64};
  EXPECT_EQ(fi_getname(&alias->fid, names[0].data(), &sizes[0]), 0);
  EXPECT_EQ(fi_getname(&world_[0].ep->fid, names[1].data(), &sizes[1]), 0);
  EXPECT_EQ(names[0], names[1]);
  fi_triggered_context context = after(1);
  ASSERT_EQ(receive(5), 0);
  ASSERT_EQ(fi_tsend(alias, &value_, 8, nullptr, 1, 5, &context), 0);
  EXPECT_EQ(fi_tinject(alias, &value_, 8, 1, 5), -FI_EOPNOTSUPP);
  ASSERT_EQ(receive(6), 0);
  ASSERT_EQ(fi_tsend(world_[0].ep, &value_, 8, nullptr, 1, 6, nullptr), 0)
      << "it waits for nothing";
  EXPECT_EQ(World::next(world_[1].rx).tag, 6u);
  EXPECT_EQ(World::next(world_[0].tx).op_context, nullptr);
  EXPECT_EQ(fi_cntr_add(start_, 1), 0);
  EXPECT_EQ(World::next(world_[1].rx).tag, 5u);
  EXPECT_EQ(World::next(world_[0].tx).op_context, &context);
  std::uint64_t flags = FI_TRANSMIT | FI_COMPLETION;
  EXPECT_EQ(fi_control(&alias->fid, FI_SETOPSFLAG, &flags), 0);
  flags = FI_TRANSMIT;
  EXPECT_EQ(fi_control(&world_[0].ep->fid, FI_GETOPSFLAG, &flags), 0);
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(fi_close(&world_[0].ep->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&alias->fid), 0);
}

// [D137] Work of a domain's queue counts where it says and tells nobody else, unless it says so.
TEST_F(DeferredTest, WorkCountsWhereItSays) {
  std::uint64_t memory = 5;
  const std::uint64_t key = world_.expose(&memory, 8, 3);
  int mark = 0;
  // A message out, and the same message in.
  fi_op_tagged out{world_[0].ep, {&bytes_, nullptr, 1, 1, 9, 0, &mark, 0}, 0};
  iovec room{&got_, 8};
  fi_op_tagged in{world_[1].ep, {&room, nullptr, 1, FI_ADDR_UNSPEC, 9, 0, &mark, 0}, 0};
  fi_deferred_work sending = work(FI_OP_TSEND, 1);
  sending.op.tagged = &out;
  fi_deferred_work receiving = work(FI_OP_TRECV, 1);
  receiving.op.tagged = &in;
  ASSERT_EQ(queue(sending), 0);
  ASSERT_EQ(queue(receiving), 0);
  EXPECT_EQ(fi_cntr_add(start_, 1), 0);
  EXPECT_EQ(fi_cntr_wait(end_, 2, 20'000), 0);
  EXPECT_EQ(got_, 77u);
  // Untagged ones.
  fi_op_msg plain_out{world_[0].ep, {&bytes_, nullptr, 1, 1, &mark, 0}, 0};
  fi_op_msg plain_in{world_[1].ep, {&room, nullptr, 1, FI_ADDR_UNSPEC, &mark, 0}, 0};
  sending = work(FI_OP_SEND, 1);
  sending.op.msg = &plain_out;
  receiving = work(FI_OP_RECV, 1);
  receiving.op.msg = &plain_in;
  value_ = 78;
  ASSERT_EQ(queue(sending), 0);
  ASSERT_EQ(queue(receiving), 0);
  EXPECT_EQ(fi_cntr_wait(end_, 4, 20'000), 0);
  EXPECT_EQ(got_, 78u);
  // Memory: written, read, added to, fetched, compared.
  fi_rma_iov there{0, 8, key};
  fi_op_rma rma{world_[0].ep, {&bytes_, nullptr, 1, 1, &there, 1, &mark, 0}, 0};
  fi_deferred_work writing = work(FI_OP_WRITE, 1);
  writing.op.rma = &rma;
  ASSERT_EQ(queue(writing), 0);
  EXPECT_EQ(fi_cntr_wait(end_, 5, 20'000), 0);
  EXPECT_EQ(memory, 78u);
  fi_op_rma back{world_[0].ep, {&room, nullptr, 1, 1, &there, 1, &mark, 0}, 0};
  fi_deferred_work reading = work(FI_OP_READ, 1);
  reading.op.rma = &back;
  got_ = 0;
  ASSERT_EQ(queue(reading), 0);
  EXPECT_EQ(fi_cntr_wait(end_, 6, 20'000), 0);
  EXPECT_EQ(got_, 78u);
  fi_ioc values{&value_, 1};
  fi_ioc results{&got_, 1};
  fi_rma_ioc target{0, 1, key};
  const fi_msg_atomic sum{&values, nullptr, 1, 1, &target, 1, FI_UINT64, FI_SUM, &mark, 0};
  fi_op_atomic add{world_[0].ep, sum, 0};
  fi_deferred_work adding = work(FI_OP_ATOMIC, 1);
  adding.op.atomic = &add;
  ASSERT_EQ(queue(adding), 0);
  EXPECT_EQ(fi_cntr_wait(end_, 7, 20'000), 0);
  EXPECT_EQ(memory, 156u);
  fi_op_fetch_atomic fetch{world_[0].ep, sum, {&results, nullptr, 1}, 0};
  fi_deferred_work fetching = work(FI_OP_FETCH_ATOMIC, 1);
  fetching.op.fetch_atomic = &fetch;
  ASSERT_EQ(queue(fetching), 0);
  EXPECT_EQ(fi_cntr_wait(end_, 8, 20'000), 0);
  EXPECT_EQ(got_, 156u);
  EXPECT_EQ(memory, 234u);
  std::uint64_t expected = 234;
  fi_ioc with{&expected, 1};
  fi_op_compare_atomic swap{world_[0].ep, sum, {&results, nullptr, 1}, {&with, nullptr, 1}, 0};
  swap.msg.op = FI_CSWAP;
  fi_deferred_work swapping = work(FI_OP_COMPARE_ATOMIC, 1);
  swapping.op.compare_atomic = &swap;
  ASSERT_EQ(queue(swapping), 0);
  EXPECT_EQ(fi_cntr_wait(end_, 9, 20'000), 0);
  EXPECT_EQ(memory, 78u);
  for (World::Member& one : world_.all) {
    EXPECT_TRUE(World::nothing(one.tx));
    EXPECT_TRUE(World::nothing(one.rx));
  }
  rma.flags = FI_COMPLETION;
  ASSERT_EQ(queue(writing), 0);
  EXPECT_EQ(World::next(world_[0].tx).op_context, &mark);
  EXPECT_EQ(fi_cntr_read(end_), 10u);
}

// [D137] Failures bring a counter of work on as well, and count as failures where work ends.
TEST_F(DeferredTest, FailuresCount) {
  fi_rma_iov nowhere{0, 8, 99};
  fi_op_rma rma{world_[0].ep, {&bytes_, nullptr, 1, 1, &nowhere, 1, nullptr, 0}, 0};
  fi_deferred_work writing = work(FI_OP_WRITE, 1);
  writing.op.rma = &rma;
  ASSERT_EQ(queue(writing), 0);
  fi_triggered_context context = after(1);
  ASSERT_EQ(send(5, context), 0);
  EXPECT_EQ(fi_cntr_adderr(start_, 1), 0);
  // Whoever comes to wait when it has failed already is told of no change.
  int waited = -FI_ETIMEDOUT;
  for (int i = 0; i < 400 && waited == -FI_ETIMEDOUT && fi_cntr_readerr(end_) == 0; ++i)
    waited = fi_cntr_wait(end_, 1, 50);
  EXPECT_TRUE(waited == -FI_EAVAIL || waited == -FI_ETIMEDOUT) << waited;
  EXPECT_EQ(fi_cntr_readerr(end_), 1u);
  EXPECT_EQ(World::next(world_[0].tx).err, FI_EACCES);
  EXPECT_TRUE(World::nothing(world_[0].tx)) << "a triggered operation waits for successes";
  EXPECT_EQ(fi_cancel(&world_[0].ep->fid, &context), 0);
  EXPECT_EQ(World::next(world_[0].tx).err, FI_ECANCELED);
}

// [D137] Counters can set one another going.
TEST_F(DeferredTest, CountersFollowCounters) {
  fi_op_cntr to_end{end_, 7};
  fi_op_cntr to_other{other_, 3};
  fi_deferred_work set = work(FI_OP_CNTR_SET, 1);
  set.op.cntr = &to_end;
  EXPECT_EQ(queue(set), -FI_EINVAL) << "a change has no end to count";
  set.completion_cntr = nullptr;
  ASSERT_EQ(queue(set), 0);
  fi_deferred_work add = work(FI_OP_CNTR_ADD, 7);
  add.triggering_cntr = end_;
  add.completion_cntr = nullptr;
  add.op.cntr = &to_other;
  ASSERT_EQ(queue(add), 0);
  EXPECT_EQ(fi_cntr_add(other_, 1), 0);
  EXPECT_EQ(fi_cntr_add(start_, 1), 0);
  EXPECT_EQ(fi_cntr_read(end_), 7u);
  EXPECT_EQ(fi_cntr_read(other_), 4u);
}

// [D137] Many that wait for one counter are found by their thresholds, and counters that move themselves need no stack.
TEST_F(DeferredTest, AChainOfManyEnds) {
  constexpr std::size_t kMany = 200'000;
  fi_op_cntr to_start{start_, 1};
  std::vector<fi_deferred_work> all(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    all[i] = work(FI_OP_CNTR_ADD, i + 10);
    all[i].completion_cntr = nullptr;
    all[i].op.cntr = &to_start;
    ASSERT_EQ(queue(all[i]), 0);
  }
  EXPECT_EQ(fi_cntr_add(start_, 10), 0);
  EXPECT_EQ(fi_cntr_read(start_), kMany + 10);
}

// [D137] Counters that work names stay open while it waits or is under way, and until then only.
TEST_F(DeferredTest, WorkKeepsItsCountersOpen) {
  std::uint64_t memory = 5;
  const std::uint64_t key = world_.expose(&memory, 8, 3);
  fi_rma_iov there{0, 8, key};
  fi_op_rma rma{world_[0].ep, {&bytes_, nullptr, 1, 1, &there, 1, nullptr, 0}, 0};
  fi_deferred_work writing = work(FI_OP_WRITE, 1);
  writing.op.rma = &rma;
  fi_op_cntr to_other{other_, 1};
  fi_deferred_work adding = work(FI_OP_CNTR_ADD, 1);
  adding.completion_cntr = nullptr;
  adding.op.cntr = &to_other;
  fid* const domain = &world_.domain->fid;
  for (const bool flushed : {true, false}) {
    writing.completion_cntr = end_;
    to_other.cntr = other_;
    ASSERT_EQ(queue(writing), 0);
    ASSERT_EQ(queue(adding), 0);
    EXPECT_EQ(fi_close(&end_->fid), -FI_EBUSY);
    EXPECT_EQ(fi_close(&other_->fid), -FI_EBUSY);
    if (flushed) {
      EXPECT_EQ(fi_control(domain, FI_FLUSH_WORK, nullptr), 0);
    } else {
      EXPECT_EQ(fi_control(domain, FI_CANCEL_WORK, &adding), 0);
      EXPECT_EQ(fi_cntr_add(start_, 1), 0);
      EXPECT_EQ(fi_cntr_wait(end_, 1, 20'000), 0);
    }
    for (fid_cntr** one : {&end_, &other_}) {
      EXPECT_EQ(fi_close(&(*one)->fid), 0);
      ASSERT_EQ(fi_cntr_open(world_.domain, nullptr, one, nullptr), 0);
    }
  }
  // A receive that nothing comes for is under way until its endpoint ends.
  world_.add(0);
  iovec room{&got_, 8};
  fi_op_tagged in{world_[2].ep, {&room, nullptr, 1, FI_ADDR_UNSPEC, 9, 0, nullptr, 0}, 0};
  fi_deferred_work receiving = work(FI_OP_TRECV, 1);
  receiving.op.tagged = &in;
  ASSERT_EQ(queue(receiving), 0);
  EXPECT_EQ(fi_close(&end_->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&world_[2].ep->fid), 0);
  EXPECT_EQ(fi_close(&world_[2].tx->fid), 0);
  EXPECT_EQ(fi_close(&world_[2].rx->fid), 0);
  world_.all.pop_back();
}

// [D137] Work can be taken back, one by one or all of it, and makes no sense without a counter of its domain.
TEST_F(DeferredTest, WorkIsCancelledOrRefused) {
  fi_op_cntr to_end{end_, 1};
  std::array<fi_deferred_work, 3> all{};
  for (fi_deferred_work& one : all) {
    one = work(FI_OP_CNTR_ADD, 1);
    one.completion_cntr = nullptr;
    one.op.cntr = &to_end;
    ASSERT_EQ(queue(one), 0);
  }
  fid* const domain = &world_.domain->fid;
  EXPECT_EQ(fi_control(domain, FI_CANCEL_WORK, &all[1]), 0);
  EXPECT_EQ(fi_control(domain, FI_CANCEL_WORK, &all[1]), -FI_ENOENT);
  fi_triggered_context context = after(5);
  ASSERT_EQ(send(5, context), 0);
  EXPECT_EQ(fi_control(domain, FI_FLUSH_WORK, nullptr), 0);
  EXPECT_EQ(fi_control(domain, FI_CANCEL_WORK, &all[0]), -FI_ENOENT);
  EXPECT_EQ(fi_cntr_add(start_, 1), 0);
  EXPECT_EQ(fi_cntr_read(end_), 0u);
  EXPECT_EQ(fi_cancel(&world_[0].ep->fid, &context), 0) << "what is triggered is no work";
  EXPECT_EQ(World::next(world_[0].tx).err, FI_ECANCELED);
  fi_deferred_work without = all[0];
  without.triggering_cntr = nullptr;
  EXPECT_EQ(queue(without), -FI_EINVAL);
  EXPECT_EQ(fi_control(domain, FI_QUEUE_WORK, nullptr), -FI_EINVAL);
  EXPECT_EQ(fi_control(domain, FI_BACKLOG, nullptr), -FI_ENOSYS);
  World other(2, FI_TAGGED);
  EXPECT_EQ(fi_control(&other.domain->fid, FI_QUEUE_WORK, &all[0]), -FI_EINVAL);
  fi_op_tagged foreign{other[0].ep, {&bytes_, nullptr, 1, 1, 9, 0, nullptr, 0}, 0};
  fi_deferred_work sending = work(FI_OP_TSEND, 1);
  sending.op.tagged = &foreign;
  EXPECT_EQ(queue(sending), -FI_EINVAL);
  sending.triggering_cntr = nullptr;
  fid_cntr* theirs = nullptr;
  ASSERT_EQ(fi_cntr_open(other.domain, nullptr, &theirs, nullptr), 0);
  sending.triggering_cntr = sending.completion_cntr = theirs;
  EXPECT_EQ(fi_control(&other.domain->fid, FI_QUEUE_WORK, &sending), -FI_EOPNOTSUPP)
      << "nobody asked for FI_TRIGGER";
  EXPECT_EQ(fi_close(&theirs->fid), 0);
}

}  // namespace
}  // namespace strack::fabric
