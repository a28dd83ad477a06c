// Flow lists and size distributions from any bytes: read or refused with a line that exists, never
// a crash; what is read keeps what the parsers promise.
#include "workload/flow_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/prng.h"
#include "workload/sizes.h"

namespace strack::workload {
namespace {

void check_error(const TextError& error, std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  STRACK_CHECK(error.line >= 0 && error.line <= lines);
  STRACK_CHECK(!error.message.empty());
  STRACK_CHECK(error.message.find('\n') == error.message.npos);
}

void check_flows(std::string_view text, std::uint32_t hosts) {
  const auto flows = parse_flow_list(text, hosts);
  if (!flows) return check_error(flows.error(), text);
  STRACK_CHECK(!flows.value().empty());
  for (const Flow& flow : flows.value()) {
    STRACK_CHECK(flow.src < hosts && flow.dst < hosts && flow.src != flow.dst);
    STRACK_CHECK(flow.size >= bytes(1) && flow.size <= kLargestFlow);
    STRACK_CHECK(flow.start >= Instant{} && flow.start <= kLatestStart);
  }
}

void check_sizes(std::string_view text) {
  const auto sizes = parse_cdf(text);
  if (!sizes) return check_error(sizes.error(), text);
  const auto& points = sizes.value().points();
  STRACK_CHECK(sizes.value().mean() >= points.front().size);
  STRACK_CHECK(sizes.value().mean() <= points.back().size);
  Rng rng(1);
  for (int i = 0; i < 16; ++i) {
    const Bytes size = sizes.value().draw(rng);
    STRACK_CHECK(size >= points.front().size && size <= points.back().size);
  }
}

}  // namespace
}  // namespace strack::workload

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  strack::workload::check_flows(text, 16);
  strack::workload::check_sizes(text);
  return 0;
}
