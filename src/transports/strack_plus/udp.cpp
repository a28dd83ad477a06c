// STrack+ over UDP: its sender and receiver behind what the engine asks of a transport.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/message_queue.h"
#include "transports/strack/udp_params.h"
#include "transports/strack/udp_paths.h"
#include "transports/strack/udp_patience.h"
#include "transports/strack/udp_statistics.h"
#include "transports/strack_plus/guarded_paths.h"
#include "transports/strack_plus/receiver.h"
#include "transports/strack_plus/sender.h"
#include "transports/strack_plus/udp_ack.h"
#include "udp/transport.h"

namespace strack::udp {
namespace {

using core::PlusParams;
using UdpSender = core::PlusSender<core::NoEvents, core::GuardedPlusPaths>;

/// [D98] STrack's for hosts in software [D38], and STrack+'s own in the same unit. A wake-up answers all that has come
/// with a SACK for each four packets, so no packet waits for a fourth; and takes in as many SACKs before anything
/// is sent, so the ring has places for a window. Which entropies are dead all connections know together [D131].
[[nodiscard]] PlusParams params_of(const Measured& measured) {
  const auto paper = derive_params(measured);
  STRACK_CHECK(paper.ok());
  PlusParams p;
  static_cast<core::StrackParams&>(p) = paper.value();
  const Picoseconds unit = p.net_base_rtt;
  p.tracking_window = std::min(p.tracking_window, PlusParams::kTracked);
  p.max_cwnd = std::max(p.min_cwnd, std::min(p.max_cwnd, std::int64_t{p.tracking_window} * p.mtu));
  p.sack_packets = 1;
  p.sack_on_epsn = false;
  p.ring = PlusParams::kRing;
  p.avoid = false;
  p.rack = 3 * unit / 2;
  p.probe_interval = 2 * unit;
  p.probe_backoff_max = doublings(p.probe_interval, kLongestProbeWait);  // not STrack's [D167]
  p.probe_margin = unit / 2;
  p.derive();
  STRACK_CHECK(p.validated().ok());
  return p;
}

class PlusSession final : public Session {
 public:
  explicit PlusSession(const SessionPlan& plan)
      : Session(plan.paths, plan.salt),
        receive_params_(params_of(plan.receiving)),
        receiver_(receive_params_, plan.receives_from),
        slots_(plan.message_slots),
        first_(plan.sends_from) {}

  bool would_accept(const core::Packet& packet) const override {
    return packet.psn - receiver_.epsn() <
               static_cast<std::int32_t>(receive_params_.tracking_window) &&
           packet.path_id < receive_params_.max_paths &&
           core::fits_its_message(packet, receive_params_.mtu_bytes()) &&
           !receiver_.has_arrived(packet.psn);
  }
  core::Arrival on_packet(const core::Packet& packet, const core::Signals& signals,
                          Instant now) override {
    if (receiver_.full() && !filled_) filled_ = poll(now);
    const core::Arrival arrival = receiver_.on_packet(packet, signals, now);
    if (arrival.kind == core::ArrivalKind::probe) probe_ = packet.psn;
    return arrival;
  }
  std::optional<core::Sack> poll_ack(Instant now) override {
    if (!filled_) return poll(now);
    return std::exchange(filled_, std::nullopt);
  }
  core::Psn expected() const override { return receiver_.epsn(); }

  void start_sending(const Measured& measured, std::weak_ptr<KnownPaths>& known) override;
  core::PostResult on_message(const core::Message& message, Instant now) override {
    return sender_->on_message(message, now);
  }
  std::optional<core::Packet> poll_transmit(Instant now,
                                            std::optional<core::PathId> together) override;
  bool on_ack(const core::Sack& sack, Instant now) override;
  std::optional<core::MessageId> poll_completion() override { return sender_->poll_completion(); }
  core::Psn end() const override { return sender_ ? sender_->psn_next() : first_; }
  std::uint32_t timeouts_in_a_row() const override { return in_a_row_; }
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
    const bool timeout = sender_->counters().timeouts != timeouts;
    if (timeout) ++in_a_row_;
    return {.timeout = timeout};
  }
  void describe(ConnectionStatistics& statistics) const override;

 private:
  [[nodiscard]] std::optional<core::Sack> poll(Instant now) {
    const auto ack = receiver_.poll_ack(now);
    if (!ack) return std::nullopt;
    return to_wire(*ack, probe_);
  }
  [[nodiscard]] Picoseconds network_part(Picoseconds rtt, const core::PlusAck& ack) const;

  PlusParams receive_params_;
  core::PlusReceiver receiver_;
  std::optional<core::Sack> filled_;  ///< of more packets than one SACK tells of
  core::Psn probe_;                   ///< the last one's
  PlusParams send_params_{};
  std::optional<UdpSender> sender_;  ///< once the RTT is known
  std::vector<core::MessageSlot> slots_;
  std::shared_ptr<SharedPaths> known_paths_;
  std::vector<core::SentRecord> sent_records_;
  core::PathHealth health_;  ///< on these two
  SharedPatience patience_;  ///< on known_paths_
  std::uint32_t asked_ = 0;  ///< probes sent, at the last SACK
  BitsPerSecond path_rate_{0};
  core::Psn first_;
  core::PathId spread_ = 0;  ///< where paths are taken evenly
  std::uint32_t in_a_row_ = 0;
  bool oblivious_ = false;
  bool marks_seen_ = false;
};

void PlusSession::start_sending(const Measured& told, std::weak_ptr<KnownPaths>& known) {
  Measured measured = told;
  measured.window = std::min(told.window, PlusParams::kTracked);
  send_params_ = params_of(measured);
  path_rate_ = path_rate(measured);
  oblivious_ = measured.oblivious;
  known_paths_ = SharedPaths::of(known, send_params_.max_paths);
  patience_ = SharedPatience(known_paths_->patience, send_params_.probe_interval);
  patience_.apply(send_params_);
  sent_records_.assign(PlusParams::kTracked, {});
  health_ = core::PathHealth(known_paths_->records, sent_records_, known_paths_->knowledge);
  // [P.window] It starts with one BDP; the room above is for what the hosts' own delays turn out to be.
  const Bytes most = send_params_.max_cwnd;
  send_params_.max_cwnd = std::clamp(send_params_.bdp, send_params_.min_cwnd, most);
  sender_.emplace(send_params_, slots_, first_, core::NoEvents{},
                  core::GuardedPlusPaths(health_, static_cast<std::uint8_t>(first_.value)));
  send_params_.max_cwnd = most;
}

std::optional<core::Packet> PlusSession::poll_transmit(Instant now,
                                                       std::optional<core::PathId> together) {
  if (oblivious_ && !together) {
    spread_ = static_cast<core::PathId>((spread_ + 1u) % send_params_.max_paths);
    together = spread_;
  }
  return sender_->poll_transmit(now, together);
}

bool PlusSession::on_ack(const core::Sack& sack, Instant now) {
  core::PlusAck ack = from_wire(sack);
  const Picoseconds age = core::Timestamp::of(now).since(ack.timestamp);
  const Picoseconds rtt = network_part(age - ns(sack.hold_time_ns), ack);
  // [D40] On a path that has never marked anything a long queue has to count as its mark.
  marks_seen_ |= ack.ecn;
  if (!marks_seen_ && rtt - sender_->window().base_rtt() > send_params_.target_qhigh) {
    ack.ecn = true;
    if (!ack.for_probe) ack.echoes[ack.count - 1u].ecn = true;
  }
  const std::uint32_t rejected = sender_->counters().acks_rejected;
  const core::Psn before = sender_->epsn();
  sender_->on_receiving_ack(ack, age, rtt, now);
  if (sender_->epsn() > before) in_a_row_ = 0;
  if (sender_->counters().acks_rejected != rejected) return false;
  // [D166]
  const std::uint32_t asked = sender_->counters().probes_sent;
  if (patience_.on_sack(ns(sack.hold_time_ns), asked != std::exchange(asked_, asked)))
    patience_.apply(send_params_);
  return true;
}

/// [D38] A small packet's RTT as if it had been full, and none below what the hosts' own noise makes of any.
Picoseconds PlusSession::network_part(Picoseconds rtt, const core::PlusAck& ack) const {
  if (rtt <= ps(0)) return rtt;
  const std::int64_t full = send_params_.mtu.count();
  const std::int64_t had = ack.for_probe ? 0 : health_.payload(ack.echoes[ack.count - 1u].psn);
  const Picoseconds missing{
      mul_div(send_params_.full_packet_time.count(), full - std::min(had, full), full)};
  return std::max(rtt + missing, send_params_.least_rtt);
}

void PlusSession::describe(ConnectionStatistics& s) const {
  if (!sender_) return;
  describe_window(send_params_, *sender_, path_rate_, s);
  s.paths = send_params_.max_paths;
  s.paths_marked = sender_->paths().marked();
  s.paths_barred = sender_->paths().barred();
}

}  // namespace

extern const Transport strack_plus_over_udp{
    .name = "strack_plus",
    .id = 2,
    .tracking_window = static_cast<std::uint16_t>(PlusParams::kTracked),
    .make_session = [](const SessionPlan& plan) -> std::unique_ptr<Session> {
      return std::make_unique<PlusSession>(plan);
    }};

}  // namespace strack::udp
