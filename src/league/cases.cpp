#include "league/cases.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace strack::league {
namespace {

constexpr Part kParts[] = {
    {"sizes", "Permutations by size"},
    {"crowds", "Too much for one place"},
    {"faults", "A broken network"},
    {"jobs", "Collectives"},
};

constexpr std::string_view kHosts32 = "topology.hosts = 32\ntopology.hosts_per_rack = 8\n";
constexpr std::string_view kHosts128 = "topology.hosts = 128\ntopology.hosts_per_rack = 16\n";
constexpr std::string_view kHosts1024 = "topology.hosts = 1024\ntopology.hosts_per_rack = 32\n";
constexpr std::string_view kHosts8192 = "topology.hosts = 8192\ntopology.hosts_per_rack = 64\n";

constexpr std::string_view kPermutation = "Every host sends one message to one other.";
constexpr std::string_view kPermutationBound =
    "A message at the host's rate, headers included, and a base RTT.";
constexpr std::string_view kFaultBound =
    "The same permutation in a network where nothing breaks: each message at the host's rate, and "
    "a base RTT.";
constexpr std::string_view kJobBound =
    "The longest of the jobs' own bounds, for all of them start together. A job's own is that of "
    "it alone in the network: its longest chain of messages that wait for each other, with all "
    "that "
    "each port has to send and to receive along the way at its rate.";

constexpr std::string_view kJobsQuick =
    "topology.hosts = 128\ntopology.hosts_per_rack = 16\n"
    "workload.jobs = 4\nworkload.ranks = 32\nworkload.size = \"8 MB\"\n";
constexpr std::string_view kJobsFull =
    "topology.hosts = 2048\ntopology.hosts_per_rack = 64\n"
    "workload.jobs = 32\nworkload.ranks = 64\nworkload.size = \"16 MB\"\n";

constexpr Case kCases[] = {
    {.id = "perm-4KB",
     .title = "permutation 4 KB",
     .part = "sizes",
     .about = kPermutation,
     .bound = kPermutationBound,
     .common = "workload.size = 4096\n",
     .quick = kHosts128,
     .full = kHosts8192},
    {.id = "perm-128KB",
     .title = "permutation 128 KB",
     .part = "sizes",
     .about = kPermutation,
     .bound = kPermutationBound,
     .common = "workload.size = \"128 KB\"\n",
     .quick = kHosts128,
     .full = kHosts8192},
    {.id = "perm-2MB",
     .title = "permutation 2 MB",
     .part = "sizes",
     .about = kPermutation,
     .bound = kPermutationBound,
     .common = "workload.size = \"2 MB\"\n",
     .quick = kHosts128,
     .full = kHosts8192},
    {.id = "perm-16MB",
     .title = "permutation 16 MB",
     .part = "sizes",
     .about = kPermutation,
     .bound = kPermutationBound,
     .common = "workload.size = \"16 MB\"\n",
     .quick = kHosts128,
     .full = kHosts8192},
    {.id = "perm-100MB",
     .title = "permutation 100 MB",
     .part = "sizes",
     .about = kPermutation,
     .bound = kPermutationBound,
     .common = "workload.size = \"100 MB\"\n",
     .quick = kHosts32,
     .full = kHosts1024},

    {.id = "incast",
     .title = "incast 32:1",
     .part = "crowds",
     .about = "32 hosts send to one at the same time: 4 MB each at the quick scale, 16 MB at the "
              "full one.",
     .bound = "All messages at the receiver's rate, and a base RTT.",
     .common = "workload.kind = \"incast\"\nworkload.fan_in = 32\n",
     .quick = "topology.hosts = 128\ntopology.hosts_per_rack = 16\nworkload.size = \"4 MB\"\n",
     .full = "topology.hosts = 8192\ntopology.hosts_per_rack = 64\nworkload.size = \"16 MB\"\n"},
    {.id = "incast-many",
     .title = "incast of many",
     .part = "crowds",
     .about = "As many senders as there are, with little each: 112 of 256 KB at the quick scale, "
              "2048 of 64 KB at the full one.",
     .bound = "All messages at the receiver's rate, and a base RTT.",
     .common = "workload.kind = \"incast\"\n",
     .quick = "topology.hosts = 128\ntopology.hosts_per_rack = 16\n"
              "workload.fan_in = 112\nworkload.size = \"256 KB\"\n",
     .full = "topology.hosts = 8192\ntopology.hosts_per_rack = 64\n"
             "workload.fan_in = 2048\nworkload.size = \"64 KB\"\n"},
    {.id = "oversubscribed",
     .title = "4:1 permutation",
     .part = "crowds",
     .about = "A permutation in which every message leaves its rack, whose uplinks carry a quarter "
              "of what its hosts could send; 4 MB at the quick scale, 16 MB at the full one.",
     .bound = "All that leaves the busiest rack at the rate of its uplinks, and a base RTT.",
     .common = "topology.oversubscription = 4\nworkload.cross_rack = true\n",
     .quick = "topology.hosts = 128\ntopology.hosts_per_rack = 16\nworkload.size = \"4 MB\"\n",
     .full = "topology.hosts = 8192\ntopology.hosts_per_rack = 64\nworkload.size = \"16 MB\"\n"},
    {.id = "victims",
     .title = "victims of an incast",
     .part = "crowds",
     .about =
         "32 hosts send 4 MB each to one. 100 us later every other host of that rack gets 1 MB "
         "from somebody else; only these flows count.",
     .bound = "Each of the flows that count, alone: 1 MB at the host's rate, and a base RTT.",
     .measure = {.largest = kVictimSize},
     .common = "",
     .quick = kHosts128,
     .full = kHosts8192,
     .flows = incast_with_victims},
    {.id = "mice",
     .title = "mice, 60 % load",
     .part = "crowds",
     .about =
         "Random pairs at 60 % load for 300 us: nine of ten flows are mice of 10 KB, the others "
         "elephants of 1 MB. The 99th percentile of the mice counts.",
     .bound = "The 99th percentile of what each mouse would take alone.",
     .measure = {.percentile = 99, .largest = bytes(10'000)},
     .common = "workload.kind = \"random\"\nworkload.load = 0.6\nworkload.duration_us = 300\n"
               "workload.cdf = [[10000, 0.9], [999999, 0.9], [1000000, 1]]\n",
     .quick = kHosts128,
     .full = kHosts1024},

    {.id = "links-down",
     .title = "links down",
     .part = "faults",
     .about =
         "A permutation of 16 MB where links between ToRs and spines are down from the start, "
         "and routed around: 16 of 128 at the quick scale, 2 on every rack; 256 of 8192 at the "
         "full one, 16 on each of 16 racks.",
     .bound = "A message at the host's rate, or all that leaves the worst rack at the rate of the "
              "uplinks it has left, and a base RTT.",
     .common = "workload.size = \"16 MB\"\n",
     .quick = "topology.hosts = 128\ntopology.hosts_per_rack = 16\n"
              "failure = [{random_links = 16, racks = 8}]\n",
     .full = "topology.hosts = 8192\ntopology.hosts_per_rack = 64\n"
             "failure = [{random_links = 256, racks = 16}]\n"},
    {.id = "links-slow",
     .title = "links at 25 %",
     .part = "faults",
     .about =
         "The same, but the links carry a quarter of their rate, and routes know nothing of it.",
     .bound = "A message at the host's rate, or all that leaves the worst rack at what its uplinks "
              "carry, and a base RTT.",
     .common = "workload.size = \"16 MB\"\n",
     .quick = "topology.hosts = 128\ntopology.hosts_per_rack = 16\n"
              "impairment = [{random_links = 16, racks = 8, rate = 0.25}]\n",
     .full = "topology.hosts = 8192\ntopology.hosts_per_rack = 64\n"
             "impairment = [{random_links = 256, racks = 16, rate = 0.25}]\n"},
    {.id = "flapping",
     .title = "flapping spine",
     .part = "faults",
     .about =
         "A permutation of 16 MB in which one spine fails three times for 50 us, 100 us apart. "
         "Routes follow 100 us later, which is always too late.",
     .bound = kFaultBound,
     .common = "workload.size = \"16 MB\"\n"
               "failure = [{switch = \"spine 3\", from_us = 20, until_us = 70}, "
               "{switch = \"spine 3\", from_us = 120, until_us = 170}, "
               "{switch = \"spine 3\", from_us = 220, until_us = 270}]\n",
     .quick = kHosts128,
     .full = kHosts8192},
    {.id = "blackhole",
     .title = "blackholed spine",
     .part = "faults",
     .about = "A permutation of 16 MB in which one spine dies after 20 us and nobody ever routes "
              "around it: what goes there is lost.",
     .bound = kFaultBound,
     .common = "workload.size = \"16 MB\"\nswitch.convergence_us = \"1 s\"\n"
               "failure = [{switch = \"spine 3\", from_us = 20}]\n",
     .quick = kHosts128,
     .full = kHosts8192},
    {.id = "bit-errors",
     .title = "bit errors",
     .part = "faults",
     .about =
         "A permutation in which every link between switches has one wrong bit in 10^8, which "
         "loses one full packet in 3000 on each; 4 MB at the quick scale, 16 MB at the full one.",
     .bound = kFaultBound,
     .common = "",
     .quick = "topology.hosts = 128\ntopology.hosts_per_rack = 16\nworkload.size = \"4 MB\"\n"
              "impairment = [{random_links = 128, racks = 8, bit_error_rate = 1e-8}]\n",
     .full = "topology.hosts = 8192\ntopology.hosts_per_rack = 64\nworkload.size = \"16 MB\"\n"
             "impairment = [{random_links = 8192, racks = 128, bit_error_rate = 1e-8}]\n"},

    {.id = "allreduce-ring",
     .title = "AllReduce, ring",
     .part = "jobs",
     .about =
         "Jobs on randomly placed hosts, each one AllReduce by a ring: 4 jobs of 32 ranks with "
         "8 MB at the quick scale, 32 of 64 ranks with 16 MB at the full one.",
     .bound = kJobBound,
     .measure = {.jobs = true},
     .common = "workload.kind = \"collective\"\nworkload.collective = \"allreduce-ring\"\n",
     .quick = kJobsQuick,
     .full = kJobsFull},
    {.id = "allreduce-tree",
     .title = "AllReduce, tree",
     .part = "jobs",
     .about = "The same by double binary trees.",
     .bound = kJobBound,
     .measure = {.jobs = true},
     .common = "workload.kind = \"collective\"\nworkload.collective = \"allreduce-dbt\"\n",
     .quick = kJobsQuick,
     .full = kJobsFull},
    {.id = "allreduce-hd",
     .title = "AllReduce, halving-doubling",
     .part = "jobs",
     .about = "The same by halving and doubling.",
     .bound = kJobBound,
     .measure = {.jobs = true},
     .common = "workload.kind = \"collective\"\nworkload.collective = \"allreduce-hd\"\n",
     .quick = kJobsQuick,
     .full = kJobsFull},
    {.id = "alltoall",
     .title = "AllToAll",
     .part = "jobs",
     .about = "The same jobs, each one AllToAll: all pairs at once.",
     .bound = kJobBound,
     .measure = {.jobs = true},
     .common = "workload.kind = \"collective\"\nworkload.collective = \"alltoall\"\n",
     .quick = kJobsQuick,
     .full = kJobsFull},
    {.id = "experts",
     .title = "AllToAll of experts",
     .part = "jobs",
     .about =
         "AllToAll as a mixture of experts has it, in groups of 32 hosts at the quick scale, of "
         "64 at the full one: each host sends 4 MB in all, and the k-th most popular expert of "
         "a group gets a share in proportion to 1 / sqrt(k). All pairs start at once; the "
         "slowest flow counts.",
     .bound = "All that the most popular expert gets, at its rate, and a base RTT.",
     .common = "",
     .quick = kHosts128,
     .full = "topology.hosts = 2048\ntopology.hosts_per_rack = 64\n",
     .flows = experts_alltoall},
};

}  // namespace

std::string_view name_of(Scale scale) { return scale == Scale::quick ? "quick" : "full"; }

std::optional<Scale> scale_of(std::string_view name) {
  for (const Scale scale : {Scale::quick, Scale::full}) {
    if (name_of(scale) == name) return scale;
  }
  return std::nullopt;
}

std::span<const Part> parts() { return kParts; }
std::span<const Case> cases() { return kCases; }

const Case* find_case(std::string_view id) {
  const auto* found = std::find_if(std::begin(kCases), std::end(kCases),
                                   [&](const Case& one) { return one.id == id; });
  return found == std::end(kCases) ? nullptr : found;
}

const Part* find_part(std::string_view id) {
  const auto* found = std::find_if(std::begin(kParts), std::end(kParts),
                                   [&](const Part& one) { return one.id == id; });
  return found == std::end(kParts) ? nullptr : found;
}

std::string scenario_text(const Case& of, Scale scale) {
  // Lists of failures are values of one key, so nothing here opens a section that a later line
  // would fall into.
  return fmt::format(
      "# A case of the league at the {} scale. Made by `strack league run`,\n"  // the program's name
      "# which sets the scheme besides.\n"
      "name = \"{}\"\ndescription = \"{}\"\n{}{}{}run.end_ms = {}\n",
      name_of(scale), of.id, of.title, of.flows == nullptr ? "" : "workload.kind = \"file\"\n",
      scale == Scale::quick ? of.quick : of.full, of.common, kTimeLimit.count() / ms(1).count());
}

}  // namespace strack::league
