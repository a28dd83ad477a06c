// The engine's part in finding out that a peer is gone, or only said to be: docs/protocol.md, "A peer
// that died". Resets are stateless: who sends one knows nothing of the connection but its id.
#include <algorithm>

#include "udp/engine.h"

namespace strack::udp {
namespace {

/// Without a key: between two pings to find out whether a reset is true.
constexpr Picoseconds kPause = ms(20);

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
  const std::size_t size = wire::kHeaderBytes + 12 + (keyed() ? wire::kTagBytes : 0);
  if (header.keyed != keyed() || datagram.size() < size || !reset_budget_.take(from, now_)) return;
  const std::uint64_t echo = keyed() ? header.counter : wire::packet_echo(datagram);
  const std::size_t n =
      wire::encode(scratch_, {0, keyed(), 0}, wire::Reset{header.connection_id, echo, {}});
  if (identity_) {
    const wire::Mac mac = reset_mac(header.connection_id, {scratch_.data(), n - wire::kTagBytes});
    std::copy(mac.begin(), mac.end(), scratch_.data() + n - wire::kTagBytes);
  } else if (key_) {
    Address own = came_to_.is_any() ? network_.address() : came_to_;
    own.port = network_.address().port;
    const wire::Mac mac = key_->reset_mac({scratch_.data(), n - wire::kTagBytes}, own);
    std::copy(mac.begin(), mac.end(), scratch_.data() + n - wire::kTagBytes);
  }
  send_plain({scratch_.data(), n}, from, came_to_, ++answer_path_, false);
}

/// [D46] Believed with a key if the MAC is the peer's and the packet that it answers was sent.
/// [D47] Without one, anybody who has seen a packet could have made it: a ping asks, and a reset that
/// answers that ping is believed.
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
    const wire::Mac expected =
        key_ ? key_->reset_mac(before, c.peer) : host_reset_mac(c.keys.reset, before);
    if (!same(expected, reset.mac) || reset.echo >= c.keys.counter) {
      ++statistics_.refused_forged;
      return;
    }
  } else if (reset.echo != c.life.reset_echo) {
    ++statistics_.refused_set_up;
    if (c.state != State::open || now_ < c.life.reset_asked_at + kPause) return;
    c.life.reset_asked_at = now_;
    const wire::Ping ping = send_ping(c);
    c.life.reset_echo = std::uint64_t{ping.id} << 32 | ping.timestamp.ns;
    return;
  }
  lose_peer(c, Status::peer_restarted);
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
