// The end of a connection: in order, out of order, and by the peer.
#include <algorithm>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

constexpr Picoseconds kLinger = seconds(1);
constexpr std::uint32_t kAbortRepeats = 2;

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
  for (; c.out_head != c.out_tail; ++c.out_head) {
    Outbound& out = c.outbox[c.out_head & c.out_mask()];
    if (out.done) continue;
    const bool sent = out.kind == wire::DataKind::send;
    complete({.kind = sent ? Kind::sent : Kind::written,
              .status = status,
              .connection = c.id,
              .cookie = out.cookie,
              .tag = sent ? out.tag : 0});
  }
  for (; c.in_floor != c.in_unseen; ++c.in_floor) {
    Inbound& in = c.inbox[c.in_floor & c.in_mask()];
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
  while (PostedReceive* receive = c.receives.take_if([](const PostedReceive&) { return true; })) {
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
  c.close_reason = *tell;
  c.close_sent = true;
  c.close_acked = false;
  c.close_repeats = kAbortRepeats;
  c.close_retry_at = now_ + kCloseRetry;
  c.forget_at = now_ + kLinger;
  send_close(c);
  rearm(c);
}

Status Engine::close(ConnectionId connection) {
  Connection* c = find(connection);
  if (c == nullptr || c->has_ended()) return Status::unknown_connection;
  if (c->local_close) return Status::ok;
  c->local_close = true;
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
    c->close_reason = wire::CloseReason::going_away;
    send_close(*c);
  }
  flush_small();
}

/// All that was to be sent is acknowledged: say that no more will come.
void Engine::maybe_close(Connection& c) {
  if (!c.local_close || c.close_sent || c.state != State::open || c.out_head != c.out_tail) return;
  c.close_sent = true;
  c.close_interval = kCloseRetry;
  send_close(c);
  c.close_retry_at = now_ + c.close_interval;
  rearm(c);
}

void Engine::send_close(Connection& c) {
  const wire::Close close{c.close_reason, c.session->end(), c.mine.connection_id};
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
  // The last word: the program may leave right after it, and then nobody answers the peer's
  // repetitions. So it goes two ways.
  const int copies = in_order && c.close_acked ? 2 : 1;
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
  if (!c.peer_closed) {
    c.peer_closed = true;
    complete({.kind = Kind::peer_closed, .connection = c.id});
  }
  maybe_over(c);
}

void Engine::on_close_ack(Connection& c, const wire::Header& header, wire::ConstBytes body) {
  const auto decoded = wire::decode_close(header, body);
  if (!decoded || !c.close_sent || decoded.value().reason != c.close_reason ||
      decoded.value().source_id != c.mine.connection_id) {
    ++statistics_.refused_malformed;
    return;
  }
  c.close_acked = true;
  c.close_retry_at = Instant::never();
  if (c.state == State::over) {
    c.close_repeats = 0;
    return;
  }
  maybe_over(c);
}

/// Both sides have closed, and what the peer sent is with the user.
void Engine::maybe_over(Connection& c) {
  if (c.state != State::open || !c.close_acked || !c.peer_closed || c.in_floor != c.in_unseen)
    return;
  give_back_operations(c, Status::connection_closed);
  complete({.kind = Kind::closed, .connection = c.id, .cookie = c.connect_cookie});
  --statistics_.connections;
  --living_;
  c.state = State::over;
  c.forget_at = now_ + kLinger;
  rearm(c);
}

}  // namespace strack::udp
