// What happens at the sender of a flow that is inspected, event by event, until the cluster hands it
// on between windows. Only the host of the sender writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "core/packet.h"
#include "metrics/records.h"

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

  /// A row for what has just happened; the transport's sink fills in the rest.
  metrics::FlowEvent& add(Kind kind) {
    metrics::FlowEvent& row = rows_.emplace_back();
    row.time = *now_;
    row.flow = flow_;
    row.kind = kind;
    return row;
  }

  /// The sender has done what it does: calls fill(row) for each event of that, to note the state it
  /// is in now.
  template <class Fill>
  void settle(Fill&& fill) {
    for (; settled_ < rows_.size(); ++settled_) fill(rows_[settled_]);
  }

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(rows_, settled_);
    static_assert(sizeof(FlowLog) == 48, "list what is new");
  }

  /// Adds all there is to the end of a list.
  void move_to(std::vector<metrics::FlowEvent>& list) {
    list.insert(list.end(), rows_.begin(), rows_.end());
    rows_.clear();
    settled_ = 0;
  }

 private:
  std::uint32_t flow_;
  const Instant* now_ = nullptr;
  std::vector<metrics::FlowEvent> rows_;
  std::size_t settled_ = 0;  ///< so many rows know the state after them
};

}  // namespace strack::sim
