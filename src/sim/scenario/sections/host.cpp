// [host]: hosts and their NICs.
#include <string>

#include <fmt/format.h>

#include "sim/scenario/sections/sections.h"

namespace strack::sim {
namespace {

constexpr Key kKeys[] = {
    {.name = "data_header",
     .kind = Kind::size,
     .fallback = "64",
     .high = {4'096},
     .needs = "a header has 0 to 4096 bytes, such as data_header = 64",
     .help = "What a data packet is on the wire beyond its payload."},
    {.name = "control_size",
     .kind = Kind::size,
     .fallback = "64",
     .low = {1},
     .high = {4'096},
     .needs = "a control packet has 1 to 4096 bytes, such as control_size = 64",
     .help = "A SACK, probe, ACK, NAK or CNP on the wire, whole."},
    {.name = "start_jitter_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "0",
     .high = {kSecond},
     .needs = "a jitter is from 0 to 1 s, such as start_jitter_us = 10",
     .help = "Each flow and rank starts up to this much later, uniformly."},
    {.name = "straggler_share",
     .kind = Kind::fraction,
     .fallback = "0",
     .high = {1},
     .needs = "a share is from 0 to 1, such as straggler_share = 0.01",
     .help = "This share of hosts, drawn by the seed, sends slower."},
    {.name = "straggler_rate",
     .kind = Kind::fraction,
     .fallback = "1",
     .low = {1, 1'000},
     .high = {1},
     .needs = "a straggler's rate is a part of its port's, from 0.001 to 1, such as straggler_rate "
              "= 0.5",
     .help = "What a straggler sends at, in parts of its port's rate."},
};

class HostResolver : Resolving {
 public:
  explicit HostResolver(Resolution& resolution) : Resolving(resolution) {}

  void packets() {
    out_.config.hosts.data_header = set_.size("host.data_header");
    out_.config.hosts.control_size = set_.size("host.control_size");
    r_.mtu = set_.size("transport.mtu");
  }

  void hosts() {
    HostParams& h = out_.config.hosts;
    h.start_jitter = set_.time("host.start_jitter_us");
    h.straggler_share = set_.fraction("host.straggler_share");
    h.straggler_rate = set_.fraction("host.straggler_rate");
    if (h.straggler_share.num > 0 && h.straggler_rate == Ratio{1, 1}) {
      set_["host.straggler_share"].fail(
          fmt::format("straggler_share is {}, but straggler_rate is 1, so nobody is slow. set "
                      "straggler_rate, such as straggler_rate = 0.5",
                      set_["host.straggler_share"].literal.found()));
    }
    if (h.straggler_share.num == 0 && h.straggler_rate != Ratio{1, 1}) {
      set_["host.straggler_rate"].fail(
          fmt::format("straggler_rate is {}, but straggler_share is 0, so nobody is slow. set "
                      "straggler_share, such as straggler_share = 0.01",
                      set_["host.straggler_rate"].literal.found()));
    }
  }
};

}  // namespace

const SectionKeys kHostSection{{"host", false, "The hosts and their NICs."}, kKeys};
void resolve_packets(Resolution& resolution) { HostResolver(resolution).packets(); }
void resolve_hosts(Resolution& resolution) { HostResolver(resolution).hosts(); }

}  // namespace strack::sim
