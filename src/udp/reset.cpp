// The engine's part in finding out that a peer is gone, or only said to be: docs/protocol.md, "A peer
// that died". Resets are stateless: who sends one knows nothing of the connection but its id.
#include <algorithm>

#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

/// Between two pings to find out whether a reset is true; more where an answer takes longer.
constexpr Picoseconds kPause = ms(20);
/// [D102] Half of what a replay window has: packets that such a ping overtakes are still taken.
constexpr std::uint32_t kMostSkipped = ReplayWindow::kBits / 2;

}  // namespace

/// The peer is not there any more.
void Engine::lose_peer(Connection& c, Status why) {
  if (c.state == State::open && c.closing.peer_closed && c.out.head == c.out.tail) {
    // It had closed, and has all that we sent: it need not be there any more.
    c.closing.asked = c.closing.sent = c.closing.acked = true;
    c.closing.retry_at = Instant::never();
    maybe_over(c);
  } else {
    fail(c, why, std::nullopt);
  }
}

void Engine::forget_peer_id(const Connection& c) {
  const auto [from, to] = by_peer_id_.equal_range(c.peer_id);
  const auto own = std::find_if(from, to, [&c](const auto& entry) { return entry.second == &c; });
  if (own != to) by_peer_id_.erase(own);
}

/// [D46] Who goes on with a connection that is not known here, as after a restart, is told so: seldom,
/// and with no more bytes than he sent. Only session packets come here, so no reset is ever answered.
void Engine::on_unknown(const wire::Header& header, wire::ConstBytes datagram,
                        const Address& from) {
  ++statistics_.refused_unknown;
  // Not what is shorter than the answer, but for a probe: without a key it is two bytes shorter, and may be all that a sender
  // in doubt sends.
  const std::size_t size = wire::kHeaderBytes + 12 + (keyed() ? wire::kTagBytes : 0);
  const bool long_enough = datagram.size() >= size || header.type == wire::Type::probe;
  if (header.keyed != keyed() || !long_enough || datagram.size() < wire::kHeaderBytes + 8 ||
      !reset_budget_.take(from, now_))
    return;
  const std::uint64_t echo = keyed() ? header.counter : wire::packet_echo(datagram);
  const std::size_t n =
      wire::encode(scratch_, {0, keyed(), 0}, wire::Reset{header.connection_id, echo, {}});
  if (keyed()) {
    const wire::Mac mac = reset_mac(header.connection_id, {scratch_.data(), n - wire::kTagBytes});
    std::copy(mac.begin(), mac.end(), scratch_.data() + n - wire::kTagBytes);
  }
  send_plain({scratch_.data(), n}, from, came_to_, ++answer_path_, false);
}

/// [D46] With a key its MAC must be the peer's. [D47] Without one, anybody who has seen a packet could have made it.
/// Believed is one that answers a ping that was sent to find out.
void Engine::on_reset(const wire::Header& header, wire::ConstBytes datagram, const Address& from) {
  const auto decoded = wire::decode_reset(header, datagram.subspan(header.bytes()));
  if (!decoded) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Reset& reset = decoded.value();
  const auto [first, last] = by_peer_id_.equal_range(reset.unknown_id);
  const auto found = std::find_if(first, last, [&from](const auto& entry) {
    return !entry.second->has_ended() && entry.second->peer.same_host(from);
  });
  if (found == last || header.keyed != keyed()) {
    ++statistics_.refused_set_up;
    return;
  }
  Connection& c = *found->second;
  if (keyed()) {
    const wire::ConstBytes before = datagram.first(datagram.size() - wire::kTagBytes);
    const wire::Mac expected = has_shared_key() ? c.keys.own->door.reset_mac(before, c.peer)
                                                : host_reset_mac(c.keys.reset, before, c.peer);
    if (!same(expected, reset.mac) || reset.echo >= c.keys.counter) {
      ++statistics_.refused_forged;
      return;
    }
  }
  if (reset.echo == c.life.reset_echo) return lose_peer(c, Status::peer_restarted);
  ++statistics_.refused_set_up;
  ask_whether_reset(c);
}

/// [D102] With a key, too: strangers can have resets made for ids that nobody has yet, and keep them. So the ping has
/// a counter that nobody can foresee.
void Engine::ask_whether_reset(Connection& c) {
  const Picoseconds pause = std::max(kPause, 4 * c.set_up.small_rtt);
  if (c.state != State::open || now_ < c.life.reset_asked_at + pause) return;
  c.life.reset_asked_at = now_;
  const std::uint64_t epoch_end = (epoch_of(c.keys.counter) + 1) << kEpochBits;
  if (keyed() && epoch_end - c.keys.counter > 2 * kCounterReserve)
    c.keys.counter += random32() % kMostSkipped;
  const wire::Ping ping = send_ping(c);
  c.life.reset_echo =
      keyed() ? c.keys.counter - 1 : std::uint64_t{ping.id} << 32 | ping.timestamp.ns;
}

/// [D47] Whether a close is the peer's. It names the peer's id, which who has not seen set-up does not
/// know. A graceful one ends just where this side has come to; any other within the window, or, without
/// a key, a ping asks: the peer, if it is gone, says so again.
bool Engine::is_of_peer(Connection& c, const wire::Close& close) {
  if (close.source_id != c.peer_id) return false;
  const std::int32_t beyond = close.end_psn - c.session->expected();
  if (close.reason == wire::CloseReason::done) return beyond == 0;
  if (keyed() ||
      (beyond >= 0 && beyond <= static_cast<std::int32_t>(c.set_up.mine.tracking_window)))
    return true;
  if (c.state == State::open && now_ >= c.life.reset_asked_at + kPause) {
    c.life.reset_asked_at = now_;
    send_ping(c);
  }
  return false;
}

}  // namespace strack::udp
