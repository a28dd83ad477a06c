// Networks from any bytes: read, or refused with a line that exists. What is read has all that the simulator
// relies on.
#include "sim/scenario/network_file.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/formats/import_fuzzing.h"

namespace {

/// Ranges up to 9, one for a name: a few bytes may ask for a million links, which is only slow.
bool is_small(std::string_view text) {
  bool bracket = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n') bracket = false;
    if (c == '[' && bracket) return false;
    if (c == '[') bracket = true;
    if (c == '-' && i + 2 < text.size() && text[i + 1] != ']' && text[i + 2] != ']') return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strack;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!is_small(text)) return 0;
  const auto read = sim::parse_network(text);
  if (!read) {
    workload::check_error(read.error(), text);
    return 0;
  }
  const sim::NetworkGraph& graph = read.value();
  const std::size_t nodes = graph.hosts.size() + graph.switches.size();
  STRACK_CHECK(graph.hosts.size() >= 2 && graph.host_links.size() == graph.hosts.size());
  for (const sim::NetworkGraph::Link& link : graph.links) {
    STRACK_CHECK(link.a < nodes && link.b < nodes && link.a != link.b);
    STRACK_CHECK(link.rate >= mbps(1) && link.latency >= ns(1) && !link.name.empty());
  }
  for (std::uint32_t h = 0; h < graph.host_count(); ++h)
    STRACK_CHECK(graph.switch_of(h) < graph.switches.size());
  STRACK_CHECK(sim::graph_diameter(graph) <= sim::GraphDistances::kMostHops);
  return 0;
}
