// [workload]: who sends what to whom, and when.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/enum_words.h"
#include "sim/scenario/sections/sections.h"
#include "sim/scenario/sections/trace_format.h"
#include "workload/amount.h"
#include "workload/chain.h"
#include "workload/collectives.h"
#include "workload/flow_list.h"
#include "workload/formats/cm_import.h"
#include "workload/jobs.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

constexpr Picoseconds kLongest = ps(3'600 * kSecond);  // iterations and repeats, all together

constexpr auto kWorkloadKindWords =
    words_of<WorkloadKind>({{WorkloadKind::permutation, "permutation"},
                            {WorkloadKind::incast, "incast"},
                            {WorkloadKind::random, "random"},
                            {WorkloadKind::file, "file"},
                            {WorkloadKind::collective, "collective"},
                            {WorkloadKind::trace, "trace"},
                            {WorkloadKind::training, "training"}});
constexpr auto kFormatWords = words_of<TraceFormatKey>({{TraceFormatKey::automatic, "auto"},
                                                        {TraceFormatKey::cm, "cm"},
                                                        {TraceFormatKey::goal, "goal"},
                                                        {TraceFormatKey::chakra, "chakra"}});
constexpr auto kTimeUnitWords = words_of<workload::CmTime>(
    {{workload::CmTime::picoseconds, "ps"}, {workload::CmTime::microseconds, "us"}});
constexpr auto kCollectiveWords = words_of<workload::Collective>(
    {{workload::Collective::allreduce_ring, "allreduce-ring"},
     {workload::Collective::allreduce_halving_doubling, "allreduce-hd"},
     {workload::Collective::allreduce_double_binary_tree, "allreduce-dbt"},
     {workload::Collective::alltoall, "alltoall"},
     {workload::Collective::allgather, "allgather"},
     {workload::Collective::reduce_scatter, "reduce-scatter"},
     {workload::Collective::broadcast, "broadcast"}});

constexpr Key kKeys[] = {
    {.name = "name",
     .kind = Kind::text,
     .otherwise = "its kind, collective or file",
     .needs = "a name is a word or a few, other than \"all\", such as name = \"background\"",
     .help = "What results call it. No two of a scenario have the same."},
    {.name = "kind",
     .kind = Kind::choice,
     .words = kWorkloadKindWords,
     .fallback = "\"permutation\"",
     .needs = "a workload is",
     .help = "Every host to one other; many to one; random pairs with Poisson arrivals; a list of "
             "flows; jobs that each do a collective operation; one job that does what a trace of "
             "another tool says; or jobs that each do a step of training a model."},
    {.name = "size",
     .kind = Kind::size,
     .fallback = "\"16 MB\"",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a flow or a collective's buffer has 1 byte to 1 TiB, such as size = \"16 MB\"",
     .applies = "kind=permutation|incast|random|collective",
     .help = "Bytes of every flow; of a collective, each rank's whole buffer. A flow of 4 GiB or "
             "more is several messages of its connection, one behind the other, and one flow in "
             "the results."},
    {.name = "cross_rack",
     .kind = Kind::flag,
     .fallback = "false",
     .needs = "it is true or false",
     .applies = "kind=permutation|random",
     .help = "Only between racks."},
    {.name = "fan_in",
     .kind = Kind::integer,
     .fallback = "32",
     .low = {1},
     .high = {1'048'576},
     .needs = "an incast has at least one sender, such as fan_in = 32",
     .applies = "kind=incast",
     .help = "Senders, all in other racks than the receiver."},
    {.name = "receiver",
     .kind = Kind::integer,
     .fallback = "0",
     .high = {1'048'575},
     .needs = "a receiver is a host's number, such as receiver = 0",
     .applies = "kind=incast",
     .help = "The host they send to."},
    {.name = "load",
     .kind = Kind::fraction,
     .fallback = "0.5",
     .low = {1, 1'000'000},
     .high = {1},
     .needs = "a load is above 0 and up to 1 with up to six decimals, such as load = 0.5",
     .applies = "kind=random",
     .help = "Payload that hosts send on average, in parts of their rate."},
    {.name = "flows",
     .kind = Kind::integer,
     .otherwise = "as many as arrive within duration_us",
     .low = {1},
     .high = {50'000'000},
     .needs = "it is from 1 to 50 million flows, such as flows = 10000",
     .applies = "kind=random",
     .help = "So many flows. Not together with duration_us."},
    {.name = "duration_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "1000, unless flows is given",
     .low = {kNanosecond},
     .high = {3'600 * kSecond},
     .needs = "arrivals take from 1 ns to an hour, such as duration_us = 1000",
     .applies = "kind=random",
     .help = "Flows arrive for so long."},
    {.name = "size_min",
     .kind = Kind::size,
     .otherwise = "all flows have one size",
     .low = {1},
     .high = {kFlowLimit},
     .needs = "a flow has 1 byte to 1 TiB, such as size_min = \"4 KB\"",
     .applies = "kind=random",
     .help = "With size_max, and instead of size: sizes are uniform between the two."},
    {.name = "size_max",
     .kind = Kind::size,
     .otherwise = "all flows have one size",
     .low = {1},
     .high = {kFlowLimit},
     .needs = "a flow has 1 byte to 1 TiB, such as size_max = \"1 MB\"",
     .applies = "kind=random",
     .help = "See size_min."},
    {.name = "cdf",
     .kind = Kind::points,
     .otherwise = "all flows have one size",
     .needs =
         "a distribution is a list of points, such as cdf = [[\"4 KB\", 0.5], [\"1 MB\", 1.0]]",
     .applies = "kind=random",
     .help = "Instead of size: a distribution by points of size and cumulative probability, "
             "straight lines between them."},
    {.name = "cdf_file",
     .kind = Kind::text,
     .otherwise = "all flows have one size",
     .needs = "it names a file of lines of bytes and cumulative probability",
     .applies = "kind=random",
     .help =
         "The same from a file with lines of `bytes cumulative_probability`, beside the scenario."},
    {.name = "file",
     .kind = Kind::text,
     .otherwise = "it must be given",
     .needs = "it names a file, such as file = \"flows.txt\" or file = \"step.{rank}.et\"",
     .applies = "kind=file|trace",
     .help =
         "A file beside the scenario. With kind = \"file\" it has a flow a line, `src dst bytes "
         "start`, such as `0 17 16MB 10us`. With kind = \"trace\" it is a trace; {rank} in its "
         "name stands for 0, 1, 2 and so on where each rank has a file of its own, as in "
         "Chakra's."},
    {.name = "format",
     .kind = Kind::choice,
     .words = kFormatWords,
     .fallback = "\"auto\"",
     .needs = "a format is",
     .applies = "kind=trace",
     .help =
         "Of a trace: htsim's connection matrix, a GOAL schedule, Chakra's execution traces; or "
         "as the file's name ends: .cm; .goal or .bin; .et or .json."},
    {.name = "time_unit",
     .kind = Kind::choice,
     .words = kTimeUnitWords,
     .fallback = "\"ps\"",
     .needs = "a unit is",
     .applies = "kind=trace",
     .help = "What `start` counts in a connection matrix: programs that read them differ."},
    {.name = "calc_unit_ns",
     .kind = Kind::time,
     .unit = "ns",
     .fallback = "1",
     .low = {1},
     .high = {kSecond},
     .needs = "it is a time from 1 ps to 1 s, such as calc_unit_ns = 1",
     .applies = "kind=trace",
     .help = "How long `calc 1` of a GOAL schedule takes."},
    {.name = "comm_groups",
     .kind = Kind::text,
     .otherwise = "as the traces have it",
     .needs = "it names a file of groups, such as comm_groups = \"groups.json\"",
     .applies = "kind=trace",
     .help = "Who is in which group (pg_name) of Chakra's collectives: a JSON file beside the "
             "scenario, as ASTRA-sim takes it, such as {\"1\": [0, 1], \"2\": [2, 3]}."},
    {.name = "collective",
     .kind = Kind::choice,
     .words = kCollectiveWords,
     .fallback = "\"allreduce-ring\"",
     .needs = "a collective is",
     .applies = "kind=collective",
     .help =
         "What each job does once. AllReduce by a ring, by halving-doubling (for powers of two) "
         "or by double binary trees; all pairs; rings that gather or reduce; a chain."},
    {.name = "chunk",
     .kind = Kind::size,
     .fallback = "\"128 KiB\"",
     .low = {1},
     .high = {kMessageLimit},
     .needs = "a chunk has 1 to 4294967295 bytes, such as chunk = \"128 KiB\"",
     .applies = "kind=collective|training",
     .help = "The largest message: buffers are sent in pieces of up to this size, each as soon as "
             "what it needs is there."},
    {.name = "chunks_in_flight",
     .kind = Kind::integer,
     .fallback = "0",
     .high = {1'048'576},
     .needs =
         "it is a number of messages, or 0 for all that are ready, such as chunks_in_flight = 4",
     .applies = "kind=collective",
     .help =
         "Messages of one connection under way at most: the next waits until the first of them has "
         "been acknowledged. 0 is all that are ready."},
    {.name = "ranks",
     .kind = Kind::integer,
     .otherwise = "all hosts over jobs",
     .low = {2},
     .high = {1'048'576},
     .needs = "a job has 2 to 1048576 ranks, such as ranks = 32",
     .applies = "kind=collective",
     .help = "Ranks of every job, each on a host of its own."},
    {.name = "jobs",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {524'288},
     .needs = "there are 1 to 524288 jobs, such as jobs = 8",
     .applies = "kind=collective|training",
     .help = "So many jobs at the same time, each with its own ranks."},
    {.name = "parallel",
     .kind = Kind::integer,
     .fallback = "0",
     .high = {1'048'575},
     .needs = "it is a number of connections, or 0 for all, such as parallel = 8",
     .applies = "collective=alltoall",
     .help = "Connections active at each sender and at each receiver; 0 is all at once."},
    {.name = "placement",
     .kind = Kind::text,
     .otherwise = "\"random\", and \"packed\" for a trace or training",
     .needs = "a placement is \"random\", \"packed\", \"striped\", \"blocks:8\" or "
              "\"hosts:0-7,16\"",
     .applies = "kind=collective|trace|training",
     .help = "Which hosts ranks are on. \"random\": drawn by the seed. \"packed\": consecutive "
             "hosts, so that rank 3 is on host 3. \"striped\": consecutive racks. \"blocks:8\": so "
             "many consecutive hosts of one rack at a time, the blocks drawn by the seed. "
             "\"hosts:0-7,16\": these, in this order."},
    {.name = "start_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "0",
     .high = {3'600 * kSecond},
     .needs = "a start is from 0 to an hour, such as start_us = 10",
     .help = "Added to the start of every flow and rank."},
    {.name = "iterations",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {1'000'000},
     .needs = "a job has 1 to 1000000 iterations, such as iterations = 10",
     .applies = "kind=collective|trace|training",
     .help =
         "Every job does it so many times, one after the other: a rank goes on when it has sent, "
         "received and computed all of its own."},
    {.name = "compute_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "0",
     .high = {3'600 * kSecond},
     .needs = "it is a time from 0 to an hour, such as compute_us = 200",
     .applies = "kind=collective|trace|training",
     .help = "Between two iterations every rank computes for so long."},
    {.name = "share_hosts",
     .kind = Kind::flag,
     .fallback = "false",
     .needs = "it is true or false",
     .applies = "kind=collective|trace|training",
     .help = "With several workloads: its ranks may be on hosts that have ranks of others. Else "
             "every host has one rank of all of them, and those who list their hosts are placed "
             "first, then packed, striped, blocks and random ones."},
    {.name = "repeats",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {1'000'000},
     .needs = "it is done 1 to 1000000 times, such as repeats = 10",
     .applies = "kind=permutation|incast|file",
     .help = "All flows so many times, with new partners each time. Needs every_us."},
    {.name = "every_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "0",
     .high = {3'600 * kSecond},
     .needs = "it is a time from 0 to an hour, such as every_us = 100",
     .applies = "kind=permutation|incast|file",
     .help = "From the start of one repeat to that of the next, whether that is done or not."},
    {.name = "priority",
     .kind = Kind::integer,
     .fallback = "0",
     .high = {workload::kPriorities - 1},
     .needs = "a priority is from 0 to 3, and the highest goes first, such as priority = 1",
     .help = "From 0 to 3. Its data goes before that of workloads with a lower one: from NICs that "
             "have both to "
             "send, and at switches, where each priority has a queue of its own with "
             "switch.queue_limit and ECN thresholds of its own. Control packets go before all of "
             "them. Not with lossless switches, and not inside servers."},
};

class WorkloadResolver : Resolving {
 public:
  explicit WorkloadResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    WorkloadSpec& w = out_.workloads.back();
    w.kind = set_.choice<WorkloadKind>("workload.kind");
    // What is for several workloads is shown where it was said.
    for (const char* id : {"workload.iterations", "workload.compute_us", "workload.share_hosts",
                           "workload.repeats", "workload.every_us", "workload.priority"})
      set_[id].hidden = !set_.given(id);
    priority();
    w.start = at(set_.time("workload.start_us"));
    if (set_.given("workload.start_us"))
      check_before_end(w.start, set_["workload.start_us"],
                       has_jobs() ? "jobs start at" : "flows start at");
    switch (w.kind) {
      case WorkloadKind::permutation:
        w.size = set_.size("workload.size");
        w.cross_rack = set_.flag("workload.cross_rack");
        break;
      case WorkloadKind::incast:
        incast();
        break;
      case WorkloadKind::random:
        resolve_random(r_);
        break;
      case WorkloadKind::file:
        flow_list();
        break;
      case WorkloadKind::collective:
        resolve_collective(r_);
        break;
      case WorkloadKind::trace:
        resolve_trace(r_);
        break;
      case WorkloadKind::training:
        resolve_training(r_);
        break;
    }
    if (has_jobs()) {
      iterations();
    } else if (w.kind != WorkloadKind::random) {
      repeats();
    }
  }

 private:
  [[nodiscard]] bool has_jobs() const {
    const WorkloadKind kind = out_.workloads.back().kind;
    return kind == WorkloadKind::collective || kind == WorkloadKind::trace ||
           kind == WorkloadKind::training;
  }

  /// [D116] A lossless switch pauses all data of a link, whatever its priority.
  void priority() {
    WorkloadSpec& w = out_.workloads.back();
    w.priority = static_cast<std::uint8_t>(set_.count("workload.priority"));
    if (w.priority > 0 && out_.config.pfc.enabled) {
      set_["workload.priority"].fail_value(
          "lossless switches have one class for all data here. pfc.enabled = false or priority = 0 "
          "would work");
    }
  }

  void iterations() {
    WorkloadSpec& w = out_.workloads.back();
    w.iterations = set_.count("workload.iterations");
    w.compute = set_.time("workload.compute_us");
    w.share_hosts = set_.flag("workload.share_hosts");
    if (w.compute > ps(0) && w.iterations == 1) {
      set_["workload.compute_us"].fail_value(
          "that is between iterations, and there is one: set iterations too, such as iterations = "
          "10");
    }
    check_duration(w);
    check_size(w);
  }

  /// What ranks compute, one after the other.
  void check_duration(const WorkloadSpec& w) {
    Picoseconds once{0};
    if (w.kind == WorkloadKind::trace) once = workload::computation_time(*w.graph);
    if (w.kind == WorkloadKind::training) once = workload::computation_time(w.training);
    if (Int128{once.count() + w.compute.count()} * w.iterations <= kLongest.count()) return;
    if (w.iterations == 1) {
      set_["workload.kind"].fail(
          fmt::format("its computations alone take {}, and a run has an hour at most: take a "
                      "shorter one",
                      workload::format_time(once)));
    }
    later("workload.compute_us", "workload.iterations")
        .fail(fmt::format("{} iterations with {} {} take more than an hour. fewer, or less of it, "
                          "would work",
                          w.iterations, workload::format_time(once + w.compute),
                          once > ps(0) ? "of computation each" : "between them"));
  }

  /// Of the graph that all jobs share, and of all they have to do.
  void check_size(const WorkloadSpec& w) {
    constexpr std::uint64_t kMost = 200'000'000;
    constexpr std::uint64_t kMostWaits = 2'000'000'000;
    constexpr std::uint64_t kMostOfAll = 2'000'000'000;
    const workload::Extent once = extent_of(w);
    const std::uint64_t all = once.nodes * w.iterations;
    if (w.iterations > 1 && all > kMost) {
      set_["workload.iterations"].fail_value(fmt::format(
          "a job would have some {} messages and computations, and at most {} are simulated: "
          "iterations = {} would work",
          all, kMost, std::max<std::uint64_t>(1, kMost / once.nodes)));
    }
    if (w.iterations > 1 && once.edges * w.iterations > kMostWaits) {
      set_["workload.iterations"].fail_value(fmt::format(
          "messages and computations would wait for {} others, and at most {} are simulated: "
          "iterations = {} would work",
          once.edges * w.iterations, kMostWaits,
          std::max<std::uint64_t>(1, kMostWaits / once.edges)));
    }
    if (all > kMostOfAll / w.jobs) {
      last_said({"workload.kind", "workload.jobs", "workload.iterations", "workload.size",
                 "workload.chunk"})
          .fail(fmt::format("{} jobs would have some {} messages and computations each, and at "
                            "most {} are simulated in all: fewer jobs or iterations, or a larger "
                            "chunk, would work",
                            w.jobs, all, kMostOfAll));
    }
  }
  [[nodiscard]] static workload::Extent extent_of(const WorkloadSpec& w) {
    if (w.kind == WorkloadKind::trace) {
      workload::Extent extent = workload::extent_of(*w.graph);
      extent.nodes += w.graph->ranks();
      return extent;
    }
    const std::uint64_t messages = w.kind == WorkloadKind::training
                                       ? workload::size_of(w.training).messages
                                       : workload::size_of(w.collective).messages;
    return {messages + w.ranks(), 0};
  }

  void repeats() {
    WorkloadSpec& w = out_.workloads.back();
    w.repeats = set_.count("workload.repeats");
    w.every = set_.time("workload.every_us");
    if ((w.repeats > 1) != set_.given("workload.every_us")) {
      later("workload.repeats", "workload.every_us")
          .fail(w.repeats > 1
                    ? fmt::format("repeats is {}, but every_us is not set. say how long after each "
                                  "other, such as every_us = 100",
                                  w.repeats)
                    : "every_us is set, but repeats is 1. set it too, such as repeats = 10");
    }
    if (Int128{w.every.count()} * w.repeats > kLongest.count()) {
      later("workload.every_us", "workload.repeats")
          .fail(fmt::format("{} repeats, one every {}, take more than an hour. fewer, or a shorter "
                            "every_us, would work",
                            w.repeats, workload::format_time(w.every)));
    }
    constexpr std::uint64_t kMost = 50'000'000;
    if (w.repeats > 1 && expected_flows(out_, w) > kMost) {
      set_["workload.repeats"].fail_value(
          fmt::format("that is {} flows, and at most {} are simulated: repeats = {} would work",
                      expected_flows(out_, w), kMost, kMost * w.repeats / expected_flows(out_, w)));
    }
    if (w.repeats > 1)
      check_before_end(w.start + (w.repeats - 1) * w.every, set_["workload.repeats"],
                       "the last repeat starts at");
  }

  void incast() {
    WorkloadSpec& w = out_.workloads.back();
    const TopologyParams& t = topology();
    w.size = set_.size("workload.size");
    w.fan_in = set_.count("workload.fan_in");
    w.receiver = set_.count("workload.receiver");
    if (w.receiver >= t.hosts()) {
      set_["workload.receiver"].fail_value(fmt::format(
          "there are {} hosts, so a receiver is from 0 to {}", t.hosts(), t.hosts() - 1));
    }
    const std::uint32_t others = t.hosts() - t.hosts_per_rack;
    if (w.fan_in > others) {
      later("workload.fan_in", "topology.hosts")
          .fail(fmt::format("fan_in is {}. senders are in other racks than the receiver, and there "
                            "are {} such hosts: fan_in = {} or more hosts would work",
                            w.fan_in, others, others));
    }
  }

  void flow_list() {
    const Setting& setting = set_["workload.file"];
    if (!setting.given) {
      set_["workload.kind"].fail(
          "kind is \"file\", but no file is named. say which, such as file = \"flows.txt\"");
    }
    const std::string name = set_.text("workload.file");
    const std::string path = (r_.folder / name).string();
    const auto flows = workload::parse_flow_list(beside(setting, name), topology().hosts());
    if (!flows) throw Failed{{path, flows.error().line, flows.error().message}};
    out_.workloads.back().list = flows.value();
    for (const workload::Flow& flow : out_.workloads.back().list) {
      check_before_end(out_.workloads.back().start + (flow.start - Instant{}), setting,
                       fmt::format("{} has a flow that starts at", workload::quoted(name)));
    }
  }
};

}  // namespace

const SectionKeys kWorkloadSection{
    {"workload", false,
     "Who sends what to whom, and when. Written as [[workload]], any number of times, several go "
     "on "
     "in one run: jobs beside background traffic, an incast over collectives. Each has results of "
     "its own, and `strack sim cost` says what they cost each other.",
     true},
    kKeys};
std::string_view name_of(WorkloadKind kind) {
  return kWorkloadKindWords[static_cast<std::size_t>(kind)];
}

void resolve_workload(Resolution& resolution) { WorkloadResolver(resolution).resolve(); }

void resolve_placement(Resolution& resolution, workload::Placement usual, std::uint64_t ranks) {
  Group& set = resolution.all.plain;
  Setting& setting = set["workload.placement"];
  if (!setting.given) setting.settle({std::string(workload::name_of(usual))});
  const auto parsed = workload::parse_placing(set.text("workload.placement"));
  if (!parsed) setting.fail_value(parsed.error());
  const workload::Placing& placing = parsed.value();
  const TopologyParams& t = resolution.out.config.topology;
  const std::uint32_t within = t.has_servers() ? t.nics_per_server : t.hosts_per_rack;
  if (placing.kind == workload::Placement::blocks && within % placing.block != 0) {
    std::uint32_t works = std::min(placing.block, within);
    while (within % works != 0) --works;
    setting.fail_value(
        t.has_servers()
            ? fmt::format("a block is within a server, and servers have {} NICs: \"blocks:{}\" "
                          "would work",
                          within, works)
            : fmt::format("a block is within a rack, and racks have {} hosts: \"blocks:{}\" would "
                          "work",
                          within, works));
  }
  for (const workload::HostId host : placing.hosts) {
    if (host < t.hosts()) continue;
    setting.fail_value(
        fmt::format("there is no host {}: hosts are numbered from 0 to {}", host, t.hosts() - 1));
  }
  if (placing.kind == workload::Placement::listed && placing.hosts.size() < ranks) {
    setting.fail_value(fmt::format("it names {} hosts, and there are {} ranks to place",
                                   placing.hosts.size(), ranks));
  }
  resolution.out.workloads.back().placement = placing;
}

}  // namespace strack::sim
