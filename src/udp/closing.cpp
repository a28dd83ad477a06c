// The end of a connection: in order, out of order, and by the peer.
#include <algorithm>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

constexpr Picoseconds kLinger = seconds(1);
constexpr std::uint32_t kAbortRepeats = 2;
constexpr int kLastWords = 8;

[[nodiscard]] Status status_of(wire::CloseReason reason) {
  switch (reason) {
    case wire::CloseReason::protocol_error:
      return Status::protocol_error;
    case wire::CloseReason::no_resources:
      return Status::no_resources;
    case wire::CloseReason::keys_exhausted:
      return Status::keys_exhausted;
    case wire::CloseReason::done:
    case wire::CloseReason::aborted:
    case wire::CloseReason::going_away:
      break;
  }
  return Status::peer_aborted;
}

}  // namespace

/// Every operation that the connection still owes a completion.
void Engine::give_back_operations(Connection& c, Status status) {
  for (const std::uint32_t head = c.out.head; c.out.head != c.out.tail; ++c.out.head) {
    Outbound& out = c.out.messages[c.out.head & c.out.mask()];
    out.pieces.reset();
    // Of a pair, the second stands for both.
    const bool first_is_open = out.pair == 2 && !is_told(c, c.out.head, head);
    if (out.pair == 1 || out.source != 0 || out.is_request() || (out.done && !first_is_open))
      continue;
    const bool sent = out.kind == wire::DataKind::send && out.pair == 0;
    complete({.kind = sent ? Kind::sent : Kind::written,
              .status = status,
              .connection = c.id,
              .cookie = out.cookie,
              .tag = sent ? out.tag : 0});
  }
  give_back_reads(c, status);
  c.out.readings.clear();
  c.in.asked.clear();
  for (; c.in.floor != c.in.unseen; ++c.in.floor) {
    Inbound& in = c.in.messages[c.in.floor & c.in.mask()];
    if (in.state == InboundState::matched && in.kind == wire::DataKind::send) {
      complete({.kind = Kind::received,
                .status = status,
                .connection = c.id,
                .cookie = in.cookie,
                .tag = in.tag,
                .length = in.length});
    }
    drop_held(c, in);
    in = {};
  }
  while (PostedReceive* receive =
             c.in.receives.take_if([](const PostedReceive&) { return true; })) {
    complete(
        {.kind = Kind::received, .status = status, .connection = c.id, .cookie = receive->cookie});
    pool_.give_back(receive);
  }
}

/// Ends a connection out of order; the peer is told where there is a reason to tell.
void Engine::fail(Connection& c, Status status, std::optional<wire::CloseReason> tell) {
  if (c.has_ended()) return;
  const State was = c.state;
  if (was == State::half_open) {  // the user has never heard of it
    retire(c);
    return;
  }
  give_back_operations(c, status);
  complete(
      {.kind = Kind::failed, .status = status, .connection = c.id, .cookie = c.connect_cookie});
  ++statistics_.connections_failed;
  if (was == State::open) --statistics_.connections;
  if (was != State::open || !tell) {
    retire(c);
    return;
  }
  c.state = State::over;
  --living_;
  c.closing.reason = *tell;
  c.closing.sent = true;
  c.closing.acked = false;
  c.closing.repeats = kAbortRepeats;
  c.closing.retry_at = now_ + kCloseRetry;
  c.closing.forget_at = now_ + kLinger;
  send_close(c);
  rearm(c);
}

Status Engine::close(ConnectionId connection) {
  Connection* c = find(connection);
  if (c == nullptr || c->has_ended()) return Status::unknown_connection;
  if (c->closing.asked) return Status::ok;
  c->closing.asked = true;
  now_ = network_.now();
  if (c->state < State::open) {
    fail(*c, Status::cancelled, std::nullopt);
  } else {
    maybe_close(*c);
    flush_small();
  }
  return Status::ok;
}

Status Engine::abort(ConnectionId connection) {
  Connection* c = find(connection);
  if (c == nullptr || c->has_ended()) return Status::unknown_connection;
  now_ = network_.now();
  fail(*c, Status::cancelled, wire::CloseReason::aborted);
  flush_small();
  return Status::ok;
}

void Engine::shut_down() {
  now_ = network_.now();
  for (const auto& c : connections_) {
    if (c->state != State::open) continue;
    c->closing.reason = wire::CloseReason::going_away;
    send_close(*c);
  }
  flush_small();
}

/// All that was to be sent is acknowledged: say that no more will come.
void Engine::maybe_close(Connection& c) {
  if (!c.closing.asked || c.closing.sent || c.state != State::open || c.out.head != c.out.tail)
    return;
  c.closing.sent = true;
  c.closing.interval = kCloseRetry;
  send_close(c);
  c.closing.retry_at = now_ + c.closing.interval;
  rearm(c);
}

void Engine::send_close(Connection& c) {
  const wire::Close close{c.closing.reason, c.session->end(), c.set_up.mine.connection_id};
  send_small(c, c.session->ways.next(now_), false,
             [&](wire::MutableBytes out, const wire::Envelope& envelope) {
               return wire::encode_close(out, envelope, close);
             });
}

void Engine::on_close(Connection& c, const wire::Header& header, wire::ConstBytes body) {
  const auto decoded = wire::decode_close(header, body);
  if (!decoded) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Close& close = decoded.value();
  const bool in_order = close.reason == wire::CloseReason::done;
  if (!is_of_peer(c, close)) {
    ++statistics_.refused_malformed;
    return;
  }
  // [D151] The last word: the program may leave right after it, or when its own close is answered, and then
  // nobody answers the peer's repetitions. So it goes several ways.
  const int copies = in_order ? kLastWords : 1;
  for (int i = 0; i < copies; ++i) {
    send_small(c, c.session->ways.next(now_), false,
               [&](wire::MutableBytes out, const wire::Envelope& envelope) {
                 return wire::encode_close_ack(out, envelope, close);
               });
  }
  if (c.state == State::over) return;
  if (!in_order) {
    fail(c, status_of(close.reason), std::nullopt);
    return;
  }
  if (!c.closing.peer_closed) {
    c.closing.peer_closed = true;
    give_back_reads(c, Status::connection_closed);  // all that it had to send is here
    complete({.kind = Kind::peer_closed, .connection = c.id});
  }
  maybe_over(c);
}

void Engine::on_close_ack(Connection& c, const wire::Header& header, wire::ConstBytes body) {
  const auto decoded = wire::decode_close(header, body);
  if (!decoded || !c.closing.sent || decoded.value().reason != c.closing.reason ||
      decoded.value().source_id != c.set_up.mine.connection_id) {
    ++statistics_.refused_malformed;
    return;
  }
  c.closing.acked = true;
  c.closing.retry_at = Instant::never();
  if (c.state == State::over) {
    c.closing.repeats = 0;
    return;
  }
  maybe_over(c);
}

/// Both sides have closed, and what the peer sent is with the user.
void Engine::maybe_over(Connection& c) {
  if (c.state != State::open || !c.closing.acked || !c.closing.peer_closed ||
      c.in.floor != c.in.unseen)
    return;
  give_back_operations(c, Status::connection_closed);
  complete({.kind = Kind::closed, .connection = c.id, .cookie = c.connect_cookie});
  --statistics_.connections;
  --living_;
  c.state = State::over;
  c.closing.forget_at = now_ + kLinger;
  rearm(c);
}

}  // namespace strack::udp
