// What peers do to registered memory is counted; what an operation cannot have is refused.
#include <array>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace strack::fabric {
namespace {

/// The second of two endpoints has two regions, and a counter for each.
class RegionEvents : public ::testing::Test {
 protected:
  RegionEvents() {
    for (fid_cntr*& one : counters_) one = counter();
    for (std::size_t i = 0; i < 2; ++i) world_.expose(memory_[i].data(), memory_[i].size(), 1 + i);
  }
  ~RegionEvents() override {
    for (fid_mr* region : world_.regions) EXPECT_EQ(fi_close(&region->fid), 0);
    world_.regions.clear();
    for (fid_cntr* one : counters_) EXPECT_EQ(fi_close(&one->fid), 0);
  }
  fid_cntr* counter() {
    fid_cntr* one = nullptr;
    EXPECT_EQ(fi_cntr_open(world_.domain, nullptr, &one, nullptr), 0);
    return one;
  }
  int bind(std::size_t region, std::size_t counter, std::uint64_t flags) {
    return fi_mr_bind(world_.regions[region], &counters_[counter]->fid, flags);
  }
  /// An operation of the first endpoint's, from its call to its end.
  int ended(ssize_t begun) { return begun != 0 ? -1 : World::next(world_[0].tx).err; }
  int write(std::size_t size, std::uint64_t key, std::uint64_t offset = 0) {
    return ended(fi_write(world_[0].ep, bytes_.data(), size, nullptr, 1, offset, key, nullptr));
  }
  int read(std::size_t size, std::uint64_t key) {
    return ended(fi_read(world_[0].ep, bytes_.data(), size, nullptr, 1, 0, key, nullptr));
  }
  std::uint64_t value(std::size_t counter) { return fi_cntr_read(counters_[counter]); }

  World world_{2, FI_MSG | FI_RMA | FI_ATOMIC | FI_RMA_EVENT};
  std::array<std::vector<unsigned char>, 2> memory_{std::vector<unsigned char>(300'000),
                                                    std::vector<unsigned char>(300'000)};
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(400'000);
  std::array<fid_cntr*, 3> counters_{};
};

// [D134] Each write counts at its region and nowhere else: short ones, long ones and injected ones.
TEST_F(RegionEvents, WritesCountAtTheirRegion) {
  ASSERT_EQ(bind(0, 0, FI_REMOTE_WRITE), 0);
  ASSERT_EQ(bind(1, 1, FI_REMOTE_WRITE), 0);
  EXPECT_EQ(write(100, 1), 0);
  EXPECT_EQ(value(0), 1u);
  EXPECT_EQ(write(300'000, 1), 0);
  EXPECT_EQ(value(0), 2u);
  ASSERT_EQ(fi_inject_write(world_[0].ep, bytes_.data(), 64, 1, 0, 1), 0);
  EXPECT_EQ(fi_cntr_wait(counters_[0], 3, 20'000), 0);
  EXPECT_EQ(read(100, 1), 0);
  EXPECT_EQ(value(0), 3u) << "a read changes nothing";
  EXPECT_EQ(value(1), 0u);
  EXPECT_EQ(write(100, 2), 0);
  EXPECT_EQ(value(0), 3u);
  EXPECT_EQ(value(1), 1u);
}

// [D134] Whoever waits at the counter moves the endpoints of its domain, those that came later too.
TEST_F(RegionEvents, WaitingMakesProgress) {
  ASSERT_EQ(bind(0, 0, FI_REMOTE_WRITE), 0);
  world_.add(0);
  // Nobody else answers: the third endpoint's own thread stands aside while it is looked at.
  ASSERT_EQ(fi_write(world_[0].ep, bytes_.data(), 300'000, nullptr, 2, 0, 1, nullptr), 0);
  EXPECT_EQ(fi_cntr_wait(counters_[0], 1, 20'000), 0);
  EXPECT_EQ(World::next(world_[0].tx).err, 0);
  Ep& late = *static_cast<Ep*>(world_[2].ep);
  const std::uint32_t before = late.looked;
  EXPECT_EQ(value(0), 1u);
  EXPECT_NE(late.looked, before);
}

// [D134] Atomics that change a value count as writes, those that bring one back as reads; one counter for both
// counts an operation once.
TEST_F(RegionEvents, AtomicsCountByWhatTheyDo) {
  ASSERT_EQ(bind(0, 0, FI_REMOTE_WRITE), 0);
  ASSERT_EQ(bind(0, 1, FI_REMOTE_READ), 0);
  ASSERT_EQ(bind(1, 2, FI_REMOTE_READ | FI_REMOTE_WRITE), 0);
  std::uint64_t operand = 1;
  std::uint64_t found = 0;
  const auto fetch = [&](std::uint64_t key, fi_op op) {
    return ended(fi_fetch_atomic(world_[0].ep, &operand, 1, nullptr, &found, nullptr, 1, 0, key,
                                 FI_UINT64, op, nullptr));
  };
  EXPECT_EQ(
      ended(fi_atomic(world_[0].ep, &operand, 1, nullptr, 1, 0, 1, FI_UINT64, FI_SUM, nullptr)), 0);
  EXPECT_EQ(value(0), 1u);
  EXPECT_EQ(value(1), 0u);
  EXPECT_EQ(fetch(1, FI_SUM), 0);
  EXPECT_EQ(value(0), 2u);
  EXPECT_EQ(value(1), 1u);
  EXPECT_EQ(fetch(1, FI_ATOMIC_READ), 0);
  EXPECT_EQ(value(0), 2u) << "it changes nothing";
  EXPECT_EQ(value(1), 2u);
  EXPECT_EQ(fetch(2, FI_SUM), 0);
  EXPECT_EQ(value(2), 1u);
  EXPECT_EQ(read(10, 2), 0);
  EXPECT_EQ(write(10, 2), 0);
  EXPECT_EQ(value(2), 3u);
}

// [D134] An operation in several pieces is one event of each region that it names.
TEST_F(RegionEvents, AnOperationIsOneEventOfARegion) {
  ASSERT_EQ(bind(0, 0, FI_REMOTE_WRITE), 0);
  ASSERT_EQ(bind(1, 1, FI_REMOTE_WRITE), 0);
  iovec local{bytes_.data(), 30};
  std::array<fi_rma_iov, 3> remote{{{0, 10, 1}, {0, 10, 2}, {50, 10, 1}}};
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.iov_count = 1;
  message.addr = 1;
  message.rma_iov = remote.data();
  message.rma_iov_count = remote.size();
  EXPECT_EQ(ended(fi_writemsg(world_[0].ep, &message, FI_COMPLETION)), 0);
  EXPECT_EQ(value(0), 1u);
  EXPECT_EQ(value(1), 1u);
}

// [D134] What is refused counts nowhere.
TEST_F(RegionEvents, WhatIsRefusedIsNoEvent) {
  ASSERT_EQ(bind(0, 0, FI_REMOTE_WRITE | FI_REMOTE_READ), 0);
  EXPECT_EQ(write(100, 1, 299'950), FI_EACCES);
  EXPECT_EQ(write(400'000, 1), FI_EACCES);
  EXPECT_EQ(read(400'000, 1), FI_EACCES);
  EXPECT_EQ(write(100, 77), FI_EACCES);
  EXPECT_EQ(value(0), 0u);
}

// [D134] Memory is bound to counters of its own domain, to one for each kind, and these stay as long as it does.
TEST_F(RegionEvents, WhatCanBeBound) {
  EXPECT_EQ(bind(0, 0, 0), -FI_EBADFLAGS);
  EXPECT_EQ(bind(0, 0, FI_REMOTE_WRITE | FI_SEND), -FI_EBADFLAGS);
  EXPECT_EQ(fi_mr_bind(world_.regions[0], &world_[1].ep->fid, 0), -FI_EINVAL);
  EXPECT_EQ(fi_mr_bind(world_.regions[0], &world_[1].rx->fid, FI_REMOTE_WRITE), -FI_EINVAL);
  World other(0);
  fid_cntr* foreign = nullptr;
  ASSERT_EQ(fi_cntr_open(other.domain, nullptr, &foreign, nullptr), 0);
  EXPECT_EQ(fi_mr_bind(world_.regions[0], &foreign->fid, FI_REMOTE_WRITE), -FI_EINVAL);
  EXPECT_EQ(fi_close(&foreign->fid), 0);
  ASSERT_EQ(bind(0, 0, FI_REMOTE_WRITE), 0);
  EXPECT_EQ(bind(0, 1, FI_REMOTE_WRITE), -FI_EINVAL);
  EXPECT_EQ(bind(0, 1, FI_REMOTE_WRITE | FI_REMOTE_READ), -FI_EINVAL) << "nor one of two";
  EXPECT_EQ(bind(0, 1, FI_REMOTE_READ), 0);
  EXPECT_EQ(fi_close(&counters_[0]->fid), -FI_EBUSY);
  fid_mr* region = nullptr;
  EXPECT_EQ(fi_mr_reg(world_.domain, bytes_.data(), 8, FI_REMOTE_READ, 0, 9, FI_RMA_PMEM, &region,
                      nullptr),
            -FI_EBADFLAGS);
  ASSERT_EQ(fi_mr_reg(world_.domain, bytes_.data(), 8, FI_REMOTE_READ, 0, 9, FI_RMA_EVENT, &region,
                      nullptr),
            0);
  EXPECT_EQ(fi_mr_enable(region), 0);
  EXPECT_EQ(fi_close(&region->fid), 0);
}

// A counter that a region was bound to goes when both its region and its endpoints may still be there.
TEST_F(RegionEvents, CountersGoBeforeTheirEndpoints) {
  fid_cntr* passing = counter();
  fid_mr* region = nullptr;
  ASSERT_EQ(fi_mr_reg(world_.domain, bytes_.data(), 8, FI_REMOTE_WRITE, 0, 9, 0, &region, nullptr),
            0);
  ASSERT_EQ(fi_mr_bind(region, &passing->fid, FI_REMOTE_WRITE), 0);
  EXPECT_EQ(fi_close(&region->fid), 0);
  EXPECT_EQ(fi_close(&passing->fid), 0);
  world_.add(0);  // nothing of it is left in the domain
  EXPECT_EQ(write(100, 1), 0);
}

// [D134] An endpoint's own counters count what comes to it, whatever memory it is for.
TEST(EndpointEvents, CountWhatPeersDo) {
  World world(1, FI_MSG | FI_RMA | FI_RMA_EVENT);
  std::array<fid_cntr*, 2> counters{};
  for (fid_cntr*& one : counters) ASSERT_EQ(fi_cntr_open(world.domain, nullptr, &one, nullptr), 0);
  fid_ep* ep = nullptr;
  ASSERT_EQ(fi_endpoint(world.domain, world.info, &ep, nullptr), 0);
  ASSERT_EQ(fi_ep_bind(ep, &world.av->fid, 0), 0);
  ASSERT_EQ(fi_ep_bind(ep, &world[0].tx->fid, FI_TRANSMIT | FI_RECV), 0);
  EXPECT_EQ(fi_ep_bind(ep, &counters[0]->fid, FI_REMOTE_WRITE | FI_MULTI_RECV), -FI_EBADFLAGS);
  ASSERT_EQ(fi_ep_bind(ep, &counters[0]->fid, FI_REMOTE_WRITE), 0);
  ASSERT_EQ(fi_ep_bind(ep, &counters[1]->fid, FI_REMOTE_READ), 0);
  ASSERT_EQ(fi_enable(ep), 0);
  char name[64];
  std::size_t size = sizeof name;
  ASSERT_EQ(fi_getname(&ep->fid, name, &size), 0);
  fi_addr_t there = FI_ADDR_NOTAVAIL;
  ASSERT_EQ(fi_av_insert(world.av, name, 1, &there, 0, nullptr), 1);
  std::array<char, 64> memory{};
  const std::uint64_t key = world.expose(memory.data(), memory.size(), 5);
  ASSERT_EQ(fi_write(world[0].ep, "abc", 3, nullptr, there, 0, key, nullptr), 0);
  EXPECT_EQ(fi_cntr_wait(counters[0], 1, 20'000), 0);
  EXPECT_EQ(fi_cntr_read(counters[1]), 0u);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  std::array<char, 3> got{};
  ASSERT_EQ(fi_read(world[0].ep, got.data(), 3, nullptr, there, 0, key, nullptr), 0);
  EXPECT_EQ(fi_cntr_wait(counters[1], 1, 20'000), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_EQ(fi_cntr_read(counters[0]), 1u);
  EXPECT_EQ(fi_close(&ep->fid), 0);
  for (fid_cntr* one : counters) EXPECT_EQ(fi_close(&one->fid), 0);
}

// [D135] A flag that means nothing here is refused by every call that takes flags, and by what sets defaults.
TEST(Flags, UnknownOnesAreRefused) {
  World world(1, FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC);
  std::uint64_t value = 7;
  std::uint64_t found = 0;
  iovec iov{&value, 8};
  const std::uint64_t key = world.expose(&found, 8, 5);
  for (const std::uint64_t flag : {std::uint64_t{FI_FENCE}, std::uint64_t{FI_COMMIT_COMPLETE},
                                   std::uint64_t{FI_MATCH_COMPLETE}, std::uint64_t{FI_PRIORITY},
                                   std::uint64_t{FI_MULTICAST}, std::uint64_t{1} << 61}) {
    fi_msg message{&iov, nullptr, 1, 0, nullptr, 0};
    EXPECT_EQ(fi_sendmsg(world[0].ep, &message, flag), -FI_EBADFLAGS) << flag;
    EXPECT_EQ(fi_recvmsg(world[0].ep, &message, flag), -FI_EBADFLAGS) << flag;
    fi_msg_tagged tagged{&iov, nullptr, 1, 0, 1, 0, nullptr, 0};
    if (flag != FI_MATCH_COMPLETE) {  // which means something for tagged messages [D159]
      EXPECT_EQ(fi_tsendmsg(world[0].ep, &tagged, flag), -FI_EBADFLAGS) << flag;
    }
    EXPECT_EQ(fi_trecvmsg(world[0].ep, &tagged, flag), -FI_EBADFLAGS) << flag;
    fi_rma_iov there{0, 8, key};
    fi_msg_rma rma{&iov, nullptr, 1, 0, &there, 1, nullptr, 0};
    EXPECT_EQ(fi_writemsg(world[0].ep, &rma, flag), -FI_EBADFLAGS) << flag;
    EXPECT_EQ(fi_readmsg(world[0].ep, &rma, flag), -FI_EBADFLAGS) << flag;
    fi_ioc values{&value, 1};
    fi_rma_ioc target{0, 1, key};
    fi_msg_atomic atomic{&values, nullptr, 1, 0, &target, 1, FI_UINT64, FI_SUM, nullptr, 0};
    EXPECT_EQ(fi_atomicmsg(world[0].ep, &atomic, flag), -FI_EBADFLAGS) << flag;
    std::uint64_t set = FI_RECV | flag;
    EXPECT_EQ(fi_control(&world[0].ep->fid, FI_SETOPSFLAG, &set), -FI_EBADFLAGS) << flag;
    if (flag == FI_MATCH_COMPLETE) continue;
    set = FI_TRANSMIT | flag;
    EXPECT_EQ(fi_control(&world[0].ep->fid, FI_SETOPSFLAG, &set), -FI_EBADFLAGS) << flag;
    const std::uint64_t before = world.info->tx_attr->op_flags;
    world.info->tx_attr->op_flags = flag;
    fid_ep* ep = nullptr;
    EXPECT_EQ(fi_endpoint(world.domain, world.info, &ep, nullptr), -FI_EBADFLAGS) << flag;
    world.info->tx_attr->op_flags = before;
  }
  // A peer is told of writes and messages, not of reads and atomics.
  fi_rma_iov there{0, 8, key};
  fi_msg_rma rma{&iov, nullptr, 1, 0, &there, 1, nullptr, 0};
  EXPECT_EQ(fi_readmsg(world[0].ep, &rma, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
  fi_ioc values{&value, 1};
  fi_rma_ioc target{0, 1, key};
  fi_msg_atomic atomic{&values, nullptr, 1, 0, &target, 1, FI_UINT64, FI_SUM, nullptr, 0};
  EXPECT_EQ(fi_atomicmsg(world[0].ep, &atomic, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
  EXPECT_EQ(found, 0u);
}

// [D136] Endpoints that share a transmit context send with its defaults, and cannot do without one.
TEST(SharedContext, EndpointsSendByIt) {
  World world(1, FI_MSG);
  fi_info* info = fi_dupinfo(world.info);
  info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
  fi_tx_attr attr = *world.info->tx_attr;
  attr.op_flags = FI_FENCE;
  fid_stx* stx = nullptr;
  EXPECT_EQ(fi_stx_context(world.domain, &attr, &stx, nullptr), -FI_EINVAL);
  attr.op_flags = FI_COMPLETION;
  ASSERT_EQ(fi_stx_context(world.domain, &attr, &stx, nullptr), 0);
  std::array<fid_ep*, 2> eps{};
  for (fid_ep*& ep : eps) {
    ASSERT_EQ(fi_endpoint(world.domain, info, &ep, nullptr), 0);
    ASSERT_EQ(fi_ep_bind(ep, &world.av->fid, 0), 0);
    ASSERT_EQ(fi_ep_bind(ep, &world[0].rx->fid, FI_RECV), 0);
    ASSERT_EQ(fi_ep_bind(ep, &world[0].tx->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION), 0);
    EXPECT_EQ(fi_enable(ep), -FI_EOPBADSTATE) << "it sends by nothing";
    EXPECT_EQ(fi_ep_bind(ep, &stx->fid, FI_SEND), -FI_EBADFLAGS);
    ASSERT_EQ(fi_ep_bind(ep, &stx->fid, 0), 0);
    EXPECT_EQ(fi_ep_bind(ep, &stx->fid, 0), -FI_EINVAL);
    ASSERT_EQ(fi_enable(ep), 0);
    std::uint64_t flags = FI_TRANSMIT;
    EXPECT_EQ(fi_control(&ep->fid, FI_GETOPSFLAG, &flags), 0);
    EXPECT_EQ(flags, FI_COMPLETION);
  }
  std::uint64_t got = 0;
  for (std::uint64_t value = 1; value <= 2; ++value) {
    ASSERT_EQ(fi_recv(world[0].ep, &got, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
    ASSERT_EQ(fi_send(eps[value - 1], &value, 8, nullptr, 0, &value), 0);
    EXPECT_EQ(World::next(world[0].rx).err, 0);
    EXPECT_EQ(World::next(world[0].tx).op_context, &value) << "a completion by default";
    EXPECT_EQ(got, value);
  }
  EXPECT_EQ(fi_close(&stx->fid), -FI_EBUSY);
  for (fid_ep* ep : eps) EXPECT_EQ(fi_close(&ep->fid), 0);
  fid_ep* other = nullptr;
  ASSERT_EQ(fi_endpoint(world.domain, world.info, &other, nullptr), 0);
  EXPECT_EQ(fi_ep_bind(other, &stx->fid, 0), -FI_EINVAL) << "it has a queue of its own";
  EXPECT_EQ(fi_close(&other->fid), 0);
  EXPECT_EQ(fi_close(&stx->fid), 0);
  info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  EXPECT_EQ(fi_endpoint(world.domain, info, &other, nullptr), -FI_ENOSYS);
  EXPECT_EQ(fi_srx_context(world.domain, world.info->rx_attr, &other, nullptr), -FI_ENOSYS);
  fi_freeinfo(info);
}

// Shared contexts: for what is sent, not for what is received.
TEST(SharedContext, IsAskedFor) {
  fi_info* hints = fi_allocinfo();
  hints->caps = FI_MSG;
  hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
  fi_info* info = nullptr;
  ASSERT_EQ(provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0);
  EXPECT_EQ(info->ep_attr->tx_ctx_cnt, FI_SHARED_CONTEXT);
  EXPECT_EQ(info->ep_attr->rx_ctx_cnt, 1u);
  EXPECT_GT(info->domain_attr->max_ep_stx_ctx, 1u);
  EXPECT_EQ(info->domain_attr->max_ep_srx_ctx, 0u);
  fi_freeinfo(info);
  hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  EXPECT_EQ(provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), -FI_ENODATA);
  fi_freeinfo(hints);
}

// What is not offered is refused, each alone; what is offered is what an endpoint has.
TEST(Provider, CapabilitiesAreOfferedOrRefused) {
  const auto asked = [](std::uint64_t caps, fi_info** info) {
    fi_info* hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA | caps;
    const int error = provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, info);
    fi_freeinfo(hints);
    return error;
  };
  fi_info* info = nullptr;
  ASSERT_EQ(asked(FI_RMA_EVENT, &info), 0);
  EXPECT_NE(info->caps & FI_RMA_EVENT, 0u);
  EXPECT_NE(info->rx_attr->caps & FI_RMA_EVENT, 0u);
  EXPECT_EQ(info->tx_attr->caps & FI_RMA_EVENT, 0u);
  fi_freeinfo(info);
  ASSERT_EQ(asked(0, &info), 0);
  EXPECT_EQ(info->caps & FI_RMA_EVENT, 0u) << "nobody asked for it";
  fi_freeinfo(info);
  for (const std::uint64_t caps :
       {std::uint64_t{FI_MULTICAST}, std::uint64_t{FI_COLLECTIVE}, std::uint64_t{FI_FENCE},
        std::uint64_t{FI_VARIABLE_MSG}, std::uint64_t{FI_RMA_PMEM}, std::uint64_t{FI_SOURCE_ERR},
        std::uint64_t{FI_SHARED_AV}, std::uint64_t{FI_NAMED_RX_CTX}, std::uint64_t{FI_HMEM}})
    EXPECT_EQ(asked(caps, &info), -FI_ENODATA) << caps;
}

}  // namespace
}  // namespace strack::fabric
