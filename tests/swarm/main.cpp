// Runs the swarm over a range of seeds, or replays one.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/check.h"
#include "swarm/swarm.h"

int main(int argc, char** argv) {
  using strack::swarm::Protocol;
  const std::vector<const Protocol*> protocols = strack::swarm::protocols();
  std::vector<std::string> names;
  for (const Protocol* protocol : protocols) names.emplace_back(protocol->name);

  std::uint64_t first = 0;
  std::uint64_t seeds = 1'000;
  std::uint64_t seed = 0;
  std::string name;
  bool trace = false;
  bool all_branches = false;

  CLI::App app{"Random connections on a bad day, with invariants checked after every step.",
               "swarm"};
  app.add_option("--protocol", name, "the transport to run")
      ->required()
      ->check(CLI::IsMember(names));
  app.add_option("--first", first, "first seed of the range")->capture_default_str();
  app.add_option("--seeds", seeds, "how many seeds to run")->capture_default_str();
  const auto* one = app.add_option("--seed", seed, "replay this seed only");
  app.add_flag("--trace", trace, "print what happens");
  app.add_flag("--all-branches", all_branches, "fail unless every rare branch was reached");
  CLI11_PARSE(app, argc, argv);
  const Protocol& protocol = **std::find_if(protocols.begin(), protocols.end(),
                                            [&](const Protocol* p) { return p->name == name; });
  if (one->count() > 0) {
    first = seed;
    seeds = 1;
    fmt::print("seed {}: {}\n", seed, protocol.describe(seed));
  }

  strack::swarm::Tally total{std::vector<std::uint64_t>(protocol.rare.size()),
                             std::vector<std::uint64_t>(protocol.others.size())};
  for (std::uint64_t s = first; s < first + seeds; ++s) {
    const std::string replay =
        fmt::format("{} --protocol {} --seed {} --trace", argv[0], protocol.name, s);
    strack::set_replay_hint(replay.c_str());
    total.add(protocol.run_seed(s, trace));
    strack::set_replay_hint(nullptr);
  }

  std::string others;
  for (std::size_t i = 0; i < protocol.others.size(); ++i) {
    others += fmt::format("{} {}, ", total.others[i], protocol.others[i]);
  }
  fmt::print(
      "{} seeds from {}: {} messages, {} packets, {} retransmissions, {}{} timeouts, {} steps "
      "checked\n",
      total.seeds, first, total.messages, total.packets, total.retransmissions, others,
      total.timeouts, total.steps);
  int missing = 0;
  for (std::size_t i = 0; i < protocol.rare.size(); ++i) {
    fmt::print("  {:<24} {}\n", protocol.rare[i], total.reached[i]);
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
