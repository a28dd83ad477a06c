// [workload] kind = "random": arrivals and sizes.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/sections/sections.h"
#include "workload/amount.h"
#include "workload/generators.h"
#include "workload/sizes.h"

namespace strack::sim {
namespace {

constexpr std::uint64_t kMostArrivals = 50'000'000;

class RandomResolver : Resolving {
 public:
  explicit RandomResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    WorkloadSpec& w = out_.workloads.back();
    w.cross_rack = set_.flag("workload.cross_rack");
    w.load = set_.fraction("workload.load");
    if (w.load.den > workload::kLargestLoadDenominator)
      set_["workload.load"].fail_value(set_["workload.load"].key->needs);
    w.sizes = sizes();
    Setting& flows = set_["workload.flows"];
    Setting& duration = set_["workload.duration_us"];
    if (flows.given && duration.given) {
      later("workload.flows", "workload.duration_us")
          .fail("both flows and duration_us are set. one follows from the other: leave one out");
    }
    const Int128 gap_q20 = workload::mean_gap_q20(random_params(out_, w));
    constexpr Int128 kPicosecondQ20 = 1 << 20;
    if (gap_q20 < kPicosecondQ20) {
      said({"workload.size", "workload.size_max", "workload.cdf", "workload.load", "workload.kind"})
          .fail(
              "more than one flow would arrive per picosecond. take larger sizes, a lower load or "
              "fewer hosts");
    }
    if (flows.given) {
      w.flows = static_cast<std::uint64_t>(set_.integer("workload.flows"));
      const Int128 needed_q20 = gap_q20 * static_cast<Int128>(w.flows);
      if (needed_q20 > static_cast<Int128>(workload::kLongestArrivals.count()) << 20) {
        flows.fail_value(fmt::format(
            "at this load they take more than an hour to arrive. {} flows "
            "or a higher load would work",
            std::max<std::int64_t>(
                1,
                static_cast<std::int64_t>(
                    (static_cast<Int128>(workload::kLongestArrivals.count()) << 20) / gap_q20))));
      }
      return;
    }
    if (!duration.given) duration.settle({std::int64_t{1'000}});
    w.duration = set_.time("workload.duration_us");
    const Setting& blamed = said({"workload.duration_us", "workload.load", "workload.kind"});
    if (const std::uint64_t expected = expected_flows(out_, w); expected > kMostArrivals) {
      blamed.fail(
          fmt::format("within duration_us some {} flows would arrive. at most {} are "
                      "simulated: take a shorter duration_us",
                      expected, kMostArrivals));
    }
    if (gap_q20 > static_cast<Int128>(workload::kLongestArrivals.count()) << 20) {
      blamed.fail("less than one flow an hour would arrive. take a higher load or smaller sizes");
    }
    if (out_.config.end != Instant::never() && w.start + w.duration > out_.config.end) {
      Setting& culprit = later("workload.duration_us", "run.end_ms");
      culprit.fail(
          fmt::format("flows arrive until {}, but the run ends at {}. take a later end_ms or "
                      "a shorter duration_us",
                      workload::format_time(w.start + w.duration - Instant{}),
                      workload::format_time(out_.config.end - Instant{})));
    }
  }

 private:
  workload::SizeDistribution sizes() {
    // One way to say it at a time.
    std::string_view used;
    for (const char* id :
         {"workload.size", "workload.size_min", "workload.cdf", "workload.cdf_file"}) {
      const Setting& setting = set_[id];
      if (!setting.given) continue;
      if (!used.empty()) {
        later(std::string("workload.").append(used), id)
            .fail(fmt::format("both {} and {} are set. sizes follow from one: leave the other out",
                              used, setting.key->name));
      }
      used = setting.key->name;
    }
    if (set_.given("workload.size_min") != set_.given("workload.size_max")) {
      later("workload.size_min", "workload.size_max")
          .fail(
              "only one of size_min and size_max is set. sizes are uniform between the two: give "
              "both");
    }
    if (!used.empty() && used != "size") set_["workload.size"].hidden = true;
    if (used == "size_min") {
      const Bytes low = set_.size("workload.size_min");
      const Bytes high = set_.size("workload.size_max");
      if (low > high) {
        later("workload.size_min", "workload.size_max")
            .fail(fmt::format("size_min is {} and size_max {}. size_max must not be below size_min",
                              workload::format_size(low), workload::format_size(high)));
      }
      return workload::SizeDistribution::uniform(low, high);
    }
    if (used == "cdf") {
      const Setting& setting = set_["workload.cdf"];
      auto distribution = workload::SizeDistribution::from_points(
          std::get<std::vector<workload::CdfPoint>>(setting.value));
      if (!distribution) {
        setting.fail(fmt::format("point {} of cdf: {}", distribution.error().point + 1,
                                 distribution.error().message));
      }
      return distribution.value();
    }
    if (used == "cdf_file") return cdf_file();
    return workload::SizeDistribution::fixed(set_.size("workload.size"));
  }

  workload::SizeDistribution cdf_file() {
    Setting& setting = set_["workload.cdf_file"];
    const std::string name = set_.text("workload.cdf_file");
    const std::string text = beside(setting, name);
    const auto distribution = workload::parse_cdf(text);
    if (!distribution) {
      throw Failed{
          {(r_.folder / name).string(), distribution.error().line, distribution.error().message}};
    }
    // The resolved scenario has the points themselves, so it needs no file beside it.
    std::vector<Literal> points;
    for (const workload::CdfPoint& point : distribution.value().points()) {
      const double probability =
          static_cast<double>(point.cumulative) / static_cast<double>(workload::kCertain);
      points.push_back({std::vector<Literal>{{point.size.count()}, {probability}}});
    }
    set_["workload.cdf"].assign({std::move(points)}, setting.file, setting.line);
    setting.hidden = true;
    return distribution.value();
  }
};

}  // namespace

void resolve_random(Resolution& resolution) { RandomResolver(resolution).resolve(); }

}  // namespace strack::sim
