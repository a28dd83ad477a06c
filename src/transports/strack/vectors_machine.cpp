#include "transports/strack/vectors_machine.h"

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/enum_words.h"
#include "core/events.h"
#include "core/message_queue.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"

namespace strack::transports {
namespace {

using core::Psn;

/// FNV-1a over little-endian 64-bit words.
class Digest {
 public:
  void add(std::int64_t word) {
    auto value = static_cast<std::uint64_t>(word);
    for (int i = 0; i < 8; ++i, value >>= 8) hash_ = (hash_ ^ (value & 0xff)) * 0x100000001b3;
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// Bits, 64 to a word, the lowest first.
template <class Test>
void add_bits(Digest& digest, std::uint32_t count, const Test& test) {
  for (std::uint32_t first = 0; first < count; first += 64) {
    std::uint64_t word = 0;
    for (std::uint32_t i = 0; i < 64 && first + i < count; ++i)
      word |= std::uint64_t{test(first + i)} << i;
    digest.add(static_cast<std::int64_t>(word));
  }
}

// ---- Parameters ----

/// Calls visit(name, value) for every parameter, in the order of the first line.
template <class Params, class Visit>
void for_each_param(Params& p, const Visit& visit) {
  visit("net_base_rtt_ps", p.net_base_rtt.value);
  visit("mtu_bytes", p.mtu.value);
  visit("bdp_bytes", p.bdp.value);
  visit("target_qdelay_ps", p.target_qdelay.value);
  visit("target_qhigh_ps", p.target_qhigh.value);
  visit("ewma_q16", p.ewma_q16);
  visit("beta_bytes", p.beta.value);
  visit("eta_bytes", p.eta.value);
  visit("alpha_bytes", p.alpha.value);
  visit("gamma_num", p.gamma.num);
  visit("gamma_den", p.gamma.den);
  visit("max_cwnd_bytes", p.max_cwnd.value);
  visit("min_cwnd_bytes", p.min_cwnd.value);
  visit("max_paths", p.max_paths);
  visit("min_paths", p.min_paths);
  visit("ecn_bitmap_reset_ps", p.ecn_bitmap_reset.value);
  visit("sack_bytes", p.sack_bytes.value);
  visit("sack_on_epsn", p.sack_on_epsn);
  visit("tracking_window", p.tracking_window);
  visit("ooo_cwnd_num", p.ooo_cwnd.num);
  visit("ooo_cwnd_den", p.ooo_cwnd.den);
  visit("ooo_min", p.ooo_min);
  visit("probe_interval_ps", p.probe_interval.value);
  visit("probe_rtt_limit_ps", p.probe_rtt_limit.value);
  visit("rto_ps", p.rto.value);
  visit("rto_backoff_max", p.rto_backoff_max);
}

std::optional<std::int64_t> parse(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  if (hex) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// Reads a line's values one by one, and remembers the first that makes no sense.
class Reader {
 public:
  explicit Reader(const VectorLine& line) : line_(line) {}

  /// A whole number from `least` to `most`.
  [[nodiscard]] std::int64_t take(std::string_view name, std::int64_t least, std::int64_t most) {
    const std::string_view text = value_of(line_, name);
    const std::optional<std::int64_t> value = parse(text);
    if (!value || *value < least || *value > most) {
      if (problem_.empty()) {
        problem_ = text.empty() ? fmt::format("{} has no {}", line_.word, name)
                                : fmt::format("{}={} of {} is no whole number from {} to {}", name,
                                              text, line_.word, least, most);
      }
      return least;
    }
    return *value;
  }
  template <class T>
  [[nodiscard]] T any(std::string_view name) {
    return static_cast<T>(take(name, std::numeric_limits<T>::min(),
                               static_cast<std::int64_t>(std::numeric_limits<T>::max())));
  }
  [[nodiscard]] std::uint64_t bits(std::string_view name) {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    return static_cast<std::uint64_t>(take(name, kLeast, std::numeric_limits<std::int64_t>::max()));
  }
  /// Time never goes back: neither do a core's hosts.
  [[nodiscard]] Instant time(Instant& before) {
    const Instant now{take("t_ps", before.ps, kLatest)};
    before = std::max(before, now);
    return now;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  static constexpr std::int64_t kLatest = 8'640'000'000'000'000'000;  // a hundred days
  const VectorLine& line_;
  std::string problem_;
};

template <std::integral T>
void put(VectorLine& line, std::string_view name, T value) {
  line.fields.emplace_back(name, fmt::format("{}", static_cast<std::int64_t>(value)));
}
void put(VectorLine& line, std::string_view name, std::string_view word) {
  line.fields.emplace_back(name, word);
}

VectorLine line_of(const core::Packet& p) {
  const bool data = p.type == core::PacketType::data;
  VectorLine line{data ? "data" : "probe"};
  put(line, "psn", p.psn.value);
  put(line, "path", p.path_id);
  put(line, "timestamp_ns", p.timestamp.ns);
  if (data) {
    put(line, "payload", p.payload);
    put(line, "message", p.message_id);
    put(line, "offset", p.offset);
    put(line, "length", p.message_length);
    put(line, "again", p.retransmission);
  } else {
    put(line, "probe", p.probe_id);
  }
  return line;
}

VectorLine line_of(const core::Sack& s) {
  VectorLine line{"sack"};
  put(line, "epsn", s.epsn.value);
  put(line, "base", s.sack_base.value);
  put(line, "bitmap", fmt::format("0x{:016x}", s.bitmap));
  put(line, "bytes_recvd", s.bytes_recvd);
  put(line, "ooo", s.ooo_count);
  put(line, "psn", s.psn.value);
  put(line, "path", s.path_id);
  put(line, "timestamp_ns", s.timestamp.ns);
  put(line, "ecn", s.ecn);
  put(line, "for_probe", s.for_probe);
  put(line, "probe", s.probe_id);
  return line;
}

constexpr auto kReasons = words_of<core::WindowReason>({
    {core::WindowReason::queue_drained, "queue_drained"},
    {core::WindowReason::below_target, "below_target"},
    {core::WindowReason::achieved_bdp, "achieved_bdp"},
    {core::WindowReason::multiplicative, "multiplicative"},
    {core::WindowReason::fairness_shuffle, "fairness_shuffle"},
});
constexpr auto kCauses = words_of<core::LossCause>({
    {core::LossCause::out_of_order, "out_of_order"},
    {core::LossCause::probe, "probe"},
    {core::LossCause::timeout, "timeout"},
});
constexpr auto kFaults = words_of<core::SackFault>({
    {core::SackFault::epsn_not_sent, "epsn_not_sent"},
    {core::SackFault::psn_not_sent, "psn_not_sent"},
    {core::SackFault::bits_not_sent, "bits_not_sent"},
    {core::SackFault::base_outside_window, "base_outside_window"},
    {core::SackFault::bytes_never_sent, "bytes_never_sent"},
    {core::SackFault::bytes_missing, "bytes_missing"},
    {core::SackFault::ooo_above_window, "ooo_above_window"},
    {core::SackFault::contradiction, "contradiction"},
    {core::SackFault::unknown_path, "unknown_path"},
    {core::SackFault::timestamp_ahead, "timestamp_ahead"},
});
constexpr auto kArrivals = words_of<core::ArrivalKind>({
    {core::ArrivalKind::accepted, "accepted"},
    {core::ArrivalKind::duplicate, "duplicate"},
    {core::ArrivalKind::beyond_window, "beyond_window"},
    {core::ArrivalKind::out_of_order, "out_of_order"},
    {core::ArrivalKind::malformed, "malformed"},
    {core::ArrivalKind::probe, "probe"},
    {core::ArrivalKind::trimmed, "trimmed"},
});

/// Notes what a core says of its own accord, as decisions.
struct Sink {
  std::vector<VectorLine>* decisions;
  std::vector<std::string>* reached;

  template <class Event>
  void on(const Event& /*event*/) const {}
  void on(const core::Reached& event) const {
    reached->emplace_back(core::kRareNames[static_cast<std::size_t>(event.branch)]);
  }
  void on(const core::SackRejected& event) const {
    put(decisions->emplace_back(VectorLine{"rejected"}), "fault",
        kFaults[static_cast<std::size_t>(event.fault)]);
  }
  void on(const core::WindowChanged& event) const {
    VectorLine& line = decisions->emplace_back(VectorLine{"window"});
    put(line, "reason", kReasons[static_cast<std::size_t>(event.reason)]);
    put(line, "before", event.before.value);
    put(line, "after", event.after.value);
  }
  void on(const core::LossDeclared& event) const {
    VectorLine& line = decisions->emplace_back(VectorLine{"loss"});
    put(line, "cause", kCauses[static_cast<std::size_t>(event.cause)]);
    put(line, "from", event.from.value);
    put(line, "high", event.high.value);
    put(line, "claimed", event.claimed.value);
  }
  void on(const core::RecoveryEnded& event) const {
    put(decisions->emplace_back(VectorLine{"recovered"}), "epsn", event.epsn.value);
  }
};

// ---- The two ends ----

class SenderMachine final : public VectorMachine {
 public:
  SenderMachine(const core::StrackParams& params, Psn psn)
      : params_(params), sender_(params_, slots_, psn, Sink{&decisions_, &reached_}) {}

  Result<VectorStep, std::string> take(const VectorLine& event) override {
    decisions_.clear();
    reached_.clear();
    Reader reader(event);
    const Instant now = reader.time(time_);
    if (event.word == "message") {
      const core::Message message{reader.any<std::uint32_t>("id"),
                                  static_cast<std::uint32_t>(reader.take("length", 1, kMostBytes))};
      if (!reader.problem().empty()) return reader.problem();
      const bool accepted = sender_.on_message(message, now) == core::PostResult::accepted;
      decisions_.push_back(VectorLine{accepted ? "posted" : "queue_full"});
    } else if (event.word == "sack") {
      const core::Sack sack = sack_of(reader);
      if (!reader.problem().empty()) return reader.problem();
      sender_.on_receiving_ack(sack, now);
    } else if (event.word == "time") {
      if (!reader.problem().empty()) return reader.problem();
      sender_.on_timeout(now);
    } else {
      return fmt::format("{} is no event of a sender. they are message, sack and time", event.word);
    }
    while (const auto packet = sender_.poll_transmit(now)) decisions_.push_back(line_of(*packet));
    while (const auto done = sender_.poll_completion())
      put(decisions_.emplace_back(VectorLine{"completed"}), "id", *done);
    return VectorStep{event, decisions_, digest()};
  }

  std::int64_t deadline() const override {
    const Instant at = sender_.next_deadline();
    return at == Instant::never() ? -1 : at.ps;
  }

 private:
  static constexpr std::int64_t kMostBytes = (std::int64_t{1} << 32) - 1;

  [[nodiscard]] static core::Sack sack_of(Reader& reader) {
    core::Sack sack;
    sack.epsn = Psn{reader.any<std::uint32_t>("epsn")};
    sack.sack_base = Psn{reader.any<std::uint32_t>("base")};
    sack.bitmap = reader.bits("bitmap");
    sack.bytes_recvd = reader.any<std::uint32_t>("bytes_recvd");
    sack.ooo_count = reader.any<std::uint16_t>("ooo");
    sack.psn = Psn{reader.any<std::uint32_t>("psn")};
    sack.path_id = reader.any<std::uint16_t>("path");
    sack.timestamp = {reader.any<std::uint32_t>("timestamp_ns")};
    sack.ecn = reader.take("ecn", 0, 1) != 0;
    sack.for_probe = reader.take("for_probe", 0, 1) != 0;
    sack.probe_id = reader.any<std::uint16_t>("probe");
    sack.hold_time_ns = reader.any<std::uint32_t>("hold_ns");
    return sack;
  }

  [[nodiscard]] std::string digest() {
    Digest digest;
    for (const std::int64_t word :
         {std::int64_t{sender_.epsn().value}, std::int64_t{sender_.psn_next().value},
          sender_.window().cwnd().value, sender_.inflight_bytes().value, sender_.bytes_sent().value,
          sender_.bytes_recvd().value, sender_.bytes_claimed_retransmit().value,
          sender_.window().base_rtt().value, sender_.window().avg_qdelay().value,
          sender_.achieved().value().value, std::int64_t{sender_.in_recovery()}, deadline()})
      digest.add(word);
    const core::SenderCounters& c = sender_.counters();
    for (const std::uint32_t word :
         {c.retransmissions, c.loss_episodes, c.probes_sent, c.timeouts, c.sacks_rejected})
      digest.add(word);
    add_bits(digest, params_.max_paths, [this](std::uint32_t path) {
      return sender_.paths().is_marked(static_cast<core::PathId>(path));
    });
    add_bits(digest, params_.tracking_window, [this](std::uint32_t ahead) {
      return sender_.is_acknowledged(sender_.epsn() + ahead);
    });
    return digest.text();
  }

  core::StrackParams params_;
  std::array<core::MessageSlot, kVectorMessages> slots_{};
  std::vector<VectorLine> decisions_;
  core::Sender<Sink> sender_;
  Instant time_{};
};

class ReceiverMachine final : public VectorMachine {
 public:
  ReceiverMachine(const core::StrackParams& params, Psn psn)
      : params_(params), receiver_(params_, psn, Sink{&decisions_, &reached_}) {}

  Result<VectorStep, std::string> take(const VectorLine& event) override {
    decisions_.clear();
    reached_.clear();
    if (event.word != "data" && event.word != "probe")
      return fmt::format("{} is no event of a receiver. they are data and probe", event.word);
    Reader reader(event);
    const Instant now = reader.time(time_);
    const core::Packet packet = packet_of(event, reader);
    core::Signals signals;
    signals.ecn = reader.take("ecn", 0, 1) != 0;
    signals.trimmed = reader.take("trimmed", 0, 1) != 0;
    if (!reader.problem().empty()) return reader.problem();
    const core::Arrival arrival = receiver_.on_packet(packet, signals, now);
    VectorLine& line = decisions_.emplace_back(VectorLine{"arrival"});
    put(line, "kind", kArrivals[static_cast<std::size_t>(arrival.kind)]);
    put(line, "delivered", arrival.delivered);
    while (const auto sack = receiver_.poll_ack(now)) decisions_.push_back(line_of(*sack));
    return VectorStep{event, decisions_, digest()};
  }

  std::int64_t deadline() const override { return -1; }

 private:
  [[nodiscard]] static core::Packet packet_of(const VectorLine& event, Reader& reader) {
    core::Packet packet;
    packet.psn = Psn{reader.any<std::uint32_t>("psn")};
    packet.path_id = reader.any<std::uint16_t>("path");
    packet.timestamp = {reader.any<std::uint32_t>("timestamp_ns")};
    if (event.word == "probe") {
      packet.type = core::PacketType::probe;
      packet.probe_id = reader.any<std::uint16_t>("probe");
      return packet;
    }
    packet.payload = reader.any<std::uint16_t>("payload");
    packet.message_id = reader.any<std::uint32_t>("message");
    packet.offset = reader.any<std::uint32_t>("offset");
    packet.message_length = reader.any<std::uint32_t>("length");
    packet.retransmission = reader.take("again", 0, 1) != 0;
    return packet;
  }

  [[nodiscard]] std::string digest() const {
    Digest digest;
    for (const std::uint32_t word :
         {receiver_.epsn().value, receiver_.bytes_recvd(), std::uint32_t{receiver_.ooo_count()},
          receiver_.duplicates(), receiver_.beyond_window(), receiver_.malformed_packets()})
      digest.add(word);
    add_bits(digest, params_.tracking_window, [this](std::uint32_t ahead) {
      return receiver_.has_arrived(receiver_.epsn() + ahead);
    });
    return digest.text();
  }

  core::StrackParams params_;
  std::vector<VectorLine> decisions_;
  core::Receiver<Sink> receiver_;
  Instant time_{};
};

}  // namespace

std::string_view value_of(const VectorLine& line, std::string_view name) {
  for (const auto& [key, value] : line.fields) {
    if (key == name) return value;
  }
  return {};
}

std::int64_t number_of(const VectorLine& line, std::string_view name) {
  return parse(value_of(line, name)).value_or(0);
}

void set_value(VectorLine& line, std::string_view name, std::int64_t value) {
  for (auto& [key, text] : line.fields) {
    if (key == name) {
      text = fmt::format("{}", value);
      return;
    }
  }
  put(line, name, value);
}

VectorLine beginning(bool sender, std::uint32_t initial_psn, const core::StrackParams& params) {
  VectorLine line{sender ? "sender" : "receiver"};
  put(line, "initial_psn", initial_psn);
  for_each_param(params,
                 [&line](std::string_view name, const auto& value) { put(line, name, value); });
  return line;
}

Result<std::unique_ptr<VectorMachine>, std::string> make_machine(const VectorLine& begin) {
  const bool sender = begin.word == "sender";
  if (!sender && begin.word != "receiver")
    return fmt::format("{} is no end of a connection. they are sender and receiver", begin.word);
  Reader reader(begin);
  const Psn psn{reader.any<std::uint32_t>("initial_psn")};
  core::StrackParams params;
  for_each_param(params, [&reader](std::string_view name, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    value = static_cast<Value>(reader.any<Value>(name));
  });
  if (!reader.problem().empty()) return reader.problem();
  const auto valid = params.validated();
  if (!valid)
    return fmt::format("{} is {}. it has to be {}", valid.error().field, valid.error().value,
                       valid.error().remedy);
  std::unique_ptr<VectorMachine> made;
  if (sender) {
    made = std::make_unique<SenderMachine>(params, psn);
  } else {
    made = std::make_unique<ReceiverMachine>(params, psn);
  }
  return made;
}

std::string VectorLine::text() const {
  std::string text = word;
  for (const auto& [name, value] : fields) text += fmt::format(" {}={}", name, value);
  return text;
}

Result<TestVector, std::string> replay(const TestVector& vector) {
  auto made = make_machine(vector.begin);
  if (!made) return fmt::format("{}: {}", vector.name, made.error());
  TestVector again{vector.name, vector.begin};
  for (const VectorStep& step : vector.steps) {
    auto taken = made.value()->take(step.event);
    if (!taken) {
      const int line = step.event.line;
      return fmt::format("{}{}, step {}: {}",
                         line > 0 ? fmt::format("line {}: ", line) : std::string(), vector.name,
                         again.steps.size() + 1, taken.error());
    }
    for (const std::string& branch : made.value()->reached()) {
      if (std::find(again.reached.begin(), again.reached.end(), branch) == again.reached.end())
        again.reached.push_back(branch);
    }
    again.steps.push_back(std::move(taken.value()));
  }
  return again;
}

}  // namespace strack::transports
