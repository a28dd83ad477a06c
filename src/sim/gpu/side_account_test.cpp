// Several threads keep one account of a lossless switch's buffer: the sums are those of one.
#include "sim/gpu/side_account.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace strack::sim::gpu {
namespace {

SharedBufferParams three_ports() {
  SharedBufferParams params;
  params.buffer = bytes(1'000'000);
  params.reserve = bytes(4'000);
  params.headroom.assign(3, bytes(5'000));
  params.max_packet = bytes(4'160);
  return params;
}

// [D157]
TEST(SideAccount, CountsAsOneAccountDoesInAnyOrder) {
  SharedBuffer one(three_ports());
  SharedBuffer other(three_ports());
  Rng rng(5);
  struct Packet {
    std::uint32_t port;
    std::int64_t size;
  };
  std::vector<Packet> there;
  for (int window = 0; window < 200; ++window) {
    SideAccount a(other);
    SideAccount b(other);
    std::vector<Packet> coming;
    for (std::uint64_t n = rng.below(12); n > 0; --n)
      coming.push_back({static_cast<std::uint32_t>(rng.below(3)),
                        static_cast<std::int64_t>(64 + rng.below(4'097))});
    // What was there leaves after some have come, and in the other account before.
    const std::size_t leaving = static_cast<std::size_t>(rng.below(there.size() + 1));
    for (const Packet& p : coming) one.add(p.port, p.size);
    for (std::size_t i = 0; i < leaving; ++i) {
      one.release(there[i].port, there[i].size);
      (i % 2 == 0 ? a : b).release(there[i].port, there[i].size);
    }
    for (std::size_t i = coming.size(); i-- > 0;)
      (i % 2 == 0 ? b : a).add(coming[i].port, coming[i].size);
    b.close();
    a.close();
    there.erase(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(leaving));
    there.insert(there.end(), coming.begin(), coming.end());
    EXPECT_EQ(other.shared_used(), one.shared_used());
    for (std::uint32_t port = 0; port < 3; ++port)
      EXPECT_EQ(other.bytes_of(port), one.bytes_of(port));
  }
  EXPECT_GT(one.shared_used(), 0);
}

}  // namespace
}  // namespace strack::sim::gpu
