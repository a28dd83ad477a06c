// Libraries that are used where they are found, such as faster ciphers or another engine; a program runs without them.
#pragma once

#include <string>

#include "base/result.h"

namespace strack {

/// Opened for as long as the program runs, or why it is not. A program that is linked statically opens none: it has a C library of its own, and whatever
/// it opened would bring the machine's, which is mostly another one.
[[nodiscard]] Result<void*, std::string> open_library(const std::string& file);

}  // namespace strack
