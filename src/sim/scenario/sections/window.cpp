// [window]: what all window-based transports have in common (core/window): how losses are found and
// mended. Where another kind of transport runs, the section means nothing and is not shown.
#include "sim/scenario/window.h"

#include <string>

#include <fmt/format.h>

#include "core/param_error.h"
#include "core/window/params.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/sections/sections.h"
#include "sim/scenario/spray.h"

namespace strack::sim {
namespace {

using Params = core::WindowParams;

constexpr Key kKeys[] = {
    param<&Params::tracking_window>(
        {.name = "tracking_window",
         .kind = Kind::integer,
         .fallback = "1024",
         .needs = "a connection tracks 1 to 1024 packets, such as tracking_window = 1024",
         .help = "Packets between the expected and the newest; no window is larger."}),
    param<&Params::reorder_packets>(
        {.name = "reorder_packets",
         .kind = Kind::integer,
         .fallback = "3",
         .needs = "it is from 1 to 1024 packets, such as reorder_packets = 3",
         .help = "A packet is lost when one sent so many later has arrived."}),
    param<&Params::reorder_cwnd>({.name = "reorder_cwnd",
                                  .kind = Kind::fraction,
                                  .otherwise = "1, or 0 on a single path",
                                  .needs = "it is from 0 to 1000 windows, such as reorder_cwnd = 1",
                                  .help = "And so many windows later."}),
    param<&Params::probe_interval>(
        {.name = "probe_interval_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "3 RTT, or what the transport's source names",
         .needs = "a silence is from 0 to an hour, such as probe_interval_us = \"3 RTT\"",
         .help = "Silence before a probe; 0 sends none."}),
    param<&Params::probe_rtt_limit>(
        {.name = "probe_rtt_limit_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "2 RTT, or none on a single path",
         .needs = "a limit is 0 or more, such as probe_rtt_limit_us = \"2 RTT\"",
         .help = "A probe that took as long proves no loss; 0 is no limit."}),
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
};
constexpr std::string_view kSection = "window";

}  // namespace

const SectionKeys kWindowSection{
    {kSection, false,
     "How losses are found and mended, for window-based transports; where others run, it means "
     "nothing."},
    kKeys};

void hide_window(Resolution& resolution) {
  for (const Key& key : kKeys) {
    Setting& setting = *resolution.all.plain.find(kSection, key.name);
    setting.hidden = !setting.given;
  }
}

void set_window(Resolution& resolution, core::WindowParams& params, bool policies) {
  Group& set = resolution.all.plain;
  for (const Key& key : kKeys) set.find(kSection, key.name)->hidden = false;
  params.rto = set.time("window.rto_us");
  params.spray.flowlet_life = params.rto;
  params.spray = spray_of(resolution, params.spray, policies);
  params.adapt();
  take_fields(set, kSection, kKeys, params);
  show_fields(set, kSection, kKeys, params);
}

void fail_param(Resolution& resolution, std::string_view section, const core::ParamError& error) {
  const std::string message =
      fmt::format("{} would be {}. it must be {}", error.field, error.value, error.remedy);
  Group& set = resolution.all.plain;
  const std::string field = error.field;
  if (field == "base_rtt") set["topology.base_rtt_us"].fail(message);
  if (field == "paths") {
    set["paths.count"].fail(fmt::format("count is {}. with scheme {} it must be {}", error.value,
                                        resolution.out.scheme, error.remedy));
  }
  for (const std::string_view where : {section, kSection}) {
    if (const Setting* setting = given_setting(set, where, field)) setting->fail(message);
  }
  // A default that does not suit the tracking window.
  if (Setting& tracking = set["window.tracking_window"]; tracking.given) tracking.fail(message);
  throw Failed{{resolution.file, 0, message}};
}

}  // namespace strack::sim
