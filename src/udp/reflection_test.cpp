// Who is asked in somebody else's name sends him no more than was sent: docs/protocol.md, "Set-up".
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "udp/engine.h"
#include "udp/testing.h"
#include "wire/wire.h"

namespace strack::udp {
namespace {

/// One question at a time; answers are counted.
class Asked final : public testing::EnginesNetwork {
 public:
  Instant now() override { return clock_; }
  SendResult send(std::span<const Outgoing> batch) override {
    for (const Outgoing& out : batch) bytes += out.bytes;
    packets += batch.size();
    return SendResult::ok;
  }
  std::span<Incoming> receive() override {
    if (next_ == nullptr) return {};
    return {std::exchange(next_, nullptr), 1};
  }
  const Address& address() const override { return own_; }
  std::uint32_t largest_datagram(const Address& /*to*/) override { return 1'472; }
  void random(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(rng_.next() >> 32);
  }
  const NetworkCounters& counters() const override { return none_; }

  /// Slowly enough for each to be answered, in all its copies.
  void ask(Engine& engine, std::span<std::uint8_t> question, const Address& from) {
    bytes = packets = 0;
    Incoming in{question, from, {}, now(), 0, false};
    next_ = &in;
    clock_ = clock_ + ms(10);
    engine.poll();
  }
  std::uint64_t bytes = 0, packets = 0;  ///< of the last answer

 private:
  Address own_ = *Address::parse("127.0.0.1:4794");
  Instant clock_ = at(seconds(50));
  Incoming* next_ = nullptr;
  Rng rng_{1};
  NetworkCounters none_;
};

// With the headers of IP and UDP counted, of which an answer in several copies has more than its question.
TEST(SetUp, NoQuestionGetsMoreBytesThanItHas) {
  for (const char* host : {"192.0.2.1:1000", "[2001:db8::1]:1000"}) {
    const Address from = *Address::parse(host);
    const std::uint64_t headers = from.v6 ? 48 : 28;
    EndpointOptions o = testing::options(false);
    o.insecure = true;
    o.listen = "127.0.0.1:4794";
    Asked network;
    Engine engine(o, network);
    wire::Terms terms;
    terms.connection_id = 1;
    terms.idle_timeout_ms = 1'000;
    terms.mtu = 1'000;
    terms.paths = terms.tracking_window = 1;
    terms.reply_port = 4'794;
    for (unsigned repeated = 0; repeated < 256; ++repeated) {
      const auto expect_copies = [&](std::span<std::uint8_t> question, std::uint64_t copies) {
        network.ask(engine, question, from);
        EXPECT_EQ(network.packets, copies) << host << ", repeated " << repeated;
        EXPECT_LE(network.bytes + network.packets * headers, question.size() + headers)
            << host << ", repeated " << repeated;
      };
      const auto attempt = static_cast<std::uint8_t>(repeated);
      terms.nonce[0] = attempt;
      std::array<std::uint8_t, wire::kHelloMinBytes> hello{};
      wire::encode(hello, {0, false, 0}, wire::Hello{terms, wire::kHelloMinBytes, attempt, {}});
      expect_copies(hello, std::min(repeated + 1, 4u));
      std::array<std::uint8_t, 200> connect{};
      const std::size_t n =
          wire::encode(connect, {0, false, 0}, wire::Connect{terms, {}, {}, attempt});
      expect_copies(std::span(connect.data(), n), 1);
    }
    EXPECT_EQ(engine.connections_held(), 0u);
  }
}

}  // namespace
}  // namespace strack::udp
