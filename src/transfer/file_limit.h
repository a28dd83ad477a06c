// How many files a program of this folder can have open at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace strack::transfer {

/// Descriptors that are left for files when so many may be open, beside a socket for each path of each of the
/// endpoint's threads and what a program needs anyway. Or says that they are too few.
[[nodiscard]] Result<std::size_t, std::string> descriptors_left(std::uint64_t limit,
                                                                std::uint32_t paths,
                                                                std::uint32_t threads = 0);

/// The same for this process, after raising its limit as far as it goes.
[[nodiscard]] Result<std::size_t, std::string> raise_file_limit(std::uint32_t paths,
                                                                std::uint32_t threads = 0);

}  // namespace strack::transfer
