// Several transports under one engine, and what becomes of those that a peer does not have.
#include "udp/transport.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "udp/example_transports.h"
#include "udp/testing.h"

namespace strack::udp::testing {
namespace {

/// A server with some transports, and a client that starts connections of one.
struct Pairing {
  Pairing(Transports servers, Transports clients, std::string_view transport, bool keyed)
      : world(1, {}), hosts{&world.add_host(), &world.add_host()} {
    EndpointOptions o = options(keyed);
    o.connect_timeout = std::chrono::milliseconds(500);
    o.listen = "127.0.0.1:4794";
    engines[0] = std::make_unique<Engine>(o, *hosts[0], servers);
    o.listen.clear();
    o.transport = transport;
    engines[1] = std::make_unique<Engine>(o, *hosts[1], clients);
    all = {engines[0].get(), engines[1].get()};
  }
  void run(Picoseconds time) {
    for (const Instant end = world.now() + time; world.now() < end;) {
      run_until(world, all, end);
      for (std::size_t i = 0; i < 2; ++i) {
        std::array<Completion, 16> room;
        for (auto got = engines[i]->completions(room); !got.empty();
             got = engines[i]->completions(room))
          seen[i].insert(seen[i].end(), got.begin(), got.end());
      }
    }
  }

  SimulatedWorld world;
  SimulatedHost* hosts[2];
  std::unique_ptr<Engine> engines[2];
  std::array<Engine*, 2> all{};
  std::vector<Completion> seen[2];
};

TEST(Transports, HaveIdsAndNamesOfTheirOwn) {
  std::set<std::uint8_t> ids;
  std::set<std::string_view> names;
  for (const Transport* one : with_examples()) {
    EXPECT_NE(one->id, 0);
    EXPECT_TRUE(ids.insert(one->id).second) << one->name;
    EXPECT_TRUE(names.insert(one->name).second) << one->name;
    EXPECT_LE(one->tracking_window, wire::kMaxTrackingWindow);
  }
  EXPECT_GE(ids.size(), 2u);
}

// The initiator says which; the responder takes any that it has. Messages arrive bit by bit both ways.
TEST(Transports, EachRunsOverTheSameEngine) {
  const auto all = with_examples();
  for (const Transport* one : all) {
    for (const bool keyed : {false, true}) {
      Pairing p(all, all, one->name, keyed);
      const auto made = p.engines[1]->connect(p.hosts[0]->address(), 7);
      ASSERT_TRUE(made);
      const auto message = pattern(300'000);
      std::vector<std::byte> there(message.size()), back(message.size());
      ASSERT_EQ(p.engines[0]->post_receive(kAnyConnection, Match::any(), there, 1), Status::ok);
      ASSERT_EQ(p.engines[1]->send(made.value(), 1, message, 1), Status::ok);
      p.run(ms(200));
      EXPECT_EQ(there, message) << one->name;
      ASSERT_FALSE(p.seen[0].empty());
      const ConnectionId accepted = p.seen[0].front().connection;
      ASSERT_EQ(p.engines[1]->post_receive(made.value(), Match::any(), back, 1), Status::ok);
      ASSERT_EQ(p.engines[0]->send(accepted, 1, message, 1), Status::ok);
      p.run(ms(200));
      EXPECT_EQ(back, message) << one->name;
      EXPECT_EQ(p.engines[1]->statistics(made.value())->timeouts, 0u) << one->name;
      ASSERT_EQ(p.engines[0]->close(accepted), Status::ok);
      ASSERT_EQ(p.engines[1]->close(made.value()), Status::ok);
      p.run(ms(200));
      EXPECT_EQ(p.seen[1].back().kind, Kind::closed) << one->name;
    }
  }
}

// With a key the reason could be anybody's, so it counts when the time is over.
TEST(Transports, WhatThePeerDoesNotHaveIsRefused) {
  const auto all = with_examples();
  const Transports one(all.data(), 1);
  for (const bool keyed : {false, true}) {
    Pairing p(one, all, all.back()->name, keyed);
    ASSERT_TRUE(p.engines[1]->connect(p.hosts[0]->address(), 7));
    p.run(seconds(1));
    ASSERT_EQ(p.seen[1].size(), 1u);
    EXPECT_EQ(p.seen[1][0].kind, Kind::failed);
    EXPECT_EQ(p.seen[1][0].status, Status::transport_refused);
    EXPECT_GE(p.engines[0]->statistics().rejected, 1u);
    EXPECT_TRUE(p.seen[0].empty());
  }
}

TEST(Transports, ANameThatNobodyHasIsAnError) {
  EndpointOptions o = options();
  o.transport = "carrier-pigeon";
  const auto error = Engine::check(o);
  ASSERT_TRUE(error);
  std::string names;
  for (const Transport* one : transports())
    names.append(names.empty() ? "" : ", ").append(one->name);
  EXPECT_EQ(error->text, "transport is \"carrier-pigeon\". it takes one of: " + names);
}

}  // namespace
}  // namespace strack::udp::testing
