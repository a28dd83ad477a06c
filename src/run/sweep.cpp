#include "run/sweep.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "run/ensemble.h"
#include "sim/scenario/expected_time.h"
#include "sim/scenario/scenario.h"

namespace strack::run {
namespace fs = std::filesystem;
namespace {

std::optional<Problem> add_runs(const SweepRequest& request, Sweep& sweep) {
  std::vector<std::uint64_t> seeds;
  if (!request.seeds.empty()) {
    const auto parsed = parse_seeds(request.seeds);
    if (!parsed) return parsed.error();
    seeds = parsed.value();
  }
  const std::vector<Axis>& axes = sweep.axes;
  const bool scheme_varies = std::any_of(
      axes.begin(), axes.end(), [](const Axis& axis) { return axis.key == "transport.scheme"; });
  std::map<fs::path, int> taken;
  for (const Combination& combination : product(axes)) {
    std::vector<std::string> set;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      set.push_back(axes[i].key + "=" + combination[i]);
    }
    const auto base = sim::load(request.file, set);
    if (!base) return Problem{base.error().text()};
    const std::vector<std::string>& unread = base.value().unread;
    if (sweep.runs.empty()) sweep.unread = unread;
    std::erase_if(sweep.unread, [&](const std::string& key) {
      return std::find(unread.begin(), unread.end(), key) == unread.end();
    });
    for (const std::uint64_t seed : seeds.empty() ? base.value().seeds : seeds) {
      std::vector<std::string> with_seed = set;
      with_seed.push_back(fmt::format("run.seed={}", seed));
      const auto loaded = sim::load(request.file, with_seed);
      if (!loaded) return Problem{loaded.error().text()};
      const sim::Scenario& scenario = loaded.value();
      SweepRun& run = sweep.runs.emplace_back();
      run.file = request.file;
      run.labels = combination;
      run.labels.push_back(fmt::format("{}", seed));
      run.set = set;
      run.seed = seed;
      run.seed_is_the_scenarios = seeds.empty() && base.value().seeds.size() == 1;
      run.scenario = sim::to_toml(scenario);
      const sim::ExpectedTime time = sim::expected_time(scenario);
      run.weight = time.cpu;
      run.gpu_weight = gpu_weight(request.engine, time);
      std::string name = safe_name(scenario.name);
      if (!scheme_varies) name += fmt::format("-{}", scenario.scheme);
      if (const std::string part = file_part(axes, combination); !part.empty()) name += "-" + part;
      name += fmt::format("-s{}", seed);
      // Values that differ only in what a file name cannot hold.
      const int times = ++taken[request.folder / name];
      run.out = request.folder / (times == 1 ? name + ".db" : fmt::format("{}-{}.db", name, times));
    }
  }
  return std::nullopt;
}

/// Looks at what an earlier sweep left: sets `there`, or says why the file is in the way.
std::optional<Problem> look(SweepRun& run) {
  const auto old = look_at_old(run);
  if (!old) return Problem{old.error().message};
  run.there = old.value() == OldResult::same;
  if (run.there || old.value() == OldResult::none) return std::nullopt;
  return Problem{fmt::format(
      "{}: holds a finished run of another {}. choose another --out, or --force to run everything "
      "again",
      run.out.string(),
      old.value() == OldResult::scenario ? "scenario" : "version of this program")};
}

}  // namespace

Result<Sweep, Problem> plan_sweep(const SweepRequest& request) {
  Sweep sweep;
  for (const std::string& set : request.set) {
    const auto axis = parse_axis(set);
    if (!axis) return axis.error();
    for (const Axis& before : sweep.axes) {
      if (before.key != axis.value().key) continue;
      return Problem{fmt::format(
          "--set {}: {} is set twice. give all its values at once: --set {}={},{}", set, before.key,
          before.key, fmt::join(before.values, ","), fmt::join(axis.value().values, ","))};
    }
    sweep.axes.push_back(axis.value());
  }
  if (auto problem = add_runs(request, sweep)) return *std::move(problem);
  std::error_code failure;
  fs::create_directories(request.folder, failure);
  if (!fs::is_directory(request.folder)) {
    return Problem{fmt::format("{}: the folder cannot be made: {}. choose another --out",
                               request.folder.string(), failure.message())};
  }
  if (request.force) return sweep;
  for (SweepRun& run : sweep.runs) {
    if (auto in_the_way = look(run)) return *std::move(in_the_way);
  }
  return sweep;
}

}  // namespace strack::run
