// A window's arrivals at a port in order of time.
//
// Lists are filled ingress port by ingress port, so they are runs of ascending times in no order among
// each other. A few long runs are best put together by insertion. Where there are many, as with spraying,
// up to 32 arrivals are ordered by counting for each how many come before it: no branch depends on the
// times, so the processor never guesses wrong, and four or eight are counted at once. Longer lists are
// merged from such pieces.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/units.h"

#if defined(__x86_64__) && !defined(STRACK_GPU_DEVICE)
#define STRACK_COUNTS_WIDE 1
#else
#define STRACK_COUNTS_WIDE 0
#endif

namespace strack::sim {
namespace detail {

inline constexpr std::size_t kRun = 32;

/// For each key, how many of them are smaller. No two are equal.
template <std::size_t kSize>
inline void count_smaller(const std::int32_t* keys, std::int32_t* ranks) {
  for (std::size_t j = 0; j < kSize; ++j) {
    const std::int32_t key = keys[j];
    for (std::size_t i = 0; i < kSize; ++i) ranks[i] += static_cast<std::int32_t>(key < keys[i]);
  }
}
/// The same by a number that is known later.
inline void count_smaller(const std::int32_t* keys, std::int32_t* ranks, std::size_t padded) {
  switch (padded) {
    case 8:
      return count_smaller<8>(keys, ranks);
    case 16:
      return count_smaller<16>(keys, ranks);
    case 24:
      return count_smaller<24>(keys, ranks);
    default:
      return count_smaller<32>(keys, ranks);
  }
}

#if STRACK_COUNTS_WIDE
/// Eight at once, where the processor can. Numbers are numbers: the order is the same.
[[gnu::target("avx2")]] inline void count_smaller_wide(const std::int32_t* keys,
                                                       std::int32_t* ranks, std::size_t padded) {
  using Eight [[gnu::vector_size(32)]] = std::int32_t;
  std::array<Eight, kRun / 8> mine;
  std::array<Eight, kRun / 8> before{};
  const std::size_t words = padded / 8;
  std::memcpy(mine.data(), keys, padded * sizeof(std::int32_t));
  for (std::size_t j = 0; j < padded; ++j) {
    const std::int32_t k = keys[j];
    const Eight key = {k, k, k, k, k, k, k, k};
    for (std::size_t i = 0; i < words; ++i) before[i] -= key < mine[i];  // true is -1
  }
  std::memcpy(ranks, before.data(), padded * sizeof(std::int32_t));
}
inline const bool kCountsWide = __builtin_cpu_supports("avx2") != 0;
#endif

/// Writes up to kRun arrivals in order. Times are before `end`, and by less than 67 us; else it does
/// nothing and returns false.
template <class Arrival>
bool order_by_rank(const Arrival* from, Arrival* to, std::size_t size, Instant end) {
  constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::min() / std::int64_t{kRun};
  alignas(32) std::array<std::int32_t, kRun> keys;
  alignas(32) std::array<std::int32_t, kRun> ranks{};
  std::int64_t earliest = 0;
  for (std::size_t i = 0; i < size; ++i) {
    // The place in the list makes keys differ, and keeps what comes at one time in order.
    const std::int64_t before = (from[i].time - end).value;
    earliest = std::min(earliest, before);
    keys[i] = static_cast<std::int32_t>(before * std::int64_t{kRun} + static_cast<std::int64_t>(i));
  }
  if (earliest < kReach) [[unlikely]]
    return false;
  const std::size_t padded = (size + 7) / 8 * 8;
  for (std::size_t i = size; i < padded; ++i) keys[i] = std::numeric_limits<std::int32_t>::max();
#if STRACK_COUNTS_WIDE
  if (kCountsWide) {
    count_smaller_wide(keys.data(), ranks.data(), padded);
  } else {
    count_smaller(keys.data(), ranks.data(), padded);
  }
#else
  count_smaller(keys.data(), ranks.data(), padded);
#endif
  for (std::size_t i = 0; i < size; ++i) to[static_cast<std::size_t>(ranks[i])] = from[i];
  return true;
}

template <class Arrival>
void order_by_insertion(Arrival* list, std::size_t size) {
  for (std::size_t i = 1; i < size; ++i) {
    const Arrival item = list[i];
    std::size_t j = i;
    for (; j > 0 && item.time < list[j - 1].time; --j) list[j] = list[j - 1];
    list[j] = item;
  }
}

/// How often a time is before the one in front of it: one less than there are runs. By the sign of the
/// difference, so that there is no branch.
template <class Arrival>
std::size_t count_falls(const Arrival* list, std::size_t size) {
  std::uint64_t falls = 0;
  for (std::size_t i = 1; i < size; ++i)
    falls += static_cast<std::uint64_t>((list[i].time - list[i - 1].time).value) >> 63;
  return static_cast<std::size_t>(falls);
}

/// Of two runs the earlier first, of equal times that of the first run.
template <class Arrival>
void merge_runs(const Arrival* list, std::size_t second, std::size_t size, Arrival* to) {
  std::merge(list, list + second, list + second, list + size, to,
             [](const Arrival& a, const Arrival& b) { return a.time < b.time; });
}

}  // namespace detail

/// By time, and at one time as they stand in the list; in the list's memory or the scratch's, whichever has it.
/// All are before `end`, the window's.
template <class Arrival>
[[nodiscard]] std::span<Arrival> sort_arrivals(std::vector<Arrival>& list,
                                               std::vector<Arrival>& scratch, Instant end) {
  using detail::kRun;
  const std::size_t size = list.size();
  const std::size_t falls = detail::count_falls(list.data(), size);
  if (falls == 0) return list;
  if (size < 4 || (size <= kRun && 4 * falls < size)) {
    detail::order_by_insertion(list.data(), size);
    return list;
  }
  if (size <= kRun) {
    if (scratch.size() < kRun) scratch.resize(kRun);
    if (detail::order_by_rank(list.data(), scratch.data(), size, end)) [[likely]]
      return {scratch.data(), size};
    detail::order_by_insertion(list.data(), size);
    return list;
  }
  scratch.resize(size);
  for (std::size_t run = 0; run < size; run += kRun) {
    const std::size_t length = std::min(kRun, size - run);
    if (!detail::order_by_rank(list.data() + run, scratch.data() + run, length, end)) [[unlikely]] {
      detail::order_by_insertion(list.data() + run, length);
      std::copy_n(list.data() + run, length, scratch.data() + run);
    }
  }
  list.swap(scratch);
  for (std::size_t width = kRun; width < size; width *= 2) {
    for (std::size_t low = 0; low < size; low += 2 * width) {
      const std::size_t length = std::min(2 * width, size - low);
      detail::merge_runs(list.data() + low, std::min(width, length), length, scratch.data() + low);
    }
    list.swap(scratch);
  }
  return list;
}

}  // namespace strack::sim
