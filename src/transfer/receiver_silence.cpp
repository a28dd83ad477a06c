// Which transfers a receiver takes for dead (transfer/receiver.h).
#include <chrono>

#include <fmt/format.h>

#include "transfer/receiver_session.h"

namespace strack::transfer {

using Clock = Guests::Clock;

/// What comes counts, not whole messages: a block takes its time on a slow link. Returns whether it is to be cut
/// off at once: who has never said a word is not given the time to leave.
bool Receiver::look_for_silence(const SessionPtr& session, Clock::time_point now) {
  if (session->state >= Session::State::refused) return false;
  const auto statistics = endpoint_.statistics(session->id);
  const Sender* sender = session->giving ? session->giving->sender.get() : nullptr;
  const std::uint64_t sent = sender != nullptr ? sender->progress().bytes : 0;
  if (session->waits_for_us() || (sender != nullptr && sent != session->giving->sent) ||
      (statistics && statistics.value().data_packets_received != session->packets)) {
    if (statistics) session->packets = statistics.value().data_packets_received;
    if (session->hushed) note(session, "it is heard again");
    session->hushed = false;
    session->heard = now;
    if (session->giving) session->giving->sent = sent;
    guests_.heard(static_cast<std::uint64_t>(session->id), now);
  }
  if (session->state == Session::State::new_born && !session->asked)
    return now - session->began > limits_.patience;
  if (session->state < Session::State::running && now - session->heard > limits_.silence) {
    session->summary.problem = fmt::format("nothing came for {} s", limits_.silence.count() / 1000);
    return true;
  }
  if (session->state != Session::State::running) return false;
  if (session->next_number == 0 && !session->questioned &&
      now - session->began > limits_.patience) {
    constexpr const char* why = "a hello came, and nothing after it";
    // Who pushes may have spoken, and this side lost it for want of a processor: who is honest comes again.
    session->asked ? refuse(session, why) : part(session, why, Busy{});
  }
  if (now - session->heard > limits_.hush && !session->hushed) {
    session->hushed = true;
    note(session, fmt::format("nothing has come for {:g} s",
                              std::chrono::duration<double>(limits_.hush).count()));
  }
  if (now - session->heard > limits_.silence)
    refuse(session, fmt::format("nothing came for {} s", limits_.silence.count() / 1000));
  return false;
}

}  // namespace strack::transfer
