// For tests of the engine: two of them on simulated sockets, and what passes between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "udp/allocation_count.h"
#include "udp/engine.h"
#include "udp/network/simulated/simulated_network.h"

namespace strack::udp::testing {

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed + (i >> 8));
  return bytes;
}

inline EndpointOptions options(bool keyed = true) {
  EndpointOptions o;
  if (keyed) {
    o.key.emplace();
    o.key->fill(std::byte{42});
  }
  o.max_payload = 1'024;
  o.paths = 8;
  o.message_slots = 16;
  return o;
}

/// For an engine alone: what only endpoints ask for does nothing.
class EnginesNetwork : public Network {
 public:
  std::optional<Error> open(const Address& /*local*/) override { return std::nullopt; }
  bool is_open() const override { return true; }
  void sleep(Picoseconds /*time*/) override {}
  void yield() override {}
  int file_descriptor() const override { return -1; }
};

/// A simulated host whose own memory is told apart from that of the engine above it.
class CountedApart final : public EnginesNetwork {
 public:
  CountedApart(SimulatedHost& host, std::uint64_t& apart) : host_(host), apart_(apart) {}

  Instant now() override { return host_.now(); }
  SendResult send(std::span<const Outgoing> batch) override {
    const Apart apart(apart_);
    return host_.send(batch);
  }
  std::span<Incoming> receive() override {
    const Apart apart(apart_);
    return host_.receive();
  }
  const Address& address() const override { return host_.address(); }
  std::uint32_t largest_datagram(const Address& to) override { return host_.largest_datagram(to); }
  void random(std::span<std::uint8_t> out) override { host_.random(out); }
  const NetworkCounters& counters() const override { return host_.counters(); }

 private:
  struct Apart {
    explicit Apart(std::uint64_t& sum_of) : sum(sum_of), start(allocations) {}
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;
    ~Apart() { sum += allocations - start; }
    std::uint64_t& sum;
    std::uint64_t start;
  };
  SimulatedHost& host_;
  std::uint64_t& apart_;
};

/// Two hosts: engine 0 listens, engine 1 connects.
struct Duo {
  explicit Duo(const EndpointOptions& given = options(), const SimulatedFaults& faults = {},
               bool one_keyed_only = false)
      : world(1, faults),
        hosts{&world.add_host(), &world.add_host()},
        networks{{*hosts[0], apart}, {*hosts[1], apart}} {
    EndpointOptions server = given;
    server.listen = "127.0.0.1:4794";
    EndpointOptions client = given;
    if (one_keyed_only) client.key.reset();
    engines[0] = std::make_unique<Engine>(server, networks[0]);
    engines[1] = std::make_unique<Engine>(client, networks[1]);
    all = {engines[0].get(), engines[1].get()};
  }

  /// Lets everything happen for so long, and keeps the completions.
  void run(Picoseconds time, std::size_t only = 2) {
    const Instant end = world.now() + time;
    while (world.now() < end) {
      const std::span<Engine* const> which =
          only < 2 ? std::span<Engine* const>(&all[only], 1) : std::span<Engine* const>(all);
      run_until(world, which, end);
      for (std::size_t i = 0; i < 2; ++i) {
        std::array<Completion, 16> room;
        for (auto got = engines[i]->completions(room); !got.empty();
             got = engines[i]->completions(room)) {
          seen[i].insert(seen[i].end(), got.begin(), got.end());
        }
      }
    }
  }
  /// Does what there is to do at this moment, and no time passes. Returns how often the two engines
  /// themselves have asked the heap for memory meanwhile.
  std::uint64_t settle() {
    const std::uint64_t start = allocations - apart;
    for (bool busy = true; busy;) {
      busy = server().poll();
      busy |= client().poll();
    }
    return allocations - apart - start;
  }
  [[nodiscard]] std::vector<Completion> of(std::size_t i, Kind kind) const {
    std::vector<Completion> found;
    for (const Completion& c : seen[i]) {
      if (c.kind == kind) found.push_back(c);
    }
    return found;
  }
  /// The bytes of a message must live until it is acknowledged.
  std::span<const std::byte> keep(std::vector<std::byte> bytes) {
    return kept.emplace_back(std::move(bytes));
  }
  void connect() {
    auto made = engines[1]->connect(hosts[0]->address(), 5);
    ASSERT_TRUE(made) << made.error().text;
    id[1] = made.value();
    run(ms(20));
    ASSERT_EQ(of(1, Kind::connected).size(), 1u);
    ASSERT_EQ(of(0, Kind::accepted).size(), 1u);
    id[0] = of(0, Kind::accepted)[0].connection;
    seen[0].clear();
    seen[1].clear();
  }
  Engine& server() { return *engines[0]; }
  Engine& client() { return *engines[1]; }

  SimulatedWorld world;
  SimulatedHost* hosts[2];
  std::uint64_t apart = 0;  ///< allocations of the simulated network, within the engines' calls
  CountedApart networks[2];
  std::unique_ptr<Engine> engines[2];
  std::array<Engine*, 2> all{};
  std::deque<std::vector<std::byte>> kept;
  std::vector<Completion> seen[2];
  ConnectionId id[2]{};
};

}  // namespace strack::udp::testing
