// An Rdm without libfabric's objects, for tests.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/rdm.h"

namespace strack::fabric {

inline constexpr std::size_t kEager = 32'768;

inline udp::EndpointOptions endpoint_options() {
  udp::EndpointOptions o;
  o.listen = "127.0.0.1:0";
  o.paths = 2;
  o.user_data = greeting(kEager);
  return o;
}

/// Owns an Rdm and keeps what it tells; one region, whose rights a test sets.
class Told : public Host {
 public:
  void done(const Done& done) override { all.push_back(done); }
  std::byte* region(const Segment& segment, std::uint64_t access) override {
    if ((rights & access) != access || segment.address > memory.size() ||
        segment.length > memory.size() - segment.address)
      return nullptr;
    return memory.data() + segment.address;
  }
  void accessed(std::span<const Segment>, std::uint64_t) override {}
  std::unique_lock<std::mutex> alone() override {
    std::unique_lock lock(values);
    if (meanwhile) meanwhile();
    return lock;
  }

  std::vector<Done> all;
  std::vector<std::byte> memory = std::vector<std::byte>(200'000);
  std::uint64_t rights = FI_REMOTE_READ | FI_REMOTE_WRITE;
  std::mutex values;
  std::function<void()> meanwhile;  ///< done by others until the values are one's own
};

/// Two of them that know each other; both move when `until` is called.
class Pair {
 public:
  explicit Pair(const Limits& limits) {
    for (std::size_t i = 0; i < 2; ++i) {
      auto opened = udp::Endpoint::open(endpoint_options());
      EXPECT_TRUE(opened);
      names[i] = *udp::Address::parse(opened.value().local_address());
      both[i] = std::make_unique<Rdm>(std::move(opened.value()), names[i], hosts[i], limits);
    }
  }
  /// What `from` sends to the other, or the other posts for it.
  [[nodiscard]] Request request(std::size_t from, std::span<std::byte> bytes, std::uint64_t tag,
                                std::uint64_t flags = 0) {
    Request one;
    one.flags = FI_TAGGED | flags;
    one.tag = tag;
    one.local = Pieces(bytes.data(), bytes.size());
    one.peer = both[from]->peer(names[1 - from]);
    return one;
  }
  int send(std::size_t from, std::span<std::byte> bytes, std::uint64_t tag,
           std::uint64_t flags = 0) {
    return both[from]->send(request(from, bytes, tag, flags));
  }
  int receive(std::size_t at, std::span<std::byte> bytes, std::uint64_t tag) {
    return both[at]->receive(request(at, bytes, tag));
  }
  template <class Done>
  bool until(Done&& done) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
         std::chrono::steady_clock::now() < end;) {
      for (auto& one : both) one->progress();
      if (done()) return true;
    }
    return false;
  }
  /// What one was told of so many operations of a kind, all of them done well.
  [[nodiscard]] bool well(std::size_t at, Counted counted, std::size_t times) const {
    std::size_t found = 0;
    for (const Done& one : hosts[at].all) found += one.counted == counted && one.error == 0;
    return found == times;
  }
  [[nodiscard]] std::size_t connections() const {
    return both[0]->connections() + both[1]->connections();
  }

  std::array<Told, 2> hosts;
  std::array<udp::Address, 2> names;
  std::array<std::unique_ptr<Rdm>, 2> both;
};

}  // namespace strack::fabric
