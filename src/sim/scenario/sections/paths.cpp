// [paths]: how packets are spread, for all transports that leave it to one of the policies of
// core/paths. Where another kind of transport runs, the section means nothing and is not shown.
#include <cstddef>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/enum_words.h"
#include "core/param_error.h"
#include "core/paths/params.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/sections/sections.h"
#include "sim/scenario/spray.h"

namespace strack::sim {
namespace {

using core::SprayPolicy;
using Params = core::SprayParams;

constexpr auto kPolicyWords = words_of<SprayPolicy>({{SprayPolicy::oblivious, "oblivious"},
                                                     {SprayPolicy::random, "random"},
                                                     {SprayPolicy::bit_reversed, "bit_reversed"},
                                                     {SprayPolicy::bitmap, "bitmap"},
                                                     {SprayPolicy::reps, "reps"},
                                                     {SprayPolicy::mixed, "mixed"},
                                                     {SprayPolicy::plb, "plb"},
                                                     {SprayPolicy::flowlet, "flowlet"},
                                                     {SprayPolicy::single, "single"}});

constexpr Key kKeys[] = {
    param<&Params::policy>(
        {.name = "policy",
         .kind = Kind::choice,
         .words = kPolicyWords,
         .otherwise = "what the transport's source names",
         .needs = "a policy is",
         .help =
             "Which entropy the next packet carries: all in turn, a random one, all in "
             "bit-reversed "
             "order, in turn past those with penalties, those that worked again, these two "
             "together; or one for long, changed after congested round trips, after gaps, never."}),
    param<&Params::paths>({.name = "count",
                           .kind = Kind::integer,
                           .otherwise = "what the transport's source names",
                           .needs = "it is a power of two from 1 to 65536, such as count = 128",
                           .help = "Entropies to choose from, a power of two. At most 256 where "
                                   "each has a penalty (bitmap, mixed)."}),
    param<&Params::reps_freeze>(
        {.name = "reps_freeze_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "10000",
         .needs = "a time is from 0 to 1 s, such as reps_freeze_us = 10000",
         .help = "reps: after a timeout it lives on known paths for so long; 0 is never."}),
    param<&Params::reps_explore>(
        {.name = "reps_explore",
         .kind = Kind::integer,
         .fallback = "16",
         .needs = "it is from 0 to 65536 packets, such as reps_explore = 16",
         .help = "reps: after that, so many packets take random ones."}),
    param<&Params::plb_marked>(
        {.name = "plb_marked",
         .kind = Kind::fraction,
         .fallback = "0.5",
         .needs = "a share is from 0 to 1 with up to six decimals, such as plb_marked = 0.5",
         .help = "plb: a round trip with this share of marked packets counts as congested."}),
    param<&Params::plb_rounds>({.name = "plb_rounds",
                                .kind = Kind::integer,
                                .fallback = "5",
                                .needs = "it is from 1 to 1000 round trips, such as plb_rounds = 5",
                                .help = "plb: so many of them in a row move the connection."}),
    param<&Params::plb_round>(
        {.name = "plb_round_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"1 RTT\"",
         .needs = "a time is from 1 ns to 1 s, such as plb_round_us = \"1 RTT\"",
         .help = "plb: what counts as a round trip."}),
    param<&Params::flowlet_gap>(
        {.name = "flowlet_gap_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"0.5 RTT\"",
         .needs = "a gap is from 0 to 1 s, such as flowlet_gap_us = \"0.5 RTT\"",
         .help = "flowlet: after a longer pause the next packet may take another path."}),
    param<&Params::flowlet_life>(
        {.name = "flowlet_life_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "the transport's timeout",
         .needs = "a time is from 0 to an hour, such as flowlet_life_us = 100",
         .help = "flowlet: if it has kept the last one so long."}),
};
constexpr std::string_view kSection = "paths";
constexpr std::size_t kCountKey = 1;
static_assert(kKeys[kCountKey].name == "count");

}  // namespace

const SectionKeys kPathsSection{{kSection, false,
                                 "How packets are spread over paths, for transports that can use "
                                 "any policy; where others run, it "
                                 "means nothing."},
                                kKeys};

void hide_paths(Resolution& resolution) {
  for (const Key& key : kKeys) {
    Setting& setting = *resolution.all.plain.find(kSection, key.name);
    setting.hidden = !setting.given;
  }
}

core::SprayParams spray_of(Resolution& resolution, core::SprayParams usual, bool policies) {
  Group& set = resolution.all.plain;
  const std::span<const Key> all = kKeys;
  const std::span<const Key> read = policies ? all : all.subspan(kCountKey, 1);
  for (const Key& key : all) set.find(kSection, key.name)->hidden = true;
  for (const Key& key : read) set.find(kSection, key.name)->hidden = false;
  core::SprayParams params = usual;
  take_fields(set, kSection, read, params);
  show_fields(set, kSection, read, params);
  if (const auto fault = params.fault()) {
    const std::string key = std::string_view(fault->field) == "paths" ? "count" : fault->field;
    const Setting* setting = given_setting(set, kSection, key);
    const Setting& blamed = setting != nullptr ? *setting : set["paths.policy"];
    blamed.fail(fmt::format("{} would be {}. it must be {}", key, fault->value, fault->remedy));
  }
  return params;
}

}  // namespace strack::sim
