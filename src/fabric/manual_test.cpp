// What libfabric's manual asks of a provider, and few programs ever try: each by its page.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace strack::fabric {
namespace {

fi_msg message_for(const iovec& iov, fi_addr_t peer, void* context = nullptr) {
  fi_msg message{};
  message.msg_iov = &iov;
  message.iov_count = 1;
  message.addr = peer;
  message.context = context;
  return message;
}

/// An endpoint of the world's that nothing is bound to yet.
fid_ep* bare_endpoint(World& world) {
  fid_ep* ep = nullptr;
  EXPECT_EQ(fi_endpoint(world.domain, world.info, &ep, nullptr), 0);
  return ep;
}

// fi_cq: "A count value of 0 may be used to drive progress", whatever the queue holds.
TEST(CompletionQueue, AReadOfNothingMakesProgress) {
  World world;
  std::uint64_t value = 0;
  ASSERT_EQ(fi_send(world[0].ep, &value, 8, nullptr, 0, nullptr), 0);
  ASSERT_EQ(fi_recv(world[0].ep, &value, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  while (fi_cq_read(world[0].tx, nullptr, 0) == -FI_EAGAIN) {
  }
  const auto& ep = static_cast<Ep&>(*world[0].ep);
  const std::uint32_t before = ep.looked;
  EXPECT_EQ(fi_cq_read(world[0].tx, nullptr, 0), 0);
  EXPECT_NE(ep.looked, before);
}

// fi_cq: a condition of waiting is a hint. fi_domain: a queue may be waited at without an object.
TEST(CompletionQueue, ConditionsAndYields) {
  World world(1);
  for (const fi_wait_obj object : {FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_YIELD}) {
    fi_cq_attr attr{};
    attr.wait_obj = object;
    attr.wait_cond = FI_CQ_COND_THRESHOLD;
    fid_cq* cq = nullptr;
    ASSERT_EQ(fi_cq_open(world.domain, &attr, &cq, nullptr), 0) << object;
    EXPECT_EQ(fi_close(&cq->fid), 0);
  }
}

// fi_cq, fi_cntr, fi_eq: objects to wait at are a provider's choice. Those that this one does not have are refused everywhere.
TEST(CompletionQueue, ObjectsToWaitAtThatThereAreNot) {
  World world(1);
  for (const fi_wait_obj object : {FI_WAIT_SET, FI_WAIT_MUTEX_COND, FI_WAIT_POLLFD}) {
    fi_cq_attr cq_attr{};
    cq_attr.wait_obj = object;
    fid_cq* cq = nullptr;
    EXPECT_EQ(fi_cq_open(world.domain, &cq_attr, &cq, nullptr), -FI_ENOSYS) << object;
    fi_cntr_attr cntr_attr{};
    cntr_attr.wait_obj = object;
    fid_cntr* cntr = nullptr;
    EXPECT_EQ(fi_cntr_open(world.domain, &cntr_attr, &cntr, nullptr), -FI_ENOSYS) << object;
    fi_eq_attr eq_attr{};
    eq_attr.wait_obj = object;
    fid_eq* eq = nullptr;
    EXPECT_EQ(fi_eq_open(world.fabric, &eq_attr, &eq, nullptr), -FI_ENOSYS) << object;
  }
}

// fi_cq, fi_av: flags and kinds that there are not, and sizes that no memory has, are refused.
TEST(CompletionQueue, AttributesAreChecked) {
  World world(1);
  fid_cq* cq = nullptr;
  fi_cq_attr attr{};
  attr.flags = 1ULL << 61;
  EXPECT_EQ(fi_cq_open(world.domain, &attr, &cq, nullptr), -FI_EBADFLAGS);
  attr.flags = 0;
  attr.size = std::size_t{1} << 62;
  EXPECT_EQ(fi_cq_open(world.domain, &attr, &cq, nullptr), -FI_ENOMEM);
  attr.size = 100;
  attr.flags = FI_AFFINITY;
  ASSERT_EQ(fi_cq_open(world.domain, &attr, &cq, nullptr), 0);
  EXPECT_EQ(fi_close(&cq->fid), 0);
  fid_av* av = nullptr;
  fi_av_attr av_attr{};
  const unsigned unknown = 99;
  std::memcpy(&av_attr.type, &unknown, sizeof unknown);
  EXPECT_EQ(fi_av_open(world.domain, &av_attr, &av, nullptr), -FI_EINVAL);
  av_attr.type = FI_AV_MAP;
  av_attr.count = std::size_t{1} << 60;
  EXPECT_EQ(fi_av_open(world.domain, &av_attr, &av, nullptr), -FI_ENOMEM);
  av_attr.count = 1'000'000;
  ASSERT_EQ(fi_av_open(world.domain, &av_attr, &av, nullptr), 0);
  EXPECT_EQ(fi_close(&av->fid), 0);
}

// fi_getinfo: a port that there is not names none, and nothing is sent from an address of another host.
TEST(Hints, NamesAreChecked) {
  const auto asked = [](const char* node, const char* service, std::uint64_t flags) {
    fi_info* info = nullptr;
    const int error = provider().getinfo(FI_VERSION(1, 17), node, service, flags, nullptr, &info);
    if (error == 0) fi_freeinfo(info);
    return error;
  };
  EXPECT_EQ(asked("127.0.0.1", "65535", 0), 0);
  EXPECT_EQ(asked("127.0.0.1", "65536", 0), -FI_ENODATA);
  EXPECT_EQ(asked("127.0.0.1", "99999", FI_SOURCE), -FI_ENODATA);
  EXPECT_EQ(asked("127.0.0.1", "99999999999999999999", 0), -FI_ENODATA);
  EXPECT_EQ(asked("8.8.8.8", "5000", 0), 0);
  EXPECT_EQ(asked("8.8.8.8", "5000", FI_SOURCE), -FI_ENODATA);
  World world(1);
  fi_addr_t name = 0;
  EXPECT_EQ(fi_av_insertsvc(world.av, "127.0.0.1", "99999", &name, 0, nullptr), 0);
  EXPECT_EQ(name, FI_ADDR_NOTAVAIL);
}

// fi_endpoint: classes of traffic are libfabric's own, or codes of six bits.
TEST(Hints, ClassesOfTrafficAreKnown) {
  const auto asked = [](std::uint32_t tclass, bool of_domain) {
    fi_info* hints = fi_allocinfo();
    (of_domain ? hints->domain_attr->tclass : hints->tx_attr->tclass) = tclass;
    fi_info* info = nullptr;
    const int error = provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info);
    fi_freeinfo(hints);
    fi_freeinfo(info);
    return error;
  };
  for (const bool of_domain : {false, true}) {
    for (const std::uint32_t known : {std::uint32_t{FI_TC_UNSPEC}, std::uint32_t{FI_TC_BULK_DATA},
                                      std::uint32_t{FI_TC_NETWORK_CTRL}, fi_tc_dscp_set(46)})
      EXPECT_EQ(asked(known, of_domain), 0) << known;
    for (const std::uint32_t unknown : {4444U, 1U, 0x140U, FI_TC_NETWORK_CTRL + 1U})
      EXPECT_EQ(asked(unknown, of_domain), -FI_ENODATA) << unknown;
  }
}

// fi_cq: entries of programs for 1.4 and older end before `err_data_size`.
TEST(CompletionQueue, OldProgramsHaveShorterErrors) {
  World world(1);
  for (const std::uint32_t minor : {4U, 5U}) {
    world.fabric->api_version = FI_VERSION(1U, minor);
    Cq::Entry failed;
    failed.entry.op_context = &world;
    failed.entry.err = FI_EIO;
    static_cast<Cq&>(*world[0].rx).push(failed);
    fi_cq_err_entry error{};
    error.err_data = &world;
    error.err_data_size = 77;
    ASSERT_EQ(fi_cq_readerr(world[0].rx, &error, 0), 1);
    EXPECT_EQ(error.op_context, &world);
    EXPECT_EQ(error.err, FI_EIO);
    EXPECT_EQ(error.err_data, &world) << "the program's own";
    EXPECT_EQ(error.err_data_size, minor == 4 ? 77u : 0u);
  }
}

// fi_poll: whoever can be waited at says what it is waited at by.
TEST(WaitObject, HasAKind) {
  World world(1);
  fid_eq* eq = nullptr;
  fi_eq_attr eq_attr{};
  eq_attr.wait_obj = FI_WAIT_FD;
  ASSERT_EQ(fi_eq_open(world.fabric, &eq_attr, &eq, nullptr), 0);
  fid_cntr* cntr = nullptr;
  fi_cntr_attr cntr_attr{};
  cntr_attr.flags = 1;
  EXPECT_EQ(fi_cntr_open(world.domain, &cntr_attr, &cntr, nullptr), -FI_EBADFLAGS);
  cntr_attr.flags = 0;
  ASSERT_EQ(fi_cntr_open(world.domain, &cntr_attr, &cntr, nullptr), 0);
  for (fid* one : {&eq->fid, &cntr->fid, &world[0].rx->fid}) {
    fi_wait_obj kind = FI_WAIT_NONE;
    EXPECT_EQ(fi_control(one, FI_GETWAITOBJ, &kind), 0);
    EXPECT_EQ(kind, FI_WAIT_FD);
    int fd = -1;
    EXPECT_EQ(fi_control(one, FI_GETWAIT, &fd), 0);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(fi_control(one, FI_BACKLOG, &fd), -FI_ENOSYS);
  }
  EXPECT_EQ(fi_close(&eq->fid), 0);
  EXPECT_EQ(fi_close(&cntr->fid), 0);
}

// fi_poll: a counter is named for its errors, too; members stay while the set looks at them.
TEST(PollSet, CountersHaveErrors) {
  World world(1);
  fid_cntr* cntr = nullptr;
  fi_cntr_attr cntr_attr{};
  ASSERT_EQ(fi_cntr_open(world.domain, &cntr_attr, &cntr, &world), 0);
  fid_poll* set = nullptr;
  fi_poll_attr attr{};
  ASSERT_EQ(fi_poll_open(world.domain, &attr, &set), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fi_poll_add(set, &cntr->fid, 0), 0);
  std::array<void*, 2> who{};
  EXPECT_EQ(fi_poll(set, who.data(), 2), 0);
  fi_cntr_adderr(cntr, 1);
  EXPECT_EQ(fi_poll(set, who.data(), 2), 1) << "once, however often it was added";
  EXPECT_EQ(who[0], &world);
  EXPECT_EQ(fi_poll(set, who.data(), 2), 0);
  EXPECT_EQ(fi_close(&cntr->fid), -FI_EBUSY);
  EXPECT_EQ(fi_poll_del(set, &cntr->fid, 0), 0);
  EXPECT_EQ(fi_poll_add(set, &cntr->fid, 0), 0);
  EXPECT_EQ(fi_close(&set->fid), 0);
  EXPECT_EQ(fi_close(&cntr->fid), 0);
}

// fi_msg: "an entry will always be generated when the buffer has been consumed", also where others are suppressed.
TEST(SeveralMessages, TheLastIsAlwaysTold) {
  World world(2, 0, FI_SELECTIVE_COMPLETION);
  std::array<char, 200> buffer{};
  const iovec to{buffer.data(), buffer.size()};
  const fi_msg message = message_for(to, FI_ADDR_UNSPEC, as_context(4));
  ASSERT_EQ(fi_recvmsg(world[1].ep, &message, FI_MULTI_RECV), 0);
  const auto sent = pattern(80);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(fi_inject(world[0].ep, sent.data(), sent.size(), 1), 0);
  const fi_cq_err_entry got = World::next(world[1].rx);
  EXPECT_EQ(got.op_context, as_context(4));
  EXPECT_EQ(got.flags, FI_RECV | FI_MSG | FI_MULTI_RECV);
  EXPECT_EQ(got.buf, buffer.data() + 80);
  EXPECT_TRUE(World::nothing(world[1].rx));
}

// fi_msg: a buffer for several is a single one; a claimed message is one.
TEST(SeveralMessages, NeedOneBuffer) {
  World world(2);
  std::array<char, 200> buffer{};
  const std::array<iovec, 2> two{{{buffer.data(), 100}, {buffer.data() + 100, 100}}};
  fi_msg message = message_for(two[0], FI_ADDR_UNSPEC);
  message.iov_count = 2;
  EXPECT_EQ(fi_recvmsg(world[1].ep, &message, FI_MULTI_RECV), -FI_EINVAL);
  message.iov_count = 1;
  EXPECT_EQ(fi_recvmsg(world[1].ep, &message, FI_MULTI_RECV | FI_CLAIM), -FI_EINVAL);
  // It goes back with its first message where every remainder is too small.
  const std::size_t least = ~std::size_t{0};
  ASSERT_EQ(fi_setopt(&world[1].ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, 8), 0);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(fi_send(world[0].ep, "ab", 2, nullptr, 1, nullptr), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(World::next(world[0].tx).err, 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(fi_recvmsg(world[1].ep, &message, FI_MULTI_RECV), 0);
    EXPECT_EQ(World::next(world[1].rx).flags, FI_RECV | FI_MSG | FI_MULTI_RECV);
  }
}

// fi_endpoint: a counter of receives counts what is received, and not that somebody looked for it.
TEST(Peek, CountsNothing) {
  World world(1);
  fid_cntr* cntr = nullptr;
  fi_cntr_attr attr{};
  ASSERT_EQ(fi_cntr_open(world.domain, &attr, &cntr, nullptr), 0);
  fid_ep* ep = bare_endpoint(world);
  ASSERT_EQ(fi_ep_bind(ep, &world.av->fid, 0), 0);
  ASSERT_EQ(fi_ep_bind(ep, &world[0].rx->fid, FI_RECV | FI_TRANSMIT), 0);
  ASSERT_EQ(fi_ep_bind(ep, &cntr->fid, FI_RECV), 0);
  ASSERT_EQ(fi_enable(ep), 0);
  std::array<char, 64> name{};
  std::size_t size = name.size();
  ASSERT_EQ(fi_getname(&ep->fid, name.data(), &size), 0);
  fi_addr_t there = FI_ADDR_NOTAVAIL;
  ASSERT_EQ(fi_av_insert(world.av, name.data(), 1, &there, 0, nullptr), 1);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(fi_tinject(world[0].ep, "abc", 3, there, 9), 0);
  fi_msg_tagged look{};
  look.addr = FI_ADDR_UNSPEC;
  look.tag = 9;
  look.context = as_context(1);
  const auto until_there = [&](std::uint64_t flags) {
    int error = FI_ENOMSG;
    while (error == FI_ENOMSG) {
      ASSERT_EQ(fi_trecvmsg(ep, &look, flags), 0);
      error = World::next(world[0].rx).err;
    }
    EXPECT_EQ(error, 0);
  };
  until_there(FI_PEEK | FI_DISCARD);
  until_there(FI_PEEK);
  until_there(FI_PEEK | FI_CLAIM);
  EXPECT_EQ(fi_trecvmsg(ep, &look, FI_PEEK | FI_CLAIM), -FI_EINVAL) << "it names another";
  EXPECT_EQ(fi_cntr_read(cntr), 0u);
  EXPECT_EQ(fi_cntr_readerr(cntr), 0u);
  std::array<char, 3> got{};
  const iovec to{got.data(), got.size()};
  look.msg_iov = &to;
  look.iov_count = 1;
  ASSERT_EQ(fi_trecvmsg(ep, &look, FI_CLAIM | FI_TRANSMIT_COMPLETE), 0);
  EXPECT_EQ(World::next(world[0].rx).len, 3u);
  EXPECT_EQ(fi_cntr_read(cntr), 1u);
  EXPECT_EQ(fi_close(&ep->fid), 0);
  EXPECT_EQ(fi_close(&cntr->fid), 0);
}

// fi_cq: what was to be delivered is not done before it is, also if its bytes were copied at once.
TEST(Delivery, OfInjectedOperations) {
  World world(1);
  fi_addr_t nobody = FI_ADDR_NOTAVAIL;
  fid_ep* ep = bare_endpoint(world);  // it is there, and nothing is registered
  std::array<char, 64> name{};
  std::size_t size = name.size();
  ASSERT_EQ(fi_getname(&ep->fid, name.data(), &size), 0);
  ASSERT_EQ(fi_ep_bind(ep, &world.av->fid, 0), 0);
  ASSERT_EQ(fi_ep_bind(ep, &world[0].rx->fid, FI_RECV | FI_TRANSMIT), 0);
  ASSERT_EQ(fi_enable(ep), 0);
  ASSERT_EQ(fi_av_insert(world.av, name.data(), 1, &nobody, 0, nullptr), 1);
  std::uint64_t value = 1;
  const iovec iov{&value, 8};
  const fi_rma_iov there{0, 8, 99};
  fi_msg_rma rma{};
  rma.msg_iov = &iov;
  rma.iov_count = rma.rma_iov_count = 1;
  rma.rma_iov = &there;
  rma.addr = nobody;
  ASSERT_EQ(fi_writemsg(world[0].ep, &rma, FI_INJECT | FI_DELIVERY_COMPLETE), 0);
  EXPECT_EQ(World::next(world[0].tx).err, FI_EACCES) << "it was never delivered";
  const fi_ioc ioc{&value, 1};
  const fi_rma_ioc target{0, 1, 99};
  fi_msg_atomic atomic{};
  atomic.msg_iov = &ioc;
  atomic.iov_count = atomic.rma_iov_count = 1;
  atomic.rma_iov = &target;
  atomic.addr = nobody;
  atomic.datatype = FI_UINT64;
  atomic.op = FI_SUM;
  ASSERT_EQ(fi_atomicmsg(world[0].ep, &atomic, FI_INJECT | FI_DELIVERY_COMPLETE), 0);
  EXPECT_EQ(World::next(world[0].tx).err, FI_EACCES);
  EXPECT_EQ(fi_close(&ep->fid), 0);
}

// fi_rma: a read takes no bytes from here, so that a default to inject has no bound for it.
TEST(Inject, ByDefaultLeavesReadsAlone) {
  std::vector<unsigned char> there = pattern(100'000);
  World world(
      2);  // the memory outlives its region, which the last of a read may be sent from again
  const std::uint64_t key = world.expose(there.data(), there.size(), 3);
  std::uint64_t flags = FI_TRANSMIT | FI_INJECT;
  ASSERT_EQ(fi_control(&world[0].ep->fid, FI_SETOPSFLAG, &flags), 0);
  std::vector<unsigned char> here(there.size());
  ASSERT_EQ(fi_read(world[0].ep, here.data(), here.size(), nullptr, 1, 0, key, nullptr), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_EQ(here, there);
  EXPECT_EQ(fi_write(world[0].ep, here.data(), here.size(), nullptr, 1, 0, key, nullptr),
            -FI_EMSGSIZE);
}

// fi_atomic: every operand, every value to compare with and every result has its value there; tagged receives are
// no memory; a domain is asked for one kind of atomics at a time.
TEST(Atomic, CountsAgree) {
  World world(2);
  std::array<std::uint64_t, 2> there{};
  std::array<std::uint64_t, 2> here{1, 1};
  const std::uint64_t key = world.expose(there.data(), 16, 3);
  fid_ep* const ep = world[0].ep;
  fi_ioc one{here.data(), 1};
  fi_ioc two{here.data(), 2};
  fi_rma_ioc target{0, 2, key};
  const auto with = [&](const fi_ioc& operands, fi_op op) {
    fi_msg_atomic message{};
    message.msg_iov = &operands;
    message.iov_count = message.rma_iov_count = 1;
    message.rma_iov = &target;
    message.addr = 1;
    message.datatype = FI_UINT64;
    message.op = op;
    return message;
  };
  const fi_msg_atomic few = with(one, FI_SUM);
  const fi_msg_atomic sum = with(two, FI_SUM);
  const fi_msg_atomic swap = with(two, FI_CSWAP);
  EXPECT_EQ(fi_atomicmsg(ep, &few, 0), -FI_EINVAL);
  EXPECT_EQ(fi_fetch_atomicmsg(ep, &few, &two, nullptr, 1, 0), -FI_EINVAL);
  EXPECT_EQ(fi_fetch_atomicmsg(ep, &sum, &one, nullptr, 1, 0), -FI_EINVAL);
  EXPECT_EQ(fi_fetch_atomicmsg(ep, &sum, nullptr, nullptr, 0, 0), -FI_EINVAL);
  EXPECT_EQ(fi_compare_atomicmsg(ep, &swap, &one, nullptr, 1, &two, nullptr, 1, 0), -FI_EINVAL);
  EXPECT_EQ(fi_compare_atomicmsg(ep, &swap, nullptr, nullptr, 0, &two, nullptr, 1, 0), -FI_EINVAL);
  EXPECT_EQ(fi_inject_atomic(ep, here.data(), 0, 1, 0, key, FI_UINT64, FI_SUM), -FI_EINVAL);
  EXPECT_EQ(fi_atomicmsg(ep, &sum, FI_TAGGED), -FI_EBADFLAGS);
  const iovec iov{here.data(), 16};
  const fi_rma_iov memory{0, 16, key};
  fi_msg_rma rma{};
  rma.msg_iov = &iov;
  rma.iov_count = rma.rma_iov_count = 1;
  rma.rma_iov = &memory;
  rma.addr = 1;
  EXPECT_EQ(fi_writemsg(ep, &rma, FI_TAGGED), -FI_EBADFLAGS);
  fi_atomic_attr attr{};
  EXPECT_EQ(fi_query_atomic(world.domain, FI_UINT64, FI_SUM, &attr, FI_TAGGED), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_query_atomic(world.domain, FI_UINT64, FI_CSWAP, &attr,
                            FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC),
            -FI_EBADFLAGS);
  EXPECT_EQ(fi_query_atomic(world.domain, FI_UINT64, FI_CSWAP, &attr, FI_COMPARE_ATOMIC), 0);
  EXPECT_EQ(attr.size, 8u);
  ASSERT_EQ(fi_atomicmsg(ep, &sum, 0), 0);
  EXPECT_EQ(World::next(world[0].tx).err, 0);
  EXPECT_EQ(there, (std::array<std::uint64_t, 2>{1, 1})) << "none of the others was done";
}

// fi_av: "An address is inserted at the lowest index that corresponds to an unused table location".
TEST(AddressVector, TheLowestFreeIndexIsNext) {
  World world(0);
  const auto address = [](std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    out.sin_addr.s_addr = htonl(0xc0000201);
    return out;
  };
  std::array<sockaddr_in, 5> all{};
  for (std::uint16_t i = 0; i < 5; ++i)
    all[i] = address(i == 3 ? 11 : 10 + i);  // one is there twice
  ASSERT_EQ(fi_av_insert(world.av, all.data(), 5, nullptr, 0, nullptr), 5);
  std::array<fi_addr_t, 3> gone{0, 1, 2};
  ASSERT_EQ(fi_av_remove(world.av, gone.data(), 3, 0), 0);
  auto& av = static_cast<Av&>(*world.av);
  udp::Address twice;
  ASSERT_TRUE(av.find(3, twice));
  EXPECT_EQ(av.name_of(twice), 3u) << "the other one is its name now";
  std::array<fi_addr_t, 4> names{};
  ASSERT_EQ(fi_av_insert(world.av, all.data(), 4, names.data(), 0, nullptr), 4);
  EXPECT_EQ(names, (std::array<fi_addr_t, 4>{0, 1, 2, 5}));
}

// fi_av: addresses are of the domain's format; a vector may be said to be symmetric, which is a hint.
TEST(AddressVector, AddressesAreOfTheDomainsFormat) {
  World v4(0);
  fi_info* hints = fi_allocinfo();
  hints->addr_format = FI_SOCKADDR_IN6;
  fi_info* info = nullptr;
  ASSERT_EQ(provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0);
  fi_freeinfo(hints);
  fid_domain* v6 = nullptr;
  ASSERT_EQ(fi_domain(v4.fabric, info, &v6, nullptr), 0);
  fi_av_attr attr{};
  attr.flags = FI_SYMMETRIC;
  fid_av* av = nullptr;
  ASSERT_EQ(fi_av_open(v6, &attr, &av, nullptr), 0);
  sockaddr_in six_bytes{};
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(7);
  address.sin6_addr = in6addr_loopback;
  EXPECT_EQ(fi_av_insert(v4.av, &address, 1, nullptr, 0, nullptr), 0);
  EXPECT_EQ(fi_av_insert(av, &address, 1, nullptr, 0, nullptr), 1);
  six_bytes.sin_family = AF_INET;
  six_bytes.sin_port = htons(7);
  six_bytes.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(fi_av_insert(av, &six_bytes, 1, nullptr, 0, nullptr), 0);
  fi_addr_t name = 99;
  EXPECT_EQ(fi_av_insertsvc(av, "::1", "4000", &name, 0, nullptr), 1);
  EXPECT_EQ(name, 1u);
  std::size_t size = sizeof address;
  EXPECT_EQ(fi_av_lookup(av, name, &address, &size), 0);
  EXPECT_EQ(address.sin6_port, htons(4'000));
  EXPECT_EQ(fi_close(&av->fid), 0);
  EXPECT_EQ(fi_close(&v6->fid), 0);
  fi_freeinfo(info);
}

// fi_endpoint: what is bound is bound before the endpoint is enabled, and is of its domain.
TEST(Endpoint, BindsWhatIsItsDomains) {
  World world(1);
  World other(1);
  fid_cntr* cntr = nullptr;
  fi_cntr_attr attr{};
  ASSERT_EQ(fi_cntr_open(other.domain, &attr, &cntr, nullptr), 0);
  fid_ep* ep = bare_endpoint(world);
  EXPECT_EQ(fi_ep_bind(ep, &other.av->fid, 0), -FI_EDOMAIN);
  EXPECT_EQ(fi_ep_bind(ep, &other[0].rx->fid, FI_RECV), -FI_EDOMAIN);
  EXPECT_EQ(fi_ep_bind(ep, &cntr->fid, FI_SEND), -FI_EDOMAIN);
  // For something, that is.
  EXPECT_EQ(fi_ep_bind(ep, &world[0].rx->fid, FI_SELECTIVE_COMPLETION), -FI_EBADFLAGS);
  fid_cntr* own = nullptr;
  ASSERT_EQ(fi_cntr_open(world.domain, &attr, &own, nullptr), 0);
  EXPECT_EQ(fi_ep_bind(ep, &own->fid, 0), -FI_EBADFLAGS);
  EXPECT_EQ(fi_close(&own->fid), 0);
  EXPECT_EQ(fi_close(&ep->fid), 0);
  EXPECT_EQ(fi_ep_bind(other[0].ep, &cntr->fid, FI_SEND), -FI_EOPBADSTATE);
  EXPECT_EQ(fi_close(&cntr->fid), 0);
}

// fi_mr: keys can be carried as bytes; nobody is led to think that an authorization key protects memory.
TEST(Memory, KeysAsBytes) {
  World world(1);
  std::uint64_t value = 0;
  world.expose(&value, 8, 0x1122'3344'5566'7788);
  std::array<std::uint8_t, 8> raw{};
  std::uint64_t base = 99;
  std::size_t size = 7;
  EXPECT_EQ(fi_mr_raw_attr(world.regions[0], &base, raw.data(), &size, 0), -FI_ETOOSMALL);
  EXPECT_EQ(size, 8u);
  ASSERT_EQ(fi_mr_raw_attr(world.regions[0], &base, raw.data(), &size, 0), 0);
  EXPECT_EQ(base, 0u);
  std::uint64_t key = 0;
  EXPECT_EQ(fi_mr_map_raw(world.domain, base, raw.data(), 7, &key, 0), -FI_EINVAL);
  ASSERT_EQ(fi_mr_map_raw(world.domain, base, raw.data(), size, &key, 0), 0);
  EXPECT_EQ(key, fi_mr_key(world.regions[0]));
  EXPECT_EQ(fi_mr_unmap_key(world.domain, key), 0);
  EXPECT_EQ(fi_mr_refresh(world.regions[0], nullptr, 0, 0), 0);
  const iovec iov{&value, 8};
  fi_mr_attr attr{};
  attr.mr_iov = &iov;
  attr.iov_count = 1;
  attr.access = FI_REMOTE_READ;
  attr.auth_key = raw.data();
  attr.auth_key_size = raw.size();
  fid_mr* region = nullptr;
  EXPECT_EQ(fi_mr_regattr(world.domain, &attr, 0, &region), -FI_EINVAL);
}

// fi_getinfo: both addresses are of the format that was asked for, and of one kind.
TEST(Hints, AddressesAreOfOneKind) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  v4.sin_port = htons(7);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  v6.sin6_port = htons(7);
  const auto asked = [](const auto* source, const auto* other, std::uint32_t format) {
    fi_info* hints = fi_allocinfo();
    const auto copy = [](const auto* from, void*& to, std::size_t& size) {
      if (from == nullptr) return;
      size = sizeof *from;
      to = std::malloc(size);
      std::memcpy(to, from, size);
    };
    copy(source, hints->src_addr, hints->src_addrlen);
    copy(other, hints->dest_addr, hints->dest_addrlen);
    hints->addr_format = format;
    fi_info* info = nullptr;
    const int error = provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info);
    fi_freeinfo(hints);
    const std::uint32_t got = error == 0 ? info->addr_format : std::uint32_t{FI_FORMAT_UNSPEC};
    fi_freeinfo(info);
    return got;  // unspecified: refused
  };
  const sockaddr_in* const none = nullptr;
  EXPECT_EQ(asked(none, &v4, FI_FORMAT_UNSPEC), FI_SOCKADDR_IN);
  EXPECT_EQ(asked(none, &v6, FI_FORMAT_UNSPEC), FI_SOCKADDR_IN6);
  EXPECT_EQ(asked(none, &v6, FI_SOCKADDR), FI_SOCKADDR_IN6);
  const bool has_v6 = bind_error(*udp::Address::parse("[::1]:0")) == 0;
  EXPECT_EQ(asked(&v6, &v6, FI_SOCKADDR_IN6), has_v6 ? FI_SOCKADDR_IN6 : FI_FORMAT_UNSPEC);
  EXPECT_EQ(asked(none, &v6, FI_SOCKADDR_IN), FI_FORMAT_UNSPEC);
  EXPECT_EQ(asked(none, &v4, FI_SOCKADDR_IN6), FI_FORMAT_UNSPEC);
  EXPECT_EQ(asked(&v4, &v6, FI_FORMAT_UNSPEC), FI_FORMAT_UNSPEC);
  EXPECT_EQ(asked(&v4, none, FI_SOCKADDR_IN6), FI_FORMAT_UNSPEC);
}

// fi_endpoint: "The capabilities must be a subset of those requested of the associated endpoint".
TEST(Hints, AContextHasNoMoreThanItsEndpoint) {
  const auto asked = [](std::uint64_t caps, std::uint64_t tx, std::uint64_t rx) {
    fi_info* hints = fi_allocinfo();
    hints->caps = caps;
    hints->tx_attr->caps = tx;
    hints->rx_attr->caps = rx;
    fi_info* info = nullptr;
    const int error = provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info);
    fi_freeinfo(hints);
    fi_freeinfo(info);
    return error;
  };
  EXPECT_EQ(asked(FI_MSG, FI_MSG | FI_SEND, FI_MSG | FI_RECV), 0);
  EXPECT_EQ(asked(0, FI_TAGGED, FI_RMA), 0);
  EXPECT_EQ(asked(FI_MSG, FI_TAGGED, 0), -FI_ENODATA);
  EXPECT_EQ(asked(FI_MSG, 0, FI_RMA), -FI_ENODATA);
  EXPECT_EQ(asked(FI_MSG | FI_SEND, 0, FI_RECV), -FI_ENODATA);
  EXPECT_EQ(asked(FI_MSG, 0, FI_DIRECTED_RECV), -FI_ENODATA);
}

}  // namespace
}  // namespace strack::fabric
