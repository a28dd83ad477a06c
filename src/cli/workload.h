// `strack workload ...`: traces of other tools and the workloads of scenarios looked at, converted,
// drawn. Each function is one command and returns the program's exit status: 0, 1 where a file could
// not be written, 2 for a mistake of the user's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strack::cli {

/// What is read, and how.
struct WorkloadInput {
  std::vector<std::filesystem::path> files;
  std::string format = "auto";        ///< auto, cm, goal, chakra, scenario
  std::string time = "ps";            ///< unit of `start` in a connection matrix: ps, us
  std::string calc_ns = "1";          ///< time of GOAL's `calc 1`
  std::filesystem::path comm_groups;  ///< of a Chakra trace; empty: as the trace has it
  std::vector<std::string> set;       ///< of a scenario: "key=value"
};

struct WorkloadInfoOptions {
  WorkloadInput input;
  bool json = false;
  bool csv = false;
};
int workload_info(const WorkloadInfoOptions& options);

struct WorkloadConvertOptions {
  WorkloadInput input;
  std::string to;           ///< cm, goal
  std::string out_time;     ///< as `time`, of what is written; empty: the same
  std::string out_calc_ns;  ///< likewise
  bool own_connections = false;
  std::filesystem::path out;  ///< empty: standard output
  bool force = false;
};
int workload_convert(const WorkloadConvertOptions& options);

struct WorkloadDrawOptions {
  WorkloadInput input;
  std::string latency;        ///< "1us"; empty: the scenario's, or 1 us
  std::string rate;           ///< "400 Gb/s"; empty: the scenario's, or 400 Gb/s
  std::filesystem::path out;  ///< empty: standard output
  bool force = false;
};
int workload_draw(const WorkloadDrawOptions& options);

struct WorkloadMakeOptions {
  std::vector<std::pair<std::string, std::string>> keys;  ///< of [workload], with their values
  std::filesystem::path out;                              ///< empty: standard output
  bool force = false;
};
int workload_make(const WorkloadMakeOptions& options);

/// Puts a text where the user wants it: a file, or standard output where none is named.
int write_text(const std::string& text, const std::filesystem::path& out, bool force);

/// Whether one name comes before another where runs of digits count as numbers: rank.2 before rank.10.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

}  // namespace strack::cli
