#include "perf/hints.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace strack::perf {
namespace {

/// So much of a core, and it has no time left.
constexpr double kSaturated = 0.95;
/// Sockets besides those of paths, standard input and output, and the like.
constexpr std::uint64_t kOtherDescriptors = 8;
constexpr std::uint64_t kJumbo = 8192;

std::uint64_t number_in(const char* file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  return in >> number ? number : 0;
}

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

void add_buffer(std::vector<std::string>& out, const char* name, const char* option,
                std::uint64_t wanted, std::uint64_t allowed, bool may_exceed) {
  // Half is asked for, since the kernel doubles it.
  if (may_exceed || allowed == 0 || allowed >= wanted / 2) return;
  out.push_back(
      fmt::format("{} buffers are smaller than asked for: sysctl -w {}={} allows them ({} now)",
                  name, option, wanted / 2, allowed));
}

void add_descriptors(std::vector<std::string>& out, const udp::EndpointOptions& settings,
                     std::uint64_t allowed) {
  const std::uint64_t threads = std::max<std::uint64_t>(settings.threads, 1);
  const std::uint64_t needed = threads * settings.paths + kOtherDescriptors * threads;
  if (allowed == 0 || allowed >= needed) return;
  out.push_back(fmt::format(
      "{} files may be open, which are too few for {} paths{}: some share a port. "
      "ulimit -n {} gives each its own",
      allowed, settings.paths, threads > 1 ? fmt::format(" of {} threads", threads) : "", needed));
}

/// Whether a program that has used so much CPU time had none left.
bool is_saturated(double cpu, std::uint64_t threads, double seconds) {
  return seconds > 0.5 &&
         cpu > kSaturated * seconds * static_cast<double>(std::max<std::uint64_t>(threads, 1));
}

}  // namespace

SystemLimits look_at_system() {
  SystemLimits out;
  out.receive_buffer = number_in("/proc/sys/net/core/rmem_max");
  out.send_buffer = number_in("/proc/sys/net/core/wmem_max");
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
    out.descriptors = files.rlim_cur;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    constexpr int kNetAdmin = 12;
    if (line.starts_with("CapEff:"))
      out.may_exceed = (std::strtoull(line.c_str() + 7, nullptr, 16) >> kNetAdmin & 1) != 0;
  }
  out.receive_errors = receive_errors();
  return out;
}

std::vector<std::string> hints(const udp::EndpointOptions& settings, const SystemLimits& system) {
  std::vector<std::string> out;
  add_buffer(out, "receive", "net.core.rmem_max", settings.receive_buffer, system.receive_buffer,
             system.may_exceed);
  // Never more than the limit, whoever asks.
  add_buffer(out, "send", "net.core.wmem_max", settings.send_buffer, system.send_buffer, false);
  add_descriptors(out, settings, system.descriptors);
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
  for (std::string& one : hints(settings, after)) out.push_back(std::move(one));
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
