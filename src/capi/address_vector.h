// [D149] Addresses of peers by handles, and the connections to those that something is sent to. An entry costs its bytes; a
// connection opens when it is first asked for, and again after it has ended. Any thread may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "udp/address.h"
#include "udp/endpoint.h"

namespace strack::capi {

class AddressVector {
 public:
  using Handle = std::uint64_t;  ///< 0: none

  [[nodiscard]] Handle insert(const udp::Address& address);
  /// Nothing: there is no such handle, or no more.
  [[nodiscard]] std::optional<udp::Address> lookup(Handle handle) const;
  /// Forgets it; its connection, which is the caller's to close, if it has one. Nothing: no such handle.
  [[nodiscard]] std::optional<udp::ConnectionId> remove(Handle handle);
  /// Its connection, made by `endpoint` if there is none or it has ended. Or what is wrong.
  [[nodiscard]] udp::Outcome<udp::ConnectionId> connection(Handle handle, udp::Endpoint& endpoint);
  [[nodiscard]] Handle find(udp::ConnectionId connection) const;
  /// That has ended: the next call makes another.
  void forget(udp::ConnectionId connection);
  /// What the endpoint tells: connections that have come, or ended.
  void on(const udp::Completion& completion, const udp::Endpoint& endpoint);

 private:
  struct Entry {
    udp::Address address;
    std::uint32_t generation = 0;  ///< odd: in use
    udp::ConnectionId connection{};
  };
  static_assert(sizeof(Entry) <= 48, "thousands of them cost bytes");
  struct AddressHash {
    std::size_t operator()(const udp::Address& address) const;
  };

  [[nodiscard]] const Entry* entry(Handle handle) const;
  [[nodiscard]] Entry* entry(Handle handle) {
    return const_cast<Entry*>(static_cast<const AddressVector*>(this)->entry(handle));
  }
  void forget_locked(udp::ConnectionId connection);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<udp::Address, Handle, AddressHash> by_address_;  ///< the first of each
  std::unordered_map<std::uint64_t, Handle> by_connection_;
};

}  // namespace strack::capi
