// What an endpoint counts and tells: of connections, of their paths, of all of it, and of its sockets. Installed beside
// <strack/endpoint.h>, which has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strack::udp {

/// Of one connection, since it came up.
struct ConnectionStatistics {
  // The sender's view of the network.
  std::uint64_t cwnd_bytes = 0;
  std::uint64_t max_cwnd_bytes = 0;
  std::uint64_t inflight_bytes = 0;
  std::uint64_t rtt_ns = 0;         ///< of the newest SACK, without the receiver's hold time
  std::uint64_t base_rtt_ns = 0;    ///< the lowest seen
  std::uint64_t avg_qdelay_ns = 0;  ///< smoothed queueing delay
  std::uint64_t target_qdelay_ns = 0;
  std::uint32_t payload_bytes = 0;  ///< of a full packet
  /// The largest datagram that is known to arrive; a full packet that needs more goes in pieces.
  std::uint32_t datagram_bytes = 0;
  std::uint32_t paths = 0;         ///< entropies that packets may take now
  std::uint32_t paths_marked = 0;  ///< of these, passed over for their mark
  std::uint32_t paths_barred = 0;  ///< of these, left out for a while since packets were lost there
  std::uint64_t path_rate_bps = 0;  ///< as measured at set-up, at most rate_bps
  std::uint64_t paths_used = 0;     ///< different entropies that packets have taken so far
  bool keyed = false;
  std::uint32_t rekeyings = 0;  ///< how often this side has changed its key
  // Sent.
  std::uint64_t messages_sent = 0;  ///< acknowledged
  std::uint64_t message_bytes_sent = 0;
  std::uint64_t data_packets_sent = 0;
  std::uint64_t data_bytes_sent = 0;  ///< payload, retransmissions included
  std::uint64_t retransmissions = 0;
  std::uint64_t loss_episodes = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t probes_sent = 0;
  std::uint64_t sacks_received = 0;
  std::uint64_t marks_echoed = 0;   ///< SACKs that told of a mark
  std::uint64_t credit_stalls = 0;  ///< times that sending waited for the peer's receives
  // Received.
  std::uint64_t messages_received = 0;
  std::uint64_t message_bytes_received = 0;
  std::uint64_t data_packets_received = 0;  ///< new ones
  std::uint64_t duplicates_received = 0;
  std::uint64_t marks_received = 0;  ///< data packets that arrived marked
  std::uint64_t sacks_sent = 0;
  std::uint64_t packets_held = 0;      ///< waited in the pool for their buffer
  std::uint64_t packets_unplaced = 0;  ///< dropped since there was no buffer
};

/// Of one entropy of a connection, as the sender sees it.
struct PathStatistics {
  std::uint32_t path = 0;
  std::uint64_t packets = 0;  ///< of data, those sent again included
  std::uint64_t lost = 0;     ///< of these, sent again later, by whichever path
  std::uint64_t sacks = 0;    ///< answers to its packets
  std::uint64_t marks = 0;    ///< of these, that told of a mark
  std::uint64_t rtt_ns = 0;   ///< the mean of them
  std::uint64_t lowest_rtt_ns = 0;
};

/// Of a whole endpoint, since it was opened; ended connections included.
struct EndpointStatistics {
  std::uint64_t connections = 0;  ///< up now
  std::uint64_t connections_made = 0;
  std::uint64_t connections_failed = 0;
  std::uint64_t datagrams_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t bytes_sent = 0;  ///< UDP payload
  std::uint64_t bytes_received = 0;
  std::uint64_t send_calls = 0;  ///< system calls
  std::uint64_t receive_calls = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t send_errors = 0;  ///< a datagram the kernel would not take: lost like any other
  std::uint64_t send_full = 0;    ///< the same because its buffer was full
  // Datagrams refused, by cause.
  std::uint64_t refused_malformed = 0;  ///< not of this protocol, or contradicts itself
  std::uint64_t refused_unknown = 0;    ///< a connection that does not exist
  std::uint64_t refused_forged = 0;     ///< does not open with the key
  std::uint64_t refused_replayed = 0;   ///< came before
  std::uint64_t refused_set_up = 0;     ///< cookies and terms that are not right
  std::uint64_t refused_untrusted = 0;  ///< set-ups of hosts whose key is not among the trusted
  std::uint64_t rejected = 0;           ///< set-ups turned away: no room, no key, not listening
  std::uint64_t challenges_sent = 0;
  std::uint64_t held_bytes = 0;  ///< the pool's memory now in use
};

/// [D144] What the system has given an endpoint of what it asked for; of several threads, the least.
struct SocketLimits {
  std::uint64_t receive_buffer =
      0;  ///< bytes, as the kernel counts them; 0: there is no socket yet
  std::uint64_t receive_buffer_asked = 0;
  std::uint64_t send_buffer = 0;
  std::uint64_t send_buffer_asked = 0;
  std::uint32_t paths_sharing =
      0;  ///< paths so far that got no port of their own, and go by the primary one
};

}  // namespace strack::udp
