// [record]: what is sampled.
#include <algorithm>

#include <fmt/format.h>

#include "base/enum_words.h"
#include "sim/scenario/sections/sections.h"

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
     .needs = "an interval is from 0 to 1 s, such as interval_us = 10",
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
  }
};

}  // namespace

const SectionKeys kRecordSection{
    {"record", false, "What is recorded beyond flows, jobs and totals."}, kKeys};
void resolve_record(Resolution& resolution) { RecordResolver(resolution).resolve(); }

}  // namespace strack::sim
