// Who is asked in somebody else's name sends him no more than was sent: docs/protocol.md, "Set-up".
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

#include "base/units.h"
#include "udp/engine.h"
#include "udp/questions_testing.h"
#include "udp/testing.h"
#include "wire/wire.h"

namespace strack::udp {
namespace {

constexpr Picoseconds kApart = ms(10);  // each is answered, in all its copies

// With the headers of IP and UDP counted, of which an answer in several copies has more than its question.
TEST(SetUp, NoQuestionGetsMoreBytesThanItHas) {
  for (const char* host : {"192.0.2.1:1000", "[2001:db8::1]:1000"}) {
    const Address from = *Address::parse(host);
    const std::uint64_t headers = from.v6 ? 48 : 28;
    EndpointOptions o = testing::options(false);
    o.insecure = true;
    o.listen = "127.0.0.1:4794";
    testing::Questions network(kApart);
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
