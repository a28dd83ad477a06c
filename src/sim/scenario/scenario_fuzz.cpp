// Any bytes as a scenario file, the last line as an override: loaded, or refused with a line that
// exists. What loads can be written and loaded again to the same scenario, and its flows or jobs can
// be made.
#include "sim/scenario/scenario.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"

namespace strack::sim {
namespace {

// Making flows and jobs is linear in these; the rest of a scenario is not.
constexpr std::uint32_t kMostHosts = 4'096;
constexpr std::uint64_t kMostFlows = 10'000;
constexpr std::uint64_t kMostMessages = 10'000;

void check(const std::string& text, const std::vector<std::string>& overrides) {
  const auto scenario = load_text(text, "fuzz.toml", "no-such-folder", overrides);
  if (!scenario) {
    const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
    STRACK_CHECK(scenario.error().line >= 0 && scenario.error().line <= lines);
    STRACK_CHECK(!scenario.error().message.empty());
    STRACK_CHECK(!scenario.error().file.empty());
    STRACK_CHECK(scenario.error().message.find('\n') == std::string::npos);
    return;
  }
  const std::string resolved = to_toml(scenario.value());
  const auto again = load_text(resolved, "fuzz.toml", "no-such-folder");
  STRACK_CHECK(again.ok());
  STRACK_CHECK(to_toml(again.value()) == resolved);
  STRACK_CHECK(again.value().seeds == scenario.value().seeds);

  STRACK_CHECK(memory_estimate(scenario.value()) > bytes(0));
  const std::uint32_t hosts = scenario.value().config.topology.hosts();
  if (hosts > kMostHosts || expected_flows(scenario.value()) > kMostFlows) return;
  if (expected_messages(scenario.value()) > kMostMessages) return;
  const std::uint64_t seed = scenario.value().seeds.front();
  const SimConfig config = make_config(scenario.value(), seed);
  STRACK_CHECK(config.seed == seed);
  const workload::Workload made = make_workload(scenario.value(), seed);
  for (const workload::Flow& flow : made.flows)
    STRACK_CHECK(flow.src < hosts && flow.dst < hosts && flow.src != flow.dst);
  const bool shared =
      std::any_of(scenario.value().workloads.begin(), scenario.value().workloads.end(),
                  [](const WorkloadSpec& w) { return w.share_hosts; });
  std::vector<bool> taken(hosts);
  for (const workload::Job& job : made.jobs) {
    STRACK_CHECK(job.hosts.size() == job.graph->ranks() && job.starts.size() == job.hosts.size());
    for (const workload::HostId host : job.hosts) {
      STRACK_CHECK(host < hosts && (shared || !taken[host]));
      taken[host] = true;
    }
  }
}

}  // namespace
}  // namespace strack::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  strack::sim::check(text, {});
  const std::size_t last = text.rfind('\n');
  if (last != text.npos) strack::sim::check(text.substr(0, last), {text.substr(last + 1)});
  return 0;
}
