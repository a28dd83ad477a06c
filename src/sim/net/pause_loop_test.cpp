#include "sim/net/pause_loop.h"

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/net/pfc_testing.h"

namespace strack::sim {
namespace {

using testing::data_packet;
using testing::Offer;
using testing::Peer;
using testing::t;

using Graph = std::vector<std::vector<std::uint32_t>>;
using Ring = std::vector<std::uint32_t>;

// [R.pfc.loop] Chains, and ways that part and meet again, are no rings.
TEST(PauseLoop, FindRing_None) {
  EXPECT_TRUE(find_ring({}).empty());
  EXPECT_TRUE(find_ring(Graph{{}, {}}).empty());
  EXPECT_TRUE(find_ring(Graph{{1}, {2}, {}}).empty());
  EXPECT_TRUE(find_ring(Graph{{1, 2}, {3}, {3}, {}}).empty());
  EXPECT_TRUE(find_ring(Graph{{}, {0}, {0, 1}, {0, 1, 2}}).empty());
}

// [R.pfc.loop] A ring comes without what leads to it or away from it, in the order of waiting.
TEST(PauseLoop, FindRing_WithoutItsTail) {
  EXPECT_EQ(find_ring(Graph{{0}}), (Ring{0}));
  EXPECT_EQ(find_ring(Graph{{1}, {0}}), (Ring{0, 1}));
  EXPECT_EQ(find_ring(Graph{{1}, {2}, {3, 4}, {}, {5}, {2}}), (Ring{2, 4, 5}));
  EXPECT_EQ(find_ring(Graph{{}, {3}, {1, 0}, {0, 2}}), (Ring{1, 3, 2}));
}

/// Three switches in a ring, a host at each. Port 0 leads to the host, port 1 to the next switch,
/// port 2 to the previous one. Packets go round in the direction of port 1.
class RingOfThree {
 public:
  explicit RingOfThree(const SharedBufferParams& buffer)
      : lanes_(std::make_unique<Lane[]>(12)), mail_(6) {
    params_.racks = 3;
    params_.hosts_per_rack = 1;
    params_.host_latency = params_.fabric_latency = us(1);
    for (std::uint32_t s = 0; s < 3; ++s) {
      SwitchInfo info;
      info.node = 3 + s;
      info.ref = {SwitchRef::Tier::tor, s};
      info.ports = {{s, link(s, 0), s, {LinkRef::Tier::host, s, 0}},
                    {3 + (s + 1) % 3, link(s, 1), link((s + 1) % 3, 2), {}},
                    {3 + (s + 2) % 3, link(s, 2), link((s + 2) % 3, 1), {}}};
      infos.push_back(info);
      switches.push_back(std::make_unique<PfcSwitch>(info, params_, s, buffer));
      for (std::uint32_t p = 0; p < 3; ++p) {
        Wire& wire = switches[s]->port(p).wire;
        wire.lane = &lanes_[info.ports[p].link];
        wire.peer = info.ports[p].peer;
        wire.byte_time = ByteTime(gbps(400));
        wire.latency = us(1);
        switches[s]->connect(p, &lanes_[info.ports[p].reverse]);
      }
      RouteTable table;
      table.ports = {1};
      table.groups = {{0, 1}};
      table.group_of_rack = {0, 0, 0};
      std::vector<RouteVersion> versions;
      versions.push_back({Instant{}, table});
      switches[s]->set_routes(std::move(versions));
    }
    context_.mail = &mail_;
    context_.window = 1;
    hosts.resize(3);
  }

  void run(std::int64_t until) {
    for (; now_ < until; now_ += 1'000'000, ++context_.window) {
      context_.end = t(now_ + 1'000'000);
      for (std::uint32_t h = 0; h < 3; ++h) {
        hosts[h].run(lanes_[link(h, 0)].arrivals(context_.window), context_.end, rules_,
                     ByteTime(gbps(400)), [&](const SimPacket& packet, Instant left) {
                       bool first = false;
                       lanes_[h].push(context_.window, first) = {left + us(1), packet};
                     });
      }
      for (const auto& sw : switches) sw->run(rules_, context_, scratch_);
    }
  }
  [[nodiscard]] Instant now() const { return t(now_); }

  std::vector<SwitchInfo> infos;
  std::vector<std::unique_ptr<PfcSwitch>> switches;
  std::vector<Peer> hosts;

 private:
  static LinkId link(std::uint32_t s, std::uint32_t p) { return 3 + 3 * s + p; }

  TopologyParams params_;
  PortRules rules_{testing::no_marks(), HostParams{}, PfcParams{}};
  std::unique_ptr<Lane[]> lanes_;
  MailFlags mail_;
  WindowContext context_;
  PfcScratch scratch_;
  std::int64_t now_ = 0;
};

SharedBufferParams small_buffer() {
  return testing::buffer_with(3, bytes(200'000), {1, 4}, kb(120));
}

// [R.pfc.loop] Every host sends two switches on, so every link carries its own host's packets and
// those of the previous switch, twice what it can. All three links of the ring end up waiting for
// each other, and no packet moves any more.
TEST(PauseLoop, Deadlock_IsFound) {
  RingOfThree ring(small_buffer());
  for (std::uint32_t h = 0; h < 3; ++h)
    ring.hosts[h].offer = [h] { return Offer{ps(0), data_packet((h + 2) % 3)}; };
  PauseLoopWatch watch(ring.infos);
  ring.run(5'000'000);
  EXPECT_TRUE(watch.check(ring.switches, ring.now()).empty());
  ring.run(2'000'000'000);
  const std::vector<SwitchPort> expected{{0, 1}, {1, 1}, {2, 1}};
  EXPECT_EQ(watch.find(ring.switches, ring.now()), expected);
  EXPECT_TRUE(watch.check(ring.switches, ring.now()).empty());  // perhaps it has only now begun
  const std::size_t received = ring.hosts[0].received.size();
  ring.run(3'000'000'000);
  EXPECT_EQ(watch.check(ring.switches, ring.now()), expected);
  EXPECT_EQ(ring.hosts[0].received.size(), received);
  for (const auto& sw : ring.switches) EXPECT_EQ(sw->drops.total(), 0u);
}

// [R.pfc.loop] A host that reads slowly pauses links back to the senders, but there is no ring: what
// waits, waits for the host.
TEST(PauseLoop, Congestion_IsNoDeadlock) {
  RingOfThree ring(small_buffer());
  ring.hosts[0].offer = [] { return Offer{ps(0), data_packet(2)}; };
  ring.hosts[1].offer = [] { return Offer{ps(0), data_packet(2)}; };
  ring.hosts[2].offer = [] { return Offer{ps(10'000'000), SimPacket::pause(ps(9'000'000))}; };
  PauseLoopWatch watch(ring.infos);
  bool paused = false;
  for (int i = 1; i < 500; ++i) {
    ring.run(i * 1'000'000);
    ASSERT_TRUE(watch.find(ring.switches, ring.now()).empty());
    paused = paused || ring.switches[0]->port(1).pause().holds(ring.now());
  }
  EXPECT_TRUE(paused);
}

}  // namespace
}  // namespace strack::sim
