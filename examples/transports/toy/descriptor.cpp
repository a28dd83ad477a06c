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
    sim::param<&Params::window>({.name = "window",
                                 .kind = sim::Kind::integer,
                                 .fallback = "64",
                                 .needs = "a window has 1 to 1048576 packets, such as window = 64",
                                 .help = "Packets sent and not acknowledged, at most."}),
    sim::param<&Params::rto>({.name = "rto_us",
                              .kind = sim::Kind::time,
                              .unit = "us",
                              .fallback = "\"10 RTT\"",
                              .needs = "it is from 1 ns to 1 s, such as rto_us = \"10 RTT\"",
                              .help = "Silence after which all that is open is sent again."})};

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
