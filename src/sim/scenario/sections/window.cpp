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
    {.name = "tracking_window",
     .kind = Kind::integer,
     .fallback = "1024",
     .low = {1},
     .high = {1'024},
     .needs = "a connection tracks 1 to 1024 packets, such as tracking_window = 1024",
     .field = field<&Params::tracking_window>(),
     .help = "Packets between the expected and the newest; no window is larger."},
    {.name = "reorder_packets",
     .kind = Kind::integer,
     .fallback = "3",
     .low = {1},
     .high = {1'024},
     .needs = "it is from 1 to 1024 packets, such as reorder_packets = 3",
     .field = field<&Params::reorder_packets>(),
     .help = "A packet is lost when one sent so many later has arrived."},
    {.name = "reorder_cwnd",
     .kind = Kind::fraction,
     .otherwise = "1, or 0 on a single path",
     .high = {1'000},
     .needs = "it is from 0 to 1000 windows, such as reorder_cwnd = 1",
     .field = field<&Params::reorder_cwnd>(),
     .help = "And so many windows later."},
    {.name = "probe_interval_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"3 RTT\"",
     .high = {3'600 * kSecond},
     .needs = "a silence is from 0 to an hour, such as probe_interval_us = \"3 RTT\"",
     .field = field<&Params::probe_interval>(),
     .help = "Silence before a probe; 0 sends none."},
    {.name = "probe_rtt_limit_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "2 RTT, or none on a single path",
     .high = {3'600 * kSecond},
     .needs = "a limit is 0 or more, such as probe_rtt_limit_us = \"2 RTT\"",
     .field = field<&Params::probe_rtt_limit>(),
     .help = "A probe that took as long proves no loss; 0 is no limit."},
    {.name = "rto_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"25 RTT\"",
     .low = {kNanosecond},
     .high = {3'600 * kSecond},
     .needs = "a timeout is from 1 ns to an hour, such as rto_us = \"25 RTT\"",
     .field = field<&Params::rto>(),
     .help = "Retransmission timeout."},
    {.name = "rto_backoff_max",
     .kind = Kind::integer,
     .fallback = "3",
     .high = {10},
     .needs = "it is from 0 to 10 doublings, such as rto_backoff_max = 3",
     .field = field<&Params::rto_backoff_max>(),
     .help = "Doublings of the timeout at most."},
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

void set_window(Resolution& resolution, core::WindowParams& params) {
  Group& set = resolution.all.plain;
  for (const Key& key : kKeys) set.find(kSection, key.name)->hidden = false;
  params.rto = set.time("window.rto_us");
  params.spray.flowlet_life = params.rto;
  params.spray = spray_of(resolution, params.spray);
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
  if (field == "paths") set["paths.count"].fail(message);
  for (const std::string_view where : {section, kSection}) {
    for (const std::string& name : {field, field + "_us"}) {
      if (Setting* setting = set.find(where, name); setting != nullptr && setting->given)
        setting->fail(message);
    }
  }
  // A default that does not suit the tracking window.
  if (Setting& tracking = set["window.tracking_window"]; tracking.given) tracking.fail(message);
  throw Failed{{resolution.file, 0, message}};
}

}  // namespace strack::sim
