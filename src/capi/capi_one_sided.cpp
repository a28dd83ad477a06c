// The C interface's registered memory, writes and reads, and messages in pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capi/calls.h"
#include "capi/endpoint.h"
#include "capi/strack.h"

using namespace strack::capi;

namespace {

bool are_pieces(const strack_iovec* pieces, std::size_t count) {
  if (count > STRACK_MOST_PIECES || (pieces == nullptr && count > 0)) return false;
  return std::all_of(pieces, pieces + count, [](const strack_iovec& one) {
    return one.base != nullptr || one.length == 0;
  });
}

}  // namespace

strack_status strack_sendv(strack_endpoint* endpoint, strack_connection connection, uint64_t tag,
                           const strack_iovec* pieces, size_t count, uint64_t cookie) {
  if (endpoint == nullptr || !are_pieces(pieces, count)) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    std::vector<std::span<const std::byte>> all;
    all.reserve(count);
    for (const strack_iovec& one : std::span(pieces, count))
      all.push_back(bytes(static_cast<const void*>(one.base), one.length));
    return status_of(endpoint->endpoint.sendv(ConnectionId{connection}, tag, all, cookie));
  });
}

strack_status strack_post_receivev(strack_endpoint* endpoint, strack_connection connection,
                                   uint64_t tag, uint64_t tag_mask, const strack_iovec* pieces,
                                   size_t count, uint64_t cookie) {
  if (endpoint == nullptr || !are_pieces(pieces, count)) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    std::vector<std::span<std::byte>> all;
    all.reserve(count);
    for (const strack_iovec& one : std::span(pieces, count))
      all.push_back(bytes(one.base, one.length));
    return status_of(endpoint->endpoint.post_receivev(ConnectionId{connection},
                                                      udp::Match{tag, tag_mask}, all, cookie));
  });
}

int32_t strack_peek(const strack_endpoint* endpoint, strack_connection connection, uint64_t tag,
                    uint64_t tag_mask, strack_completion* message) {
  if (endpoint == nullptr || message == nullptr) return STRACK_INVALID_ARGUMENT;
  *message = {};
  return guarded([&] {
    const auto found = endpoint->endpoint.peek(ConnectionId{connection}, udp::Match{tag, tag_mask});
    if (found) *message = completion_of(*found);
    return std::int32_t{found ? 1 : 0};
  });
}

strack_status strack_register_region(strack_endpoint* endpoint, strack_connection connection,
                                     void* memory, size_t length, strack_region* region,
                                     char* error, size_t error_size) {
  return strack_register_memory(endpoint, connection, memory, length, STRACK_ACCESS_WRITE, region,
                                error, error_size);
}

strack_status strack_register_memory(strack_endpoint* endpoint, strack_connection connection,
                                     void* memory, size_t length, uint32_t access,
                                     strack_region* region, char* error, size_t error_size) {
  Complaint complaint(error, error_size);
  if (region == nullptr) return invalid(complaint, "region is NULL. it needs a place to store");
  *region = 0;
  if (endpoint == nullptr) return invalid(complaint, kNoEndpoint);
  if (memory == nullptr) return invalid(complaint, "memory is NULL. a region needs memory");
  if (length > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(memory))
    return invalid(complaint, "length is " + std::to_string(length) +
                                  ". no memory that begins there is so long");
  if (access == 0 || access > (STRACK_ACCESS_WRITE | STRACK_ACCESS_READ)) {
    return invalid(complaint, "access is " + std::to_string(access) +
                                  ". it takes STRACK_ACCESS_WRITE, STRACK_ACCESS_READ or both");
  }
  static_assert(static_cast<unsigned>(udp::Access::write) == STRACK_ACCESS_WRITE);
  static_assert(static_cast<unsigned>(udp::Access::read) == STRACK_ACCESS_READ);
  return guarded(complaint, [&]() -> strack_status {
    const auto registered = endpoint->endpoint.register_region(
        bytes(memory, length), ConnectionId{connection}, static_cast<udp::Access>(access));
    if (!registered) {
      complaint.say(registered.error().text);
      return STRACK_FAILED_CALL;
    }
    *region = registered.value().id;
    return STRACK_OK;
  });
}

strack_status strack_unregister_region(strack_endpoint* endpoint, strack_region region) {
  if (endpoint == nullptr) return STRACK_INVALID_ARGUMENT;
  return guarded(
      [&] { return status_of(endpoint->endpoint.unregister_region(udp::RegionKey{region})); });
}

strack_status strack_write(strack_endpoint* endpoint, strack_connection connection,
                           strack_region region, uint64_t offset, const void* data, size_t length,
                           uint64_t cookie) {
  if (endpoint == nullptr || (data == nullptr && length > 0)) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    return status_of(endpoint->endpoint.write(ConnectionId{connection}, udp::RegionKey{region},
                                              offset, bytes(data, length), cookie));
  });
}

strack_status strack_write_with_data(strack_endpoint* endpoint, strack_connection connection,
                                     strack_region region, uint64_t offset, const void* data,
                                     size_t length, uint64_t immediate, uint64_t cookie) {
  if (endpoint == nullptr || (data == nullptr && length > 0)) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    return status_of(endpoint->endpoint.write(ConnectionId{connection}, udp::RegionKey{region},
                                              offset, bytes(data, length), immediate, cookie));
  });
}

strack_status strack_read(strack_endpoint* endpoint, strack_connection connection,
                          strack_region region, uint64_t offset, void* memory, size_t length,
                          uint64_t cookie) {
  if (endpoint == nullptr || (memory == nullptr && length > 0)) return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    return status_of(endpoint->endpoint.read(ConnectionId{connection}, udp::RegionKey{region},
                                             offset, bytes(memory, length), cookie));
  });
}

strack_status strack_atomic(strack_endpoint* endpoint, strack_connection connection,
                            strack_region region, uint64_t offset, uint32_t operation,
                            uint32_t type, void* before, const void* operands, const void* compared,
                            size_t length, uint64_t cookie) {
  static_assert(static_cast<unsigned>(udp::AtomicOp::read) == STRACK_ATOMIC_READ);
  static_assert(static_cast<unsigned>(udp::AtomicOp::swap_masked) == STRACK_ATOMIC_SWAP_MASKED);
  static_assert(static_cast<unsigned>(udp::ValueType::double_float) == STRACK_DOUBLE);
  static_assert(udp::kMostAtomicBytes == STRACK_MOST_ATOMIC_BYTES);
  if (endpoint == nullptr || before == nullptr || operation > STRACK_ATOMIC_SWAP_MASKED ||
      type > STRACK_DOUBLE)
    return STRACK_INVALID_ARGUMENT;
  return guarded([&] {
    return status_of(endpoint->endpoint.atomic(
        ConnectionId{connection}, udp::RegionKey{region}, offset,
        static_cast<udp::AtomicOp>(operation), static_cast<udp::ValueType>(type),
        bytes(before, length), bytes(operands, operands == nullptr ? 0 : length),
        bytes(compared, compared == nullptr ? 0 : length), cookie));
  });
}
