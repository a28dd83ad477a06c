// Every form of an operation does what the plain one does.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace strack::fabric {
namespace {

using Pair = std::array<std::int64_t, 2>;

struct Variants : testing::Test {
  World world;
  Pair there{5, -1};
  std::uint64_t key = world.expose(there.data(), sizeof there, 1);
  Pair operand{3, 4};
  Pair compare{5, 9};
  Pair result{};

  /// Until what is read there is `wanted`: for operations that tell nobody of their end.
  bool becomes(const Pair& wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    Pair found{};
    while (found != wanted && std::chrono::steady_clock::now() < end) {
      EXPECT_EQ(fi_fetch_atomic(world[0].ep, nullptr, 2, nullptr, found.data(), nullptr, 1, 0, key,
                                FI_INT64, FI_ATOMIC_READ, nullptr),
                0);
      EXPECT_EQ(World::next(world[0].tx).err, 0);
    }
    return found == wanted;
  }
  void well(std::uint64_t flags, std::uint64_t context) {
    const fi_cq_err_entry got = World::next(world[0].tx);
    EXPECT_EQ(got.err, 0);
    EXPECT_EQ(got.flags, flags);
    EXPECT_EQ(got.op_context, as_context(context));
  }
};

TEST_F(Variants, Messages) {
  std::array<char, 8> left{};
  std::array<char, 8> right{};
  const iovec to[2] = {{left.data(), 2}, {right.data(), 8}};
  const iovec from[2] = {{const_cast<char*>("abc"), 3}, {const_cast<char*>("de"), 2}};
  const auto arrived = [&](std::uint64_t flags, std::uint64_t context) {
    const fi_cq_err_entry got = World::next(world[1].rx);
    EXPECT_EQ(got.err, 0);
    EXPECT_EQ(got.flags, flags);
    EXPECT_EQ(got.len, 5u);
    EXPECT_EQ(got.op_context, as_context(context));
    EXPECT_EQ(std::string(left.data()) + right.data(), "abcde");
    left.fill(0);
    right.fill(0);
  };
  fi_msg message{};
  message.iov_count = 2;
  message.addr = FI_ADDR_UNSPEC;
  message.msg_iov = to;
  message.context = as_context(1);
  ASSERT_EQ(fi_recvmsg(world[1].ep, &message, FI_COMPLETION), 0);
  message.msg_iov = from;
  message.addr = 1;
  message.data = 44;
  message.context = as_context(2);
  ASSERT_EQ(fi_sendmsg(world[0].ep, &message, FI_COMPLETION | FI_REMOTE_CQ_DATA), 0);
  well(FI_SEND | FI_MSG, 2);
  arrived(FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA, 1);
  // Whether its bytes may change at once.
  ASSERT_EQ(fi_recvv(world[1].ep, to, nullptr, 2, FI_ADDR_UNSPEC, as_context(3)), 0);
  ASSERT_EQ(fi_sendmsg(world[0].ep, &message, FI_COMPLETION | FI_INJECT), 0);
  well(FI_SEND | FI_MSG, 2);
  arrived(FI_RECV | FI_MSG, 3);
  ASSERT_EQ(fi_recvv(world[1].ep, to, nullptr, 2, FI_ADDR_UNSPEC, as_context(4)), 0);
  ASSERT_EQ(fi_injectdata(world[0].ep, "abcde", 5, 45, 1), 0);
  arrived(FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA, 4);

  fi_msg_tagged tagged{};
  tagged.iov_count = 2;
  tagged.addr = FI_ADDR_UNSPEC;
  tagged.msg_iov = to;
  tagged.tag = 0x70;
  tagged.ignore = 0xf;
  tagged.context = as_context(5);
  ASSERT_EQ(fi_trecvmsg(world[1].ep, &tagged, FI_COMPLETION), 0);
  tagged.msg_iov = from;
  tagged.addr = 1;
  tagged.tag = 0x7b;
  tagged.context = as_context(6);
  ASSERT_EQ(fi_tsendmsg(world[0].ep, &tagged, FI_COMPLETION), 0);
  well(FI_SEND | FI_TAGGED, 6);
  arrived(FI_RECV | FI_TAGGED, 5);
  ASSERT_EQ(fi_trecvv(world[1].ep, to, nullptr, 2, FI_ADDR_UNSPEC, 8, 0, as_context(7)), 0);
  ASSERT_EQ(fi_tsendv(world[0].ep, from, nullptr, 2, 1, 8, as_context(8)), 0);
  well(FI_SEND | FI_TAGGED, 8);
  arrived(FI_RECV | FI_TAGGED, 7);
  ASSERT_EQ(fi_trecvv(world[1].ep, to, nullptr, 2, FI_ADDR_UNSPEC, 8, 0, as_context(9)), 0);
  ASSERT_EQ(fi_tsenddata(world[0].ep, "abcde", 5, nullptr, 46, 1, 8, as_context(10)), 0);
  well(FI_SEND | FI_TAGGED, 10);
  arrived(FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA, 9);
}

// Nothing is a message too, by every form of a send; neither bytes nor pieces nor a context need be there.
TEST_F(Variants, EmptyOnes) {
  fid_ep* const from = world[0].ep;
  const iovec none[2] = {{nullptr, 0}, {nullptr, 0}};
  fi_msg plain{};
  plain.addr = 1;
  fi_msg_tagged tagged{};
  tagged.addr = 1;
  tagged.tag = 5;
  const std::array<std::function<ssize_t()>, 9> sends{
      [&] { return fi_send(from, nullptr, 0, nullptr, 1, nullptr); },
      [&] { return fi_sendv(from, nullptr, nullptr, 0, 1, nullptr); },
      [&] { return fi_sendv(from, none, nullptr, 2, 1, nullptr); },
      [&] { return fi_sendmsg(from, &plain, FI_COMPLETION); },
      [&] { return fi_inject(from, nullptr, 0, 1); },
      [&] { return fi_tsend(from, nullptr, 0, nullptr, 1, 5, nullptr); },
      [&] { return fi_tsendv(from, nullptr, nullptr, 0, 1, 5, nullptr); },
      [&] { return fi_tsendmsg(from, &tagged, FI_COMPLETION | FI_DELIVERY_COMPLETE); },
      [&] { return fi_tinject(from, nullptr, 0, 1, 5); }};
  for (std::size_t i = 0; i < sends.size(); ++i) {
    // By turns it is waited for, and comes unexpected.
    const bool early = i % 2 == 0;
    const auto receive = [&] {
      return i < 5 ? fi_recvv(world[1].ep, nullptr, nullptr, 0, FI_ADDR_UNSPEC, nullptr)
                   : fi_trecv(world[1].ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, 5, 0, nullptr);
    };
    if (early) {
      ASSERT_EQ(receive(), 0) << i;
    }
    ASSERT_EQ(sends[i](), 0) << i;
    const bool injected = i == 4 || i == 8;
    // A delivery is complete when its receive is there.
    if (!early) {
      ASSERT_EQ(receive(), 0) << i;
    }
    if (!injected) {
      EXPECT_EQ(World::next(world[0].tx).err, 0) << i;
    }
    const fi_cq_err_entry got = World::next(world[1].rx);
    EXPECT_EQ(got.err, 0) << i;
    EXPECT_EQ(got.len, 0u) << i;
    EXPECT_EQ(got.op_context, nullptr) << i;
  }
  ASSERT_EQ(fi_write(from, nullptr, 0, nullptr, 1, 0, key, nullptr), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  ASSERT_EQ(fi_read(from, nullptr, 0, nullptr, 1, sizeof there, key, nullptr), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_EQ(there, (Pair{5, -1}));
}

TEST_F(Variants, ReadsAndWrites) {
  Pair from{11, 12};
  const iovec pieces[2] = {{&from[0], 8}, {&from[1], 8}};
  const fi_rma_iov where[2] = {{8, 8, key}, {0, 8, key}};
  fi_msg_rma message{};
  message.msg_iov = pieces;
  message.iov_count = 2;
  message.addr = 1;
  message.rma_iov = where;
  message.rma_iov_count = 2;
  message.context = as_context(1);
  ASSERT_EQ(fi_writemsg(world[0].ep, &message, FI_COMPLETION), 0);
  well(FI_RMA | FI_WRITE, 1);
  EXPECT_EQ(there, (Pair{12, 11})) << "the first piece went to the second place";
  from = {};
  message.context = as_context(2);
  ASSERT_EQ(fi_readmsg(world[0].ep, &message, FI_COMPLETION), 0);
  well(FI_RMA | FI_READ, 2);
  EXPECT_EQ(from, (Pair{11, 12}));
  from = {21, 22};
  ASSERT_EQ(fi_writev(world[0].ep, pieces, nullptr, 2, 1, 0, key, as_context(3)), 0);
  well(FI_RMA | FI_WRITE, 3);
  EXPECT_EQ(there, (Pair{21, 22}));
  // With immediate data in a message's form.
  from = {31, 32};
  message.data = 66;
  message.context = as_context(4);
  ASSERT_EQ(fi_writemsg(world[0].ep, &message, FI_COMPLETION | FI_REMOTE_CQ_DATA), 0);
  well(FI_RMA | FI_WRITE, 4);
  EXPECT_EQ(World::next(world[1].rx).data, 66u);
  EXPECT_EQ(there, (Pair{32, 31}));
  from = {41, 42};
  ASSERT_EQ(fi_inject_writedata(world[0].ep, from.data(), 16, 67, 1, 0, key), 0);
  from = {};  // it was copied
  const fi_cq_err_entry got = World::next(world[1].rx);
  EXPECT_EQ(got.data, 67u);
  EXPECT_EQ(got.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
  EXPECT_EQ(there, (Pair{41, 42}));
  from = {51, 52};
  ASSERT_EQ(fi_inject_write(world[0].ep, from.data(), 16, 1, 0, key), 0);
  from = {};
  EXPECT_TRUE(becomes({51, 52}));
  EXPECT_TRUE(World::nothing(world[0].tx)) << "injected writes are not reported";
}

TEST_F(Variants, Atomics) {
  const fi_ioc pieces[2] = {{&operand[0], 1}, {&operand[1], 1}};
  fi_ioc results[2] = {{&result[1], 1}, {&result[0], 1}};
  const fi_ioc compares[2] = {{&compare[0], 1}, {&compare[1], 1}};
  ASSERT_EQ(fi_inject_atomic(world[0].ep, operand.data(), 2, 1, 0, key, FI_INT64, FI_SUM), 0);
  operand = {100, 100};  // it was copied
  EXPECT_TRUE(becomes({8, 3}));
  EXPECT_TRUE(World::nothing(world[0].tx)) << "injected ones are not reported";
  operand = {1, 2};
  ASSERT_EQ(fi_atomicv(world[0].ep, pieces, nullptr, 2, 1, 0, key, FI_INT64, FI_SUM, as_context(1)),
            0);
  well(FI_ATOMIC | FI_WRITE, 1);
  EXPECT_EQ(there, (Pair{9, 5}));
  ASSERT_EQ(fi_fetch_atomicv(world[0].ep, pieces, nullptr, 2, results, nullptr, 2, 1, 0, key,
                             FI_INT64, FI_PROD, as_context(2)),
            0);
  well(FI_ATOMIC | FI_READ, 2);
  EXPECT_EQ(result, (Pair{5, 9})) << "what was there, in pieces";
  EXPECT_EQ(there, (Pair{9, 10}));
  compare = {9, 11};
  ASSERT_EQ(fi_compare_atomicv(world[0].ep, pieces, nullptr, 2, compares, nullptr, 2, results,
                               nullptr, 2, 1, 0, key, FI_INT64, FI_CSWAP, as_context(3)),
            0);
  well(FI_ATOMIC | FI_READ, 3);
  EXPECT_EQ(result, (Pair{10, 9}));
  EXPECT_EQ(there, (Pair{1, 10})) << "9 was there, and 11 was not";
}

TEST_F(Variants, AtomicsAsMessages) {
  const fi_ioc pieces[1] = {{operand.data(), 2}};
  fi_ioc results[1] = {{result.data(), 2}};
  const fi_ioc compares[1] = {{compare.data(), 2}};
  const fi_rma_ioc where[1] = {{0, 2, key}};
  fi_msg_atomic message{};
  message.msg_iov = pieces;
  message.iov_count = 1;
  message.addr = 1;
  message.rma_iov = where;
  message.rma_iov_count = 1;
  message.datatype = FI_INT64;
  message.op = FI_MAX;
  message.context = as_context(1);
  ASSERT_EQ(fi_atomicmsg(world[0].ep, &message, FI_COMPLETION), 0);
  well(FI_ATOMIC | FI_WRITE, 1);
  EXPECT_EQ(there, (Pair{5, 4}));
  message.op = FI_BXOR;
  message.context = as_context(2);
  ASSERT_EQ(fi_fetch_atomicmsg(world[0].ep, &message, results, nullptr, 1, FI_COMPLETION), 0);
  well(FI_ATOMIC | FI_READ, 2);
  EXPECT_EQ(result, (Pair{5, 4}));
  EXPECT_EQ(there, (Pair{5 ^ 3, 4 ^ 4}));
  message.op = FI_CSWAP;
  message.context = as_context(3);
  compare = {6, 1};
  ASSERT_EQ(fi_compare_atomicmsg(world[0].ep, &message, compares, nullptr, 1, results, nullptr, 1,
                                 FI_COMPLETION),
            0);
  well(FI_ATOMIC | FI_READ, 3);
  EXPECT_EQ(result, (Pair{6, 0}));
  EXPECT_EQ(there, (Pair{3, 0}));
}

// Counts and lengths that no memory has are refused, also where bytes or sums of them would come round to few.
TEST_F(Variants, LengthsThatNoMemoryHas) {
  constexpr std::size_t kRound = (std::size_t{1} << 61) + 1;  // values of 8 bytes: 8 bytes
  fid_ep* const ep = world[0].ep;
  void* const some = operand.data();
  const auto refused = static_cast<ssize_t>(-FI_EMSGSIZE);
  EXPECT_EQ(fi_atomic(ep, some, kRound, nullptr, 1, 0, key, FI_INT64, FI_SUM, nullptr), refused);
  EXPECT_EQ(fi_inject_atomic(ep, some, kRound, 1, 0, key, FI_INT64, FI_SUM), refused);
  EXPECT_EQ(fi_fetch_atomic(ep, some, kRound, nullptr, some, nullptr, 1, 0, key, FI_INT64, FI_SUM,
                            nullptr),
            refused);
  EXPECT_EQ(fi_fetch_atomic(ep, some, kRound, nullptr, some, nullptr, 1, 0, key, FI_INT64,
                            FI_ATOMIC_READ, nullptr),
            refused);
  EXPECT_EQ(fi_compare_atomic(ep, some, kRound, nullptr, some, nullptr, some, nullptr, 1, 0, key,
                              FI_INT64, FI_CSWAP, nullptr),
            refused);
  const iovec two[2] = {{some, ~std::size_t{0}}, {some, 9}};  // 8 bytes
  EXPECT_EQ(fi_sendv(ep, two, nullptr, 2, 1, nullptr), refused);
  EXPECT_EQ(fi_writev(ep, two, nullptr, 2, 1, 0, key, nullptr), refused);
  EXPECT_EQ(fi_readv(ep, two, nullptr, 2, 1, 0, key, nullptr), refused);
  EXPECT_TRUE(World::nothing(world[0].tx));
}

/// What getinfo says to hints with one thing changed.
template <class Change>
int asked(Change change) {
  fi_info* hints = fi_allocinfo();
  change(*hints);
  fi_info* info = nullptr;
  const int error = provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info);
  fi_freeinfo(hints);
  if (error == 0) fi_freeinfo(info);
  return error;
}

// What is long goes from pieces here into segments there and back, cut at other places, and leaves what lies between.
TEST(LongMemory, InPiecesAtBothSides) {
  constexpr std::size_t kBytes = 300'000;
  constexpr std::size_t kGap = 1'000;
  std::vector<unsigned char> there(kBytes + kGap, 0xee);
  World world;  // the memory outlives its region, which the last of a read may be sent from again
  const std::uint64_t key = world.expose(there.data(), there.size(), 1);
  auto sent = pattern(kBytes);
  std::vector<unsigned char> got(kBytes);
  const fi_rma_iov where[2] = {{0, 70'000, key}, {70'000 + kGap, kBytes - 70'000, key}};
  const auto pieces_of = [](std::vector<unsigned char>& all) {
    unsigned char* at = all.data();
    return std::array<iovec, 3>{
        {{at, 100'001}, {at + 100'001, 99'999}, {at + 200'000, kBytes - 200'000}}};
  };
  fi_msg_rma message{};
  message.iov_count = 3;
  message.rma_iov = where;
  message.rma_iov_count = 2;
  message.addr = 1;
  const std::array<iovec, 3> from = pieces_of(sent);
  message.msg_iov = from.data();
  ASSERT_EQ(fi_writemsg(world[0].ep, &message, FI_COMPLETION), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + 70'000, there.begin()));
  EXPECT_TRUE(std::equal(sent.begin() + 70'000, sent.end(), there.begin() + 70'000 + kGap));
  EXPECT_EQ(std::count(there.begin() + 70'000, there.begin() + 70'000 + kGap, 0xee),
            static_cast<std::ptrdiff_t>(kGap));
  const std::array<iovec, 3> to = pieces_of(got);
  message.msg_iov = to.data();
  ASSERT_EQ(fi_readmsg(world[0].ep, &message, FI_COMPLETION), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_EQ(got, sent);
}

// How a domain is used has a few values: these, and no others.
TEST(Hints, ValuesThatDoNotExistAreRefused) {
  const auto expect = [](auto fi_domain_attr::*field, int last) {
    using Value = std::remove_reference_t<decltype(fi_domain_attr{}.*field)>;
    for (int value = 0; value <= last; ++value)
      EXPECT_EQ(asked([&](fi_info& h) { h.domain_attr->*field = static_cast<Value>(value); }), 0);
    for (const int value : {last + 1, 7, -1})
      EXPECT_EQ(asked([&](fi_info& h) { std::memcpy(&(h.domain_attr->*field), &value, 4); }),
                -FI_ENODATA)
          << value;
  };
  expect(&fi_domain_attr::threading, FI_THREAD_ENDPOINT);
  expect(&fi_domain_attr::control_progress, FI_PROGRESS_MANUAL);
  expect(&fi_domain_attr::data_progress, FI_PROGRESS_MANUAL);
  expect(&fi_domain_attr::resource_mgmt, FI_RM_ENABLED);
  expect(&fi_domain_attr::av_type, FI_AV_TABLE);
}

// Bit by bit: what is offered is given, and nothing else is.
TEST(Hints, EveryBitThatIsNotOfferedIsRefused) {
  fi_info* offered = nullptr;
  ASSERT_EQ(provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &offered), 0);
  EXPECT_EQ(offered->tx_attr->msg_order, FI_ORDER_SAS);
  EXPECT_EQ(offered->tx_attr->comp_order, FI_ORDER_NONE);
  for (const std::uint64_t missing :
       {FI_MULTICAST, FI_COLLECTIVE, FI_HMEM, FI_NAMED_RX_CTX, FI_FENCE})
    EXPECT_EQ(offered->caps & missing, 0u) << missing;
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    const auto expect = [&](std::uint64_t all, auto change, const char* what) {
      EXPECT_EQ(asked(change), (all & bit) != 0 ? 0 : -FI_ENODATA) << what << ", bit " << i;
    };
    expect(
        offered->caps, [&](fi_info& h) { h.caps = bit; }, "caps");
    expect(
        offered->caps, [&](fi_info& h) { h.tx_attr->caps = bit; }, "tx caps");
    expect(
        offered->caps, [&](fi_info& h) { h.rx_attr->caps = bit; }, "rx caps");
    expect(
        offered->domain_attr->caps, [&](fi_info& h) { h.domain_attr->caps = bit; }, "domain caps");
    expect(
        FI_ORDER_SAS, [&](fi_info& h) { h.tx_attr->msg_order = bit; }, "tx order");
    expect(
        FI_ORDER_SAS, [&](fi_info& h) { h.rx_attr->msg_order = bit; }, "rx order");
    expect(
        0, [&](fi_info& h) { h.tx_attr->comp_order = bit; }, "tx completion order");
    expect(
        0, [&](fi_info& h) { h.rx_attr->comp_order = bit; }, "rx completion order");
    expect(
        FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |
            FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_MORE,
        [&](fi_info& h) { h.tx_attr->op_flags = bit; }, "tx flags");
    expect(
        FI_COMPLETION | FI_MULTI_RECV | FI_MORE, [&](fi_info& h) { h.rx_attr->op_flags = bit; },
        "rx flags");
  }
  fi_freeinfo(offered);
}

}  // namespace
}  // namespace strack::fabric
