#include "udp/engine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"
#include "udp/engine_common.h"
#include "udp/fitting_burst.h"

namespace strack::udp {
namespace {

/// Batches received before timers and senders have their turn.
constexpr int kReceiveRounds = 4;
constexpr std::uint32_t kMostShards = 64;
constexpr std::size_t kMostCompletions = std::size_t{1} << 17;
/// [D45] Challenges: a job of a thousand starts at once. Rejects are for people to read.
constexpr AnswerBudget::Rate kChallenges{10'000, 2'000};
constexpr AnswerBudget::Rate kChallengesOfAPart{2'500, 1'000};
constexpr AnswerBudget::Rate kRejects{1'000, 200};
constexpr AnswerBudget::Rate kRejectsOfAPart{250, 100};

[[nodiscard]] std::uint64_t draw(Network& network) {
  std::array<std::uint8_t, 8> raw{};
  network.random(raw);
  return std::bit_cast<std::uint64_t>(raw);
}

[[nodiscard]] Address reply_address(const wire::ForeignHello& hello, Address from) {
  if (hello.reply_port != 0) from.port = hello.reply_port;
  return from;
}

}  // namespace

std::optional<Error> Engine::check(const EndpointOptions& o, Transports transports) {
  const auto wrong = [](const char* name, std::uint64_t value, const char* remedy) {
    return Error{std::string(name) + " is " + std::to_string(value) + ". it takes " + remedy};
  };
  if (o.paths < 1 || o.paths > wire::kMaxPaths) return wrong("paths", o.paths, "1 to 256");
  if (o.burst > kMostInBurst)
    return wrong("burst", o.burst, "1 to 64, or 0 for what the path takes");
  if (o.rate_bps < 1'000'000 || o.rate_bps > 10'000'000'000'000)
    return wrong("rate_bps", o.rate_bps, "1 Mb/s to 10 Tb/s, such as 10000000000");
  if (o.max_payload < wire::kMinMtu || o.max_payload > 65'000)
    return wrong("max_payload", o.max_payload, "512 to 65000");
  if (!std::has_single_bit(o.message_slots) || o.message_slots > 65'536)
    return wrong("message_slots", o.message_slots, "a power of two up to 65536");
  if (o.unexpected_messages < 1)
    return wrong("unexpected_messages", o.unexpected_messages, "1 or more");
  if (o.max_connections < 1 || o.max_connections > 1'000'000)
    return wrong("max_connections", o.max_connections, "1 to 1000000");
  if (o.peer_timeout.count() < 100 || o.peer_timeout.count() > 86'400'000)
    return wrong("peer_timeout", static_cast<std::uint64_t>(o.peer_timeout.count()),
                 "100 ms to a day");
  if (o.connect_timeout.count() < 1 || o.connect_timeout.count() > 86'400'000)
    return wrong("connect_timeout", static_cast<std::uint64_t>(o.connect_timeout.count()),
                 "1 ms to a day");
  if (udp::find(transports, o.transport) == nullptr) {
    std::string names;
    for (const Transport* one : transports)
      names.append(names.empty() ? "" : ", ").append(one->name);
    return Error{"transport is \"" + o.transport + "\". it takes one of: " + names};
  }
  if (o.shards < 1 || o.shards > kMostShards) return wrong("shards", o.shards, "1 to 64");
  if (o.shard >= o.shards) return wrong("shard", o.shard, "less than shards");
  if (!crypto_ready()) return Error{"libsodium does not start"};
  if (auto wrong_key = check_keys(o)) return wrong_key;
  if (o.identity && !o.listen.empty() && o.trusted.empty())
    return Error{
        "listening with an identity, and nobody is trusted. set trusted to the public keys of "
        "those who may connect"};
  if (!o.sealing.empty() && find_sealing_library(o.sealing) == nullptr) {
    std::string names;
    for (const SealingLibrary& one : sealing_libraries())
      names.append(names.empty() ? "" : ", ").append(one.name);
    return Error{"sealing is \"" + o.sealing + "\". here it takes one of: " + names};
  }
  return std::nullopt;
}

Engine::Engine(const EndpointOptions& options, Network& network, Transports transports,
               KeyLimits key_limits)
    : options_(options),
      network_(network),
      transports_(transports),
      transport_(udp::find(transports, options.transport)),
      key_limits_(key_limits),
      burst_(options.burst == 0 ? kMostInBurst : options.burst),
      answer_path_(static_cast<std::uint32_t>(draw(network))),
      challenge_budget_(kChallenges, kChallengesOfAPart, draw(network)),
      reject_budget_(kRejects, kRejectsOfAPart, draw(network)),
      reset_budget_(kRejects, kRejectsOfAPart, draw(network)),
      pool_(options.max_receives) {
  STRACK_CHECK(!check(options, transports));
  take_keys(options);
  Secret jar;
  network_.random(jar);
  jar_.emplace(jar);
  ring_.resize(1024);
  // A burst's headers and, where sealed, whole packets, all of which go in one call; or one hello.
  scratch_.resize(
      std::min(burst_ * (std::size_t{options.max_payload} + 128), wire::kMaxDatagramBytes + 128) +
      wire::kHelloMinBytes);
  pieces_.reserve(2 * std::size_t{burst_});
  to_seal_.reserve(burst_);
  burst_psns_.reserve(burst_);
  now_ = network_.now();
}

Engine::~Engine() {
  for (const auto& c : connections_) {
    for (Inbound& in : c->in.messages) drop_held(*c, in);
  }
}

std::uint32_t Engine::random32() {
  std::array<std::uint8_t, 4> raw{};
  network_.random(raw);
  return std::bit_cast<std::uint32_t>(raw);
}

// ---- Connections, found and lost ----

Connection* Engine::find(ConnectionId id) const {
  const auto found = by_user_id_.find(static_cast<std::uint64_t>(id));
  return found == by_user_id_.end() ? nullptr : found->second;
}

Connection& Engine::make_connection(const Address& peer) {
  connections_.push_back(std::make_unique<Connection>());
  Connection& c = *connections_.back();
  c.index = connections_.size() - 1;
  c.id = ConnectionId{next_user_id_++};
  c.peer = peer;
  c.life.last_heard = now_;
  c.life.host = &hosts_[peer];
  ++c.life.host->connections;
  c.life.port = &c.life.host->ports[peer.port];
  ++c.life.port->connections;
  c.out.messages.resize(options_.message_slots);
  if (options_.path_statistics) c.out.record = std::make_unique<PathRecord>();
  by_user_id_.emplace(static_cast<std::uint64_t>(c.id), &c);
  deadlines_.add(c, Instant::never());
  ++living_;
  return c;
}

void Engine::draw_id(Connection& c) {
  std::uint32_t id = 0;
  // [D107] Of endpoints that share an address, each has its own.
  while (id == 0 || id % options_.shards != options_.shard || by_local_id_.contains(id))
    id = random32();
  c.set_up.mine.connection_id = id;
  by_local_id_.emplace(id, &c);
}

void Engine::complete(const Completion& completion) {
  if (completed_ - taken_ == ring_.size()) {
    std::vector<Completion> larger(2 * ring_.size());
    for (std::uint64_t i = taken_; i != completed_; ++i) {
      larger[i & (larger.size() - 1)] = ring_[i & (ring_.size() - 1)];
    }
    ring_ = std::move(larger);
  }
  ring_[completed_++ & (ring_.size() - 1)] = completion;
  if (completion.kind == Kind::received) received_ = completed_;
}

bool Engine::room_for_completions() const { return completed_ - taken_ < kMostCompletions; }

std::span<const Completion> Engine::completions(std::span<Completion> out) {
  std::size_t n = 0;
  while (n < out.size() && taken_ != completed_) {
    out[n++] = ring_[taken_++ & (ring_.size() - 1)];
  }
  return out.first(n);
}

/// Takes a connection out of everything but memory, which it leaves when nobody holds it any more.
void Engine::retire(Connection& c) {
  if (c.state == State::dead) return;
  if (c.state == State::half_open) --half_open_;
  if (c.state != State::over) --living_;
  for (Inbound& in : c.in.messages) drop_held(c, in);
  c.state = State::dead;
  c.keys.reset.fill(0);
  by_local_id_.erase(c.set_up.mine.connection_id);
  by_user_id_.erase(static_cast<std::uint64_t>(c.id));
  if (!c.initiator) by_question_.erase({wire::nonce_echo(c.set_up.theirs.nonce), c.peer});
  forget_peer_id(c);
  leave_port(c);
  stop_asking(c);
  if (std::exchange(c.life.in_line, false)) std::erase(c.life.port->line, &c);
  if (--c.life.port->connections == 0) c.life.host->ports.erase(c.peer.port);
  if (--c.life.host->connections == 0) hosts_.erase(c.peer);
  c.life.host = nullptr;
  c.life.port = nullptr;
  deadlines_.remove(c);
  graveyard_.push_back(&c);
}

void Engine::bury() {
  if (graveyard_.empty()) return;
  const auto is_dead = [](const Connection* c) { return c->state == State::dead; };
  for (auto* list : {&ready_, &acks_, &starving_, &dry_}) std::erase_if(*list, is_dead);
  for (Connection* c : graveyard_) {
    const std::size_t index = c->index;
    if (index + 1 != connections_.size()) {
      connections_[index] = std::move(connections_.back());
      connections_[index]->index = index;
    }
    connections_.pop_back();
  }
  graveyard_.clear();
}

// ---- The loop ----

bool Engine::poll() {
  now_ = network_.now();
  const bool owed = owes_acks();
  const std::uint64_t completed = completed_;
  bool any = owed;
  all_read_ = false;
  for (int round = 0; round < kReceiveRounds; ++round) {
    const std::span<Incoming> batch = network_.receive();
    all_read_ = batch.size() < kReceiveBatch;
    if (batch.empty()) break;
    any = true;
    now_ = network_.now();
    for (Incoming& in : batch) {
      in.arrival = std::min(in.arrival, now_);  // stamped by another clock
      statistics_.bytes_received += in.bytes.size();
      const std::size_t segment = in.segment == 0 ? in.bytes.size() : in.segment;
      for (std::span<std::uint8_t> rest = in.bytes; !rest.empty();) {
        const std::size_t size = std::min(segment, rest.size());
        ++statistics_.datagrams_received;
        on_datagram(rest.first(size), in, size == rest.size());
        rest = rest.subspan(size);
      }
    }
    if (owed || !may_owe_acks(completed)) send_acks();
    if (all_read_) break;  // to ask again would cost a system call
  }
  if (deadlines_.next() <= now_ && !reads_on()) run_timers();
  if (!dry_.empty()) feed_the_dry();
  flush_small();
  if (!ready_.empty()) any |= transmit();
  if (owed) send_acks();
  owed_since_ = now_;
  bury();
  return any;
}

void Engine::flush() {
  now_ = network_.now();
  const bool owed = owes_acks();
  if (!ready_.empty()) transmit();
  if (owed) send_acks();
  bury();
}

Instant Engine::next_deadline() const {
  return ready_.empty() && acks_.empty() && !credit_to_tell_ ? deadlines_.next() : Instant{};
}

void Engine::on_set_up(const wire::Header& header, wire::ConstBytes datagram,
                       const Incoming& from) {
  switch (header.type) {
    case wire::Type::hello:
      return on_hello(header, datagram, from.from);
    case wire::Type::connect:
      return on_connect(header, datagram, from.from);
    case wire::Type::challenge:
      return on_challenge(header, datagram.subspan(header.bytes()), from.from);
    case wire::Type::reject:
      return on_reject(header, datagram.subspan(header.bytes()), from.from);
    case wire::Type::accept:
      if (header.keyed != keyed()) break;
      return on_accept(header, datagram, from.from);
    case wire::Type::reset:
      return on_reset(header, datagram, from.from);
    default:
      break;
  }
  ++statistics_.refused_set_up;
}

void Engine::on_datagram(std::span<std::uint8_t> datagram, const Incoming& from, bool last) {
  came_to_ = from.to;
  const auto decoded = wire::decode_header(datagram);
  if (!decoded) {
    ++statistics_.refused_malformed;
    if (decoded.error() == wire::DecodeFault::unknown_version && !options_.listen.empty() &&
        !has_identity()) {
      if (const auto hello = wire::foreign_hello(datagram)) {
        send_reject(wire::RejectReason::version, hello->connection_id, hello->echo, hello->version,
                    reply_address(*hello, from.from));
      }
    }
    return;
  }
  const wire::Header& header = decoded.value();
  if (!wire::is_session(header.type)) {
    on_set_up(header, datagram, from);
    return;
  }
  const auto found = by_local_id_.find(header.connection_id);
  if (found == by_local_id_.end()) return on_unknown(header, datagram, from.from);
  if (found->second->state < State::half_open || !found->second->peer.same_host(from.from)) {
    ++statistics_.refused_unknown;
    return;
  }
  Connection& c = *found->second;
  if (header.keyed != keyed()) {
    ++statistics_.refused_forged;
    return;
  }
  std::size_t end = datagram.size();
  if (header.keyed) {
    if (!open_sealed(c, datagram, header.counter)) return;
    end -= wire::kTagBytes;
  }
  c.life.asked = 0;
  heard(c);
  if (c.state == State::half_open) open_up(c);
  const wire::ConstBytes body(datagram.data() + header.bytes(), end - header.bytes());
  if (c.state == State::over) {
    // Only whoever has not heard that it is over is answered.
    if (header.type == wire::Type::close) on_close(c, header, body);
    if (header.type == wire::Type::close_ack) on_close_ack(c, header, body);
    return;
  }
  switch (header.type) {
    case wire::Type::data:
      return on_data(c, header, body, from, last);
    case wire::Type::sack:
      return on_sack(c, header, body, from);
    case wire::Type::probe:
      return on_probe(c, header, body, from);
    case wire::Type::ping:
      return on_ping(c, header, body, from);
    case wire::Type::pong:
      return on_pong(c, header, body, from);
    case wire::Type::close:
      return on_close(c, header, body);
    case wire::Type::close_ack:
      return on_close_ack(c, header, body);
    default:
      break;
  }
}

// ---- Statistics ----

std::optional<ConnectionStatistics> Engine::statistics(ConnectionId connection) const {
  const Connection* c = find(connection);
  if (c == nullptr) return std::nullopt;
  ConnectionStatistics s = c->statistics;
  s.datagram_bytes = c->mtu.size();
  if (c->session) c->session->describe(s);
  const auto lowest = static_cast<std::uint64_t>(c->out.lowest_rtt.count() / 1'000);
  if (c->out.sends && lowest < s.base_rtt_ns) s.base_rtt_ns = lowest;
  return s;
}

bool Engine::keep_path_statistics(ConnectionId connection) {
  Connection* c = find(connection);
  if (c == nullptr) return false;
  if (!c->out.record) c->out.record = std::make_unique<PathRecord>();
  return true;
}

std::vector<PathStatistics> Engine::path_statistics(ConnectionId connection) const {
  const Connection* c = find(connection);
  if (c == nullptr || !c->out.record) return {};
  return c->out.record->paths();
}

std::vector<std::uint64_t> Engine::path_arrivals(ConnectionId connection) const {
  const Connection* c = find(connection);
  if (c == nullptr || !c->out.record) return {};
  return {c->out.record->arrivals().begin(),
          c->out.record->arrivals().begin() + c->set_up.theirs.paths};
}

const EndpointStatistics& Engine::statistics() const {
  const NetworkCounters& n = network_.counters();
  statistics_.send_calls = n.send_calls;
  statistics_.receive_calls = n.receive_calls;
  statistics_.send_errors = n.send_errors;
  statistics_.send_full = n.send_full;
  statistics_.held_bytes = held_bytes_;
  return statistics_;
}

std::size_t Engine::connections(std::span<ConnectionId> out) const {
  std::size_t n = 0;
  for (const auto& c : connections_) {
    if (c->state != State::open) continue;
    if (n < out.size()) out[n] = c->id;
    ++n;
  }
  return n;
}

const Address* Engine::peer_address(ConnectionId connection) const {
  const Connection* c = find(connection);
  return c == nullptr ? nullptr : &c->peer;
}

}  // namespace strack::udp
