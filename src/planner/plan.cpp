#include "planner/plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

namespace strack::planner {
namespace fs = std::filesystem;
namespace {

using run::Problem;

/// One run of the plan, as far as it follows from the plan alone.
PlannedRun run_of(const Plan& plan, const fs::path& folder, std::size_t network, std::size_t scheme,
                  std::optional<std::size_t> failure, std::uint64_t seed) {
  PlannedRun run;
  run.network = network;
  run.scheme = scheme;
  run.broken = failure;
  run.file = plan.scenario;
  run.set = plan.networks[network].set;
  run.set.push_back("transport.scheme=" + plan.schemes[scheme]);
  std::string called = "well";
  if (failure) {
    const std::vector<std::string>& broken = plan.failures[*failure].ways[network]->set;
    run.set.insert(run.set.end(), broken.begin(), broken.end());
    called = run::safe_name(plan.failures[*failure].name);
  }
  run.seed = seed;
  run.out = folder / fmt::format("{}-{}-{}-s{}.db", run::safe_name(plan.networks[network].name),
                                 plan.schemes[scheme], called, seed);
  return run;
}

/// Asks the scenario whether it can be so, and how long that takes.
std::optional<Problem> resolve(const Plan& plan, PlannedRun& run) {
  std::vector<std::string> with_seed = run.set;
  with_seed.push_back(fmt::format("run.seed={}", run.seed));
  const auto loaded = sim::load(plan.scenario, with_seed);
  if (!loaded) {
    const Network& network = plan.networks[run.network];
    if (!run.broken)
      return Problem{fmt::format("{}:{}: network \"{}\": {}", plan.file, network.line, network.name,
                                 loaded.error().text())};
    const Failure& failure = plan.failures[*run.broken];
    return Problem{fmt::format(
        "{}:{}: failure \"{}\" of the network \"{}\": {} (networks = [...] says for which it is)",
        plan.file, failure.ways[run.network]->line, failure.name, network.name,
        loaded.error().text())};
  }
  run.scenario = sim::to_toml(loaded.value());
  run.weight = sim::expected_bytes(loaded.value());
  return std::nullopt;
}

/// Marks what is there from earlier.
std::optional<Problem> look(PlannedRun& run) {
  const auto old = run::look_at_old(run);
  if (!old) return Problem{old.error().message};
  run.there = old.value() == run::OldResult::same;
  if (run.there || old.value() == run::OldResult::none) return std::nullopt;
  return Problem{fmt::format(
      "{}: holds a finished run of another {}. choose another --out, or --force to run everything "
      "again",
      run.out.string(),
      old.value() == run::OldResult::scenario ? "scenario" : "version of this program")};
}

}  // namespace

Result<std::vector<PlannedRun>, Problem> plan_runs(const Plan& plan, const fs::path& folder,
                                                   bool force) {
  std::vector<PlannedRun> runs;
  for (const std::uint64_t seed : plan.seeds) {
    for (std::size_t n = 0; n < plan.networks.size(); ++n) {
      for (std::size_t s = 0; s < plan.schemes.size(); ++s) {
        runs.push_back(run_of(plan, folder, n, s, std::nullopt, seed));
        for (std::size_t f = 0; f < plan.failures.size(); ++f) {
          if (plan.failures[f].ways[n]) runs.push_back(run_of(plan, folder, n, s, f, seed));
        }
      }
    }
  }
  std::set<fs::path> taken;
  for (PlannedRun& one : runs) {
    if (!taken.insert(one.out).second)
      return Problem{
          fmt::format("{}: two runs would be called so. give networks and failures names "
                      "that differ in letters and digits, and no failure the name \"well\"",
                      one.out.string())};
    if (auto problem = resolve(plan, one)) return *std::move(problem);
    if (force) continue;
    if (auto problem = look(one)) return *std::move(problem);
  }
  return runs;
}

double cost_of(const Prices& prices, const metrics::RunInfo& run) {
  // Every directed link begins at a port, and every host has one.
  const auto links = static_cast<double>(run.links);
  const auto hosts = static_cast<double>(run.hosts);
  return prices.switches * static_cast<double>(run.switches) +
         prices.switch_port * (links - hosts) + prices.host_port * hosts + prices.link * links / 2;
}

std::vector<Option> options_of(const Plan& plan, const std::vector<DoneRun>& done) {
  std::vector<Option> options;
  for (std::size_t n = 0; n < plan.networks.size(); ++n) {
    for (std::size_t s = 0; s < plan.schemes.size(); ++s) {
      Option option;
      option.network = n;
      option.scheme = s;
      std::map<std::string, std::vector<double>> parts;
      std::vector<std::string> order;
      const auto times = [&](std::optional<std::size_t> failure) {
        std::vector<double> values;
        bool whole = true;
        for (const DoneRun& one : done) {
          if (one.run->network != n || one.run->scheme != s || one.run->broken != failure) continue;
          option.cost = cost_of(plan.prices, one.summary.run);
          if (!one.summary.all_done()) {
            whole = false;
            option.unfinished.push_back(
                fmt::format("{}, seed {}: {}", failure ? plan.failures[*failure].name : "all well",
                            one.run->seed, report::run_row("", one.summary).status));
          }
          values.push_back(report::max_us(one.summary));
          for (const metrics::WorkloadSummary& part : one.summary.workloads) {
            if (failure || part.unfinished > 0) continue;
            if (!parts.contains(part.info.name)) order.push_back(part.info.name);
            parts[part.info.name].push_back(report::in_us(part.max_time));
          }
        }
        // Whoever has left something behind has no step time.
        return whole ? report::spread_of(std::move(values)) : report::Spread{};
      };
      option.time = times(std::nullopt);
      for (std::size_t f = 0; f < plan.failures.size(); ++f) option.failing.push_back(times(f));
      for (const std::string& name : order)
        option.parts.push_back({name, report::spread_of(parts[name])});
      options.push_back(std::move(option));
    }
  }
  mark_best(options);
  return options;
}

report::Spread times_as_long(const Option& option, std::size_t failure) {
  const report::Spread& broken = option.failing[failure];
  return {broken.median / option.time.median, broken.low / option.time.high,
          broken.high / option.time.low, std::min(broken.count, option.time.count)};
}

bool within_spread(const Option& option, std::size_t failure) {
  const report::Spread& broken = option.failing[failure];
  return broken.count > 1 && option.time.count > 1 && broken.low <= option.time.high &&
         option.time.low <= broken.high;
}

void mark_best(std::vector<Option>& options) {
  for (Option& one : options) {
    one.best = one.time.count > 0 && !std::isnan(one.cost) &&
               std::none_of(options.begin(), options.end(), [&](const Option& other) {
                 if (other.time.count == 0 || std::isnan(other.cost)) return false;
                 const bool no_worse =
                     other.cost <= one.cost && other.time.median <= one.time.median;
                 return no_worse && (other.cost < one.cost || other.time.median < one.time.median);
               });
  }
}

}  // namespace strack::planner
