#include "cli/doctor.h"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/process.h"
#include "base/shared_library.h"
#include "cli/mpirun.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kWantedBuffer = 8 << 20;
constexpr rlim_t kWantedFiles = 1'024;

std::uint64_t number_in(const std::string& file) {
  std::uint64_t value = 0;
  std::ifstream(file) >> value;
  return value;
}

/// Of an interface in this network namespace; 0: not known.
std::uint64_t mtu_of(const char* name) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return 0;
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  const bool told = ioctl(socket, SIOCGIFMTU, &request) == 0;
  close(socket);
  return told ? static_cast<std::uint64_t>(request.ifr_mtu) : 0;
}

void interfaces(Findings& findings) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        (one->ifa_flags & IFF_UP) == 0)
      continue;
    const std::uint64_t mtu = mtu_of(one->ifa_name);
    const bool large = mtu >= 9'000;
    findings.add(
        true, fmt::format("interface {}", one->ifa_name),
        fmt::format("MTU {}{}", mtu, large ? "" : "; 9000 carries a full packet in one datagram"),
        mtu);
  }
  freeifaddrs(all);
}

/// What the provider says of this environment; empty: programs will find it. One that was built before it could say
/// so is taken to be well.
std::string complaint_of(const std::string& provider) {
  const auto loaded = open_library(provider);
  if (!loaded) return loaded.error();
  void* const found = dlsym(loaded.value(), "strack_provider_complaint");
  if (found == nullptr) return {};
  const char* const said = reinterpret_cast<const char* (*)()>(found)();
  return said != nullptr ? said : "";
}

void provider(Findings& findings) {
  const std::string folder = provider_folder();
  if (folder.empty()) {
    findings.need(false, "provider",
                  fmt::format("no {}: build with libfabric-dev installed", kProvider));
    return;
  }
  const std::string file = folder + "/" + kProvider;
  const std::string complaint = complaint_of(file);
  findings.need(complaint.empty(), "provider",
                complaint.empty() ? file : fmt::format("{}: {}", file, complaint));
}

/// As mpirun counts them where nothing else tells it how many ranks a host takes: its cores.
std::size_t slots() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &allowed)) continue;
    std::string threads;
    std::ifstream(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", i)) >>
        threads;
    cores.insert(threads.empty() ? std::to_string(i) : threads);
  }
  return cores.size();
}

/// Whether Open MPI's mpirun refuses to start for who it is that starts it.
bool is_refused_root() {
  const auto is_one = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && std::string_view(value) == "1";
  };
  return geteuid() == 0 &&
         !(is_one("OMPI_ALLOW_RUN_AS_ROOT") && is_one("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"));
}

/// A command that works here.
std::string example() {
  const std::size_t most = slots();
  return fmt::format(
      "strack mpirun{}{} PROGRAM", is_refused_root() ? " --allow-run-as-root" : "",
      most < 2 ? " --oversubscribe -n 2" : fmt::format(" -n {}", std::min<std::size_t>(most, 4)));
}

void programs(Findings& findings) {
  const auto text_of = [](const std::string& found, const char* package) {
    return found.empty() ? fmt::format("missing (Debian: {})", package) : found;
  };
  const std::string mpirun = find_program("mpirun");
  findings.need(!mpirun.empty(), "mpirun", text_of(mpirun, "openmpi-bin"));
  for (const auto& [program, package] :
       {std::pair{"mpicc", "libopenmpi-dev"}, {"fi_info", "libfabric-bin"}}) {
    const std::string found = find_program(program);
    findings.add(!found.empty(), program, text_of(found, package));
  }
}

void limits(Findings& findings) {
  const bool root = geteuid() == 0;
  for (const auto& [name, file] : {std::pair{"receive buffer", "/proc/sys/net/core/rmem_max"},
                                   {"send buffer", "/proc/sys/net/core/wmem_max"}}) {
    const std::uint64_t most = number_in(file);
    const bool enough = most >= kWantedBuffer || root;
    findings.add(enough, name,
                 enough
                     ? fmt::format("up to {} bytes{}", most, root ? ", and root may have more" : "")
                     : fmt::format("up to {} bytes; as root: sysctl net.core.{}={}", most,
                                   fs::path(file).filename().string(), kWantedBuffer),
                 most);
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  findings.add(files.rlim_cur >= kWantedFiles, "open files",
               fmt::format("{} (an endpoint takes up to 260)", files.rlim_cur), files.rlim_cur);
  if (is_refused_root())
    findings.add(false, "root",
                 "mpirun refuses root without --allow-run-as-root, or OMPI_ALLOW_RUN_AS_ROOT=1 and "
                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  findings.add(true, "processors", fmt::format("{}", processors),
               static_cast<std::uint64_t>(std::max(processors, 0L)));
}

}  // namespace

void Findings::add(bool good, const std::string& what, const std::string& found,
                   const std::optional<std::uint64_t>& value) {
  rows_.push_back({good ? "ok" : "--", what, found, value ? std::to_string(*value) : ""});
}

void Findings::need(bool good, const std::string& what, const std::string& found,
                    const std::optional<std::uint64_t>& value) {
  add(good, what, found, value);
  if (good) return;
  rows_.back()[0] = "!!";
  well_ = false;
}

std::string Findings::text(std::size_t columns) const {
  constexpr std::size_t kState = 4;
  constexpr std::size_t kWhat = 24;
  std::string lines;
  for (const auto& row : rows_) {
    const std::string what = fmt::format("{:<{}} {:<{}} ", row[0], kState, row[1], kWhat);
    // What is found goes on below itself.
    std::string found = wrapped(row[2], columns > what.size() ? columns - what.size() : 0);
    for (std::size_t end = found.find('\n'); end + 1 < found.size();
         end = found.find('\n', end + 1))
      found.insert(end + 1, what.size(), ' ');
    lines += what + found;
  }
  return lines;
}

void Findings::print(const Formats& formats) const {
  Table table({"state", "what", "found", "value"}, 3);
  for (const auto& row : rows_) table.add({row[0], row[1], row[2], row[3]});
  if (table.print_as(formats)) return;
  const auto some = [this](std::string_view state) {
    return std::any_of(rows_.begin(), rows_.end(),
                       [state](const auto& row) { return row[0] == state; });
  };
  fmt::print("{}", text(terminal_width()));
  if (some("--")) fmt::print("--: goes without, and would be better with it\n");
  if (some("!!")) fmt::print("!!: is needed, and missing or broken\n");
}

int doctor(const DoctorOptions& options) {
  Findings here;
  provider(here);
  programs(here);
  interfaces(here);
  limits(here);
  const bool ready = here.well();
  Findings& all = here;
  if (!options.peer.empty()) examine_peer(options, all);
  all.print(options.formats);
  const int status = all.well() ? 0 : 1;
  if (options.formats.json || options.formats.csv) return status;
  fmt::print("{}\n", !ready ? "something that is needed is missing"
                     : !all.well()
                         ? fmt::format("something is wrong on the way to {}", options.peer)
                         : "ready: " + example());
  return status;
}

}  // namespace strack::cli
