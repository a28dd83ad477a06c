#include "sim/net/shared_buffer.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace strack::sim {
namespace {

using Verdict = SharedBuffer::Verdict;

/// Four ports with 1000 bytes of reserve and 5000 of headroom each; they share 80'000, so one port
/// alone may fill an eighth of what is free: 10'000 at first.
SharedBufferParams four_ports() {
  SharedBufferParams params;
  params.buffer = bytes(80'000 + 4 * 6'000);
  params.alpha = {1, 8};
  params.reserve = bytes(1'000);
  params.xon_offset = bytes(500);
  params.headroom.assign(4, bytes(5'000));
  params.max_packet = bytes(4'160);
  return params;
}

/// Admits a packet and pauses as a switch does; true if it had to.
bool arrives(SharedBuffer& buffer, std::uint32_t port, std::int64_t size,
             Verdict expected = Verdict::shared) {
  const Verdict verdict = buffer.admit(port, size);
  EXPECT_EQ(verdict, expected);
  const bool pause = buffer.must_pause(port, verdict);
  if (pause) buffer.pause(port);
  return pause;
}

// [R.pfc.headroom] There and back at 400 Gb/s and 1 us, three packets of 4160 bytes and a frame.
TEST(SharedBuffer, Headroom_OfALink) {
  EXPECT_EQ(link_headroom(gbps(400), us(1), bytes(4'160), bytes(64)),
            bytes(100'000 + 3 * 4'160 + 64));
  // 1 ps at 100 Gb/s is an eightieth of a byte: rounded up.
  EXPECT_EQ(link_headroom(gbps(100), ps(1), bytes(1'000), bytes(64)), bytes(1 + 3'000 + 64));
}

// [R.pfc.account] A switch's buffer follows its ports' rates, headroom each port's link.
TEST(SharedBuffer, Params_OfASwitch) {
  TopologyParams t;
  t.racks = 2;
  t.hosts_per_rack = 4;
  t.spines = 2;
  t.host_rate = gbps(200);
  t.host_latency = ns(500);
  t.fabric_latency = us(1);
  const Topology topology(t);
  PfcParams pfc;
  const auto params = SharedBufferParams::of(topology.tor(0), pfc, HostParams{}, bytes(4'096));
  EXPECT_EQ(params.buffer, kb(5'000 * (4 * 200 + 2 * 400) / 1'000));
  ASSERT_EQ(params.headroom.size(), 6u);
  EXPECT_EQ(params.headroom[0], bytes(25'000 + 3 * 4'160 + 64));
  EXPECT_EQ(params.headroom[5], bytes(100'000 + 3 * 4'160 + 64));
  EXPECT_EQ(params.max_packet, bytes(4'160));
  EXPECT_EQ(params.shared(), params.buffer - bytes(4 * 37'544 + 2 * 112'544 + 6 * 4'096));
  pfc.headroom = kb(7);
  EXPECT_EQ(SharedBufferParams::of(topology.tor(0), pfc, HostParams{}, bytes(4'096)).headroom[5],
            kb(7));
}

// [D65] A fixed threshold holds whatever else is in use, until what is free is less.
TEST(SharedBuffer, Threshold_CanBeFixed) {
  SharedBufferParams params = four_ports();
  params.xoff = bytes(3'000);
  SharedBuffer buffer(params);
  EXPECT_EQ(buffer.threshold(), 3'000);
  EXPECT_EQ(buffer.threshold(buffer.shared_size() - 100), 100);
  EXPECT_EQ(buffer.threshold(buffer.shared_size() + 100), 0);
  buffer.add(0, 2'000);
  EXPECT_EQ(buffer.threshold(), 3'000);
}

// What is promised to ports may be more than there is: the caller sees it beforehand.
TEST(SharedBuffer, Params_NothingLeftToShare) {
  SharedBufferParams params = four_ports();
  EXPECT_EQ(params.shared(), bytes(80'000));
  params.buffer = bytes(4 * 6'000);
  EXPECT_EQ(params.shared(), bytes(0));
  EXPECT_DEATH(SharedBuffer{params}, "shared_size_ > 0");
}

// [R.pfc.reserve] The first bytes of a port are its own, to the byte; the next one is shared.
TEST(SharedBuffer, Reserve_TakesNothingShared) {
  SharedBuffer buffer(four_ports());
  EXPECT_FALSE(arrives(buffer, 0, 1'000));
  EXPECT_EQ(buffer.shared_used(), 0);
  EXPECT_EQ(buffer.threshold(), 10'000);
  EXPECT_FALSE(arrives(buffer, 0, 1));
  EXPECT_EQ(buffer.shared_used(), 1);
  EXPECT_EQ(buffer.shared_bytes(0), 1);
  EXPECT_EQ(buffer.threshold(), 9'999);  // floor(79'999 / 8)
  EXPECT_FALSE(arrives(buffer, 1, 1'500));
  EXPECT_EQ(buffer.shared_used(), 501);
}

// [R.pfc.reserve] A port keeps its reserve though the others have filled everything.
TEST(SharedBuffer, Reserve_IsThereWhenAllElseIsFull) {
  SharedBufferParams params = four_ports();
  params.alpha = {1'000, 1};
  SharedBuffer buffer(params);
  EXPECT_TRUE(arrives(buffer, 0, 81'000));
  EXPECT_EQ(buffer.threshold(), 0);
  EXPECT_FALSE(arrives(buffer, 1, 1'000));
  EXPECT_TRUE(arrives(buffer, 1, 1, Verdict::headroom));
}

// [R.pfc.xoff] [R.pfc.threshold] Alone, a port reaches T = (80'000 - s) / 8 with s = 8'889 shared
// bytes; with one less it does not.
TEST(SharedBuffer, Xoff_AtExactlyThisByte) {
  SharedBuffer below(four_ports());
  EXPECT_FALSE(arrives(below, 0, 1'000 + 8'888));
  EXPECT_EQ(below.threshold(), 8'889);
  SharedBuffer reached(four_ports());
  EXPECT_TRUE(arrives(reached, 0, 1'000 + 8'889));
  EXPECT_EQ(reached.threshold(), 8'888);
  EXPECT_TRUE(reached.paused(0));
  EXPECT_FALSE(arrives(below, 0, 0));
  EXPECT_TRUE(arrives(below, 0, 1));
}

// [R.pfc.xoff] A paused port is not paused again.
TEST(SharedBuffer, Xoff_Once) {
  SharedBuffer buffer(four_ports());
  EXPECT_TRUE(arrives(buffer, 0, 1'000 + 8'889));
  EXPECT_FALSE(arrives(buffer, 0, 100, Verdict::headroom));
  EXPECT_FALSE(arrives(buffer, 0, 100, Verdict::headroom));
}

// [R.pfc.threshold] What the others hold lowers everybody's threshold: with 18'000 shared bytes in
// use elsewhere, 6'889 are too many.
TEST(SharedBuffer, Threshold_FallsAsOthersFill) {
  SharedBuffer buffer(four_ports());
  for (std::uint32_t port = 1; port < 4; ++port) EXPECT_FALSE(arrives(buffer, port, 1'000 + 6'000));
  EXPECT_EQ(buffer.threshold(), (80'000 - 18'000) / 8);
  EXPECT_FALSE(arrives(buffer, 0, 1'000 + 6'888));
  EXPECT_EQ(buffer.threshold(), 6'889);
  EXPECT_TRUE(arrives(buffer, 0, 1));
  // And now those who were below it, and are not told before their next packet.
  EXPECT_FALSE(buffer.paused(1));
  EXPECT_TRUE(arrives(buffer, 1, 889, Verdict::headroom));
}

// [R.pfc.headroom] [R.pfc.violation] What does not fit under T fills the headroom to its last byte;
// only then there are drops.
TEST(SharedBuffer, Headroom_ToTheLastByte) {
  SharedBuffer buffer(four_ports());
  EXPECT_FALSE(arrives(buffer, 0, 1'000 + 8'000));
  EXPECT_TRUE(arrives(buffer, 0, 4'000, Verdict::headroom));
  EXPECT_EQ(buffer.headroom_bytes(0), 4'000);
  EXPECT_EQ(buffer.bytes_of(0), 9'000);
  EXPECT_FALSE(arrives(buffer, 0, 1'001, Verdict::dropped));
  EXPECT_FALSE(arrives(buffer, 0, 1'000, Verdict::shared));  // small enough for what T leaves
  EXPECT_FALSE(arrives(buffer, 0, 1'000, Verdict::headroom));
  EXPECT_FALSE(arrives(buffer, 0, 1, Verdict::dropped));
  EXPECT_EQ(buffer.headroom_bytes(0), 5'000);
  EXPECT_EQ(buffer.peak_headroom(), 5'000);
}

// [R.pfc.xoff] [R.pfc.violation] A headroom too small for a packet does not keep the pause away.
TEST(SharedBuffer, Xoff_ThoughDropped) {
  SharedBufferParams params = four_ports();
  params.headroom.assign(4, bytes(10));
  params.buffer = bytes(80'000 + 4 * 1'010);
  SharedBuffer buffer(params);
  EXPECT_TRUE(arrives(buffer, 0, 12'000, Verdict::dropped));
  EXPECT_TRUE(buffer.may_resume(0));
}

// [R.pfc.xon] Headroom must be empty, and the shared bytes 500 below T: to the byte.
TEST(SharedBuffer, Xon_AtExactlyThisByte) {
  SharedBuffer buffer(four_ports());
  EXPECT_TRUE(arrives(buffer, 0, 1'000 + 8'889));
  EXPECT_FALSE(arrives(buffer, 0, 100, Verdict::headroom));
  EXPECT_FALSE(buffer.may_resume(0));
  buffer.release(0, 100);  // headroom first
  EXPECT_EQ(buffer.headroom_bytes(0), 0);
  EXPECT_EQ(buffer.shared_bytes(0), 8'889);
  EXPECT_FALSE(buffer.may_resume(0));
  // s + 500 <= (80'000 - s) / 8 from s = 8'444 on.
  buffer.release(0, 8'889 - 8'445);
  EXPECT_EQ(buffer.threshold(), 8'944);
  EXPECT_FALSE(buffer.may_resume(0));
  buffer.release(0, 1);
  EXPECT_EQ(buffer.threshold(), 8'944);
  EXPECT_TRUE(buffer.may_resume(0));
  buffer.resume(0);
  EXPECT_FALSE(buffer.paused(0));
  EXPECT_FALSE(buffer.may_resume(0));
}

// [R.pfc.xon] Where others keep T below the offset, a port is let go once it holds nothing shared.
TEST(SharedBuffer, Xon_WithNoSharedBytes) {
  SharedBufferParams params = four_ports();
  params.xon_offset = bytes(20'000);
  SharedBuffer buffer(params);
  EXPECT_TRUE(arrives(buffer, 0, 1'000 + 8'889));
  buffer.release(0, 8'888);
  EXPECT_FALSE(buffer.may_resume(0));
  buffer.release(0, 1);
  EXPECT_TRUE(buffer.may_resume(0));
}

// [R.pfc.xon] Another port's departure raises T, and may be what lets a port go.
TEST(SharedBuffer, Xon_ByAnothersDeparture) {
  SharedBuffer buffer(four_ports());
  EXPECT_FALSE(arrives(buffer, 1, 1'000 + 8'000));
  EXPECT_TRUE(arrives(buffer, 0, 1'000 + 8'000));
  std::vector<std::uint32_t> resumed;
  const auto note = [&](std::uint32_t port) { resumed.push_back(port); };
  buffer.release(1, 3'999);
  buffer.resume_all(note);
  EXPECT_EQ(buffer.threshold(), 8'499);
  EXPECT_TRUE(resumed.empty());
  buffer.release(1, 1);
  buffer.resume_all(note);
  EXPECT_EQ(buffer.threshold(), 8'500);
  EXPECT_EQ(resumed, (std::vector<std::uint32_t>{0}));
  EXPECT_FALSE(buffer.paused(0));
}

// Against the plainest possible account: verdicts, pauses and releases of 200'000 random events.
TEST(SharedBuffer, Model_RandomTraffic) {
  Rng rng(7);
  for (const Ratio alpha : {Ratio{1, 8}, Ratio{1, 16}, Ratio{1, 1}, Ratio{5, 2}}) {
    SharedBufferParams params = four_ports();
    params.alpha = alpha;
    SharedBuffer buffer(params);
    struct Packet {
      std::uint32_t port;
      std::int64_t size;
    };
    std::vector<Packet> inside;
    std::vector<std::int64_t> in_ingress(4);
    std::vector<std::int64_t> in_headroom(4);
    std::vector<bool> paused(4);
    const auto used = [&] {
      std::int64_t sum = 0;
      for (const std::int64_t b : in_ingress) sum += b > 1'000 ? b - 1'000 : 0;
      return sum;
    };
    const auto threshold = [&] { return (80'000 - used()) * alpha.num / alpha.den; };
    int pauses = 0;
    int drops = 0;
    for (int i = 0; i < 50'000; ++i) {
      const bool filling = i / 500 % 2 == 0;
      if (inside.empty() || rng.below(10) < (filling ? 7u : 3u)) {
        const auto port = static_cast<std::uint32_t>(rng.below(4));
        const auto size = rng.between(1, 4'160);
        if (paused[port] && rng.below(4) != 0) continue;
        Verdict expected = Verdict::dropped;
        const std::int64_t sum = in_ingress[port] + size;
        const std::int64_t shared_part = std::min(size, sum - 1'000);
        if (sum <= 1'000 || (sum - 1'000 <= threshold() && shared_part <= 80'000 - used())) {
          expected = Verdict::shared;
          in_ingress[port] += size;
        } else if (in_headroom[port] + size <= 5'000) {
          expected = Verdict::headroom;
          in_headroom[port] += size;
        }
        ASSERT_EQ(buffer.admit(port, size), expected);
        if (expected != Verdict::dropped) inside.push_back({port, size});
        const std::int64_t shared = std::max<std::int64_t>(0, in_ingress[port] - 1'000);
        const bool pause =
            !paused[port] && (expected != Verdict::shared || (shared > 0 && shared >= threshold()));
        ASSERT_EQ(buffer.must_pause(port, expected), pause);
        if (pause) {
          buffer.pause(port);
          paused[port] = true;
          ++pauses;
        }
        drops += expected == Verdict::dropped;
      } else {
        const std::size_t which = rng.below(inside.size());
        const Packet packet = inside[which];
        inside.erase(inside.begin() + static_cast<std::ptrdiff_t>(which));
        const std::int64_t headroom = std::min(in_headroom[packet.port], packet.size);
        in_headroom[packet.port] -= headroom;
        in_ingress[packet.port] -= packet.size - headroom;
        buffer.release(packet.port, packet.size);
        std::vector<bool> let_go(4);
        buffer.resume_all([&](std::uint32_t port) { let_go[port] = true; });
        for (std::uint32_t p = 0; p < 4; ++p) {
          const std::int64_t shared = std::max<std::int64_t>(0, in_ingress[p] - 1'000);
          const bool resume =
              paused[p] && in_headroom[p] == 0 && (shared == 0 || shared + 500 <= threshold());
          ASSERT_EQ(let_go[p], resume);
          if (resume) paused[p] = false;
        }
      }
      ASSERT_EQ(buffer.shared_used(), used());
      ASSERT_EQ(buffer.threshold(), threshold());
      for (std::uint32_t p = 0; p < 4; ++p) {
        ASSERT_EQ(buffer.bytes_of(p), in_ingress[p]);
        ASSERT_EQ(buffer.headroom_bytes(p), in_headroom[p]);
        ASSERT_EQ(buffer.paused(p), paused[p]);
      }
    }
    EXPECT_GT(pauses, 100);
    EXPECT_GT(drops, 0);
    // [R.pfc.account] All that came has left: nothing remains.
    for (const Packet& packet : inside) buffer.release(packet.port, packet.size);
    EXPECT_EQ(buffer.shared_used(), 0);
    for (std::uint32_t p = 0; p < 4; ++p) {
      EXPECT_EQ(buffer.bytes_of(p), 0);
      EXPECT_EQ(buffer.headroom_bytes(p), 0);
    }
  }
}

// More cannot leave than came.
TEST(SharedBuffer, Release_OfWhatIsNotThere) {
  SharedBuffer buffer(four_ports());
  EXPECT_FALSE(arrives(buffer, 0, 100));
  EXPECT_DEATH(buffer.release(0, 101), "bytes >= 0");
}

}  // namespace
}  // namespace strack::sim
