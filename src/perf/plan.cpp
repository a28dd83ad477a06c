#include "perf/plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "transfer/dial.h"
#include "workload/amount.h"

namespace strack::perf {

std::optional<std::chrono::nanoseconds> parse_seconds(std::string_view text) {
  if (const auto number = workload::parse_decimal(text)) {
    const auto ns = workload::exact_product(*number, 1'000'000'000);
    if (!ns || *ns < 0) return std::nullopt;
    return std::chrono::nanoseconds(*ns);
  }
  const auto time = workload::parse_time(text);
  if (!time) return std::nullopt;
  return std::chrono::nanoseconds(time->count() / 1'000);
}

namespace {

/// Who sends, how fast, and from when on it counts. Returns what is wrong.
std::optional<std::string> set_course(const PlanWords& words, Plan& plan) {
  if (words.reverse && words.both)
    return std::string("--reverse and --both contradict each other: give one of them");
  if (words.reverse) plan.direction = Direction::server;
  if (words.both) plan.direction = Direction::both;
  if (plan.server_sends() && plan.pattern != Pattern::stream)
    return fmt::format("{} is for streams, and --pattern is {}",
                       words.both ? "--both" : "--reverse", words.pattern);
  if (!plan.client_sends() && !words.target_rate.empty())
    return std::string(
        "--target-rate is for what this side sends, and --reverse has it send nothing");
  if (!words.target_rate.empty()) {
    const auto amount = workload::parse_amount(words.target_rate);
    const auto unit = amount ? workload::rate_unit(amount->unit) : std::nullopt;
    const auto rate = unit ? workload::exact_product(amount->number, *unit) : std::nullopt;
    if (!rate || *rate <= 0)
      return fmt::format("--target-rate {} is not a rate. write one such as 1Gb/s or 20Mb/s",
                         words.target_rate);
    plan.target_bps = static_cast<std::uint64_t>(*rate);
  }
  if (!words.warm_up.empty()) {
    const auto warm_up = parse_seconds(words.warm_up);
    if (!warm_up)
      return fmt::format("--warm-up {} is not a time. write one such as 1s or 500ms",
                         words.warm_up);
    if (words.count)
      return std::string(
          "--warm-up is before the time that counts, and --count has none. give --seconds");
    plan.warm_up = *warm_up;
  }
  return std::nullopt;
}

}  // namespace

Result<Plan, std::string> make_plan(const PlanWords& words,
                                    const transfer::Protection& protection) {
  Plan plan;
  plan.protection = protection;
  const auto size = workload::parse_size(words.size);
  if (!size || static_cast<std::uint64_t>(size->count()) > kMaxSize)
    return fmt::format(
        "--size {} is not a size of a message. write one such as 64, 16KB or 1MB, up "
        "to 1GiB",
        words.size);
  plan.size = static_cast<std::uint64_t>(size->count());
  plan.pattern = words.pattern == "stream"     ? Pattern::stream
                 : words.pattern == "pingpong" ? Pattern::pingpong
                 : words.pattern == "write"    ? Pattern::write
                                               : Pattern{};
  if (plan.pattern == Pattern{})
    return fmt::format("--pattern {} is unknown. there are stream, pingpong and write",
                       words.pattern);
  if (plan.pattern == Pattern::write && plan.size == 0)
    return std::string("--size 0 leaves nothing to write. give at least 1");
  if (words.count && *words.count == 0)
    return std::string("--count 0 sends nothing. give at least 1");
  plan.count = words.count.value_or(0);
  const auto time = parse_seconds(words.seconds.empty() ? words.count ? "0" : "5" : words.seconds);
  if (!time || (!words.seconds.empty() && time->count() == 0))
    return fmt::format("--seconds {} is not a time. write one such as 10 or 500ms", words.seconds);
  plan.time = *time;
  if (words.connections < 1 || words.connections > 1000)
    return fmt::format("--connections {} is out of range. 1 to 1000 are possible",
                       words.connections);
  plan.connections = words.connections;
  if (words.depth > kMaxDepth)
    return fmt::format("--depth {} is out of range. 1 to {} are possible", words.depth, kMaxDepth);
  // Enough to keep a window full, and not so much that latency is all about waiting.
  const std::uint64_t wanted = (4u << 20) / std::max<std::uint64_t>(plan.size, 1);
  plan.depth = words.depth != 0
                   ? words.depth
                   : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 2, 256));
  if (plan.pattern == Pattern::pingpong && words.depth == 0) plan.depth = 1;
  if (!words.interval.empty()) {
    const auto interval = parse_seconds(words.interval);
    if (!interval || *interval < std::chrono::milliseconds(10))
      return fmt::format("--interval {} is not a time of at least 10ms. write one such as 1s",
                         words.interval);
    plan.interval = *interval;
  }
  if (auto wrong = set_course(words, plan)) return std::move(*wrong);
  const auto servers = transfer::addresses_of(words.server, protection);
  if (!servers) return servers.error();
  plan.servers = servers.value();
  return plan;
}

}  // namespace strack::perf
