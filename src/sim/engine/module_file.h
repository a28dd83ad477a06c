// Parts of the program that are loaded when they are asked for, so that it needs nothing of what they need.
#pragma once

#include <string>

#include "base/result.h"

namespace strack::sim {

struct ModuleFile {
  const char* engine;       ///< as people call it: "GPU"
  const char* file;         ///< libstrack-gpu.so
  const char* environment;  ///< STRACK_GPU_MODULE, which says where it is
  const char* folder;       ///< of a build, seen from the program's
  const char* symbol;       ///< what is wanted of it
};

/// A module's one symbol, a function; or why there is none, with `instead` as what to do about it. It stays
/// loaded.
[[nodiscard]] Result<void*, std::string> find_in_module(const ModuleFile& module,
                                                        const std::string& instead);

/// Said of one that was built with another program.
[[nodiscard]] std::string foreign_module(const ModuleFile& module);

}  // namespace strack::sim
