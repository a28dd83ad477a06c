// Messages whose first bytes are apart from the others.
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

/// Whether there is a key, and packets of a burst.
class TwoParts : public ::testing::TestWithParam<std::tuple<bool, std::uint32_t>> {};

// The receiver sees one message, wherever packets of 1024 bytes cut it.
TEST_P(TwoParts, ArriveAsOne) {
  EndpointOptions o = options(std::get<0>(GetParam()));
  o.burst = std::get<1>(GetParam());
  Duo duo(o);
  duo.connect();
  for (const std::size_t head : {0UL, 1UL, 32UL, 1'023UL, 1'024UL, 1'025UL, 5'000UL}) {
    for (const std::size_t rest : {0UL, 1UL, 992UL, 993UL, 9'000UL}) {
      const std::vector<std::byte> whole = pattern(head + rest, static_cast<unsigned>(head));
      std::vector<std::byte> buffer(whole.size() + 1);
      ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::exactly(3), buffer, 1), Status::ok);
      // Apart in memory, too: what is read beyond either's end is not the other.
      const auto first = duo.keep({whole.begin(), whole.begin() + static_cast<long>(head)});
      const auto second = duo.keep({whole.begin() + static_cast<long>(head), whole.end()});
      ASSERT_EQ(duo.client().send(duo.id[1], 3, first, second, 9), Status::ok);
      duo.run(ms(2));
      const auto received = duo.of(0, Kind::received);
      const auto sent = duo.of(1, Kind::sent);
      ASSERT_EQ(received.size(), 1u) << head << " + " << rest;
      ASSERT_EQ(sent.size(), 1u);
      EXPECT_EQ(received[0].length, whole.size());
      EXPECT_EQ(sent[0].length, whole.size());
      buffer.pop_back();
      EXPECT_EQ(buffer, whole) << head << " + " << rest;
      duo.seen[0].clear();
      duo.seen[1].clear();
    }
  }
}

// Several short ones share a burst.
TEST_P(TwoParts, StandSideBySide) {
  EndpointOptions o = options(std::get<0>(GetParam()));
  o.burst = std::get<1>(GetParam());
  Duo duo(o);
  duo.connect();
  std::vector<std::vector<std::byte>> buffers(8, std::vector<std::byte>(120));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffers[i], i), Status::ok);
  }
  duo.run(ms(2));
  for (unsigned i = 0; i < buffers.size(); ++i) {
    const std::vector<std::byte> whole = pattern(120, i);
    ASSERT_EQ(duo.client().send(duo.id[1], i, duo.keep({whole.begin(), whole.begin() + 32}),
                                duo.keep({whole.begin() + 32, whole.end()}), i),
              Status::ok);
  }
  duo.run(ms(2));
  for (unsigned i = 0; i < buffers.size(); ++i) EXPECT_EQ(buffers[i], pattern(120, i)) << i;
}

TEST(TwoPartsOf, FourGibibytesAreTooLong) {
  Duo duo;
  duo.connect();
  const std::span<const std::byte> half(static_cast<const std::byte*>(nullptr), 0x8000'0000);
  EXPECT_EQ(duo.client().send(duo.id[1], 1, half, half, 1), Status::too_long);
}

INSTANTIATE_TEST_SUITE_P(Engines, TwoParts,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(1U, 4U, 0U)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param) ? "Keyed" : "Plain") +
                                  std::to_string(std::get<1>(tested.param));
                         });

}  // namespace
}  // namespace strack::udp
