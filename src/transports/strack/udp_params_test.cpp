#include "transports/strack/udp_params.h"

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

Measured measured() {
  return {.rate = gbps(10),
          .rtt = us(30),
          .full_rtt = ps(0),
          .payload = 4096,
          .paths = 64,
          .window = 1024};
}

// [D38] A short RTT is no reason to take the scheduler's noise for a queue.
TEST(DeriveParams, TargetIsNeverBelowSchedulingNoise) {
  const auto params = derive_params(measured()).value();
  EXPECT_EQ(params.net_base_rtt, kSchedulingNoise);
  EXPECT_EQ(params.target_qdelay, us(200));
  EXPECT_EQ(params.bdp, kb(250));
  EXPECT_EQ(params.max_cwnd, kb(500));
  EXPECT_EQ(params.rto, kLowestTimeout);
  EXPECT_EQ(params.probe_interval, us(600));
}

// [D119] [D120] Three RTTs as they are scaled, of the noise here; never beyond what the parameter may be.
TEST(DeriveParams, FindsLossesByTimeAndAsksSeveralWays) {
  const auto params = derive_params(measured()).value();
  EXPECT_EQ(params.reorder_time, params.target_qhigh);
  EXPECT_EQ(params.probe_copies, 8u);
  Measured far = measured();
  far.rtt = seconds(1);
  far.paths = 2;
  EXPECT_EQ(derive_params(far).value().reorder_time, seconds(1));
  EXPECT_EQ(derive_params(far).value().probe_copies, 2u);
}

// [D42] Ten milliseconds to 640, and 0.6 to 76.8 between probes.
TEST(DeriveParams, BacksOffInSilence) {
  const auto params = derive_params(measured()).value();
  EXPECT_EQ(params.rto_backoff_max, 6u);
  EXPECT_EQ(params.probe_backoff_max, 7u);
  EXPECT_EQ(params.silent_window, bytes(4 * 4'096));
  Measured far = measured();
  far.rtt = ms(40);
  EXPECT_EQ(derive_params(far).value().rto_backoff_max, 3u);
}

// [D167] Three RTTs as they are, not as targets are scaled by packets' times; of the noise at least, and of what targets are scaled by at most.
TEST(DeriveParams, AsksAfterThreeRttsAsTheyAre) {
  Measured slow = measured();
  slow.rate = mbps(200);
  slow.rtt = us(100);
  slow.payload = 5'000;  // 200 us, on four links
  const auto params = derive_params(slow).value();
  EXPECT_EQ(params.net_base_rtt, us(16 * 200));
  EXPECT_EQ(params.probe_interval, 3 * us(100 + 4 * 200));
  EXPECT_EQ(params.probe_rtt_limit, 2 * us(16 * 200));
  EXPECT_EQ(params.probe_backoff_max, 5u);  // 86 ms, and not 173
  slow.rate = mbps(2'000);
  slow.rtt = us(30);
  EXPECT_EQ(derive_params(slow).value().net_base_rtt, us(16 * 20));
  EXPECT_EQ(derive_params(slow).value().probe_interval, 3 * kSchedulingNoise);
  slow.rtt = ms(5);
  EXPECT_EQ(derive_params(slow).value().probe_interval, 3 * us(5'000 + 4 * 20));
}

// Beyond the noise, the measured RTT counts, and a full packet's time on four links.
TEST(DeriveParams, LongPathsScaleByTheirRtt) {
  Measured slow = measured();
  slow.rate = gbps(1);
  slow.rtt = ms(10);
  slow.payload = 8'000;  // 64 us
  const auto params = derive_params(slow).value();
  EXPECT_EQ(params.net_base_rtt, us(10'000 + 4 * 64));
  EXPECT_EQ(params.target_qdelay, us(10'256));
  EXPECT_EQ(params.rto, 25 * us(10'256));
  EXPECT_EQ(params.max_cwnd, 2 * params.bdp);
}

// [D38] Where an RTT is the time of a few packets, the target is that of 16: less would be chance.
TEST(DeriveParams, SlowPathsScaleByTheTimeOfPackets) {
  Measured slow = measured();
  slow.rate = mbps(200);
  slow.rtt = us(60);
  slow.payload = 8'000;  // 320 us
  const auto params = derive_params(slow).value();
  EXPECT_EQ(params.net_base_rtt, us(16 * 320));
  EXPECT_EQ(params.target_qdelay, us(16 * 320));
  EXPECT_EQ(params.bdp, bytes(16 * 8'000));
  EXPECT_EQ(params.max_cwnd, bytes(32 * 8'000));
  EXPECT_EQ(params.rto, us(9 * 16 * 320));  // three times the upper threshold
  // One window of clear SACKs opens it by an eighth, not all at once.
  EXPECT_EQ(params.alpha, params.max_cwnd / 8);
}

// [D38] What full packets take longer than small ones tells of links slower than the host's own.
TEST(DeriveParams, FindsTheRateOfSlowLinks) {
  Measured slow = measured();  // 10 Gb/s, 4096 bytes
  slow.full_rtt = slow.rtt + us(4 * 328);
  EXPECT_EQ(serialisation(slow), us(4 * 328));
  EXPECT_NEAR(static_cast<double>(path_rate(slow).count()), 99.9e6, 0.1e6);
  EXPECT_NEAR(static_cast<double>(derive_params(slow).value().target_qdelay.count()), 16 * 328e6,
              1e6);
  // One that is not slower, or even seems faster, changes nothing.
  slow.full_rtt = slow.rtt + us(1);
  EXPECT_EQ(path_rate(slow), gbps(10));
  slow.full_rtt = slow.rtt - us(10);
  EXPECT_EQ(path_rate(slow), gbps(10));
  // A pause of seconds is no measurement.
  slow.full_rtt = slow.rtt + seconds(60);
  EXPECT_EQ(path_rate(slow), kSlowest);
  EXPECT_TRUE(derive_params(slow).ok());
}

TEST(DeriveParams, WindowStaysWithinWhatThePeerTracksAndAboveABurst) {
  Measured fast = measured();
  fast.rate = gbps(400);
  fast.window = 100;
  EXPECT_EQ(derive_params(fast).value().max_cwnd, bytes(100 * 4096));
  EXPECT_EQ(derive_params(fast).value().tracking_window, 100u);
  Measured slow = measured();
  slow.rate = mbps(1);
  slow.burst = 16;
  EXPECT_EQ(derive_params(slow).value().max_cwnd, bytes(64 * 4096));
  EXPECT_EQ(derive_params(slow).value().min_cwnd, bytes(16 * 4096));
}

// A peer may say that it tracks a single packet: then so be it, or it is refused in words.
TEST(DeriveParams, APeerThatTracksLittleIsNoTrouble) {
  for (const std::uint32_t window : {1u, 2u, 7u, 63u, 64u}) {
    Measured little = measured();
    little.window = window;
    const auto params = derive_params(little);
    if (params) {
      EXPECT_LE(params.value().max_cwnd, bytes(window * 4096)) << window;
    }
  }
}

// The rotation gives a burst every burst-th path: all are reached only if their number shares no
// factor with it.
TEST(DeriveParams, BurstsGetAnOddNumberOfPaths) {
  Measured bursty = measured();
  EXPECT_EQ(derive_params(bursty).value().max_paths, 64u);
  bursty.burst = 8;
  EXPECT_EQ(derive_params(bursty).value().max_paths, 63u);
  bursty.paths = 2;
  EXPECT_EQ(derive_params(bursty).value().max_paths, 2u) << "one would be none to choose from";
  bursty.paths = 1;
  EXPECT_EQ(derive_params(bursty).value().max_paths, 1u);
}

TEST(DeriveParams, SaysWhatCannotBe) {
  Measured wrong = measured();
  wrong.rate = gbps(0);
  wrong.rate.value = 1;
  EXPECT_STREQ(derive_params(wrong).error().field, "rate");
}

}  // namespace
}  // namespace strack::udp
