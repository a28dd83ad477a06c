#include "cli/mpirun.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "cli/text.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kName = "strack";  // the program's name, and the provider's
constexpr const char* kProvider = "libstrack-fi.so";
constexpr std::uint64_t kWantedBuffer = 8 << 20;
constexpr rlim_t kWantedFiles = 1'024;

/// A variable's value; empty: it is not set.
std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

/// The folders of a list with colons.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> all;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(':', start), list.size());
    all.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return all;
}

/// A program's whole name, or nothing.
std::string find_program(const std::string& name) {
  const std::string path = text_of("PATH");
  for (const std::string& folder : split(path.empty() ? "/usr/local/bin:/usr/bin:/bin" : path)) {
    const std::string whole = folder + "/" + name;
    if (access(whole.c_str(), X_OK) == 0) return whole;
  }
  return {};
}

std::uint64_t number_in(const char* file) {
  std::uint64_t value = 0;
  std::ifstream(file) >> value;
  return value;
}

/// What the doctor has looked at.
class Findings {
 public:
  void add(bool good, const std::string& what, const std::string& found) {
    rows_.push_back({good ? "ok" : "--", what, found});
  }
  void print(const Formats& formats) const {
    Table table({"state", "what", "found"}, 3);
    for (const auto& row : rows_) table.add({row[0], row[1], row[2]});
    if (table.print_as(formats)) return;
    for (const auto& row : rows_) fmt::print("{:<4} {:<24} {}\n", row[0], row[1], row[2]);
  }

 private:
  std::vector<std::array<std::string, 3>> rows_;
};

void interfaces(Findings& findings) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        (one->ifa_flags & IFF_UP) == 0)
      continue;
    const std::uint64_t mtu =
        number_in(fmt::format("/sys/class/net/{}/mtu", one->ifa_name).c_str());
    const bool large = mtu >= 9'000;
    findings.add(
        true, fmt::format("interface {}", one->ifa_name),
        fmt::format("MTU {}{}", mtu, large ? "" : "; 9000 carries a full packet in one datagram"));
  }
  freeifaddrs(all);
}

}  // namespace

std::string provider_folder(const std::string& list, const std::string& program) {
  std::error_code error;
  for (const std::string& folder : split(list)) {
    if (!folder.empty() && fs::exists(fs::path(folder) / kProvider, error)) return folder;
  }
  const fs::path here = fs::path(program).parent_path();
  // In a build tree, and installed.
  for (const char* relative : {"../fabric", "../lib/strack", "../lib/x86_64-linux-gnu/strack",
                               "../lib/aarch64-linux-gnu/strack", "../lib64/strack"}) {
    const fs::path folder = (here / relative).lexically_normal();
    if (fs::exists(folder / kProvider, error)) return folder.string();
  }
  return {};
}

std::string provider_folder() {
  std::error_code error;
  return provider_folder(text_of("FI_PROVIDER_PATH"), fs::read_symlink("/proc/self/exe", error));
}

std::string with_provider(const std::string& list, const std::string& folder) {
  if (list.empty()) return folder;
  const std::vector<std::string> all = split(list);
  const bool there = std::find(all.begin(), all.end(), folder) != all.end();
  return there ? list : folder + ":" + list;
}

MpirunCall mpirun_call(const std::vector<std::string>& given, const std::string& folder,
                       const std::vector<std::string>& forwarded) {
  MpirunCall call;
  call.words = {"mpirun", "-x", "FI_PROVIDER_PATH"};
  for (const std::string& name : forwarded) {
    call.words.emplace_back("-x");
    call.words.push_back(name);
  }
  call.words.insert(call.words.end(), given.begin(), given.end());
  call.variables = {{"FI_PROVIDER_PATH", folder},
                    {"OMPI_MCA_pml", "cm"},
                    {"OMPI_MCA_mtl", "ofi"},
                    {"OMPI_MCA_mtl_ofi_provider_include", kName}};
  return call;
}

int mpirun(const std::vector<std::string>& given) {
  const std::string folder = provider_folder();
  if (folder.empty()) {
    return fail(fmt::format(
        "no {} beside this program. build it with libfabric's headers (Debian: libfabric-dev) or "
        "name its folder by FI_PROVIDER_PATH",
        kProvider));
  }
  const std::string program = find_program("mpirun");
  if (program.empty()) return fail("no mpirun. install Open MPI (Debian: openmpi-bin)");
  std::vector<std::string> forwarded;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string variable = *one;
    if (variable.starts_with("FI_STRACK_"))
      forwarded.push_back(variable.substr(0, variable.find('=')));
  }
  // What is wrong with a setting is said in libfabric's log, which is silent unless asked.
  if (text_of("FI_LOG_LEVEL").empty()) {
    setenv("FI_LOG_LEVEL", "warn", 1);
    setenv("FI_LOG_PROV", kName, 1);
  }
  for (const char* name : {"FI_LOG_LEVEL", "FI_LOG_PROV"}) {
    if (!text_of(name).empty()) forwarded.emplace_back(name);
  }
  MpirunCall call =
      mpirun_call(given, with_provider(text_of("FI_PROVIDER_PATH"), folder), forwarded);
  for (const auto& [name, value] : call.variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (std::string& word : call.words) words.push_back(word.data());
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  return fail(fmt::format("{}: {}", program, std::strerror(errno)));
}

int doctor(const Formats& formats) {
  bool well = true;
  Findings findings;
  const auto row = [&](bool good, const std::string& what, const std::string& found) {
    findings.add(good, what, found);
  };
  const auto needed = [&](bool good, const std::string& what, const std::string& found) {
    row(good, what, found);
    well = well && good;
  };
  const std::string folder = provider_folder();
  needed(!folder.empty(), "provider",
         folder.empty() ? fmt::format("no {}: build with libfabric-dev installed", kProvider)
                        : folder + "/" + kProvider);
  for (const auto& [program, package] : {std::pair{"mpirun", "openmpi-bin"},
                                         {"mpicc", "libopenmpi-dev"},
                                         {"fi_info", "libfabric-bin"}}) {
    const std::string found = find_program(program);
    const bool must = std::string(program) == "mpirun";
    const std::string text = found.empty() ? fmt::format("missing (Debian: {})", package) : found;
    if (must) {
      needed(!found.empty(), program, text);
    } else {
      row(!found.empty(), program, text);
    }
  }
  interfaces(findings);
  for (const auto& [name, file] : {std::pair{"receive buffer", "/proc/sys/net/core/rmem_max"},
                                   {"send buffer", "/proc/sys/net/core/wmem_max"}}) {
    const std::uint64_t most = number_in(file);
    const bool enough = most >= kWantedBuffer || geteuid() == 0;
    row(enough, name,
        enough ? fmt::format("up to {} bytes{}", most,
                             geteuid() == 0 ? ", and root may have more" : "")
               : fmt::format("up to {} bytes; as root: sysctl net.core.{}={}", most,
                             fs::path(file).filename().string(), kWantedBuffer));
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  row(files.rlim_cur >= kWantedFiles, "open files",
      fmt::format("{} (an endpoint takes up to 260)", files.rlim_cur));
  row(true, "processors", fmt::format("{}", sysconf(_SC_NPROCESSORS_ONLN)));
  findings.print(formats);
  if (formats.json || formats.csv) return well ? 0 : 1;
  fmt::print("{}\n",
             well ? "ready: strack mpirun -n 4 PROGRAM" : "something that is needed is missing");
  return well ? 0 : 1;
}

}  // namespace strack::cli
