// A sender between a host that does anything in any order and a network that loses, delays, repeats
// and reorders what it likes, against a model that remembers every packet. SACKs come from a real
// receiver; unless a mode bit says "honest only", impossible and invented ones come too.
//
// Always: the invariants of sender.h, and a SACK is refused exactly when it cannot be true, with no
// other effect. Until a lie has been believed: EPSN, acknowledgements, bytes, losses, deadlines and
// completions are the model's to the byte, and once the network behaves everything completes.
#include "transports/strack/sender.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/fuzz_input.h"
#include "transports/strack/receiver.h"

namespace strack::core {
namespace {

struct Loss {
  LossCause cause;
  std::int64_t from;
  std::int64_t high;
  std::int64_t claimed;
};

struct Watch {
  std::vector<LossDeclared> losses;
};

struct Sink {
  Watch* watch = nullptr;

  void on(const LossDeclared& event) const { watch->losses.push_back(event); }
  template <class Event>
  void on(const Event& /*event*/) const {}
};

using TestSender = Sender<Sink>;

/// The rules of the specification, one entry per packet ever sent. PSNs do not wrap: 0 is the
/// first.
class Model {
 public:
  Model(const StrackParams& params, Psn first, std::vector<Loss>& losses)
      : params_(params), first_(first), losses_(losses) {}

  void on_message(const Message& message) {
    const std::int64_t mtu = params_.mtu.count();
    const std::int64_t packets = std::max<std::int64_t>(1, (message.length + mtu - 1) / mtu);
    messages_.push_back({message, posted_, packets, false});
    posted_ += packets;
  }

  // [R.recovery.retransmit] [D10] [D15] [D17] [D20]
  void on_packet(const Packet& packet, Instant now) {
    if (packet.type == PacketType::probe) {
      STRACK_CHECK_OP(packet.probe_id, ==, static_cast<std::uint16_t>(probe_id_ + 1));
      STRACK_CHECK_OP(unwrap(packet.psn), ==, epsn);
      STRACK_CHECK(probe_due_);
      probe_due_ = false;
      probe_id_ = packet.probe_id;
      probe_counts_ = true;
      sent_before_probe_ = psn_next();
      return;
    }
    STRACK_CHECK(!probe_due_ || probe_overtaken_);
    const std::int64_t psn = unwrap(packet.psn);
    bytes_sent += packet.payload;
    if (packet.retransmission) {
      STRACK_CHECK(!waiting_.empty());
      STRACK_CHECK_OP(psn, ==, *waiting_.begin());
      waiting_.erase(psn);
      probe_counts_ = false;
    } else {
      STRACK_CHECK(waiting_.empty());
      STRACK_CHECK_OP(psn, ==, psn_next());
      if (psn == epsn) {
        timeout_ts_ = now;
        probe_ts_ = now + params_.probe_interval;
      }
      packets_.push_back({packet.payload, false});
    }
    check_fragment(packet, psn);
  }

  // [R.inflight.window] [R.recovery.retransmit] [D19] [D26] Nothing left because nothing could.
  void on_no_packet(Bytes inflight, Bytes cwnd) const {
    STRACK_CHECK(!probe_due_ || probe_overtaken_);
    std::int64_t wanted = 0;
    if (!waiting_.empty()) {
      wanted = payload(*waiting_.begin());
    } else {
      if (psn_next() == posted_ || psn_next() - epsn == params_.tracking_window) return;
      const Posted& posted = message_of(psn_next());
      wanted = std::min(params_.mtu.count(),
                        posted.message.length - (psn_next() - posted.first) * params_.mtu.count());
    }
    if (params_.window_rule == WindowRule::overshoot) wanted = 1;
    STRACK_CHECK_OP(inflight.count() + wanted, >, cwnd.count());
  }

  // [R.bitmap.sender] [R.inflight.equation] [R.recovery.update] [D13] [D16]
  void on_receiving_ack(const Sack& sack, Instant now) {
    probe_ts_ = now + params_.probe_interval;
    probe_overtaken_ = true;
    if (!sack.for_probe) probe_counts_ = false;
    const std::int64_t sack_epsn = unwrap(sack.epsn);
    const auto more =
        static_cast<std::int32_t>(sack.bytes_recvd - static_cast<std::uint32_t>(bytes_recvd));
    bytes_recvd += std::max(more, 0);
    if (sack_epsn > epsn) {
      for (std::int64_t psn = epsn; psn < sack_epsn; ++psn) acknowledge(psn);
      epsn = sack_epsn;
      timeout_ts_ = now;
      backoff_ = 0;
      timeouts = 0;
    }
    if (!sack.for_probe) acknowledge(unwrap(sack.psn));
    for (std::uint32_t i = 0; i < 64; ++i) {
      if ((sack.bitmap >> i & 1) != 0) acknowledge(unwrap(sack.sack_base + i));
    }
  }

  // [A1.L13] [A1.L14] [A1.L18] [R.ooo.threshold] [R.probe.loss] [D10] [D14] [D17] [D61]
  void detect_loss(const Sack& sack, Picoseconds rtt, Bytes cwnd_before, Bytes cwnd, Instant now) {
    if (sack.for_probe && sack.probe_id == probe_id_ && std::exchange(probe_counts_, false) &&
        rtt > ps(0) && rtt < params_.probe_rtt_limit) {
      declare_loss(LossCause::probe, params_.probe_recovers == ProbeRecovers::sent_before_probe
                                         ? sent_before_probe_
                                         : highest_ + 1);
    }
    const std::int64_t packets = cwnd.count() / params_.mtu.count();
    const std::int64_t packets_before = cwnd_before.count() / params_.mtu.count();
    if (packets < packets_before && now >= cut_counts_until_) {
      cut_packets_ = packets_before;
      cut_counts_until_ = now + rtt;
    }
    const bool cut_counts = params_.ooo_window == OooWindow::largest && now < cut_counts_until_;
    const std::int64_t window = cut_counts ? std::max(cut_packets_, packets) : packets;
    const std::int64_t threshold = std::max<std::int64_t>(
        window * params_.ooo_cwnd.num / params_.ooo_cwnd.den, params_.ooo_min);
    if (!in_recovery() && unwrap(sack.epsn) == epsn && sack.ooo_count > threshold) {
      declare_loss(LossCause::out_of_order, highest_ + 1);
    }
  }

  // [R.timeout.loss] [R.probe.send] [R.probe.repeat] [D15]
  void on_timeout(Instant now) {
    if (epsn == psn_next()) return;
    if (now >= timeout_deadline()) {
      backoff_ = std::min(backoff_ + 1, params_.rto_backoff_max);
      ++timeouts;
      timeout_ts_ = now;
      probe_ts_ = now + params_.probe_interval;
      declare_loss(LossCause::timeout, psn_next());
    } else if (now >= probe_ts_) {
      probe_ts_ = now + params_.probe_interval;
      probe_due_ = true;
      probe_overtaken_ = false;
    }
  }

  [[nodiscard]] Instant next_deadline() const {
    return epsn == psn_next() ? Instant::never() : std::min(probe_ts_, timeout_deadline());
  }
  [[nodiscard]] std::int64_t psn_next() const { return std::ssize(packets_); }
  [[nodiscard]] std::int64_t posted() const { return posted_; }
  [[nodiscard]] bool in_recovery() const { return epsn < recovery_high_; }
  [[nodiscard]] bool is_acknowledged(std::int64_t psn) const {
    return packets_[static_cast<std::size_t>(psn)].acknowledged;
  }
  [[nodiscard]] std::int64_t claimed_unsent() const {
    std::int64_t total = 0;
    for (const std::int64_t psn : waiting_) total += payload(psn);
    return total;
  }
  [[nodiscard]] Psn wrap(std::int64_t psn) const {
    return first_ + static_cast<std::uint32_t>(psn);
  }

  /// [D21] Takes what the sender reports; it must be whole and not reported before.
  void complete(MessageId id) {
    const auto posted = std::find_if(messages_.begin(), messages_.end(),
                                     [id](const Posted& p) { return p.message.id == id; });
    STRACK_CHECK(posted != messages_.end());
    STRACK_CHECK(is_whole(*posted));
    STRACK_CHECK(!posted->reported);
    posted->reported = true;
  }
  void check_all_whole_are_reported() const {
    for (const Posted& posted : messages_) STRACK_CHECK(posted.reported || !is_whole(posted));
  }

  std::int64_t epsn = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_recvd = 0;
  std::int64_t bytes_claimed = 0;
  std::uint32_t timeouts = 0;

 private:
  struct Sent {
    std::uint16_t payload;
    bool acknowledged;
  };
  struct Posted {
    Message message;
    std::int64_t first;
    std::int64_t packets;
    bool reported;
  };

  [[nodiscard]] std::int64_t unwrap(Psn psn) const { return epsn + (psn - wrap(epsn)); }
  [[nodiscard]] std::int64_t payload(std::int64_t psn) const {
    return packets_[static_cast<std::size_t>(psn)].payload;
  }
  [[nodiscard]] Instant timeout_deadline() const {
    return timeout_ts_ + params_.rto * (std::int64_t{1} << backoff_);
  }

  void acknowledge(std::int64_t psn) {
    if (psn < 0) return;
    highest_ = std::max(highest_, psn);
    packets_[static_cast<std::size_t>(psn)].acknowledged = true;
    if (waiting_.erase(psn) != 0) bytes_claimed -= payload(psn);
  }

  // [R.loss.enter] [R.ooo.range] [D16] [D17] Whatever is unacknowledged is claimed, unless it is
  // already.
  void declare_loss(LossCause cause, std::int64_t high) {
    if (high <= epsn) return;
    recovery_high_ = std::max(recovery_high_, high);
    std::int64_t claimed = 0;
    for (std::int64_t psn = epsn; psn < recovery_high_; ++psn) {
      if (!is_acknowledged(psn) && waiting_.insert(psn).second) claimed += payload(psn);
    }
    bytes_claimed += claimed;
    losses_.push_back({cause, epsn, recovery_high_, claimed});
  }

  [[nodiscard]] bool is_whole(const Posted& posted) const {
    for (std::int64_t psn = posted.first; psn < posted.first + posted.packets; ++psn) {
      if (psn >= psn_next() || !is_acknowledged(psn)) return false;
    }
    return true;
  }

  [[nodiscard]] const Posted& message_of(std::int64_t psn) const {
    const auto posted = std::find_if(messages_.begin(), messages_.end(), [psn](const Posted& p) {
      return psn >= p.first && psn < p.first + p.packets;
    });
    STRACK_CHECK(posted != messages_.end());
    return *posted;
  }

  void check_fragment(const Packet& packet, std::int64_t psn) const {
    const Posted& posted = message_of(psn);
    const std::int64_t offset = (psn - posted.first) * params_.mtu.count();
    STRACK_CHECK_OP(packet.message_id, ==, posted.message.id);
    STRACK_CHECK_OP(packet.message_length, ==, posted.message.length);
    STRACK_CHECK_OP(packet.offset, ==, offset);
    STRACK_CHECK_OP(packet.payload, ==,
                    std::min(params_.mtu.count(), posted.message.length - offset));
  }

  const StrackParams& params_;
  Psn first_;
  std::vector<Loss>& losses_;
  std::vector<Posted> messages_;
  std::int64_t posted_ = 0;
  std::vector<Sent> packets_;
  std::set<std::int64_t> waiting_;  ///< claimed lost, not sent again yet
  std::int64_t highest_ = -1;
  std::int64_t recovery_high_ = 0;
  std::int64_t sent_before_probe_ = 0;
  std::uint16_t probe_id_ = 0;
  bool probe_counts_ = false;     ///< no other SACK and no retransmission since the probe
  bool probe_due_ = false;        ///< after silence, and not sent yet
  bool probe_overtaken_ = false;  ///< a SACK came before it was sent: it may be dropped
  Instant timeout_ts_{};
  Instant probe_ts_{};
  std::uint32_t backoff_ = 0;
  std::int64_t cut_packets_ = 0;  ///< [D61] of the window before it was cut
  Instant cut_counts_until_ = Instant::distant_past();
};

StrackParams any_params(FuzzInput& input) {
  const Bytes mtu = bytes(input.one_of(1'000, 64, 4'096, 65'535));
  StrackParams params = StrackParams::for_link(gbps(100), us(8), mtu).value();
  params.max_cwnd = mtu * input.one_of(8, 1, 2, 5, 100, 2'000) + bytes(input.one_of(0, 1, 63));
  params.window_rule = input.one_of(WindowRule::fit, WindowRule::overshoot);
  params.tracking_window = input.one_of(1'024u, 1u, 2u, 16u, 64u, 100u);
  params.sack_bytes = input.one_of(4 * mtu, bytes(1), bytes(1 << 30));
  params.sack_on_epsn = input.flag();
  params.echo_rule = input.one_of(EchoRule::trigger, EchoRule::any_mark);
  params.probe_recovers =
      input.one_of(ProbeRecovers::sent_before_probe, ProbeRecovers::highest_received);
  params.ooo_cwnd = input.one_of(Ratio{1, 1}, Ratio{0, 1}, Ratio{1, 2});
  params.ooo_window = input.one_of(OooWindow::largest, OooWindow::current);
  params.ecn_bitmap_reset = input.one_of(us(0), us(16));
  params.rto_backoff_max = input.one_of(3u, 0u);
  params.max_paths = input.one_of(256u, 1u, 4u);
  STRACK_CHECK(params.validated().ok());
  return params;
}

class Harness {
 public:
  Harness(FuzzInput& input, const StrackParams& params, Psn first, Instant start, bool honest_only)
      : input_(input),
        params_(params),
        honest_only_(honest_only),
        now_(start),
        slots_(std::size_t{1} << input.in_range(0, 4)),
        sender_(params, slots_, first, Sink{&watch_}),
        receiver_(params, first),
        model_(params, first, expected_losses_) {}

  void step() {
    switch (input_.byte() % 16) {
      case 0:
      case 1:
        post();
        break;
      case 2:
      case 3:
      case 4:
        for (int left = input_.in_range(1, 32); left > 0 && send(); --left) {
        }
        break;
      case 5:
      case 6:
      case 7:
        deliver_packet(input_.byte());
        break;
      case 8:
      case 9:
      case 10:
        deliver_sack(input_.byte());
        break;
      case 11:
        now_ = now_ + ns(input_.spread(0, 100'000));
        break;
      case 12:
        if (sender_.next_deadline() != Instant::never()) {
          now_ = std::max(now_, sender_.next_deadline() - ps(input_.one_of(0, 1)));
        }
        time_out();
        break;
      case 13:
        time_out();
        break;
      case 14:
        poll_completions();
        break;
      default:
        if (!honest_only_) deliver_invented_sack();
        break;
    }
    check_invariants();
  }

  // [D16] [D17] [D21] [R.probe.repeat] [R.timeout.loss] From now on nothing is lost: everything
  // posted arrives and completes, and the bytes add up to nothing in flight.
  void finish() {
    if (!trusted_) return;
    for (int left = 20'000; left > 0 && !(sender_.idle() && packets_.empty()); --left) {
      while (send()) {
      }
      now_ = now_ + us(4);
      while (!packets_.empty()) deliver_packet(0b0100'0000);
      now_ = now_ + us(4);
      while (!sacks_.empty()) deliver_sack(0);
      poll_completions();
      if (packets_.empty() && sender_.next_deadline() != Instant::never()) {
        now_ = std::max(now_, sender_.next_deadline());
        time_out();
      }
      check_invariants();
    }
    STRACK_CHECK(sender_.idle());
    STRACK_CHECK_OP(receiver_.epsn().value, ==, model_.wrap(model_.posted()).value);
    STRACK_CHECK_OP(sender_.bytes_sent().count(), ==,
                    (sender_.bytes_recvd() + sender_.bytes_claimed_retransmit()).count());
  }

 private:
  struct InFlight {
    Packet packet;
    Instant sent;
  };
  struct Owed {
    Sack sack;
    Instant stamped;  ///< when the packet it echoes was sent
    Instant made;
  };

  void post() {
    const auto mtu = static_cast<std::uint32_t>(params_.mtu.count());
    const Message message{next_message_id_, input_.one_of(mtu, 0u, 1u, mtu - 1, mtu + 1, 3 * mtu,
                                                          20 * mtu, 300 * mtu)};
    if (sender_.on_message(message, now_) == PostResult::queue_full) return;
    ++next_message_id_;
    model_.on_message(message);
  }

  // [R.inflight.window] [D19] [D26] What leaves obeys both windows.
  bool send() {
    const Bytes inflight = sender_.inflight_bytes();
    const Bytes cwnd = sender_.window().cwnd();
    const Psn psn_next = sender_.psn_next();
    const Psn epsn = sender_.epsn();
    const std::optional<Packet> packet = sender_.poll_transmit(now_);
    if (!packet) {
      if (trusted_) model_.on_no_packet(inflight, cwnd);
      return false;
    }
    STRACK_CHECK_OP(packet->path_id, <, params_.max_paths);
    STRACK_CHECK_OP(packet->timestamp.ns, ==, Timestamp::of(now_).ns);
    if (packet->type == PacketType::probe) {
      STRACK_CHECK_OP(packet->payload, ==, 0);
      STRACK_CHECK_OP(sender_.psn_next().value, ==, psn_next.value);
    } else {
      const Bytes filled = params_.window_rule == WindowRule::fit
                               ? inflight + bytes(packet->payload)
                               : inflight + bytes(1);
      STRACK_CHECK_OP(filled.count(), <=, cwnd.count());
      STRACK_CHECK(!sender_.is_acknowledged(packet->psn));
      if (packet->retransmission) {
        STRACK_CHECK(packet->psn >= epsn && packet->psn < psn_next);
        STRACK_CHECK_OP(sender_.psn_next().value, ==, psn_next.value);
      } else {
        STRACK_CHECK_OP(packet->psn.value, ==, psn_next.value);
        STRACK_CHECK_OP(sender_.psn_next().value, ==, (psn_next + 1).value);
        unique_bytes_ += packet->payload;
      }
    }
    if (trusted_) model_.on_packet(*packet, now_);
    packets_.push_back({*packet, now_});
    return true;
  }

  /// `how` picks the packet and what becomes of it: lost, delivered, or delivered with a copy left
  /// behind.
  void deliver_packet(std::uint8_t how) {
    if (packets_.empty()) return;
    const std::size_t index = (how & 0b0100'0000) != 0 ? 0 : how % packets_.size();
    const InFlight chosen = packets_[index];
    if ((how & 0b1100'0000) != 0b1100'0000) {
      packets_.erase(packets_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    if ((how & 0b1100'0000) == 0b1000'0000 || now_ - chosen.sent > seconds(1)) return;
    receiver_.on_packet(chosen.packet, {.ecn = input_.flag()}, now_);
    if (const auto sack = receiver_.poll_ack(now_)) sacks_.push_back({*sack, chosen.sent, now_});
  }

  void deliver_sack(std::uint8_t how) {
    if (sacks_.empty()) return;
    const std::size_t index = (how & 0b0100'0000) != 0 ? sacks_.size() - 1 : how % sacks_.size();
    Owed chosen = sacks_[index];
    if ((how & 0b1100'0000) != 0b1100'0000) {
      sacks_.erase(sacks_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    if ((how & 0b1100'0000) == 0b1000'0000 || now_ - chosen.stamped > seconds(2)) return;
    if ((how & 1) != 0) {
      const std::int64_t waited = (now_ - chosen.made) / ns(1);
      chosen.sack.hold_time_ns = static_cast<std::uint32_t>(input_.spread<std::int64_t>(0, waited));
    }
    last_sack_ = chosen.sack;
    receive(chosen.sack, true);
  }

  /// A true SACK with some fields replaced, mostly by values at a limit.
  void deliver_invented_sack() {
    Sack sack = last_sack_;
    sack.timestamp = Timestamp::of(now_);
    const Psn psn_next = sender_.psn_next();
    const auto near = [this](std::uint32_t value) {
      return value + input_.one_of(0u, 1u, ~0u, 63u, 64u, 1'023u, 1'024u, 1'025u, 0u - 64u,
                                   0u - 1'024u, 0x8000'0000u, 0xc000'0000u, 0xbfff'ffffu,
                                   0x7fff'ffffu, input_.in_range(0u, ~0u));
    };
    for (int left = input_.in_range(1, 6); left > 0; --left) {
      switch (input_.byte() % 12) {
        case 0:
          sack.epsn.value = near(psn_next.value);
          sack.sack_base = sack.epsn;
          break;
        case 1:
          sack.epsn.value = near(sender_.epsn().value);
          break;
        case 2:
          sack.sack_base.value = near(sack.epsn.value);
          break;
        case 3:
          sack.bitmap = input_.spread(std::uint64_t{0}, ~std::uint64_t{0});
          break;
        case 4:
          sack.psn.value = near(psn_next.value);
          break;
        case 5:
          sack.bytes_recvd = near(unique_bytes_);
          break;
        case 6:
          sack.ooo_count = static_cast<std::uint16_t>(input_.one_of(0, 5, 6, 1'023, 1'024, 65'535));
          break;
        case 7:
          sack.path_id = static_cast<PathId>(
              input_.one_of(0u, params_.max_paths - 1, params_.max_paths, 0xffffu));
          break;
        case 8:
          sack.timestamp.ns = near(sack.timestamp.ns);
          break;
        case 9:
          sack.hold_time_ns = input_.spread(0u, ~0u);
          break;
        case 10:
          sack.for_probe = !sack.for_probe;
          sack.probe_id = static_cast<std::uint16_t>(sender_.counters().probes_sent);
          break;
        default:
          sack.ecn = !sack.ecn;
          break;
      }
    }
    receive(sack, false);
  }

  // [D25] Refused, exactly if it cannot be true, and then nothing else has changed.
  void receive(const Sack& sack, bool honest) {
    const Picoseconds age = Timestamp::of(now_).since(sack.timestamp);
    const bool impossible = cannot_be_true(sack, age);
    STRACK_CHECK(!(trusted_ && honest && impossible));
    const std::uint32_t rejected = sender_.counters().sacks_rejected;
    const std::vector<unsigned char> before = memory();
    const Bytes cwnd = sender_.window().cwnd();

    sender_.on_receiving_ack(sack, now_);

    STRACK_CHECK_OP(sender_.counters().sacks_rejected, ==, rejected + (impossible ? 1u : 0u));
    if (impossible) {
      STRACK_CHECK(memory() == before);
      return;
    }
    trusted_ = trusted_ && honest;
    if (!trusted_) return;
    model_.on_receiving_ack(sack, now_);
    model_.detect_loss(sack, age - ns(sack.hold_time_ns), cwnd, sender_.window().cwnd(), now_);
  }

  [[nodiscard]] bool cannot_be_true(const Sack& sack, Picoseconds age) const {
    const Psn psn_next = sender_.psn_next();
    // A quarter of the circle is the past, the rest the future.
    const auto never_sent = [psn_next](Psn psn) {
      return psn_next.value - 1 - psn.value > 1u << 30;
    };
    for (std::uint32_t i = 0; i < 64; ++i) {
      if ((sack.bitmap >> i & 1) != 0 && never_sent(sack.sack_base + i)) return true;
    }
    const std::int32_t offset = sack.sack_base - sack.epsn;
    // It contradicts itself: EPSN has arrived and has not, or more is shown than counted.
    if (offset == 0 && (sack.bitmap & 1) != 0) return true;
    if (!sack.for_probe && sack.psn == sack.epsn) return true;
    if (std::popcount(sack.bitmap) > sack.ooo_count) return true;
    const auto bytes_ahead = static_cast<std::int32_t>(sack.bytes_recvd - unique_bytes_);
    return never_sent(sack.epsn - 1u) || (!sack.for_probe && never_sent(sack.psn)) || offset < 0 ||
           offset > 1'023 || bytes_ahead > 0 || (sack.epsn == psn_next && bytes_ahead != 0) ||
           sack.ooo_count > 1'023 || sack.path_id >= params_.max_paths || age < ps(0);
  }

  /// All of the sender's state, the host's slots included, but the count of rejected SACKs.
  [[nodiscard]] std::vector<unsigned char> memory() const {
    const auto* start = reinterpret_cast<const unsigned char*>(&sender_);
    const auto* slots = reinterpret_cast<const unsigned char*>(slots_.data());
    std::vector<unsigned char> bytes(start, start + sizeof(sender_));
    bytes.insert(bytes.end(), slots, slots + slots_.size() * sizeof(MessageSlot));
    const auto* count = reinterpret_cast<const unsigned char*>(&sender_.counters().sacks_rejected);
    std::fill_n(bytes.begin() + (count - start), sizeof(sender_.counters().sacks_rejected),
                static_cast<unsigned char>(0));
    return bytes;
  }

  void time_out() {
    sender_.on_timeout(now_);
    if (trusted_) model_.on_timeout(now_);
  }

  void poll_completions() {
    while (const std::optional<MessageId> id = sender_.poll_completion()) {
      if (trusted_) model_.complete(*id);
    }
    if (trusted_) model_.check_all_whole_are_reported();
  }

  // [R.inflight.equation] [R.bitmap.sender] [A3.L22] [D26] What holds whatever the peer says.
  void check_invariants() {
    const Psn epsn = sender_.epsn();
    STRACK_CHECK(epsn >= last_epsn_ || !started_);
    last_epsn_ = epsn;
    started_ = true;
    const std::int32_t tracked = sender_.psn_next() - epsn;
    STRACK_CHECK_OP(tracked, >=, 0);
    STRACK_CHECK_OP(tracked, <=, static_cast<std::int32_t>(params_.tracking_window));
    std::uint32_t acknowledged = 0;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(tracked); ++i) {
      const bool is_acknowledged = sender_.is_acknowledged(epsn + i);
      acknowledged += is_acknowledged ? 1u : 0u;
      if (!trusted_) continue;
      STRACK_CHECK_OP(is_acknowledged, ==, model_.is_acknowledged(model_.epsn + i));
      STRACK_CHECK(!is_acknowledged || receiver_.has_arrived(epsn + i));
    }
    STRACK_CHECK_OP(acknowledged, ==,
                    sender_.acked().count());  // so nothing unsent is acknowledged
    for (std::uint32_t i = 0; i < 70; ++i) {
      STRACK_CHECK(!sender_.is_acknowledged(sender_.psn_next() + i));
    }
    STRACK_CHECK_OP(sender_.window().cwnd().count(), >=, params_.min_cwnd.count());
    STRACK_CHECK_OP(sender_.window().cwnd().count(), <=, params_.max_cwnd.count());
    const std::int64_t in_flight =
        (sender_.bytes_sent() - sender_.bytes_recvd() - sender_.bytes_claimed_retransmit()).count();
    STRACK_CHECK_OP(sender_.inflight_bytes().count(), ==, std::max<std::int64_t>(0, in_flight));
    STRACK_CHECK_OP(sender_.claimed_unsent().count(), <=,
                    sender_.bytes_claimed_retransmit().count());
    STRACK_CHECK_OP(sender_.next_deadline() == Instant::never(), ==, tracked == 0);
    if (trusted_) check_against_model();
    watch_.losses.clear();
    expected_losses_.clear();
  }

  // [D16] [D17] [R.timeout.update] With an honest peer every number is the model's.
  void check_against_model() {
    STRACK_CHECK_OP(sender_.counters().sacks_rejected, ==, rejected_while_trusted());
    STRACK_CHECK_OP(sender_.epsn().value, ==, model_.wrap(model_.epsn).value);
    STRACK_CHECK(sender_.epsn() <= receiver_.epsn());
    STRACK_CHECK_OP(sender_.psn_next().value, ==, model_.wrap(model_.psn_next()).value);
    STRACK_CHECK_OP(sender_.bytes_sent().count(), ==, model_.bytes_sent);
    STRACK_CHECK_OP(sender_.bytes_recvd().count(), ==, model_.bytes_recvd);
    STRACK_CHECK_OP(sender_.bytes_claimed_retransmit().count(), ==, model_.bytes_claimed);
    STRACK_CHECK_OP(sender_.claimed_unsent().count(), ==, model_.claimed_unsent());
    STRACK_CHECK_OP(sender_.in_recovery(), ==, model_.in_recovery());
    STRACK_CHECK_OP(sender_.consecutive_timeouts(), ==, model_.timeouts);
    STRACK_CHECK_OP(sender_.next_deadline().ps, ==, model_.next_deadline().ps);
    STRACK_CHECK_OP(watch_.losses.size(), ==, expected_losses_.size());
    for (std::size_t i = 0; i < expected_losses_.size(); ++i) {
      const LossDeclared& ours = watch_.losses[i];
      STRACK_CHECK_OP(static_cast<int>(ours.cause), ==,
                      static_cast<int>(expected_losses_[i].cause));
      STRACK_CHECK_OP(ours.from.value, ==, model_.wrap(expected_losses_[i].from).value);
      STRACK_CHECK_OP(ours.high.value, ==, model_.wrap(expected_losses_[i].high).value);
      STRACK_CHECK_OP(ours.claimed.count(), ==, expected_losses_[i].claimed);
    }
  }
  /// An honest peer is never refused; what was, was invented.
  [[nodiscard]] std::uint32_t rejected_while_trusted() const {
    return honest_only_ ? 0 : sender_.counters().sacks_rejected;
  }

  FuzzInput& input_;
  const StrackParams& params_;
  bool honest_only_;
  Instant now_;
  std::vector<MessageSlot> slots_;
  Watch watch_;
  std::vector<Loss> expected_losses_;
  TestSender sender_;
  Receiver<> receiver_;
  Model model_;
  bool trusted_ = true;  ///< no invented SACK has been believed
  std::vector<InFlight> packets_;
  std::vector<Owed> sacks_;
  Sack last_sack_;
  MessageId next_message_id_ = 0;
  std::uint32_t unique_bytes_ = 0;
  Psn last_epsn_;
  bool started_ = false;
};

}  // namespace
}  // namespace strack::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strack;
  using namespace strack::core;
  FuzzInput input(data, size);
  const bool honest_only = input.flag();
  const StrackParams params = any_params(input);
  const Psn first{input.one_of(0u, 1u, 0xffff'ffffu, 0xffff'fff0u, 0xffff'ff00u, 0x7fff'fff0u)};
  // Timestamps wrap after 4.29 s.
  const Instant start = input.one_of(at(us(0)), at(ns(0xffff'ff00)), at(seconds(9'000)));
  Harness harness(input, params, first, start, honest_only);
  while (!input.empty()) harness.step();
  harness.finish();
  return 0;
}
