// Answers GET /metrics over HTTP/1.0 with a text that is made when it is asked for. Enough for
// Prometheus and curl, and nothing more: no threads, no waiting, a few clients at a time, short requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transfer/file_handle.h"

namespace strack::transfer {

class MetricsServer {
 public:
  static constexpr std::size_t kMostClients = 8;
  static constexpr std::size_t kMostRequestBytes = 4096;
  static constexpr std::chrono::milliseconds kPatience{5'000};

  /// Listens at "127.0.0.1:9100" or "[::1]:9100", numeric, port 0 for any; or says what is wrong.
  /// A client that takes longer than `patience` is dropped.
  [[nodiscard]] static Result<MetricsServer, std::string> open(
      std::string_view address, std::function<std::string()> text,
      std::chrono::milliseconds patience = kPatience);

  /// Does what there is to do, without waiting. Looks at its sockets 20 times a second at most: a
  /// loop that calls it after every packet pays next to nothing.
  void poll();
  /// "127.0.0.1:9100"
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    FileHandle socket;
    Clock::time_point since;
    std::string request;
    std::string answer;
    std::size_t sent = 0;
  };

  MetricsServer(FileHandle listener, std::string address, std::function<std::string()> text,
                std::chrono::milliseconds patience)
      : listener_(std::move(listener)),
        address_(std::move(address)),
        text_(std::move(text)),
        patience_(patience) {}
  /// Whether the client is done with.
  bool serve(Client& client);

  FileHandle listener_;
  std::string address_;
  std::function<std::string()> text_;
  std::chrono::milliseconds patience_;
  std::vector<Client> clients_;
  Clock::time_point looked_{};
};

}  // namespace strack::transfer
