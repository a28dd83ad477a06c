// Which runs the league consists of: every scheme that the registry has, over every case, for each
// seed. Where results lie follows from it:
//
//   FOLDER/cases/<case>.toml            the scenario, made from the table of cases
//   FOLDER/cases/<case>-s1-<hash>.txt   its flows, where it has a list of its own
//   FOLDER/<case>/<scheme>-s<seed>.db   a result file
//   FOLDER/<case>/<scheme>-s<seed>.txt  why there is none: the last words of the program
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "league/cases.h"
#include "run/pool.h"
#include "run/run.h"
#include "transports/registry.h"

namespace strack::league {

using run::Problem;

struct Request {
  Scale scale = Scale::quick;
  std::vector<std::string> cases;  ///< ids of cases and of parts; empty: all
  std::vector<std::string>
      schemes;              ///< names of schemes, or of transports for all of theirs; empty: all
  std::uint32_t seeds = 3;  ///< from 1 on
  std::filesystem::path folder;
  std::filesystem::path texts = {};  ///< where the cases' files go instead; then no folder is made
};

struct PlannedRun {
  const Case* of = nullptr;
  transports::Found who;
  run::PoolRun run;
  std::string cannot;  ///< why the scheme does not take this scenario; then it is not to be run
};

/// Writes the cases' files and, unless `texts` is set, makes the results' folders where they are missing.
[[nodiscard]] Result<std::vector<PlannedRun>, Problem> plan(const Request& request);

/// Where the last words of a run without a result are kept.
[[nodiscard]] std::filesystem::path last_words_file(const run::PoolRun& run);
/// Keeps the failures of runs that were just made, and forgets those of runs that have a result.
[[nodiscard]] std::optional<Problem> keep_failures(const std::vector<run::PoolRun>& runs);

}  // namespace strack::league
