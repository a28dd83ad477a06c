// Arbitrary datagrams into an engine in each of its states: nobody's packets may break it, make it
// hold more than its options say, or write where no buffer is.
//
// Without a key a stranger's packet can be as good as the peer's, so that whatever decodes reaches
// all of the engine and the core; the harness patches in the ids that are in use. With a key almost
// all must stop at the cipher, and atomics are done once at most. Between hosts with keys of their own, whoever knows the public one
// reaches the handshake.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/fuzz_input.h"
#include "udp/engine.h"
#include "udp/network/simulated/simulated_network.h"

namespace strack::udp {
namespace {

constexpr std::byte kGuard{0xa5};

/// Makes a changed hello or connect between hosts one of somebody who knows the responder's public key, which is no
/// secret: so the handshake itself is reached.
void knock(std::vector<std::uint8_t>& bytes, const Key& responder) {
  const auto header = wire::decode_header(bytes);
  if (!header || !header.value().host_keys()) return;
  noise::PublicKey known{};
  std::memcpy(known.data(), responder.data(), known.size());
  const JobKey door(known);
  const bool hello = header.value().type == wire::Type::hello;
  if (!hello && header.value().type != wire::Type::connect) return;
  if (bytes.size() < wire::kHostHelloMacAt + wire::kTagBytes) return;
  const std::size_t at = hello ? wire::kHostHelloMacAt : bytes.size() - wire::kTagBytes;
  const wire::ConstBytes before = wire::ConstBytes(bytes).first(at);
  const wire::Mac mac = hello ? door.hello_mac(before) : door.connect_mac(before);
  std::copy(mac.begin(), mac.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

/// [D154] A value in the midst of a region that atomics count in, each once at most.
class Counter {
 public:
  explicit Counter(std::span<std::byte> region)
      : value_(region.subspan(kAt, sizeof(std::uint64_t))), start_(value()) {}

  void count(Engine& engine, ConnectionId connection, RegionKey region) {
    for (std::uint64_t& found : before_) {
      STRACK_CHECK(engine.atomic(connection, region, kAt, AtomicOp::sum, ValueType::uint64,
                                 std::as_writable_bytes(std::span(&found, 1)),
                                 std::as_bytes(std::span(&kOne, 1)), {}, 3) == Status::ok);
    }
  }
  void check() const {
    STRACK_CHECK(value() - start_ <= before_.size());
    for (std::uint64_t i = 0; i < before_.size(); ++i)
      STRACK_CHECK(before_[i] == 0 || before_[i] == start_ + i);
  }

 private:
  static constexpr std::size_t kAt = 200;
  static constexpr std::uint64_t kOne = 1;

  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t value = 0;
    std::memcpy(&value, value_.data(), sizeof value);
    return value;
  }

  std::span<std::byte> value_;
  std::uint64_t start_;
  std::array<std::uint64_t, 3> before_{};
};

void run(FuzzInput& input) {
  const int keys = input.in_range(0, 3);  // shared, of hosts, none
  const int stage = input.in_range(0, 4);
  EndpointOptions o;
  o.max_payload = 600;
  o.paths = 4;
  o.message_slots = 8;
  o.unexpected_messages = 2;
  o.held_bytes = 8'192;
  o.max_connections = 4;
  o.complete_in_order = input.flag();
  if (keys == 0) o.key.emplace();
  SimulatedWorld world(1, {});
  SimulatedHost& first = world.add_host();
  SimulatedHost& second = world.add_host();
  EndpointOptions listening = o;
  listening.listen = "127.0.0.1:4794";
  if (keys == 1) {
    listening.identity.emplace().fill(std::byte{1});
    o.identity.emplace().fill(std::byte{2});
    listening.trusted = {public_key(*o.identity)};
    o.peer = public_key(*listening.identity);
  }
  Engine server(listening, first);
  Engine client(o, second);
  Engine* const both[] = {&server, &client};
  std::vector<SimulatedWorld::Captured> tape;
  world.capture = &tape;

  // A buffer and a region with guards around them.
  std::vector<std::byte> memory(3'000, kGuard);
  const std::span<std::byte> buffer = std::span(memory).subspan(1'000, 500);
  const std::span<std::byte> region_bytes = std::span(memory).subspan(2'000, 500);
  std::vector<std::byte> message(5'000, std::byte{1});
  std::array<Completion, 64> room;
  const auto drain = [&] {
    for (Engine* engine : both) {
      while (!engine->completions(room).empty()) {
      }
    }
  };
  const auto settle = [&](Picoseconds time) {
    const Instant end = world.now() + time;
    while (world.now() < end) {
      run_until(world, both, end);
      drain();
    }
  };
  Counter counter(region_bytes);
  RegionKey region;
  if (stage >= 1) {
    auto made = client.connect(first.address(), 1);
    STRACK_CHECK(static_cast<bool>(made));
    if (stage == 2) settle(us(25));  // challenged
    if (stage >= 3) {
      settle(ms(1));
      region = server.register_region(region_bytes, kAnyConnection, Access::both).value();
      STRACK_CHECK(server.post_receive(kAnyConnection, Match::any(), buffer, 1) == Status::ok);
      STRACK_CHECK(client.send(made.value(), 1, message, 1) == Status::ok);
      STRACK_CHECK(client.send(made.value(), 2, message, 2) == Status::ok);
      counter.count(client, made.value(), region);
      settle(us(input.in_range(1, 100)));
    }
    if (stage == 4) static_cast<void>(client.close(made.value()));
  }
  world.capture = nullptr;
  // Ids in use, as they can be seen on the way; and everything that was sent, to be played again.
  std::vector<std::array<std::uint8_t, 4>> ids;
  for (const auto& packet : tape) {
    if (packet.bytes.size() >= 8 && ids.size() < 8) {
      std::array<std::uint8_t, 4> id{};
      std::copy_n(packet.bytes.begin() + 4, 4, id.begin());
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  }

  while (!input.empty()) {
    const std::uint8_t how = input.byte();
    SimulatedHost& to = (how & 1) != 0 ? first : second;
    Address from = (how & 1) != 0 ? second.address() : first.address();
    std::vector<std::uint8_t> bytes;
    if ((how & 2) != 0 && !tape.empty()) {
      bytes = tape[input.in_range<std::size_t>(0, tape.size() - 1)].bytes;
      for (int changes = input.in_range(0, 4); changes > 0 && !bytes.empty(); --changes) {
        bytes[input.in_range<std::size_t>(0, bytes.size() - 1)] = input.byte();
      }
      if ((how & 32) != 0) bytes.resize(input.in_range<std::size_t>(0, bytes.size()));
    } else {
      bytes.resize(input.in_range<std::size_t>(0, 120));
      for (std::uint8_t& b : bytes) b = input.byte();
      if (bytes.size() >= 8 && (how & 4) != 0) {
        bytes[0] = static_cast<std::uint8_t>(wire::kVersion << 4 | (bytes[0] & 0x0f));
        if (!ids.empty()) {
          const auto& id = ids[input.in_range<std::size_t>(0, ids.size() - 1)];
          std::copy(id.begin(), id.end(), bytes.begin() + 4);
        }
      }
    }
    if (keys == 1 && (how & 128) != 0) knock(bytes, *o.peer);
    if ((how & 8) != 0) from.port = static_cast<std::uint16_t>(30'000 + (how >> 4));
    world.inject(to, from, std::move(bytes), (how & 16) != 0);
    if ((how & 64) != 0) settle(us(input.in_range(0, 2'000)));
    server.poll();
    client.poll();
    drain();
    STRACK_CHECK(server.statistics().held_bytes <= o.held_bytes);
    STRACK_CHECK(client.statistics().held_bytes <= o.held_bytes);
    STRACK_CHECK(server.connections_held() <= 2 * o.max_connections);
  }
  settle(ms(20));
  if (keys <= 1) counter.check();
  const auto untouched = [&](std::size_t from, std::size_t to) {
    return std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(from),
                       memory.begin() + static_cast<std::ptrdiff_t>(to),
                       [](std::byte b) { return b == kGuard; });
  };
  STRACK_CHECK(untouched(0, 1'000) && untouched(1'500, 2'000) && untouched(2'500, 3'000));
  server.shut_down();
  client.shut_down();
}

}  // namespace
}  // namespace strack::udp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strack::FuzzInput input(data, size);
  if (strack::udp::crypto_ready()) strack::udp::run(input);
  return 0;
}
