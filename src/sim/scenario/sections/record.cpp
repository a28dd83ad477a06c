// [record]: what is sampled.
#include <algorithm>

#include <fmt/format.h>

#include "base/enum_words.h"
#include "sim/net/network_graph.h"
#include "sim/scenario/expected_time.h"
#include "sim/scenario/sections/sections.h"
#include "workload/amount.h"

namespace strack::sim {
namespace {

constexpr auto kTierWords = words_of<RecordTier>({{RecordTier::all, "all"},
                                                  {RecordTier::fabric, "fabric"},
                                                  {RecordTier::host, "host"},
                                                  {RecordTier::last_hop, "last-hop"}});

enum class Messages : std::uint8_t { automatic, on, off };
constexpr auto kMessagesWords = words_of<Messages>(
    {{Messages::automatic, "auto"}, {Messages::on, "on"}, {Messages::off, "off"}});
/// Up to so many messages of a trace are recorded without being asked for.
constexpr std::uint32_t kMostMessagesRecorded = 200'000;

constexpr Key kKeys[] = {
    {.name = "interval_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "0",
     .high = {kSecond},
     .needs = "an interval is 0, or from 1 ns to 1 s, such as interval_us = 10",
     .help = "How often the series below are sampled; 0 is never."},
    {.name = "queues",
     .kind = Kind::flag,
     .fallback = "false",
     .needs = "it is true or false",
     .help = "Per link: the deepest queue in each interval."},
    {.name = "queue_threshold",
     .kind = Kind::size,
     .fallback = "0",
     .high = {kTebibyte},
     .needs = "a threshold is a size, such as queue_threshold = \"0.25 BDP\"",
     .help = "Only queues deeper than this."},
    {.name = "links",
     .kind = Kind::flag,
     .fallback = "false",
     .needs = "it is true or false",
     .help = "Per link: bytes carried in each interval."},
    {.name = "tier",
     .kind = Kind::choice,
     .words = kTierWords,
     .fallback = "\"all\"",
     .needs = "a tier is",
     .help = "Which links queues and links are about: those between switches, those between hosts "
             "and ToRs, or of these only the ones from ToR to host."},
    {.name = "flows",
     .kind = Kind::integer,
     .fallback = "0",
     .high = {100'000'000},
     .needs = "it is a number of flows, such as flows = 8",
     .help = "Window or rate, RTT and bytes acknowledged of the first so many flows, or "
             "connections of jobs."},
    {.name = "messages",
     .kind = Kind::choice,
     .words = kMessagesWords,
     .fallback = "\"auto\"",
     .needs = "it is",
     .help =
         "Every message of jobs as a flow of its own in the results: when it was posted, delivered "
         "and acknowledged. Auto is on for traces of up to 200,000 messages."},
    {.name = "inspect",
     .kind = Kind::integer,
     .fallback = "0",
     .high = {100'000},
     .needs = "it is a number of flows up to 100000, such as inspect = 4",
     .help = "Every packet sent, acknowledgement and loss of the first so many flows, or "
             "connections of jobs. Needs no interval."},
};

class RecordResolver : Resolving {
 public:
  explicit RecordResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    RecordParams& r = out_.config.record;
    r.interval = set_.time("record.interval_us");
    if (r.interval > ps(0) && r.interval < ns(1)) {
      set_["record.interval_us"].fail_value(set_["record.interval_us"].key->needs);
    }
    r.queues = set_.flag("record.queues");
    r.queue_threshold = set_.size("record.queue_threshold");
    r.links = set_.flag("record.links");
    r.flows = set_.count("record.flows");
    r.tier = set_.choice<RecordTier>("record.tier");
    r.inspect = set_.count("record.inspect");
    const auto messages = set_.choice<Messages>("record.messages");
    // Traces are asked about message by message.
    const bool from_trace = std::any_of(
        out_.workloads.begin(), out_.workloads.end(),
        [](const WorkloadSpec& w) { return w.enabled && w.kind == WorkloadKind::trace; });
    r.messages = messages == Messages::on || (messages == Messages::automatic && from_trace &&
                                              expected_messages(out_) <= kMostMessagesRecorded);
    const bool asked = r.queues || r.links || r.flows > 0;
    if (asked && r.interval == ps(0)) {
      const char* id = r.queues ? "record.queues" : r.links ? "record.links" : "record.flows";
      set_[id].fail(
          fmt::format("{} is {}, but interval_us is 0, so nothing is sampled. set it, such "
                      "as interval_us = 10",
                      set_[id].key->name, set_[id].literal.found()));
    }
    if (!asked && r.interval > ps(0)) {
      set_["record.interval_us"].fail(fmt::format(
          "interval_us is {}, but nothing is to be sampled. set queues, links or flows, "
          "such as queues = true",
          set_["record.interval_us"].literal.found()));
    }
    if (r.queue_threshold > bytes(0) && !r.queues) {
      set_["record.queue_threshold"].fail(
          fmt::format("queue_threshold is {}, but queues is false. set queues = true",
                      set_["record.queue_threshold"].literal.found()));
    }
    if (r.tier != RecordTier::all && !r.queues && !r.links) {
      set_["record.tier"].fail(
          fmt::format("tier is {}, but no link is sampled. set links = true or queues = true",
                      set_["record.tier"].literal.found()));
    }
    note_size();
  }

 private:
  /// A series that is going to be large is worth a word before it is.
  void note_size() {
    const RecordParams& r = out_.config.record;
    if (r.interval == ps(0)) return;
    const TopologyParams& t = topology();
    double duration = expected_duration(out_);
    if (out_.config.end != Instant::never())
      duration =
          std::min(duration, 1e-12 * static_cast<double>((out_.config.end - Instant{}).count()));
    double links = 2.0 * t.hosts();
    if (r.tier == RecordTier::last_hop) links /= 2;
    if (r.tier == RecordTier::fabric || r.tier == RecordTier::all) {
      const double above = t.graph != nullptr
                               ? static_cast<double>(t.graph->links.size()) - t.hosts()
                               : static_cast<double>(t.racks) * r_.rack_uplinks;
      links = (r.tier == RecordTier::all ? links : 0) + 2 * above;
    }
    const double samples = duration * 1e12 / static_cast<double>(r.interval.count());
    const double rows = samples * ((r.queues ? links : 0) + (r.links ? links : 0) + r.flows);
    constexpr double kRow = 20;  // bytes in the file
    constexpr double kLarge = 1e9;
    if (rows * kRow < kLarge) return;
    out_.notes.push_back(fmt::format(
        "sampling every {} for {} or more may write some {:.0f} million rows, {:.0f} GB: a longer "
        "interval_us, a tier or a queue_threshold would write less",
        workload::format_time(r.interval),
        workload::format_time(ps(static_cast<std::int64_t>(std::min(duration * 1e12, 9e18)))),
        rows / 1e6, rows * kRow / 1e9));
  }
};

}  // namespace

const SectionKeys kRecordSection{
    {"record", false, "What is recorded beyond flows, jobs and totals."}, kKeys};
void resolve_record(Resolution& resolution) { RecordResolver(resolution).resolve(); }

}  // namespace strack::sim
