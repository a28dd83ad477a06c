// How long a transfer feels it when a spine dies for good in its middle.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

constexpr std::size_t kTransfer = 8'000'000;
constexpr BitsPerSecond kLink = mbps(200);

/// What has arrived after each millisecond, and when the spine died.
struct Course {
  std::vector<double> carried;
  std::size_t fault = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t sent_again = 0;  ///< packets, from 50 ms after the death on
};

/// As in tests/fabric: 200 Mb/s, 256 entropies of which each way has a hash of its own, one message.
Course transfer(const std::string& transport, std::uint32_t spines, std::uint64_t hash_seed) {
  EndpointOptions o = options(false);
  o.transport = transport;
  o.max_payload = 4'096;
  o.paths = 256;
  o.rate_bps = 200'000'000;
  SimulatedFaults faults;
  faults.link = kLink;
  faults.per_byte = 3 * (bytes(1) / kLink);  // the other links of the way
  faults.one_way = us(30);
  faults.spines = spines;
  faults.dead_spines = 1;
  faults.hash_seed = hash_seed;
  Duo duo(o, faults);
  duo.connect();
  const std::vector<std::byte> message = pattern(kTransfer);
  std::vector<std::byte> sink(kTransfer);
  EXPECT_EQ(duo.server().post_receive(duo.id[0], Match::any(), sink, 0), Status::ok);
  EXPECT_EQ(duo.client().send(duo.id[1], 1, message, 0), Status::ok);
  Course course;
  const auto goes_on = [&](
                           double until, const std::function<void()>& look = [] {}) {
    while (duo.of(1, Kind::sent).empty() && duo.world.now() < at(seconds(30))) {
      duo.run(ms(1));
      look();
      const auto s = duo.server().statistics(duo.id[0]);
      course.carried.push_back(
          static_cast<double>((s->data_packets_received + s->duplicates_received) * o.max_payload));
      if (course.carried.back() >= until) return;
    }
  };
  goes_on(kTransfer / 2.0);
  course.fault = course.carried.size() - 1;
  const std::uint64_t before = duo.world.lost;
  const Instant died = duo.world.now();
  duo.world.faults().spines_die_at = died;
  const auto sent_again = [&] { return duo.client().statistics(duo.id[1])->retransmissions; };
  std::optional<std::uint64_t> early;
  goes_on(1e12, [&] {
    if (!early && duo.world.now() >= died + ms(50)) early = sent_again();
  });
  course.sent_again = sent_again() - early.value_or(0);
  EXPECT_EQ(duo.of(1, Kind::sent).size(), 1u);
  EXPECT_EQ(sink, message);
  EXPECT_GT(duo.world.lost - before, 10u) << "a spine that nothing went by shows nothing";
  course.timeouts = duo.client().statistics(duo.id[1])->timeouts;
  return course;
}

/// As tests/fabric has it [D152]: until the last window of 20 ms that carried less than four fifths of what they did before, in
/// milliseconds. What comes after a tenth of a second without such a window has a length of its own; the longest counts. The
/// last 2 % do not.
std::size_t felt(const Course& course) {
  constexpr std::size_t kWindow = 20, kSteady = 100;
  const std::vector<double>& carried = course.carried;
  const double before = (carried[course.fault] - carried[course.fault / 2]) /
                        static_cast<double>(course.fault - course.fault / 2);
  const double dry = carried[course.fault] + 0.98 * (carried.back() - carried[course.fault]);
  std::size_t begin = course.fault;
  std::size_t poor = course.fault;
  std::size_t longest = 0;
  for (std::size_t now = course.fault + kWindow; now < carried.size() && carried[now] <= dry;
       ++now) {
    if (carried[now] - carried[now - kWindow] >= 0.8 * before * kWindow) continue;
    if (now - poor > kSteady) begin = now - kWindow;
    poor = now;
    longest = std::max(longest, poor - begin);
  }
  return longest;
}

struct Recovery : ::testing::TestWithParam<std::string> {};

// [D119] [D120] [D121] [D122] [D152] Before the first four, one in thirty was felt for longer, up to 283 ms, and there was a timeout in most.
TEST_P(Recovery, ADeadSpineIsFeltForLessThanATenthOfASecond) {
  std::uint64_t timeouts = 0;
  for (std::uint32_t spines = 3; spines <= 5; ++spines) {
    for (std::uint64_t seed = 70; seed < 80; ++seed) {
      const Course course = transfer(GetParam(), spines, seed);
      EXPECT_LT(felt(course), 100u) << spines << " spines, hash seed " << seed;
      timeouts += course.timeouts;
    }
  }
  EXPECT_LE(timeouts, 3u);
}

// [D130] [D131] The same where half of everything is dead, each way. Before these, one in four of STrack's was felt for longer, and
// nearly all of STrack+'s, up to 930 ms.
TEST_P(Recovery, OneOfTwoSpinesIsLeftAsSoon) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_LT(felt(transfer(GetParam(), 2, seed)), 100u) << "hash seed " << seed;
}

// [D158] Most of 256 entropies have nothing under way when a spine dies. What it takes to find that they are dead, too.
TEST_P(Recovery, FewPacketsAreSpentOnWhatIsDead) {
  std::uint64_t sent_again = 0;
  for (std::uint64_t seed = 70; seed < 90; ++seed)
    sent_again += transfer(GetParam(), 3, seed).sent_again;
  EXPECT_LE(sent_again, 20u * 10u) << "without pauses 32 of some 600 packets each";
}

/// One of some spines dies where hosts look so seldom that a SACK tells of several packets; from 0.9 to 1 s later.
struct Later {
  /// Paths that live both ways and carry half as much as each would if all were used alike, or more.
  std::uint32_t used = 0;
  double packets_per_sack = 0;
};

struct SeldomLooks {
  static constexpr std::uint32_t kPaths = 256;

  SeldomLooks(const EndpointOptions& o, const SimulatedFaults& faults) : duo(o, faults) {
    duo.connect();
    EXPECT_TRUE(duo.client().keep_path_statistics(duo.id[1]));
    for (int i = 0; i < 4; ++i) {
      receive();
      send();
    }
  }
  void receive() {
    EXPECT_EQ(duo.server().post_receive(duo.id[0], Match::any(), sink, 0), Status::ok);
  }
  void send() { EXPECT_EQ(duo.client().send(duo.id[1], 1, message, 0), Status::ok); }
  /// Each message that arrives or is acknowledged is followed by another one.
  void goes_on(Picoseconds time) {
    for (const Instant end = duo.world.now() + time; duo.world.now() < end;) {
      duo.world.advance_to(duo.world.now() + us(200));
      duo.settle();
      std::array<Completion, 16> room;
      for (const Completion& one : duo.server().completions(room)) {
        if (one.kind == Kind::received) receive();
      }
      for (const Completion& one : duo.client().completions(room)) {
        if (one.kind == Kind::sent) send();
      }
    }
  }
  std::vector<std::uint64_t> went() {
    std::vector<std::uint64_t> packets(kPaths);
    for (const PathStatistics& one : duo.client().path_statistics(duo.id[1]))
      packets[one.path] = one.packets;
    return packets;
  }
  bool lives(std::uint16_t path) {
    const Address& here = duo.hosts[1]->address();
    const Address& there = duo.hosts[0]->address();
    return !meets_dead_spine(duo.world.faults(), here, there, path) &&
           !meets_dead_spine(duo.world.faults(), there, here, path);
  }

  Duo duo;
  std::vector<std::byte> message = pattern(1'000'000);
  std::vector<std::byte> sink = std::vector<std::byte>(1'000'000);
};

Later a_second_later(std::uint32_t spines, std::uint64_t hash_seed) {
  EndpointOptions o = options(false);
  o.paths = SeldomLooks::kPaths;
  o.rate_bps = 500'000'000;
  SimulatedFaults faults;
  faults.link = mbps(500);
  faults.one_way = us(30);
  faults.spines = spines;
  faults.dead_spines = 1;
  faults.hash_seed = hash_seed;
  SeldomLooks world(o, faults);
  world.goes_on(ms(100));
  world.duo.world.faults().spines_die_at = world.duo.world.now();
  world.goes_on(ms(900));
  const std::vector<std::uint64_t> before = world.went();
  world.goes_on(ms(100));
  const std::vector<std::uint64_t> after = world.went();
  const auto sum = [](const auto& of) {
    return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
  };
  const std::uint64_t all = sum(after) - sum(before);
  Later found;
  for (std::uint16_t path = 0; path < SeldomLooks::kPaths; ++path)
    found.used +=
        world.lives(path) && (after[path] - before[path]) * 2 * SeldomLooks::kPaths >= all;
  const auto s = world.duo.server().statistics(world.duo.id[0]);
  found.packets_per_sack =
      static_cast<double>(s->data_packets_received) / static_cast<double>(s->sacks_sent);
  return found;
}

// [D158] [D160] A SACK echoes one of the packets that it tells of. Where only that one counted as a try that succeeded, 15 paths
// of some 145 that lived carried their part a second after the death. (STrack+ asks for 32 at most.)
TEST(RecoveryWithFewSacks, PathsThatLiveComeBack) {
  std::uint32_t used = 0;
  std::uint32_t transfers = 0;
  for (std::uint32_t spines = 3; spines <= 5; ++spines) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed, ++transfers) {
      const Later later = a_second_later(spines, seed);
      EXPECT_GT(later.packets_per_sack, 4);
      used += later.used;
    }
  }
  EXPECT_GE(used, 30 * transfers);
}

// [D167] Nothing comes after a message of one packet that would tell of its loss: it is the answer to a probe that does. At 200 Mb/s,
// where targets are scaled by 2.6 ms, a lost one took 9 ms; what is not lost takes 0.7.
TEST(RecoveryOfTheLast, IsAskedForAfterThreeRtts) {
  EndpointOptions o = options(false);
  o.max_payload = 4'096;
  o.rate_bps = 200'000'000;
  SimulatedFaults faults;
  faults.link = kLink;
  faults.per_byte = 3 * (bytes(1) / kLink);
  faults.one_way = us(30);
  Duo duo(o, faults);
  duo.connect();
  duo.world.faults().loss = {1, 50};
  const std::vector<std::byte> message = pattern(o.max_payload);
  std::vector<std::byte> sink(message.size());
  std::vector<Picoseconds> slow;
  for (std::size_t i = 0; i < 1'000; ++i) {
    ASSERT_EQ(duo.server().post_receive(duo.id[0], Match::any(), sink, 0), Status::ok);
    ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 0), Status::ok);
    const Instant start = duo.world.now();
    while (duo.of(0, Kind::received).size() == i && duo.world.now() < start + seconds(1))
      duo.run(us(100));
    if (duo.world.now() - start > ms(1)) slow.push_back(duo.world.now() - start);
    while (duo.of(1, Kind::sent).size() == i && duo.world.now() < start + seconds(1))
      duo.run(us(100));
    ASSERT_EQ(duo.of(1, Kind::sent).size(), i + 1);
  }
  std::sort(slow.begin(), slow.end());
  ASSERT_GT(slow.size(), 10u);
  EXPECT_LT(slow[slow.size() / 2], ms(4));
}

INSTANTIATE_TEST_SUITE_P(Transports, Recovery, ::testing::Values("strack", "strack_plus"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace strack::udp
