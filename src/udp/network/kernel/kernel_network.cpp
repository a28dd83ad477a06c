#include "udp/network/kernel/kernel_network.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/network/kernel/devices.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace strack::udp {
namespace {

constexpr std::size_t kReceiveBytes = 65'536;  ///< a whole burst may come as one
constexpr std::size_t kSendBatch = 32;
constexpr std::uint32_t kLargestReset = wire::kHeaderBytes + 12 + wire::kTagBytes;
constexpr std::size_t kMostPieces = 160;
constexpr int kStrangersShare =
    4;  ///< of a send buffer: a part of it that answers to strangers may use
constexpr int kUnavailable = -2;
constexpr int kEct0 = 2;
constexpr int kEcnBits = 3;
constexpr int kCe = 3;
constexpr Picoseconds kResetPatience = ms(10);
constexpr Picoseconds kResetPause = ms(1);  ///< between two looks for resets
constexpr int kMostResets = 8;              ///< at a look
/// An arrival further back than this is a clock that was set.
constexpr std::int64_t kOldestArrivalNs = 30'000'000'000;

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

socklen_t to_kernel(const Address& address, SocketAddress& out) {
  out = {};
  if (address.v6) {
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_port = htons(address.port);
    out.v6.sin6_scope_id = address.scope;
    std::memcpy(&out.v6.sin6_addr, address.ip.data(), 16);
    return sizeof(out.v6);
  }
  out.v4.sin_family = AF_INET;
  out.v4.sin_port = htons(address.port);
  std::memcpy(&out.v4.sin_addr, address.ip.data(), 4);
  return sizeof(out.v4);
}

Address from_kernel(const SocketAddress& in) {
  Address address;
  if (in.any.sa_family == AF_INET6) {
    address.v6 = true;
    address.port = ntohs(in.v6.sin6_port);
    address.scope = in.v6.sin6_scope_id;
    std::memcpy(address.ip.data(), &in.v6.sin6_addr, 16);
  } else {
    address.port = ntohs(in.v4.sin_port);
    std::memcpy(address.ip.data(), &in.v4.sin_addr, 4);
  }
  return address;
}

std::uint64_t buffer_of(int fd, int name) {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  return getsockopt(fd, SOL_SOCKET, name, &bytes, &length) == 0 && bytes > 0
             ? static_cast<std::uint64_t>(bytes)
             : 0;
}

void set_option(int fd, int level, int name, int value) {
  // What an older kernel does not know is gone without.
  static_cast<void>(setsockopt(fd, level, name, &value, sizeof value));
}

/// [D43] Never fragmented, and as large as the own device takes, whatever routers are said to take:
/// anybody can make up an ICMP message. What gets through, connections find out themselves.
void ignore_path_mtu(int fd, bool v6) {
  if (v6) {
    set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
  } else {
    set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  }
}

/// What came with a datagram. `wall` and `present` are this moment on the kernel's clock and on ours:
/// the kernel stamps with the wall clock; what counts here is how long ago.
void read_control(msghdr& header, std::int64_t wall, Instant present, Incoming& in) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
      timespec t{};
      std::memcpy(&t, CMSG_DATA(c), sizeof t);
      const std::int64_t age = wall - (t.tv_sec * 1'000'000'000 + t.tv_nsec);
      if (age > 0 && age < kOldestArrivalNs) in.arrival = present - ns(age);
    } else if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
      int size = 0;
      std::memcpy(&size, CMSG_DATA(c), sizeof size);
      in.segment = static_cast<std::uint16_t>(size);
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
      std::uint8_t tos = 0;
      std::memcpy(&tos, CMSG_DATA(c), sizeof tos);
      in.marked = (tos & kEcnBits) == kCe;
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(c), sizeof info);
      std::memcpy(in.to.ip.data(), &info.ipi_spec_dst, 4);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(c), sizeof info);
      in.to.v6 = true;
      std::memcpy(in.to.ip.data(), &info.ipi6_addr, 16);
      // Only a link-local address needs its interface; others may go out by any.
      if (info.ipi6_addr.s6_addr[0] == 0xfe && (info.ipi6_addr.s6_addr[1] & 0xc0) == 0x80)
        in.to.scope = info.ipi6_ifindex;
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
      int tos = 0;
      std::memcpy(&tos, CMSG_DATA(c), sizeof tos);
      in.marked = (tos & kEcnBits) == kCe;
    }
  }
}

Error system_error(const std::string& what, int error) {
  return Error{what + ": " + std::strerror(error)};
}

SendResult result_of(int error, bool burst) {
  if (error == EMSGSIZE || (burst && (error == EINVAL || error == EIO)))
    return SendResult::too_large;
  return error == ENETUNREACH || error == EHOSTUNREACH ? SendResult::unreachable : SendResult::lost;
}

int open_socket(const Address& local, bool shared, int* error) {
  const int fd =
      ::socket(local.v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    *error = errno;
    return -1;
  }
  if (local.v6) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (shared) set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
  SocketAddress address;
  const socklen_t length = to_kernel(local, address);
  if (::bind(fd, &address.any, length) != 0) {
    *error = errno;
    ::close(fd);
    return -1;
  }
  return fd;
}

/// Makes room in the process's table of descriptors for `count` more, now. Where there are threads the kernel waits
/// for all processors each time that the table grows, milliseconds to tens of them, and paths open their sockets with
/// the first packets that take them.
void reserve_descriptors(int fd, std::size_t count) {
  constexpr int kOthers = 8;  // that the program may open meanwhile
  const int highest = fcntl(fd, F_DUPFD_CLOEXEC, fd + static_cast<int>(count) + kOthers);
  if (highest >= 0) ::close(highest);
}

/// [D107] Which of the sockets at one port gets a packet: the one whose number the connection id has, modulo their
/// count; of questions, which name none, the nonce, so that a hello, its repetitions and its connect go to the same.
bool steer(int fd, std::uint32_t shards) {
  constexpr std::uint32_t kIdAt = 4;
  constexpr std::uint32_t kNonceAt = wire::kHeaderBytes + 4;
  constexpr auto is = [](wire::Type type) { return static_cast<std::uint32_t>(type); };
  std::array<sock_filter, 9> program{{{BPF_LD | BPF_B | BPF_ABS, 0, 0, 0},
                                      {BPF_ALU | BPF_AND | BPF_K, 0, 0, 0x0f},
                                      {BPF_JMP | BPF_JEQ | BPF_K, 3, 0, is(wire::Type::hello)},
                                      {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, is(wire::Type::connect)},
                                      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kIdAt},
                                      {BPF_JMP | BPF_JA, 0, 0, 1},
                                      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kNonceAt},
                                      {BPF_ALU | BPF_MOD | BPF_K, 0, 0, shards},
                                      {BPF_RET | BPF_A, 0, 0, 0}}};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter) == 0;
}

}  // namespace

struct KernelNetwork::Buffers {
  struct alignas(cmsghdr) Control {
    std::array<std::uint8_t, 160> bytes;
  };
  std::unique_ptr<std::uint8_t[]> memory{new std::uint8_t[kReceiveBatch * kReceiveBytes]};
  std::array<mmsghdr, kReceiveBatch> headers{};
  std::array<iovec, kReceiveBatch> vectors{};
  std::array<SocketAddress, kReceiveBatch> from{};
  std::array<Control, kReceiveBatch> control{};
  std::array<Incoming, kReceiveBatch> incoming{};
  std::size_t used = kReceiveBatch;  ///< headers to be made ready again

  std::array<mmsghdr, kSendBatch> out{};
  std::array<iovec, kMostPieces> out_vectors{};
  std::array<SocketAddress, kSendBatch> to{};
  std::array<Control, kSendBatch> out_control{};
};

KernelNetwork::KernelNetwork(const EndpointOptions& options)
    : shard_(options.listen.empty() ? 0 : options.shard),
      shards_(options.listen.empty() ? 1 : options.shards),
      receive_buffer_(options.receive_buffer),
      send_buffer_(options.send_buffer),
      clock_start_(clock_ns(CLOCK_MONOTONIC) - 1'000'000'000),
      entropies_(options.paths, -1),
      buffers_(std::make_unique<Buffers>()) {
  resets_ = epoll_create1(EPOLL_CLOEXEC);
}

KernelNetwork::~KernelNetwork() {
  if (primary_ >= 0) ::close(primary_);
  if (resets_ >= 0) ::close(resets_);
  for (const int fd : entropies_) {
    if (fd >= 0) ::close(fd);
  }
}

SocketLimits KernelNetwork::socket_limits() const {
  SocketLimits out;
  out.receive_buffer_asked = receive_buffer_;
  out.send_buffer_asked = send_buffer_;
  if (primary_ >= 0) {
    out.receive_buffer = buffer_of(primary_, SO_RCVBUF);
    out.send_buffer = buffer_of(primary_, SO_SNDBUF);
  }
  out.paths_sharing =
      static_cast<std::uint32_t>(std::count(entropies_.begin(), entropies_.end(), kUnavailable));
  return out;
}

std::optional<Error> KernelNetwork::open(const Address& local) {
  STRACK_CHECK(primary_ < 0);
  int error = 0;
  if (shard_ > 0 && local.port == 0)
    return Error{"shard " + std::to_string(shard_) +
                 " with port 0. all shards listen at the port that shard 0 has"};
  // The first has the port to itself, and then lets the others in.
  const int fd = open_socket(local, shard_ > 0, &error);
  if (fd < 0) return system_error("cannot use UDP address " + local.text(), error);
  if (shards_ > 1) set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
  if (shard_ > 0 && !steer(fd, shards_)) {
    error = errno;
    ::close(fd);
    return system_error("cannot share UDP address " + local.text() + " among endpoints", error);
  }
  SocketAddress bound;
  socklen_t length = sizeof bound;
  if (getsockname(fd, &bound.any, &length) != 0) {
    ::close(fd);
    return system_error("getsockname", errno);
  }
  primary_ = fd;
  local_ = from_kernel(bound);
  reserve_descriptors(fd, entropies_.size());
  set_option(fd, SOL_SOCKET, SO_RCVBUF, static_cast<int>(receive_buffer_ / 2));  // it doubles it
  set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, static_cast<int>(receive_buffer_ / 2));
  set_option(fd, SOL_SOCKET, SO_SNDBUF, static_cast<int>(send_buffer_ / 2));
  // The system may allow less; the other sockets get as much as this one.
  socklen_t room_size = sizeof send_room_;
  static_cast<void>(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_room_, &room_size));
  set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
  // What came together may be of connections of several shards.
  if (shards_ == 1) set_option(fd, SOL_UDP, UDP_GRO, 1);
  if (local.v6) {
    set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  } else {
    set_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
  }
  if (local.is_any()) {
    // Of several addresses, a peer is answered from the one it asked.
    set_option(fd, local.v6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP),
               local.v6 ? IPV6_RECVPKTINFO : IP_PKTINFO, 1);
  }
  ignore_path_mtu(fd, local.v6);
  return std::nullopt;
}

int KernelNetwork::entropy_socket(std::uint16_t entropy) {
  if (entropy == kPrimary) return primary_;
  int& fd = entropies_[entropy];
  if (fd >= 0) return fd;
  if (fd == kUnavailable) return primary_;
  Address local = local_;
  local.port = 0;
  int error = 0;
  fd = open_socket(local, false, &error);
  if (fd < 0) {
    fd = kUnavailable;  // out of descriptors or ports: fewer entropies are better than none
    return primary_;
  }
  set_option(fd, SOL_SOCKET, SO_SNDBUF, static_cast<int>(send_buffer_ / 2));
  set_option(fd, SOL_SOCKET, SO_RCVBUF, 1);
  // Nothing but resets and rejects are for it, which go to where the packet came from that they answer: who
  // rejects a version may know no other port. All else is dropped by the kernel before it is queued. The
  // filter sees the UDP header too.
  constexpr auto first_byte = [](wire::Type type) {
    return wire::kVersion << 4 | static_cast<std::uint32_t>(type);
  };
  std::array<sock_filter, 7> filter{
      {{BPF_LD | BPF_W | BPF_LEN, 0, 0, 0},
       {BPF_JMP | BPF_JGT | BPF_K, 4, 0, 8 + kLargestReset},
       {BPF_LD | BPF_B | BPF_ABS, 0, 0, 8},
       {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, first_byte(wire::Type::reject)},
       {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, first_byte(wire::Type::reset)},
       {BPF_RET | BPF_K, 0, 0, 0xffff},
       {BPF_RET | BPF_K, 0, 0, 0}}};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    static_cast<void>(epoll_ctl(resets_, EPOLL_CTL_ADD, fd, &event));
  }
  if (local.v6) {
    set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, kEct0);
    // [D106] One for each port, for routers that look at it and not at ports.
    set_option(fd, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 1);
  } else {
    set_option(fd, IPPROTO_IP, IP_TOS, kEct0);
  }
  ignore_path_mtu(fd, local.v6);
  return fd;
}

Instant KernelNetwork::now() { return {(clock_ns(CLOCK_MONOTONIC) - clock_start_) * 1'000}; }

void KernelNetwork::random(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    STRACK_CHECK(got > 0);  // every kernel we run on has it
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::uint32_t KernelNetwork::largest_datagram(const Address& to) {
  constexpr int kCautious = 1'280;
  const int link = std::max(device_mtu(primary_, device_to(to)), kCautious);
  return std::min<std::uint32_t>(static_cast<std::uint32_t>(link) - to.header_bytes(), 65'507);
}

bool KernelNetwork::has_room_for_strangers(int fd) const {
  int queued = 0;
  if (ioctl(fd, SIOCOUTQ, &queued) != 0) return true;
  return queued <= send_room_ / kStrangersShare;
}

/// Its place among messages of one call. `by_default`: the socket's packets are ECN-capable without being told.
void KernelNetwork::compose(const Outgoing& out, std::size_t index, std::size_t& vectors,
                            bool by_default) {
  Buffers& b = *buffers_;
  msghdr& header = b.out[index].msg_hdr;
  header = {};
  header.msg_name = &b.to[index];
  header.msg_namelen = to_kernel(*out.to, b.to[index]);
  header.msg_iov = &b.out_vectors[vectors];
  header.msg_iovlen = out.pieces.size();
  for (const Piece& piece : out.pieces) {
    b.out_vectors[vectors++] = {const_cast<void*>(piece.data), piece.size};
  }
  std::size_t control = 0;
  header.msg_control = b.out_control[index].bytes.data();
  header.msg_controllen = b.out_control[index].bytes.size();
  cmsghdr* c = CMSG_FIRSTHDR(&header);
  const auto add = [&](int level, int type, const void* value, std::size_t size) {
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(c), value, size);
    control += CMSG_SPACE(size);
    c = reinterpret_cast<cmsghdr*>(b.out_control[index].bytes.data() + control);
  };
  if (out.ect != by_default) {
    const int tos = out.ect ? kEct0 : 0;
    if (out.to->v6) {
      add(IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof tos);
    } else {
      add(IPPROTO_IP, IP_TOS, &tos, sizeof tos);
    }
  }
  if (out.from != nullptr && !out.from->is_any()) {
    if (out.to->v6) {
      in6_pktinfo info{};
      std::memcpy(&info.ipi6_addr, out.from->ip.data(), 16);
      info.ipi6_ifindex = out.from->scope;
      add(IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
    } else {
      in_pktinfo info{};
      std::memcpy(&info.ipi_spec_dst, out.from->ip.data(), 4);
      add(IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
    }
  }
  if (out.segment != 0) add(SOL_UDP, UDP_SEGMENT, &out.segment, sizeof out.segment);
  header.msg_controllen = control;
  if (control == 0) header.msg_control = nullptr;
}

SendResult KernelNetwork::send(std::span<const Outgoing> batch) {
  if (primary_ < 0) return SendResult::lost;
  Buffers& b = *buffers_;
  SendResult worst = SendResult::ok;
  std::size_t done = 0;
  while (done < batch.size()) {
    // As many as go to one socket, in one call.
    const std::uint16_t entropy = batch[done].entropy;
    const int fd = entropy_socket(entropy);
    // [D140] Strangers who cannot be reached as fast as they ask leave most of the buffer to connections.
    if (!batch[done].patient && !has_room_for_strangers(fd)) {
      if (worst == SendResult::ok) worst = SendResult::lost;
      ++counters_.send_full;
      ++done;
      continue;
    }
    std::size_t count = 0;
    std::size_t vectors = 0;
    while (done + count < batch.size() && count < kSendBatch) {
      const Outgoing& out = batch[done + count];
      if (out.entropy != entropy || out.patient != batch[done].patient ||
          vectors + out.pieces.size() > kMostPieces)
        break;
      compose(out, count, vectors, entropy != kPrimary && fd != primary_);
      ++count;
    }
    STRACK_CHECK(count > 0);
    std::size_t sent = 0;
    while (sent < count) {
      ++counters_.send_calls;
      int n = 0;
      if (count - sent == 1) {
        n = ::sendmsg(fd, &b.out[sent].msg_hdr, 0) >= 0 ? 1 : -1;
      } else {
        n = ::sendmmsg(fd, &b.out[sent], static_cast<unsigned>(count - sent), 0);
      }
      if (n > 0) {
        sent += static_cast<std::size_t>(n);
        continue;
      }
      if (errno == EINTR) continue;
      if ((errno == EAGAIN || errno == ENOBUFS) && batch[done + sent].patient && may_wait_) {
        // The link's own queue is full: that is back-pressure, and short. What waits meanwhile is
        // everything, so once is enough.
        may_wait_ = false;
        pollfd p{fd, POLLOUT, 0};
        ::poll(&p, 1, 1);
        continue;
      }
      const SendResult result = result_of(errno, batch[done + sent].segment != 0);
      if (worst == SendResult::ok || result == SendResult::too_large) worst = result;
      ++(errno == EAGAIN || errno == ENOBUFS ? counters_.send_full : counters_.send_errors);
      ++sent;  // this one is lost
    }
    done += count;
  }
  return worst;
}

std::span<Incoming> KernelNetwork::receive() {
  if (primary_ < 0) return {};
  may_wait_ = true;
  if (now() - looked_for_resets_ >= kResetPatience) {  // though there may be no end of other things
    if (const auto resets = receive_resets(); !resets.empty()) return resets;
  }
  Buffers& b = *buffers_;
  for (std::size_t i = 0; i < b.used; ++i) {
    b.vectors[i] = {b.memory.get() + i * kReceiveBytes, kReceiveBytes};
    msghdr& header = b.headers[i].msg_hdr;
    header.msg_name = &b.from[i];
    header.msg_namelen = sizeof b.from[i];
    header.msg_iov = &b.vectors[i];
    header.msg_iovlen = 1;
    header.msg_control = b.control[i].bytes.data();
    header.msg_controllen = b.control[i].bytes.size();
    header.msg_flags = 0;
  }
  ++counters_.receive_calls;
  const int got = ::recvmmsg(primary_, b.headers.data(), kReceiveBatch, MSG_DONTWAIT, nullptr);
  if (got <= 0) {
    b.used = 0;
    return receive_resets();
  }
  b.used = static_cast<std::size_t>(got);
  const std::int64_t wall = clock_ns(CLOCK_REALTIME);
  const Instant present = now();
  for (std::size_t i = 0; i < b.used; ++i) {
    Incoming& in = b.incoming[i];
    msghdr& header = b.headers[i].msg_hdr;
    in.bytes = {b.memory.get() + i * kReceiveBytes, b.headers[i].msg_len};
    in.from = from_kernel(b.from[i]);
    in.to = {};
    in.arrival = present;
    in.segment = 0;
    in.marked = false;
    read_control(header, wall, present, in);
  }
  return {b.incoming.data(), b.used};
}

/// [D46] Looked for when nothing else has come or it is long ago, and not all the time.
std::span<Incoming> KernelNetwork::receive_resets() {
  const Instant present = now();
  if (present - looked_for_resets_ < kResetPause) return {};
  looked_for_resets_ = present;
  std::array<epoll_event, kMostResets> events;
  const int ready = epoll_wait(resets_, events.data(), kMostResets, 0);
  Buffers& b = *buffers_;
  std::size_t count = 0;
  for (int i = 0; i < ready; ++i) {
    std::uint8_t* memory = b.memory.get() + count * kReceiveBytes;
    socklen_t length = sizeof b.from[count];
    const ssize_t got = ::recvfrom(events[static_cast<std::size_t>(i)].data.fd, memory,
                                   kReceiveBytes, MSG_DONTWAIT, &b.from[count].any, &length);
    if (got <= 0) continue;
    b.incoming[count] = {.bytes = {memory, static_cast<std::size_t>(got)},
                         .from = from_kernel(b.from[count]),
                         .to = {},
                         .arrival = present};
    ++count;
  }
  return {b.incoming.data(), count};
}

void KernelNetwork::yield() { ::sched_yield(); }

void KernelNetwork::sleep(Picoseconds time) {
  if (time <= ps(0)) return;
  std::array<pollfd, 2> p{{{primary_, POLLIN, 0}, {resets_, POLLIN, 0}}};
  const std::int64_t whole_ns = time.count() / 1'000;
  const timespec t{whole_ns / 1'000'000'000, whole_ns % 1'000'000'000};
  static_cast<void>(::ppoll(p.data(), primary_ >= 0 ? p.size() : 0, &t, nullptr));
}

}  // namespace strack::udp
