// Endpoints on a bad day, by seed: two engines on simulated sockets exchange messages and writes
// over several connections while datagrams get lost, late, doubled, marked and corrupted. Faults
// end at a drawn time, and spines may die for good at another; from then on everything must complete
// within a bound. Checked: every message
// arrives exactly once, bit by bit, in the buffer it belongs to, in order; atomics find and leave what
// a model of the memory has; every operation completes exactly once; both sides close in order; nothing is left held.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "udp/engine.h"
#include "udp/example_transports.h"
#include "udp/network/simulated/simulated_network.h"
#include "udp/swarm_atomics.h"

namespace strack::udp {
namespace {

struct Tally {
  std::uint64_t seeds = 0, messages = 0, datagrams = 0, lost = 0, duplicated = 0, corrupted = 0;
  std::uint64_t retransmissions = 0, held = 0, unplaced = 0, forged = 0, replayed = 0, stalls = 0,
                reads = 0, atomics = 0;
  std::uint64_t timeouts = 0, probes = 0;
  Picoseconds slowest{0};  ///< from the last fault to the end
};

/// [D41] From the last fault to the end of everything. A program that takes its time and the load
/// itself are within it.
constexpr Picoseconds kPatience = seconds(60);

struct Plan {
  EndpointOptions options[2];  ///< the responder's and the initiators'
  SimulatedFaults faults;
  std::uint32_t connections = 1;
  std::uint32_t messages = 1;  ///< of each connection's direction
  std::uint32_t longest = 1;
  std::uint32_t tags = 1;
  bool late_receives = false;
  bool atomics = false;
  Picoseconds spines_live{0};  ///< from when all connections are up

  Plan(std::uint64_t seed, const std::string& transport, bool answers_first) {
    Rng rng = Rng(seed).stream("plan");
    options[0].transport = options[1].transport = transport;
    const bool keyed = rng.below(2) == 0;
    for (EndpointOptions& o : options) {
      o.answers_first = answers_first;
      if (keyed) {
        o.key.emplace();
        for (std::byte& b : *o.key) b = static_cast<std::byte>(seed * 7 + 1);
      }
      o.paths = static_cast<std::uint32_t>(rng.between(1, 64));
      o.burst = rng.below(3) == 0 ? static_cast<std::uint32_t>(rng.between(2, 8)) : 1;
      o.max_payload = static_cast<std::uint32_t>(rng.between(512, 2'048));
      o.message_slots = 1u << rng.between(0, 6);
      o.unexpected_messages = static_cast<std::uint32_t>(rng.between(1, 8));
      o.held_bytes = rng.below(4) == 0 ? 8'192 : std::size_t{1} << 20;
      o.rate_bps = static_cast<std::uint64_t>(rng.between(1, 40)) * 250'000'000;
    }
    // Of those with a key some have keys of hosts. Drawn apart, so that all else of a seed stays as it was.
    if (keyed && Rng(seed).stream("of hosts").below(4) == 0) use_host_keys();
    options[0].listen = "127.0.0.1:4794";
    connections = static_cast<std::uint32_t>(rng.between(1, 4));
    messages = static_cast<std::uint32_t>(rng.between(0, 60));
    longest = rng.below(5) == 0 ? 300'000 : static_cast<std::uint32_t>(rng.between(1, 9'000));
    tags = static_cast<std::uint32_t>(rng.between(1, 5));
    late_receives = rng.below(3) == 0;
    // [D154] Not among the seeds that are tests of their own: what these found stays as it was.
    atomics = seed % 4 == 3;

    faults.one_way = us(rng.between(2, 500));
    faults.jitter = rng.below(3) == 0 ? ps(0) : us(rng.between(1, 400));
    faults.loss = {rng.below(3) == 0 ? 0 : rng.between(0, 20), 100};
    faults.duplication = {rng.below(2) == 0 ? 0 : rng.between(0, 20), 100};
    faults.marking = {rng.below(2) == 0 ? 0 : rng.between(0, 50), 100};
    // Without a key only UDP's own checksum guards against it, and that one is not simulated.
    faults.corruption = {keyed && rng.below(2) == 0 ? rng.between(0, 20) : 0, 100};
    faults.end = at(seconds(1) + ms(rng.between(1, 3'000)));
    if (rng.below(4) == 0) {
      faults.silent_from = at(seconds(1) + ms(rng.between(0, 100)));
      faults.silent_until = faults.silent_from + ms(rng.between(1, 2'000));
    }
    if (rng.below(6) == 0) {
      // A path narrower than hosts believe, from the start or from some time on.
      faults.largest = static_cast<std::uint32_t>(rng.between(1'252, 1'400));
      faults.says_too_large = rng.below(2) == 0;
    }
    if (rng.below(2) == 0) kill_spines(rng);
  }

 private:
  void use_host_keys() {
    for (int side = 0; side < 2; ++side) {
      options[side].identity = options[side].key;
      (*options[side].identity)[0] = static_cast<std::byte>(side + 1);
      options[side].key.reset();
    }
    options[0].trusted = {public_key(*options[1].identity)};
    options[1].peer = public_key(*options[0].identity);
  }

  /// Up to three quarters of 2 to 8 spines die for good, at any time after set-up. Each direction of
  /// each connection keeps a way; which entropies lead there is for it to find out.
  void kill_spines(Rng& rng) {
    faults.spines = static_cast<std::uint32_t>(rng.between(2, 8));
    faults.dead_spines =
        static_cast<std::uint32_t>(rng.between(1, std::max(1u, 3 * faults.spines / 4)));
    spines_live = us(rng.between(0, std::int64_t{1} << rng.between(4, 19)));
    for (int draws = 1; faults.dead_spines > 0; ++draws) {
      faults.hash_seed = rng.next();
      if (each_has_a_way()) return;
      if (draws % 64 == 0) --faults.dead_spines;
    }
  }

  [[nodiscard]] bool each_has_a_way() const {
    for (std::uint32_t i = 1; i <= connections; ++i) {
      const Address ends[2] = {SimulatedWorld::address_of(0), SimulatedWorld::address_of(i)};
      for (int side = 0; side < 2; ++side) {
        // Bursts leave one entropy of an even number out.
        const std::uint32_t used = options[side].paths - (options[side].burst > 1 ? 1 : 0);
        bool has_one = false;
        for (std::uint32_t e = 0; e < std::max(used, 1u); ++e) {
          has_one |=
              !meets_dead_spine(faults, ends[side], ends[1 - side], static_cast<std::uint16_t>(e));
        }
        if (!has_one) return false;
      }
    }
    return true;
  }
};

/// What goes one way on one connection.
struct Direction {
  struct Planned {
    std::uint64_t tag = 0;
    std::vector<std::byte> bytes;
    bool write = false;
    std::uint64_t offset = 0;
    int completed = 0;
    std::vector<std::byte> read_back{};  ///< of a write: what a read behind it has found
    int reads = 0;
  };
  std::vector<Planned> messages;
  std::size_t next_to_send = 0;
  std::vector<std::vector<std::size_t>> by_tag;  ///< messages of a tag, in the order of sending
  std::vector<std::size_t> posting_order;  ///< tags of receives still to be posted, last first
  std::vector<std::size_t> posted_of_tag;
  struct Buffer {
    std::uint64_t tag = 0;
    std::size_t place = 0;  ///< the how-many-th receive of its tag
    std::vector<std::byte> memory;
    int completed = 0;
  };
  std::deque<Buffer> buffers;
  std::size_t sends = 0, received = 0, last_received = 0;
  std::vector<std::byte> region, expected;  ///< each write has its own place
  RegionKey key;
  RemoteValues values;
};

class Day {
 public:
  Day(std::uint64_t seed, const std::string& transport, bool answers_first, Transports among,
      bool trace)
      : plan_(seed, transport, answers_first),
        rng_(Rng(seed).stream("load")),
        atomics_rng_(Rng(seed).stream("atomics")),
        world_(seed, plan_.faults),
        trace_(trace) {
    for (std::uint32_t i = 0; i <= plan_.connections; ++i) {
      hosts_.push_back(&world_.add_host());
      engines_.push_back(
          std::make_unique<Engine>(plan_.options[i == 0 ? 0 : 1], *hosts_.back(), among));
    }
  }

  void run(Tally& tally) {
    for (std::uint32_t i = 1; i <= plan_.connections; ++i) {
      auto made = engines_[i]->connect(hosts_[0]->address(), i);
      STRACK_CHECK(static_cast<bool>(made));
      Pair& pair = pairs_.emplace_back();
      pair.engine[0] = engines_[0].get();
      pair.engine[1] = engines_[i].get();
      pair.id[1] = made.value();
    }
    last_fault_ = plan_.faults.end;
    if (plan_.faults.silent_until != Instant::never()) {
      last_fault_ = std::max(last_fault_, plan_.faults.silent_until);
    }
    std::vector<Engine*> engines;
    for (const auto& engine : engines_) engines.push_back(engine.get());
    while (!finished()) {
      const Instant limit = last_fault_ + kPatience;
      if (world_.now() >= limit) tell_where_it_stands();
      STRACK_CHECK_OP(world_.now().ps, <, limit.ps);
      act();
      run_until(world_, engines, std::min(limit, world_.now() + us(rng_.between(20, 2'000))));
      for (std::size_t i = 0; i < engines_.size(); ++i) take(i);
    }
    check_end();
    tally.slowest = std::max(tally.slowest, world_.now() - last_fault_);
    ++tally.seeds;
    tally.datagrams += world_.datagrams;
    tally.lost += world_.lost;
    tally.duplicated += world_.duplicated;
    tally.corrupted += world_.corrupted;
    for (const auto& engine : engines_) {
      tally.forged += engine->statistics().refused_forged;
      tally.replayed += engine->statistics().refused_replayed;
    }
    tally.messages += total_.messages;
    tally.retransmissions += total_.retransmissions;
    tally.held += total_.held;
    tally.unplaced += total_.unplaced;
    tally.stalls += total_.stalls;
    tally.reads += total_.reads;
    tally.atomics += total_.atomics;
    tally.timeouts += total_.timeouts;
    tally.probes += total_.probes;
  }

 private:
  /// A connection: side 0 is the responder's, side 1 the initiator's.
  struct Pair {
    Engine* engine[2]{};
    ConnectionId id[2]{};
    Direction into[2];  ///< what this side receives
    bool up[2]{}, closing[2]{}, closed[2]{}, peer_closed[2]{};
  };

  void plan_direction(Direction& d, Engine& receiver, ConnectionId receiving) {
    d.by_tag.resize(plan_.tags);
    d.posted_of_tag.resize(plan_.tags);
    std::size_t written = 0;
    for (std::uint32_t i = 0; i < plan_.messages; ++i) {
      Direction::Planned m;
      m.bytes.resize(rng_.below(8) == 0 ? 0 : rng_.below(plan_.longest + 1));
      for (std::byte& b : m.bytes) b = static_cast<std::byte>(rng_.next());
      m.write = rng_.below(5) == 0;
      if (m.write) {
        m.offset = written;
        written += m.bytes.size();
        d.expected.insert(d.expected.end(), m.bytes.begin(), m.bytes.end());
      } else {
        m.tag = rng_.below(plan_.tags);
        d.by_tag[m.tag].push_back(i);
        d.posting_order.push_back(m.tag);
        ++d.sends;
      }
      d.messages.push_back(std::move(m));
    }
    d.region.resize(written);
    auto key = receiver.register_region(d.region, receiving, Access::both);
    STRACK_CHECK(static_cast<bool>(key));
    d.key = key.value();
    if (plan_.atomics) d.values.expose(receiver, receiving);
    for (std::size_t i = d.posting_order.size(); i > 1; --i) {
      std::swap(d.posting_order[i - 1], d.posting_order[rng_.below(i)]);
    }
  }

  /// Posts and sends a random amount, as a program would.
  void act() {
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      Pair& pair = pairs_[p];
      if (!pair.up[0] || !pair.up[1]) continue;
      for (std::size_t side = 0; side < 2; ++side) {
        Engine& engine = *pair.engine[side];
        Direction& in = pair.into[side];
        std::size_t posts = plan_.late_receives ? rng_.below(3) : in.posting_order.size();
        for (; posts > 0 && !in.posting_order.empty(); --posts) {
          Direction::Buffer buffer;
          buffer.tag = in.posting_order.back();
          buffer.place = in.posted_of_tag[buffer.tag]++;
          buffer.memory.resize(plan_.longest);
          in.posting_order.pop_back();
          in.buffers.push_back(std::move(buffer));
          const Status status =
              engine.post_receive(pair.id[side], Match::exactly(in.buffers.back().tag),
                                  in.buffers.back().memory, p << 32 | (in.buffers.size() - 1));
          STRACK_CHECK(status == Status::ok);
        }
        Direction& out = pair.into[1 - side];
        std::size_t sends = rng_.below(20);
        for (; sends > 0 && out.next_to_send < out.messages.size(); --sends) {
          Direction::Planned& m = out.messages[out.next_to_send];
          const std::uint64_t cookie = p << 32 | out.next_to_send;
          const Status status =
              m.write ? engine.write(pair.id[side], out.key, m.offset, m.bytes, cookie)
                      : engine.send(pair.id[side], m.tag, m.bytes, cookie);
          if (status == Status::would_block) break;
          STRACK_CHECK(status == Status::ok);
          ++out.next_to_send;
          // [D148] What is read behind a write is what was written; a peer that has closed answers no more.
          if (!m.write || rng_.below(2) == 0) continue;
          m.read_back.resize(m.bytes.size());
          const Status asked = engine.read(pair.id[side], out.key, m.offset, m.read_back, cookie);
          STRACK_CHECK(asked == Status::ok || asked == Status::would_block ||
                       asked == Status::connection_closed);
        }
        if (plan_.atomics && !pair.closing[side]) {
          std::uint64_t n = atomics_rng_.below(20);
          while (n > 0 && out.values.ask(engine, pair.id[side], p << 32, atomics_rng_)) --n;
        }
        if (out.next_to_send == out.messages.size() && !pair.closing[side] && rng_.below(4) == 0) {
          pair.closing[side] = true;
          STRACK_CHECK(engine.close(pair.id[side]) == Status::ok);
        }
      }
    }
  }

  void take(std::size_t i) {
    std::array<Completion, 64> room;
    for (auto got = engines_[i]->completions(room); !got.empty();
         got = engines_[i]->completions(room)) {
      for (const Completion& c : got) on(i, c);
    }
  }

  /// The pair that a connection of an engine belongs to: the peer's address tells.
  Pair& pair_of(std::size_t engine, ConnectionId id) {
    if (engine != 0) return pairs_[engine - 1];
    const Address* peer = engines_[0]->peer_address(id);
    STRACK_CHECK(peer != nullptr);
    return pairs_[peer->ip[3] - 2u];
  }

  void on(std::size_t engine, const Completion& c) {
    if (trace_) {
      fmt::print("{:.6f} engine {} {}: {}, connection {} cookie {:x} tag {} length {}\n",
                 static_cast<double>(world_.now().ps) / 1e12, engine, text(c.kind), text(c.status),
                 static_cast<std::uint64_t>(c.connection), c.cookie, c.tag, c.length);
    }
    if (c.kind == Kind::read) return on_read(engine, c);
    if (c.kind == Kind::atomic) return on_atomic(engine, c);
    if (c.status != Status::ok) tell_where_it_stands();
    STRACK_CHECK_OP(static_cast<int>(c.status), ==, 0);
    Pair& pair = pair_of(engine, c.connection);
    const std::size_t side = engine == 0 ? 0 : 1;
    const std::size_t index = c.cookie & 0xffff'ffff;
    switch (c.kind) {
      case Kind::connected:
      case Kind::accepted:
        STRACK_CHECK(!pair.up[side]);
        pair.up[side] = true;
        pair.id[side] = c.connection;
        plan_direction(pair.into[side], *pair.engine[side], c.connection);
        if (plan_.faults.dead_spines > 0 && all_up()) {
          world_.faults().spines_die_at = world_.now() + plan_.spines_live;
          last_fault_ = std::max(last_fault_, world_.faults().spines_die_at);
        }
        return;
      case Kind::sent:
      case Kind::written: {
        Direction::Planned& m = pair.into[1 - side].messages[index];
        STRACK_CHECK_OP(m.completed, ==, 0);
        STRACK_CHECK(m.write == (c.kind == Kind::written));
        ++m.completed;
        ++total_.messages;
        return;
      }
      case Kind::received: {
        Direction& d = pair.into[side];
        Direction::Buffer& buffer = d.buffers[index];
        STRACK_CHECK_OP(buffer.completed, ==, 0);
        ++buffer.completed;
        STRACK_CHECK_OP(c.tag, ==, buffer.tag);
        // The n-th receive of a tag gets the n-th message of that tag.
        const std::size_t sent_as = d.by_tag[buffer.tag][buffer.place];
        const Direction::Planned& m = d.messages[sent_as];
        STRACK_CHECK_OP(c.length, ==, m.bytes.size());
        STRACK_CHECK(std::equal(m.bytes.begin(), m.bytes.end(), buffer.memory.begin()));
        STRACK_CHECK(d.received == 0 || sent_as > d.last_received);  // in the order of sending
        d.last_received = sent_as;
        ++d.received;
        return;
      }
      case Kind::peer_closed:
        STRACK_CHECK(!pair.peer_closed[side] && pair.closing[1 - side]);
        pair.peer_closed[side] = true;
        return;
      case Kind::closed: {
        STRACK_CHECK(!pair.closed[side] && pair.closing[side] && pair.closing[1 - side]);
        pair.closed[side] = true;
        count(pair.engine[side]->statistics(c.connection));
        return;
      }
      case Kind::read:
      case Kind::atomic:
      case Kind::failed:
        break;
    }
    STRACK_CHECK(false);
  }

  void count(const std::optional<ConnectionStatistics>& of) {
    STRACK_CHECK(of.has_value());
    total_.retransmissions += of->retransmissions;
    total_.held += of->packets_held;
    total_.unplaced += of->packets_unplaced;
    total_.stalls += of->credit_stalls;
    total_.timeouts += of->timeouts;
    total_.probes += of->probes_sent;
  }

  void on_read(std::size_t engine, const Completion& c) {
    Pair& pair = pair_of(engine, c.connection);
    Direction::Planned& m = pair.into[engine == 0 ? 1 : 0].messages[c.cookie & 0xffff'ffff];
    ++m.reads;
    STRACK_CHECK_OP(m.reads, ==, 1);
    if (c.status == Status::connection_closed) return;  // the peer had said that it sends no more
    STRACK_CHECK_OP(static_cast<int>(c.status), ==, 0);
    STRACK_CHECK(m.read_back == m.bytes);
    ++total_.reads;
  }

  void on_atomic(std::size_t engine, const Completion& c) {
    Pair& pair = pair_of(engine, c.connection);
    if (pair.into[engine == 0 ? 1 : 0].values.on(c)) ++total_.atomics;
  }

  /// For whoever looks at a seed that has not come to its end.
  void tell_where_it_stands() {
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      for (std::size_t side = 0; side < 2; ++side) {
        const Pair& pair = pairs_[p];
        const auto s = pair.engine[side]->statistics(pair.id[side]);
        const Direction& out = pair.into[1 - side];
        fmt::print(stderr, "connection {} side {}: {} of {} sent", p, side, out.next_to_send,
                   out.messages.size());
        if (s) {
          fmt::print(
              stderr,
              ", {} acknowledged, {} in flight, window {}, {} timeouts, {} probes, {} barred, {} "
              "SACKs back, {} packets in, {} twice, {} without a place",
              s->messages_sent, s->inflight_bytes, s->cwnd_bytes, s->timeouts, s->probes_sent,
              s->paths_barred, s->sacks_received, s->data_packets_received, s->duplicates_received,
              s->packets_unplaced);
        }
        fmt::print(stderr, ", alive:");
        for (std::uint32_t e = 0; e < plan_.options[side].paths; ++e) {
          const Address ends[2] = {hosts_[0]->address(), hosts_[p + 1]->address()};
          if (!meets_dead_spine(plan_.faults, ends[side], ends[1 - side],
                                static_cast<std::uint16_t>(e)))
            fmt::print(stderr, " {}", e);
        }
        fmt::print(stderr, "{}{}{}\n", pair.up[side] ? ", up" : "",
                   pair.closing[side] ? ", closing" : "", pair.closed[side] ? ", closed" : "");
      }
    }
    fmt::print(stderr,
               "{} entropies and {}, {} of {} spines dead from {:.6f} s, datagrams up to {}\n",
               plan_.options[0].paths, plan_.options[1].paths, plan_.faults.dead_spines,
               plan_.faults.spines, static_cast<double>(world_.faults().spines_die_at.ps) / 1e12,
               plan_.faults.largest);
  }

  [[nodiscard]] bool all_up() const {
    return std::all_of(pairs_.begin(), pairs_.end(),
                       [](const Pair& p) { return p.up[0] && p.up[1]; });
  }
  [[nodiscard]] bool finished() const {
    return std::all_of(pairs_.begin(), pairs_.end(),
                       [](const Pair& p) { return p.closed[0] && p.closed[1]; });
  }

  void check_end() {
    for (const Pair& pair : pairs_) {
      for (const Direction& d : pair.into) {
        STRACK_CHECK_OP(d.received, ==, d.sends);
        STRACK_CHECK(d.region == d.expected);
        d.values.check_end();
        for (const auto& m : d.messages) STRACK_CHECK_OP(m.completed, ==, 1);
      }
    }
    for (const auto& engine : engines_) {
      STRACK_CHECK_OP(engine->statistics().held_bytes, ==, 0u);
      STRACK_CHECK_OP(engine->statistics().connections, ==, 0u);
    }
  }

  Plan plan_;
  Rng rng_;
  Rng atomics_rng_;
  SimulatedWorld world_;
  std::vector<SimulatedHost*> hosts_;
  std::vector<std::unique_ptr<Engine>> engines_;  ///< the responder's first
  std::deque<Pair> pairs_;
  Tally total_;
  Instant last_fault_{};
  bool trace_;
};

}  // namespace
}  // namespace strack::udp

int main(int argc, char** argv) {
  using namespace strack;
  std::uint64_t first = 1;
  std::uint64_t seeds = 200;
  std::uint64_t seed = 0;
  bool trace = false;
  bool answers_first = false;
  const std::vector<const udp::Transport*> transports = udp::with_examples();
  std::vector<std::string> names;
  for (const udp::Transport* one : transports) names.emplace_back(one->name);
  std::string transport = names.front();
  CLI::App app{"Endpoints on simulated sockets on a bad day; whatever happens is checked.",
               "udp_swarm"};
  app.add_option("--first", first, "first seed of the range")->capture_default_str();
  app.add_option("--seeds", seeds, "how many seeds to run")->capture_default_str();
  const auto* one = app.add_option("--seed", seed, "replay this seed only");
  app.add_option("--transport", transport, "which transport runs")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_flag("--answers-first", answers_first, "SACKs wait for what the program answers [D88]");
  app.add_flag("--trace", trace, "print what completes");
  CLI11_PARSE(app, argc, argv);
  if (one->count() > 0) {
    first = seed;
    seeds = 1;
  }
  if (!udp::crypto_ready()) return 1;
  udp::Tally tally;
  for (std::uint64_t s = first; s < first + seeds; ++s) {
    const std::string replay = fmt::format("{} --transport {} --seed {}{} --trace", argv[0],
                                           transport, s, answers_first ? " --answers-first" : "");
    set_replay_hint(replay.c_str());
    udp::Day(s, transport, answers_first, transports, trace).run(tally);
    set_replay_hint(nullptr);
  }
  fmt::print(
      "{} seeds of {} from {}: {} messages, {} reads, {} atomics, {} datagrams, {} lost, {} "
      "doubled, {} "
      "corrupted; {} "
      "retransmissions, {} timeouts, {} probes, {} held, {} unplaced, {} credit stalls, {} forged, "
      "{} replayed; all over at most {:.1f} s after the last fault\n",
      tally.seeds, transport, first, tally.messages, tally.reads, tally.atomics, tally.datagrams,
      tally.lost, tally.duplicated, tally.corrupted, tally.retransmissions, tally.timeouts,
      tally.probes, tally.held, tally.unplaced, tally.stalls, tally.forged, tally.replayed,
      static_cast<double>(tally.slowest.count()) / 1e12);
  return 0;
}
