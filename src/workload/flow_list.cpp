#include "workload/flow_list.h"

#include <optional>

#include <fmt/format.h>

#include "workload/lines.h"
#include "workload/sizes.h"

namespace strack::workload {
namespace {

[[nodiscard]] std::optional<HostId> parse_host(std::string_view text, std::uint32_t hosts) {
  const std::optional<Decimal> number = parse_decimal(text);
  if (!number || number->scale != 0 || number->digits < 0 || number->digits >= hosts)
    return std::nullopt;
  return static_cast<HostId>(number->digits);
}

[[nodiscard]] Result<Flow, TextError> parse_flow(const Line& line, std::uint32_t hosts) {
  const auto wrong = [&line](std::string message) {
    return TextError{line.number, std::move(message)};
  };
  if (line.fields.size() != 4) {
    return wrong(
        fmt::format("{} fields. a flow is four, src dst bytes start, such as 0 1 16MB 10us",
                    line.fields.size()));
  }
  const std::optional<HostId> src = parse_host(line.fields[0], hosts);
  if (!src) {
    return wrong(fmt::format("src is {}. a host is a number from 0 to {}", quoted(line.fields[0]),
                             hosts - 1));
  }
  const std::optional<HostId> dst = parse_host(line.fields[1], hosts);
  if (!dst) {
    return wrong(fmt::format("dst is {}. a host is a number from 0 to {}", quoted(line.fields[1]),
                             hosts - 1));
  }
  if (*src == *dst) {
    return wrong(fmt::format("src and dst are both {}. a flow goes to another host", *src));
  }
  const std::optional<Bytes> size = parse_size(line.fields[2]);
  if (!size || *size < bytes(1) || *size > kLargestFlow) {
    return wrong(fmt::format("bytes is {}. a flow has 1 to {} bytes, such as 16000000 or 16MB",
                             quoted(line.fields[2]), kLargestFlow.count()));
  }
  const std::optional<Picoseconds> start = parse_time(line.fields[3]);
  if (!start || at(*start) > kLatestStart) {
    return wrong(fmt::format(
        "start is {}. a start is 0, or a time of at most an hour with its unit, such as "
        "10us",
        quoted(line.fields[3])));
  }
  return Flow{*src, *dst, *size, at(*start)};
}

}  // namespace

Result<Flows, TextError> parse_flow_list(std::string_view text, std::uint32_t hosts) {
  Flows flows;
  LineReader reader(text);
  while (const std::optional<Line> line = reader.next()) {
    const auto flow = parse_flow(*line, hosts);
    if (!flow) return flow.error();
    flows.push_back(flow.value());
  }
  if (flows.empty()) {
    return TextError{0, "no flows. write one a line, src dst bytes start, such as 0 1 16MB 10us"};
  }
  return flows;
}

}  // namespace strack::workload
