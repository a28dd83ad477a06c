// The toy as the rest of the program knows it, and the clusters that run it.
#include "transports/descriptor.h"

#include "sim.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/resolution.h"
#include "sim/transport_impl.h"

namespace strack {

template class sim::TransportOf<sim::ToyProtocol>;

namespace transports {

using Params = core::ToyParams;

constexpr Scheme kSchemes[] = {{"toy", "Toy", "toy", "a fixed window that goes back by timeout"}};

constexpr sim::Key kKeys[] = {
    {.name = "window",
     .kind = sim::Kind::integer,
     .fallback = "64",
     .low = {1},
     .high = {1 << 20},
     .needs = "a window has 1 to 1048576 packets, such as window = 64",
     .field = sim::field<&Params::window>(),
     .help = "Packets sent and not acknowledged, at most."},
    {.name = "rto_us",
     .kind = sim::Kind::time,
     .unit = "us",
     .fallback = "\"10 RTT\"",
     .low = {sim::kNanosecond},
     .high = {sim::kSecond},
     .needs = "a timeout is from 1 ns to 1 s, such as rto_us = \"10 RTT\"",
     .field = sim::field<&Params::rto>(),
     .help = "Without news for so long, all that is not acknowledged is sent again."}};

static std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme*) {
  Params params{.mtu = resolution.mtu};
  sim::take_fields(resolution.all.plain, "toy", kKeys, params);
  return sim::make_transport<sim::ToyProtocol>(params);
}

extern const Descriptor descriptor_of_toy{.name = "toy",
                                          .schemes = kSchemes,
                                          .section = "toy",
                                          .help = "The worked example of docs/add-a-transport.md.",
                                          .keys = kKeys,
                                          .resolve = resolve,
                                          .udp = 255,
                                          .counters = sim::ToyProtocol::kCounters};

}  // namespace transports
}  // namespace strack
