// Any bytes: decoding ends well, and what is accepted encodes to the same bytes again.
//
// So that few inputs are wasted on the first checks, each is tried three ways: as it stands; once for each
// type, with a first byte, an id and a path that fit it; and as a few changes to a valid packet. This looks for new
// branches; how often is tests/decoders' part.
#include "wire/wire.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/fuzz_input.h"
#include "wire/testing.h"

namespace strack::wire {
namespace {

void run(ConstBytes datagram) {
  const auto foreign = foreign_hello(datagram);
  STRACK_CHECK(!foreign || !decode_header(datagram).ok());
  const auto decoded = testing::decode(datagram);
  if (!decoded) {
    STRACK_CHECK(!name(decoded.error()).empty());
    return;
  }
  // [D148] What a request says is in its bytes, and all of them count.
  if (const auto* data = std::get_if<Data>(&decoded.value().body)) {
    if (const auto request = decode_request(data->payload)) {
      const auto same = encode_request(request.value());
      STRACK_CHECK(std::equal(same.begin(), same.end(), data->payload.begin()));
    }
    // [D154]
    if (const auto request = decode_atomic(data->payload)) {
      const auto same = encode_atomic(request.value());
      STRACK_CHECK(!decode_request(data->payload).ok());
      STRACK_CHECK(std::equal(same.begin(), same.end(), data->payload.begin()));
      STRACK_CHECK_OP(same.size() + request.value().operands.size(), ==, data->payload.size());
    }
  }
  // A tag is not the decoder's to keep. The room is there already: to zero it each time took most of the time.
  static testing::Buffer room(kMaxDatagramBytes);
  const std::size_t tag = decoded.value().header.sealed() ? kTagBytes : 0;
  const std::size_t size = testing::encode_to(room, decoded.value());
  STRACK_CHECK_OP(size + tag, ==, datagram.size());
  STRACK_CHECK(std::equal(datagram.begin(), datagram.end() - static_cast<std::ptrdiff_t>(tag),
                          room.begin()));
}

/// As text, too.
void show(ConstBytes datagram) {
  if (const auto decoded = testing::decode(datagram))
    STRACK_CHECK(!testing::describe(decoded.value()).empty());
}

/// Does the input's bidding on a random valid packet: cuts it, lengthens it, sets bytes of it.
void run_changed(FuzzInput input) {
  static const testing::Buffer kPayload(64, 0x5a);
  const auto seed = input.in_range<std::uint64_t>(0, ~std::uint64_t{0});
  const Type type = testing::kAllTypes[input.byte() % std::size(testing::kAllTypes)];
  testing::RandomPackets random(seed, kPayload);
  testing::Buffer datagram = testing::encode(random.make(type));
  while (!input.empty()) {
    // The first bytes are where the decisions are; beyond the terms there is only padding.
    const auto reach = input.one_of<std::size_t>(8, 48, 128, datagram.size() + 1);
    const std::size_t at = input.in_range<std::size_t>(0, std::min(reach, datagram.size() + 1) - 1);
    const std::uint8_t operation = input.byte();
    if (at >= datagram.size() || operation % 8 == 0) {
      datagram.resize(std::max(at, datagram.size()) + operation / 8, operation);
    } else if (operation % 8 == 1) {
      datagram.resize(at);
    } else if (operation % 8 < 5) {
      datagram[at] ^= static_cast<std::uint8_t>(1u << (operation >> 5));
    } else {
      datagram[at] = input.byte();
    }
    run(datagram);
  }
}

}  // namespace
}  // namespace strack::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strack::wire;
  run(ConstBytes(data, size));
  show(ConstBytes(data, size));
  run_changed(strack::FuzzInput(data, std::min<std::size_t>(size, 64)));
  if (size < kHeaderBytes) return 0;
  for (const Type type : testing::kAllTypes) {
    std::vector<std::uint8_t> datagram(data, data + size);
    datagram[0] = static_cast<std::uint8_t>(kVersion << 4 | static_cast<std::uint8_t>(type));
    datagram[1] &= 0x87;
    datagram[2] = 0;
    if (!is_session(type) || type >= Type::close) datagram[3] = 0;
    const bool unaddressed = type == Type::hello || type == Type::connect || type == Type::reset;
    std::fill_n(datagram.begin() + 4, 4, unaddressed ? std::uint8_t{0} : std::uint8_t{1});
    const bool sealed = is_session(type) && (datagram[1] & 0x80) != 0;
    if (sealed && size >= kSealedHeaderBytes) std::fill_n(datagram.begin() + 8, 3, std::uint8_t{0});
    if (type == Type::hello && size < kHelloMinBytes) datagram.resize(kHelloMinBytes);
    run(datagram);
  }
  return 0;
}
