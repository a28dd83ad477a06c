// `strack paper ...`: the paper's evaluation run, judged and reported. Exit statuses as in sim.h, and 3
// for a part that ended in time with runs still to be made.
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
struct PaperOptions {
  std::vector<std::string> rows;  ///< ids; empty: all
  std::string scale = "quick";
  std::filesystem::path folder = "scenarios/paper";  ///< of the rows
  std::filesystem::path results;                     ///< empty: results/paper-<scale>
};

struct PaperRunOptions : PaperOptions {
  unsigned jobs = 0;  ///< 0: one per processor
  std::optional<std::uint32_t> threads;
  GpuShare gpu = {};
  double stop_after_s = 0;                  ///< 0: when all is done
  std::vector<std::filesystem::path> have;  ///< tables of runs made elsewhere
  std::filesystem::path table;              ///< where such a table goes at the end; empty: nowhere
  run::BatchOptions batch = {};
  bool dry_run = false;
  bool force = false;
  bool quiet = false;
};
int paper_run(const PaperRunOptions& options);

struct PaperStatusOptions : PaperOptions {
  Formats formats;
};
int paper_status(const PaperStatusOptions& options);

struct PaperCalibrateOptions : PaperOptions {
  std::size_t points = 24;  ///< of the Latin hypercube, for each side
  int rounds = 3;           ///< of refinement
  unsigned jobs = 0;        ///< 0: one per processor
  std::optional<std::uint32_t> threads;
  std::filesystem::path markdown;
  std::string side;                         ///< only this one; empty: all
  std::filesystem::path confirm;            ///< a table of the defaults' runs at the paper's scale
  bool named = false;                       ///< confirm the points that CALIBRATE names, too
  std::vector<std::filesystem::path> have;  ///< tables of runs made elsewhere, by any version
  bool quiet = false;
};
int paper_calibrate(const PaperCalibrateOptions& options);

struct PaperReportOptions : PaperOptions {
  std::filesystem::path out;       ///< the page; empty: <results>/report.html
  std::filesystem::path markdown;  ///< docs/validation.md, say; empty: none
  std::filesystem::path data;      ///< the table of runs, as CSV; empty: none
  std::vector<std::filesystem::path>
      from;  ///< such tables, in the place of results: a page is made where `out` names one
  std::filesystem::path calibration;  ///< a table of points: sections about them; empty: none
  std::filesystem::path csv;          ///< a folder, a file for each figure; empty: none
  std::filesystem::path png;          ///< the same for pictures
  bool force = false;
};
int paper_report(const PaperReportOptions& options);

}  // namespace strack::cli
