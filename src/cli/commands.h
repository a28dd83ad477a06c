// The words of the command line, by group: main.cpp has the rest. Each function adds its commands to
// the program and says what to call for each; an inner command comes before the group it is in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/pool_progress.h"
#include "cli/text.h"
#include "run/batch.h"

namespace strack::cli {

struct Command {
  const CLI::App* given;  ///< true, where it was
  std::function<int()> run;
};

/// Those of the league and of vectors among them.
[[nodiscard]] std::vector<Command> add_reports(CLI::App& app);
[[nodiscard]] std::vector<Command> add_league(CLI::App& app);
[[nodiscard]] std::vector<Command> add_vectors(CLI::App& app);
[[nodiscard]] std::vector<Command> add_topology(CLI::App& app);
[[nodiscard]] std::vector<Command> add_udp(CLI::App& app);
[[nodiscard]] Command add_cost(CLI::App& sim);
[[nodiscard]] Command add_diff(CLI::App& to);
[[nodiscard]] Command add_make(CLI::App& workload);
[[nodiscard]] Command add_export(CLI::App& sim);
[[nodiscard]] Command add_watch(CLI::App& sim);

struct ExportOptions;
/// What a run can be written as for other tools.
void add_exports(CLI::App* command, ExportOptions& options);
[[nodiscard]] Command add_version(CLI::App& app);
[[nodiscard]] Command add_plan(CLI::App& app);

struct SweepOptions;
/// What sweeps, comparisons and costs have in common; `folder` is where their results usually go.
void add_pool_options(CLI::App* command, SweepOptions& options, const std::string& folder);

/// Figures for programs or for spreadsheets, not both.
void add_formats(CLI::App* command, bool& json, bool& csv, const std::string& a_line_per);
/// The same of a list without times and sizes.
void add_formats(CLI::App* command, Formats& formats, const std::string& a_line_per);

/// A number from `low` to `high`, which neither "nan" nor "inf" is.
[[nodiscard]] CLI::Validator number_from(double low, double high);

/// Where else than here runs may be made.
void add_batch_options(CLI::App* command, run::BatchOptions& batch);
/// Of commands with many runs: which of them share a GPU.
void add_gpu_options(CLI::App* command, GpuShare& gpu);

/// A group without one of its commands: says where they are listed, and returns 2.
int no_command(const char* help);

}  // namespace strack::cli
