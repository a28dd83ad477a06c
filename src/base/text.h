// Text for people: sizes, times, rates, by whole-number arithmetic, so the same everywhere; and what
// others wrote, so that it can be shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace strack {

/// "345.2", rounded to the nearest.
[[nodiscard]] std::string decimal(Int128 value, std::int64_t unit, int digits);
[[nodiscard]] std::string us_text(Picoseconds time);      ///< "345.2"
[[nodiscard]] std::string time_text(Picoseconds time);    ///< "345.2 us", "12.04 ms", "80 ns"
[[nodiscard]] std::string size_text(Bytes size);          ///< "16 MB", "400.1 KB", "64 B"
[[nodiscard]] std::string rate_text(BitsPerSecond rate);  ///< "400 Gb/s"
/// "1.037"; "-" where there is nothing to compare with.
[[nodiscard]] std::string ratio_text(Picoseconds value, Picoseconds reference);

/// For terminals and logs: control characters, and bytes that are no UTF-8, as \xNN.
[[nodiscard]] std::string printable(std::string_view text);

/// Now, as "2026-01-31T12:00:00.000Z".
[[nodiscard]] std::string utc_now();

}  // namespace strack
