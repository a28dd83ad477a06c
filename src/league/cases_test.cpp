#include "league/cases.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sim/scenario/scenario.h"
#include "transports/registry.h"

namespace strack::league {
namespace {

TEST(Cases, StandInThePartsInOrderAndHaveAllTheirWords) {
  std::vector<std::string_view> order;
  std::set<std::string_view> ids;
  for (const Case& one : cases()) {
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    ASSERT_NE(find_part(one.part), nullptr) << one.id;
    if (order.empty() || order.back() != one.part) order.push_back(one.part);
    for (const std::string_view text : {one.title, one.about, one.bound, one.quick, one.full}) {
      EXPECT_FALSE(text.empty()) << one.id;
    }
    EXPECT_EQ(find_case(one.id), &one);
    EXPECT_EQ(find_part(one.id), nullptr) << "a part and a case of one name: " << one.id;
  }
  std::vector<std::string_view> wanted;
  for (const Part& part : parts()) wanted.push_back(part.id);
  EXPECT_EQ(order, wanted);
  EXPECT_EQ(find_case("nothing"), nullptr);
}

TEST(Cases, AreScenariosAtBothScales) {
  for (const Case& one : cases()) {
    if (one.flows != nullptr) continue;  // those need their list; the command line's test has one
    for (const Scale scale : {Scale::quick, Scale::full}) {
      const auto loaded = sim::load_text(scenario_text(one, scale), "case.toml");
      ASSERT_TRUE(loaded) << one.id << ": " << loaded.error().text();
      EXPECT_EQ(loaded.value().name, one.id);
      EXPECT_EQ(loaded.value().config.end, Instant{} + kTimeLimit);
      EXPECT_EQ(loaded.value().workloads.front().kind == sim::WorkloadKind::collective,
                one.measure.jobs);
    }
  }
}

// The sizes of networks that the league is about: 8192 hosts for permutations up to 16 MB, 1024 above,
// 2048 for jobs.
TEST(Cases, FullScale) {
  const auto hosts = [](std::string_view id) {
    const auto loaded = sim::load_text(scenario_text(*find_case(id), Scale::full), "case.toml");
    return loaded.value().config.topology.hosts();
  };
  for (const char* id : {"perm-4KB", "perm-128KB", "perm-2MB", "perm-16MB", "links-down", "incast",
                         "oversubscribed", "bit-errors"}) {
    EXPECT_EQ(hosts(id), 8192u) << id;
  }
  EXPECT_EQ(hosts("perm-100MB"), 1024u);
  for (const char* id : {"allreduce-ring", "allreduce-tree", "allreduce-hd", "alltoall"}) {
    EXPECT_EQ(hosts(id), 2048u) << id;
  }
}

TEST(Cases, ScalesHaveNames) {
  EXPECT_EQ(scale_of("quick"), Scale::quick);
  EXPECT_EQ(scale_of("full"), Scale::full);
  EXPECT_EQ(scale_of("huge"), std::nullopt);
}

TEST(FlowLists, VictimsAreTheOthersOfTheRackAndNobodySendsTwice) {
  const workload::Racks racks{128, 16};
  const workload::Flows flows = incast_with_victims(racks, 1);
  ASSERT_EQ(flows.size(), 32u + 15u);
  std::set<workload::HostId> senders;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const bool victim = i >= 32;
    EXPECT_EQ(flows[i].dst, victim ? i - 31 : 0);
    EXPECT_EQ(flows[i].size, victim ? kVictimSize : mb(4));
    EXPECT_EQ(flows[i].start, victim ? at(us(100)) : Instant{});
    EXPECT_NE(racks.rack_of(flows[i].src), 0u);
    EXPECT_TRUE(senders.insert(flows[i].src).second);
  }
  EXPECT_EQ(incast_with_victims(racks, 1)[0].src, flows[0].src);
  EXPECT_NE(incast_with_victims(racks, 2)[0].src, flows[0].src);
}

TEST(FlowLists, ExpertsGetSharesByPopularity) {
  const workload::Racks racks{128, 16};
  const workload::Flows flows = experts_alltoall(racks, 1);
  ASSERT_EQ(flows.size(), 4u * 32u * 31u);
  std::map<workload::HostId, std::int64_t> sent;
  std::map<workload::HostId, std::int64_t> got;
  for (const workload::Flow& flow : flows) {
    EXPECT_NE(flow.src, flow.dst);
    EXPECT_EQ(flow.start, Instant{});
    sent[flow.src] += flow.size.count();
    got[flow.dst] += flow.size.count();
  }
  EXPECT_EQ(sent.size(), 128u);
  for (const auto& [host, bytes] : sent) EXPECT_NEAR(static_cast<double>(bytes), 4e6, 32) << host;
  // The first of the list goes to the second most popular of its group, whose share of what the most
  // popular sends is 1/sqrt(2) of the sum of 1/sqrt(k) for k from 2 to 32: 8.942.
  EXPECT_EQ(flows[0].size, bytes(316'325));
  std::int64_t most = 0;
  std::int64_t least = INT64_MAX;
  for (const auto& [host, bytes] : got) {
    most = std::max(most, bytes);
    least = std::min(least, bytes);
  }
  EXPECT_GT(most, 3 * 4'000'000);
  EXPECT_LT(least, 4'000'000);
}

}  // namespace
}  // namespace strack::league
