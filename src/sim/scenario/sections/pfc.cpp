// [pfc]: lossless operation.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "sim/net/topology.h"
#include "sim/scenario/literals.h"
#include "sim/scenario/lossless.h"
#include "sim/scenario/sections/sections.h"
#include "transports/registry.h"
#include "workload/amount.h"

namespace strack::sim {
namespace {

constexpr Key kKeys[] = {
    {.name = "enabled",
     .kind = Kind::flag,
     .otherwise = "as the scheme's transport wants it",
     .needs = "it is true or false",
     .help = "Whether switches pause those who send to them, rather than drop."},
    {.name = "buffer_per_tbps",
     .kind = Kind::size,
     .fallback = "\"5 MB\"",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a switch has a positive buffer, such as buffer_per_tbps = \"5 MB\"",
     .help = "A switch's buffer, per Tb/s of its ports' rates: 5 MB is 256 MB for 51.2 Tb/s."},
    {.name = "alpha",
     .kind = Kind::fraction,
     .fallback = "\"1/8\"",
     .low = {1, 1'024},
     .high = {64},
     .needs = "it is from 1/1024 to 64, such as alpha = \"1/8\"",
     .help = "A port is paused when it holds this many times what is still free."},
    {.name = "xoff",
     .kind = Kind::size,
     .fallback = "0",
     .high = {kTebibyte},
     .needs = "it is a size, such as xoff = \"1 MB\", or 0 for what alpha says",
     .help = "A port is paused when it holds this much of the shared buffer, in the place of "
             "alpha; 0 is as "
             "alpha says."},
    {.name = "reserve",
     .kind = Kind::size,
     .fallback = "\"4 KiB\"",
     .high = {kTebibyte},
     .needs = "a reserve is a size, such as reserve = \"4 KiB\"",
     .help = "What each port has for itself."},
    {.name = "headroom",
     .kind = Kind::size,
     .otherwise = "from the rate and latency of the port's link and the largest packet",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a headroom is a positive size, such as headroom = \"100 KB\"; left out, it is what "
              "the link needs",
     .help = "What each port keeps for the packets that still come after it has asked for a pause. "
             "Too little of it loses packets."},
    {.name = "xon_offset",
     .kind = Kind::size,
     .fallback = "\"8 KiB\"",
     .high = {kTebibyte},
     .needs = "an offset is a size, such as xon_offset = \"8 KiB\"",
     .help = "A pause ends when the port holds this much less than would start one."},
    {.name = "quanta",
     .kind = Kind::integer,
     .fallback = "65535",
     .low = {1},
     .high = {65'535},
     .needs = "a pause lasts 1 to 65535 quanta, such as quanta = 65535",
     .help = "How long a pause lasts unless it is renewed, in units of 512 bit times."},
};

class PfcResolver : Resolving {
 public:
  explicit PfcResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    PfcParams& p = out_.config.pfc;
    Setting& enabled = set_["pfc.enabled"];
    p.enabled = enabled.given ? set_.flag("pfc.enabled") : out_.transport->switches.lossless;
    if (!enabled.given) enabled.derived = p.enabled ? "true" : "false";
    p.buffer_per_tbps = set_.size("pfc.buffer_per_tbps");
    p.alpha = set_.fraction("pfc.alpha");
    p.xoff = set_.size("pfc.xoff");
    p.reserve = set_.size("pfc.reserve");
    if (set_.given("pfc.headroom")) p.headroom = set_.size("pfc.headroom");
    p.xon_offset = set_.size("pfc.xon_offset");
    p.quanta = set_.count("pfc.quanta");
    const std::vector<BufferPlan> plans = buffer_plans(out_.config);
    if (!set_.given("pfc.headroom")) {
      // One key, but each port's follows from its own link: that of the hosts' is shown.
      set_["pfc.headroom"].derived = size_literal(plans.front().groups.front().headroom);
    }
    if (!p.enabled) return;
    if (!out_.config.switches.control_priority) {
      // To blame is the last of all that turned both on.
      last_said({"switch.control_priority", "pfc.enabled", "transport.scheme"})
          .fail(fmt::format(
              "control_priority is false, but {}. a lossless switch has a class of "
              "its own for control packets: leave control_priority out, or set "
              "enabled = false in [pfc]",
              enabled.given ? "PFC is enabled"
                            : fmt::format("PFC is enabled, as the scheme {} asks", out_.scheme)));
    }
    for (const BufferPlan& plan : plans) check_buffer(plan);
    // A pause is renewed at half its time; the frame that does so must have left by its end, behind
    // the packet that may be in service then.
    const Bytes before_end = r_.mtu + out_.config.hosts.data_header + p.frame;
    const std::int64_t least = 2 * 8 * before_end.count() / 512 + 1;
    if (p.quanta < least) {
      set_["pfc.quanta"].fail_value(
          fmt::format("a pause of {} bit times ends before a frame behind a packet of {} bytes can "
                      "renew it: quanta = {} or more would work",
                      512 * p.quanta, (before_end - p.frame).count(), least));
    }
  }

 private:
  void check_buffer(const BufferPlan& plan) {
    const PfcParams& p = out_.config.pfc;
    if (plan.ports() > kMaxPorts) {
      later("topology.hosts", "topology.hosts_per_rack")
          .fail(fmt::format("the network needs a {} with {} ports. a switch with PFC has at most "
                            "{}: take larger racks, or three tiers",
                            plan.tier, plan.ports(), kMaxPorts));
    }
    const Bytes packet = r_.mtu + out_.config.hosts.data_header;
    // With nothing to share, every packet would start a pause.
    const Bytes needed = plan.kept + packet;
    if (plan.buffer >= needed) return;
    // To blame is the last thing said of all that makes a buffer small or a headroom large.
    Setting* last = &set_["pfc.enabled"];
    for (const char* id :
         {"transport.scheme", "topology.link_gbps", "topology.base_rtt_us",
          "topology.host_latency_ns", "topology.fabric_latency_ns", "topology.core_latency_ns",
          "pfc.buffer_per_tbps", "pfc.reserve", "pfc.headroom"}) {
      if (said_after(set_[id], *last)) last = &set_[id];
    }
    const Int128 exact = static_cast<Int128>(needed.count()) * p.buffer_per_tbps.count() /
                             std::max<std::int64_t>(1, plan.buffer.count()) +
                         1;
    const Int128 works = (exact + kb(1).count() - 1) / kb(1).count() * kb(1).count();
    const Ratio most = set_["pfc.buffer_per_tbps"].key->high;
    last->fail(fmt::format(
        "{} {} with {} ports has a buffer of {} for PFC, and the headroom and reserves of its "
        "ports take {}. {}",
        plan.tier.starts_with('a') ? "an" : "a", plan.tier, plan.ports(),
        workload::format_size(whole_kb(plan.buffer)),
        workload::format_size(whole_kb(plan.kept + kb(1) - bytes(1))),
        works > most.num
            ? "take a shorter base_rtt_us, or set a smaller headroom"
            : fmt::format("buffer_per_tbps = \"{}\" would work",
                          workload::format_size(bytes(static_cast<std::int64_t>(works))))));
  }
  /// Down to a figure that people can read.
  [[nodiscard]] static Bytes whole_kb(Bytes size) { return size / kb(1) * kb(1); }
};

}  // namespace

const SectionKeys kPfcSection{
    {"pfc", false,
     "Lossless operation: priority flow control, with a buffer shared by all ports of a switch. It "
     "works with every scheme."},
    kKeys};
void resolve_pfc(Resolution& resolution) { PfcResolver(resolution).resolve(); }

}  // namespace strack::sim
