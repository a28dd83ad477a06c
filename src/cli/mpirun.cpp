#include "cli/mpirun.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/process.h"
#include "cli/text.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kName = "strack";  // the program's name, and the provider's

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

/// Whether the user gives Open MPI this parameter among mpirun's words.
bool sets(const std::vector<std::string>& given, std::string_view parameter) {
  for (std::size_t i = 0; i + 1 < given.size(); ++i) {
    const std::string& word = given[i];
    if ((word == "--mca" || word == "-mca" || word == "--gmca" || word == "-gmca") &&
        given[i + 1] == parameter)
      return true;
  }
  return false;
}

/// Whether it names a function, as C has it or as Fortran does.
bool names(std::string_view program, std::string_view c, std::string_view fortran) {
  return program.find(c) != std::string_view::npos ||
         program.find(fortran) != std::string_view::npos;
}
bool may_use_threads(std::string_view program) {
  return names(program, "MPI_Init_thread", "mpi_init_thread");
}

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::string windows_of(std::string_view program) {
  using namespace std::string_view_literals;
  if (may_use_threads(program) || !names(program, "MPI_Init\0"sv, "mpi_init_")) return {};
  return names(program, "MPI_Win_allocate_shared", "mpi_win_allocate_shared") ? "sm,pt2pt"
                                                                              : "pt2pt";
}

std::string windows_for(const std::vector<std::string>& given) {
  std::string windows;
  for (const std::string& word : given) {
    const std::string file = find_program(word);
    const std::string program = file.empty() ? file : bytes_of(file);
    if (!program.starts_with("\177ELF")) continue;
    if (may_use_threads(program)) return {};
    const std::string its = windows_of(program);
    if (its.size() > windows.size()) windows = its;  // what it takes for shared memory, too
  }
  return windows;
}

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
                       const Variables& environment, const std::string& windows) {
  const auto value_of = [&](const std::string& name) {
    const auto found = std::find_if(environment.begin(), environment.end(),
                                    [&](const auto& one) { return one.first == name; });
    return found == environment.end() ? std::string() : found->second;
  };
  MpirunCall call;
  call.variables = {{"FI_PROVIDER_PATH", with_provider(value_of("FI_PROVIDER_PATH"), folder)},
                    {"OMPI_MCA_pml", "cm"},
                    {"OMPI_MCA_mtl", "ofi"},
                    {"OMPI_MCA_mtl_ofi_provider_include", kName}};
  // [D164] A program that is made to use threads by OMPI_MPI_THREAD_LEVEL is left alone, too.
  if (!windows.empty() && !sets(given, "osc") && !sets(given, "pml") &&
      value_of("OMPI_MCA_osc").empty() && value_of("OMPI_MPI_THREAD_LEVEL").empty())
    call.variables.emplace_back("OMPI_MCA_osc", windows);
  std::vector<std::string> forwarded{"FI_PROVIDER_PATH"};
  for (const auto& [name, value] : environment) {
    if (name.starts_with("FI_STRACK_")) forwarded.push_back(name);
  }
  // What is wrong with a setting is said in libfabric's log, which is silent unless asked.
  if (value_of("FI_LOG_LEVEL").empty()) {
    call.variables.emplace_back("FI_LOG_LEVEL", "warn");
    call.variables.emplace_back("FI_LOG_PROV", kName);
    forwarded.emplace_back("FI_LOG_LEVEL");
    forwarded.emplace_back("FI_LOG_PROV");
  } else {
    for (const char* name : {"FI_LOG_LEVEL", "FI_LOG_PROV"}) {
      if (!value_of(name).empty()) forwarded.emplace_back(name);
    }
  }
  call.words = {"mpirun"};
  for (const std::string& name : forwarded) {
    call.words.emplace_back("-x");
    call.words.push_back(name);
  }
  call.words.insert(call.words.end(), given.begin(), given.end());
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
  Variables environment;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string variable = *one;
    const std::size_t sign = variable.find('=');
    if (sign != std::string::npos)
      environment.emplace_back(variable.substr(0, sign), variable.substr(sign + 1));
  }
  MpirunCall call = mpirun_call(given, folder, environment, windows_for(given));
  for (const auto& [name, value] : call.variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (std::string& word : call.words) words.push_back(word.data());
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  return fail(fmt::format("{}: {}", program, std::strerror(errno)));
}

}  // namespace strack::cli
