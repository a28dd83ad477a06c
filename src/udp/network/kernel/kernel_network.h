// The kernel's UDP sockets: one that receives, and one for each entropy that only sends. Needs no
// privilege.
//
// Sockets stay unconnected, since a connected one's hash would override the ports in the kernel's
// own ECMP. What goes to one socket in a row goes in one system call; bursts go as one datagram
// that the kernel or the NIC cuts (UDP_SEGMENT), and come back uncut where they can (UDP_GRO).
// Arrival times are the kernel's (SO_TIMESTAMPNS). Departure times are the clock's just before the
// system call: the kernel's own would take a second call per packet to read, for about a
// microsecond.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "udp/endpoint.h"
#include "udp/network.h"

namespace strack::udp {

class KernelNetwork final : public Network {
 public:
  explicit KernelNetwork(const EndpointOptions& options);
  ~KernelNetwork() override;

  [[nodiscard]] std::optional<Error> open(const Address& local) override;
  [[nodiscard]] bool is_open() const override { return primary_ >= 0; }
  [[nodiscard]] int file_descriptor() const override { return primary_; }
  void sleep(Picoseconds time) override;
  void yield() override;
  [[nodiscard]] Instant now() override;
  SendResult send(std::span<const Outgoing> batch) override;
  [[nodiscard]] std::span<Incoming> receive() override;
  [[nodiscard]] const Address& address() const override { return local_; }
  [[nodiscard]] std::uint32_t largest_datagram(const Address& to) override;
  void random(std::span<std::uint8_t> out) override;
  [[nodiscard]] const NetworkCounters& counters() const override { return counters_; }
  [[nodiscard]] SocketLimits socket_limits() const override;

 private:
  struct Buffers;

  [[nodiscard]] int entropy_socket(std::uint16_t entropy);
  /// Whether what waits in a socket leaves room for an answer to somebody unknown.
  [[nodiscard]] bool has_room_for_strangers(int fd) const;
  void compose(const Outgoing& out, std::size_t index, std::size_t& vectors, bool by_default);
  [[nodiscard]] std::span<Incoming> receive_resets();

  std::uint32_t shard_;
  std::uint32_t shards_;  ///< endpoints at this address
  std::size_t receive_buffer_;
  std::size_t send_buffer_;
  int send_room_ = 0;  ///< of it, as the kernel counts
  std::int64_t clock_start_;
  int primary_ = -1;
  int resets_ = -1;  ///< epoll: which of the entropies' sockets have one
  Instant looked_for_resets_{};
  bool may_wait_ = true;  ///< it has not been waited for room since the last receive()
  Address local_;
  std::vector<int> entropies_;
  std::unique_ptr<Buffers> buffers_;
  NetworkCounters counters_;
};

}  // namespace strack::udp
