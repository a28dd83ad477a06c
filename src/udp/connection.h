// One connection's state: data only, for the engine. Allocated when a peer has proved itself, never
// before (with keys of hosts, by a first message that is a trusted peer's, perhaps a recorded one); its size is fixed
// by the options.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bitmap.h"
#include "base/units.h"
#include "core/packet.h"
#include "udp/address.h"
#include "udp/crypto.h"
#include "udp/deadline_heap.h"
#include "udp/endpoint.h"
#include "udp/matching.h"
#include "udp/noise.h"
#include "udp/path_mtu.h"
#include "udp/path_record.h"
#include "udp/receives.h"
#include "udp/session_keys.h"
#include "udp/silence_budget.h"
#include "udp/transport.h"
#include "wire/wire.h"

namespace strack::udp {

/// A message from `send` or `write` until it is acknowledged.
struct Outbound {
  const std::uint8_t* head = nullptr;  ///< its first `head_bytes`, where they are apart
  std::uint32_t head_bytes = 0;
  std::uint32_t length = 0;  ///< of all
  const std::uint8_t* data = nullptr;
  wire::DataKind kind = wire::DataKind::send;
  bool done = false;
  /// [D150] 1, 2: the write of a pair, and the message that tells of it; it completes when both are acknowledged.
  std::uint8_t pair = 0;
  std::uint64_t tag = 0;            ///< or the region
  std::uint64_t region_offset = 0;  ///< of the second of a pair: the length of the first
  std::uint64_t cookie = 0;
  std::uint64_t source = 0;  ///< the answer to a read: of this region
  bool answer = false;       ///< nobody is told of its end
  /// In pieces: all of it is here, and `data` is not.
  std::shared_ptr<const std::vector<std::span<const std::byte>>> pieces{};

  /// [D148] To the peer's endpoint. The cookie is its Reading's.
  [[nodiscard]] bool is_request() const {
    return kind == wire::DataKind::write && tag == wire::kRequestRegion;
  }
};

/// [D148] A read, from its request until that is acknowledged and answered. By the region that the answer goes to.
struct Reading {
  std::vector<std::uint8_t> request;
  Kind kind = Kind::read;  ///< or an atomic [D154]
  std::uint64_t cookie = 0;
  std::uint64_t length = 0;
  bool acknowledged = false;
  bool answered = false;
};

/// [D148] A read that the peer has asked for, until its answer is queued.
struct Asked {
  std::uint32_t message_id = 0;
  wire::ReadRequest what;
  // [D154] An atomic's; 0: it is a read.
  std::uint8_t op = 0;
  std::uint8_t type = 0;
  std::vector<std::uint8_t> operands{};
};

/// A packet whose buffer is not known yet. The payload follows it in memory.
struct HeldPacket {
  HeldPacket* next;
  std::uint32_t offset;
  std::uint32_t size;

  [[nodiscard]] std::uint8_t* payload() { return reinterpret_cast<std::uint8_t*>(this + 1); }
};

enum class InboundState : std::uint8_t {
  unseen,    ///< no packet of it has come
  waiting,   ///< without a buffer
  matched,   ///< its packets are placed as they come
  reported,  ///< done, and not the oldest
};

/// A message of the peer's, from its first packet until it is reported.
struct Inbound {
  InboundState state = InboundState::unseen;
  wire::DataKind kind = wire::DataKind::send;
  bool whole = false;
  std::uint32_t length = 0;
  std::uint64_t tag = 0;  ///< or the region
  std::uint64_t region_offset = 0;
  std::uint8_t* buffer = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t cookie = 0;
  HeldPacket* held = nullptr;
  // [D123] What is behind the first `head` bytes goes elsewhere; 0: nothing does.
  std::size_t head = 0;
  std::span<std::byte> rest;
  std::shared_ptr<const std::vector<std::span<std::byte>>> pieces{};  ///< instead of `buffer`

  [[nodiscard]] bool is_request() const {
    return kind == wire::DataKind::write && tag == wire::kRequestRegion;
  }
};

/// What has come of a packet that travels in pieces [D43].
struct Partial {
  core::Psn psn;
  std::uint64_t blocks = 0;
  bool marked = false;  ///< any of its pieces
};

enum class State : std::uint8_t {
  hello_sent,
  connect_sent,
  half_open,  ///< responder: accepted, and not heard of since
  open,
  over,  ///< told to the user; stays a while to answer repetitions
  dead,  ///< about to be deleted
};

struct Connection;

/// One port of a peer's host, which is one endpoint.
struct PeerPort {
  std::uint32_t connections = 0;

  /// [D74] What is known of the ways there, as long as a connection takes them.
  struct Lane {
    Address local;
    const Transport* transport = nullptr;
    std::weak_ptr<KnownPaths> known;
  };
  std::vector<Lane> lanes;

  // [D128] What all connections there have under way, and who waits for the others to have less.
  Bytes under_way{0};
  std::deque<Connection*> queue;
  bool called = false;  ///< the next one is, and has not had its turn
  /// [D170] By which entropy something has got there, as the peer has shown to any of them; the last one.
  struct Way {
    std::uint16_t path;
    Instant at;
  };
  std::optional<Way> way;

  // [D129] Those of this side's that are being set up, and those that wait for that.
  std::uint32_t asking = 0;
  std::deque<Connection*> to_ask;
  std::deque<Connection*> line;  ///< [D146] those that wait for their place in the host's silence
};

/// A peer's host, whichever its port: what all connections to it share.
struct Host {
  std::uint32_t connections = 0;
  Instant last_heard{};  ///< on any of them
  SilenceBudget budget;
  Instant hurried_at{};  ///< when those who wait were last told that it answers
  Instant seek_at{};     ///< [D41] when the next of them may seek a way back by several at once
  std::unordered_map<std::uint16_t, PeerPort> ports;
};

/// [D95] What set-up needs where the hosts have keys of their own.
struct Introduction {
  // The initiator's, until it is answered.
  std::optional<noise::Handshake> handshake;
  std::optional<JobKey> door;  ///< of the responder's public key
  wire::FirstMessage first{};
  Instant opened_until{};  ///< its budget for answers that may be made up
  // The responder's: what it has answered, and answers again.
  wire::SecondMessage second{};
  wire::Mac accept_mac{};
  /// Both sides', until the session's keys are made of it.
  std::optional<JobKey> outcome;
};

/// [D169] A timer that comes so late: this process did not run.
inline constexpr Picoseconds kAway = ms(100);

/// What set-up agrees on, and how far it has come.
struct SetUp {
  wire::Terms mine;
  wire::Terms theirs;
  wire::Cookie cookie{};
  TermsBytes initiator_terms{};
  Instant give_up_at = Instant::never();
  Instant retry_at = Instant::never();
  Instant asked_at{};  ///< when the last hello or connect was sent
  Picoseconds retry_interval{0};
  Picoseconds small_rtt{0};       ///< the lowest measured of small packets; 0: none yet
  Picoseconds full_rtt{0};        ///< and of full ones
  std::uint32_t rtt_samples = 0;  ///< of full ones
  std::uint32_t rtt_asked = 0;
  std::uint32_t attempts = 0;
  std::uint8_t aways = 0;  ///< [D169] times that this process did not run meanwhile
  std::uint16_t path = 0;  ///< the entropy of the last hello, connect or accept that looked for one
  /// [D170] By which entropies the last hellos went; a hello's size says which of these was its own.
  std::array<std::uint16_t, 16> hello_paths{};
  std::uint32_t hellos = 0;
  std::uint32_t accepts_sent = 0;
  std::optional<wire::RejectReason> rejected;
  std::unique_ptr<Introduction> introduction;  ///< between hosts with keys of their own
  bool unreachable = false;  ///< the last question never left: this host knows no way there
  bool spared = false;       ///< [D169] half open for longer, since this process had been away
  bool asking = false;       ///< [D129] among those of its port that are being set up
};

/// Unused without a key, but for the counter.
struct Keys {
  Keys() = default;
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  ~Keys();  ///< wipes what its members do not

  SendingKeys seal;
  OpeningKeys open;
  std::uint64_t counter = 0;
  // [D96] When the next key is due: by packets or by time, if the peer is known to have this one.
  std::uint64_t renew_from = ~std::uint64_t{0};
  Instant renew_at = Instant::never();
  Instant renew_after{};           ///< [D105] and no sooner, while there are counters left
  std::uint32_t renewal_ping = 0;  ///< the first that is surely sealed with this one
  bool followed = true;            ///< the peer has answered it, or a later one
  /// By which it was set up [D141]; the endpoint may have others by now.
  std::shared_ptr<const OwnKey> own;
  // [D95] Of a peer with a key of its own.
  noise::PublicKey peer{};
  Secret reset{};  ///< what its resets are made with
};

/// Whether the peer is there.
struct Liveness {
  Host* host = nullptr;
  PeerPort* port = nullptr;  ///< of this host
  bool unanswered = false;   ///< it waits for a sign of life: what it sends is on the host's budget
  bool waiting = false;      ///< for its place
  Instant place = Instant::never();  ///< when it may send one packet; never: it has no place
  bool in_line = false;              ///< of its port
  Instant last_heard{};
  Instant first_asked{};  ///< by a ping, because of silence
  Instant last_asked{};
  std::uint32_t asked = 0;  ///< how often since it was last heard
  std::uint32_t ping_id = 0;
  std::uint32_t pings_under_way = 0;  ///< bit i: the one with id ping_id - i
  core::PathId ping_path = 0;
  core::PathId pong_path = 0;
  Instant ping_retry_at = Instant::never();  ///< the last one must be answered: repeated until then
  Picoseconds ping_interval{0};
  std::uint32_t credit_ping = 0;  ///< the first with the newest credit; perhaps the next one
  std::uint32_t fed_at = 0;       ///< the message that the peer could not start without it
  std::uint32_t doubt_ping = 0;   ///< a full one, after a small one, when the MTU was in doubt
  /// What a reset must echo to be believed: of the ping that asks.
  std::optional<std::uint64_t> reset_echo;
  Instant reset_asked_at{};
};

/// The end, in order or not.
struct Closing {
  bool asked = false;  ///< by this side's user
  bool sent = false;
  bool acked = false;
  bool peer_closed = false;
  wire::CloseReason reason = wire::CloseReason::done;
  std::uint32_t repeats = 0;
  Instant retry_at = Instant::never();
  Picoseconds interval{0};
  Instant forget_at = Instant::never();
};

/// Messages of this side's.
struct Outbox {
  bool sends = false;              ///< the RTT is known
  std::uint32_t burst = 1;         ///< packets that travel as one
  std::vector<Outbound> messages;  ///< by message id, 2^n
  std::uint32_t head = 0;          ///< the oldest not acknowledged
  std::uint32_t posted = 0;        ///< the first the core does not have
  std::uint32_t tail = 0;
  std::uint32_t credit = 0;  ///< the peer's: those before it may be started
  bool stalled = false;
  bool ready = false;  ///< in the engine's list of those that may have packets to send
  Bytes counted{0};    ///< [D128] of it, among what the peer's port has under way
  bool queued = false;
  bool called = false;
  Bitmap<wire::kMaxPaths> paths_seen{};
  Picoseconds lowest_rtt = seconds(3'600);
  std::unique_ptr<PathRecord> record;                   ///< where it is wanted
  std::unordered_map<std::uint64_t, Reading> readings;  ///< [D148]
  /// [D154] What atomics have found, by the message that it goes out with.
  std::unordered_map<std::uint32_t, std::vector<std::byte>> found;

  [[nodiscard]] std::uint32_t mask() const {
    return static_cast<std::uint32_t>(messages.size()) - 1;
  }
};

/// Messages of the peer's.
struct Inbox {
  static constexpr std::uint32_t kPartials = 1'024;

  std::vector<Inbound> messages;         ///< by message id, 2^n
  ReceiveQueue<PostedReceive> receives;  ///< posted for this connection
  std::vector<Partial> partials;         ///< by PSN; empty until a first piece comes
  std::vector<Asked> asked;              ///< [D148]
  std::uint32_t in_place = 0;   ///< [D148] writes before it are; looked at where something is asked
  std::uint32_t floor = 0;      ///< the oldest message not reported
  std::uint32_t unmatched = 0;  ///< the oldest message without a buffer
  std::uint32_t unseen = 0;     ///< one past the newest seen
  std::uint32_t granted = 0;    ///< credit told to the peer
  std::size_t held_bytes = 0;
  bool starving = false;  ///< its oldest unmatched message was seen
  bool listed = false;    ///< in the engine's list of the starving, perhaps no longer one
  bool dry = false;       ///< in the engine's list: the peer has used up its credit
  bool blocked = false;   ///< packets were dropped for want of a buffer

  [[nodiscard]] std::uint32_t mask() const {
    return static_cast<std::uint32_t>(messages.size()) - 1;
  }

  /// Messages by their ids, one after the other.
  struct Cursor {
    const Inbox* inbox;
    std::uint32_t id;

    [[nodiscard]] const Inbound& operator*() const { return inbox->messages[id & inbox->mask()]; }
    [[nodiscard]] const Inbound* operator->() const { return &**this; }
    Cursor& operator++() {
      ++id;
      return *this;
    }
    friend bool operator==(const Cursor& a, const Cursor& b) { return a.id == b.id; }
  };
};

/// Packets that the next SACK is for.
struct Acknowledging {
  struct Trigger {
    core::Psn psn;
    core::Timestamp timestamp;
    Instant arrival;
  };
  static constexpr std::uint32_t kMostPerSack = 8;

  std::array<Trigger, kMostPerSack> triggers{};
  std::uint32_t count = 0;
  bool pending = false;  ///< in the engine's list
};

struct Connection {
  ConnectionId id{};
  State state = State::hello_sent;
  bool initiator = false;
  Address peer;
  Address local;  ///< the own address that the peer knows; any: whatever the kernel chooses
  std::uint32_t peer_id = 0;
  std::uint64_t connect_cookie = 0;  ///< the user's
  HeapEntry deadline;
  std::size_t index = 0;  ///< its place among the engine's connections

  const Transport* transport = nullptr;
  std::unique_ptr<Session> session;  ///< from when both sides' terms are known
  PathMtu mtu;

  SetUp set_up;
  Keys keys;
  Liveness life;
  Closing closing;
  Outbox out;
  Inbox in;
  Acknowledging acks;
  ConnectionStatistics statistics;

  [[nodiscard]] bool has_ended() const { return state >= State::over; }
};

}  // namespace strack::udp
