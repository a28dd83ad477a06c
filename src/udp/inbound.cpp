// The engine's way in: messages find their buffers in the order of sending, and credit for more goes back.
#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

constexpr std::uint32_t kMostHeldUnexpected = 64;  ///< packets per connection
constexpr std::int32_t kWidestSack = core::kSackBits / 2;

/// Bytes of a message into a buffer in pieces, from this one on; what does not fit is cut off.
void scatter(const std::vector<std::span<std::byte>>& pieces, std::uint64_t offset,
             std::span<const std::uint8_t> from) {
  for (const std::span<std::byte> piece : pieces) {
    if (offset >= piece.size()) {
      offset -= piece.size();
      continue;
    }
    const std::size_t size = std::min<std::size_t>(from.size(), piece.size() - offset);
    if (size == 0) return;
    std::memcpy(piece.data() + offset, from.data(), size);
    from = from.subspan(size);
    offset = 0;
  }
}

}  // namespace

Status Engine::post_receivev(ConnectionId connection, Match match_with, PiecesIn buffer,
                             std::uint64_t cookie) {
  if (buffer.size() > kMostMessagePieces) return Status::too_long;
  if (buffer.size() == 1) return post_receive(connection, match_with, buffer[0], cookie);
  PostedReceive receive;
  receive.match = match_with;
  receive.cookie = cookie;
  for (const std::span<std::byte> piece : buffer) receive.size += piece.size();
  receive.pieces =
      std::make_shared<std::vector<std::span<std::byte>>>(buffer.begin(), buffer.end());
  return post_receive(connection, receive);
}

Status Engine::post_receive(ConnectionId connection, const PostedReceive& wanted) {
  Connection* c = nullptr;
  if (connection != kAnyConnection) {
    c = find(connection);
    if (c == nullptr || c->has_ended()) return Status::unknown_connection;
  }
  if (!room_for_completions()) return Status::would_block;
  PostedReceive* receive = pool_.take();
  if (receive == nullptr) return Status::no_resources;
  *receive = wanted;
  credit_to_tell_ = !dry_.empty();
  if (c != nullptr) {
    c->in.receives.push(receive);
    if (c->in.starving) match(*c);
    return Status::ok;
  }
  any_receives_.push(receive);
  // Those that wait take it in the order in which they began to. What does not match stays in the
  // list.
  for (std::size_t i = 0; i < starving_.size() && any_receives_.count() > 0; ++i) {
    if (starving_[i]->in.starving) match(*starving_[i]);
  }
  std::erase_if(starving_, [](Connection* waiting) {
    if (waiting->in.starving) return false;
    waiting->in.listed = false;
    return true;
  });
  return Status::ok;
}

std::optional<Completion> Engine::peek(ConnectionId connection, Match match_with) const {
  const auto look = [&](const Connection& c) -> std::optional<Completion> {
    const Inbox::Cursor end{&c.in, c.in.unseen};
    const auto found = oldest(
        Inbox::Cursor{&c.in, c.in.unmatched}, end,
        [match_with](const Inbound& in) {
          return in.state == InboundState::waiting && match_with.accepts(in.tag);
        },
        [](const Inbound& in) { return in.state == InboundState::unseen; });
    if (found == end) return std::nullopt;
    return Completion{
        .kind = Kind::received, .connection = c.id, .tag = found->tag, .length = found->length};
  };
  if (connection != kAnyConnection) {
    const Connection* c = find(connection);
    return c != nullptr && !c->has_ended() && c->in.starving ? look(*c) : std::nullopt;
  }
  for (const Connection* c : starving_) {
    if (!c->in.starving || c->has_ended()) continue;
    if (auto found = look(*c)) return found;
  }
  return std::nullopt;
}

std::size_t Engine::cancel_receives(std::uint64_t cookie) {
  std::size_t cancelled = 0;
  const auto cancel = [&](ReceiveQueue<PostedReceive>& queue, ConnectionId id) {
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
  for (const auto& c : connections_) cancel(c->in.receives, c->id);
  return cancelled;
}

/// A name that no memory has.
std::uint64_t Engine::draw_region() {
  std::uint64_t id = wire::kRequestRegion;
  while (id == wire::kRequestRegion || regions_.contains(id))
    id = std::uint64_t{random32()} << 32 | random32();
  return id;
}

Outcome<RegionKey> Engine::register_region(std::span<std::byte> memory, ConnectionId connection,
                                           Access access) {
  if (regions_.size() - reading_ >= options_.max_regions) {
    return Error{"already " + std::to_string(regions_.size() - reading_) +
                 " regions. unregister some or raise max_regions"};
  }
  if (connection != kAnyConnection && find(connection) == nullptr)
    return Error{"a region for a connection that does not exist"};
  if (memory.size() > ~std::uintptr_t{0} - reinterpret_cast<std::uintptr_t>(memory.data())) {
    return Error{"a region of " + std::to_string(memory.size()) +
                 " bytes there would end beyond all memory. give it the length of its memory"};
  }
  const std::uint64_t id = draw_region();
  regions_.emplace(id, Region{reinterpret_cast<std::uint8_t*>(memory.data()), memory.size(),
                              connection, access});
  return RegionKey{id};
}

Status Engine::unregister_region(RegionKey key) {
  const auto known = regions_.find(key.id);
  if (known == regions_.end() || known->second.answer) return Status::unknown_region;
  regions_.erase(known);
  now_ = network_.now();
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& c = *connections_[i];
    if (c.has_ended() || c.in.messages.empty()) continue;
    bool under_way = false;
    for (std::uint32_t m = c.in.floor; m != c.in.unseen; ++m) {
      const Inbound& in = c.in.messages[m & c.in.mask()];
      under_way |= in.state == InboundState::matched && in.kind == wire::DataKind::write &&
                   in.tag == key.id && !in.whole;
    }
    for (std::uint32_t m = c.out.head; m != c.out.tail; ++m) {
      const Outbound& out = c.out.messages[m & c.out.mask()];
      under_way |= out.source == key.id && !out.done;  // its bytes are being read
    }
    if (under_way) fail(c, Status::access_refused, wire::CloseReason::protocol_error);
  }
  flush_small();
  return Status::ok;
}

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
  Session& session = *c.session;
  if (from.marked) ++c.statistics.marks_received;
  if (c.out.record) c.out.record->on_arrived(header.path_id);
  if (!session.would_accept(packet)) {
    // A duplicate, acknowledged again, or something that the core drops.
    const core::Arrival arrival = session.on_packet(packet, {.ecn = from.marked}, now_);
    STRACK_DCHECK(arrival.kind != core::ArrivalKind::accepted);
    if (arrival.kind == core::ArrivalKind::duplicate) {
      ++c.statistics.duplicates_received;
      session.ways.asked_again(now_);
      want_ack(c, packet.psn, packet.timestamp, from.arrival);
    } else if (arrival.kind == core::ArrivalKind::out_of_order) {
      want_ack(c, packet.psn, packet.timestamp, from.arrival);
    } else {
      ++statistics_.refused_malformed;
    }
    return;
  }
  session.ways.came();
  const std::uint32_t m = packet.message_id;
  if (ahead(m, c.in.floor) < 0) {
    ++statistics_.refused_malformed;  // a new packet of a message that was whole
    return;
  }
  if (ahead(m, c.in.granted) >= 0) {
    fail(c, Status::protocol_error, wire::CloseReason::protocol_error);
    return;
  }
  Inbound& in = c.in.messages[m & c.in.mask()];
  if (!take_note(c, in, data)) return;

  // One SACK tells of 64 packets: what lies further apart must not share one.
  if (c.acks.count > 0 && std::abs(packet.psn - c.acks.triggers[0].psn) >= kWidestSack) send_ack(c);
  if (in.state != InboundState::matched && !may_hold(c, data.payload.size())) {
    // No place for it: as if it had been lost on the way. While the user owes a buffer, probes are
    // not answered either, so that the sender falls back to its timeout instead of sending again
    // and again.
    ++c.statistics.packets_unplaced;
    c.in.blocked = c.in.starving;
    return;
  }
  bool marked = from.marked;
  if (!put_down(c, in, data, offset, blocks, marked)) return;  // more pieces are to come
  const core::Arrival arrival = session.on_packet(packet, {.ecn = marked}, now_);
  STRACK_DCHECK(arrival.kind == core::ArrivalKind::accepted);
  ++c.statistics.data_packets_received;
  want_ack(c, packet.psn, packet.timestamp, from.arrival);
  if (arrival.delivered) {
    in.whole = !in.is_request();  // such a one is, when it is answered
    if (!c.out.readings.empty() && in.kind == wire::DataKind::write) finish_read(c, in.tag);
    if (!c.in.asked.empty()) answer_reads(c);
    if (!c.has_ended()) report(c);
  }
  // A mark is news that the sender's choice of paths waits for.
  if (marked && last && c.acks.pending && !c.has_ended()) send_ack(c);
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
  if (is_write && data.region == wire::kRequestRegion && has_requests(c)) {
    if (!take_request(c, in, data)) return false;
  } else if (is_write) {
    const auto found = regions_.find(data.region);
    const Region* region = found == regions_.end() ? nullptr : &found->second;
    if (region == nullptr ||
        !region->allows(Access::write, c.id, data.region_offset, packet.message_length)) {
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
  if (ahead(packet.message_id + 1, c.in.unseen) > 0) c.in.unseen = packet.message_id + 1;
  // The peer has its new credit: the ping that would have told it again need not go.
  if (c.out.sends && c.life.fed_at == packet.message_id &&
      ahead(c.life.credit_ping, c.life.ping_id) > 0)
    c.life.ping_retry_at = Instant::never();
  match(c);
  note_dryness(c);
  show_in(c, in, data);
  return !c.has_ended();
}

/// [D123] Of a message whose first packet has come first, where the user knows of all before it.
void Engine::show_in(const Connection& c, Inbound& in, const wire::Data& data) {
  if (usher_ == nullptr || in.state != InboundState::matched || in.kind != wire::DataKind::send ||
      in.pieces || data.piece || data.packet.offset != 0 || data.packet.message_id != c.in.floor ||
      taken_ < received_ || in.length > in.capacity)
    return;
  const auto place = usher_->place(c.id, in.cookie, in.length, std::as_bytes(data.payload));
  if (!place) return;
  in.head = place->head;
  in.rest = place->rest;
}

/// Gives messages their buffers, in the order of sending: no message gets one that an earlier message
/// could have had.
void Engine::match(Connection& c) {
  bool found_whole = false;
  bool all_matched = true;
  for (std::uint32_t m = c.in.unmatched; m != c.in.unseen; ++m) {
    Inbound& in = c.in.messages[m & c.in.mask()];
    if (in.state == InboundState::unseen)
      break;  // it may want the buffer that a later one would get
    if (in.state == InboundState::waiting) {
      PostedReceive* receive = take_own_first(c.in.receives, any_receives_, in.tag);
      if (receive == nullptr) {
        all_matched = false;
        if (options_.complete_in_order) break;  // nothing after it could be told of anyway
        continue;
      }
      found_whole |= give_buffer(c, in, *receive);
      pool_.give_back(receive);
    }
    if (all_matched) c.in.unmatched = m + 1;
  }
  c.in.starving = !all_matched;
  if (all_matched) {
    // The sender has given up asking often: it is told.
    if (c.in.blocked && c.state == State::open) send_ping(c);
    c.in.blocked = false;
  } else if (!c.in.listed) {
    c.in.listed = true;
    starving_.push_back(&c);
  }
  if (found_whole) report(c);
}

/// Its packets so far go there; returns whether that is all of it.
bool Engine::give_buffer(Connection& c, Inbound& in, const PostedReceive& receive) {
  in.buffer = receive.buffer;
  in.pieces = receive.pieces;
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
  if (in.head != 0 && offset + size > in.head) {
    const std::size_t kept = in.head - std::min<std::size_t>(in.head, offset);
    const std::size_t to = offset + kept - in.head;
    if (to < in.rest.size())
      std::memcpy(in.rest.data() + to, payload + kept, std::min(size - kept, in.rest.size() - to));
    size = kept;
  }
  if (offset >= in.capacity) return;  // longer than its buffer: cut off
  if (in.pieces) return scatter(*in.pieces, offset, {payload, size});
  std::memcpy(in.buffer + offset, payload, std::min<std::uint64_t>(size, in.capacity - offset));
}

bool Engine::may_hold(const Connection& c, std::size_t size) const {
  const std::size_t needed = sizeof(HeldPacket) + size;
  // For those that merely overtook a message, half of the pool; for those nobody has asked for,
  // little.
  const std::size_t limit =
      c.in.starving ? std::min<std::size_t>(options_.held_bytes / 8,
                                            std::size_t{kMostHeldUnexpected} *
                                                (c.statistics.payload_bytes + sizeof(HeldPacket)))
                    : options_.held_bytes / 2;
  return held_bytes_ + needed <= options_.held_bytes && c.in.held_bytes + needed <= limit;
}

void Engine::hold(Connection& c, Inbound& in, std::uint32_t offset, wire::ConstBytes payload) {
  const std::size_t size = sizeof(HeldPacket) + payload.size();
  auto* packet = new (::operator new(size))
      HeldPacket{in.held, offset, static_cast<std::uint32_t>(payload.size())};
  if (!payload.empty()) std::memcpy(packet->payload(), payload.data(), payload.size());
  in.held = packet;
  c.in.held_bytes += size;
  held_bytes_ += size;
}

void Engine::drop_held(Connection& c, Inbound& in) {
  while (in.held != nullptr) {
    HeldPacket* packet = in.held;
    in.held = packet->next;
    const std::size_t size = sizeof(HeldPacket) + packet->size;
    c.in.held_bytes -= size;
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
    for (std::uint32_t m = c.in.floor; m != c.in.unseen; ++m) {
      Inbound& in = c.in.messages[m & c.in.mask()];
      if (in.state != InboundState::matched || !in.whole) continue;
      report_one(c, in);
      in.state = InboundState::reported;
    }
  }
  while (c.in.floor != c.in.unseen) {
    Inbound& in = c.in.messages[c.in.floor & c.in.mask()];
    if (in.state == InboundState::matched && in.whole) {
      report_one(c, in);
    } else if (in.state != InboundState::reported) {
      break;
    }
    in = {};
    ++c.in.floor;
  }
  maybe_over(c);
}

/// What the peer may start now: it never goes back.
std::uint32_t Engine::credit(Connection& c) {
  std::uint32_t matched = c.in.unmatched - c.in.floor;
  if (c.in.starving && !options_.complete_in_order) {
    // Later ones may have their buffers though an earlier one has none.
    for (std::uint32_t m = c.in.unmatched; m != c.in.unseen; ++m) {
      const InboundState state = c.in.messages[m & c.in.mask()].state;
      if (state == InboundState::matched || state == InboundState::reported) ++matched;
    }
  }
  const std::uint32_t wanted = matched + c.in.receives.count() + any_receives_.count() +
                               options_.unexpected_messages +
                               static_cast<std::uint32_t>(c.out.readings.size());
  const std::uint32_t limit = c.in.floor + std::min(wanted, options_.message_slots);
  if (ahead(limit, c.in.granted) > 0) c.in.granted = limit;
  return c.in.granted;
}

/// In a packet that nobody repeats. New credit for a peer that waits for it goes in one that is
/// (feed_the_dry).
std::uint32_t Engine::passing_credit(Connection& c) { return c.in.dry ? c.in.granted : credit(c); }

void Engine::note_dryness(Connection& c) {
  if (c.in.dry || c.in.granted != c.in.unseen) return;
  c.in.dry = true;
  dry_.push_back(&c);
}

/// A peer without credit has nothing to send that a SACK could answer: new credit goes in a ping, which
/// is repeated. Where a SACK has told of it meanwhile, the ping waits a moment: that SACK may be lost, and
/// all that it acknowledges be known from others; but mostly the peer goes on (take_note).
void Engine::feed_the_dry() {
  credit_to_tell_ = false;
  std::erase_if(dry_, [this](Connection* c) {
    if (c->state != State::open) return c->has_ended();
    const bool by_sack = c->in.granted != c->in.unseen;
    if (credit(*c) == c->in.unseen) return false;
    c->in.dry = false;
    if (!by_sack) send_ping(*c);
    c->life.credit_ping = c->life.ping_id + (by_sack ? 1 : 0);
    c->life.fed_at = c->in.unseen;
    // Before the RTT is known, questions are repeated anyway.
    if (c->out.sends) c->life.ping_interval = kShortestRetry;
    c->life.ping_retry_at = std::min(c->life.ping_retry_at, now_ + c->life.ping_interval);
    rearm(*c);
    return true;
  });
}

}  // namespace strack::udp
