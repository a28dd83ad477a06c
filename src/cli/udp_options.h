// Words of the command line that the tools on real networks share.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "transports/registry.h"
#include "workload/amount.h"

namespace strack::cli {

/// The schemes that run over UDP, as --scheme names them; the first is what connections use otherwise.
inline std::vector<std::string> schemes_over_udp() {
  std::vector<std::string> names;
  for (const transports::Descriptor* transport : transports::all()) {
    if (transport->udp != 0) names.emplace_back(transport->schemes.front().name);
  }
  return names;
}

/// Of --scheme, as an endpoint names it; empty: as it likes.
inline std::string transport_of(const std::string& scheme) {
  const transports::Descriptor* found = transports::find(scheme).transport;
  return found == nullptr ? scheme : std::string(found->name);
}

/// Of --rate, in bits per second. Or what is wrong.
inline Result<std::uint64_t, std::string> parse_link_rate(const std::string& text) {
  const auto amount = workload::parse_amount(text);
  const auto unit = amount ? workload::rate_unit(amount->unit) : std::nullopt;
  const auto rate = unit ? workload::exact_product(amount->number, *unit) : std::nullopt;
  if (!rate || *rate <= 0)
    return fmt::format("--rate {} is not a rate. write one such as 10Gb/s or 200Mb/s", text);
  if (*rate < 1'000'000 || *rate > 10'000'000'000'000)
    return fmt::format("--rate {} is out of range. 1Mb/s to 10Tb/s are possible", text);
  return static_cast<std::uint64_t>(*rate);
}

/// Of --peer-timeout. Or what is wrong.
inline Result<std::chrono::milliseconds, std::string> parse_peer_timeout(const std::string& text) {
  const auto time = workload::parse_time(text);
  if (!time || *time < ms(100) || *time > seconds(86'400))
    return fmt::format(
        "--peer-timeout {} is not a time of 100ms to 86400s. write one such as 10s or 500ms", text);
  return std::chrono::milliseconds(time->count() / 1'000'000'000);
}

/// Of --reconnect. Or what is wrong.
inline Result<std::chrono::milliseconds, std::string> parse_reconnect(const std::string& text) {
  const auto time = workload::parse_time(text);
  if (!time || *time < ps(0) || *time > seconds(86'400))
    return fmt::format(
        "--reconnect {} is not a time up to 86400s. write one such as 60s, or 0 for never", text);
  return std::chrono::milliseconds(time->count() / 1'000'000'000);
}

/// "60 s", "500 ms".
inline std::string text_of(std::chrono::milliseconds time) {
  return time.count() % 1000 == 0 ? fmt::format("{} s", time.count() / 1000)
                                  : fmt::format("{} ms", time.count());
}

}  // namespace strack::cli
