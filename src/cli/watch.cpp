#include "cli/watch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Whether it was asked for under this machine's own name: another site's page must not read it. A browser leaves
/// the port out where it is 80.
bool is_for_us(const std::string& request) {
  std::string head;
  for (const char c : request) head += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const char* name : {"127.0.0.1", "localhost"}) {
    const std::string field = fmt::format("\r\nhost: {}", name);
    const std::size_t at = head.find(field);
    if (at == std::string::npos) continue;
    const char next = at + field.size() < head.size() ? head[at + field.size()] : ' ';
    if (next == ':' || next == '\r') return true;
  }
  return false;
}

std::string reply(const char* status, std::string_view body, const char* type) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n"
      "Cache-Control: no-store\r\nConnection: close\r\n\r\n{}",
      status, type, body.size(), body);
}

std::string answer(const std::string& request, LivePage& page) {
  if (!is_for_us(request)) return reply("403 Forbidden", "not under this name\n", "text/plain");
  if (!request.starts_with("GET / "))
    return reply("404 Not Found", "there is only /\n", "text/plain");
  return reply("200 OK", page.now(), "text/html");
}

/// Somebody who asks: first what is read, then what is still to be sent. Nobody waits for somebody slow.
class Client {
 public:
  explicit Client(int fd) : socket_(std::make_unique<Socket>(fd)), since_(Clock::now()) {}

  [[nodiscard]] pollfd wish() const {
    return {socket_->fd(), static_cast<short>(answered_ ? POLLOUT : POLLIN), 0};
  }
  /// Reads or sends what goes at once; false: that was all, or it is gone, or too slow.
  bool work(bool ready, LivePage& page) {
    if (!ready) return Clock::now() - since_ < kPatience;
    since_ = Clock::now();
    return answered_ ? send_some() : read_some(page);
  }

 private:
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::size_t kMostRead = 8'192;

  bool read_some(LivePage& page) {
    char part[1'024];
    const ssize_t got = recv(socket_->fd(), part, sizeof(part), 0);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    text_.append(part, static_cast<std::size_t>(got));
    if (text_.size() < kMostRead && text_.find("\r\n\r\n") == std::string::npos) return true;
    text_ = answer(text_, page);
    answered_ = true;
    return true;
  }
  bool send_some() {
    const ssize_t sent =
        send(socket_->fd(), text_.data() + sent_, text_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    sent_ += static_cast<std::size_t>(sent);
    return sent_ < text_.size();
  }

  std::unique_ptr<Socket> socket_;
  std::string text_;
  std::size_t sent_ = 0;
  bool answered_ = false;
  Clock::time_point since_;
};

/// Answers whoever asks until told to stop.
void serve(int listener, LivePage& page, const std::atomic<bool>& stop) {
  constexpr std::size_t kMostClients = 64;
  std::vector<Client> clients;
  while (!stop) {
    std::vector<pollfd> waiting{{listener, POLLIN, 0}};
    for (const Client& client : clients) waiting.push_back(client.wish());
    poll(waiting.data(), waiting.size(), 200);
    std::vector<Client> left;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (clients[i].work(waiting[i + 1].revents != 0, page)) left.push_back(std::move(clients[i]));
    }
    clients = std::move(left);
    if (waiting[0].revents == 0 || clients.size() >= kMostClients) continue;
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) clients.emplace_back(fd);
  }
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
  serve(listener.fd(), page, stop);
  return 0;
}

}  // namespace strack::cli
