// Both sides of a transfer over loopback sockets in one thread, and a peer that says what a test wants.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "transfer/receiver.h"
#include "transfer/sender.h"
#include "transfer/testing.h"

namespace strack::transfer::testing {

namespace fs = std::filesystem;

inline udp::Endpoint open_endpoint(const std::string& listen, const std::string& bind = {}) {
  udp::EndpointOptions options;
  options.listen = listen;
  options.bind = bind;
  options.user_data = kService;
  options.paths = 4;
  auto opened = udp::Endpoint::open(options);
  if (!opened) throw std::runtime_error(opened.error().text);
  return std::move(opened.value());
}

/// A peer that says what a test wants, and keeps what it hears.
class Puppet {
 public:
  explicit Puppet(const std::string& address, const std::string& from = {})
      : endpoint_(open_endpoint("", from)) {
    const auto connection = endpoint_.connect(address);
    if (!connection) throw std::runtime_error(connection.error().text);
    connection_ = connection.value();
    buffers_.assign(16, std::vector<std::byte>(kMaxControlBytes));
    for (std::size_t i = 0; i < buffers_.size(); ++i) post(i);
  }

  void say(const Control& message) { send(kControlTag, encode(message)); }
  void send(std::uint64_t tag, std::vector<std::byte> bytes) {
    kept_.push_back(std::move(bytes));
    EXPECT_EQ(endpoint_.send(connection_, tag, kept_.back(), 100), udp::Status::ok);
  }
  void close() { endpoint_.close(connection_); }
  void abort() { endpoint_.abort(connection_); }

  void turn() {
    endpoint_.poll();
    std::array<udp::Completion, 64> taken;
    for (const udp::Completion& completion : endpoint_.completions(taken)) {
      if (completion.kind == udp::Kind::received && completion.status == udp::Status::ok) {
        const auto message =
            decode(std::span(buffers_[completion.cookie]).first(completion.length));
        EXPECT_TRUE(message.ok());
        if (message) heard.push_back(message.value());
        post(completion.cookie);
      }
      if (completion.kind == udp::Kind::peer_closed) gone = true;
      if (completion.kind == udp::Kind::failed) gone = true;
    }
  }
  template <class Message>
  [[nodiscard]] const Message* last() const {
    for (auto one = heard.rbegin(); one != heard.rend(); ++one) {
      if (const Message* found = std::get_if<Message>(&*one)) return found;
    }
    return nullptr;
  }

  std::vector<Control> heard;
  bool gone = false;

 private:
  void post(std::size_t index) {
    [[maybe_unused]] const auto posted =
        endpoint_.post_receive(connection_, {kControlTag, kKindMask}, buffers_[index], index);
  }
  udp::Endpoint endpoint_;
  udp::ConnectionId connection_{};
  std::vector<std::vector<std::byte>> buffers_;
  std::deque<std::vector<std::byte>> kept_;
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : endpoint_(open_endpoint("127.0.0.1:0")) { open_receiver(patient()); }
  ~SessionTest() override { receiver_.reset(); }

  /// The patience is longer than any machine takes, however busy: only who says nothing is to feel it.
  static Receiver::Limits patient() {
    Receiver::Limits limits;
    limits.patience = limits.silence = std::chrono::minutes(1);
    return limits;
  }
  void open_receiver(const Receiver::Limits& limits) {
    receiver_.reset();
    auto store = Store::open((folder_ / "in").string());
    Receiver::Events events;
    events.ended = [this](const TransferSummary& summary) { ended_.push_back(summary); };
    events.noted = [this](const std::string&, const std::string& text) { notes_.push_back(text); };
    receiver_ = std::make_unique<Receiver>(endpoint_, worker_, store.value(), events, limits);
  }

  [[nodiscard]] std::string address() const { return endpoint_.local_address(); }
  [[nodiscard]] fs::path in(const std::string& name) const { return folder_ / ("in/" + name); }
  [[nodiscard]] fs::path out(const std::string& name) {
    fs::create_directories(folder_ / "out");
    return folder_ / ("out/" + name);
  }

  void turn() {
    std::this_thread::yield();  // to the workers
    endpoint_.poll();
    std::array<udp::Completion, 64> taken;
    for (const udp::Completion& completion : endpoint_.completions(taken))
      receiver_->on(completion);
    worker_.deliver();
    receiver_->pump();
  }
  /// Both sides go on until it is so; fails after a while.
  template <class Until>
  void run(Puppet& puppet, Until until) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!until()) {
      turn();
      puppet.turn();
      if (std::chrono::steady_clock::now() > limit) {
        ADD_FAILURE() << "not in 20 s";
        return;
      }
    }
  }
  /// The sender in the same thread; returns its problem.
  std::string copy(const std::vector<std::string>& sources, const std::string& to,
                   Sender::Options options = {},
                   const std::function<bool(const Sender&)>& stop = {}) {
    udp::Endpoint endpoint = open_endpoint("");
    const auto connection = endpoint.connect(address());
    EXPECT_TRUE(static_cast<bool>(connection));
    const auto destination = parse_destination("h:" + to);
    const auto tree = scan(sources, destination.value());
    EXPECT_TRUE(tree.ok());
    Worker worker;
    Sender sender(endpoint, connection.value(), worker, tree.value(), std::move(options));
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!sender.over() && !(stop && stop(sender))) {
      turn();
      endpoint.poll();
      std::array<udp::Completion, 64> taken;
      for (const udp::Completion& completion : endpoint.completions(taken)) sender.on(completion);
      worker.deliver();
      sender.pump();
      if (std::chrono::steady_clock::now() > limit) return "not in 20 s";
    }
    progress_ = sender.progress();
    lost_ = sender.lost();
    return sender.problem();
  }
  void wait_for_end(std::size_t count) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((ended_.size() < count || worker_.pending() > 0) &&
           std::chrono::steady_clock::now() < limit)
      turn();
    ASSERT_EQ(ended_.size(), count);
  }
  [[nodiscard]] std::size_t things_in() const {
    return static_cast<std::size_t>(
        std::distance(fs::recursive_directory_iterator(folder_ / "in"), {}));
  }

  TemporaryFolder folder_;
  Worker worker_;
  udp::Endpoint endpoint_;
  std::unique_ptr<Receiver> receiver_;
  std::vector<TransferSummary> ended_;
  std::vector<std::string> notes_;
  Sender::Progress progress_;
  udp::Status lost_ = udp::Status::ok;
};

}  // namespace strack::transfer::testing
