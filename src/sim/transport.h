// The transport that hosts speak, with its parameters settled: all that a configuration knows of it.
//
// Each transport makes its own from its traits type (sim/host/protocol.h), and compiles the clusters
// that run it: transports/<name>/sim.cpp instantiates TransportOf, whose members are in
// sim/transport_impl.h. So the simulator names no transport, and one that is not there cannot be
// mistaken for another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "core/packet.h"
#include "core/param_range.h"
#include "sim/config.h"
#include "workload/workload.h"

namespace strack::sim {

class Cluster;
class Ends;

class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual Bytes mtu() const = 0;
  /// Packets that a connection can have on their way; 0 where only the network limits it.
  [[nodiscard]] virtual std::int64_t window_packets() const = 0;
  /// Both ends of a connection, with the memory they own.
  [[nodiscard]] virtual Bytes connection_state() const = 0;
  /// What the connections of a NIC share; nothing where each is on its own.
  [[nodiscard]] virtual Bytes nic_state() const = 0;
  /// How long a sender with something unacknowledged may do nothing about it.
  [[nodiscard]] virtual Picoseconds longest_timeout() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Cluster> make_cluster(
      const SimConfig& config, workload::Workload workload) const = 0;
  /// Two ends of a connection outside any cluster, at ports of such a rate, for hosts that run any
  /// transport.
  [[nodiscard]] virtual std::unique_ptr<Ends> make_ends(std::size_t slots, core::Psn first,
                                                        BitsPerSecond rate) const = 0;
};

/// One with such parameters: a transport may have several traits types that share them.
template <class Params>
class TransportWith : public Transport {
 public:
  explicit TransportWith(Params p) : params(std::move(p)) {}

  Params params;
};

#ifdef STRACK_GPU_DEVICE
}  // namespace strack::sim
#include "sim/gpu/kernels.h"  // there a transport is the kernels that run it, and nobody makes one
namespace strack::sim {
template <class Protocol>
[[nodiscard]] std::shared_ptr<const Transport> make_transport(
    typename Protocol::Params /*params*/) {
  return nullptr;
}
#else
template <class Protocol>
class TransportOf final : public TransportWith<typename Protocol::Params> {
 public:
  using Params = typename Protocol::Params;
  using TransportWith<Params>::params;

  explicit TransportOf(Params p) : TransportWith<Params>(std::move(p)) {}
  [[nodiscard]] Bytes mtu() const override;
  [[nodiscard]] std::int64_t window_packets() const override;
  [[nodiscard]] Bytes connection_state() const override;
  [[nodiscard]] Bytes nic_state() const override;
  [[nodiscard]] Picoseconds longest_timeout() const override;
  [[nodiscard]] std::unique_ptr<Cluster> make_cluster(const SimConfig& config,
                                                      workload::Workload workload) const override;
  [[nodiscard]] std::unique_ptr<Ends> make_ends(std::size_t slots, core::Psn first,
                                                BitsPerSecond rate) const override;
#ifdef STRACK_GPU_MODULE
  static const bool in_gpu_module;  ///< sim/gpu/transport_impl.h
#endif
};

template <class Protocol>
[[nodiscard]] std::shared_ptr<const Transport> make_transport(typename Protocol::Params params) {
  static_assert(core::declares_all<typename Protocol::Params>(),
                "each field of the parameters is declared once: core/param_range.h");
  return std::make_shared<const TransportOf<Protocol>>(std::move(params));
}
#endif

/// The parameters of a configuration whose transport is this one, or has the same.
template <class Protocol>
[[nodiscard]] const typename Protocol::Params& params_of(const SimConfig& config) {
  using With = TransportWith<typename Protocol::Params>;
  const auto* own = dynamic_cast<const With*>(config.transport.get());
  STRACK_CHECK(own != nullptr);
  return own->params;
}

}  // namespace strack::sim
