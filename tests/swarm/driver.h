// Runs one seed's plan over any protocol: post, step, check, until nothing is left to do.
//
// A protocol comes as a Connection: one object per flow that builds both ends, listens to their
// events, and checks what must hold between them. It has
//
//   using Sender, Receiver;              // both ends, with its own sink of events
//   struct Plan : swarm::Plan;           // and the protocol's parameters
//   Connection(const Plan&, std::size_t flow, const Instant& clock, bool trace);
//   Sender make_sender(std::span<core::MessageSlot>);
//   Receiver make_receiver();
//   void check(Flow&);                   // after every step
//   void check_finished(Flow&) const;    // at the end
//   void add_to(Tally&, Flow&) const;
//   static Picoseconds patience(const Plan&);
//
// The last is the bound: counted from the end of faults and of posting, all must be done by then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "duet/duet.h"
#include "swarm/network.h"
#include "swarm/plan.h"
#include "swarm/swarm.h"

namespace strack::swarm {

template <class Sender, class Receiver>
using Pair = duet::Duet<Sender, Receiver, core::MessageSlot, SwarmNet>;

/// [D21] Nothing is delivered or completed twice, and nothing complete that was not delivered.
class Outcome {
 public:
  template <class Flow>
  void check(const Flow& flow) {
    while (seen_delivered_ < flow.delivered.size()) {
      STRACK_CHECK(delivered_.insert(flow.delivered[seen_delivered_++].first).second);
    }
    while (seen_completed_ < flow.completed.size()) {
      const core::MessageId id = flow.completed[seen_completed_++].first;
      STRACK_CHECK(completed_.insert(id).second);
      STRACK_CHECK(delivered_.contains(id));
    }
  }

  /// [P.ooo_delivery] At the end nothing is missing.
  template <class Flow>
  void check_finished(const Flow& flow, const Load& load) const {
    STRACK_CHECK_OP(delivered_.size(), ==, load.messages.size());
    STRACK_CHECK_OP(completed_.size(), ==, load.messages.size());
    std::uint64_t total = 0;
    for (const core::Message& message : load.messages) total += message.length;
    STRACK_CHECK_OP(flow.payload_placed, ==, total);
    STRACK_CHECK(flow.backlog.empty());
  }

 private:
  std::set<core::MessageId> delivered_;
  std::set<core::MessageId> completed_;
  std::size_t seen_delivered_ = 0;
  std::size_t seen_completed_ = 0;
};

template <class Connection>
Tally run(const typename Connection::Plan& plan, std::uint64_t seed, bool trace) {
  SwarmNet net(plan, seed);
  Pair<typename Connection::Sender, typename Connection::Receiver> pair(net);
  std::array<Connection, kFlows> connections{Connection(plan, 0, pair.clock(), trace),
                                             Connection(plan, 1, pair.clock(), trace)};
  std::array<Outcome, kFlows> outcomes;
  for (Connection& connection : connections) {
    pair.add_flow([&](auto slots) { return connection.make_sender(slots); },
                  [&] { return connection.make_receiver(); }, plan.byte_time());
  }

  std::array<std::size_t, kFlows> posted{};
  const Instant deadline = std::max(plan.faults.end, plan.last_post()) + Connection::patience(plan);

  Tally tally;
  tally.seeds = 1;
  const auto check = [&] {
    for (std::size_t i = 0; i < kFlows; ++i) {
      connections[i].check(pair.flow(i));
      outcomes[i].check(pair.flow(i));
    }
    ++tally.steps;
  };
  while (true) {
    // Post what is due before the next event.
    Instant next_post = Instant::never();
    std::size_t poster = 0;
    for (std::size_t i = 0; i < kFlows; ++i) {
      const Load& load = plan.loads[i];
      if (posted[i] < load.messages.size() && load.post_at[posted[i]] < next_post) {
        next_post = load.post_at[posted[i]];
        poster = i;
      }
    }
    if (pair.step(next_post)) {
      if (trace) fmt::print("{} ns\n", pair.now().ps / 1'000);
      check();
      STRACK_CHECK_OP(pair.now().ps, <=, deadline.ps);  // liveness
      continue;
    }
    if (next_post == Instant::never()) break;
    pair.advance_to(next_post);
    pair.post(poster, plan.loads[poster].messages[posted[poster]++]);
    check();
  }
  for (std::size_t i = 0; i < kFlows; ++i) {
    outcomes[i].check_finished(pair.flow(i), plan.loads[i]);
    connections[i].check_finished(pair.flow(i));
    connections[i].add_to(tally, pair.flow(i));
    tally.packets += pair.flow(i).packets_sent;
    tally.timeouts += pair.flow(i).sender.counters().timeouts;
    tally.messages += pair.flow(i).delivered.size();
  }
  return tally;
}

}  // namespace strack::swarm
