// [run]: seeds, threads, the end.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/sections/sections.h"
#include "workload/amount.h"

namespace strack::sim {
namespace {

constexpr Key kKeys[] = {
    {.name = "seed",
     .kind = Kind::integer,
     .otherwise = "1",
     .high = {INT64_MAX},
     .needs = "a seed is a number from 0 to 2^63 - 1, such as seed = 1",
     .help = "What everything random follows from."},
    {.name = "seeds",
     .kind = Kind::integers,
     .otherwise = "just seed",
     .high = {INT64_MAX},
     .needs = "seeds are numbers from 0 to 2^63 - 1, such as seeds = [1, 2, 3]",
     .help = "Instead of seed: one run for each."},
    {.name = "threads",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {1'024},
     .needs = "a run has 1 to 1024 threads, such as threads = 2",
     .help = "Threads of one run. Results do not depend on it."},
    {.name = "end_ms",
     .kind = Kind::time,
     .unit = "ms",
     .otherwise = "when all flows and jobs are done",
     .low = {kNanosecond},
     .high = {3'600 * kSecond},
     .needs = "an end is a time from 1 ns to an hour, such as end_ms = 10",
     .help = "Stop here though flows or jobs be unfinished."},
    {.name = "only",
     .kind = Kind::text,
     .otherwise = "all workloads",
     .needs = "it names a workload, such as only = \"background\", or \"all\"",
     .help = "Of several workloads this one alone, with the same flows and on the same hosts as "
             "beside the others."},
};

class RunResolver : Resolving {
 public:
  explicit RunResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    Setting& seed = set_["run.seed"];
    Setting& seeds = set_["run.seeds"];
    if (seed.given && seeds.given)
      later("run.seed", "run.seeds").fail("both seed and seeds are set. leave one out");
    if (seeds.given) {
      for (const std::int64_t value : std::get<std::vector<std::int64_t>>(seeds.value))
        out_.seeds.push_back(static_cast<std::uint64_t>(value));
      std::vector<std::uint64_t> sorted = out_.seeds;
      std::sort(sorted.begin(), sorted.end());
      if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
          twice != sorted.end()) {
        seeds.fail(fmt::format("seeds has {} twice. that run would only repeat itself", *twice));
      }
    } else {
      if (!seed.given) seed.settle({std::int64_t{1}});
      out_.seeds = {static_cast<std::uint64_t>(set_.integer("run.seed"))};
    }
    out_.config.seed = out_.seeds.front();
    out_.config.threads = set_.count("run.threads");
    if (!set_.given("run.end_ms")) return;
    out_.config.end = at(set_.time("run.end_ms"));
    if (out_.config.end < at(out_.base_rtt / 2)) {
      out_.notes.push_back(fmt::format(
          "the run ends at {}, within half the base RTT of {}: over the longest path no "
          "packet arrives by then",
          workload::format_time(out_.config.end - Instant{}),
          workload::format_time(out_.base_rtt)));
    }
  }
};

}  // namespace

const SectionKeys kRunSection{{"run", false, "How it is run."}, kKeys};
void resolve_run(Resolution& resolution) { RunResolver(resolution).resolve(); }

}  // namespace strack::sim
