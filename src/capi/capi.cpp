// The C interface: checks what C cannot, turns values of one side into those of the other, and lets no
// exception out. Everything else is the endpoint's.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/calls.h"
#include "capi/endpoint.h"
#include "capi/status_texts.h"
#include "capi/strack.h"
#include "udp/endpoint.h"

namespace {

using namespace strack::capi;
using strack::capi::kStatusTexts;
using strack::capi::StatusText;
using udp::ConnectionId;

// --- Structs that travel with their size ----------------------------------------------------------

// No padding, so that a field added later cannot lie where an older program left bytes unset.
static_assert(sizeof(strack_options) ==
              sizeof(std::size_t) * 5 + 6 * sizeof(void*) + 2 * 8 + 16 * sizeof(std::uint32_t));
static_assert(sizeof(strack_options) % sizeof(std::uint64_t) == 0);
static_assert(sizeof(strack_completion) == 64);

bool is_options_size(std::size_t size) {
  return size >= sizeof(std::size_t) && size % sizeof(std::uint64_t) == 0;
}

strack_options default_options() {
  const udp::EndpointOptions from;
  strack_options to{};
  to.size = sizeof(to);
  to.user_data = from.user_data;
  to.rate_bps = from.rate_bps;
  to.held_bytes = from.held_bytes;
  to.receive_buffer = from.receive_buffer;
  to.send_buffer = from.send_buffer;
  to.insecure = from.insecure ? 1 : 0;
  to.paths = from.paths;
  to.burst = from.burst;
  to.max_payload = from.max_payload;
  to.oblivious = from.oblivious ? 1 : 0;
  to.message_slots = from.message_slots;
  to.unexpected_messages = from.unexpected_messages;
  to.max_connections = from.max_connections;
  to.max_receives = from.max_receives;
  to.max_regions = from.max_regions;
  to.complete_in_order = from.complete_in_order ? 1 : 0;
  to.peer_timeout_ms = static_cast<std::uint32_t>(from.peer_timeout.count());
  to.connect_timeout_ms = static_cast<std::uint32_t>(from.connect_timeout.count());
  to.spin_us = static_cast<std::uint32_t>(from.spin.count());
  return to;
}

udp::EndpointOptions endpoint_options(const strack_options& from) {
  udp::EndpointOptions to;
  if (from.listen != nullptr) to.listen = from.listen;
  if (from.bind != nullptr) to.bind = from.bind;
  const auto take = [](std::optional<udp::Key>& key, const unsigned char* bytes) {
    if (bytes != nullptr) std::memcpy(key.emplace().data(), bytes, STRACK_KEY_SIZE);
  };
  take(to.key, from.key);
  take(to.identity, from.identity);
  take(to.peer, from.peer);
  to.trusted.resize(from.trusted == nullptr ? 0 : from.trusted_count);
  if (!to.trusted.empty())
    std::memcpy(to.trusted.data(), from.trusted, to.trusted.size() * STRACK_KEY_SIZE);
  to.insecure = from.insecure != 0;
  to.user_data = from.user_data;
  to.paths = from.paths;
  to.burst = from.burst;
  to.rate_bps = from.rate_bps;
  to.max_payload = from.max_payload;
  to.oblivious = from.oblivious != 0;
  to.message_slots = from.message_slots;
  to.unexpected_messages = from.unexpected_messages;
  to.max_connections = from.max_connections;
  to.max_receives = from.max_receives;
  to.max_regions = from.max_regions;
  to.held_bytes = from.held_bytes;
  to.complete_in_order = from.complete_in_order != 0;
  to.peer_timeout = std::chrono::milliseconds(from.peer_timeout_ms);
  to.connect_timeout = std::chrono::milliseconds(from.connect_timeout_ms);
  to.spin = std::chrono::microseconds(from.spin_us);
  to.receive_buffer = from.receive_buffer;
  to.send_buffer = from.send_buffer;
  to.threads = from.threads;
  return to;
}

template <class Statistics>
strack_status give_statistics(const Statistics& from, Statistics* to, std::size_t size) {
  std::memset(to, 0, size);
  std::memcpy(to, &from, std::min(size, sizeof(Statistics)));
  return STRACK_OK;
}

}  // namespace

// --- Versions, texts ------------------------------------------------------------------------------

uint32_t strack_api_version(void) { return STRACK_API_VERSION; }

const char* strack_version(void) { return STRACK_VERSION; }

const char* strack_error_text(strack_status status) {
  for (const StatusText& known : kStatusTexts) {
    if (known.status == status) return known.text;
  }
  return "not a status of this library";
}

const char* strack_kind_text(uint32_t kind) {
  // By their numbers, which begin with 1 and are promised.
  static_assert(STRACK_SENT == 1 && STRACK_ATOMIC == 10);
  constexpr std::array kTexts{"sent",        "written", "received", "connected", "accepted",
                              "peer closed", "closed",  "failed",   "read",      "atomic"};
  return kind >= 1 && kind <= kTexts.size() ? kTexts[kind - 1] : "not a kind of this library";
}

// --- Opening --------------------------------------------------------------------------------------

strack_status strack_options_init_size(strack_options* options, size_t size) {
  if (options == nullptr || !is_options_size(size)) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    strack_options defaults = default_options();
    defaults.size = size;
    std::memset(static_cast<void*>(options), 0, size);
    std::memcpy(static_cast<void*>(options), &defaults, std::min(size, sizeof(defaults)));
    return strack_status{STRACK_OK};
  });
}

strack_status strack_open(const strack_options* options, strack_endpoint** endpoint, char* error,
                          size_t error_size) {
  Complaint complaint(error, error_size);
  if (endpoint == nullptr) return invalid(complaint, "endpoint is NULL. it needs a place to store");
  *endpoint = nullptr;
  if (options == nullptr) {
    return invalid(complaint, "options is NULL. it needs what strack_options_init filled");
  }
  return guarded(complaint, [&]() -> strack_status {
    const std::size_t size = options->size;
    if (!is_options_size(size)) {
      return invalid(complaint, "options.size is " + std::to_string(size) +
                                    ". call strack_options_init first, which sets it to " +
                                    std::to_string(sizeof(strack_options)));
    }
    // A newer program's further fields can only be ignored when they are as this library's
    // strack_options_init_size left them.
    const auto* raw = reinterpret_cast<const unsigned char*>(options);
    for (std::size_t at = sizeof(strack_options); at < size; ++at) {
      if (raw[at] != 0) {
        return invalid(complaint, "options has a value at byte " + std::to_string(at) +
                                      ", which libstrack " STRACK_VERSION " does not know (" +
                                      std::to_string(sizeof(strack_options)) +
                                      " bytes). a newer library would");
      }
    }
    // An older program's missing fields keep their defaults.
    strack_options known = default_options();
    std::memcpy(static_cast<void*>(&known), options, std::min(size, sizeof(known)));
    if (known.reserved != 0) {
      return invalid(complaint, "options.reserved is " + std::to_string(known.reserved) +
                                    ". this library knows 0 only");
    }

    auto opened = udp::Endpoint::open(endpoint_options(known));
    if (!opened) {
      complaint.say(opened.error().text);
      return STRACK_FAILED_CALL;
    }
    *endpoint = new strack_endpoint{.endpoint = std::move(opened.value())};
    return STRACK_OK;
  });
}

void strack_destroy(strack_endpoint* endpoint) { delete endpoint; }

// --- Addresses and keys ---------------------------------------------------------------------------

int64_t strack_local_address(const strack_endpoint* endpoint, char* address, size_t size) {
  if (endpoint == nullptr || !is_text_buffer(address, size)) return STRACK_INVALID_ARGUMENT;
  return guarded([&] { return give_text(endpoint->endpoint.local_address(), address, size); });
}

int32_t strack_local_port(const strack_endpoint* endpoint) {
  if (endpoint == nullptr) return STRACK_INVALID_ARGUMENT;
  return guarded([&] { return std::int32_t{endpoint->endpoint.local_port()}; });
}

int64_t strack_peer_address(const strack_endpoint* endpoint, strack_connection connection,
                            char* address, size_t size) {
  if (endpoint == nullptr || !is_text_buffer(address, size)) return STRACK_INVALID_ARGUMENT;
  return guarded([&]() -> std::int64_t {
    const std::string text = endpoint->endpoint.peer_address(ConnectionId{connection});
    if (text.empty()) {
      address[0] = '\0';
      return STRACK_UNKNOWN_CONNECTION;
    }
    return give_text(text, address, size);
  });
}

strack_status strack_resolve(const char* host_and_port, uint16_t default_port, char* address,
                             size_t size, char* error, size_t error_size) {
  Complaint complaint(error, error_size);
  if (!is_text_buffer(address, size)) {
    return invalid(complaint, "address has no room. it needs STRACK_ADDRESS_SIZE bytes");
  }
  address[0] = '\0';
  if (host_and_port == nullptr) {
    return invalid(complaint, "host_and_port is NULL. it needs a text such as \"node7:4794\"");
  }
  return guarded(complaint, [&]() -> strack_status {
    const auto resolved = udp::resolve(host_and_port, default_port);
    if (!resolved) {
      complaint.say(resolved.error().text);
      return STRACK_FAILED_CALL;
    }
    if (give_text(resolved.value(), address, size) < 0) {
      complaint.say("address has room for " + std::to_string(size) + " bytes, and needs " +
                    std::to_string(resolved.value().size() + 1));
      return STRACK_BUFFER_TOO_SMALL;
    }
    return STRACK_OK;
  });
}

strack_status strack_parse_key(const char* hex, unsigned char key[STRACK_KEY_SIZE], char* error,
                               size_t error_size) {
  Complaint complaint(error, error_size);
  if (key == nullptr) return invalid(complaint, "key is NULL. it needs STRACK_KEY_SIZE bytes");
  if (hex == nullptr) return invalid(complaint, "hex is NULL. it needs 64 hexadecimal digits");
  return guarded(complaint, [&]() -> strack_status {
    const auto parsed = udp::parse_key(hex);
    if (!parsed) {
      complaint.say(parsed.error().text);
      return STRACK_FAILED_CALL;
    }
    std::memcpy(key, parsed.value().data(), STRACK_KEY_SIZE);
    return STRACK_OK;
  });
}

// --- Connections ----------------------------------------------------------------------------------

strack_status strack_connect(strack_endpoint* endpoint, const char* address, uint64_t cookie,
                             strack_connection* connection, char* error, size_t error_size) {
  return strack_connect_to(endpoint, address, cookie, nullptr, connection, error, error_size);
}

strack_status strack_connect_to(strack_endpoint* endpoint, const char* address, uint64_t cookie,
                                const unsigned char* peer, strack_connection* connection,
                                char* error, size_t error_size) {
  Complaint complaint(error, error_size);
  if (connection == nullptr) {
    return invalid(complaint, "connection is NULL. it needs a place to store");
  }
  *connection = STRACK_ANY_CONNECTION;
  if (endpoint == nullptr) return invalid(complaint, kNoEndpoint);
  if (address == nullptr) {
    return invalid(complaint, "address is NULL. it needs a text such as \"192.0.2.7:4794\"");
  }
  return guarded(complaint, [&]() -> strack_status {
    std::optional<udp::Key> key;
    if (peer != nullptr) std::memcpy(key.emplace().data(), peer, STRACK_KEY_SIZE);
    const auto connected = endpoint->endpoint.connect(address, cookie, key);
    if (!connected) {
      complaint.say(connected.error().text);
      return STRACK_FAILED_CALL;
    }
    *connection = static_cast<strack_connection>(connected.value());
    return STRACK_OK;
  });
}

strack_status strack_close(strack_endpoint* endpoint, strack_connection connection) {
  if (endpoint == nullptr) return STRACK_INVALID_ARGUMENT;
  return guarded([&] { return status_of(endpoint->endpoint.close(ConnectionId{connection})); });
}

strack_status strack_abort(strack_endpoint* endpoint, strack_connection connection) {
  if (endpoint == nullptr) return STRACK_INVALID_ARGUMENT;
  return guarded([&] { return status_of(endpoint->endpoint.abort(ConnectionId{connection})); });
}

int64_t strack_connections(const strack_endpoint* endpoint, strack_connection* connections,
                           size_t capacity) {
  if (endpoint == nullptr || (connections == nullptr && capacity > 0)) {
    return STRACK_INVALID_ARGUMENT;
  }
  return guarded([&]() -> std::int64_t {
    const std::uint64_t up = endpoint->endpoint.statistics().connections;
    std::vector<ConnectionId> found(std::min<std::uint64_t>(capacity, up));
    const std::size_t count = std::min(endpoint->endpoint.connections(found), found.size());
    std::transform(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), connections,
                   [](ConnectionId id) { return static_cast<strack_connection>(id); });
    return static_cast<std::int64_t>(count);
  });
}

// --- Messages --------------------------------------------------------------------------

strack_status strack_send(strack_endpoint* endpoint, strack_connection connection, uint64_t tag,
                          const void* message, size_t length, uint64_t cookie) {
  if (endpoint == nullptr || (message == nullptr && length > 0)) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    return status_of(
        endpoint->endpoint.send(ConnectionId{connection}, tag, bytes(message, length), cookie));
  });
}

strack_status strack_post_receive(strack_endpoint* endpoint, strack_connection connection,
                                  uint64_t tag, uint64_t tag_mask, void* buffer, size_t length,
                                  uint64_t cookie) {
  if (endpoint == nullptr || (buffer == nullptr && length > 0)) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    return status_of(endpoint->endpoint.post_receive(
        ConnectionId{connection}, udp::Match{tag, tag_mask}, bytes(buffer, length), cookie));
  });
}

int64_t strack_cancel_receives(strack_endpoint* endpoint, uint64_t cookie) {
  if (endpoint == nullptr) return STRACK_INVALID_ARGUMENT;
  return guarded(
      [&] { return static_cast<std::int64_t>(endpoint->endpoint.cancel_receives(cookie)); });
}

// --- Work and its results -------------------------------------------------------------------------

int32_t strack_poll(strack_endpoint* endpoint) {
  if (endpoint == nullptr) return STRACK_INVALID_ARGUMENT;
  return guarded([&] { return std::int32_t{endpoint->endpoint.poll() ? 1 : 0}; });
}

int32_t strack_wait(strack_endpoint* endpoint, int64_t timeout_ns) {
  if (endpoint == nullptr || timeout_ns < 0) return STRACK_INVALID_ARGUMENT;
  // 146 years, to which a clock's time can be added.
  constexpr std::int64_t kLongest = std::int64_t{1} << 62;
  return guarded([&] {
    const std::chrono::nanoseconds timeout(std::min(timeout_ns, kLongest));
    return std::int32_t{endpoint->endpoint.wait(timeout) ? 1 : 0};
  });
}

int64_t strack_completions(strack_endpoint* endpoint, strack_completion* completions,
                           size_t capacity) {
  if (endpoint == nullptr || (completions == nullptr && capacity > 0)) {
    return STRACK_INVALID_ARGUMENT;
  }
  return guarded([&] {
    std::array<udp::Completion, 64> some;
    std::size_t count = 0;
    while (count < capacity) {
      const std::size_t room = std::min(some.size(), capacity - count);
      const auto taken = endpoint->endpoint.completions(std::span(some).first(room));
      for (const udp::Completion& one : taken) endpoint->addresses.on(one, endpoint->endpoint);
      std::transform(taken.begin(), taken.end(), completions + count, completion_of);
      count += taken.size();
      if (taken.size() < room) break;
    }
    return static_cast<std::int64_t>(count);
  });
}

int strack_file_descriptor(const strack_endpoint* endpoint) {
  if (endpoint == nullptr) return -1;
  const int descriptor = guarded([&] { return endpoint->endpoint.file_descriptor(); });
  return std::max(descriptor, -1);
}

int64_t strack_next_deadline(const strack_endpoint* endpoint) {
  if (endpoint == nullptr) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    // Negative would read as an error; a deadline that is over is now.
    return std::max(std::int64_t{endpoint->endpoint.next_deadline().count()}, std::int64_t{0});
  });
}

// --- Statistics -----------------------------------------------------------------------------------

strack_status strack_read_connection_statistics(const strack_endpoint* endpoint,
                                                strack_connection connection,
                                                strack_connection_statistics* statistics,
                                                size_t size) {
  if (endpoint == nullptr || statistics == nullptr || size == 0) return STRACK_INVALID_ARGUMENT;
  return guarded([&]() -> strack_status {
    const auto found = endpoint->endpoint.statistics(ConnectionId{connection});
    if (!found) {
      std::memset(static_cast<void*>(statistics), 0, size);
      return STRACK_UNKNOWN_CONNECTION;
    }
    const udp::ConnectionStatistics& from = found.value();
    strack_connection_statistics to{};
    to.cwnd_bytes = from.cwnd_bytes;
    to.max_cwnd_bytes = from.max_cwnd_bytes;
    to.inflight_bytes = from.inflight_bytes;
    to.rtt_ns = from.rtt_ns;
    to.base_rtt_ns = from.base_rtt_ns;
    to.avg_qdelay_ns = from.avg_qdelay_ns;
    to.target_qdelay_ns = from.target_qdelay_ns;
    to.payload_bytes = from.payload_bytes;
    to.paths = from.paths;
    to.paths_marked = from.paths_marked;
    to.paths_used = from.paths_used;
    to.keyed = from.keyed ? 1 : 0;
    to.messages_sent = from.messages_sent;
    to.message_bytes_sent = from.message_bytes_sent;
    to.data_packets_sent = from.data_packets_sent;
    to.data_bytes_sent = from.data_bytes_sent;
    to.retransmissions = from.retransmissions;
    to.loss_episodes = from.loss_episodes;
    to.timeouts = from.timeouts;
    to.probes_sent = from.probes_sent;
    to.sacks_received = from.sacks_received;
    to.marks_echoed = from.marks_echoed;
    to.credit_stalls = from.credit_stalls;
    to.messages_received = from.messages_received;
    to.message_bytes_received = from.message_bytes_received;
    to.data_packets_received = from.data_packets_received;
    to.duplicates_received = from.duplicates_received;
    to.marks_received = from.marks_received;
    to.sacks_sent = from.sacks_sent;
    to.packets_held = from.packets_held;
    to.packets_unplaced = from.packets_unplaced;
    to.paths_barred = from.paths_barred;
    to.path_rate_bps = from.path_rate_bps;
    to.rekeyings = from.rekeyings;
    return give_statistics(to, statistics, size);
  });
}

strack_status strack_read_endpoint_statistics(const strack_endpoint* endpoint,
                                              strack_endpoint_statistics* statistics, size_t size) {
  if (endpoint == nullptr || statistics == nullptr || size == 0) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    const udp::EndpointStatistics from = endpoint->endpoint.statistics();
    strack_endpoint_statistics to{};
    to.connections = from.connections;
    to.connections_made = from.connections_made;
    to.connections_failed = from.connections_failed;
    to.datagrams_sent = from.datagrams_sent;
    to.datagrams_received = from.datagrams_received;
    to.bytes_sent = from.bytes_sent;
    to.bytes_received = from.bytes_received;
    to.send_calls = from.send_calls;
    to.receive_calls = from.receive_calls;
    to.sleeps = from.sleeps;
    to.send_errors = from.send_errors;
    to.send_full = from.send_full;
    to.refused_malformed = from.refused_malformed;
    to.refused_unknown = from.refused_unknown;
    to.refused_forged = from.refused_forged;
    to.refused_replayed = from.refused_replayed;
    to.refused_set_up = from.refused_set_up;
    to.rejected = from.rejected;
    to.challenges_sent = from.challenges_sent;
    to.held_bytes = from.held_bytes;
    to.refused_untrusted = from.refused_untrusted;
    return give_statistics(to, statistics, size);
  });
}
