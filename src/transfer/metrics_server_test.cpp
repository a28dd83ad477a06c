#include "transfer/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

class MetricsServerTest : public ::testing::Test {
 protected:
  explicit MetricsServerTest(std::chrono::milliseconds patience = MetricsServer::kPatience)
      : server_(MetricsServer::open(
            "127.0.0.1:0", [this] { return text_; }, patience)) {}

  FileHandle connect() {
    const std::string& address = server_.value().address();
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    FileHandle socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return socket;
  }
  /// All that comes until the server closes, which it must within some seconds.
  std::string answer(const FileHandle& socket) {
    std::string all;
    std::array<char, 65536> buffer;
    for (int i = 0; i < 500; ++i) {
      server_.value().poll();
      const ssize_t count = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (count == 0) return all;
      if (count > 0) all.append(buffer.data(), static_cast<std::size_t>(count));
      if (count < 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "the server does not close; so far: " << all.substr(0, 200);
    return all;
  }
  std::string ask(const std::string& request) {
    const FileHandle socket = connect();
    EXPECT_EQ(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return answer(socket);
  }

  std::string text_ = "strack_x 1\n";
  Result<MetricsServer, std::string> server_;
};

TEST_F(MetricsServerTest, Answers) {
  EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
            "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            "Content-Length: 11\r\nConnection: close\r\n\r\nstrack_x 1\n");
  text_ = "strack_x 2\n";
  EXPECT_TRUE(ask("GET / HTTP/1.0\n\n").ends_with("strack_x 2\n"));
  EXPECT_TRUE(ask("HEAD /metrics?a=b HTTP/1.0\r\n\r\n").ends_with("\r\n\r\n"));
}

TEST_F(MetricsServerTest, ALongAnswerArrivesWhole) {
  text_.assign(20'000'000, 'x');
  const std::string all = ask("GET /metrics HTTP/1.0\r\n\r\n");
  EXPECT_EQ(all.size() - all.find("\r\n\r\n") - 4, text_.size());
}

TEST_F(MetricsServerTest, OtherRequestsAreRefused) {
  EXPECT_TRUE(ask("GET /etc/passwd HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 404 "));
  EXPECT_TRUE(ask("POST /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 405 "));
  EXPECT_TRUE(ask("\r\n\r\n").starts_with("HTTP/1.0 405 "));
  EXPECT_TRUE(ask("GET /metrics " + std::string(MetricsServer::kMostRequestBytes, 'x'))
                  .starts_with("HTTP/1.0 431 "));
}

class ImpatientServerTest : public MetricsServerTest {
 protected:
  ImpatientServerTest() : MetricsServerTest(std::chrono::milliseconds(300)) {}
};

// Clients that say nothing take places, and lose them when their time is over.
TEST_F(ImpatientServerTest, SilentClientsDoNotKeepOthersOut) {
  std::vector<FileHandle> silent;
  for (std::size_t i = 0; i < MetricsServer::kMostClients; ++i) silent.push_back(connect());
  const FileHandle last = connect();
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  ASSERT_EQ(::send(last.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string all;
  std::array<char, 4096> buffer;
  for (int i = 0; i < 2000 && all.empty(); ++i) {
    server_.value().poll();
    const ssize_t count = ::recv(last.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) all.append(buffer.data(), static_cast<std::size_t>(count));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(all.starts_with("HTTP/1.0 200 OK")) << all;
}

TEST(MetricsServer, SaysWhatIsWrongWithAnAddress) {
  for (const char* address : {"", "9100", "localhost:9100", "127.0.0.1:", "127.0.0.1:70000",
                              "127.0.0.1:9x", "::1:9100", "[::g]:1"}) {
    const auto server = MetricsServer::open(address, [] { return std::string(); });
    ASSERT_FALSE(server.ok()) << address;
    EXPECT_NE(server.error().find("127.0.0.1:9100"), std::string::npos) << server.error();
  }
}

}  // namespace
}  // namespace strack::transfer
