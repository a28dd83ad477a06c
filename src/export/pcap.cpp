#include "export/pcap.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "wire/wire.h"

namespace strack::exports {
namespace {

using metrics::EventKind;
using metrics::FileError;
using metrics::FlowEvent;
using metrics::FlowRecord;

constexpr std::uint32_t kSenderId = 1;    // what SACKs are addressed to
constexpr std::uint32_t kReceiverId = 2;  // and data
constexpr std::size_t kIpBytes = 20;
constexpr std::size_t kUdpBytes = 8;

/// A file in libpcap's format with nanoseconds, of raw IP packets. Numbers are written little-endian.
class Pcap {
 public:
  explicit Pcap(std::ostream& out) : out_(out) {
    for (const std::uint32_t word : {0xA1B23C4DU, 0x00040002U, 0U, 0U, 0x40000U, 101U})
      little(word);
  }

  /// Host h is 10.x.y.z of its number; both ends' port is the one the dissector knows.
  void packet(Instant time, std::uint32_t from, std::uint32_t to, std::uint16_t from_port,
              std::span<const std::uint8_t> payload) {
    const auto ns = static_cast<std::uint64_t>(time.ps) / 1'000;
    const auto size = static_cast<std::uint32_t>(kIpBytes + kUdpBytes + payload.size());
    little(static_cast<std::uint32_t>(ns / 1'000'000'000));
    little(static_cast<std::uint32_t>(ns % 1'000'000'000));
    little(size);
    little(size);
    std::array<std::uint8_t, kIpBytes + kUdpBytes> head{};
    const auto put16 = [&](std::size_t at, std::uint32_t value) {
      head[at] = static_cast<std::uint8_t>(value >> 8);
      head[at + 1] = static_cast<std::uint8_t>(value);
    };
    const auto put_address = [&](std::size_t at, std::uint32_t host) {
      head[at] = 10;
      head[at + 1] = static_cast<std::uint8_t>(host >> 16);
      put16(at + 2, host);
    };
    head[0] = 0x45;
    head[1] = 0x02;  // ECN-capable
    put16(2, size);
    head[6] = 0x40;  // not to be fragmented
    head[8] = 64;
    head[9] = 17;
    put_address(12, from);
    put_address(16, to);
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kIpBytes; i += 2)
      sum += (std::uint32_t{head[i]} << 8) | head[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    put16(10, ~(sum + (sum >> 16)) & 0xffff);
    put16(kIpBytes, from_port);
    put16(kIpBytes + 2, wire::kDefaultPort);
    put16(kIpBytes + 4, static_cast<std::uint32_t>(kUdpBytes + payload.size()));
    write(head);
    write(payload);
  }

 private:
  void little(std::uint32_t value) {
    write(std::array{static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8),
                     static_cast<std::uint8_t>(value >> 16),
                     static_cast<std::uint8_t>(value >> 24)});
  }
  void write(std::span<const std::uint8_t> data) {
    for (const std::uint8_t byte : data) out_.put(static_cast<char>(byte));
  }
  std::ostream& out_;
};

/// One flow's events as packets.
class Capture {
 public:
  Capture(Pcap& out, const FlowRecord& flow, Bytes mtu)
      : out_(out), flow_(flow), mtu_(mtu.count()), buffer_(wire::kMaxDatagramBytes) {}

  void take(const FlowEvent& event) {
    switch (event.kind) {
      case EventKind::sent:
      case EventKind::resent:
        return data(event);
      case EventKind::probe:
        return probe(event);
      case EventKind::ack:
      case EventKind::probe_ack:
        return sack(event);
      case EventKind::loss:
      case EventKind::nak:
      case EventKind::cnp:
        return;  // nothing on the wire, or none of this format
    }
  }

 private:
  static core::PathId path_of(const FlowEvent& event) {
    return static_cast<core::PathId>(event.path.value_or(0) % wire::kMaxPaths);
  }
  /// Paths are told apart by the sender's port, as they are on real networks.
  static std::uint16_t port_of(core::PathId path) {
    return static_cast<std::uint16_t>(49'152 + path);
  }

  void data(const FlowEvent& event) {
    const std::int64_t offset = std::int64_t{event.psn.value_or(0)} * mtu_;
    wire::Data packet;
    packet.packet.path_id = path_of(event);
    packet.packet.psn = core::Psn{event.psn.value_or(0)};
    packet.packet.offset = static_cast<std::uint32_t>(std::min(offset, flow_.size.count()));
    packet.packet.message_length = static_cast<std::uint32_t>(flow_.size.count());
    packet.packet.payload =
        static_cast<std::uint16_t>(std::clamp<std::int64_t>(flow_.size.count() - offset, 0, mtu_));
    packet.packet.retransmission = event.kind == EventKind::resent;
    packet.packet.timestamp = core::Timestamp::of(event.time);
    if (packet.packet.payload == 0 && flow_.size > bytes(0)) return;  // beyond the message
    const std::size_t front = wire::encode_data_front(buffer_, {kReceiverId, false, 0}, packet);
    std::fill_n(buffer_.begin() + static_cast<std::ptrdiff_t>(front), packet.packet.payload, 0);
    out_.packet(event.time, flow_.src, flow_.dst, port_of(packet.packet.path_id),
                std::span(buffer_).first(front + packet.packet.payload));
  }

  void probe(const FlowEvent& event) {
    core::Packet packet;
    packet.type = core::PacketType::probe;
    packet.path_id = path_of(event);
    packet.psn = core::Psn{event.psn.value_or(0)};
    packet.timestamp = core::Timestamp::of(event.time);
    packet.probe_id = ++probes_;
    const std::size_t size = wire::encode(buffer_, {kReceiverId, false, 0}, packet);
    out_.packet(event.time, flow_.src, flow_.dst, port_of(packet.path_id),
                std::span(buffer_).first(size));
  }

  void sack(const FlowEvent& event) {
    received_ += event.acked.value_or(bytes(0)).count();
    wire::SackBody body;
    body.sack.epsn = core::Psn{event.psn.value_or(0)};
    body.sack.sack_base = body.sack.epsn;
    body.sack.bytes_recvd = static_cast<std::uint32_t>(received_);
    body.sack.path_id = path_of(event);
    body.sack.ecn = event.ecn.value_or(false);
    body.sack.for_probe = event.kind == EventKind::probe_ack;
    body.sack.probe_id = body.sack.for_probe ? probes_ : std::uint16_t{0};
    if (event.rtt) body.sack.timestamp = core::Timestamp::of(event.time - *event.rtt);
    const std::size_t size = wire::encode(buffer_, {kSenderId, false, 0}, body);
    out_.packet(event.time, flow_.dst, flow_.src, port_of(body.sack.path_id),
                std::span(buffer_).first(size));
  }

  Pcap& out_;
  const FlowRecord& flow_;
  std::int64_t mtu_;
  std::vector<std::uint8_t> buffer_;
  std::uint16_t probes_ = 0;
  std::int64_t received_ = 0;
};

/// The flow whose events are written, or why there is none.
Result<FlowRecord, FileError> choose(metrics::ResultReader& reader,
                                     std::optional<std::uint32_t> wanted) {
  const std::string file = reader.path().string();
  std::optional<std::uint32_t> found;
  bool foreign = false;
  const auto error = reader.for_each([&](const FlowEvent& event) {
    if (wanted ? event.flow != *wanted : found.has_value() && event.flow != *found) return;
    found = event.flow;
    foreign = foreign || event.kind == EventKind::nak || event.kind == EventKind::cnp;
  });
  if (error) return *error;
  if (!found) {
    const std::string which = wanted ? fmt::format(" of flow {}", *wanted) : "";
    return FileError{fmt::format("{}: it has no events{}. record them with --set record.inspect={}",
                                 file, which, wanted.value_or(0) + 1)};
  }
  if (foreign) return FileError{fmt::format("{}: {}", file, other_format(reader.run().scheme))};
  const auto flows = reader.flows();
  if (!flows) return flows.error();
  for (const FlowRecord& flow : flows.value()) {
    if (flow.flow != *found) continue;
    if (flow.size.count() > std::numeric_limits<std::uint32_t>::max()) {
      return FileError{
          fmt::format("{}: flow {} has {} bytes; a message of the wire format has up to 4294967295",
                      file, *found, flow.size.count())};
    }
    return flow;
  }
  return FileError{fmt::format(
      "{}: {} is a job's connection, or a flow that is not in the file; where its messages "
      "begin and end is not recorded. a capture can be made of a flow",
      file, *found)};
}

}  // namespace

std::string other_format(const std::string& scheme) {
  return fmt::format(
      "{} has packets that STrack's wire format does not. a capture can be made of schemes that "
      "answer with SACKs",
      scheme);
}

/// Of a datagram, beside all that STrack has in front of it.
static constexpr Bytes kMostPayload = bytes(65'000);

std::string refuses_capture(const metrics::RunInfo& run, std::optional<std::uint32_t> flow) {
  const std::uint32_t number = flow.value_or(0);
  if (number >= run.flows && run.jobs > 0) {
    return fmt::format(
        "flow {} is a job's connection; where its messages begin and end is not recorded. a "
        "capture can be made of a flow{}",
        number, run.flows > 0 ? fmt::format(", 0 to {}", run.flows - 1) : "");
  }
  if (number >= run.flows && run.flows > 0)
    return fmt::format("there is no flow {}. they are 0 to {}", number, run.flows - 1);
  if (run.mtu > kMostPayload) {
    return fmt::format(
        "its packets have {} bytes, which UDP does not carry beside a header. take a transport.mtu "
        "of at most {}",
        run.mtu.count(), kMostPayload.count());
  }
  return {};
}

Result<Captured, FileError> save_pcap(metrics::ResultReader& reader,
                                      const std::filesystem::path& file,
                                      std::optional<std::uint32_t> flow, std::size_t most) {
  const auto chosen = choose(reader, flow);
  if (!chosen) return chosen.error();
  // Jobs' connections are numbered as flows are, and may share a number with a message.
  if (const std::string why = refuses_capture(reader.run(), chosen.value().flow); !why.empty())
    return FileError{fmt::format("{}: {}", reader.path().string(), why)};
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out)
    return FileError{fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno))};
  Pcap pcap(out);
  Capture capture(pcap, chosen.value(), reader.run().mtu);
  Captured made{chosen.value().flow, 0, false};
  const auto error = reader.for_each([&](const FlowEvent& event) {
    if (event.flow != made.flow || event.kind == EventKind::loss) return;
    if (made.packets == most) {
      made.cut = true;
      return;
    }
    ++made.packets;
    capture.take(event);
  });
  if (error) return *error;
  out.close();
  if (!out)
    return FileError{fmt::format("{}: cannot be written: is the disk full?", file.string())};
  return made;
}

}  // namespace strack::exports
