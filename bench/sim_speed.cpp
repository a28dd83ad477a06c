// How fast the simulator is: permutation, whole protocol, default recording, in packet-hops per
// CPU-second; for the first scheme of each transport, over the switches that it wants.
//
// A packet-hop is one packet through one queue and link; a data packet and its SACK between racks
// make 8. CPU seconds are the process's, all threads together; the ratio of CPU to wall time shows
// how busy a shared machine was. Results do not depend on threads: the hash says so.
#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/scenario/scenario.h"
#include "sim/simulation.h"
#include "transports/registry.h"
#include "workload/generators.h"

namespace {

using namespace strack;

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// The paper's network; racks of 64 and as many spines, smaller networks have smaller racks.
sim::SimConfig paper_network(std::uint32_t hosts, const std::string& scheme,
                             std::vector<std::string> settings) {
  settings.insert(settings.begin(),
                  {fmt::format("topology.hosts={}", hosts),
                   fmt::format("topology.hosts_per_rack={}", hosts >= 1024 ? 64 : 16),
                   "transport.scheme=" + scheme});
  const auto scenario = sim::load_text("", "sim_speed", {}, settings);
  if (!scenario) {
    fmt::print(stderr, "error: {}\n", scenario.error().text());
    std::exit(2);
  }
  return scenario.value().config;
}

/// One run, measured and printed; false if it did not finish.
bool measure(std::uint32_t hosts, const std::string& scheme, std::uint32_t threads,
             std::int64_t size, const std::vector<std::string>& settings) {
  sim::SimConfig config = paper_network(hosts, scheme, settings);
  config.threads = threads;
  sim::Simulation simulation(
      config,
      workload::permutation(
          {{config.topology.hosts(), config.topology.hosts_per_rack}, bytes(size), false}, 1));
  sim::Observer observer;
  const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const double wall = seconds_of(CLOCK_MONOTONIC);
  if (simulation.run(observer) != sim::Ending::finished) return false;
  const double cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  const double wall_s = seconds_of(CLOCK_MONOTONIC) - wall;
  const metrics::Counters c = simulation.counters();
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  const auto hops = static_cast<double>(c.packet_hops);
  // The largest the process has ever been: true for the largest network so far, an upper bound for
  // others.
  const double kb_per_host = static_cast<double>(after.ru_maxrss) / hosts;
  fmt::print(
      "{:<7} {:>6} {:>8.1f} {:>8} {:>13} {:>8.2f} {:>8.2f} {:>14.2f} {:>14.2f} {:>9.1f}  "
      "{:016x}\n",
      scheme, hosts, static_cast<double>(size) / 1e6, threads, c.packet_hops, cpu_s, wall_s,
      hops / cpu_s / 1e6, hops / wall_s / 1e6, kb_per_host, c.hash);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint32_t> host_counts{128, 1024, 8192};
  std::vector<std::uint32_t> thread_counts{1};
  std::int64_t size = 2'000'000;
  int repeats = 1;
  std::vector<std::string> schemes;
  std::vector<std::string> settings;
  for (const transports::Descriptor* transport : transports::all())
    schemes.emplace_back(transport->schemes.front().name);
  CLI::App app{"Simulator speed: permutation at several sizes of network.", "sim_speed"};
  app.add_option("--hosts", host_counts, "hosts in the network")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--threads", thread_counts, "threads")->delimiter(',')->capture_default_str();
  app.add_option("--size", size, "bytes each host sends")->capture_default_str();
  app.add_option("--schemes", schemes, "schemes of scenarios")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--set", settings, "a key of the scenario, such as switch.routing=least-queue");
  app.add_option("--repeats", repeats, "runs of each, interleaved")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  fmt::print("{:<7} {:>6} {:>8} {:>8} {:>13} {:>8} {:>8} {:>14} {:>14} {:>9}  {}\n", "scheme",
             "hosts", "MB each", "threads", "packet-hops", "CPU s", "wall s", "Mhops/CPU-s",
             "Mhops/wall-s", "KB/host", "hash");
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const std::uint32_t hosts : host_counts) {
      for (const std::string& scheme : schemes) {
        for (const std::uint32_t threads : thread_counts) {
          if (!measure(hosts, scheme, threads, size, settings)) return 1;
        }
      }
    }
  }
  return 0;
}
