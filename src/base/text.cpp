#include "base/text.h"

#include <algorithm>
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

namespace {
/// How many bytes the character at the front of a text has that is not empty; 0: it is none in UTF-8.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Longer than need be, half of a surrogate pair, or beyond the last character.
  const unsigned char second = byte(1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}
}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    const std::string_view one = text.substr(0, length);
    // U+0080 to U+009F are control characters to a terminal as well.
    const bool shows = length == 1
                           ? one[0] >= ' ' && one[0] < 0x7f
                           : !(one[0] == '\xc2' && static_cast<unsigned char>(one[1]) < 0xa0);
    if (shows) {
      shown += one;
    } else {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(one.back());
      shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    text.remove_prefix(length);
  }
  return shown;
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
