// The provider through libfabric's own calls: every operation once, and what programs get wrong.
#include <netinet/in.h>
#include <poll.h>
#include <rdma/fi_collective.h>

#include <array>
#include <chrono>

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace strack::fabric {
namespace {

// [D82] Zero bytes, a packet, several packets, and more than is sent unasked: all arrive whole, with tag and source.
TEST(Provider, TaggedMessagesOfAllSizesArriveWhole) {
  World world;
  std::uint64_t tag = 100;
  for (const std::size_t size : {0UL, 1UL, 64UL, 4'096UL, 32'768UL, 32'769UL, 1'500'000UL}) {
    const auto sent = pattern(size, static_cast<unsigned>(tag));
    std::vector<unsigned char> received(size + 8);
    ASSERT_EQ(fi_trecv(world[1].ep, received.data(), received.size(), nullptr, FI_ADDR_UNSPEC, tag,
                       0, as_context(tag)),
              0);
    ASSERT_EQ(fi_tsend(world[0].ep, sent.data(), size, nullptr, 1, tag, as_context(7)), 0);
    fi_addr_t source = FI_ADDR_NOTAVAIL;
    const fi_cq_err_entry got = World::next(world[1].rx, &source);
    EXPECT_EQ(got.err, 0);
    EXPECT_EQ(got.op_context, as_context(tag));
    EXPECT_EQ(got.flags, FI_RECV | FI_TAGGED);
    EXPECT_EQ(got.len, size);
    EXPECT_EQ(got.tag, tag);
    EXPECT_EQ(source, 0u);
    received.resize(size);
    EXPECT_EQ(received, sent);
    const fi_cq_err_entry done = World::next(world[0].tx);
    EXPECT_EQ(done.op_context, as_context(7));
    EXPECT_EQ(done.flags, FI_SEND | FI_TAGGED);
    ++tag;
  }
}

// An endpoint is a peer of its own, too.
TEST(Provider, AnEndpointSendsToItself) {
  World world(1);
  for (const std::size_t size : {8UL, 100'000UL}) {
    const auto sent = pattern(size);
    std::vector<unsigned char> received(size);
    ASSERT_EQ(fi_tsend(world[0].ep, sent.data(), size, nullptr, 0, 3, nullptr), 0);
    ASSERT_EQ(fi_trecv(world[0].ep, received.data(), size, nullptr, 0, 3, 0, nullptr), 0);
    EXPECT_EQ(World::next(world[0].rx).len, size);
    EXPECT_EQ(World::next(world[0].tx).err, 0);
    EXPECT_EQ(received, sent);
  }
}

// [D83] Messages that came before their receives go to them in the order of sending, by tag and mask.
TEST(Provider, UnexpectedMessagesAreMatchedInTheOrderOfSending) {
  World world;
  for (std::uint64_t i = 0; i < 4; ++i)
    ASSERT_EQ(fi_tinject(world[0].ep, &i, sizeof i, 1, i % 2), 0);
  std::array<std::uint64_t, 4> got{99, 99, 99, 99};
  // Wait until all are there: the last has tag 1 and is seen by a peek after the others.
  ASSERT_EQ(fi_trecv(world[1].ep, &got[0], 8, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
  World::next(world[1].rx);
  ASSERT_EQ(fi_trecv(world[1].ep, &got[1], 8, nullptr, FI_ADDR_UNSPEC, 0, ~0ULL, nullptr), 0);
  World::next(world[1].rx);
  ASSERT_EQ(fi_trecv(world[1].ep, &got[2], 8, nullptr, FI_ADDR_UNSPEC, 0, 0, nullptr), 0);
  World::next(world[1].rx);
  ASSERT_EQ(fi_trecv(world[1].ep, &got[3], 8, nullptr, FI_ADDR_UNSPEC, 0, ~0ULL, nullptr), 0);
  World::next(world[1].rx);
  EXPECT_EQ(got, (std::array<std::uint64_t, 4>{1, 0, 2, 3}));
  EXPECT_TRUE(World::nothing(world[0].tx)) << "injected messages are not reported";
}

// A receive for one peer does not take what another sends.
TEST(Provider, ADirectedReceiveTakesItsPeersMessagesOnly) {
  World world(3);
  std::uint64_t from_two = 0;
  std::uint64_t from_any = 0;
  ASSERT_EQ(fi_recv(world[0].ep, &from_two, 8, nullptr, 2, as_context(2)), 0);
  ASSERT_EQ(fi_recv(world[0].ep, &from_any, 8, nullptr, FI_ADDR_UNSPEC, as_context(1)), 0);
  const std::uint64_t one = 11;
  const std::uint64_t two = 22;
  ASSERT_EQ(fi_send(world[1].ep, &one, 8, nullptr, 0, nullptr), 0);
  EXPECT_EQ(World::next(world[0].rx).op_context, as_context(1));
  ASSERT_EQ(fi_send(world[2].ep, &two, 8, nullptr, 0, nullptr), 0);
  EXPECT_EQ(World::next(world[0].rx).op_context, as_context(2));
  EXPECT_EQ(from_any, 11u);
  EXPECT_EQ(from_two, 22u);
}

// [D81] Both begin at once, which makes two connections; each direction keeps its order.
TEST(Provider, OrderHoldsWhenBothBeginAtOnce) {
  World world;
  constexpr std::uint64_t kMessages = 300;
  std::array<std::vector<std::uint64_t>, 2> got;
  for (std::size_t me = 0; me < 2; ++me) {
    got[me].resize(kMessages);
    for (std::uint64_t& one : got[me])
      ASSERT_EQ(fi_recv(world[me].ep, &one, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  }
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    for (std::size_t me = 0; me < 2; ++me) ASSERT_EQ(fi_inject(world[me].ep, &i, 8, 1 - me), 0);
  }
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    for (std::size_t me = 0; me < 2; ++me) World::next(world[me].rx);
  }
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(got[0][i], i);
    EXPECT_EQ(got[1][i], i);
  }
}

// [D85] Nobody asks at the receiver's side, and yet the message is fetched and the sender done.
TEST(Provider, PeersAreAnsweredWhileTheProgramDoesNothing) {
  World world;
  const auto sent = pattern(200'000);
  std::vector<unsigned char> received(sent.size());
  ASSERT_EQ(
      fi_recv(world[1].ep, received.data(), received.size(), nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  ASSERT_EQ(fi_send(world[0].ep, sent.data(), sent.size(), nullptr, 1, nullptr), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_EQ(received, sent);
}

TEST(Provider, ImmediateDataTravelsWithMessages) {
  World world;
  std::array<char, 8> bytes{};
  ASSERT_EQ(fi_recv(world[1].ep, bytes.data(), 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  ASSERT_EQ(fi_senddata(world[0].ep, "abc", 3, nullptr, 0x1122334455667788, 1, nullptr), 0);
  fi_cq_err_entry got = World::next(world[1].rx);
  EXPECT_EQ(got.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
  EXPECT_EQ(got.data, 0x1122334455667788u);
  ASSERT_EQ(fi_trecv(world[1].ep, bytes.data(), 8, nullptr, FI_ADDR_UNSPEC, 5, 0, nullptr), 0);
  ASSERT_EQ(fi_tinjectdata(world[0].ep, "abc", 3, 77, 1, 5), 0);
  got = World::next(world[1].rx);
  EXPECT_EQ(got.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
  EXPECT_EQ(got.data, 77u);
}

// Memory in pieces, short and long, at both sides.
TEST(Provider, PiecesAreGatheredAndScattered) {
  World world;
  for (const std::size_t size : {300UL, 90'000UL}) {
    auto sent = pattern(size);
    std::vector<unsigned char> received(size);
    const iovec from[3] = {{sent.data(), 100}, {nullptr, 0}, {sent.data() + 100, size - 100}};
    const iovec to[2] = {{received.data(), size - 50}, {received.data() + size - 50, 50}};
    ASSERT_EQ(fi_recvv(world[1].ep, to, nullptr, 2, FI_ADDR_UNSPEC, nullptr), 0);
    ASSERT_EQ(fi_sendv(world[0].ep, from, nullptr, 3, 1, nullptr), 0);
    EXPECT_EQ(World::next(world[1].rx).len, size);
    EXPECT_EQ(World::next(world[0].tx).err, 0);
    EXPECT_EQ(received, sent);
  }
  const iovec many[5] = {};
  EXPECT_EQ(fi_sendv(world[0].ep, many, nullptr, 5, 1, nullptr), -FI_EINVAL);
}

// A message that is longer than its buffer ends as truncated, and the buffer has its beginning.
TEST(Provider, TooLongMessagesAreTruncated) {
  World world;
  for (const std::size_t size : {500UL, 60'000UL}) {
    const auto sent = pattern(size);
    std::vector<unsigned char> received(100);
    ASSERT_EQ(fi_trecv(world[1].ep, received.data(), 100, nullptr, FI_ADDR_UNSPEC, 0, 0, nullptr),
              0);
    ASSERT_EQ(fi_tsend(world[0].ep, sent.data(), size, nullptr, 1, 0, nullptr), 0);
    const fi_cq_err_entry got = World::next(world[1].rx);
    EXPECT_EQ(got.err, FI_ETRUNC);
    EXPECT_EQ(got.len, 100u);
    EXPECT_EQ(got.olen, size - 100);
    EXPECT_EQ(std::memcmp(received.data(), sent.data(), 100), 0);
    EXPECT_EQ(World::next(world[0].tx).err, 0) << "the sender knows nothing of it";
  }
}

// Peeking finds nothing, then something; what is claimed is received later; what is discarded is gone.
TEST(Provider, PeekClaimAndDiscard) {
  World world;
  fi_msg_tagged look{};
  look.addr = FI_ADDR_UNSPEC;
  look.tag = 9;
  look.context = as_context(1);
  ASSERT_EQ(fi_trecvmsg(world[1].ep, &look, FI_PEEK), 0);
  EXPECT_EQ(World::next(world[1].rx).err, FI_ENOMSG);
  const auto sent = pattern(50'000);
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(fi_tsend(world[0].ep, sent.data(), sent.size(), nullptr, 1, 9, nullptr), 0);
  fi_cq_err_entry got{};
  do {
    ASSERT_EQ(fi_trecvmsg(world[1].ep, &look, FI_PEEK | FI_CLAIM), 0);
    got = World::next(world[1].rx);
  } while (got.err == FI_ENOMSG);
  EXPECT_EQ(got.len, sent.size());
  EXPECT_EQ(got.tag, 9u);
  std::vector<unsigned char> received(sent.size());
  const iovec to{received.data(), received.size()};
  fi_msg_tagged claim = look;
  claim.msg_iov = &to;
  claim.iov_count = 1;
  ASSERT_EQ(fi_trecvmsg(world[1].ep, &claim, FI_CLAIM), 0);
  EXPECT_EQ(World::next(world[1].rx).len, sent.size());
  EXPECT_EQ(received, sent);
  EXPECT_EQ(fi_trecvmsg(world[1].ep, &claim, FI_CLAIM), -FI_ENOMSG);
  do {
    ASSERT_EQ(fi_trecvmsg(world[1].ep, &look, FI_PEEK | FI_DISCARD), 0);
    got = World::next(world[1].rx);
  } while (got.err == FI_ENOMSG);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(World::next(world[0].tx).err, 0);
  ASSERT_EQ(fi_trecvmsg(world[1].ep, &look, FI_PEEK), 0);
  EXPECT_EQ(World::next(world[1].rx).err, FI_ENOMSG);
}

TEST(Provider, AReceiveIsCancelled) {
  World world;
  std::uint64_t bytes = 0;
  ASSERT_EQ(fi_trecv(world[0].ep, &bytes, 8, nullptr, FI_ADDR_UNSPEC, 1, 0, as_context(5)), 0);
  EXPECT_EQ(fi_cancel(&world[0].ep->fid, as_context(6)), -FI_ENOENT);
  EXPECT_EQ(fi_cancel(&world[0].ep->fid, as_context(5)), 0);
  const fi_cq_err_entry got = World::next(world[0].rx);
  EXPECT_EQ(got.err, FI_ECANCELED);
  EXPECT_EQ(got.op_context, as_context(5));
}

// One buffer takes messages one behind the other, and goes back with the last that fits.
TEST(Provider, ABufferForSeveralMessages) {
  World world;
  const std::size_t least = 100;
  ASSERT_EQ(
      fi_setopt(&world[1].ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least),
      0);
  std::array<char, 260> buffer{};
  const iovec to{buffer.data(), buffer.size()};
  fi_msg message{};
  message.msg_iov = &to;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  message.context = as_context(4);
  ASSERT_EQ(fi_recvmsg(world[1].ep, &message, FI_MULTI_RECV), 0);
  const auto sent = pattern(100);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(fi_inject(world[0].ep, sent.data(), sent.size(), 1), 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const fi_cq_err_entry got = World::next(world[1].rx);
    EXPECT_EQ(got.op_context, as_context(4));
    EXPECT_EQ(got.buf, buffer.data() + 100 * i);
    EXPECT_EQ(got.flags, FI_RECV | FI_MSG | (i == 1 ? FI_MULTI_RECV : 0));
    EXPECT_EQ(std::memcmp(got.buf, sent.data(), 100), 0);
  }
}

// Only what asks for it is reported; counters count all of it.
TEST(Provider, SelectiveCompletionAndCounters) {
  World world(2, 0, FI_SELECTIVE_COMPLETION);
  std::uint64_t bytes[2] = {};
  for (std::uint64_t& one : bytes)
    ASSERT_EQ(fi_recv(world[1].ep, &one, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  std::uint64_t value = 1;
  const iovec from{&value, 8};
  fi_msg message{};
  message.msg_iov = &from;
  message.iov_count = 1;
  message.addr = 1;
  message.context = as_context(2);
  ASSERT_EQ(fi_send(world[0].ep, &value, 8, nullptr, 1, as_context(1)), 0);
  ASSERT_EQ(fi_sendmsg(world[0].ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE), 0);
  EXPECT_EQ(World::next(world[0].tx).op_context, as_context(2));
  EXPECT_TRUE(World::nothing(world[0].tx));
  EXPECT_TRUE(World::nothing(world[1].rx));
  EXPECT_EQ(bytes[1], 1u);
}

TEST(Provider, CountersWait) {
  World world;
  fid_cntr* cntr = nullptr;
  fi_cntr_attr attr{};
  ASSERT_EQ(fi_cntr_open(world.domain, &attr, &cntr, nullptr), 0);
  fid_ep* ep = nullptr;
  ASSERT_EQ(fi_endpoint(world.domain, world.info, &ep, nullptr), 0);
  ASSERT_EQ(fi_ep_bind(ep, &world.av->fid, 0), 0);
  EXPECT_EQ(fi_enable(ep), -FI_ENOCQ);
  ASSERT_EQ(fi_ep_bind(ep, &cntr->fid, FI_SEND | FI_RECV), 0);
  ASSERT_EQ(fi_enable(ep), 0);
  std::uint64_t value = 3;
  ASSERT_EQ(fi_recv(world[0].ep, &value, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  const std::uint64_t sent = 4;
  ASSERT_EQ(fi_send(ep, &sent, 8, nullptr, 0, nullptr), 0);
  EXPECT_EQ(fi_cntr_wait(cntr, 1, 20'000), 0);
  EXPECT_EQ(fi_cntr_read(cntr), 1u);
  EXPECT_EQ(fi_cntr_wait(cntr, 2, 1), -FI_ETIMEDOUT);
  EXPECT_EQ(fi_close(&cntr->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&ep->fid), 0);
  EXPECT_EQ(fi_close(&cntr->fid), 0);
  World::next(world[0].rx);
  EXPECT_EQ(value, 4u);
}

// A program may sleep at the queue's descriptor.
TEST(Provider, AQueueHasADescriptorToSleepAt) {
  World world;
  std::uint64_t value = 0;
  ASSERT_EQ(fi_recv(world[1].ep, &value, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  const std::uint64_t sent = 4;
  ASSERT_EQ(fi_inject(world[0].ep, &sent, 8, 1), 0);
  int fd = -1;
  ASSERT_EQ(fi_control(&world[1].rx->fid, FI_GETWAIT, &fd), 0);
  fi_cq_tagged_entry entry{};
  ssize_t got = -FI_EAGAIN;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (got == -FI_EAGAIN && std::chrono::steady_clock::now() < until) {
    fid* queue = &world[1].rx->fid;
    if (fi_trywait(world.fabric, &queue, 1) == 0) {
      pollfd one{fd, POLLIN, 0};
      poll(&one, 1, 10);
    }
    got = fi_cq_read(world[1].rx, &entry, 1);
  }
  EXPECT_EQ(got, 1);
  EXPECT_EQ(value, 4u);
}

// [D84] Writes and reads, short and long, whole and in pieces; with immediate data; refused where nothing is registered.
TEST(Provider, RemoteMemory) {
  World world;
  for (const std::size_t size : {100UL, 120'000UL}) {
    std::vector<unsigned char> there(size);
    const std::uint64_t key = world.expose(there.data(), size, 40 + size);
    auto sent = pattern(size);
    ASSERT_EQ(fi_write(world[0].ep, sent.data(), size, nullptr, 1, 0, key, as_context(1)), 0);
    fi_cq_err_entry got = World::next(world[0].tx);
    EXPECT_EQ(got.err, 0);
    EXPECT_EQ(got.flags, FI_RMA | FI_WRITE);
    EXPECT_EQ(there, sent);
    std::vector<unsigned char> back(size);
    const iovec to[2] = {{back.data(), 30}, {back.data() + 30, size - 30}};
    ASSERT_EQ(fi_readv(world[0].ep, to, nullptr, 2, 1, 0, key, nullptr), 0);
    got = World::next(world[0].tx);
    EXPECT_EQ(got.err, 0);
    EXPECT_EQ(got.flags, FI_RMA | FI_READ);
    EXPECT_EQ(back, sent);
    sent = pattern(size, 9);
    ASSERT_EQ(fi_writedata(world[0].ep, sent.data(), size, nullptr, 55, 1, 0, key, nullptr), 0);
    EXPECT_EQ(World::next(world[0].tx).err, 0);
    got = World::next(world[1].rx);
    EXPECT_EQ(got.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
    EXPECT_EQ(got.data, 55u);
    EXPECT_EQ(there, sent);
    ASSERT_EQ(fi_write(world[0].ep, sent.data(), size, nullptr, 1, 1, key, nullptr), 0);
    EXPECT_EQ(World::next(world[0].tx).err, FI_EACCES) << "one byte too far";
    ASSERT_EQ(fi_read(world[0].ep, back.data(), size, nullptr, 1, 0, key + 1, nullptr), 0);
    EXPECT_EQ(World::next(world[0].tx).err, FI_EACCES) << "no such key";
  }
}

TEST(Provider, RemoteAtomics) {
  World world;
  std::array<std::int64_t, 2> there{5, -1};
  const std::uint64_t key = world.expose(there.data(), sizeof there, 1);
  std::array<std::int64_t, 2> operand{3, 4};
  std::array<std::int64_t, 2> result{};
  ASSERT_EQ(
      fi_atomic(world[0].ep, operand.data(), 2, nullptr, 1, 0, key, FI_INT64, FI_SUM, nullptr), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_EQ(there, (std::array<std::int64_t, 2>{8, 3}));
  ASSERT_EQ(fi_fetch_atomic(world[0].ep, operand.data(), 2, nullptr, result.data(), nullptr, 1, 0,
                            key, FI_INT64, FI_MIN, nullptr),
            0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_EQ(result, (std::array<std::int64_t, 2>{8, 3}));
  EXPECT_EQ(there, (std::array<std::int64_t, 2>{3, 3}));
  operand = {50, 60};
  const std::array<std::int64_t, 2> compare{3, 7};
  ASSERT_EQ(fi_compare_atomic(world[0].ep, operand.data(), 2, nullptr, compare.data(), nullptr,
                              result.data(), nullptr, 1, 0, key, FI_INT64, FI_CSWAP, nullptr),
            0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_EQ(result, (std::array<std::int64_t, 2>{3, 3}));
  EXPECT_EQ(there, (std::array<std::int64_t, 2>{50, 3})) << "3 is there, and 7 is not";
  std::size_t count = 0;
  EXPECT_EQ(fi_compare_atomicvalid(world[0].ep, FI_DOUBLE, FI_MSWAP, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_atomicvalid(world[0].ep, FI_INT64, FI_SUM, &count), 0);
  EXPECT_EQ(count, 4'096u);
}

// Bad addresses have no name, and nothing is sent to who has none.
TEST(Provider, BadAddressesAreRefused) {
  World world(1);
  std::array<sockaddr_in, 2> bad{};
  bad[0].sin_family = AF_UNIX;
  bad[1].sin_family = AF_INET;  // and port 0
  std::array<fi_addr_t, 2> names{};
  EXPECT_EQ(fi_av_insert(world.av, bad.data(), 2, names.data(), 0, nullptr), 0);
  EXPECT_EQ(names[0], FI_ADDR_NOTAVAIL);
  EXPECT_EQ(names[1], FI_ADDR_NOTAVAIL);
  EXPECT_EQ(fi_inject(world[0].ep, "a", 1, 17), -FI_EINVAL);
  EXPECT_EQ(fi_inject(world[0].ep, nullptr, kMostInjected + 1, 0), -FI_EMSGSIZE);
}

// A peer that has gone is an error of what is sent there, and no hang.
TEST(Provider, APeerThatHasGoneIsAnError) {
  World world;
  std::uint64_t value = 1;
  ASSERT_EQ(fi_recv(world[1].ep, &value, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  ASSERT_EQ(fi_send(world[0].ep, &value, 8, nullptr, 1, nullptr), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  const auto sent = pattern(100'000);
  ASSERT_EQ(fi_send(world[0].ep, sent.data(), sent.size(), nullptr, 1, as_context(3)), 0);
  const World::Member gone = world[1];
  world.all.pop_back();
  EXPECT_EQ(fi_close(&gone.ep->fid), 0);
  EXPECT_EQ(fi_close(&gone.tx->fid), 0);
  EXPECT_EQ(fi_close(&gone.rx->fid), 0);
  const fi_cq_err_entry got = World::next(world[0].tx);
  EXPECT_EQ(got.err, FI_ECONNRESET);
  EXPECT_EQ(got.op_context, as_context(3));
}

// What came whole before its sender's end is there for whoever asks later.
TEST(Provider, WhatCameBeforeAPeersEndIsReceived) {
  World world;
  const std::uint64_t early = 5;
  std::uint64_t marker = 6;
  ASSERT_EQ(fi_recv(world[0].ep, &marker, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  ASSERT_EQ(fi_tinject(world[1].ep, &early, 8, 0, 7), 0);
  ASSERT_EQ(fi_inject(world[1].ep, &early, 8, 0), 0);
  EXPECT_EQ(World::next(world[0].rx).err, 0);  // so the other is there, too
  const auto sent = pattern(100'000);
  ASSERT_EQ(fi_send(world[0].ep, sent.data(), sent.size(), nullptr, 1, nullptr), 0);
  const World::Member gone = world[1];
  world.all.pop_back();
  EXPECT_EQ(fi_close(&gone.ep->fid), 0);
  EXPECT_EQ(fi_close(&gone.tx->fid), 0);
  EXPECT_EQ(fi_close(&gone.rx->fid), 0);
  EXPECT_NE(World::next(world[0].tx).err, 0);  // its end is known
  std::uint64_t got = 0;
  fi_addr_t source = FI_ADDR_NOTAVAIL;
  ASSERT_EQ(fi_trecv(world[0].ep, &got, 8, nullptr, FI_ADDR_UNSPEC, 7, 0, nullptr), 0);
  EXPECT_EQ(World::next(world[0].rx, &source).err, 0);
  EXPECT_EQ(got, 5u);
  EXPECT_EQ(source, 1u);
}

// What is not offered is refused; what is asked for is echoed.
TEST(Provider, HintsAreCheckedAndEchoed) {
  const auto asked = [](auto change) {
    fi_info* hints = fi_allocinfo();
    hints->caps = FI_TAGGED;
    change(*hints);
    fi_info* info = nullptr;
    const int error = provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info);
    fi_freeinfo(hints);
    if (error == 0) fi_freeinfo(info);
    return error;
  };
  EXPECT_EQ(asked([](fi_info&) {}), 0);
  EXPECT_EQ(asked([](fi_info& h) { h.caps |= FI_DIRECTED_RECV | FI_SOURCE; }), 0);
  EXPECT_EQ(asked([](fi_info& h) { h.caps |= FI_MULTICAST; }), -FI_ENODATA);
  EXPECT_EQ(asked([](fi_info& h) { h.caps |= FI_HMEM; }), -FI_ENODATA);
  EXPECT_EQ(asked([](fi_info& h) { h.tx_attr->msg_order = FI_ORDER_SAS; }), 0);
  EXPECT_EQ(asked([](fi_info& h) { h.tx_attr->msg_order = FI_ORDER_WAW; }), -FI_ENODATA);
  EXPECT_EQ(asked([](fi_info& h) { h.rx_attr->comp_order = FI_ORDER_STRICT; }), -FI_ENODATA);
  EXPECT_EQ(asked([](fi_info& h) { h.ep_attr->type = FI_EP_MSG; }), -FI_ENODATA);
  EXPECT_EQ(asked([](fi_info& h) { h.ep_attr->tx_ctx_cnt = 2; }), -FI_ENODATA);
  EXPECT_EQ(asked([](fi_info& h) { h.domain_attr->cq_data_size = 8; }), 0);
  EXPECT_EQ(asked([](fi_info& h) { h.domain_attr->cq_data_size = 9; }), -FI_ENODATA);
  fi_info* hints = fi_allocinfo();
  hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->av_type = FI_AV_MAP;
  fi_info* info = nullptr;
  ASSERT_EQ(provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0);
  EXPECT_EQ(info->caps,
            FI_TAGGED | FI_DIRECTED_RECV | FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM);
  EXPECT_EQ(info->domain_attr->data_progress, FI_PROGRESS_MANUAL);
  EXPECT_EQ(info->domain_attr->threading, FI_THREAD_DOMAIN);
  EXPECT_EQ(info->domain_attr->av_type, FI_AV_MAP);
  EXPECT_EQ(info->domain_attr->mr_mode, 0);
  fi_freeinfo(info);
  fi_freeinfo(hints);
}

// No operation is a null pointer: what there is not says so.
TEST(Provider, MissingOperationsSaySo) {
  World world(1);
  fid_ep* context = nullptr;
  EXPECT_EQ(fi_tx_context(world[0].ep, 0, nullptr, &context, nullptr), -FI_ENOSYS);
  EXPECT_EQ(fi_connect(world[0].ep, nullptr, nullptr, 0), -FI_ENOSYS);
  EXPECT_EQ(fi_barrier(world[0].ep, 0, nullptr), -FI_ENOSYS);
  EXPECT_EQ(fi_scalable_ep(world.domain, world.info, &context, nullptr), -FI_ENOSYS);
}

}  // namespace
}  // namespace strack::fabric
