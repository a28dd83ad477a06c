// When operations complete, and what a queue's entry has of them.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace strack::fabric {
namespace {

/// A tagged message from 0 to 1 with these flags.
int send_with(World& world, std::span<unsigned char> bytes, std::uint64_t tag, std::uint64_t flags,
              void* context) {
  const iovec from{bytes.data(), bytes.size()};
  fi_msg_tagged message{};
  message.msg_iov = &from;
  message.iov_count = 1;
  message.addr = 1;
  message.tag = tag;
  message.context = context;
  return static_cast<int>(fi_tsendmsg(world[0].ep, &message, FI_COMPLETION | flags));
}

/// Such a message is not over while nobody receives it, however often both sides look; and is once somebody does.
void waits_for_a_receive(std::uint64_t flags, std::initializer_list<std::size_t> sizes) {
  World world;
  for (const std::size_t size : sizes) {
    auto sent = pattern(size);
    std::uint64_t after = 5;
    ASSERT_EQ(send_with(world, sent, 1, flags, as_context(1)), 0);
    ASSERT_EQ(fi_tsend(world[0].ep, &after, 8, nullptr, 1, 2, as_context(2)), 0);
    // The peer has acknowledged the second, so it has all that there will be of the first.
    EXPECT_EQ(World::next(world[0].tx).op_context, as_context(2)) << size;
    fi_msg_tagged look{};
    look.addr = FI_ADDR_UNSPEC;
    look.tag = 1;
    fi_cq_err_entry seen{};
    do {
      ASSERT_EQ(fi_trecvmsg(world[1].ep, &look, FI_PEEK), 0);
      seen = World::next(world[1].rx);
    } while (seen.err == FI_ENOMSG);
    EXPECT_EQ(seen.len, size);
    for (int i = 0; i < 1'000; ++i) {
      ASSERT_TRUE(World::nothing(world[0].tx)) << size << " bytes that nobody has received";
      ASSERT_TRUE(World::nothing(world[1].rx));
    }
    std::vector<unsigned char> received(size);
    ASSERT_EQ(fi_trecv(world[1].ep, received.data(), size, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr),
              0);
    const fi_cq_err_entry got = World::next(world[0].tx);
    EXPECT_EQ(got.err, 0);
    EXPECT_EQ(got.op_context, as_context(1));
    EXPECT_EQ(World::next(world[1].rx).len, size);
    EXPECT_EQ(received, sent);
    ASSERT_EQ(fi_trecv(world[1].ep, &after, 8, nullptr, FI_ADDR_UNSPEC, 2, 0, nullptr), 0);
    EXPECT_EQ(World::next(world[1].rx).err, 0);
  }
}

// [D159] A message is matched when a receive has it, and not when the peer's host holds it for one to come.
TEST(Completion, AMatchWaitsForTheReceive) {
  waits_for_a_receive(FI_MATCH_COMPLETE, {8, 30'000, 300'000});
  waits_for_a_receive(FI_MATCH_COMPLETE | FI_INJECT, {8});
}

// [D159] Matching may be the default, of an endpoint, an alias, or from now on: of tagged messages. What has no tag is
// delivered then, and memory is written.
TEST(Completion, AMatchByDefault) {
  World world;
  std::uint64_t value = 5;
  std::uint64_t found = 0;
  const std::uint64_t key = world.expose(&found, 8, 3);
  fid_ep* alias = nullptr;
  ASSERT_EQ(fi_ep_alias(world[0].ep, &alias, FI_TRANSMIT | FI_MATCH_COMPLETE), 0);
  std::uint64_t flags = FI_TRANSMIT | FI_MATCH_COMPLETE;
  ASSERT_EQ(fi_control(&world[1].ep->fid, FI_SETOPSFLAG, &flags), 0);
  for (auto [from, ep] : {std::pair{0UL, alias}, std::pair{1UL, world[1].ep}}) {
    const std::size_t to = 1 - from;
    ASSERT_EQ(fi_tsend(ep, &value, 8, nullptr, to, 1, as_context(1)), 0);
    ASSERT_EQ(fi_send(ep, &value, 8, nullptr, to, as_context(2)), 0);
    EXPECT_EQ(World::next(world[from].tx).op_context, as_context(2));
    ASSERT_EQ(fi_write(ep, &value, 8, nullptr, to, 0, key, as_context(3)), 0);
    EXPECT_EQ(World::next(world[from].tx).op_context, as_context(3));
    EXPECT_EQ(found, value++);
    for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(World::nothing(world[from].tx));
    std::uint64_t got = 0;
    ASSERT_EQ(fi_trecv(world[to].ep, &got, 8, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
    EXPECT_EQ(World::next(world[from].tx).op_context, as_context(1));
    EXPECT_EQ(World::next(world[to].rx).err, 0);
  }
  EXPECT_EQ(fi_close(&alias->fid), 0);
}

// [D159] It is delivered when the peer's host has it: a long one, whose bytes wait here, with its receive.
TEST(Completion, DeliveryNeedsNoReceive) {
  World world;
  for (const std::size_t size : {8UL, 30'000UL}) {
    auto sent = pattern(size);
    ASSERT_EQ(send_with(world, sent, 1, FI_DELIVERY_COMPLETE, as_context(1)), 0);
    const fi_cq_err_entry done = World::next(world[0].tx);
    EXPECT_EQ(done.err, 0) << size;
    EXPECT_EQ(done.op_context, as_context(1));
    std::vector<unsigned char> received(size);
    ASSERT_EQ(fi_trecv(world[1].ep, received.data(), size, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr),
              0);
    EXPECT_EQ(World::next(world[1].rx).len, size);
    EXPECT_EQ(received, sent);
    for (int i = 0; i < 1'000; ++i)
      ASSERT_TRUE(World::nothing(world[0].tx)) << "it is told of once";
  }
  waits_for_a_receive(FI_DELIVERY_COMPLETE, {300'000});
}

// Neither waits for anybody to read the receiver's queue, and with a receive posted both have it in its place.
TEST(Completion, DeliveryDoesNotWaitForTheReceiversProgram) {
  World world;
  for (const std::uint64_t flag : {FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE}) {
    for (const std::size_t size : {8UL, 300'000UL}) {
      auto sent = pattern(size);
      std::vector<unsigned char> received(size);
      ASSERT_EQ(
          fi_trecv(world[1].ep, received.data(), size, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
      ASSERT_EQ(send_with(world, sent, 1, flag, as_context(1)), 0);
      EXPECT_EQ(World::next(world[0].tx).op_context, as_context(1));
      EXPECT_EQ(received, sent);
    }
  }
}

// Transmitted is what the peer's host has, receive or not; it is then there for one.
TEST(Completion, TransmissionWaitsForNoReceive) {
  World world;
  auto sent = pattern(1'000);
  ASSERT_EQ(send_with(world, sent, 1, FI_TRANSMIT_COMPLETE, as_context(1)), 0);
  const fi_cq_err_entry done = World::next(world[0].tx);
  EXPECT_EQ(done.err, 0);
  EXPECT_EQ(done.op_context, as_context(1));
  EXPECT_EQ(done.flags, FI_SEND | FI_TAGGED);
  std::vector<unsigned char> received(1'000);
  ASSERT_EQ(fi_trecv(world[1].ep, received.data(), 1'000, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr),
            0);
  EXPECT_EQ(World::next(world[1].rx).err, 0);
  EXPECT_EQ(received, sent);
}

// Nothing is transmitted to who does not answer: such an operation does not complete well.
TEST(Completion, TransmissionNeedsAnAnswer) {
  World world;
  std::uint64_t value = 1;
  ASSERT_EQ(fi_inject(world[0].ep, &value, 8, 1), 0);  // they are connected
  ASSERT_EQ(fi_recv(world[1].ep, &value, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  World::next(world[1].rx);
  const World::Member gone = world[1];
  world.all.pop_back();
  auto sent = pattern(1'000);
  {
    const std::lock_guard silent(static_cast<Ep*>(gone.ep)->mutex);  // its keeper, too
    ASSERT_EQ(send_with(world, sent, 1, FI_TRANSMIT_COMPLETE, as_context(1)), 0);
    for (int i = 0; i < 2'000; ++i) ASSERT_TRUE(World::nothing(world[0].tx));
  }
  EXPECT_EQ(fi_close(&gone.ep->fid), 0);
  EXPECT_EQ(fi_close(&gone.tx->fid), 0);
  EXPECT_EQ(fi_close(&gone.rx->fid), 0);
  World::next(world[0].tx);  // acknowledged in the last moment, or an error
}

/// A third endpoint of a world, whose queues have another format.
struct WithFormat {
  WithFormat(World& world, fi_cq_format format) {
    EXPECT_EQ(fi_endpoint(world.domain, world.info, &ep, nullptr), 0);
    fi_cq_attr attr{};
    attr.format = format;
    EXPECT_EQ(fi_cq_open(world.domain, &attr, &cq, nullptr), 0);
    EXPECT_EQ(fi_ep_bind(ep, &world.av->fid, 0), 0);
    EXPECT_EQ(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
    EXPECT_EQ(fi_enable(ep), 0);
    char bytes[64];
    std::size_t size = sizeof bytes;
    EXPECT_EQ(fi_getname(&ep->fid, bytes, &size), 0);
    EXPECT_EQ(fi_av_insert(world.av, bytes, 1, &name, 0, nullptr), 1);
  }
  ~WithFormat() {
    EXPECT_EQ(fi_close(&ep->fid), 0);
    EXPECT_EQ(fi_close(&cq->fid), 0);
  }
  WithFormat(const WithFormat&) = delete;
  WithFormat& operator=(const WithFormat&) = delete;

  fid_ep* ep = nullptr;
  fid_cq* cq = nullptr;
  fi_addr_t name = FI_ADDR_NOTAVAIL;
};

struct FormatCase {
  fi_cq_format format;
  std::size_t size;
};

// Each format has entries of its own size, one right behind the other, with its fields and nothing of another's.
TEST(Completion, FormatsHaveTheirFields) {
  constexpr unsigned char kUntouched = 0xee;
  for (const auto& [format, size] : {FormatCase{FI_CQ_FORMAT_CONTEXT, sizeof(fi_cq_entry)},
                                     FormatCase{FI_CQ_FORMAT_MSG, sizeof(fi_cq_msg_entry)},
                                     FormatCase{FI_CQ_FORMAT_DATA, sizeof(fi_cq_data_entry)},
                                     FormatCase{FI_CQ_FORMAT_TAGGED, sizeof(fi_cq_tagged_entry)}}) {
    World world(1);
    WithFormat other(world, format);
    std::array<std::array<char, 16>, 2> to{};
    for (std::uint64_t i = 0; i < 2; ++i)
      ASSERT_EQ(fi_trecv(other.ep, to[i].data(), 16, nullptr, FI_ADDR_UNSPEC, 70 + i, 0,
                         as_context(10 + i)),
                0);
    for (std::uint64_t i = 0; i < 2; ++i)
      ASSERT_EQ(fi_tinjectdata(world[0].ep, "abcdef", 3 + i, 90 + i, other.name, 70 + i), 0);
    std::array<unsigned char, 3 * sizeof(fi_cq_tagged_entry)> raw;
    raw.fill(kUntouched);
    std::size_t count = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (count < 2 && std::chrono::steady_clock::now() < end) {
      const ssize_t got = fi_cq_read(other.cq, raw.data() + count * size, 2 - count);
      ASSERT_TRUE(got > 0 || got == -FI_EAGAIN) << got;
      if (got > 0) count += static_cast<std::size_t>(got);
    }
    ASSERT_EQ(count, 2u);
    EXPECT_EQ(raw[2 * size], kUntouched) << "format " << format << ": nothing beyond its entries";
    for (std::uint64_t i = 0; i < 2; ++i) {
      fi_cq_tagged_entry entry{};  // the others are its beginning
      std::memcpy(&entry, raw.data() + i * size, size);
      EXPECT_EQ(entry.op_context, as_context(10 + i));
      if (format == FI_CQ_FORMAT_CONTEXT) continue;
      EXPECT_EQ(entry.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
      EXPECT_EQ(entry.len, 3 + i);
      if (format == FI_CQ_FORMAT_MSG) continue;
      EXPECT_EQ(entry.data, 90 + i);
      if (format == FI_CQ_FORMAT_DATA) continue;
      EXPECT_EQ(entry.tag, 70 + i);
    }
    EXPECT_EQ(std::string(to[0].data()), "abc");
    EXPECT_EQ(std::string(to[1].data()), "abcd");
  }
}

udp::ConnectionStatistics only_connection(fid_ep* ep) {
  auto& one = *static_cast<Ep*>(ep);
  const std::lock_guard lock(one.mutex);
  udp::Endpoint& endpoint = one.rdm->endpoint();
  std::array<udp::ConnectionId, 2> ids{};
  EXPECT_EQ(endpoint.connections(ids), 1u);
  return endpoint.statistics(ids[0]).value();
}

// A small message is one packet, and a packet that fits the MTU is one datagram: the sender's counters say how many went.
TEST(Completion, SmallMessagesTakeOneDatagram) {
  World world;
  std::array<unsigned char, 8'192> bytes{};
  const auto exchange = [&](std::size_t size) {
    ASSERT_EQ(
        fi_trecv(world[1].ep, bytes.data(), bytes.size(), nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr),
        0);
    const auto sent = pattern(size);
    ASSERT_EQ(fi_tsend(world[0].ep, sent.data(), size, nullptr, 1, 1, nullptr), 0);
    EXPECT_EQ(World::next(world[0].tx).err, 0);
    EXPECT_EQ(World::next(world[1].rx).len, size);
    EXPECT_TRUE(
        std::equal(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(size), bytes.begin()));
  };
  for (int i = 0; i < 20; ++i) exchange(4'096);  // until datagrams have found their size
  constexpr std::uint64_t kTimes = 50;
  for (const std::size_t size : {0UL, 8UL, 64UL, 4'096UL, 8'000UL}) {
    const udp::ConnectionStatistics before = only_connection(world[0].ep);
    const udp::ConnectionStatistics there = only_connection(world[1].ep);
    for (std::uint64_t i = 0; i < kTimes; ++i) exchange(size);
    const udp::ConnectionStatistics after = only_connection(world[0].ep);
    EXPECT_GT(after.datagram_bytes, size);
    const std::uint64_t again = after.retransmissions - before.retransmissions;
    EXPECT_EQ(after.data_packets_sent - before.data_packets_sent - again, kTimes) << size;
    EXPECT_EQ(only_connection(world[1].ep).data_packets_received - there.data_packets_received,
              kTimes)
        << size;
  }
}

}  // namespace
}  // namespace strack::fabric
