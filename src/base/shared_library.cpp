#include "base/shared_library.h"

#include <dlfcn.h>
#include <sys/auxv.h>

namespace strack {

Result<void*, std::string> open_library(const std::string& file) {
  // Where there is no dynamic loader, nothing is its base.
  if (getauxval(AT_BASE) == 0) return "a static program cannot open " + file;
  if (void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return std::string(dlerror());
}

}  // namespace strack
