// The members of TransportOf: what a transport compiles for the simulator, once, in its own sim.cpp.
//
//   template class sim::TransportOf<sim::MyProtocol>;
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/message_queue.h"
#include "sim/cluster.h"
#include "sim/host/ends.h"
#include "sim/net/pfc_switch.h"
#include "sim/net/switch.h"
#include "sim/transport.h"

namespace strack::sim {

template <class Protocol>
class EndsOf final : public Ends {
 public:
  EndsOf(const typename Protocol::Params& params, std::size_t slots, core::Psn first)
      : sending_(params, slots, typename Protocol::Events{}, first), receiving_(params, first) {}

  core::PostResult on_message(const core::Message& message, Instant now) override {
    return sending_.sender.on_message(message, now);
  }
  void on_receiving_ack(const SimPacket& ack, Instant now) override {
    sending_.sender.on_receiving_ack(Protocol::unpack_ack(ack), now);
  }
  void on_sender_timeout(Instant now) override { sending_.sender.on_timeout(now); }
  std::optional<core::Packet> poll_transmit(Instant now) override {
    return sending_.sender.poll_transmit(now);
  }
  std::optional<core::MessageId> poll_completion() override {
    return sending_.sender.poll_completion();
  }
  [[nodiscard]] Instant sender_deadline() const override { return sending_.sender.next_deadline(); }
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
    const auto ack = receiving_.receiver.poll_ack(now);
    if (!ack) return std::nullopt;
    return Protocol::pack_ack(*ack, Address{});
  }
  void on_receiver_timeout(Instant now) override { receiving_.receiver.on_timeout(now); }
  [[nodiscard]] Instant receiver_deadline() const override {
    return receiving_.receiver.next_deadline();
  }

 private:
  typename Protocol::SendingEnd sending_;
  typename Protocol::ReceivingEnd receiving_;
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
Picoseconds TransportOf<Protocol>::longest_timeout() const {
  return Protocol::longest_timeout(params);
}
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
std::unique_ptr<Ends> TransportOf<Protocol>::make_ends(std::size_t slots, core::Psn first) const {
  return std::make_unique<EndsOf<Protocol>>(params, slots, first);
}

}  // namespace strack::sim
