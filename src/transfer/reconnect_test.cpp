#include "transfer/reconnect.h"

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Reconnect::Clock::time_point at(milliseconds time) { return Reconnect::Clock::time_point(time); }

TEST(Reconnect, WaitsDoubleUpToTheLongest) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Reconnect reconnect(seconds(60), seed);
    for (const int most : {100, 200, 400, 800, 1'600, 3'200, 5'000, 5'000}) {
      const auto wait = reconnect.next(at(milliseconds(0)));
      ASSERT_TRUE(wait);
      EXPECT_GE(*wait, milliseconds(most / 2));
      EXPECT_LE(*wait, milliseconds(most));
    }
  }
}

TEST(Reconnect, GivesUpAtTheLimitUnlessThereIsProgress) {
  Reconnect reconnect(seconds(60), 1);
  EXPECT_TRUE(reconnect.next(at(seconds(100))));
  EXPECT_TRUE(reconnect.next(at(seconds(159))));
  EXPECT_FALSE(reconnect.next(at(seconds(160))));
  reconnect.progressed();
  const auto wait = reconnect.next(at(seconds(160)));
  ASSERT_TRUE(wait);
  EXPECT_LE(*wait, Reconnect::kFirst);
}

TEST(Reconnect, NoTimeIsNoAttempt) { EXPECT_FALSE(Reconnect({}, 1).next(at(seconds(0)))); }

// Who has another key, or says that a rule was broken, will say so again.
TEST(Reconnect, OnlyWhatCanChange) {
  using udp::Status;
  for (const Status status :
       {Status::peer_dead, Status::peer_restarted, Status::peer_aborted, Status::keys_exhausted,
        Status::timed_out, Status::unreachable, Status::busy, Status::went_silent})
    EXPECT_TRUE(Reconnect::worthwhile(status)) << udp::text(status);
  for (const Status status : {Status::ok, Status::key_refused, Status::protocol_error,
                              Status::not_listening, Status::refused, Status::connection_closed})
    EXPECT_FALSE(Reconnect::worthwhile(status)) << udp::text(status);
}

}  // namespace
}  // namespace strack::transfer
