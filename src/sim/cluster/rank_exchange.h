// Windows that several ranks run together: what crosses, and what rank 0 is told.
//
// Once in each window everybody sends everybody a parcel: the packets that leave its nodes for theirs, and in
// its head when the earliest thing happens, how much is done and whether somebody wants to stop. All ranks
// thus know the same, and decide the same, without another word. Rank 0 also gets what hosts report.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/cluster/partition.h"
#include "sim/engine/exchange.h"
#include "sim/engine/ranks.h"
#include "sim/host/report.h"
#include "sim/net/lane.h"
#include "sim/net/wire.h"
#include "sim/simulation.h"

namespace strack::sim {

/// Packets that a worker's switches have sent to other ranks in a window, by rank, and apart from them for each link its
/// number and how many: who takes them needs no look at them.
class Outbox {
 public:
  struct Bundle {
    std::vector<std::uint64_t> packets;
    std::vector<std::uint64_t> links;  ///< number and count, in the packets' order
  };

  explicit Outbox(std::uint32_t ranks) : bundles_(ranks) {}
  /// Takes what a switch has just sent on such links away from here.
  void take(std::span<const Partition::Cut> cuts, const Partition& partition, Lane* lanes,
            std::uint64_t window);

  /// Of one rank, to be sent and then emptied.
  [[nodiscard]] Bundle& bundle(std::uint32_t rank) { return bundles_[rank]; }

 private:
  static void add(Bundle& bundle, LinkId link, const Transit& transit);

  std::vector<Bundle> bundles_;
};

/// What of a window's machinery belongs to one rank.
struct RankPart {
  Ranks* ranks = nullptr;
  const Partition* partition = nullptr;
  Lane* lanes = nullptr;
  MailFlags* mail = nullptr;
  std::vector<Outbox*> outboxes;     ///< of the workers
  std::vector<HostReport*> reports;  ///< the same; those of other ranks' hosts go to the first
  std::vector<const WindowContext*> contexts;
  std::uint64_t things =
      0;  ///< flows and jobs' nodes that there are: when so many are done, all is
};

class RankExchange final : public Exchange {
 public:
  /// `own` runs this rank's share of a window.
  RankExchange(RankPart part, std::unique_ptr<Exchange> own);

  Instant start(Instant earliest, const std::atomic<bool>* stop) override;
  Instant run_window() override;
  [[nodiscard]] bool stopped() const override { return stopped_; }
  [[nodiscard]] bool all_done(bool /*here*/) const override { return done_ == part_.things; }
  [[nodiscard]] std::uint64_t hops_elsewhere() const override { return hops_elsewhere_; }

 private:
  void pack();
  void pack_reports(std::vector<std::uint64_t>& words);
  void unpack(const Received& parcel);
  void unpack_reports(std::span<const std::uint64_t> words);
  Instant swap(Instant earliest);

  RankPart part_;
  std::unique_ptr<Exchange> own_;
  std::vector<Parcel> out_;
  std::vector<Received> in_;  ///< lanes read there what has crossed
  std::uint64_t done_ = 0;
  std::uint64_t hops_elsewhere_ = 0;
  std::uint64_t window_ = 0;
  bool stopped_ = false;
};

/// What all ranks tell at one moment, for rank 0 to pass on as one process would have told it.
class Gathering final : public Observer {
 public:
  void on_flow(const metrics::FlowRecord& flow) override { flows.push_back(flow); }
  void on_link_sample(const metrics::LinkSample& sample) override { links.push_back(sample); }
  void on_flow_sample(const metrics::FlowSample& sample) override { samples.push_back(sample); }
  void on_flow_event(const metrics::FlowEvent& event) override { events.push_back(event); }

  /// Brings it all to rank 0, in order; others have nothing any more.
  void gather(Ranks& ranks);
  void tell(Observer& observer) const;

  std::vector<metrics::FlowRecord> flows;  ///< that are unfinished, host by host
  std::vector<metrics::LinkSample> links;
  std::vector<metrics::FlowSample> samples;
  std::vector<metrics::FlowEvent> events;
};

/// Of all ranks' nodes together, at rank 0.
[[nodiscard]] metrics::Counters gather(Ranks& ranks, const metrics::Counters& here);

/// What ranks think of something that each has a number for.
struct Vote {
  bool all = false;    ///< say yes
  bool first = false;  ///< rank 0 does
  bool same = false;   ///< all have the same number
};
[[nodiscard]] Vote vote(Ranks& ranks, bool yes, std::uint64_t about = 0);

}  // namespace strack::sim
