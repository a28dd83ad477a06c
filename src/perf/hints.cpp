#include "perf/hints.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "transfer/socket_hints.h"

namespace strack::perf {
namespace {

/// So much of a core, and it has no time left.
constexpr double kSaturated = 0.95;
constexpr std::uint64_t kJumbo = 8192;

/// Udp: and Udp6: have a line of names and one of numbers in /proc/net/snmp; Udp6 one line a number.
std::uint64_t receive_errors() {
  std::uint64_t errors = 0;
  std::ifstream v4("/proc/net/snmp");
  std::vector<std::string> names;
  for (std::string line; std::getline(v4, line);) {
    if (!line.starts_with("Udp: ")) continue;
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    for (std::size_t i = 0; i < names.size() && i < words.size(); ++i) {
      if (names[i] == "RcvbufErrors") errors += std::strtoull(words[i].c_str(), nullptr, 10);
    }
    names = words;
  }
  std::ifstream v6("/proc/net/snmp6");
  std::string name;
  for (std::uint64_t value = 0; v6 >> name >> value;) {
    if (name == "Udp6RcvbufErrors") errors += value;
  }
  return errors;
}

/// Whether a program that has used so much CPU time had none left.
bool is_saturated(double cpu, std::uint64_t threads, double seconds) {
  return seconds > 0.5 &&
         cpu > kSaturated * seconds * static_cast<double>(std::max<std::uint64_t>(threads, 1));
}

}  // namespace

SystemLimits look_at_system() {
  SystemLimits out;
  out.receive_errors = receive_errors();
  return out;
}

std::vector<std::string> hints(const udp::SocketLimits& limits, std::uint32_t paths) {
  std::vector<std::string> out;
  transfer::add_receive_hints(out, limits);
  transfer::add_send_hints(out, limits);
  transfer::add_sharing_hints(out, limits, paths);
  return out;
}

std::vector<std::string> hints(const ClientResult& result, const Plan& plan,
                               const udp::EndpointOptions& settings, const SystemLimits& before,
                               const SystemLimits& after) {
  std::vector<std::string> out;
  if (result.messages == 0) return out;
  const bool here = is_saturated(result.cpu_seconds, settings.threads, result.total_seconds);
  const bool there =
      is_saturated(result.server_cpu_seconds, result.server_threads, result.total_seconds);
  if (plan.pattern != Pattern::pingpong && plan.target_bps == 0 && (here || there))
    out.push_back(fmt::format(
        "{} CPU has no time left: larger packets (--payload, where the MTU allows){} and --threads "
        "(where there are several connections) help",
        here && there ? "either side's"
        : here        ? "this side's"
                      : "the server's",
        settings.burst == 1 ? ", --burst auto" : ""));
  if (after.receive_errors > before.receive_errors)
    out.push_back(fmt::format(
        "this system has lost {} datagrams for full receive buffers meanwhile, of all programs",
        after.receive_errors - before.receive_errors));
  for (std::string& one : hints(result.sockets, settings.paths)) out.push_back(std::move(one));
  const std::uint64_t payload = result.figures.payload;
  if (payload > 0 && payload < std::min<std::uint64_t>(settings.max_payload, kJumbo) &&
      plan.size > payload)
    out.push_back(fmt::format(
        "packets carry {} bytes, since the path's MTU allows no more: one of 9000 would need a {} "
        "of the packets",
        payload, payload < 2 * kJumbo / 5 ? "fifth" : "half"));
  return out;
}

}  // namespace strack::perf
