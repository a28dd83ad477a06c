// [D45] [D142] Set-up never blocks data: what a listener says to those who have proved little is never waited for, and
// leaves by all its ports.
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"
#include "wire/wire.h"

namespace strack::udp {
namespace {

using testing::options;
using testing::pattern;

/// A simulated host, and how each kind of packet was handed to its sockets.
class Watched final : public testing::EnginesNetwork {
 public:
  struct Seen {
    int patient = 0;
    int impatient = 0;
    std::set<std::uint16_t> entropies;
  };

  explicit Watched(SimulatedHost& host) : host_(host) {}
  Instant now() override { return host_.now(); }
  SendResult send(std::span<const Outgoing> batch) override {
    for (const Outgoing& out : batch) {
      const auto first = *static_cast<const std::uint8_t*>(out.pieces.front().data);
      Seen& one = seen[static_cast<wire::Type>(first & 0x0f)];
      ++(out.patient ? one.patient : one.impatient);
      one.entropies.insert(out.entropy);
    }
    return host_.send(batch);
  }
  std::span<Incoming> receive() override { return host_.receive(); }
  const Address& address() const override { return host_.address(); }
  std::uint32_t largest_datagram(const Address& to) override { return host_.largest_datagram(to); }
  void random(std::span<std::uint8_t> out) override { host_.random(out); }
  const NetworkCounters& counters() const override { return host_.counters(); }

  std::map<wire::Type, Seen> seen;

 private:
  SimulatedHost& host_;
};

Key identity(int which) {
  Key key;
  key.fill(static_cast<std::byte>(which));
  return key;
}

/// What a listener and who connects say to each other, and what it says to strangers besides.
std::map<wire::Type, Watched::Seen> conversation(EndpointOptions server,
                                                 const EndpointOptions& client, bool keyed) {
  SimulatedWorld world(1, {});
  std::array<SimulatedHost*, 2> hosts{&world.add_host(), &world.add_host()};
  std::array<Watched, 2> networks{Watched(*hosts[0]), Watched(*hosts[1])};
  server.listen = "127.0.0.1:4794";
  Engine listener(server, networks[0]);
  Engine caller(client, networks[1]);
  std::array<Engine*, 2> both{&listener, &caller};
  std::vector<ConnectionId> accepted;
  const auto run = [&](Picoseconds time) {
    const Instant end = world.now() + time;
    while (world.now() < end) {
      run_until(world, both, end);
      for (Engine* engine : both) {
        std::array<Completion, 16> room;
        for (const Completion& c : engine->completions(room)) {
          if (c.kind == Kind::accepted) accepted.push_back(c.connection);
        }
      }
    }
  };
  const auto made = caller.connect(hosts[0]->address(), 1);
  EXPECT_TRUE(made);
  run(ms(20));
  const auto message = pattern(100'000);
  EXPECT_EQ(caller.send(made.value(), 1, message, 2), Status::ok);
  EXPECT_EQ(accepted.size(), 1u);
  for (const ConnectionId id : accepted) EXPECT_EQ(listener.send(id, 1, message, 3), Status::ok);
  run(ms(20));
  // A hello of a version that does not exist yet, and packets of connections that do not exist any more.
  const Address stranger = *Address::parse("192.0.2.9:999");
  std::vector<std::uint8_t> hello(wire::kHelloMinBytes);
  wire::Terms terms;
  terms.connection_id = 1;
  terms.idle_timeout_ms = 1'000;
  terms.mtu = 1'000;
  terms.paths = terms.tracking_window = terms.reply_port = 1;
  wire::encode(hello, {0, false, 0}, wire::Hello{terms});
  hello[0] = static_cast<std::uint8_t>(0x30 | (hello[0] & 0x0f));
  std::vector<std::uint8_t> ping(200);
  ping.resize(wire::encode(ping, {12'345, keyed, 7}, wire::Ping{}) + (keyed ? wire::kTagBytes : 0));
  for (int i = 0; i < 8; ++i) {
    world.inject(*hosts[0], stranger, hello);
    world.inject(*hosts[0], stranger, ping);
    run(ms(20));
  }
  auto seen = networks[0].seen;
  for (const auto& [type, one] : networks[1].seen) {
    EXPECT_EQ(one.impatient, 0) << "who connects has asked for it; type " << static_cast<int>(type);
  }
  return seen;
}

void expect_no_patience(const std::map<wire::Type, Watched::Seen>& seen,
                        const std::set<wire::Type>& expected) {
  for (const wire::Type type : expected) {
    const auto found = seen.find(type);
    ASSERT_NE(found, seen.end()) << "nothing to judge: type " << static_cast<int>(type);
    EXPECT_GT(found->second.impatient, 0) << static_cast<int>(type);
    EXPECT_EQ(found->second.patient, 0) << static_cast<int>(type);
  }
  // But its connections' packets are worth a moment.
  EXPECT_GT(seen.at(wire::Type::data).patient, 0);
  EXPECT_EQ(seen.at(wire::Type::data).impatient, 0);
  EXPECT_EQ(seen.at(wire::Type::sack).impatient, 0);
}

// [D45] [D142] Neither challenges nor rejects, resets or accepts.
TEST(Patience, NotForStrangers) {
  using wire::Type;
  {
    SCOPED_TRACE("without a key");
    const auto seen = conversation(options(false), options(false), false);
    expect_no_patience(seen, {Type::challenge, Type::accept, Type::reject, Type::reset});
    std::set<std::uint16_t> ports = seen.at(Type::reset).entropies;
    ports.insert(seen.at(Type::reject).entropies.begin(), seen.at(Type::reject).entropies.end());
    EXPECT_EQ(ports.size(), options().paths) << "by all ports, in turn";
  }
  {
    SCOPED_TRACE("with a key");
    expect_no_patience(conversation(options(), options(), true),
                       {Type::challenge, Type::accept, Type::reject, Type::reset});
  }
  EndpointOptions server = options(false);
  server.identity = identity(1);
  server.trusted = {public_key(identity(2))};
  EndpointOptions client = options(false);
  client.identity = identity(2);
  client.peer = public_key(identity(1));
  SCOPED_TRACE("with keys of hosts");
  expect_no_patience(conversation(server, client, true), {Type::accept, Type::reset});
}

}  // namespace
}  // namespace strack::udp
