// What happens at the sender of a flow that is inspected, event by event, until the cluster hands it
// on between windows. Only the host of the sender writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "core/events.h"
#include "core/packet.h"
#include "metrics/records.h"
#include "transports/rocev2/events.h"

namespace strack::sim {

class FlowLog {
 public:
  using Kind = metrics::EventKind;

  explicit FlowLog(std::uint32_t flow) : flow_(flow) {}

  /// The time of what comes next; the sender's host keeps it right.
  void set_clock(const Instant* now) { now_ = now; }

  /// A packet goes onto the wire. Told by the host, which knows it anyway: a sink for the core's own
  /// events costs every sender that is not inspected.
  [[gnu::noinline]] void on_sent(const core::Packet& packet) {
    const bool probe = packet.type == core::PacketType::probe;
    metrics::FlowEvent& row = add(probe                   ? Kind::probe
                                  : packet.retransmission ? Kind::resent
                                                          : Kind::sent);
    row.psn = packet.psn.value;
    row.path = packet.path_id;
  }

  [[gnu::noinline]] void on(const core::SackReceived& event) {
    metrics::FlowEvent& row = add(event.sack.for_probe ? Kind::probe_ack : Kind::ack);
    row.psn = event.sack.epsn.value;
    row.path = event.sack.path_id;
    row.ecn = event.sack.ecn;
    if (event.rtt > ps(0)) row.rtt = event.rtt;
    row.acked = event.acked;
  }
  [[gnu::noinline]] void on(const core::LossDeclared& event) {
    metrics::FlowEvent& row = add(Kind::loss);
    row.psn = event.from.value;
    switch (event.cause) {
      case core::LossCause::out_of_order:
        row.cause = metrics::LossCause::out_of_order;
        break;
      case core::LossCause::probe:
        row.cause = metrics::LossCause::probe;
        break;
      case core::LossCause::timeout:
        row.cause = metrics::LossCause::timeout;
        break;
    }
  }

  [[gnu::noinline]] void on(const core::RoceAckReceived& event) {
    const core::RoceAck& ack = event.ack;
    if (ack.kind == core::RoceAckKind::cnp) {
      add(Kind::cnp).path = ack.qp;
      return;
    }
    const bool nak = ack.kind == core::RoceAckKind::nak;
    metrics::FlowEvent& row = add(nak ? Kind::nak : Kind::ack);
    row.psn = ack.epsn.value;
    row.path = ack.qp;
    row.rtt = event.rtt;
    row.acked = event.acked;
    // The sender has gone back before it tells of the NAK; here the reason comes first.
    if (nak) went_back(ack.qp, ack.epsn, metrics::LossCause::nak);
  }
  [[gnu::noinline]] void on(const core::WentBack& event) {
    if (event.timeout) went_back(event.qp, event.from, metrics::LossCause::timeout);
  }

  /// The sender has done what it does: calls fill(row) for each event of that, to note the state it
  /// is in now.
  template <class Fill>
  void settle(Fill&& fill) {
    for (; settled_ < rows_.size(); ++settled_) fill(rows_[settled_]);
  }

  /// Adds all there is to the end of a list.
  void move_to(std::vector<metrics::FlowEvent>& list) {
    list.insert(list.end(), rows_.begin(), rows_.end());
    rows_.clear();
    settled_ = 0;
  }

 private:
  metrics::FlowEvent& add(Kind kind) {
    metrics::FlowEvent& row = rows_.emplace_back();
    row.time = *now_;
    row.flow = flow_;
    row.kind = kind;
    return row;
  }
  void went_back(core::PathId qp, core::Psn from, metrics::LossCause cause) {
    metrics::FlowEvent& row = add(Kind::loss);
    row.psn = from.value;
    row.path = qp;
    row.cause = cause;
  }

  std::uint32_t flow_;
  const Instant* now_ = nullptr;
  std::vector<metrics::FlowEvent> rows_;
  std::size_t settled_ = 0;  ///< so many rows know the state after them
};

}  // namespace strack::sim
