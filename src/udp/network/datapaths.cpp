// The datapaths, by name.
#include <algorithm>
#include <array>
#include <memory>

#include "udp/network.h"
#include "udp/network/kernel/kernel_network.h"
#include "udp/network/simulated/simulated_network.h"

namespace strack::udp {
namespace {

/// Its endpoints share a perfect network and its clock, which passes while one of them sleeps: those of one
/// thread, so that what happens happens again.
[[nodiscard]] std::unique_ptr<Network> make_simulated(const EndpointOptions& /*options*/) {
  thread_local SimulatedWorld world(1, {});
  thread_local std::uint64_t seed = 0;
  return std::make_unique<SimulatedHost>(world, Address{}, ++seed);
}

constexpr std::array<Datapath, 2> kDatapaths{{
    {"kernel",
     [](const EndpointOptions& options) -> std::unique_ptr<Network> {
       return std::make_unique<KernelNetwork>(options);
     }},
    {"simulated", make_simulated},
}};

}  // namespace

std::span<const Datapath> datapaths() { return kDatapaths; }

const Datapath* find_datapath(std::string_view name) {
  const auto* found = std::find_if(kDatapaths.begin(), kDatapaths.end(), [&](const Datapath& one) {
    return name.empty() || one.name == name;
  });
  return found == kDatapaths.end() ? nullptr : &*found;
}

}  // namespace strack::udp
