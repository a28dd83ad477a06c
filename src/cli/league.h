// `strack league ...`: all transports over one suite. Exit statuses as in sim.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/pool_progress.h"
#include "cli/text.h"
#include "run/batch.h"

namespace strack::cli {

/// What all of them are told.
struct LeagueOptions {
  std::string scale = "quick";
  std::vector<std::string> parts;    ///< ids of parts or cases; empty: all
  std::vector<std::string> schemes;  ///< or transports; empty: all
  std::uint32_t seeds = 3;
  std::filesystem::path results;  ///< empty: results/league-<scale>
};

struct LeagueRunOptions : LeagueOptions {
  unsigned jobs = 0;  ///< 0: one per processor
  std::optional<std::uint32_t> threads;
  GpuShare gpu = {};
  run::BatchOptions batch = {};
  bool force = false;
  bool quiet = false;
};
int league_run(const LeagueRunOptions& options);

struct LeagueReportOptions : LeagueOptions {
  std::filesystem::path out;       ///< the page; empty: <results>/report.html
  std::filesystem::path markdown;  ///< docs/league.md, say; empty: none
  std::filesystem::path data;      ///< the table of runs, as CSV; empty: none
  std::filesystem::path from;      ///< such a table, in the place of results
  std::filesystem::path png;       ///< a folder for pictures of figures; empty: none
  Formats formats;                 ///< of the standings on standard output
  bool force = false;
};
int league_report(const LeagueReportOptions& options);

/// What there is to run: cases by part.
int league_cases(const Formats& formats);

}  // namespace strack::cli
