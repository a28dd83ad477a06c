// Numbers with units as people write them: "16 MB", "64KiB", "8.5 us", "0.25 BDP". Used wherever
// text becomes a workload or a scenario. Exact: a decimal fraction is kept as digits, so no binary
// rounding can show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace strack::workload {

/// What is wrong with a text, and where: the line counts from 1, or is 0 where there is none.
struct TextError {
  int line = 0;
  std::string message;
};

/// digits / 10^scale; scale is at most 18.
struct Decimal {
  std::int64_t digits = 0;
  int scale = 0;
};

/// "12", "-3", "0.25"; nothing for anything else, or for more than 18 digits.
[[nodiscard]] std::optional<Decimal> parse_decimal(std::string_view text);

/// A number and what follows it, blanks dropped: "16 MB" is 16 and "MB".
struct Amount {
  Decimal number;
  std::string_view unit;
};
[[nodiscard]] std::optional<Amount> parse_amount(std::string_view text);

/// Bytes in one B, KB (1000), KiB (1024), ...; nothing for another word.
[[nodiscard]] std::optional<std::int64_t> size_unit(std::string_view name);
/// Picoseconds in one ps, ns, us, ms, s.
[[nodiscard]] std::optional<std::int64_t> time_unit(std::string_view name);
/// Bits per second in one Gb/s, Mb/s, ...
[[nodiscard]] std::optional<std::int64_t> rate_unit(std::string_view name);

/// number x factor where that is a whole number that fits 63 bits.
[[nodiscard]] std::optional<std::int64_t> exact_product(Decimal number, std::int64_t factor);
/// The same, with the fraction dropped.
[[nodiscard]] std::optional<std::int64_t> whole_product(Decimal number, std::int64_t factor);
/// As a fraction in lowest terms; nothing with more than 12 decimals.
[[nodiscard]] std::optional<Ratio> to_ratio(Decimal number);

/// "4096", "16MB": a whole number of bytes, not negative.
[[nodiscard]] std::optional<Bytes> parse_size(std::string_view text);
/// "10us", "0": a whole number of picoseconds, not negative. Other than 0, a time needs its unit.
[[nodiscard]] std::optional<Picoseconds> parse_time(std::string_view text);

/// For people: in the largest unit that leaves a whole number or at most three decimals, such as
/// "16 MB", "8.5 us".
[[nodiscard]] std::string format_size(Bytes size);
[[nodiscard]] std::string format_time(Picoseconds time);

/// The text without leading and trailing blanks.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace strack::workload
