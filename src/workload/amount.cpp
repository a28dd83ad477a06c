#include "workload/amount.h"

#include <array>
#include <limits>
#include <numeric>
#include <span>

#include <fmt/format.h>

namespace strack::workload {
namespace {

constexpr int kMostDigits = 18;
constexpr int kMostRatioDecimals = 12;

constexpr std::array<std::int64_t, kMostDigits + 1> kPowersOfTen = [] {
  std::array<std::int64_t, kMostDigits + 1> powers{};
  std::int64_t power = 1;
  for (auto& p : powers) {
    p = power;
    if (power <= std::numeric_limits<std::int64_t>::max() / 10) power *= 10;
  }
  return powers;
}();

[[nodiscard]] bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

struct NamedUnit {
  std::string_view name;
  std::int64_t factor;
};

// The first name of a factor is the one written, the largest factor comes first.
constexpr NamedUnit kSizeUnits[] = {
    {"TB", 1'000'000'000'000},
    {"TiB", std::int64_t{1} << 40},
    {"GB", 1'000'000'000},
    {"GiB", 1 << 30},
    {"MB", 1'000'000},
    {"MiB", 1 << 20},
    {"KB", 1'000},
    {"kB", 1'000},
    {"KiB", 1 << 10},
    {"B", 1},
    {"byte", 1},
    {"bytes", 1},
};
constexpr NamedUnit kTimeUnits[] = {
    {"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, {"us", 1'000'000},
    {"µs", 1'000'000},        {"ns", 1'000},         {"ps", 1},
};
constexpr NamedUnit kRateUnits[] = {
    {"Tb/s", 1'000'000'000'000}, {"Tbps", 1'000'000'000'000}, {"Gb/s", 1'000'000'000},
    {"Gbps", 1'000'000'000},     {"Mb/s", 1'000'000},         {"Mbps", 1'000'000},
};

[[nodiscard]] std::optional<std::int64_t> find(std::span<const NamedUnit> units,
                                               std::string_view name) {
  for (const NamedUnit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

struct Product {
  Int128 whole;
  bool exact;
};
[[nodiscard]] Product multiply(Decimal number, std::int64_t factor) {
  const Int128 product = static_cast<Int128>(number.digits) * factor;
  const std::int64_t divisor = kPowersOfTen[static_cast<std::size_t>(number.scale)];
  return {product / divisor, product % divisor == 0};
}
[[nodiscard]] std::optional<std::int64_t> fitting(Int128 value) {
  if (value > std::numeric_limits<std::int64_t>::max() ||
      value < std::numeric_limits<std::int64_t>::min()) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value);
}

[[nodiscard]] std::string format(std::span<const NamedUnit> units, std::int64_t value) {
  if (value == 0) return fmt::format("0 {}", units.back().name == "ps" ? "ps" : "B");
  for (const NamedUnit& unit : units) {
    // Binary units and second names are for reading only.
    if (unit.name.find("iB") != unit.name.npos || value < unit.factor) continue;
    const std::int64_t thousandth = unit.factor < 1'000 ? unit.factor : unit.factor / 1'000;
    if (value % thousandth != 0) continue;
    const std::int64_t fraction = value % unit.factor / thousandth;
    if (fraction == 0) return fmt::format("{} {}", value / unit.factor, unit.name);
    std::string decimals = fmt::format("{:03}", fraction);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    return fmt::format("{}.{} {}", value / unit.factor, decimals, unit.name);
  }
  return fmt::format("{}", value);
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  Decimal number;
  int digits = 0;
  bool point = false;
  bool digit_before = false;
  for (const char c : text) {
    if (c == '.') {
      if (point || !digit_before) return std::nullopt;
      point = true;
      digit_before = false;
      continue;
    }
    if (!is_digit(c)) return std::nullopt;
    digit_before = true;
    if (digits > 0 || c != '0' || point) ++digits;  // leading zeros are free
    if (digits > kMostDigits) return std::nullopt;
    number.digits = number.digits * 10 + (c - '0');
    if (point) ++number.scale;
  }
  if (!digit_before) return std::nullopt;
  if (negative) number.digits = -number.digits;
  return number;
}

std::optional<Amount> parse_amount(std::string_view text) {
  text = trimmed(text);
  std::size_t length = 0;
  while (length < text.size() &&
         (is_digit(text[length]) || text[length] == '.' || (length == 0 && text[0] == '-'))) {
    ++length;
  }
  const std::optional<Decimal> number = parse_decimal(text.substr(0, length));
  if (!number) return std::nullopt;
  return Amount{*number, trimmed(text.substr(length))};
}

std::optional<std::int64_t> size_unit(std::string_view name) { return find(kSizeUnits, name); }
std::optional<std::int64_t> time_unit(std::string_view name) { return find(kTimeUnits, name); }
std::optional<std::int64_t> rate_unit(std::string_view name) { return find(kRateUnits, name); }

std::optional<std::int64_t> exact_product(Decimal number, std::int64_t factor) {
  const Product product = multiply(number, factor);
  if (!product.exact) return std::nullopt;
  return fitting(product.whole);
}

std::optional<std::int64_t> whole_product(Decimal number, std::int64_t factor) {
  return fitting(multiply(number, factor).whole);
}

std::optional<Ratio> to_ratio(Decimal number) {
  while (number.scale > 0 && number.digits % 10 == 0) {
    number.digits /= 10;
    --number.scale;
  }
  if (number.scale > kMostRatioDecimals) return std::nullopt;
  const std::int64_t den = kPowersOfTen[static_cast<std::size_t>(number.scale)];
  const std::int64_t common = std::gcd(number.digits, den);
  return Ratio{number.digits / common, den / common};
}

std::optional<Bytes> parse_size(std::string_view text) {
  const std::optional<Amount> amount = parse_amount(text);
  if (!amount || amount->number.digits < 0) return std::nullopt;
  const std::optional<std::int64_t> factor = size_unit(amount->unit.empty() ? "B" : amount->unit);
  if (!factor) return std::nullopt;
  const std::optional<std::int64_t> value = exact_product(amount->number, *factor);
  if (!value) return std::nullopt;
  return bytes(*value);
}

std::optional<Picoseconds> parse_time(std::string_view text) {
  const std::optional<Amount> amount = parse_amount(text);
  if (!amount || amount->number.digits < 0) return std::nullopt;
  if (amount->unit.empty() && amount->number.digits == 0) return ps(0);
  const std::optional<std::int64_t> factor = time_unit(amount->unit);
  if (!factor) return std::nullopt;
  const std::optional<std::int64_t> value = exact_product(amount->number, *factor);
  if (!value) return std::nullopt;
  return ps(*value);
}

std::string format_size(Bytes size) { return format(kSizeUnits, size.count()); }
std::string format_time(Picoseconds time) { return format(kTimeUnits, time.count()); }

}  // namespace strack::workload
