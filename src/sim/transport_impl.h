// The members of TransportOf: what a transport compiles for the simulator, once, in its own sim.cpp.
//
//   template class sim::TransportOf<sim::MyProtocol>;
#pragma once

#ifndef STRACK_GPU_DEVICE  // which has kernels instead: sim/gpu/kernels.h

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "sim/cluster.h"
#include "sim/host/ends.h"
#include "sim/net/pfc_switch.h"
#include "sim/net/switch.h"
#include "sim/transport.h"

namespace strack::sim {

/// Each end has a NIC of its own, as it would in a cluster, with this connection in slot 0.
template <class Protocol>
class EndsOf final : public Ends {
  using Params = typename Protocol::Params;
  using Nic = typename Protocol::Nic;
  using SendingEnd = typename Protocol::SendingEnd;
  using ReceivingEnd = typename Protocol::ReceivingEnd;
  static constexpr bool kNicActs = requires(Nic & nic, Instant now) { nic.poll(now); };

 public:
  EndsOf(const Params& params, std::size_t slots, core::Psn first, BitsPerSecond rate)
      : sending_nic_(nic(params, rate)),
        receiving_nic_(nic(params, rate)),
        sending_(sending(params, slots, first, *sending_nic_)),
        receiving_(receiving(params, first, *receiving_nic_)) {}

  core::PostResult on_message(const core::Message& message, Instant now) override {
    return sending_.sender.on_message(message, now);
  }
  void on_receiving_ack(const SimPacket& ack, Instant now) override {
    sending_.sender.on_receiving_ack(Protocol::unpack_ack(ack), now);
  }
  void on_sender_timeout(Instant now) override {
    sending_.sender.on_timeout(now);
    on_nic_timeout(*sending_nic_, now);
  }
  std::optional<core::Packet> poll_transmit(Instant now) override {
    return sending_.sender.poll_transmit(now);
  }
  std::optional<core::MessageId> poll_completion() override {
    return sending_.sender.poll_completion();
  }
  [[nodiscard]] Instant sender_deadline() const override {
    return std::min(sending_.sender.next_deadline(), deadline_of(*sending_nic_));
  }
  [[nodiscard]] bool sender_idle() const override { return sending_.sender.idle(); }
  [[nodiscard]] metrics::FlowRecord counters() const override {
    metrics::FlowRecord record;
    Protocol::fill(record, sending_);
    return record;
  }

  core::Arrival on_packet(const core::Packet& packet, const core::Signals& signals,
                          Instant now) override {
    return receiving_.receiver.on_packet(packet, signals, now);
  }
  std::optional<SimPacket> poll_ack(Instant now) override {
    if (const auto ack = receiving_.receiver.poll_ack(now))
      return Protocol::pack_ack(*ack, Address{});
    if constexpr (kNicActs) {
      if (const auto said = receiving_nic_->poll(now)) {
        STRACK_CHECK_OP(said->slot, ==, 0u);
        return Protocol::pack_ack(said->ack, Address{});
      }
    }
    return std::nullopt;
  }
  void on_receiver_timeout(Instant now) override {
    receiving_.receiver.on_timeout(now);
    on_nic_timeout(*receiving_nic_, now);
  }
  [[nodiscard]] Instant receiver_deadline() const override {
    return std::min(receiving_.receiver.next_deadline(), deadline_of(*receiving_nic_));
  }

 private:
  static std::unique_ptr<Nic> nic(const Params& params, BitsPerSecond rate) {
    auto made = std::make_unique<Nic>();
    if constexpr (kNicActs) made->set_up(params, rate);
    return made;
  }
  static Instant deadline_of(const Nic& nic) {
    if constexpr (kNicActs) return nic.next_deadline();
    return Instant::never();
  }
  static void on_nic_timeout(Nic& nic, Instant now) {
    if constexpr (kNicActs) {
      if (nic.next_deadline() <= now) nic.on_timeout(now);
    }
  }
  static SendingEnd sending(const Params& params, std::size_t slots, core::Psn first, Nic& nic) {
    using Events = typename Protocol::Events;
    if constexpr (std::is_constructible_v<SendingEnd, const Params&, std::size_t, Events, Nic&>) {
      return SendingEnd(params, slots, Events{}, nic, first);
    } else {
      return SendingEnd(params, slots, Events{}, first);
    }
  }
  static ReceivingEnd receiving(const Params& params, core::Psn first, Nic& nic) {
    if constexpr (std::is_constructible_v<ReceivingEnd, const Params&, std::uint32_t, Nic&>) {
      return ReceivingEnd(params, std::uint32_t{0}, nic, first);
    } else {
      return ReceivingEnd(params, first);
    }
  }

  // Where ends know it, it stays where it is.
  std::unique_ptr<Nic> sending_nic_;
  std::unique_ptr<Nic> receiving_nic_;
  SendingEnd sending_;
  ReceivingEnd receiving_;
};

template <class Protocol>
Bytes TransportOf<Protocol>::mtu() const {
  return params.mtu;
}
template <class Protocol>
std::int64_t TransportOf<Protocol>::window_packets() const {
  return Protocol::window_packets(params);
}
template <class Protocol>
Bytes TransportOf<Protocol>::connection_state() const {
  return bytes(sizeof(typename Protocol::SendingEnd) + sizeof(typename Protocol::ReceivingEnd) +
               sizeof(core::MessageSlot)) +
         Protocol::owned_memory(params);
}
template <class Protocol>
Bytes TransportOf<Protocol>::nic_state() const {
  using Nic = typename Protocol::Nic;
  // A NIC with nothing in it takes no room in its host.
  const Bytes itself = bytes(std::is_empty_v<Nic> ? 0 : static_cast<std::int64_t>(sizeof(Nic)));
  return itself + Protocol::owned_by_nic(params);
}
template <class Protocol>
Picoseconds TransportOf<Protocol>::longest_timeout() const {
  return Protocol::longest_timeout(params);
}

#ifdef STRACK_GPU_MODULE
// Compiled for the module: sim/gpu/transport_impl.h.
#else
template <class Protocol>
std::unique_ptr<Cluster> TransportOf<Protocol>::make_cluster(const SimConfig& config,
                                                             workload::Workload workload) const {
  using Meter = std::conditional_t<Protocol::kMeasuresPath, UtilisationMeter, NoMeter>;
  if (config.pfc.enabled)
    return std::make_unique<ClusterOf<Protocol, BasicPfcSwitch<Meter>>>(config,
                                                                        std::move(workload));
  if (config.switches.trimming.enabled)
    return std::make_unique<ClusterOf<Protocol, BasicSwitch<BasicPort<Trimming, Meter>>>>(
        config, std::move(workload));
  return std::make_unique<ClusterOf<Protocol, BasicSwitch<BasicPort<TailDrop, Meter>>>>(
      config, std::move(workload));
}
template <class Protocol>
std::unique_ptr<Ends> TransportOf<Protocol>::make_ends(std::size_t slots, core::Psn first,
                                                       BitsPerSecond rate) const {
  return std::make_unique<EndsOf<Protocol>>(params, slots, first, rate);
}
#endif

}  // namespace strack::sim

#ifdef STRACK_GPU_MODULE
#include "sim/gpu/transport_impl.h"
#endif
#endif
