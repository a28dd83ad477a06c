// Topologies from any bytes: read or refused with a line that exists; what becomes figures is whole.
#include "workload/formats/topo_import.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/formats/import_fuzzing.h"

namespace strack::workload {
namespace {

void check(std::string_view text) {
  const auto topology = import_topo(text);
  if (!topology) return check_error(topology.error(), text);
  const auto clos = clos_of(topology.value());
  if (!clos) return check_error(clos.error(), text);
  const ClosFigures& f = clos.value();
  STRACK_CHECK(std::uint64_t{f.racks} * f.hosts_per_rack == topology.value().nodes);
  STRACK_CHECK(f.host_rate > gbps(0) && f.fabric_rate > gbps(0));
  STRACK_CHECK(f.host_latency > ps(0) && f.fabric_latency > ps(0));
  if (f.tiers == 2) {
    STRACK_CHECK(f.spines > 0 && f.links_per_spine > 0);
  } else {
    STRACK_CHECK(f.racks_per_pod > 0 && f.racks % f.racks_per_pod == 0);
    STRACK_CHECK(f.aggs_per_pod > 0 && f.cores_per_agg > 0);
    STRACK_CHECK(f.core_rate > gbps(0) && f.core_latency > ps(0));
  }
}

}  // namespace
}  // namespace strack::workload

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strack::workload::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
