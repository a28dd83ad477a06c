// Runs the swarm over a range of seeds, or replays one.
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/check.h"
#include "swarm/swarm.h"

int main(int argc, char** argv) {
  std::uint64_t first = 0;
  std::uint64_t seeds = 1'000;
  std::uint64_t seed = 0;
  bool trace = false;
  bool all_branches = false;

  CLI::App app{"Random connections on a bad day, with invariants checked after every step.",
               "swarm"};
  app.add_option("--first", first, "first seed of the range")->capture_default_str();
  app.add_option("--seeds", seeds, "how many seeds to run")->capture_default_str();
  const auto* one = app.add_option("--seed", seed, "replay this seed only");
  app.add_flag("--trace", trace, "print what happens");
  app.add_flag("--all-branches", all_branches, "fail unless every rare branch was reached");
  CLI11_PARSE(app, argc, argv);
  if (one->count() > 0) {
    first = seed;
    seeds = 1;
    fmt::print("seed {}: {}\n", seed, strack::swarm::describe(seed));
  }

  strack::swarm::Tally total;
  for (std::uint64_t s = first; s < first + seeds; ++s) {
    const std::string replay = fmt::format("{} --seed {} --trace", argv[0], s);
    strack::set_replay_hint(replay.c_str());
    total.add(strack::swarm::run_seed(s, trace));
    strack::set_replay_hint(nullptr);
  }

  fmt::print(
      "{} seeds from {}: {} messages, {} packets, {} retransmissions, {} probes, {} timeouts, {} "
      "steps checked\n",
      total.seeds, first, total.messages, total.packets, total.retransmissions, total.probes,
      total.timeouts, total.steps);
  int missing = 0;
  for (std::size_t i = 0; i < total.reached.size(); ++i) {
    fmt::print("  {:<24} {}\n", strack::core::kRareNames[i], total.reached[i]);
    if (total.reached[i] == 0) ++missing;
  }
  if (all_branches && missing > 0) {
    fmt::print(stderr,
               "error: {} rare branches were never reached. more seeds, or plans that lead there\n",
               missing);
    return 1;
  }
  return 0;
}
