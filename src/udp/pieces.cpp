// The engine's part in finding out how large datagrams may be, and packets in pieces: docs/protocol.md,
// "Path MTU".
#include <algorithm>

#include "udp/engine.h"

namespace strack::udp {

/// [D43] Makes a piece's packet the whole that it belongs to; returns the blocks of it that it is, or 0.
std::uint64_t Engine::take_for_whole(const Connection& c, core::Packet& packet) const {
  const std::uint32_t mtu = c.statistics.payload_bytes;
  const std::uint32_t place = packet.offset % mtu;
  const std::uint32_t whole = std::min(mtu, packet.message_length - (packet.offset - place));
  const std::uint64_t blocks = blocks_of(mtu, whole, place, packet.payload);
  packet.offset -= place;
  packet.payload = static_cast<std::uint16_t>(whole);
  return blocks;
}

/// What has come of a packet in pieces. Two that are very far apart share one place: then what had
/// come of the older is forgotten, and comes again.
Partial& Engine::partial_of(Connection& c, core::Psn psn) {
  if (c.in.partials.empty()) c.in.partials.resize(Inbox::kPartials);
  Partial& partial = c.in.partials[psn.value % Inbox::kPartials];
  if (partial.psn != psn) partial = {psn, 0, false};
  return partial;
}

/// Puts the payload where it belongs, or holds it until that is known. Returns whether the packet is
/// whole now; `marked` then says whether any of its pieces was.
bool Engine::put_down(Connection& c, Inbound& in, const wire::Data& data, std::uint32_t offset,
                      std::uint64_t blocks, bool& marked) {
  Partial* partial = data.piece ? &partial_of(c, data.packet.psn) : nullptr;
  if (partial == nullptr || (blocks & ~partial->blocks) != 0) {
    if (in.state == InboundState::matched) {
      place(in, offset, data.payload.data(), data.payload.size());
    } else {
      hold(c, in, offset, data.payload);
      ++c.statistics.packets_held;
    }
  }
  if (partial == nullptr) return true;
  marked = partial->marked |= marked;
  partial->blocks |= blocks;
  const std::uint32_t whole = data.packet.payload;
  if (partial->blocks != blocks_of(c.statistics.payload_bytes, whole, 0, whole)) return false;
  *partial = {};
  return true;
}

/// [D43] The path is too narrow for this packet.
void Engine::send_in_pieces(Connection& c, const core::Packet& whole) {
  const core::PathId path = whole.path_id;
  burst_psns_.assign(1, whole.psn);
  if (whole.retransmission) ++c.statistics.retransmissions;
  ++c.statistics.data_packets_sent;
  c.statistics.data_bytes_sent += whole.payload;
  const auto around = static_cast<std::uint32_t>(wire::data_overhead_bytes(keyed()));
  const std::uint32_t most = piece_bytes(c.statistics.payload_bytes, c.mtu.size() - around);
  core::Packet piece = whole;
  piece.timestamp = core::Timestamp::of(network_.now());
  for (std::uint32_t done = 0; done < whole.payload;) {
    pieces_.clear();
    std::size_t used = 0;
    std::uint32_t total = 0;
    std::uint32_t segment = 0;
    std::uint32_t count = 0;
    while (count < burst_of(c) && done < whole.payload &&
           total + segment <= wire::kMaxDatagramBytes) {
      piece.offset = whole.offset + done;
      piece.payload =
          static_cast<std::uint16_t>(std::min<std::uint32_t>(most, whole.payload - done));
      append_data(c, piece, true, used);
      total += data_bytes(c, piece);
      if (count++ == 0) segment = total;
      done += piece.payload;
    }
    send_burst(c, path, count, total, segment, used);
  }
}

/// This host's own device does not take datagrams of this size. If it says that it does, it is bursts
/// that it does not take.
void Engine::on_too_large(Connection& c, std::uint32_t size) {
  const std::uint32_t device = network_.largest_datagram(c.peer);
  if (size <= device) {
    burst_ = 1;
  } else {
    c.mtu.limit(device, now_);
  }
}

/// So long, on the path of the one before it.
void Engine::send_padded_ping(Connection& c, std::uint32_t bytes) {
  flush_small();
  wire::Ping ping = next_ping(c);
  const std::uint64_t counter = c.keys.counter++;
  const wire::Envelope envelope{c.peer_id, keyed(), counter};
  const std::size_t around = envelope.header_bytes() + wire::kPingFields + envelope.trailer_bytes();
  ping.padding = static_cast<std::uint16_t>(std::max<std::size_t>(bytes, around) - around);
  std::size_t size = wire::encode(scratch_, envelope, ping);
  if (keyed()) {
    c.keys.seal.seal(scratch_.data(), size, counter);
    size += wire::kTagBytes;
  }
  const Piece piece{scratch_.data(), size};
  const Outgoing out{.to = &c.peer,
                     .from = &c.local,
                     .pieces = {&piece, 1},
                     .bytes = static_cast<std::uint32_t>(size),
                     .entropy = ping.path_id,
                     .segment = 0,
                     .ect = true,
                     .patient = true};
  if (network_.send({&out, 1}) == SendResult::too_large)
    c.mtu.limit(network_.largest_datagram(c.peer), now_);
  count_sent(1, size);
}

/// [D43] Nothing gets through for long. If a small packet is answered and a full one on the same path
/// is not, again and again, the path has become too narrow for it.
void Engine::doubt_mtu(Connection& c) {
  const std::uint32_t timeouts = c.session->timeouts_in_a_row();
  if (timeouts < kDoubtfulTimeouts) return;
  if (!c.mtu.doubt(timeouts == kDoubtfulTimeouts, now_) || !may_repeat(c)) return;
  send_ping(c);
  send_padded_ping(c, c.mtu.size());
  c.life.doubt_ping = c.life.ping_id;
}

/// [D43] Tries a larger size, when it is time to.
void Engine::probe_mtu(Connection& c) {
  const std::uint32_t size = c.mtu.probe(c.set_up.small_rtt, now_);
  if (size == 0) return;
  c.life.ping_path = c.session->ways.next(now_);
  send_padded_ping(c, size);
}

}  // namespace strack::udp
