// Whether the peer is there: pings and pongs, timers, and when it is given up.
#include <algorithm>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

constexpr Picoseconds kLongestQuestion = ms(64);  ///< for the RTT: nothing can be sent without it
/// Questions that a peer must have left unanswered before its silence counts. A process that was
/// stopped, or that calls seldom, has to ask them first.
constexpr std::uint32_t kAskedEnough = 3;
/// They are asked every so-manieth part of the time that silence may last, after its first quarter. Each
/// goes another way [D41], and most ways may be dead.
constexpr std::int64_t kAskEvery = 32;

}  // namespace

wire::Ping Engine::next_ping(Connection& c) {
  ++c.ping_id;
  c.pings_under_way = c.pings_under_way << 1 | 1;
  return {.path_id = c.ping_path,
          .id = c.ping_id,
          .timestamp = core::Timestamp::of(network_.now()),
          .credit = passing_credit(c)};
}

wire::Ping Engine::send_ping(Connection& c) {
  // On changing paths: one that is dead must not make the peer seem so.
  c.ping_path = control_path(c);
  const wire::Ping ping = next_ping(c);
  send_small(c, c.ping_path, true, [&](wire::MutableBytes out, const wire::Envelope& envelope) {
    return wire::encode(out, envelope, ping);
  });
  return ping;
}

void Engine::on_ping(Connection& c, const wire::Header& header, wire::ConstBytes body,
                     const Incoming& from) {
  const auto decoded = wire::decode_ping(header, body);
  if (!decoded) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Ping& ping = decoded.value();
  if (c.sender) {  // [D42] it is there
    c.sender->on_peer_heard(now_);
    rearm(c);
  }
  take_credit(c, ping.credit);
  wire::Pong pong{.path_id = ping.path_id,
                  .ecn = from.marked,
                  .id = ping.id,
                  .timestamp = ping.timestamp,
                  .credit = passing_credit(c),
                  .size = static_cast<std::uint16_t>(header.bytes() + body.size() +
                                                     (header.keyed ? wire::kTagBytes : 0))};
  add_hold(pong.hold_time_ns, network_.now() - from.arrival);
  // A full one is compared with the small one before it: it is answered the same way.
  if (ping.padding == 0) c.pong_path = control_path(c);
  send_small(c, c.pong_path, false, [&](wire::MutableBytes out, const wire::Envelope& envelope) {
    return wire::encode(out, envelope, pong);
  });
}

void Engine::on_pong(Connection& c, const wire::Header& header, wire::ConstBytes body,
                     const Incoming& from) {
  const auto decoded = wire::decode_pong(header, body);
  if (!decoded) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Pong& pong = decoded.value();
  const std::uint32_t age = c.ping_id - pong.id;
  if (age >= 32 || (c.pings_under_way >> age & 1) == 0) {
    ++statistics_.refused_malformed;
    return;
  }
  c.pings_under_way &= ~(1u << age);
  c.arrived_at = now_;
  c.paths.works(pong.path_id);
  take_credit(c, pong.credit);
  const bool full = pong.size == c.mtu.largest();
  c.mtu.answered(pong.size, now_);
  if (pong.id == c.doubt_ping) c.mtu.full_answered();
  if (pong.id + 1 == c.doubt_ping) c.mtu.small_answered();
  note_rtt(c, core::Timestamp::of(from.arrival).since(pong.timestamp) - ns(pong.hold_time_ns),
           full);
  // One from before tells nothing of whether the newest credit has arrived.
  if (c.sender && ahead(pong.id, c.credit_ping) >= 0) c.ping_retry_at = Instant::never();
  rearm(c);  // there may be another size to try
}

Picoseconds Engine::silence_limit() const { return us(options_.peer_timeout.count() * 1'000); }

/// When a silent peer is asked for a sign of life.
Instant Engine::next_question(const Connection& c) const {
  const Picoseconds limit = silence_limit();
  return std::max(c.last_heard + limit / 4, c.last_asked + limit / kAskEvery);
}

/// When a silent peer is given up: it has had its time, and enough questions.
Instant Engine::end_of_patience(const Connection& c) const {
  if (c.asked < kAskedEnough) return Instant::never();
  const Picoseconds limit = silence_limit();
  return std::max({c.last_heard + limit, c.first_asked + 7 * limit / 16,
                   c.last_asked + limit / (2 * kAskEvery)});
}

Instant Engine::due(const Connection& c) const {
  switch (c.state) {
    case State::hello_sent:
    case State::connect_sent:
      return std::min(c.retry_at, c.give_up_at);
    case State::half_open:
      return c.give_up_at;
    case State::open: {
      Instant next =
          std::min({next_question(c), end_of_patience(c), c.close_retry_at, c.ping_retry_at});
      if (c.sender) next = std::min({next, c.sender->next_deadline(), c.mtu.deadline()});
      return next;
    }
    case State::over:
      return std::min(c.forget_at, c.close_retry_at);
    case State::dead:
      break;
  }
  return Instant::never();
}

/// Deadlines that move away, as most do, are noticed when they would have come.
void Engine::rearm(Connection& c) {
  if (c.state == State::dead) return;
  const Instant when = due(c);
  if (when < c.deadline.when) deadlines_.move(c, when);
}

void Engine::run_timers() {
  // Each at most once: whatever is due again at once waits for the next poll.
  for (std::size_t turns = deadlines_.size(); turns > 0 && deadlines_.next() <= now_; --turns) {
    Connection& c = deadlines_.top();
    if (due(c) <= now_) on_timer(c);
    if (c.state != State::dead) deadlines_.move(c, std::max(due(c), now_ + ns(1)));
  }
}

void Engine::on_timer(Connection& c) {
  switch (c.state) {
    case State::hello_sent:
    case State::connect_sent:
      if (now_ >= c.give_up_at && now_ - c.asked_at > 2 * c.retry_interval && c.asked == 0) {
        // This process was away. Nobody could answer what it did not ask.
        c.asked = 1;
        (c.state == State::hello_sent) ? send_hello(c) : send_connect(c);
        c.give_up_at = c.retry_at;
      } else if (now_ >= c.give_up_at) {
        Status why = Status::timed_out;
        if (c.rejected) {
          why = *c.rejected == wire::RejectReason::busy            ? Status::busy
                : *c.rejected == wire::RejectReason::not_listening ? Status::not_listening
                : *c.rejected == wire::RejectReason::version ||
                        *c.rejected == wire::RejectReason::terms
                    ? Status::refused
                    : Status::key_refused;
        }
        fail(c, why, std::nullopt);
      } else if (now_ >= c.retry_at) {
        if (c.state == State::hello_sent) {
          send_hello(c);
        } else {
          send_connect(c);
        }
      }
      return;
    case State::half_open:
      if (now_ >= c.give_up_at) retire(c);
      return;
    case State::over:
      if (now_ >= c.forget_at) {
        retire(c);
      } else if (now_ >= c.close_retry_at) {
        c.close_retry_at = Instant::never();
        if (c.close_repeats > 0) {
          --c.close_repeats;
          send_close(c);
          c.close_retry_at = now_ + kCloseRetry;
        }
      }
      return;
    case State::dead:
      return;
    case State::open:
      break;
  }
  const bool done = c.close_acked && c.peer_closed;  // only the user has something left to fetch
  if (now_ >= end_of_patience(c)) {
    if (done) {
      c.last_heard = now_;
      c.asked = 0;
    } else {
      lose_peer(c, Status::peer_dead);
    }
    if (c.state != State::open) return;
  } else if (now_ >= next_question(c)) {
    if (c.asked++ == 0) c.first_asked = now_;
    c.last_asked = now_;
    if (!done) send_ping(c);
  }
  if (now_ >= c.close_retry_at) {
    c.close_interval = std::min(2 * c.close_interval, kLongestRetry);
    c.close_retry_at = now_ + c.close_interval;
    send_close(c);
  }
  if (now_ >= c.ping_retry_at) {
    c.ping_interval = std::min(2 * c.ping_interval, c.sender ? kLongestRetry : kLongestQuestion);
    c.ping_retry_at = now_ + c.ping_interval;
    if (c.sender) {
      send_ping(c);
    } else {
      ask_rtt(c);
    }
  }
  if (c.sender && now_ >= c.sender->next_deadline()) {
    const std::uint32_t timeouts = c.sender->counters().timeouts;
    c.sender->on_timeout(now_);
    mark_ready(c);
    if (c.sender->counters().timeouts != timeouts) doubt_mtu(c);
  }
  if (c.sender && now_ >= c.mtu.deadline()) probe_mtu(c);
}

}  // namespace strack::udp
