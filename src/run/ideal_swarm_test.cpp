// "x ideal" is never below 1: over random networks, failures, transports and workloads no flow and no job beats its bound.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "run/ideal_fct.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"
#include "transports/registry.h"
#include "workload/graph.h"

namespace strack::run {
namespace {

struct Told : sim::Observer {
  std::vector<metrics::FlowRecord> flows;
  std::vector<metrics::JobRecord> jobs;
  void on_flow(const metrics::FlowRecord& flow) override { flows.push_back(flow); }
  void on_job(const metrics::JobRecord& job) override { jobs.push_back(job); }
};

/// All that is drawn, by one seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed) {}

  [[nodiscard]] std::uint32_t below(std::uint32_t end) {
    return static_cast<std::uint32_t>(rng_.below(end));
  }
  [[nodiscard]] bool one_in(std::uint32_t many) { return below(many) == 0; }
  template <class T>
  [[nodiscard]] T of(const std::vector<T>& choices) {
    return choices[below(static_cast<std::uint32_t>(choices.size()))];
  }
  // What is drawn has an order, whatever the compiler: no two draws are arguments of one call.

  /// Small ones as often as large ones; ends of packets too.
  [[nodiscard]] std::int64_t size() {
    const std::int64_t packets = std::int64_t{1} << below(6);
    const std::int64_t more = below(4'096);
    return of<std::int64_t>(
        {0, 1, 100, 4'095, 4'096, 4'097, packets * 4'096, packets * 4'096 + more, 50 * more});
  }

  /// A tree of switches and some links more, each with a few hosts; the failures and impairments of it.
  std::string graph(std::string& troubles) {
    const std::uint32_t switches = 1 + below(6);
    std::set<std::pair<std::uint32_t, std::uint32_t>> links;
    std::string text = "rate 400Gbps\nlatency 500ns\n";
    for (std::uint32_t s = 0; s < switches; ++s) {
      const std::uint32_t last = 1 + below(3);
      const int rate = of<int>({100, 200, 400, 800});
      const int latency = of<int>({100, 500, 1'234});
      text += fmt::format("switches s{0}\nhosts h{0}[0-{1}]\nlink h{0}[0-{1}] s{0} {2}Gbps {3}ns\n",
                          s, last, rate, latency);
      if (s > 0) links.emplace(below(s), s);
    }
    for (std::uint32_t more = below(5); switches > 1 && more > 0; --more) {
      const std::uint32_t a = below(switches);
      const std::uint32_t b = below(switches);
      if (a != b) links.emplace(std::min(a, b), std::max(a, b));
    }
    for (const auto& [a, b] : links) {
      const int rate = of<int>({50, 400, 800});
      text += fmt::format("link s{} s{} {}Gbps {}ns\n", a, b, rate, of<int>({100, 700, 3'000}));
      if (one_in(6)) {
        const std::uint32_t from = below(20);
        troubles += fmt::format("[[failure]]\nlink = \"s{}-s{}\"\nfrom_us = {}\nuntil_us = {}\n", a,
                                b, from, 20 + below(100));
      } else if (one_in(6)) {
        troubles += fmt::format("[[impairment]]\nlink = \"s{}-s{}\"\nrate = 0.5\n", a, b);
      }
    }
    return text;
  }

  std::string clos(std::string& troubles) {
    const bool three = one_in(3);
    std::string text = "[topology]\nhosts = 16\nhosts_per_rack = 2\n";
    if (three) text += "tiers = 3\nracks_per_pod = 4\n";
    text += fmt::format("oversubscription = \"{}:1\"\n", of<int>({1, 2}));
    text += fmt::format("host_gbps = {}\n", of<int>({400, 800}));
    if (one_in(4)) {
      const std::uint32_t rack = below(8);
      const std::uint32_t from = below(30);
      troubles += fmt::format("[[failure]]\nrack = {}\nuplink = 0\nfrom_us = {}\nuntil_us = {}\n",
                              rack, from, 30 + below(100));
    }
    if (one_in(4)) {
      const std::uint32_t host = below(16);
      const std::string rate = of<std::string>({"0.25", "0.5"});
      troubles += fmt::format("[[impairment]]\nhost = {}\nrate = {}\nway = \"{}\"\n", host, rate,
                              of<std::string>({"up", "down", "both"}));
    }
    return text;
  }

  workload::Flows flows(std::uint32_t hosts) {
    workload::Flows all;
    for (std::uint32_t n = below(8); n > 0; --n) {
      const std::uint32_t src = below(hosts);
      const std::uint32_t dst = (src + 1 + below(hosts - 1)) % hosts;
      const std::int64_t length = std::max<std::int64_t>(1, size());
      all.push_back({src, dst, bytes(length), at(ns(one_in(2) ? 0 : below(20'000)))});
    }
    return all;
  }

  /// Messages and computations, each behind some of those before it.
  workload::Job job(std::uint32_t hosts) {
    const std::uint32_t ranks = 2 + below(std::min(hosts, 6U) - 1);
    workload::GraphBuilder builder(ranks);
    struct Node {
      workload::Rank at;
      workload::Rank to;
      bool computes;
    };
    std::vector<Node> nodes;
    for (std::uint32_t n = 1 + below(12); n > 0; --n) {
      const workload::Rank at = below(ranks);
      const workload::Rank to = (at + 1 + below(ranks - 1)) % ranks;
      const bool computes = one_in(4);
      const bool own_channel = one_in(3);
      const workload::NodeId id = computes ? builder.compute(at, ns(below(5'000)))
                                           : builder.message(at, to, bytes(size()), own_channel);
      for (workload::NodeId before = 0; before < nodes.size(); ++before) {
        const Node& other = nodes[before];
        if (!other.computes && other.to == at && one_in(2))
          builder.wait(id, before, workload::Moment::received);
        else if (other.at == at && one_in(3))
          builder.wait(id, before, one_in(4) ? workload::Moment::started : workload::Moment::sent);
      }
      nodes.push_back({at, to, computes});
    }
    auto built = builder.build();
    EXPECT_TRUE(built);
    workload::Job made;
    made.graph = std::make_shared<const workload::Graph>(std::move(built.value()));
    const std::uint32_t first = below(hosts);
    for (workload::Rank r = 0; r < ranks; ++r) {
      made.hosts.push_back((first + r) % hosts);
      made.starts.push_back(at(ns(one_in(3) ? below(3'000) : 0)));
    }
    return made;
  }

 private:
  Rng rng_;
};

void expect_no_faster_than_ideal(const std::string& text, std::uint64_t seed, Draw& draw,
                                 const std::filesystem::path& folder) {
  const auto loaded = sim::load_text(text, "drawn", folder);
  ASSERT_TRUE(loaded) << loaded.error().text() << text;
  const sim::SimConfig config = sim::make_config(loaded.value(), seed);
  workload::Workload work;
  work.flows = draw.flows(config.topology.hosts());
  for (std::uint32_t jobs = draw.below(3); jobs > 0; --jobs)
    work.jobs.push_back(draw.job(config.topology.hosts()));
  const Picoseconds flows_bound = ideal_fct(config, work.flows);
  const std::vector<Picoseconds> job_bounds = ideal_jobs(config, work.jobs);
  sim::Simulation simulation(config, work);
  Told told;
  ASSERT_EQ(simulation.run(told), sim::Ending::finished) << text;
  Picoseconds slowest{0};
  for (const metrics::FlowRecord& flow : told.flows)
    slowest = std::max(slowest, flow.end - flow.start);
  EXPECT_GE(slowest, flows_bound) << "flows of seed " << seed << "\n" << text;
  for (const metrics::JobRecord& job : told.jobs) {
    EXPECT_GE(job.end - job.start, job_bounds[job.job])
        << "job " << job.job << " of seed " << seed << "\n"
        << text;
  }
}

TEST(IdealSwarm, NoRunBeatsItsBound) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "ideal_swarm";
  std::filesystem::create_directories(folder);
  const auto schemes = transports::scheme_names();
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Draw draw(seed);
    std::string troubles;
    std::string text;
    if (draw.one_in(2)) {
      std::ofstream(folder / "drawn.net") << draw.graph(troubles);
      text = "[topology]\nfile = \"drawn.net\"\n";
    } else {
      text = draw.clos(troubles);
    }
    text += fmt::format("[transport]\nscheme = \"{}\"\n", schemes[seed % schemes.size()]);
    expect_no_faster_than_ideal(text + troubles, seed, draw, folder);
  }
  std::filesystem::remove_all(folder);
}

/// How many times its bound a scenario's run takes: its slowest flow, or its slowest job.
double times_ideal(const std::string& text) {
  const auto loaded = sim::load_text(text, "quiet");
  EXPECT_TRUE(loaded) << loaded.error().text() << text;
  if (!loaded) return 0;
  const sim::SimConfig config = sim::make_config(loaded.value(), 1);
  const workload::Workload work = sim::make_workload(loaded.value(), 1);
  const std::vector<Picoseconds> jobs = ideal_jobs(config, work.jobs);
  const Picoseconds bound =
      jobs.empty() ? ideal_fct(config, work.flows) : *std::max_element(jobs.begin(), jobs.end());
  sim::Simulation simulation(config, work);
  Told told;
  EXPECT_EQ(simulation.run(told), sim::Ending::finished) << text;
  Picoseconds slowest{0};
  for (const metrics::FlowRecord& flow : told.flows)
    slowest = std::max(slowest, flow.end - flow.start);
  for (const metrics::JobRecord& job : told.jobs) slowest = std::max(slowest, job.end - job.start);
  return static_cast<double>(slowest.count()) / static_cast<double>(bound.count());
}

// The other side: where little but physics is in the way it is reached, so a bound that is too low shows.
// Acknowledgements, which no bound counts, are 1.5 % of the wire.
TEST(IdealSwarm, QuietRunsReachTheirBound) {
  const std::string flat = "[topology]\nhosts = 16\nhosts_per_rack = 4\n[workload]\n";
  const std::string pods =
      "[topology]\nhosts = 32\nhosts_per_rack = 4\ntiers = 3\nracks_per_pod = 4\n[workload]\n";
  const std::string one_rack =
      "[topology]\nhosts = 16\nhosts_per_rack = 8\n[workload]\nkind = \"collective\"\n"
      "ranks = 8\nplacement = \"packed\"\n";
  struct Case {
    std::string text;
    double most;
  };
  const std::vector<Case> cases = {
      {flat + "kind = \"incast\"\nfan_in = 1\nsize = \"4 MB\"\n", 1.001},
      {flat + "kind = \"incast\"\nfan_in = 1\nsize = \"100 B\"\n", 1.001},
      {flat + "kind = \"incast\"\nfan_in = 6\nsize = \"64 KB\"\n", 1.001},
      {pods + "kind = \"incast\"\nfan_in = 1\nsize = \"4 MB\"\n", 1.001},
      {one_rack + "collective = \"allreduce-ring\"\nsize = \"8 MB\"\n", 1.02},
      {one_rack + "collective = \"allreduce-hd\"\nsize = \"8 MB\"\nchunk = \"8 MB\"\n", 1.02},
      {one_rack + "collective = \"allreduce-hd\"\nsize = \"64 KB\"\n", 1.02},
      {one_rack + "collective = \"alltoall\"\nsize = \"1 MB\"\n", 1.02},
      {one_rack + "collective = \"broadcast\"\nsize = \"8 MB\"\n", 1.02},
      // [D125] Computation between iterations hides nothing of them.
      {one_rack + "collective = \"alltoall\"\nsize = \"1 MB\"\niterations = 4\ncompute_us = 30\n",
       1.02},
      {one_rack +
           "collective = \"allreduce-ring\"\nsize = \"8 MB\"\niterations = 3\ncompute_us = 30\n",
       1.02},
      // Many chunks in two trees: ports of half the ranks are full from the beginning to the end of their work; those of
      // two were seen idle for a tenth of the time, and end last. Why is not derived: 8 and 32 MB and several chunks
      // give 1.07 to 1.10 under STrack. With one block in each tree the bound is reached
      // (DoubleBinaryTreesTakeWhatTheirFormulaSays).
      {one_rack + "collective = \"allreduce-dbt\"\nsize = \"8 MB\"\n", 1.11}};
  for (const Case& one : cases) {
    const double times = times_ideal(one.text);
    EXPECT_GE(times, 1) << one.text;
    EXPECT_LE(times, one.most) << one.text;
  }
}

}  // namespace
}  // namespace strack::run
