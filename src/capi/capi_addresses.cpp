// The C interface's address vector.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "capi/calls.h"
#include "capi/endpoint.h"
#include "capi/strack.h"
#include "udp/address.h"

using namespace strack::capi;

int64_t strack_av_insert(strack_endpoint* endpoint, const char* const* addresses, size_t count,
                         uint16_t default_port, strack_address* handles, char* error,
                         size_t error_size) {
  Complaint complaint(error, error_size);
  if (endpoint == nullptr) return invalid(complaint, kNoEndpoint);
  if (count > 0 && (addresses == nullptr || handles == nullptr))
    return invalid(complaint, "addresses or handles is NULL. both need room for count of them");
  return guarded(complaint, [&]() -> std::int64_t {
    std::int64_t inserted = 0;
    bool told = false;
    for (std::size_t i = 0; i < count; ++i) {
      handles[i] = 0;
      std::string why = "an address is NULL";
      if (addresses[i] != nullptr) {
        // The resolver is asked for names only.
        std::string text = addresses[i];
        auto address = udp::Address::parse(text);
        if (!address) {
          const auto resolved = udp::resolve(text, default_port);
          if (resolved) address = udp::Address::parse(resolved.value());
          if (!resolved) why = resolved.error().text;
        }
        if (address && address->port == 0) why = "address " + text + " has port 0";
        if (address && address->is_any()) why = "address " + text + " is nobody's";
        if (address && address->port != 0 && !address->is_any()) {
          handles[i] = endpoint->addresses.insert(*address);
          ++inserted;
          continue;
        }
      }
      if (!told) complaint.say(why);
      told = true;
    }
    return inserted;
  });
}

int64_t strack_av_lookup(const strack_endpoint* endpoint, strack_address handle, char* address,
                         size_t size) {
  if (endpoint == nullptr || !is_text_buffer(address, size)) return STRACK_INVALID_ARGUMENT;
  return guarded([&]() -> std::int64_t {
    const auto found = endpoint->addresses.lookup(handle);
    if (!found) {
      address[0] = '\0';
      return STRACK_UNKNOWN_CONNECTION;
    }
    return give_text(found->text(), address, size);
  });
}

strack_status strack_av_remove(strack_endpoint* endpoint, strack_address handle) {
  if (endpoint == nullptr) return STRACK_INVALID_ARGUMENT;
  return guarded([&]() -> strack_status {
    const auto connection = endpoint->addresses.remove(handle);
    if (!connection) return STRACK_UNKNOWN_CONNECTION;
    // It may have ended meanwhile, which is as good.
    if (*connection != udp::kAnyConnection) endpoint->endpoint.close(*connection);
    return STRACK_OK;
  });
}

strack_status strack_av_connection(strack_endpoint* endpoint, strack_address handle,
                                   strack_connection* connection, char* error, size_t error_size) {
  Complaint complaint(error, error_size);
  if (connection == nullptr) {
    return invalid(complaint, "connection is NULL. it needs a place to store");
  }
  *connection = STRACK_ANY_CONNECTION;
  if (endpoint == nullptr) return invalid(complaint, kNoEndpoint);
  return guarded(complaint, [&]() -> strack_status {
    const auto found = endpoint->addresses.connection(handle, endpoint->endpoint);
    if (!found) {
      complaint.say(found.error().text);
      return endpoint->addresses.lookup(handle) ? STRACK_FAILED_CALL : STRACK_UNKNOWN_CONNECTION;
    }
    *connection = static_cast<strack_connection>(found.value());
    return STRACK_OK;
  });
}

strack_address strack_av_find(const strack_endpoint* endpoint, strack_connection connection) {
  if (endpoint == nullptr) return 0;
  return endpoint->addresses.find(udp::ConnectionId{connection});
}

strack_status strack_av_send(strack_endpoint* endpoint, strack_address handle, uint64_t tag,
                             const void* message, size_t length, uint64_t cookie) {
  if (endpoint == nullptr || (message == nullptr && length > 0)) return STRACK_INVALID_ARGUMENT;
  strack_status status = STRACK_OK;
  // One that has just ended, or that the program has closed, makes room for another.
  for (int attempt = 0; attempt < 2; ++attempt) {
    strack_connection connection = STRACK_ANY_CONNECTION;
    status = strack_av_connection(endpoint, handle, &connection, nullptr, 0);
    if (status != STRACK_OK) return status;
    status = strack_send(endpoint, connection, tag, message, length, cookie);
    if (status != STRACK_UNKNOWN_CONNECTION && status != STRACK_CLOSING) return status;
    endpoint->addresses.forget(udp::ConnectionId{connection});
  }
  return status;
}
