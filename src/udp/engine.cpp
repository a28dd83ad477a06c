#include "udp/engine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"
#include "udp/derive_params.h"

namespace strack::udp {
namespace {

/// Packets sent before it is looked again for what has arrived.
constexpr std::uint32_t kSendBudget = 32;
constexpr std::uint32_t kTurn = 16;  ///< of one connection
/// Batches received before timers and senders have their turn.
constexpr int kReceiveRounds = 4;
constexpr std::size_t kMostCompletions = std::size_t{1} << 17;
constexpr Picoseconds kLinger = seconds(1);
constexpr Picoseconds kShortestRetry = ms(2);
constexpr Picoseconds kLongestRetry = ms(256);
constexpr Picoseconds kLongestQuestion = ms(64);  ///< for the RTT: nothing can be sent without it
constexpr Picoseconds kCloseRetry = ms(20);
constexpr std::uint32_t kAbortRepeats = 2;
/// Questions that a peer must have left unanswered before its silence counts. A process that was
/// stopped, or that calls seldom, has to ask them first.
constexpr std::uint32_t kAskedEnough = 3;
/// They are asked every so-manieth part of the time that silence may last, after its first quarter. Each
/// goes another way [D41], and most ways may be dead.
constexpr std::int64_t kAskEvery = 32;
/// [D41] After a peer has asked again, its SACKs go other ways than its packets came, so long.
constexpr Picoseconds kAcksAstray = seconds(1);
/// [D41] By so many paths at once goes what may find no way back, and pings that seek one, so often.
constexpr std::uint32_t kWaysBack = 4;
constexpr Picoseconds kSeekEvery = ms(5);
constexpr Picoseconds kProofLasts = seconds(1);  ///< that a way leads back; it may have died since
constexpr std::uint32_t kMostHeldUnexpected = 64;  ///< packets per connection
constexpr std::int32_t kWidestSack = core::kSackBits / 2;
constexpr std::uint64_t kCounterReserve = 1u << 16;
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

[[nodiscard]] std::int32_t ahead(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b);
}

[[nodiscard]] Status status_of(wire::CloseReason reason) {
  switch (reason) {
    case wire::CloseReason::protocol_error:
      return Status::protocol_error;
    case wire::CloseReason::no_resources:
      return Status::no_resources;
    case wire::CloseReason::keys_exhausted:
      return Status::keys_exhausted;
    case wire::CloseReason::done:
    case wire::CloseReason::aborted:
    case wire::CloseReason::going_away:
      break;
  }
  return Status::peer_aborted;
}

void add_hold(std::uint32_t& hold_ns, Picoseconds more) {
  const std::int64_t sum = hold_ns + std::max<std::int64_t>(more.count(), 0) / 1'000;
  hold_ns = static_cast<std::uint32_t>(std::min<std::int64_t>(sum, 0xffff'ffff));
}

}  // namespace

std::optional<Error> Engine::check(const EndpointOptions& o) {
  const auto wrong = [](const char* name, std::uint64_t value, const char* remedy) {
    return Error{std::string(name) + " is " + std::to_string(value) + ". it takes " + remedy};
  };
  if (o.paths < 1 || o.paths > core::kMaxPaths) return wrong("paths", o.paths, "1 to 256");
  if (o.burst < 1 || o.burst > 64) return wrong("burst", o.burst, "1 to 64");
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
  if (!crypto_ready()) return Error{"libsodium does not start"};
  return std::nullopt;
}

Engine::Engine(const EndpointOptions& options, Network& network)
    : options_(options),
      network_(network),
      burst_(options.burst),
      answer_path_(static_cast<std::uint32_t>(draw(network))),
      challenge_budget_(kChallenges, kChallengesOfAPart, draw(network)),
      reject_budget_(kRejects, kRejectsOfAPart, draw(network)),
      reset_budget_(kRejects, kRejectsOfAPart, draw(network)),
      pool_(options.max_receives) {
  STRACK_CHECK(!check(options));
  if (options.key) {
    Secret psk;
    std::memcpy(psk.data(), options.key->data(), psk.size());
    key_.emplace(psk);
  }
  Secret jar;
  network_.random(jar);
  jar_.emplace(jar);
  ring_.resize(1024);
  // A burst's headers and, where sealed, whole packets; or one hello.
  scratch_.resize(burst_ * (std::size_t{options.max_payload} + 128) + wire::kHelloMinBytes);
  pieces_.reserve(2 * std::size_t{burst_});
  burst_psns_.reserve(burst_);
  now_ = network_.now();
}

Engine::~Engine() {
  for (const auto& c : connections_) {
    for (Inbound& in : c->inbox) drop_held(*c, in);
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
  c.last_heard = now_;
  c.outbox.resize(options_.message_slots);
  by_user_id_.emplace(static_cast<std::uint64_t>(c.id), &c);
  deadlines_.add(c, Instant::never());
  ++living_;
  return c;
}

void Engine::draw_id(Connection& c) {
  std::uint32_t id = 0;
  while (id == 0 || by_local_id_.contains(id)) id = random32();
  c.mine.connection_id = id;
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
}

bool Engine::room_for_completions() const { return completed_ - taken_ < kMostCompletions; }

std::span<const Completion> Engine::completions(std::span<Completion> out) {
  std::size_t n = 0;
  while (n < out.size() && taken_ != completed_) {
    out[n++] = ring_[taken_++ & (ring_.size() - 1)];
  }
  return out.first(n);
}

/// Every operation that the connection still owes a completion.
void Engine::give_back_operations(Connection& c, Status status) {
  for (; c.out_head != c.out_tail; ++c.out_head) {
    Outbound& out = c.outbox[c.out_head & c.out_mask()];
    if (out.done) continue;
    const bool sent = out.kind == wire::DataKind::send;
    complete({.kind = sent ? Kind::sent : Kind::written,
              .status = status,
              .connection = c.id,
              .cookie = out.cookie,
              .tag = sent ? out.tag : 0});
  }
  for (; c.in_floor != c.in_unseen; ++c.in_floor) {
    Inbound& in = c.inbox[c.in_floor & c.in_mask()];
    if (in.state == InboundState::matched && in.kind == wire::DataKind::send) {
      complete({.kind = Kind::received,
                .status = status,
                .connection = c.id,
                .cookie = in.cookie,
                .tag = in.tag,
                .length = in.length});
    }
    drop_held(c, in);
    in = {};
  }
  while (PostedReceive* receive = c.receives.take_if([](const PostedReceive&) { return true; })) {
    complete(
        {.kind = Kind::received, .status = status, .connection = c.id, .cookie = receive->cookie});
    pool_.give_back(receive);
  }
}

/// Ends a connection out of order; the peer is told where there is a reason to tell.
void Engine::fail(Connection& c, Status status, std::optional<wire::CloseReason> tell) {
  if (c.has_ended()) return;
  const State was = c.state;
  if (was == State::half_open) {  // the user has never heard of it
    retire(c);
    return;
  }
  give_back_operations(c, status);
  complete(
      {.kind = Kind::failed, .status = status, .connection = c.id, .cookie = c.connect_cookie});
  ++statistics_.connections_failed;
  if (was == State::open) --statistics_.connections;
  if (was != State::open || !tell) {
    retire(c);
    return;
  }
  c.state = State::over;
  --living_;
  c.close_reason = *tell;
  c.close_sent = true;
  c.close_acked = false;
  c.close_repeats = kAbortRepeats;
  c.close_retry_at = now_ + kCloseRetry;
  c.forget_at = now_ + kLinger;
  send_close(c);
  rearm(c);
}

/// Takes a connection out of everything but memory, which it leaves when nobody holds it any more.
void Engine::retire(Connection& c) {
  if (c.state == State::dead) return;
  if (c.state == State::half_open) --half_open_;
  if (c.state != State::over) --living_;
  for (Inbound& in : c.inbox) drop_held(c, in);
  c.state = State::dead;
  by_local_id_.erase(c.mine.connection_id);
  by_user_id_.erase(static_cast<std::uint64_t>(c.id));
  if (!c.initiator) by_nonce_.erase(wire::nonce_echo(c.theirs.nonce));
  forget_peer_id(c);
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

// ---- What users ask for ----

Status Engine::queue(ConnectionId id, const Outbound& message) {
  Connection* c = find(id);
  if (c == nullptr || c->has_ended()) return Status::unknown_connection;
  if (c->local_close) return Status::closing;
  if (c->out_tail - c->out_head == c->outbox.size() || !room_for_completions())
    return Status::would_block;
  c->outbox[c->out_tail++ & c->out_mask()] = message;
  post(*c);
  return Status::ok;
}

Status Engine::send(ConnectionId connection, std::uint64_t tag, std::span<const std::byte> message,
                    std::uint64_t cookie) {
  if (message.size() > 0xffff'ffff) return Status::too_long;
  return queue(connection, {.data = reinterpret_cast<const std::uint8_t*>(message.data()),
                            .length = static_cast<std::uint32_t>(message.size()),
                            .kind = wire::DataKind::send,
                            .tag = tag,
                            .cookie = cookie});
}

Status Engine::write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                     std::span<const std::byte> bytes, std::uint64_t cookie) {
  if (bytes.size() > 0xffff'ffff || offset > ~std::uint64_t{0} - bytes.size() - 1)
    return Status::too_long;
  return queue(connection, {.data = reinterpret_cast<const std::uint8_t*>(bytes.data()),
                            .length = static_cast<std::uint32_t>(bytes.size()),
                            .kind = wire::DataKind::write,
                            .tag = region.id,
                            .region_offset = offset,
                            .cookie = cookie});
}

Status Engine::post_receive(ConnectionId connection, Match match_with, std::span<std::byte> buffer,
                            std::uint64_t cookie) {
  Connection* c = nullptr;
  if (connection != kAnyConnection) {
    c = find(connection);
    if (c == nullptr || c->has_ended()) return Status::unknown_connection;
  }
  if (!room_for_completions()) return Status::would_block;
  PostedReceive* receive = pool_.take();
  if (receive == nullptr) return Status::no_resources;
  *receive = {match_with, reinterpret_cast<std::uint8_t*>(buffer.data()), buffer.size(), cookie,
              nullptr};
  credit_to_tell_ = !dry_.empty();
  if (c != nullptr) {
    c->receives.push(receive);
    if (c->starving) match(*c);
    return Status::ok;
  }
  any_receives_.push(receive);
  // Those that wait take it in the order in which they began to. What does not match stays in the
  // list.
  for (std::size_t i = 0; i < starving_.size() && any_receives_.count() > 0; ++i) {
    if (starving_[i]->starving) match(*starving_[i]);
  }
  std::erase_if(starving_, [](Connection* waiting) {
    if (waiting->starving) return false;
    waiting->listed = false;
    return true;
  });
  return Status::ok;
}

std::size_t Engine::cancel_receives(std::uint64_t cookie) {
  std::size_t cancelled = 0;
  const auto cancel = [&](ReceiveQueue& queue, ConnectionId id) {
    while (PostedReceive* receive = queue.take_if(
               [cookie](const PostedReceive& node) { return node.cookie == cookie; })) {
      complete({.kind = Kind::received,
                .status = Status::cancelled,
                .connection = id,
                .cookie = cookie});
      pool_.give_back(receive);
      ++cancelled;
    }
  };
  cancel(any_receives_, kAnyConnection);
  for (const auto& c : connections_) cancel(c->receives, c->id);
  return cancelled;
}

Outcome<RegionKey> Engine::register_region(std::span<std::byte> memory, ConnectionId connection) {
  if (regions_.size() >= options_.max_regions) {
    return Error{"already " + std::to_string(regions_.size()) +
                 " regions. unregister some or raise max_regions"};
  }
  if (connection != kAnyConnection && find(connection) == nullptr)
    return Error{"a region for a connection that does not exist"};
  std::uint64_t id = 0;
  while (id == 0 || regions_.contains(id)) id = std::uint64_t{random32()} << 32 | random32();
  regions_.emplace(
      id, Region{reinterpret_cast<std::uint8_t*>(memory.data()), memory.size(), connection});
  return RegionKey{id};
}

Status Engine::unregister_region(RegionKey key) {
  if (regions_.erase(key.id) == 0) return Status::unknown_region;
  now_ = network_.now();
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& c = *connections_[i];
    if (c.has_ended() || c.inbox.empty()) continue;
    bool under_way = false;
    for (std::uint32_t m = c.in_floor; m != c.in_unseen; ++m) {
      const Inbound& in = c.inbox[m & c.in_mask()];
      under_way |= in.state == InboundState::matched && in.kind == wire::DataKind::write &&
                   in.tag == key.id && !in.whole;
    }
    if (under_way) fail(c, Status::access_refused, wire::CloseReason::protocol_error);
  }
  flush_small();
  return Status::ok;
}

Status Engine::close(ConnectionId connection) {
  Connection* c = find(connection);
  if (c == nullptr || c->has_ended()) return Status::unknown_connection;
  if (c->local_close) return Status::ok;
  c->local_close = true;
  now_ = network_.now();
  if (c->state < State::open) {
    fail(*c, Status::cancelled, std::nullopt);
  } else {
    maybe_close(*c);
    flush_small();
  }
  return Status::ok;
}

Status Engine::abort(ConnectionId connection) {
  Connection* c = find(connection);
  if (c == nullptr || c->has_ended()) return Status::unknown_connection;
  now_ = network_.now();
  fail(*c, Status::cancelled, wire::CloseReason::aborted);
  flush_small();
  return Status::ok;
}

void Engine::shut_down() {
  now_ = network_.now();
  for (const auto& c : connections_) {
    if (c->state != State::open) continue;
    c->close_reason = wire::CloseReason::going_away;
    send_close(*c);
  }
  flush_small();
}

// ---- The loop ----

bool Engine::poll() {
  now_ = network_.now();
  bool any = false;
  for (int round = 0; round < kReceiveRounds; ++round) {
    const std::span<Incoming> batch = network_.receive();
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
    send_acks();
    if (batch.size() < kReceiveBatch) break;  // to ask again would cost a system call
  }
  if (deadlines_.next() <= now_) run_timers();
  if (!dry_.empty()) feed_the_dry();
  flush_small();
  if (!ready_.empty()) any |= transmit();
  bury();
  return any;
}

Instant Engine::next_deadline() const {
  return ready_.empty() && !credit_to_tell_ ? deadlines_.next() : Instant{};
}

void Engine::on_datagram(std::span<std::uint8_t> datagram, const Incoming& from, bool last) {
  came_to_ = from.to;
  const auto decoded = wire::decode_header(datagram);
  if (!decoded) {
    ++statistics_.refused_malformed;
    if (decoded.error() == wire::DecodeFault::unknown_version && !options_.listen.empty()) {
      if (const auto hello = wire::foreign_hello(datagram)) {
        send_reject(wire::RejectReason::version, hello->connection_id, hello->echo, hello->version,
                    from.from);
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
    if (c.replay.is_old(header.counter)) {
      ++statistics_.refused_replayed;
      return;
    }
    if (!c.open.open(datagram, header.counter)) {
      ++statistics_.refused_forged;
      return;
    }
    c.replay.note(header.counter);
    end -= wire::kTagBytes;
  }
  c.last_heard = now_;
  c.asked = 0;
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

// ---- Receiving messages ----

void Engine::on_data(Connection& c, const wire::Header& header, wire::ConstBytes body,
                     const Incoming& from, bool last) {
  const auto decoded = wire::decode_data(header, body);
  if (!decoded) {
    ++statistics_.refused_malformed;
    return;
  }
  wire::Data data = decoded.value();
  core::Packet& packet = data.packet;
  const std::uint32_t offset = packet.offset;
  const std::uint64_t blocks = data.piece ? take_for_whole(c, packet) : 0;
  if (data.piece && blocks == 0) {
    ++statistics_.refused_malformed;
    return;
  }
  core::Receiver<>& receiver = *c.receiver;
  if (from.marked) ++c.statistics.marks_received;
  const std::int32_t distance = packet.psn - receiver.epsn();
  const bool plain_case =
      distance >= 0 && distance < static_cast<std::int32_t>(c.receive_params.tracking_window) &&
      packet.path_id < c.receive_params.max_paths &&
      core::fits_its_message(packet, static_cast<std::uint32_t>(c.receive_params.mtu.value)) &&
      !receiver.has_arrived(packet.psn);
  if (!plain_case) {
    // A duplicate, acknowledged again, or something that the core counts and drops.
    const core::Arrival arrival = receiver.on_packet(packet, {.ecn = from.marked}, now_);
    STRACK_DCHECK(arrival.kind != core::ArrivalKind::accepted);
    if (arrival.kind == core::ArrivalKind::duplicate) {
      ++c.statistics.duplicates_received;
      c.asked_again = true;
      want_ack(c, packet.psn, packet.timestamp, from.arrival);
    } else {
      ++statistics_.refused_malformed;
    }
    return;
  }
  const std::uint32_t m = packet.message_id;
  if (ahead(m, c.in_floor) < 0) {
    ++statistics_.refused_malformed;  // a new packet of a message that was whole
    return;
  }
  if (ahead(m, c.granted) >= 0) {
    fail(c, Status::protocol_error, wire::CloseReason::protocol_error);
    return;
  }
  Inbound& in = c.inbox[m & c.in_mask()];
  if (!take_note(c, in, data)) return;

  // One SACK tells of 64 packets: what lies further apart must not share one.
  if (c.trigger_count > 0 && std::abs(packet.psn - c.triggers[0].psn) >= kWidestSack) send_ack(c);
  if (in.state != InboundState::matched && !may_hold(c, data.payload.size())) {
    // No place for it: as if it had been lost on the way. While the user owes a buffer, probes are
    // not answered either, so that the sender falls back to its timeout instead of sending again
    // and again.
    ++c.statistics.packets_unplaced;
    c.blocked = c.starving;
    return;
  }
  bool marked = from.marked;
  if (!put_down(c, in, data, offset, blocks, marked)) return;  // more pieces are to come
  const core::Arrival arrival = receiver.on_packet(packet, {.ecn = marked}, now_);
  STRACK_DCHECK(arrival.kind == core::ArrivalKind::accepted);
  ++c.statistics.data_packets_received;
  want_ack(c, packet.psn, packet.timestamp, from.arrival);
  if (arrival.delivered) {
    in.whole = true;
    report(c);
  }
  // A mark is news that the sender's choice of paths waits for.
  if (marked && last && c.ack_pending && !c.has_ended()) send_ack(c);
}

/// What a message's first packet tells about it; its others must agree. False: dropped.
bool Engine::take_note(Connection& c, Inbound& in, const wire::Data& data) {
  const core::Packet& packet = data.packet;
  const bool is_write = data.kind == wire::DataKind::write;
  const std::uint64_t tag = is_write ? data.region : data.tag;
  if (in.state != InboundState::unseen) {
    if (in.kind == data.kind && in.length == packet.message_length && in.tag == tag &&
        in.region_offset == data.region_offset && in.state != InboundState::reported)
      return true;
    ++statistics_.refused_malformed;
    return false;
  }
  if (is_write) {
    const auto found = regions_.find(data.region);
    const Region* region = found == regions_.end() ? nullptr : &found->second;
    if (region == nullptr || (region->connection != kAnyConnection && region->connection != c.id) ||
        data.region_offset > region->size ||
        packet.message_length > region->size - data.region_offset) {
      fail(c, Status::access_refused, wire::CloseReason::protocol_error);
      return false;
    }
    in.buffer = region->memory + data.region_offset;
    in.capacity = packet.message_length;
    in.state = InboundState::matched;
  } else {
    in.state = InboundState::waiting;
  }
  in.kind = data.kind;
  in.length = packet.message_length;
  in.tag = tag;
  in.region_offset = data.region_offset;
  if (ahead(packet.message_id + 1, c.in_unseen) > 0) c.in_unseen = packet.message_id + 1;
  match(c);
  note_dryness(c);
  return !c.has_ended();
}

/// Gives messages their buffers, in the order of sending: no message gets one that an earlier message
/// could have had.
void Engine::match(Connection& c) {
  bool found_whole = false;
  bool all_matched = true;
  for (std::uint32_t m = c.in_unmatched; m != c.in_unseen; ++m) {
    Inbound& in = c.inbox[m & c.in_mask()];
    if (in.state == InboundState::unseen)
      break;  // it may want the buffer that a later one would get
    if (in.state == InboundState::waiting) {
      PostedReceive* receive = c.receives.take(in.tag);
      if (receive == nullptr) receive = any_receives_.take(in.tag);
      if (receive == nullptr) {
        all_matched = false;
        if (options_.complete_in_order) break;  // nothing after it could be told of anyway
        continue;
      }
      found_whole |= give_buffer(c, in, *receive);
      pool_.give_back(receive);
    }
    if (all_matched) c.in_unmatched = m + 1;
  }
  c.starving = !all_matched;
  if (all_matched) {
    // The sender has given up asking often: it is told.
    if (c.blocked && c.state == State::open) send_ping(c);
    c.blocked = false;
  } else if (!c.listed) {
    c.listed = true;
    starving_.push_back(&c);
  }
  if (found_whole) report(c);
}

/// Its packets so far go there; returns whether that is all of it.
bool Engine::give_buffer(Connection& c, Inbound& in, const PostedReceive& receive) {
  in.buffer = receive.buffer;
  in.capacity = receive.size;
  in.cookie = receive.cookie;
  in.state = InboundState::matched;
  for (HeldPacket* packet = in.held; packet != nullptr; packet = packet->next)
    place(in, packet->offset, packet->payload(), packet->size);
  drop_held(c, in);
  return in.whole;
}

void Engine::place(Inbound& in, std::uint32_t offset, const std::uint8_t* payload,
                   std::size_t size) {
  if (offset >= in.capacity) return;  // longer than its buffer: cut off
  std::memcpy(in.buffer + offset, payload, std::min<std::uint64_t>(size, in.capacity - offset));
}

bool Engine::may_hold(const Connection& c, std::size_t size) const {
  const std::size_t needed = sizeof(HeldPacket) + size;
  // For those that merely overtook a message, half of the pool; for those nobody has asked for,
  // little.
  const std::size_t limit =
      c.starving ? std::min<std::size_t>(options_.held_bytes / 8,
                                         std::size_t{kMostHeldUnexpected} *
                                             (c.statistics.payload_bytes + sizeof(HeldPacket)))
                 : options_.held_bytes / 2;
  return held_bytes_ + needed <= options_.held_bytes && c.held_bytes + needed <= limit;
}

void Engine::hold(Connection& c, Inbound& in, std::uint32_t offset, wire::ConstBytes payload) {
  const std::size_t size = sizeof(HeldPacket) + payload.size();
  auto* packet = new (::operator new(size))
      HeldPacket{in.held, offset, static_cast<std::uint32_t>(payload.size())};
  if (!payload.empty()) std::memcpy(packet->payload(), payload.data(), payload.size());
  in.held = packet;
  c.held_bytes += size;
  held_bytes_ += size;
}

void Engine::drop_held(Connection& c, Inbound& in) {
  while (in.held != nullptr) {
    HeldPacket* packet = in.held;
    in.held = packet->next;
    const std::size_t size = sizeof(HeldPacket) + packet->size;
    c.held_bytes -= size;
    held_bytes_ -= size;
    ::operator delete(packet);
  }
}

void Engine::report_one(Connection& c, Inbound& in) {
  if (in.kind == wire::DataKind::send) {
    complete({.kind = Kind::received,
              .status = in.length > in.capacity ? Status::truncated : Status::ok,
              .connection = c.id,
              .cookie = in.cookie,
              .tag = in.tag,
              .length = in.length});
  }
  ++c.statistics.messages_received;
  c.statistics.message_bytes_received += in.length;
}

/// Tells of messages that are whole and in their buffer, and forgets the oldest.
void Engine::report(Connection& c) {
  if (!options_.complete_in_order) {
    for (std::uint32_t m = c.in_floor; m != c.in_unseen; ++m) {
      Inbound& in = c.inbox[m & c.in_mask()];
      if (in.state != InboundState::matched || !in.whole) continue;
      report_one(c, in);
      in.state = InboundState::reported;
    }
  }
  while (c.in_floor != c.in_unseen) {
    Inbound& in = c.inbox[c.in_floor & c.in_mask()];
    if (in.state == InboundState::matched && in.whole) {
      report_one(c, in);
    } else if (in.state != InboundState::reported) {
      break;
    }
    in = {};
    ++c.in_floor;
  }
  maybe_over(c);
}

/// What the peer may start now: it never goes back.
std::uint32_t Engine::credit(Connection& c) {
  std::uint32_t matched = c.in_unmatched - c.in_floor;
  if (c.starving && !options_.complete_in_order) {
    // Later ones may have their buffers though an earlier one has none.
    for (std::uint32_t m = c.in_unmatched; m != c.in_unseen; ++m) {
      const InboundState state = c.inbox[m & c.in_mask()].state;
      if (state == InboundState::matched || state == InboundState::reported) ++matched;
    }
  }
  const std::uint32_t wanted =
      matched + c.receives.count() + any_receives_.count() + options_.unexpected_messages;
  const std::uint32_t limit = c.in_floor + std::min(wanted, options_.message_slots);
  if (ahead(limit, c.granted) > 0) c.granted = limit;
  return c.granted;
}

/// In a packet that nobody repeats. New credit for a peer that waits for it goes in one that is
/// (feed_the_dry).
std::uint32_t Engine::passing_credit(Connection& c) { return c.dry ? c.granted : credit(c); }

void Engine::note_dryness(Connection& c) {
  if (c.dry || c.granted != c.in_unseen) return;
  c.dry = true;
  dry_.push_back(&c);
}

/// A peer without credit has nothing to send that a SACK could answer: new credit goes in a ping.
void Engine::feed_the_dry() {
  credit_to_tell_ = false;
  std::erase_if(dry_, [this](Connection* c) {
    if (c->state != State::open) return c->has_ended();
    const std::uint32_t told = c->granted;
    if (told == c->in_unseen && credit(*c) == told) return false;
    c->dry = false;
    if (told == c->in_unseen) {
      send_ping(*c);
      c->credit_ping = c->ping_id;
      // Before the RTT is known, questions are repeated anyway.
      if (c->sender) c->ping_interval = kShortestRetry;
      c->ping_retry_at = std::min(c->ping_retry_at, now_ + c->ping_interval);
      rearm(*c);
    }
    return true;
  });
}

void Engine::want_ack(Connection& c, core::Psn psn, core::Timestamp timestamp, Instant arrival) {
  c.triggers[c.trigger_count++] = {psn, timestamp, arrival};
  if (!c.ack_pending) {
    c.ack_pending = true;
    acks_.push_back(&c);
  }
  if (c.trigger_count == Connection::kMostPerSack) send_ack(c);
}

void Engine::send_acks() {
  for (Connection* c : acks_) {
    if (c->ack_pending && !c->has_ended()) send_ack(*c);
    c->ack_pending = false;
    c->trigger_count = 0;
  }
  acks_.clear();
  flush_small();
}

void Engine::send_ack(Connection& c) {
  const auto sack = c.receiver->poll_ack(now_);
  if (sack) {
    wire::SackBody body{*sack, credit(c)};
    const Instant now = network_.now();
    for (std::uint32_t i = c.trigger_count; i-- > 0;) {
      if (c.triggers[i].psn == sack->psn && c.triggers[i].timestamp == sack->timestamp) {
        add_hold(body.sack.hold_time_ns, now - c.triggers[i].arrival);
        break;
      }
    }
    ++c.statistics.sacks_sent;
    const auto send_by = [&](std::uint16_t entropy) {
      send_small(c, entropy, false, [&](wire::MutableBytes out, const wire::Envelope& envelope) {
        return wire::encode(out, envelope, body);
      });
    };
    // [D41] By the number that the packet came by; but whoever asks again has perhaps not heard the
    // last answers. Then they go by ways that have led back lately, and otherwise by several.
    if (c.asked_again) c.astray_until = now_ + kAcksAstray;
    if (now_ >= c.astray_until) {
      send_by(static_cast<std::uint16_t>(sack->path_id % options_.paths));
    } else {
      const bool lost = c.asked_again && !knows_way_back(c);
      if (lost) seek_ways_back(c);
      const std::uint32_t copies = lost ? std::min(kWaysBack, options_.paths) : 1;
      for (std::uint32_t i = 0; i < copies; ++i) send_by(control_path(c));
    }
  }
  c.asked_again = false;
  c.trigger_count = 0;
}

/// Something has lately been heard to arrive that went by this host's own choice.
bool Engine::knows_way_back(const Connection& c) const { return c.arrived_at + kProofLasts > now_; }

/// [D41] For what asks and answers.
std::uint16_t Engine::control_path(Connection& c) {
  return c.paths.for_control(now_, knows_way_back(c));
}

/// A pong tells which way its ping took, and so that it leads to the peer: the only way for somebody
/// who sends nothing but SACKs to learn of one.
void Engine::seek_ways_back(Connection& c) {
  if (now_ < c.seek_at) return;
  c.seek_at = now_ + kSeekEvery;
  for (std::uint32_t i = 0; i < std::min(kWaysBack, options_.paths); ++i) send_ping(c);
}

void Engine::on_probe(Connection& c, const wire::Header& header, wire::ConstBytes body,
                      const Incoming& from) {
  const auto probe = wire::decode_probe(header, body);
  if (!probe) {
    ++statistics_.refused_malformed;
    return;
  }
  if (c.blocked) return;
  const core::Packet& packet = probe.value();
  // What it would overwrite is owed first.
  if (c.trigger_count > 0) send_ack(c);
  if (c.receiver->on_packet(packet, {.ecn = from.marked}, now_).kind != core::ArrivalKind::probe) {
    ++statistics_.refused_malformed;
    return;
  }
  c.asked_again = true;
  want_ack(c, packet.psn, packet.timestamp, from.arrival);
  send_ack(c);
}

// ---- Sending messages ----

void Engine::take_credit(Connection& c, std::uint32_t credit) {
  if (ahead(credit, c.peer_credit) <= 0) return;
  c.peer_credit = credit;
  c.stalled = false;
  post(c);
}

/// Hands queued messages to the core as far as the peer's credit and the core's queue go.
void Engine::post(Connection& c) {
  if (!c.sender) return;
  while (c.out_posted != c.out_tail) {
    if (ahead(c.peer_credit, c.out_posted) <= 0) {
      if (!c.stalled) ++c.statistics.credit_stalls;
      c.stalled = true;
      break;
    }
    const Outbound& message = c.outbox[c.out_posted & c.out_mask()];
    if (c.sender->on_message({c.out_posted, message.length}, now_) != core::PostResult::accepted)
      break;
    ++c.out_posted;
    mark_ready(c);
  }
}

void Engine::mark_ready(Connection& c) {
  if (c.ready) return;
  c.ready = true;
  ready_.push_back(&c);
}

void Engine::on_sack(Connection& c, const wire::Header& header, wire::ConstBytes body,
                     const Incoming& from) {
  const auto decoded = wire::decode_sack(header, body);
  if (!decoded || !c.sender) {
    ++statistics_.refused_malformed;
    return;
  }
  core::Sack sack = decoded.value().sack;
  // The time it waited in our own socket is no part of the RTT either.
  add_hold(sack.hold_time_ns, now_ - from.arrival);
  const Picoseconds rtt = core::Timestamp::of(now_).since(sack.timestamp) - ns(sack.hold_time_ns);
  const std::uint32_t rejected = c.sender->counters().sacks_rejected;
  c.sender->on_receiving_ack(sack, now_);
  if (c.sender->counters().sacks_rejected != rejected) {
    ++statistics_.refused_malformed;  // and nothing of it counts
    return;
  }
  c.arrived_at = now_;
  if (sack.ecn) ++c.statistics.marks_echoed;
  if (rtt > ps(0)) {
    c.statistics.rtt_ns = static_cast<std::uint64_t>(rtt.count() / 1'000);
    c.lowest_rtt = std::min(c.lowest_rtt, rtt);
  }
  while (const auto id = c.sender->poll_completion()) {
    Outbound& out = c.outbox[*id & c.out_mask()];
    out.done = true;
    const bool sent = out.kind == wire::DataKind::send;
    ++c.statistics.messages_sent;
    c.statistics.message_bytes_sent += out.length;
    complete({.kind = sent ? Kind::sent : Kind::written,
              .connection = c.id,
              .cookie = out.cookie,
              .tag = sent ? out.tag : 0,
              .length = out.length});
  }
  while (c.out_head != c.out_posted && c.outbox[c.out_head & c.out_mask()].done) ++c.out_head;
  take_credit(c, decoded.value().credit);
  post(c);
  mark_ready(c);
  if (c.local_close) maybe_close(c);
}

bool Engine::transmit() {
  std::uint32_t budget = kSendBudget;
  std::size_t i = 0;
  bool any = false;
  ready_next_.clear();
  for (; i < ready_.size() && budget > 0; ++i) {
    Connection& c = *ready_[i];
    const std::uint32_t turn = std::min(budget, std::max(kTurn, burst_));
    const std::uint32_t sent = transmit(c, turn);
    budget -= std::min(sent, budget);
    any |= sent > 0;
    if (sent >= turn) {
      ready_next_.push_back(&c);
    } else {
      c.ready = false;
    }
    rearm(c);
  }
  // Those that had no turn come first next time.
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(i));
  ready_.insert(ready_.end(), ready_next_.begin(), ready_next_.end());
  return any;
}

std::uint32_t Engine::transmit(Connection& c, std::uint32_t budget) {
  if (c.state != State::open || !c.sender) return 0;
  if (keyed() && c.counter >= wire::kCounterLimit - kCounterReserve) {
    fail(c, Status::keys_exhausted, wire::CloseReason::keys_exhausted);
    return 0;
  }
  UdpSender& sender = *c.sender;
  std::uint32_t sent = 0;
  std::optional<core::Packet> next = sender.poll_transmit(network_.now());
  while (next) {
    if (next->type == core::PacketType::probe) {
      send_small(c, next->path_id, true,
                 [&](wire::MutableBytes out, const wire::Envelope& envelope) {
                   return wire::encode(out, envelope, *next);
                 });
      flush_small();
      ++sent;
      next = sent < budget ? sender.poll_transmit(network_.now()) : std::nullopt;
      continue;
    }
    if (data_bytes(c, *next) > c.mtu.size()) {
      send_in_pieces(c, *next);
      ++sent;
      next = sent < budget ? sender.poll_transmit(network_.now()) : std::nullopt;
      continue;
    }
    // A burst: packets of one size, the last perhaps smaller, on the first one's path.
    const core::PathId path = next->path_id;
    const core::Timestamp timestamp = core::Timestamp::of(network_.now());
    pieces_.clear();
    burst_psns_.clear();
    std::size_t used = 0;
    std::uint32_t total = 0;
    std::uint32_t segment = 0;
    std::uint32_t count = 0;
    bool ends = false;
    while (true) {
      const std::uint32_t size = data_bytes(c, *next);
      if (count == 0) segment = size;
      if (size > segment || total + size > wire::kMaxDatagramBytes)
        break;  // the next burst's first
      ends = size < segment;

      burst_psns_.push_back(next->psn);
      core::Packet packet = *next;
      packet.timestamp = timestamp;
      append_data(c, packet, false, used);
      if (next->retransmission) ++c.statistics.retransmissions;
      c.statistics.data_bytes_sent += next->payload;
      total += size;
      ++count;
      if (count == burst_ || ends || sent + count >= budget) {
        next.reset();
        break;
      }
      next = sender.poll_transmit(network_.now(), path);
      if (!next || next->type == core::PacketType::probe) break;
    }
    c.statistics.data_packets_sent += count;
    send_burst(c, path, count, total, segment, used);
    sent += count;
    if (!next && sent < budget) next = sender.poll_transmit(network_.now());
  }
  return sent;
}

/// The datagram that a data packet makes.
std::uint32_t Engine::data_bytes(const Connection& c, const core::Packet& packet) const {
  const wire::DataKind kind = c.outbox[packet.message_id & c.out_mask()].kind;
  const std::size_t around =
      wire::data_front_bytes(keyed(), kind) + (keyed() ? wire::kTagBytes : 0);
  return static_cast<std::uint32_t>(around + packet.payload);
}

/// One more datagram of a burst: into scratch_ from `used` on, sealed where there is a key.
void Engine::append_data(Connection& c, const core::Packet& packet, bool piece, std::size_t& used) {
  const Outbound& message = c.outbox[packet.message_id & c.out_mask()];
  wire::Data data;
  data.packet = packet;
  data.piece = piece;
  data.kind = message.kind;
  if (message.kind == wire::DataKind::send) {
    data.tag = message.tag;
  } else {
    data.region = message.tag;
    data.region_offset = message.region_offset;
  }
  const std::size_t front = wire::data_front_bytes(keyed(), message.kind);
  std::uint8_t* out = scratch_.data() + used;
  const std::uint64_t counter = c.counter++;
  wire::encode_data_front({out, front}, wire::Envelope{c.peer_id, keyed(), counter}, data);
  const std::uint8_t* payload = message.data + packet.offset;
  if (keyed()) {
    if (packet.payload > 0) std::memcpy(out + front, payload, packet.payload);
    c.seal.seal(out, front + packet.payload, counter);
    used += front + packet.payload + wire::kTagBytes;
  } else {
    pieces_.push_back({out, front});
    if (packet.payload > 0) pieces_.push_back({payload, packet.payload});
    used += front;
  }
}

/// What append_data has put together.
void Engine::send_burst(Connection& c, core::PathId path, std::uint32_t count, std::uint32_t total,
                        std::uint32_t segment, std::size_t used) {
  if (keyed()) pieces_.push_back({scratch_.data(), used});
  if (!c.paths_seen.test(path)) {
    c.paths_seen.set(path);
    ++c.statistics.paths_used;
  }
  const Outgoing out{.to = &c.peer,
                     .from = &c.local,
                     .pieces = pieces_,
                     .bytes = total,
                     .entropy = path,
                     .segment = static_cast<std::uint16_t>(count > 1 ? segment : 0),
                     .ect = true,
                     .patient = true};
  const SendResult result = network_.send({&out, 1});
  if (result == SendResult::too_large) on_too_large(c, segment);
  if (result != SendResult::ok) {
    for (const core::Psn psn : burst_psns_) c.paths.never_left(psn);
  }
  count_sent(count, total);
}

template <class Encode>
void Engine::send_small(Connection& c, std::uint16_t entropy, bool ect, Encode&& encode) {
  if (small_count_ == kSmallBatch) flush_small();
  std::uint8_t* packet = small_[small_count_].data();
  const std::uint64_t counter = c.counter++;
  const wire::Envelope envelope{c.peer_id, keyed(), counter};
  std::size_t size = encode(wire::MutableBytes(packet, kSmallBytes), envelope);
  if (keyed()) {
    c.seal.seal(packet, size, counter);
    size += wire::kTagBytes;
  }
  small_to_[small_count_] = c.peer;
  small_from_[small_count_] = c.local;
  small_pieces_[small_count_] = {packet, size};
  small_out_[small_count_] = {.to = &small_to_[small_count_],
                              .from = &small_from_[small_count_],
                              .pieces = {&small_pieces_[small_count_], 1},
                              .bytes = static_cast<std::uint32_t>(size),
                              .entropy = entropy,
                              .segment = 0,
                              .ect = ect,
                              .patient = true};
  ++small_count_;
}

void Engine::flush_small() {
  if (small_count_ == 0) return;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < small_count_; ++i) bytes += small_out_[i].bytes;
  count_sent(small_count_, bytes);
  network_.send({small_out_.data(), small_count_});
  small_count_ = 0;
}

void Engine::send_plain(std::span<const std::uint8_t> datagram, const Address& to,
                        const Address& from, std::uint32_t path, bool patient) {
  const Piece piece{datagram.data(), datagram.size()};
  const Outgoing out{.to = &to,
                     .from = &from,
                     .pieces = {&piece, 1},
                     .bytes = static_cast<std::uint32_t>(datagram.size()),
                     .entropy = static_cast<std::uint16_t>(path % options_.paths),
                     .segment = 0,
                     .ect = false,
                     .patient = patient};
  network_.send({&out, 1});
  count_sent(1, datagram.size());
}

void Engine::count_sent(std::uint64_t datagrams, std::uint64_t bytes) {
  statistics_.datagrams_sent += datagrams;
  statistics_.bytes_sent += bytes;
}

// ---- Pings ----

wire::Ping Engine::next_ping(Connection& c) {
  ++c.ping_id;
  c.pings_under_way = c.pings_under_way << 1 | 1;
  return {.path_id = c.ping_path,
          .id = c.ping_id,
          .timestamp = core::Timestamp::of(network_.now()),
          .credit = passing_credit(c)};
}

wire::Ping Engine::send_ping(Connection& c) {
  // On changing paths: one that is dead must not make the peer seem so.
  c.ping_path = control_path(c);
  const wire::Ping ping = next_ping(c);
  send_small(c, c.ping_path, true, [&](wire::MutableBytes out, const wire::Envelope& envelope) {
    return wire::encode(out, envelope, ping);
  });
  return ping;
}

void Engine::on_ping(Connection& c, const wire::Header& header, wire::ConstBytes body,
                     const Incoming& from) {
  const auto decoded = wire::decode_ping(header, body);
  if (!decoded) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Ping& ping = decoded.value();
  if (c.sender) {  // [D42] it is there
    c.sender->on_peer_heard(now_);
    rearm(c);
  }
  take_credit(c, ping.credit);
  wire::Pong pong{.path_id = ping.path_id,
                  .ecn = from.marked,
                  .id = ping.id,
                  .timestamp = ping.timestamp,
                  .credit = passing_credit(c),
                  .size = static_cast<std::uint16_t>(header.bytes() + body.size() +
                                                     (header.keyed ? wire::kTagBytes : 0))};
  add_hold(pong.hold_time_ns, network_.now() - from.arrival);
  // A full one is compared with the small one before it: it is answered the same way.
  if (ping.padding == 0) c.pong_path = control_path(c);
  send_small(c, c.pong_path, false, [&](wire::MutableBytes out, const wire::Envelope& envelope) {
    return wire::encode(out, envelope, pong);
  });
}

void Engine::on_pong(Connection& c, const wire::Header& header, wire::ConstBytes body,
                     const Incoming& from) {
  const auto decoded = wire::decode_pong(header, body);
  if (!decoded) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Pong& pong = decoded.value();
  const std::uint32_t age = c.ping_id - pong.id;
  if (age >= 32 || (c.pings_under_way >> age & 1) == 0) {
    ++statistics_.refused_malformed;
    return;
  }
  c.pings_under_way &= ~(1u << age);
  c.arrived_at = now_;
  c.paths.works(pong.path_id);
  take_credit(c, pong.credit);
  const bool full = pong.size == c.mtu.largest();
  c.mtu.answered(pong.size, now_);
  if (pong.id == c.doubt_ping) c.mtu.full_answered();
  if (pong.id + 1 == c.doubt_ping) c.mtu.small_answered();
  note_rtt(c, core::Timestamp::of(from.arrival).since(pong.timestamp) - ns(pong.hold_time_ns),
           full);
  // One from before tells nothing of whether the newest credit has arrived.
  if (c.sender && ahead(pong.id, c.credit_ping) >= 0) c.ping_retry_at = Instant::never();
  rearm(c);  // there may be another size to try
}

// ---- Closing ----

/// All that was to be sent is acknowledged: say that no more will come.
void Engine::maybe_close(Connection& c) {
  if (!c.local_close || c.close_sent || c.state != State::open || c.out_head != c.out_tail) return;
  c.close_sent = true;
  c.close_interval = kCloseRetry;
  send_close(c);
  c.close_retry_at = now_ + c.close_interval;
  rearm(c);
}

void Engine::send_close(Connection& c) {
  const wire::Close close{c.close_reason, c.sender ? c.sender->psn_next() : c.mine.initial_psn,
                          c.mine.connection_id};
  send_small(c, control_path(c), false,
             [&](wire::MutableBytes out, const wire::Envelope& envelope) {
               return wire::encode_close(out, envelope, close);
             });
}

void Engine::on_close(Connection& c, const wire::Header& header, wire::ConstBytes body) {
  const auto decoded = wire::decode_close(header, body);
  if (!decoded) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Close& close = decoded.value();
  const bool in_order = close.reason == wire::CloseReason::done;
  if (!is_of_peer(c, close)) {
    ++statistics_.refused_malformed;
    return;
  }
  // The last word: the program may leave right after it, and then nobody answers the peer's
  // repetitions. So it goes two ways.
  const int copies = in_order && c.close_acked ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    send_small(c, control_path(c), false,
               [&](wire::MutableBytes out, const wire::Envelope& envelope) {
                 return wire::encode_close_ack(out, envelope, close);
               });
  }
  if (c.state == State::over) return;
  if (!in_order) {
    fail(c, status_of(close.reason), std::nullopt);
    return;
  }
  if (!c.peer_closed) {
    c.peer_closed = true;
    complete({.kind = Kind::peer_closed, .connection = c.id});
  }
  maybe_over(c);
}

void Engine::on_close_ack(Connection& c, const wire::Header& header, wire::ConstBytes body) {
  const auto decoded = wire::decode_close(header, body);
  if (!decoded || !c.close_sent || decoded.value().reason != c.close_reason ||
      decoded.value().source_id != c.mine.connection_id) {
    ++statistics_.refused_malformed;
    return;
  }
  c.close_acked = true;
  c.close_retry_at = Instant::never();
  if (c.state == State::over) {
    c.close_repeats = 0;
    return;
  }
  maybe_over(c);
}

/// Both sides have closed, and what the peer sent is with the user.
void Engine::maybe_over(Connection& c) {
  if (c.state != State::open || !c.close_acked || !c.peer_closed || c.in_floor != c.in_unseen)
    return;
  give_back_operations(c, Status::connection_closed);
  complete({.kind = Kind::closed, .connection = c.id, .cookie = c.connect_cookie});
  --statistics_.connections;
  --living_;
  c.state = State::over;
  c.forget_at = now_ + kLinger;
  rearm(c);
}

// ---- Timers ----

Picoseconds Engine::silence_limit() const { return us(options_.peer_timeout.count() * 1'000); }

/// When a silent peer is asked for a sign of life.
Instant Engine::next_question(const Connection& c) const {
  const Picoseconds limit = silence_limit();
  return std::max(c.last_heard + limit / 4, c.last_asked + limit / kAskEvery);
}

/// When a silent peer is given up: it has had its time, and enough questions.
Instant Engine::end_of_patience(const Connection& c) const {
  if (c.asked < kAskedEnough) return Instant::never();
  const Picoseconds limit = silence_limit();
  return std::max({c.last_heard + limit, c.first_asked + 7 * limit / 16,
                   c.last_asked + limit / (2 * kAskEvery)});
}

Instant Engine::due(const Connection& c) const {
  switch (c.state) {
    case State::hello_sent:
    case State::connect_sent:
      return std::min(c.retry_at, c.give_up_at);
    case State::half_open:
      return c.give_up_at;
    case State::open: {
      Instant next =
          std::min({next_question(c), end_of_patience(c), c.close_retry_at, c.ping_retry_at});
      if (c.sender) next = std::min({next, c.sender->next_deadline(), c.mtu.deadline()});
      return next;
    }
    case State::over:
      return std::min(c.forget_at, c.close_retry_at);
    case State::dead:
      break;
  }
  return Instant::never();
}

/// Deadlines that move away, as most do, are noticed when they would have come.
void Engine::rearm(Connection& c) {
  if (c.state == State::dead) return;
  const Instant when = due(c);
  if (when < c.deadline.when) deadlines_.move(c, when);
}

void Engine::run_timers() {
  // Each at most once: whatever is due again at once waits for the next poll.
  for (std::size_t turns = deadlines_.size(); turns > 0 && deadlines_.next() <= now_; --turns) {
    Connection& c = deadlines_.top();
    if (due(c) <= now_) on_timer(c);
    if (c.state != State::dead) deadlines_.move(c, std::max(due(c), now_ + ns(1)));
  }
}

void Engine::on_timer(Connection& c) {
  switch (c.state) {
    case State::hello_sent:
    case State::connect_sent:
      if (now_ >= c.give_up_at && now_ - c.asked_at > 2 * c.retry_interval && c.asked == 0) {
        // This process was away. Nobody could answer what it did not ask.
        c.asked = 1;
        (c.state == State::hello_sent) ? send_hello(c) : send_connect(c);
        c.give_up_at = c.retry_at;
      } else if (now_ >= c.give_up_at) {
        Status why = Status::timed_out;
        if (c.rejected) {
          why = *c.rejected == wire::RejectReason::busy            ? Status::busy
                : *c.rejected == wire::RejectReason::not_listening ? Status::not_listening
                : *c.rejected == wire::RejectReason::version ||
                        *c.rejected == wire::RejectReason::terms
                    ? Status::refused
                    : Status::key_refused;
        }
        fail(c, why, std::nullopt);
      } else if (now_ >= c.retry_at) {
        if (c.state == State::hello_sent) {
          send_hello(c);
        } else {
          send_connect(c);
        }
      }
      return;
    case State::half_open:
      if (now_ >= c.give_up_at) retire(c);
      return;
    case State::over:
      if (now_ >= c.forget_at) {
        retire(c);
      } else if (now_ >= c.close_retry_at) {
        c.close_retry_at = Instant::never();
        if (c.close_repeats > 0) {
          --c.close_repeats;
          send_close(c);
          c.close_retry_at = now_ + kCloseRetry;
        }
      }
      return;
    case State::dead:
      return;
    case State::open:
      break;
  }
  const bool done = c.close_acked && c.peer_closed;  // only the user has something left to fetch
  if (now_ >= end_of_patience(c)) {
    if (done) {
      c.last_heard = now_;
      c.asked = 0;
    } else {
      lose_peer(c, Status::peer_dead);
    }
    if (c.state != State::open) return;
  } else if (now_ >= next_question(c)) {
    if (c.asked++ == 0) c.first_asked = now_;
    c.last_asked = now_;
    if (!done) send_ping(c);
  }
  if (now_ >= c.close_retry_at) {
    c.close_interval = std::min(2 * c.close_interval, kLongestRetry);
    c.close_retry_at = now_ + c.close_interval;
    send_close(c);
  }
  if (now_ >= c.ping_retry_at) {
    c.ping_interval = std::min(2 * c.ping_interval, c.sender ? kLongestRetry : kLongestQuestion);
    c.ping_retry_at = now_ + c.ping_interval;
    if (c.sender) {
      send_ping(c);
    } else {
      ask_rtt(c);
    }
  }
  if (c.sender && now_ >= c.sender->next_deadline()) {
    const std::uint32_t timeouts = c.sender->counters().timeouts;
    c.sender->on_timeout(now_);
    mark_ready(c);
    if (c.sender->counters().timeouts != timeouts) doubt_mtu(c);
  }
  if (c.sender && now_ >= c.mtu.deadline()) probe_mtu(c);
}

// ---- Statistics ----

std::optional<ConnectionStatistics> Engine::statistics(ConnectionId connection) const {
  const Connection* c = find(connection);
  if (c == nullptr) return std::nullopt;
  ConnectionStatistics s = c->statistics;
  s.datagram_bytes = c->mtu.size();
  if (c->sender) {
    const auto& sender = *c->sender;
    const auto to_ns = [](Picoseconds t) { return static_cast<std::uint64_t>(t.count() / 1'000); };
    s.cwnd_bytes = static_cast<std::uint64_t>(sender.window().cwnd().count());
    s.inflight_bytes = static_cast<std::uint64_t>(sender.inflight_bytes().count());
    s.base_rtt_ns = to_ns(std::min(c->lowest_rtt, sender.window().base_rtt()));
    s.avg_qdelay_ns = to_ns(sender.window().avg_qdelay());
    s.paths = core::PathSelector::path_count(c->send_params, sender.window().cwnd_packets());
    s.paths_marked = sender.paths().marked_paths();
    s.paths_barred = c->paths.barred();
    s.loss_episodes = sender.counters().loss_episodes;
    s.timeouts = sender.counters().timeouts;
    s.probes_sent = sender.counters().probes_sent;
  }
  return s;
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
