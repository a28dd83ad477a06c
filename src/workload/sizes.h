// How large a flow is: always the same, uniform in a range, or drawn from a measured distribution.
//
// All three are one thing, a cumulative distribution given by points with straight lines between
// them. Everything is integers, so a seed gives the same sizes everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "base/units.h"
#include "workload/amount.h"

namespace strack::workload {

/// The largest flow. From 4 GiB on it is several messages of its connection, which hosts see to.
inline constexpr Bytes kLargestFlow{std::int64_t{1} << 40};

/// Probabilities count in units of 10^-12.
inline constexpr std::int64_t kCertain = 1'000'000'000'000;

struct CdfPoint {
  Bytes size{0};
  std::int64_t cumulative = 0;  ///< probability of a flow no larger, in 1 / kCertain
  friend bool operator==(const CdfPoint&, const CdfPoint&) = default;
};

/// Which point of a list cannot be, and why.
struct CdfError {
  std::size_t point = 0;
  std::string message;
};

class SizeDistribution {
 public:
  [[nodiscard]] static SizeDistribution fixed(Bytes size);
  /// Every size from low to high is as likely.
  [[nodiscard]] static SizeDistribution uniform(Bytes low, Bytes high);
  /// Sizes and probabilities ascend, and the last probability is 1. Up to the first point's
  /// probability, a flow has the first point's size.
  [[nodiscard]] static Result<SizeDistribution, CdfError> from_points(std::vector<CdfPoint> points);

  [[nodiscard]] Bytes draw(Rng& rng) const;

  /// The mean, in bytes x 2 x kCertain, exact.
  [[nodiscard]] Int128 scaled_mean() const;
  [[nodiscard]] Bytes mean() const;

  [[nodiscard]] const std::vector<CdfPoint>& points() const { return points_; }

  friend bool operator==(const SizeDistribution&, const SizeDistribution&) = default;

 private:
  explicit SizeDistribution(std::vector<CdfPoint> points) : points_(std::move(points)) {}

  std::vector<CdfPoint> points_;
};

/// Points from lines of `bytes cumulative_probability`; `#` begins a comment, sizes may carry
/// units.
[[nodiscard]] Result<SizeDistribution, TextError> parse_cdf(std::string_view text);

/// "0.25" in 1 / kCertain; nothing for what is no probability.
[[nodiscard]] std::optional<std::int64_t> parse_probability(std::string_view text);

}  // namespace strack::workload
