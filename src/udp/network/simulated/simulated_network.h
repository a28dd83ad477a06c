// Sockets that are none: hosts in one process, a virtual clock, and faults drawn from a seed. For
// tests: the very engine that runs on the kernel's sockets runs on these, and whatever happens
// happens again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "base/prng.h"
#include "base/units.h"
#include "udp/engine.h"
#include "udp/network.h"

namespace strack::udp {

struct SimulatedFaults {
  Picoseconds one_way = us(10);
  Picoseconds per_byte{0};  ///< the links' slowness
  /// Of each host's own link, with a queue that marks from half a millisecond on, always from one and a half, and drops beyond ten; 0: none.
  BitsPerSecond link{0};
  std::uint32_t dead_entropies = 0;  ///< the first so many lead nowhere
  std::uint32_t spines = 0;  ///< entropies are hashed onto so many ways; 0: there is no such thing
  std::uint32_t dead_spines = 0;  ///< the first so many, for good
  std::uint32_t slow_spines = 0;  ///< so many behind these: all that goes by them is marked
  std::uint64_t hash_seed = 0;
  Instant spines_die_at = Instant::never();
  Picoseconds stamp_error{0};  ///< arrivals are stamped by a clock that is ahead by this
  Picoseconds jitter{0};       ///< up to so much more, drawn for each: reorders
  Ratio loss{0, 1};
  Ratio duplication{0, 1};
  Ratio corruption{0, 1};  ///< of one bit
  Ratio marking{0, 1};
  Instant end = Instant::never();  ///< none of these from then on
  Instant silent_from = Instant::never();
  Instant silent_until = Instant::never();  ///< in between nothing arrives at all
  std::uint32_t largest = 65'507;           ///< larger datagrams are lost
  std::uint32_t known_largest = 9'000;      ///< what hosts believe
  bool says_too_large = false;              ///< it is the hosts' own devices that are so narrow
  bool unreachable = false;                 ///< hosts know no way to each other
};

/// Which spine a packet between two hosts goes by: each direction of each pair has a hash of its own, as with ECMP.
[[nodiscard]] inline std::uint64_t spine_of(const SimulatedFaults& faults, const Address& from,
                                            const Address& to, std::uint16_t entropy) {
  const std::uint64_t flow =
      std::uint64_t{from.ip[3]} << 32 | std::uint64_t{to.ip[3]} << 16 | entropy;
  return mix64(faults.hash_seed ^ mix64(flow)) % faults.spines;
}
/// Whether that is a dead one. Set-up's own socket is spared; it has no other way to go.
[[nodiscard]] inline bool meets_dead_spine(const SimulatedFaults& faults, const Address& from,
                                           const Address& to, std::uint16_t entropy) {
  return faults.spines != 0 && entropy != kPrimary &&
         spine_of(faults, from, to, entropy) < faults.dead_spines;
}
[[nodiscard]] inline bool meets_slow_spine(const SimulatedFaults& faults, const Address& from,
                                           const Address& to, std::uint16_t entropy) {
  return faults.slow_spines != 0 && entropy != kPrimary &&
         spine_of(faults, from, to, entropy) - faults.dead_spines < faults.slow_spines;
}

inline constexpr std::uint16_t kEntropyPorts = 30'000;
/// Whether a port that only sends takes it.
[[nodiscard]] inline bool is_reset_or_reject(std::uint8_t first_byte) {
  const auto type = static_cast<wire::Type>(first_byte & 0x0f);
  return first_byte >> 4 == wire::kVersion &&
         (type == wire::Type::reset || type == wire::Type::reject);
}

class SimulatedWorld;

class SimulatedHost final : public Network {
 public:
  SimulatedHost(SimulatedWorld& world, const Address& address, std::uint64_t seed);
  ~SimulatedHost() override;

  /// Moves there. Any address is loopback's; port 0 is one that nobody has.
  [[nodiscard]] std::optional<Error> open(const Address& local) override;
  [[nodiscard]] bool is_open() const override { return address_.port != 0; }
  /// Lets the time of the world pass until something arrives anywhere.
  void sleep(Picoseconds time) override;
  void yield() override { sleep(us(1)); }
  [[nodiscard]] int file_descriptor() const override { return -1; }
  [[nodiscard]] Instant now() override;
  SendResult send(std::span<const Outgoing> batch) override;
  [[nodiscard]] std::span<Incoming> receive() override;
  [[nodiscard]] std::uint32_t largest_datagram(const Address& to) override;
  void random(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(random_.next() >> 32);
  }
  [[nodiscard]] const NetworkCounters& counters() const override { return counters_; }
  [[nodiscard]] const Address& address() const override { return address_; }

 private:
  friend class SimulatedWorld;
  struct Waiting {
    std::vector<std::uint8_t> bytes;
    Address from;
    Instant arrival;
    std::uint16_t segment;
    bool marked;
  };

  SimulatedWorld& world_;
  Address address_;
  Rng random_;
  Instant link_free_{};  ///< from what it has sent
  std::vector<Waiting> inbox_;
  std::vector<Waiting> taken_;
  std::vector<Incoming> incoming_;
  NetworkCounters counters_;
};

class SimulatedWorld {
 public:
  SimulatedWorld(std::uint64_t seed, const SimulatedFaults& faults)
      : faults_(faults), rng_(Rng(seed).stream("network")), seed_(seed) {}

  SimulatedHost& add_host() {
    owned_.push_back(std::make_unique<SimulatedHost>(*this, address_of(owned_.size()),
                                                     mix64(seed_ ^ (owned_.size() + 1) * 0x9e37)));
    return *owned_.back();
  }
  [[nodiscard]] static Address address_of(std::size_t host) {
    Address address;
    address.ip[0] = 127;
    address.ip[3] = static_cast<std::uint8_t>(host + 1);
    address.port = 4794;
    return address;
  }

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] Instant next_arrival() const {
    return flying_.empty() ? Instant::never() : flying_.top().when;
  }
  /// Lets time pass and everything arrive that is due by then.
  void advance_to(Instant time) {
    now_ = std::max(now_, time);
    while (!flying_.empty() && flying_.top().when <= now_) {
      const Flight& flight = flying_.top();
      if (std::find(hosts_.begin(), hosts_.end(), flight.to) != hosts_.end()) {
        flight.to->inbox_.push_back(
            {flight.bytes, flight.from, flight.when, flight.segment, flight.marked});
      }
      flying_.pop();
    }
  }
  /// Anything at all, from anybody: for strangers. Arrives at once.
  void inject(SimulatedHost& to, const Address& from, std::vector<std::uint8_t> bytes,
              bool marked = false) {
    to.inbox_.push_back({std::move(bytes), from, now_, 0, marked});
  }
  SimulatedFaults& faults() { return faults_; }
  /// Every datagram that was sent, when somebody asks for it: to be played again.
  struct Captured {
    Address from, to;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Captured>* capture = nullptr;
  /// Whether it arrives at all, if somebody stands on the way.
  std::function<bool(const Captured&)> filter;

  std::uint64_t datagrams = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t corrupted = 0;

 private:
  friend class SimulatedHost;
  struct Flight {
    Instant when;
    std::uint64_t order;
    SimulatedHost* to;
    Address from;
    std::vector<std::uint8_t> bytes;
    std::uint16_t segment;
    bool marked;

    friend bool operator>(const Flight& a, const Flight& b) {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };

  void send(SimulatedHost& from, const Outgoing& out) {
    SimulatedHost* to = nullptr;
    for (SimulatedHost* host : hosts_) {
      const bool answer = out.to->port >= kEntropyPorts &&
                          is_reset_or_reject(*static_cast<const std::uint8_t*>(out.pieces[0].data));
      if (host->address_ == *out.to || (answer && host->address_.same_host(*out.to))) to = host;
    }
    std::vector<std::uint8_t> bytes;
    for (const Piece& piece : out.pieces) {
      const auto* data = static_cast<const std::uint8_t*>(piece.data);
      bytes.insert(bytes.end(), data, data + piece.size);
    }
    STRACK_CHECK_OP(bytes.size(), ==, out.bytes);
    ++datagrams;
    Address source = from.address_;
    if (out.entropy != kPrimary)
      source.port = static_cast<std::uint16_t>(kEntropyPorts + out.entropy);
    if (capture != nullptr) capture->push_back({source, *out.to, bytes});
    if (filter && !filter({source, *out.to, bytes})) return;
    const bool perfect = now_ >= faults_.end;
    const Picoseconds queued = pass_link(from, out.bytes);
    const std::uint32_t size = out.segment != 0 ? out.segment : out.bytes;
    const bool silent = now_ >= faults_.silent_from && now_ < faults_.silent_until;
    const bool too_large = size > faults_.largest;
    const bool dead = out.entropy < faults_.dead_entropies ||
                      (now_ + queued >= faults_.spines_die_at &&
                       meets_dead_spine(faults_, from.address_, *out.to, out.entropy));
    const bool dropped = queued > kQueueHolds;
    if (to == nullptr || silent || dead || too_large || dropped ||
        (!perfect && rng_.chance(faults_.loss))) {
      ++lost;
      return;
    }
    int copies = 1;
    if (!perfect && rng_.chance(faults_.duplication)) {
      ++copies;
      ++duplicated;
    }
    for (; copies > 0; --copies) {
      Picoseconds delay = queued + faults_.one_way + std::int64_t{size} * faults_.per_byte;
      if (!perfect && faults_.jitter > ps(0)) delay += ps(rng_.between(0, faults_.jitter.count()));
      std::vector<std::uint8_t> copy = bytes;
      if (!perfect && !copy.empty() && rng_.chance(faults_.corruption)) {
        ++corrupted;
        copy[rng_.below(copy.size())] ^= static_cast<std::uint8_t>(1 << rng_.below(8));
      }
      const bool marked = out.ect && !perfect &&
                          (rng_.chance(faults_.marking) || marks(queued) ||
                           meets_slow_spine(faults_, from.address_, *out.to, out.entropy));
      flying_.push({now_ + delay, order_++, to, source, std::move(copy), out.segment, marked});
    }
  }

  static constexpr Picoseconds kMarkFrom = us(500), kMarkAll = us(1'500), kQueueHolds = ms(10);
  /// Until it has left the host by its link, behind what waits there; what finds the queue full takes no room in it.
  [[nodiscard]] Picoseconds pass_link(SimulatedHost& from, std::uint32_t size) {
    if (faults_.link == BitsPerSecond{0}) return ps(0);
    const Instant start = std::max(now_, from.link_free_);
    if (start - now_ > kQueueHolds) return start - now_;
    from.link_free_ = start + bytes(size) / faults_.link;
    return from.link_free_ - now_;
  }
  [[nodiscard]] bool marks(Picoseconds queued) {
    if (queued <= kMarkFrom) return false;
    return queued >= kMarkAll ||
           rng_.chance({(queued - kMarkFrom).count(), (kMarkAll - kMarkFrom).count()});
  }

  SimulatedFaults faults_;
  Rng rng_;
  std::uint64_t seed_;
  Instant now_ = at(seconds(1));
  std::uint64_t order_ = 0;
  std::vector<SimulatedHost*> hosts_;
  std::vector<std::unique_ptr<SimulatedHost>> owned_;
  std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flying_;
};

inline SimulatedHost::SimulatedHost(SimulatedWorld& world, const Address& address,
                                    std::uint64_t seed)
    : world_(world), address_(address), random_(seed) {
  world_.hosts_.push_back(this);
}
inline SimulatedHost::~SimulatedHost() { std::erase(world_.hosts_, this); }

inline std::optional<Error> SimulatedHost::open(const Address& local) {
  Address wanted = local;
  if (wanted.is_any()) wanted.ip = {127, 0, 0, 1};
  const auto taken = [&](const Address& one) {
    return std::any_of(world_.hosts_.begin(), world_.hosts_.end(),
                       [&](const SimulatedHost* host) { return host->address_ == one; });
  };
  if (wanted.port == 0) wanted.port = 10'000;
  while (local.port == 0 && taken(wanted)) ++wanted.port;
  if (taken(wanted)) return Error{"address " + wanted.text() + " is in use"};
  address_ = wanted;
  return std::nullopt;
}
inline void SimulatedHost::sleep(Picoseconds time) {
  world_.advance_to(
      std::min(world_.now() + time, std::max(world_.next_arrival(), world_.now() + us(1))));
}
inline Instant SimulatedHost::now() { return world_.now(); }

inline SendResult SimulatedHost::send(std::span<const Outgoing> batch) {
  ++counters_.send_calls;
  SendResult worst = SendResult::ok;
  for (const Outgoing& out : batch) {
    const std::uint32_t size = out.segment != 0 ? out.segment : out.bytes;
    if (world_.faults_.unreachable) {
      worst = SendResult::unreachable;
      ++counters_.send_errors;
      continue;
    }
    if (world_.faults_.says_too_large && size > world_.faults_.largest) {
      worst = SendResult::too_large;
      ++counters_.send_errors;
      continue;
    }
    world_.send(*this, out);
  }
  return worst;
}

inline std::span<Incoming> SimulatedHost::receive() {
  ++counters_.receive_calls;
  const std::size_t n = std::min(kReceiveBatch, inbox_.size());
  taken_.assign(std::make_move_iterator(inbox_.begin()),
                std::make_move_iterator(inbox_.begin() + static_cast<std::ptrdiff_t>(n)));
  inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(n));
  incoming_.clear();
  for (Waiting& w : taken_) {
    const Instant stamp = w.arrival + world_.faults_.stamp_error;
    incoming_.push_back({w.bytes, w.from, {}, stamp, w.segment, w.marked});
  }
  return incoming_;
}

inline std::uint32_t SimulatedHost::largest_datagram(const Address& to) {
  const SimulatedFaults& faults = world_.faults_;
  const std::uint32_t known = faults.known_largest - to.header_bytes();
  return faults.says_too_large ? std::min(known, faults.largest) : known;
}

/// Runs engines on one world: whatever is due next, until nothing is or the time is over.
inline void run_until(SimulatedWorld& world, std::span<Engine* const> engines, Instant limit) {
  while (world.now() < limit) {
    bool busy = true;
    for (int rounds = 0; busy && rounds < 1'000; ++rounds) {
      busy = false;
      for (Engine* engine : engines) busy |= engine->poll();
    }
    Instant next = world.next_arrival();
    for (Engine* engine : engines) {
      if (engine->has_completions()) return;  // somebody wants to look
      next = std::min(next, engine->next_deadline());
    }
    if (next == Instant::never()) {
      world.advance_to(limit);
      return;
    }
    world.advance_to(std::min(limit, std::max(next, world.now() + us(1))));
  }
}

}  // namespace strack::udp
