// What a host does for transports that ask more of it than STrack and RoCEv2 do: receivers with
// deadlines, an object that a NIC's connections share, and all signals of the network. The transports
// here are just enough to ask for it.
#include <cstdint>
#include <deque>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "core/transport.h"
#include "sim/config.h"
#include "sim/host/host.h"
#include "sim/net/packing.h"
#include "sim/transport_impl.h"
#include "transports/rocev2/sim.h"
#include "transports/strack/sim.h"

namespace strack::sim {
namespace {

constexpr std::int64_t kC = 1'280;      ///< serialisation of an acknowledgement
constexpr std::int64_t kL = 1'000'000;  ///< the cable's latency

Instant t(std::int64_t picoseconds) { return at(ps(picoseconds)); }

struct LazyParams {
  Picoseconds delay = us(5);
  bool restart = false;  ///< each packet starts the delay anew
};
/// So many packets have come since the last one.
struct LazyAck {
  std::uint32_t packets = 0;
};

/// Never sends anything.
struct SilentSender {
  using Ack = LazyAck;
  core::PostResult on_message(const core::Message& /*message*/, Instant /*now*/) {
    return core::PostResult::accepted;
  }
  void on_receiving_ack(const LazyAck& /*ack*/, Instant /*now*/) {}
  void on_timeout(Instant /*now*/) {}
  std::optional<core::Packet> poll_transmit(Instant /*now*/) { return std::nullopt; }
  std::optional<core::MessageId> poll_completion() { return std::nullopt; }
  [[nodiscard]] Instant next_deadline() const { return Instant::never(); }
  [[nodiscard]] bool idle() const { return true; }
};

/// Acknowledges when it has waited long enough; what is sent again waits a fifth of that.
class LazyReceiver {
 public:
  using Ack = LazyAck;
  explicit LazyReceiver(const LazyParams& params) : params_(&params) {}

  core::Arrival on_packet(const core::Packet& packet, const core::Signals& signals, Instant now) {
    seen = signals;
    ++packets_;
    const Instant due = now + (packet.retransmission ? params_->delay / 5 : params_->delay);
    if (params_->restart || due < deadline_) deadline_ = due;
    return {core::ArrivalKind::accepted, false};
  }
  std::optional<LazyAck> poll_ack(Instant /*now*/) {
    if (!due_) return std::nullopt;
    due_ = false;
    return LazyAck{std::exchange(packets_, 0)};
  }
  void on_timeout(Instant now) {
    if (now < deadline_) return;
    deadline_ = Instant::never();
    due_ = true;
  }
  [[nodiscard]] Instant next_deadline() const { return deadline_; }

  static inline core::Signals seen;

 private:
  const LazyParams* params_;
  std::uint32_t packets_ = 0;
  Instant deadline_ = Instant::never();
  bool due_ = false;
};
static_assert(core::Transport<SilentSender, LazyReceiver>);

struct LazyProtocol : TransportDefaults {
  using Params = LazyParams;
  using Events = SimEvents;
  static constexpr bool kMeasuresPath = true;

  struct SendingEnd {
    SilentSender sender;
    SendingEnd(const Params& /*params*/, std::size_t /*slots*/, Events /*events*/,
               core::Psn /*first*/ = core::Psn{0}) {}
    [[nodiscard]] Bytes acked() const { return bytes(0); }
  };
  struct ReceivingEnd {
    LazyReceiver receiver;
    explicit ReceivingEnd(const Params& params) : receiver(params) {}
  };
  static SimPacket pack_ack(const LazyAck& ack, Address to) {
    SimPacket p = SimPacket::ack(to, 0);
    p.w1 = ack.packets;
    return p;
  }
  static LazyAck unpack_ack(const SimPacket& packet) {
    return {static_cast<std::uint32_t>(packet.w1)};
  }
  template <class Record>
  static void fill(Record& /*record*/, const SendingEnd& /*end*/) {}
  static void fill(metrics::FlowEvent& /*event*/, const SendingEnd& /*end*/,
                   const Params& /*params*/) {}
};

/// The same, but the NIC acknowledges: one packet each time, no more than one in two microseconds,
/// for the connections in turn.
struct PacedProtocol : LazyProtocol {
  static constexpr bool kReceiverTimers = false;

  class Nic {
   public:
    void set_up(const LazyParams& /*params*/, BitsPerSecond rate) { rate_seen = rate; }
    void ask(std::uint32_t slot) { wanted_.push_back(slot); }
    [[nodiscard]] Instant next_deadline() const {
      return wanted_.empty() ? Instant::never() : free_;
    }
    void on_timeout(Instant /*now*/) {}
    std::optional<NicAck<LazyAck>> poll(Instant now) {
      if (wanted_.empty() || now < free_) return std::nullopt;
      free_ = now + us(2);
      const std::uint32_t slot = wanted_.front();
      wanted_.pop_front();
      return NicAck<LazyAck>{slot, {1}};
    }
    static inline BitsPerSecond rate_seen{0};

   private:
    Instant free_{};
    std::deque<std::uint32_t> wanted_;
  };

  struct Receiver {
    using Ack = LazyAck;
    std::uint32_t slot;
    Nic* nic;
    core::Arrival on_packet(const core::Packet&, const core::Signals&, Instant /*now*/) const {
      nic->ask(slot);
      return {core::ArrivalKind::accepted, false};
    }
    std::optional<LazyAck> poll_ack(Instant /*now*/) { return std::nullopt; }
    void on_timeout(Instant /*now*/) {}
    [[nodiscard]] Instant next_deadline() const { return Instant::never(); }
  };
  static_assert(core::TransportReceiver<Receiver>);
  struct ReceivingEnd {
    Receiver receiver;
    ReceivingEnd(const Params& /*params*/, std::uint32_t slot, Nic& nic,
                 core::Psn /*first*/ = core::Psn{0})
        : receiver{slot, &nic} {}
  };
};

/// One host at which connections end: slot 0 from host 300, slot 1 from host 301.
template <class Protocol>
class Bench {
 public:
  explicit Bench(LazyParams p = {}) : params(p), topology_(TopologyParams{}) {
    host.port.wire.lane = &out_;
    host.port.wire.byte_time = ByteTime(gbps(400));
    host.port.wire.latency = us(1);
    host.in = &in_;
    context_.mail = &mail_;
    context_.window = 1;
    HostPlacement placement;
    for (std::uint32_t i = 0; i < 2; ++i) placement.incoming.push_back({i, 300 + i, 40 + i});
    host.prepare(std::move(placement), params);
  }

  void data(std::int64_t time, std::uint32_t slot, bool again = false) {
    core::Packet packet;
    packet.retransmission = again;
    packet.payload = 4'096;
    arrive(time, pack(packet, {0, slot}));
  }
  void arrive(std::int64_t time, const SimPacket& packet) {
    bool first = false;
    in_.push(context_.window - 1, first) = {t(time), packet};
  }

  Instant run(std::int64_t end) {
    const PortRules sizes(SwitchParams{}, HostParams{});
    std::vector<SenderWatch> watches;
    const HostRules<Protocol> rules{&params, &sizes, watches, {}, &topology_};
    context_.end = t(end);
    const Instant next = host.run(rules, context_, report_);
    for (const Transit& transit : out_.arrivals(context_.window + 1)) {
      said.emplace_back(transit.packet.dst(), transit.packet.w1,
                        transit.time.ps - kC - kL);  // when it went onto the wire
    }
    ++context_.window;
    return next;
  }

  using Said = std::vector<std::tuple<std::uint32_t, std::uint64_t, std::int64_t>>;
  LazyParams params;
  Host<Protocol> host;
  Said said;  ///< to whom, for how many packets, when

 private:
  Topology topology_;
  Lane in_;
  Lane out_;
  MailFlags mail_{1'000};
  WindowContext context_;
  HostReport report_;
};

using LazyBench = Bench<LazyProtocol>;
using PacedBench = Bench<PacedProtocol>;

// A receiver's deadline is an event of its host: at that time, to the picosecond, it acknowledges.
TEST(ReceiverTimers, ActAtTheirTime) {
  LazyBench bench;
  bench.data(1'000, 0);
  EXPECT_EQ(bench.run(2'000), t(5'001'000));
  EXPECT_TRUE(bench.said.empty());
  EXPECT_EQ(bench.run(6'000'000), Instant::never());
  EXPECT_EQ(bench.said, (LazyBench::Said{{300, 1, 5'001'000}}));
}

// Each connection has its own; packets in the meantime start no second one.
TEST(ReceiverTimers, OneForEachConnection) {
  LazyBench bench;
  bench.data(1'000, 0);
  bench.data(2'000, 1);
  bench.data(3'000, 0);
  bench.run(20'000'000);
  EXPECT_EQ(bench.said, (LazyBench::Said{{300, 2, 5'001'000}, {301, 1, 5'001'000 + kC}}));
}

// A deadline that has moved away passes without effect when its first time comes.
TEST(ReceiverTimers, MoveAway) {
  LazyBench bench({us(5), true});
  bench.data(0, 0);
  bench.data(3'000'000, 0);
  bench.data(6'000'000, 0);
  bench.run(20'000'000);
  EXPECT_EQ(bench.said, (LazyBench::Said{{300, 3, 11'000'000}}));
}

// One that has come nearer counts at once, and the one it replaces does nothing later.
TEST(ReceiverTimers, ComeNearer) {
  LazyBench bench;
  bench.data(0, 0);
  bench.data(2'000'000, 0, true);
  bench.run(20'000'000);
  EXPECT_EQ(bench.said, (LazyBench::Said{{300, 2, 3'000'000}}));
  bench.data(21'000'000, 0);
  bench.run(40'000'000);
  EXPECT_EQ(bench.said.back(), std::tuple(300u, 1u, 26'000'000));
}

// Many connections at one time: all act, in the order of their slots.
TEST(ReceiverTimers, AtOneTime) {
  LazyBench bench;
  bench.data(500, 1);
  bench.data(500, 0);
  bench.run(20'000'000);
  EXPECT_EQ(bench.said, (LazyBench::Said{{300, 1, 5'000'500}, {301, 1, 5'000'500 + kC}}));
}

// A NIC's shared object speaks for its connections when its own time has come, and knows its port.
TEST(SharedNic, PacesItsConnections) {
  PacedBench bench;
  EXPECT_EQ(PacedProtocol::Nic::rate_seen, gbps(400));
  bench.data(1'000, 0);
  bench.data(2'000, 0);
  bench.data(3'000, 1);
  EXPECT_EQ(bench.run(1'000'000), t(2'001'000));
  bench.run(20'000'000);
  EXPECT_EQ(bench.said,
            (PacedBench::Said{{300, 1, 1'000}, {300, 1, 2'001'000}, {301, 1, 4'001'000}}));
}

// So it does outside of a cluster: a connection's two ends alone have a NIC each.
TEST(SharedNic, SpeaksForEndsOutsideOfACluster) {
  EndsOf<PacedProtocol> ends({}, 1, core::Psn{0}, gbps(100));
  EXPECT_EQ(PacedProtocol::Nic::rate_seen, gbps(100));
  EXPECT_EQ(ends.receiver_deadline(), Instant::never());
  ends.on_packet({}, {}, t(0));
  ends.on_packet({}, {}, t(0));
  EXPECT_EQ(ends.poll_ack(t(0))->w1, 1u);
  EXPECT_FALSE(ends.poll_ack(t(0)));
  EXPECT_EQ(ends.receiver_deadline(), t(2'000'000));
  EXPECT_EQ(ends.sender_deadline(), Instant::never());
  ends.on_receiver_timeout(t(2'000'000));
  EXPECT_EQ(ends.poll_ack(t(2'000'000))->w1, 1u);
  EXPECT_EQ(ends.receiver_deadline(), Instant::never());
}

// What a transport does not use takes no space: timers of receivers, what a NIC shares.
TEST(SharedNic, CostsNothingUnused) {
  EXPECT_EQ(sizeof(Host<StrackProtocol>), sizeof(Host<RoceProtocol>));
  EXPECT_EQ(sizeof(Host<StrackProtocol>) + sizeof(DeadlineHeap), sizeof(Host<LazyProtocol>));
  EXPECT_EQ(sizeof(Host<StrackProtocol>) + sizeof(PacedProtocol::Nic), sizeof(Host<PacedProtocol>));
  EXPECT_EQ(sizeof(Incoming<StrackProtocol>),
            sizeof(StrackProtocol::ReceivingEnd) + sizeof(IncomingFlow) + 12);
}

// All that the network has noted on a packet reaches the receiver, with the links of its path.
TEST(Signals, ReachTheReceiver) {
  LazyBench bench;
  SimPacket packet = SimPacket::data({0, 0}, 0, 4'096);
  packet.note_utilisation(700);
  bench.arrive(1, packet);
  bench.run(2);
  EXPECT_EQ(LazyReceiver::seen, (core::Signals{.hops = 4, .utilisation = 700}));

  packet.mark();
  bench.arrive(3, packet);
  bench.run(4);
  EXPECT_EQ(LazyReceiver::seen, (core::Signals{.ecn = true, .hops = 4, .utilisation = 700}));

  packet.mark(true);
  packet.trim(true);
  bench.arrive(5, packet);
  bench.run(6);
  EXPECT_EQ(LazyReceiver::seen, (core::Signals{.ecn = true,
                                               .ecn_last_hop = true,
                                               .trimmed = true,
                                               .trimmed_last_hop = true,
                                               .hops = 4,
                                               .utilisation = 700}));
  EXPECT_EQ(bench.host.data_received, 2u);
  EXPECT_EQ(bench.host.control_received, 1u);  // the trimmed one carries no data
}

}  // namespace
}  // namespace strack::sim
