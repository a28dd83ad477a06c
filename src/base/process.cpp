#include "base/process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace strack {
namespace {

bool is_program(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

pid_t start_process(const std::string& program, std::vector<std::string> words,
                    const ProcessFiles& files) {
  // Everything is laid out before the fork: afterwards another thread may hold the allocator's lock.
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) {
    if (child > 0) setpgid(child, child);  // whoever of the two comes first
    return child;
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (files.input >= 0) dup2(files.input, STDIN_FILENO);
  if (files.output >= 0) dup2(files.output, STDOUT_FILENO);
  if (files.errors >= 0) dup2(files.errors, STDERR_FILENO);
  execv(program.c_str(), arguments.data());
  _exit(127);
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : std::string();
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string whole = std::string(rest.substr(0, colon)) + '/' + name;
    if (colon > 0 && is_program(whole)) return whole;
    if (colon == rest.size()) return {};
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace strack
