// What acknowledgements and losses tell of a flow that is sampled or inspected, for all transports whose
// events say it: their sinks derive from these.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "core/events.h"
#include "core/packet.h"
#include "metrics/records.h"
#include "sim/host/flow_log.h"
#include "sim/host/protocol.h"

namespace strack::sim {

struct AckNews {
  metrics::EventKind kind;
  core::Psn psn;
  core::PathId path;
  bool ecn;
  Picoseconds rtt;  ///< 0: it tells none
  Bytes acked;
};

struct AckEvents : SimEvents {
  using SimEvents::on;

 protected:
  /// To be asked only where there is a watch.
  [[gnu::noinline]] void note(const AckNews& news) const {
    if (log() != nullptr) {
      metrics::FlowEvent& row = log()->add(news.kind);
      row.psn = news.psn.value;
      row.path = news.path;
      row.ecn = news.ecn;
      if (news.rtt > ps(0)) row.rtt = news.rtt;
      row.acked = news.acked;
    }
    watch->rtt = news.rtt;
    watch->acked += news.acked.value;
    if (news.ecn) ++watch->ecn_marks;
  }
  /// And only where there is a log.
  [[gnu::noinline]] void note_loss(core::Psn from, metrics::LossCause cause) const {
    metrics::FlowEvent& row = log()->add(metrics::EventKind::loss);
    row.psn = from.value;
    row.cause = cause;
  }
};

/// Of transports that speak of SACKs.
struct SackEvents : AckEvents {
  using AckEvents::on;

  void on(const core::SackReceived& event) const {
    using Event = metrics::EventKind;
    if (watch == nullptr) [[likely]]
      return;
    note({event.sack.for_probe ? Event::probe_ack : Event::ack, event.sack.epsn, event.sack.path_id,
          event.sack.ecn, event.rtt, event.acked});
  }
  void on(const core::LossDeclared& event) const {
    if (log() != nullptr) [[unlikely]]
      note_loss(event.from, cause_of(event.cause));
  }

 private:
  [[nodiscard]] static metrics::LossCause cause_of(core::LossCause cause) {
    switch (cause) {
      case core::LossCause::out_of_order:
        return metrics::LossCause::out_of_order;
      case core::LossCause::probe:
        return metrics::LossCause::probe;
      case core::LossCause::timeout:
        return metrics::LossCause::timeout;
    }
    return {};
  }
};

}  // namespace strack::sim
