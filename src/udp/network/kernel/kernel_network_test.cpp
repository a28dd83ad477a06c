// What only real sockets can show: source ports, ECN, bursts, arrival times.
#include "udp/network/kernel/kernel_network.h"

#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "udp/engine.h"

namespace strack::udp {
namespace {

class TwoNetworks {
 protected:
  void open(bool v6) {
    options_.paths = 4;
    const Address local = *Address::parse(v6 ? "[::1]:0" : "127.0.0.1:0");
    for (auto* network : {&a_, &b_}) {
      network->emplace(options_);
      const auto error = (*network)->open(local);
      ASSERT_FALSE(error) << error->text;
    }
  }
  /// Waits for datagrams; loopback delivers at once, so this is no race.
  std::vector<Incoming> receive(KernelNetwork& network, std::size_t count) {
    std::vector<Incoming> all;
    buffers_.clear();
    for (int tries = 0; tries < 1'000 && all.size() < count; ++tries) {
      for (const Incoming& in : network.receive()) {
        buffers_.emplace_back(in.bytes.begin(), in.bytes.end());
        all.push_back(in);
      }
      if (all.size() < count) network.sleep(ms(10));
    }
    for (std::size_t i = 0; i < all.size(); ++i) all[i].bytes = buffers_[i];
    return all;
  }
  static Outgoing outgoing(const Address& to, const Piece& piece, std::uint16_t entropy, bool ect) {
    return {.to = &to,
            .pieces = {&piece, 1},
            .bytes = static_cast<std::uint32_t>(piece.size),
            .entropy = entropy,
            .segment = 0,
            .ect = ect};
  }

  EndpointOptions options_;
  std::optional<KernelNetwork> a_, b_;
  std::vector<std::vector<std::uint8_t>> buffers_;
};

class KernelNetworkTest : public TwoNetworks, public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { open(GetParam()); }
};
class SendBufferTest : public TwoNetworks, public ::testing::Test {
 protected:
  static constexpr std::size_t kBuffer = 96 << 10;
  void SetUp() override {
    options_.send_buffer = kBuffer;
    open(false);
  }
};
class FlowLabelTest : public TwoNetworks, public ::testing::Test {
 protected:
  void SetUp() override { open(true); }
};

TEST_P(KernelNetworkTest, EachEntropyIsASourcePortOfItsOwn) {
  const std::string text = "hello";
  const Piece piece{text.data(), text.size()};
  const Address to = b_->address();
  std::vector<Outgoing> batch;
  for (const std::uint16_t entropy : std::vector<std::uint16_t>{0, 1, 2, 3, 1, 1}) {
    batch.push_back(outgoing(to, piece, entropy, true));
  }
  batch.push_back(outgoing(to, piece, kPrimary, false));
  EXPECT_EQ(a_->send(batch), SendResult::ok);
  EXPECT_EQ(a_->counters().send_calls, 6u);  // two in a row to one socket go together
  const auto got = receive(*b_, 7);
  const Instant now = b_->now();
  ASSERT_EQ(got.size(), 7u);
  std::set<std::uint16_t> ports;
  for (const Incoming& in : got) {
    ports.insert(in.from.port);
    EXPECT_EQ(std::string(in.bytes.begin(), in.bytes.end()), "hello");
    EXPECT_FALSE(in.marked);
    // Stamped by the kernel with a clock of its own, and never in the future.
    EXPECT_LE(in.arrival.ps, now.ps);
    EXPECT_EQ(in.from.ip, to.ip);
  }
  EXPECT_EQ(ports.size(), 5u);
  EXPECT_EQ(got.back().from.port, a_->address().port);
}

// [D144] Buffers are those that the socket has.
TEST_P(KernelNetworkTest, SaysWhatBuffersItHas) {
  const SocketLimits limits = a_->socket_limits();
  const auto of_socket = [&](int name) {
    int value = 0;
    socklen_t length = sizeof value;
    EXPECT_EQ(getsockopt(a_->file_descriptor(), SOL_SOCKET, name, &value, &length), 0);
    return static_cast<std::uint64_t>(value);
  };
  EXPECT_EQ(limits.receive_buffer, of_socket(SO_RCVBUF));
  EXPECT_EQ(limits.send_buffer, of_socket(SO_SNDBUF));
  EXPECT_EQ(limits.receive_buffer_asked, EndpointOptions{}.receive_buffer);
  EXPECT_EQ(limits.send_buffer_asked, EndpointOptions{}.send_buffer);
  // More than any system allows, whoever asks.
  EndpointOptions greedy;
  greedy.send_buffer = std::size_t{1} << 30;
  KernelNetwork network(greedy);
  EXPECT_EQ(network.socket_limits().send_buffer, 0u) << "no socket yet";
  ASSERT_FALSE(network.open(*Address::parse("127.0.0.1:0")));
  EXPECT_LT(network.socket_limits().send_buffer, network.socket_limits().send_buffer_asked);
}

// [D144] Paths share a port when no more sockets can be opened, and not because that might happen.
TEST_P(KernelNetworkTest, SaysHowManyPathsShareAPort) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);  // the lowest that is free
  ASSERT_GE(next, 0);
  close(next);
  const rlimit few{static_cast<rlim_t>(next) + 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(a_->socket_limits().paths_sharing, 0u);
  const std::string text = "hello";
  const Piece piece{text.data(), text.size()};
  const Address to = b_->address();
  std::vector<Outgoing> batch;
  for (std::uint16_t entropy = 0; entropy < 4; ++entropy)
    batch.push_back(outgoing(to, piece, entropy, true));
  EXPECT_EQ(a_->send(batch), SendResult::ok);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(a_->socket_limits().paths_sharing, 3u);
  EXPECT_EQ(receive(*b_, 4).size(), 4u);
}

// [D106] Over IPv6 each source port has a flow label, too: the kernel makes it of the ports, unless it is told not to.
TEST_F(FlowLabelTest, EachEntropyHasItsOwn) {
  std::ifstream setting("/proc/sys/net/ipv6/auto_flowlabels");
  int automatic = 0;
  if (!(setting >> automatic) || automatic == 0) GTEST_SKIP() << "no labels here";
  const int fd = ::socket(AF_INET6, SOCK_DGRAM, 0);
  ASSERT_GE(fd, 0);
  const int on = 1;
  constexpr int kFlowInfo =
      11;  // IPV6_FLOWINFO of linux/in6.h, which netinet/in.h does not go with
  ASSERT_EQ(setsockopt(fd, IPPROTO_IPV6, kFlowInfo, &on, sizeof on), 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  Address to = b_->address();
  to.port = ntohs(address.sin6_port);
  const std::string text = "x";
  const Piece piece{text.data(), text.size()};
  std::set<std::uint32_t> labels;
  for (const std::uint16_t entropy : std::vector<std::uint16_t>{0, 1, 2, 3, 0, 1, 2, 3}) {
    const Outgoing out = outgoing(to, piece, entropy, true);
    ASSERT_EQ(a_->send({&out, 1}), SendResult::ok);
    std::array<char, 16> data{};
    alignas(cmsghdr) std::array<char, 128> control{};
    iovec vector{data.data(), data.size()};
    msghdr header{};
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ASSERT_EQ(::recvmsg(fd, &header, 0), 1);
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
      if (c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != kFlowInfo) continue;
      std::uint32_t info = 0;
      std::memcpy(&info, CMSG_DATA(c), sizeof info);
      labels.insert(ntohl(info) & 0xfffff);
    }
  }
  ::close(fd);
  labels.erase(0);
  EXPECT_GE(labels.size(), 3u);  // four, unless two have drawn the same of a million
  EXPECT_LE(labels.size(), 4u);  // a port's label stays the same
}

// Data can be marked, control packets cannot; a mark is seen.
TEST_P(KernelNetworkTest, EcnIsSetAndRead) {
  const bool v6 = GetParam();
  const int fd = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
  ASSERT_GE(fd, 0);
  const int on = 1;
  if (v6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on);
  } else {
    setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* address = v6 ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
  socklen_t length = v6 ? sizeof six : sizeof four;
  ASSERT_EQ(::bind(fd, address, length), 0);
  ASSERT_EQ(::getsockname(fd, address, &length), 0);
  Address to = b_->address();
  to.port = ntohs(v6 ? six.sin6_port : four.sin_port);

  const std::string text = "x";
  const Piece piece{text.data(), text.size()};
  for (const auto& [entropy, ect] : std::vector<std::pair<std::uint16_t, bool>>{
           {0, true}, {0, false}, {kPrimary, false}, {kPrimary, true}}) {
    const Outgoing out = outgoing(to, piece, entropy, ect);
    ASSERT_EQ(a_->send({&out, 1}), SendResult::ok);
    std::array<char, 16> data{};
    alignas(cmsghdr) std::array<char, 128> control{};
    iovec vector{data.data(), data.size()};
    msghdr header{};
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ASSERT_EQ(::recvmsg(fd, &header, 0), 1);
    int tos = -1;
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
      if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) tos = *CMSG_DATA(c);
      if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
        std::memcpy(&tos, CMSG_DATA(c), sizeof tos);
    }
    EXPECT_EQ(tos, ect ? 2 : 0) << entropy;
  }

  const int ce = 3;
  if (v6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &ce, sizeof ce);
    six.sin6_port = htons(b_->address().port);
  } else {
    setsockopt(fd, IPPROTO_IP, IP_TOS, &ce, sizeof ce);
    four.sin_port = htons(b_->address().port);
  }
  ASSERT_EQ(::sendto(fd, "m", 1, 0, address, length), 1);
  const auto got = receive(*b_, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_TRUE(got[0].marked);
  ::close(fd);
}

TEST_P(KernelNetworkTest, BurstArrivesWhole) {
  std::vector<std::uint8_t> bytes(4 * 1'000 + 300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i / 1'000);
  const Piece piece{bytes.data(), bytes.size()};
  Outgoing out = outgoing(b_->address(), piece, 2, true);
  const Address to = b_->address();
  out.to = &to;
  out.segment = 1'000;
  ASSERT_EQ(a_->send({&out, 1}), SendResult::ok);
  EXPECT_EQ(a_->counters().send_calls, 1u);
  std::vector<std::uint8_t> joined;
  std::size_t datagrams = 0;
  while (joined.size() < bytes.size()) {
    const auto got = receive(*b_, 1);
    ASSERT_FALSE(got.empty());
    for (const Incoming& in : got) {
      joined.insert(joined.end(), in.bytes.begin(), in.bytes.end());
      EXPECT_TRUE(in.segment == 0 || in.segment == 1'000);
      datagrams += in.segment == 0 ? 1 : (in.bytes.size() + 999) / 1'000;
    }
  }
  EXPECT_EQ(joined, bytes);
  EXPECT_EQ(datagrams, 5u);
}

TEST_P(KernelNetworkTest, TooLargeIsSaidAndPathMtuKnown) {
  const std::uint32_t largest = a_->largest_datagram(b_->address());
  EXPECT_EQ(largest, a_->address().v6 ? 65'488u : 65'507u) << "of loopback, whose MTU is 65536";
  std::vector<std::uint8_t> bytes(65'600);
  const Piece piece{bytes.data(), bytes.size()};
  const Address to = b_->address();
  const Outgoing out = outgoing(to, piece, 0, true);
  EXPECT_EQ(a_->send({&out, 1}), SendResult::too_large);
  EXPECT_EQ(a_->counters().send_errors, 1u);
}

// Nobody reads the sockets that only send: they must not fill up, and what comes there changes
// nothing.
TEST_P(KernelNetworkTest, NothingIsReceivedOnEntropyPorts) {
  const std::string text = "x";
  const Piece piece{text.data(), text.size()};
  const Address to_b = b_->address();
  Outgoing out = outgoing(to_b, piece, 1, true);
  ASSERT_EQ(a_->send({&out, 1}), SendResult::ok);
  auto got = receive(*b_, 1);
  ASSERT_EQ(got.size(), 1u);
  const Address entropy = got[0].from;
  out = outgoing(entropy, piece, kPrimary, false);
  const Address primary = a_->address();
  Outgoing second = outgoing(primary, piece, kPrimary, false);
  ASSERT_EQ(b_->send({&out, 1}), SendResult::ok);
  ASSERT_EQ(b_->send({&second, 1}), SendResult::ok);
  got = receive(*a_, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_TRUE(a_->receive().empty());
}

// [D46] But resets and rejects are: they go to where the packet came from that they answer.
TEST_P(KernelNetworkTest, ResetsAreReceivedOnEntropyPorts) {
  std::vector<std::uint8_t> bytes(36, 1);
  const Piece piece{bytes.data(), bytes.size()};
  const Address to_b = b_->address();
  Outgoing out = outgoing(to_b, piece, 1, true);
  ASSERT_EQ(a_->send({&out, 1}), SendResult::ok);
  const auto question = receive(*b_, 1);
  ASSERT_EQ(question.size(), 1u);
  const Address entropy = question[0].from;
  out = outgoing(entropy, piece, kPrimary, false);
  ASSERT_EQ(b_->send({&out, 1}), SendResult::ok);  // neither
  for (const wire::Type type : {wire::Type::reset, wire::Type::reject}) {
    bytes[0] = static_cast<std::uint8_t>(wire::kVersion << 4 | static_cast<int>(type));
    ASSERT_EQ(b_->send({&out, 1}), SendResult::ok);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // they are looked for now and then
    const auto got = receive(*a_, 1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), got[0].bytes.begin(), got[0].bytes.end()));
    EXPECT_EQ(got[0].from, b_->address());
  }
}

/// Places in the table of descriptors of the thread that asks.
int table_size() {
  std::ifstream status("/proc/thread-self/status");
  for (std::string word; status >> word;) {
    int size = 0;
    if (word == "FDSize:" && status >> size) return size;
  }
  return 0;
}

// The table of descriptors grows before the first packet is sent and not on its way: among threads that takes long.
// [D140] What strangers are told may use a quarter of a send buffer, and connections all of it.
TEST_F(SendBufferTest, StrangersLeaveMostOfIt) {
  sockaddr_in sink{};
  sink.sin_family = AF_INET;
  sink.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sink.sin_port = htons(b_->address().port);
  // A datagram that is not complete yet stays in the buffer; nothing else would on loopback.
  const std::vector<char> begun(kBuffer / 3);
  ASSERT_EQ(::sendto(a_->file_descriptor(), begun.data(), begun.size(), MSG_MORE,
                     reinterpret_cast<const sockaddr*>(&sink), sizeof sink),
            static_cast<ssize_t>(begun.size()));
  const std::string text = "hello";
  const Piece piece{text.data(), text.size()};
  const Address to = b_->address();
  Outgoing out = outgoing(to, piece, kPrimary, false);
  EXPECT_EQ(a_->send({&out, 1}), SendResult::lost);
  EXPECT_EQ(a_->counters().send_full, 1u);
  EXPECT_EQ(a_->counters().send_calls, 0u);
  // In another socket there is room.
  Outgoing other = outgoing(to, piece, 0, false);
  const std::array both{out, other};
  EXPECT_EQ(a_->send(both), SendResult::lost);
  EXPECT_EQ(a_->counters().send_full, 2u);
  EXPECT_EQ(a_->counters().send_calls, 1u);
  ASSERT_EQ(receive(*b_, 1).size(), 1u);
  // Of a connection: it joins the datagram, which is complete with it.
  out.patient = true;
  EXPECT_EQ(a_->send({&out, 1}), SendResult::ok);
  EXPECT_EQ(a_->counters().send_full, 2u);
  const auto got = receive(*b_, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].bytes.size(), begun.size() + text.size());
  // And then there is room again.
  out.patient = false;
  EXPECT_EQ(a_->send({&out, 1}), SendResult::ok);
  EXPECT_EQ(receive(*b_, 1).size(), 1u);
}

TEST(KernelNetworkDescriptors, TheirTableGrowsWhenItIsOpened) {
  std::thread([] {
    ASSERT_EQ(unshare(CLONE_FILES), 0);  // a table of its own, as large as what is open takes
    EndpointOptions options;
    options.paths = 256;
    KernelNetwork network(options);
    ASSERT_FALSE(network.open(*Address::parse("127.0.0.1:0")));
    const int opened = table_size();
    EXPECT_GT(opened, network.file_descriptor() + 256);
    const Piece piece{"x", 1};
    for (std::uint16_t path = 0; path < 256; ++path) {
      const Address to = network.address();
      const Outgoing out{
          .to = &to, .pieces = {&piece, 1}, .bytes = 1, .entropy = path, .segment = 0, .ect = true};
      ASSERT_EQ(network.send({&out, 1}), SendResult::ok);
    }
    EXPECT_EQ(table_size(), opened);
  }).join();
}

TEST(KernelNetworkErrors, NamesTheAddressAndTheReason) {
  KernelNetwork network{EndpointOptions{}};
  const auto error = network.open(*Address::parse("192.0.2.1:4794"));
  ASSERT_TRUE(error);
  EXPECT_NE(error->text.find("192.0.2.1:4794"), std::string::npos);
  EXPECT_FALSE(network.is_open());
}

INSTANTIATE_TEST_SUITE_P(Families, KernelNetworkTest, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "IPv6" : "IPv4"; });

}  // namespace
}  // namespace strack::udp
