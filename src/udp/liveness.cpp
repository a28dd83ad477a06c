// Whether the peer is there: pings and pongs, timers, and when it is given up.
#include <algorithm>
#include <utility>

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
constexpr Picoseconds kHurryEvery = ms(10);
constexpr Picoseconds kReadsOn = ms(100);    ///< then, without timers
constexpr Picoseconds kSpared = seconds(1);  ///< and so much longer somebody is half open, once
/// [D146] Who is answered lets so many others go who wait: more than the one that a dead path may have cost.
constexpr int kReleased = 4;

}  // namespace

wire::Ping Engine::next_ping(Connection& c) {
  ++c.life.ping_id;
  c.life.pings_under_way = c.life.pings_under_way << 1 | 1;
  return {.path_id = c.life.ping_path,
          .id = c.life.ping_id,
          .timestamp = core::Timestamp::of(network_.now()),
          .credit = passing_credit(c)};
}

wire::Ping Engine::send_ping(Connection& c) {
  // On changing paths: one that is dead must not make the peer seem so.
  c.life.ping_path = c.session->ways.next(now_);
  const wire::Ping ping = next_ping(c);
  send_small(c, c.life.ping_path, true,
             [&](wire::MutableBytes out, const wire::Envelope& envelope) {
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
  c.session->on_peer_heard(now_);
  rearm(c);
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
  std::uint32_t copies = 1;
  if (ping.padding == 0) {
    c.life.pong_path = c.session->ways.next(now_);
    copies = c.session->ways.of_pong(now_);
    if (copies > 1 && !may_seek(*c.life.host)) copies = 1;
  }
  for (std::uint32_t i = 0; i < copies; ++i) {
    send_small(c, i == 0 ? c.life.pong_path : c.session->ways.next(now_), false,
               [&](wire::MutableBytes out, const wire::Envelope& envelope) {
                 return wire::encode(out, envelope, pong);
               });
  }
}

void Engine::on_pong(Connection& c, const wire::Header& header, wire::ConstBytes body,
                     const Incoming& from) {
  const auto decoded = wire::decode_pong(header, body);
  if (!decoded) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Pong& pong = decoded.value();
  const std::uint32_t age = c.life.ping_id - pong.id;
  // Answered before, by another way, or so late that others have been asked since.
  if (age >= 32 || (c.life.pings_under_way >> age & 1) == 0) return;
  c.life.pings_under_way &= ~(1u << age);
  c.session->ways.works(pong.path_id, now_);
  c.life.port->way = {pong.path_id, now_};
  c.session->path_works(pong.path_id);
  if (ahead(pong.id, c.keys.renewal_ping) >= 0) c.keys.followed = true;
  take_credit(c, pong.credit);
  const bool full = pong.size == c.mtu.largest();
  c.mtu.answered(pong.size, now_);
  if (pong.id == c.life.doubt_ping) c.mtu.full_answered();
  if (pong.id + 1 == c.life.doubt_ping) c.mtu.small_answered();
  // [D165] One that took longer than half of the clock's circle seems to come before it was asked for.
  const Picoseconds took = core::Timestamp::of(from.arrival).since(pong.timestamp);
  if (took >= ps(0)) note_rtt(c, took - ns(pong.hold_time_ns), full);
  // One from before tells nothing of whether the newest credit has arrived, or the newest key.
  if (c.out.sends && c.keys.followed && ahead(pong.id, c.life.credit_ping) >= 0)
    c.life.ping_retry_at = Instant::never();
  rearm(c);  // there may be another size to try
}

Picoseconds Engine::silence_limit() const { return us(options_.peer_timeout.count() * 1'000); }

/// When a silent peer is asked for a sign of life.
Instant Engine::next_question(const Connection& c) const {
  const Picoseconds limit = silence_limit();
  return std::max(c.life.last_heard + limit / 4, c.life.last_asked + limit / kAskEvery);
}

/// When a silent peer is given up: it has had its time, and enough questions.
Instant Engine::end_of_patience(const Connection& c) const {
  if (c.life.asked < kAskedEnough) return Instant::never();
  const Picoseconds limit = silence_limit();
  return std::max({c.life.last_heard + limit, c.life.first_asked + 7 * limit / 16,
                   c.life.last_asked + limit / (2 * kAskEvery)});
}

Instant Engine::due(const Connection& c) const {
  switch (c.state) {
    case State::hello_sent:
    case State::connect_sent:
      return std::min(c.set_up.retry_at, c.set_up.give_up_at);
    case State::half_open:
      return c.set_up.give_up_at;
    case State::open: {
      Instant next = std::min(
          {next_question(c), end_of_patience(c), c.closing.retry_at, c.life.ping_retry_at});
      next = std::min(next, c.session->next_deadline());
      if (c.out.sends) next = std::min(next, c.mtu.deadline());
      if (c.life.waiting) next = std::min(next, c.life.place);
      return next;
    }
    case State::over:
      return std::min(c.closing.forget_at, c.closing.retry_at);
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

/// [D169] After this process was away, what has come is read before anybody is judged; but not for ever.
bool Engine::reads_on() {
  if (all_read_ || now_ - deadlines_.next() <= kAway) {
    reads_until_ = Instant{};
    return false;
  }
  if (reads_until_ == Instant{}) reads_until_ = now_ + kReadsOn;
  return now_ < reads_until_;
}

void Engine::run_timers() {
  // Each at most once: whatever is due again at once waits for the next poll.
  for (std::size_t turns = deadlines_.size(); turns > 0 && deadlines_.next() <= now_; --turns) {
    Connection& c = deadlines_.top();
    if (due(c) <= now_) on_timer(c);
    if (c.state != State::dead) deadlines_.move(c, std::max(due(c), now_ + ns(1)));
  }
}

/// Something of the peer's has come, and it is the peer's.
void Engine::heard(Connection& c) {
  c.life.last_heard = c.life.host->last_heard = now_;
  if (!c.life.port->line.empty()) release_some(*c.life.port);
  if (!c.life.unanswered) return;
  c.life.unanswered = false;
  // It may have nothing under way that would bring it back.
  if (std::exchange(c.life.waiting, false)) mark_ready(c);
  c.life.place = Instant::never();
  if (!c.life.host->budget.is_strained()) {
    c.life.host->budget.answered();
  } else if (now_ >= c.life.host->hurried_at + kHurryEvery) {
    hurry_others(*c.life.host);
  }
}

/// [D146] The endpoint there lives, so those who wait for their places need not: each packet from it lets some of them send
/// one at once. Where nothing comes, nobody is let go.
void Engine::release_some(PeerPort& port) {
  for (int released = 0; released < kReleased && !port.line.empty();) {
    Connection& c = *port.line.front();
    port.line.pop_front();
    c.life.in_line = false;
    if (!c.life.unanswered || c.life.place <= now_ || c.life.place == Instant::never()) continue;
    c.life.place = now_;
    if (c.state < State::half_open) c.set_up.retry_at = std::min(c.set_up.retry_at, now_);
    if (c.session) c.session->on_peer_heard(now_);
    rearm(c);
    ++released;
  }
}

/// [D55] The host answers again: who waits for a place has an earlier one now.
void Engine::hurry_others(Host& host) {
  host.hurried_at = now_;
  host.budget.answered();
  for (const auto& other : connections_) {
    Connection& c = *other;
    if (c.life.host != &host || !c.life.unanswered) continue;
    take_place(c);
    if (c.state < State::half_open) c.set_up.retry_at = std::min(c.set_up.retry_at, c.life.place);
    if (c.session) c.session->on_peer_heard(now_);
    rearm(c);
  }
}

/// [D55] A place in the host's silence; until it comes, an answer to others may let it go [D146].
void Engine::take_place(Connection& c) {
  c.life.place = c.life.host->budget.take(now_);
  if (c.life.place > now_ && !std::exchange(c.life.in_line, true)) c.life.port->line.push_back(&c);
}

/// [D55] Whether one packet may go out to a peer that is perhaps not there; if not, it has a place
/// for it.
bool Engine::may_send(Connection& c) {
  if (!c.life.unanswered) return true;
  if (c.life.place == Instant::never()) take_place(c);
  return c.life.place <= now_;
}

/// [D55] The same for what comes again anyway: now, or not this time.
bool Engine::may_repeat(Connection& c) {
  return !c.life.unanswered || c.life.host->budget.take_now(now_);
}

/// Asks a silent peer whether it is there, and gives it up when it has not answered often enough.
/// `done`: only the user has something left to fetch.
void Engine::on_silence(Connection& c, bool done) {
  if (now_ >= end_of_patience(c)) {
    if (done) {
      c.life.last_heard = now_;
      c.life.asked = 0;
    } else {
      lose_peer(c, Status::peer_dead);
    }
    return;
  }
  if (now_ < next_question(c)) return;
  if (c.life.asked++ == 0) c.life.first_asked = now_;
  c.life.last_asked = now_;
  if (done) return;
  // [D55] While all of the host is silent, what others ask it stands for what this one would.
  if (may_repeat(c) || c.life.host->last_heard >= c.life.first_asked) send_ping(c);
  c.life.unanswered = true;
}

void Engine::on_timer(Connection& c) {
  switch (c.state) {
    case State::hello_sent:
    case State::connect_sent:
      return on_set_up_timer(c);
    case State::half_open:
      if (now_ < c.set_up.give_up_at) return;
      // [D169] What it has said meanwhile may have been lost here, and comes again.
      if ((all_read_ && now_ - c.set_up.give_up_at <= kAway) || c.set_up.spared) return retire(c);
      c.set_up.spared = true;
      c.set_up.give_up_at = now_ + kSpared;
      return;
    case State::over:
      if (now_ >= c.closing.forget_at) {
        retire(c);
      } else if (now_ >= c.closing.retry_at) {
        c.closing.retry_at = Instant::never();
        if (c.closing.repeats > 0) {
          --c.closing.repeats;
          send_close(c);
          c.closing.retry_at = now_ + kCloseRetry;
        }
      }
      return;
    case State::dead:
      return;
    case State::open:
      break;
  }
  if (keys_used_up(c)) return fail(c, Status::keys_exhausted, wire::CloseReason::keys_exhausted);
  on_silence(c, c.closing.acked && c.closing.peer_closed);
  if (c.state != State::open) return;
  if (c.life.waiting && now_ >= c.life.place) {
    c.life.waiting = false;
    mark_ready(c);
  }
  if (now_ >= c.closing.retry_at) {
    c.life.unanswered |= c.life.last_heard + c.closing.interval < now_;
    c.closing.interval = std::min(2 * c.closing.interval, kLongestRetry);
    c.closing.retry_at = now_ + c.closing.interval;
    if (may_repeat(c)) send_close(c);
  }
  if (now_ >= c.life.ping_retry_at) {
    c.life.unanswered |= c.life.last_heard + c.life.ping_interval < now_;
    c.life.ping_interval =
        std::min(2 * c.life.ping_interval, c.out.sends ? kLongestRetry : kLongestQuestion);
    c.life.ping_retry_at = now_ + c.life.ping_interval;
    if (may_repeat(c)) c.out.sends ? static_cast<void>(send_ping(c)) : ask_rtt(c);
  }
  if (now_ >= c.session->next_deadline()) {
    const Session::Expired expired = c.session->on_timeout(now_);
    if (c.out.sends) mark_ready(c);
    if (expired.owes_ack) send_ack(c);
    if (expired.timeout) {
      c.life.unanswered |= c.session->in_silence();
      doubt_mtu(c);
    }
    recount(c);
  }
  if (c.out.sends && now_ >= c.mtu.deadline()) probe_mtu(c);
}

}  // namespace strack::udp
