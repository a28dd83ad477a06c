// Over loopback sockets; the side that listens has a thread of its own.
#include "transfer/dial.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "transfer/file_handle.h"

namespace strack::transfer {
namespace {

using Addresses = std::vector<std::string>;

udp::EndpointOptions options() {
  udp::EndpointOptions options;
  options.paths = 4;
  options.connect_timeout = std::chrono::milliseconds(1000);
  return options;
}

/// Takes connections until it goes.
class Listener {
 public:
  explicit Listener(const std::string& listen) {
    udp::EndpointOptions settings = options();
    settings.listen = listen;
    settings.user_data = 7;
    auto opened = udp::Endpoint::open(settings);
    if (!opened) throw std::runtime_error(opened.error().text);
    endpoint_.emplace(std::move(opened.value()));
    address = endpoint_->local_address();
    port = std::to_string(endpoint_->local_port());
    thread_ = std::thread([this] {
      while (!stop_.load()) {
        endpoint_->wait(std::chrono::milliseconds(5));
        std::array<udp::Completion, 16> taken;
        while (!endpoint_->completions(taken).empty()) {
        }
      }
    });
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() {
    stop_.store(true);
    thread_.join();
  }

  std::string address;
  std::string port;

 private:
  std::optional<udp::Endpoint> endpoint_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class DialTest : public ::testing::Test {
 protected:
  static bool has_ipv6() {
    udp::EndpointOptions settings = options();
    settings.listen = "[::1]:0";
    return static_cast<bool>(udp::Endpoint::open(settings));
  }
  /// A port where nobody listens.
  static std::string quiet_port() { return Listener("127.0.0.1:0").port; }

  std::atomic<bool> stop_{false};
};

// What "localhost" often is, where the server listens at one of the two.
TEST_F(DialTest, TheFamilyThatAnswersIsTaken) {
  if (!has_ipv6()) GTEST_SKIP() << "there is no IPv6 here";
  for (const char* listening : {"127.0.0.1:0", "[::1]:0"}) {
    const Listener server(listening);
    for (const bool v6_first : {true, false}) {
      Addresses both{"[::1]:" + server.port, "127.0.0.1:" + server.port};
      if (!v6_first) std::swap(both[0], both[1]);
      const auto dialled = dial(both, options(), stop_);
      ASSERT_TRUE(dialled.ok());
      EXPECT_EQ(dialled.value().address, server.address);
      EXPECT_EQ(dialled.value().connected.kind, udp::Kind::connected);
      EXPECT_EQ(dialled.value().connected.tag, 7u);
      EXPECT_EQ(dialled.value().endpoint.peer_address(dialled.value().connected.connection),
                server.address);
    }
  }
}

TEST_F(DialTest, TheAddressThatAnswersIsTaken) {
  const Listener server("127.0.0.1:0");
  const std::string quiet = "127.0.0.1:" + quiet_port();
  for (const Addresses& both : {Addresses{quiet, server.address}, {server.address, quiet}}) {
    const auto dialled = dial(both, options(), stop_);
    ASSERT_TRUE(dialled.ok());
    EXPECT_EQ(dialled.value().address, server.address);
    EXPECT_EQ(dialled.value().connected.tag, 7u);
  }
}

TEST_F(DialTest, AnAddressThatCannotBeTriedIsPassedOver) {
  const Listener server("127.0.0.1:0");
  // Port 0 is refused by `connect` itself, as a family that this host lacks would be.
  const auto dialled = dial({"127.0.0.1:0", server.address}, options(), stop_);
  ASSERT_TRUE(dialled.ok());
  EXPECT_EQ(dialled.value().address, server.address);
  const auto not_dialled = dial({"127.0.0.1:0"}, options(), stop_);
  ASSERT_FALSE(not_dialled.ok());
  EXPECT_FALSE(not_dialled.error().mistake.empty());
}

TEST_F(DialTest, NobodyAnswers) {
  const std::string port = quiet_port();
  const auto dialled = dial({"127.0.0.2:" + port, "127.0.0.1:" + port}, options(), stop_);
  ASSERT_FALSE(dialled.ok());
  EXPECT_EQ(dialled.error().status, udp::Status::timed_out);
  EXPECT_EQ(dialled.error().address, "127.0.0.2:" + port + " or 127.0.0.1:" + port);
  EXPECT_TRUE(dialled.error().mistake.empty());
  EXPECT_FALSE(dialled.error().stopped);
}

// An endpoint that takes no connections says so, which is worth more than the silence of the other.
TEST_F(DialTest, AnAnswerIsToldRatherThanSilence) {
  udp::EndpointOptions settings = options();
  settings.bind = "127.0.0.1:0";
  auto opened = udp::Endpoint::open(settings);
  ASSERT_TRUE(static_cast<bool>(opened));
  udp::Endpoint client = std::move(opened.value());
  std::atomic<bool> done{false};
  std::thread thread([&] {
    while (!done.load()) client.wait(std::chrono::milliseconds(5));
  });
  const std::string port = std::to_string(client.local_port());
  const auto dialled = dial({"127.0.0.2:" + port, "127.0.0.1:" + port}, options(), stop_);
  done.store(true);
  thread.join();
  ASSERT_FALSE(dialled.ok());
  EXPECT_EQ(dialled.error().status, udp::Status::not_listening);
  EXPECT_EQ(dialled.error().address, "127.0.0.1:" + port);
}

// Told while it waits for an answer: somebody hears it and says nothing.
TEST_F(DialTest, StopsWhenItIsTold) {
  const FileHandle silent(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<const sockaddr*>(&at), length), 0);
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
  std::thread thread([&] {
    pollfd heard{silent.get(), POLLIN, 0};
    ::poll(&heard, 1, 30'000);
    stop_.store(true);
  });
  udp::EndpointOptions patient = options();
  patient.connect_timeout = std::chrono::seconds(60);
  const auto dialled = dial({"127.0.0.1:" + std::to_string(ntohs(at.sin_port))}, patient, stop_);
  thread.join();
  ASSERT_FALSE(dialled.ok());
  EXPECT_TRUE(dialled.error().stopped);
}

TEST(AddressesOf, WithoutAKeyThoseOfThisHostOnly) {
  const Protection none;
  EXPECT_EQ(addresses_of("127.0.0.1", none).value(), (Addresses{"127.0.0.1:4794"}));
  EXPECT_EQ(addresses_of("[::1]:5", none).value(), (Addresses{"[::1]:5"}));
  const auto refused = addresses_of("192.0.2.1:5", none);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().find("192.0.2.1:5"), std::string::npos);
  EXPECT_EQ(addresses_of("192.0.2.1:5", {"", true}).value(), (Addresses{"192.0.2.1:5"}));
  EXPECT_FALSE(addresses_of("no such host.invalid:1", none).ok());
}

}  // namespace
}  // namespace strack::transfer
