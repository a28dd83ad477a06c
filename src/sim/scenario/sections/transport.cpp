// [transport]: which transport, and what all of them share. Each has its own keys, in its descriptor.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "sim/scenario/sections/sections.h"
#include "transports/registry.h"
#include "workload/amount.h"

namespace strack::sim {
namespace {

/// What each scheme is, in one sentence.
[[nodiscard]] const std::string& schemes_help() {
  static const std::string text = [] {
    std::string all;
    std::size_t left = transports::scheme_names().size();
    for (const transports::Descriptor* transport : transports::all()) {
      for (const transports::Scheme& scheme : transport->schemes) {
        if (!all.empty()) all += --left == 1 ? "; or " : "; ";
        all += scheme.help;
      }
    }
    return all + ".";
  }();
  return text;
}

[[nodiscard]] std::span<const Key> transport_keys() {
  static const std::string first = fmt::format("\"{}\"", transports::scheme_names().front());
  static const Key keys[] = {
      {.name = "scheme",
       .kind = Kind::choice,
       .words = transports::scheme_names(),
       .fallback = first,
       .needs = "a scheme is",
       .help = schemes_help()},
      {.name = "mtu",
       .kind = Kind::size,
       .fallback = "4096",
       .low = {64},
       .high = {65'535},
       .needs = "a packet's payload has 64 to 65535 bytes, such as mtu = 4096",
       .help = "Largest payload of a data packet."},
  };
  return keys;
}

}  // namespace

SectionKeys transport_section() {
  return {{"transport", false, "The protocol. Every scheme reads scheme and mtu;"},
          transport_keys()};
}

void resolve_scheme(Resolution& resolution) {
  Scenario& out = resolution.out;
  out.scheme = resolution.all.plain.text("transport.scheme");
  out.transport = transports::find(out.scheme).transport;
  STRACK_CHECK(out.transport != nullptr);  // the key's words are the schemes there are
  // Other keys of switches depend on it. Where nothing is dropped, there is nothing to trim.
  Group& set = resolution.all.plain;
  const transports::Scheme& scheme = *transports::find(out.scheme).scheme;
  const bool lossless =
      set.given("pfc.enabled") ? set.flag("pfc.enabled") : out.transport->switches.lossless;
  const bool wished = (out.transport->switches.trimming || scheme.trims) && !lossless;
  Setting& trimming = set["switch.trimming"];
  if (!trimming.given) trimming.derived = wished ? "true" : "false";
  const bool trims = trimming.given ? set.flag("switch.trimming") : wished;
  Setting& limit = set["switch.queue_limit"];
  if (trims && !limit.given && !scheme.queue_limit.empty())
    limit.settle(read_value(scheme.queue_limit));
}

namespace {

/// Whatever transport it is: before the base RTT no answer can have come.
void check_timeout(Resolution& resolution) {
  Group& set = resolution.all.plain;
  for (const Section& section : sections()) {
    const Setting* timeout = set.find(section.name, "rto_us");
    if (timeout == nullptr || !timeout->given || !timeout->was_read) continue;
    const Picoseconds base_rtt = resolution.out.base_rtt;
    if (set.time(fmt::format("{}.rto_us", section.name)) >= base_rtt) continue;
    timeout->fail_value(
        fmt::format("no answer can come before the base RTT, {}, so a timeout is at least that: "
                    "rto_us = \"25 RTT\" would do",
                    workload::format_time(base_rtt)));
  }
}

}  // namespace

void resolve_transports(Resolution& resolution) {
  const transports::Found asked = transports::find(resolution.out.scheme);
  Group& set = resolution.all.plain;
  for (const transports::Descriptor* transport : transports::all()) {
    const bool runs = transport == asked.transport;
    set.count_reads(runs);
    auto made = transport->resolve(resolution, runs ? asked.scheme : nullptr);
    if (runs) resolution.out.config.transport = std::move(made);
  }
  set.count_reads(true);
  check_timeout(resolution);
}

void note_unread(Resolution& resolution) {
  std::vector<std::string>& unread = resolution.out.unread;
  for (const Setting* setting : resolution.all.plain.unread()) {
    const std::string_view section = setting->key->section;
    // A file may well have sections for several transports; that is no mistake.
    const bool others = section != "transport" && setting->file == resolution.file &&
                        std::any_of(transports::all().begin(), transports::all().end(),
                                    [&](const auto* one) { return one->section == section; });
    if (!others) unread.push_back(fmt::format("{}.{}", section, setting->key->name));
  }
  if (unread.empty()) return;
  resolution.out.notes.push_back(fmt::format("nothing in this run reads {}: scheme {} {}",
                                             fmt::join(unread, ", "), resolution.out.scheme,
                                             "has no use for it, or a key of its own"));
}

}  // namespace strack::sim
