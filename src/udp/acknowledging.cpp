// What the engine answers: SACKs, when they go and by which paths [D41].
#include <algorithm>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

constexpr Picoseconds kSeekPause = ms(1);
constexpr Picoseconds kSoon = us(20);  ///< a program that answers has done so
constexpr std::uint32_t kHurried = 64;

}  // namespace

void Engine::want_ack(Connection& c, core::Psn psn, core::Timestamp timestamp, Instant arrival) {
  c.acks.triggers[c.acks.count++] = {psn, timestamp, arrival};
  if (!c.acks.pending) {
    c.acks.pending = true;
    acks_.push_back(&c);
  }
  if (c.acks.count == Acknowledging::kMostPerSack) send_ack(c);
}

void Engine::send_acks() {
  for (Connection* c : acks_) {
    if (c->acks.pending && !c->has_ended()) send_ack(*c);
    c->acks.pending = false;
    c->acks.count = 0;
  }
  acks_.clear();
  flush_small();
}

/// [D88] Whether there are SACKs that waited for this call.
bool Engine::owes_acks() {
  if (acks_.empty()) return false;
  if (now_ - owed_since_ > kSoon) hurried_ = kHurried;
  return true;
}

/// [D88] Whether SACKs may wait for the next call: something has just been completed.
bool Engine::may_owe_acks(std::uint64_t completed_before) {
  if (!options_.answers_first || completed_ == completed_before) return false;
  if (hurried_ == 0) return true;
  --hurried_;
  return false;
}

void Engine::send_ack(Connection& c) {
  while (const auto sack = c.session->poll_ack(now_)) {
    wire::SackBody body{*sack, credit(c)};
    const Instant now = network_.now();
    for (std::uint32_t i = c.acks.count; i-- > 0;) {
      if (c.acks.triggers[i].psn == sack->psn && c.acks.triggers[i].timestamp == sack->timestamp) {
        add_hold(body.sack.hold_time_ns, now - c.acks.triggers[i].arrival);
        break;
      }
    }
    ++c.statistics.sacks_sent;
    const auto send_by = [&](std::uint16_t entropy) {
      send_small(c, entropy, false, [&](wire::MutableBytes out, const wire::Envelope& envelope) {
        return wire::encode(out, envelope, body);
      });
    };
    // [D41]
    core::ControlPaths::Route route = c.session->ways.of_ack(now_);
    if (route.copies > 1 || route.pings > 0) {
      if (!may_seek(*c.life.host)) {
        route.copies = 1;
        route.pings = 0;
      }
    }
    for (std::uint32_t i = 0; i < route.pings; ++i) send_ping(c);
    for (std::uint32_t i = 0; i < route.copies; ++i) {
      send_by(route.as_packet ? static_cast<core::PathId>(sack->path_id % options_.paths)
                              : c.session->ways.next(now_));
    }
  }
  c.acks.count = 0;
}

/// [D41] Whether a connection to that host may seek a way back by several at once. What many seek together costs a busy host
/// more time than it has: one after the other.
bool Engine::may_seek(Host& host) const {
  if (now_ < host.seek_at) return false;
  host.seek_at = now_ + kSeekPause;
  return true;
}

void Engine::on_probe(Connection& c, const wire::Header& header, wire::ConstBytes body,
                      const Incoming& from) {
  const auto probe = wire::decode_probe(header, body);
  if (!probe) {
    ++statistics_.refused_malformed;
    return;
  }
  if (c.in.blocked) return;
  const core::Packet& packet = probe.value();
  // What it would overwrite is owed first.
  if (c.acks.count > 0) send_ack(c);
  if (c.session->on_packet(packet, {.ecn = from.marked}, now_).kind != core::ArrivalKind::probe) {
    ++statistics_.refused_malformed;
    return;
  }
  c.session->ways.probed(now_);
  want_ack(c, packet.psn, packet.timestamp, from.arrival);
  send_ack(c);
}

}  // namespace strack::udp
