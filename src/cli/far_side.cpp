#include "cli/far_side.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace strack::cli {
namespace {

using transfer::FileHandle;

constexpr std::string_view kReady = "port ";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// As a shell reads it back, whatever is in it.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

struct Child {
  pid_t id = -1;
  FileHandle to;    ///< its standard input
  FileHandle from;  ///< its standard output
};

/// With its own standard error. Or errno.
Result<Child, int> spawn(const std::vector<std::string>& words) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) return errno;
  Child child;
  child.to = FileHandle(in[1]);
  const FileHandle input(in[0]);
  if (::pipe2(out.data(), O_CLOEXEC) != 0) return errno;
  child.from = FileHandle(out[0]);
  const FileHandle output(out[1]);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  child.id = ::fork();
  if (child.id < 0) return errno;
  if (child.id == 0) {
    ::dup2(input.get(), STDIN_FILENO);
    ::dup2(output.get(), STDOUT_FILENO);
    ::signal(SIGINT, SIG_IGN);  // Ctrl-C is ours to answer: it is told by the end of its input
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  return child;
}

/// Its first line, or what came before it ended.
std::string first_line(const FileHandle& from, const std::atomic<bool>& stop) {
  std::string line;
  while (!stop.load(std::memory_order_relaxed)) {
    pollfd waiting{from.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 100) <= 0) continue;
    char c = 0;
    const ssize_t count = ::read(from.get(), &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || c == '\n' || line.size() == 200) break;
    line += c;
  }
  return line;
}

/// What ssh's configuration calls a host; the name itself where that is not known.
std::string host_of(const FarSide::Options& options, const std::atomic<bool>& stop) {
  std::string host = options.host.substr(options.host.find('@') + 1);  // npos + 1: all of it
  std::vector<std::string> words = words_of(options.ssh);
  // Without -T it says that there is no terminal, though it is only to print its settings.
  words.insert(words.end(), {"-G", "-T", options.host});
  auto child = spawn(words);
  if (!child) return host;
  child.value().to.reset();
  for (std::string line = first_line(child.value().from, stop); !line.empty();
       line = first_line(child.value().from, stop)) {
    if (line.starts_with("hostname ")) host = line.substr(9);
  }
  ::kill(child.value().id, SIGTERM);
  ::waitpid(child.value().id, nullptr, 0);
  return host.find(':') == std::string::npos || host.starts_with('[') ? host : "[" + host + "]";
}

}  // namespace

std::string far_command(const FarSide::Options& options) {
  return fmt::format("exec {} --until-eof --key-file - {} {}{}{}",
                     options.strack.empty() ? "strack recv" : in_quotes(options.strack) + " recv",
                     options.serve ? "--serve" : "--create --dir",
                     in_quotes(options.folder.empty() ? "." : options.folder),
                     options.may_delete ? " --allow-delete" : "",
                     options.port.empty() ? "" : fmt::format(" --port {}", options.port));
}

Result<std::unique_ptr<FarSide>, std::string> FarSide::start(const Options& options,
                                                             const std::atomic<bool>& stop) {
  if (options.host.starts_with('-'))
    return fmt::format("'{}' is not the name of a host", printable(options.host));
  std::vector<std::string> words = words_of(options.ssh);
  if (words.empty()) return std::string("--ssh-command is empty. write one such as 'ssh -p 2222'");
  words.insert(words.end(), {options.host, far_command(options)});
  auto child = spawn(words);
  if (!child) return fmt::format("{} cannot be started: {}", words[0], ::strerror(child.error()));
  std::unique_ptr<FarSide> far(new FarSide);
  far->child_ = child.value().id;
  far->to_ = std::move(child.value().to);
  far->from_ = std::move(child.value().from);
  far->key_ = udp::new_key();
  ::signal(SIGPIPE, SIG_IGN);
  std::string line = udp::key_text(far->key_) + "\n";
  [[maybe_unused]] const auto written = ::write(far->to_.get(), line.data(), line.size());
  ::explicit_bzero(line.data(), line.size());
  const std::string ready = first_line(far->from_, stop);
  if (stop.load()) return std::string("interrupted");
  if (!ready.starts_with(kReady))
    return fmt::format(
        "`{}` has not started the other side on {}{}. is strack there? --remote-strack says where",
        options.ssh, printable(options.host),
        ready.empty() ? std::string() : fmt::format(": it says '{}'", printable(ready)));
  far->port_ = ready.substr(kReady.size());
  far->host_ = host_of(options, stop);
  return far;
}

bool FarSide::is_alive() {
  if (child_ > 0 && ::waitpid(child_, nullptr, WNOHANG) == child_) child_ = -1;
  return child_ > 0;
}

FarSide::~FarSide() {
  ::explicit_bzero(key_.data(), key_.size());
  to_.reset();
  // A moment for what it has to put in order there.
  for (int i = 0; i < 200 && is_alive(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (child_ <= 0) return;
  ::kill(child_, SIGTERM);
  ::waitpid(child_, nullptr, 0);
}

}  // namespace strack::cli
