#include "workload/sizes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "workload/lines.h"

namespace strack::workload {
namespace {

[[nodiscard]] std::string probability_text(std::int64_t cumulative) {
  std::string text = fmt::format("{}.{:012}", cumulative / kCertain, cumulative % kCertain);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

SizeDistribution SizeDistribution::fixed(Bytes size) {
  STRACK_CHECK(size > bytes(0) && size <= kLargestFlow);
  return SizeDistribution({{size, kCertain}});
}

SizeDistribution SizeDistribution::uniform(Bytes low, Bytes high) {
  STRACK_CHECK(low > bytes(0) && low <= high && high <= kLargestFlow);
  return SizeDistribution({{low, 0}, {high, kCertain}});
}

Result<SizeDistribution, CdfError> SizeDistribution::from_points(std::vector<CdfPoint> points) {
  if (points.empty()) {
    return CdfError{0,
                    "there are no points. a distribution needs at least one: a size and the "
                    "probability 1"};
  }
  CdfPoint before{bytes(0), 0};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const CdfPoint& point = points[i];
    if (point.size < bytes(1) || point.size > kLargestFlow) {
      return CdfError{i, fmt::format("the size is {} bytes. a flow has 1 to {} bytes",
                                     point.size.count(), kLargestFlow.count())};
    }
    if (i > 0 && point.size <= before.size) {
      return CdfError{i, fmt::format("the size is {} bytes after {}. sizes must increase",
                                     point.size.count(), before.size.count())};
    }
    if (point.cumulative < 0 || point.cumulative > kCertain) {
      return CdfError{i, fmt::format("the probability is {}. a probability is from 0 to 1",
                                     probability_text(point.cumulative))};
    }
    if (point.cumulative < before.cumulative) {
      return CdfError{
          i, fmt::format("the probability is {} after {}. cumulative probabilities must not fall",
                         probability_text(point.cumulative), probability_text(before.cumulative))};
    }
    before = point;
  }
  if (before.cumulative != kCertain) {
    return CdfError{points.size() - 1,
                    fmt::format("the last probability is {}. the last one must be 1",
                                probability_text(before.cumulative))};
  }
  return SizeDistribution(std::move(points));
}

Bytes SizeDistribution::draw(Rng& rng) const {
  const auto u = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(kCertain)));
  const auto above =
      std::upper_bound(points_.begin(), points_.end(), u,
                       [](std::int64_t value, const CdfPoint& p) { return value < p.cumulative; });
  STRACK_CHECK(above != points_.end());  // the last point is certain, and u is less than that
  if (above == points_.begin()) return above->size;
  const auto below = above - 1;
  const std::int64_t width = above->cumulative - below->cumulative;
  const Int128 rise =
      static_cast<Int128>(above->size.count() - below->size.count()) * (u - below->cumulative);
  return below->size + bytes(static_cast<std::int64_t>((rise + width / 2) / width));
}

Int128 SizeDistribution::scaled_mean() const {
  Int128 sum = static_cast<Int128>(2 * points_.front().size.count()) * points_.front().cumulative;
  for (std::size_t i = 1; i < points_.size(); ++i) {
    sum += static_cast<Int128>(points_[i - 1].size.count() + points_[i].size.count()) *
           (points_[i].cumulative - points_[i - 1].cumulative);
  }
  return sum;
}

Bytes SizeDistribution::mean() const {
  return bytes(static_cast<std::int64_t>(scaled_mean() / (2 * kCertain)));
}

std::optional<std::int64_t> parse_probability(std::string_view text) {
  const std::optional<Decimal> number = parse_decimal(text);
  if (!number) return std::nullopt;
  const std::optional<std::int64_t> value = whole_product(*number, kCertain);
  if (!value || *value < 0 || *value > kCertain) return std::nullopt;
  return value;
}

Result<SizeDistribution, TextError> parse_cdf(std::string_view text) {
  std::vector<CdfPoint> points;
  std::vector<int> lines;
  LineReader reader(text);
  while (const std::optional<Line> line = reader.next()) {
    if (line->fields.size() != 2) {
      return TextError{line->number,
                       fmt::format("{} fields. a point is two, bytes and cumulative probability, "
                                   "such as 10000 0.5",
                                   line->fields.size())};
    }
    const std::optional<Bytes> size = parse_size(line->fields[0]);
    if (!size) {
      return TextError{line->number,
                       fmt::format("the size is {}. a size is a number of bytes or carries a unit, "
                                   "such as 10000 or 10KB",
                                   quoted(line->fields[0]))};
    }
    const std::optional<std::int64_t> cumulative = parse_probability(line->fields[1]);
    if (!cumulative) {
      return TextError{line->number,
                       fmt::format("the probability is {}. a probability is from 0 to 1, such as "
                                   "0.5",
                                   quoted(line->fields[1]))};
    }
    points.push_back({*size, *cumulative});
    lines.push_back(line->number);
  }
  auto distribution = SizeDistribution::from_points(std::move(points));
  if (distribution) return distribution.value();
  const CdfError& error = distribution.error();
  return TextError{lines.empty() ? 0 : lines[error.point], error.message};
}

}  // namespace strack::workload
