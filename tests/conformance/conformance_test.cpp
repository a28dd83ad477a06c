// What every transport must do, whatever it is: the host contract (core/transport.h) seen from
// outside. Runs once for each scheme of the registry; a new transport is in it by being registered.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/units.h"
#include "conformance/any_transport.h"
#include "core/message_queue.h"
#include "duet/duet.h"
#include "sim/simulation.h"
#include "swarm/driver.h"
#include "swarm/network.h"
#include "swarm/plan.h"
#include "transports/registry.h"
#include "udp/example_transports.h"

namespace strack::conformance {
namespace {

using core::MessageId;
using core::Psn;
using duet::Fate;

constexpr Bytes kMtu = bytes(4096);
constexpr Picoseconds kOneWay = us(4);
constexpr BitsPerSecond kRate = gbps(400);

/// As scripted, counting packets and acknowledgements from 0; otherwise perfect.
struct ScriptedNet {
  std::function<Fate(int, const core::Packet&, Instant)> packet =
      [](int, const core::Packet&, Instant) { return Fate::after(kOneWay); };
  std::function<Fate(int, Instant)> ack = [](int, Instant) { return Fate::after(kOneWay); };
  int packets = 0;
  int acks = 0;

  Fate fate_of(std::size_t /*flow*/, const core::Packet& p, Instant now) {
    return packet(packets++, p, now);
  }
  Fate fate_of(std::size_t /*flow*/, const sim::SimPacket& /*ack*/, Instant now) {
    return ack(acks++, now);
  }
  bool mark_on_arrival(std::size_t, const core::Packet&, bool ecn, Instant) { return ecn; }
};

using Pair = duet::Duet<AnySender, AnyReceiver, core::MessageSlot, ScriptedNet>;

/// One connection over a scripted network.
class Transfer {
 public:
  explicit Transfer(const Variant& scheme, Psn first = Psn{0})
      : transport_(transport_on(scheme, kRate, us(10), kMtu)), pair_(net) {
    std::shared_ptr<sim::Ends> ends = transport_->make_ends(duet::kQueueSlots, first, kRate);
    pair_.add_flow([&](auto /*slots*/) { return AnySender(ends); },
                   [&] { return AnyReceiver(ends); }, bytes(1) / kRate);
  }

  void post(std::uint32_t length) { pair_.post(0, {posted_++, length}); }
  /// Until all is done, or it has taken `timeouts` of the longest timeouts.
  [[nodiscard]] bool finishes(std::int64_t timeouts = 20) {
    while (!done() && pair_.step(at(timeouts * transport_->longest_timeout() + ms(1)))) {
    }
    return done();
  }
  [[nodiscard]] bool done() { return flow().completed.size() == posted_; }
  [[nodiscard]] Pair::Flow& flow() { return pair_.flow(0); }
  [[nodiscard]] Pair& pair() { return pair_; }
  [[nodiscard]] const sim::Transport& transport() const { return *transport_; }

  ScriptedNet net;

 private:
  std::shared_ptr<const sim::Transport> transport_;
  Pair pair_;
  MessageId posted_ = 0;
};

std::vector<MessageId> ids_of(const std::vector<std::pair<MessageId, Instant>>& list) {
  std::vector<MessageId> ids;
  for (const auto& entry : list) ids.push_back(entry.first);
  return ids;
}

class Conformance : public ::testing::TestWithParam<Variant> {};

// On a perfect network each packet is sent once, and messages are delivered and complete in the
// order they were posted. An empty message is a message.
TEST_P(Conformance, PerfectNetwork) {
  Transfer t(GetParam());
  const std::vector<std::uint32_t> lengths{0, 1, 4'095, 4'096, 4'097, 0, 400'000};
  std::uint64_t total = 0;
  std::vector<MessageId> ids;
  for (const std::uint32_t length : lengths) {
    ids.push_back(static_cast<MessageId>(ids.size()));
    t.post(length);
    total += length;
  }
  ASSERT_TRUE(t.finishes());
  EXPECT_EQ(ids_of(t.flow().delivered), ids);
  EXPECT_EQ(ids_of(t.flow().completed), ids);
  EXPECT_EQ(t.flow().payload_placed, total);
  EXPECT_EQ(t.flow().sender.counters().retransmissions, 0u);
  EXPECT_EQ(t.flow().sender.counters().timeouts, 0u);
}

// With nothing to do there is nothing to wait for, and nothing to send.
TEST_P(Conformance, IdleAfterwards) {
  Transfer t(GetParam());
  t.post(40'000);
  ASSERT_TRUE(t.finishes());
  while (t.pair().step(t.pair().now() + ms(1))) {
  }
  EXPECT_TRUE(t.flow().sender.idle());
  EXPECT_EQ(t.flow().sender.next_deadline(), Instant::never());
  EXPECT_FALSE(t.flow().sender.poll_transmit(t.pair().now() + seconds(1)));
  EXPECT_FALSE(t.flow().sender.poll_completion());
}

// Calling early, or again, is harmless.
TEST_P(Conformance, EarlyCallsDoNothing) {
  Transfer t(GetParam());
  t.flow().sender.on_timeout(Instant{});
  t.flow().receiver.on_timeout(Instant{});
  EXPECT_FALSE(t.flow().sender.poll_transmit(Instant{}));
  EXPECT_FALSE(t.flow().sender.poll_completion());
  EXPECT_FALSE(t.flow().receiver.poll_ack(Instant{}));
  t.post(40'000);
  t.flow().sender.on_timeout(t.pair().now());
  ASSERT_TRUE(t.finishes());
  EXPECT_EQ(t.flow().sender.counters().timeouts, 0u);
  EXPECT_EQ(t.flow().payload_placed, 40'000u);
}

// One call does all that is due, also where two things are due at once: nothing is left for a second.
TEST_P(Conformance, NothingStaysDue) {
  Transfer t(GetParam());
  AnySender& sender = t.flow().sender;
  ASSERT_EQ(sender.on_message({0, 80'000}, Instant{}), core::PostResult::accepted);
  Instant now{};
  for (int silence = 0; silence < 200; ++silence) {
    while (sender.poll_transmit(now)) {  // all of it is lost
    }
    const Instant due = sender.next_deadline();
    ASSERT_NE(due, Instant::never());
    now = due;
    sender.on_timeout(now);
    ASSERT_GT(sender.next_deadline(), now) << silence;
  }
}

// Whichever packet is lost, and whichever acknowledgement, all arrives once.
TEST_P(Conformance, AnyOneLoss) {
  for (int lost = 0; lost < 40; ++lost) {
    for (const bool ack : {false, true}) {
      Transfer t(GetParam());
      if (ack) {
        t.net.ack = [lost](int n, Instant) {
          return n == lost ? Fate::lost() : Fate::after(kOneWay);
        };
      } else {
        t.net.packet = [lost](int n, const core::Packet&, Instant) {
          return n == lost ? Fate::lost() : Fate::after(kOneWay);
        };
      }
      t.post(80'000);
      t.post(80'000);
      ASSERT_TRUE(t.finishes()) << lost << (ack ? " (acknowledgement)" : "");
      EXPECT_EQ(t.flow().delivered.size(), 2u);
      EXPECT_EQ(t.flow().payload_placed, 160'000u) << lost;
    }
  }
}

// Every packet and every acknowledgement comes twice, the second time much later.
TEST_P(Conformance, EverythingTwice) {
  Transfer t(GetParam());
  t.net.packet = [](int, const core::Packet&, Instant) {
    return Fate{.copies = 2, .delay = kOneWay, .copy_delay = 3 * kOneWay};
  };
  t.net.ack = [](int, Instant) {
    return Fate{.copies = 2, .delay = kOneWay, .copy_delay = 5 * kOneWay};
  };
  t.post(400'000);
  t.post(100);
  ASSERT_TRUE(t.finishes());
  EXPECT_EQ(t.flow().delivered.size(), 2u);
  EXPECT_EQ(t.flow().completed.size(), 2u);
  EXPECT_EQ(t.flow().payload_placed, 400'100u);
}

// Neighbours change places.
TEST_P(Conformance, Reordering) {
  Transfer t(GetParam());
  t.net.packet = [](int n, const core::Packet&, Instant) {
    return Fate::after(n < 200 && n % 7 == 3 ? kOneWay + us(1) : kOneWay);
  };
  t.post(800'000);
  ASSERT_TRUE(t.finishes(200));
  EXPECT_EQ(t.flow().payload_placed, 800'000u);
}

// Sequence numbers are compared by distance: passing zero means nothing, with losses on both sides.
TEST_P(Conformance, SequenceNumbersWrap) {
  for (const bool losses : {false, true}) {
    Transfer t(GetParam(), Psn{0} - 50u);
    if (losses) {
      t.net.packet = [](int n, const core::Packet&, Instant) {
        return n % 17 == 11 && n < 120 ? Fate::lost() : Fate::after(kOneWay);
      };
    }
    for (int i = 0; i < 10; ++i) t.post(40'960);
    ASSERT_TRUE(t.finishes(200));
    EXPECT_EQ(t.flow().delivered.size(), 10u);
    EXPECT_EQ(t.flow().payload_placed, 409'600u);
    if (!losses) {
      EXPECT_EQ(t.flow().sender.counters().retransmissions, 0u);
    }
  }
}

// More messages than the host has slots for wait their turn.
TEST_P(Conformance, MoreMessagesThanSlots) {
  Transfer t(GetParam());
  for (std::size_t i = 0; i < 3 * duet::kQueueSlots; ++i)
    t.post(static_cast<std::uint32_t>(i * 37));
  ASSERT_TRUE(t.finishes());
  EXPECT_EQ(t.flow().delivered.size(), 3 * duet::kQueueSlots);
}

// A network that is dead for long comes back, and so does the connection, within a few of the
// longest timeouts.
TEST_P(Conformance, ComesBackAfterAnOutage) {
  Transfer t(GetParam());
  const Picoseconds outage = 10 * t.transport().longest_timeout();
  const auto alive = [outage](Instant now) { return now < at(us(2)) || now > at(outage); };
  t.net.packet = [&](int, const core::Packet&, Instant now) {
    return alive(now) ? Fate::after(kOneWay) : Fate::lost();
  };
  t.net.ack = [&](int, Instant now) { return alive(now) ? Fate::after(kOneWay) : Fate::lost(); };
  t.post(400'000);
  ASSERT_TRUE(t.finishes(15));
  EXPECT_EQ(t.flow().payload_placed, 400'000u);
  EXPECT_GT(t.flow().sender.counters().timeouts, 0u);
}

// Acknowledgements and packets that nobody sent, of random bits: whatever they say, nothing breaks,
// time goes on, and the ends can still be polled.
TEST_P(Conformance, HostileInput) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const auto transport = transport_on(GetParam(), kRate, us(10), kMtu);
    const auto ends = transport->make_ends(4, Psn{0} - 8u, kRate);
    Instant now = at(us(1));
    ends->on_message({1, 100'000}, now);
    sim::SimPacket honest;
    for (int step = 0; step < 300; ++step) {
      now = now + ns(static_cast<std::int64_t>(rng.below(20'000)));
      switch (rng.below(5)) {
        case 0:
          if (const auto packet = ends->poll_transmit(now)) {
            ends->on_packet(*packet, {.ecn = rng.chance({1, 4})}, now);
            while (const auto ack = ends->poll_ack(now)) honest = *ack;
          }
          break;
        case 1: {  // an acknowledgement with some bits turned round
          sim::SimPacket ack = honest;
          std::uint64_t* const words[] = {&ack.w1, &ack.w2, &ack.w3};
          for (std::uint64_t flips = rng.below(4); flips > 0; --flips)
            *words[rng.below(3)] ^= std::uint64_t{1} << rng.below(64);
          ends->on_receiving_ack(ack, now);
          break;
        }
        case 2: {  // or of nothing but chance
          sim::SimPacket ack = sim::SimPacket::ack({}, static_cast<std::uint16_t>(rng.next()));
          ack.w1 = rng.next();
          ack.w2 = rng.next();
          ack.w3 = rng.next();
          ends->on_receiving_ack(ack, now);
          break;
        }
        case 3: {
          core::Packet packet;
          packet.type = rng.chance({1, 8}) ? core::PacketType::probe : core::PacketType::data;
          packet.payload = static_cast<std::uint16_t>(rng.below(5'000));
          packet.path_id = static_cast<core::PathId>(rng.below(300));
          packet.psn =
              Psn{static_cast<std::uint32_t>(rng.chance({1, 2}) ? rng.below(64) - 16 : rng.next())};
          packet.offset = static_cast<std::uint32_t>(rng.below(4) * 4'096);
          packet.message_length = static_cast<std::uint32_t>(rng.below(20'000));
          ends->on_packet(packet, {.trimmed = rng.chance({1, 8})}, now);
          break;
        }
        default:
          ends->on_sender_timeout(now);
          ends->on_receiver_timeout(now);
          while (ends->poll_ack(now)) {
          }
          break;
      }
      while (ends->poll_completion()) {
      }
    }
  }
}

// --- The swarm's bad days, for any transport

struct AnyPlan : swarm::Plan {
  std::shared_ptr<const sim::Transport> transport;
};

AnyPlan draw(const Variant& scheme, std::uint64_t seed) {
  const Rng root(seed);
  AnyPlan plan;
  plan.link = swarm::draw_link(root);
  // A scenario's base RTT crosses four links; the plan's, one.
  const Picoseconds told =
      plan.link.net_base_rtt + 8 * ((plan.link.mtu + bytes(64)) / plan.link.rate);
  plan.transport = transport_on(scheme, plan.link.rate, told, plan.link.mtu);
  plan.faults = swarm::draw_faults(root, plan.link, 25 * plan.link.net_base_rtt, 256);
  plan.loads = swarm::draw_loads(root, plan.link, {.many = 3, .usual = 40, .longest = 200});
  return plan;
}

class AnyConnection {
 public:
  using Plan = AnyPlan;
  using Sender = AnySender;
  using Receiver = AnyReceiver;
  using Flow = swarm::Pair<Sender, Receiver>::Flow;

  AnyConnection(const Plan& plan, std::size_t flow, const Instant& /*clock*/, bool /*trace*/)
      : ends_(plan.transport->make_ends(duet::kQueueSlots, plan.loads[flow].initial_psn,
                                        plan.link.rate)) {}

  Sender make_sender(std::span<core::MessageSlot> /*slots*/) { return Sender(ends_); }
  Receiver make_receiver() { return Receiver(ends_); }
  void check(Flow& /*flow*/) {}
  void check_finished(Flow& flow) const { STRACK_CHECK(flow.sender.idle()); }
  void add_to(swarm::Tally& /*tally*/, const Flow& /*flow*/) const {}

  /// A timeout and a window's worth of round trips for every packet, were each lost by itself.
  static Picoseconds patience(const Plan& plan) {
    std::int64_t packets = 0;
    for (const swarm::Load& load : plan.loads) {
      for (const core::Message& m : load.messages) {
        packets += core::MessageQueue::packet_count(
            m.length, static_cast<std::uint32_t>(plan.link.mtu.count()));
      }
    }
    return plan.still_under_way() +
           (packets + 10) * (plan.transport->longest_timeout() + 4 * plan.link.net_base_rtt);
  }

 private:
  std::shared_ptr<sim::Ends> ends_;
};

// Loss, reordering, duplication, delay spikes, black holes, dead periods; nothing is delivered
// twice, nothing completes undelivered, and once faults end everything does, within a bound.
TEST_P(Conformance, Swarm) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const AnyPlan plan = draw(GetParam(), seed);
    SCOPED_TRACE(swarm::describe(plan, fmt::format("seed {}", seed)));
    const swarm::Tally tally = swarm::run<AnyConnection>(plan, seed, false);
    EXPECT_EQ(tally.messages, plan.loads[0].messages.size() + plan.loads[1].messages.size());
  }
}

// --- In the simulator

/// What its traits type counts is what its descriptor names; the rest of that all files have.
void expect_own_counters(const metrics::Counters& counters,
                         const transports::Descriptor& transport) {
  std::vector<std::string_view> named;
  for (const metrics::CounterName& counter : transport.counters) {
    EXPECT_FALSE(counter.one.empty());
    if (counter.name != "cnps" && counter.name != "naks") named.push_back(counter.name);
  }
  std::vector<std::string_view> counted;
  for (const metrics::OwnTotal& own : counters.own) counted.push_back(own.name);
  EXPECT_EQ(counted, named);
}

// A cluster runs it to the end, over the switches it wants and over those that it does not, to the
// same bits for any number of threads.
TEST_P(Conformance, RunsInACluster) {
  for (const char* pfc : {"pfc.enabled=false", "pfc.enabled=true"}) {
    std::set<std::uint64_t> hashes;
    for (const char* threads : {"run.threads=1", "run.threads=3"}) {
      std::vector<std::string> overrides = GetParam().overrides();
      overrides.insert(overrides.end(), {pfc, threads});
      const auto scenario = sim::load_text(
          "[topology]\nhosts = 16\nhosts_per_rack = 4\n[workload]\nsize = \"400 KB\"\n"
          "[record]\ninterval_us = 10\nflows = 4\ninspect = 4\n[[impairment]]\nrack = 0\nuplink = "
          "0\n"
          "loss = 0.01\n",
          "conformance", {}, overrides);
      ASSERT_TRUE(scenario) << scenario.error().text();
      sim::Simulation simulation(sim::make_config(scenario.value(), 1),
                                 sim::make_workload(scenario.value(), 1));
      sim::Observer observer;
      ASSERT_EQ(simulation.run(observer), sim::Ending::finished) << pfc;
      hashes.insert(simulation.counters().hash);
      EXPECT_GE(simulation.counters().data_packets_delivered, 16u * 98u);
      expect_own_counters(simulation.counters(), *scenario.value().transport);
    }
    EXPECT_EQ(hashes.size(), 1u) << pfc;
  }
}

// Messages that are posted while others are on their way are sent as soon as any: a ring of 14 steps, each of them a
// little more than half a base RTT of 8 us, ends in time.
TEST_P(Conformance, PostedOneAfterTheOther) {
  const auto scenario = sim::load_text(
      "[topology]\nhosts = 8\nhosts_per_rack = 2\n[workload]\nkind = \"collective\"\ncollective = "
      "\"allreduce-ring\"\nsize = \"64 KB\"\n[run]\nend_ms = 0.1\n",
      "ring", {}, GetParam().overrides());
  ASSERT_TRUE(scenario) << scenario.error().text();
  sim::Simulation simulation(sim::make_config(scenario.value(), 1),
                             sim::make_workload(scenario.value(), 1));
  sim::Observer observer;
  EXPECT_EQ(simulation.run(observer), sim::Ending::finished);
}

// --- The registry itself

TEST(Registry, DescriptorsAreComplete) {
  std::set<std::string_view> names;
  for (const transports::Descriptor* transport : transports::all()) {
    EXPECT_TRUE(names.insert(transport->name).second) << transport->name;
    EXPECT_FALSE(transport->schemes.empty()) << transport->name;
    EXPECT_NE(transport->resolve, nullptr) << transport->name;
    EXPECT_TRUE(transport->help.ends_with('.')) << transport->name;
    for (const transports::Scheme& scheme : transport->schemes) {
      EXPECT_EQ(transports::find(scheme.name).transport, transport) << scheme.name;
      EXPECT_EQ(transports::find(scheme.name).scheme, &scheme) << scheme.name;
      EXPECT_FALSE(scheme.label.empty() || scheme.role.empty() || scheme.help.empty())
          << scheme.name;
    }
    EXPECT_LE(transport->counters.size(), metrics::kOwnCounters + 2) << transport->name;
    if (!transport->target_qdelay.empty()) {
      const std::size_t dot = transport->target_qdelay.find('.');
      EXPECT_NE(sim::find_key(transport->target_qdelay.substr(0, dot),
                              transport->target_qdelay.substr(dot + 1)),
                nullptr)
          << transport->name;
    }
    EXPECT_NE(sim::find_section(transport->switches.ecn), nullptr) << transport->name;
    for (const char* key : {"kmin", "kmax", "pmax"})
      EXPECT_NE(sim::find_key(transport->switches.ecn, key), nullptr) << transport->name;
  }
  EXPECT_EQ(transports::find("nonsense").transport, nullptr);
}

// Those that run over UDP are a list of their own, without the simulator: the two agree.
TEST(Registry, NamesWhatRunsOverUdp) {
  std::set<std::string_view> named;
  const auto over_udp = udp::with_examples();
  for (const transports::Descriptor* transport : transports::all()) {
    if (transport->udp == 0) continue;
    const udp::Transport* found = udp::find(over_udp, transport->udp);
    ASSERT_NE(found, nullptr) << transport->name;
    EXPECT_EQ(found->name, transport->name);
    named.insert(transport->name);
  }
  EXPECT_EQ(named.size(), over_udp.size());
}

TEST(Registry, EstimatesAreThere) {
  for (const std::string_view scheme : transports::scheme_names()) {
    const auto transport = transport_on({scheme}, kRate, us(10), kMtu);
    EXPECT_EQ(transport->mtu(), kMtu) << scheme;
    EXPECT_GE(transport->window_packets(), 0) << scheme;
    EXPECT_GT(transport->connection_state(), bytes(0)) << scheme;
    EXPECT_GT(transport->longest_timeout(), ps(0)) << scheme;
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, Conformance, ::testing::ValuesIn(variants()),
                         [](const auto& one) {
                           std::string name(one.param.scheme);
                           if (!one.param.setting.empty())
                             name += fmt::format("_{}", one.param.setting);
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace strack::conformance
