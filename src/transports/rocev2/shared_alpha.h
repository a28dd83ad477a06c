// [D118] One alpha of DCQCN for all flows of a run, as a simulator has it that keeps it in one place.
//
// Hosts run side by side, so none can change what another reads. Time is cut into epochs: each NIC
// counts what its queue pairs would have done to alpha in an epoch, all of them are told the sum when
// it is over, and it counts from the epoch after the next. An epoch is at least as long as a window, so
// all that is to be told of an epoch has happened before anybody reads it, whatever the number of
// threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "transports/rocev2/dcqcn.h"
#include "transports/rocev2/params.h"

namespace strack::core {

class SharedAlpha {
 public:
  /// As it stands in the epoch of `now`.
  [[nodiscard]] constexpr std::int64_t at(const DcqcnParams& d, Instant now) const {
    const std::int64_t known = alpha_[place(epoch(d, now))];
    return known < 0 ? d.initial_alpha.of(Dcqcn::kOne) : known;
  }
  constexpr void count(const DcqcnParams& d, AlphaNews news, Instant now) {
    news_[place(epoch(d, now))] += news;
  }

  /// Where so many steps towards 1 and towards 0 lead in any order, on average: each leaves 1 - g of
  /// what was.
  [[nodiscard]] static constexpr std::int64_t after(std::int64_t alpha, Ratio g, AlphaNews news) {
    const std::int64_t steps = news.rises + news.falls;
    if (steps == 0) return alpha;
    std::int64_t left = Dcqcn::kOne;
    std::int64_t factor = Dcqcn::kOne - g.of(Dcqcn::kOne);
    for (std::int64_t n = steps; n > 0; n /= 2) {
      if (n % 2 == 1) left = mul_div(left, factor, Dcqcn::kOne);
      factor = mul_div(factor, factor, Dcqcn::kOne);
    }
    const std::int64_t share = mul_div(Dcqcn::kOne, news.rises, steps);
    return mul_div(alpha, left, Dcqcn::kOne) + mul_div(share, Dcqcn::kOne - left, Dcqcn::kOne);
  }

  /// All that comes before `begin` has happened. for_each(visit) has each NIC's visited, until visit()
  /// says no.
  template <class ForEach>
  static constexpr void tell(const DcqcnParams& d, Instant begin, ForEach&& for_each) {
    if (d.shared_alpha == ps(0)) return;
    const std::int64_t over = epoch(d, begin) - 1;
    std::array<AlphaNews, 2>
        news{};  // of the first epochs that are over: of later ones there are none
    const SharedAlpha* first = nullptr;
    for_each([&](SharedAlpha& one) {
      if (one.told_ >= over) return false;
      first = &one;
      for (std::size_t i = 0; i < news.size(); ++i) {
        if (one.told_ + 1 + static_cast<std::int64_t>(i) <= over)
          news[i] += one.news_[one.place_after(1 + i)];
      }
      return true;
    });
    if (first == nullptr) return;
    // What is known for epochs told_ + 1 to told_ + 4.
    const std::int64_t now = first->at_place(d, first->place_after(2));
    const std::int64_t next = after(now, d.g, news[0]);
    const std::int64_t last = after(next, d.g, news[1]);
    const std::int64_t passed = over - first->told_;
    const std::array<std::int64_t, 2> known{passed == 1   ? now
                                            : passed == 2 ? next
                                                          : last,
                                            passed == 1 ? next : last};
    for_each([&](SharedAlpha& one) {
      one.hear(over, known);
      return true;
    });
  }

 private:
  static constexpr std::int64_t epoch(const DcqcnParams& d, Instant time) {
    return (time - Instant{}) / d.shared_alpha;
  }
  static constexpr std::size_t place(std::int64_t epoch) {
    return static_cast<std::size_t>(epoch % 2);
  }
  [[nodiscard]] constexpr std::size_t place_after(std::size_t epochs) const {
    return place(told_ + static_cast<std::int64_t>(epochs));
  }
  [[nodiscard]] constexpr std::int64_t at_place(const DcqcnParams& d, std::size_t place) const {
    return alpha_[place] < 0 ? d.initial_alpha.of(Dcqcn::kOne) : alpha_[place];
  }
  constexpr void hear(std::int64_t over, const std::array<std::int64_t, 2>& known) {
    for (std::int64_t e = told_ + 1; e <= over && e <= told_ + 2; ++e) news_[place(e)] = {};
    told_ = over;
    for (std::size_t i = 0; i < known.size(); ++i) alpha_[place_after(1 + i)] = known[i];
  }

  std::array<std::int64_t, 2> alpha_{-1,
                                     -1};  ///< of the next epochs, by their parity; -1: the first
  std::array<AlphaNews, 2> news_{};        ///< likewise
  std::int64_t told_ = -1;                 ///< all have been told of epochs up to this one
};

/// A limiter whose alpha is that of all, for as long as it does something.
class AlphaLease {
 public:
  constexpr AlphaLease(Dcqcn& limiter, SharedAlpha* alpha, const RoceParams& params, Instant now)
      : limiter_(limiter), alpha_(alpha), params_(params), now_(now) {
    if (alpha_ != nullptr) [[unlikely]]
      limiter_.adopt(alpha_->at(params_.dcqcn, now_));
  }
  AlphaLease(const AlphaLease&) = delete;
  AlphaLease& operator=(const AlphaLease&) = delete;
  constexpr ~AlphaLease() {
    if (alpha_ != nullptr) [[unlikely]]
      alpha_->count(params_.dcqcn, limiter_.take_news(), now_);
  }

 private:
  Dcqcn& limiter_;
  SharedAlpha* alpha_;
  const RoceParams& params_;
  Instant now_;
};

}  // namespace strack::core
