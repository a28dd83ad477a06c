// What the engine answers: SACKs, when they go and by which paths [D41].
#include <algorithm>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

/// [D41] After a peer has asked again, its SACKs go other ways than its packets came, so long.
constexpr Picoseconds kAcksAstray = seconds(1);
/// By so many paths at once goes what may find no way back, and pings that seek one, so often.
constexpr std::uint32_t kWaysBack = 8;
constexpr Picoseconds kSeekEvery = ms(5);
constexpr Picoseconds kProofLasts = seconds(1);  ///< that a way leads back; it may have died since

}  // namespace

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

}  // namespace strack::udp
