#include "sim/engine/module_file.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/shared_library.h"

namespace strack::sim {
namespace {

/// Where it may be: as the environment says, beside the program, or where it was installed.
std::vector<std::filesystem::path> places(const ModuleFile& module) {
  if (const char* set = std::getenv(module.environment)) return {set};
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path folder = program.parent_path();
  return {folder / module.file, folder / module.folder / module.file,
          folder / "../lib/strack" / module.file};
}

}  // namespace

Result<void*, std::string> find_in_module(const ModuleFile& module, const std::string& instead) {
  const std::string engine = std::string("the ") + module.engine + " engine";
  std::string looked;
  for (const std::filesystem::path& place : places(module)) {
    looked += (looked.empty() ? "" : ", ") + place.lexically_normal().string();
    std::error_code none;
    if (!std::filesystem::exists(place, none)) continue;
    const auto library = open_library(place);
    if (!library) return engine + " cannot be loaded: " + library.error();
    if (void* found = dlsym(library.value(), module.symbol)) return found;
    return foreign_module(module);
  }
  return std::string("there is no ") + module.engine + " engine: " + looked + " is not there. " +
         instead + ", or set " + module.environment;
}

std::string foreign_module(const ModuleFile& module) {
  return std::string(module.file) + " is not of this program. build both together";
}

}  // namespace strack::sim
