// Address vectors, event queues, poll sets and memory: what does not send anything.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace strack::fabric {
namespace {

sockaddr_in address(const char* ip, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, ip, &out.sin_addr), 1);
  return out;
}

// Names are given back in the order of insertion, looked up, removed and used again.
TEST(AddressVector, NamesAreIndices) {
  World world(0);
  const std::array<sockaddr_in, 3> all{address("192.0.2.1", 10), address("192.0.2.2", 20),
                                       address("192.0.2.3", 30)};
  std::array<fi_addr_t, 3> names{};
  ASSERT_EQ(fi_av_insert(world.av, all.data(), 3, names.data(), 0, nullptr), 3);
  EXPECT_EQ(names, (std::array<fi_addr_t, 3>{0, 1, 2}));
  sockaddr_in found{};
  std::size_t size = sizeof found;
  ASSERT_EQ(fi_av_lookup(world.av, 1, &found, &size), 0);
  EXPECT_EQ(size, sizeof found);
  EXPECT_EQ(found.sin_port, htons(20));
  char text[64];
  size = sizeof text;
  EXPECT_STREQ(fi_av_straddr(world.av, &found, text, &size), "fi_sockaddr_in://192.0.2.2:20");
  EXPECT_EQ(fi_av_remove(world.av, &names[1], 1, 0), 0);
  EXPECT_EQ(fi_av_remove(world.av, &names[1], 1, 0), -FI_EINVAL);
  EXPECT_EQ(fi_av_lookup(world.av, 1, &found, &size), -FI_EINVAL);
  fi_addr_t again = 99;
  ASSERT_EQ(fi_av_insert(world.av, all.data(), 1, &again, 0, nullptr), 1);
  EXPECT_EQ(again, 1u);
  int error = 0;
  const sockaddr_in bad = address("0.0.0.0", 5);
  EXPECT_EQ(fi_av_insert(world.av, &bad, 1, nullptr, FI_SYNC_ERR, &error), 0);
  EXPECT_EQ(error, FI_EINVAL);
  EXPECT_EQ(fi_av_insert(world.av, &bad, 1, nullptr, FI_PEEK, nullptr), -FI_EBADFLAGS);
}

TEST(AddressVector, NamesOfHosts) {
  World world(0);
  fi_addr_t name = 99;
  ASSERT_EQ(fi_av_insertsvc(world.av, "127.0.0.1", "4000", &name, 0, nullptr), 1);
  EXPECT_EQ(name, 0u);
  std::array<fi_addr_t, 4> names{};
  ASSERT_EQ(fi_av_insertsym(world.av, "127.0.0.9", 2, "5009", 2, names.data(), 0, nullptr), 4);
  sockaddr_in found{};
  std::size_t size = sizeof found;
  ASSERT_EQ(fi_av_lookup(world.av, names[3], &found, &size), 0);
  EXPECT_EQ(found.sin_port, htons(5'010));
  EXPECT_EQ(found.sin_addr.s_addr, htonl(0x7f00000a));
}

// Insertions may end with events: those that failed, then how many did not.
TEST(AddressVector, InsertionsTellTheEventQueue) {
  World world(0);
  fid_eq* eq = nullptr;
  fi_eq_attr eq_attr{};
  eq_attr.wait_obj = FI_WAIT_UNSPEC;
  eq_attr.flags = FI_WRITE;
  ASSERT_EQ(fi_eq_open(world.fabric, &eq_attr, &eq, nullptr), 0);
  fid_av* av = nullptr;
  fi_av_attr attr{};
  attr.flags = FI_EVENT;
  ASSERT_EQ(fi_av_open(world.domain, &attr, &av, nullptr), 0);
  const std::array<sockaddr_in, 2> all{address("192.0.2.1", 10), address("192.0.2.2", 0)};
  EXPECT_EQ(fi_av_insert(av, all.data(), 2, nullptr, 0, nullptr), -FI_ENOEQ);
  ASSERT_EQ(fi_av_bind(av, &eq->fid, 0), 0);
  int context = 0;
  EXPECT_EQ(fi_av_insert(av, all.data(), 2, nullptr, 0, &context), 0);
  std::uint32_t event = 99;
  fi_eq_entry entry{};
  EXPECT_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, 1'000, 0), -FI_EAVAIL);
  fi_eq_err_entry error{};
  EXPECT_EQ(fi_eq_readerr(eq, &error, 0), static_cast<ssize_t>(sizeof error));
  EXPECT_EQ(error.err, FI_EINVAL);
  EXPECT_EQ(error.data, 1u);
  EXPECT_EQ(fi_eq_read(eq, &event, &entry, sizeof entry, 0), static_cast<ssize_t>(sizeof entry));
  EXPECT_EQ(event, static_cast<std::uint32_t>(FI_AV_COMPLETE));
  EXPECT_EQ(entry.data, 1u);
  EXPECT_EQ(entry.context, &context);
  EXPECT_EQ(fi_eq_read(eq, &event, &entry, sizeof entry, 0), -FI_EAGAIN);
  entry.data = 5;
  EXPECT_EQ(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0),
            static_cast<ssize_t>(sizeof entry));
  EXPECT_EQ(fi_eq_read(eq, &event, &entry, 1, 0), -FI_ETOOSMALL);
  EXPECT_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, -1, 0),
            static_cast<ssize_t>(sizeof entry));
  EXPECT_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, 1, 0), -FI_EAGAIN);
  EXPECT_EQ(fi_close(&av->fid), 0);
  EXPECT_EQ(fi_close(&eq->fid), 0);
}

// A poll set names the queues that have something.
TEST(PollSet, NamesWhoHasSomething) {
  World world;
  fid_poll* set = nullptr;
  fi_poll_attr attr{};
  ASSERT_EQ(fi_poll_open(world.domain, &attr, &set), 0);
  world[1].rx->fid.context = &world;
  ASSERT_EQ(fi_poll_add(set, &world[1].rx->fid, 0), 0);
  ASSERT_EQ(fi_poll_add(set, &world[1].tx->fid, 0), 0);
  EXPECT_EQ(fi_poll_add(set, &world.av->fid, 0), -FI_EINVAL);
  std::uint64_t value = 0;
  ASSERT_EQ(fi_recv(world[1].ep, &value, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  ASSERT_EQ(fi_inject(world[0].ep, &value, 8, 1), 0);
  void* who = nullptr;
  int found = 0;
  const auto start = std::chrono::steady_clock::now();
  while (found == 0 && std::chrono::steady_clock::now() - start < std::chrono::seconds(20))
    found = fi_poll(set, &who, 1);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(who, &world);
  World::next(world[1].rx);
  EXPECT_EQ(fi_poll_del(set, &world[1].rx->fid, 0), 0);
  EXPECT_EQ(fi_poll_del(set, &world[1].rx->fid, 0), -FI_EINVAL);
  EXPECT_EQ(fi_close(&set->fid), 0);
}

// Keys are the user's, and each is there once.
TEST(Memory, KeysAreTheUsers) {
  World world(0);
  std::array<char, 64> bytes{};
  fid_mr* one = nullptr;
  fid_mr* other = nullptr;
  ASSERT_EQ(fi_mr_reg(world.domain, bytes.data(), 64, FI_REMOTE_READ, 0, 7, 0, &one, nullptr), 0);
  EXPECT_EQ(fi_mr_key(one), 7u);
  EXPECT_EQ(fi_mr_reg(world.domain, bytes.data(), 64, FI_REMOTE_READ, 0, 7, 0, &other, nullptr),
            -FI_ENOKEY);
  EXPECT_EQ(fi_close(&world.domain->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&one->fid), 0);
  const iovec two[2] = {{bytes.data(), 1}, {bytes.data(), 1}};
  EXPECT_EQ(fi_mr_regv(world.domain, two, 2, FI_SEND, 0, 8, 0, &one, nullptr), -FI_EINVAL);
}

// Memory that would end beyond the last address is none; all of it, from the
// first address on, may be registered, as programs do that name memory by its addresses.
TEST(Memory, HasAnEnd) {
  World world(0);
  char byte = 0;
  fid_mr* one = nullptr;
  const auto reg = [&](void* base, std::size_t size) {
    return fi_mr_reg(world.domain, base, size, FI_REMOTE_READ, 0, 7, 0, &one, nullptr);
  };
  constexpr std::size_t kAll = ~std::size_t{0};
  EXPECT_EQ(reg(&byte, kAll), -FI_EINVAL);
  EXPECT_EQ(reg(&byte, kAll - reinterpret_cast<std::uintptr_t>(&byte) + 1), -FI_EINVAL);
  ASSERT_EQ(reg(nullptr, kAll), 0);
  EXPECT_EQ(fi_close(&one->fid), 0);
}

// fi_mr: "The offset parameter is reserved for future use and must be 0"; and rights that there are not.
TEST(Memory, HasNoOffsetAndNoUnknownRights) {
  World world(0);
  char byte = 0;
  fid_mr* one = nullptr;
  const auto reg = [&](std::uint64_t access, std::uint64_t offset) {
    return fi_mr_reg(world.domain, &byte, 1, access, offset, 7, 0, &one, nullptr);
  };
  EXPECT_EQ(reg(FI_REMOTE_READ, 1), -FI_EINVAL);
  EXPECT_EQ(reg(FI_REMOTE_READ | 1ULL << 60, 0), -FI_EINVAL);
  for (const std::uint64_t access :
       {std::uint64_t{0}, std::uint64_t{FI_SEND | FI_RECV | FI_READ | FI_WRITE}}) {
    ASSERT_EQ(reg(access, 0), 0);
    EXPECT_EQ(fi_close(&one->fid), 0);
  }
}

// What makes no sense is said with the variable's name, its value and what would work.
TEST(Settings, MistakesAreNamed) {
  const auto said = [](const char* name, const char* value) {
    fi_provider& one = provider();
    setenv(name, value, 1);
    EXPECT_FALSE(read_settings(one)) << name;
    unsetenv(name);
    const std::string text = last_complaint();
    EXPECT_TRUE(read_settings(one));
    return text;
  };
  EXPECT_EQ(said("FI_STRACK_MESSAGE_SLOTS", "48"),
            "FI_STRACK_MESSAGE_SLOTS is '48'. it takes a power of two, such as 64");
  EXPECT_EQ(said("FI_STRACK_MESSAGE_SLOTS", "x"),
            "FI_STRACK_MESSAGE_SLOTS is 'x'. it takes a number from 2 to 32768");
  EXPECT_EQ(
      said("FI_STRACK_ADDRESS", "10.0.0"),
      "FI_STRACK_ADDRESS is '10.0.0'. it takes a numeric address of this host without a port, "
      "such as 192.0.2.7");
  EXPECT_EQ(said("FI_STRACK_ADDRESS", "8.8.8.8"),
            "FI_STRACK_ADDRESS is '8.8.8.8', which is none of this host's");
  for (const char* port : {"0", "65536", "a", " 5000", "+5000", "-5000", "5000 "})
    EXPECT_EQ(said("FI_STRACK_PORT", port),
              std::string("FI_STRACK_PORT is '") + port + "'. it takes a number from 1 to 65535");
  setenv("FI_STRACK_PORT", "", 1);
  EXPECT_TRUE(read_settings(provider())) << "as if it were not set";
  unsetenv("FI_STRACK_PORT");
  EXPECT_EQ(said("FI_STRACK_PATHS", "0"),
            "FI_STRACK_PATHS is '0'. it takes a number from 1 to 256");
  for (const char* rate : {"0", "1e", "nan", "20000", "-1"})
    EXPECT_EQ(said("FI_STRACK_RATE_GBPS", rate), std::string("FI_STRACK_RATE_GBPS is '") + rate +
                                                     "'. it takes a number from 0.001 to 10000");
  EXPECT_EQ(
      said("FI_STRACK_KEY_FILE", "/nowhere"),
      "FI_STRACK_KEY_FILE is '/nowhere', and no key can be read there: No such file or directory. "
      "`strack key` makes one");
  EXPECT_EQ(said("FI_STRACK_KEY_FILE", "/tmp"),
            "FI_STRACK_KEY_FILE is '/tmp', and no key can be read there: Is a directory. `strack "
            "key` makes one");
  EXPECT_EQ(said("FI_STRACK_KEY_FILE", "/dev/null"),
            "FI_STRACK_KEY_FILE is '/dev/null', and no key can be read there: it is empty. `strack "
            "key` makes one");
  EXPECT_EQ(said("FI_STRACK_KEY", "12").substr(0, 13), "FI_STRACK_KEY");
}

// Every program that opens libfabric reads it, also those that use another provider: whatever it is, that ends.
TEST(Settings, NoKeyFileHoldsAProgramUp) {
  const std::string pipe = "/tmp/strack_key_pipe_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int fd = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  std::atomic<bool> over = false;
  std::thread drip([&] {
    for (int i = 0; i < 200 && !over; ++i) {
      EXPECT_EQ(::write(fd, "a", 1), 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    ::close(fd);
  });
  const auto read = [](const char* file) {
    const auto start = std::chrono::steady_clock::now();
    setenv("FI_STRACK_KEY_FILE", file, 1);
    EXPECT_FALSE(read_settings(provider())) << file;
    unsetenv("FI_STRACK_KEY_FILE");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8)) << file;
    return last_complaint();
  };
  EXPECT_EQ(read(pipe.c_str()),
            "FI_STRACK_KEY_FILE is '" + pipe +
                "', and no key can be read there: nothing came of it in five seconds. it takes a "
                "plain file, or a pipe that somebody writes to. `strack key` makes one");
  over = true;
  drip.join();
  ::unlink(pipe.c_str());
  EXPECT_NE(read("/dev/zero").find("is the byte 0"), std::string::npos);
  EXPECT_TRUE(read_settings(provider()));
}

// As `strack key > FILE` writes one, and as a script may, which has more to say.
TEST(Settings, AKeyFileHoldsOneKey) {
  const std::string file = "/tmp/strack_key_file_" + std::to_string(getpid());
  for (const char* after : {"", "\n", "\n# the job's\n", " the job's\n"}) {
    std::ofstream(file) << std::string(64, 'a') << after;
    setenv("FI_STRACK_KEY_FILE", file.c_str(), 1);
    EXPECT_TRUE(read_settings(provider())) << last_complaint();
    ASSERT_TRUE(settings().endpoint.key.has_value());
    EXPECT_EQ(settings().endpoint.key->front(), std::byte{0xaa});
    unsetenv("FI_STRACK_KEY_FILE");
  }
  ::unlink(file.c_str());
  EXPECT_TRUE(read_settings(provider()));
}

// Whoever asks whether programs would find the provider here is told what it says.
TEST(Settings, AProgramCanAskForThem) {
  EXPECT_EQ(strack_provider_complaint(), nullptr);
  setenv("FI_STRACK_EAGER", "1", 1);
  EXPECT_STREQ(strack_provider_complaint(),
               "FI_STRACK_EAGER is '1'. it takes a number from 4096 to 1048576");
  unsetenv("FI_STRACK_EAGER");
  EXPECT_EQ(strack_provider_complaint(), nullptr);
}

std::uint16_t port_of(fid_ep* ep) {
  sockaddr_in name{};
  std::size_t size = sizeof name;
  EXPECT_EQ(fi_getname(&ep->fid, &name, &size), 0);
  return ntohs(name.sin_port);
}

// Endpoints of one info have addresses of their own: any that are free, or from FI_STRACK_PORT on. One whose port the program chose twice is refused.
TEST(Settings, EndpointsOfOneInfoDoNotCollide) {
  World world(5);
  std::set<std::uint16_t> ports;
  for (const World::Member& one : world.all) ports.insert(port_of(one.ep));
  EXPECT_EQ(ports.size(), 5u);
  // A free port, with two neighbours: one that the kernel has just given to somebody, who has ended.
  std::uint16_t first = 0;
  {
    World other(1);
    first = port_of(other[0].ep);
  }
  if (first > 65'000) first = 20'000;
  setenv("FI_STRACK_PORT", std::to_string(first).c_str(), 1);
  ASSERT_TRUE(read_settings(provider()));
  {
    World fixed(3);
    std::uint16_t before = 0;
    for (const World::Member& one : fixed.all) {
      const std::uint16_t port = port_of(one.ep);
      EXPECT_GT(port, before);
      EXPECT_GE(port, first);
      EXPECT_LT(port, first + 100) << "the next free ones";
      before = port;
    }
    std::uint64_t value = 0;
    ASSERT_EQ(fi_recv(fixed[2].ep, &value, 8, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
    const std::uint64_t sent = 8;
    ASSERT_EQ(fi_inject(fixed[0].ep, &sent, 8, 2), 0);
    EXPECT_EQ(World::next(fixed[2].rx).err, 0);
    EXPECT_EQ(value, 8u);
  }
  unsetenv("FI_STRACK_PORT");
  ASSERT_TRUE(read_settings(provider()));
  const sockaddr_in mine = address("127.0.0.1", port_of(world[0].ep));
  fi_info* info = fi_dupinfo(world.info);
  std::memcpy(info->src_addr, &mine, sizeof mine);
  fid_ep* ep = nullptr;
  EXPECT_EQ(fi_endpoint(world.domain, info, &ep, nullptr), -FI_EADDRINUSE);
  const sockaddr_in nobodys = address("192.0.2.1", 0);
  std::memcpy(info->src_addr, &nobodys, sizeof nobodys);
  EXPECT_EQ(fi_endpoint(world.domain, info, &ep, nullptr), -FI_EADDRNOTAVAIL) << "not this host's";
  fi_freeinfo(info);
}

// An event queue that somebody still tells things is not closed.
TEST(EventQueue, IsBusyWhileSomethingIsBoundToIt) {
  World world(0);
  fid_eq* eq = nullptr;
  fi_eq_attr attr{};
  ASSERT_EQ(fi_eq_open(world.fabric, &attr, &eq, nullptr), 0);
  fid_ep* ep = nullptr;
  ASSERT_EQ(fi_endpoint(world.domain, world.info, &ep, nullptr), 0);
  ASSERT_EQ(fi_ep_bind(ep, &eq->fid, 0), 0);
  EXPECT_EQ(fi_ep_bind(ep, &eq->fid, 0), -FI_EINVAL);
  EXPECT_EQ(fi_close(&eq->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&ep->fid), 0);
  EXPECT_EQ(fi_close(&eq->fid), 0);
}

// A name that cannot be counted from is no address, and nothing is thrown through C.
TEST(AddressVector, NumbersTooLargeToCountFrom) {
  World world(0);
  fi_addr_t name = 99;
  EXPECT_EQ(
      fi_av_insertsym(world.av, "127.0.0.1", 1, "99999999999999999999999", 1, &name, 0, nullptr),
      0);
  EXPECT_EQ(name, FI_ADDR_NOTAVAIL);
}

/// A counter that a program can wait at.
class Counter : public ::testing::Test {
 protected:
  Counter() {
    fi_cntr_attr attr{};
    attr.wait_obj = FI_WAIT_FD;
    EXPECT_EQ(fi_cntr_open(world_.domain, &attr, &cntr_, nullptr), 0);
  }
  ~Counter() override { EXPECT_EQ(fi_close(&cntr_->fid), 0); }
  /// 0: there is nothing new, and it may sleep.
  int look() {
    fid* all[] = {&cntr_->fid};
    return fi_trywait(world_.fabric, all, 1);
  }

  World world_{0};
  fid_cntr* cntr_ = nullptr;
};

// Somebody may count between a program's look and its going to sleep: then it must look again.
TEST_F(Counter, AWakeUpIsNotLost) {
  EXPECT_EQ(fi_cntr_read(cntr_), 0u);
  EXPECT_EQ(look(), 0);
  EXPECT_EQ(fi_cntr_add(cntr_, 1), 0);
  EXPECT_EQ(look(), -FI_EAGAIN) << "the program has not seen it";
  EXPECT_EQ(fi_cntr_read(cntr_), 1u);
  EXPECT_EQ(look(), 0);
}

// An error is news until the program has looked at errors, whatever else it has looked at.
TEST_F(Counter, AnErrorIsNotHiddenByItsValue) {
  EXPECT_EQ(fi_cntr_adderr(cntr_, 1), 0);
  EXPECT_EQ(fi_cntr_read(cntr_), 0u);
  EXPECT_EQ(fi_cntr_wait(cntr_, 0, 0), 0);
  EXPECT_EQ(look(), -FI_EAGAIN);
  EXPECT_EQ(fi_cntr_add(cntr_, 1), 0);
  EXPECT_EQ(fi_cntr_readerr(cntr_), 1u);
  EXPECT_EQ(look(), -FI_EAGAIN) << "nor the value by its errors";
  EXPECT_EQ(fi_cntr_read(cntr_), 1u);
  EXPECT_EQ(look(), 0);
}

// A program that never looks at errors is told of each once, and sleeps afterwards.
TEST_F(Counter, AnErrorThatNobodyReadsKeepsNobodyAwake) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(fi_cntr_adderr(cntr_, 1), 0);
    EXPECT_EQ(look(), -FI_EAGAIN);
    EXPECT_EQ(fi_cntr_read(cntr_), 0u);
    EXPECT_EQ(look(), 0);
  }
  EXPECT_EQ(fi_cntr_readerr(cntr_), 2u);
}

// Whoever clears, looks and sleeps hears of all that is signalled meanwhile.
TEST(Waiting, NoSignalIsLost) {
  constexpr int kSignals = 50'000;
  Waiting waiting;
  std::atomic<int> count = 0;
  std::thread other([&] {
    for (int i = 0; i < kSignals; ++i) {
      ++count;
      waiting.signal();
    }
  });
  pollfd one{waiting.file_descriptor(), POLLIN, 0};
  while (true) {
    waiting.clear();
    if (count == kSignals) break;
    ASSERT_EQ(poll(&one, 1, 20'000), 1) << "nobody wakes it at " << count;
  }
  other.join();
}

// [D94] Whoever changes values holds one lock, by whichever domain they are reached: one was opened twice.
TEST(Domain, HasOneLockForAtomics) {
  World world(2);
  World other(1);
  const auto lock_of = [](fid_ep* ep) { return static_cast<Ep*>(ep)->alone().mutex(); };
  EXPECT_EQ(lock_of(world[0].ep), lock_of(world[1].ep));
  EXPECT_EQ(lock_of(world[0].ep), lock_of(other[0].ep));
}

// [D94] Atomics that come to several endpoints are done one after the other, also if the domain was opened twice.
TEST(Domain, AtomicsOfAllEndpointsAreAtomic) {
  World world(4);
  World again(2);
  // So many that one atomic takes a while.
  std::vector<std::uint64_t> values(2'000);
  const std::uint64_t key = world.expose(values.data(), values.size() * 8, 7);
  ASSERT_EQ(again.expose(values.data(), values.size() * 8, 7), key);
  constexpr int kEach = 200;
  const std::vector<std::uint64_t> ones(values.size(), 1);
  struct From {
    World::Member* member;
    fi_addr_t to;
  };
  const std::array<From, 3> all{{{&world[0], 2}, {&world[1], 3}, {&again[0], 1}}};
  std::array<std::thread, 3> threads;
  for (std::size_t i = 0; i < 3; ++i) {
    threads[i] = std::thread([&, from = all[i]] {
      for (int n = 0; n < kEach; ++n) {
        while (fi_atomic(from.member->ep, ones.data(), ones.size(), nullptr, from.to, 0, key,
                         FI_UINT64, FI_SUM, nullptr) == -FI_EAGAIN) {
        }
        EXPECT_EQ(World::next(from.member->tx).err, 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(values, std::vector<std::uint64_t>(values.size(), 3 * kEach));
}

}  // namespace
}  // namespace strack::fabric
