// [D148] Reads, and atomics [D154]: a request to the peer's endpoint, which it answers with a write. At the reader's side the answer's place is
// a region of its own, which is written once; at the other an answer waits until all writes before its request are in
// place and there is a slot for it. A request that is not answered keeps its message id, so that the peer's credit bounds
// how many there are.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "udp/atomics.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {

/// Whether both sides know of them.
bool Engine::has_requests(const Connection& c) const {
  return (c.set_up.mine.extensions & c.set_up.theirs.extensions & wire::kRequests) != 0;
}

bool Engine::has_atomics(const Connection& c) const {
  return has_requests(c) &&
         (c.set_up.mine.extensions & c.set_up.theirs.extensions & wire::kAtomics) != 0;
}

Status Engine::read(ConnectionId connection, RegionKey region, std::uint64_t offset,
                    std::span<std::byte> into, std::uint64_t cookie) {
  if (into.size() > 0xffff'ffff) return Status::too_long;
  return ask(
      connection, Kind::read,
      {.region = region.id, .offset = offset, .length = static_cast<std::uint32_t>(into.size())},
      into, cookie);
}

/// [D154]
Status Engine::atomic(ConnectionId connection, RegionKey region, std::uint64_t offset, AtomicOp op,
                      ValueType type, std::span<std::byte> before,
                      std::span<const std::byte> operands, std::span<const std::byte> compared,
                      std::uint64_t cookie) {
  wire::AtomicRequest request;
  request.op = static_cast<std::uint8_t>(op);
  request.type = static_cast<std::uint8_t>(type);
  const std::size_t size = wire::atomic_bytes(request.type);
  if (before.size() > kMostAtomicBytes) return Status::too_long;
  if (size == 0 || before.empty() || before.size() % size != 0 || !is_atomic(type, op) ||
      operands.size() != (op == AtomicOp::read ? 0 : before.size()) ||
      compared.size() != (compares(op) ? before.size() : 0))
    return Status::invalid;
  request.where = {
      .region = region.id, .offset = offset, .length = static_cast<std::uint32_t>(before.size())};
  request.operands = {reinterpret_cast<const std::uint8_t*>(operands.data()), operands.size()};
  return ask(connection, Kind::atomic, request.where, before, cookie, &request, compared);
}

/// A request, and the place for its answer.
Status Engine::ask(ConnectionId connection, Kind kind, const wire::ReadRequest& what,
                   std::span<std::byte> into, std::uint64_t cookie,
                   const wire::AtomicRequest* atomic, std::span<const std::byte> compared) {
  if (what.offset > ~std::uint64_t{0} - into.size() - 1) return Status::too_long;
  if (what.region == wire::kRequestRegion) return Status::unknown_region;
  Connection* c = nullptr;
  if (const Status status = may_queue(connection, 1, c); status != Status::ok) return status;
  if (c->state != State::open) return Status::would_block;
  if (atomic == nullptr ? !has_requests(*c) : !has_atomics(*c)) return Status::extension_refused;
  if (c->closing.peer_closed) return Status::connection_closed;
  if (c->out.readings.size() >= c->out.messages.size()) return Status::would_block;
  const std::uint64_t place = draw_region();
  regions_.emplace(place, Region{reinterpret_cast<std::uint8_t*>(into.data()), into.size(), c->id,
                                 Access::write, true});
  ++reading_;
  Reading& reading = c->out.readings[place];
  reading.kind = kind;
  if (atomic == nullptr) {
    wire::ReadRequest request = what;
    request.reply_region = place;
    const auto bytes = wire::encode_request(request);
    reading.request.assign(bytes.begin(), bytes.end());
  } else {
    wire::AtomicRequest request = *atomic;
    request.where.reply_region = place;
    const auto front = wire::encode_atomic(request);
    reading.request.assign(front.begin(), front.end());
    reading.request.insert(reading.request.end(), request.operands.begin(), request.operands.end());
    const auto* more = reinterpret_cast<const std::uint8_t*>(compared.data());
    reading.request.insert(reading.request.end(), more, more + compared.size());
  }
  reading.cookie = cookie;
  reading.length = into.size();
  credit_to_tell_ = !dry_.empty();  // the answer is a message, too
  return queue(connection, {.length = static_cast<std::uint32_t>(reading.request.size()),
                            .data = reading.request.data(),
                            .kind = wire::DataKind::write,
                            .tag = wire::kRequestRegion,
                            .cookie = place});
}

/// The only packet of a request.
bool Engine::take_request(Connection& c, Inbound& in, const wire::Data& data) {
  Asked asked{.message_id = data.packet.message_id, .what = {}};
  bool fine =
      !data.piece && data.region_offset == 0 && data.packet.message_length == data.payload.size();
  if (has_atomics(c) && wire::is_atomic(data.payload)) {
    const auto request = wire::decode_atomic(data.payload);
    fine &= request.ok() && is_atomic(static_cast<ValueType>(request.value().type),
                                      static_cast<AtomicOp>(request.value().op));
    if (fine) {
      const wire::AtomicRequest& what = request.value();
      asked.what = what.where;
      asked.op = what.op;
      asked.type = what.type;
      asked.operands.assign(what.operands.begin(), what.operands.end());
    }
  } else {
    const auto request = wire::decode_request(data.payload);
    fine &= request.ok();
    if (fine) asked.what = request.value();
  }
  if (!fine) {
    fail(c, Status::protocol_error, wire::CloseReason::protocol_error);
    return false;
  }
  // In the order of asking, whichever has come first: atomics of one connection are done in it.
  auto at = c.in.asked.end();
  while (at != c.in.asked.begin() && ahead(std::prev(at)->message_id, asked.message_id) > 0) --at;
  c.in.asked.insert(at, std::move(asked));
  in.buffer = nullptr;
  in.capacity = 0;
  in.state = InboundState::matched;
  return true;
}

/// What a request is for, done now.
Outbound Engine::answer_to(Connection& c, const Asked& one, Region& region) {
  std::uint8_t* const memory = region.memory + one.what.offset;
  Outbound answer;
  answer.length = one.what.length;
  answer.kind = wire::DataKind::write;
  answer.tag = one.what.reply_region;
  answer.answer = true;
  if (one.op == 0) {
    answer.data = memory;
    answer.source = one.what.region;
    return answer;
  }
  // [D154]
  std::vector<std::byte>& before = c.out.found[c.out.tail];
  before.resize(one.what.length);
  const auto type = static_cast<ValueType>(one.type);
  const auto* operands = reinterpret_cast<const std::byte*>(one.operands.data());
  const bool two = one.operands.size() > one.what.length;
  const auto alone = alone_with_values();
  apply_atomic(type, static_cast<AtomicOp>(one.op), one.what.length / size_of(type),
               reinterpret_cast<std::byte*>(memory), one.operands.empty() ? nullptr : operands,
               two ? operands + one.what.length : nullptr, before.data());
  answer.data = reinterpret_cast<const std::uint8_t*>(before.data());
  return answer;
}

/// Those that all writes before are in place for, as far as there are slots.
void Engine::answer_reads(Connection& c) {
  if (ahead(c.in.floor, c.in.in_place) > 0) c.in.in_place = c.in.floor;
  for (; c.in.in_place != c.in.unseen; ++c.in.in_place) {
    const Inbound& in = c.in.messages[c.in.in_place & c.in.mask()];
    const bool is_write = in.kind == wire::DataKind::write && !in.is_request();
    if (in.state == InboundState::unseen ||
        (in.state == InboundState::matched && is_write && !in.whole))
      break;
  }
  bool any = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < c.in.asked.size(); ++i) {
    Asked& one = c.in.asked[i];
    const bool full = c.out.tail - c.out.head == c.out.messages.size();
    if (ahead(one.message_id, c.in.in_place) >= 0 || (full && !c.closing.asked)) {
      if (kept != i) c.in.asked[kept] = std::move(one);
      ++kept;
      continue;
    }
    const auto found = regions_.find(one.what.region);
    const auto allows = [&](Access access) {
      return found->second.allows(access, c.id, one.what.offset, one.what.length);
    };
    const bool changes = one.op != 0 && one.op != wire::kAtomicRead;
    if (found == regions_.end() || !allows(Access::read) || (changes && !allows(Access::write))) {
      fail(c, Status::access_refused, wire::CloseReason::protocol_error);
      return;
    }
    // Who has said that he sends no more does not answer; the peer learns of that by the close.
    if (!c.closing.asked) {
      Outbound answer = answer_to(c, one, found->second);
      c.out.messages[c.out.tail++ & c.out.mask()] = std::move(answer);
    }
    c.in.messages[one.message_id & c.in.mask()].whole = true;
    any = true;
  }
  c.in.asked.resize(kept);
  if (!any) return;
  post(c);
  report(c);
}

/// If this is where an answer goes: it is there.
void Engine::finish_read(Connection& c, std::uint64_t region) {
  const auto found = c.out.readings.find(region);
  if (found == c.out.readings.end() || found->second.answered) return;
  Reading& reading = found->second;
  complete({.kind = reading.kind,
            .connection = c.id,
            .cookie = reading.cookie,
            .length = reading.length});
  regions_.erase(region);
  --reading_;
  reading.answered = true;
  if (reading.acknowledged) c.out.readings.erase(found);
}

/// No answer will come. What is not acknowledged may still be sent, and stays.
void Engine::give_back_reads(Connection& c, Status status) {
  for (auto one = c.out.readings.begin(); one != c.out.readings.end();) {
    Reading& reading = one->second;
    if (!reading.answered) {
      complete(
          {.kind = reading.kind, .status = status, .connection = c.id, .cookie = reading.cookie});
      regions_.erase(one->first);
      --reading_;
      reading.answered = true;
    }
    one = reading.acknowledged ? c.out.readings.erase(one) : std::next(one);
  }
}

}  // namespace strack::udp
