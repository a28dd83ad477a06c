#include "sim/scenario/literals.h"

#include <fmt/format.h>

#include "sim/scenario/toml_text.h"
#include "workload/amount.h"

namespace strack::sim {

std::string ratio_text(Ratio ratio) {
  return ratio.den == 1 ? fmt::format("{}", ratio.num)
                        : fmt::format("\"{}:{}\"", ratio.num, ratio.den);
}
std::string gbps_text(BitsPerSecond rate) {
  std::string text = fmt::format("{}.{:03}", rate / gbps(1), rate / mbps(1) % 1'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}
std::string rate_literal(BitsPerSecond rate) {
  const BitsPerSecond unit = rate >= gbps(1) ? gbps(1) : mbps(1);
  std::string text =
      fmt::format("{}.{:0{}}", rate / unit, rate.count() % unit.count(), unit == gbps(1) ? 9 : 6);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return fmt::format("\"{} {}\"", text, unit == gbps(1) ? "Gb/s" : "Mb/s");
}
std::string time_literal(Picoseconds time) { return toml_string(workload::format_time(time)); }
std::string size_literal(Bytes size) { return fmt::format("{}", size.count()); }

}  // namespace strack::sim
