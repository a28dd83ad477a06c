#include "cli/watch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/text.h"
#include "metrics/result_file.h"
#include "report/model.h"
#include "report/run_report.h"
#include "run/build_info.h"

namespace strack::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The file as a page, made anew when the last one is old.
class LivePage {
 public:
  explicit LivePage(const WatchOptions& options) : options_(options) {}

  const std::string& now() {
    if (!page_.empty() && (over_ || Clock::now() - made_ < std::chrono::seconds(options_.every)))
      return page_;
    // Asked first: a run that ends meanwhile is shown once more.
    over_ = is_over();
    report::RunReport made = report::report_on({options_.file});
    made.report.made = {run::kBuildInfo.version, run::kBuildInfo.commit, utc_now(),
                        fmt::format("strack sim watch {}", options_.file.string())};
    if (made.read == 0) {
      made.report.title = options_.file.string();
    }
    page_ = report::html(made.report, report::page_template());
    // The browser comes again by itself while there is more to come.
    if (!over_) {
      page_.insert(page_.find("<head>") + 6,
                   fmt::format(R"(<meta http-equiv="refresh" content="{}">)", options_.every));
    }
    made_ = Clock::now();
    return page_;
  }

 private:
  [[nodiscard]] bool is_over() const {
    const auto opened = metrics::ResultReader::open(options_.file);
    return opened && opened.value()->state().status != metrics::RunStatus::running;
  }

  const WatchOptions& options_;
  std::string page_;
  bool over_ = false;  ///< the run has ended: the page stays as it is
  Clock::time_point made_;
};

/// A socket that is closed at the end.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

/// The head of a request, as far as it is worth reading.
std::string read_request(int fd) {
  constexpr std::size_t kMost = 8'192;
  std::string text;
  char part[1'024];
  while (text.size() < kMost && text.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = recv(fd, part, sizeof(part), 0);
    if (got <= 0) break;
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

void send_all(int fd, std::string_view text, const std::atomic<bool>& stop) {
  while (!text.empty() && !stop) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // whoever is slow or gone comes again
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// Whether it was asked for under this machine's own name: another site's page must not read it.
bool is_for_us(const std::string& request) {
  std::string head;
  for (const char c : request) head += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return head.find("\r\nhost: 127.0.0.1:") != std::string::npos ||
         head.find("\r\nhost: localhost:") != std::string::npos;
}

void answer(int fd, LivePage& page, const std::atomic<bool>& stop) {
  const timeval patience{2, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const std::string request = read_request(fd);
  const auto reply = [&](const char* status, std::string_view body, const char* type) {
    send_all(fd,
             fmt::format("HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n"
                         "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
                         status, type, body.size()),
             stop);
    send_all(fd, body, stop);
  };
  if (!is_for_us(request)) return reply("403 Forbidden", "not under this name\n", "text/plain");
  if (!request.starts_with("GET / "))
    return reply("404 Not Found", "there is only /\n", "text/plain");
  reply("200 OK", page.now(), "text/html");
}

}  // namespace

int sim_watch(const WatchOptions& options) {
  if (const auto opened = metrics::ResultReader::open(options.file); !opened)
    return fail(opened.error().message);
  const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.fd(), any, size) != 0 || listen(listener.fd(), 8) != 0 ||
      getsockname(listener.fd(), any, &size) != 0) {
    return fail(fmt::format("--port {}: {}. choose another, or leave it out", options.port,
                            std::strerror(errno)));
  }
  const std::atomic<bool>& stop = stop_on_signals();
  fmt::print("http://127.0.0.1:{}/ shows {}; Ctrl-C ends it\n", ntohs(address.sin_port),
             options.file.string());
  std::fflush(stdout);
  LivePage page(options);
  while (!stop) {
    pollfd waiting{listener.fd(), POLLIN, 0};
    if (poll(&waiting, 1, 200) <= 0) continue;
    const Socket peer(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.fd() >= 0) answer(peer.fd(), page, stop);
  }
  return 0;
}

}  // namespace strack::cli
