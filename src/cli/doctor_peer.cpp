// What `strack doctor` finds out about the way to a peer.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/doctor.h"
#include "cli/interrupt.h"
#include "cli/routers.h"
#include "perf/client.h"
#include "perf/protocol.h"
#include "transfer/dial.h"
#include "transfer/messages.h"

namespace strack::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPacketsOfEach = 8;  // entropy, at least
constexpr std::size_t kPortsToTrace = 64;
/// A search of the path's MTU that has found nothing new for so long is over.
constexpr std::chrono::milliseconds kSettled{500};
constexpr std::chrono::seconds kLongestSearch{5};
constexpr const char* kService = "strack perf server";

Picoseconds nanoseconds(std::uint64_t count) {
  return ps(static_cast<std::int64_t>(count) * 1'000);
}

/// The connection's figures once datagrams have found their size.
udp::ConnectionStatistics settle(udp::Endpoint& endpoint, udp::ConnectionId connection,
                                 const std::atomic<bool>& stop) {
  udp::ConnectionStatistics found;
  const auto end = Clock::now() + kLongestSearch;
  std::array<udp::Completion, 16> taken;
  for (auto changed = Clock::now(); !stop && Clock::now() < std::min(changed + kSettled, end);) {
    endpoint.wait(std::chrono::milliseconds(20));
    [[maybe_unused]] const auto ignored = endpoint.completions(taken);
    const auto now = endpoint.statistics(connection);
    if (!now) break;
    if (now.value().datagram_bytes != found.datagram_bytes || now.value().base_rtt_ns == 0)
      changed = Clock::now();
    found = now.value();
    if (found.base_rtt_ns != 0 && found.datagram_bytes > found.payload_bytes) break;
  }
  endpoint.close(connection);
  const auto patience = Clock::now() + std::chrono::seconds(1);
  for (bool over = false; !over && Clock::now() < patience;) {
    endpoint.wait(std::chrono::milliseconds(20));
    for (const udp::Completion& one : endpoint.completions(taken))
      over = over || one.kind == udp::Kind::closed || one.kind == udp::Kind::failed;
  }
  return found;
}

/// Data by all entropies in turn, and what became of it. Returns the lowest RTT.
std::uint64_t send_by_all(const DoctorOptions& options, udp::EndpointOptions settings,
                          const std::string& address, std::uint32_t payload, Findings& findings,
                          const std::atomic<bool>& stop) {
  perf::PlanWords words;
  words.server = address;
  words.size = std::to_string(payload);
  words.count = kPacketsOfEach * settings.paths;
  auto plan = perf::make_plan(words, options.transport.protection);
  if (!plan) {
    findings.need(false, "data", plan.error());
    return 0;
  }
  settings.oblivious = true;
  settings.path_statistics = true;
  settings.message_slots = 512;
  settings.burst = 1;  // else a few entropies have it all
  perf::Client client(settings, plan.value(), {});
  const perf::ClientResult result = client.run(stop);
  findings.need(result.ok, "data",
                result.ok
                    ? fmt::format("{} messages of {} bytes acknowledged", result.messages, payload)
                : result.problem.empty() ? "interrupted"
                                         : result.problem,
                result.messages);
  judge_entropies(result.paths, settings.paths, findings);
  const std::uint64_t lost = result.figures.retransmissions;
  findings.add(lost * 100 <= result.figures.packets, "packets sent again",
               fmt::format("{} of {}", lost, result.figures.packets), lost);
  return result.figures.base_rtt_ns;
}

}  // namespace

void judge_entropies(const std::vector<udp::PathStatistics>& paths, std::uint32_t tried,
                     Findings& findings) {
  std::uint64_t used = 0;
  std::uint64_t answered = 0;
  std::uint64_t lowest = ~std::uint64_t{0};
  std::uint64_t highest = 0;
  for (const udp::PathStatistics& path : paths) {
    used += path.packets > 0 ? 1 : 0;
    if (path.packets <= path.lost) continue;
    ++answered;
    if (path.lowest_rtt_ns == 0) continue;
    lowest = std::min(lowest, path.lowest_rtt_ns);
    highest = std::max(highest, path.lowest_rtt_ns);
  }
  findings.add(used == tried, "entropies used",
               fmt::format("{} of {} (UDP source ports; which routes they take is the network's)",
                           used, tried),
               used);
  findings.need(
      answered == used && used > 0, "entropies that answered",
      answered == used && used > 0
          ? fmt::format("{}, all of them", answered)
          : fmt::format("{} of {}: all that was sent by the others is lost; a part of the "
                        "network is dead or refuses these ports",
                        answered, used),
      answered);
  if (highest > 0)
    findings.add(
        true, "lowest RTT by entropy",
        fmt::format("{} to {}", time_text(nanoseconds(lowest)), time_text(nanoseconds(highest))),
        highest);
}

void judge_mtu(const udp::ConnectionStatistics& found, std::uint32_t wanted_payload,
               Findings& findings) {
  findings.add(true, "largest datagram",
               fmt::format("{} bytes of UDP payload are known to arrive", found.datagram_bytes),
               found.datagram_bytes);
  const bool whole = found.datagram_bytes > found.payload_bytes;
  findings.add(
      whole, "payload of a packet",
      whole
          ? fmt::format("{} bytes{}", found.payload_bytes,
                        found.payload_bytes < wanted_payload
                            ? fmt::format(", of {} wanted: an interface's MTU or the peer allows "
                                          "no more",
                                          wanted_payload)
                            : "")
          : fmt::format("{} bytes, which go in pieces: give less with --payload, or the network a "
                        "larger MTU",
                        found.payload_bytes),
      found.payload_bytes);
}

void judge_routers(const std::vector<std::vector<std::string>>& hops, std::size_t ports,
                   Findings& findings) {
  if (hops.empty()) {
    findings.add(
        true, "routers",
        "none answered: there is none on the way, or they do not tell; how many ways there "
        "are is not known");
    return;
  }
  for (std::size_t i = 0; i < hops.size(); ++i) {
    std::string names = fmt::format(
        "{}", fmt::join(hops[i].begin(),
                        hops[i].begin() +
                            static_cast<std::ptrdiff_t>(std::min<std::size_t>(hops[i].size(), 8)),
                        " "));
    if (hops[i].size() > 8) names += " ...";
    findings.add(true, fmt::format("routers at hop {}", i + 1),
                 fmt::format("{}: {}", hops[i].size(), names), hops[i].size());
  }
  const std::size_t most =
      std::max_element(hops.begin(), hops.end(), [](const auto& a, const auto& b) {
        return a.size() < b.size();
      })->size();
  findings.add(
      true, "ways to the peer",
      fmt::format("at least {}, by routers that answered for {} source ports", most, ports), most);
}

void examine_peer(const DoctorOptions& options, Findings& findings) {
  auto made = endpoint_options(options.transport);
  if (!made) return findings.need(false, "peer", made.error());
  udp::EndpointOptions settings = made.value();
  settings.connect_timeout = std::chrono::seconds(5);
  const transfer::Protection& protection = options.transport.protection;
  const auto addresses = transfer::addresses_of(options.peer, protection);
  if (!addresses) return findings.need(false, "peer", addresses.error());
  std::atomic<bool>& stop = stop_on_signals();
  auto dialled = transfer::dial(addresses.value(), settings, stop);
  if (dialled && dialled.value().connected.tag == transfer::kService) {
    // It takes nobody who is not of its kind.
    settings.user_data = transfer::kService;
    const std::vector<std::string> there{dialled.value().address};
    dialled.value().endpoint.abort(dialled.value().connected.connection);
    dialled = transfer::dial(there, settings, stop);
  }
  if (!dialled) {
    const transfer::NotDialled& why = dialled.error();
    return findings.need(false, "peer",
                         why.stopped ? "interrupted"
                         : !why.mistake.empty()
                             ? why.mistake
                             : transfer::explain(why.status, why.address, kService, protection));
  }
  const std::string address = dialled.value().address;
  const std::uint64_t service = dialled.value().connected.tag;
  const bool is_perf = service == perf::kService;
  findings.add(true, "peer",
               fmt::format("{} answers: {}", address,
                           is_perf                         ? "`strack perf server`"
                           : service == transfer::kService ? "`strack recv`"
                                                           : "another program on STrack"));
  const std::string sealing(dialled.value().endpoint.sealing());
  const udp::ConnectionStatistics found =
      settle(dialled.value().endpoint, dialled.value().connected.connection, stop);
  findings.add(true, "encryption", found.keyed ? "by " + sealing : "none: there is no key");
  judge_mtu(found, settings.max_payload, findings);
  const BitsPerSecond rate{static_cast<std::int64_t>(found.path_rate_bps)};
  findings.add(
      true, "rate found",
      found.path_rate_bps < settings.rate_bps
          ? fmt::format("{}, as full packets took to get there", rate_text(rate))
          : fmt::format("{}, this host's (--rate): nothing slower was found", rate_text(rate)),
      found.path_rate_bps);
  if (is_perf) {
    const std::uint64_t rtt =
        send_by_all(options, settings, address, found.payload_bytes, findings, stop);
    findings.add(rtt != 0, "base RTT", rtt != 0 ? time_text(nanoseconds(rtt)) : "not known", rtt);
  } else {
    findings.add(true, "base RTT",
                 fmt::format("at most {}, which set-up starts from; data would tell more",
                             time_text(nanoseconds(found.base_rtt_ns))),
                 found.base_rtt_ns);
    findings.add(true, "entropies",
                 "not tried: for that, run `strack perf server` there, which takes data");
  }
  if (!transfer::is_loopback(address))
    judge_routers(routers_to(address, kPortsToTrace), kPortsToTrace, findings);
}

}  // namespace strack::cli
