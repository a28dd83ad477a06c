// Any registered transport in the hosts of tests: its ends behind virtual calls, made by the name of
// a scheme for a given link, with all else as the transport has it by default.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/units.h"
#include "core/packet.h"
#include "core/transport.h"
#include "sim/host/ends.h"
#include "sim/net/sim_packet.h"
#include "sim/scenario/scenario.h"
#include "sim/transport.h"
#include "transports/registry.h"

namespace strack::conformance {

/// A scheme, and where not empty a setting that makes another machine of it.
struct Variant {
  std::string_view scheme;
  std::string_view setting = {};

  [[nodiscard]] std::vector<std::string> overrides() const {
    std::vector<std::string> list{fmt::format("transport.scheme={}", scheme)};
    if (!setting.empty()) list.emplace_back(setting);
    return list;
  }
  friend std::ostream& operator<<(std::ostream& out, const Variant& variant) {
    return out << variant.scheme << ' ' << variant.setting;
  }
};

/// Every scheme as it is, and the first of each transport with each of its variants.
inline std::vector<Variant> variants() {
  std::vector<Variant> list;
  for (const transports::Descriptor* transport : transports::all()) {
    for (const transports::Scheme& scheme : transport->schemes) list.push_back({scheme.name});
    for (const std::string_view setting : transport->variants)
      list.push_back({transport->schemes.front().name, setting});
  }
  return list;
}

/// The transport of a scheme on a link, as a scenario would set it up.
inline std::shared_ptr<const sim::Transport> transport_on(const Variant& variant,
                                                          BitsPerSecond rate, Picoseconds base_rtt,
                                                          Bytes mtu) {
  std::vector<std::string> overrides = variant.overrides();
  overrides.push_back(fmt::format("transport.mtu={}", mtu.count()));
  overrides.push_back(fmt::format("topology.link_gbps={}", rate / gbps(1)));
  overrides.push_back(fmt::format("topology.base_rtt_us=\"{} ps\"", base_rtt.count()));
  // A base RTT holds four packets' serialisation; no link of a test is so short.
  const auto scenario = sim::load_text(
      "[topology]\nhosts = 8\nhosts_per_rack = 4\n[switch]\nqueue_limit = \"10 "
      "MB\"\n[pfc]\nenabled = "
      "false\n",
      "conformance", {}, overrides);
  if (!scenario) fmt::print(stderr, "{}\n", scenario.error().text());
  STRACK_CHECK(scenario.ok());
  return scenario.value().config.transport;
}

/// The two ends as core/transport.h wants them. They share one object, which the receiver outlives.
class AnySender {
 public:
  using Ack = sim::SimPacket;

  explicit AnySender(std::shared_ptr<sim::Ends> ends) : ends_(std::move(ends)) {}
  core::PostResult on_message(const core::Message& message, Instant now) {
    return ends_->on_message(message, now);
  }
  void on_receiving_ack(const Ack& ack, Instant now) { ends_->on_receiving_ack(ack, now); }
  void on_timeout(Instant now) { ends_->on_sender_timeout(now); }
  std::optional<core::Packet> poll_transmit(Instant now) { return ends_->poll_transmit(now); }
  std::optional<core::MessageId> poll_completion() { return ends_->poll_completion(); }
  [[nodiscard]] Instant next_deadline() const { return ends_->sender_deadline(); }
  [[nodiscard]] bool idle() const { return ends_->sender_idle(); }
  [[nodiscard]] metrics::FlowRecord counters() const { return ends_->counters(); }

 private:
  std::shared_ptr<sim::Ends> ends_;
};

class AnyReceiver {
 public:
  using Ack = sim::SimPacket;

  explicit AnyReceiver(std::shared_ptr<sim::Ends> ends) : ends_(std::move(ends)) {}
  core::Arrival on_packet(const core::Packet& packet, const core::Signals& signals, Instant now) {
    return ends_->on_packet(packet, signals, now);
  }
  std::optional<Ack> poll_ack(Instant now) { return ends_->poll_ack(now); }
  void on_timeout(Instant now) { ends_->on_receiver_timeout(now); }
  [[nodiscard]] Instant next_deadline() const { return ends_->receiver_deadline(); }

 private:
  std::shared_ptr<sim::Ends> ends_;
};

static_assert(core::Transport<AnySender, AnyReceiver>);

}  // namespace strack::conformance
