// STrack as the rest of the program knows it: its schemes, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/enum_words.h"
#include "base/result.h"
#include "core/param_error.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/resolution.h"
#include "sim/transport.h"
#include "transports/strack/demo.h"
#include "transports/strack/params.h"
#include "transports/strack/sim.h"

namespace strack::transports {
namespace {

using core::EchoRule;
using core::IncreaseRule;
using core::OooWindow;
using core::PathPolicy;
using core::ProbeRecovers;
using core::WindowRule;
using sim::Kind;
using sim::param;
using sim::Setting;
using Params = core::StrackParams;

constexpr Scheme kSchemes[] = {
    {.name = "strack",
     .label = "STrack",
     .role = "strack",
     .help = "STrack as in the paper",
     .colour = Colour::blue},
    {.name = "strack-oblivious",
     .label = "STrack, oblivious",
     .role = "oblivious",
     .help = "its congestion control with oblivious spray, that is round robin over the paths",
     .colour = Colour::green},
    {.name = "strack-single-path",
     .label = "STrack, single path",
     .role = "single-path",
     .help = "the same on a single path per flow",
     .colour = Colour::pink},
};
/// A sender with path health has other memory and other rules [D39].
constexpr std::string_view kVariants[] = {"transport.path_health=true"};
constexpr const Scheme& kOblivious = kSchemes[1];
constexpr const Scheme& kSinglePath = kSchemes[2];

constexpr auto kPathPolicyWords =
    words_of<PathPolicy>({{PathPolicy::adaptive, "adaptive"},
                          {PathPolicy::oblivious, "oblivious"},
                          {PathPolicy::bitmap_only, "bitmap_only"},
                          {PathPolicy::recycle_only, "recycle_only"}});
constexpr auto kIncreaseRuleWords = words_of<IncreaseRule>(
    {{IncreaseRule::acked_bytes, "acked_bytes"}, {IncreaseRule::per_ack, "per_ack"}});
constexpr auto kWindowRuleWords =
    words_of<WindowRule>({{WindowRule::fit, "fit"}, {WindowRule::overshoot, "overshoot"}});
constexpr auto kEchoRuleWords =
    words_of<EchoRule>({{EchoRule::trigger, "trigger"}, {EchoRule::any_mark, "any_mark"}});
constexpr auto kOooWindowWords =
    words_of<OooWindow>({{OooWindow::largest, "largest"}, {OooWindow::current, "current"}});
constexpr auto kProbeRecoversWords =
    words_of<ProbeRecovers>({{ProbeRecovers::sent_before_probe, "sent_before_probe"},
                             {ProbeRecovers::highest_received, "highest_received"}});

constexpr sim::Key kKeys[] = {
    param<&Params::max_paths>(
        {.name = "max_paths",
         .kind = Kind::integer,
         .otherwise = "256, or 1 on a single path",
         .needs = "a connection sprays over 1 to 256 paths, such as max_paths = 256",
         .help = "Paths (entropies) a flow sprays over."}),
    param<&Params::min_paths>(
        {.name = "min_paths",
         .kind = Kind::integer,
         .fallback = "8",
         .needs = "it is from 1 to 256, such as min_paths = 8",
         .help =
             "The least number of paths: adaptive spray goes over twice the window in packets, but "
             "never "
             "over fewer than this."}),
    param<&Params::path_policy>(
        {.name = "path_policy",
         .kind = Kind::choice,
         .words = kPathPolicyWords,
         .otherwise = "as the scheme asks",
         .needs = "a policy is",
         .help =
             "What guides the choice of path; the last two are the halves of the adaptive one."}),
    param<&Params::recycle_moves_rotation>(
        {.name = "recycle_moves_rotation",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help =
             "After a path taken from a clean SACK the rotation goes on from there, not from where "
             "it was."}),
    param<&Params::ecn_bitmap_reset>(
        {.name = "ecn_bitmap_reset_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "0",
         .needs = "an interval is from 0 to 1 s, such as ecn_bitmap_reset_us = 100",
         .help = "Forget all marked paths this often; 0 is never."}),
    param<&Params::path_health>({.name = "path_health",
                                 .kind = Kind::flag,
                                 .fallback = "false",
                                 .needs = "it is true or false",
                                 .help = "Packets avoid paths that lose them, as over UDP, where "
                                         "nobody may route around what is "
                                         "dead. A path that loses a packet rests 20 ms, then ever "
                                         "longer: of use to flows of many "
                                         "milliseconds. Oblivious spray takes no notice."}),
    param<&Params::delay_marks>({.name = "delay_marks",
                                 .kind = Kind::flag,
                                 .fallback = "false",
                                 .needs = "it is true or false",
                                 .help = "Until a connection has seen its first mark, a packet "
                                         "later than target_qhigh_us counts "
                                         "as marked. For switches that do not mark."}),
    param<&Params::least_rtt>(
        {.name = "least_rtt_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "0",
         .needs = "an RTT is from 0 to 1 s, such as least_rtt_us = 200",
         .help =
             "Shorter RTTs count as this long, as below it all is a host's noise; 0 takes them as "
             "they are."}),
    param<&Params::full_packet_time>(
        {.name = "full_packet_time_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "0",
         .needs = "a time is from 0 to an hour, such as full_packet_time_us = 13",
         .help =
             "What a full packet takes longer than an empty one: smaller ones count as full. Only "
             "where least_rtt_us is not 0; data packets' sizes are known with path_health."}),
    param<&Params::target_qdelay>(
        {.name = "target_qdelay_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"1 RTT\"",
         .needs = "a delay is from 1 ns to 10 s, such as target_qdelay_us = 8",
         .help = "Queueing delay the window settles at."}),
    param<&Params::target_qhigh>(
        {.name = "target_qhigh_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "3 x target_qdelay_us",
         .needs = "it is a delay not below target_qdelay_us, such as target_qhigh_us = \"3 RTT\"",
         .help = "Queueing delay beyond which the window follows what was delivered."}),
    {.name = "ewma",
     .kind = Kind::fraction,
     .fallback = "0.125",
     .low = {1, 65'536},
     .high = {1},
     .needs = "a weight is from 1/65536 to 1, such as ewma = 0.125",
     .help = "Weight of a new delay sample."},
    param<&Params::alpha>({.name = "alpha",
                           .kind = Kind::size,
                           .otherwise = "as Table 1 scales it",
                           .needs = "it is a size, such as alpha = \"64 KB\"",
                           .help = "Increase per window, per base RTT of delay below the target."}),
    param<&Params::beta>({.name = "beta",
                          .kind = Kind::size,
                          .otherwise = "as Table 1 scales it",
                          .needs = "it is a size, such as beta = \"5 MTU\"",
                          .help = "Additive increase per window."}),
    param<&Params::eta>({.name = "eta",
                         .kind = Kind::size,
                         .otherwise = "as Table 1 scales it",
                         .needs = "it is a size, such as eta = \"0.15 MTU\"",
                         .help = "Fairness increase per base RTT."}),
    param<&Params::gamma>(
        {.name = "gamma",
         .kind = Kind::fraction,
         .fallback = "0.8",
         .needs = "it is a fraction from 0 to 1 with up to six decimals, such as gamma = 0.8",
         .help = "Strength of the multiplicative decrease."}),
    param<&Params::max_cwnd>(
        {.name = "max_cwnd",
         .kind = Kind::size,
         .otherwise = "1.25 BDP, as far as the tracking window holds it",
         .needs = "a window is a size from min_cwnd to 1 TiB, such as max_cwnd = \"1.25 BDP\"",
         .help = "Largest window, and the first."}),
    param<&Params::min_cwnd>(
        {.name = "min_cwnd",
         .kind = Kind::size,
         .fallback = "\"1 MTU\"",
         .needs = "a window is at least one packet, such as min_cwnd = \"1 MTU\"",
         .help = "Smallest window."}),
    param<&Params::increase_rule>(
        {.name = "increase_rule",
         .kind = Kind::choice,
         .words = kIncreaseRuleWords,
         .fallback = "\"acked_bytes\"",
         .needs = "a rule is",
         .help = "Whether an acknowledgement counts by its bytes or as one."}),
    param<&Params::window_rule>({.name = "window_rule",
                                 .kind = Kind::choice,
                                 .words = kWindowRuleWords,
                                 .fallback = "\"fit\"",
                                 .needs = "a rule is",
                                 .help = "Whether a packet must fit the window whole."}),
    param<&Params::sack_bytes>(
        {.name = "sack_bytes",
         .kind = Kind::size,
         .fallback = "\"16 KiB\"",
         .needs = "it is a size from 1 byte to 1 GiB, such as sack_bytes = \"16 KiB\"",
         .help = "A SACK at least every so many bytes."}),
    param<&Params::sack_on_epsn>({.name = "sack_on_epsn",
                                  .kind = Kind::flag,
                                  .fallback = "true",
                                  .needs = "it is true or false",
                                  .help = "A SACK whenever the expected packet arrives, too."}),
    param<&Params::echo_rule>(
        {.name = "echo_rule",
         .kind = Kind::choice,
         .words = kEchoRuleWords,
         .fallback = "\"trigger\"",
         .needs = "a rule is",
         .help =
             "Whose ECN mark a SACK echoes: that of the packet that triggers it, or of any since "
             "the last SACK."}),
    param<&Params::tracking_window>(
        {.name = "tracking_window",
         .kind = Kind::integer,
         .fallback = "1024",
         .needs = "a connection tracks 1 to 1024 packets, such as tracking_window = 1024",
         .help = "Packets between the expected and the newest."}),
    param<&Params::ooo_cwnd>({.name = "ooo_cwnd",
                              .kind = Kind::fraction,
                              .fallback = "1",
                              .needs = "it is from 0 to 1000 windows, such as ooo_cwnd = 1",
                              .help = "Reordering, in windows, that counts as loss."}),
    param<&Params::ooo_min>({.name = "ooo_min",
                             .kind = Kind::integer,
                             .fallback = "5",
                             .needs = "it is from 0 to 1024 packets, such as ooo_min = 5",
                             .help = "And at least so many packets."}),
    param<&Params::ooo_window>(
        {.name = "ooo_window",
         .kind = Kind::choice,
         .words = kOooWindowWords,
         .fallback = "\"largest\"",
         .needs = "it is",
         .help = "Which window ooo_cwnd counts in: the largest of the last RTT, whose packets may "
                 "still "
                 "be under way, or the current one, which may just have been cut."}),
    param<&Params::probe_interval>(
        {.name = "probe_interval_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"3 RTT\"",
         .needs = "a silence is at least 1 ns, such as probe_interval_us = \"3 RTT\"",
         .help = "Silence before a probe."}),
    param<&Params::probe_rtt_limit>(
        {.name = "probe_rtt_limit_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"2 RTT\"",
         .needs = "a limit is 0 or more, such as probe_rtt_limit_us = \"2 RTT\"",
         .help = "A probe's RTT that rules out queues."}),
    param<&Params::probe_recovers>({.name = "probe_recovers",
                                    .kind = Kind::choice,
                                    .words = kProbeRecoversWords,
                                    .fallback = "\"sent_before_probe\"",
                                    .needs = "it is",
                                    .help = "What a probe's answer declares lost."}),
    param<&Params::reorder_time>(
        {.name = "reorder_time_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "0",
         .needs = "it is from 0 to 1 s, such as reorder_time_us = \"3 RTT\"",
         .help = "With path_health, a packet is lost when one that left so much later has arrived; "
                 "0: order alone tells."}),
    param<&Params::probe_copies>({.name = "probe_copies",
                                  .kind = Kind::integer,
                                  .fallback = "1",
                                  .needs = "it is from 1 to 16, such as probe_copies = 4",
                                  .help = "Probes at a time, each by a path of its own."}),
    param<&Params::rto>({.name = "rto_us",
                         .kind = Kind::time,
                         .unit = "us",
                         .fallback = "\"25 RTT\"",
                         .needs = "a timeout is from 1 ns to an hour, such as rto_us = \"25 RTT\"",
                         .help = "Retransmission timeout."}),
    param<&Params::rto_backoff_max>(
        {.name = "rto_backoff_max",
         .kind = Kind::integer,
         .fallback = "3",
         .needs = "it is from 0 to 10 doublings, such as rto_backoff_max = 3",
         .help = "Doublings of the timeout at most."}),
    param<&Params::probe_backoff_max>(
        {.name = "probe_backoff_max",
         .kind = Kind::integer,
         .fallback = "0",
         .needs = "it is from 0 to 20 doublings, such as probe_backoff_max = 7",
         .help = "Doublings of probe_interval_us at most, while no probe is answered."}),
    param<&Params::silent_window>(
        {.name = "silent_window",
         .kind = Kind::size,
         .fallback = "0",
         .needs = "it is 0 or a size of at least one packet, such as silent_window = \"4 MTU\"",
         .help =
             "In flight at most after a timeout before which nothing was heard; 0 is the window."}),
};
constexpr std::string_view kSection = "transport";

class StrackResolver : sim::Resolving {
 public:
  StrackResolver(sim::Resolution& resolution, const Scheme* scheme)
      : Resolving(resolution), scheme_(scheme) {}

  Params resolve() {
    Params p = checked(Params::for_nic(topology().host_rate, out_.base_rtt, r_.mtu));
    if (scheme_ == &kOblivious) p.path_policy = PathPolicy::oblivious;
    if (scheme_ == &kSinglePath) p.max_paths = 1;
    take_fields(set_, kSection, kKeys, p);
    check_scheme(p);

    p.ewma_q16 = set_.fraction("transport.ewma").of(65'536);
    if (p.gamma.den > 1'000'000)
      set_["transport.gamma"].fail_value(set_["transport.gamma"].key->needs);
    if (!set_.given("transport.target_qhigh_us")) p.target_qhigh = 3 * p.target_qdelay;
    if (!set_.given("transport.max_cwnd")) p.max_cwnd = p.nic_window();
    show_fields(set_, kSection, kKeys, p);
    return checked(p.validated());
  }

 private:
  /// What a scheme stands for cannot be taken back by a key.
  void check_scheme(const Params& p) {
    if (scheme_ == nullptr) return;
    const Setting& policy = set_["transport.path_policy"];
    const bool oblivious = p.path_policy == PathPolicy::oblivious;
    if (policy.given && oblivious != (scheme_ == &kOblivious)) {
      later("transport.path_policy", "transport.scheme")
          .fail(fmt::format("path_policy is {}, but the scheme is {}. {}", policy.literal.found(),
                            set_["transport.scheme"].literal.found(),
                            oblivious ? fmt::format("say scheme = \"{}\"", kOblivious.name)
                                      : "leave one of the two out"));
    }
    if (set_.given("transport.max_paths") && scheme_ == &kSinglePath && p.max_paths != 1) {
      later("transport.max_paths", "transport.scheme")
          .fail(fmt::format("max_paths is {}, but the scheme is \"{}\". leave one of the two out",
                            p.max_paths, scheme_->name));
    }
  }

  /// What the core refuses is reported at the key it is about.
  Params checked(const Result<Params, core::ParamError>& params) {
    if (params) return params.value();
    const core::ParamError& error = params.error();
    const std::string field = error.field;
    const std::string message =
        fmt::format("{} would be {}. it must be {}", field, error.value, error.remedy);
    if (field == "rate") set_["topology.link_gbps"].fail(message);
    if (field == "net_base_rtt")
      later("topology.base_rtt_us", "topology.host_latency_ns").fail(message);
    if (const Setting* setting = given_setting(set_, kSection, field)) setting->fail(message);
    throw sim::Failed{{r_.file, 0, message}};
  }

  const Scheme* scheme_;
};

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  return sim::strack_transport(StrackResolver(resolution, scheme).resolve());
}

}  // namespace

extern const Descriptor descriptor_of_strack;
const Descriptor descriptor_of_strack{
    .name = "strack",
    .rank = 0,
    .schemes = kSchemes,
    .section = kSection,
    .help =
        "the other keys are STrack's, and the strack schemes read them. What is not set follows "
        "from link rate, base RTT and mtu as the paper's Table 1 says.",
    .keys = kKeys,
    .resolve = resolve,
    .sacks = true,
    .udp = 1,
    .show = {.demo = strack_demo, .trace = strack_trace},
    .variants = kVariants,
    .target_qdelay = "transport.target_qdelay_us",
};

}  // namespace strack::transports
