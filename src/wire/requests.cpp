// [D148] What is asked of a peer's endpoint: the payload of a write to kRequestRegion.
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "wire/wire.h"

namespace strack::wire {
namespace {

constexpr std::uint8_t kRead = 1;  ///< the kind; others are not assigned

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

}  // namespace

Result<ReadRequest, DecodeFault> decode_request(ConstBytes payload) {
  if (payload.size() < kRequestBytes) return DecodeFault::too_short;
  if (payload.size() > kRequestBytes) return DecodeFault::too_long;
  if (payload[0] != kRead) return DecodeFault::field_not_allowed;
  if (payload[1] != 0 || payload[2] != 0 || payload[3] != 0) return DecodeFault::reserved_not_zero;
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

std::array<std::uint8_t, kRequestBytes> encode_request(const ReadRequest& request) {
  STRACK_CHECK(request.region != kRequestRegion);
  STRACK_CHECK(request.reply_region != kRequestRegion);
  std::array<std::uint8_t, kRequestBytes> out{kRead};
  put(out, 4, request.length);
  put(out, 8, request.region);
  put(out, 16, request.offset);
  put(out, 24, request.reply_region);
  return out;
}

}  // namespace strack::wire
