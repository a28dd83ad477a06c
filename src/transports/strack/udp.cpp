// STrack over UDP: its sender and receiver behind what the engine asks of a transport.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/message_queue.h"
#include "transports/strack/path_choice.h"
#include "transports/strack/path_health.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"
#include "transports/strack/udp_params.h"
#include "transports/strack/udp_paths.h"
#include "transports/strack/udp_patience.h"
#include "transports/strack/udp_statistics.h"
#include "udp/transport.h"

namespace strack::udp {
namespace {

using UdpSender = core::Sender<core::NoEvents, core::GuardedPaths>;

/// The options and terms they are made of have been checked.
[[nodiscard]] core::StrackParams params_of(const Measured& measured) {
  auto params = derive_params(measured);
  STRACK_CHECK(params.ok());
  return params.value();
}

class StrackSession final : public Session {
 public:
  explicit StrackSession(const SessionPlan& plan)
      : Session(plan.paths, plan.salt),
        receive_params_(params_of(plan.receiving)),
        receiver_(receive_params_, plan.receives_from),
        slots_(plan.message_slots),
        first_(plan.sends_from) {}

  bool would_accept(const core::Packet& packet) const override {
    const std::int32_t distance = packet.psn - receiver_.epsn();
    return distance >= 0 && distance < static_cast<std::int32_t>(receive_params_.tracking_window) &&
           packet.path_id < receive_params_.max_paths &&
           core::fits_its_message(packet, static_cast<std::uint32_t>(receive_params_.mtu.value)) &&
           !receiver_.has_arrived(packet.psn);
  }
  core::Arrival on_packet(const core::Packet& packet, const core::Signals& signals,
                          Instant now) override {
    return receiver_.on_packet(packet, signals, now);
  }
  std::optional<core::Sack> poll_ack(Instant now) override { return receiver_.poll_ack(now); }
  core::Psn expected() const override { return receiver_.epsn(); }

  void start_sending(const Measured& measured, std::weak_ptr<KnownPaths>& known) override;
  core::PostResult on_message(const core::Message& message, Instant now) override {
    return sender_->on_message(message, now);
  }
  std::optional<core::Packet> poll_transmit(Instant now,
                                            std::optional<core::PathId> together) override {
    return sender_->poll_transmit(now, together);
  }
  bool on_ack(const core::Sack& sack, Instant now) override {
    const std::uint32_t rejected = sender_->counters().sacks_rejected;
    sender_->on_receiving_ack(sack, now);
    if (sender_->counters().sacks_rejected != rejected) return false;
    // [D166]
    const std::uint32_t asked = sender_->counters().probes_sent;
    if (patience_.on_sack(ns(sack.hold_time_ns), asked != std::exchange(asked_, asked)))
      patience_.apply(send_params_);
    return true;
  }
  std::optional<core::MessageId> poll_completion() override { return sender_->poll_completion(); }
  core::Psn end() const override { return sender_ ? sender_->psn_next() : first_; }
  std::uint32_t timeouts_in_a_row() const override { return sender_->consecutive_timeouts(); }
  bool in_silence() const override { return sender_->in_silence(); }
  Bytes under_way() const override { return sender_ ? sender_->inflight_bytes() : bytes(0); }
  Bytes most_under_way() const override { return send_params_.max_cwnd; }
  void on_peer_heard(Instant now) override {
    if (sender_) sender_->on_peer_heard(now);  // [D42] it is there
  }
  void never_left(core::Psn psn) override { health_.never_left(psn); }
  void path_works(core::PathId path) override {
    if (sender_) health_.works(path);
  }

  /// The receiver has no timers.
  Instant next_deadline() const override {
    return sender_ ? sender_->next_deadline() : Instant::never();
  }
  Expired on_timeout(Instant now) override {
    const std::uint32_t timeouts = sender_->counters().timeouts;
    sender_->on_timeout(now);
    return {.timeout = sender_->counters().timeouts != timeouts};
  }
  void describe(ConnectionStatistics& statistics) const override;

 private:
  core::StrackParams receive_params_;
  core::Receiver<> receiver_;
  core::StrackParams send_params_{};
  std::optional<UdpSender> sender_;  ///< once the RTT is known
  std::vector<core::MessageSlot> slots_;
  std::shared_ptr<SharedPaths> known_paths_;
  std::vector<core::SentRecord> sent_records_;
  core::PathHealth health_;  ///< on these two
  SharedPatience patience_;  ///< on known_paths_
  std::uint32_t asked_ = 0;  ///< probes sent, at the last SACK
  BitsPerSecond path_rate_{0};
  core::Psn first_;
};

void StrackSession::start_sending(const Measured& told, std::weak_ptr<KnownPaths>& known) {
  Measured measured = told;
  measured.window = std::min(told.window, core::kMaxTrackingWindow);
  send_params_ = params_of(measured);
  path_rate_ = path_rate(measured);
  known_paths_ = SharedPaths::of(known, send_params_.max_paths);
  patience_ = SharedPatience(known_paths_->patience, send_params_.probe_interval);
  patience_.apply(send_params_);
  sent_records_.assign(core::kMaxTrackingWindow, {});
  health_ = core::PathHealth(known_paths_->records, sent_records_, known_paths_->knowledge);
  // [P.window] It starts with one BDP; the room above is for what the hosts' own delays turn out to be.
  const Bytes most = send_params_.max_cwnd;
  send_params_.max_cwnd = std::clamp(send_params_.bdp, send_params_.min_cwnd, most);
  core::GuardedPaths paths(send_params_.path_health ? &health_ : nullptr);
  if (!measured.oblivious) paths.begin_as_others();
  sender_.emplace(send_params_, slots_, first_, core::NoEvents{}, paths);
  send_params_.max_cwnd = most;
}

void StrackSession::describe(ConnectionStatistics& s) const {
  if (!sender_) return;
  describe_window(send_params_, *sender_, path_rate_, s);
  s.paths = core::PathSelector::path_count(send_params_, sender_->window().cwnd_packets());
  s.paths_marked = sender_->paths().marked_paths();
  s.paths_barred = health_.barred();
  s.loss_episodes = sender_->counters().loss_episodes;
}

}  // namespace

extern const Transport strack_over_udp{
    .name = "strack",
    .id = 1,
    .tracking_window = static_cast<std::uint16_t>(core::kMaxTrackingWindow),
    .make_session = [](const SessionPlan& plan) -> std::unique_ptr<Session> {
      return std::make_unique<StrackSession>(plan);
    }};

}  // namespace strack::udp
