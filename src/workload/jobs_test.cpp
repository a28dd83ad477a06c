#include "workload/jobs.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::workload {
namespace {

constexpr Racks kRacks{64, 8};

std::shared_ptr<const Graph> ring(Rank ranks) {
  const auto made =
      make_collective({.collective = Collective::allreduce_ring, .ranks = ranks, .size = kib(64)});
  EXPECT_TRUE(made) << made.error();
  return std::make_shared<const Graph>(made.value().graph);
}

JobsParams params(std::uint32_t jobs, Rank ranks, Placement placement) {
  return {
      .racks = kRacks, .jobs = jobs, .graph = ring(ranks), .name = "ring", .placement = placement};
}

std::vector<Job> jobs_of(const JobsParams& p, std::uint64_t seed = 1) {
  const auto jobs = make_jobs(p, seed);
  EXPECT_TRUE(jobs) << jobs.error();
  return jobs ? jobs.value() : std::vector<Job>{};
}

TEST(Place, NoHostTwice) {
  for (const Placement placement : {Placement::random, Placement::packed, Placement::striped}) {
    const std::vector<HostId> hosts = place(kRacks, placement, 64, 7);
    EXPECT_EQ(hosts.size(), 64u);
    EXPECT_EQ(std::set<HostId>(hosts.begin(), hosts.end()).size(), 64u) << name_of(placement);
    EXPECT_LT(*std::max_element(hosts.begin(), hosts.end()), 64u);
  }
}

TEST(Place, PackedTakesHostsInOrder) {
  EXPECT_EQ(place(kRacks, Placement::packed, 5, 1), (std::vector<HostId>{0, 1, 2, 3, 4}));
}

// 8 racks: the ninth is the second host of the first.
TEST(Place, StripedTakesRacksInOrder) {
  EXPECT_EQ(place(kRacks, Placement::striped, 10, 1),
            (std::vector<HostId>{0, 8, 16, 24, 32, 40, 48, 56, 1, 9}));
}

TEST(Place, RandomFollowsTheSeed) {
  const std::vector<HostId> all = place(kRacks, Placement::random, 64, 1);
  EXPECT_EQ(place(kRacks, Placement::random, 64, 1), all);
  EXPECT_NE(place(kRacks, Placement::random, 64, 2), all);
  EXPECT_NE(place(kRacks, Placement::packed, 64, 1), all);
  // Fewer are the first of them.
  const std::vector<HostId> some = place(kRacks, Placement::random, 10, 1);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
}

// [D63] 16 blocks of 4 hosts: each whole, their order drawn.
TEST(Place, BlocksStayTogether) {
  Placing blocks(Placement::blocks);
  blocks.block = 4;
  const std::vector<HostId> hosts = place(kRacks, blocks, 64, 1);
  EXPECT_EQ(std::set<HostId>(hosts.begin(), hosts.end()).size(), 64u);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(hosts[i], hosts[i / 4 * 4] + i % 4) << i;
  EXPECT_NE(hosts, place(kRacks, blocks, 64, 2));
  EXPECT_NE(hosts, place(kRacks, Placement::packed, 64, 1));
}

TEST(Place, ListedHostsAreTakenInTheirOrder) {
  const auto listed = parse_placing("hosts:9,3-5");
  ASSERT_TRUE(listed) << listed.error();
  EXPECT_EQ(place(kRacks, listed.value(), 3, 1), (std::vector<HostId>{9, 3, 4}));
}

TEST(ParsePlacing, SaysWhatIsWrong) {
  const auto error = [](std::string_view text) {
    const auto parsed = parse_placing(text);
    return parsed ? "parsed" : parsed.error();
  };
  for (const char* good : {"random", "packed", "striped", "blocks:8", "hosts:0", "hosts:0-7,16"})
    EXPECT_EQ(error(good), "parsed") << good;
  const std::string words =
      "a placement is \"random\", \"packed\", \"striped\", \"blocks:8\" or \"hosts:0-7,16\"";
  EXPECT_EQ(error(""), words);
  EXPECT_EQ(error("blocks"), words);
  EXPECT_EQ(error("blocks:0"), "a block has at least one host");
  EXPECT_EQ(error("blocks:8x"), "a block has at least one host");
  EXPECT_EQ(error("hosts:"), "\"\" is no host, nor hosts such as 0-7");
  EXPECT_EQ(error("hosts:1,"), "\"\" is no host, nor hosts such as 0-7");
  EXPECT_EQ(error("hosts:7-3"), "\"7-3\" is no host, nor hosts such as 0-7");
  EXPECT_EQ(error("hosts:0-4294967295"), "\"0-4294967295\" is no host, nor hosts such as 0-7");
  EXPECT_EQ(error("hosts:1,0-3"), "host 1 is named twice");
}

TEST(MakeJobs, ShareOneGraphAndNoHost) {
  const JobsParams p = params(4, 16, Placement::random);
  const std::vector<Job> jobs = jobs_of(p);
  ASSERT_EQ(jobs.size(), 4u);
  std::set<HostId> hosts;
  for (const Job& job : jobs) {
    EXPECT_EQ(job.name, "ring");
    EXPECT_EQ(job.graph, p.graph);
    EXPECT_EQ(job.hosts.size(), 16u);
    hosts.insert(job.hosts.begin(), job.hosts.end());
  }
  EXPECT_EQ(hosts.size(), 64u);
}

TEST(MakeJobs, AreOneAfterTheOther) {
  const std::vector<Job> jobs = jobs_of(params(2, 3, Placement::packed));
  EXPECT_EQ(jobs[0].hosts, (std::vector<HostId>{0, 1, 2}));
  EXPECT_EQ(jobs[1].hosts, (std::vector<HostId>{3, 4, 5}));
}

TEST(MakeJobs, StartTogetherWithoutJitter) {
  JobsParams p = params(2, 4, Placement::packed);
  p.start = at(us(3));
  for (const Job& job : jobs_of(p)) EXPECT_EQ(job.starts, std::vector<Instant>(4, at(us(3))));
}

TEST(MakeJobs, JitterDelaysEveryRankByItsOwn) {
  JobsParams p = params(2, 32, Placement::random);
  p.start = at(us(3));
  p.start_jitter = us(10);
  std::set<std::int64_t> starts;
  for (const Job& job : jobs_of(p)) {
    for (const Instant start : job.starts) {
      EXPECT_GE(start, at(us(3)));
      EXPECT_LE(start, at(us(13)));
      starts.insert(start.ps);
    }
  }
  EXPECT_GT(starts.size(), 60u);
  EXPECT_EQ(jobs_of(p)[1].starts, jobs_of(p)[1].starts);
  EXPECT_NE(jobs_of(p, 1)[1].starts, jobs_of(p, 2)[1].starts);
  // Where ranks are does not depend on it.
  EXPECT_EQ(jobs_of(p)[1].hosts, jobs_of(params(2, 32, Placement::random))[1].hosts);
}

TEST(MakeJobs, TooFewHostsAreSaid) {
  const auto jobs = make_jobs(params(5, 13, Placement::packed), 1);
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error(), "5 jobs of 13 ranks need 65 hosts, and there are 64");
}

TEST(SizeOf, IsWhatIsMade) {
  for (int kind = 0; kind <= static_cast<int>(Collective::broadcast); ++kind) {
    for (const Rank ranks : {2u, 8u, 32u}) {
      for (const Bytes size : {kib(4), kib(4096)}) {
        for (const std::uint32_t parallel : {0u, 1u, 3u}) {
          const CollectiveParams p{.collective = static_cast<Collective>(kind),
                                   .ranks = ranks,
                                   .size = size,
                                   .chunk = kib(16),
                                   .parallel = parallel};
          const auto made = make_collective(p);
          ASSERT_TRUE(made) << made.error();
          const std::string what = std::string(name_of(p.collective)) + " of " +
                                   std::to_string(ranks) + ", " + std::to_string(size.count());
          EXPECT_EQ(size_of(p).messages, made.value().graph.messages()) << what;
          EXPECT_GE(size_of(p).channels, made.value().graph.channels().size()) << what;
          EXPECT_LE(size_of(p).channels, 2 * made.value().graph.channels().size()) << what;
        }
      }
    }
  }
}

}  // namespace
}  // namespace strack::workload
