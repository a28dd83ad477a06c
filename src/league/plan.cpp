#include "league/plan.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/prng.h"
#include "report/save.h"
#include "sim/scenario/expected_time.h"
#include "sim/scenario/files.h"
#include "sim/scenario/scenario.h"

namespace strack::league {
namespace fs = std::filesystem;
namespace {

/// Those cases whose id or part is named, in the order of the table.
Result<std::vector<const Case*>, Problem> chosen_cases(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (find_case(name) != nullptr || find_part(name) != nullptr) continue;
    std::vector<std::string_view> known;
    for (const Part& part : parts()) known.push_back(part.id);
    for (const Case& one : cases()) known.push_back(one.id);
    return Problem{
        fmt::format("there is no part or case {}. they are {}", name, fmt::join(known, ", "))};
  }
  const auto named = [&](std::string_view id) {
    return std::find(names.begin(), names.end(), id) != names.end();
  };
  std::vector<const Case*> chosen;
  for (const Case& one : cases()) {
    if (names.empty() || named(one.id) || named(one.part)) chosen.push_back(&one);
  }
  return chosen;
}

/// A name is a scheme's; or, where no scheme has it, a transport's, and stands for all of its schemes.
Result<std::vector<transports::Found>, Problem> chosen_schemes(
    const std::vector<std::string>& names) {
  const auto stands_for = [](const std::string& name, const transports::Descriptor& transport,
                             const transports::Scheme& scheme) {
    return transports::find(name).scheme != nullptr ? name == scheme.name : name == transport.name;
  };
  std::vector<transports::Found> chosen;
  std::set<std::string> known;
  for (const transports::Descriptor* transport : transports::all()) {
    for (const transports::Scheme& scheme : transport->schemes) {
      bool wanted = names.empty();
      for (const std::string& name : names) {
        if (!stands_for(name, *transport, scheme)) continue;
        known.insert(name);
        wanted = true;
      }
      if (wanted) chosen.push_back({transport, &scheme});
    }
  }
  for (const std::string& name : names) {
    if (known.contains(name)) continue;
    return Problem{fmt::format("there is no transport or scheme {}. the schemes are {}", name,
                               fmt::join(transports::scheme_names(), ", "))};
  }
  return chosen;
}

std::optional<Problem> make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (fs::is_directory(folder)) return std::nullopt;
  return Problem{fmt::format("{}: the folder cannot be made: {}. choose another --results",
                             folder.string(), failure.message())};
}

/// Writes a file unless it has this very text.
std::optional<Problem> write_text(const fs::path& path, const std::string& text) {
  const auto old = sim::read_file(path);
  if (old && old.value() == text) return std::nullopt;
  if (const auto error = report::write_file(path, text)) return Problem{error->message};
  return std::nullopt;
}

std::string list_text(const workload::Flows& flows) {
  std::string text;
  for (const workload::Flow& flow : flows) {
    fmt::format_to(std::back_inserter(text), "{} {} {} {}ps\n", flow.src, flow.dst,
                   flow.size.count(), (flow.start - Instant{}).count());
  }
  return text;
}

/// "victims-s1-9b3a5c01.txt": the hash makes results of another list results of another scenario.
Result<std::string, Problem> write_list(const fs::path& folder, const Case& of,
                                        const workload::Racks& racks, std::uint64_t seed) {
  const std::string text = list_text(of.flows(racks, seed));
  const std::string name = fmt::format("{}-s{}-{:08x}.txt", of.id, seed,
                                       static_cast<std::uint32_t>(Rng(0).stream(text).next()));
  if (auto problem = write_text(folder / name, text)) return *std::move(problem);
  return name;
}

/// The network of a case with flows of its own, whoever runs it: that is all its text says.
Result<workload::Racks, Problem> racks_of(const Case& of, Scale scale) {
  const auto network =
      sim::load_text(scale == Scale::quick ? of.quick : of.full, std::string(of.id));
  if (!network) return Problem{network.error().text()};
  const sim::TopologyParams& t = network.value().config.topology;
  return workload::Racks{t.hosts(), t.hosts_per_rack};
}

}  // namespace

fs::path last_words_file(const run::PoolRun& run) {
  return fs::path(run.out).replace_extension(".txt");
}

Result<std::vector<PlannedRun>, Problem> plan(const Request& request) {
  const auto chosen = chosen_cases(request.cases);
  if (!chosen) return chosen.error();
  const auto schemes = chosen_schemes(request.schemes);
  if (!schemes) return schemes.error();
  const bool elsewhere = !request.texts.empty();
  const fs::path texts = elsewhere ? request.texts : request.folder / "cases";
  if (auto problem = make_folder(texts)) return *std::move(problem);
  std::vector<PlannedRun> all;
  for (const Case* of : chosen.value()) {
    const fs::path file = texts / fmt::format("{}.toml", of->id);
    if (auto problem = write_text(file, scenario_text(*of, request.scale))) {
      return *std::move(problem);
    }
    if (!elsewhere) {
      if (auto problem = make_folder(request.folder / of->id)) return *std::move(problem);
    }
    for (std::uint64_t seed = 1; seed <= request.seeds; ++seed) {
      std::vector<std::string> set;
      if (of->flows != nullptr) {
        const auto racks = racks_of(*of, request.scale);
        if (!racks) return racks.error();
        const auto list = write_list(texts, *of, racks.value(), seed);
        if (!list) return list.error();
        set.push_back("workload.file=" + list.value());
      }
      for (const transports::Found& who : schemes.value()) {
        PlannedRun& one = all.emplace_back();
        one.of = of;
        one.who = who;
        one.run.file = file;
        one.run.set = set;
        one.run.set.push_back(fmt::format("transport.scheme={}", who.scheme->name));
        one.run.seed = seed;
        one.run.out = request.folder / of->id / fmt::format("{}-s{}.db", who.scheme->name, seed);
        std::vector<std::string> with_seed = one.run.set;
        with_seed.push_back(fmt::format("run.seed={}", seed));
        const auto loaded = sim::load(file, with_seed);
        if (!loaded) {
          one.cannot = loaded.error().message;
          continue;
        }
        one.run.scenario = sim::to_toml(loaded.value());
        one.run.weight = sim::expected_time(loaded.value()).cpu;
      }
    }
  }
  return all;
}

std::optional<Problem> keep_failures(const std::vector<run::PoolRun>& runs) {
  for (const run::PoolRun& one : runs) {
    if (!one.failure.empty()) {
      if (const auto error = report::write_file(last_words_file(one), one.failure + "\n")) {
        return Problem{error->message};
      }
    } else if (one.done || one.there) {
      std::error_code ignored;
      fs::remove(last_words_file(one), ignored);
    }
  }
  return std::nullopt;
}

}  // namespace strack::league
