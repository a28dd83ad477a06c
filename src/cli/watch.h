// `strack sim watch`: a page of a run that is still going on, served on this machine only.
#pragma once

#include <cstdint>
#include <filesystem>

namespace strack::cli {

struct WatchOptions {
  std::filesystem::path file;  ///< a result file, finished or not
  std::uint16_t port = 0;      ///< of 127.0.0.1; 0: any that is free
  std::uint32_t every = 3;     ///< seconds between two looks at the file
};
/// Ends with Ctrl-C, with status 0.
int sim_watch(const WatchOptions& options);

}  // namespace strack::cli
