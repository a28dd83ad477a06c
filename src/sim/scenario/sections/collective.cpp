// [workload] kind = "collective".
#include <bit>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "sim/scenario/sections/sections.h"
#include "workload/collectives.h"
#include "workload/jobs.h"

namespace strack::sim {
namespace {

class CollectiveResolver : Resolving {
 public:
  explicit CollectiveResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    WorkloadSpec& w = out_.workloads.back();
    workload::CollectiveParams& p = w.collective;
    p.collective = set_.choice<workload::Collective>("workload.collective");
    p.size = set_.size("workload.size");
    p.chunk = set_.size("workload.chunk");
    p.chunks_in_flight = set_.count("workload.chunks_in_flight");
    if (p.collective == workload::Collective::alltoall)
      p.parallel = set_.count("workload.parallel");
    ranks_and_jobs();
    resolve_placement(r_, workload::Placement::random, std::uint64_t{w.jobs} * p.ranks);

    // What make_collective would refuse is refused here, at its key and before anything is made.
    Setting& ranks = set_["workload.ranks"];
    if (p.collective == workload::Collective::allreduce_halving_doubling &&
        !std::has_single_bit(p.ranks)) {
      Setting& blamed = ranks.given ? later("workload.ranks", "workload.collective")
                                    : last_said({"workload.collective", "workload.jobs",
                                                 "topology.hosts", "topology.hosts_per_rack"});
      blamed.fail(fmt::format("{}. halving-doubling works for powers of two: ranks = {} would work",
                              ranks_found(), std::bit_floor(p.ranks)));
    }
    if (workload::too_many_messages(p)) {
      last_said({"workload.size", "workload.chunk", "workload.ranks", "workload.jobs",
                 "topology.hosts", "workload.kind"})
          .fail(fmt::format("a job would send some {} messages. that is too many: take a larger "
                            "chunk, a smaller size or fewer ranks",
                            workload::size_of(p).messages));
    }
  }

 private:
  void ranks_and_jobs() {
    WorkloadSpec& w = out_.workloads.back();
    const std::uint32_t hosts = topology().hosts();
    w.jobs = set_.count("workload.jobs");
    Setting& ranks = set_["workload.ranks"];
    const std::uint32_t most = hosts / w.jobs;
    const std::string works =
        most >= 2 ? fmt::format("ranks = {}", most) : fmt::format("jobs = {}", hosts / 2);
    if (ranks.given) {
      w.collective.ranks = set_.count("workload.ranks");
      if (w.collective.ranks > most) {
        last_said({"workload.ranks", "workload.jobs", "topology.hosts"})
            .fail(fmt::format("jobs is {} and ranks {}, which takes {} hosts, one for each rank. "
                              "there are {}: {} would work",
                              w.jobs, w.collective.ranks,
                              std::uint64_t{w.jobs} * w.collective.ranks, hosts, works));
      }
      return;
    }
    w.collective.ranks = most;
    if (most < 2) {
      later("workload.jobs", "topology.hosts")
          .fail(fmt::format("jobs is {} and hosts {}. a job has at least 2 ranks, each on a host "
                            "of its own: {} would work",
                            w.jobs, hosts, works));
    }
    ranks.derived = fmt::format("{}", most);
  }
  [[nodiscard]] std::string ranks_found() {
    const std::uint32_t ranks = out_.workloads.back().collective.ranks;
    return set_.given("workload.ranks") ? fmt::format("ranks is {}", ranks)
                                        : fmt::format("ranks is not given, which means {}", ranks);
  }
};

}  // namespace

void resolve_collective(Resolution& resolution) { CollectiveResolver(resolution).resolve(); }

}  // namespace strack::sim
