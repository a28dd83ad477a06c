#include "sim/cluster/rank_exchange.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace strack::sim {
namespace {

constexpr std::size_t kTransitWords = sizeof(Transit) / sizeof(std::uint64_t);
static_assert(kTransitWords * sizeof(std::uint64_t) == sizeof(Transit));

/// Words of a parcel's head, between windows.
enum Head : std::uint8_t { kEarliest, kDone, kHopsAndStop, kPackets, kLinks };

/// Values one after the other, each kind in a list of its own with its length before it.
class Packer {
 public:
  explicit Packer(std::vector<std::uint64_t>& words) : words_(words) {}

  template <class T>
  void list(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    words_.push_back(values.size());
    const std::size_t at = words_.size();
    words_.resize(at + room_for<T>(values.size()));
    if (!values.empty())
      std::memcpy(words_.data() + at, static_cast<const void*>(values.data()),
                  values.size() * sizeof(T));
  }

  template <class T>
  static std::size_t room_for(std::size_t values) {
    return (values * sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  }

 private:
  std::vector<std::uint64_t>& words_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::uint64_t> words) : words_(words) {}

  /// Appends the next list.
  template <class T>
  void list(std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::uint64_t count = word();
    const std::size_t at = values.size();
    values.resize(at + count);
    STRACK_CHECK_OP(Packer::room_for<T>(count), <=, words_.size());
    if (count > 0)
      std::memcpy(static_cast<void*>(values.data() + at), words_.data(), count * sizeof(T));
    words_ = words_.subspan(Packer::room_for<T>(count));
  }
  std::uint64_t word() {
    STRACK_CHECK(!words_.empty());
    const std::uint64_t first = words_.front();
    words_ = words_.subspan(1);
    return first;
  }

 private:
  std::span<const std::uint64_t> words_;
};

/// Something of a job, with its number.
struct NumberedTally {
  std::uint64_t job;
  JobTally tally;
};

/// And leaves nothing where they were.
void append(std::vector<std::uint64_t>& words, std::vector<std::uint64_t>& more) {
  words.insert(words.end(), more.begin(), more.end());
  more.clear();
}

std::vector<Parcel> empty_parcels(const Ranks& ranks) { return std::vector<Parcel>(ranks.count()); }

}  // namespace

// ---- Outbox ----

void Outbox::add(Bundle& bundle, LinkId link, const Transit& transit) {
  if (bundle.links.empty() || bundle.links.back() >> 32 != link)
    bundle.links.push_back(std::uint64_t{link} << 32);
  ++bundle.links.back();
  std::array<std::uint64_t, kTransitWords> words;
  std::memcpy(words.data(), static_cast<const void*>(&transit), sizeof(Transit));
  bundle.packets.insert(bundle.packets.end(), words.begin(), words.end());
}

void Outbox::take(std::span<const Partition::Cut> cuts, const Partition& partition, Lane* lanes,
                  std::uint64_t window) {
  for (const Partition::Cut& cut : cuts) {
    Lane& lane = lanes[cut.link];
    const std::span<Transit> sent = lane.written(window);
    if (sent.empty()) continue;
    std::size_t kept = 0;
    for (Transit& transit : sent) {
      const std::uint32_t to = cut.table == Partition::kWhole
                                   ? cut.rank
                                   : partition.rank_of(cut.table, transit.packet.dst());
      if (to != partition.rank()) {
        add(bundles_[to], cut.link, transit);
      } else if (kept++ != static_cast<std::size_t>(&transit - sent.data())) {
        sent[kept - 1] = transit;
      }
    }
    lane.truncate(window, kept);
  }
}

// ---- RankExchange ----

RankExchange::RankExchange(RankPart part, std::unique_ptr<Exchange> own)
    : part_(std::move(part)), own_(std::move(own)), out_(empty_parcels(*part_.ranks)) {}

Instant RankExchange::start(Instant earliest, const std::atomic<bool>* stop) {
  own_->start(earliest, stop);
  part_.ranks->watch(stop);
  return swap(earliest);
}

Instant RankExchange::run_window() {
  const Instant earliest = own_->run_window();
  window_ = part_.contexts.front()->window;
  return swap(earliest);
}

/// What there is for the others, in out_.
void RankExchange::pack() {
  for (std::uint32_t r = 0; r < out_.size(); ++r) {
    std::vector<std::uint64_t>& body = out_[r].body;
    // With one worker they only change places.
    body.swap(part_.outboxes.front()->bundle(r).packets);
    for (std::size_t w = 1; w < part_.outboxes.size(); ++w)
      append(body, part_.outboxes[w]->bundle(r).packets);
    out_[r].head[kPackets] = body.size();
    for (Outbox* outbox : part_.outboxes) append(body, outbox->bundle(r).links);
    out_[r].head[kLinks] = body.size() - out_[r].head[kPackets];
  }
  std::uint64_t done = 0;
  for (const HostReport* report : part_.reports) {
    done += report->finished.size();
    for (const JobTally& tally : report->jobs) done += tally.done;
  }
  std::uint64_t hops = 0;
  for (const WindowContext* context : part_.contexts) hops += context->packet_hops;
  for (Parcel& parcel : out_) {
    parcel.head[kDone] = done;
    parcel.head[kHopsAndStop] = 2 * hops + (own_->stopped() ? 1 : 0);
  }
  if (part_.ranks->rank() != 0) pack_reports(out_[0].body);
}

Instant RankExchange::swap(Instant earliest) {
  pack();
  for (Parcel& parcel : out_) parcel.head[kEarliest] = static_cast<std::uint64_t>(earliest.ps);
  part_.ranks->pass(out_, in_);
  hops_elsewhere_ = 0;
  for (std::uint32_t r = 0; r < in_.size(); ++r) {
    const Received& parcel = in_[r];
    earliest = std::min(earliest, Instant{static_cast<std::int64_t>(parcel.head[kEarliest])});
    done_ += parcel.head[kDone];
    stopped_ = stopped_ || (parcel.head[kHopsAndStop] & 1) != 0;
    if (r == part_.ranks->rank()) continue;
    hops_elsewhere_ += parcel.head[kHopsAndStop] / 2;
    unpack(parcel);
  }
  for (Parcel& parcel : out_) parcel.body.clear();
  return earliest;
}

void RankExchange::pack_reports(std::vector<std::uint64_t>& words) {
  Packer packer(words);
  for (HostReport* report : part_.reports) {
    packer.list(report->finished);
    packer.list(report->deliveries);
    packer.list(report->victims);
    packer.list(report->moments);
    std::vector<NumberedTally> tallies;
    for (std::size_t j = 0; j < report->jobs.size(); ++j) {
      const JobTally& tally = report->jobs[j];
      if (tally.done != 0 || tally.first != Instant::never()) tallies.push_back({j, tally});
      report->jobs[j] = {};
    }
    packer.list(tallies);
    words.push_back(std::exchange(report->bytes_acked, 0));
    report->finished.clear();
    report->deliveries.clear();
    report->victims.clear();
    report->moments.clear();
  }
}

void RankExchange::unpack(const Received& parcel) {
  const std::uint64_t* packets = parcel.body.data();
  const std::span<const std::uint64_t> behind = parcel.body.subspan(parcel.head[kPackets]);
  for (const std::uint64_t one : behind.first(parcel.head[kLinks])) {
    const auto link = static_cast<LinkId>(one >> 32);
    const auto count = static_cast<std::uint32_t>(one);
    part_.lanes[link].look_at(window_, reinterpret_cast<const Transit*>(packets), count);
    part_.mail->set(window_, part_.partition->receiver(link));
    packets += count * kTransitWords;
  }
  STRACK_CHECK(packets == parcel.body.data() + parcel.head[kPackets]);
  unpack_reports(behind.subspan(parcel.head[kLinks]));
}

void RankExchange::unpack_reports(std::span<const std::uint64_t> words) {
  if (words.empty()) return;
  Unpacker unpacker(words);
  HostReport& into = *part_.reports.front();
  for (std::size_t w = 0; w < part_.reports.size(); ++w) {
    unpacker.list(into.finished);
    unpacker.list(into.deliveries);
    unpacker.list(into.victims);
    unpacker.list(into.moments);
    std::vector<NumberedTally> tallies;
    unpacker.list(tallies);
    for (const NumberedTally& one : tallies) into.jobs[one.job].add(one.tally);
    into.bytes_acked += unpacker.word();
  }
}

// ---- Now and then ----

void Gathering::gather(Ranks& ranks) {
  std::vector<Parcel> out = empty_parcels(ranks);
  if (ranks.rank() != 0) {
    Packer packer(out[0].body);
    packer.list(flows);
    packer.list(links);
    packer.list(samples);
    packer.list(events);
    *this = {};
  }
  std::vector<Parcel> in;
  ranks.exchange(out, in);
  if (ranks.rank() != 0) return;
  for (std::size_t r = 1; r < in.size(); ++r) {
    Unpacker unpacker(in[r].body);
    unpacker.list(flows);  // ranks have hosts in order
    unpacker.list(links);
    unpacker.list(samples);
    unpacker.list(events);
  }
  const auto earlier = [](const auto& a, const auto& b) {
    return a.time != b.time ? a.time < b.time : a.flow < b.flow;
  };
  // Links are numbered as they are gone through.
  std::stable_sort(links.begin(), links.end(), [](const auto& a, const auto& b) {
    return a.time != b.time ? a.time < b.time : a.link < b.link;
  });
  std::stable_sort(samples.begin(), samples.end(), earlier);
  std::stable_sort(events.begin(), events.end(), earlier);
}

void Gathering::tell(Observer& observer) const {
  for (const metrics::FlowRecord& flow : flows) observer.on_flow(flow);
  for (const metrics::LinkSample& sample : links) observer.on_link_sample(sample);
  for (const metrics::FlowSample& sample : samples) observer.on_flow_sample(sample);
  for (const metrics::FlowEvent& event : events) observer.on_flow_event(event);
}

metrics::Counters gather(Ranks& ranks, const metrics::Counters& here) {
  using metrics::Counters;
  // Of what nodes count; the others are the engine's and the recorder's, who know them at rank 0.
  static constexpr std::uint64_t Counters::*kSums[] = {&Counters::data_packets_sent,
                                                       &Counters::data_packets_delivered,
                                                       &Counters::control_packets_sent,
                                                       &Counters::retransmissions,
                                                       &Counters::probes,
                                                       &Counters::timeouts,
                                                       &Counters::marks,
                                                       &Counters::queue_drops,
                                                       &Counters::trims,
                                                       &Counters::failure_drops,
                                                       &Counters::error_drops,
                                                       &Counters::no_route_drops,
                                                       &Counters::cnps,
                                                       &Counters::naks,
                                                       &Counters::pause_frames,
                                                       &Counters::ports_paused,
                                                       &Counters::lossless_violations,
                                                       &Counters::victim_packets,
                                                       &Counters::victim_flows,
                                                       &Counters::hash};
  static constexpr Bytes Counters::*kDeepest[] = {&Counters::deepest_queue, &Counters::buffer_max};
  std::vector<Parcel> out = empty_parcels(ranks);
  std::vector<std::uint64_t>& words = out[0].body;
  for (const auto sum : kSums) words.push_back(here.*sum);
  for (const auto most : kDeepest) words.push_back(static_cast<std::uint64_t>((here.*most).value));
  words.push_back(static_cast<std::uint64_t>(here.paused.value));
  for (const metrics::OwnTotal& own : here.own) words.push_back(own.value);
  std::vector<Parcel> in;
  ranks.exchange(out, in);
  Counters all = here;
  if (ranks.rank() != 0) return all;
  for (std::size_t r = 1; r < in.size(); ++r) {
    Unpacker unpacker(in[r].body);
    for (const auto sum : kSums) all.*sum += unpacker.word();
    for (const auto most : kDeepest)
      all.*most = std::max(all.*most, bytes(static_cast<std::int64_t>(unpacker.word())));
    all.paused += ps(static_cast<std::int64_t>(unpacker.word()));
    for (metrics::OwnTotal& own : all.own) own.value += unpacker.word();
  }
  return all;
}

Vote vote(Ranks& ranks, bool yes, std::uint64_t about) {
  std::vector<Parcel> out = empty_parcels(ranks);
  for (Parcel& parcel : out) parcel.head = {yes ? std::uint64_t{1} : 0, about};
  std::vector<Parcel> in;
  ranks.exchange(out, in);
  Vote result{true, in[0].head[0] == 1, true};
  for (const Parcel& parcel : in) {
    result.all = result.all && parcel.head[0] == 1;
    result.same = result.same && parcel.head[1] == about;
  }
  return result;
}

}  // namespace strack::sim
