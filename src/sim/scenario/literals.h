// Values as a scenario file has them.
#pragma once

#include <string>

#include "base/units.h"

namespace strack::sim {

[[nodiscard]] std::string ratio_text(Ratio ratio);           ///< 4, or "3:2"
[[nodiscard]] std::string gbps_text(BitsPerSecond rate);     ///< 400
[[nodiscard]] std::string rate_literal(BitsPerSecond rate);  ///< exactly: "400 Gb/s"
[[nodiscard]] std::string time_literal(Picoseconds time);
[[nodiscard]] std::string size_literal(Bytes size);

}  // namespace strack::sim
