// [D148] What is asked of a peer's endpoint: the payload of a write to kRequestRegion.
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "wire/wire.h"

namespace strack::wire {
namespace {

/// Kinds; others are not assigned.
constexpr std::uint8_t kRead = 1;
constexpr std::uint8_t kAtomic = 2;

/// In network byte order.
template <class T>
T number_at(ConstBytes bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8 | bytes[at + i]);
  return value;
}

template <class T>
void put(MutableBytes out, std::size_t at, T value) {
  for (std::size_t i = sizeof(T); i-- > 0; value = static_cast<T>(value >> 8))
    out[at + i] = static_cast<std::uint8_t>(value);
}

/// What all kinds have: memory of the peer's, and where the answer goes.
Result<ReadRequest, DecodeFault> decode_where(ConstBytes payload) {
  ReadRequest request;
  request.length = number_at<std::uint32_t>(payload, 4);
  request.region = number_at<std::uint64_t>(payload, 8);
  request.offset = number_at<std::uint64_t>(payload, 16);
  request.reply_region = number_at<std::uint64_t>(payload, 24);
  if (request.region == kRequestRegion || request.reply_region == kRequestRegion)
    return DecodeFault::field_not_allowed;
  if (request.offset + request.length < request.offset) return DecodeFault::beyond_region;
  return request;
}

std::array<std::uint8_t, kRequestBytes> encode_where(std::uint8_t kind,
                                                     const ReadRequest& request) {
  STRACK_CHECK(request.region != kRequestRegion);
  STRACK_CHECK(request.reply_region != kRequestRegion);
  std::array<std::uint8_t, kRequestBytes> out{kind};
  put(out, 4, request.length);
  put(out, 8, request.region);
  put(out, 16, request.offset);
  put(out, 24, request.reply_region);
  return out;
}

}  // namespace

Result<ReadRequest, DecodeFault> decode_request(ConstBytes payload) {
  if (payload.size() < kRequestBytes) return DecodeFault::too_short;
  if (payload.size() > kRequestBytes) return DecodeFault::too_long;
  if (payload[0] != kRead) return DecodeFault::field_not_allowed;
  if (payload[1] != 0 || payload[2] != 0 || payload[3] != 0) return DecodeFault::reserved_not_zero;
  return decode_where(payload);
}

std::array<std::uint8_t, kRequestBytes> encode_request(const ReadRequest& request) {
  return encode_where(kRead, request);
}

// ---- Atomics [D154] ----

std::size_t atomic_bytes(std::uint8_t type) {
  constexpr std::array<std::uint8_t, kAtomicTypes> kBytes{1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  return type >= 1 && type <= kAtomicTypes ? kBytes[type - 1] : 0;
}

bool is_atomic(ConstBytes payload) { return !payload.empty() && payload[0] == kAtomic; }

Result<AtomicRequest, DecodeFault> decode_atomic(ConstBytes payload) {
  if (payload.size() < kRequestBytes) return DecodeFault::too_short;
  if (!is_atomic(payload)) return DecodeFault::field_not_allowed;
  if (payload[3] != 0) return DecodeFault::reserved_not_zero;
  const auto where = decode_where(payload);
  if (!where) return where.error();
  AtomicRequest request{where.value(), payload[1], payload[2], payload.subspan(kRequestBytes)};
  const std::size_t size = atomic_bytes(request.type);
  const std::size_t all = request.where.length;
  if (request.op < 1 || request.op > kAtomicOps || size == 0 || all == 0 ||
      all > kMostAtomicBytes || all % size != 0)
    return DecodeFault::field_not_allowed;
  const std::size_t operands = atomic_operands(request.op) * all;
  if (request.operands.size() < operands) return DecodeFault::too_short;
  if (request.operands.size() > operands) return DecodeFault::too_long;
  return request;
}

std::array<std::uint8_t, kRequestBytes> encode_atomic(const AtomicRequest& request) {
  auto out = encode_where(kAtomic, request.where);
  out[1] = request.op;
  out[2] = request.type;
  return out;
}

}  // namespace strack::wire
