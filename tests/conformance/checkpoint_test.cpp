// [D117] A run that is stopped and goes on gives the same bits as one that is not: for each scheme of the registry and
// its variants, whatever it was doing, with as many threads as one likes.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "conformance/any_transport.h"
#include "sim/cluster.h"
#include "sim/engine/archive.h"
#include "sim/engine/keeper.h"
#include "sim/gpu/engine.h"
#include "sim/scenario/scenario.h"
#include "sim/testing.h"

namespace strack::conformance {
namespace {

using sim::testing::Digest;

/// Flows, a collective, a link that loses packets, another that fails and mends, queues that mark and overflow; all of
/// it sampled and some of it inspected.
constexpr const char* kTroubled = R"(
[topology]
hosts = 16
hosts_per_rack = 4
oversubscription = "2:1"
[switch]
queue_limit = "150 KB"
[[workload]]
kind = "permutation"
size = "120 KB"
[[workload]]
kind = "collective"
collective = "allreduce-ring"
ranks = 8
size = "400 KB"
[[impairment]]
rack = 0
uplink = 1
loss = 0.01
[[failure]]
rack = 1
uplink = 0
from_us = 20
until_us = 45
[record]
interval_us = 2
queues = true
links = true
flows = 8
inspect = 4
messages = "on"
)";

/// All that is told, in one list, and cut back to what had been told when the state was kept.
struct Listener final : sim::Observer {
  std::vector<std::uint64_t> told;
  Instant stop_at = Instant::never();
  std::atomic<bool> stop{false};

  template <class Record>
  void note(const Record& record) {
    told.push_back((Digest{} << record).value());
  }
  void on_flow(const metrics::FlowRecord& record) override { note(record); }
  void on_job(const metrics::JobRecord& job) override {
    told.push_back((Digest{} << job.job << job.messages << job.start << job.end).value());
  }
  void on_mark(const metrics::JobMark& mark) override {
    told.push_back((Digest{} << mark.job << mark.mark << mark.time).value());
  }
  void on_link_sample(const metrics::LinkSample& sample) override {
    note(sample);
    if (sample.time >= stop_at) stop = true;
  }
  void on_flow_sample(const metrics::FlowSample& sample) override { note(sample); }
  void on_flow_event(const metrics::FlowEvent& event) override { note(event); }
};

/// A state in memory.
struct Kept final : sim::Keeper {
  explicit Kept(const Listener& listener) : listener_(listener) {}
  [[nodiscard]] bool due() override { return false; }
  void keep(const std::function<void(sim::Saver&)>& save, const sim::Progress& /*progress*/,
            bool stopped) override {
    EXPECT_TRUE(stopped);
    told = listener_.told.size();
    state = bytes_of(save);
    again = bytes_of(save);
  }
  static std::vector<std::byte> bytes_of(const std::function<void(sim::Saver&)>& save) {
    std::vector<std::byte> bytes;
    sim::Saver saver([&](std::span<const std::byte> some) {
      bytes.insert(bytes.end(), some.begin(), some.end());
    });
    save(saver);
    saver.flush();
    return bytes;
  }

  std::vector<std::byte> state;
  std::vector<std::byte> again;
  std::size_t told = 0;

 private:
  const Listener& listener_;
};

struct Result {
  sim::Ending ending{};
  std::vector<std::uint64_t> told;
  metrics::Counters counters;
  Instant end{};
};

class World {
 public:
  World(const char* text, const std::vector<std::string>& overrides) {
    auto loaded = sim::load_text(text, "checkpoint", {}, overrides);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().text());
    scenario_ = std::move(loaded).value();
    config = sim::make_config(scenario_, 1);
  }
  [[nodiscard]] std::unique_ptr<sim::Cluster> cluster(std::uint32_t threads) const {
    sim::SimConfig own = config;
    own.threads = threads;
    return std::move(
        sim::make_cluster(sim::Engine::cpu, own, sim::make_workload(scenario_, 1)).value());
  }
  [[nodiscard]] Result run() const {
    Listener listener;
    const auto all = cluster(1);
    const sim::Ending ending = all->run(listener, nullptr);
    return {ending, std::move(listener.told), all->counters(), all->now()};
  }
  /// Stopped at the first of the times, gone on with until the next, and so on. Each part has other threads.
  [[nodiscard]] Result run_in_parts(const std::vector<Instant>& stops) const {
    std::vector<std::uint64_t> told;
    std::vector<std::byte> state;
    for (std::size_t part = 0;; ++part) {
      const auto all = cluster(static_cast<std::uint32_t>(1 + part % 3));
      Listener listener;
      if (part > 0) {
        sim::Loader loader(state);
        EXPECT_TRUE(all->resume(loader, listener));
        listener.told.clear();  // jobs that were told of before
      }
      Kept kept(listener);
      EXPECT_TRUE(all->keep_by(kept));
      if (part > 0) {
        EXPECT_TRUE(read_and_written(state) == state);  // to the last byte
      }
      if (part < stops.size()) listener.stop_at = stops[part];
      const sim::Ending ending = all->run(listener, &listener.stop);
      if (ending != sim::Ending::interrupted) {
        told.insert(told.end(), listener.told.begin(), listener.told.end());
        return {ending, std::move(told), all->counters(), all->now()};
      }
      EXPECT_TRUE(kept.state == kept.again);  // looking changes nothing
      told.insert(told.end(), listener.told.begin(),
                  listener.told.begin() + static_cast<std::ptrdiff_t>(kept.told));
      state = std::move(kept.state);
    }
  }

  /// What a run that goes on and is stopped at once leaves.
  [[nodiscard]] std::vector<std::byte> read_and_written(const std::vector<std::byte>& state) const {
    Listener listener;
    listener.stop = true;
    sim::Loader loader(state);
    const auto twin = cluster(1);
    EXPECT_TRUE(twin->resume(loader, listener));
    Kept kept(listener);
    EXPECT_TRUE(twin->keep_by(kept));
    EXPECT_EQ(twin->run(listener, &listener.stop), sim::Ending::interrupted);
    return kept.state;
  }

  sim::SimConfig config;

 private:
  sim::Scenario scenario_;
};

void expect_same(const World& world) {
  const Result whole = world.run();
  const Picoseconds length = whole.end - Instant{};
  const std::vector<std::vector<Instant>> plans = {
      {Instant{} + us(2)},
      {Instant{} + us(10), Instant{} + us(26), Instant{} + length / 2,
       Instant{} + 9 * length / 10}};
  for (const std::vector<Instant>& stops : plans) {
    const Result parts = world.run_in_parts(stops);
    EXPECT_EQ(parts.ending, whole.ending);
    EXPECT_EQ(parts.counters.hash, whole.counters.hash);
    EXPECT_EQ((Digest{} << parts.counters).value(), (Digest{} << whole.counters).value());
    EXPECT_EQ(parts.counters.windows, whole.counters.windows);
    EXPECT_EQ(parts.counters.own, whole.counters.own);
    EXPECT_EQ(parts.told.size(), whole.told.size());
    EXPECT_TRUE(parts.told == whole.told);
  }
}

// [D117] Each scheme as a scenario sets it up: lossy, trimming or lossless.
TEST(Checkpoint, GoesOnToTheSameBits) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(::testing::PrintToString(variant));
    expect_same(World(kTroubled, variant.overrides()));
  }
}

// [D117] What some switches and networks have and others do not.
TEST(Checkpoint, GoesOnToTheSameBits_Switches) {
  const Variant any = variants().front();
  for (const std::string& setting :
       {std::string("pfc.enabled=true"), std::string("switch.routing=\"drill\""),
        std::string("switch.routing=\"destination-rotation\""),
        std::string("topology.nics_per_server=2")}) {
    SCOPED_TRACE(setting);
    std::vector<std::string> overrides = any.overrides();
    overrides.push_back(setting);
    expect_same(World(kTroubled, overrides));
  }
}

// [D117] [D118] What NICs have been told of each other, and what they have not been told yet.
TEST(Checkpoint, GoesOnToTheSameBits_SharedAlpha) {
  expect_same(World(kTroubled, {"transport.scheme=\"rocev2\"", "rocev2.dcqcn=\"uet-htsim\"",
                                "rocev2.shared_alpha_us=\"1 RTT\""}));
}

// [D117] A run that cannot go on is not believed: another network, a state that is cut short, or too long.
TEST(Checkpoint, RefusesWhatIsNotItsOwn) {
  const World world(kTroubled, variants().front().overrides());
  Listener listener;
  listener.stop_at = Instant{} + us(10);
  const auto first = world.cluster(1);
  Kept kept(listener);
  ASSERT_TRUE(first->keep_by(kept));
  ASSERT_EQ(first->run(listener, &listener.stop), sim::Ending::interrupted);
  ASSERT_FALSE(kept.state.empty());
  const auto takes = [&](const World& other, std::span<const std::byte> state) {
    sim::Loader loader(state);
    sim::Observer nobody;
    return other.cluster(1)->resume(loader, nobody);
  };
  EXPECT_TRUE(takes(world, kept.state));
  const std::span<const std::byte> all(kept.state);
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, all.size() / 3, all.size() - 1})
    EXPECT_FALSE(takes(world, all.first(size))) << size;
  std::vector<std::byte> longer = kept.state;
  longer.push_back({});
  EXPECT_FALSE(takes(world, longer));
  std::vector<std::string> more = variants().front().overrides();
  more.emplace_back("topology.hosts=32");
  EXPECT_FALSE(takes(World(kTroubled, more), kept.state));
}

}  // namespace
}  // namespace strack::conformance
