#include "base/text.h"

#include <array>
#include <chrono>
#include <ctime>
#include <string_view>

namespace strack {

std::string decimal(Int128 value, std::int64_t unit, int digits) {
  if (value < 0) return "-" + decimal(-value, unit, digits);
  std::int64_t scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const Int128 scaled = (value * scale + unit / 2) / unit;
  const auto whole = static_cast<std::int64_t>(scaled / scale);
  if (digits == 0) return std::to_string(whole);
  const std::string fraction = std::to_string(static_cast<std::int64_t>(scaled % scale));
  return std::to_string(whole) + '.' +
         std::string(static_cast<std::size_t>(digits) - fraction.size(), '0') + fraction;
}

std::string us_text(Picoseconds time) { return decimal(time.count(), 1'000'000, 1); }

namespace {
struct Unit {
  std::int64_t size;
  std::string_view name;
};

/// In the largest unit that leaves a whole part, without zeros at its end.
template <std::size_t N>
std::string in_unit(std::int64_t value, const std::array<Unit, N>& units, int digits) {
  for (const Unit& unit : units) {
    if (value < unit.size) continue;
    std::string text = decimal(value, unit.size, digits);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text + ' ' + std::string(unit.name);
  }
  return std::to_string(value) + ' ' + std::string(units.back().name);
}
}  // namespace

std::string time_text(Picoseconds time) {
  static constexpr std::array kUnits{Unit{1'000'000'000'000, "s"}, Unit{1'000'000'000, "ms"},
                                     Unit{1'000'000, "us"}, Unit{1'000, "ns"}, Unit{1, "ps"}};
  return in_unit(time.count(), kUnits, 3);
}

std::string size_text(Bytes size) {
  static constexpr std::array kUnits{Unit{1'000'000'000'000, "TB"}, Unit{1'000'000'000, "GB"},
                                     Unit{1'000'000, "MB"}, Unit{1'000, "KB"}, Unit{1, "B"}};
  return in_unit(size.count(), kUnits, 1);
}

std::string rate_text(BitsPerSecond rate) {
  static constexpr std::array kUnits{Unit{1'000'000'000, "Gb/s"}, Unit{1'000'000, "Mb/s"},
                                     Unit{1, "b/s"}};
  return in_unit(rate.count(), kUnits, 1);
}

std::string ratio_text(Picoseconds value, Picoseconds reference) {
  if (reference <= ps(0) || value <= ps(0)) return "-";
  return decimal(value.count(), reference.count(), 3);
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const std::time_t whole = milliseconds / 1'000;
  std::tm utc{};
  gmtime_r(&whole, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  const std::string fraction = std::to_string(1'000 + milliseconds % 1'000).substr(1);
  return std::string(text.data()) + '.' + fraction + 'Z';
}

}  // namespace strack
