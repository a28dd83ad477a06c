// One-sided reads, writes that tell, messages in pieces, and messages that are only looked at.
#include <array>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

/// Whether there is a key.
class Reads : public ::testing::TestWithParam<bool> {
 protected:
  Reads() : duo(options(GetParam())) { duo.connect(); }
  /// Of the server's memory, for the client.
  RegionKey expose(std::span<std::byte> memory, Access access) {
    auto made = duo.server().register_region(memory, duo.id[0], access);
    EXPECT_TRUE(made);
    return made.value();
  }
  /// Where set-up's packets may be lost, too.
  static void connect(Duo& lossy) {
    const auto made = lossy.client().connect(lossy.hosts[0]->address(), 5);
    ASSERT_TRUE(made);
    lossy.id[1] = made.value();
    for (int i = 0; i < 200 && lossy.of(0, Kind::accepted).empty(); ++i) lossy.run(ms(20));
    for (int i = 0; i < 200 && lossy.of(1, Kind::connected).empty(); ++i) lossy.run(ms(20));
    ASSERT_EQ(lossy.of(0, Kind::accepted).size(), 1u);
    lossy.id[0] = lossy.of(0, Kind::accepted)[0].connection;
    lossy.seen[0].clear();
    lossy.seen[1].clear();
  }
  Status read(RegionKey from, std::uint64_t offset, std::span<std::byte> into,
              std::uint64_t cookie) {
    return duo.client().read(duo.id[1], from, offset, into, cookie);
  }
  Duo duo;
};

// [D148] Bytes of the peer's memory, of none to many packets, from anywhere in it; the peer's program is told nothing.
TEST_P(Reads, FetchWhatIsThere) {
  auto memory = pattern(20'000);
  const RegionKey region = expose(memory, Access::read);
  std::uint64_t cookie = 0;
  for (const std::size_t size : {0UL, 1UL, 1'000UL, 1'024UL, 1'025UL, 9'000UL, 20'000UL}) {
    const std::size_t offset = 20'000 - size;
    std::vector<std::byte> into(size + 1, std::byte{99});
    ASSERT_EQ(read(region, offset, std::span(into).first(size), ++cookie), Status::ok);
    duo.run(ms(5));
    const auto done = duo.of(1, Kind::read);
    ASSERT_EQ(done.size(), 1u) << size;
    EXPECT_EQ(done[0].status, Status::ok);
    EXPECT_EQ(done[0].cookie, cookie);
    EXPECT_EQ(done[0].length, size);
    EXPECT_TRUE(std::equal(into.begin(), into.end() - 1,
                           memory.begin() + static_cast<std::ptrdiff_t>(offset)));
    EXPECT_EQ(into.back(), std::byte{99});
    EXPECT_EQ(duo.seen[1].size(), 1u) << "a request's own acknowledgement is nobody's business";
    EXPECT_TRUE(duo.seen[0].empty());
    duo.seen[1].clear();
  }
}

// [D148] A read sees the writes that were queued before it, whatever is lost and overtaken on the way.
TEST_P(Reads, SeeEarlierWrites) {
  SimulatedFaults faults;
  faults.loss = Ratio{1, 20};
  faults.jitter = us(30);
  Duo lossy(options(GetParam()), faults);
  connect(lossy);
  std::vector<std::byte> memory(8'000);
  const auto region = lossy.server().register_region(memory, kAnyConnection, Access::both);
  std::vector<std::byte> into(8'000);
  for (unsigned round = 0; round < 30; ++round) {
    const auto bytes = lossy.keep(pattern(8'000, round));
    ASSERT_EQ(lossy.client().write(lossy.id[1], region.value(), 0, bytes, 1), Status::ok);
    ASSERT_EQ(lossy.client().read(lossy.id[1], region.value(), 0, into, 2), Status::ok);
    for (int i = 0; i < 500 && lossy.of(1, Kind::read).empty(); ++i) lossy.run(ms(10));
    ASSERT_EQ(lossy.of(1, Kind::read).size(), 1u) << round;
    EXPECT_TRUE(std::equal(into.begin(), into.end(), bytes.begin())) << round;
    for (int i = 0; i < 500 && lossy.of(1, Kind::written).empty(); ++i) lossy.run(ms(10));
    lossy.seen[1].clear();
  }
}

// More than there are slots at either side: they wait for their turn, and messages of both directions pass beside them.
TEST_P(Reads, ManyAtOnce) {
  auto memory = pattern(5'000);
  const RegionKey region = expose(memory, Access::read);
  auto own = pattern(5'000, 9);
  const auto other = duo.client().register_region(own, kAnyConnection, Access::read);
  constexpr std::size_t kReads = 60;
  std::vector<std::vector<std::byte>> into(2 * kReads, std::vector<std::byte>(5'000));
  std::size_t asked = 0;
  std::size_t answered = 0;
  for (int i = 0;
       i < 5'000 && duo.of(0, Kind::read).size() + duo.of(1, Kind::read).size() < 2 * kReads; ++i) {
    while (asked < kReads && read(region, 0, into[asked], asked) == Status::ok) ++asked;
    while (answered < kReads && duo.server().read(duo.id[0], other.value(), 0,
                                                  into[kReads + answered], answered) == Status::ok)
      ++answered;
    duo.run(us(200));
  }
  EXPECT_EQ(duo.of(1, Kind::read).size(), kReads);
  EXPECT_EQ(duo.of(0, Kind::read).size(), kReads);
  for (std::size_t i = 0; i < kReads; ++i) {
    EXPECT_EQ(into[i], memory) << i;
    EXPECT_EQ(into[kReads + i], own) << i;
  }
  for (const auto& side : duo.seen) {
    for (const Completion& one : side) EXPECT_EQ(one.status, Status::ok);
  }
}

// What is not in a region that may be read by this peer ends the connection, as with writes.
TEST_P(Reads, NeedTheirRights) {
  std::vector<std::byte> memory(100);
  std::vector<std::byte> into(100);
  const std::array<Access, 2> rights{Access::write, Access::read};
  for (int wrong = 0; wrong < 4; ++wrong) {
    Duo fresh(options(GetParam()));
    fresh.connect();
    const auto region = fresh.server().register_region(
        memory, wrong == 3 ? kAnyConnection : fresh.id[0], rights[wrong == 0 ? 0 : 1]);
    RegionKey key = region.value();
    if (wrong == 1) ++key.id;
    if (wrong == 3) {
      ASSERT_EQ(fresh.server().unregister_region(key), Status::ok);
    }
    ASSERT_EQ(fresh.client().read(fresh.id[1], key, wrong == 2 ? 1 : 0, into, 7), Status::ok);
    fresh.run(ms(5));
    const auto done = fresh.of(1, Kind::read);
    ASSERT_EQ(done.size(), 1u) << wrong;
    EXPECT_EQ(done[0].status, Status::protocol_error);
    EXPECT_EQ(done[0].cookie, 7u);
    ASSERT_EQ(fresh.of(0, Kind::failed).size(), 1u);
    EXPECT_EQ(fresh.of(0, Kind::failed)[0].status, Status::access_refused);
  }
  // A region that may be read only is not written.
  const RegionKey region = expose(memory, Access::read);
  ASSERT_EQ(duo.client().write(duo.id[1], region, 0, duo.keep(pattern(10)), 1), Status::ok);
  duo.run(ms(5));
  EXPECT_EQ(duo.of(0, Kind::failed).size(), 1u);
  EXPECT_EQ(memory, std::vector<std::byte>(100));
}

// Memory that goes while it is read takes the connection with it, and not a byte is read afterwards.
TEST_P(Reads, EndWithTheirRegion) {
  auto memory = pattern(4'000'000);
  const RegionKey region = expose(memory, Access::read);
  std::vector<std::byte> into(4'000'000);
  ASSERT_EQ(read(region, 0, into, 1), Status::ok);
  duo.run(us(25));
  ASSERT_TRUE(duo.of(1, Kind::read).empty()) << "it is under way";
  ASSERT_EQ(duo.server().unregister_region(region), Status::ok);
  ASSERT_EQ(duo.of(0, Kind::failed).size(), 0u);
  duo.run(ms(5));
  EXPECT_EQ(duo.of(0, Kind::failed).size(), 1u);
  const auto done = duo.of(1, Kind::read);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_NE(done[0].status, Status::ok);
}

// A peer that closes answers no more: reads end, and the connection does, too.
TEST_P(Reads, EndWithThePeersClose) {
  auto memory = pattern(100);
  const RegionKey region = expose(memory, Access::read);
  std::vector<std::byte> into(100);
  ASSERT_EQ(duo.server().close(duo.id[0]), Status::ok);
  const Status status = read(region, 0, into, 3);
  ASSERT_EQ(status, Status::ok);
  duo.run(ms(20));
  const auto done = duo.of(1, Kind::read);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, Status::connection_closed);
  EXPECT_EQ(duo.of(1, Kind::peer_closed).size(), 1u);
  EXPECT_EQ(read(region, 0, into, 4), Status::connection_closed);
  ASSERT_EQ(duo.client().close(duo.id[1]), Status::ok);
  duo.run(ms(50));
  EXPECT_EQ(duo.of(0, Kind::closed).size(), 1u);
  EXPECT_EQ(duo.of(1, Kind::closed).size(), 1u);
}

// What cannot be asked is said at once.
TEST_P(Reads, SayWhatCannotBe) {
  std::vector<std::byte> into(10);
  EXPECT_EQ(read(RegionKey{0}, 0, into, 1), Status::unknown_region) << "no memory has this name";
  EXPECT_EQ(duo.client().write(duo.id[1], RegionKey{0}, 0, into, 1), Status::unknown_region);
  EXPECT_EQ(read(RegionKey{1}, ~std::uint64_t{0} - 5, into, 1), Status::too_long);
  EXPECT_EQ(duo.client().read(ConnectionId{999}, RegionKey{1}, 0, into, 1),
            Status::unknown_connection);
  Duo fresh(options(GetParam()));
  const auto made = fresh.client().connect(fresh.hosts[0]->address(), 5);
  EXPECT_EQ(fresh.client().read(made.value(), RegionKey{1}, 0, into, 1), Status::would_block)
      << "not up yet";
  EXPECT_EQ(duo.client().unregister_region(RegionKey{5}), Status::unknown_region);
}

// [D150] The bytes are in place when the receive that is told of them completes; the writer hears of both as one.
TEST_P(Reads, WritesThatTell) {
  SimulatedFaults faults;
  faults.loss = Ratio{1, 10};
  faults.jitter = us(30);
  Duo lossy(options(GetParam()), faults);
  connect(lossy);
  std::vector<std::byte> memory(3'000);
  const auto region = lossy.server().register_region(memory, kAnyConnection, Access::write);
  std::array<std::byte, 8> buffer{};
  for (unsigned round = 0; round < 30; ++round) {
    const auto bytes = lossy.keep(pattern(3'000, round));
    ASSERT_EQ(lossy.server().post_receive(lossy.id[0], Match::exactly(500 + round), buffer, 1),
              Status::ok);
    ASSERT_EQ(lossy.client().write(lossy.id[1], region.value(), 0, bytes, 500 + round, 70 + round),
              Status::ok);
    for (int i = 0; i < 500 && lossy.of(0, Kind::received).empty(); ++i) lossy.run(us(100));
    ASSERT_EQ(lossy.of(0, Kind::received).size(), 1u) << round;
    EXPECT_EQ(lossy.of(0, Kind::received)[0].tag, 500 + round);
    EXPECT_EQ(lossy.of(0, Kind::received)[0].length, 0u);
    EXPECT_TRUE(std::equal(memory.begin(), memory.end(), bytes.begin())) << round;
    for (int i = 0; i < 500 && lossy.of(1, Kind::written).empty(); ++i) lossy.run(ms(1));
    lossy.run(ms(20));
    ASSERT_EQ(lossy.of(1, Kind::written).size(), 1u) << round;
    EXPECT_EQ(lossy.of(1, Kind::written)[0].cookie, 70 + round);
    EXPECT_EQ(lossy.of(1, Kind::written)[0].length, 3'000u);
    EXPECT_TRUE(lossy.of(1, Kind::sent).empty());
    lossy.seen[0].clear();
    lossy.seen[1].clear();
  }
}

// Both of a pair go, or neither; what is under way at the end is told of once.
TEST_P(Reads, PairsAreOne) {
  std::vector<std::byte> memory(100);
  const auto region = duo.server().register_region(memory, kAnyConnection, Access::write);
  const auto bytes = duo.keep(pattern(100));
  std::size_t pairs = 0;
  while (duo.client().write(duo.id[1], region.value(), 0, bytes, 1, pairs) == Status::ok) ++pairs;
  EXPECT_EQ(pairs, 8u) << "of 16 slots";
  ASSERT_EQ(duo.client().abort(duo.id[1]), Status::ok);
  duo.run(ms(5));
  EXPECT_EQ(duo.of(1, Kind::written).size(), pairs);
  EXPECT_TRUE(duo.of(1, Kind::sent).empty());
}

// Messages and buffers in many pieces, empty ones among them, whatever packets cut.
TEST_P(Reads, PiecesAreGatheredAndScattered) {
  for (const std::size_t size : {0UL, 5UL, 1'024UL, 7'000UL}) {
    const auto whole = duo.keep(pattern(size, static_cast<unsigned>(size)));
    for (const std::size_t step : {1UL, 3UL, 700UL, 5'000UL}) {
      std::vector<std::span<const std::byte>> out;
      for (std::size_t at = 0; at < size && out.size() < 1'000; at += step)
        out.push_back(whole.subspan(at, std::min(step, size - at)));
      out.insert(out.begin(), {});
      out.push_back({});
      out.push_back({});
      std::size_t length = 0;
      for (const auto piece : out) length += piece.size();
      std::vector<std::byte> buffer(length + 10, std::byte{77});
      std::vector<std::span<std::byte>> in;
      const std::size_t other = std::max<std::size_t>(step - 1, 11);
      for (std::size_t at = 0; at < length; at += other)
        in.push_back(std::span(buffer).subspan(at, std::min(other, length - at)));
      in.push_back({});
      ASSERT_EQ(duo.server().post_receivev(duo.id[0], Match::exactly(4), in, 1), Status::ok);
      ASSERT_EQ(duo.client().sendv(duo.id[1], 4, out, 2), Status::ok);
      duo.run(ms(5));
      ASSERT_EQ(duo.of(0, Kind::received).size(), 1u) << size << " by " << step;
      EXPECT_EQ(duo.of(0, Kind::received)[0].length, length);
      EXPECT_EQ(duo.of(0, Kind::received)[0].status, Status::ok);
      EXPECT_TRUE(std::equal(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length),
                             whole.begin()));
      EXPECT_EQ(buffer[length], std::byte{77}) << "nothing beyond";
      ASSERT_EQ(duo.of(1, Kind::sent).size(), 1u);
      duo.seen[0].clear();
      duo.seen[1].clear();
    }
  }
  // Longer than all pieces together: cut off.
  std::array<std::byte, 6> small{};
  const std::array<std::span<std::byte>, 2> in{std::span(small).first(2),
                                               std::span(small).subspan(2, 3)};
  ASSERT_EQ(duo.server().post_receivev(duo.id[0], Match::any(), in, 1), Status::ok);
  ASSERT_EQ(duo.client().send(duo.id[1], 4, duo.keep(pattern(3'000)), 2), Status::ok);
  duo.run(ms(5));
  ASSERT_EQ(duo.of(0, Kind::received).size(), 1u);
  EXPECT_EQ(duo.of(0, Kind::received)[0].status, Status::truncated);
  EXPECT_EQ(small[5], std::byte{0});
  const auto expected = pattern(3'000);
  EXPECT_TRUE(std::equal(small.begin(), small.end() - 1, expected.begin()));
  const std::vector<std::span<const std::byte>> many(kMostMessagePieces + 1);
  EXPECT_EQ(duo.client().sendv(duo.id[1], 4, many, 2), Status::too_long);
}

// A look finds the oldest that matches, and takes nothing.
TEST_P(Reads, PeekTakesNothing) {
  EXPECT_FALSE(duo.server().peek(kAnyConnection, Match::any()));
  for (const std::uint64_t tag : {5u, 6u})
    ASSERT_EQ(duo.client().send(duo.id[1], tag, duo.keep(pattern(10 * tag)), tag), Status::ok);
  duo.run(ms(2));
  for (int i = 0; i < 2; ++i) {
    for (const ConnectionId from : {kAnyConnection, duo.id[0]}) {
      const auto found = duo.server().peek(from, Match::any());
      ASSERT_TRUE(found);
      EXPECT_EQ(found->kind, Kind::received);
      EXPECT_EQ(found->tag, 5u);
      EXPECT_EQ(found->length, 50u);
      EXPECT_EQ(found->connection, duo.id[0]);
      const auto second = duo.server().peek(from, Match::exactly(6));
      ASSERT_TRUE(second);
      EXPECT_EQ(second->length, 60u);
      EXPECT_FALSE(duo.server().peek(from, Match::exactly(7)));
    }
  }
  std::vector<std::byte> buffer(100);
  ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), buffer, 1), Status::ok);
  EXPECT_EQ(duo.server().peek(kAnyConnection, Match::any())->tag, 6u);
  ASSERT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), buffer, 2), Status::ok);
  EXPECT_FALSE(duo.server().peek(kAnyConnection, Match::any()));
  EXPECT_FALSE(duo.server().peek(ConnectionId{999}, Match::any()));
}

INSTANTIATE_TEST_SUITE_P(Engines, Reads, ::testing::Bool(), [](const auto& tested) {
  return std::string(tested.param ? "Keyed" : "Plain");
});

}  // namespace
}  // namespace strack::udp
