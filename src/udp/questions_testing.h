// What tests of a listener's answers to strangers share: a network of one datagram at a time.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/prng.h"
#include "base/units.h"
#include "udp/engine.h"
#include "udp/testing.h"

namespace strack::udp::testing {

/// One question at a time; answers are counted.
class Questions : public EnginesNetwork {
 public:
  explicit Questions(Picoseconds apart) : apart_(apart) {}

  Instant now() override { return clock_; }
  SendResult send(std::span<const Outgoing> batch) override {
    for (const Outgoing& out : batch) bytes += out.bytes;
    packets += batch.size();
    return SendResult::ok;
  }
  std::span<Incoming> receive() override {
    if (next_ == nullptr) return {};
    return {std::exchange(next_, nullptr), 1};
  }
  const Address& address() const override { return own_; }
  std::uint32_t largest_datagram(const Address& /*to*/) override { return 1'472; }
  void random(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(rng_.next() >> 32);
  }
  const NetworkCounters& counters() const override { return none_; }

  void ask(Engine& engine, std::span<std::uint8_t> question, const Address& from) {
    bytes = packets = 0;
    Incoming in{question, from, {}, now(), 0, false};
    next_ = &in;
    clock_ = clock_ + apart_;
    engine.poll();
    asked += question.size();
    answered += bytes;
  }
  std::uint64_t bytes = 0, packets = 0;   ///< of the last answer
  std::uint64_t asked = 0, answered = 0;  ///< all bytes

 private:
  Picoseconds apart_;
  Address own_ = *Address::parse("127.0.0.1:4794");
  Instant clock_ = at(seconds(50));
  Incoming* next_ = nullptr;
  Rng rng_{1};
  NetworkCounters none_;
};

}  // namespace strack::udp::testing
