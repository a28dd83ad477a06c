#include "transfer/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include <fmt/format.h>

namespace strack::transfer {
namespace {

/// Standard streams, the primary socket, those of the metrics, folders while they are looked at, the
/// resolver's, and some that were open before.
constexpr std::uint64_t kReserve = 32;
constexpr std::uint64_t kOfAThread = 4;  ///< its endpoint's other sockets, and what wakes it
constexpr std::uint64_t kFewest = 2;     ///< a file and its journal
/// More than all transfers together can use, and no number that overflows.
constexpr std::uint64_t kMost = 1 << 20;

}  // namespace

Result<std::size_t, std::string> descriptors_left(std::uint64_t limit, std::uint32_t paths,
                                                  std::uint32_t threads) {
  const std::uint64_t shards = std::max<std::uint64_t>(threads, 1);
  const std::uint64_t taken = kReserve + shards * paths + (shards - 1) * kOfAThread;
  if (limit >= taken + kFewest) return static_cast<std::size_t>(std::min(limit, kMost) - taken);
  std::string text = fmt::format(
      "{} files may be open at a time (`ulimit -n`), and {} paths{} need {}. raise the limit",
      limit, paths, shards > 1 ? fmt::format(" of {} threads", shards) : "", taken + kFewest);
  const std::uint64_t others = taken - shards * paths + kFewest;
  if (limit >= others + shards)
    text += fmt::format(", or give --paths {}", (limit - others) / shards);
  return text;
}

Result<std::size_t, std::string> raise_file_limit(std::uint32_t paths, std::uint32_t threads) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptors_left(1024, paths, threads);
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur < limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return descriptors_left(limit.rlim_cur, paths, threads);
}

}  // namespace strack::transfer
