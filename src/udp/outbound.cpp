// The engine's way out: messages to the core, its packets into bursts, SACKs back to it.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

/// [D138] Packets sent before it is looked again for what has arrived, but for the last burst's rest.
constexpr std::uint32_t kSendBudget = 32;
constexpr std::uint32_t kTurn = 16;  ///< of one connection among several

}  // namespace

/// Whether so many messages can be.
Status Engine::may_queue(ConnectionId id, std::uint32_t slots, Connection*& c) const {
  c = find(id);
  if (c == nullptr || c->has_ended()) return Status::unknown_connection;
  if (c->closing.asked) return Status::closing;
  if (c->out.tail - c->out.head + slots > c->out.messages.size() || !room_for_completions())
    return Status::would_block;
  return Status::ok;
}

Status Engine::queue(ConnectionId id, const Outbound& message) {
  Connection* c = nullptr;
  if (const Status status = may_queue(id, 1, c); status != Status::ok) return status;
  c->out.messages[c->out.tail++ & c->out.mask()] = message;
  post(*c);
  return Status::ok;
}

Status Engine::send(ConnectionId connection, std::uint64_t tag, std::span<const std::byte> head,
                    std::span<const std::byte> rest, std::uint64_t cookie) {
  if (rest.size() > 0xffff'ffff || head.size() > 0xffff'ffff - rest.size()) return Status::too_long;
  if (rest.empty()) std::swap(head, rest);  // a head is copied, the rest is not
  return queue(connection, {.head = reinterpret_cast<const std::uint8_t*>(head.data()),
                            .head_bytes = static_cast<std::uint32_t>(head.size()),
                            .length = static_cast<std::uint32_t>(head.size() + rest.size()),
                            .data = reinterpret_cast<const std::uint8_t*>(rest.data()),
                            .kind = wire::DataKind::send,
                            .tag = tag,
                            .cookie = cookie});
}

Status Engine::write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                     std::span<const std::byte> bytes, std::uint64_t cookie) {
  if (bytes.size() > 0xffff'ffff || offset > ~std::uint64_t{0} - bytes.size() - 1)
    return Status::too_long;
  if (region.id == wire::kRequestRegion) return Status::unknown_region;  // no memory's name
  return queue(connection, {.length = static_cast<std::uint32_t>(bytes.size()),
                            .data = reinterpret_cast<const std::uint8_t*>(bytes.data()),
                            .kind = wire::DataKind::write,
                            .tag = region.id,
                            .region_offset = offset,
                            .cookie = cookie});
}

/// [D150] The bytes, and an empty message behind them.
Status Engine::write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                     std::span<const std::byte> bytes, std::uint64_t immediate,
                     std::uint64_t cookie) {
  Connection* c = nullptr;
  if (bytes.size() > 0xffff'ffff || offset > ~std::uint64_t{0} - bytes.size() - 1)
    return Status::too_long;
  if (region.id == wire::kRequestRegion) return Status::unknown_region;
  if (options_.message_slots < 2) return Status::no_resources;
  if (const Status status = may_queue(connection, 2, c); status != Status::ok) return status;
  c->out.messages[c->out.tail++ & c->out.mask()] = {
      .length = static_cast<std::uint32_t>(bytes.size()),
      .data = reinterpret_cast<const std::uint8_t*>(bytes.data()),
      .kind = wire::DataKind::write,
      .pair = 1,
      .tag = region.id,
      .region_offset = offset,
      .cookie = cookie};
  c->out.messages[c->out.tail++ & c->out.mask()] = {
      .pair = 2, .tag = immediate, .region_offset = bytes.size(), .cookie = cookie};
  post(*c);
  return Status::ok;
}

Status Engine::sendv(ConnectionId connection, std::uint64_t tag, PiecesOut message,
                     std::uint64_t cookie) {
  if (message.size() > kMostMessagePieces) return Status::too_long;
  if (message.empty()) return send(connection, tag, std::span<const std::byte>(), cookie);
  if (message.size() <= 2) {
    const auto rest = message.size() == 2 ? message[1] : std::span<const std::byte>();
    return send(connection, tag, message[0], rest, cookie);
  }
  std::uint64_t length = 0;
  for (const std::span<const std::byte> piece : message) {
    if (piece.size() > 0xffff'ffff - length) return Status::too_long;
    length += piece.size();
  }
  Connection* c = nullptr;
  if (const Status status = may_queue(connection, 1, c); status != Status::ok) return status;
  return queue(connection, {.length = static_cast<std::uint32_t>(length),
                            .kind = wire::DataKind::send,
                            .tag = tag,
                            .cookie = cookie,
                            .pieces = std::make_shared<std::vector<std::span<const std::byte>>>(
                                message.begin(), message.end())});
}

void Engine::take_credit(Connection& c, std::uint32_t credit) {
  if (ahead(credit, c.out.credit) <= 0) return;
  c.out.credit = credit;
  c.out.stalled = false;
  post(c);
}

/// Hands queued messages to the core as far as the peer's credit and the core's queue go.
void Engine::post(Connection& c) {
  if (!c.out.sends) return;
  while (c.out.posted != c.out.tail) {
    if (ahead(c.out.credit, c.out.posted) <= 0) {
      if (!c.out.stalled) ++c.statistics.credit_stalls;
      c.out.stalled = true;
      break;
    }
    const Outbound& message = c.out.messages[c.out.posted & c.out.mask()];
    if (c.session->on_message({c.out.posted, message.length}, now_) != core::PostResult::accepted)
      break;
    ++c.out.posted;
    mark_ready(c);
  }
}

void Engine::mark_ready(Connection& c) {
  if (c.out.ready) return;
  c.out.ready = true;
  ready_.push_back(&c);
}

void Engine::on_sack(Connection& c, const wire::Header& header, wire::ConstBytes body,
                     const Incoming& from) {
  const auto decoded = wire::decode_sack(header, body);
  if (!decoded || !c.out.sends) {
    ++statistics_.refused_malformed;
    return;
  }
  core::Sack sack = decoded.value().sack;
  // [D165] Later than half of the clock's circle it seems to come from the future: it says as much, but no RTT.
  if (core::Timestamp::of(now_).since(sack.timestamp) < ps(0)) {
    sack.timestamp = core::Timestamp::of(now_);
    sack.hold_time_ns = 0;
  }
  // The time it waited in our own socket is no part of the RTT either.
  add_hold(sack.hold_time_ns, now_ - from.arrival);
  const Picoseconds rtt = core::Timestamp::of(now_).since(sack.timestamp) - ns(sack.hold_time_ns);
  if (!c.session->on_ack(sack, now_)) {
    ++statistics_.refused_malformed;
    return;
  }
  recount(c);
  ++c.statistics.sacks_received;
  c.session->ways.works(sack.path_id, now_);
  c.life.port->way = {sack.path_id, now_};
  if (sack.ecn) ++c.statistics.marks_echoed;
  if (c.out.record) c.out.record->on_sack(sack.path_id, sack.ecn, rtt);
  if (rtt > ps(0)) {
    c.statistics.rtt_ns = static_cast<std::uint64_t>(rtt.count() / 1'000);
    c.out.lowest_rtt = std::min(c.out.lowest_rtt, rtt);
  }
  while (const auto id = c.session->poll_completion()) {
    acknowledged(c, *id);
  }
  while (c.out.head != c.out.posted && c.out.messages[c.out.head & c.out.mask()].done) ++c.out.head;
  // Those that wait for a slot come before what the program may want next.
  if (!c.in.asked.empty()) answer_reads(c);
  if (c.has_ended()) return;
  take_credit(c, decoded.value().credit);
  post(c);
  mark_ready(c);
  if (c.closing.asked) maybe_close(c);
}

/// Whether this side's user hears of the end of this message: of a pair of the second alone, when both are done; of what
/// the endpoint itself has sent, never. `head`: all before it are done.
bool Engine::is_told(const Connection& c, std::uint32_t message_id, std::uint32_t head) {
  const Outbound& out = c.out.messages[message_id & c.out.mask()];
  return !out.answer && !out.is_request() &&
         (out.pair != 2 || ahead(head, message_id - 1) > 0 ||
          c.out.messages[(message_id - 1) & c.out.mask()].done);
}

void Engine::acknowledged(Connection& c, std::uint32_t message_id) {
  Outbound& out = c.out.messages[message_id & c.out.mask()];
  out.done = true;
  out.pieces.reset();
  if (out.answer) c.out.found.erase(message_id);
  ++c.statistics.messages_sent;
  c.statistics.message_bytes_sent += out.length;
  if (out.is_request()) {
    const auto reading = c.out.readings.find(out.cookie);
    STRACK_CHECK(reading != c.out.readings.end());
    reading->second.acknowledged = true;
    if (reading->second.answered) c.out.readings.erase(reading);
    return;
  }
  if (out.pair == 1) {
    const Outbound& second = c.out.messages[(message_id + 1) & c.out.mask()];
    if (second.done)
      complete(
          {.kind = Kind::written, .connection = c.id, .cookie = out.cookie, .length = out.length});
    return;
  }
  if (!is_told(c, message_id, c.out.head)) return;
  const bool sent = out.kind == wire::DataKind::send && out.pair == 0;
  complete({.kind = sent ? Kind::sent : Kind::written,
            .connection = c.id,
            .cookie = out.cookie,
            .tag = sent ? out.tag : 0,
            .length = out.pair == 2 ? out.region_offset : out.length});
}

bool Engine::transmit() {
  std::uint32_t budget = kSendBudget;
  std::size_t i = 0;
  bool any = false;
  ready_next_.clear();
  for (; i < ready_.size() && budget > 0; ++i) {
    Connection& c = *ready_[i];
    const bool alone = i + 1 == ready_.size();  // what is left is the last one's
    const std::uint32_t turn = c.life.unanswered ? 1 : alone ? budget : std::min(budget, kTurn);
    renew_key(c);
    const std::uint32_t sent = has_turn(c) ? transmit(c, turn) : 0;
    recount(c);
    budget -= std::min(sent, budget);
    any |= sent > 0;
    if (sent >= turn) {
      ready_next_.push_back(&c);
    } else {
      c.out.ready = false;
    }
    rearm(c);
  }
  // Those that had no turn come first next time.
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(i));
  ready_.insert(ready_.end(), ready_next_.begin(), ready_next_.end());
  return any;
}

namespace {

/// Bytes of a message in pieces, from this one on.
void gather(const std::vector<std::span<const std::byte>>& pieces, std::uint64_t offset,
            std::span<std::uint8_t> out) {
  for (const std::span<const std::byte> piece : pieces) {
    if (offset >= piece.size()) {
      offset -= piece.size();
      continue;
    }
    const std::size_t size = std::min<std::size_t>(out.size(), piece.size() - offset);
    if (size == 0) return;
    std::memcpy(out.data(), piece.data() + offset, size);
    out = out.subspan(size);
    offset = 0;
  }
}

void count_packet(Connection& c, const core::Packet& packet, core::PathId path) {
  if (packet.retransmission) ++c.statistics.retransmissions;
  c.statistics.data_bytes_sent += packet.payload;
  if (c.out.record) c.out.record->on_sent(packet.psn, path, packet.retransmission);
}

}  // namespace

void Engine::send_probe(Connection& c, const core::Packet& probe) {
  send_small(c, probe.path_id, true, [&](wire::MutableBytes out, const wire::Envelope& envelope) {
    return wire::encode(out, envelope, probe);
  });
  flush_small();
}

std::uint32_t Engine::transmit(Connection& c, std::uint32_t budget) {
  if (c.state != State::open || !c.out.sends) return 0;
  if (keys_used_up(c)) {
    fail(c, Status::keys_exhausted, wire::CloseReason::keys_exhausted);
    return 0;
  }
  if (!may_send(c)) {
    c.life.waiting = true;
    return 0;
  }
  Session& sender = *c.session;
  // [D138] Never cut short by the budget: a part costs a system call as a whole one does.
  const std::uint32_t burst = c.life.unanswered ? 1 : burst_of(c);
  std::uint32_t sent = 0;
  std::optional<core::Packet> next = sender.poll_transmit(network_.now());
  while (next) {
    if (next->type == core::PacketType::probe) {
      send_probe(c, *next);
      ++sent;
      next = sent < budget ? sender.poll_transmit(network_.now()) : std::nullopt;
      continue;
    }
    if (data_bytes(c, *next) > c.mtu.size()) {
      if (c.out.record) c.out.record->on_sent(next->psn, next->path_id, next->retransmission);
      send_in_pieces(c, *next);
      ++sent;
      next = sent < budget ? sender.poll_transmit(network_.now()) : std::nullopt;
      continue;
    }
    // A burst: packets of one size, the last perhaps smaller, on the first one's path.
    const core::PathId path = next->path_id;
    const Instant now = network_.now();
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
      packet.timestamp = core::Timestamp::of(now);
      append_data(c, packet, false, used);
      count_packet(c, *next, path);
      total += size;
      ++count;
      if (count >= burst || ends || sent >= budget) {
        next.reset();
        break;
      }
      next = sender.poll_transmit(now, path);
      if (!next || next->type == core::PacketType::probe) break;
    }
    c.statistics.data_packets_sent += count;
    send_burst(c, path, count, total, segment, used);
    sent += count;
    if (!next && sent < budget) next = sender.poll_transmit(network_.now());
  }
  if (sent > 0) c.life.place = Instant::never();
  return sent;
}

/// The datagram that a data packet makes.
std::uint32_t Engine::data_bytes(const Connection& c, const core::Packet& packet) const {
  const wire::DataKind kind = c.out.messages[packet.message_id & c.out.mask()].kind;
  const std::size_t around =
      wire::data_front_bytes(keyed(), kind) + (keyed() ? wire::kTagBytes : 0);
  return static_cast<std::uint32_t>(around + packet.payload);
}

/// One more datagram of a burst: into scratch_ from `used` on. Where there is a key it has its payload when
/// the burst is sealed.
void Engine::append_data(Connection& c, const core::Packet& packet, bool piece, std::size_t& used) {
  const Outbound& message = c.out.messages[packet.message_id & c.out.mask()];
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
  const std::uint64_t counter = c.keys.counter++;
  wire::encode_data_front({out, front}, wire::Envelope{c.peer_id, keyed(), counter}, data);
  // What a packet has of a message's head, or of one in pieces, stands behind its own, and the rest stays where it is.
  std::uint32_t apart = std::min<std::uint32_t>(
      message.head_bytes - std::min(message.head_bytes, packet.offset), packet.payload);
  if (apart > 0) std::memcpy(out + front, message.head + packet.offset, apart);
  if (message.pieces) {
    gather(*message.pieces, packet.offset, {out + front, packet.payload});
    apart = packet.payload;
  }
  const std::uint32_t rest = packet.payload - apart;
  const std::uint8_t* payload =
      rest > 0 ? message.data + (packet.offset + apart - message.head_bytes) : nullptr;
  if (keyed()) {
    to_seal_.push_back({out, front + apart, counter, payload, rest});
    used += front + packet.payload + wire::kTagBytes;
  } else {
    pieces_.push_back({out, front + apart});
    if (rest > 0) pieces_.push_back({payload, rest});
    used += front + apart;
  }
}

/// What append_data has put together.
void Engine::send_burst(Connection& c, core::PathId path, std::uint32_t count, std::uint32_t total,
                        std::uint32_t segment, std::size_t used) {
  if (keyed()) {
    c.keys.seal.seal(to_seal_);
    to_seal_.clear();
    pieces_.push_back({scratch_.data(), used});
  }
  if (!c.out.paths_seen.test(path)) {
    c.out.paths_seen.set(path);
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
    for (const core::Psn psn : burst_psns_) c.session->never_left(psn);
  }
  count_sent(count, total);
}

void Engine::flush_small() {
  if (small_count_ == 0) return;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < small_count_; ++i) bytes += small_out_[i].bytes;
  count_sent(small_count_, bytes);
  network_.send({small_out_.data(), small_count_});
  small_count_ = 0;
}

SendResult Engine::send_plain(std::span<const std::uint8_t> datagram, const Address& to,
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
  const SendResult result = network_.send({&out, 1});
  count_sent(1, datagram.size());
  return result;
}

void Engine::count_sent(std::uint64_t datagrams, std::uint64_t bytes) {
  statistics_.datagrams_sent += datagrams;
  statistics_.bytes_sent += bytes;
}

}  // namespace strack::udp
