#include "capi/address_vector.h"

#include <utility>

namespace strack::capi {

std::size_t AddressVector::AddressHash::operator()(const udp::Address& address) const {
  std::uint64_t sum = 0xcbf2'9ce4'8422'2325;  // FNV-1a
  const auto add = [&sum](std::uint8_t byte) { sum = (sum ^ byte) * 0x100'0000'01b3; };
  for (const std::uint8_t byte : address.ip) add(byte);
  add(static_cast<std::uint8_t>(address.port));
  add(static_cast<std::uint8_t>(address.port >> 8));
  return sum;
}

const AddressVector::Entry* AddressVector::entry(Handle handle) const {
  const std::uint64_t index = (handle & 0xffff'ffff) - 1;  // 0 is none, and out of range
  if (index >= entries_.size()) return nullptr;
  const Entry& one = entries_[index];
  return one.generation == handle >> 32 ? &one : nullptr;
}

AddressVector::Handle AddressVector::insert(const udp::Address& address) {
  const std::lock_guard lock(mutex_);
  std::size_t index = entries_.size();
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Entry& one = entries_[index];
  one.address = address;
  ++one.generation;
  const Handle handle = std::uint64_t{one.generation} << 32 | (index + 1);
  by_address_.try_emplace(address, handle);
  return handle;
}

std::optional<udp::Address> AddressVector::lookup(Handle handle) const {
  const std::lock_guard lock(mutex_);
  const Entry* one = entry(handle);
  return one == nullptr ? std::nullopt : std::optional(one->address);
}

std::optional<udp::ConnectionId> AddressVector::remove(Handle handle) {
  const std::lock_guard lock(mutex_);
  Entry* one = entry(handle);
  if (one == nullptr) return std::nullopt;
  const udp::ConnectionId connection = std::exchange(one->connection, {});
  by_connection_.erase(static_cast<std::uint64_t>(connection));
  const auto named = by_address_.find(one->address);
  if (named != by_address_.end() && named->second == handle) by_address_.erase(named);
  ++one->generation;
  // After so many its handles would come again: it is left alone.
  if (one->generation < 0xffff'fff0)
    free_.push_back(static_cast<std::uint32_t>((handle & 0xffff'ffff) - 1));
  return connection;
}

udp::Outcome<udp::ConnectionId> AddressVector::connection(Handle handle, udp::Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  Entry* one = entry(handle);
  if (one == nullptr) return udp::Error{"there is no such address. it was removed, or never was"};
  if (one->connection != udp::kAnyConnection) {
    if (!endpoint.peer_address(one->connection).empty()) return one->connection;
    forget_locked(one->connection);
  }
  auto made = endpoint.connect(one->address.text(), handle);
  if (!made) return made;
  one->connection = made.value();
  by_connection_.emplace(static_cast<std::uint64_t>(one->connection), handle);
  return made;
}

AddressVector::Handle AddressVector::find(udp::ConnectionId connection) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_connection_.find(static_cast<std::uint64_t>(connection));
  return found == by_connection_.end() ? 0 : found->second;
}

void AddressVector::forget(udp::ConnectionId connection) {
  const std::lock_guard lock(mutex_);
  forget_locked(connection);
}

void AddressVector::forget_locked(udp::ConnectionId connection) {
  const auto found = by_connection_.find(static_cast<std::uint64_t>(connection));
  if (found == by_connection_.end()) return;
  if (Entry* one = entry(found->second)) one->connection = {};
  by_connection_.erase(found);
}

void AddressVector::on(const udp::Completion& completion, const udp::Endpoint& endpoint) {
  switch (completion.kind) {
    case udp::Kind::closed:
    case udp::Kind::failed:
      forget(completion.connection);
      return;
    case udp::Kind::accepted:
      break;
    default:
      return;
  }
  const auto address = udp::Address::parse(endpoint.peer_address(completion.connection));
  if (!address) return;
  const std::lock_guard lock(mutex_);
  const auto named = by_address_.find(*address);
  if (named == by_address_.end()) return;
  Entry* one = entry(named->second);
  if (one == nullptr || one->connection != udp::kAnyConnection) return;
  one->connection = completion.connection;
  by_connection_.emplace(static_cast<std::uint64_t>(completion.connection), named->second);
}

}  // namespace strack::capi
