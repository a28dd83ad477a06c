// [D148] Reads: a request to the peer's endpoint, which it answers with a write. At the reader's side the answer's place is
// a region of its own, which is written once; at the other an answer waits until all writes before its request are in
// place and there is a slot for it. A request that is not answered keeps its message id, so that the peer's credit bounds
// how many there are.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {

/// Whether both sides know of them.
bool Engine::has_requests(const Connection& c) const {
  return (c.set_up.mine.extensions & c.set_up.theirs.extensions & wire::kRequests) != 0;
}

Status Engine::read(ConnectionId connection, RegionKey region, std::uint64_t offset,
                    std::span<std::byte> into, std::uint64_t cookie) {
  if (into.size() > 0xffff'ffff || offset > ~std::uint64_t{0} - into.size() - 1)
    return Status::too_long;
  if (region.id == wire::kRequestRegion) return Status::unknown_region;
  Connection* c = nullptr;
  if (const Status status = may_queue(connection, 1, c); status != Status::ok) return status;
  if (c->state != State::open) return Status::would_block;
  if (!has_requests(*c)) return Status::extension_refused;
  if (c->closing.peer_closed) return Status::connection_closed;
  if (c->out.readings.size() >= c->out.messages.size()) return Status::would_block;
  const std::uint64_t place = draw_region();
  regions_.emplace(place, Region{reinterpret_cast<std::uint8_t*>(into.data()), into.size(), c->id,
                                 Access::write, true});
  ++reading_;
  Reading& reading = c->out.readings[place];
  reading.request = wire::encode_request({.region = region.id,
                                          .offset = offset,
                                          .reply_region = place,
                                          .length = static_cast<std::uint32_t>(into.size())});
  reading.cookie = cookie;
  reading.length = into.size();
  credit_to_tell_ = !dry_.empty();  // the answer is a message, too
  return queue(connection, {.length = static_cast<std::uint32_t>(wire::kRequestBytes),
                            .data = reading.request.data(),
                            .kind = wire::DataKind::write,
                            .tag = wire::kRequestRegion,
                            .cookie = place});
}

/// The only packet of a request.
bool Engine::take_request(Connection& c, Inbound& in, const wire::Data& data) {
  const auto request = wire::decode_request(data.payload);
  if (!request || data.piece || data.region_offset != 0 ||
      data.packet.message_length != wire::kRequestBytes) {
    fail(c, Status::protocol_error, wire::CloseReason::protocol_error);
    return false;
  }
  c.in.asked.push_back({data.packet.message_id, request.value()});
  in.buffer = nullptr;
  in.capacity = 0;
  in.state = InboundState::matched;
  return true;
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
    const Asked one = c.in.asked[i];
    const bool full = c.out.tail - c.out.head == c.out.messages.size();
    if (ahead(one.message_id, c.in.in_place) >= 0 || (full && !c.closing.asked)) {
      c.in.asked[kept++] = one;
      continue;
    }
    const auto found = regions_.find(one.what.region);
    if (found == regions_.end() ||
        !found->second.allows(Access::read, c.id, one.what.offset, one.what.length)) {
      fail(c, Status::access_refused, wire::CloseReason::protocol_error);
      return;
    }
    // Who has said that he sends no more does not answer; the peer learns of that by the close.
    if (!c.closing.asked) {
      c.out.messages[c.out.tail++ & c.out.mask()] = {.length = one.what.length,
                                                     .data = found->second.memory + one.what.offset,
                                                     .kind = wire::DataKind::write,
                                                     .tag = one.what.reply_region,
                                                     .source = one.what.region};
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
  complete(
      {.kind = Kind::read, .connection = c.id, .cookie = reading.cookie, .length = reading.length});
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
          {.kind = Kind::read, .status = status, .connection = c.id, .cookie = reading.cookie});
      regions_.erase(one->first);
      --reading_;
      reading.answered = true;
    }
    one = reading.acknowledged ? c.out.readings.erase(one) : std::next(one);
  }
}

}  // namespace strack::udp
