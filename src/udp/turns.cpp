// Many connections to one port of a peer: set up and sending in turns.
#include <cstdint>
#include <utility>

#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

/// [D128] All connections to one port of a peer have so many times under way what one may have.
constexpr std::int64_t kShares = 2;
/// [D129] Connections to one port of a peer.
constexpr std::uint32_t kAskingAtATime = 128;
/// [D146] A host that was heard so lately, on any connection, is not silent.
constexpr Picoseconds kLately = ms(10);

}  // namespace

/// Whether it may send now; if not, it has a place in the queue.
bool Engine::has_turn(Connection& c) {
  if (c.life.port == nullptr || !c.session) return true;
  PeerPort& port = *c.life.port;
  const bool called = std::exchange(c.out.called, false);
  if (called) port.called = false;
  const Bytes most = kShares * c.session->most_under_way();
  if (most == bytes(0) || ((called || port.queue.empty()) && port.under_way < most)) return true;
  if (std::exchange(c.out.queued, true)) return false;
  if (called) {
    port.queue.push_front(&c);
  } else {
    port.queue.push_back(&c);
  }
  return false;
}

/// After anything that may have changed what it has under way.
void Engine::recount(Connection& c) {
  if (c.life.port == nullptr || !c.session) return;
  PeerPort& port = *c.life.port;
  const Bytes now = c.session->under_way();
  port.under_way += now - c.out.counted;
  c.out.counted = now;
  call_next(port, c.life.unanswered);
}

/// One at a time, which calls the next when it has sent. Where there is room since nobody answers, the next one is as
/// careful [D55]; unless others are answered, and only some ways are dead [D146].
void Engine::call_next(PeerPort& port, bool unanswered) {
  if (port.called || port.queue.empty()) return;
  Connection& next = *port.queue.front();
  if (port.under_way >= kShares * next.session->most_under_way()) return;
  port.queue.pop_front();
  next.out.queued = false;
  next.out.called = port.called = true;
  next.life.unanswered |= unanswered && now_ - next.life.host->last_heard > kLately;
  mark_ready(next);
}

void Engine::leave_port(Connection& c) {
  PeerPort& port = *c.life.port;
  port.under_way -= std::exchange(c.out.counted, bytes(0));
  if (std::exchange(c.out.queued, false)) std::erase(port.queue, &c);
  if (std::exchange(c.out.called, false)) port.called = false;
  call_next(port, c.life.unanswered);
}

/// [D129] So many at a time to one port; the next one when one can send, or is given up.
void Engine::ask_next(PeerPort& port) {
  while (port.asking < kAskingAtATime && !port.to_ask.empty()) {
    Connection& c = *port.to_ask.front();
    port.to_ask.pop_front();
    ++port.asking;
    c.set_up.asking = true;
    send_hello(c);
    // Without a route the rest of the time would change nothing that whoever asks again does not find out, too.
    if (c.set_up.unreachable) c.set_up.give_up_at = now_;
    rearm(c);
  }
}

void Engine::stop_asking(Connection& c) {
  if (!c.initiator || c.life.port == nullptr) return;
  PeerPort& port = *c.life.port;
  if (std::exchange(c.set_up.asking, false)) {
    --port.asking;
  } else {
    std::erase(port.to_ask, &c);
  }
  ask_next(port);
}

}  // namespace strack::udp
